//! Conversion of atomic commands that wait between a snapshot and the device's arrays.

use device::DriverError;
use shared::world::command::WAITING_WORDS_MAX;

use super::Part;
use super::layout::DeferredState;
use crate::tick::deferred::DeferredCommand;
use crate::tick::frame::Command;
use crate::tick::timed::TIMED_WORDS_MAX;

// The device keeps as many words for both.
const _: () = assert!(WAITING_WORDS_MAX == TIMED_WORDS_MAX);
/// Flags, as in `kernels/tick/atomic.cu`.
const WAS_GIVEN: u32 = 1;
const HAS_MOVED: u32 = 2;

pub fn put(part: &Part, commands: &[DeferredCommand]) -> Result<(), DriverError> {
    let (device, world) = (&part.device, &part.world);
    let records: Vec<Command> = commands
        .iter()
        .map(|command| Command {
            entity: command.entity,
            sequence: command.sequence,
            word_start: 0,
            kind: command.kind,
            word_count: command.word_count,
        })
        .collect();
    let words: Vec<i32> = commands.iter().flat_map(|command| command.words).collect();
    let flags: Vec<u32> = commands
        .iter()
        .map(|command| {
            u32::from(command.is_given) * WAS_GIVEN + u32::from(command.has_moved) * HAS_MOVED
        })
        .collect();
    device.write(world.deferred, &records)?;
    device.write(world.deferred_words, &words)?;
    device.write(world.deferred_flags, &flags)?;
    let len = commands.len() as u64;
    device.write(world.deferred_state, &[DeferredState { len }])
}

/// Commands from the device's arrays.
pub fn commands(records: &[Command], words: &[i32], flags: &[u32]) -> Vec<DeferredCommand> {
    let words = words.chunks_exact(TIMED_WORDS_MAX);
    let all = records.iter().zip(words).zip(flags);
    all.map(|((record, own), flags)| {
        let mut words = [0; WAITING_WORDS_MAX];
        words.copy_from_slice(own);
        DeferredCommand {
            entity: record.entity,
            kind: record.kind,
            word_count: record.word_count,
            sequence: record.sequence,
            is_given: flags & WAS_GIVEN != 0,
            has_moved: flags & HAS_MOVED != 0,
            words,
        }
    })
    .collect()
}
