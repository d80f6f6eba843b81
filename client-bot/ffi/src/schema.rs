//! A world's schema: kinds, attributes, commands, notifications, symbols, constants.
//!
//! Each list is counted from 0. A name is written to a buffer with a zero byte behind it; a null
//! pointer with size 0 stands for no interest in it.

use std::ffi::c_char;

use client_bot::named::number;
use shared::world::schema::KindAttribute;
use shared::{
    Attribute, AttributeType, AttributeValue, Audience, CommandSchema, Kind, NotificationSchema,
    Schema,
};

use crate::clients::{Client, MyriadClient, with};
use crate::failure::{Failure, MyriadStatus};
use crate::memory::{put, put_text, text};

/// The type of an attribute or a parameter. As a number of this library, `Fixed` is in units,
/// `Bool` is 0 or 1, `Entity` is a reference (see `myriad_reference`), and `Symbol` the number of
/// a symbol (see `myriad_symbol`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MyriadType {
    /// A whole number.
    I32 = 0,
    /// A fraction.
    Fixed = 1,
    Bool = 2,
    Entity = 3,
    Symbol = 4,
    /// A whole number of 64 bits. As a number of C it is exact up to 2^53; `myriad_whole` gives it
    /// as it is.
    I64 = 5,
    /// No attribute: the half of the one before it, whose value is whole.
    High = 6,
    /// A text: `myriad_text` gives it. As a number it is its handle: equal texts have the same, and 0
    /// is the empty one.
    Text = 7,
}

/// The clients that an attribute is sent to.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MyriadAudience {
    /// All that see the entity, newest wins.
    Movement = 0,
    /// All that see the entity, each value.
    State = 1,
    /// The entity's own client.
    Private = 2,
    /// None: the attribute has no name, and no values.
    Hidden = 3,
}

/// A world as a whole.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MyriadSchema {
    /// How many there are.
    pub kinds: usize,
    /// How many there are; the first ones, as many as `dimensions`, are the position.
    pub attributes: usize,
    /// How many of them clients can give.
    pub commands: usize,
    /// How many there are.
    pub notifications: usize,
    /// How many there are, see `myriad_symbol_name`.
    pub symbols: usize,
    /// How many of its scripts' constants clients may know.
    pub constants: usize,
    /// 2 or 3.
    pub dimensions: usize,
    /// In units; 0 on axes that the world lacks.
    pub size: [f64; 3],
    /// How far clients see, in units.
    pub sight: f64,
    pub ticks_per_second: u32,
    /// The most entities that a client sees; 0: no limit.
    pub visible_max: u32,
}

/// An attribute of a world.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MyriadAttribute {
    pub what: MyriadType,
    pub audience: MyriadAudience,
    /// The smallest and the largest value in any kind.
    pub min: f64,
    pub max: f64,
}

/// An attribute of a kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MyriadKindAttribute {
    /// Its number among the attributes of the world.
    pub attribute: usize,
    /// The value at birth.
    pub initial: f64,
    pub min: f64,
    pub max: f64,
}

/// A command that clients can give.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MyriadCommand {
    /// How many numbers it takes.
    pub parameters: usize,
    /// How often it can be given in a tick; 0: as often as wanted.
    pub per_tick: u32,
    /// Ticks from a use to the next; 0: it never rests.
    pub cooldown_ticks: u32,
}

/// A constant of a world's scripts.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MyriadConstant {
    pub what: MyriadType,
    pub value: f64,
}

/// Writes what the world is made of to `schema`, and its name to `name`.
///
/// # Safety
/// `schema` points to room for it, and `name` to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_schema(
    client: MyriadClient,
    schema: *mut MyriadSchema,
    name: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let of = client.schema()?;
        let mut edges = [0.0; 3];
        for (edge, axis) in edges.iter_mut().zip(&of.world.size) {
            *edge = axis.to_f64();
        }
        let whole = MyriadSchema {
            kinds: of.kinds.len(),
            attributes: of.attributes.len(),
            commands: given(of).count(),
            notifications: of.notifications.len(),
            symbols: of.symbols.len(),
            constants: of.constants.len(),
            dimensions: of.dimensions(),
            size: edges,
            sight: of.world.aoi.to_f64(),
            ticks_per_second: of.world.tick_hz,
            visible_max: of.world.visible_max,
        };
        unsafe { put_name(name, size, &of.world.name) }?;
        unsafe { put(schema, whole, "a schema") }
    })
}

/// Writes an attribute of the world to `attribute`, and its name to `name`.
///
/// # Safety
/// `attribute` points to room for it, and `name` to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_schema_attribute(
    client: MyriadClient,
    index: usize,
    attribute: *mut MyriadAttribute,
    name: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let of = at(&client.schema()?.attributes, index, "an attribute")?;
        unsafe { put_name(name, size, &of.name) }?;
        unsafe { put(attribute, of.into(), "an attribute") }
    })
}

/// Writes how many attributes a kind has to `attributes`, and its name to `name`.
///
/// # Safety
/// `attributes` points to room for a number, and `name` to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_schema_kind(
    client: MyriadClient,
    index: usize,
    attributes: *mut usize,
    name: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let of = at(&client.schema()?.kinds, index, "a kind")?;
        unsafe { put_name(name, size, &of.name) }?;
        unsafe { put(attributes, of.attributes.len(), "a number") }
    })
}

/// Writes an attribute of a kind to `attribute`.
///
/// # Safety
/// `attribute` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_schema_kind_attribute(
    client: MyriadClient,
    kind: usize,
    index: usize,
    attribute: *mut MyriadKindAttribute,
) -> MyriadStatus {
    with(client, |client| {
        let schema = client.schema()?;
        let kind: &Kind = at(&schema.kinds, kind, "a kind")?;
        let own = at(&kind.attributes, index, "an attribute of the kind")?;
        let column = usize::from(own.column);
        let what = at(&schema.attributes, column, "an attribute")?.ty;
        let number = |of: fn(&KindAttribute) -> i32| {
            AttributeValue::of(what, kind.words(column, of)).number()
        };
        let own = MyriadKindAttribute {
            attribute: column,
            initial: number(|own| own.default),
            min: number(|own| own.min),
            max: number(|own| own.max),
        };
        unsafe { put(attribute, own, "an attribute of a kind") }
    })
}

/// Writes a command that clients can give to `command`, and its name to `name`.
///
/// # Safety
/// `command` points to room for it, and `name` to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_schema_command(
    client: MyriadClient,
    index: usize,
    command: *mut MyriadCommand,
    name: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let of = client.command_at(index)?;
        let form = MyriadCommand {
            parameters: of.words.len(),
            per_tick: of.per_tick.into(),
            cooldown_ticks: of.cooldown,
        };
        unsafe { put_name(name, size, &of.name) }?;
        unsafe { put(command, form, "a command") }
    })
}

/// Writes the type of a command's parameter to `what`, and its name to `name`. `myriad_command`
/// takes the numbers in this order.
///
/// # Safety
/// `what` points to room for a type, and `name` to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_schema_parameter(
    client: MyriadClient,
    command: usize,
    index: usize,
    what: *mut MyriadType,
    name: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let words = &client.command_at(command)?.words;
        let of = at(words, index, "a parameter")?;
        unsafe { put_name(name, size, &of.name) }?;
        unsafe { put(what, of.ty.into(), "a type") }
    })
}

/// Writes how many fields a notification has to `fields`, and its name to `name`.
///
/// # Safety
/// `fields` points to room for a number, and `name` to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_schema_notification(
    client: MyriadClient,
    index: usize,
    fields: *mut usize,
    name: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let of = client.notification_at(index)?;
        unsafe { put_name(name, size, &of.name) }?;
        unsafe { put(fields, of.fields.len(), "a number") }
    })
}

/// Writes the type of a notification's field to `what`, and its name to `name`. The `values` of
/// an event have this order.
///
/// # Safety
/// `what` points to room for a type, and `name` to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_schema_field(
    client: MyriadClient,
    notification: usize,
    index: usize,
    what: *mut MyriadType,
    name: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let fields = &client.notification_at(notification)?.fields;
        let of = at(fields, index, "a field")?;
        unsafe { put_name(name, size, &of.name) }?;
        unsafe { put(what, of.ty.into(), "a type") }
    })
}

/// Writes a constant of the world's scripts to `constant`, and its name to `name`.
///
/// # Safety
/// `constant` points to room for it, and `name` to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_schema_constant(
    client: MyriadClient,
    index: usize,
    constant: *mut MyriadConstant,
    name: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let of = at(&client.schema()?.constants, index, "a constant")?;
        let found = MyriadConstant {
            what: of.ty.into(),
            value: number(of.ty, of.value),
        };
        unsafe { put_name(name, size, &of.name) }?;
        unsafe { put(constant, found, "a constant") }
    })
}

/// Writes the value of a constant of the world's scripts to `value`, such as that of
/// `strike.reach`: as those of attributes.
///
/// # Safety
/// `name` is text, and `value` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_constant(
    client: MyriadClient,
    name: *const c_char,
    value: *mut f64,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(name, "a constant's name") }?;
        let mut constants = client.schema()?.constants.iter();
        let of = constants.find(|constant| constant.name == name);
        let of = of.ok_or_else(|| {
            Failure::Unknown(format!("the world has no constant `{name}` for clients"))
        })?;
        unsafe { put(value, number(of.ty, of.value), "a number") }
    })
}

impl Client {
    fn schema(&self) -> Result<&Schema, Failure> {
        Ok(self.view()?.schema())
    }

    fn command_at(&self, index: usize) -> Result<&CommandSchema, Failure> {
        let schema = self.schema()?;
        let found = given(schema).nth(index);
        found.ok_or_else(|| beyond("a command", given(schema).count(), index))
    }

    fn notification_at(&self, index: usize) -> Result<&NotificationSchema, Failure> {
        at(&self.schema()?.notifications, index, "a notification")
    }
}

/// The commands that clients can give, in their order.
fn given(schema: &Schema) -> impl Iterator<Item = &CommandSchema> {
    schema.commands.iter().filter(|c| c.senders.clients)
}

fn at<'a, T>(list: &'a [T], index: usize, what: &str) -> Result<&'a T, Failure> {
    let found = list.get(index);
    found.ok_or_else(|| beyond(what, list.len(), index))
}

fn beyond(what: &str, count: usize, index: usize) -> Failure {
    Failure::Unknown(format!("expected {what} below {count}, found {index}"))
}

/// # Safety
/// As `put_text`, but null with size 0 is no interest in the name.
unsafe fn put_name(buffer: *mut c_char, size: usize, name: &str) -> Result<(), Failure> {
    match buffer.is_null() && size == 0 {
        true => Ok(()),
        false => unsafe { put_text(buffer, size, name) },
    }
}

impl From<AttributeType> for MyriadType {
    fn from(ty: AttributeType) -> MyriadType {
        match ty {
            AttributeType::I32 => MyriadType::I32,
            AttributeType::Fixed => MyriadType::Fixed,
            AttributeType::Bool => MyriadType::Bool,
            AttributeType::Entity => MyriadType::Entity,
            AttributeType::Symbol => MyriadType::Symbol,
            AttributeType::I64 => MyriadType::I64,
            AttributeType::High => MyriadType::High,
            AttributeType::Text => MyriadType::Text,
        }
    }
}

impl From<&Attribute> for MyriadAttribute {
    fn from(of: &Attribute) -> MyriadAttribute {
        MyriadAttribute {
            what: of.ty.into(),
            audience: match of.audience {
                Audience::Movement => MyriadAudience::Movement,
                Audience::State => MyriadAudience::State,
                Audience::Private => MyriadAudience::Private,
                Audience::Hidden => MyriadAudience::Hidden,
            },
            min: end(of, of.min),
            max: end(of, of.max),
        }
    }
}

/// An end of the range of an attribute. Halves of numbers have none of their own.
fn end(of: &Attribute, end: i32) -> f64 {
    AttributeValue::of(of.ty, [end, end]).number()
}
