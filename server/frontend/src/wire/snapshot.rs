//! The world for a front end that joins it: what its mirror has.
//!
//! | field | form |
//! | --- | --- |
//! | version | 1 byte |
//! | length of the next field | 4 bytes, the lowest first |
//! | tick, names of players, newborns that are not sent yet, edited cells | bincode |
//! | number of living entities; of each: kind, slot, generation, the columns that clients are sent | small and signed numbers |
//! | and its course: its age in ticks, position, velocity | a small number, then signed ones |

use serde::{Deserialize, Serialize};
use shared::wire::DecodeError;
use shared::wire::bits::{BitReader, BitWriter};
use shared::wire::codec;
use shared::world::edit::Edit;
use shared::{Course, EntityId, Name, Slot, Tick, WorldConfig};

use super::world_bits::Shape;
use super::{MESSAGE_BYTES_MAX, VERSION, WireError, below, body};
use crate::mirror::{Mirror, Newborns};

#[derive(Serialize, Deserialize)]
struct Head {
    tick: Tick,
    named: Vec<(EntityId, Name)>,
    unready: Vec<Slot>,
    edits: Vec<Edit>,
}

/// The world as a mirror has it after its last tick.
pub fn encode(config: &WorldConfig, mirror: &Mirror) -> Vec<u8> {
    let shape = Shape::of(config);
    let head = codec::to_bytes(&Head {
        tick: mirror.tick(),
        named: mirror.names().collect(),
        unready: mirror.unready().to_vec(),
        edits: mirror.layers().edits().collect(),
    });
    let mut out = vec![VERSION];
    let length = u32::try_from(head.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&head);
    let living = (0..shape.capacity).filter_map(|slot| mirror.living(Slot(slot)));
    let mut writer = BitWriter::default();
    writer.put_small(u32::try_from(living.clone().count()).unwrap_or(u32::MAX));
    for entity in living {
        let slot = entity.slot;
        shape.write_entity(entity, mirror.kind(slot), mirror.row(slot), &mut writer);
        let course = mirror.newest_course(slot);
        writer.put_small(mirror.tick().since(course.tick));
        let axes = course.position.iter().zip(&course.velocity);
        for (&position, &velocity) in axes.take(shape.dimensions()) {
            writer.put_signed(position);
            writer.put_signed(velocity);
        }
    }
    writer.finish_into(&mut out);
    out
}

/// Restores it into the mirror of a world without entities.
pub fn decode(bytes: &[u8], config: &WorldConfig, mirror: &mut Mirror) -> Result<(), WireError> {
    let shape = Shape::of(config);
    let body = body(bytes)?;
    let (length, body) = body.split_first_chunk().ok_or(DecodeError::Truncated)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (head, bits) = body
        .split_at_checked(length)
        .ok_or(DecodeError::Truncated)?;
    let head: Head = codec::from_wire::<MESSAGE_BYTES_MAX, _>(head)?;
    let slots = head.named.iter().map(|(entity, _)| entity.slot);
    for slot in slots.chain(head.unready.iter().copied()) {
        below("a slot", slot.0.into(), shape.capacity.into())?;
    }
    mirror.begin_at(head.tick);
    mirror.edit(&head.edits);
    let mut reader = BitReader::new(bits);
    let mut row = vec![];
    for _ in 0..reader.get_small()? {
        let (entity, kind) = shape.read_entity_row(&mut row, &mut reader)?;
        let mut course = Course {
            tick: head.tick.before(reader.get_small()?),
            ..Course::default()
        };
        for axis in 0..shape.dimensions() {
            course.position[axis] = reader.get_signed()?;
            course.velocity[axis] = reader.get_signed()?;
        }
        mirror.place(entity, kind, &row, course);
    }
    reader.finish()?;
    mirror.restore_relations();
    let newborns = Newborns {
        named: head.named,
        unready: head.unready,
    };
    mirror.note_newborns(&newborns, &[]);
    Ok(())
}
