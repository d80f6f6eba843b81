use gpu_kernels::content::{Batch, Matches, Subscriptions};
use shared::world::mix::mix;

/// One way to match. The subscriptions are common to all.
pub trait Subject {
    fn backend(&self) -> &'static str;
    fn approach(&self) -> String;
    fn threads(&self) -> usize {
        1
    }
    /// Bytes of its own structures.
    fn bytes(&self, subscriptions: &Subscriptions) -> usize;
    /// Finds all matches of a batch: only the work in here is timed.
    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
    ) -> anyhow::Result<()>;
    /// The checksum of the last batch's matches.
    fn checksum(&self) -> Checksum;
    /// Name and milliseconds of each part of the last batch, if they are measured.
    fn stages(&self) -> Vec<(&'static str, f64)> {
        vec![]
    }
    /// The number of batches that went to the GPU, if there is a choice.
    fn on_gpu(&self) -> Option<u64> {
        None
    }

    /// Whether it is our matcher.
    fn is_ours(&self) -> bool {
        self.approach().starts_with(OURS)
    }
}

/// Makes one way to match, or none if that takes too long.
pub type Maker = Box<dyn Fn(&mut Subscriptions) -> anyhow::Result<Option<Box<dyn Subject>>>>;

/// The pairs of notification and subscriber, whatever their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    pub pairs: u64,
    pub sum: u64,
}

impl Checksum {
    pub fn of(matches: &Matches) -> Checksum {
        let mut checksum = Checksum::default();
        for notification in 0..matches.len() {
            for &subscriber in matches.of(notification) {
                checksum.add(notification, subscriber);
            }
        }
        checksum
    }

    pub fn of_pairs(pairs: &[(u32, u32)]) -> Checksum {
        let mut checksum = Checksum::default();
        for &(notification, subscriber) in pairs {
            checksum.add(notification as usize, subscriber);
        }
        checksum
    }

    fn add(&mut self, notification: usize, subscriber: u32) {
        self.pairs += 1;
        let pair = mix(notification as u64, u64::from(subscriber));
        self.sum = self.sum.wrapping_add(pair);
    }
}

/// The first word of our matcher's approaches.
pub const OURS: &str = "ours";
