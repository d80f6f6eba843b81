//! A game's client for a page: [`client_core::Game`] behind functions that a browser's script
//! can call.
//!
//! Numbers are passed as they are. Bytes and text go through two buffers: the page writes what
//! it hands in at [`input`], and reads what it gets at [`output`], as many bytes as the
//! function before has returned. Text for the page is JSON. All times are milliseconds since
//! some moment that the page chooses once.
//!
//! | module | holds |
//! | --- | --- |
//! | [`client`] | the client, and what the page may ask of it |
//! | [`given`] | the names of the commands that were given last |
//! | [`text`] | messages to the page, as JSON |

pub mod client;
pub mod given;
pub mod text;

use std::cell::RefCell;

use client::Client;

thread_local! {
    static CLIENT: RefCell<Client> = RefCell::new(Client::default());
}

fn with<T>(act: impl FnOnce(&mut Client) -> T) -> T {
    CLIENT.with_borrow_mut(act)
}

/// Room for so many bytes that are handed in next.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    with(|client| client.room(bytes).as_mut_ptr())
}

/// Where the bytes are that the function before gave.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|client| client.output().as_ptr())
}

/// Begins: `input` is the token, and behind it the 16 bytes of a ticket if `has_ticket`.
#[unsafe(no_mangle)]
pub extern "C" fn begin(has_ticket: u32, seed: f64) {
    with(|client| client.begin(has_ticket != 0, seed));
}

/// Sets the text of a game's bindings, the input, for the games that begin from now on: they leave a
/// world that lacks some of what the bindings name. Then changes are among what has happened, too.
#[unsafe(no_mangle)]
pub extern "C" fn bind() {
    with(Client::bind);
}

/// 0: nothing is to be done; 1: connect; 2: close the connection, over which nothing comes.
#[unsafe(no_mangle)]
pub extern "C" fn next_step(now_ms: f64) -> u32 {
    with(|client| client.next_step(now_ms))
}

/// Where to connect next, as HOST:PORT, in `output`: another server that one has named. Returns its
/// bytes; 0: the one that the page is of.
#[unsafe(no_mangle)]
pub extern "C" fn address() -> usize {
    with(Client::address)
}

/// A connection is open, with a stream.
#[unsafe(no_mangle)]
pub extern "C" fn opened() {
    with(Client::opened);
}

/// The connection has ended with a code, or without (-1); `input` is a sentence.
#[unsafe(no_mangle)]
pub extern "C" fn closed(code: i32, now_ms: f64) {
    with(|client| client.closed(code, now_ms));
}

/// The player leaves for good.
#[unsafe(no_mangle)]
pub extern "C" fn leave() {
    with(Client::leave);
}

/// `input` has arrived on the stream. 0, or the bytes of an error in `output`.
#[unsafe(no_mangle)]
pub extern "C" fn take_stream(now_ms: f64) -> usize {
    with(|client| client.take_stream(now_ms))
}

/// `input` has arrived as a datagram. 0, or the bytes of an error in `output`.
#[unsafe(no_mangle)]
pub extern "C" fn take_datagram(now_ms: f64) -> usize {
    with(|client| client.take_datagram(now_ms))
}

/// The bytes that the stream takes next. The page sends all of them.
#[unsafe(no_mangle)]
pub extern "C" fn give_stream() -> usize {
    with(Client::give_stream)
}

/// The datagram that is due; 0: none.
#[unsafe(no_mangle)]
pub extern "C" fn give_datagram(now_ms: f64) -> usize {
    with(|client| client.give_datagram(now_ms))
}

/// Moves on what is shown, and gives what has happened.
#[unsafe(no_mangle)]
pub extern "C" fn poll(now_ms: f64) -> usize {
    with(|client| client.poll(now_ms))
}

/// The tick for which input is due, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn input_due(now_ms: f64) -> f64 {
    with(|client| client.input_due(now_ms))
}

/// Gives a command: `input` is its words, four bytes each. 0, or the bytes of an error.
#[unsafe(no_mangle)]
pub extern "C" fn command(kind: u32) -> usize {
    with(|client| client.command(kind))
}

/// Gives a command with texts: `input` is so many words, then each text behind its length in four
/// bytes. 0, or the bytes of an error.
#[unsafe(no_mangle)]
pub extern "C" fn command_with(kind: u32, words: usize) -> usize {
    with(|client| client.command_with(kind, words))
}

/// Talks: `what` is a number of [`client::TALKS`], `input` the recipient, a text of so many
/// bytes, and behind it the message. 0, or the bytes of an error.
#[unsafe(no_mangle)]
pub extern "C" fn talk(what: u32, to_bytes: usize) -> usize {
    with(|client| client.talk(what, to_bytes))
}

/// After how many ticks a command can be used again: 0 for now.
#[unsafe(no_mangle)]
pub extern "C" fn rest(kind: u32, now_ms: f64) -> f64 {
    with(|client| client.rest(kind, now_ms))
}

/// The entities in view as they are shown now: [`client::FLOATS`] numbers of four bytes each.
/// `bar` is the column that is shown as a bar, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn entities(bar: i32) -> usize {
    with(|client| client.entities(bar))
}

/// The schema, as [`text::SchemaText`].
#[unsafe(no_mangle)]
pub extern "C" fn schema() -> usize {
    with(Client::schema)
}

/// An entity in view, as [`text::EntityText`]; 0: there is none in this slot.
#[unsafe(no_mangle)]
pub extern "C" fn entity(slot: u32) -> usize {
    with(|client| client.entity(slot))
}

/// Asks for the rankings of the world, and gives them as a list of [`text::RankingText`].
#[unsafe(no_mangle)]
pub extern "C" fn rankings() -> usize {
    with(Client::rankings)
}

/// The layers of the world, as a list of [`text::LayerText`].
#[unsafe(no_mangle)]
pub extern "C" fn layers() -> usize {
    with(Client::layers)
}

/// `input` is the content of the layer with this hash. 0, or the bytes of an error.
#[unsafe(no_mangle)]
pub extern "C" fn put_layer(hash: u64) -> usize {
    with(|client| client.put_layer(hash))
}

/// Asks the server for the missing layers.
#[unsafe(no_mangle)]
pub extern "C" fn fetch_layers() {
    with(Client::fetch_layers);
}

/// A layer that has come over the session: its hash in 16 hexadecimal digits, and a zlib stream; 0:
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn take_packed_layer() -> usize {
    with(Client::take_packed_layer)
}

/// The quality of the connection, as [`text::Quality`].
#[unsafe(no_mangle)]
pub extern "C" fn quality() -> usize {
    with(Client::quality)
}

/// The ticket for a later page: 16 bytes, or 0.
#[unsafe(no_mangle)]
pub extern "C" fn ticket() -> usize {
    with(Client::ticket)
}
