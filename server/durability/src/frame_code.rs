//! Frames as bytes: a command of two short words takes some eight.
//!
//! Commands are coded in independent chunks, so that several threads can write and read a large
//! frame. Before the chunks stands the number of commands, and for each chunk its bytes and the
//! number of words of its commands.
//!
//! | part of a command | bytes |
//! | --- | --- |
//! | `kind << 3`, and the three flags below | 1 or 2 |
//! | unless it is the entity of the command before: slot plus one | 1 to 5 |
//! | unless it continues its entity's commands: generation, sequence | 2 to 10 |
//! | unless its kind had as many words before: their number | 1 |
//! | each word | 1 to 5 |
//!
//! A command continues if its sequence number follows the one before: that of the command
//! before it in the frame, of the same entity, or else that of the entity in earlier frames.
//! So a coder goes through the frames of a segment in order.

mod read;

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use device::cpu::Workers;
use gpu_kernels::{Command, Frame, ObserverChange, RegionChange};
use serde::Serialize;
use shared::wire::codec;
use shared::world::command::COMMANDS_MAX;
use shared::world::logic::LogicConfig;
use shared::{ClientRow, EntityId, Slot};

use super::annotations::{Annotations, PersonChange, Saying};
use super::code::{put, put_signed};

/// Codes the frames of one segment, in order.
pub struct FrameCoder {
    /// By slot: generation and sequence of the newest command, see [`pack`].
    newest: Vec<AtomicU64>,
    /// Reused: the bytes of each chunk.
    chunks: Vec<Vec<u8>>,
    /// A frame whose memory was too small for the last one that was read.
    outgrown: Option<Frame>,
}

/// The parts of a frame beside its commands, and its annotations.
#[derive(Serialize)]
struct Rest<'a> {
    observers: &'a [ObserverChange],
    regions: &'a [RegionChange],
    forget: &'a [ClientRow],
    release: &'a [Slot],
    logic: &'a Option<Box<LogicConfig>>,
    people: &'a [PersonChange],
    said: &'a [Saying],
}

impl FrameCoder {
    /// A coder for the first frame of a segment, of a world with this many slots.
    pub fn new(capacity: u32) -> FrameCoder {
        FrameCoder {
            newest: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
            chunks: vec![],
            outgrown: None,
        }
    }

    /// A frame whose memory was too small for the last one that was read: a device may have
    /// locked that memory, so the thread that runs frames is to drop it.
    pub fn take_outgrown(&mut self) -> Option<Frame> {
        self.outgrown.take()
    }

    /// Begins another segment.
    pub fn reset(&mut self) {
        self.newest.iter_mut().for_each(|newest| *newest = 0.into());
    }

    /// Appends a frame, without its tick, and its annotations.
    pub fn encode(
        &mut self,
        workers: &Workers,
        (frame, annotations): (&Frame, &Annotations),
        out: &mut Vec<u8>,
    ) {
        self.encode_commands(workers, frame, out);
        // All fields are named, so that a new one can't be forgotten.
        let Frame {
            tick: _,
            commands: _,
            words: _,
            after,
            observers,
            regions,
            forget,
            release,
            logic,
        } = frame;
        let Annotations { people, said } = annotations;
        put(out, after.len() as u64);
        for after in after {
            put(out, u64::from(after.ticks));
            encode_alone(frame, &after.command, out);
        }
        let rest = codec::to_bytes(&Rest {
            observers,
            regions,
            forget,
            release,
            logic,
            people,
            said,
        });
        put(out, rest.len() as u64);
        out.extend_from_slice(&rest);
    }

    fn encode_commands(&mut self, workers: &Workers, frame: &Frame, out: &mut Vec<u8>) {
        let commands: &[Command] = &frame.commands;
        put(out, commands.len() as u64);
        let mut buffers = std::mem::take(&mut self.chunks);
        let chunks = commands.chunks(CHUNK_COMMANDS);
        buffers.resize_with(chunks.len().max(buffers.len()), Vec::new);
        let coder = &*self;
        let tasks: Vec<_> = chunks.clone().zip(&mut buffers).collect();
        workers.run(tasks, |(chunk, buffer)| {
            buffer.clear();
            coder.encode_chunk(frame, chunk, buffer);
        });
        for (chunk, buffer) in chunks.clone().zip(&buffers) {
            put(out, buffer.len() as u64);
            put(out, words_of(chunk) as u64);
        }
        for buffer in &buffers[..chunks.len()] {
            out.extend_from_slice(buffer);
        }
        workers.run(chunks.collect(), |chunk| coder.note(chunk));
        self.chunks = buffers;
    }

    fn encode_chunk(&self, frame: &Frame, chunk: &[Command], out: &mut Vec<u8>) {
        let mut before = Before::default();
        for command in chunk {
            let entity = command.entity;
            let is_same = before.entity == Some(entity);
            let follows = before.follows(entity, || self.newest_of(entity));
            let continues = follows == Some(command.sequence);
            let is_usual = before.words_of(command.kind) == command.word_count;
            let flags = u64::from(is_same) | u64::from(continues) << 1 | u64::from(is_usual) << 2;
            put(out, u64::from(command.kind) << 3 | flags);
            if !is_same {
                put(out, slot_code(entity));
            }
            if !continues {
                put(out, u64::from(entity.generation));
                put(out, u64::from(command.sequence));
            }
            if !is_usual {
                put(out, u64::from(command.word_count));
            }
            for &word in frame.words_of(command) {
                put_signed(out, word);
            }
            before.note(command);
        }
    }

    /// The sequence that the next command of an entity is expected to have.
    fn newest_of(&self, entity: EntityId) -> Option<u32> {
        let (generation, sequence) = self.newest_in(entity.slot)?;
        (generation == entity.generation).then(|| sequence.wrapping_add(1))
    }

    fn newest_in(&self, slot: Slot) -> Option<(u32, u32)> {
        let newest = self.newest.get(slot.index())?.load(Ordering::Relaxed);
        (newest != 0).then_some(((newest >> 32) as u32, low(newest)))
    }

    /// The largest stays, so that the order of threads makes no difference.
    fn note(&self, commands: &[Command]) {
        let place = |command: &Command| self.newest.get(command.entity.slot.index());
        // A change waits for its memory, and the next one for it. Reading all before makes
        // processors fetch many at a time.
        let read = commands.iter().filter_map(place);
        black_box(read.fold(0, |sum, newest| sum ^ newest.load(Ordering::Relaxed)));
        for command in commands {
            if let Some(newest) = place(command) {
                newest.fetch_max(pack(command), Ordering::Relaxed);
            }
        }
    }
}

fn words_of(commands: &[Command]) -> usize {
    let counts = commands.iter().map(|command| command.word_count);
    counts.map(usize::from).sum()
}

/// The commands before one, in its chunk.
struct Before {
    entity: Option<EntityId>,
    sequence: u32,
    /// By kind: how many words its newest command has.
    words: [u16; COMMANDS_MAX],
}

impl Default for Before {
    fn default() -> Before {
        Before {
            entity: None,
            sequence: 0,
            words: [USUAL_WORDS; COMMANDS_MAX],
        }
    }
}

impl Before {
    fn follows(&self, entity: EntityId, earlier: impl FnOnce() -> Option<u32>) -> Option<u32> {
        match self.entity == Some(entity) {
            true => Some(self.sequence.wrapping_add(1)),
            false => earlier(),
        }
    }

    fn words_of(&self, kind: u16) -> u16 {
        let words = self.words.get(usize::from(kind));
        words.copied().unwrap_or(USUAL_WORDS)
    }

    fn note(&mut self, command: &Command) {
        self.entity = Some(command.entity);
        self.sequence = command.sequence;
        if let Some(words) = self.words.get_mut(usize::from(command.kind)) {
            *words = command.word_count;
        }
    }
}

fn encode_alone(frame: &Frame, command: &Command, out: &mut Vec<u8>) {
    put(out, u64::from(command.kind));
    put(out, slot_code(command.entity));
    put(out, u64::from(command.entity.generation));
    put(out, u64::from(command.sequence));
    put(out, u64::from(command.word_count));
    for &word in frame.words_of(command) {
        put_signed(out, word);
    }
}

/// No entity is 0.
fn slot_code(entity: EntityId) -> u64 {
    u64::from(entity.slot.0.wrapping_add(1))
}

/// Never 0: entities have a generation of at least 1.
fn pack(command: &Command) -> u64 {
    u64::from(command.entity.generation) << 32 | u64::from(command.sequence)
}

fn low(packed: u64) -> u32 {
    u32::try_from(packed & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

/// Commands that a thread codes in some 100 µs. It is a part of the format.
const CHUNK_COMMANDS: usize = 4096;
/// As many words as a step in the plane has.
const USUAL_WORDS: u16 = 2;

#[cfg(test)]
mod tests {
    use crate::annotations::{Person, Recipients};
    use gpu_kernels::{Observer, Target};
    use shared::{CommandKind, Name, Text, Tick};

    use super::super::code::Bytes;
    use super::*;

    const MOVE: CommandKind = CommandKind::DESPAWN;

    fn coder() -> FrameCoder {
        FrameCoder::new(100_000)
    }

    fn bytes_of(coder: &mut FrameCoder, both: (&Frame, &Annotations), threads: usize) -> Vec<u8> {
        let mut bytes = vec![];
        coder.encode(&Workers::new(threads).unwrap(), both, &mut bytes);
        bytes
    }

    /// A frame's commands with their words, wherever those are.
    fn commands(frame: &Frame) -> Vec<(EntityId, u32, u16, Vec<i32>)> {
        let plain = |c: &Command| (c.entity, c.sequence, c.kind, frame.words_of(c).to_vec());
        let after = frame.after.iter().map(|after| &after.command);
        frame.commands.iter().chain(after).map(plain).collect()
    }

    fn assert_same(found: &Frame, expected: &Frame) {
        assert_eq!(commands(found), commands(expected));
        let ticks = |frame: &Frame| frame.after.iter().map(|a| a.ticks).collect::<Vec<_>>();
        assert_eq!(ticks(found), ticks(expected));
        assert_eq!(found.observers, expected.observers);
        assert_eq!(
            (&found.forget, &found.release),
            (&expected.forget, &expected.release)
        );
        assert_eq!((found.tick, &found.logic), (expected.tick, &expected.logic));
    }

    #[test]
    fn a_command_of_two_short_words_takes_at_most_ten_bytes() {
        let mut coder = coder();
        let mut longest = 0;
        for tick in 0..3u32 {
            let mut frame = Frame::new(Tick(tick.into()));
            for slot in 0..10_000 {
                let entity = EntityId::new(slot * 10, 3);
                frame.push(entity, 70_000 + tick, MOVE, &[-8192, 8191]);
            }
            let both = (&frame, &Annotations::default());
            longest = bytes_of(&mut coder, both, 1).len();
        }
        assert!(longest <= 100_000, "{longest} bytes of 10,000 commands");
    }

    #[test]
    fn frames_come_back_however_many_threads_code_them() {
        for seed in 0..20 {
            let (mut one, mut four, mut reader) = (coder(), coder(), coder());
            let mut dice = crate::test_dice(seed);
            let workers = Workers::new(1 + dice(3) as usize).unwrap();
            let mut memory = Frame::default();
            for tick in 0..4 {
                let (frame, annotations) = random_frame(Tick(tick), &mut dice);
                let both = (&frame, &annotations);
                let bytes = bytes_of(&mut one, both, 1);
                assert_eq!(bytes, bytes_of(&mut four, both, 4), "seed {seed}");
                let mut left = Bytes(&bytes);
                let read = reader.decode(&workers, frame.tick, &mut left, memory);
                let (read, annotated) = read.unwrap();
                assert_same(&read, &frame);
                assert_eq!(annotated, annotations, "seed {seed}");
                memory = read;
                assert!(left.0.is_empty(), "seed {seed}");
            }
        }
    }

    fn random_frame(tick: Tick, dice: &mut impl FnMut(u64) -> u64) -> (Frame, Annotations) {
        let (mut frame, mut annotations) = (Frame::new(tick), Annotations::default());
        let many = dice(2) == 0;
        for _ in 0..dice(if many { 30_000 } else { 20 }) {
            // Some entities give several commands, and not only one after the other.
            let slots = [3, 5000][dice(2) as usize];
            let entity = EntityId::new(dice(slots) as u32, 1 + dice(2) as u32);
            let words: Vec<i32> = (0..dice(6)).map(|_| dice(u64::MAX) as i32).collect();
            frame.push(
                entity,
                dice(30) as u32,
                CommandKind(dice(60) as u16),
                &words,
            );
            if dice(50) == 0 {
                frame.spawn(0, dice(u64::MAX) as u32);
                frame.push_after(1 + dice(9) as u32, entity, 7, MOVE, &words);
            }
        }
        frame.observers.push(ObserverChange {
            client: ClientRow(dice(9) as u32),
            index: 0,
            observer: Some(Observer {
                target: Target::Point([1, 2, 3]),
                radius: 4,
            }),
        });
        frame.forget.push(ClientRow(2));
        frame.release.extend([Slot(1), Slot(9)]);
        annotations.people.push(PersonChange {
            client: ClientRow(2),
            person: Person {
                account: Some("alice".to_owned()),
                name: Name::new("Alice").ok(),
            },
        });
        annotations.said.push(Saying {
            speaker: Some(ClientRow(2)),
            to: Recipients::Everybody,
            text: Text::new("hello").unwrap(),
        });
        (frame, annotations)
    }

    #[test]
    fn arbitrary_bytes_are_read_or_rejected() {
        let mut dice = crate::test_dice(1);
        let workers = Workers::new(1).unwrap();
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..dice(60)).map(|_| dice(256) as u8).collect();
            let _ = coder_small().decode(&workers, Tick(1), &mut Bytes(&bytes), Frame::default());
        }
    }

    fn coder_small() -> FrameCoder {
        FrameCoder::new(16)
    }
}
