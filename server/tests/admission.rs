//! Admission: pending connections without a hello keep no others out.

use std::net::SocketAddr;

use quinn::TransportConfig;
use shared::wire::control::Close;

use crate::common::raw::{Raw, ended_as};
use crate::common::{PLAIN, Player, start_with};

#[tokio::test]
async fn pending_connections_of_one_address_keep_no_others_out() {
    let server = start_with(PLAIN, |options| options.shards = 1);
    let attacker = SocketAddr::from(([127, 0, 0, 2], 0));
    let connect = || Raw::try_connect_from(attacker, &server, TransportConfig::default());
    let mut pending = vec![];
    // More than may be pending from one address. Several at a time: on a busy machine the first
    // ones would be closed before the last ones come.
    let mut is_full = false;
    while !is_full {
        let some = tokio::join!(
            connect(),
            connect(),
            connect(),
            connect(),
            connect(),
            connect(),
            connect(),
            connect()
        );
        let (a, b, c, d, e, f, g, h) = some;
        let some = [a, b, c, d, e, f, g, h];
        is_full = some.iter().any(Option::is_none);
        pending.extend(some.into_iter().flatten());
        assert!(pending.len() < 2000, "every connection is accepted");
    }
    assert!(pending.len() > 100, "only {} got in", pending.len());
    Player::join(&server).await;
    // They are sent away, and their places are free again.
    let reason = ended_as(&pending[0].connection, Close::TooSlow).await;
    let reasons = [
        "no hello within 5 seconds",
        // The player needed one, and they had been silent for longer than is usual.
        "no hello, and others need the place",
    ];
    assert!(reasons.contains(&&*reason), "{reason}");
    for connection in &pending {
        connection.closed().await;
    }
    let again = Raw::try_connect_from(attacker, &server, TransportConfig::default()).await;
    assert!(again.is_some(), "the places stay taken");
    server.stop().unwrap();
}
