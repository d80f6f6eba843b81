//! Datagrams from client to server: an acknowledgement, and recent commands.
//!
//! A client repeats its commands until the server has named them as processed, so a lost
//! datagram delays a command but does not lose it. Each command may say for which tick it is
//! meant: it waits for that tick in the server, and the server reports by how much it was early.
//! Without a tick it is run as soon as possible.
//!
//! | field | bits |
//! | --- | --- |
//! | epoch of the commands | 8 |
//! | low bits of the newest complete tick, mask of the 32 ticks before it | 32, 32 |
//! | low bits of the tick of the newest frame read from the reliable stream | 32 |
//! | number of commands | 8 |
//! | unless 0: sequence number of the first | 32 |
//! | unless 0: whether they say for which ticks they are meant | 1 |
//! | if so: low bits of the first one's tick | 16 |
//! | if so, per command but the first: ticks after the one before | a Rice code of parameter 0 |
//! | per command but the first: whether kind and words are those of the one before | 1 |
//! | per other command: kind, then its words by type | 8, … |
//!
//! The word `seen` of a command, the tick that its client saw, travels as the newest complete tick
//! less it, both by their low 32 bits: a signed number.
//!
//! The gap of a command stands directly before the rest of it. A walking player gives the same
//! command in each tick, and all that are not confirmed are in each datagram.

use super::DecodeError;
use super::bits::{BitReader, BitWriter};
use super::fields::{put_word, word};
use crate::world::attribute::AttributeType;
use crate::world::command::{CommandKind, CommandSchema};
use crate::world::id::Tick;
use crate::world::schema::Schema;

/// The most commands in one datagram.
pub const COMMANDS_MAX: usize = 255;
/// A program that takes another one's place, with its ticket or account, leaves out so many numbers
/// of commands: those of the other one may still be on their way. Fewer than the reports of
/// processed commands can tell apart.
pub const SEQUENCE_GAP: u32 = 4096;
/// A tick that a command is meant for is less than so many ticks away from the server's.
pub const COMMAND_TICKS_MAX: u32 = 1 << (TICK_BITS - 1);

/// The ticks that a client has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The newest tick of which every datagram arrived.
    pub newest: Tick,
    /// Bit `i`: every datagram of tick `newest − 1 − i` arrived.
    pub mask: u32,
    /// The tick of the newest frame read from the reliable stream.
    pub stream: Tick,
}

impl Acknowledgement {
    /// Whether all datagrams of a tick are known to have arrived.
    pub fn has(&self, tick: Tick) -> bool {
        match self.newest.since(tick) {
            0 => tick == self.newest,
            age @ 1..=32 => self.mask >> (age - 1) & 1 == 1,
            _ => false,
        }
    }

    /// Records that all datagrams of a tick have arrived.
    pub fn note(&mut self, tick: Tick) {
        if tick > self.newest {
            let ahead = tick.since(self.newest);
            // The old newest becomes one of the 32 before the new one.
            let all = u64::from(self.mask) << 1 | 1;
            // One that is too far back is not among the 32.
            let kept = all.checked_shl(ahead - 1).unwrap_or(0) & u64::from(u32::MAX);
            self.mask = u32::try_from(kept).unwrap_or(0);
            self.newest = tick;
        } else if let age @ 1..=32 = self.newest.since(tick) {
            self.mask |= 1 << (age - 1);
        }
    }
}

/// A decoded datagram. It can be reused for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientDatagram {
    pub acknowledgement: Acknowledgement,
    /// The sequence number of the first command. The others follow it by one each.
    pub first_sequence: u32,
    /// The ticks that the commands are meant for, ascending; none if they don't say.
    pub ticks: Vec<Tick>,
    pub kinds: Vec<CommandKind>,
    /// The words of all commands, in the order of `kinds`.
    pub words: Vec<i32>,
}

impl ClientDatagram {
    /// Appends the last command again, whose words begin at a place; gives where they begin now.
    fn repeat_last(&mut self, words: usize) -> usize {
        let begin = self.words.len();
        self.kinds.extend(self.kinds.last().copied());
        self.words.extend_from_within(words..);
        begin
    }
}

/// Encodes and decodes the datagrams of clients in one world.
#[derive(Clone, Debug)]
pub struct CommandCodec {
    epoch: u8,
    /// So many epochs before this one were clients' latest: a slow one may not know of several.
    outdated: u8,
    symbols: u32,
    /// The words by command kind; `None` where clients may not send it.
    words: Vec<Option<Words>>,
}

/// The words of a command.
#[derive(Clone, Debug)]
struct Words {
    types: Vec<AttributeType>,
    /// [`CommandSchema::seen_word`].
    seen: Option<usize>,
}

impl CommandCodec {
    pub fn new(schema: &Schema, epoch: u8) -> CommandCodec {
        CommandCodec {
            epoch,
            outdated: 0,
            symbols: u32::try_from(schema.symbols.len()).unwrap_or(u32::MAX),
            words: schema
                .commands_by_number(words)
                .into_iter()
                .map(Option::flatten)
                .collect(),
        }
    }

    /// The codec after the world's commands have changed. Datagrams that clients sent
    /// before they knew are [`DecodeError::Outdated`].
    pub fn next(&self, schema: &Schema) -> CommandCodec {
        CommandCodec {
            outdated: self.outdated.saturating_add(1).min(OUTDATED_MAX),
            ..CommandCodec::new(schema, self.epoch.wrapping_add(1))
        }
    }

    pub fn epoch(&self) -> u8 {
        self.epoch
    }

    /// The number of words of a command; `None` where clients may not send it.
    pub fn word_count(&self, kind: CommandKind) -> Option<usize> {
        self.words(kind).map(|words| words.types.len())
    }

    /// Which of a command's arguments is the tick that its client saw.
    pub fn seen_word(&self, kind: CommandKind) -> Option<usize> {
        self.words(kind)?.seen
    }

    fn words(&self, kind: CommandKind) -> Option<&Words> {
        self.words.get(usize::from(kind.id()))?.as_ref()
    }

    /// Encodes a datagram and appends it to `out`.
    ///
    /// # Panics
    /// For kinds that clients may not send, more than [`COMMANDS_MAX`] commands, missing
    /// words, and ticks that are missing or descend.
    pub fn encode(&self, datagram: &ClientDatagram, writer: &mut BitWriter, out: &mut Vec<u8>) {
        assert!(datagram.kinds.len() <= COMMANDS_MAX, "too many commands");
        writer.put(u64::from(self.epoch), 8);
        writer.put(datagram.acknowledgement.newest.low().into(), 32);
        writer.put(u64::from(datagram.acknowledgement.mask), 32);
        writer.put(datagram.acknowledgement.stream.low().into(), 32);
        writer.put(datagram.kinds.len() as u64, COUNT_BITS);
        if datagram.kinds.is_empty() {
            return writer.finish_into(out);
        }
        writer.put(u64::from(datagram.first_sequence), 32);
        let mut ticks = datagram.ticks.iter();
        let mut last = ticks.next();
        writer.put(u64::from(last.is_some()), 1);
        if let Some(first) = last {
            writer.put(first.low().into(), TICK_BITS);
        }
        let mut rest = &datagram.words[..];
        let mut command_before = None;
        for (i, kind) in datagram.kinds.iter().enumerate() {
            if let Some(before) = last.filter(|_| i > 0) {
                let tick = ticks.next().expect("a tick for each command");
                assert!(tick >= before, "the ticks of commands ascend");
                writer.put_rice(tick.since(*before), GAP_PARAMETER);
                last = Some(tick);
            }
            let form = self.words(*kind).expect("a command that clients may send");
            let (words, behind) = rest
                .split_at_checked(form.types.len())
                .expect("a word for each type");
            rest = behind;
            let command = Some((kind, words));
            let is_repeated = command == std::mem::replace(&mut command_before, command);
            if i > 0 {
                writer.put(u64::from(is_repeated), 1);
            }
            if is_repeated {
                continue;
            }
            writer.put(u64::from(kind.id()), 8);
            for (i, (ty, &word)) in form.types.iter().zip(words).enumerate() {
                let mut word = word;
                if form.seen == Some(i) {
                    word = before(datagram.acknowledgement.newest, word);
                }
                put_word(writer, *ty, word);
            }
        }
        writer.finish_into(out);
    }

    /// Decodes a datagram into `out`, whose content it replaces. The ticks that it names are
    /// within 2^31 of `now`, the server's, and those of commands within
    /// [`COMMAND_TICKS_MAX`]; it is an error if they end later.
    pub fn decode(
        &self,
        bytes: &[u8],
        now: Tick,
        out: &mut ClientDatagram,
    ) -> Result<(), DecodeError> {
        out.ticks.clear();
        out.kinds.clear();
        out.words.clear();
        let mut reader = BitReader::new(bytes);
        let epoch = reader.get_as(8)?;
        let behind = self.epoch.wrapping_sub(epoch);
        if behind > 0 && behind <= self.outdated {
            return Err(DecodeError::Outdated(epoch));
        }
        if epoch != self.epoch {
            return Err(DecodeError::WrongEpoch {
                expected: self.epoch,
                found: epoch,
            });
        }
        out.acknowledgement = Acknowledgement {
            newest: now.nearest(reader.get_as(32)?, 32),
            mask: reader.get_as(32)?,
            stream: now.nearest(reader.get_as(32)?, 32),
        };
        let count = reader.get(COUNT_BITS)?;
        out.first_sequence = 0;
        if count == 0 {
            return reader.finish();
        }
        out.first_sequence = reader.get_as(32)?;
        let mut last = match reader.get_bool()? {
            true => Some(now.nearest(reader.get_as(TICK_BITS)?, TICK_BITS)),
            false => None,
        };
        // Where the words of the last command begin.
        let mut words_before = 0;
        for i in 0..count {
            if let Some(tick) = &mut last {
                if i > 0 {
                    *tick = later(*tick, reader.get_rice(GAP_PARAMETER)?, now)?;
                }
                out.ticks.push(*tick);
            }
            if i > 0 && reader.get_bool()? {
                words_before = out.repeat_last(words_before);
                continue;
            }
            words_before = out.words.len();
            let id = reader.get_as(8)?;
            let kind = CommandKind(id);
            let form = self.words(kind).ok_or(DecodeError::UnknownCommand(id))?;
            out.kinds.push(kind);
            for (i, ty) in form.types.iter().enumerate() {
                let mut word = word(&mut reader, *ty, self.symbols)?;
                if form.seen == Some(i) {
                    word = before(out.acknowledgement.newest, word);
                }
                out.words.push(word);
            }
        }
        reader.finish()
    }
}

/// The tick of a command that is meant for so many ticks after another.
fn later(tick: Tick, gap: u32, now: Tick) -> Result<Tick, DecodeError> {
    let later = tick.after(gap);
    match later.since(now) < COMMAND_TICKS_MAX {
        true => Ok(later),
        false => Err(DecodeError::OutOfRange {
            what: "the tick of a command",
            found: later.0,
        }),
    }
}

/// The low bits of the tick so many before another, or by how many it is before it.
fn before(tick: Tick, by: i32) -> i32 {
    tick.low().cast_signed().wrapping_sub(by)
}

const COUNT_BITS: u32 = 8;
/// Numbers of epochs are used again.
const OUTDATED_MAX: u8 = 127;
const TICK_BITS: u32 = 16;
/// Most clients give a command in each tick, or several in one.
const GAP_PARAMETER: u32 = 0;

const _: () = assert!(COMMANDS_MAX < 1 << COUNT_BITS);

/// A command's words, if clients may send it.
fn words(command: &CommandSchema) -> Option<Words> {
    let types = command.words.iter().map(|word| word.ty);
    command.senders.clients.then(|| Words {
        types: types.collect(),
        seen: command.seen_word(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_remember_32_ticks_in_any_order() {
        let mut ack = Acknowledgement::default();
        for tick in [5, 3, 40, 39, 36, 8] {
            ack.note(Tick(tick));
        }
        let known: Vec<u64> = (0..50).filter(|&t| ack.has(Tick(t))).collect();
        assert_eq!(known, [8, 36, 39, 40]);
        ack.note(Tick(41));
        assert!(ack.has(Tick(40)) && !ack.has(Tick(38)) && !ack.has(Tick(8)));
        ack.note(Tick(500));
        assert!(ack.has(Tick(500)) && !ack.has(Tick(41)));
    }
}
