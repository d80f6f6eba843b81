//! When the client's commands run: none before an earlier one.

use shared::{CommandKind, Tick};

/// The tick of the client's last command, and what runs in it.
#[derive(Default)]
pub struct Planned {
    tick: Tick,
    /// How often each command runs in it.
    given: Vec<(CommandKind, u32)>,
}

impl Planned {
    /// The tick of the last command.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The first tick from `soonest` on in which another command can run, which may be given so
    /// often in a tick; 0: as often as the client wants.
    pub fn tick_for(&self, soonest: Tick, kind: CommandKind, per_tick: u8) -> Tick {
        if soonest > self.tick {
            return soonest;
        }
        let same = self.given.iter().find(|given| given.0 == kind);
        match per_tick > 0 && same.is_some_and(|same| same.1 >= u32::from(per_tick)) {
            true => self.tick.next(),
            false => self.tick,
        }
    }

    /// A command runs in this tick, the one of the last command or a later one.
    pub fn give(&mut self, tick: Tick, kind: CommandKind) {
        if tick > self.tick {
            self.tick = tick;
            self.given.clear();
        }
        match self.given.iter_mut().find(|given| given.0 == kind) {
            Some(same) => same.1 = same.1.saturating_add(1),
            None => self.given.push((kind, 1)),
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
            planned.give(tick, kind);
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
}
