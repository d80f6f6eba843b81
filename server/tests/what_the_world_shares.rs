//! Every client has what the whole world shares, wherever its entity is, and after a crash; hooks
//! count who is there.

use std::path::Path;
use std::time::Instant;

use client_bot::GameClient;
use client_bot::client_core::{Event, GameOptions};
use server::Server;
use server::host::DataOptions;
use shared::{AttributeType, AttributeValue};

use crate::common::folder::{TestFolder, copy_folder};
use crate::common::{DEADLINE, start_with, trust, until_game};

/// Players are born far from each other.
const WORLD: &str = "
    [world]
    size = [10000, 10000]
    aoi = 10
    capacity = 8
    attributes = [
        { name = 'here', type = 'i32', audience = 'state' },
        { name = 'gone', type = 'i32', audience = 'state' },
        { name = 'reloads', type = 'i32', audience = 'state' },
        { name = 'secret', type = 'i32', default = 7, audience = 'hidden' },
    ]
    constants = ['door.room']

    [limits]
    clients = 4
    resume_seconds = 0

    [logic]
    folder = 'logic'

    [[kind]]
    name = 'player'
";
const DOOR: &str = "
const ROOM: i32 = 4;
#[on(join)]
fn come(me: Entity) {
    world.here += 1;
}
#[on(leave)]
fn go(me: Entity) {
    world.here -= 1;
    world.gone += 1;
}
#[on(reload)]
fn begin() {
    world.reloads += ROOM / ROOM;
}
";

#[test]
fn clients_see_it_wherever_they_are_and_it_survives_a_crash() {
    let folder = TestFolder::new("shared-world");
    std::fs::create_dir(folder.join("logic")).unwrap();
    std::fs::write(folder.join("logic/door.rs"), DOOR).unwrap();
    std::fs::write(folder.join("world.toml"), WORLD).unwrap();
    let data = folder.join("data");
    let server = start(&folder.join("world.toml"), &data);
    let mut ann = joined(&server);
    until(&mut ann, "she is here", |game| {
        (shared(game, "here")? == 1).then_some(())
    });
    let mut bob = joined(&server);
    for game in [&mut bob, &mut ann] {
        until(game, "two are here", |game| {
            (shared(game, "here")? == 2).then_some(())
        });
        assert_eq!(shared(game, "reloads"), Some(1));
        // No client is sent what is hidden, and the world is no entity in view.
        let schema = game.view().unwrap().schema();
        assert_eq!(schema.column("secret"), None);
        let constant = &schema.constants[0];
        assert_eq!(
            (constant.name.as_str(), constant.ty),
            ("door.room", AttributeType::I32)
        );
        assert_eq!(constant.value, 4);
        assert_eq!(game.view().unwrap().entities().len(), 1);
    }
    bob.leave();
    until(&mut ann, "one has gone", |game| {
        (shared(game, "gone")? == 1).then_some(())
    });
    assert_eq!(shared(&ann, "here"), Some(1));

    let crashed = folder.join("crashed");
    copy_folder(&data, &crashed);
    drop(ann);
    server.stop().unwrap();
    let server = start(&folder.join("world.toml"), &crashed);
    let mut eve = joined(&server);
    // Ann, whose entity was there as the server crashed, is gone for good.
    until(&mut eve, "all are counted", |game| {
        (shared(game, "gone")? == 2 && shared(game, "here")? == 1).then_some(())
    });
    assert_eq!(shared(&eve, "reloads"), Some(1));
    eve.leave();
    server.stop().unwrap();
}

#[test]
fn its_changes_are_events_of_a_game() {
    let folder = TestFolder::new("shared-events");
    std::fs::create_dir(folder.join("logic")).unwrap();
    std::fs::write(folder.join("logic/door.rs"), DOOR).unwrap();
    std::fs::write(folder.join("world.toml"), WORLD).unwrap();
    let server = start(&folder.join("world.toml"), &folder.join("data"));
    let mut ann = joined(&server);
    until(&mut ann, "she is here", |game| {
        (shared(game, "here")? == 1).then_some(())
    });
    let mut bob = joined(&server);
    until(&mut bob, "two are here", |game| {
        (shared(game, "here")? == 2).then_some(())
    });
    let started = Instant::now();
    let column = ann.view().unwrap().schema().column("here").unwrap();
    loop {
        let events = ann.poll();
        let world = ann.view().unwrap().world().unwrap().id;
        let is_change = |event: &Event| match event {
            Event::Changed {
                entity, changes, ..
            } => {
                let mut changes = changes.iter();
                *entity == world
                    && changes.any(|c| usize::from(c.column) == column && (c.old, c.new) == (1, 2))
            }
            Event::Entered { entity, .. } => panic!("{entity} has entered"),
            _ => false,
        };
        if events.iter().any(is_change) {
            break;
        }
        ann.flush();
        assert!(started.elapsed() < DEADLINE, "no event of the change");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    bob.leave();
    ann.leave();
    server.stop().unwrap();
}

fn start(world: &Path, data: &Path) -> Server {
    start_with(WORLD_WITHOUT_SCRIPTS, |options| {
        options.world = world_file::load(world).unwrap();
        options.data = Some(DataOptions {
            checkpoint_seconds: 1000,
            ..DataOptions::new(data)
        });
    })
}

const WORLD_WITHOUT_SCRIPTS: &str = "[world]\nsize = [10, 10]\ncapacity = 1\n";

fn joined(server: &Server) -> GameClient {
    let trust = trust(server);
    let options = GameOptions::default();
    GameClient::new(server.address(), "localhost", &trust, options).expect("a socket")
}

/// An attribute of the world, once it has arrived.
fn shared(game: &GameClient, name: &str) -> Option<i32> {
    let view = game.view()?;
    let column = view.schema().column(name)?;
    let world = view.world()?;
    match AttributeValue::of_word(AttributeType::I32, world.row[column]) {
        AttributeValue::I32(value) => Some(value),
        _ => None,
    }
}

/// Plays until something holds.
fn until<T>(game: &mut GameClient, what: &str, holds: impl Fn(&GameClient) -> Option<T>) -> T {
    until_game(game, (what, DEADLINE), |game, _| holds(game))
}
