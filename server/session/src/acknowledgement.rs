//! Movement that was sent to a client and is not acknowledged.

use shared::Tick;
use shared::wire::commands::Acknowledgement;

use super::backlog::urgency;

/// Entities with unacknowledged movement, ascending by slot. The client has the movement of all
/// others in its view.
#[derive(Default)]
pub struct PendingMovement {
    entities: Vec<Pending>,
}

/// Buffers of [`PendingMovement::merge`]; one set serves all clients in turn.
#[derive(Default)]
pub struct MergeScratch {
    entities: Vec<Pending>,
}

/// An entity whose movement must be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub slot: u32,
    /// Whether the client has its movement in the base.
    pub is_known: bool,
    /// The most urgent is sent first.
    pub urgency: u32,
}

/// An entity with new movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub slot: u32,
    /// The distance tier, as in deliveries.
    pub tier: u32,
}

/// The ticks that decide what must be sent, and against which base.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub tick: Tick,
    /// The client has everything that was sent up to this tick. Deltas build on it.
    pub base: Tick,
    /// The client's last acknowledgement.
    pub acknowledgement: Acknowledgement,
    /// Movement that is not acknowledged for this many ticks is sent again.
    pub resend_ticks: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    slot: u32,
    state: SendState,
    /// The first tick whose movement the client may lack.
    since: Tick,
    /// The tick of its enter, until the base is newer.
    entered: Option<Tick>,
    /// The tick of the update before the newest one, as far as is known: the newest one waits
    /// since then.
    last: Tick,
    tier: u32,
}

/// The state of the newest update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendState {
    /// Deferred: it found no room in the tick's datagrams.
    Queued,
    Sent(Tick),
    Acked,
}

impl PendingMovement {
    /// Prefetches the entities.
    pub fn prefetch(&self) {
        quic::prefetch(self.entities.as_slice());
    }

    /// Drops movement that has arrived.
    pub fn acknowledge(&mut self, new: &Acknowledgement) {
        self.entities.retain_mut(|p| {
            if let SendState::Sent(tick) = p.state
                && new.has(tick)
            {
                p.state = SendState::Acked;
            }
            p.state != SendState::Acked || p.entered.is_some()
        });
    }

    /// Drops an entity that left.
    pub fn leave(&mut self, slot: u32) {
        if let Ok(i) = self.find(slot) {
            self.entities.remove(i);
        }
    }

    /// An entity enters by the stream, with its movement. Datagrams in flight for its slot are
    /// older, or about an entity that left.
    pub fn enter(&mut self, slot: u32, tick: Tick) {
        let entered = Pending {
            slot,
            state: SendState::Acked,
            since: tick,
            entered: Some(tick),
            last: tick,
            tier: 0,
        };
        match self.find(slot) {
            Ok(i) => self.entities[i] = entered,
            Err(i) => self.entities.insert(i, entered),
        }
    }

    /// Joins a tick's new movement, `moved`, with the movement that seems lost: `due` then
    /// holds all that must be sent. Movement in flight stays pending. Slots ascend.
    pub fn merge(
        &mut self,
        now: &Now,
        moved: &[Moved],
        due: &mut Vec<Due>,
        scratch: &mut MergeScratch,
    ) {
        due.clear();
        scratch.entities.clear();
        let mut old = self.entities.iter().copied().peekable();
        let mut new = moved.iter().copied().peekable();
        loop {
            let next_new = new.peek().map_or(u32::MAX, |moved| moved.slot);
            let next_old = old.peek().map_or(u32::MAX, |p| p.slot);
            if next_new == u32::MAX && next_old == u32::MAX {
                break;
            }
            let is_new = next_new <= next_old;
            let waiting = old.next_if(|p| p.slot <= next_new);
            let tier = match new.next_if(|_| is_new) {
                Some(moved) => moved.tier,
                None => waiting.map_or(0, |p| p.tier),
            };
            let slot = next_new.min(next_old);
            let is_lost = waiting.is_some_and(|p| p.seems_lost(now));
            if is_new || is_lost {
                let before = now.tick.before(1);
                let last = waiting.map_or(before, |p| p.last_sent().unwrap_or(before));
                due.push(Due {
                    slot,
                    is_known: waiting.is_none_or(|p| p.is_known(now)),
                    urgency: urgency(tier, last, now.tick),
                });
                scratch.entities.push(Pending {
                    slot,
                    state: SendState::Sent(now.tick),
                    since: match waiting {
                        Some(p) if p.state != SendState::Acked => p.since,
                        _ => now.tick,
                    },
                    entered: waiting.and_then(|p| p.entered),
                    last,
                    tier,
                });
            } else if let Some(waiting) = waiting
                && (waiting.state != SendState::Acked || !waiting.is_known(now))
            {
                scratch.entities.push(waiting);
            }
        }
        std::mem::swap(&mut self.entities, &mut scratch.entities);
    }

    /// Defers a tick's new movement, as nothing is sent in this tick. Lost movement stays lost.
    pub fn wait(&mut self, tick: Tick, moved: &[Moved]) {
        let before = tick.before(1);
        for &Moved { slot, tier } in moved {
            let new = Pending {
                slot,
                state: SendState::Queued,
                since: tick,
                entered: None,
                last: before,
                tier,
            };
            match self.find(slot) {
                Err(i) => self.entities.insert(i, new),
                Ok(i) => {
                    let p = &mut self.entities[i];
                    *p = Pending {
                        since: if p.state == SendState::Acked {
                            tick
                        } else {
                            p.since
                        },
                        entered: p.entered,
                        last: p.last_sent().unwrap_or(before),
                        ..new
                    };
                }
            }
        }
    }

    /// Whether some movement is in flight.
    pub fn has_in_flight(&self) -> bool {
        let is_in_flight = |p: &Pending| matches!(p.state, SendState::Sent(_));
        self.entities.iter().any(is_in_flight)
    }

    /// Defers entities that found no room in the tick's datagrams.
    pub fn defer(&mut self, slots: impl Iterator<Item = u32>) {
        for slot in slots {
            if let Ok(i) = self.find(slot) {
                self.entities[i].state = SendState::Queued;
            }
        }
    }

    fn find(&self, slot: u32) -> Result<usize, usize> {
        self.entities.binary_search_by_key(&slot, |p| p.slot)
    }
}

impl Pending {
    /// The tick of the newest update that was sent, or was due; `None` if the client has it.
    fn last_sent(&self) -> Option<Tick> {
        match self.state {
            SendState::Queued => Some(self.last),
            SendState::Sent(tick) => Some(tick),
            SendState::Acked => None,
        }
    }

    /// A datagram seems lost when a later one was acknowledged, or when none was for long.
    fn seems_lost(&self, now: &Now) -> bool {
        match self.state {
            SendState::Queued => true,
            SendState::Sent(sent) => {
                now.acknowledgement.newest > sent || now.tick.since(sent) >= now.resend_ticks
            }
            SendState::Acked => false,
        }
    }

    /// Whether the client had the entity's movement in the base.
    fn is_known(&self, now: &Now) -> bool {
        let was_there = self
            .entered
            .is_none_or(|tick| tick <= now.base && tick <= now.acknowledgement.stream);
        was_there && (self.state == SendState::Acked || self.since > now.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn movement_is_sent_again_when_a_later_tick_arrived_or_none_for_long() {
        let mut client = Client::default();
        client.newest(9);
        assert_eq!(client.slots(10, &[1, 2, 3]), [1, 2, 3]);
        assert_eq!(client.slots(11, &[2, 5]), [2, 5]);
        // Tick 11 arrived and tick 10 did not: 2 and 5 are known to be there.
        client.newest(11);
        assert!(client.movement.has_in_flight());
        client.movement.leave(3);
        assert_eq!(client.slots(12, &[7]), [1, 7]);
        assert!(client.slots(19, &[]).is_empty());
        assert_eq!(client.slots(20, &[]), [1, 7]);
        client.movement.defer([7].into_iter());
        assert_eq!(client.slots(21, &[]), [7]);
        client.newest(20);
        client.newest(21);
        assert!(!client.movement.has_in_flight());
    }

    #[test]
    fn an_entity_is_known_if_all_up_to_the_base_has_arrived() {
        let mut client = Client::default();
        client.newest(9);
        assert_eq!(client.known(10, &[1]), [true]);
        // That update is in flight, but the client had the entity in tick 9.
        assert_eq!(client.known(11, &[1]), [true]);
        // Tick 11 arrived without 10, and has the newest update.
        client.newest(11);
        assert_eq!(client.known(12, &[1, 2]), [true, true]);
        // Tick 13 had nothing of 1, and arrived; 12 is missing.
        client.newest(13);
        assert_eq!(client.known(14, &[]), [false, false]);
        assert_eq!(client.known(15, &[1]), [false]);
    }

    #[test]
    fn an_entity_is_known_once_its_enter_is_read_and_older_than_the_base() {
        let mut client = Client::default();
        client.newest(9);
        client.movement.enter(4, Tick(10));
        assert_eq!(client.known(11, &[4]), [false]);
        client.newest(11);
        // The update arrived, the enter is not read.
        assert_eq!(client.known(12, &[4]), [false]);
        client.newest(12);
        client.acknowledgement.stream = Tick(10);
        assert_eq!(client.known(13, &[4]), [true]);
        assert_eq!(client.movement.entities.len(), 1);
        client.newest(13);
        assert!(client.slots(14, &[]).is_empty());
        assert!(client.movement.entities.is_empty());
    }

    #[test]
    fn what_waits_becomes_more_urgent_the_nearer_it_is() {
        let mut client = Client::default();
        client.newest(9);
        let urgencies = |due: Vec<Due>| due.iter().map(|due| due.urgency).collect::<Vec<_>>();
        let due = client.merge(10, &[1, 2]);
        client.movement.defer(due.iter().map(|due| due.slot));
        assert_eq!(urgencies(due), [1, 1]);
        let due = client.merge(11, &[2]);
        client.movement.defer([1].into_iter());
        assert_eq!(urgencies(due), [2, 2]);
        client.newest(11);
        assert_eq!(urgencies(client.merge(12, &[])), [3]);
    }

    #[derive(Default)]
    struct Client {
        movement: PendingMovement,
        acknowledgement: Acknowledgement,
        scratch: MergeScratch,
    }

    impl Client {
        /// Only this tick has arrived, beside those of earlier calls.
        fn newest(&mut self, tick: u64) {
            self.acknowledgement.note(Tick(tick));
            self.movement.acknowledge(&self.acknowledgement);
        }

        fn merge(&mut self, tick: u64, slots: &[u32]) -> Vec<Due> {
            let now = Now {
                tick: Tick(tick),
                base: self.acknowledgement.newest,
                acknowledgement: self.acknowledgement,
                resend_ticks: 8,
            };
            let mut due = vec![];
            let moved: Vec<Moved> = slots.iter().map(|&slot| Moved { slot, tier: 3 }).collect();
            self.movement
                .merge(&now, &moved, &mut due, &mut self.scratch);
            due
        }

        fn slots(&mut self, tick: u64, slots: &[u32]) -> Vec<u32> {
            let due = self.merge(tick, slots);
            due.into_iter().map(|due| due.slot).collect()
        }

        fn known(&mut self, tick: u64, slots: &[u32]) -> Vec<bool> {
            let due = self.merge(tick, slots);
            due.into_iter().map(|due| due.is_known).collect()
        }
    }
}
