#![no_main]

use libfuzzer_sys::fuzz_target;
use shared_fuzz::{decoders, world_and_message};

fuzz_target!(|data: &[u8]| {
    if let Some((schema, message)) = world_and_message(data) {
        decoders::movement(schema, message);
    }
});
