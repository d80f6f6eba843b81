//! Connecting, polling, leaving.

use std::collections::VecDeque;
use std::ffi::c_char;

use client_bot::client_core::{GameOptions, RetryOptions};
use client_bot::connect::{ClientError, addresses_of, host_of};
use client_bot::{GameClient, Network, Trust};

use crate::clients::{self, Client, MyriadClient, add, remove, with};
use crate::events::QueuedEvent;
use crate::failure::{Failure, MyriadStatus, run};
use crate::memory::{list, optional_text, put, text};

/// The bytes of a ticket, see `myriad_ticket`.
pub const MYRIAD_TICKET_BYTES: usize = 16;

/// How to connect. A structure of zeros is a good start: then only `server` and one way to
/// trust it are needed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MyriadOptions {
    /// The server's address, as `127.0.0.1:4433`, `[::1]:4433` or `example.com:4433`.
    pub server: *const c_char,
    /// The name in the server's certificate; null: the host of `server`.
    pub server_name: *const c_char,
    /// Trust a certificate with this SHA-256 fingerprint: 64 hexadecimal digits, as the server
    /// prints them. Null: trust by `authority`.
    pub fingerprint: *const c_char,
    /// Trust certificates signed by an authority in this PEM file.
    pub authority: *const c_char,
    /// Trust any certificate: only on networks without attackers.
    pub any_certificate: bool,
    /// The server's token; null: none.
    pub token: *const c_char,
    /// The player's name; null: none.
    pub name: *const c_char,
    /// To watch without an entity, where the world allows it.
    pub spectates: bool,
    /// The ticket of an earlier client whose entity this one continues as: null, or
    /// `MYRIAD_TICKET_BYTES` bytes.
    pub ticket: *const u8,
    /// So many attempts in a row fail before the client gives up; 0: 10 of them.
    pub attempts: u32,
    /// The text of the game's generated bindings; null: it has none. A server whose world lacks
    /// some of what they name is left, and the loss has the reason.
    pub bindings: *const c_char,
}

/// Makes a client, and writes its number to `client`. It connects with the first calls of
/// `myriad_poll`, and again whenever the connection is lost. A host name is looked up here,
/// which may take a while.
///
/// # Safety
/// `options` points to options whose texts end with a zero byte, and `client` to room for a
/// number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_connect(
    options: *const MyriadOptions,
    client: *mut MyriadClient,
) -> MyriadStatus {
    run(|| {
        let options = unsafe { options.as_ref() }.ok_or_else(|| {
            Failure::Argument("expected options, found a null pointer".to_owned())
        })?;
        // Nothing connects of which the caller does not learn the number.
        unsafe { put(client, 0, "the client's number") }?;
        let game = unsafe { connect(options) }?;
        let number = add(Client {
            game,
            events: VecDeque::new(),
            current: None,
        });
        unsafe { put(client, number, "the client's number") }
    })
}

/// # Safety
/// As `myriad_connect`.
unsafe fn connect(options: &MyriadOptions) -> Result<GameClient, Failure> {
    let server = unsafe { text(options.server, "a server's address") }?;
    let name = unsafe { optional_text(options.server_name, "the certificate's name") }?;
    let name = name.unwrap_or_else(|| host_of(server));
    let trust = unsafe { trust(options) }?;
    let own = |text, what| unsafe { optional_text(text, what) }.map(Option::unwrap_or_default);
    let mut retry = RetryOptions::default();
    if options.attempts > 0 {
        retry.attempts = options.attempts;
    }
    let game_options = GameOptions {
        token: own(options.token, "the token")?.to_owned(),
        name: own(options.name, "the player's name")?.to_owned(),
        bindings: own(options.bindings, "the text of bindings")?.to_owned(),
        spectates: options.spectates,
        retry,
        ..GameOptions::default()
    };
    let mut game = GameClient::new(addresses_of(server)?, name, &trust, game_options)?;
    if !options.ticket.is_null() {
        let bytes = unsafe { list(options.ticket, MYRIAD_TICKET_BYTES, "bytes of a ticket") }?;
        let mut ticket = [0; MYRIAD_TICKET_BYTES];
        ticket.copy_from_slice(bytes);
        game.set_ticket(ticket);
    }
    Ok(game)
}

/// # Safety
/// As `myriad_connect`.
unsafe fn trust(options: &MyriadOptions) -> Result<Trust, Failure> {
    if let Some(digits) = unsafe { optional_text(options.fingerprint, "the fingerprint") }? {
        return Ok(Trust::with_fingerprint(digits).map_err(ClientError::from)?);
    }
    if let Some(path) = unsafe { optional_text(options.authority, "the authority's path") }? {
        return Ok(Trust::Authority(path.into()));
    }
    match options.any_certificate {
        true => Ok(Trust::AnyCertificate),
        false => Err(Failure::Argument(
            "expected a fingerprint, an authority, or that any certificate is trusted".to_owned(),
        )),
    }
}

/// Processes all that has arrived and advances the scene: once a frame. It does not wait.
/// Events wait for `myriad_next_event`.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_poll(client: MyriadClient) -> MyriadStatus {
    with(client, |client| {
        for event in client.game.poll() {
            QueuedEvent::add(&event, client.game.view(), &mut client.events);
        }
        Ok(())
    })
}

/// Writes a secret by which a later client continues as this one's entity, while the server
/// keeps that.
///
/// # Safety
/// `ticket` points to room for `MYRIAD_TICKET_BYTES` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_ticket(client: MyriadClient, ticket: *mut u8) -> MyriadStatus {
    with(client, |client| {
        let bytes = client.game.game().ticket().ok_or(Failure::NotInWorld)?;
        let place: *mut [u8; MYRIAD_TICKET_BYTES] = ticket.cast();
        unsafe { put(place, bytes, "a ticket") }
    })
}

/// Carries packets over a bad network on purpose from now on, to try a game on it: a built-in one
/// (`lte`, `5g-handover`, `wifi-microwave`, `satellite`, `geostationary`), or one from a file with
/// a trace. With the same seed the same happens to the same packets.
///
/// # Safety
/// `name` is text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_set_network(
    client: MyriadClient,
    name: *const c_char,
    seed: u64,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(name, "a network's name") }?;
        let network = Network::named(name).map_err(|error| Failure::Argument(error.to_string()))?;
        client.game.set_network(&network, seed);
        Ok(())
    })
}

/// Leaves for good: the entity is removed, and the client's number is no longer valid. Waits for
/// a second at most until the server has confirmed.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_leave(client: MyriadClient) -> MyriadStatus {
    run(|| {
        remove(client)?.game.leave();
        Ok(())
    })
}

/// Goes without a word: the server keeps the entity for a while, see `myriad_ticket`. The
/// client's number is no longer valid.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_abandon(client: MyriadClient) -> MyriadStatus {
    run(|| clients::remove(client).map(drop))
}
