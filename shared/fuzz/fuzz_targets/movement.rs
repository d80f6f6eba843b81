#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::movement::{Movement, MovementCodec};
use shared_fuzz::world_and_message;

fuzz_target!(|data: &[u8]| {
    let Some((schema, message)) = world_and_message(data) else {
        return;
    };
    let codec = MovementCodec::new(schema).unwrap();
    let mut read = Movement::default();
    let complete = codec.decode(message, &mut read).is_ok();
    assert!(read.positions.len() * 12 <= message.len() * 8);
    assert!(read.slots.iter().all(|s| s.0 < schema.world.capacity));
    for (i, &value) in read.positions.iter().enumerate() {
        assert!((0..=schema.attributes[i % schema.dimensions()].max).contains(&value));
    }
    if complete {
        assert_eq!(read.positions.len(), read.slots.len() * schema.dimensions());
        assert_eq!(read.velocities.len(), read.positions.len());
    }
});
