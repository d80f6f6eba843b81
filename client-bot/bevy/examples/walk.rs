//! Walks east in a world, without a window, and prints enters and leaves.
//!
//! `cargo run --example walk -- 127.0.0.1:4433 FINGERPRINT [SECONDS]`

use std::error::Error;
use std::time::{Duration, Instant};

use bevy_app::{App, AppExit, ScheduleRunnerPlugin, Update};
use bevy_ecs::prelude::*;
use bevy_myriad::client_bot::client_core::GameOptions;
use bevy_myriad::client_bot::connect::{addresses_of, host_of};
use bevy_myriad::client_bot::{GameClient, Trust};
use bevy_myriad::{Myriad, MyriadEvent, MyriadPlugin, Seen};
use bevy_transform::components::Transform;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().ok_or("expected the server's address")?;
    let fingerprint = arguments
        .next()
        .ok_or("expected the server's fingerprint")?;
    let seconds = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let trust = Trust::with_fingerprint(&fingerprint)?;
    let client = GameClient::new(
        addresses_of(&server)?,
        host_of(&server),
        &trust,
        GameOptions::default(),
    )?;
    App::new()
        .add_plugins((
            ScheduleRunnerPlugin::run_loop(Duration::from_millis(16)),
            MyriadPlugin,
        ))
        .insert_resource(Myriad::new(client))
        .insert_resource(End(Instant::now() + Duration::from_secs(seconds)))
        .add_systems(Update, (walk, print, end))
        .run();
    Ok(())
}

#[derive(Resource)]
struct End(Instant);

fn walk(mut myriad: ResMut<Myriad>) {
    if myriad.client.input_due().is_some()
        && let Err(error) = myriad.command("move", &[1.0, 0.0])
    {
        eprintln!("cannot walk: {error}");
    }
}

fn print(mut events: MessageReader<MyriadEvent>, seen: Query<(&Seen, &Transform)>) {
    for event in events.read() {
        println!("{:?}", event.event);
        if let Some((seen, transform)) = event.entity.and_then(|entity| seen.get(entity).ok()) {
            println!("  a {} at {}", seen.kind, transform.translation);
        }
    }
}

fn end(end: Res<End>, mut exit: MessageWriter<AppExit>) {
    if Instant::now() >= end.0 {
        exit.write(AppExit::Success);
    }
}
