//! A persistent world on several GPUs of which one fails: the server ends with the GPU, the stage
//! and the way on in plain words, and the world goes on from its journal with the GPUs left.

use std::time::{Duration, Instant};

use durability::level::Level;
use gpu_kernels::Stage;
use gpu_kernels::tick::fault::Fault;
use server::host::DataOptions;
use server::{Server, ServerOptions};
use shared::Tick;
use testkit::backends::{Starter, divided};
use testkit::failing::FailingBackend;

use crate::common::folder::TestFolder;
use crate::common::witness::{Crowd, check, fight};
use crate::common::{self, DEADLINE};

const PLAYERS: usize = 4;

#[tokio::test]
async fn a_world_goes_on_with_the_gpus_that_are_left_when_one_fails() {
    let folder = TestFolder::new("a-gpu-fails");
    let data = folder.join("world");
    let start = |starter: Starter| {
        let data = DataOptions {
            level: Level::Synced,
            keeps_all: true,
            checkpoint_seconds: 10_000,
            ..DataOptions::new(&data)
        };
        Server::start(ServerOptions {
            shards: 1,
            threads: 1,
            starter: Some(starter),
            data: Some(data),
            ..ServerOptions::local(common::world(&fight(PLAYERS)))
        })
        .expect("the server starts")
    };
    let mut before = None;
    // Where an error is found at once, and where the output is awaited; fewer parts each time.
    for (parts, stage) in [(3, Stage::Merge), (2, Stage::Download)] {
        let server = start(failing(parts, stage, &before));
        let mut crowd = Crowd::join(server.address(), PLAYERS, before.take(), parts as u64).await;
        let begun = Instant::now();
        while server.is_running() {
            assert!(begun.elapsed() < DEADLINE, "the GPU never fails");
            crowd = crowd.play(Duration::from_millis(200)).await;
        }
        let error = format!(
            "GPU 1 fails in the {} stage: it should, for a test",
            stage.name()
        );
        for witness in &mut crowd.witnesses {
            let reason = witness.end().await;
            assert!(reason.contains(&error), "{reason}");
            // Options of the server are not for players.
            assert!(!reason.contains("--gpus"), "{reason}");
        }
        let left = if parts == 3 { "0,2" } else { "0" };
        assert_eq!(
            format!("{:#}", server.stop().unwrap_err()),
            format!(
                "{error}; start the server again with `--gpus {left}`; \
                 its world continues from its journal"
            )
        );
        check(&data, &mut crowd.received(), Tick(u64::MAX));
        before = Some(crowd);
    }
    let server = start(divided(1));
    let crowd = Crowd::join(server.address(), PLAYERS, before, 9).await;
    let crowd = crowd.play(Duration::from_millis(500)).await;
    server.stop().unwrap();
    check(&data, &mut crowd.received(), Tick(u64::MAX));
}

/// So many parts, of which the second fails some seconds after what was there `before`.
fn failing(parts: usize, stage: Stage, before: &Option<Crowd>) -> Starter {
    let from = before.as_ref().map_or(Tick(0), Crowd::kept);
    let fault = Fault {
        part: 1,
        stage,
        tick: from.after(100),
    };
    Starter::new(format!("cpu in {parts} parts that fails"), move |config| {
        let backend = divided(parts).try_start(config)?;
        Ok(Box::new(FailingBackend::new(backend, parts, fault)))
    })
}
