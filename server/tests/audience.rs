//! Which clients are sent an attribute: movement and state go to all, private
//! attributes to the owner, hidden ones to none.

use script::builtin;
use shared::EntityId;
use shared::wire::stream::Message;

use crate::common::{Player, listen_for, start, until};

const SECRETS: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 16
    tick_hz = 20

    [commands.strike]
    reach = 100
    damage = 5

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'heading', type = 'i32', default = 3, min = 0, max = 7, audience = 'movement' },
        { name = 'rank', type = 'i32', default = 4, audience = 'state' },
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'private' },
        { name = 'gold', type = 'i32', default = 77, audience = 'private' },
        { name = 'luck', type = 'i32', default = 99, audience = 'hidden' },
    ]

    [[kind]]
    name = 'chest'
    population = 3
    attributes = [
        { name = 'gold', type = 'i32', default = 500, audience = 'private' },
        { name = 'luck', type = 'i32', default = 99, audience = 'hidden' },
        { name = 'rank', type = 'i32', default = 9, audience = 'state' },
    ]
";

#[tokio::test]
async fn private_values_reach_their_owner_and_hidden_values_no_client() {
    let server = start(SECRETS);
    let mut knight = Player::join(&server).await;
    let mut victim = Player::join(&server).await;
    let (knights, victims) = (knight.entity(), victim.entity());
    until(&mut [&mut knight, &mut victim], "they see all", |p| {
        p.iter().all(|p| p.client.view().entities().len() == 5)
    })
    .await;
    for _ in 0..4 {
        knight.send(builtin::STRIKE, &[victims.reference().0]);
        listen_for(&server, &mut [&mut knight, &mut victim], 2).await;
    }
    until(&mut [&mut knight, &mut victim], "it is hurt", |p| {
        p[1].value(victims, "hp") == 80
    })
    .await;
    listen_for(&server, &mut [&mut knight, &mut victim], 5).await;

    for player in [&knight, &victim] {
        let own = player.entity();
        assert_eq!(player.value(own, "gold"), 77);
        for (slot, entity) in player.client.view().entities() {
            let rank = if entity.kind == 0 { 4 } else { 9 };
            assert_eq!(player.value(entity.id, "rank"), rank, "slot {slot}");
        }
        assert_eq!(player.value(knights, "heading"), 3);
        assert_eq!(player.value(victims, "heading"), 3);
        assert_received_only(player, own);
    }
    assert_eq!(knight.value(knights, "hp"), 100);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_session_that_takes_over_is_sent_private_values_and_others_are_not() {
    let server = start(SECRETS);
    let mut other = Player::join(&server).await;
    let first = Player::join(&server).await;
    let mut second = Player::resume(&server, first.client.ticket()).await;
    let own = second.entity();
    until(&mut [&mut other, &mut second], "both see it", |p| {
        p.iter().all(|p| p.sees(own))
    })
    .await;
    other.send(builtin::STRIKE, &[own.reference().0]);
    until(&mut [&mut other, &mut second], "it is hurt", |p| {
        p[1].value(own, "hp") == 95
    })
    .await;
    assert_eq!(second.value(own, "gold"), 77);
    assert_received_only(&second, own);
    assert_received_only(&other, other.entity());
    server.stop().unwrap();
}

/// Asserts that the stream brought only values that this player may see.
fn assert_received_only(player: &Player, own: EntityId) {
    let schema = player.client.view().schema();
    let column = |name: &str| schema.column(name).unwrap() as u16;
    let private = [column("hp"), column("gold")];
    assert_eq!(schema.column("luck"), None, "its name is hidden, too");
    let is_hidden = |a: &shared::Attribute| a.audience == shared::Audience::Hidden;
    let hidden = schema.attributes.iter().position(is_hidden).unwrap() as u16;
    for (tick, item) in &player.log.messages {
        let (slot, values) = match item {
            Message::Enter {
                entity,
                own: is_own,
                values,
                ..
            } => {
                assert_eq!(*is_own, *entity == own, "tick {tick}");
                (entity.slot, values)
            }
            Message::State { slot, values } => (*slot, values),
            _ => continue,
        };
        for (column, value) in values {
            assert_ne!(*column, hidden, "tick {tick}: {value} of slot {}", slot.0);
            assert!(
                slot == own.slot || !private.contains(column),
                "tick {tick}: {value} of slot {}",
                slot.0
            );
        }
    }
}
