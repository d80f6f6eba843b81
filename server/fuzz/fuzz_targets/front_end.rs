#![no_main]

//! What a front end in another process and the tick send to each other: any bytes are read or
//! refused. Input that was read is written as it was read; a feed that was read can be applied.

use std::sync::LazyLock;

use device::cpu::Workers;
use frontend::inbox::Inbox;
use frontend::mirror::Mirror;
use frontend::wire::feed::FeedReader;
use frontend::wire::input::Input;
use libfuzzer_sys::fuzz_target;
use shared::WorldConfig;
use shared::wire::movement::MovementCodec;

static WORLD: LazyLock<WorldConfig> = LazyLock::new(|| {
    let text = "[world]\ncapacity = 64\n[limits]\nclients = 8\n[[kind]]\nname = 'player'";
    world_file::parse(text, "fuzz").unwrap()
});

fuzz_target!(|bytes: &[u8]| {
    if let Ok(input) = Input::decode(bytes) {
        assert_eq!(input.encode(), bytes);
        input.add_to(&mut Inbox::default());
    }
    let movement = MovementCodec::new(&WORLD.schema).unwrap();
    let mut mirror = Mirror::new(&WORLD, movement);
    let (workers, mut reader) = (Workers::new(1).unwrap(), FeedReader::new(&WORLD));
    let mut rest = bytes;
    // Feeds of one link, each with its length before it.
    while let Some((&length, behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(length));
        let (feed, next) = behind.split_at(length.min(behind.len()));
        let Ok(feed) = reader.read(&workers, feed) else {
            return;
        };
        let output = &feed.publication.output;
        mirror.apply(&workers, output);
        mirror.note_newborns(&feed.publication.newborns, &output.deaths);
        rest = next;
    }
});
