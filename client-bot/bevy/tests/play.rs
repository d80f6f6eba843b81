//! Apps play in a real world.

use std::thread::sleep;
use std::time::{Duration, Instant};

use bevy_app::{App, Update};
use bevy_ecs::message::Messages;
use bevy_ecs::prelude::*;
use bevy_myriad::client_bot::client_core::{Event, GameOptions};
use bevy_myriad::client_bot::connect::addresses_of;
use bevy_myriad::client_bot::{GameClient, Trust};
use bevy_myriad::{Myriad, MyriadEvent, MyriadPlugin, Seen};
use bevy_transform::components::Transform;

#[path = "../../tests/served/mod.rs"]
mod served;
use served::{Server, serve};

const WORLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/world.toml");

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
