//! Which client a ticket resumes. Each resume gives the client a new one.

use std::collections::HashMap;

use shared::ClientRow;
use shared::wire::control::Ticket;

/// The tickets that are good for a resume.
#[derive(Default)]
pub struct Tickets {
    clients: HashMap<Ticket, ClientRow>,
    given: HashMap<ClientRow, Given>,
}

/// The tickets of one client.
#[derive(Clone, Copy)]
struct Given {
    newest: Ticket,
    /// The one that it resumed with. It stays good until the client is known to have the
    /// newest: the welcome may be lost.
    before: Option<Ticket>,
}

impl Tickets {
    /// The client that a ticket resumes.
    pub fn client(&self, ticket: Ticket) -> Option<ClientRow> {
        self.clients.get(&ticket).copied()
    }

    /// Gives a client a new ticket. Of those that it had, only the one that it resumed with
    /// stays good for now.
    pub fn give(&mut self, client: ClientRow, newest: Ticket, resumed_with: Option<Ticket>) {
        self.forget(client);
        let before = resumed_with;
        for ticket in before.into_iter().chain([newest]) {
            self.clients.insert(ticket, client);
        }
        self.given.insert(client, Given { newest, before });
    }

    /// The client is known to have its newest ticket: no other is good any more. False if no
    /// other was.
    pub fn confirm(&mut self, client: ClientRow) -> bool {
        let given = self.given.get_mut(&client);
        let before = given.and_then(|given| given.before.take());
        before.is_some_and(|before| self.clients.remove(&before).is_some())
    }

    /// The ticket that a client resumed with, while it is good beside the newest.
    pub fn before(&self, client: ClientRow) -> Option<Ticket> {
        self.given.get(&client).and_then(|given| given.before)
    }

    /// What a client's welcome carries.
    pub fn newest(&self, client: ClientRow) -> Option<Ticket> {
        self.given.get(&client).map(|given| given.newest)
    }

    /// The client is gone: its tickets resume nobody.
    pub fn forget(&mut self, client: ClientRow) {
        if let Some(given) = self.given.remove(&client) {
            for ticket in given.before.into_iter().chain([given.newest]) {
                self.clients.remove(&ticket);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: ClientRow = ClientRow(3);

    fn good(tickets: &Tickets) -> Vec<u8> {
        let all = 1..=9;
        all.filter(|&i| tickets.client([i; 16]) == Some(CLIENT))
            .collect()
    }

    #[test]
    fn a_ticket_is_good_until_its_successor_is_known_to_have_arrived() {
        let mut tickets = Tickets::default();
        tickets.give(CLIENT, [1; 16], None);
        tickets.confirm(CLIENT);
        assert_eq!(good(&tickets), [1]);
        tickets.give(CLIENT, [2; 16], Some([1; 16]));
        assert_eq!(
            (good(&tickets), tickets.newest(CLIENT)),
            (vec![1, 2], Some([2; 16]))
        );
        // The welcome was lost, so the client comes with the old one again.
        tickets.give(CLIENT, [3; 16], Some([1; 16]));
        assert_eq!(good(&tickets), [1, 3]);
        tickets.confirm(CLIENT);
        assert_eq!(good(&tickets), [3]);
        tickets.give(CLIENT, [4; 16], Some([3; 16]));
        tickets.forget(CLIENT);
        assert!(good(&tickets).is_empty());
        assert!(tickets.clients.is_empty() && tickets.given.is_empty());
    }
}
