//! Admission: pending connections without a hello keep no others out.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::task::Poll;

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
    // More than may be pending from one address. All at once: on a busy machine the first ones
    // would be closed before the last ones come.
    let attempts = 600;
    let mut connecting: Vec<_> = (0..attempts).map(|_| Box::pin(connect())).collect();
    poll_fn(|context| {
        connecting.retain_mut(|attempt| match attempt.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(connected) => {
                pending.extend(connected);
                false
            }
        });
        match connecting.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    drop(connecting);
    let is_open = |raw: &&Raw| raw.connection.close_reason().is_none();
    let open = pending.iter().filter(is_open).count();
    assert!(open < attempts, "every connection is accepted, and stays");
    assert!(pending.len() > 100, "only {} connected", pending.len());
    Player::join(&server).await;
    // They are closed, and their places are free again.
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
