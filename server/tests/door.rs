//! Strangers at the door: those who never say hello keep nobody else out.

use std::net::SocketAddr;

use crate::common::raw::{Raw, ended_as};
use crate::common::{PLAIN, Player, start_with};
use quinn::TransportConfig;
use shared::wire::control::Close;

#[tokio::test]
async fn strangers_of_one_address_keep_nobody_else_out() {
    let server = start_with(PLAIN, |options| options.shards = 1);
    let attacker = SocketAddr::from(([127, 0, 0, 2], 0));
    let mut strangers = vec![];
    // More than may stand at the door from one address.
    while let Some(raw) = Raw::try_connect_from(attacker, &server, TransportConfig::default()).await
    {
        strangers.push(raw);
        assert!(strangers.len() < 2000, "the door takes everybody");
    }
    assert!(strangers.len() > 100, "only {} got in", strangers.len());
    Player::join(&server).await;
    // They are sent away, and their places are free again.
    let reason = ended_as(&strangers[0].connection, Close::TooSlow).await;
    assert_eq!(reason, "no hello within 5 seconds");
    for stranger in &strangers {
        stranger.closed().await;
    }
    let again = Raw::try_connect_from(attacker, &server, TransportConfig::default()).await;
    assert!(again.is_some(), "the places stay taken");
    server.stop().unwrap();
}
