//! The values that a birth is given, beside its place, and the commands that name its newborn.
//!
//! A command has few words, so the values stand in commands right before the birth, with the same
//! number:
//!
//! | word | of a birth | of its values |
//! | --- | --- | --- |
//! | 0 | its kind; from bit 16 on, how many commands have its values | below 0; four columns of 7 bits each, the first in the low bits; then in 3 bits, how many of them, the last ones, are far |
//! | 1 to 4 | its token, its place | the values of these columns |
//!
//! 127 is no column; others less than 127 are columns themselves, and 127 less than far ones. So 0 and
//! 1, which would be a position's, are the columns 254 and 255. Columns that the world lacks, or that
//! are a position's, stand for nothing.
//!
//! The server's frames have births that refer to others of the same tick, such as things that are
//! held by a player. Which entities these are is said in commands among those with values:
//!
//! | word | of names |
//! | --- | --- |
//! | 0 | below 0, bits 29 and 30 set, and 28 not |
//! | 1 to 4 | a column in the upper 8 bits; below them, how many births before this one the entity is born to which it refers: 0 is the newborn itself |
//!
//! They count more than values. A birth that was refused, or that there is not, is no entity.
//!
//! Which entity is born is known once it is. A command that names it, a follow-up, waits for the
//! tick of the birth as a command of the same number, too, and is scheduled there:
//!
//! | word | of a follow-up |
//! | --- | --- |
//! | 0 | below 0, bits 28 to 30 set; the command's number in 8 bits, how many words it has in 3, which of them are the newborn in 5, whether the newborn gives it in 1 |
//! | 1 | the ticks from the birth to the command in 20 bits; above them, how many commands its run has scheduled from the birth on, up to this one |
//! | 2 to 4 | its other words |
//!
//! Its entity is that of the command, unless the newborn gives it.

use super::columns::ATTRIBUTES_MAX;
use super::command::{COMMANDS_MAX, WAITING_WORDS_MAX};
use super::config::DELAY_TICKS_MAX;
use crate::EntityRef;

/// The most values that a script gives a birth.
pub const GIVEN_MAX: usize = 8;
/// The number of values in one command.
pub const GIVEN_PER_COMMAND: usize = WAITING_WORDS_MAX - 1;
/// The most commands with the values of one birth.
pub const GIVEN_COMMANDS_MAX: usize = GIVEN_MAX.div_ceil(GIVEN_PER_COMMAND);
/// The most commands with which a thing is born that an account keeps: names, and the birth.
pub const KEPT_COMMANDS: u32 = GIVEN_COMMANDS_MAX as u32 + 1;
/// The bits of a column.
pub const COLUMN_BITS: u32 = 7;
/// Columns from this on are far ones; as the bits of a column: no value.
pub const FAR: u16 = (1 << COLUMN_BITS) - 1;
/// Where the number of far columns is.
pub const FAR_SHIFT: u32 = GIVEN_PER_COMMAND as u32 * COLUMN_BITS;
/// In place of a column: no value.
pub const NO_COLUMN: u16 = u16::MAX;

/// Set in the first word of a follow-up, which is below 0 too: more far columns than there are.
pub const FOLLOW_UP: i32 = 7 << FAR_SHIFT;
/// Set in the first word of a command that names newborns, which is below 0, too: likewise.
pub const NAMES: i32 = 6 << FAR_SHIFT;
/// The bits of how many births before a birth another one is.
pub const AGO_BITS: u32 = 24;
/// The most words of a follow-up's command beside its newborn.
pub const FOLLOW_UP_WORDS: usize = WAITING_WORDS_MAX - 2;
/// The bits of a command's number in a follow-up, and of how many words it has.
pub const NUMBER_BITS: u32 = 8;
pub const COUNT_BITS: u32 = 3;
/// The bits of a follow-up's ticks.
pub const TICK_BITS: u32 = 20;
/// In place of how many commands ago a follow-up's birth was scheduled: more than can be said.
pub const SINCE_MAX: u32 = (1 << (32 - TICK_BITS)) - 1;

/// Whether the first word of a birth says that the command has values instead, or names.
pub fn is_given(word: i32) -> bool {
    word < 0 && word & FOLLOW_UP != FOLLOW_UP
}

/// Whether it says that the command has values.
pub fn is_values(word: i32) -> bool {
    is_given(word) && !is_names(word)
}

/// Whether it says that the command names newborns.
pub fn is_names(word: i32) -> bool {
    word < 0 && word & FOLLOW_UP == NAMES
}

/// Whether the first word of a birth says that the command is a follow-up instead.
pub fn is_follow_up(word: i32) -> bool {
    word < 0 && word & FOLLOW_UP == FOLLOW_UP
}

/// What the first word of a follow-up says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowUp {
    /// The number of a command.
    pub command: u16,
    /// How many words it has.
    pub words: usize,
    /// A bit for each of them that is the newborn.
    pub newborn: u32,
    /// Whether the newborn gives the command.
    pub is_giver: bool,
}

impl FollowUp {
    /// Of a word for which [`is_follow_up`] holds.
    pub fn of(word: i32) -> FollowUp {
        let bits = word.cast_unsigned();
        let words = bits >> NUMBER_BITS & ((1 << COUNT_BITS) - 1);
        let rest = bits >> (NUMBER_BITS + COUNT_BITS);
        FollowUp {
            command: bits as u16 & ((1 << NUMBER_BITS) - 1),
            words: (words as usize).min(WAITING_WORDS_MAX),
            newborn: rest & ((1 << WAITING_WORDS_MAX) - 1),
            is_giver: rest >> WAITING_WORDS_MAX & 1 == 1,
        }
    }

    pub fn word(self) -> i32 {
        let rest = self.newborn | u32::from(self.is_giver) << WAITING_WORDS_MAX;
        let bits = u32::from(self.command)
            | (self.words as u32) << NUMBER_BITS
            | rest << (NUMBER_BITS + COUNT_BITS);
        i32::MIN | FOLLOW_UP | bits.cast_signed()
    }

    /// The words of the command, of which `others` are not the newborn.
    pub fn fill(self, others: &[i32], newborn: EntityRef) -> Vec<i32> {
        let mut others = others.iter().copied();
        let word = |n: usize| match self.newborn >> n & 1 {
            1 => newborn.0,
            _ => others.next().unwrap_or(0),
        };
        (0..self.words).map(word).collect()
    }
}

/// The ticks from a birth to its follow-up's command, from the follow-up's second word.
pub fn ticks(word: i32) -> u32 {
    (word.cast_unsigned() & ((1 << TICK_BITS) - 1)).clamp(1, DELAY_TICKS_MAX)
}

/// How many commands before a follow-up its birth was scheduled, from the follow-up's second word;
/// `None`: more than can be said.
pub fn since(word: i32) -> Option<u32> {
    Some(word.cast_unsigned() >> TICK_BITS).filter(|&since| since < SINCE_MAX)
}

/// The first word of a command that names newborns.
pub fn names_word() -> i32 {
    i32::MIN | NAMES
}

/// A word of a command that names newborns: a column, and how many births before this one the entity
/// is born to which it refers.
pub fn name_word(column: u16, ago: u32) -> i32 {
    let ago = ago.min((1 << AGO_BITS) - 1);
    (u32::from(column) << AGO_BITS | ago).cast_signed()
}

/// The column of such a word, and how many births ago its entity is born. Columns of a position stand
/// for nothing.
pub fn name(word: i32) -> (u16, u32) {
    let bits = word.cast_unsigned();
    ((bits >> AGO_BITS) as u16, bits & ((1 << AGO_BITS) - 1))
}

/// The first word of a birth of a kind, whose values stand in so many commands.
pub fn birth_word(kind: u16, commands: usize) -> i32 {
    i32::from(kind) | (commands as i32) << 16
}

/// The kind that is born, and the number of commands with its values; `None` if no birth is like
/// this.
pub fn birth(word: i32) -> Option<(u16, usize)> {
    let commands = usize::try_from(word >> 16).ok()?;
    (commands <= GIVEN_COMMANDS_MAX).then_some((word as u16, commands))
}

/// The columns whose values a command has.
pub fn columns(word: i32) -> [u16; GIVEN_PER_COMMAND] {
    let far = (word >> FAR_SHIFT & 7) as usize;
    std::array::from_fn(|n| {
        let bits = (word >> (n as u32 * COLUMN_BITS)) as u16 & FAR;
        match n + far >= GIVEN_PER_COMMAND {
            _ if bits == FAR => NO_COLUMN,
            true => FAR + bits,
            false if bits < 2 => 2 * FAR + bits,
            false => bits,
        }
    })
}

/// Whether a column is a far one, which only others follow in a command.
pub fn is_far(column: u16) -> bool {
    (FAR..2 * FAR).contains(&column)
}

/// The bits of a column in the first word of a command.
pub fn column_bits(column: u16) -> u16 {
    match column {
        NO_COLUMN => FAR,
        _ => column % FAR,
    }
}

/// How many of a command's columns are far ones, with what follows them.
pub fn far_of(mut columns: impl Iterator<Item = u16>) -> usize {
    let first = columns.position(is_far);
    first.map_or(0, |first| GIVEN_PER_COMMAND - first)
}

/// The first word of a command with the values of these columns, far ones last.
pub fn values_word(columns: [u16; GIVEN_PER_COMMAND]) -> i32 {
    let far = far_of(columns.into_iter());
    let bits = (0..).zip(columns);
    let bits = bits.map(|(n, column)| i32::from(column_bits(column)) << (n * COLUMN_BITS));
    bits.fold(i32::MIN | (far as i32) << FAR_SHIFT, |word, bits| {
        word | bits
    })
}

const _: () = assert!(FOLLOW_UP >> FAR_SHIFT > GIVEN_PER_COMMAND as i32);
const _: () = assert!(NAMES >> FAR_SHIFT > GIVEN_PER_COMMAND as i32);
const _: () = assert!(ATTRIBUTES_MAX <= 1 << (32 - AGO_BITS));
const _: () = assert!(COMMANDS_MAX <= 1 << NUMBER_BITS);
const _: () = assert!(WAITING_WORDS_MAX < 1 << COUNT_BITS);
const _: () = assert!(DELAY_TICKS_MAX < 1 << TICK_BITS);
const _: () = assert!(FAR_SHIFT + 3 <= 31 && GIVEN_PER_COMMAND < 8);
const _: () = assert!(ATTRIBUTES_MAX <= 2 * FAR as usize + 2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_from_the_word_that_holds_them() {
        for columns_of in [
            [2, 3, 4, 5],
            [63, 2, NO_COLUMN, NO_COLUMN],
            [NO_COLUMN; 4],
            [126, 254, 255, 127],
            [NO_COLUMN, 128, 253, 200],
            [127, 252, 253, 128],
            [2, 253, 127, NO_COLUMN],
            [188, NO_COLUMN, NO_COLUMN, NO_COLUMN],
        ] {
            let word = values_word(columns_of);
            assert!(is_values(word), "{word:#x}");
            assert_eq!(columns(word), columns_of, "{word:#x}");
        }
        for column in 2..ATTRIBUTES_MAX as u16 {
            let alone = [NO_COLUMN, NO_COLUMN, NO_COLUMN, column];
            assert_eq!(columns(values_word(alone)), alone);
        }
    }

    #[test]
    fn words_without_far_columns_are_four_times_7_bits() {
        let word = values_word([63, 2, 7, NO_COLUMN]);
        assert_eq!(word, i32::MIN | 63 | 2 << 7 | 7 << 14 | 127 << 21);
    }

    #[test]
    fn a_follow_up_comes_back_from_its_words() {
        for (command, words, newborn, is_giver) in [
            (0, 0, 0, true),
            (255, 5, 0b10001, false),
            (7, 3, 0b010, true),
        ] {
            let follow_up = FollowUp {
                command,
                words,
                newborn,
                is_giver,
            };
            let word = follow_up.word();
            assert!(is_follow_up(word) && !is_given(word), "{word:#x}");
            assert_eq!(birth(word), None);
            assert_eq!(FollowUp::of(word), follow_up, "{word:#x}");
        }
        let follow_up = FollowUp::of(i32::MIN | FOLLOW_UP | 3 << 8 | 0b010 << 11);
        let filled = follow_up.fill(&[7, 8], EntityRef(-5));
        assert_eq!(filled, [7, -5, 8]);
        assert_eq!(ticks(9 << 20 | 17), 17);
        assert_eq!(since(9 << 20 | 17), Some(9));
        assert_eq!((ticks(0), since(-1)), (1, None));
    }

    #[test]
    fn names_come_back_from_their_words() {
        let word = names_word();
        assert!(is_names(word) && is_given(word) && !is_follow_up(word));
        assert!(!is_names(values_word([200, 201, 202, 203])));
        for (column, ago) in [(2, 0), (255, 1), (7, (1 << AGO_BITS) - 1)] {
            assert_eq!(name(name_word(column, ago)), (column, ago));
        }
        assert_eq!(name(name_word(3, u32::MAX)), (3, (1 << AGO_BITS) - 1));
    }

    #[test]
    fn a_birth_without_values_begins_with_its_kind() {
        assert_eq!(birth_word(3, 0), 3);
        for (kind, commands) in [(0, 0), (u16::MAX, 1), (7, GIVEN_COMMANDS_MAX)] {
            let word = birth_word(kind, commands);
            assert_eq!(birth(word), Some((kind, commands)), "{word:#x}");
        }
        assert_eq!(birth(birth_word(0, GIVEN_COMMANDS_MAX + 1)), None);
        assert_eq!(birth(-1), None);
    }
}
