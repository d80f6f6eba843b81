#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::codec;
use shared::wire::commands::CommandCodec;
use shared::wire::control::Welcome;
use shared::wire::movement::MovementCodec;
use shared::wire::stream::StreamCodec;

fuzz_target!(|message: &[u8]| {
    if let Ok(read) = Welcome::decode(message) {
        // A client builds these from the schema.
        assert!(MovementCodec::new(&read.schema).is_ok());
        StreamCodec::new(&read.schema);
        CommandCodec::new(&read.schema, read.commands_epoch);
        let again = codec::to_bytes(&read);
        assert!(again.len() <= message.len());
        assert_eq!(Welcome::decode(&again), Ok(read));
    }
});
