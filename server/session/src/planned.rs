//! The ticks of a client's commands: none runs before an earlier one.

use shared::{CommandKind, Tick};

/// The tick of the client's last command, and the commands that run in it.
#[derive(Default)]
pub struct Planned {
    tick: Tick,
    /// How often each command runs in it.
    counts: CommandCounts,
    /// The newest tick that a command was meant for.
    meant: Tick,
    /// How often each command was meant for it.
    counts_meant: CommandCounts,
}

/// Counts by command.
#[derive(Default)]
struct CommandCounts(Vec<(CommandKind, u32)>);

impl Planned {
    /// The tick of the last command.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The first tick from `soonest` on in which another command can run that is limited to
    /// `per_tick` in a tick; 0: no limit.
    pub fn tick_for(&self, soonest: Tick, kind: CommandKind, per_tick: u8) -> Tick {
        if soonest > self.tick {
            return soonest;
        }
        match per_tick > 0 && self.counts.count(kind) >= u32::from(per_tick) {
            true => self.tick.next(),
            false => self.tick,
        }
    }

    /// Whether the commands that were meant for the same tick already use up `per_tick`. If not,
    /// another one can lack room in its tick only because of others that came late.
    pub fn is_surplus(&self, meant: Tick, kind: CommandKind, per_tick: u8) -> bool {
        let is_new = meant > self.meant;
        !is_new && self.counts_meant.count(kind) >= u32::from(per_tick)
    }

    /// Plans a command that is meant for tick `meant` for `tick`: that of the last command or a
    /// later one.
    pub fn give(&mut self, tick: Tick, meant: Tick, kind: CommandKind) {
        if tick > self.tick {
            self.tick = tick;
            self.counts.0.clear();
        }
        if meant > self.meant {
            self.meant = meant;
            self.counts_meant.0.clear();
        }
        self.counts.add(kind);
        self.counts_meant.add(kind);
    }
}

impl CommandCounts {
    fn count(&self, kind: CommandKind) -> u32 {
        let same = self.0.iter().find(|given| given.0 == kind);
        same.map_or(0, |same| same.1)
    }

    fn add(&mut self, kind: CommandKind) {
        match self.0.iter_mut().find(|given| given.0 == kind) {
            Some(same) => same.1 = same.1.saturating_add(1),
            None => self.0.push((kind, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_beyond_its_number_comes_a_tick_later_and_so_does_all_after_it() {
        let (step, strike) = (CommandKind(2), CommandKind(3));
        let mut planned = Planned::default();
        let mut plan = |soonest, kind, per_tick| {
            let tick = planned.tick_for(Tick(soonest), kind, per_tick);
            planned.give(tick, Tick(soonest), kind);
            tick.0
        };
        assert_eq!(plan(5, step, 1), 5);
        assert_eq!(plan(5, strike, 2), 5);
        assert_eq!(plan(5, strike, 2), 5);
        assert_eq!(plan(5, step, 1), 6);
        assert_eq!(plan(5, strike, 2), 6);
        assert_eq!(plan(6, step, 1), 7);
        assert_eq!(plan(9, step, 1), 9);
        assert_eq!(plan(9, step, 0), 9);
    }
    #[test]
    fn a_command_is_surplus_if_as_many_were_given_for_the_same_tick() {
        let (step, strike) = (CommandKind(2), CommandKind(3));
        let mut planned = Planned::default();
        assert!(!planned.is_surplus(Tick(5), step, 1));
        // It came late, and runs in the tick of the next one.
        planned.give(Tick(6), Tick(5), step);
        assert!(planned.is_surplus(Tick(5), step, 1));
        assert!(!planned.is_surplus(Tick(5), strike, 1));
        assert!(!planned.is_surplus(Tick(6), step, 1));
        assert_eq!(planned.tick_for(Tick(6), step, 1), Tick(7));
    }
}
