//! The accounts and names of rows, found by either.

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use accounts::identity::{Account, Identity};
use accounts::names::NameRule;
use durability::annotations::Person;
use shared::world::talk::NAME_BYTES_MAX;
use shared::{ClientRow, Name};

/// The accounts and names of all rows.
#[derive(Default)]
pub struct People {
    rows: HashMap<ClientRow, RowIdentity>,
    accounts: HashMap<Account, ClientRow>,
    rule: NameRule,
    /// By [`NameRule::key`]: all names differ.
    names: HashMap<String, ClientRow>,
    /// Recovered rows whose names, given by another rule, equal others' by this one. They are
    /// found by their exact text.
    doubles: Vec<ClientRow>,
    /// By the key of a requested name: the numbers behind it.
    numbers: HashMap<String, Numbers>,
    /// Its keys can't be guessed, so no client can occupy all numbers that it gives.
    random: RandomState,
}

struct RowIdentity {
    account: Option<Account>,
    name: Option<Name>,
    /// The number behind its name, and the key in [`People::numbers`].
    numbered: Option<(String, u32)>,
}

/// The numbers behind one name.
struct Numbers {
    /// The number of clients with one.
    clients: u32,
    /// All below it were assigned.
    next: u32,
    /// Those of clients that have left.
    free: BTreeSet<u32>,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers {
            clients: 0,
            next: 2,
            free: BTreeSet::new(),
        }
    }
}

impl Numbers {
    /// The lowest number that is not assigned.
    fn take(&mut self) -> u32 {
        self.free.pop_first().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    fn release(&mut self, number: u32) {
        self.clients -= 1;
        // A random one is beyond them.
        if number < self.next {
            self.free.insert(number);
        }
    }
}

impl People {
    /// Assigns a row to a client. Its name is changed if another client has it.
    pub fn enter(&mut self, client: ClientRow, identity: &Identity) -> Person {
        self.leave(client);
        let (name, numbered) = match &identity.name {
            Some(name) => self.free_name(name),
            None => (None, None),
        };
        if let Some(account) = &identity.account {
            self.accounts.insert(account.clone(), client);
        }
        if let Some(name) = &name {
            self.names.insert(self.rule.key(name), client);
        }
        let account = identity.account.clone();
        let person = Person {
            account: account.clone().map(String::from),
            name: name.clone(),
        };
        let row = RowIdentity {
            account,
            name,
            numbered,
        };
        self.rows.insert(client, row);
        person
    }

    /// Restores a row with the same account and name.
    pub fn restore(&mut self, client: ClientRow, identity: &Identity) {
        self.leave(client);
        if let Some(account) = &identity.account {
            self.accounts.insert(account.clone(), client);
        }
        let (account, name) = (identity.account.clone(), identity.name.clone());
        let row = RowIdentity {
            account,
            name,
            numbered: None,
        };
        self.rows.insert(client, row);
        self.find_by_name(client);
    }

    /// Compares names by this rule from now on.
    pub fn set_rule(&mut self, rule: NameRule) {
        self.rule = rule;
        self.names.clear();
        self.doubles.clear();
        let mut clients: Vec<ClientRow> = self.rows.keys().copied().collect();
        clients.sort_unstable();
        for client in clients {
            self.find_by_name(client);
        }
    }

    fn find_by_name(&mut self, client: ClientRow) {
        let Some(name) = self.name(client) else {
            return;
        };
        match self.names.entry(self.rule.key(name)) {
            Entry::Vacant(free) => {
                free.insert(client);
            }
            Entry::Occupied(_) => self.doubles.push(client),
        }
    }

    /// Frees a row.
    pub fn leave(&mut self, client: ClientRow) {
        let Some(row) = self.rows.remove(&client) else {
            return;
        };
        // The account may have another row since.
        if let Some(account) = &row.account
            && self.accounts.get(account) == Some(&client)
        {
            self.accounts.remove(account);
        }
        if let Some(name) = &row.name {
            let key = self.rule.key(name);
            if self.names.get(&key) == Some(&client) {
                self.names.remove(&key);
            }
            self.doubles.retain(|&double| double != client);
        }
        if let Some((key, number)) = row.numbered
            && let Entry::Occupied(mut numbers) = self.numbers.entry(key)
        {
            numbers.get_mut().release(number);
            if numbers.get().clients == 0 {
                numbers.remove();
            }
        }
    }

    /// The row of an account, if it has a client.
    pub fn of_account(&self, account: &Account) -> Option<ClientRow> {
        self.accounts.get(account).copied()
    }

    /// The row of a name, whatever its form.
    pub fn of_name(&self, name: &Name) -> Option<ClientRow> {
        let has_name = |&&client: &&ClientRow| self.name(client) == Some(name);
        let double = self.doubles.iter().find(has_name);
        double
            .or_else(|| self.names.get(&self.rule.key(name)))
            .copied()
    }

    /// The key by which a name is compared.
    pub fn key(&self, name: &Name) -> String {
        self.rule.key(name)
    }

    pub fn account(&self, client: ClientRow) -> Option<&Account> {
        self.rows.get(&client)?.account.as_ref()
    }

    pub fn name(&self, client: ClientRow) -> Option<&Name> {
        self.rows.get(&client)?.name.as_ref()
    }

    fn is_taken(&self, name: &Name) -> bool {
        let key = self.rule.key(name);
        let has_key = |&client: &ClientRow| {
            let name = self.name(client);
            name.is_some_and(|name| self.rule.key(name) == key)
        };
        self.names.contains_key(&key) || self.doubles.iter().any(has_key)
    }

    /// This name, or with a number behind it that makes it unique. The time does not depend on the
    /// number of clients.
    fn free_name(&mut self, name: &Name) -> (Option<Name>, Option<(String, u32)>) {
        if !self.is_taken(name) {
            return (Some(name.clone()), None);
        }
        let key = self.rule.key(name);
        let mut numbers = self.numbers.remove(&key).unwrap_or_default();
        let mut found = (None, None);
        for attempt in 0..TRIES_MAX {
            // Other clients may have requested names with such numbers.
            let number = match attempt {
                0..TRIES_IN_ORDER => numbers.take(),
                _ => {
                    let random = self.random.hash_one((&key, attempt, numbers.next));
                    RANDOM_FIRST + (random % RANDOM_COUNT) as u32
                }
            };
            let free = numbered(name, number).filter(|name| !self.is_taken(name));
            if let Some(free) = free {
                numbers.clients += 1;
                found = (Some(free), Some((key.clone(), number)));
                break;
            }
        }
        if numbers.clients > 0 {
            self.numbers.insert(key, numbers);
        }
        found
    }
}

/// A name with a number behind it, cut so that both fit.
fn numbered(name: &Name, number: u32) -> Option<Name> {
    let ending = format!("#{number}");
    let end = name.floor_char_boundary(NAME_BYTES_MAX - ending.len());
    Name::new(format!("{}{ending}", name[..end].trim_end())).ok()
}

/// The numbers of a name that are tried in order.
const TRIES_IN_ORDER: u32 = 16;
/// Each further one is free with a chance of a thousand to one.
const TRIES_MAX: u32 = 64;
const RANDOM_FIRST: u32 = 1_000_000;
const RANDOM_COUNT: u64 = 1_000_000_000;

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
    fn names_that_another_rule_gave_stay_their_players() {
        let mut people = People::default();
        let [kept, double] = ["Stra\u{df}e", "STRASSE"].map(|name| identity(None, name));
        people.restore(ClientRow(1), &kept);
        people.restore(ClientRow(2), &double);
        let of = |people: &People, name| people.of_name(&Name::new(name).unwrap());
        for _ in 0..2 {
            assert_eq!(of(&people, "strasse"), Some(ClientRow(1)));
            assert_eq!(of(&people, "STRASSE"), Some(ClientRow(2)));
            people.set_rule(NameRule::Confusables);
        }
        let next = people.enter(ClientRow(3), &double).name;
        assert_eq!(next.as_deref(), Some("STRASSE#2"));
        people.leave(ClientRow(1));
        let next = people.enter(ClientRow(4), &kept).name;
        assert_eq!(next.as_deref(), Some("Stra\u{df}e#3"));
        people.leave(ClientRow(2));
        let next = people.enter(ClientRow(5), &kept).name;
        assert_eq!(next.as_deref(), Some("Stra\u{df}e"));
    }

    #[test]
    fn by_uts_39_letters_that_look_alike_make_no_second_name() {
        let mut people = People::default();
        let mut enter = |row, rule, name| {
            people.set_rule(rule);
            people.enter(ClientRow(row), &identity(None, name)).name
        };
        enter(1, NameRule::Forms, "Bob");
        let other = enter(2, NameRule::Forms, "B\u{43e}b");
        assert_eq!(other.as_deref(), Some("B\u{43e}b"));
        let same = enter(3, NameRule::Confusables, "B\u{43e}\u{184}");
        assert_eq!(same.as_deref(), Some("B\u{43e}\u{184}#2"));
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

    #[test]
    fn a_number_is_found_without_trying_all_that_are_taken() {
        const GUESTS: u32 = 65_536;
        let mut people = People::default();
        let guest = identity(None, "guest");
        for row in 0..GUESTS {
            let name = people.enter(ClientRow(row), &guest).name.unwrap();
            match row {
                0 => assert_eq!(&*name, "guest"),
                _ => assert_eq!(&*name, format!("guest#{}", row + 1)),
            }
        }
        assert_eq!(people.names.len(), GUESTS as usize);
        // The number of one that left is the next one's; the name itself, too.
        people.leave(ClientRow(4_999));
        let back = people.enter(ClientRow(GUESTS), &guest).name;
        assert_eq!(back.as_deref(), Some("guest#5000"));
        people.leave(ClientRow(0));
        let first = people.enter(ClientRow(0), &guest).name;
        assert_eq!(first.as_deref(), Some("guest"));
        for row in 0..=GUESTS {
            people.leave(ClientRow(row));
        }
        assert!(people.numbers.is_empty() && people.names.is_empty());
    }

    /// All low numbers are occupied as names; joins do not search them.
    #[test]
    fn numbers_that_others_have_in_their_names_are_not_searched() {
        const HELD: u32 = 5_000;
        let mut people = People::default();
        let guest = identity(None, "guest");
        people.enter(ClientRow(0), &guest);
        for number in 2..HELD {
            people.enter(
                ClientRow(number),
                &identity(None, &format!("guest#{number}")),
            );
        }
        for row in HELD..HELD + 100 {
            let name = people.enter(ClientRow(row), &guest).name.unwrap();
            let number: u32 = name.strip_prefix("guest#").unwrap().parse().unwrap();
            assert!(number >= RANDOM_FIRST, "{number}");
            // It assigned no more numbers than it tries in order.
            let numbers = &people.numbers["guest"];
            assert!(numbers.next <= 2 + TRIES_IN_ORDER, "{}", numbers.next);
            people.leave(ClientRow(row));
        }
        let of = |people: &People, name| people.of_name(&Name::new(name).unwrap());
        assert_eq!(of(&people, "guest#2"), Some(ClientRow(2)));
        assert_eq!(people.names.len(), HELD as usize - 1);
    }
}
