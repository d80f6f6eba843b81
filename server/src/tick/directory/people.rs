//! Who stands behind each row: found by account and by name.

use std::collections::HashMap;

use gpu_kernels::tick::frame::Person;
use shared::world::talk::NAME_BYTES_MAX;
use shared::{ClientRow, Name};

use crate::accounts::identity::{Account, Identity};

/// The persons of all rows.
#[derive(Default)]
pub struct People {
    rows: HashMap<ClientRow, Row>,
    accounts: HashMap<Account, ClientRow>,
    /// By [`Name::key`]: no two names look alike.
    names: HashMap<String, ClientRow>,
}

struct Row {
    account: Option<Account>,
    name: Option<Name>,
}

impl People {
    /// A row stands for this client from now on. Its name is changed if somebody else has
    /// it.
    pub fn enter(&mut self, client: ClientRow, identity: &Identity) -> Person {
        self.leave(client);
        let name = identity.name.as_ref().map(|name| self.free_name(name));
        if let Some(account) = &identity.account {
            self.accounts.insert(account.clone(), client);
        }
        if let Some(name) = &name {
            self.names.insert(name.key(), client);
        }
        let account = identity.account.clone();
        let person = Person {
            account: account.clone().map(String::from),
            name: name.clone(),
        };
        self.rows.insert(client, Row { account, name });
        person
    }

    /// The row is free.
    pub fn leave(&mut self, client: ClientRow) {
        let Some(row) = self.rows.remove(&client) else {
            return;
        };
        // An account may have come in as somebody else since.
        if let Some(account) = &row.account
            && self.accounts.get(account) == Some(&client)
        {
            self.accounts.remove(account);
        }
        if let Some(name) = &row.name {
            self.names.remove(&name.key());
        }
    }

    /// The row of an account, if it has a client.
    pub fn of_account(&self, account: &Account) -> Option<ClientRow> {
        self.accounts.get(account).copied()
    }

    /// The row of a name, whatever its capitals.
    pub fn of_name(&self, name: &Name) -> Option<ClientRow> {
        self.names.get(&name.key()).copied()
    }

    pub fn account(&self, client: ClientRow) -> Option<&Account> {
        self.rows.get(&client)?.account.as_ref()
    }

    pub fn name(&self, client: ClientRow) -> Option<&Name> {
        self.rows.get(&client)?.name.as_ref()
    }

    /// This name, or with a number behind it that makes it nobody's.
    fn free_name(&self, name: &Name) -> Name {
        let numbered = |number: usize| {
            let ending = format!("#{number}");
            let end = name.floor_char_boundary(NAME_BYTES_MAX - ending.len());
            Name::new(format!("{}{ending}", name[..end].trim_end())).ok()
        };
        // Each of them is somebody's, so one more than there are clients is enough.
        let numbers = 2..self.names.len() + 3;
        let candidates = std::iter::once(name.clone()).chain(numbers.filter_map(numbered));
        let mut free = candidates.filter(|name| !self.names.contains_key(&name.key()));
        free.next().unwrap_or_else(|| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(account: Option<&str>, name: &str) -> Identity {
        Identity {
            account: account.map(|account| Account::new(account).unwrap()),
            name: Name::new(name).ok(),
        }
    }

    #[test]
    fn no_two_clients_have_names_that_look_alike() {
        let mut people = People::default();
        let long = "é".repeat(NAME_BYTES_MAX / 2);
        let wanted = ["Bob", "bob", "BOB", "bob#2", "", &long, &long, ""];
        let names: Vec<_> = (0..)
            .zip(wanted)
            .map(|(row, name)| people.enter(ClientRow(row), &identity(None, name)).name)
            .collect();
        let names: Vec<_> = names.iter().map(|name| name.as_deref()).collect();
        let cut = format!("{}#2", "é".repeat(NAME_BYTES_MAX / 2 - 1));
        let given = [
            Some("Bob"),
            Some("bob#2"),
            Some("BOB#3"),
            Some("bob#2#2"),
            None,
            Some(&*long),
            Some(&*cut),
            None,
        ];
        assert_eq!(names, given);
        let of = |people: &People, name| people.of_name(&Name::new(name).unwrap());
        assert_eq!(of(&people, "bOb"), Some(ClientRow(0)));
        people.leave(ClientRow(0));
        assert_eq!(of(&people, "bOb"), None);
        let again = people.enter(ClientRow(9), &identity(None, "BOB")).name;
        assert_eq!(again.as_deref(), Some("BOB"));
    }

    #[test]
    fn an_account_is_found_until_its_row_is_free() {
        let mut people = People::default();
        let alice = identity(Some("alice"), "Alice");
        let account = alice.account.clone().unwrap();
        people.enter(ClientRow(3), &alice);
        assert_eq!(people.of_account(&account), Some(ClientRow(3)));
        people.enter(ClientRow(3), &identity(Some("bob"), "Bob"));
        assert_eq!(people.of_account(&account), None);
        people.leave(ClientRow(3));
        assert!(people.accounts.is_empty() && people.names.is_empty() && people.rows.is_empty());
    }
}
