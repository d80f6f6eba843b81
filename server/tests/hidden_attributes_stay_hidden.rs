//! No predicate reveals values that its client may not see.

use script::builtin;
use server::Server;
use shared::EntityId;
use shared::wire::notice::NoticeBody;

use crate::common::{Player, listen_for, start, until};

/// Hit points are private, luck is hidden.
const SECRETS: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 16
    tick_hz = 20

    [limits]
    subscriptions_per_client = 8

    [commands]
    strike = { reach = 100, damage = 30 }
    shout.radius_max = 5

    [[kind]]
    name = 'player'
    respawn_ticks = 3
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, falls_at = 0, audience = 'private' },
        { name = 'luck', type = 'i32', default = 99, audience = 'hidden' },
    ]
";

/// As above, but hit points are hidden, too.
fn hidden() -> String {
    SECRETS.replace("'private'", "'hidden'")
}

async fn strike(server: &Server, knight: &mut Player, other: &mut Player, target: EntityId) {
    knight.send(builtin::STRIKE, &[target.reference().0]);
    listen_for(server, &mut [knight, other], 4).await;
}

/// Each change of hit points that a player received: (entity, new value,
/// subscriptions).
fn blows(player: &Player) -> Vec<(EntityId, i32, Vec<u32>)> {
    let blow = |notice: &&shared::wire::notice::Notice| match notice.body {
        NoticeBody::Change { entity, new, .. } => (entity, new, notice.subscriptions.clone()),
        _ => panic!("{notice:?}"),
    };
    player.notices().iter().map(blow).collect()
}

#[tokio::test]
async fn a_hidden_attribute_cannot_be_named() {
    let server = start(&hidden());
    let mut knight = Player::join(&server).await;
    let mut victim = Player::join(&server).await;
    for (text, column) in [
        ("luck > 5", 1),
        ("event == \"change\" && (hp < 5 || x < 3)", 23),
        ("event == \"change\" || luck == 99", 22),
    ] {
        let refusal = knight.subscribe(1, text).await.unwrap_err();
        let name = if text.contains("luck") { "luck" } else { "hp" };
        assert_eq!(
            refusal,
            format!(
                "the predicate: column {column}: expected a name that this world declares, \
                 found `{name}`"
            )
        );
    }
    let refusal = knight.subscribe(1, "attribute == \"hp\"").await;
    assert_eq!(
        refusal.unwrap_err(),
        "the predicate: column 1: this world has no attribute \"hp\""
    );
    knight.subscribe(2, "command == \"strike\"").await.unwrap();
    knight.subscribe(3, "new < 100").await.unwrap();
    let target = victim.entity();
    strike(&server, &mut knight, &mut victim, target).await;
    assert!(knight.notices().is_empty(), "{:?}", knight.notices());
    server.stop().unwrap();
}

#[tokio::test]
async fn changes_of_a_private_attribute_go_only_to_its_own_client() {
    let server = start(SECRETS);
    let mut knight = Player::join(&server).await;
    let mut victim = Player::join(&server).await;
    for player in [&mut knight, &mut victim] {
        player.subscribe(1, "attribute == \"hp\"").await.unwrap();
        player.subscribe(2, "hp < 60 || new < 50").await.unwrap();
    }
    let (knights, victims) = (knight.entity(), victim.entity());
    strike(&server, &mut knight, &mut victim, victims).await;
    strike(&server, &mut knight, &mut victim, victims).await;
    strike(&server, &mut victim, &mut knight, knights).await;
    assert_eq!(blows(&knight), [(knights, 70, vec![1])]);
    let own = [(victims, 70, vec![1]), (victims, 40, vec![1, 2])];
    assert_eq!(blows(&victim), own);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_filter_on_a_private_attribute_matches_only_the_own_entity() {
    let server = start(SECRETS);
    let mut spy = Player::join(&server).await;
    let mut victim = Player::join(&server).await;
    // All clients get the shouter's id, but not its hit points.
    spy.subscribe(1, "event == \"shout\" && hp > 0")
        .await
        .unwrap();
    spy.subscribe(2, "event == \"shout\" && shout.number < 9")
        .await
        .unwrap();
    for player in [&mut spy, &mut victim] {
        player.send(builtin::SHOUT, &[0, 7]);
    }
    listen_for(&server, &mut [&mut spy, &mut victim], 4).await;
    let own = spy.entity();
    let mut received: Vec<_> = spy
        .notices()
        .iter()
        .map(|notice| match notice.body {
            NoticeBody::Notification { source, .. } => {
                (source == own, notice.subscriptions.clone())
            }
            _ => panic!("{notice:?}"),
        })
        .collect();
    received.sort();
    assert_eq!(received, [(false, vec![2]), (true, vec![1, 2])]);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_reborn_player_gets_notices_of_its_new_entity_and_not_of_the_next_one_in_its_old_slot() {
    let server = start(SECRETS);
    let mut knight = Player::join(&server).await;
    let mut victim = Player::join(&server).await;
    victim.subscribe(1, "attribute == \"hp\"").await.unwrap();
    let first = victim.entity();
    for _ in 0..4 {
        strike(&server, &mut knight, &mut victim, first).await;
    }
    until(&mut [&mut knight, &mut victim], "it is reborn", |p| {
        p[1].entity() != first && p[1].client.view().own().is_some()
    })
    .await;
    let second = victim.entity();
    // The newcomer may get the slot of the first entity.
    let mut newcomer = Player::join(&server).await;
    let third = newcomer.entity();
    strike(&server, &mut knight, &mut victim, second).await;
    strike(&server, &mut knight, &mut victim, third).await;
    listen_for(&server, &mut [&mut knight, &mut victim, &mut newcomer], 3).await;
    let received = blows(&victim);
    assert_eq!(received.len(), 5, "{received:?}");
    assert!(
        received[..4].iter().all(|blow| blow.0 == first),
        "{received:?}"
    );
    assert_eq!(received[4], (second, 70, vec![1]));
    server.stop().unwrap();
}
