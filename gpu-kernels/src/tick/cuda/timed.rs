//! Conversion of timed commands between a snapshot and the device's columns.

use device::DriverError;
use shared::{EntityId, Tick};

use super::Part;
use super::layout::{TIMED_COLUMNS, TimedState};
use crate::tick::state::Snapshot;
use crate::tick::timed::TimedCommand;

pub fn put(part: &Part, snapshot: &Snapshot) -> Result<(), DriverError> {
    let world = &part.world;
    let commands: Vec<_> = snapshot.timed.iter().map(timed_columns).collect();
    for column in 0..TIMED_COLUMNS {
        let values: Vec<u32> = commands.iter().map(|command| command[column]).collect();
        let to = world.timed.at(column as u64 * part.sizes.timed);
        part.device.write(to, &values)?;
    }
    let elements = snapshot.timed.iter().map(TimedCommand::element);
    let state = TimedState {
        len: snapshot.timed.len() as u64,
        next_sequence: snapshot.next_sequence,
        hash: elements.fold(0, u64::wrapping_add),
    };
    part.device.write(world.timed_state, &[state])
}

/// A timed command as columns.
fn timed_columns(timed: &TimedCommand) -> [u32; TIMED_COLUMNS] {
    let mut columns = [0; TIMED_COLUMNS];
    columns[..7].copy_from_slice(&[
        timed.due.low(),
        (timed.due.0 >> 32) as u32,
        timed.sequence as u32,
        (timed.sequence >> 32) as u32,
        timed.entity.slot.0,
        timed.entity.generation,
        u32::from(timed.kind) | u32::from(timed.word_count) << 16,
    ]);
    for (column, &word) in columns[7..].iter_mut().zip(&timed.words) {
        *column = word as u32;
    }
    columns
}

/// A timed command from its columns.
pub fn timed_command(columns: [u32; TIMED_COLUMNS]) -> TimedCommand {
    let [
        due_low,
        due_high,
        low,
        high,
        slot,
        generation,
        kind,
        words @ ..,
    ] = columns;
    TimedCommand {
        due: Tick(u64::from(due_high) << 32 | u64::from(due_low)),
        sequence: u64::from(high) << 32 | u64::from(low),
        entity: EntityId::new(slot, generation),
        kind: kind as u16,
        word_count: (kind >> 16) as u16,
        words: words.map(|word| word as i32),
    }
}
