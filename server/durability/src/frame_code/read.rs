//! Reading frames.

use device::cpu::{Workers, take};
use gpu_kernels::{After, Command, Frame, ObserverChange, RegionChange};
use serde::Deserialize;
use shared::wire::codec;
use shared::world::logic::LogicConfig;
use shared::{ClientRow, EntityId, Slot, Tick};

use super::super::annotations::{Annotations, PersonChange, Saying};
use super::super::code::{Bytes, CodeError};
use super::{Before, CHUNK_COMMANDS, FrameCoder};

/// The parts of a frame beside its commands, and its annotations.
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
    /// Reads a frame and its annotations, into the memory of another one.
    pub fn decode(
        &mut self,
        workers: &Workers,
        tick: Tick,
        bytes: &mut Bytes<'_>,
        mut frame: Frame,
    ) -> Result<(Frame, Annotations), CodeError> {
        self.decode_commands(workers, tick, bytes, &mut frame)?;
        // Each takes some bytes, so memory is bounded by the input.
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
        let (people, said) = (rest.people, rest.said);
        Ok((frame, Annotations { people, said }))
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
        if !frame.has_room(count, words_count) {
            // With some room to spare, so that the next ones fit.
            let mut larger = Frame::default();
            larger.refill(tick, count + count / 4, words_count + words_count / 4);
            self.outgrown = Some(std::mem::replace(frame, larger));
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
        let mut continued = [Continues::Own; CHUNK_COMMANDS];
        let (mut bytes, mut used) = (chunk.bytes, 0);
        for (command, whose) in chunk.commands.iter_mut().zip(&mut continued) {
            (*command, *whose) = decode_head(&mut bytes, &before)?;
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
        self.number(chunk.commands, &continued)
    }

    /// Numbers the commands that continue others. In a loop of its own, processors look up many
    /// slots at a time: their memory is far away.
    fn number(&self, commands: &mut [Command], continued: &[Continues]) -> Result<(), CodeError> {
        let mut before = (0, 0);
        for (command, whose) in commands.iter_mut().zip(continued) {
            let continued = match whose {
                Continues::Own => None,
                Continues::Before => Some(before),
                Continues::Newest => {
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
}

/// The head of a chunk; all heads stand before the chunks of a frame.
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

/// Reads the heads of the chunks of this many commands. Their memory is in proportion to the
/// bytes of the input.
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

/// The command whose generation and sequence number a command continues.
#[derive(Clone, Copy)]
enum Continues {
    /// It has its own.
    Own,
    /// Those of the command before it.
    Before,
    /// Those of its entity's newest command in earlier frames.
    Newest,
}

/// A command without its words, and without the entity and sequence that it continues.
fn decode_head(bytes: &mut Bytes<'_>, before: &Before) -> Result<(Command, Continues), CodeError> {
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
    let (generation, sequence, whose) = match (continues, is_same) {
        (false, _) => {
            let generation = bytes.small("a generation")?;
            (generation, bytes.small("a sequence")?, Continues::Own)
        }
        (true, true) => (0, 0, Continues::Before),
        (true, false) => (0, 0, Continues::Newest),
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
    Ok((command, whose))
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

fn slot_of(code: u64) -> Result<Slot, CodeError> {
    let code = u32::try_from(code).map_err(|_| CodeError::OutOfRange {
        what: "a slot",
        found: code,
    })?;
    Ok(Slot(code.wrapping_sub(1)))
}

/// On a par with the longest record.
const REST_BYTES_MAX: usize = 1 << 32;
