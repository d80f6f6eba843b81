//! A game can name all that the public functions of a client mention, with this crate alone.

use std::time::Duration;

use client_bot::client_core::GameOptions;
use client_bot::named::NamedError;
use client_bot::shared::EntityId;
use client_bot::{Faults, GameClient, Trust};

fn client() -> GameClient {
    let unreachable = "127.0.0.1:9"
        .parse::<std::net::SocketAddr>()
        .expect("an address");
    let trust = Trust::Certificates(vec![client_bot::pki_types::CertificateDer::from(vec![])]);
    GameClient::new(unreachable, "localhost", &trust, GameOptions::default()).expect("a socket")
}

#[test]
fn a_game_plays_over_a_bad_network_on_purpose() {
    let mut client = client();
    let faults = Faults {
        loss: 0.05,
        delay: Duration::from_millis(80),
        ..Faults::default()
    };
    client.set_faults(faults, 1);
    assert!(client.poll().is_empty());
}

#[test]
fn names_before_the_welcome_are_errors_that_say_so() {
    let mut client = client();
    let nowhere = Err(NamedError::NotInWorld);
    assert_eq!(client.command_named("move", &[1.0, 0.0]), nowhere);
    assert_eq!(client.ready_ticks_named("move"), nowhere);
    let entity = EntityId::new(1, 1);
    let value = client.value(entity, "hp");
    assert_eq!(value, Err(NamedError::NotInWorld));
}
