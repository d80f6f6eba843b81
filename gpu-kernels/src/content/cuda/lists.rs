//! The result of a search on the device, and the lists that are made of it.
//!
//! If subscribers are few, the result is a bit for each subscriber of each notification.
//! Otherwise it is pairs, which are sorted. For a few notifications, the host makes the
//! lists.

use std::sync::Arc;

use device::gpu::sort::{Doubled, Sorter, scratch_bytes};
use device::{Copies, Device, DriverError, Grid, HostBuffer, Lane, Plan, Pointer};

use super::BatchSizes;
use crate::content::batch::Matches;

device::device_struct! {
    /// The result of a search, and its lists.
    pub struct ListBuffers(s: ListSizes) {
        bits: Pointer<u32> = s.notifications * s.words;
        pair_count: Pointer<u64> = 1;
        pairs: Pointer<u64> = s.sorted_pairs();
        pairs_spare: Pointer<u64> = s.sorted_pairs();
        partials: Pointer<u64> = s.notifications.max(s.pairs).div_ceil(256);
        offsets: Pointer<u32> = s.notifications + 1;
        subscribers: Pointer<u32> = s.pairs;
    }
}

device::kernels! {
    struct Kernels {
        bits_count: "content_bits_count",
        bits_list: "content_bits_list",
        pairs_count: "content_pairs_count",
        pairs_list: "content_pairs_list",
    }
}

/// The largest result of a launch.
#[derive(Clone, Copy)]
pub struct ListSizes {
    notifications: u64,
    /// Words of a notification's bits; 0 if the result is pairs.
    words: u64,
    pairs: u64,
}

impl ListSizes {
    pub fn new(sizes: BatchSizes, subscribers: usize, filters: usize) -> ListSizes {
        let words = match subscribers <= SUBSCRIBERS_AS_BITS {
            true => subscribers.div_ceil(32),
            false => 0,
        };
        ListSizes {
            notifications: sizes.notifications as u64,
            words: words as u64,
            // At least the pairs of one notification.
            pairs: sizes.pairs.max(filters).max(subscribers) as u64,
        }
    }

    /// The most pairs to sort.
    fn sorted_pairs(&self) -> u64 {
        match self.words {
            0 => self.pairs,
            _ => 0,
        }
    }

    /// Adds the scratch of the sort to a plan, and returns where it begins.
    pub fn add_scratch(&self, plan: &mut Plan) -> u64 {
        let bytes = scratch_bytes::<u64>(self.sorted_pairs(), KEY_BITS);
        plan.add_bytes("sort_scratch", bytes)
    }
}

/// The lists of a launch's notifications.
pub struct Lists {
    sizes: ListSizes,
    pub buffers: ListBuffers,
    pub subscriber_bits: u32,
    sorter: Sorter,
    kernels: Kernels,
    count_out: HostBuffer<u64>,
    pairs_out: HostBuffer<u64>,
    bits_out: HostBuffer<u32>,
    offsets_out: HostBuffer<u32>,
    subscribers_out: HostBuffer<u32>,
}

impl Lists {
    pub fn new(
        device: &Arc<Device>,
        sizes: ListSizes,
        subscribers: usize,
        buffers: ListBuffers,
        sort_scratch: Pointer<u32>,
    ) -> Result<Lists, DriverError> {
        let words = sizes.words.max(1) as usize;
        Ok(Lists {
            sizes,
            buffers,
            subscriber_bits: usize::BITS - (subscribers.max(2) - 1).leading_zeros(),
            sorter: Sorter::load(device, sort_scratch)?,
            kernels: Kernels::load(device)?,
            count_out: HostBuffer::new(device, 1)?,
            pairs_out: HostBuffer::new(device, PAIRS_ON_HOST.min(sizes.pairs as usize))?,
            bits_out: HostBuffer::new(device, NOTIFICATIONS_ON_HOST * words)?,
            offsets_out: HostBuffer::new(device, sizes.notifications as usize + 1)?,
            subscribers_out: HostBuffer::new(device, sizes.pairs as usize)?,
        })
    }

    /// Words of a notification's bits; 0 if the result is pairs.
    pub fn words(&self) -> u32 {
        self.sizes.words as u32
    }

    pub fn pairs_max(&self) -> u64 {
        self.sizes.pairs
    }

    /// Where a search puts its pairs.
    pub fn pairs(&self) -> Pointer<u64> {
        self.sorted().given(KEY_BITS)
    }

    fn sorted(&self) -> Doubled<u64> {
        Doubled {
            first: self.buffers.pairs,
            second: self.buffers.pairs_spare,
        }
    }

    /// Clears the result before a search of `n` notifications.
    pub fn clear(&self, device: &Device, n: u32) -> Result<(), DriverError> {
        match self.sizes.words {
            0 => device.fill(self.buffers.pair_count, 1, 0),
            words => device.fill(self.buffers.bits, u64::from(n) * words, 0),
        }
    }

    /// Starts to download the result of a search of `n` notifications, as far as its size is
    /// known before the search is done.
    pub fn fetch<'scope>(
        &'scope mut self,
        copies: &'scope Copies<'scope, '_>,
        n: usize,
    ) -> Result<(), DriverError> {
        let lane = Lane::Work;
        let b = self.buffers;
        let pairs = self.pairs();
        match (self.sizes.words as usize, n <= NOTIFICATIONS_ON_HOST) {
            (0, is_small) => {
                copies.download(lane, &mut self.count_out, b.pair_count)?;
                if is_small {
                    // Usually this is all of them.
                    copies.download(lane, &mut self.pairs_out, pairs)?;
                }
                Ok(())
            }
            (words, true) => copies.download(lane, &mut self.bits_out[..n * words], b.bits),
            (_, false) => {
                self.launch_listing(copies.device(), n)?;
                copies.download(lane, &mut self.offsets_out[..=n], b.offsets)
            }
        }
    }

    /// Appends the lists of `n` notifications, once the copies of [`Lists::fetch`] are done.
    /// If there are more pairs than fit, appends nothing and returns false.
    pub fn collect(
        &mut self,
        device: &Device,
        n: usize,
        matches: &mut Matches,
    ) -> Result<bool, DriverError> {
        match (self.sizes.words as usize, n <= NOTIFICATIONS_ON_HOST) {
            (0, true) if self.count_out[0] as usize <= self.pairs_out.len() => {
                self.list_pairs(n, self.count_out[0] as usize, matches);
                Ok(true)
            }
            (0, _) => self.collect_pairs(device, n, matches),
            (words, true) => {
                for bits in self.bits_out[..n * words].chunks(words) {
                    list_bits(bits, matches);
                }
                Ok(true)
            }
            (_, false) => self.collect_subscribers(device, n, matches),
        }
    }

    /// Makes the lists from the bits, on the device.
    #[allow(unsafe_code)]
    fn launch_listing(&self, device: &Device, n: usize) -> Result<(), DriverError> {
        let b = self.buffers;
        let (bits, words, count) = (b.bits, self.words(), n as u32);
        let counting = (bits, words, count, b.partials);
        let most = self.sizes.pairs;
        let listing = (
            bits,
            words,
            count,
            b.partials,
            b.offsets,
            b.subscribers,
            most,
        );
        let grid = Grid::items(n as u64, 256);
        // SAFETY: these are the parameters of these kernels. There is room for the bits, block
        // sums and offsets of `n` notifications, and at most `most` subscribers are listed.
        unsafe {
            device.launch(self.kernels.bits_count, grid, &counting)?;
            device.launch(self.kernels.bits_list, grid, &listing)
        }
    }

    /// Sorts and lists the pairs that the search counted.
    #[allow(unsafe_code)]
    fn collect_pairs(
        &mut self,
        device: &Device,
        n: usize,
        matches: &mut Matches,
    ) -> Result<bool, DriverError> {
        let count = self.count_out[0];
        if count > self.sizes.pairs {
            return Ok(false);
        }
        let b = self.buffers;
        self.sorter
            .sort_keys(device, self.sorted(), b.pair_count, count, KEY_BITS)?;
        let counting = (b.pairs, b.pair_count, b.partials);
        let bits = self.subscriber_bits;
        let (partials, offsets) = (b.partials, b.offsets);
        let listing = (
            b.pairs,
            b.pair_count,
            bits,
            n as u32,
            partials,
            offsets,
            b.subscribers,
        );
        let grid = Grid::items(count.max(1), 256);
        // SAFETY: these are the parameters of these kernels. There is room for `count` pairs,
        // and for the offsets of `n` notifications.
        unsafe {
            device.launch(self.kernels.pairs_count, grid, &counting)?;
            device.launch(self.kernels.pairs_list, grid, &listing)?;
        }
        device.read(&mut self.offsets_out[..=n], self.buffers.offsets)?;
        self.collect_subscribers(device, n, matches)
    }

    /// Appends the lists on the device, whose offsets are downloaded.
    fn collect_subscribers(
        &mut self,
        device: &Device,
        n: usize,
        matches: &mut Matches,
    ) -> Result<bool, DriverError> {
        let offsets = &self.offsets_out[..=n];
        let total = offsets[n] as usize;
        if total as u64 > self.sizes.pairs {
            return Ok(false);
        }
        let subscribers = &mut self.subscribers_out[..total];
        device.read(subscribers, self.buffers.subscribers)?;
        matches.append_lists(&offsets[1..], subscribers);
        Ok(true)
    }

    fn list_pairs(&mut self, n: usize, count: usize, matches: &mut Matches) {
        let pairs = &mut self.pairs_out[..count];
        pairs.sort_unstable();
        let mut rest = &pairs[..];
        for notification in 0..n as u64 {
            let end = rest.partition_point(|pair| pair >> self.subscriber_bits <= notification);
            let own = rest[..end].chunk_by(|a, b| a == b);
            let number = |pair: u64| (pair & ((1 << self.subscriber_bits) - 1)) as u32;
            matches.push_list(own.map(|same| number(same[0])));
            rest = &rest[end..];
        }
    }
}

/// Appends the list of one notification, from its bits.
pub fn list_bits(bits: &[u32], matches: &mut Matches) {
    matches.push_list(bits.iter().zip(0..).flat_map(|(&bits, word)| {
        let mut rest = bits;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(word * 32 + bit)
        })
    }));
}

/// With more subscribers, a notification's bits take more memory than its matches.
const SUBSCRIBERS_AS_BITS: usize = 1_024;
/// The host makes the lists of at most this many notifications.
const NOTIFICATIONS_ON_HOST: usize = 64;
/// The host makes the lists of at most this many pairs.
const PAIRS_ON_HOST: usize = 4_096;
/// Bits of a pair: 20 of the notification, and at most 28 of the subscriber.
const KEY_BITS: u32 = 48;
