//! The check and the hash of a schema that travels.

use thiserror::Error;

use super::codec;
use super::movement::MovementCodec;
use crate::world::attribute::{Attribute, AttributeType};
use crate::world::columns::{ATTRIBUTES_MAX, KIND_ATTRIBUTES_MAX};
use crate::world::command::{COMMAND_WORDS_MAX, COMMANDS_MAX};
use crate::world::fixed::Fixed;
use crate::world::id::CAPACITY_MAX;
use crate::world::mix::hash_of;
use crate::world::notification::{NOTIFICATION_WORDS_MAX, NOTIFICATIONS_MAX};
use crate::world::schema::Schema;

/// Why a schema can't be that of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SchemaError {
    #[error("the number of axes is not 2 or 3")]
    Axes,
    #[error("the capacity is out of range")]
    Capacity,
    #[error("the tick rate is 0")]
    TickRate,
    #[error("the number of attributes is out of range")]
    AttributeCount,
    #[error("the bounds of a position don't match the world's size")]
    Position,
    #[error("the radius of the area of interest is out of range")]
    AreaOfInterest,
    #[error("an attribute's minimum is above its maximum")]
    AttributeBounds,
    #[error("half of a number of 64 bits is not beside its other half")]
    Halves,
    #[error("the number of kinds is out of range")]
    KindCount,
    #[error("a kind's columns are not ascending, don't exist, or lack the position")]
    Kind,
    #[error("a kind has more than {KIND_ATTRIBUTES_MAX} columns")]
    KindColumnCount,
    #[error("the commands are not in ascending order, or one has a number or words out of range")]
    Command,
    #[error(
        "the notifications are not in ascending order, or one has a number or fields out of range"
    )]
    Notification,
    #[error("the step of a movement attribute is too large")]
    Step,
    #[error("the movement attributes take too many bits")]
    Movement,
}

impl Schema {
    /// Whether this can be the schema of a world. One from a
    /// [`WorldConfig`](crate::WorldConfig) always can; one from the network may be
    /// anything.
    pub fn check(&self) -> Result<(), SchemaError> {
        let dimensions = self.dimensions();
        let columns = self.attributes.len();
        let require = |holds: bool, error| if holds { Ok(()) } else { Err(error) };
        require((2..=3).contains(&dimensions), SchemaError::Axes)?;
        let capacities = 1..=CAPACITY_MAX;
        require(
            capacities.contains(&self.world.capacity),
            SchemaError::Capacity,
        )?;
        require(self.world.tick_hz >= 1, SchemaError::TickRate)?;
        let counts = dimensions..=ATTRIBUTES_MAX;
        require(counts.contains(&columns), SchemaError::AttributeCount)?;
        for (position, size) in self.attributes.iter().zip(&self.world.size) {
            let is_range = position.min == 0 && Some(position.max) == size.raw().checked_sub(1);
            require(
                is_range && size.raw() <= SIZE_RAW_MAX,
                SchemaError::Position,
            )?;
        }
        let radii = 1..=SIZE_RAW_MAX;
        let (aoi, leave) = (self.world.aoi.raw(), self.world.aoi_leave.raw());
        require(
            radii.contains(&aoi) && (aoi..=SIZE_RAW_MAX).contains(&leave),
            SchemaError::AreaOfInterest,
        )?;
        let is_ordered = self.attributes.iter().all(|a| a.min <= a.max);
        require(is_ordered, SchemaError::AttributeBounds)?;
        let types = || self.attributes.iter().map(|a| a.ty);
        let pairs = types().zip(types().skip(1).map(Some).chain([None]));
        let is_low = |(ty, _): &(AttributeType, _)| *ty == AttributeType::I64;
        let highs = types().filter(|ty| *ty == AttributeType::High).count();
        let is_whole = |(_, next)| next == Some(AttributeType::High);
        let lows = pairs.clone().filter(is_low).count();
        require(
            lows == highs && pairs.filter(is_low).all(is_whole),
            SchemaError::Halves,
        )?;
        let (positions, others) = self.attributes.split_at(dimensions);
        let has_steps = positions.iter().all(|a| a.step <= Fixed::FRACTION_BITS)
            && others.iter().all(|a| a.step <= Attribute::STEP_MAX);
        require(has_steps, SchemaError::Step)?;
        require(
            (1..=256).contains(&self.kinds.len()),
            SchemaError::KindCount,
        )?;
        for kind in &self.kinds {
            let own = || kind.attributes.iter().map(|a| usize::from(a.column));
            let is_ascending = own().is_sorted_by(|a, b| a < b);
            let exists = own().all(|column| column < columns);
            let has_position = own().take(dimensions).eq(0..dimensions);
            require(is_ascending && exists && has_position, SchemaError::Kind)?;
            require(
                own().count() <= KIND_ATTRIBUTES_MAX,
                SchemaError::KindColumnCount,
            )?;
            let has = |column: usize| own().any(|own| own == column);
            let is_whole = |column: usize| match self.attributes[column].ty {
                AttributeType::I64 => has(column + 1),
                AttributeType::High => has(column - 1),
                AttributeType::I32
                | AttributeType::Fixed
                | AttributeType::Bool
                | AttributeType::Entity
                | AttributeType::Symbol
                | AttributeType::Text => true,
            };
            require(own().all(is_whole), SchemaError::Halves)?;
        }
        let commands = self.commands.iter();
        let commands = commands.map(|c| (usize::from(c.kind.id()), c.words.len()));
        require(
            are_numbered(commands, COMMANDS_MAX, COMMAND_WORDS_MAX),
            SchemaError::Command,
        )?;
        let notifications = self.notifications.iter();
        let notifications = notifications.map(|n| (usize::from(n.kind.id()), n.fields.len()));
        require(
            are_numbered(notifications, NOTIFICATIONS_MAX, NOTIFICATION_WORDS_MAX),
            SchemaError::Notification,
        )?;
        MovementCodec::new(self).map_err(|_| SchemaError::Movement)?;
        Ok(())
    }

    /// A hash of everything in the schema. A client built for one world can require it
    /// in its hello.
    pub fn hash(&self) -> u64 {
        hash_of(&codec::to_bytes(self))
    }
}

/// Whether these numbers ascend and are below a limit, and none has too many words.
fn are_numbered(
    mut entries: impl Iterator<Item = (usize, usize)> + Clone,
    numbers_max: usize,
    words_max: usize,
) -> bool {
    let is_ascending = entries.clone().is_sorted_by(|a, b| a.0 < b.0);
    is_ascending && entries.all(|(number, words)| number < numbers_max && words <= words_max)
}

/// In a larger world, the difference of two positions could overflow.
const SIZE_RAW_MAX: i32 = 1 << 30;
