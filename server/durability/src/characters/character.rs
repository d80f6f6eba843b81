//! A character: what an account keeps while it has no entity.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared::world::schema::KindAttribute;
use shared::{Attribute, AttributeType, Text, WorldConfig};

/// What an account keeps while it has no entity, or has no room for in the world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Character {
    /// The values of the world's `persists`, in its order; 0 in place of texts.
    pub row: Vec<i32>,
    /// By column.
    pub texts: BTreeMap<u16, Text>,
    /// Each behind what holds it, and that with all that it holds before the next one.
    pub things: Vec<KeptThing>,
}

/// A thing that an account keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptThing {
    pub kind: u16,
    /// What holds it: [`THE_PLAYER`], or n for the n-th thing of the character, counted from 1.
    pub holder: u32,
    /// The values of [`kept_attributes`], in their order; 0 in place of texts. Those that refer to an
    /// entity have its number, as `holder`, or [`NOTHING`].
    pub values: Vec<i32>,
    /// By column.
    pub texts: BTreeMap<u16, Text>,
}

/// The number of the player among what its account keeps.
pub const THE_PLAYER: u32 = 0;
/// In place of a number: no entity, or one that the account does not keep.
pub const NOTHING: i32 = -1;

/// An attribute as a kind has it.
pub type Own<'a> = (&'a Attribute, &'a KindAttribute);

impl Character {
    /// That of an account without one.
    pub fn new(world: &WorldConfig) -> Character {
        let row = persisted(world).map(|(_, own)| own.default);
        Character {
            row: row.collect(),
            ..Character::default()
        }
    }

    /// That of a row alone.
    pub fn of_row(row: Vec<i32>) -> Character {
        Character {
            row,
            ..Character::default()
        }
    }

    /// Whether there is none: it has nothing at all.
    pub fn is_nothing(&self) -> bool {
        self.row.is_empty() && self.texts.is_empty() && self.things.is_empty()
    }

    /// Removes the first things, so many: they are in the world. What they held, and is left, is held by
    /// the player; what refers to them refers to nothing.
    pub fn take_things(&mut self, world: &WorldConfig, count: usize) {
        let gone = count.min(self.things.len());
        self.things.drain(..gone);
        let gone = u32::try_from(gone).unwrap_or(u32::MAX);
        self.renumber(world, |number| match number {
            THE_PLAYER => Some(THE_PLAYER),
            number => number.checked_sub(gone).filter(|&left| left > 0),
        });
    }

    /// Adds other things behind its own.
    pub fn add_things(&mut self, world: &WorldConfig, mut others: Character) {
        let before = u32::try_from(self.things.len()).unwrap_or(u32::MAX);
        others.renumber(world, |number| match number {
            THE_PLAYER => Some(THE_PLAYER),
            number => number.checked_add(before),
        });
        self.things.append(&mut others.things);
    }

    /// Gives what things refer to other numbers.
    fn renumber(&mut self, world: &WorldConfig, new: impl Fn(u32) -> Option<u32>) {
        for thing in &mut self.things {
            thing.holder = new(thing.holder).unwrap_or(THE_PLAYER);
            let attributes = kept_attributes(world, thing.kind).zip(&mut thing.values);
            for ((attribute, _), value) in attributes {
                if attribute.ty == AttributeType::Entity {
                    let number = u32::try_from(*value).ok().and_then(&new);
                    *value = number.map_or(NOTHING, u32::cast_signed);
                }
            }
        }
    }
}

/// The attributes that accounts keep of their players, ascending by column.
pub fn persisted(world: &WorldConfig) -> impl Iterator<Item = Own<'_>> {
    let player = &world.schema.kinds[usize::from(world.player_kind)];
    world.persists.iter().filter_map(|&column| {
        let own = player.attributes.iter().find(|own| own.column == column)?;
        Some((world.schema.attributes.get(usize::from(column))?, own))
    })
}

/// The attributes that accounts keep of a kind of things: all but its holder, which is known otherwise,
/// and its place, which it has not.
pub fn kept_attributes(world: &WorldConfig, kind: u16) -> impl Iterator<Item = Own<'_>> {
    let (holder, dimensions) = (world.schema.holder_column(), world.dimensions());
    let kinds = world.schema.kinds.get(usize::from(kind)).into_iter();
    let own = kinds.flat_map(|kind| &kind.attributes);
    let own = own.filter(move |own| {
        let column = usize::from(own.column);
        column >= dimensions && Some(column) != holder
    });
    own.filter_map(|own| Some((world.schema.attributes.get(usize::from(own.column))?, own)))
}
