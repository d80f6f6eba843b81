//! Who hides is not sent to others until it is revealed, and nobody is sent who is behind a wall.

use client_bot::BehaviourKind;
use shared::wire::stream::Message;
use shared::wire::talk::TalkRequest;
use shared::world::logic::Text;
use shared::{CommandKind, WorldConfig};
use testkit::scripts::with_texts;

use crate::common::names::join_named as join;
use crate::common::{Bots, Player, all_listen, go, start_with, ticks, until, world};

const FILE: &str = "
    [world]
    size = [32, 16]
    aoi = 30
    capacity = 200
    tick_hz = 20

    [visibility]
    hides = 'veil'
    reveals = 'insight'
    line_of_sight = true

    [limits]
    clients = 32
    atomic_per_tick = 64

    [logic]
    builtin = ['move', 'say', 'roam']

    [commands]
    move = { speed_max = 1000 }

    [[kind]]
    name = 'player'
    spawn = { center = [6, 8], radius = 3 }
    attributes = [
        { name = 'veil', type = 'i32', merge = 'last', audience = 'state' },
        { name = 'insight', type = 'i32', merge = 'last', audience = 'private' },
    ]

    [[kind]]
    name = 'rat'
    population = 20
    attributes = [{ name = 'veil', type = 'i32', merge = 'last', default = { one_of = [0, 1, 2, 3] }, audience = 'state' }]

    [[kind]]
    name = 'gate'
    blocks = [1, 2]
    places = [[16.5, 8]]
    attributes = [{ name = 'closed', type = 'bool', default = true, audience = 'state' }]

    [[every]]
    kind = 'rat'
    ticks = 2
    command = 'roam'

    [[layer]]
    name = 'blocked'
    drawing = '''
................#...............
................#...............
................#...............
................#...............
................#...............
................#...............
................#...............
................................
................................
................#...............
................#...............
................#...............
................#...............
................#...............
................#...............
................#...............
'''
";

const SCRIPTS: &str = "
    #[command(clients, atomic)]
    fn jump(me: Entity) { me.position = point(28.0, 8.5); }
    #[command(clients)]
    fn hide(me: Entity, bits: i32) { me.veil = bits & 3; }
    #[command(clients)]
    fn look(me: Entity, bits: i32) { me.insight = bits & 3; }
    #[command(clients)]
    fn swing(me: Entity) { for gate in near(me, 60.0, \"gate\") { gate.closed = !gate.closed; } }
";

fn halls() -> WorldConfig {
    with_texts(&world(FILE), vec![Text::new("halls.rs", SCRIPTS)])
}

fn command(config: &WorldConfig, name: &str) -> CommandKind {
    config.schema.command_named(name).unwrap().kind
}

fn sees(player: &Player, other: &Player) -> bool {
    let seen = player.client.view().entities();
    seen.contains_key(&other.entity().slot.0)
}

/// How often a player was sent something of a slot, and how often it received talk.
fn news(player: &Player, of: &Player) -> [usize; 2] {
    let slot = of.entity().slot;
    let (mut news, mut texts) = (0, 0);
    for (_, message) in &player.log.messages {
        match message {
            Message::Enter { entity, .. } => news += usize::from(entity.slot == slot),
            Message::State { slot: own, .. } => news += usize::from(*own == slot),
            Message::Leave(own) => news += usize::from(*own == slot),
            Message::Talk(_) => texts += 1,
            _ => {}
        }
    }
    [news, texts]
}

#[tokio::test]
async fn one_that_hides_is_not_sent_until_it_is_revealed() {
    let config = halls();
    let [hide, look] = ["hide", "look"].map(|name| command(&config, name));
    let server = start_with("", |options| options.world = config);
    let mut players = vec![];
    for (called, x) in [("Thief", 2.0), ("Guard", 4.0)] {
        let mut player = join(&server, called).await;
        go(&mut player, x, 4.0).await;
        players.push(player);
    }
    let [thief, guard] = &mut players[..] else {
        panic!("there are two")
    };
    until(&mut [thief, guard], "they see each other", |p| {
        sees(p[0], p[1]) && sees(p[1], p[0])
    })
    .await;
    thief.send(hide, &[1]);
    until(&mut [thief, guard], "the thief is gone", |p| {
        sees(p[0], p[1]) && !sees(p[1], p[0])
    })
    .await;
    all_listen(&server, &mut players).await;
    let before = news(&players[1], &players[0]);
    // It walks, changes and talks unseen and unheard.
    go(&mut players[0], 6.0, 6.0).await;
    players[0].send(hide, &[3]);
    let text = "nobody is here".to_owned();
    let number = players[0].client.talk(TalkRequest::Say { text });
    players[0].answer(number).await.unwrap();
    all_listen(&server, &mut players).await;
    assert_eq!(news(&players[1], &players[0]), before);
    let [thief, guard] = &mut players[..] else {
        panic!("there are two")
    };
    guard.send(look, &[3]);
    until(&mut [thief, guard], "the guard sees through it", |p| {
        sees(p[0], p[1]) && sees(p[1], p[0])
    })
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn one_behind_a_wall_is_not_sent_until_the_gate_is_open() {
    let config = halls();
    let [swing, jump] = ["swing", "jump"].map(|name| command(&config, name));
    let server = start_with("", |options| options.world = config);
    let mut players = vec![];
    for called in ["Ann", "Bob"] {
        let mut player = join(&server, called).await;
        go(&mut player, 4.0, 8.5).await;
        players.push(player);
    }
    let [ann, bob] = &mut players[..] else {
        panic!("there are two")
    };
    bob.send(jump, &[]);
    until(&mut [ann, bob], "each sees the gate only", |p| {
        let sees_gate = |player: &Player| {
            let mut seen = player.client.view().entities().values();
            seen.any(|entity| entity.kind == 2)
        };
        sees_gate(p[0]) && sees_gate(p[1]) && !sees(p[0], p[1]) && !sees(p[1], p[0])
    })
    .await;
    ann.send(swing, &[]);
    until(&mut [ann, bob], "they see each other", |p| {
        sees(p[0], p[1]) && sees(p[1], p[0])
    })
    .await;
    bob.send(swing, &[]);
    until(&mut [ann, bob], "they are apart again", |p| {
        !sees(p[0], p[1]) && !sees(p[1], p[0])
    })
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_see_nothing_that_is_hidden_from_them() {
    let config = halls();
    let visibility = config.schema.visibility;
    let server = start_with("", |options| options.world = config);
    let bots = Bots::start_with(&server, 16, BehaviourKind::Any, |options| {
        options.visibility = visibility;
    })
    .await;
    ticks(&server, 160).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
