//! How often the own entity uses commands, by the rules of the server: refused commands are not
//! predicted, and a game can show when a command is ready again.

use std::collections::VecDeque;

use shared::wire::control::Quotas;
use shared::{CommandKind, Schema, Tick};

/// The limits of a world's commands, and the latest uses of those that rest.
#[derive(Debug)]
pub(crate) struct Usage {
    /// By number of a command: how often in a tick, or 0; and for how long it rests.
    limits: Vec<(u8, u32)>,
    /// How many ticks a command beyond its number may wait.
    waits_max: u32,
    /// Uses that the server has processed.
    uses: VecDeque<Use>,
}

/// A command that waits for the tick in which it is expected to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub kind: CommandKind,
    pub tick: Tick,
    /// The tick that it is meant for.
    pub meant: Tick,
}

/// A command that was given for a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub sequence: u32,
    pub kind: CommandKind,
    pub tick: Tick,
}

impl Usage {
    pub fn new(schema: &Schema, quotas: &Quotas) -> Usage {
        Usage {
            limits: limits(schema),
            waits_max: match quotas.surplus_waits {
                true => quotas.input_ticks,
                false => 0,
            },
            uses: VecDeque::new(),
        }
    }

    /// The world's commands are others now.
    pub fn change(&mut self, schema: &Schema) {
        self.limits = limits(schema);
    }

    /// Another entity has used nothing.
    pub fn forget(&mut self) {
        self.uses.clear();
    }

    /// The tick in which a command runs that is meant for one, after those that were given
    /// before it. `None` if it is refused.
    pub fn plan(
        &self,
        kind: CommandKind,
        meant: Tick,
        given: impl Iterator<Item = Waiting> + Clone,
    ) -> Option<Tick> {
        let last = given.clone().map(|given| given.tick).max();
        let soonest = last.map_or(meant, |last| meant.max(last));
        let per_tick = usize::from(self.limits_of(kind).0);
        let same = given.filter(|given| given.kind == kind);
        let in_tick = same.clone().filter(|given| given.tick == soonest).count();
        if per_tick == 0 || in_tick < per_tick {
            return Some(soonest);
        }
        let next = soonest.next();
        // Those before it are late, so it waits. It would be one too many for its own tick only
        // if as many were meant for that.
        let is_surplus = same.filter(|given| given.meant == meant).count() >= per_tick;
        let may_wait = !is_surplus || self.waits_max > 0 && next.since(meant) <= self.waits_max;
        may_wait.then_some(next)
    }

    /// The server has processed a command, which has run for all that is known.
    pub fn note(&mut self, used: Use) {
        let (_, cooldown) = self.limits_of(used.kind);
        if cooldown == 0 || self.uses.contains(&used) {
            return;
        }
        if self.uses.len() == USES_MAX {
            self.uses.pop_front();
        }
        self.uses.push_back(used);
    }

    /// A command was refused after all.
    pub fn take_back(&mut self, is_refused: impl Fn(u32) -> bool) {
        self.uses.retain(|used| !is_refused(used.sequence));
    }

    /// Those of the commands that were given that rest then, by their sequence numbers, and the
    /// tick from which on another command can be used after all of them.
    pub fn rests(&self, kind: CommandKind, given: impl Iterator<Item = Use>) -> (Vec<u32>, Tick) {
        let (_, cooldown) = self.limits_of(kind);
        let mut resting = vec![];
        let mut last: Option<Tick> = None;
        if cooldown == 0 {
            return (resting, Tick(0));
        }
        let ready = |last: Option<Tick>| last.map_or(Tick(0), |last| last.after(cooldown));
        let known = self.uses.iter().copied().filter(|used| used.kind == kind);
        let processed = known.clone().map(|used| used.tick).max();
        for used in given.filter(|given| given.kind == kind) {
            let before = last.max(processed);
            // All uses of one tick see the same world.
            let is_same = before == Some(used.tick);
            match !is_same && used.tick < ready(before) {
                true => resting.push(used.sequence),
                false => last = Some(used.tick),
            }
        }
        (resting, ready(last.max(processed)))
    }

    pub fn per_tick(&self, kind: CommandKind) -> u8 {
        self.limits_of(kind).0
    }

    fn limits_of(&self, kind: CommandKind) -> (u8, u32) {
        let limits = self.limits.get(usize::from(kind.id()));
        limits.copied().unwrap_or_default()
    }
}

fn limits(schema: &Schema) -> Vec<(u8, u32)> {
    let limits = schema.commands_by_number(|command| (command.per_tick, command.cooldown));
    limits.into_iter().map(Option::unwrap_or_default).collect()
}

/// More than a game has buttons.
const USES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const DASH: CommandKind = CommandKind(2);

    fn usage(per_tick: u8, cooldown: u32, waits_max: u32) -> Usage {
        Usage {
            limits: vec![(0, 0), (0, 0), (per_tick, cooldown)],
            waits_max,
            uses: VecDeque::new(),
        }
    }

    #[test]
    fn a_command_beyond_its_number_is_refused_or_comes_later() {
        let waiting = |tick, meant| Waiting {
            kind: DASH,
            tick: Tick(tick),
            meant: Tick(meant),
        };
        let given = [waiting(7, 7), waiting(7, 7)];
        let plan = |per_tick, waits_max| {
            usage(per_tick, 0, waits_max).plan(DASH, Tick(7), given.into_iter())
        };
        assert_eq!(plan(3, 0), Some(Tick(7)));
        assert_eq!(plan(2, 0), None);
        assert_eq!(plan(2, 4), Some(Tick(8)));
        assert_eq!(plan(0, 0), Some(Tick(7)));
        // It does not come before one that waits.
        let next = usage(2, 0, 4).plan(DASH, Tick(5), given.into_iter());
        assert_eq!(next, Some(Tick(8)));
        // One that is alone in its own tick waits behind one that is late.
        let late = [waiting(7, 6)];
        let next = usage(1, 0, 0).plan(DASH, Tick(7), late.into_iter());
        assert_eq!(next, Some(Tick(8)));
    }

    #[test]
    fn a_command_is_ready_so_many_ticks_after_its_last_use_that_counts() {
        let mut usage = usage(0, 10, 0);
        let used = |sequence, tick| Use {
            sequence,
            kind: DASH,
            tick: Tick(tick),
        };
        assert_eq!(usage.rests(DASH, [].into_iter()), (vec![], Tick(0)));
        usage.note(used(1, 20));
        let given = [used(2, 29), used(3, 30), used(4, 30), used(5, 31)];
        assert_eq!(usage.rests(DASH, given.into_iter()), (vec![2, 5], Tick(40)));
        // The server reports that the first did not run.
        usage.take_back(|sequence| sequence == 1);
        assert_eq!(
            usage.rests(DASH, given.into_iter()),
            (vec![3, 4, 5], Tick(39))
        );
        assert_eq!(usage.rests(CommandKind(1), given.into_iter()).1, Tick(0));
    }
}
