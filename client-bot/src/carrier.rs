//! A game's bytes over a connection of an endpoint.

use std::time::Duration;

use client_core::{Ending, EventHandler, Game};
use quic::{Event as Arrival, Link};
use shared::wire::control::Close;

/// Gives a game what has happened to its connection, and a handler all that it received. After an
/// error both have ended.
pub fn deliver(
    game: &mut Game,
    arrival: Arrival,
    link: &mut Link<'_>,
    now: Duration,
    handler: &mut dyn EventHandler,
) {
    let mut taken = Ok(());
    match arrival {
        Arrival::Connected => {
            if link.open_stream() {
                game.opened(Some(link.round_trip()));
                send(game, link, now);
            }
        }
        Arrival::Datagram(bytes) => taken = game.handle_datagram_with(&bytes, now, handler),
        Arrival::Readable => {
            link.read(usize::MAX, |bytes| {
                if taken.is_ok() {
                    taken = game.handle_stream_with(bytes, now, handler);
                }
            });
        }
        Arrival::Writable => send(game, link, now),
    }
    if let Err(error) = taken {
        let reason = format!("cannot read what the server sent: {error}");
        link.close(Close::Malformed.code(), &reason);
        game.closed(Ending::new(Close::Malformed, reason), now);
    }
}

/// Sends what is due.
pub fn send(game: &mut Game, link: &mut Link<'_>, now: Duration) {
    send_requests(game, link);
    let datagram = game.datagram(now);
    send_datagram(datagram, link);
}

/// Sends all that the server does not know, whatever tick it is.
#[cfg(feature = "bots")]
pub fn send_now(game: &mut Game, link: &mut Link<'_>, now: Duration) {
    send_requests(game, link);
    let datagram = game.datagram_for(None, now);
    send_datagram(datagram, link);
}

fn send_requests(game: &mut Game, link: &mut Link<'_>) {
    let taken = link.write(game.stream_bytes());
    game.stream_sent(taken);
}

fn send_datagram(datagram: Option<Vec<u8>>, link: &mut Link<'_>) {
    if let Some(datagram) = datagram {
        // Fails only on a connection that is ending.
        link.send_datagram(datagram.into());
    }
}
