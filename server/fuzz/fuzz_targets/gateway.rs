#![no_main]

//! What a gateway and its tick host send to each other, from any bytes: messages are read or refused,
//! input for others is dropped, a world that was read can be applied.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use accounts::guard::Guard;
use accounts::moment::Moment;
use accounts::shared_word::SharedWord;
use frontend::inbox::SharedInbox;
use frontend::mirror::Mirror;
use frontend::remote::{LagLimits, RemoteFrontend};
use frontend::wire::{MESSAGE_BYTES_MAX, snapshot};
use gateway::message::{HELLO_BYTES_MAX, ToGateway, ToHost};
use libfuzzer_sys::fuzz_target;
use peer::frames::FrameReader;
use shared::wire::movement::MovementCodec;
use shared::{Tick, WorldConfig};

static WORLD: LazyLock<WorldConfig> = LazyLock::new(|| {
    let text = "[world]\ncapacity = 64\n[limits]\nclients = 8\n[[kind]]\nname = 'player'";
    world_file::parse(text, "fuzz").unwrap()
});

fuzz_target!(|bytes: &[u8]| {
    let inbox = SharedInbox::default();
    let guard = Arc::new(Guard::new(Arc::new(SharedWord::new("")), 2));
    let limits = LagLimits::of(&WORLD, Duration::from_secs(1));
    let ends = (inbox.clone(), guard);
    let mut frontend = RemoteFrontend::new(0, &WORLD, ends, Tick(0), limits);
    let mut reader = FrameReader::new(HELLO_BYTES_MAX);
    reader.push(bytes);
    while let Ok(Some(message)) = reader.message::<ToHost>() {
        if let ToHost::Input(input) = &message {
            frontend.receive(input, Moment::now());
        }
    }
    // Nobody has an entity yet.
    assert!(inbox.lock().commands.is_empty());
    let mut reader = FrameReader::new(MESSAGE_BYTES_MAX);
    reader.push(bytes);
    while let Ok(Some(message)) = reader.message::<ToGateway>() {
        if let ToGateway::World(world) = message {
            let movement = MovementCodec::new(&WORLD.schema).unwrap();
            let mut mirror = Mirror::new(&WORLD, movement);
            let _ = snapshot::decode(&world.snapshot, &WORLD, &mut mirror);
        }
    }
});
