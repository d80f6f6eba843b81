//! What happens in a world: the numbers of its commands, its rules, and what it tells of.

use super::kinds::{kind_index, read_value};
use super::{Problem, SIZE_MAX, fixed, in_range, problem, raw};
use crate::world::attribute::{Attribute, AttributeType, Audience};
use crate::world::command::{CommandKind, Rules, Sender};
use crate::world::config::{DELAY_TICKS_MAX, Every};
use crate::world::fixed::Fixed;
use crate::world::notification::NotificationKind;
use crate::world::schema::Schema;

pub(super) fn every(schema: &Schema, key: &str, raw: raw::Every) -> Result<Every, Problem> {
    let kind = kind_index(schema, &format!("{key}.kind"), &raw.kind)?;
    let ticks = in_range(&format!("{key}.ticks"), raw.ticks, 1, DELAY_TICKS_MAX)?;
    let givable: Vec<_> = schema
        .commands
        .iter()
        .filter(|c| matches!(c.sender, Sender::Client | Sender::Rule))
        // A file can't name an entity, so what is aimed at one is for clients.
        .filter(|c| !c.words.contains(&AttributeType::Entity))
        .collect();
    let Some(command) = givable.iter().find(|c| c.name == raw.command) else {
        let names: Vec<_> = givable.iter().map(|c| c.name.as_str()).collect();
        return problem(
            format!("{key}.command"),
            format!("{:?}", raw.command),
            format!("one of {names:?}"),
        );
    };
    if raw.words.len() != command.words.len() {
        return problem(
            format!("{key}.words"),
            format!("{} words", raw.words.len()),
            format!("{} for {}", command.words.len(), command.name),
        );
    }
    let words = raw
        .words
        .iter()
        .zip(&command.words)
        .map(|(value, &ty)| read_value(&format!("{key}.words"), ty, value, &[], &[]))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Every {
        kind,
        ticks,
        command: command.kind,
        words,
    })
}

pub(super) fn rules(raw: raw::Commands) -> Result<Rules, Problem> {
    let default = Rules::default();
    let length = |key: &str, value: Option<f64>, otherwise: Fixed| match value {
        None => Ok(otherwise),
        Some(value) => fixed(key, value, 0.0, SIZE_MAX),
    };
    let amount = |key: &str, value: Option<i32>, otherwise: i32| match value {
        None => Ok(otherwise),
        Some(value) => in_range(key, value, 0, i32::MAX),
    };
    Ok(Rules {
        move_speed_max: length(
            "commands.move.speed_max",
            raw.r#move.speed_max,
            default.move_speed_max,
        )?,
        strike_reach: length(
            "commands.strike.reach",
            raw.strike.reach,
            default.strike_reach,
        )?,
        strike_damage: amount(
            "commands.strike.damage",
            raw.strike.damage,
            default.strike_damage,
        )?,
        heal_reach: length("commands.heal.reach", raw.heal.reach, default.heal_reach)?,
        heal_amount: amount("commands.heal.amount", raw.heal.amount, default.heal_amount)?,
        blast_reach: length("commands.blast.reach", raw.blast.reach, default.blast_reach)?,
        blast_radius: length(
            "commands.blast.radius",
            raw.blast.radius,
            default.blast_radius,
        )?,
        blast_damage: amount(
            "commands.blast.damage",
            raw.blast.damage,
            default.blast_damage,
        )?,
        blast_ember_ticks: in_range(
            "commands.blast.ember_ticks",
            raw.blast.ember_ticks.unwrap_or(default.blast_ember_ticks),
            0,
            DELAY_TICKS_MAX as i32,
        )?,
        blast_ember_damage: amount(
            "commands.blast.ember_damage",
            raw.blast.ember_damage,
            default.blast_ember_damage,
        )?,
        blast_sound: length("commands.blast.sound", raw.blast.sound, default.blast_sound)?,
        pick_reach: length("commands.pick.reach", raw.pick.reach, default.pick_reach)?,
        roam_step: length("commands.roam.step", raw.roam.step, default.roam_step)?,
        shout_radius_max: length(
            "commands.shout.radius_max",
            raw.shout.radius_max,
            default.shout_radius_max,
        )?,
    })
}

/// What can be told of in a world of these attributes and commands. Who owns what is
/// told of only where clients may know it anyway.
pub(super) fn notifications(
    schema: &Schema,
    rules: &Rules,
    respawn_ticks: &[u32],
) -> Vec<NotificationKind> {
    let is_told = |audience| matches!(audience, Audience::Movement | Audience::State);
    let is_owner = |a: &Attribute| a.name == "owner" && a.ty == AttributeType::Entity;
    let is_possible = |kind: &NotificationKind| match kind {
        NotificationKind::Blast => {
            rules.blast_sound.raw() > 0 && schema.command(CommandKind::Blast).is_some()
        }
        NotificationKind::Fall => respawn_ticks.iter().any(|&ticks| ticks > 0),
        NotificationKind::Pick => {
            let mut attributes = schema.attributes.iter();
            attributes.any(|a| is_owner(a) && is_told(a.audience))
        }
        NotificationKind::Shout => schema.command(CommandKind::Shout).is_some(),
    };
    let all = NotificationKind::ALL.into_iter();
    all.filter(is_possible).collect()
}

/// Who has no hit points can't fall; who is born without any would fall for ever.
pub(super) fn respawn_ticks(schema: &Schema, raw: &[Option<u32>]) -> Result<Vec<u32>, Problem> {
    let hp = schema
        .column("hp")
        .filter(|&c| schema.attributes[c].ty == AttributeType::I32);
    let mut all = vec![];
    for (kind, &ticks) in schema.kinds.iter().zip(raw) {
        let key = format!("kind.{}.respawn_ticks", kind.name);
        let Some(ticks) = ticks else {
            all.push(0);
            continue;
        };
        let own = kind
            .attributes
            .iter()
            .find(|a| Some(usize::from(a.column)) == hp);
        if own.is_none_or(|own| own.default <= own.min) {
            return problem(
                key,
                ticks,
                "a kind with hp of type i32 whose default is above its minimum",
            );
        }
        all.push(in_range(&key, ticks, 1, DELAY_TICKS_MAX)?);
    }
    Ok(all)
}
