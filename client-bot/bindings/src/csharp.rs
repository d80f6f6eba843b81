//! Bindings in C#, over `client-bot/ffi/csharp/Bindings.cs`.

use shared::AttributeType;

use crate::names::{Case, Collision, Scope, ident, plural};
use crate::source::{Source, quoted};
use crate::world::{Attribute, Kind, Word, World};

pub fn generate(world: &World) -> Result<String, Collision> {
    let mut types = scope(Case::Pascal, &["Symbol", "World", "Give", "On"]);
    let kinds = world
        .kinds
        .iter()
        .map(|kind| types.name("kind", &kind.name));
    let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
    let mut source = Source::new("    ", "///");
    let name = &world.name;
    source.lines(format_args!(
        "// The world `{name}` as its clients know it. Written by `myriad bindings --lang cs`.

using System;
using System.Collections.Generic;
using Myriad;
"
    ));
    let mut inside = Ok(());
    source.blank();
    let space = format!(
        "namespace Worlds.{}\n{{",
        escaped(&ident(name, Case::Pascal))
    );
    source.block(space, "}", |source| {
        inside = client(source, world, &kinds).and_then(|()| {
            let mut all = kinds.iter().zip(&world.kinds);
            all.try_for_each(|(of, own)| kind(source, of, own))?;
            give(source, world)?;
            events(source, world)?;
            symbols(source, world)
        });
    });
    inside?;
    Ok(source.finish())
}

/// The client itself, and what it sees.
fn client(source: &mut Source, world: &World, kinds: &[String]) -> Result<(), Collision> {
    let mut names = scope(Case::Pascal, &CLIENT);
    let plurals = world.kinds_in_view().map(|(_, kind)| {
        let plural = plural(&kind.name);
        names.name_as("kind", &kind.name, &plural)
    });
    let plurals = plurals.collect::<Result<Vec<_>, _>>()?;
    source.lines(
        "/// A client of the world: entities by their kinds, commands by `Give`, events by `On`.",
    );
    source.block(
        "public sealed class World : BoundClient\n{",
        "}",
        |source| {
            source.lines(
                "/// What these bindings need of a server's world.\npublic const string Bindings =",
            );
            let text = world.bindings("cs");
            let last = text.lines().count() - 1;
            for (i, line) in text.lines().enumerate() {
                let end = if i == last { ";" } else { " +" };
                source.lines(format_args!("    {}{end}", quoted(&format!("{line}\n"))));
            }
            let player = &kinds[world.player];
            let player_name = quoted(&world.kinds[world.player].name);
            source.blank();
            source.lines(format_args!(
                "public World(Options options) : base(options, Bindings)
{{
    Give = new Give(this);
    On = new On();
}}

/// The commands that the client can give.
public Give Give {{ get; }}
/// The events of the world, raised by `Poll`.
public On On {{ get; }}

/// The player's own entity; null while there is none in view.
public {player}? Own
{{
    get
    {{
        var seen = OwnOf({player_name});
        return seen == null ? ({player}?)null : new {player}(seen.Value);
    }}
}}"
            ));
            if let Some(shared) = world.shared {
                let of = &kinds[shared];
                source.blank();
                source.lines(format_args!(
                    "/// What the whole world shares; null before it has arrived.
public {of}? Shared
{{
    get
    {{
        var seen = SharedByAll();
        return seen == null ? ({of}?)null : new {of}(seen.Value);
    }}
}}"
                ));
            }
            for (plural, (place, kind)) in plurals.iter().zip(world.kinds_in_view()) {
                let (of, name) = (&kinds[place], quoted(&kind.name));
                source.blank();
                source.doc(&kind.doc);
                if kind.is_thing {
                    source.lines(format_args!(
                        "/// Those that an entity, or a thing, holds itself.
public IEnumerable<{of}> {plural}(Entity holder)
{{
    foreach (var seen in HeldBy(holder, {name}))
    {{
        yield return new {of}(seen);
    }}
}}"
                    ));
                    continue;
                }
                source.lines(format_args!(
                    "public IEnumerable<{of}> {plural}
{{
    get
    {{
        foreach (var seen in All({name}))
        {{
            yield return new {of}(seen);
        }}
    }}
}}"
                ));
            }
            source.lines(
                "\nprotected override void Raise(Event happened) => On.Raise(this, happened);",
            );
        },
    );
    Ok(())
}

fn kind(source: &mut Source, of: &str, kind: &Kind) -> Result<(), Collision> {
    let mut names = scope(
        Case::Pascal,
        &["Seen", "Id", "IsOwn", "Place", "PlayerName"],
    );
    // A member can't have the name of its type.
    names.reserve(of);
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
    source.doc(&kind.doc);
    source.block(
        format_args!("public struct {of} : ISeen\n{{"),
        "}",
        |source| {
            source.lines(format_args!(
                "internal {of}(Seen seen)
{{
    Seen = seen;
}}

public Seen Seen {{ get; }}
public Entity Id => Seen.Id;
public bool IsOwn => Seen.IsOwn;
public Place Place => Seen.Place;
public string PlayerName => Seen.PlayerName;"
            ));
            for (name, own) in all {
                attribute(source, &name, own);
            }
            for (name, array) in arrays {
                let (ty, _) = typed(array.first);
                let values = array.values.join(", ");
                source.doc(&array.doc());
                source.lines(format_args!(
                    "public {ty}[] {name} => new {ty}[] {{ {values} }};"
                ));
            }
        },
    );
    Ok(())
}

fn attribute(source: &mut Source, name: &str, own: &Attribute) {
    let (ty, value) = typed(own);
    source.doc(&own.doc);
    source.lines(format_args!("public {ty} {name} => {value};"));
}

/// The type of an attribute of an entity in view, and its value.
fn typed(own: &Attribute) -> (String, String) {
    let attribute = quoted(&own.name);
    let (ty, value) = match own.ty {
        AttributeType::I32 => ("int", format!("Seen.Whole({attribute})")),
        AttributeType::Text => ("string", format!("Seen.Text({attribute})")),
        AttributeType::I64 | AttributeType::High => ("long", format!("Seen.Long({attribute})")),
        AttributeType::Fixed => ("double", format!("Seen.Fraction({attribute})")),
        AttributeType::Bool => ("bool", format!("Seen.Truth({attribute})")),
        AttributeType::Entity => ("Entity?", format!("Seen.Entity({attribute})")),
        AttributeType::Symbol => ("Symbol?", format!("Symbols.Of(Seen.Symbol({attribute}))")),
    };
    match own.is_private {
        false => (ty.to_owned(), value),
        // A string may be null by itself.
        true if own.ty == AttributeType::Text => (ty.to_owned(), format!("IsOwn ? {value} : null")),
        true => {
            let ty = format!("{}?", ty.trim_end_matches('?'));
            let value = format!("IsOwn ? {value} : ({ty})null");
            (ty, value)
        }
    }
}

/// The commands.
fn give(source: &mut Source, world: &World) -> Result<(), Collision> {
    let mut names = scope(
        Case::Pascal,
        &[
            "Give",
            "ReadyTicks",
            "Equals",
            "GetHashCode",
            "GetType",
            "ToString",
        ],
    );
    let commands = world.commands.iter().map(|command| {
        let name = names.name("command", &command.name)?;
        let mut words = scope(Case::Camel, &["bound"]);
        let given = command
            .given()
            .map(|word| Ok((words.name("parameter", &word.name)?, word.ty)));
        let given = given.collect::<Result<Vec<_>, _>>()?;
        Ok((name, command, given))
    });
    let commands = commands.collect::<Result<Vec<_>, _>>()?;
    source.lines(
        "
/// The commands that the client can give. Each gives its sequence number; one with texts, which goes out
/// once the server has granted these, that of its request for them.",
    );
    source.block("public sealed class Give\n{", "}", |source| {
        source.lines(
            "readonly World bound;

internal Give(World bound)
{
    this.bound = bound;
}

/// In how many ticks of input a command can be used again, by its name; 0: now.
public uint ReadyTicks(string command) => bound.Client.ReadyTicks(command);",
        );
        for (name, command, given) in commands {
            let parameters = given
                .iter()
                .map(|(name, ty)| format!("{} {name}", argument_type(*ty)));
            let parameters = parameters.collect::<Vec<_>>().join(", ");
            let mut numbers = vec![quoted(&command.name)];
            let mut rest = given.iter();
            for word in &command.words {
                numbers.push(match rest.next().filter(|_| !word.is_seen()) {
                    Some((name, ty)) => argument(name, *ty),
                    None => "0".to_owned(),
                });
            }
            source.blank();
            source.doc(&command.doc);
            source.lines(format_args!(
                "public uint {name}({parameters}) =>
    bound.Client.{}({});",
                if command.has_texts() {
                    "CommandWith"
                } else {
                    "Command"
                },
                numbers.join(", ")
            ));
        }
    });
    Ok(())
}

fn events(source: &mut Source, world: &World) -> Result<(), Collision> {
    let mut names = scope(
        Case::Pascal,
        &[
            "On",
            "Raise",
            "Equals",
            "GetHashCode",
            "GetType",
            "ToString",
        ],
    );
    let changes = world.attributes.iter().map(|own| {
        let called = format!("{}_changed", own.name);
        Ok((names.name_as("attribute", &own.name, &called)?, own))
    });
    let changes = changes.collect::<Result<Vec<_>, _>>()?;
    let notified = world.notifications.iter().map(|of| {
        let mut fields = scope(Case::Pascal, &[]);
        let name = names.name("notification", &of.name)?;
        fields.reserve(&format!("{name}Notification"));
        let own = of
            .fields
            .iter()
            .map(|field| Ok((fields.name("field", &field.name)?, field)));
        Ok((name, of, own.collect::<Result<Vec<_>, _>>()?))
    });
    let notified = notified.collect::<Result<Vec<(String, _, Vec<(String, &Word)>)>, _>>()?;
    for (name, _, fields) in &notified {
        source.lines(format_args!("\n/// A notification of the world's scripts."));
        source.block(
            format_args!("public struct {name}Notification\n{{"),
            "}",
            |source| {
                for (field, own) in fields {
                    source.lines(format_args!("public {} {field};", field_type(own.ty)));
                }
            },
        );
    }
    source.lines("\n/// The events of the world.");
    source.block("public sealed class On\n{", "}", |source| {
        source.lines("// A change: the entity, what the attribute was, and what it is.");
        for (name, own) in &changes {
            let ty = field_type(own.ty);
            source.lines(format_args!(
                "public event Action<Entity, {ty}, {ty}> {name};"
            ));
        }
        source.lines("// A notification: the entity that caused it, or null, and its fields.");
        for (name, _, _) in &notified {
            source.lines(format_args!(
                "public event Action<Entity?, {name}Notification> {name};"
            ));
        }
        source.blank();
        source.block(
            "internal void Raise(World bound, Event happened)\n{",
            "}",
            |source| {
                source.block("switch (happened.What)\n{", "}", |source| {
                    source.lines("case EventType.Changed:\ncase EventType.NoticedChange:");
                    source.block("    switch (happened.Name)\n    {", "    }", |source| {
                        for (name, own) in &changes {
                            let value = |number| field(&format!("happened.{number}"), own.ty);
                            source.lines(format_args!(
                                "    case {}:
        {name}?.Invoke(happened.Entity, {}, {});
        break;",
                                quoted(&own.name),
                                value("OldValue"),
                                value("NewValue")
                            ));
                        }
                        source.lines("    default:\n        break;");
                    });
                    source.lines("    break;\ncase EventType.Notified:");
                    source.block("    switch (happened.Name)\n    {", "    }", |source| {
                        for (name, of, fields) in &notified {
                            let values = fields.iter().enumerate().map(|(i, (name, own))| {
                                let value = field(&format!("happened.Values[{i}]"), own.ty);
                                format!("            {name} = {value},\n")
                            });
                            source.lines(format_args!(
                                "    case {}:
        {name}?.Invoke(BoundClient.OrNull(happened.Entity), new {name}Notification
        {{
{}        }});
        break;",
                                quoted(&of.name),
                                values.collect::<String>()
                            ));
                        }
                        source.lines("    default:\n        break;");
                    });
                    source.lines("    break;");
                });
            },
        );
    });
    Ok(())
}

fn symbols(source: &mut Source, world: &World) -> Result<(), Collision> {
    let mut names = scope(Case::Pascal, &[]);
    let symbols = world
        .symbols
        .iter()
        .map(|symbol| names.name("symbol", symbol));
    let symbols = symbols.collect::<Result<Vec<_>, _>>()?;
    source.lines("\n/// A symbol of the world.");
    source.block("public enum Symbol\n{", "}", |source| {
        for name in &symbols {
            source.lines(format_args!("{name},"));
        }
    });
    let texts: Vec<String> = world.symbols.iter().map(|symbol| quoted(symbol)).collect();
    source.lines(format_args!(
        "
static class Symbols
{{
    static readonly string[] Names = {{ {} }};

    internal static string Name(Symbol symbol) => Names[(int)symbol];

    /// Null for one that these bindings don't have.
    internal static Symbol? Of(string name)
    {{
        var number = Array.IndexOf(Names, name);
        return number < 0 ? (Symbol?)null : (Symbol)number;
    }}
}}",
        texts.join(", ")
    ));
    Ok(())
}

fn scope(case: Case, others: &[&'static str]) -> Scope {
    Scope::new("C#", case, &[&KEYWORDS, others])
}

fn escaped(name: &str) -> String {
    match KEYWORDS.contains(&name) {
        true => format!("{name}_"),
        false => name.to_owned(),
    }
}

fn field_type(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::I32 => "int",
        AttributeType::Text => "string",
        AttributeType::I64 | AttributeType::High => "long",
        AttributeType::Fixed => "double",
        AttributeType::Bool => "bool",
        AttributeType::Entity => "Entity?",
        AttributeType::Symbol => "Symbol?",
    }
}

fn argument_type(ty: AttributeType) -> &'static str {
    field_type(ty).trim_end_matches('?')
}

/// A field of a number.
fn field(number: &str, ty: AttributeType) -> String {
    match ty {
        AttributeType::I32 => format!("(int){number}"),
        AttributeType::Text => format!("bound.Client.Text({number})"),
        AttributeType::I64 | AttributeType::High => format!("(long){number}"),
        AttributeType::Fixed => number.to_owned(),
        AttributeType::Bool => format!("{number} != 0"),
        AttributeType::Entity => format!("bound.EntityOf({number})"),
        AttributeType::Symbol => format!("Symbols.Of(bound.SymbolOf({number}))"),
    }
}

/// The number of an argument.
fn argument(name: &str, ty: AttributeType) -> String {
    match ty {
        AttributeType::I32
        | AttributeType::Fixed
        | AttributeType::Text
        | AttributeType::I64
        | AttributeType::High => name.to_owned(),
        AttributeType::Bool => format!("{name} ? 1 : 0"),
        AttributeType::Entity => format!("Client.Reference({name})"),
        AttributeType::Symbol => format!("bound.Client.Symbol(Symbols.Name({name}))"),
    }
}

/// The members of a client besides kinds.
const CLIENT: [&str; 24] = [
    "All",
    "Bindings",
    "Client",
    "Dispose",
    "EntityOf",
    "Equals",
    "Flush",
    "GetHashCode",
    "GetType",
    "Give",
    "Happened",
    "HeldBy",
    "InputDue",
    "Leave",
    "On",
    "OrNull",
    "Own",
    "OwnOf",
    "Poll",
    "Raise",
    "Shared",
    "SharedByAll",
    "State",
    "SymbolOf",
];

/// Words of the language, in small letters, and the types that bindings use.
const KEYWORDS: [&str; 104] = [
    "abstract",
    "as",
    "base",
    "bool",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "checked",
    "class",
    "const",
    "continue",
    "decimal",
    "default",
    "delegate",
    "do",
    "double",
    "else",
    "enum",
    "event",
    "explicit",
    "extern",
    "false",
    "finally",
    "fixed",
    "float",
    "for",
    "foreach",
    "goto",
    "if",
    "implicit",
    "in",
    "int",
    "interface",
    "internal",
    "is",
    "lock",
    "long",
    "namespace",
    "new",
    "null",
    "object",
    "operator",
    "out",
    "override",
    "params",
    "private",
    "protected",
    "public",
    "readonly",
    "ref",
    "return",
    "sbyte",
    "sealed",
    "short",
    "sizeof",
    "stackalloc",
    "static",
    "string",
    "struct",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "uint",
    "ulong",
    "unchecked",
    "unsafe",
    "ushort",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "async",
    "await",
    "dynamic",
    "var",
    "when",
    "yield",
    "Action",
    "Array",
    "BoundClient",
    "Client",
    "Entity",
    "Event",
    "EventType",
    "Link",
    "Loss",
    "Myriad",
    "Options",
    "Place",
    "Queries",
    "Schema",
    "Seen",
    "Shown",
    "State",
    "Status",
    "String",
    "Symbols",
    "ToString",
];
