//! Commands and attributes by their names, and raw words as numbers: for engines that know no
//! schema.

use client_core::{CommandError, Entity, View};
use shared::{Attribute, AttributeType, Audience, CommandKind, EntityId, Fixed};
use thiserror::Error;

use crate::GameClient;

/// Why something cannot be given or asked for by its name.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NamedError {
    #[error("the client is not in the world")]
    NotInWorld,
    #[error("the world has no {what} `{name}`")]
    Unknown { what: &'static str, name: String },
    #[error("`{word}` of `{command}`: {expected}")]
    Number {
        command: String,
        word: String,
        expected: String,
    },
    #[error("entity {}.{} is not in view", .0.slot.0, .0.generation)]
    NotInView(EntityId),
    #[error("this client may not know `{0}` of this entity")]
    Hidden(String),
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl GameClient {
    /// In how many ticks of input a command can be used again, as far as the client knows; 0:
    /// it runs if it is given now.
    pub fn ready_ticks_named(&self, name: &str) -> Result<u32, NamedError> {
        let view = self.view().ok_or(NamedError::NotInWorld)?;
        let command = view.schema().command_named(name);
        let kind = command.ok_or_else(|| unknown("command", name))?.kind;
        let game = self.game();
        let (ready, input) = (game.ready_at(kind), game.prediction());
        let ticks = ready
            .zip(input)
            .map(|(ready, p)| ready.since(p.input_tick()));
        Ok(ticks.unwrap_or(0))
    }

    /// Queues a command by its name, with its numbers as [`number`] tells them, and gives its
    /// sequence number.
    pub fn command_named(&mut self, name: &str, numbers: &[f64]) -> Result<u32, NamedError> {
        let view = self.view().ok_or(NamedError::NotInWorld)?;
        let command = view.schema().command_named(name);
        let command = command.ok_or_else(|| unknown("command", name))?;
        let kind = command.kind;
        let mut words = vec![];
        for (word, &number) in command.words.iter().zip(numbers) {
            let raw = raw(word.ty, number).map_err(|expected| NamedError::Number {
                command: name.to_owned(),
                word: word.name.clone(),
                expected,
            })?;
            words.push(raw);
        }
        // Beyond the command's words, the queue says how many there should be.
        words.extend(numbers.iter().skip(command.words.len()).map(|_| 0));
        Ok(self.command(kind, &words)?)
    }

    /// The newest value of an attribute of an entity in view, as [`number`] tells it.
    pub fn value(&self, entity: EntityId, attribute: &str) -> Result<f64, NamedError> {
        let view = self.view().ok_or(NamedError::NotInWorld)?;
        let seen = view.entities().get(&entity.slot.0);
        let seen = seen.filter(|seen| seen.id == entity);
        let seen = seen.ok_or(NamedError::NotInView(entity))?;
        let (column, attribute) = known_attribute(view, seen, attribute)?;
        let raw = seen.row.get(column).copied().unwrap_or_default();
        Ok(number(attribute.ty, raw))
    }
}

/// An attribute that an entity has, and that this client may know.
fn known_attribute<'a>(
    view: &'a View,
    entity: &Entity,
    name: &str,
) -> Result<(usize, &'a Attribute), NamedError> {
    let schema = view.schema();
    let kind = schema.kinds.get(usize::from(entity.kind));
    let column = schema.column(name).filter(|&column| {
        let mut own = kind.iter().flat_map(|kind| &kind.attributes);
        column < schema.dimensions() || own.any(|own| usize::from(own.column) == column)
    });
    let column = column.ok_or_else(|| unknown("attribute of its kind", name))?;
    let attribute = &schema.attributes[column];
    let is_known = match attribute.audience {
        Audience::Hidden => false,
        Audience::Private => entity.id == view.entity(),
        _ => true,
    };
    match is_known {
        true => Ok((column, attribute)),
        false => Err(NamedError::Hidden(name.to_owned())),
    }
}

fn unknown(what: &'static str, name: &str) -> NamedError {
    NamedError::Unknown {
        what,
        name: name.to_owned(),
    }
}

/// A change of an attribute, by its name, with values as [`number`] tells them.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedChange {
    pub attribute: String,
    pub old: f64,
    pub new: f64,
}

impl NamedChange {
    /// `None` if the world has no such column.
    pub fn of(view: &View, column: u16, old: i32, new: i32) -> Option<NamedChange> {
        let attribute = view.schema().attributes.get(usize::from(column))?;
        Some(NamedChange {
            attribute: attribute.name.clone(),
            old: number(attribute.ty, old),
            new: number(attribute.ty, new),
        })
    }
}

/// The name of a command; `None` if the world has no such command.
pub fn command_name(view: &View, command: CommandKind) -> Option<&str> {
    Some(&view.schema().command(command)?.name)
}

/// The name of a kind of entities; `None` if the world has no such kind.
pub fn kind_name(view: &View, kind: u16) -> Option<&str> {
    let kinds = &view.schema().kinds;
    Some(&kinds.get(usize::from(kind))?.name)
}

/// A raw word as a number: fixed-point ones in units, booleans as 0 and 1, symbols by their
/// number, entities by their reference.
pub fn number(ty: AttributeType, raw: i32) -> f64 {
    match ty {
        AttributeType::Fixed => Fixed::from_raw(raw).to_f64(),
        AttributeType::Bool => f64::from(u8::from(raw != 0)),
        AttributeType::I32 | AttributeType::Symbol | AttributeType::Entity => f64::from(raw),
    }
}

/// The raw word of a number, or what was expected.
pub fn raw(ty: AttributeType, number: f64) -> Result<i32, String> {
    let whole = |low: f64, high: f64| {
        let fits = number.fract() == 0.0 && (low..=high).contains(&number);
        fits.then_some(number as i32)
            .ok_or_else(|| format!("expected a whole number from {low} to {high}, found {number}"))
    };
    match ty {
        AttributeType::Fixed => Fixed::from_f64(number)
            .map(Fixed::raw)
            .ok_or_else(|| format!("expected a number within ±524,288, found {number}")),
        AttributeType::Bool => whole(0.0, 1.0),
        AttributeType::I32 | AttributeType::Symbol | AttributeType::Entity => {
            whole(f64::from(i32::MIN), f64::from(i32::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_words_they_came_from() {
        for raw_word in [i32::MIN, -70_000, -1, 0, 1, 65_536, i32::MAX] {
            for ty in [
                AttributeType::Fixed,
                AttributeType::I32,
                AttributeType::Entity,
            ] {
                assert_eq!(raw(ty, number(ty, raw_word)), Ok(raw_word), "{ty:?}");
            }
        }
    }

    #[test]
    fn numbers_that_no_word_can_hold_are_refused() {
        for number in [f64::NAN, f64::INFINITY, 0.5, 3e9] {
            assert!(raw(AttributeType::I32, number).is_err(), "{number}");
        }
        assert!(raw(AttributeType::Bool, 2.0).is_err());
        assert!(raw(AttributeType::Fixed, 1e9).is_err());
        assert!(raw(AttributeType::Fixed, f64::NAN).is_err());
    }
}
