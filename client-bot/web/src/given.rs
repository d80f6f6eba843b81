//! The names of the commands that the page gave last: those without effect are reported by
//! their sequence numbers.

use std::collections::VecDeque;

/// The latest commands that were given on a connection, oldest first: their numbers have no gaps.
#[derive(Debug, Default)]
pub struct Given(VecDeque<(u32, String)>);

impl Given {
    /// A command was given.
    pub fn note(&mut self, sequence: u32, name: &str) {
        // Another connection counts from the start.
        let last = self.0.back().map(|(last, _)| last.wrapping_add(1));
        if last.is_some_and(|next| next != sequence) {
            self.0.clear();
        }
        if self.0.len() >= GIVEN_MAX {
            self.0.pop_front();
        }
        self.0.push_back((sequence, name.to_owned()));
    }

    /// The names of these commands with how many there are of each, in the order in which they
    /// were given. The server may name as many as it wants.
    pub fn names(&self, first: u32, count: u32) -> Vec<(&str, u32)> {
        let mut names: Vec<(&str, u32)> = vec![];
        let mut unknown = count;
        for (sequence, name) in &self.0 {
            if sequence.wrapping_sub(first) >= count {
                continue;
            }
            unknown -= 1;
            match names.iter_mut().find(|known| known.0 == name) {
                Some(known) => known.1 += 1,
                None => names.push((name, 1)),
            }
        }
        if unknown > 0 {
            names.push(("a command", unknown));
        }
        names
    }
}

/// More than a page gives until the first is reported.
const GIVEN_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_named_by_their_numbers_also_where_these_wrap_around() {
        let mut given = Given::default();
        let first = u32::MAX - 1;
        for (i, name) in ["move", "strike", "move", "heal"].into_iter().enumerate() {
            given.note(first.wrapping_add(i as u32), name);
        }
        assert_eq!(given.names(first, 1), [("move", 1)]);
        assert_eq!(given.names(first, 3), [("move", 2), ("strike", 1)]);
        assert_eq!(given.names(0, 1), [("move", 1)]);
        assert_eq!(given.names(2, 1), [("a command", 1)]);
        let all = given.names(first, u32::MAX);
        assert_eq!(all[3], ("a command", u32::MAX - 4));
    }

    #[test]
    fn commands_of_an_earlier_connection_are_forgotten() {
        let mut given = Given::default();
        given.note(1, "move");
        given.note(2, "move");
        given.note(1, "strike");
        assert_eq!(given.names(1, 1), [("strike", 1)]);
        assert_eq!(given.names(1, 2), [("strike", 1), ("a command", 1)]);
    }

    #[test]
    fn only_the_latest_are_kept() {
        let mut given = Given::default();
        for sequence in 0..10_000 {
            given.note(sequence, "move");
        }
        assert_eq!(given.0.len(), GIVEN_MAX);
        assert_eq!(given.names(0, 1), [("a command", 1)]);
        assert_eq!(given.names(9_999, 1), [("move", 1)]);
    }
}
