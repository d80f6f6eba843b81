//! One embedded server for several games of a process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use client_bot::local::{LocalServer, Sent};
use shared::wire::close::Close;

use super::{ConnectionId, EmbeddedServer};

/// A server that its clients run together: each of them runs the ticks that are due.
#[derive(Clone)]
pub struct SharedServer(Arc<Mutex<EmbeddedServer>>);

/// A client's way to it.
struct LocalClient {
    server: SharedServer,
    connection: Option<ConnectionId>,
    /// Why the world has ended, if it has.
    failure: Option<String>,
}

impl SharedServer {
    pub fn new(server: EmbeddedServer) -> SharedServer {
        SharedServer(Arc::new(Mutex::new(server)))
    }

    /// For [`GameClient::offline`](client_bot::GameClient::offline).
    pub fn client(&self) -> Box<dyn LocalServer> {
        Box::new(LocalClient {
            server: self.clone(),
            connection: None,
            failure: None,
        })
    }

    /// The server itself, for example to inspect its world.
    pub fn lock(&self) -> MutexGuard<'_, EmbeddedServer> {
        // A panic in a tick ends the caller's world, whatever is in here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LocalServer for LocalClient {
    fn connect(&mut self) -> Result<(), String> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.close(Close::Resumed);
        self.connection = self.server.lock().connect();
        match self.connection {
            Some(_) => Ok(()),
            None => Err("the server has no room for another connection".to_owned()),
        }
    }

    fn send_stream(&mut self, bytes: &[u8]) {
        if let Some(connection) = self.connection.filter(|_| !bytes.is_empty()) {
            self.server.lock().handle_stream(connection, bytes);
        }
    }

    fn send_datagram(&mut self, datagram: Vec<u8>) {
        if let Some(connection) = self.connection {
            self.server.lock().handle_datagram(connection, datagram);
        }
    }

    fn close(&mut self, code: Close) {
        if let Some(connection) = self.connection.take() {
            self.server.lock().close(connection, code);
        }
    }

    fn advance(&mut self, now: Instant) -> Sent {
        let mut server = self.server.lock();
        let since = now.saturating_duration_since(server.started());
        if let Err(error) = server.advance(since) {
            let reason = format!("the world has ended: {error:#}");
            self.failure = Some(reason.clone());
            self.connection = None;
            return Sent {
                closed: Some((Close::Shutdown.code(), reason)),
                ..Sent::default()
            };
        }
        let Some(connection) = self.connection else {
            return Sent::default();
        };
        let datagrams = server.take_datagrams(connection);
        let sent = Sent {
            stream: server.take_stream(connection),
            datagrams: datagrams.into_iter().map(|bytes| bytes.to_vec()).collect(),
            closed: server
                .take_closed(connection)
                .map(|closed| (closed.code, closed.reason)),
        };
        if sent.closed.is_some() {
            self.connection = None;
        }
        sent
    }
}

impl Drop for LocalClient {
    fn drop(&mut self) {
        // Not for good: another client may come back with its ticket.
        self.close(Close::Resumed);
    }
}
