//! Frames as bytes: a command of two short words takes some eight.
//!
//! Commands are coded in chunks that know nothing of each other, so that several threads can
//! write and read a large frame. Before the chunks stands the number of commands, and of each
//! chunk how many bytes it takes, and how many words its commands have.
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

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use device::cpu::{Workers, take};
use gpu_kernels::tick::frame::{PersonChange, Saying};
use gpu_kernels::{After, Command, Frame, ObserverChange, RegionChange};
use serde::{Deserialize, Serialize};
use shared::wire::codec;
use shared::world::command::COMMANDS_MAX;
use shared::world::logic::LogicConfig;
use shared::{ClientRow, EntityId, Slot, Tick};

use super::code::{Bytes, CodeError, put, put_signed};

/// Codes the frames of one segment, in order.
pub struct FrameCoder {
    /// By slot: generation and sequence of the newest command, see [`pack`].
    newest: Vec<AtomicU64>,
    /// Reused: the bytes of each chunk.
    chunks: Vec<Vec<u8>>,
}

/// What a frame has beside its commands.
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

/// The same as it is read.
#[derive(Deserialize)]
struct ReadRest {
    observers: Vec<ObserverChange>,
    regions: Vec<RegionChange>,
    forget: Vec<ClientRow>,
    release: Vec<Slot>,
    logic: Option<Box<LogicConfig>>,
    people: Vec<PersonChange>,
    said: Vec<Saying>,
}

impl FrameCoder {
    /// A coder for the first frame of a segment, of a world with this many slots.
    pub fn new(capacity: u32) -> FrameCoder {
        FrameCoder {
            newest: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
            chunks: vec![],
        }
    }

    /// Begins another segment.
    pub fn reset(&mut self) {
        self.newest.iter_mut().for_each(|newest| *newest = 0.into());
    }

    /// Appends a frame, without its tick.
    pub fn encode(&mut self, workers: &Workers, frame: &Frame, out: &mut Vec<u8>) {
        self.encode_commands(workers, frame, out);
        // All parts are named, so that none that is new is left out.
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
            people,
            said,
        } = frame;
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

    /// Reads a frame, into the memory of another one.
    pub fn decode(
        &mut self,
        workers: &Workers,
        tick: Tick,
        bytes: &mut Bytes<'_>,
        mut frame: Frame,
    ) -> Result<Frame, CodeError> {
        self.decode_commands(workers, tick, bytes, &mut frame)?;
        // Each takes some bytes, so memory grows with what is there.
        for _ in 0..bytes.number()? {
            let ticks = bytes.small("a delay")?;
            let command = decode_alone(bytes, &mut frame)?;
            frame.after.push(After { ticks, command });
        }
        let rest: ReadRest = codec::from_bytes::<REST_BYTES_MAX, _>(bytes.slice()?)
            .map_err(|_| CodeError::Malformed("the rest of a frame can't be read"))?;
        frame.observers = rest.observers;
        frame.regions = rest.regions;
        frame.forget = rest.forget;
        frame.release = rest.release;
        frame.logic = rest.logic;
        frame.people = rest.people;
        frame.said = rest.said;
        Ok(frame)
    }

    fn decode_commands(
        &mut self,
        workers: &Workers,
        tick: Tick,
        bytes: &mut Bytes<'_>,
        frame: &mut Frame,
    ) -> Result<(), CodeError> {
        let count: usize = bytes.small("a number of commands")?;
        let heads = decode_heads(count, bytes)?;
        let words_count = heads.iter().map(|head| head.words).sum();
        // Each word is a byte at least, so this is as good as never.
        if u32::try_from(words_count).is_err() {
            return Err(CodeError::Malformed("a frame has too many words"));
        }
        let (mut commands, mut words) = frame.refill(tick, count, words_count);
        let mut chunks = vec![];
        for head in &heads {
            chunks.push(Chunk {
                bytes: Bytes(bytes.split_off(head.bytes)?),
                commands: take(&mut commands, head.commands),
                word_start: words_count - words.len(),
                words: take(&mut words, head.words),
                result: Ok(()),
            });
        }
        let coder = &*self;
        workers.run(chunks.iter_mut().collect(), |chunk: &mut Chunk<'_>| {
            chunk.result = coder.decode_chunk(chunk);
        });
        workers.run(chunks.iter().collect(), |chunk: &Chunk<'_>| {
            coder.note(chunk.commands);
        });
        chunks.into_iter().try_for_each(|chunk| chunk.result)
    }

    fn decode_chunk(&self, chunk: &mut Chunk<'_>) -> Result<(), CodeError> {
        let mut before = Before::default();
        let mut heirs = [Heir::OfNone; CHUNK_COMMANDS];
        let (mut bytes, mut used) = (chunk.bytes, 0);
        for (command, heir) in chunk.commands.iter_mut().zip(&mut heirs) {
            (*command, *heir) = decode_head(&mut bytes, &before)?;
            let (start, end) = (used, used + usize::from(command.word_count));
            let words = chunk.words.get_mut(start..end);
            for word in words.ok_or(CodeError::Malformed("a chunk has too many words"))? {
                *word = bytes.signed()?;
            }
            command.word_start = u32::try_from(chunk.word_start + start).unwrap_or(u32::MAX);
            before.note(command);
            used = end;
        }
        if used < chunk.words.len() || !bytes.0.is_empty() {
            return Err(CodeError::Malformed("a chunk is too long"));
        }
        self.number(chunk.commands, &heirs)
    }

    /// Numbers the commands that continue others. In a loop of its own, processors look up many
    /// slots at a time: their memory is far away.
    fn number(&self, commands: &mut [Command], heirs: &[Heir]) -> Result<(), CodeError> {
        let mut before = (0, 0);
        for (command, heir) in commands.iter_mut().zip(heirs) {
            let continued = match heir {
                Heir::OfNone => None,
                Heir::OfBefore => Some(before),
                Heir::OfNewest => {
                    let newest = self.newest_in(command.entity.slot);
                    Some(newest.ok_or(CodeError::Malformed("no command is continued"))?)
                }
            };
            if let Some((generation, sequence)) = continued {
                command.entity.generation = generation;
                command.sequence = sequence.wrapping_add(1);
            }
            before = (command.entity.generation, command.sequence);
        }
        Ok(())
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

    /// The largest stays, so that the order in which threads come here makes no difference.
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

/// What stands before the chunks of a frame, of each.
struct ChunkHead {
    commands: usize,
    bytes: usize,
    words: usize,
}

/// A chunk that is read.
struct Chunk<'a> {
    bytes: Bytes<'a>,
    commands: &'a mut [Command],
    words: &'a mut [i32],
    /// Where its words begin in the frame.
    word_start: usize,
    result: Result<(), CodeError>,
}

/// Reads the heads of the chunks of this many commands. What they take in memory is in
/// proportion to what is there in bytes.
fn decode_heads(count: usize, bytes: &mut Bytes<'_>) -> Result<Vec<ChunkHead>, CodeError> {
    let (mut left, mut sum, mut heads) = (count, 0usize, vec![]);
    while left > 0 {
        let head = ChunkHead {
            commands: left.min(CHUNK_COMMANDS),
            bytes: bytes.small("a number of bytes")?,
            words: bytes.small("a number of words")?,
        };
        // Each command and each word is a byte at least.
        if head.commands > head.bytes || head.words > head.bytes {
            return Err(CodeError::Malformed("a chunk is too short"));
        }
        sum = sum.saturating_add(head.bytes);
        left -= head.commands;
        heads.push(head);
    }
    match sum <= bytes.0.len() {
        true => Ok(heads),
        false => Err(CodeError::TooShort),
    }
}

fn words_of(commands: &[Command]) -> usize {
    let counts = commands.iter().map(|command| command.word_count);
    counts.map(usize::from).sum()
}

/// Whose generation and sequence number a command continues.
#[derive(Clone, Copy)]
enum Heir {
    /// It has its own.
    OfNone,
    /// Those of the command before it.
    OfBefore,
    /// Those of its entity's newest command in earlier frames.
    OfNewest,
}

/// A command without its words, and without what it continues.
fn decode_head(bytes: &mut Bytes<'_>, before: &Before) -> Result<(Command, Heir), CodeError> {
    let head = bytes.number()?;
    let kind = u16::try_from(head >> 3).map_err(|_| CodeError::OutOfRange {
        what: "a command's number",
        found: head >> 3,
    })?;
    let (is_same, continues, is_usual) = (head & 1 == 1, head & 2 == 2, head & 4 == 4);
    let slot = match (is_same, before.entity) {
        (false, _) => slot_of(bytes.number()?)?,
        (true, Some(entity)) => entity.slot,
        (true, None) => return Err(CodeError::Malformed("no entity is named")),
    };
    let (generation, sequence, heir) = match (continues, is_same) {
        (false, _) => {
            let generation = bytes.small("a generation")?;
            (generation, bytes.small("a sequence")?, Heir::OfNone)
        }
        (true, true) => (0, 0, Heir::OfBefore),
        (true, false) => (0, 0, Heir::OfNewest),
    };
    let word_count = match is_usual {
        true => before.words_of(kind),
        false => bytes.small("a number of words")?,
    };
    let command = Command {
        entity: EntityId { slot, generation },
        sequence,
        word_start: 0,
        kind,
        word_count,
    };
    Ok((command, heir))
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

fn decode_alone(bytes: &mut Bytes<'_>, frame: &mut Frame) -> Result<Command, CodeError> {
    let kind = bytes.small("a command's number")?;
    let slot = slot_of(bytes.number()?)?;
    let generation = bytes.small("a generation")?;
    let mut command = Command {
        entity: EntityId { slot, generation },
        sequence: bytes.small("a sequence")?,
        word_start: 0,
        kind,
        word_count: bytes.small("a number of words")?,
    };
    decode_words(bytes, &mut command, frame)?;
    Ok(command)
}

fn decode_words(
    bytes: &mut Bytes<'_>,
    command: &mut Command,
    frame: &mut Frame,
) -> Result<(), CodeError> {
    let start = frame.words.len();
    command.word_start =
        u32::try_from(start).map_err(|_| CodeError::Malformed("a frame has too many words"))?;
    for _ in 0..command.word_count {
        frame.words.push(bytes.signed()?);
    }
    Ok(())
}

/// No entity is 0.
fn slot_code(entity: EntityId) -> u64 {
    u64::from(entity.slot.0.wrapping_add(1))
}

fn slot_of(code: u64) -> Result<Slot, CodeError> {
    let code = u32::try_from(code).map_err(|_| CodeError::OutOfRange {
        what: "a slot",
        found: code,
    })?;
    Ok(Slot(code.wrapping_sub(1)))
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
/// On a par with the longest record.
const REST_BYTES_MAX: usize = 1 << 32;

#[cfg(test)]
mod tests {
    use gpu_kernels::tick::frame::{Listeners, Person};
    use gpu_kernels::{Observer, Target};
    use shared::{CommandKind, Name, Text};

    use super::*;

    const MOVE: CommandKind = CommandKind::DESPAWN;

    fn coder() -> FrameCoder {
        FrameCoder::new(100_000)
    }

    fn bytes_of(coder: &mut FrameCoder, frame: &Frame, threads: usize) -> Vec<u8> {
        let mut bytes = vec![];
        coder.encode(&Workers::new(threads).unwrap(), frame, &mut bytes);
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
        assert_eq!(
            (&found.people, &found.said),
            (&expected.people, &expected.said)
        );
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
            longest = bytes_of(&mut coder, &frame, 1).len();
        }
        assert!(longest <= 100_000, "{longest} bytes of 10,000 commands");
    }

    #[test]
    fn frames_come_back_however_many_threads_code_them() {
        for seed in 0..20 {
            let (mut one, mut four, mut reader) = (coder(), coder(), coder());
            let mut dice = crate::durable::test_dice(seed);
            let workers = Workers::new(1 + dice(3) as usize).unwrap();
            let mut memory = Frame::default();
            for tick in 0..4 {
                let frame = random_frame(Tick(tick), &mut dice);
                let bytes = bytes_of(&mut one, &frame, 1);
                assert_eq!(bytes, bytes_of(&mut four, &frame, 4), "seed {seed}");
                let mut left = Bytes(&bytes);
                memory = reader
                    .decode(&workers, frame.tick, &mut left, memory)
                    .unwrap();
                assert_same(&memory, &frame);
                assert!(left.0.is_empty(), "seed {seed}");
            }
        }
    }

    fn random_frame(tick: Tick, dice: &mut impl FnMut(u64) -> u64) -> Frame {
        let mut frame = Frame::new(tick);
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
        frame.people.push(PersonChange {
            client: ClientRow(2),
            person: Person {
                account: Some("alice".to_owned()),
                name: Name::new("Alice").ok(),
            },
        });
        frame.said.push(Saying {
            speaker: Some(ClientRow(2)),
            to: Listeners::Everybody,
            text: Text::new("hello").unwrap(),
        });
        frame
    }

    #[test]
    fn arbitrary_bytes_are_read_or_rejected() {
        let mut dice = crate::durable::test_dice(1);
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
