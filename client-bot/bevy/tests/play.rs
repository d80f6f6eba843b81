//! Apps play in a real world.

use std::thread::sleep;
use std::time::{Duration, Instant};

use bevy_app::{App, Update};
use bevy_ecs::message::Messages;
use bevy_ecs::prelude::*;
use bevy_myriad::client_bot::client_core::{Event, GameOptions};
use bevy_myriad::client_bot::connect::addresses_of;
use bevy_myriad::client_bot::{GameClient, Trust};
use bevy_myriad::{HeldBy, Holds, Myriad, MyriadEvent, MyriadPlugin, Seen};
use bevy_transform::components::Transform;

#[path = "../../tests/served/mod.rs"]
mod served;
use served::{Server, serve};

const WORLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/world.toml");
const BAG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bag.toml");

#[test]
fn the_own_entity_follows_a_move() {
    let server = serve(WORLD);
    let mut app = join(&server);
    until(&mut [&mut app], "the own entity is spawned", |apps| {
        own(apps[0]).is_some()
    });
    let own = own(&app).expect("an entity");
    assert_eq!(
        app.world().get::<Seen>(own).expect("a component").kind,
        "player"
    );
    let before = place(&app, own);
    // The world's middle is away from the walker, so that no border stops it.
    let east = if before < 50.0 { 1.0 } else { -1.0 };
    // Input is due between the plugin's poll and its flush.
    app.add_systems(Update, move |mut myriad: ResMut<Myriad>| {
        if myriad.client.input_due().is_some() {
            myriad
                .command("move", &[east, 0.0])
                .expect("a command of the world");
        }
    });
    until(&mut [&mut app], "the transform follows", |apps| {
        (place(apps[0], own) - before) * east as f32 > 3.0
    });
}

#[test]
fn another_client_is_spawned_and_despawned() {
    let server = serve(WORLD);
    let (mut first, mut second) = (join(&server), join(&server));
    until(
        &mut [&mut first, &mut second],
        "each app sees both",
        |apps| apps.iter_mut().all(|app| seen(app).len() == 2),
    );
    let id = second
        .world()
        .resource::<Myriad>()
        .client
        .view()
        .expect("a view")
        .entity();
    let other = first
        .world()
        .resource::<Myriad>()
        .entity(id)
        .expect("it is in view");
    assert_eq!(
        first.world().get::<Seen>(other).expect("a component").id,
        id
    );

    let myriad = second
        .world_mut()
        .remove_resource::<Myriad>()
        .expect("a client");
    myriad.client.leave();
    let mut left = false;
    until(&mut [&mut first], "the other one is despawned", |apps| {
        let events = apps[0].world_mut().resource_mut::<Messages<MyriadEvent>>();
        left |= events.iter_current_update_messages().any(|event| {
            matches!(event.event, Event::Left { entity, .. } if entity == id)
                && event.entity == Some(other)
        });
        apps[0].world().get_entity(other).is_err()
    });
    assert!(left, "the app gets the event that the entity left");
    assert_eq!(seen(&mut first).len(), 1);
}

#[test]
fn a_thing_is_an_entity_with_its_holder_and_keeps_it_from_hand_to_hand() {
    let server = serve(BAG);
    let mut app = join(&server);
    until(&mut [&mut app], "an axe is in the bag", |apps| {
        let bag = own(apps[0]).and_then(|own| only_thing(apps[0], own));
        bag.is_some_and(|bag| only_thing(apps[0], bag).is_some())
    });
    let own = own(&app).expect("an entity");
    let bag = only_thing(&app, own).expect("a bag");
    let axe = only_thing(&app, bag).expect("an axe");
    assert_eq!(app.world().get::<HeldBy>(axe), Some(&HeldBy(bag)));
    assert!(app.world().get::<Transform>(axe).is_none());
    let seen = app.world().get::<Seen>(axe).expect("a component");
    assert_eq!(seen.kind, "axe");
    let wear = seen.value(app.world().resource::<Myriad>(), "wear");
    assert_eq!(wear.expect("an attribute"), 3.0);
    let id = seen.id;

    let mut myriad = app.world_mut().resource_mut::<Myriad>();
    myriad.command("unpack", &[]).expect("a command of the world");
    let mut handed_on = false;
    until(&mut [&mut app], "the axe is in the hand", |apps| {
        let events = apps[0].world_mut().resource_mut::<Messages<MyriadEvent>>();
        handed_on |= events.iter_current_update_messages().any(|event| {
            let of_holder = event.changes.iter().any(|change| change.attribute == "holder");
            event.entity == Some(axe) && of_holder
        });
        let world = apps[0].world();
        world.get::<HeldBy>(axe) == Some(&HeldBy(own)) && world.get_entity(bag).is_err()
    });
    assert!(handed_on, "the app gets the event that the holder changed");
    assert_eq!(only_thing(&app, own), Some(axe));
    assert_eq!(app.world().get::<Seen>(axe).expect("a component").id, id);
}

/// What an entity holds, if that is one thing.
fn only_thing(app: &App, holder: Entity) -> Option<Entity> {
    match app.world().get::<Holds>(holder)?.things() {
        [thing] => Some(*thing),
        _ => None,
    }
}

#[test]
fn an_unknown_command_is_refused_by_its_name() {
    let server = serve(WORLD);
    let mut app = join(&server);
    until(&mut [&mut app], "the own entity is spawned", |apps| {
        own(apps[0]).is_some()
    });
    let mut myriad = app.world_mut().resource_mut::<Myriad>();
    let error = myriad
        .command("fly", &[1.0])
        .expect_err("the world has no such command");
    assert_eq!(error.to_string(), "the world has no command `fly`");
}

fn join(server: &Server) -> App {
    let trust = Trust::with_fingerprint(&server.fingerprint).expect("a fingerprint");
    let address = addresses_of(&server.address).expect("an address");
    let client = GameClient::new(address, "localhost", &trust, GameOptions::default());
    let mut app = App::new();
    app.add_plugins(MyriadPlugin)
        .insert_resource(Myriad::new(client.expect("a client")));
    app
}

fn own(app: &App) -> Option<Entity> {
    app.world().resource::<Myriad>().own()
}

fn place(app: &App, entity: Entity) -> f32 {
    app.world()
        .get::<Transform>(entity)
        .expect("a transform")
        .translation
        .x
}

fn seen(app: &mut App) -> Vec<Entity> {
    let world = app.world_mut();
    let mut seen = world.query_filtered::<Entity, With<Seen>>();
    seen.iter(world).collect()
}

/// Runs frames until something is so.
fn until(apps: &mut [&mut App], what: &str, mut is_so: impl FnMut(&mut [&mut App]) -> bool) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        for app in apps.iter_mut() {
            app.update();
        }
        if is_so(apps) {
            return;
        }
        sleep(FRAME);
    }
    panic!("not within {PATIENCE:?}: {what}");
}

const PATIENCE: Duration = Duration::from_secs(30);
const FRAME: Duration = Duration::from_millis(8);
