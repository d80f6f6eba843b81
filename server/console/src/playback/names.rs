//! The names of players, at any tick.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use durability::annotations::PersonChange;
use shared::{ClientRow, Name};

/// The names of each client row, in their order.
#[derive(Default)]
pub struct Names {
    rows: Mutex<HashMap<ClientRow, Vec<Called>>>,
}

/// From this tick on, the name of a client.
type Called = (u64, Option<Name>);

impl Names {
    /// Adds the names of the clients that were admitted in a tick. Ticks come in their order.
    pub fn note(&self, tick: u64, people: &[PersonChange]) {
        if people.is_empty() {
            return;
        }
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for PersonChange { client, person } in people {
            let row = rows.entry(*client).or_default();
            row.push((tick, person.name.clone()));
        }
    }

    /// The name of a row's client after so many ticks.
    pub fn at(&self, client: ClientRow, position: u64) -> Option<Name> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.get(&client)?;
        let before = row.partition_point(|(tick, _)| *tick < position);
        row[..before].last()?.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use durability::annotations::Person;

    use super::*;

    #[test]
    fn a_row_is_called_what_its_client_then_was() {
        let names = Names::default();
        let change = |name: Option<&str>| PersonChange {
            client: ClientRow(4),
            person: Person {
                account: None,
                name: name.map(|name| Name::new(name).unwrap()),
            },
        };
        names.note(10, &[change(Some("ann"))]);
        names.note(20, &[change(None)]);
        names.note(30, &[change(Some("bob"))]);
        let at = |position| {
            names
                .at(ClientRow(4), position)
                .map(|name| name.to_string())
        };
        assert_eq!(at(10), None);
        assert_eq!(at(11).as_deref(), Some("ann"));
        assert_eq!(at(20).as_deref(), Some("ann"));
        assert_eq!(at(21), None);
        assert_eq!(at(99).as_deref(), Some("bob"));
        assert_eq!(names.at(ClientRow(5), 99), None);
    }
}
