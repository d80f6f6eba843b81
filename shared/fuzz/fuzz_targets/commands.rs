#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::bits::BitWriter;
use shared::wire::commands::{ClientDatagram, CommandCodec};
use shared::Tick;
use shared_fuzz::world_and_message;

/// Low bits are not cut off by the world's start.
const NOW: Tick = Tick(1 << 33);

fuzz_target!(|data: &[u8]| {
    let Some((schema, message)) = world_and_message(data) else {
        return;
    };
    let codec = CommandCodec::new(schema, 0);
    let mut read = ClientDatagram::default();
    if codec.decode(message, NOW, &mut read).is_err() {
        return;
    }
    let mut bytes = vec![];
    codec.encode(&read, &mut BitWriter::default(), &mut bytes);
    let mut again = ClientDatagram::default();
    assert_eq!(codec.decode(&bytes, NOW, &mut again), Ok(()));
    assert_eq!(again, read);
});
