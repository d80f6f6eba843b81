//! From the shards' inboxes into the frame of a tick.

use std::sync::Arc;

use gpu_kernels::Frame;
use shared::wire::control::Ticket;

use super::directory::Directory;
use super::inbox::{Inbox, SharedInbox};
use super::requests::RequestQueue;
use crate::metrics::counts::Refusals;

/// The tick's ends of the inboxes.
pub struct Intake {
    /// By shard.
    inboxes: Vec<SharedInbox>,
    /// An empty inbox to swap in.
    spare: Inbox,
    tickets: TicketSource,
}

impl Intake {
    pub fn new(inboxes: Vec<SharedInbox>) -> Intake {
        Intake {
            inboxes,
            spare: Inbox::default(),
            tickets: TicketSource::new(),
        }
    }

    /// Takes leaves, joins, requests and commands, and says what the shards refused.
    pub fn gather(
        &mut self,
        directory: &mut Directory,
        requests: &mut RequestQueue,
        frame: &mut Frame,
    ) -> Refusals {
        let mut refusals = Refusals::default();
        for (shard, inbox) in self.inboxes.iter().enumerate() {
            self.spare.reset();
            inbox.swap(&mut self.spare, frame.tick);
            for leave in &self.spare.leaves {
                directory.leave(shard, leave, frame);
            }
            for join in &self.spare.joins {
                directory.join(shard, join, self.tickets.next(), frame);
            }
            requests.push(shard, self.spare.requests.drain(..));
            for (command, words) in self.spare.commands() {
                frame.push(command.entity, command.sequence, command.kind, words);
            }
            refusals += self.spare.refusals;
        }
        refusals
    }
}

/// Session tickets: unguessable, from the TLS library's generator.
struct TicketSource(Arc<rustls::crypto::CryptoProvider>);

impl TicketSource {
    fn new() -> TicketSource {
        TicketSource(Arc::new(rustls::crypto::ring::default_provider()))
    }

    fn next(&mut self) -> Ticket {
        let mut ticket = Ticket::default();
        // Without randomness TLS would not work either.
        self.0
            .secure_random
            .fill(&mut ticket)
            .expect("the system gives random bytes");
        ticket
    }
}
