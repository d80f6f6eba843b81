//! Bindings in TypeScript, over `client-bot/web/bindings.ts`.

use shared::AttributeType;

use crate::names::{Case, Collision, Scope, plural};
use crate::source::{Source, quoted, wrapped};
use crate::world::{Attribute, Kind, World};

pub fn generate(world: &World) -> Result<String, Collision> {
    let mut types = scope(Case::Pascal, &TYPES);
    let kinds = world
        .kinds
        .iter()
        .map(|kind| types.name("kind", &kind.name));
    let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
    let mut source = Source::new("  ", " *");
    source.lines(format_args!(
        "// The world `{}` as its clients know it. Written by `myriad bindings --lang ts`.

import {{ Bound, Entities, Seen }} from \"./bindings.ts\";
import type {{ Game, GameEvent }} from \"./bindings.ts\";

/** What these bindings need of a server's world. */
export const BINDINGS =",
        world.name
    ));
    let text = world.bindings("ts");
    let lines: Vec<String> = text
        .lines()
        .map(|line| quoted(&format!("{line}\n")))
        .collect();
    source.lines(format_args!("  {};", lines.join(" +\n  ")));
    let symbols: Vec<String> = world.symbols.iter().map(|symbol| quoted(symbol)).collect();
    source.lines(format_args!(
        "
/** A symbol of the world. */
export type Symbols = {};",
        match symbols.is_empty() {
            true => "never".to_owned(),
            false => symbols.join(" | "),
        }
    ));
    for (of, own) in kinds.iter().zip(&world.kinds) {
        kind(&mut source, of, own)?;
    }
    handlers(&mut source, world)?;
    client(&mut source, world, &kinds)?;
    Ok(source.finish())
}

fn kind(source: &mut Source, of: &str, kind: &Kind) -> Result<(), Collision> {
    let mut names = scope(Case::Camel, &SEEN);
    let all = kind
        .attributes
        .iter()
        .map(|own| Ok((names.name("attribute", &own.name)?, own)));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let accessors: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let arrays = kind.arrays(&accessors);
    let arrays = arrays
        .iter()
        .map(|own| Ok((names.name("array", own.name)?, own)));
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    source.blank();
    doc(source, &kind.doc);
    source.block(
        format_args!("export class {of} extends Seen {{"),
        "}",
        |source| {
            let mut is_first = true;
            for (name, own) in all {
                if !std::mem::take(&mut is_first) {
                    source.blank();
                }
                let ty = own_type(own);
                doc(source, &own.doc);
                source.block(format_args!("get {name}(): {ty} {{"), "}", |source| {
                    source.lines(format_args!("return this.value({});", quoted(&own.name)));
                });
            }
            for (name, array) in arrays {
                let ty = own_type(array.first);
                let values = array.values.iter().map(|own| format!("this.{own}"));
                let values = values.collect::<Vec<_>>().join(", ");
                source.blank();
                doc(source, &array.doc());
                source.block(format_args!("get {name}(): ({ty})[] {{"), "}", |source| {
                    source.lines(format_args!("return [{values}];"));
                });
            }
        },
    );
    Ok(())
}

/// The type of an attribute of an entity in view.
fn own_type(own: &Attribute) -> String {
    match (own.is_private, field_type(own.ty)) {
        (true, ty) if !ty.ends_with("null") => format!("{ty} | null"),
        (_, ty) => ty.to_owned(),
    }
}

/// The handlers of changes and notifications, and what calls them.
fn handlers(source: &mut Source, world: &World) -> Result<(), Collision> {
    let mut names = scope(Case::Camel, &[]);
    let changes = world.attributes.iter().map(|own| {
        let called = format!("{}_changed", own.name);
        Ok((names.name_as("attribute", &own.name, &called)?, own))
    });
    let changes = changes.collect::<Result<Vec<_>, _>>()?;
    let notified = world.notifications.iter().map(|of| {
        let mut fields = scope(Case::Camel, &[]);
        let called = format!("{}_notified", of.name);
        let name = names.name_as("notification", &of.name, &called)?;
        let fields = of.fields.iter().map(|field| {
            let name = fields.name("field", &field.name)?;
            Ok((name, field_type(field.ty)))
        });
        Ok((name, of, fields.collect::<Result<Vec<_>, _>>()?))
    });
    let notified = notified.collect::<Result<Vec<_>, _>>()?;
    source.blank();
    doc(
        source,
        "What is called for changes and notifications. Entities are their slots.",
    );
    source.block("export interface Handlers {", "}", |source| {
        for (name, own) in &changes {
            let ty = field_type(own.ty);
            source.lines(format_args!(
                "{name}?(slot: number, old: {ty}, now: {ty}): void;"
            ));
        }
        for (name, _, fields) in &notified {
            let fields = fields.iter().map(|(name, ty)| format!("{name}: {ty}"));
            let fields = fields.collect::<Vec<_>>().join("; ");
            source.lines(format_args!(
                "{name}?(source: number | null, fields: {{ {fields} }}): void;"
            ));
        }
    });
    source.blank();
    doc(
        source,
        "Calls the handler of an event that `Game.poll` has given, if it has one.",
    );
    let open = "export function react(event: GameEvent, handlers: Handlers): void {";
    source.block(open, "}", |source| {
        source.lines("const { slot, values } = event;");
        source.block("switch (event.attribute) {", "}", |source| {
            for (name, own) in &changes {
                let ty = field_type(own.ty);
                source.lines(format_args!(
                    "case {}:
  return handlers.{name}?.(slot ?? -1, values[0] as {ty}, values[1] as {ty});",
                    quoted(&own.name)
                ));
            }
        });
        source.block("switch (event.notification) {", "}", |source| {
            for (name, of, fields) in &notified {
                let fields = fields.iter().enumerate();
                let fields = fields.map(|(i, (name, ty))| format!("{name}: values[{i}] as {ty}"));
                source.lines(format_args!(
                    "case {}:
  return handlers.{name}?.(slot, {{ {} }});",
                    quoted(&of.name),
                    fields.collect::<Vec<_>>().join(", ")
                ));
            }
        });
    });
    Ok(())
}

fn client(source: &mut Source, world: &World, kinds: &[String]) -> Result<(), Collision> {
    let mut names = scope(Case::Camel, &WORLD);
    let mut give = scope(Case::Camel, &[]);
    let player = &kinds[world.player];
    let player_name = quoted(&world.kinds[world.player].name);
    let plurals = world.kinds_in_view().map(|(place, kind)| {
        let name = names.name_as("kind", &kind.name, &plural(&kind.name))?;
        Ok((name, &kinds[place], kind))
    });
    let plurals = plurals.collect::<Result<Vec<_>, _>>()?;
    let commands = world.commands.iter().map(|command| {
        let mut words = scope(Case::Camel, &[]);
        let name = give.name("command", &command.name)?;
        let given = command
            .given()
            .map(|word| Ok((words.name("parameter", &word.name)?, word.ty)));
        Ok((name, command, given.collect::<Result<Vec<_>, _>>()?))
    });
    let commands = commands.collect::<Result<Vec<_>, _>>()?;
    source.blank();
    doc(
        source,
        "A game in the world: make one before the game begins.",
    );
    source.block("export class World extends Bound {", "}", |source| {
        source.lines(format_args!(
            "constructor(game: Game) {{
  super(game, BINDINGS);
}}

/** The player's own entity, while it is in view. */
get own(): {player} | undefined {{
  return [...this.all({player_name}, {player})].find((one) => one.isOwn);
}}"
        ));
        if let Some(shared) = world.shared {
            let of = &kinds[shared];
            source.blank();
            doc(source, "What the whole world shares.");
            source.lines(format_args!(
                "get shared(): {of} | null {{\n  return this.sharedByAll({of});\n}}"
            ));
        }
        for (name, of, kind) in plurals {
            source.blank();
            doc(source, &kind.doc);
            if kind.is_thing {
                source.lines(format_args!(
                    "/** Those that an entity, or a thing, holds itself. */
{name}(holder: Seen): {of}[] {{\n  return this.held(holder, {}, {of});\n}}",
                    quoted(&kind.name)
                ));
                continue;
            }
            source.lines(format_args!(
                "get {name}(): Entities<{of}> {{\n  return this.all({}, {of});\n}}",
                quoted(&kind.name)
            ));
        }
        source.blank();
        doc(source, "The commands that the client can give.");
        source.block("readonly commands = {", "};", |source| {
            for (name, command, given) in commands {
                let parameters = given
                    .iter()
                    .map(|(name, ty)| format!("{name}: {}", argument_type(*ty)));
                let parameters = parameters.collect::<Vec<_>>().join(", ");
                let mut rest = given.iter();
                let words = command.words.iter().map(|word| match word.is_seen() {
                    true => "0".to_owned(),
                    false => rest
                        .next()
                        .map_or(String::new(), |(name, ty)| argument(name, *ty)),
                });
                let words = words.collect::<Vec<_>>().join(", ");
                doc(source, &command.doc);
                source.lines(format_args!(
                    "{name}: ({parameters}): void => this.give({}, [{words}]),",
                    quoted(&command.name)
                ));
            }
        });
    });
    Ok(())
}

/// A comment, in the form of this language.
fn doc(source: &mut Source, text: &str) {
    let text = text.replace("*/", "* /");
    match &wrapped(&text, 92)[..] {
        [] => {}
        [line] => source.lines(format_args!("/** {line} */")),
        [first, rest @ ..] => {
            source.lines(format_args!("/** {first}"));
            for (i, line) in rest.iter().enumerate() {
                let end = if i + 1 == rest.len() { " */" } else { "" };
                source.lines(format_args!(" *  {line}{end}"));
            }
        }
    }
}

fn field_type(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::I32 | AttributeType::Fixed | AttributeType::I64 | AttributeType::High => {
            "number"
        }
        // Nothing until it has been received.
        AttributeType::Text => "string | null",
        AttributeType::Bool => "boolean",
        // By its slot.
        AttributeType::Entity => "number | null",
        AttributeType::Symbol => "Symbols | null",
    }
}

fn argument_type(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::I32 | AttributeType::Fixed | AttributeType::I64 | AttributeType::High => {
            "number"
        }
        AttributeType::Text => "string",
        AttributeType::Bool => "boolean",
        AttributeType::Entity => "Seen",
        AttributeType::Symbol => "Symbols",
    }
}

fn argument(name: &str, ty: AttributeType) -> String {
    match ty {
        AttributeType::I32 | AttributeType::Text | AttributeType::I64 | AttributeType::High => {
            name.to_owned()
        }
        AttributeType::Fixed => format!("this.fixed({name})"),
        AttributeType::Bool => format!("{name} ? 1 : 0"),
        AttributeType::Entity => format!("{name}.reference"),
        AttributeType::Symbol => format!("this.symbol({name})"),
    }
}

fn scope(case: Case, others: &[&'static str]) -> Scope {
    Scope::new("TypeScript", case, &[&KEYWORDS, others])
}

const TYPES: [&str; 11] = [
    "Array",
    "Bound",
    "Entities",
    "Game",
    "GameEvent",
    "Handlers",
    "Map",
    "Object",
    "Seen",
    "Symbols",
    "World",
];

/// The members of an entity.
const SEEN: [&str; 11] = [
    "constructor",
    "slot",
    "generation",
    "reference",
    "playerName",
    "place",
    "isOwn",
    "things",
    "distance",
    "value",
    "toString",
];

/// The members of the world.
const WORLD: [&str; 12] = [
    "constructor",
    "game",
    "own",
    "shared",
    "commands",
    "all",
    "sharedByAll",
    "held",
    "give",
    "fixed",
    "symbol",
    "toString",
];

const KEYWORDS: [&str; 47] = [
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "yield",
];
