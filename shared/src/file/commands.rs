//! The numbers of commands, the rules by which kinds give commands, and the
//! notifications that can happen.

use super::check::{Problem, SIZE_MAX, fixed, in_range, problem, unexpected};
use super::{kinds, raw};
use crate::world::attribute::{AttributeType, Audience};
use crate::world::builtin;
use crate::world::command::{CommandSchema, Rules};
use crate::world::config::{DELAY_TICKS_MAX, Every, Fall};
use crate::world::fixed::Fixed;
use crate::world::notification::NotificationSchema;
use crate::world::schema::Schema;

pub(super) fn every(schema: &Schema, raw: &[raw::Every]) -> Result<Vec<Every>, Problem> {
    let keyed = raw.iter().enumerate();
    keyed
        .map(|(i, raw)| every_one(schema, &format!("every[{i}]"), raw))
        .collect()
}

fn every_one(schema: &Schema, key: &str, raw: &raw::Every) -> Result<Every, Problem> {
    let kind = kinds::index(schema, &format!("{key}.kind"), &raw.kind)?;
    let ticks = in_range(&format!("{key}.ticks"), raw.ticks, 1, DELAY_TICKS_MAX)?;
    // A world file can't name an entity, so commands with a target are for clients only.
    let has_target =
        |c: &CommandSchema| c.words.iter().any(|word| word.ty == AttributeType::Entity);
    let givable = schema
        .commands
        .iter()
        .filter(|c| c.senders.rules && !has_target(c));
    let Some(command) = givable.clone().find(|c| c.name == raw.command) else {
        let names: Vec<_> = givable.map(|c| c.name.as_str()).collect();
        let found = format!("{:?}", raw.command);
        return unexpected(format!("{key}.command"), found, format!("one of {names:?}"));
    };
    let key = format!("{key}.words");
    let (expected, found) = (command.words.len(), raw.words.len());
    if found != expected {
        let message = format!("`{}` takes {expected} numbers, found {found}", command.name);
        return problem(key, message);
    }
    let words = raw.words.iter().zip(&command.words);
    let words = words.map(|(value, word)| kinds::value(&key, word.ty, value, &[], &[]));
    Ok(Every {
        kind,
        ticks,
        command: command.kind,
        words: words.collect::<Result<_, _>>()?,
    })
}

pub(super) fn rules(raw: &raw::Commands) -> Result<Rules, Problem> {
    let default = Rules::default();
    let length = |key: &str, value: Option<f64>, default: Fixed| match value {
        None => Ok(default),
        Some(value) => fixed(&format!("commands.{key}"), value, 0.0, SIZE_MAX),
    };
    let amount = |key: &str, value: Option<i32>, default: i32, max: i32| {
        in_range(&format!("commands.{key}"), value.unwrap_or(default), 0, max)
    };
    let (r#move, strike, heal) = (&raw.r#move, &raw.strike, &raw.heal);
    let (blast, pick, roam, shout) = (&raw.blast, &raw.pick, &raw.roam, &raw.shout);
    Ok(Rules {
        move_speed_max: length("move.speed_max", r#move.speed_max, default.move_speed_max)?,
        strike_reach: length("strike.reach", strike.reach, default.strike_reach)?,
        strike_damage: amount(
            "strike.damage",
            strike.damage,
            default.strike_damage,
            i32::MAX,
        )?,
        heal_reach: length("heal.reach", heal.reach, default.heal_reach)?,
        heal_amount: amount("heal.amount", heal.amount, default.heal_amount, i32::MAX)?,
        blast_reach: length("blast.reach", blast.reach, default.blast_reach)?,
        blast_radius: length("blast.radius", blast.radius, default.blast_radius)?,
        blast_damage: amount("blast.damage", blast.damage, default.blast_damage, i32::MAX)?,
        blast_ember_ticks: amount(
            "blast.ember_ticks",
            blast.ember_ticks,
            default.blast_ember_ticks,
            DELAY_TICKS_MAX as i32,
        )?,
        blast_ember_damage: amount(
            "blast.ember_damage",
            blast.ember_damage,
            default.blast_ember_damage,
            i32::MAX,
        )?,
        blast_sound: length("blast.sound", blast.sound, default.blast_sound)?,
        pick_reach: length("pick.reach", pick.reach, default.pick_reach)?,
        roam_step: length("roam.step", roam.step, default.roam_step)?,
        shout_radius_max: length(
            "shout.radius_max",
            shout.radius_max,
            default.shout_radius_max,
        )?,
    })
}

/// Whether anything in the world puts commands off.
pub(super) fn schedules(schema: &Schema, rules: &Rules, falls: &[Option<Fall>]) -> bool {
    falls.iter().any(Option::is_some)
        || rules.blast_ember_ticks > 0 && schema.command(builtin::BLAST).is_some()
}

/// The notifications that can happen in a world of these attributes and commands, by
/// ascending number. A pick tells the owner of an item, so there is one only where clients
/// may know owners.
pub(super) fn notifications(
    schema: &Schema,
    rules: &Rules,
    falls: &[Option<Fall>],
    tells_owner: Option<u16>,
) -> Vec<NotificationSchema> {
    let is_public = |column: u16| {
        let audience = schema.attributes[usize::from(column)].audience;
        matches!(audience, Audience::Movement | Audience::State)
    };
    let is_heard = rules.blast_sound.raw() > 0 && schema.command(builtin::BLAST).is_some();
    let all = [
        (
            falls.iter().any(Option::is_some),
            NotificationSchema::fall(),
        ),
        (
            tells_owner.is_some_and(is_public),
            NotificationSchema::picked(),
        ),
        (is_heard, builtin::blast_notification(schema.dimensions())),
        (
            schema.command(builtin::SHOUT).is_some(),
            builtin::shout_notification(),
        ),
    ];
    let possible = all.into_iter().filter(|&(is_possible, _)| is_possible);
    possible.map(|(_, schema)| schema).collect()
}
