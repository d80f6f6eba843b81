//! A client's datagrams: an acknowledgement, and commands for the inbox.

use std::collections::VecDeque;

use frontend::SessionWorld;
use frontend::inbox::{ClientCommand, Inbox};
use script::arith::ticks_back;
use shared::wire::commands::{Acknowledgement, ClientDatagram};
use shared::{CommandKind, EntityId, Refusal, Tick};
use thiserror::Error;

use super::{Player, Session};

/// Why a datagram that could be read makes no sense. The session must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DatagramError {
    #[error("commands before the welcome")]
    BeforeWelcome,
    #[error("tick {0} is acknowledged before it was sent")]
    NotSentYet(Tick),
}

/// Which of the client's commands the world has taken in, or refused.
#[derive(Default)]
pub struct Processed {
    /// Ascending; one entry a tick.
    coming: VecDeque<Coming>,
    sequence: u32,
    /// The least margin of those that the client was not told of.
    margin: Option<i32>,
    /// The sequence number that the client was told last.
    told: u32,
}

/// What a tick takes in.
#[derive(Clone, Copy, Debug)]
struct Coming {
    tick: Tick,
    /// The number of the last command.
    sequence: u32,
    /// The least number of ticks by which any came too early.
    margin: Option<i32>,
}

impl Session {
    /// Takes in what the client has received, and its new commands.
    pub fn take_in(
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
                        Some(place) => {
                            let kept = world.config.limits.rewind_ticks;
                            let mut own = own.to_vec();
                            own[place] = seen(own[place], tick, kept);
                            inbox.push_for(tick, command, &own);
                        }
                    }
                    self.processed.expect(tick, sequence, margin);
                }
                Err(reason) => {
                    inbox.refusals.note(reason);
                    self.refused.note(sequence, reason);
                    self.processed.expect(inbox.tick, sequence, margin);
                }
            }
        }
        Ok(())
    }

    /// The first tick whose late commands are worth waiting for, of those that come together in
    /// a datagram: each waits for a tick of its own, and what comes after them waits, too.
    fn oldest_late(
        &self,
        datagram: &ClientDatagram,
        world: &SessionWorld,
        next: Tick,
    ) -> Option<Tick> {
        let waits = late_waits_max(world) as usize;
        // So few may all wait.
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

    /// Whether a command has not come before. Sequence numbers begin anew after the last.
    fn is_new(&self, sequence: u32) -> bool {
        sequence.wrapping_sub(self.next_sequence) <= u32::MAX / 2
    }

    /// The tick in which a new command runs: the one that it is meant for. One that comes too
    /// late runs as soon as possible. One that finds its tick taken by others that came late waits
    /// for the next. So does one that was given for the same tick more often than it may be, if
    /// the world says so. Takes a token of the quota of the tick.
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
        // Nobody acts for a spectator.
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
        self.quota.fill(tick);
        if !self.quota.take() {
            return Err(Refusal::OverQuota);
        }
        if tick > soonest.max(self.planned.tick()) && has_waited_long {
            return Err(Refusal::OverPerTick);
        }
        self.planned.give(tick, meant, kind);
        Ok(tick)
    }

    /// Takes in what has arrived at the client, before tick `next` has begun.
    fn acknowledge(&mut self, new: &Acknowledgement, next: Tick) {
        // Datagrams overtake each other: an older one brings nothing new.
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

/// How many ticks a command may wait since others came late.
fn late_waits_max(world: &SessionWorld) -> u32 {
    let tick_hz = world.config.schema.world.tick_hz;
    (tick_hz / LATE_WAITS_PER_SECOND).max(1)
}

/// How many ticks a newer acknowledgement is the first to have, as far back as it goes.
fn newly_arrived(old: &Acknowledgement, new: &Acknowledgement) -> u32 {
    let all = |of: &Acknowledgement| u64::from(of.mask) << 1 | 1;
    let ahead = new.newest.since(old.newest);
    let known = all(old).checked_shl(ahead).unwrap_or(0);
    (all(new) & !known).count_ones()
}

/// What a client says that it saw, as a command may have it that runs in a tick: nothing that has
/// not happened before, and nothing that is not kept any more.
fn seen(claimed: i32, tick: Tick, kept: u32) -> i32 {
    let tick = tick.low().cast_signed();
    tick.wrapping_sub_unsigned(ticks_back(tick, claimed, kept.max(1)))
}

/// By how many ticks a command comes too early; below 0: too late.
fn margin(meant: Tick, next: Tick) -> i32 {
    let ticks = i64::from(meant.since(next)) - i64::from(next.since(meant));
    i32::try_from(ticks).unwrap_or(i32::MIN)
}

impl Processed {
    /// The tick will be through with the command of this number, and with all before. Only
    /// the last number of a tick matters.
    fn expect(&mut self, tick: Tick, sequence: u32, margin: Option<i32>) {
        match self.coming.back_mut() {
            // Commands that came before it wait for a later tick.
            Some(last) if last.tick >= tick => {
                last.sequence = sequence;
                last.margin = least(last.margin, margin);
            }
            _ => self.coming.push_back(Coming {
                tick,
                sequence,
                margin,
            }),
        }
    }

    /// Moves on to the commands that a tick has taken in.
    pub fn advance(&mut self, tick: Tick) {
        while let Some(taken) = self.coming.pop_front_if(|coming| coming.tick <= tick) {
            self.sequence = taken.sequence;
            self.margin = least(self.margin, taken.margin);
        }
    }

    /// By how many ticks the commands that the client was not told of came too early: the
    /// least of them. `None` if none of them said for which tick it was meant.
    pub fn margin(&self) -> Option<i32> {
        self.margin
    }

    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Whether the client does not know yet which commands were taken in.
    pub fn has_news(&self) -> bool {
        self.sequence != self.told
    }

    /// The client is told now.
    pub fn tell(&mut self) {
        self.told = self.sequence;
        self.margin = None;
    }
}

fn least(a: Option<i32>, b: Option<i32>) -> Option<i32> {
    a.into_iter().chain(b).min()
}

/// A tenth of a second of late commands is worth waiting for.
const LATE_WAITS_PER_SECOND: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_saw_the_future_or_what_is_forgotten() {
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
        // Whatever the bits are.
        assert_eq!(seen(i32::MIN + 99, Tick(100), 8), 99);
        assert_eq!(seen(i32::MIN + 101, Tick(100), 8), 92);
        // Ticks of which the low bits begin anew.
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
            processed.expect(Tick(tick), sequence, margin);
        }
        assert_eq!(processed.coming.len(), 3);
        processed.advance(Tick(4));
        assert!(!processed.has_news());
        processed.advance(Tick(5));
        assert_eq!((processed.sequence(), processed.has_news()), (2, true));
        assert_eq!(processed.margin(), Some(0));
        processed.tell();
        assert_eq!((processed.has_news(), processed.margin()), (false, None));
        processed.advance(Tick(6));
        assert_eq!((processed.sequence(), processed.margin()), (5, Some(-1)));
        processed.advance(Tick(9));
        assert_eq!((processed.sequence(), processed.margin()), (6, Some(-1)));
    }
}
