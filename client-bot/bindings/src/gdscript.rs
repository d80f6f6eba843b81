//! Bindings in GDScript, over the node `MyriadClient`.

use shared::AttributeType;

use crate::names::{Case, Collision, Scope, plural};
use crate::source::{Source, quoted};
use crate::world::{Attribute, Kind, World};

pub fn generate(world: &World) -> Result<String, Collision> {
    let mut source = Source::new("\t", "##");
    let mut types = scope(Case::Pascal, &["Seen"]);
    let kinds = world
        .kinds
        .iter()
        .map(|kind| types.name("kind", &kind.name));
    let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
    let mut members = scope(Case::Snake, &MEMBERS);
    source.lines(format_args!(
        "extends RefCounted
## The world `{}` as its clients know it. Written by `myriad bindings --lang gd`.
##
## Make one for a `MyriadClient` before it joins: a server whose world lacks some of what the bindings
## name is left, and `lost` says what.",
        world.name
    ));
    let news = News::of(&mut members, world)?;
    news.signals(&mut source);
    text(&mut source, world);
    symbols(&mut source, world)?;
    source.lines(
        "
var client: MyriadClient


func _init(of: MyriadClient) -> void:
\tclient = of
\tclient.bindings = BINDINGS
\tclient.changed.connect(_on_changed)
\tclient.noticed.connect(_on_noticed)
\tclient.notified.connect(_on_notified)",
    );
    view(&mut source, world, &kinds, &mut members)?;
    give(&mut source, world, &mut members)?;
    news.handlers(&mut source);
    source.lines(
        "

## An entity in view.
class Seen:
\textends RefCounted
\tvar client: MyriadClient
\tvar id: int

\tfunc _init(of: MyriadClient, entity: int) -> void:
\t\tclient = of
\t\tid = entity

\t## Where it is shown; null if it is not in view.
\tfunc place() -> Variant:
\t\treturn client.place(id)

\t## Whether it is the player's own entity, or a thing that this holds, also in other things.
\tfunc is_own() -> bool:
\t\treturn client.is_own(id)

\t## Empty for an entity without a player, and for a player without a name.
\tfunc player_name() -> String:
\t\treturn client.name_of(id)

\tfunc _number(attribute: String) -> float:
\t\tvar number: Variant = client.value(id, attribute)
\t\treturn 0.0 if number == null else number

\tfunc _symbol(of: MyriadClient, number: float) -> int:
\t\treturn SYMBOL_NAMES.find(String(of.symbol_name(int(number))))",
    );
    for (of, own) in kinds.iter().zip(&world.kinds) {
        kind(&mut source, of, own)?;
    }
    Ok(source.finish())
}

/// The text that the client compares with the server.
fn text(source: &mut Source, world: &World) {
    source.lines("\n## What these bindings need of a server's world.");
    let text = world.bindings("gd");
    let lines: Vec<String> = text
        .lines()
        .map(|line| quoted(&format!("{line}\n")))
        .collect();
    source.lines(format_args!("const BINDINGS := ({}", lines.join("\n\t+ ")));
    source.lines(")");
}

fn symbols(source: &mut Source, world: &World) -> Result<(), Collision> {
    let mut names = scope(Case::Screaming, &["NONE"]);
    let all = world
        .symbols
        .iter()
        .map(|symbol| names.name("symbol", symbol));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let all: Vec<String> = ["NONE = -1".to_owned()].into_iter().chain(all).collect();
    let texts: Vec<String> = world.symbols.iter().map(|symbol| quoted(symbol)).collect();
    source.lines(format_args!(
        "
## A symbol of the world; `NONE`: one that these bindings don't have.
enum Symbols {{ {} }}
const SYMBOL_NAMES: Array[String] = [{}]",
        all.join(", "),
        texts.join(", ")
    ));
    Ok(())
}

/// The functions that find entities.
fn view(
    source: &mut Source,
    world: &World,
    kinds: &[String],
    members: &mut Scope,
) -> Result<(), Collision> {
    let player = &kinds[world.player];
    let player_name = quoted(&world.kinds[world.player].name);
    source.lines(format_args!(
        "

## The player's own entity; null while there is none in view.
func own() -> {player}:
\tvar entity := client.own()
\treturn {player}.new(client, entity) if client.kind_of(entity) == {player_name} else null"
    ));
    if let Some(shared) = world.shared {
        let of = &kinds[shared];
        source.lines(format_args!(
            "

## What the whole world shares; null before it has arrived.
func shared() -> {of}:
\tvar entity := client.world()
\treturn {of}.new(client, entity) if entity != -1 else null"
        ));
    }
    for (place, kind) in world.kinds_in_view() {
        let of = &kinds[place];
        let name = members.name_as("kind", &kind.name, &plural(&kind.name))?;
        source.blank();
        source.blank();
        source.doc(&kind.doc);
        if kind.is_thing {
            source.lines(format_args!(
                "## Those that an entity, or a thing, holds itself.
func {name}(holder: int) -> Array[{of}]:
\tvar found: Array[{of}] = []
\tfor thing in client.held_by(holder):
\t\tif client.kind_of(thing) == {}:
\t\t\tfound.append({of}.new(client, thing))
\treturn found",
                quoted(&kind.name)
            ));
            continue;
        }
        source.lines(format_args!(
            "## Those in view that are shown at most so far from a place.
func {name}(place := Vector3.ZERO, radius := INF) -> Array[{of}]:
\tvar found: Array[{of}] = []
\tfor entity in client.entities():
\t\tif client.kind_of(entity) == {} and _is_within(entity, place, radius):
\t\t\tfound.append({of}.new(client, entity))
\treturn found",
            quoted(&kind.name)
        ));
    }
    source.lines(
        "

func _is_within(entity: int, place: Vector3, radius: float) -> bool:
\tvar shown: Variant = client.place(entity)
\treturn radius == INF or shown != null and place.distance_to(shown) <= radius


func _symbol(of: MyriadClient, number: float) -> int:
\treturn SYMBOL_NAMES.find(String(of.symbol_name(int(number))))",
    );
    Ok(())
}

fn give(source: &mut Source, world: &World, members: &mut Scope) -> Result<(), Collision> {
    for command in &world.commands {
        let name = members.name_as("command", &command.name, &format!("give_{}", command.name))?;
        let mut words = scope(Case::Snake, &["client"]);
        let (mut parameters, mut numbers) = (vec![], vec![]);
        for word in &command.words {
            if word.is_seen() {
                numbers.push("0".to_owned());
                continue;
            }
            let name = words.name("parameter", &word.name)?;
            numbers.push(match word.ty {
                AttributeType::I32
                | AttributeType::Fixed
                | AttributeType::I64
                | AttributeType::Text
                | AttributeType::High => name.clone(),
                AttributeType::Bool => format!("1 if {name} else 0"),
                AttributeType::Entity => format!("client.reference({name})"),
                AttributeType::Symbol => format!("client.symbol(SYMBOL_NAMES[{name}])"),
            });
            parameters.push(format!("{name}: {}", field_type(word.ty)));
        }
        source.blank();
        source.blank();
        source.doc(&command.doc);
        let (gives, give) = match command.has_texts() {
            true => (
                "## Gives 0: it goes out once the server has its texts; or -1",
                "command_with",
            ),
            false => ("## Gives its sequence number, or -1", "command"),
        };
        source.lines(format_args!(
            "{gives}: `client.failure()` says why.
func {name}({}) -> int:
\treturn client.{give}({}, [{}])",
            parameters.join(", "),
            quoted(&command.name),
            numbers.join(", ")
        ));
    }
    Ok(())
}

/// A name in this language, that of the world, and (name, type) of its fields.
type Notified = (String, String, Vec<(String, AttributeType)>);

/// What comes as signals.
struct News {
    changes: Vec<(String, String, AttributeType)>,
    notifications: Vec<Notified>,
}

impl News {
    fn of(members: &mut Scope, world: &World) -> Result<News, Collision> {
        let changes = world.attributes.iter().map(|own| {
            let called = format!("{}_changed", own.name);
            let name = members.name_as("attribute", &own.name, &called)?;
            Ok((name, own.name.clone(), own.ty))
        });
        let changes = changes.collect::<Result<_, _>>()?;
        let notifications = world.notifications.iter().map(|of| {
            let mut names = scope(Case::Snake, &["source", "values"]);
            let fields = of.fields.iter();
            let fields = fields.map(|field| Ok((names.name("field", &field.name)?, field.ty)));
            let called = format!("{}_notified", of.name);
            let name = members.name_as("notification", &of.name, &called)?;
            Ok((name, of.name.clone(), fields.collect::<Result<_, _>>()?))
        });
        Ok(News {
            changes,
            notifications: notifications.collect::<Result<_, _>>()?,
        })
    }

    fn signals(&self, source: &mut Source) {
        source.lines("\n# Changes of attributes.");
        for (name, _, ty) in &self.changes {
            let ty = field_type(*ty);
            source.lines(format_args!(
                "signal {name}(entity: int, old: {ty}, new: {ty})"
            ));
        }
        source.lines("# Notifications of the world's scripts; -1 is no entity.");
        for (name, _, fields) in &self.notifications {
            let fields = fields
                .iter()
                .map(|(name, ty)| format!(", {name}: {}", field_type(*ty)));
            let fields = fields.collect::<String>();
            source.lines(format_args!("signal {name}(source: int{fields})"));
        }
    }

    fn handlers(&self, source: &mut Source) {
        source.lines(
            "

func _on_noticed(entity: int, _kind: String, attribute: String, old: float, new: float,
\t\t_command: String, _by: int) -> void:
\t_on_changed(entity, attribute, old, new)


func _on_changed(entity: int, attribute: String, old: float, new: float) -> void:
\tmatch attribute:",
        );
        for (name, of, ty) in &self.changes {
            source.lines(format_args!(
                "\t\t{}:\n\t\t\t{name}.emit(entity, {}, {})",
                quoted(of),
                field("old", *ty),
                field("new", *ty)
            ));
        }
        source.lines("\t\t_:\n\t\t\tpass");
        source.lines(
            "

func _on_notified(name: String, source: int, values: PackedFloat64Array) -> void:
\tmatch name:",
        );
        for (name, of, fields) in &self.notifications {
            let values = fields.iter().enumerate();
            let values =
                values.map(|(i, (_, ty))| format!(", {}", field(&format!("values[{i}]"), *ty)));
            source.lines(format_args!(
                "\t\t{}:\n\t\t\t{name}.emit(source{})",
                quoted(of),
                values.collect::<String>()
            ));
        }
        source.lines("\t\t_:\n\t\t\tpass");
    }
}

fn kind(source: &mut Source, of: &str, kind: &Kind) -> Result<(), Collision> {
    let mut names = scope(
        Case::Snake,
        &["client", "id", "place", "is_own", "player_name"],
    );
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
    source.doc(&kind.doc);
    source.block(format_args!("class {of}:"), "", |source| {
        source.lines("extends Seen");
        for (name, own) in all {
            let number = format!("_number({})", quoted(&own.name));
            let value = field(&number, own.ty);
            source.blank();
            source.doc(&own.doc);
            source.lines(format_args!("var {name}: {}:", field_type(own.ty)));
            source.lines(format_args!("\tget:\n\t\treturn {value}"));
        }
        for (name, array) in arrays {
            let (ty, values) = (field_type(array.first.ty), array.values.join(", "));
            source.blank();
            source.doc(&array.doc());
            source.lines(format_args!("var {name}: Array[{ty}]:"));
            source.lines(format_args!("\tget:\n\t\treturn [{values}]"));
        }
    });
    Ok(())
}

fn field_type(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::I32 | AttributeType::Entity | AttributeType::I64 | AttributeType::High => {
            "int"
        }
        AttributeType::Text => "String",
        AttributeType::Fixed => "float",
        AttributeType::Bool => "bool",
        AttributeType::Symbol => "Symbols",
    }
}

fn field(number: &str, ty: AttributeType) -> String {
    match ty {
        AttributeType::I32 | AttributeType::I64 | AttributeType::High => {
            format!("int({number})")
        }
        AttributeType::Text => format!("client.text({number})"),
        AttributeType::Fixed => number.to_owned(),
        AttributeType::Bool => format!("{number} != 0.0"),
        AttributeType::Entity => format!("client.referenced({number})"),
        AttributeType::Symbol => format!("_symbol(client, {number}) as Symbols"),
    }
}

fn scope(case: Case, others: &[&'static str]) -> Scope {
    Scope::new("GDScript", case, &[&KEYWORDS, others])
}

/// The members of the bindings and of `RefCounted`.
const MEMBERS: [&str; 24] = [
    "client",
    "own",
    "shared",
    "call",
    "connect",
    "disconnect",
    "emit_signal",
    "free",
    "get",
    "has_method",
    "init_ref",
    "is_class",
    "notification",
    "notify_property_list_changed",
    "property_list_changed",
    "reference",
    "script",
    "script_changed",
    "set",
    "set_script",
    "tr",
    "unreference",
    "get_class",
    "to_string",
];

const KEYWORDS: [&str; 60] = [
    "if",
    "elif",
    "else",
    "for",
    "while",
    "match",
    "when",
    "break",
    "continue",
    "pass",
    "return",
    "class",
    "class_name",
    "extends",
    "is",
    "in",
    "as",
    "self",
    "signal",
    "func",
    "static",
    "const",
    "enum",
    "var",
    "breakpoint",
    "preload",
    "await",
    "yield",
    "assert",
    "void",
    "PI",
    "TAU",
    "INF",
    "NAN",
    "and",
    "or",
    "not",
    "true",
    "false",
    "null",
    "super",
    "int",
    "float",
    "bool",
    "trait",
    "namespace",
    "script",
    "get",
    "set",
    "Array",
    "Color",
    "Dictionary",
    "MyriadClient",
    "Node",
    "Object",
    "RefCounted",
    "Signal",
    "String",
    "Symbols",
    "Vector3",
];
