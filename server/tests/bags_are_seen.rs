//! Players see what they hold, and what the chest holds that they have opened: at a server and at a
//! gateway, again after they come back, where datagrams are lost, and in parts where much comes.

use client_bot::BehaviourKind;
use client_bot::client_core::Message;
use client_bot::connect::hello;
use shared::EntityId;

use crate::common::gateways::{Host, stop};
use crate::common::{Bots, Player, losing, scratch, start, start_with, ticks, until};

const SCRIPT: &str = "
#[command(rules)]
fn stock(me: Entity) {
    if count_held(me, \"axe\") < 2 { spawn(Axe { holder: me, wear: 3, price: 7 }); }
    if count_held(me, \"note\") < 2 { spawn(Note { holder: me }); }
}

#[command(clients)]
fn open(me: Entity, chest: Entity) {
    require(me.looks_into != chest);
    me.looks_into = chest;
}

#[command(clients)]
fn close(me: Entity) { me.looks_into = none; }

#[command(clients, atomic)]
fn take(me: Entity, it: Entity) {
    require(it.holder == me.looks_into && it.holder != none);
    it.holder = me;
}

#[command(clients)]
fn put_back(me: Entity, it: Entity) { if it.holder == me { it.holder = me.looks_into; } }

#[command(clients)]
fn sew(me: Entity) { if count_held(me, \"bag\") < 2 { spawn(Bag { holder: me }); } }

#[command(clients)]
fn pack(me: Entity) {
    for bag in held_by(me, \"bag\") {
        for it in held_by(me, \"axe\") { it.holder = bag; }
        return;
    }
}

#[command(clients)]
fn wear_down(me: Entity, it: Entity) { if it.kind == \"axe\" { it.wear += 1; } }

#[command(clients)]
fn put_on(me: Entity) { if count_held(me, \"hat\") == 0 { spawn(Hat { holder: me, size: 5, secret: 9 }); } }

#[command(clients)]
fn take_off(me: Entity) { for it in held_by(me, \"hat\") { despawn(it); } }

#[command(clients)]
fn mint(me: Entity) { for _n in 0..50 { spawn(Coin { holder: me }); } }
";

fn world(name: &str, limits: &str) -> String {
    let folder = scratch(&format!("bags-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("all.rs"), SCRIPT).unwrap();
    format!(
        "
        [world]
        size = [10, 10]
        capacity = 1000
        tick_hz = 20

        [limits]
        clients = 32
        resume_seconds = 30
        {limits}

        [logic]
        folder = {folder:?}

        [[kind]]
        name = 'player'
        attributes = [
            {{ name = 'looks_into', type = 'entity', audience = 'private', shows_held = true }},
        ]

        [[kind]]
        name = 'chest'
        population = 1

        [[kind]]
        name = 'bag'
        place = 'none'

        [[kind]]
        name = 'axe'
        place = 'none'
        attributes = [
            {{ name = 'wear', type = 'i32', min = 0, max = 1000, audience = 'state' }},
            {{ name = 'price', type = 'i32', min = 0, max = 1000, audience = 'private' }},
        ]

        [[kind]]
        name = 'note'
        place = 'none'
        shown = 'none'

        [[kind]]
        name = 'hat'
        place = 'none'
        shown = 'all'
        attributes = [
            {{ name = 'size', type = 'i32', audience = 'state' }},
            {{ name = 'secret', type = 'i32', audience = 'private' }},
        ]

        [[kind]]
        name = 'coin'
        place = 'none'

        [[every]]
        kind = 'chest'
        ticks = 5
        command = 'stock'
        "
    )
}

fn give(player: &mut Player, command: &str, words: &[i32]) {
    let command = player.client.view().schema().command_named(command);
    let command = command.expect("a command").kind;
    player.send(command, words);
}

/// The things of a kind that an entity holds itself, as a player sees them.
fn held(player: &Player, holder: EntityId, kind: &str) -> Vec<EntityId> {
    let view = player.client.view();
    let kind = view.schema().kind(kind);
    let held = view
        .held_by(holder)
        .filter(|thing| Some(usize::from(thing.kind)) == kind);
    held.map(|thing| thing.id).collect()
}

fn value(player: &Player, thing: EntityId, attribute: &str) -> i32 {
    let view = player.client.view();
    let column = view.schema().column(attribute).expect("an attribute");
    view.get(thing.slot).map_or(-1, |thing| thing.row[column])
}

fn chest(player: &Player) -> EntityId {
    let view = player.client.view();
    let kind = view.schema().kind("chest");
    let mut all = view.entities().values();
    let chest = all.find(|entity| Some(usize::from(entity.kind)) == kind);
    chest.expect("the chest is in view").id
}

#[tokio::test]
async fn a_player_sees_its_bag_and_the_chest_that_it_has_opened_and_others_see_its_hat() {
    let host = Host::start(&world("seen", ""), "bags", |_| ());
    let gateway = host.gateway().await;
    let mut ann = host.join(gateway.address(), &hello("", None)).await;
    let mut bob = host.join(host.server.address(), &hello("", None)).await;
    let own = ann.entity();
    let sees_all = |p: &[&mut Player]| p.iter().all(|p| p.client.view().entities().len() == 3);
    until(&mut [&mut ann, &mut bob], "all are in view", |p| {
        sees_all(p)
    })
    .await;
    let chest = chest(&ann);
    assert!(ann.client.view().things().is_empty(), "it is closed");

    give(&mut ann, "open", &[chest.reference().0]);
    until(&mut [&mut ann, &mut bob], "the chest is open", |p| {
        held(p[0], chest, "axe").len() == 2
    })
    .await;
    let axe = held(&ann, chest, "axe")[0];
    assert_eq!(
        (value(&ann, axe, "wear"), value(&ann, axe, "price")),
        (3, 0),
        "not its own"
    );
    assert!(held(&ann, chest, "note").is_empty(), "notes are hidden");

    give(&mut ann, "take", &[axe.reference().0]);
    until(&mut [&mut ann, &mut bob], "it has an axe", |p| {
        held(p[0], own, "axe") == [axe]
    })
    .await;
    assert_eq!(value(&ann, axe, "price"), 7);
    until(&mut [&mut ann, &mut bob], "another one is there", |p| {
        held(p[0], chest, "axe").len() == 2
    })
    .await;

    give(&mut ann, "sew", &[]);
    until(&mut [&mut ann, &mut bob], "it has a bag", |p| {
        held(p[0], own, "bag").len() == 1
    })
    .await;
    let bag = held(&ann, own, "bag")[0];
    give(&mut ann, "pack", &[]);
    until(&mut [&mut ann, &mut bob], "it is packed", |p| {
        held(p[0], bag, "axe") == [axe]
    })
    .await;
    give(&mut ann, "wear_down", &[axe.reference().0]);
    until(&mut [&mut ann, &mut bob], "it is worn", |p| {
        value(p[0], axe, "wear") == 4
    })
    .await;
    assert_eq!(
        ann.enters_of(axe),
        2,
        "once in the chest, then with its price"
    );

    give(&mut ann, "close", &[]);
    until(&mut [&mut ann, &mut bob], "the chest is closed", |p| {
        p[0].client.view().things().len() == 2
    })
    .await;
    assert!(bob.client.view().things().is_empty());

    give(&mut ann, "put_on", &[]);
    until(&mut [&mut ann, &mut bob], "all see the hat", |p| {
        p.iter().all(|p| held(p, own, "hat").len() == 1)
    })
    .await;
    let hat = held(&bob, own, "hat")[0];
    assert_eq!([&ann, &bob].map(|p| value(p, hat, "size")), [5, 5]);
    assert_eq!([&ann, &bob].map(|p| value(p, hat, "secret")), [9, 0]);
    assert_eq!(
        bob.client.view().things().len(),
        1,
        "and no more of its bag"
    );

    // What it has is there again when it comes back, here at the server.
    let mut again = Player::resume(&host.server, ann.client.ticket()).await;
    assert!(again.client.is_resumed());
    until(&mut [&mut again, &mut bob], "its bag is there again", |p| {
        let things = p[0].client.view().things();
        things.len() == 3 && held(p[0], bag, "axe") == [axe] && held(p[0], own, "hat") == [hat]
    })
    .await;
    assert_eq!(
        (value(&again, axe, "wear"), value(&again, axe, "price")),
        (4, 7)
    );

    give(&mut again, "take_off", &[]);
    until(&mut [&mut again, &mut bob], "nobody sees the hat", |p| {
        p.iter().all(|p| held(p, own, "hat").is_empty())
    })
    .await;
    assert!(bob.client.view().things().is_empty());
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_large_bag_comes_in_parts_and_whole() {
    let limits = "client_bytes_per_tick = 400\nupdates_per_tick = 4000";
    let server = start(&world("large", limits));
    let mut ann = Player::join(&server).await;
    let own = ann.entity();
    for count in 1..=8 {
        give(&mut ann, "mint", &[]);
        until(&mut [&mut ann], "coins come", |p| {
            held(p[0], own, "coin").len() == 50 * count
        })
        .await;
    }
    let before = ann.client.view().counts().stream_bytes;
    // All of them at once.
    let mut again = Player::resume(&server, ann.client.ticket()).await;
    until(&mut [&mut again], "all are there again", |p| {
        held(p[0], own, "coin").len() == 400
    })
    .await;
    let mut by_tick = std::collections::BTreeMap::<_, usize>::new();
    for (tick, message) in &again.log.messages {
        if matches!(message, Message::Enter { entity, .. } if entity.slot != own.slot) {
            *by_tick.entry(*tick).or_default() += 1;
        }
    }
    let most = by_tick.values().max().copied().unwrap_or_default();
    assert!((2..40).contains(&most), "{most} in a tick");
    assert!(before < 400 * 64, "{before} bytes for 400 things");
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_that_lose_a_tenth_see_the_right_things() {
    let server = start(&world("bots", ""));
    let bots = Bots::start_with(&server, 12, BehaviourKind::Any, |options| {
        options.network = losing(0.10);
        options.seed = 5;
    })
    .await;
    ticks(&server, 60).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_play_with_chests_and_in_a_market_and_see_the_right_things() {
    for world in ["bag", "market"] {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = file.join(format!("worlds/{world}.toml"));
        let server = start_with("[world]\ncapacity = 1", |options| {
            options.world = world_file::load(&file).unwrap();
        });
        let bots = Bots::start(&server, 24, BehaviourKind::Any).await;
        ticks(&server, 80).await;
        bots.verify(&server).await;
        server.stop().unwrap();
    }
}
