use crate::content::batch::Matches;
use crate::cuda::device::{Device, DriverError, Grid, HostBuffer, Kernel, Lane};
use crate::cuda::layout::Pointer;
use crate::cuda::plan::TILE_U64;
use crate::cuda::sort::{Doubled, Sort, Sorter, passes};

use super::{BatchSizes, argument, reserve};

/// What a search leaves on the device, and how it becomes lists. Where interfaces
/// are few, a notification has a bit for each; else it leaves pairs, which are
/// sorted. A handful of notifications is listed by the host.
pub struct Lists {
    pub words: u32,
    pub interface_bits: u32,
    pub pairs_max: usize,
    pub bits: Pointer,
    pub pair_count: Pointer,
    keys: Doubled,
    values: Doubled,
    partials: Pointer,
    offsets: Pointer,
    interfaces: Pointer,
    sorter: Sorter,
    kernels: Kernels,
    count_out: HostBuffer<u64>,
    pairs_out: HostBuffer<u64>,
    bits_out: HostBuffer<u32>,
    offsets_out: HostBuffer<u32>,
    interfaces_out: HostBuffer<u32>,
}

struct Kernels {
    bits_count: Kernel,
    bits_list: Kernel,
    pairs_count: Kernel,
    pairs_list: Kernel,
}

impl Lists {
    /// Words of bits, and pairs, that fit a matcher.
    fn shape(sizes: BatchSizes, interfaces: usize, filters: usize) -> (u32, usize) {
        let words = match interfaces <= INTERFACES_AS_BITS {
            true => interfaces.div_ceil(32) as u32,
            false => 0,
        };
        // At least those of one notification.
        (words, sizes.pairs.max(filters).max(interfaces))
    }

    pub fn places(
        base: Pointer,
        end: &mut u64,
        sizes: BatchSizes,
        interfaces: usize,
        filters: usize,
    ) -> [Pointer; 10] {
        let (words, pairs) = Lists::shape(sizes, interfaces, filters);
        let of_pairs = if words == 0 { pairs } else { 0 } as u64;
        let tiles = of_pairs.div_ceil(TILE_U64).max(1);
        let sort = 8 * (256 * 4 + 64 * 4 + tiles * 256 * 4);
        let most = sizes.notifications.max(pairs) as u64;
        [
            sizes.notifications as u64 * u64::from(words) * 4,
            256,
            of_pairs * 8,
            of_pairs * 8,
            of_pairs * 4,
            of_pairs * 4,
            most.div_ceil(256) * 8,
            (sizes.notifications as u64 + 1) * 4,
            pairs as u64 * 4,
            sort,
        ]
        .map(|bytes| reserve(base, end, bytes))
    }

    pub fn new(
        device: &Device,
        base: Pointer,
        end: &mut u64,
        sizes: BatchSizes,
        interfaces: usize,
        filters: usize,
    ) -> Result<Lists, DriverError> {
        let (words, pairs_max) = Lists::shape(sizes, interfaces, filters);
        let [
            bits,
            pair_count,
            k1,
            k2,
            v1,
            v2,
            partials,
            offsets,
            found,
            sort,
        ] = Lists::places(base, end, sizes, interfaces, filters);
        Ok(Lists {
            words,
            interface_bits: usize::BITS - (interfaces.max(2) - 1).leading_zeros(),
            pairs_max,
            bits,
            pair_count,
            keys: Doubled {
                first: k1,
                second: k2,
            },
            values: Doubled {
                first: v1,
                second: v2,
            },
            partials,
            offsets,
            interfaces: found,
            sorter: Sorter::load(device, sort)?,
            kernels: Kernels {
                bits_count: device.kernel("content_bits_count")?,
                bits_list: device.kernel("content_bits_list")?,
                pairs_count: device.kernel("content_pairs_count")?,
                pairs_list: device.kernel("content_pairs_list")?,
            },
            count_out: HostBuffer::new(device, 1)?,
            pairs_out: HostBuffer::new(device, PAIRS_ON_HOST)?,
            bits_out: HostBuffer::new(device, NOTIFICATIONS_ON_HOST * words.max(1) as usize)?,
            offsets_out: HostBuffer::new(device, sizes.notifications + 1)?,
            interfaces_out: HostBuffer::new(device, pairs_max)?,
        })
    }

    /// Where a search puts its pairs. A sort with an odd number of passes begins in
    /// the second buffer.
    pub fn pairs(&self) -> Pointer {
        match passes(KEY_BITS) % 2 {
            1 => self.keys.second,
            _ => self.keys.first,
        }
    }

    /// Makes room for the search of `n` notifications.
    pub fn clear(&self, device: &Device, n: u32) -> Result<(), DriverError> {
        match self.words {
            0 => device.fill(self.pair_count, 8, 0),
            words => device.fill(self.bits, u64::from(n) * u64::from(words) * 4, 0),
        }
    }

    /// Appends the lists of `n` notifications, or nothing and false where there were
    /// more pairs than fit.
    pub fn collect(
        &mut self,
        device: &Device,
        n: usize,
        matches: &mut Matches,
    ) -> Result<bool, DriverError> {
        match (self.words, n <= NOTIFICATIONS_ON_HOST) {
            (0, true) => {
                let out = &mut self.pairs_out;
                device.download(Lane::Work, &mut self.count_out, self.pair_count)?;
                // Most often that is all of them.
                let first = match passes(KEY_BITS) % 2 {
                    1 => self.keys.second,
                    _ => self.keys.first,
                };
                let room = out.len().min(self.pairs_max);
                device.download(Lane::Work, &mut out[..room], first)?;
                device.synchronize(Lane::Work)?;
                let count = self.count_out[0] as usize;
                if count <= room {
                    self.list_pairs(n, count, matches);
                    return Ok(true);
                }
                self.collect_pairs(device, n, matches)
            }
            (0, false) => {
                device.download(Lane::Work, &mut self.count_out, self.pair_count)?;
                device.synchronize(Lane::Work)?;
                self.collect_pairs(device, n, matches)
            }
            (words, true) => {
                let out = &mut self.bits_out[..n * words as usize];
                device.download(Lane::Work, out, self.bits)?;
                device.synchronize(Lane::Work)?;
                for bits in out.chunks(words as usize) {
                    list_bits(bits, matches);
                }
                Ok(true)
            }
            (words, false) => {
                let (mut bits, mut words, mut count) = (self.bits, words, n as u32);
                let (mut partials, mut offsets) = (self.partials, self.offsets);
                let (mut found, mut most) = (self.interfaces, self.pairs_max as u64);
                let grid = blocks(n as u64);
                let mut arguments = [
                    argument(&mut bits),
                    argument(&mut words),
                    argument(&mut count),
                    argument(&mut partials),
                    argument(&mut offsets),
                    argument(&mut found),
                    argument(&mut most),
                ];
                device.launch(self.kernels.bits_count, grid, &mut arguments[..4])?;
                device.launch(self.kernels.bits_list, grid, &mut arguments)?;
                self.download_lists(device, n, matches)
            }
        }
    }

    /// Sorts and lists as many pairs as were counted.
    fn collect_pairs(
        &mut self,
        device: &Device,
        n: usize,
        matches: &mut Matches,
    ) -> Result<bool, DriverError> {
        let count = self.count_out[0];
        if count > self.pairs_max as u64 {
            return Ok(false);
        }
        let sort = Sort {
            wide_keys: true,
            keys: self.keys,
            values: self.values,
            n: self.pair_count,
            n_max: count,
            key_bits: KEY_BITS,
        };
        self.sorter.sort(device, &sort)?;
        let (mut pairs, mut pair_count) = (self.keys.first, self.pair_count);
        let (mut bits, mut notifications) = (self.interface_bits, n as u32);
        let (mut partials, mut offsets) = (self.partials, self.offsets);
        let mut found = self.interfaces;
        let grid = blocks(count.max(1));
        let mut arguments = [
            argument(&mut pairs),
            argument(&mut pair_count),
            argument(&mut partials),
        ];
        device.launch(self.kernels.pairs_count, grid, &mut arguments)?;
        let mut arguments = [
            argument(&mut pairs),
            argument(&mut pair_count),
            argument(&mut bits),
            argument(&mut notifications),
            argument(&mut partials),
            argument(&mut offsets),
            argument(&mut found),
        ];
        device.launch(self.kernels.pairs_list, grid, &mut arguments)?;
        self.download_lists(device, n, matches)
    }

    fn download_lists(
        &mut self,
        device: &Device,
        n: usize,
        matches: &mut Matches,
    ) -> Result<bool, DriverError> {
        let offsets = &mut self.offsets_out[..=n];
        device.download(Lane::Work, offsets, self.offsets)?;
        device.synchronize(Lane::Work)?;
        let total = offsets[n] as usize;
        if total > self.pairs_max {
            return Ok(false);
        }
        let interfaces = &mut self.interfaces_out[..total];
        device.download(Lane::Work, interfaces, self.interfaces)?;
        device.synchronize(Lane::Work)?;
        let before = matches.interfaces.len() as u32;
        let ends = offsets[1..].iter().map(|end| before + end);
        matches.offsets.extend(ends);
        matches.interfaces.extend_from_slice(interfaces);
        Ok(true)
    }

    fn list_pairs(&mut self, n: usize, count: usize, matches: &mut Matches) {
        let pairs = &mut self.pairs_out[..count];
        pairs.sort_unstable();
        let mut rest = &pairs[..];
        for notification in 0..n as u64 {
            let end = rest.partition_point(|pair| pair >> self.interface_bits <= notification);
            let start = matches.interfaces.len();
            for pair in &rest[..end] {
                let interface = (pair & ((1 << self.interface_bits) - 1)) as u32;
                if matches.interfaces[start..].last() != Some(&interface) {
                    matches.interfaces.push(interface);
                }
            }
            matches.finish(start);
            rest = &rest[end..];
        }
    }
}

/// Appends the list of one notification.
pub fn list_bits(bits: &[u32], matches: &mut Matches) {
    let start = matches.interfaces.len();
    for (word, &bits) in bits.iter().enumerate() {
        let mut rest = bits;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            matches.interfaces.push(word as u32 * 32 + bit);
            rest &= rest - 1;
        }
    }
    matches.finish(start);
}

fn blocks(items: u64) -> Grid {
    Grid {
        blocks: items.div_ceil(256) as u32,
        threads: 256,
        shared_bytes: 0,
    }
}

/// With more, a notification's bits outweigh its matches.
const INTERFACES_AS_BITS: usize = 1_024;
const NOTIFICATIONS_ON_HOST: usize = 64;
const PAIRS_ON_HOST: usize = 4_096;
/// Of a pair: 20 bits of notification, and 28 of interface at most.
const KEY_BITS: u32 = 48;
