//! The values that a birth is given, beside its place.
//!
//! A command has few words, so the values stand in commands right before the birth, with the same
//! number:
//!
//! | word | of a birth | of its values |
//! | --- | --- | --- |
//! | 0 | its kind; from bit 16 on, how many commands have its values | below 0; four columns of 7 bits each, the first in the low bits |
//! | 1 to 4 | its token, its place | the values of these columns |
//!
//! Columns that the world lacks, or that are a position's, stand for nothing.

use super::command::WAITING_WORDS_MAX;

/// The most values that a script gives a birth.
pub const GIVEN_MAX: usize = 8;
/// The number of values in one command.
pub const GIVEN_PER_COMMAND: usize = WAITING_WORDS_MAX - 1;
/// The most commands with the values of one birth.
pub const GIVEN_COMMANDS_MAX: usize = GIVEN_MAX.div_ceil(GIVEN_PER_COMMAND);
/// The bits of a column.
pub const COLUMN_BITS: u32 = 7;
/// In place of a column: no value. Worlds have fewer columns.
pub const NO_COLUMN: u16 = (1 << COLUMN_BITS) - 1;

/// Whether the first word of a birth says that the command has values instead.
pub fn is_values(word: i32) -> bool {
    word < 0
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
    std::array::from_fn(|n| (word >> (n as u32 * COLUMN_BITS)) as u16 & NO_COLUMN)
}

/// The first word of a command with the values of these columns.
pub fn values_word(columns: [u16; GIVEN_PER_COMMAND]) -> i32 {
    let bits = (0..).zip(columns).map(|(n, column)| {
        let column = i32::from(column.min(NO_COLUMN));
        column << (n * COLUMN_BITS)
    });
    bits.fold(i32::MIN, |word, bits| word | bits)
}

const _: () = assert!(GIVEN_PER_COMMAND as u32 * COLUMN_BITS < 31);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_from_the_word_that_holds_them() {
        for columns_of in [[0, 1, 2, 3], [63, 2, NO_COLUMN, NO_COLUMN], [NO_COLUMN; 4]] {
            let word = values_word(columns_of);
            assert!(is_values(word), "{word:#x}");
            assert_eq!(columns(word), columns_of, "{word:#x}");
        }
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
