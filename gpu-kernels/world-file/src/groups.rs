//! `group` and `shared_with` of attributes of the players' kind: the groups of players, and what members
//! see of each other.

use shared::CommandKind;
use shared::world::attribute::{AttributeType, Audience, MergeRule};
use shared::world::collection::member;
use shared::world::config::Every;
use shared::world::group::{FIRST_GROUP, GROUPS_MAX, Group};
use shared::world::logic::Text;
use shared::world::schema::{HOLDER, Schema};

use super::check::{Problem, Problems, one_of, place, problem, unexpected};
use super::logic::add_note;
use super::raw;

/// The groups of the players' kind, by column.
pub(super) fn groups(
    schema: &Schema,
    kinds: &[raw::Kind],
    player_kind: u16,
    problems: &mut Problems,
) -> Vec<Group> {
    let mut groups = vec![];
    for (number, kind) in kinds.iter().enumerate() {
        let is_players = number == usize::from(player_kind);
        for own in kind.attributes.iter().filter(|own| own.group) {
            groups.extend(problems.take(group(schema, kind, own, is_players)));
        }
    }
    groups.sort_by_key(|group| group.column);
    if groups.len() > GROUPS_MAX {
        let expected = format!("at most {GROUPS_MAX} attributes with `group = true`");
        problems.take::<()>(unexpected("kind.attributes", groups.len(), expected));
        return vec![];
    }
    for (number, kind) in kinds.iter().enumerate() {
        let is_players = number == usize::from(player_kind);
        for own in kind
            .attributes
            .iter()
            .filter(|own| !own.shared_with.is_empty())
        {
            let shared = share(schema, &mut groups, kind, own, is_players);
            problems.take(shared);
        }
    }
    groups
}

fn group(
    schema: &Schema,
    kind: &raw::Kind,
    own: &raw::Attribute,
    is_players: bool,
) -> Result<Group, Problem> {
    let key = format!("{}.attributes.{}", kind.key(), own.name);
    if own.ty.of != AttributeType::Entity || member(&own.name).is_some() {
        let message = "expected type entity: it refers to the group of a player";
        return problem(format!("{key}.type"), message);
    }
    let key_of_group = format!("{key}.group");
    if !is_players {
        return problem(
            key_of_group,
            "only attributes of the players' kind have this",
        );
    }
    if own.name == HOLDER {
        let message = "expected another name: `holder` refers to what holds a thing";
        return problem(key_of_group, message);
    }
    if schema.holder_column().is_none() {
        let message = "expected a kind with `place = \"none\"`: groups are things";
        return problem(key_of_group, message);
    }
    if !matches!(own.audience, Audience::State | Audience::Private) {
        let message = "expected the audience \"private\" or \"state\": the client has to know to \
                       which group it belongs";
        return problem(format!("{key}.audience"), message);
    }
    let column = schema.column(&own.name).unwrap_or_default();
    let merge = schema
        .attributes
        .get(column)
        .map(|attribute| attribute.merge);
    if !matches!(merge, None | Some(MergeRule::First | MergeRule::Last)) {
        let message = "expected \"first\" or \"last\": it refers to one group";
        return problem(format!("{key}.merge"), message);
    }
    Ok(Group {
        kind: place(&key, schema.kind(&kind.name).unwrap_or_default())?,
        column: place(&key, column)?,
        shared: vec![],
    })
}

/// Adds an attribute to those that members are sent of each other.
fn share(
    schema: &Schema,
    groups: &mut [Group],
    kind: &raw::Kind,
    own: &raw::Attribute,
    is_players: bool,
) -> Result<(), Problem> {
    let key = format!("{}.attributes.{}.shared_with", kind.key(), own.name);
    if !is_players {
        return problem(key, "only attributes of the players' kind have this");
    }
    if !matches!(own.audience, Audience::State | Audience::Private) {
        let message = "expected the audience \"private\" or \"state\": what the player's own client \
                       has, members are sent, too";
        return problem(key, message);
    }
    let column = schema.column(&own.name).unwrap_or_default();
    let mut columns = vec![place(&key, column)?];
    if own.ty.of == AttributeType::I64 {
        columns.push(place(&key, column + 1)?);
    }
    let name_of = |group: &Group| schema.attributes[usize::from(group.column)].name.as_str();
    for name in &own.shared_with {
        let names: Vec<&str> = groups.iter().map(name_of).collect();
        let expected = format!(
            "an attribute with `group = true`, {}",
            one_of(names.into_iter())
        );
        let Some(group) = groups.iter_mut().find(|group| name_of(group) == name) else {
            return unexpected(key, format!("{name:?}"), expected);
        };
        group.shared.extend(&columns);
        group.shared.sort_unstable();
        group.shared.dedup();
    }
    Ok(())
}

/// Adds a text to those of a world with groups that says which they are, with the commands by which
/// members leave them once they have ended: so whatever depends on the scripts, such as the state
/// hash, depends on it.
pub(super) fn add_text(schema: &Schema, texts: &mut Vec<Text>) -> Result<(), Problem> {
    let mut text = String::new();
    for group in &schema.groups {
        let Group { kind, column, .. } = group;
        let name = &schema.attributes[usize::from(*column)].name;
        text += &format!(
            "/// What entities of kind {kind} do whose group, by column {column}, has ended.\n\
             #[command(rules)]\nfn {}(me: Entity) {{ me.{name} = none; }}\n",
            ended(name)
        );
    }
    let text = Text {
        file: TEXT_FILE.to_owned(),
        text,
        is_builtin: true,
    };
    add_note(texts, text, "kind", "attributes with `group = true`")
}

/// The rules by which members leave groups that have ended, again in each tick until that has worked.
pub(super) fn rules(schema: &Schema) -> Vec<Every> {
    let groups = (FIRST_GROUP..).zip(&schema.groups);
    let rules = groups.filter_map(|(relation, group)| {
        let name = &schema.attributes[usize::from(group.column)].name;
        let command: CommandKind = schema.command_named(&ended(name))?.kind;
        Some(Every {
            kind: group.kind,
            ticks: 1,
            command,
            words: vec![],
            own_place: None,
            of_ended: Some(relation),
        })
    });
    rules.collect()
}

/// The name of a command.
fn ended(attribute: &str) -> String {
    format!("{attribute}_ended")
}

const TEXT_FILE: &str = "world-groups.rs";
