#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::movement::{Movement, MovementCodec};
use shared::{Course, Slot, Tick};
use shared_fuzz::world_and_message;

fuzz_target!(|data: &[u8]| {
    let Some((schema, message)) = world_and_message(data) else {
        return;
    };
    let codec = MovementCodec::new(schema).unwrap();
    let mut read = Movement::default();
    // Every second entity is known.
    let known = |slot: Slot, base| {
        let mut course = Course {
            tick: base,
            ..Course::default()
        };
        for axis in 0..schema.dimensions() {
            course.position[axis] = schema.attributes[axis].max / 2;
            course.velocity[axis] = slot.0 as i32;
        }
        (slot.0 % 2 == 0).then_some(course)
    };
    codec.decode(message, Tick(7), known, &mut read).ok();
    assert!((read.slots.len() + read.unknown) * 2 <= message.len() * 8);
    assert!(read.slots.iter().all(|s| s.0 < schema.world.capacity));
    for (i, &value) in read.positions.iter().enumerate() {
        assert!((0..=schema.attributes[i % schema.dimensions()].max).contains(&value));
    }
    assert_eq!(read.positions.len(), read.slots.len() * schema.dimensions());
    assert_eq!(read.velocities.len(), read.positions.len());
});
