//! `place` and `on_holder_end` of `[[kind]]`: things, which have no place and belong to a holder.

use shared::world::attribute::{AttributeType, Audience};
use shared::world::config::Every;
use shared::world::logic::Text;
use shared::world::schema::{HOLDER, Schema};
use shared::{CommandKind, MergeRule};

use super::check::{Problem, Problems, place, problem, unexpected};
use super::logic::add_note;
use super::raw;

/// Gives the kinds of things a holder, unless the file declares how it is merged, or who sees it.
pub(super) fn add_holders(kinds: &mut [raw::Kind]) {
    for kind in kinds.iter_mut().filter(|kind| kind.is_thing()) {
        if kind.attributes.iter().all(|own| own.name != HOLDER) {
            kind.attributes.push(raw::Attribute {
                // Whether scripts read it or not.
                allow: vec![raw::Allow::UnusedAttributes],
                ..raw::Attribute::plain(HOLDER, AttributeType::Entity)
            });
        }
    }
}

/// Checks what things can't have, and that others don't have what only things have.
pub(super) fn check(schema: &Schema, kinds: &[raw::Kind], problems: &mut Problems) {
    for kind in kinds {
        let checked = match kind.is_thing() {
            true => check_thing(schema, kind),
            false => check_other(kind),
        };
        problems.take(checked);
    }
}

fn check_other(kind: &raw::Kind) -> Result<(), Problem> {
    let key = format!("{}.on_holder_end", kind.key());
    match kind.on_holder_end {
        Some(_) => problem(key, "only a kind with `place = \"none\"` has holders"),
        None => Ok(()),
    }
}

fn check_thing(schema: &Schema, kind: &raw::Kind) -> Result<(), Problem> {
    let key = kind.key();
    let only_placed = [
        ("places", !kind.places.is_empty()),
        ("spawn", kind.spawn.is_some()),
        ("publishes", kind.publishes.is_some()),
        ("subscribes", kind.subscribes.is_some()),
        ("blocks", kind.blocks.is_some()),
        ("respawn_ticks", kind.respawn_ticks.is_some()),
    ];
    if let Some((name, _)) = only_placed.into_iter().find(|(_, is_there)| *is_there) {
        let message = "a kind with `place = \"none\"` has no place, so it can't have this";
        return problem(format!("{key}.{name}"), message);
    }
    for own in &kind.attributes {
        let key = format!("{key}.attributes.{}", own.name);
        if own.audience == Audience::Movement {
            let expected = "\"state\", \"private\" or \"hidden\": a thing does not move";
            return unexpected(format!("{key}.audience"), "\"movement\"", expected);
        }
        if own.tells_owner == Some(true) {
            let message = "a thing has no place, where others could hear of its new owner";
            return problem(format!("{key}.tells_owner"), message);
        }
        if own.name != HOLDER {
            continue;
        }
        if own.ty.of != AttributeType::Entity || own.ty.many.is_some() {
            let message = "expected type entity: it refers to the holder of a thing";
            return problem(format!("{key}.type"), message);
        }
        let merge = schema
            .column(HOLDER)
            .map(|column| &schema.attributes[column].merge);
        if !matches!(merge, None | Some(MergeRule::First | MergeRule::Last)) {
            let message = "expected \"first\" or \"last\": a thing has one holder";
            return problem(format!("{key}.merge"), message);
        }
    }
    Ok(())
}

/// Adds a text to those of a world with things that says which they are, with the command that they
/// give once their holder has ended: so whatever depends on the scripts, such as the state hash,
/// depends on it.
pub(super) fn add_text(
    schema: &Schema,
    kinds: &[raw::Kind],
    texts: &mut Vec<Text>,
) -> Result<(), Problem> {
    let mut text = String::new();
    let things = kinds.iter().enumerate().filter(|(_, raw)| raw.is_thing());
    for (kind, raw) in things.clone() {
        let end = match raw.on_holder_end.unwrap_or_default() {
            raw::HolderEnd::Drop => "belong to the world then",
            raw::HolderEnd::Despawn => "end with it",
        };
        text += &format!("// Things of kind {kind} have a holder, and {end}.\n");
    }
    let column = schema.holder_column().unwrap_or_default();
    text += &format!("// Column {column} refers to it.\n");
    if things.clone().any(|(_, raw)| is_dropped(raw)) {
        text += &format!(
            "/// What a thing does whose holder has ended.\n\
             #[command(rules)]\nfn {ENDED}(me: Entity) {{ me.{HOLDER} = none; }}\n"
        );
    }
    let text = Text {
        file: TEXT_FILE.to_owned(),
        text,
        is_builtin: true,
    };
    add_note(texts, text, "kind", "kinds with `place = \"none\"`")
}

/// The rules by which things end, or belong to the world, once their holder has ended. Each thing
/// gives its command in every tick until it has worked, so it comes again if it is lost to a limit.
pub(super) fn rules(schema: &Schema, kinds: &[raw::Kind], problems: &mut Problems) -> Vec<Every> {
    let things = kinds.iter().enumerate().filter(|(_, raw)| raw.is_thing());
    let rules = things.filter_map(|(kind, raw)| {
        let key = format!("{}.on_holder_end", raw.key());
        let command = match is_dropped(raw) {
            true => schema.command_named(ENDED)?.kind,
            false => CommandKind::DESPAWN,
        };
        Some(Every {
            kind: problems.take(place(&key, kind))?,
            ticks: 1,
            command,
            words: vec![],
            own_place: None,
            is_of_ended: true,
        })
    });
    rules.collect()
}

fn is_dropped(kind: &raw::Kind) -> bool {
    kind.on_holder_end.unwrap_or_default() == raw::HolderEnd::Drop
}

const ENDED: &str = "holder_ended";
const TEXT_FILE: &str = "world-things.rs";
