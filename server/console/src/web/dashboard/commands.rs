//! The most frequent commands, and the costs of their scripts.

use std::collections::VecDeque;
use std::time::Duration;

use platform::metrics::window::Window;
use script::Logic;
use serde::Serialize;
use shared::world::command::COMMANDS_MAX;
use shared::{CommandKind, WorldConfig};

/// The commands of the last seconds.
pub struct Commands {
    costs: Vec<Cost>,
    recent: VecDeque<Usage>,
    /// By number, since the start.
    over_budget: [u64; COMMANDS_MAX],
    out_of_range: [u64; COMMANDS_MAX],
}

/// The highest cost of a command's script in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cost {
    kind: CommandKind,
    name: String,
    /// None for commands that are no scripts.
    script: Option<(usize, u64)>,
}

#[derive(Clone, Debug)]
struct Usage {
    took: Duration,
    by_number: [u64; COMMANDS_MAX],
}

/// A command of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    /// By clients and operators, in the last seconds.
    pub per_second: f64,
    /// Runs that used up their budget, since the start.
    pub over_budget: u64,
    /// Runs that met an index or a key that is not there, since the start.
    pub out_of_range: u64,
    /// Of its script.
    pub instructions: Option<usize>,
    /// Updates that one run may make.
    pub updates_max: Option<u64>,
    /// Its part of the instructions that all these commands may take, from 0 to 1.
    pub share: f64,
}

impl Commands {
    pub fn new(world: &WorldConfig) -> Commands {
        Commands {
            costs: costs(world),
            recent: VecDeque::new(),
            over_budget: [0; COMMANDS_MAX],
            out_of_range: [0; COMMANDS_MAX],
        }
    }

    /// The scripts have changed.
    pub fn change_world(&mut self, world: &WorldConfig) {
        self.costs = costs(world);
    }

    pub fn add(&mut self, window: &Window, took: Duration) {
        if self.recent.len() == WINDOWS_KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(Usage {
            took,
            by_number: window.given,
        });
        for (sums, runs) in [
            (&mut self.over_budget, window.over_budget),
            (&mut self.out_of_range, window.out_of_range),
        ] {
            sums.iter_mut()
                .zip(runs)
                .for_each(|(sum, runs)| *sum += runs);
        }
    }

    /// The commands of the world, those that are given most first.
    pub fn top(&self) -> Vec<Row> {
        let seconds: f64 = self
            .recent
            .iter()
            .map(|given| given.took.as_secs_f64())
            .sum();
        let number = |kind: CommandKind| usize::from(kind.id());
        let count = |cost: &Cost| -> u64 {
            let recent = self.recent.iter();
            recent.map(|given| given.by_number[number(cost.kind)]).sum()
        };
        let instructions =
            |cost: &Cost| count(cost) as f64 * cost.script.map_or(0.0, |(count, _)| count as f64);
        let all: f64 = self.costs.iter().map(instructions).sum();
        let mut rows: Vec<Row> = (self.costs.iter())
            .map(|cost| Row {
                name: cost.name.clone(),
                per_second: count(cost) as f64 / seconds.max(f64::EPSILON),
                over_budget: self.over_budget[number(cost.kind)],
                out_of_range: self.out_of_range[number(cost.kind)],
                instructions: cost.script.map(|(count, _)| count),
                updates_max: cost.script.map(|(_, updates)| updates),
                share: instructions(cost) / all.max(1.0),
            })
            .collect();
        rows.sort_by(|a, b| b.per_second.total_cmp(&a.per_second));
        rows
    }
}

fn costs(world: &WorldConfig) -> Vec<Cost> {
    // The logic of a checked world compiles; if not, its scripts have no costs.
    let logic = Logic::of(world).ok();
    let script_of = |kind: CommandKind| {
        let commands = logic.as_ref().map(|logic| &logic.commands)?;
        let command = commands
            .iter()
            .find(|command| command.schema.kind == kind)?;
        Some((command.code.insts.len(), command.updates_max))
    };
    let commands = world.schema.commands.iter();
    commands
        .map(|command| Cost {
            kind: command.kind,
            name: command.name.clone(),
            script: script_of(command.kind),
        })
        .collect()
}

/// Windows of a second.
const WINDOWS_KEPT: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_the_last_seconds_come_in_order_with_their_costs() {
        let world = world_file::default();
        let mut commands = Commands::new(&world);
        let number = |name: &str| {
            let command = world.schema.command_named(name).unwrap();
            usize::from(command.kind.id())
        };
        let second = Duration::from_secs(1);
        for _ in 0..100 {
            let mut window = Window::new();
            window.given[number("strike")] = 3;
            window.given[number("move")] = 40;
            window.over_budget[number("strike")] = 1;
            window.out_of_range[number("move")] = 2;
            commands.add(&window, second);
        }
        let top = commands.top();
        assert_eq!(top.len(), world.schema.commands.len());
        let names: Vec<&str> = top.iter().take(2).map(|row| &*row.name).collect();
        assert_eq!(names, ["move", "strike"]);
        assert_eq!([top[0].per_second, top[1].per_second], [40.0, 3.0]);
        assert_eq!([top[0].over_budget, top[1].over_budget], [0, 100]);
        assert_eq!([top[0].out_of_range, top[1].out_of_range], [200, 0]);
        assert!(top[..2].iter().all(|row| row.instructions > Some(0)));
        let shares: f64 = top.iter().map(|row| row.share).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
        assert_eq!(commands.recent.len(), WINDOWS_KEPT);
    }
}
