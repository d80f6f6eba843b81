#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::commands::CommandCodec;
use shared::wire::movement::MovementCodec;
use shared::wire::stream::StreamCodec;

fuzz_target!(|text: &str| {
    if let Ok(config) = world_file::parse(text, "a file") {
        let schema = &config.schema;
        let movement = MovementCodec::new(schema).unwrap();
        CommandCodec::new(schema, 0);
        StreamCodec::new(schema);
        for kind in 0..schema.kinds.len() {
            movement.tail(kind as u16, &[0; 3], &schema.default_row(kind));
        }
    }
});
