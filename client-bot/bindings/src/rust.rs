//! Bindings in Rust, over `client_bot::bindings`.

use shared::{AttributeType, Content};

use crate::names::{Case, Collision, Scope, plural};
use crate::source::{Source, quoted};
use crate::world::{Array, Attribute, Kind, Word, World};

pub fn generate(world: &World) -> Result<String, Collision> {
    let rust = Rust::new(world)?;
    let mut source = Source::new("    ", "///");
    rust.head(&mut source);
    rust.view(&mut source)?;
    for (place, kind) in world.kinds.iter().enumerate() {
        source.blank();
        rust.kind(&mut source, &rust.kinds[place], kind)?;
    }
    rust.entity(&mut source);
    rust.commands(&mut source)?;
    rust.events(&mut source)?;
    rust.symbols(&mut source)?;
    Ok(source.finish())
}

struct Rust<'a> {
    world: &'a World,
    /// By kind: the name of its type.
    kinds: Vec<String>,
}

impl<'a> Rust<'a> {
    fn new(world: &'a World) -> Result<Rust<'a>, Collision> {
        let mut types = scope(Case::Pascal, &TYPES);
        let kinds = world
            .kinds
            .iter()
            .map(|kind| types.name("kind", &kind.name));
        let kinds = kinds.collect::<Result<_, _>>()?;
        Ok(Rust { world, kinds })
    }

    fn head(&self, source: &mut Source) {
        let World { name, .. } = self.world;
        source.lines(format_args!(
            "//! The world `{name}` as its clients know it. Written by `myriad bindings --lang rs`.

// A game uses what it needs.
#![allow(dead_code, unreachable_code, unused_imports, unused_variables, clippy::all)]

use std::ops::Deref;

use client_bot::bindings::{{self, Argument, Entities, News, Plays, Seen, Sight, Symbols}};
use client_bot::client_core::{{Event as ClientEvent, GameOptions, GivenCommand, NamedEvent}};
use client_bot::named::NamedError;
use client_bot::shared::{{EntityId, Tick}};

/// What these bindings need of a server's world.
pub const BINDINGS: &str = \"\\"
        ));
        for line in self.world.bindings("rs").lines() {
            let line = quoted(line);
            source.lines(format_args!("{}\\n\\", &line[1..line.len() - 1]));
        }
        source.lines(
            "\";

/// The options of a client with these bindings: a server whose world lacks some of what they name
/// is left, with an event `Lost` that names it.
pub fn options() -> GameOptions {
    GameOptions {
        bindings: BINDINGS.to_owned(),
        ..GameOptions::default()
    }
}

/// What a client sees.
pub fn view(client: &impl Plays) -> View<'_> {
    View(Sight::of(client))
}

/// The commands that a client can give.
pub fn give<C: Plays>(client: &mut C) -> Commands<'_, C> {
    Commands(client)
}
",
        );
    }

    fn view(&self, source: &mut Source) -> Result<(), Collision> {
        let mut names = scope(Case::Snake, &["own", "entity", "world"]);
        let player = &self.kinds[self.world.player];
        source.blank();
        source.lines("/// What a client sees: nothing before it is welcomed.");
        source.lines("#[derive(Clone, Copy)]\npub struct View<'a>(Sight<'a>);");
        source.blank();
        let mut inside = Ok(());
        source.block("impl<'a> View<'a> {", "}", |source| {
            source.lines(format_args!(
                "/// The player's own entity, while it lives.
pub fn own(&self) -> Option<{player}<'a>> {{
    self.0.own().and_then(bindings::typed)
}}

/// An entity in view.
pub fn entity(&self, id: EntityId) -> Option<Entity<'a>> {{
    self.0.entity(id).map(Entity::of)
}}"
            ));
            if let Some(shared) = self.world.shared {
                let world = &self.kinds[shared];
                source.lines(format_args!(
                    "
/// What the whole world shares.
pub fn world(&self) -> Option<{world}<'a>> {{
    self.0.world().map({world})
}}"
                ));
            }
            inside = self.world.kinds_in_view().try_for_each(|(place, kind)| {
                let of = &self.kinds[place];
                let method = names.name_as("kind", &kind.name, &plural(&kind.name))?;
                source.blank();
                source.doc(&kind.doc);
                source.lines(format_args!(
                    "pub fn {method}(&self) -> Entities<'a, {of}<'a>> {{
    self.0.all()
}}"
                ));
                Ok(())
            });
        });
        inside
    }

    fn kind(&self, source: &mut Source, of: &str, kind: &Kind) -> Result<(), Collision> {
        let mut names = scope(Case::Snake, &["deref"]);
        source.doc(&kind.doc);
        source.lines("#[derive(Clone, Copy)]");
        source.lines(format_args!("pub struct {of}<'a>(Seen<'a>);"));
        source.blank();
        let mut inside = Ok(());
        source.block(format_args!("impl<'a> {of}<'a> {{"), "}", |source| {
            let mut accessors = vec![];
            inside = kind.attributes.iter().try_for_each(|attribute| {
                if !accessors.is_empty() {
                    source.blank();
                }
                let accessor = names.name("attribute", &attribute.name)?;
                self.attribute(source, &accessor, attribute);
                accessors.push(accessor);
                Ok(())
            });
            for array in kind.arrays(&accessors) {
                match names.name("array", array.name) {
                    Ok(name) => Rust::array(source, &name, &array),
                    Err(collision) => inside = Err(collision),
                }
            }
        });
        source.lines(format_args!(
            "
impl<'a> Deref for {of}<'a> {{
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {{
        &self.0
    }}
}}

impl<'a> bindings::Kind<'a> for {of}<'a> {{
    const NAME: &'static str = {};

    fn of(seen: Seen<'a>) -> {of}<'a> {{
        {of}(seen)
    }}

    fn seen(&self) -> Seen<'a> {{
        self.0
    }}
}}",
            quoted(&kind.name)
        ));
        inside
    }

    fn attribute(&self, source: &mut Source, method: &str, attribute: &Attribute) {
        let ty = match attribute.ty.content() {
            Content::Text => "Option<&'a str>",
            Content::Value | Content::Entity => field_type(attribute.ty),
        };
        let value = format!(
            "self.0.value({}).{}",
            quoted(&attribute.name),
            read(attribute.ty)
        );
        source.doc(&attribute.doc);
        match (attribute.is_private, is_optional(attribute.ty)) {
            (false, _) => source.lines(format_args!(
                "pub fn {method}(&self) -> {ty} {{\n    {value}\n}}"
            )),
            (true, false) => source.lines(format_args!(
                "pub fn {method}(&self) -> Option<{ty}> {{\n    self.0.is_own().then(|| {value})\n}}"
            )),
            (true, true) => source.lines(format_args!(
                "pub fn {method}(&self) -> {ty} {{\n    self.0.is_own().then(|| {value}).flatten()\n}}"
            )),
        }
    }

    fn array(source: &mut Source, name: &str, array: &Array<'_>) {
        // Arrays have no texts.
        let (ty, len) = (field_type(array.first.ty), array.values.len());
        let ty = match array.first.is_private && !is_optional(array.first.ty) {
            true => format!("Option<{ty}>"),
            false => ty.to_owned(),
        };
        let values = array.values.iter().map(|own| format!("self.{own}()"));
        let values = values.collect::<Vec<_>>().join(", ");
        source.blank();
        source.doc(&array.doc());
        source.lines(format_args!(
            "pub fn {name}(&self) -> [{ty}; {len}] {{\n    [{values}]\n}}"
        ));
    }

    /// Entities of all kinds.
    fn entity(&self, source: &mut Source) {
        source.lines("\n/// An entity in view, by its kind.\n#[derive(Clone, Copy)]");
        source.block("pub enum Entity<'a> {", "}", |source| {
            for of in &self.kinds {
                source.lines(format_args!("{of}({of}<'a>),"));
            }
            source.lines("/// Of a kind that these bindings don't have.\nOther(Seen<'a>),");
        });
        source.blank();
        source.block("impl<'a> Entity<'a> {", "}", |source| {
            source.block("fn of(seen: Seen<'a>) -> Entity<'a> {", "}", |source| {
                source.block("match seen.kind_name() {", "}", |source| {
                    for (of, kind) in self.kinds.iter().zip(&self.world.kinds) {
                        let name = quoted(&kind.name);
                        source.lines(format_args!("{name} => Entity::{of}({of}(seen)),"));
                    }
                    source.lines("_ => Entity::Other(seen),");
                });
            });
        });
        source.lines("\nimpl<'a> Deref for Entity<'a> {\n    type Target = Seen<'a>;\n");
        source.block("    fn deref(&self) -> &Seen<'a> {", "    }\n}", |source| {
            source.block("    match self {", "    }", |source| {
                for of in &self.kinds {
                    source.lines(format_args!("    Entity::{of}(entity) => &entity.0,"));
                }
                source.lines("    Entity::Other(seen) => seen,");
            });
        });
    }

    fn commands(&self, source: &mut Source) -> Result<(), Collision> {
        let mut names = scope(Case::Snake, &["ready_ticks"]);
        source.lines(
            "
/// The commands that a client can give. Each gives its sequence number; one with texts goes out once
/// the server has these.",
        );
        source.lines("pub struct Commands<'a, C>(&'a mut C);");
        source.blank();
        let mut inside = Ok(());
        source.block("impl<C: Plays> Commands<'_, C> {", "}", |source| {
            source.lines(
                "/// In how many ticks of input a command can be used again, by its name; 0: now.
pub fn ready_ticks(&self, command: &str) -> Result<u32, NamedError> {
    self.0.rests(command)
}",
            );
            inside = self.world.commands.iter().try_for_each(|command| {
                let method = names.name("command", &command.name)?;
                let mut words = scope(Case::Snake, &[]);
                let (mut parameters, mut arguments) = (String::new(), vec![]);
                for word in &command.words {
                    if word.is_seen() {
                        arguments.push("0.into()".to_owned());
                        continue;
                    }
                    let name = words.name("parameter", &word.name)?;
                    parameters += &format!(", {name}: {}", argument_type(word.ty));
                    arguments.push(format!("{name}.into()"));
                }
                source.blank();
                source.doc(&command.doc);
                let (given, give) = match command.has_texts() {
                    true => ("GivenCommand", "give_with"),
                    false => ("u32", "give"),
                };
                source.lines(format_args!(
                    "pub fn {method}(&mut self{parameters}) -> Result<{given}, NamedError> {{
    self.0.{give}({}, &[{}])
}}",
                    quoted(&command.name),
                    arguments.join(", ")
                ));
                Ok(())
            });
        });
        inside
    }

    fn events(&self, source: &mut Source) -> Result<(), Collision> {
        source.lines(
            "
/// The events of a client's `poll`.
pub fn events(client: &impl Plays, polled: Vec<ClientEvent>) -> Vec<Event> {
    bindings::events(client, polled, Event::of, Event::Other)
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An attribute of an entity has changed, in view or subscribed to.
    Changed { tick: Tick, entity: EntityId, change: Change },
    /// A notification of the world's scripts; `source` is the entity that caused it.
    Notified { tick: Tick, source: Option<EntityId>, what: Notification },
    /// Anything else.
    Other(ClientEvent),
}

impl Event {
    fn of(named: &NamedEvent, news: News<'_>) -> Option<Event> {
        let (tick, entity) = (named.tick, named.entity.filter(|id| *id != EntityId::NONE));
        Some(match news {
            News::Changed { .. } => {
                let (entity, change) = (entity?, Change::of(news)?);
                Event::Changed { tick, entity, change }
            }
            News::Notified { .. } => {
                let (source, what) = (entity, Notification::of(news)?);
                Event::Notified { tick, source, what }
            }
        })
    }
}
",
        );
        self.changes(source)?;
        self.notifications(source)
    }

    fn changes(&self, source: &mut Source) -> Result<(), Collision> {
        let mut names = scope(Case::Pascal, &[]);
        let attributes = self.world.attributes.iter();
        let names = attributes.map(|own| names.name("attribute", &own.name));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let named = || names.iter().zip(&self.world.attributes);
        let derived = derived(self.world.attributes.iter().map(|own| own.ty));
        source.lines(format_args!("\n/// A change of an attribute.\n{derived}"));
        source.block("pub enum Change {", "}", |source| {
            for (name, own) in named() {
                let ty = field_type(own.ty);
                source.lines(format_args!("{name} {{ old: {ty}, new: {ty} }},"));
            }
        });
        source.blank();
        source.block("impl Change {", "}", |source| {
            source.block("fn of(news: News<'_>) -> Option<Change> {", "}", |source| {
                source.lines(
                    "let News::Changed { name, old, new } = news else {\n    return None;\n};",
                );
                source.block("Some(match name {", "})", |source| {
                    for (name, own) in named() {
                        let read = read_for_long(own.ty);
                        source.lines(format_args!(
                            "{} => Change::{name} {{ old: old.{read}, new: new.{read} }},",
                            quoted(&own.name)
                        ));
                    }
                    source.lines("_ => return None,");
                });
            });
        });
        Ok(())
    }

    fn notifications(&self, source: &mut Source) -> Result<(), Collision> {
        let mut names = scope(Case::Pascal, &[]);
        let all = self.world.notifications.iter().map(|of| {
            let mut fields = scope(Case::Snake, &[]);
            let own = of
                .fields
                .iter()
                .map(|field| fields.name("field", &field.name));
            let own = own.collect::<Result<Vec<_>, _>>()?;
            Ok((names.name("notification", &of.name)?, own, of))
        });
        let all = all.collect::<Result<Vec<_>, _>>()?;
        source.lines("\n/// A notification of the world's scripts.");
        let fields = all.iter().flat_map(|(_, _, of)| &of.fields);
        source.lines(derived(fields.map(|field| field.ty)));
        source.block("pub enum Notification {", "}", |source| {
            for (name, fields, of) in &all {
                let typed = fields.iter().zip(&of.fields);
                let typed = typed.map(|(name, own)| format!("{name}: {}", field_type(own.ty)));
                source.lines(format_args!(
                    "{name} {{ {} }},",
                    typed.collect::<Vec<_>>().join(", ")
                ));
            }
        });
        source.blank();
        source.block("impl Notification {", "}", |source| {
            source.block(
                "fn of(news: News<'_>) -> Option<Notification> {",
                "}",
                |source| {
                    source.lines(
                        "let News::Notified { name, fields } = news else {\n    return None;\n};",
                    );
                    source.block("Some(match (name, &fields[..]) {", "})", |source| {
                        for (name, fields, of) in &all {
                            let list = fields.join(", ");
                            let read =
                                fields
                                    .iter()
                                    .zip(&of.fields)
                                    .map(|(name, own): (_, &Word)| {
                                        format!("{name}: {name}.{}", read_for_long(own.ty))
                                    });
                            source.lines(format_args!(
                                "({}, [{list}{}..]) => Notification::{name} {{ {} }},",
                                quoted(&of.name),
                                if list.is_empty() { "" } else { ", " },
                                read.collect::<Vec<_>>().join(", ")
                            ));
                        }
                        source.lines("_ => return None,");
                    });
                },
            );
        });
        Ok(())
    }

    fn symbols(&self, source: &mut Source) -> Result<(), Collision> {
        let mut names = scope(Case::Pascal, &[]);
        let symbols = self.world.symbols.iter();
        let names = symbols.clone().map(|symbol| names.name("symbol", symbol));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        let all = names.iter().map(|name| format!("Symbol::{name}"));
        let all = all.collect::<Vec<_>>().join(", ");
        source.lines("\n/// A symbol of the world.");
        source.lines("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]");
        source.block("pub enum Symbol {", "}", |source| {
            for name in &names {
                source.lines(format_args!("{name},"));
            }
        });
        source.blank();
        source.block("impl Symbols for Symbol {", "}", |source| {
            source.lines(format_args!("const ALL: &'static [Symbol] = &[{all}];\n"));
            source.block("fn name(self) -> &'static str {", "}", |source| {
                source.block("match self {", "}", |source| {
                    for (name, symbol) in names.iter().zip(symbols) {
                        source.lines(format_args!("Symbol::{name} => {},", quoted(symbol)));
                    }
                });
            });
        });
        source.lines(
            "
impl From<Symbol> for Argument<'_> {
    fn from(symbol: Symbol) -> Self {
        Argument::Symbol(symbol.name())
    }
}",
        );
        Ok(())
    }
}

fn scope(case: Case, others: &[&'static str]) -> Scope {
    Scope::new("Rust", case, &[&KEYWORDS, others])
}

/// What a type of events derives.
fn derived(mut types: impl Iterator<Item = AttributeType>) -> &'static str {
    match types.any(|ty| ty == AttributeType::Text) {
        true => "#[derive(Clone, Debug, PartialEq)]",
        false => "#[derive(Clone, Copy, Debug, PartialEq)]",
    }
}

/// The type of what is read.
fn field_type(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::I32 => "i32",
        AttributeType::Text => "Option<String>",
        AttributeType::I64 | AttributeType::High => "i64",
        AttributeType::Fixed => "f64",
        AttributeType::Bool => "bool",
        AttributeType::Entity => "Option<EntityId>",
        AttributeType::Symbol => "Option<Symbol>",
    }
}

/// The type of what is given.
fn argument_type(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::I32 => "i32",
        AttributeType::Text => "&str",
        AttributeType::I64 | AttributeType::High => "i64",
        AttributeType::Fixed => "f64",
        AttributeType::Bool => "bool",
        AttributeType::Entity => "EntityId",
        AttributeType::Symbol => "Symbol",
    }
}

fn is_optional(ty: AttributeType) -> bool {
    matches!(
        ty,
        AttributeType::Entity | AttributeType::Symbol | AttributeType::Text
    )
}

/// The same for what outlives the view.
fn read_for_long(ty: AttributeType) -> &'static str {
    match ty.content() {
        Content::Text => "text().map(str::to_owned)",
        Content::Value | Content::Entity => read(ty),
    }
}

/// The method of a value that reads it.
fn read(ty: AttributeType) -> &'static str {
    match ty {
        AttributeType::I32 => "whole()",
        AttributeType::Text => "text()",
        AttributeType::I64 | AttributeType::High => "long()",
        AttributeType::Fixed => "fraction()",
        AttributeType::Bool => "truth()",
        AttributeType::Entity => "entity()",
        AttributeType::Symbol => "symbol()",
    }
}

/// The types of the module that kinds' types stand beside.
const TYPES: [&str; 26] = [
    "Argument",
    "Change",
    "ClientEvent",
    "Commands",
    "Deref",
    "Entities",
    "Entity",
    "EntityId",
    "Event",
    "GameOptions",
    "GivenCommand",
    "NamedError",
    "NamedEvent",
    "News",
    "Notification",
    "Option",
    "Other",
    "Plays",
    "Result",
    "Seen",
    "Sight",
    "String",
    "Symbol",
    "Symbols",
    "Tick",
    "View",
];

const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "Self",
];
