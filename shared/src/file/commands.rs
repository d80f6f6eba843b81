//! The numbers of commands, the rules by which kinds give commands, and the
//! notifications that can happen.

use super::check::{Problem, SIZE_MAX, fixed, in_range, problem, unexpected};
use super::{kinds, raw};
use crate::world::attribute::{Attribute, AttributeType, Audience};
use crate::world::command::{CommandKind, Rules, Sender};
use crate::world::config::{DELAY_TICKS_MAX, Every};
use crate::world::fixed::Fixed;
use crate::world::notification::NotificationKind;
use crate::world::schema::{CommandSchema, Schema};

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
    let has_target = |c: &CommandSchema| c.words.contains(&AttributeType::Entity);
    let givable = schema
        .commands
        .iter()
        .filter(|c| matches!(c.sender, Sender::Client | Sender::Rule) && !has_target(c));
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
    let words = words.map(|(value, &ty)| kinds::value(&key, ty, value, &[], &[]));
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

/// Ticks from an entity's fall to its rebirth, by kind; 0 where the kind doesn't respawn.
pub(super) fn respawn_ticks(schema: &Schema, raw: &[raw::Kind]) -> Result<Vec<u32>, Problem> {
    let hp = schema
        .column("hp")
        .filter(|&c| schema.attributes[c].ty == AttributeType::I32);
    let kinds = schema.kinds.iter().zip(raw);
    kinds
        .map(|(kind, raw)| {
            let Some(ticks) = raw.respawn_ticks else {
                return Ok(0);
            };
            let key = format!("kind.{}.respawn_ticks", kind.name);
            let own = kind
                .attributes
                .iter()
                .find(|a| Some(usize::from(a.column)) == hp);
            // An entity that is born without hit points would fall again at once.
            if own.is_none_or(|own| own.default <= own.min) {
                let message = "the kind needs an attribute `hp` of type i32 whose default is \
                               above its minimum";
                return problem(key, message);
            }
            in_range(&key, ticks, 1, DELAY_TICKS_MAX)
        })
        .collect()
}

/// Whether anything in the world puts commands off.
pub(super) fn schedules(schema: &Schema, rules: &Rules, respawn_ticks: &[u32]) -> bool {
    respawn_ticks.iter().any(|&ticks| ticks > 0)
        || rules.blast_ember_ticks > 0 && schema.command(CommandKind::Blast).is_some()
}

/// The notifications that can happen in a world of these attributes and commands. A
/// pick tells the owner of an item, so there is one only where clients may know owners.
pub(super) fn notifications(
    schema: &Schema,
    rules: &Rules,
    respawn_ticks: &[u32],
) -> Vec<NotificationKind> {
    let is_public = |audience| matches!(audience, Audience::Movement | Audience::State);
    let is_owner = |a: &Attribute| a.name == "owner" && a.ty == AttributeType::Entity;
    let is_possible = |kind: &NotificationKind| match kind {
        NotificationKind::Blast => {
            rules.blast_sound.raw() > 0 && schema.command(CommandKind::Blast).is_some()
        }
        NotificationKind::Fall => respawn_ticks.iter().any(|&ticks| ticks > 0),
        NotificationKind::Pick => {
            let mut attributes = schema.attributes.iter();
            attributes.any(|a| is_owner(a) && is_public(a.audience))
        }
        NotificationKind::Shout => schema.command(CommandKind::Shout).is_some(),
    };
    let all = NotificationKind::ALL.into_iter();
    all.filter(is_possible).collect()
}
