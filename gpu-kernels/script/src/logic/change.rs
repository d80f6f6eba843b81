//! Other scripts for a world.

use shared::world::config::Every;
use shared::world::logic::LogicConfig;
use shared::world::notification::NotificationSchema;
use shared::{CommandKind, Limits, NotificationKind, Schema, WorldConfig};

use super::{Command, Logic};
use crate::diagnostic::Problem;

/// A world with other scripts, whose new names get numbers. Everything else stays, so rules
/// must find the commands that they give.
pub fn with_logic(config: &WorldConfig, logic: &LogicConfig) -> Result<WorldConfig, Vec<Problem>> {
    compile_with(config, logic).map(|(config, _)| config)
}

/// The same, and the logic of that world.
pub fn compile_with(
    config: &WorldConfig,
    logic: &LogicConfig,
) -> Result<(WorldConfig, Logic), Vec<Problem>> {
    change(config, logic, true)
}

/// A world with the scripts that it had when it was stored, from the one that it began as. What
/// clients have subscribed to may have changed in between.
pub fn restore_with(
    config: &WorldConfig,
    logic: &LogicConfig,
) -> Result<WorldConfig, Vec<Problem>> {
    change(config, logic, false).map(|(config, _)| config)
}

fn change(
    config: &WorldConfig,
    logic: &LogicConfig,
    has_subscribers: bool,
) -> Result<(WorldConfig, Logic), Vec<Problem>> {
    let mut compiled = Logic::compile_with(&config.schema, &config.symbols, logic)?;
    let limits = &config.limits;
    let mut problems = lacks_room(&compiled, limits);
    if WorldConfig::notifies_of_falls(&compiled.hooks) && !config.causes {
        problems.push(Problem::Setting {
            key: "logic".to_owned(),
            message: "a hook asks who caused a fall, for which the running world has no room: \
                      restart it"
                .to_owned(),
        });
    }
    let before = config.schema.notifications.clone();
    let resting_before = resting(&config.schema);
    let mut config = config.clone();
    let schema = &mut config.schema;
    schema.commands.retain(|c| c.kind <= CommandKind::DESPAWN);
    let commands = compiled.commands.iter().map(|c| c.schema.clone());
    schema.commands.extend(commands);
    let engines = before.iter().filter(|n| n.kind <= NotificationKind::PICKED);
    let notifications = engines.cloned().chain(compiled.notifications.clone());
    limits.apply(schema, notifications.collect());
    if has_subscribers && limits.subscriptions_per_client > 0 {
        // Predicates name fields, by type.
        problems.extend(changed_notifications(&config.schema.notifications, &before));
    }
    let name_before = |kind| config.logic.numbers.command_name(kind).unwrap_or("?");
    let of_file = config.every.iter().filter(|rule| rule.of_ended.is_none());
    for (i, rule) in of_file.enumerate() {
        let name = name_before(rule.command);
        if let Some(message) = wrong_rule(&config, rule, name) {
            let key = format!("every[{i}]");
            problems.push(Problem::Setting { key, message });
        }
    }
    for (kind, born) in config.schema.kinds.iter().zip(&config.born) {
        let Some(born) = *born else { continue };
        let name = name_before(born);
        let message = match config.schema.command(born) {
            None => format!("`{name}`, which newborns give, is gone: declare it again"),
            Some(command) if !command.is_for_newborns() => {
                format!("`{name}`, which newborns give, has to take `me` and nothing else")
            }
            Some(_) => continue,
        };
        let key = format!("kind.{}.born", kind.name);
        problems.push(Problem::Setting { key, message });
    }
    // What rests is a part of the state, whose form stays.
    let resting_now = resting(&config.schema);
    for (kind, cooldown) in changed_rests(&resting_before, &resting_now) {
        let name = compiled.numbers.command_name(kind).unwrap_or("?");
        let ticks = |rests: &[(CommandKind, u32)]| {
            let found = rests.iter().find(|(resting, _)| *resting == kind);
            found.map_or(0, |(_, cooldown)| *cooldown)
        };
        problems.push(Problem::Setting {
            key: format!("commands.{name}.cooldown"),
            message: format!(
                "it is {cooldown}, and {} in the running world: restart it",
                ticks(&resting_before)
            ),
        });
    }
    for public in &mut config.schema.constants {
        match compiled
            .constants
            .iter()
            .find(|own| own.name == public.name)
        {
            Some(own) => public.clone_from(own),
            None => problems.push(Problem::Setting {
                key: "world.constants".to_owned(),
                message: format!("the constant `{}` is gone: declare it again", public.name),
            }),
        }
    }
    config.hooks = WorldConfig::hooks_of_born(&config.born).collect();
    config.hooks.extend_from_slice(&compiled.hooks);
    config.reasons.clone_from(&compiled.reasons);
    config.logic = LogicConfig {
        numbers: compiled.numbers.clone(),
        ..logic.clone()
    };
    if problems.is_empty() {
        compiled.refuse_excess(&config.exact);
        compiled.fit(&config.schema);
        Ok((config, compiled))
    } else {
        Err(problems)
    }
}

/// The commands that rest, with their ticks.
fn resting(schema: &Schema) -> Vec<(CommandKind, u32)> {
    let resting = schema.resting_commands();
    resting.map(|c| (c.kind, c.cooldown)).collect()
}

/// The commands that rest longer or shorter than before, with their ticks now.
fn changed_rests(
    before: &[(CommandKind, u32)],
    now: &[(CommandKind, u32)],
) -> Vec<(CommandKind, u32)> {
    let ended = before
        .iter()
        .filter(|(kind, _)| !now.iter().any(|(other, _)| other == kind));
    let ended = ended.map(|&(kind, _)| (kind, 0));
    let changed = now.iter().filter(|rest| !before.contains(rest)).copied();
    ended.chain(changed).collect()
}

/// Why a rule of the world file can't give its command, which once had this name.
fn wrong_rule(config: &WorldConfig, rule: &Every, name: &str) -> Option<String> {
    let kind = config.schema.kinds.get(usize::from(rule.kind));
    let kind = kind.map_or("?", |kind| kind.name.as_str());
    let Some(command) = config.schema.command(rule.command) else {
        return Some(format!(
            "the rule for `{kind}` gives `{name}`, which is gone: declare it with \
             `#[command(rules)]`"
        ));
    };
    if !command.senders.rules {
        return Some(format!(
            "the rule for `{kind}` gives `{name}`, which is not for rules any more: declare it \
             with `#[command(rules)]`"
        ));
    }
    let (expected, found) = (command.words.len(), rule.words.len());
    if expected != found {
        return Some(format!(
            "the rule for `{kind}` gives `{name}` {found} numbers, and it takes {expected} now"
        ));
    }
    let own_place = rule.own_place.map(usize::from);
    let has_place = own_place.is_none() || command.point(config.schema.dimensions()) == own_place;
    (!has_place).then(|| {
        format!(
            "the rule for `{kind}` gives `{name}` the entity's place, and it does not take one \
             point there any more"
        )
    })
}

/// Notifications whose fields are others than before.
fn changed_notifications(
    now: &[NotificationSchema],
    before: &[NotificationSchema],
) -> Vec<Problem> {
    let is_changed = |n: &&NotificationSchema| {
        let mut before = before.iter().filter(|old| old.kind == n.kind);
        before.any(|old| old.fields != n.fields)
    };
    let changed = now.iter().filter(is_changed);
    let problem = |n: &NotificationSchema| Problem::Setting {
        key: "logic".to_owned(),
        message: format!(
            "notification `{}` has other fields than before, to which clients may have \
             subscribed: give it another name",
            n.name
        ),
    };
    changed.map(problem).collect()
}

/// What the scripts do for which a world has no room. Its limits follow from the scripts
/// that it starts with.
fn lacks_room(logic: &Logic, limits: &Limits) -> Vec<Problem> {
    let given = logic.commands.iter().filter(|c| c.schema.is_given());
    let schedules = given.clone().find(|c| c.code.afters().next().is_some());
    let notifies = given
        .clone()
        .find(|c| c.code.notifications().next().is_some());
    let problem = |command: &Command, what: &str, limit: &str| Problem::Setting {
        key: format!("limits.{limit}"),
        message: format!(
            "`{}` {what}, for which the running world has no room: restart it, or give \
             it room from the start",
            command.schema.name
        ),
    };
    let mut problems = vec![];
    if let Some(command) = schedules.filter(|_| limits.timed_commands == 0) {
        problems.push(problem(command, "puts a command off", "timed_commands"));
    }
    let mut hooks = logic.hooks.iter();
    if let Some(hook) = hooks.next().filter(|_| limits.timed_commands == 0)
        && let Some(command) = logic.command(hook.command)
    {
        problems.push(problem(command, "is a hook", "timed_commands"));
    }
    if let Some(command) = notifies.filter(|_| limits.notifications_per_tick == 0) {
        problems.push(problem(
            command,
            "notifies clients",
            "notifications_per_tick",
        ));
    }
    if let Some(command) = logic.commands.iter().find(|c| c.atomic.is_some())
        && limits.atomic_per_tick == 0
    {
        problems.push(problem(command, "is atomic", "atomic_per_tick"));
    }
    if let Some(command) = logic.commands.iter().find(|c| c.rewinds())
        && limits.rewind_ticks == 0
    {
        problems.push(problem(command, "asks where entities were", "rewind_ticks"));
    }
    problems
}
