//! One connection, from its first packet to its last.

use std::cell::RefCell;

use quinn::Incoming;
use shared::wire::DecodeError;
use shared::wire::commands::ClientDatagram;
use shared::wire::control::Close;
use tracing::debug;

use super::handshake;
use super::requests::{Requests, Unanswered};
use super::shard::{Client, Shard, close};
use crate::session::Session;

/// Serves a connection until it ends.
pub async fn serve(shard: &RefCell<Shard>, incoming: Incoming) {
    let connection = match incoming.await {
        Ok(connection) => connection,
        Err(error) => return debug!(%error, "a connection failed before its handshake ended"),
    };
    let world = shard.borrow().world();
    let (send, receive, hello) = match handshake::receive_hello(&connection, &world.admission).await
    {
        Ok(received) => received,
        Err(refusal) => {
            debug!(reason = %refusal.reason, "a client was refused");
            if refusal.close == Close::Malformed {
                shard
                    .borrow()
                    .count_refusals(|refusals| refusals.malformed += 1);
            }
            return close(&connection, refusal.close, &refusal.reason);
        }
    };
    let limits = &world.session.config.limits;
    let per_second = limits.client_requests_per_second;
    let unanswered = Unanswered::new(per_second);
    let mut requests = Requests::new(receive, per_second, unanswered.clone());
    let client = Client::new(Session::new(limits), connection.clone(), send, unanswered);
    let session = shard.borrow_mut().admit(client, &hello);
    let mut datagram = ClientDatagram::default();
    let end = loop {
        let taken = tokio::select! {
            received = connection.read_datagram() => match received {
                Ok(bytes) => {
                    let mut shard = shard.borrow_mut();
                    match shard.decode(&bytes, &mut datagram) {
                        Ok(()) => {
                            let taken = shard.take_in(session, &datagram);
                            taken.map_err(|error| error.to_string())
                        }
                        // The client repeats its commands once it knows the new ones.
                        Err(DecodeError::Outdated(_)) => Ok(()),
                        Err(error) => Err(error.to_string()),
                    }
                }
                Err(error) => break error,
            },
            request = requests.next() => match request {
                Ok(message) => {
                    let taken = shard.borrow_mut().request(session, message);
                    taken.map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            },
        };
        if let Err(reason) = taken {
            debug!(%reason, "a client sent a malformed message");
            shard
                .borrow()
                .count_refusals(|refusals| refusals.malformed += 1);
            close(&connection, Close::Malformed, &reason);
        }
    };
    debug!(%end, "a session ended");
    shard.borrow_mut().remove(session, &end);
}
