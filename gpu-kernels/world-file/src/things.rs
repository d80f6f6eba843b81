//! `place`, `on_holder_end` and `shown` of `[[kind]]`: things, which have no place and belong to a
//! holder, and who sees them; `shows_held` of an attribute.

use shared::world::attribute::{AttributeType, Audience};
use shared::world::collection::member;
use shared::world::config::Every;
use shared::world::group::HOLDERS;
use shared::world::logic::Text;
use shared::world::schema::{HOLDER, Schema};
use shared::world::shown::{Shown, ShownThings};
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
    let key = kind.key();
    match (kind.on_holder_end, kind.shown) {
        (Some(_), _) => {
            let message = "only a kind with `place = \"none\"` has holders";
            problem(format!("{key}.on_holder_end"), message)
        }
        (None, Some(_)) => {
            let message = "only a kind with `place = \"none\"` has this: clients see others \
                           by their places";
            problem(format!("{key}.shown"), message)
        }
        (None, None) => Ok(()),
    }
}

/// Which things clients see: `shown` of kinds, and `shows_held` of an attribute of the players' kind.
pub(super) fn shown(
    schema: &Schema,
    kinds: &[raw::Kind],
    player_kind: u16,
    problems: &mut Problems,
) -> ShownThings {
    let audience = schema
        .column(HOLDER)
        .map(|holder| schema.attributes[holder].audience);
    let of_kind = |kind: &raw::Kind| {
        let key = format!("{}.shown", kind.key());
        match (kind.shown, audience) {
            _ if !kind.is_thing() => Ok(Shown::None),
            (None | Some(Shown::None), Some(Audience::Hidden)) => Ok(Shown::None),
            (Some(found), Some(Audience::Hidden)) => unexpected(
                key,
                format!("{found:?}").to_lowercase(),
                "\"none\", as `holder` is hidden from clients",
            ),
            (Some(Shown::All), Some(Audience::Private)) => unexpected(
                key,
                "\"all\"",
                "\"holder\" or \"none\", as `holder` is of the audience \"private\"",
            ),
            (found, _) => Ok(found.unwrap_or_default()),
        }
    };
    let of_kinds = kinds.iter();
    let of_kinds = of_kinds.map(|kind| problems.take_or(Shown::None, of_kind(kind)));
    let shown = ShownThings {
        kinds: of_kinds.collect(),
        opened: None,
    };
    let opened = opened(schema, kinds, player_kind, &shown);
    ShownThings {
        opened: problems.take_or(None, opened),
        ..shown
    }
}

fn opened(
    schema: &Schema,
    kinds: &[raw::Kind],
    player_kind: u16,
    shown: &ShownThings,
) -> Result<Option<u16>, Problem> {
    let mut found: Option<&str> = None;
    for (number, kind) in kinds.iter().enumerate() {
        for own in kind.attributes.iter().filter(|own| own.shows_held) {
            let key = format!("{}.attributes.{}", kind.key(), own.name);
            if own.ty.of != AttributeType::Entity || member(&own.name).is_some() {
                let message = "expected type entity: it refers to what the client sees into";
                return problem(format!("{key}.type"), message);
            }
            let key = format!("{key}.shows_held");
            if number != usize::from(player_kind) {
                return problem(key, "only attributes of the players' kind have this");
            }
            if !matches!(own.audience, Audience::State | Audience::Private) {
                let message = "expected the audience \"private\" or \"state\": the client has to \
                               know into what it sees";
                return problem(key, message);
            }
            if !shown.are_some() {
                let message = "expected a kind with `place = \"none\"` that is shown";
                return problem(key, message);
            }
            if let Some(other) = found {
                return problem(key, format!("`{other}` has it already; one attribute can"));
            }
            found = Some(&own.name);
        }
    }
    let column = found.and_then(|name| Some((name, schema.column(name)?)));
    column.map(|(name, column)| place(name, column)).transpose()
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
        let kept = if raw.persist {
            " Accounts keep them."
        } else {
            ""
        };
        text += &format!("// Things of kind {kind} have a holder, and {end}.{kept}\n");
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
            of_ended: Some(HOLDERS),
        })
    });
    rules.collect()
}

fn is_dropped(kind: &raw::Kind) -> bool {
    kind.on_holder_end.unwrap_or_default() == raw::HolderEnd::Drop
}

const ENDED: &str = "holder_ended";
const TEXT_FILE: &str = "world-things.rs";
