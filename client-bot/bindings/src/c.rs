//! Bindings in C: a header over `myriad.h`.

use shared::{AttributeType, Content};

use crate::names::{Case, Collision, Scope, ident, plural};
use crate::source::{Source, quoted};
use crate::world::{Attribute, Command, Word, World};

pub fn generate(world: &World) -> Result<String, Collision> {
    let c = C::new(world)?;
    let mut source = Source::new("  ", "//");
    c.head(&mut source);
    c.enums(&mut source)?;
    // All functions are in one scope.
    let mut functions = scope(Case::Snake);
    for name in FUNCTIONS {
        functions.reserve(name);
    }
    c.queries(&mut source, &mut functions)?;
    c.attributes(&mut source, &mut functions)?;
    c.commands(&mut source, &mut functions)?;
    c.events(&mut source, &mut functions)?;
    source.lines(format_args!("\n#endif"));
    Ok(source.finish())
}

struct C<'a> {
    world: &'a World,
    /// What all names begin with: `hollow`, `HOLLOW`, `Hollow`.
    small: String,
    large: String,
    type_name: String,
    /// By kind: its name.
    kinds: Vec<String>,
}

impl<'a> C<'a> {
    fn new(world: &'a World) -> Result<C<'a>, Collision> {
        let mut names = scope(Case::Snake);
        let kinds = world
            .kinds
            .iter()
            .map(|kind| names.name("kind", &kind.name));
        Ok(C {
            kinds: kinds.collect::<Result<_, _>>()?,
            small: ident(&world.name, Case::Snake),
            large: ident(&world.name, Case::Screaming),
            type_name: ident(&world.name, Case::Pascal),
            world,
        })
    }

    fn head(&self, source: &mut Source) {
        let C { large, small, .. } = self;
        source.lines(format_args!(
            "// The world `{}` as its clients know it. Written by `myriad bindings --lang c`.

#ifndef {large}_BINDINGS_H
#define {large}_BINDINGS_H

#include <string.h>

#include \"myriad.h\"

// A game uses what it needs.
#if defined(__GNUC__)
#define {large}_UNUSED __attribute__((unused))
#else
#define {large}_UNUSED
#endif

// What these bindings need of a server's world, for the options of `myriad_connect`: a server whose
// world lacks some of it is left, with `MYRIAD_LOSS_SCHEMA_MISMATCH` and a text that names it.",
            self.world.name
        ));
        let text = self.world.bindings("c");
        let lines = text
            .lines()
            .map(|line| format!("  {}", quoted(&format!("{line}\n"))));
        let lines = lines.collect::<Vec<_>>().join(" \\\n");
        source.lines(format_args!("#define {large}_BINDINGS \\\n{lines}"));
        source.lines(format_args!(
            "
// The number of a name in a list; -1: none.
{large}_UNUSED static int {small}_find(const char *const *names, int count, const char *name) {{
  for (int i = 0; name != NULL && i < count; i += 1) {{
    if (strcmp(names[i], name) == 0) {{
      return i;
    }}
  }}
  return -1;
}}

// The entity in view that a reference is to; none: its slot is the largest.
{large}_UNUSED static MyriadEntity {small}_entity(MyriadClient client, double reference) {{
  MyriadEntity entity = {{4294967295u, 0}};
  if (myriad_referenced(client, reference, &entity) != MYRIAD_STATUS_OK) {{
    entity.slot = 4294967295u;
    entity.generation = 0;
  }}
  return entity;
}}"
        ));
    }

    /// A list of names, as an enumeration and as texts.
    fn list(&self, source: &mut Source, what: &str, names: &[String], texts: &[&str], doc: &str) {
        let C {
            large,
            small,
            type_name,
            ..
        } = self;
        let upper = ident(what, Case::Screaming);
        let pascal = ident(what, Case::Pascal);
        source.lines(format_args!("\n// {doc}"));
        source.block(
            format_args!("typedef enum {type_name}{pascal} {{"),
            &format!("}} {type_name}{pascal};"),
            |source| {
                source.lines("// One that these bindings don't have.");
                source.lines(format_args!("{large}_{upper}_OTHER_ = -1,"));
                for (i, name) in names.iter().enumerate() {
                    source.lines(format_args!("{large}_{upper}_{name} = {i},"));
                }
            },
        );
        // C has no empty lists.
        let quoted: Vec<String> = texts
            .iter()
            .map(|text| quoted(text))
            .chain(["\"\"".to_owned()])
            .collect();
        source.lines(format_args!(
            "{large}_UNUSED static const char *const {small}_{what}_names[] = {{{}}};",
            quoted.join(", ")
        ));
    }

    fn enums(&self, source: &mut Source) -> Result<(), Collision> {
        let C {
            large,
            small,
            type_name,
            ..
        } = self;
        let screaming = |what, all: &mut dyn Iterator<Item = &'a str>| {
            let mut names = scope(Case::Screaming);
            let texts: Vec<&str> = all.collect();
            let names = texts.iter().map(|text| names.name(what, text));
            Ok((names.collect::<Result<Vec<_>, _>>()?, texts))
        };
        let (names, texts) =
            screaming("kind", &mut self.world.kinds.iter().map(|kind| &*kind.name))?;
        self.list(source, "kind", &names, &texts, "A kind of entities.");
        source.lines(format_args!(
            "
// The kind of a number that events and `MyriadShown` have.
{large}_UNUSED static {type_name}Kind {small}_kind(MyriadClient client, uint16_t kind) {{
  char name[256];
  if (myriad_kind_name(client, kind, name, sizeof name) != MYRIAD_STATUS_OK) {{
    return {large}_KIND_OTHER_;
  }}
  return ({type_name}Kind){small}_find({small}_kind_names, {}, name);
}}",
            names.len()
        ));
        let (names, texts) =
            screaming("symbol", &mut self.world.symbols.iter().map(|name| &**name))?;
        self.list(source, "symbol", &names, &texts, "A symbol of the world.");
        source.lines(format_args!(
            "
// The symbol of a number that attributes and events have.
{large}_UNUSED static {type_name}Symbol {small}_symbol(MyriadClient client, double number) {{
  char name[256];
  if (number < 0 || myriad_symbol_name(client, (uint32_t)number, name, sizeof name) != MYRIAD_STATUS_OK) {{
    return {large}_SYMBOL_OTHER_;
  }}
  return ({type_name}Symbol){small}_find({small}_symbol_names, {}, name);
}}

// The number of a symbol in a command.
{large}_UNUSED static double {small}_symbol_number(MyriadClient client, {type_name}Symbol symbol) {{
  uint32_t number = 0;
  if (symbol < 0 || myriad_symbol(client, {small}_symbol_names[symbol], &number) != MYRIAD_STATUS_OK) {{
    return -1;
  }}
  return number;
}}",
            names.len()
        ));
        let (names, texts) = screaming(
            "attribute",
            &mut self.world.attributes.iter().map(|own| &*own.name),
        )?;
        self.list(
            source,
            "attribute",
            &names,
            &texts,
            "An attribute, besides the position.",
        );
        let (names, texts) = screaming(
            "notification",
            &mut self.world.notifications.iter().map(|of| &*of.name),
        )?;
        self.list(
            source,
            "notification",
            &names,
            &texts,
            "A notification of the world's scripts.",
        );
        Ok(())
    }

    fn queries(&self, source: &mut Source, functions: &mut Scope) -> Result<(), Collision> {
        let C {
            large,
            small,
            type_name,
            ..
        } = self;
        source.lines(format_args!(
            "
// Writes the entities of a kind in view, at most `radius` units from a place of three numbers, to
// `shown`, as many as there is room for, and to `count` how many there are. A null `place` is
// everywhere. `scratch` has room for all entities in view, which `MyriadState` counts.
{large}_UNUSED static MyriadStatus {small}_shown(MyriadClient client, {type_name}Kind kind,
    const double *place, double radius, MyriadShown *scratch, size_t scratch_room,
    MyriadShown *shown, size_t room, size_t *count) {{
  size_t all = 0;
  MyriadStatus status = myriad_entities(client, scratch, scratch_room, &all);
  *count = 0;
  for (size_t i = 0; status == MYRIAD_STATUS_OK && i < all && i < scratch_room; i += 1) {{
    MyriadShown one = scratch[i];
    double square = 0;
    for (int axis = 0; place != NULL && axis < 3; axis += 1) {{
      double offset = one.position[axis] - place[axis];
      square += offset * offset;
    }}
    if (square > radius * radius || {small}_kind(client, one.kind) != kind) {{
      continue;
    }}
    if (*count < room) {{
      shown[*count] = one;
    }}
    *count += 1;
  }}
  return status;
}}"
        ));
        if self.world.kinds.iter().any(|kind| kind.is_thing) {
            source.lines(format_args!(
                "
// Writes the things of a kind that an entity, or a thing, holds itself to `shown`, and to `count` how
// many they are. Of a holder with more things than there is room for, it looks at the first.
{large}_UNUSED static MyriadStatus {small}_held(MyriadClient client, MyriadEntity holder,
    {type_name}Kind kind, MyriadThing *shown, size_t room, size_t *count) {{
  size_t all = 0;
  MyriadStatus status = myriad_things(client, holder, shown, room, &all);
  *count = 0;
  for (size_t i = 0; status == MYRIAD_STATUS_OK && i < all && i < room; i += 1) {{
    if ({small}_kind(client, shown[i].kind) == kind) {{
      shown[*count] = shown[i];
      *count += 1;
    }}
  }}
  return status;
}}"
            ));
        }
        for (_, kind) in self.world.kinds_in_view() {
            let plural = functions.name_as("kind", &kind.name, &plural(&kind.name))?;
            let constant = ident(&kind.name, Case::Screaming);
            source.blank();
            source.doc(&kind.doc);
            if kind.is_thing {
                source.lines(format_args!(
                    "// Writes those that an entity, or a thing, holds itself.
{large}_UNUSED static MyriadStatus {small}_{plural}(MyriadClient client, MyriadEntity holder,
    MyriadThing *shown, size_t room, size_t *count) {{
  return {small}_held(client, holder, {large}_KIND_{constant}, shown, room, count);
}}"
                ));
                continue;
            }
            source.lines(format_args!(
                "{large}_UNUSED static MyriadStatus {small}_{plural}(MyriadClient client, const double *place,
    double radius, MyriadShown *scratch, size_t scratch_room, MyriadShown *shown, size_t room,
    size_t *count) {{
  return {small}_shown(client, {large}_KIND_{constant}, place, radius, scratch, scratch_room, shown,
      room, count);
}}"
            ));
        }
        Ok(())
    }

    fn attributes(&self, source: &mut Source, functions: &mut Scope) -> Result<(), Collision> {
        for (kind, of) in self.world.kinds.iter().zip(&self.kinds) {
            for own in &kind.attributes {
                let called = format!("{of}_{}", own.name);
                let qualified = format!("{}.{}", kind.name, own.name);
                let name = functions.name_as("attribute", &qualified, &called)?;
                self.attribute(source, &name, own);
            }
        }
        Ok(())
    }

    fn attribute(&self, source: &mut Source, name: &str, own: &Attribute) {
        let C { large, small, .. } = self;
        if own.ty == AttributeType::Text {
            source.blank();
            source.doc(&own.doc);
            source.lines(format_args!(
                "// Writes it to `buffer`, of which 256 bytes are enough; nothing until it has been received.
{large}_UNUSED static MyriadStatus {small}_{name}(MyriadClient client, MyriadEntity entity,
    char *buffer, size_t size) {{
  double handle = 0;
  MyriadStatus status = myriad_value(client, entity, {}, &handle);
  return status == MYRIAD_STATUS_OK ? myriad_text(client, handle, buffer, size) : status;
}}",
                quoted(&own.name)
            ));
            return;
        }
        let ty = self.field_type(own.ty);
        source.blank();
        source.doc(&own.doc);
        let is_long = own.ty == AttributeType::I64;
        source.lines(format_args!(
            "{large}_UNUSED static MyriadStatus {small}_{name}(MyriadClient client, MyriadEntity entity,
    {ty} *value) {{
  {} number = 0;
  MyriadStatus status = {}(client, entity, {}, &number);
  if (status == MYRIAD_STATUS_OK) {{
    *value = {};
  }}
  return status;
}}",
            if is_long { "int64_t" } else { "double" },
            if is_long { "myriad_whole" } else { "myriad_value" },
            quoted(&own.name),
            self.field("number", own.ty)
        ));
    }

    fn commands(&self, source: &mut Source, functions: &mut Scope) -> Result<(), Collision> {
        let C { large, small, .. } = self;
        for command in &self.world.commands {
            let called = format!("give_{}", command.name);
            let name = functions.name_as("command", &command.name, &called)?;
            let mut words = scope(Case::Snake);
            for own in ["client", "sequence", "request", "numbers", "arguments"] {
                words.reserve(own);
            }
            let (mut parameters, mut numbers) = (String::new(), vec![]);
            for word in &command.words {
                if word.is_seen() {
                    numbers.push("0".to_owned());
                    continue;
                }
                let name = words.name("parameter", &word.name)?;
                parameters += &match word.ty.content() {
                    Content::Text => format!(", const char *{name}"),
                    Content::Value | Content::Entity => {
                        format!(", {} {name}", self.field_type(word.ty))
                    }
                };
                numbers.push(self.argument(&name, word.ty));
            }
            if command.has_texts() {
                self.give_with(source, &name, command, (&parameters, &numbers));
                continue;
            }
            let count = numbers.len();
            let (list, given) = match count {
                0 => (String::new(), "NULL"),
                _ => (
                    format!("  const double numbers[] = {{{}}};\n", numbers.join(", ")),
                    "numbers",
                ),
            };
            source.blank();
            source.doc(&command.doc);
            source.lines("// Writes the command's number to `sequence`, which may be null.");
            source.lines(format_args!(
                "{large}_UNUSED static MyriadStatus {small}_{name}(MyriadClient client{parameters},
    uint32_t *sequence) {{
{list}  return myriad_command(client, {}, {given}, {count}, sequence);
}}",
                quoted(&command.name)
            ));
        }
        Ok(())
    }

    /// A command that takes texts.
    fn give_with(
        &self,
        source: &mut Source,
        name: &str,
        command: &Command,
        (parameters, values): (&str, &[String]),
    ) {
        let C { large, small, .. } = self;
        let arguments = command.words.iter().zip(values);
        let arguments = arguments.map(|(word, value)| match word.ty.content() {
            Content::Text => format!("{{{value}, 0}}"),
            Content::Value | Content::Entity => format!("{{NULL, {value}}}"),
        });
        let arguments: Vec<String> = arguments.collect();
        source.blank();
        source.doc(&command.doc);
        source.lines(format_args!(
            "// It goes out once the server has granted its texts. Writes the number of the request for them
// to `request`, which may be null; 0: they are empty, and it goes out at once.
{large}_UNUSED static MyriadStatus {small}_{name}(MyriadClient client{parameters},
    uint32_t *request) {{
  const MyriadArgument arguments[] = {{{}}};
  return myriad_command_with(client, {}, arguments, {}, NULL, request);
}}",
            arguments.join(", "),
            quoted(&command.name),
            arguments.len()
        ));
    }

    fn events(&self, source: &mut Source, functions: &mut Scope) -> Result<(), Collision> {
        let C {
            large,
            small,
            type_name,
            world,
            ..
        } = self;
        let attributes = world.attributes.len();
        source.lines(format_args!(
            "
// The attribute of an event `MYRIAD_EVENT_TYPE_CHANGED`, or of a noticed change.
{large}_UNUSED static {type_name}Attribute {small}_changed(const MyriadEvent *event) {{
  return ({type_name}Attribute){small}_find({small}_attribute_names, {attributes}, event->name);
}}

// The notification of an event `MYRIAD_EVENT_TYPE_NOTIFIED`.
{large}_UNUSED static {type_name}Notification {small}_notified(const MyriadEvent *event) {{
  return ({type_name}Notification){small}_find({small}_notification_names, {}, event->name);
}}",
            world.notifications.len()
        ));
        let mut types = scope(Case::Pascal);
        for notification in &world.notifications {
            let called = format!("read_{}", notification.name);
            let name = functions.name_as("notification", &notification.name, &called)?;
            let called = format!("{}_notification", notification.name);
            let of = types.name_as("notification", &notification.name, &called)?;
            let mut fields = scope(Case::Snake);
            let own = notification.fields.iter();
            let own = own.map(|field| Ok((fields.name("field", &field.name)?, field)));
            let own = own.collect::<Result<Vec<(String, &Word)>, _>>()?;
            if own.is_empty() {
                continue;
            }
            source.blank();
            source.block(
                format_args!("typedef struct {type_name}{of} {{"),
                &format!("}} {type_name}{of};"),
                |source| {
                    for (name, field) in &own {
                        source.lines(match field.ty.content() {
                            Content::Text => format!("char {name}[256];"),
                            Content::Value | Content::Entity => {
                                format!("{} {name};", self.field_type(field.ty))
                            }
                        });
                    }
                },
            );
            source.lines(format_args!(
                "\n// The fields of such an event; false if it is another one."
            ));
            let open = format!(
                "{large}_UNUSED static bool {small}_{name}(MyriadClient client, const MyriadEvent *event,
    {type_name}{of} *fields) {{"
            );
            source.block(open, "}", |source| {
                source.lines(format_args!(
                    "(void)client;
if (event->what != MYRIAD_EVENT_TYPE_NOTIFIED || event->name == NULL ||
    strcmp(event->name, {}) != 0 || event->value_count < {}) {{
  return false;
}}",
                    quoted(&notification.name),
                    own.len()
                ));
                for (i, (name, field)) in own.iter().enumerate() {
                    let value = format!("event->values[{i}]");
                    source.lines(match field.ty.content() {
                        Content::Text => format!(
                            "(void)myriad_text(client, {value}, fields->{name}, sizeof fields->{name});"
                        ),
                        Content::Value | Content::Entity => {
                            format!("fields->{name} = {};", self.field(&value, field.ty))
                        }
                    });
                }
                source.lines("return true;");
            });
        }
        Ok(())
    }

    fn field_type(&self, ty: AttributeType) -> String {
        match ty {
            AttributeType::I32 => "int32_t".to_owned(),
            AttributeType::I64 | AttributeType::High => "int64_t".to_owned(),
            AttributeType::Fixed => "double".to_owned(),
            AttributeType::Bool => "bool".to_owned(),
            AttributeType::Entity => "MyriadEntity".to_owned(),
            AttributeType::Symbol => format!("{}Symbol", self.type_name),
            // Its handle, see `myriad_text`.
            AttributeType::Text => "double".to_owned(),
        }
    }

    fn field(&self, number: &str, ty: AttributeType) -> String {
        match ty {
            AttributeType::I32 => format!("(int32_t){number}"),
            AttributeType::I64 | AttributeType::High => format!("(int64_t){number}"),
            AttributeType::Fixed | AttributeType::Text => number.to_owned(),
            AttributeType::Bool => format!("{number} != 0"),
            AttributeType::Entity => format!("{}_entity(client, {number})", self.small),
            AttributeType::Symbol => format!("{}_symbol(client, {number})", self.small),
        }
    }

    fn argument(&self, name: &str, ty: AttributeType) -> String {
        match ty {
            AttributeType::I32 | AttributeType::Bool | AttributeType::I64 | AttributeType::High => {
                format!("(double){name}")
            }
            AttributeType::Fixed | AttributeType::Text => name.to_owned(),
            AttributeType::Entity => format!("myriad_reference({name})"),
            AttributeType::Symbol => format!("{}_symbol_number(client, {name})", self.small),
        }
    }
}

fn scope(case: Case) -> Scope {
    Scope::new("C", case, &[&KEYWORDS])
}

/// What the header itself declares, without the name of the world.
const FUNCTIONS: [&str; 14] = [
    "find",
    "held",
    "entity",
    "kind",
    "symbol",
    "symbol_number",
    "shown",
    "changed",
    "notified",
    "kind_names",
    "symbol_names",
    "attribute_names",
    "notification_names",
    "bindings",
];

/// Words of C and of C++, which reads the header too.
const KEYWORDS: [&str; 75] = [
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "requires",
    "concept",
    "linux",
    "unix",
];
