//! A client's datagrams: an acknowledgement, and commands for the inbox.

use std::collections::VecDeque;

use frontend::SessionWorld;
use frontend::inbox::{ClientCommand, Inbox};
use script::arith::ticks_back;
use shared::wire::commands::{Acknowledgement, ClientDatagram};
use shared::{CommandKind, EntityId, Refusal, Tick};
use thiserror::Error;

use super::{Player, Session};

/// Why a decoded datagram is invalid. The session must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DatagramError {
    #[error("commands before the welcome")]
    BeforeWelcome,
    #[error("tick {0} is acknowledged before it was sent")]
    NotSentYet(Tick),
}

/// Which of the client's commands the world has processed: applied or refused.
#[derive(Default)]
pub struct Processed {
    /// Ascending; one entry a tick.
    pending: VecDeque<PendingTick>,
    sequence: u32,
    /// The least margin of those that were not reported to the client.
    margin: Option<i32>,
    /// The sequence number that was sent last.
    sent: u32,
}

/// The commands that a tick processes.
#[derive(Clone, Copy, Debug)]
struct PendingTick {
    tick: Tick,
    /// The message in which the last command goes to the tick.
    message: u64,
    /// The number of the last command.
    sequence: u32,
    /// The least number of ticks by which any came early.
    margin: Option<i32>,
}

impl Session {
    /// Applies the client's acknowledgement, and plans its new commands.
    pub fn receive(
        &mut self,
        datagram: &ClientDatagram,
        world: &SessionWorld,
        inbox: &mut Inbox,
    ) -> Result<(), DatagramError> {
        let player = self.player.ok_or(DatagramError::BeforeWelcome)?;
        let newest = datagram.acknowledgement.newest;
        if newest >= inbox.tick.max(Tick(1)) {
            return Err(DatagramError::NotSentYet(newest));
        }
        self.acknowledge(&datagram.acknowledgement, inbox.tick);
        let oldest = self.oldest_late(datagram, world, inbox.tick);
        let mut words = &datagram.words[..];
        let mut ticks = datagram.ticks.iter();
        for (i, &kind) in (0..).zip(&datagram.kinds) {
            let count = world.commands.word_count(kind).unwrap_or(0);
            let (own, rest) = words.split_at(count);
            words = rest;
            let meant = ticks.next().copied();
            let sequence = datagram.first_sequence.wrapping_add(i);
            if !self.is_new(sequence) {
                inbox.refusals.commands_repeated += 1;
                continue;
            }
            self.next_sequence = sequence.wrapping_add(1);
            let margin = meant.map(|meant| margin(meant, inbox.tick));
            let planned = match meant
                .zip(oldest)
                .is_some_and(|(meant, oldest)| meant < oldest)
            {
                true if world.per_tick(kind) > 0 => Err(Refusal::TooLate),
                _ => self.plan(player, kind, meant, world, inbox),
            };
            match planned {
                Ok(tick) => {
                    let command = ClientCommand {
                        entity: player.entity,
                        sequence,
                        kind,
                    };
                    match world.commands.seen_word(kind) {
                        None => inbox.push_for(tick, command, own),
                        Some(index) => {
                            let ticks_max = world.config.limits.rewind_ticks;
                            let mut own = own.to_vec();
                            own[index] = seen(own[index], tick, ticks_max);
                            inbox.push_for(tick, command, &own);
                        }
                    }
                    self.processed
                        .expect((tick, inbox.message), sequence, margin);
                }
                Err(reason) => {
                    inbox.refusals.note(reason);
                    self.refused.note(sequence, reason);
                    self.processed
                        .expect((inbox.tick, inbox.message), sequence, margin);
                }
            }
        }
        Ok(())
    }

    /// The first tick whose late commands are worth waiting for, among those of one datagram:
    /// each waits for a tick of its own, and so do all later ones.
    fn oldest_late(
        &self,
        datagram: &ClientDatagram,
        world: &SessionWorld,
        next: Tick,
    ) -> Option<Tick> {
        let waits = late_waits_max(world) as usize;
        // Few enough that all may wait.
        if datagram.ticks.len() <= waits {
            return None;
        }
        let numbered = (0..).zip(&datagram.ticks);
        let is_new = |i| self.is_new(datagram.first_sequence.wrapping_add(i));
        let late = numbered.filter(|(i, meant)| is_new(*i) && **meant < next);
        // They ascend.
        let mut ticks: Vec<Tick> = late.map(|(_, meant)| *meant).collect();
        ticks.dedup();
        ticks.len().checked_sub(waits + 1).map(|first| ticks[first])
    }

    /// Whether a command was not received before. Sequence numbers wrap.
    fn is_new(&self, sequence: u32) -> bool {
        sequence.wrapping_sub(self.next_sequence) <= u32::MAX / 2
    }

    /// The tick in which a new command runs: the one that it is meant for. A late one runs as
    /// soon as possible. One whose tick is used up by late ones waits for the next, and so does
    /// one beyond `per_tick` of its tick, if the world allows it (`surplus_waits`). Takes it
    /// from the tick's quota.
    fn plan(
        &mut self,
        player: Player,
        kind: CommandKind,
        meant: Option<Tick>,
        world: &SessionWorld,
        inbox: &Inbox,
    ) -> Result<Tick, Refusal> {
        let limits = &world.config.limits;
        let next = inbox.tick;
        let meant = meant.unwrap_or(next);
        // A spectator has no entity.
        if player.entity == EntityId::NONE {
            return Err(Refusal::Dead);
        }
        if meant.since(next) > limits.input_ticks_max {
            return Err(Refusal::TooEarly);
        }
        if next.since(meant) > limits.late_ticks_max {
            return Err(Refusal::TooLate);
        }
        let soonest = meant.max(next);
        let tick = self.planned.tick_for(soonest, kind, world.per_tick(kind));
        let is_surplus = self.planned.is_surplus(meant, kind, world.per_tick(kind));
        let has_waited_long = match is_surplus {
            false => tick.since(soonest) > late_waits_max(world),
            true => !limits.surplus_waits || tick.since(next) > limits.input_ticks_max,
        };
        if !self.quota.take(tick) {
            return Err(Refusal::OverQuota);
        }
        if tick > soonest.max(self.planned.tick()) && has_waited_long {
            return Err(Refusal::OverPerTick);
        }
        self.planned.give(tick, meant, kind);
        Ok(tick)
    }

    /// Applies an acknowledgement, before tick `next` has begun.
    fn acknowledge(&mut self, new: &Acknowledgement, next: Tick) {
        // Datagrams can be reordered: an older one brings nothing new.
        if new.newest < self.acknowledgement.newest || new.stream < self.acknowledgement.stream {
            return;
        }
        if new.newest > self.acknowledgement.newest {
            self.unacknowledged = (new.newest < self.last_datagram).then(|| new.newest.next());
            let ticks = newly_arrived(&self.acknowledgement, new);
            self.flow.acknowledge(new.newest, ticks, next);
        }
        self.acknowledgement = *new;
        self.movement.acknowledge(new);
        self.stream.acknowledge(new.stream);
    }
}

/// How many ticks a command may wait because others came late.
fn late_waits_max(world: &SessionWorld) -> u32 {
    let tick_hz = world.config.schema.world.tick_hz;
    (tick_hz / LATE_WAITS_PER_SECOND).max(1)
}

/// The number of ticks that only the newer acknowledgement has, as far back as it goes.
fn newly_arrived(old: &Acknowledgement, new: &Acknowledgement) -> u32 {
    let all = |of: &Acknowledgement| u64::from(of.mask) << 1 | 1;
    let ahead = new.newest.since(old.newest);
    let acked = all(old).checked_shl(ahead).unwrap_or(0);
    (all(new) & !acked).count_ones()
}

/// The tick that a client claims to have seen, clamped for a command that runs in `tick`: not in
/// the future, and not older than `ticks_max`.
fn seen(claimed: i32, tick: Tick, ticks_max: u32) -> i32 {
    let tick = tick.low().cast_signed();
    tick.wrapping_sub_unsigned(ticks_back(tick, claimed, ticks_max.max(1)))
}

/// By how many ticks a command is early; below 0: late.
fn margin(meant: Tick, next: Tick) -> i32 {
    let ticks = i64::from(meant.since(next)) - i64::from(next.since(meant));
    i32::try_from(ticks).unwrap_or(i32::MIN)
}

impl Processed {
    /// All commands up to this one were processed, as the client knows.
    pub fn through(sequence: u32) -> Processed {
        Processed {
            sequence,
            sent: sequence,
            ..Processed::default()
        }
    }

    /// The tick will process the command of this number, and all before. Only the last number
    /// of a tick matters.
    /// It goes to the tick with a message of this number: one that comes too late is for a later
    /// tick, or is lost on its way.
    fn expect(&mut self, (tick, message): (Tick, u64), sequence: u32, margin: Option<i32>) {
        match self.pending.back_mut() {
            // Commands that came before it wait for a later tick.
            Some(last) if last.tick >= tick => {
                last.sequence = sequence;
                last.message = message;
                last.margin = least(last.margin, margin);
            }
            _ => self.pending.push_back(PendingTick {
                tick,
                message,
                sequence,
                margin,
            }),
        }
    }

    /// Advances to the commands that a tick has processed, which has all messages up to this one.
    pub fn advance(&mut self, tick: Tick, message: u64) {
        let is_processed =
            |pending: &mut PendingTick| pending.tick <= tick && pending.message <= message;
        while let Some(taken) = self.pending.pop_front_if(is_processed) {
            self.sequence = taken.sequence;
            self.margin = least(self.margin, taken.margin);
        }
    }

    /// The least number of ticks by which any command was early that was not reported to the
    /// client yet. `None` if none of them named its tick.
    pub fn margin(&self) -> Option<i32> {
        self.margin
    }

    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Whether commands were processed since the last report to the client.
    pub fn has_news(&self) -> bool {
        self.sequence != self.sent
    }

    /// The client is sent the sequence number and the margin now.
    pub fn mark_sent(&mut self) {
        self.sent = self.sequence;
        self.margin = None;
    }
}

fn least(a: Option<i32>, b: Option<i32>) -> Option<i32> {
    a.into_iter().chain(b).min()
}

/// Late commands wait for up to a tenth of a second.
const LATE_WAITS_PER_SECOND: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seen_tick_is_clamped_to_the_past_that_is_kept() {
        for (claimed, found) in [
            (97, 97),
            (99, 99),
            (92, 92),
            (91, 92),
            (100, 99),
            (5000, 99),
        ] {
            assert_eq!(seen(claimed, Tick(100), 8), found, "{claimed}");
        }
        // For any bits.
        assert_eq!(seen(i32::MIN + 99, Tick(100), 8), 99);
        assert_eq!(seen(i32::MIN + 101, Tick(100), 8), 92);
        // Ticks whose low bits have wrapped.
        let next = Tick((1 << 32) + 2);
        assert_eq!(seen(-1, next, 8), -1);
        assert_eq!(seen(-7, next, 8), -6);
    }

    #[test]
    fn a_tick_processes_the_last_of_its_commands() {
        let mut processed = Processed::default();
        for (tick, sequence, margin) in [
            (5, 1, None),
            (5, 2, Some(0)),
            (6, 3, Some(-1)),
            (6, 4, Some(2)),
            // A later command that is refused at once.
            (5, 5, None),
            (9, 6, None),
        ] {
            processed.expect((Tick(tick), 0), sequence, margin);
        }
        assert_eq!(processed.pending.len(), 3);
        processed.advance(Tick(4), 0);
        assert!(!processed.has_news());
        processed.advance(Tick(5), 0);
        assert_eq!((processed.sequence(), processed.has_news()), (2, true));
        assert_eq!(processed.margin(), Some(0));
        processed.mark_sent();
        assert_eq!((processed.has_news(), processed.margin()), (false, None));
        processed.advance(Tick(6), 0);
        assert_eq!((processed.sequence(), processed.margin()), (5, Some(-1)));
        processed.advance(Tick(9), 0);
        assert_eq!((processed.sequence(), processed.margin()), (6, Some(-1)));
    }
    #[test]
    fn a_command_that_comes_too_late_for_its_tick_is_not_processed_by_it() {
        let mut processed = Processed::default();
        processed.expect((Tick(5), 1), 1, None);
        processed.expect((Tick(5), 2), 2, None);
        processed.expect((Tick(6), 2), 3, None);
        // The second message is still on its way.
        processed.advance(Tick(5), 1);
        assert_eq!(processed.sequence(), 0);
        processed.advance(Tick(6), 1);
        assert_eq!(processed.sequence(), 0);
        processed.advance(Tick(7), 2);
        assert_eq!(processed.sequence(), 3);
    }
}
