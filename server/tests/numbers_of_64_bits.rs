//! A client sees an attribute of 64 bits as one number, also when one half of it changes.

use std::cell::RefCell;
use std::path::Path;

use client_bot::GameClient;
use client_bot::client_core::{Event, EventType, GameOptions, NamedEvent};
use client_bot::named::whole;
use server::Server;
use server::host::DataOptions;
use shared::{AttributeValue, EntityId};

use crate::common::folder::TestFolder;
use crate::common::{DEADLINE, start_with, trust, until_game};

const WORLD: &str = "
    [world]
    size = [100, 100]
    capacity = 8

    [limits]
    clients = 4
    subscriptions_per_client = 2

    [logic]
    folder = 'logic'

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'gold', type = 'i64', default = 4_294_967_290, min = 0, audience = 'private' },
        { name = 'worth', type = 'i64', merge = 'last', audience = 'state' },
    ]
";
const SCRIPT: &str = "
#[command(clients)]
fn earn(me: Entity, by: i32) {
    me.gold += by as i64 * 1_000_000_000_000 + 1;
    me.worth = -me.gold;
}
#[command(clients)]
fn find(me: Entity, n: i32) {
    me.gold += n as i64;
}
";

#[test]
fn both_halves_are_one_number_of_a_game() {
    let folder = TestFolder::new("wide");
    std::fs::create_dir(folder.join("logic")).unwrap();
    std::fs::write(folder.join("logic/earn.rs"), SCRIPT).unwrap();
    std::fs::write(folder.join("world.toml"), WORLD).unwrap();
    let data = folder.join("data");
    let server = start(&folder.join("world.toml"), &data);
    let mut ann = joined(&server);
    let own = until(&mut ann, "she is in the world", |game, _| {
        let own = game.view()?.own()?.id;
        (gold(game, own)? == 4_294_967_290).then_some(own)
    });
    // The low half alone, then a carry into the high one, then both.
    let mut changes = vec![];
    for (command, by, expected) in [
        ("find", 5.0, 4_294_967_295),
        ("find", 1.0, 4_294_967_296),
        ("earn", 7.0, 7_004_294_967_297),
    ] {
        ann.command_named(command, &[by]).unwrap();
        let seen = RefCell::new(vec![]);
        until(&mut ann, "the command has an effect", |game, events| {
            seen.borrow_mut().extend(named(game, events));
            (gold(game, own)? == expected).then_some(())
        });
        changes.extend(seen.into_inner());
    }
    let of = |name: &str| {
        let own = changes.iter().filter(|change| change.0 == name);
        own.map(|change| (change.1, change.2)).collect::<Vec<_>>()
    };
    assert_eq!(
        of("gold"),
        [
            (4_294_967_290, 4_294_967_295),
            (4_294_967_295, 4_294_967_296),
            (4_294_967_296, 7_004_294_967_297),
        ]
    );
    // By the gold before.
    assert_eq!(of("worth"), [(0, -4_294_967_296)]);
    assert_eq!(changes.len(), 4, "{changes:?}");
    assert_eq!(whole(ann.game(), own, "worth").unwrap(), -4_294_967_296);
    ann.leave();
    server.stop().unwrap();
}

/// The changes of attributes, by name, with the values before and after.
fn named(game: &GameClient, events: &[Event]) -> Vec<(String, i64, i64)> {
    let mut all = vec![];
    for event in events {
        NamedEvent::each(event, game.view(), |event| {
            let Some((old, new)) = event.change.filter(|_| event.what == EventType::Changed) else {
                return;
            };
            let [old, new] = [old, new].map(|value| match value {
                AttributeValue::I64(number) => number,
                other => panic!("{other:?} of {:?}", event.name),
            });
            all.push((event.name.unwrap_or_default(), old, new));
        });
    }
    all
}

fn gold(game: &GameClient, entity: EntityId) -> Option<i64> {
    whole(game.game(), entity, "gold").ok()
}

fn until<T>(
    game: &mut GameClient,
    what: &str,
    holds: impl Fn(&GameClient, &[Event]) -> Option<T>,
) -> T {
    until_game(game, (what, DEADLINE), holds)
}

fn start(world: &Path, data: &Path) -> Server {
    start_with("[world]\nsize = [10, 10]\ncapacity = 1\n", |options| {
        options.world = world_file::load(world).unwrap();
        options.data = Some(DataOptions::new(data));
    })
}

fn joined(server: &Server) -> GameClient {
    let trust = trust(server);
    let options = GameOptions::default();
    GameClient::new(server.address(), "localhost", &trust, options).expect("a socket")
}
