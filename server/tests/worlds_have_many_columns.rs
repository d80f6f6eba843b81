//! Clients see all attributes of worlds with more than 64 columns.

use std::time::Instant;

use client_bot::BehaviourKind;
use client_bot::GameClient;
use client_bot::client_core::{Event, GameOptions, View};
use client_bot::named::whole;
use shared::{Audience, EntityId};

use crate::common::gateways::{Host, stop};
use crate::common::{Bots, DEADLINE, scratch, start, ticks, trust, until_game};

const SCRIPT: &str = "
#[command(clients)]
fn stir(me: Entity, n: i32) {
    me.skill[n % 40] += n;
    me.secret += n;
    me.purse += n as i64 * 3_000_000_000;
    for it in near(me, 100.0) {
        it.leaf[0] += n;
        it.leaf[n % 60] += 2 * n;
        it.leaf[59] -= n;
        it.depth += 3 * n;
        it.ore[n % 50] += n;
        it.vein.max(n);
        it.room[49] = 5 * n;
        it.door = n % 2 == 0;
    }
}

/// What bots give.
#[command(clients)]
fn shake(me: Entity, n: i32, other: Entity) {
    other.leaf[n % 60] += n;
    other.ore[n % 50] -= n;
    other.room[n % 50] = n;
    other.depth += 1;
    me.skill[n % 40] += 1;
}

#[command(clients)]
fn plant(me: Entity, n: i32) {
    require(n % 8 == 0);
    spawn(Rock { depth: n, vein: n }, me);
}
";

/// 2 to 45, 46 to 106, 107 to 158 and 159 to 209 are the columns of its kinds.
fn text(name: &str) -> String {
    let folder = scratch(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("all.rs"), SCRIPT).unwrap();
    let array = |name: &str, length: usize, audience: &str| {
        format!(
            "{{ name = '{name}', type = {{ array = 'i32', length = {length} }}, \
             audience = '{audience}' }}"
        )
    };
    let [skill, leaf, ore] = [("skill", 40), ("leaf", 60), ("ore", 50)]
        .map(|(name, length)| array(name, length, "state"));
    let room = array("room", 50, "state").replace("type", "merge = 'last', type");
    format!(
        "
        [world]
        size = [40, 40]
        aoi = 100
        capacity = 200
        tick_hz = 20

        [limits]
        clients = 30
        subscriptions_per_client = 4
        timed_commands = 1000

        [logic]
        folder = {folder:?}

        [[kind]]
        name = 'player'
        attributes = [
            {skill},
            {{ name = 'secret', type = 'i32', audience = 'private' }},
            {{ name = 'purse', type = 'i64', audience = 'state' }},
            {{ name = 'heading', type = 'i32', min = 0, max = 7, audience = 'movement' }},
        ]

        [[kind]]
        name = 'tree'
        population = 4
        attributes = [{leaf}, {{ name = 'root', type = 'i32', audience = 'hidden' }}]

        [[kind]]
        name = 'rock'
        population = 4
        attributes = [
            {ore},
            {{ name = 'depth', type = 'i32', audience = 'state' }},
            {{ name = 'vein', type = 'i32', merge = 'max', audience = 'state' }},
        ]

        [[kind]]
        name = 'house'
        population = 4
        attributes = [
            {room},
            {{ name = 'door', type = 'bool', audience = 'state' }},
            {{ name = 'depth', type = 'i32', audience = 'state' }},
        ]
        "
    )
}

/// What an entity of a kind has in an attribute after commands with these numbers.
fn expected(kind: &str, attribute: &str, given: &[i32]) -> i64 {
    let place = attribute.split_once('[').map(|(array, rest)| {
        let place: i32 = rest.trim_end_matches(']').parse().unwrap();
        (array, place)
    });
    let sum: i32 = given.iter().sum();
    let at = |len: i32, place: i32| -> i32 { given.iter().filter(|&&n| n % len == place).sum() };
    i64::from(match (kind, place, attribute) {
        ("player", Some(("skill", place)), _) => at(40, place),
        ("player", _, "secret") => sum,
        ("player", _, "purse") => return i64::from(sum) * 3_000_000_000,
        ("tree", Some(("leaf", 0)), _) => sum + 2 * at(60, 0),
        ("tree", Some(("leaf", 59)), _) => 2 * at(60, 59) - sum,
        ("tree", Some(("leaf", place)), _) => 2 * at(60, place),
        ("rock", Some(("ore", place)), _) => at(50, place),
        ("rock" | "house", _, "depth") => 3 * sum,
        // The greatest of a tick's updates.
        ("rock", _, "vein") => given.last().copied().unwrap_or(0),
        ("house", Some(("room", 49)), _) => given.last().map_or(0, |n| 5 * n),
        ("house", _, "door") => given.last().map_or(0, |n| i32::from(n % 2 == 0)),
        _ => 0,
    })
}

/// The attributes in a client's view that are not as expected, and how many were compared; `None`
/// while an entity is missing.
fn wrong(game: &GameClient, player: EntityId, given: &[i32]) -> Option<(Vec<String>, usize)> {
    let view: &View = game.view()?;
    let own = view.own()?.id;
    let schema = view.schema();
    assert!(schema.attributes.len() > 200, "{}", schema.attributes.len());
    let (mut found, mut compared) = (vec![], 0);
    for entity in view.entities().values() {
        let kind = &schema.kinds[usize::from(entity.kind)];
        for attribute in &kind.attributes[2..] {
            let column = usize::from(attribute.column);
            let attribute = &schema.attributes[column];
            let is_private = attribute.audience == Audience::Private && entity.id != own;
            let is_high = attribute.ty == shared::AttributeType::High;
            if is_private || is_high || attribute.name == "heading" {
                continue;
            }
            let value = whole(game.game(), entity.id, &attribute.name).unwrap();
            let expected = match kind.name == "player" && entity.id != player {
                true => 0,
                false => expected(&kind.name, &attribute.name, given),
            };
            compared += 1;
            if value != expected {
                let name = &attribute.name;
                found.push(format!("{} {name}: {value}, not {expected}", kind.name));
            }
        }
    }
    // Two players and twelve others, and the world's own entity if it had one.
    (view.entities().len() == 14).then_some((found, compared))
}

/// Two clients, of which the first gives commands, and another that comes later.
fn play(address: std::net::SocketAddr, trust: &client_bot::Trust) {
    let join = || GameClient::new(address, "localhost", trust, GameOptions::default()).unwrap();
    let mut ann = join();
    let own = until_game(
        &mut ann,
        ("she is in the world", DEADLINE),
        |game, _: &[Event]| Some(game.view()?.own()?.id),
    );
    let mut bob = join();
    until_game(&mut bob, ("he is there, too", DEADLINE), |game, _| {
        game.view()?.own().map(|_| ())
    });
    let mut given: Vec<i32> = vec![];
    for n in [7, 59, 119, 48, 1000, 6] {
        ann.command_named("stir", &[f64::from(n)]).unwrap();
        given.push(n);
        for game in [&mut ann, &mut bob] {
            let what = format!("the view after {given:?}");
            let started = Instant::now();
            until_game(game, (&what, DEADLINE), |game, _| {
                let (wrong, compared) = wrong(game, own, &given)?;
                assert!(compared > 600, "{compared}");
                let is_late = started.elapsed() > DEADLINE / 4;
                assert!(wrong.is_empty() || !is_late, "{what}: {wrong:?}");
                wrong.is_empty().then_some(())
            });
        }
    }
    bob.leave();
    ann.leave();
}

#[tokio::test]
async fn values_reach_all_clients_as_they_change_and_as_they_come() {
    let server = start(&text("many-columns"));
    let (address, trust) = (server.address(), trust(&server));
    let played = tokio::task::spawn_blocking(move || play(address, &trust));
    played.await.unwrap();
    server.stop().unwrap();
}

#[tokio::test]
async fn values_reach_the_clients_of_a_gateway() {
    let host = Host::start(&text("many-columns-far"), "columns", |_| ());
    let gateway = host.gateway().await;
    let (address, trust) = (gateway.address(), trust(&host.server));
    let played = tokio::task::spawn_blocking(move || play(address, &trust));
    played.await.unwrap();
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn bots_find_no_errors_in_what_they_see() {
    let server = start(&text("many-columns-any"));
    let bots = Bots::start(&server, 20, BehaviourKind::Any).await;
    ticks(&server, 80).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
