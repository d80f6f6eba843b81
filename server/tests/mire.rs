//! The example world `server/worlds/mire.toml`: herds follow flow fields over layers that are images.

use std::path::Path;

use client_bot::BehaviourKind;
use gpu_kernels::Frame;
use shared::WorldConfig;
use testkit::parity::Parity;

use crate::common::{Bots, start_with, ticks};

fn load() -> WorldConfig {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/mire.toml");
    world_file::load(&file).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn herds_come_nearer_to_the_fell_and_keep_out_of_water_on_every_backend() {
    let config = load();
    let schema = &config.schema;
    let elk = schema.kinds.iter().position(|kind| kind.name == "elk");
    let fell = schema.zones.iter().find(|zone| zone.name == "fell");
    let (elk, fell) = (elk.unwrap(), fell.unwrap());
    let [low, high] = fell.corners();
    let middle = [0, 1].map(|axis| low[axis].midpoint(high[axis]));
    let mut parity = Parity::new(&config);
    let mut far = vec![];
    for _ in 0..40 {
        let mut frame = Frame::new(parity.oracle.tick);
        if frame.tick.0 == 0 {
            frame.populate(&config);
        }
        frame.order(config.seed);
        parity.tick(&frame);
        let mut sum = 0.0;
        for entity in parity.oracle.alive() {
            let at = parity.oracle.position(entity.slot.0);
            assert!(!schema.layers.is_blocked(at), "{entity:?} at {at:?}");
            if usize::from(parity.oracle.slots[entity.slot.index()].kind) == elk {
                let away = [0, 1].map(|axis| f64::from(at[axis] - middle[axis]));
                sum += away[0].hypot(away[1]);
            }
        }
        far.push(sum / 2000.0 / 4096.0);
    }
    // All 2000 walk 0.75 units a tick, less in swamps, and some are there or run away.
    assert!(
        far[0] - far[39] > 10.0,
        "{} units, then {}",
        far[0],
        far[39]
    );
}

#[tokio::test]
async fn bots_shout_and_light_fires_and_see_what_is_there() {
    let server = start_with("", |options| options.world = load());
    let bots = Bots::start(&server, 12, BehaviourKind::Any).await;
    ticks(&server, 60).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
