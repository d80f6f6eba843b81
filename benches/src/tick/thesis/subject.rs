use gpu_kernels::Frame;
use shared::world::mix::mix;

use crate::report::Sample;

/// One way to run ticks.
pub trait Subject {
    /// Runs one tick: only the work in here is timed.
    fn tick(&mut self, frame: &Frame) -> anyhow::Result<Sample>;

    /// Calls `visit` with each (observer, entity) that the last tick delivered.
    fn deliveries(&self, visit: &mut dyn FnMut(u32, u32));
}

/// The deliveries of a tick, whatever their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    pub deliveries: u64,
    pub sum: u64,
}

impl Checksum {
    pub fn of(subject: &dyn Subject) -> Checksum {
        let mut checksum = Checksum::default();
        subject.deliveries(&mut |observer, entity| {
            checksum.deliveries += 1;
            let pair = mix(u64::from(observer), u64::from(entity));
            checksum.sum = checksum.sum.wrapping_add(pair);
        });
        checksum
    }
}
