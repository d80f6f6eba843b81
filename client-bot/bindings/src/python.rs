//! Bindings in Python, over `client-bot/python/myriad/bindings.py`.

use shared::AttributeType;

use crate::names::{Case, Collision, Scope, plural};
use crate::source::{Source, quoted, wrapped};
use crate::world::{Attribute, Kind, World};

pub fn generate(world: &World) -> Result<String, Collision> {
    let mut source = Source::new("    ", "#");
    let mut types = scope(Case::Pascal, &TYPES);
    let kinds = world
        .kinds
        .iter()
        .map(|kind| types.name("kind", &kind.name));
    let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
    source.lines(format_args!(
        "\"\"\"The world `{}` as its clients know it. Written by `myriad bindings --lang py`.\"\"\"

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from myriad import Client
from myriad.bindings import Entities, Seen, changed, column_of, symbol_of, value, word

# What these bindings need of a server's world, for `connect`.
BINDINGS = (",
        world.name
    ));
    for line in world.bindings("py").lines() {
        source.lines(format_args!("    {}", quoted(&format!("{line}\n"))));
    }
    source.lines(")");
    symbols(&mut source, world)?;
    for (of, own) in kinds.iter().zip(&world.kinds) {
        kind(&mut source, of, own)?;
    }
    let events = events(&mut source, world, &mut types)?;
    client(&mut source, world, &kinds, &events)?;
    give(&mut source, world)?;
    Ok(source.finish())
}

fn symbols(source: &mut Source, world: &World) -> Result<(), Collision> {
    let mut names = scope(Case::Screaming, &[]);
    source.lines("\n\nclass Symbol(Enum):\n    \"\"\"A symbol of the world.\"\"\"");
    source.blank();
    for symbol in &world.symbols {
        let name = names.name("symbol", symbol)?;
        source.lines(format_args!("    {name} = {}", quoted(symbol)));
    }
    Ok(())
}

fn kind(source: &mut Source, of: &str, kind: &Kind) -> Result<(), Collision> {
    let mut names = scope(Case::Snake, &SEEN);
    let all = kind
        .attributes
        .iter()
        .map(|own| Ok((names.name("attribute", &own.name)?, own)));
    let all = all.collect::<Result<Vec<(String, &Attribute)>, _>>()?;
    let accessors: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let arrays = kind.arrays(&accessors);
    let arrays = arrays
        .iter()
        .map(|own| Ok((names.name("array", own.name)?, own)));
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    source.blank();
    source.blank();
    source.block(format_args!("class {of}(Seen):"), "", |source| {
        doc(
            source,
            &kind.doc,
            &format!("An entity of the kind `{}`.", kind.name),
        );
        source.lines(format_args!("\nNAME = {}", quoted(&kind.name)));
        for (name, own) in all {
            let attribute = quoted(&own.name);
            let ty = field_type(own.ty);
            let value = match own.ty {
                AttributeType::I32 => format!("self._whole({attribute})"),
                AttributeType::Text => format!("self._text({attribute})"),
                AttributeType::I64 | AttributeType::High => format!("self._long({attribute})"),
                AttributeType::Fixed => format!("self._whole({attribute}) / 4096"),
                AttributeType::Bool => format!("self._whole({attribute}) != 0"),
                AttributeType::Entity => format!("self._entity({attribute})"),
                AttributeType::Symbol => format!("symbol_of(self._symbol({attribute}), Symbol)"),
            };
            let (ty, value) = match own.is_private {
                true if ty.ends_with("None") => {
                    (ty.to_owned(), format!("{value} if self.is_own else None"))
                }
                true => (
                    format!("{ty} | None"),
                    format!("{value} if self.is_own else None"),
                ),
                false => (ty.to_owned(), value),
            };
            source.blank();
            source.lines("@property");
            source.block(format_args!("def {name}(self) -> {ty}:"), "", |source| {
                doc(source, &own.doc, "");
                source.lines(format_args!("return {value}"));
            });
        }
        for (name, array) in arrays {
            let ty = field_type(array.first.ty);
            let ty = match array.first.is_private && !ty.ends_with("None") {
                true => format!("{ty} | None"),
                false => ty.to_owned(),
            };
            let values = array.values.iter().map(|own| format!("self.{own}"));
            let values = values.collect::<Vec<_>>().join(", ");
            source.blank();
            source.lines("@property");
            source.block(
                format_args!("def {name}(self) -> list[{ty}]:"),
                "",
                |source| {
                    doc(source, &array.doc(), "");
                    source.lines(format_args!("return [{values}]"));
                },
            );
        }
    });
    Ok(())
}

/// The classes of events: of attributes and of notifications, each with the name of the world.
struct Events(Vec<(String, String)>, Vec<(String, String)>);

fn events(source: &mut Source, world: &World, types: &mut Scope) -> Result<Events, Collision> {
    let mut all = Events(vec![], vec![]);
    for own in &world.attributes {
        let name = types.name_as("attribute", &own.name, &format!("{}_changed", own.name))?;
        let ty = field_type(own.ty);
        source.lines(format_args!(
            "

@dataclass(frozen=True)
class {name}:
    \"\"\"The attribute `{}` of an entity in view has changed.\"\"\"

    entity: Seen
    old: {ty}
    new: {ty}",
            own.name
        ));
        all.0.push((own.name.clone(), name));
    }
    for of in &world.notifications {
        let name = types.name_as("notification", &of.name, &format!("{}_notified", of.name))?;
        let mut fields = scope(Case::Snake, &["source"]);
        source.lines(format_args!(
            "

@dataclass(frozen=True)
class {name}:
    \"\"\"The notification `{}` of the world's scripts; `source` is the entity that caused it.\"\"\"

    source: Seen | None",
            of.name
        ));
        for field in &of.fields {
            let name = fields.name("field", &field.name)?;
            source.lines(format_args!("    {name}: {}", field_type(field.ty)));
        }
        all.1.push((of.name.clone(), name));
    }
    Ok(all)
}

fn client(
    source: &mut Source,
    world: &World,
    kinds: &[String],
    events: &Events,
) -> Result<(), Collision> {
    let mut names = scope(
        Case::Snake,
        &["client", "give", "own", "shared", "entity", "events"],
    );
    let table = |all: &[(String, String)]| {
        let rows = all
            .iter()
            .map(|(name, class)| format!("{}: {class}", quoted(name)));
        rows.collect::<Vec<_>>().join(", ")
    };
    let player = &kinds[world.player];
    source.lines(format_args!(
        "

# By name.
KINDS: dict[str, type[Seen]] = {{each.NAME: each for each in ({})}}
CHANGES: dict[str, Any] = {{
{}}}
NOTIFICATIONS: dict[str, Any] = {{
{}}}


class World:
    \"\"\"A client's world: what it sees, the commands that it can give, and what has happened.\"\"\"

    def __init__(self, client: Client) -> None:
        self.client, self.give = client, Give(client)

    @property
    def own(self) -> {player} | None:
        \"\"\"The player's own entity, while it is in view.\"\"\"
        return next((one for one in Entities(self.client.view, {player}) if one.is_own), None)

    def entity(self, seen: Seen) -> Any:
        \"\"\"An entity in view as one of its kind.\"\"\"
        view = self.client.view
        found = view.found(seen.slot)
        kind = view.world.schema[\"kinds\"][found.kind][\"name\"] if found else \"\"
        return KINDS.get(kind, Seen)(view, seen.slot, seen.generation, found.values if found else {{}})

    def events(self) -> list[Any]:
        \"\"\"What has happened since the last call: changes and notifications by their classes, and
        all other messages as (name, content).\"\"\"
        messages, self.client.messages = self.client.messages, []
        return [event for message in messages for event in self._events(*message)]

    def _events(self, name: str, content: dict[str, Any]) -> list[Any]:
        view = self.client.view
        schema = view.world.schema
        if name == \"state\" and \"old\" in content:
            found = view.found(content[\"slot\"])
            entity = self.entity(Seen(view, content[\"slot\"], found.generation if found else 0, {{}}))
            return [CHANGES[own[\"name\"]](entity, value(view, own[\"ty\"], old, Symbol),
                                         value(view, own[\"ty\"], new, Symbol))
                    for own, old, new in changed(view, content)
                    if own[\"name\"] in CHANGES and old != new]
        if name == \"notification\":
            of = next(each for each in schema[\"notifications\"] if each[\"kind\"] == content[\"kind\"])
            if of[\"name\"] in NOTIFICATIONS:
                by = content[\"source\"]
                source = Seen(view, by[\"slot\"], by[\"generation\"], {{}}) if by else None
                words = zip(of[\"fields\"], content[\"words\"])
                values = [value(view, field[\"ty\"], raw, Symbol) for field, raw in words]
                return [NOTIFICATIONS[of[\"name\"]](source and self.entity(source), *values)]
        return [(name, content)]",
        kinds.iter().map(|kind| format!("{kind}, ")).collect::<String>().trim_end(),
        table(&events.0),
        table(&events.1),
    ));
    if let Some(shared) = world.shared {
        let of = &kinds[shared];
        source.lines(format_args!(
            "
    @property
    def shared(self) -> {of}:
        \"\"\"What the whole world shares.\"\"\"
        view = self.client.view
        return {of}(view, view.shared_slot, 1, view.shared)"
        ));
    }
    for (place, kind) in world.kinds_in_view() {
        let of = &kinds[place];
        let name = names.name_as("kind", &kind.name, &plural(&kind.name))?;
        source.blank();
        source.block(
            format_args!("    def {name}(self) -> Entities[{of}]:"),
            "",
            |source| {
                source.lines(format_args!("    return Entities(self.client.view, {of})"));
            },
        );
    }
    Ok(())
}

fn give(source: &mut Source, world: &World) -> Result<(), Collision> {
    let mut names = scope(Case::Snake, &["client"]);
    source.lines(
        "

class Give:
    \"\"\"The commands that the client can give. Each gives its sequence number.\"\"\"

    def __init__(self, client: Client) -> None:
        self._client = client

    def _give(self, name: str, *arguments: Any) -> int:
        view = self._client.view
        return self._client.command(name, *(word(view, argument) for argument in arguments))",
    );
    let mut all = world.commands.iter().flat_map(|command| &command.words);
    if all.any(|word| word.ty == AttributeType::Text) {
        source.lines(
            "
    async def _give_with(self, name: str, *arguments: Any) -> int:
        view = self._client.view
        return await self._client.command_with(name, *(
            given if isinstance(given, str) else word(view, given) for given in arguments))",
        );
    }
    for command in &world.commands {
        let name = names.name("command", &command.name)?;
        let mut words = scope(Case::Snake, &[]);
        let (mut parameters, mut arguments) = (String::new(), vec![quoted(&command.name)]);
        for word in &command.words {
            if word.is_seen() {
                arguments.push("self._client.view.newest".to_owned());
                continue;
            }
            let name = words.name("parameter", &word.name)?;
            arguments.push(match word.ty {
                AttributeType::Fixed => format!("float({name})"),
                AttributeType::I32
                | AttributeType::I64
                | AttributeType::High
                | AttributeType::Bool
                | AttributeType::Entity
                | AttributeType::Symbol
                | AttributeType::Text => name.clone(),
            });
            parameters += &format!(", {name}: {}", argument_type(word.ty));
        }
        let (def, give) = match command.has_texts() {
            // The server has its texts first.
            true => ("async def", "await self._give_with"),
            false => ("def", "self._give"),
        };
        source.blank();
        source.block(
            format_args!("    {def} {name}(self{parameters}) -> int:"),
            "",
            |source| {
                source.inner(|source| {
                    doc(source, &command.doc, "");
                    source.lines(format_args!("return {give}({})", arguments.join(", ")));
                });
            },
        );
    }
    Ok(())
}

/// A comment, in the form of this language.
fn doc(source: &mut Source, text: &str, otherwise: &str) {
    let text = if text.is_empty() { otherwise } else { text };
    // Quotes and backslashes would end it, or mean something.
    let text = text.replace('\\', "/").replace("\"\"\"", "'''");
    let lines = wrapped(&text, 85);
    match &lines[..] {
        [] => {}
        [line] => source.lines(format_args!("\"\"\"{line}\"\"\"")),
        lines => source.lines(format_args!("\"\"\"{}\"\"\"", lines.join("\n"))),
    }
}

fn field_type(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::I32 | AttributeType::Text | AttributeType::I64 | AttributeType::High => {
            "int"
        }
        AttributeType::Fixed => "float",
        AttributeType::Bool => "bool",
        AttributeType::Entity => "Seen | None",
        AttributeType::Symbol => "Symbol | None",
    }
}

fn argument_type(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::I32 | AttributeType::Text | AttributeType::I64 | AttributeType::High => {
            "int"
        }
        AttributeType::Fixed => "float",
        AttributeType::Bool => "bool",
        AttributeType::Entity => "Seen",
        AttributeType::Symbol => "Symbol",
    }
}

fn scope(case: Case, others: &[&'static str]) -> Scope {
    Scope::new("Python", case, &[&KEYWORDS, others])
}

const TYPES: [&str; 8] = [
    "Any", "Client", "Entities", "Enum", "Give", "Seen", "Symbol", "World",
];

/// The members of an entity.
const SEEN: [&str; 7] = [
    "view",
    "slot",
    "generation",
    "reference",
    "is_own",
    "held",
    "position",
];

const KEYWORDS: [&str; 40] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield", "self", "int", "float", "distance", "property",
];
