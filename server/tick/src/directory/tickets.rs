//! The clients that tickets resume. Each resume gives the client a new ticket.

use std::collections::HashMap;

use shared::ClientRow;
use shared::wire::control::Ticket;

/// The valid tickets.
#[derive(Default)]
pub struct Tickets {
    clients: HashMap<Ticket, ClientRow>,
    of_clients: HashMap<ClientRow, ClientTickets>,
}

/// The tickets of one client.
#[derive(Clone, Copy)]
struct ClientTickets {
    newest: Ticket,
    /// The one that it resumed with. It stays valid until the client has confirmed the newest:
    /// the welcome may be lost.
    before: Option<Ticket>,
}

impl Tickets {
    /// The client that a ticket resumes.
    pub fn client(&self, ticket: Ticket) -> Option<ClientRow> {
        self.clients.get(&ticket).copied()
    }

    /// Gives a client a new ticket. Of its earlier ones, only the one that it resumed with stays
    /// valid for now.
    pub fn give(&mut self, client: ClientRow, newest: Ticket, resumed_with: Option<Ticket>) {
        self.forget(client);
        let before = resumed_with;
        for ticket in before.into_iter().chain([newest]) {
            self.clients.insert(ticket, client);
        }
        self.of_clients
            .insert(client, ClientTickets { newest, before });
    }

    /// The client has its newest ticket: the one before becomes invalid. False if there is none.
    pub fn confirm(&mut self, client: ClientRow) -> bool {
        let own = self.of_clients.get_mut(&client);
        let before = own.and_then(|own| own.before.take());
        before.is_some_and(|before| self.clients.remove(&before).is_some())
    }

    /// The ticket that a client resumed with, while it is valid beside the newest.
    pub fn before(&self, client: ClientRow) -> Option<Ticket> {
        self.of_clients.get(&client).and_then(|own| own.before)
    }

    /// The ticket for a client's welcome.
    pub fn newest(&self, client: ClientRow) -> Option<Ticket> {
        self.of_clients.get(&client).map(|own| own.newest)
    }

    /// The client is gone: its tickets become invalid.
    pub fn forget(&mut self, client: ClientRow) {
        if let Some(own) = self.of_clients.remove(&client) {
            for ticket in own.before.into_iter().chain([own.newest]) {
                self.clients.remove(&ticket);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: ClientRow = ClientRow(3);

    fn valid(tickets: &Tickets) -> Vec<u8> {
        let all = 1..=9;
        all.filter(|&i| tickets.client([i; 16]) == Some(CLIENT))
            .collect()
    }

    #[test]
    fn a_ticket_is_valid_until_its_successor_is_confirmed() {
        let mut tickets = Tickets::default();
        tickets.give(CLIENT, [1; 16], None);
        tickets.confirm(CLIENT);
        assert_eq!(valid(&tickets), [1]);
        tickets.give(CLIENT, [2; 16], Some([1; 16]));
        assert_eq!(
            (valid(&tickets), tickets.newest(CLIENT)),
            (vec![1, 2], Some([2; 16]))
        );
        // The welcome was lost, so the client resumes with the old one again.
        tickets.give(CLIENT, [3; 16], Some([1; 16]));
        assert_eq!(valid(&tickets), [1, 3]);
        tickets.confirm(CLIENT);
        assert_eq!(valid(&tickets), [3]);
        tickets.give(CLIENT, [4; 16], Some([3; 16]));
        tickets.forget(CLIENT);
        assert!(valid(&tickets).is_empty());
        assert!(tickets.clients.is_empty() && tickets.of_clients.is_empty());
    }
}
