//! Matching with the index on a GPU. The index is copied to the device once; after
//! that, only what subscriptions changed is.

mod counting;
mod device_index;
mod lists;

pub use counting::{CudaCountingMatcher, Reset, Stages};

use std::ffi::c_void;
use std::ops::Range;
use std::time::Instant;

use thiserror::Error;

use crate::cuda::KERNELS;
use crate::cuda::device::{Device, DriverError, Grid, HostBuffer, Kernel, Lane, NoDevice};
use crate::cuda::layout::Pointer;

use super::batch::{Attribute, Batch, Matches, ResolvedString, ResolvedStrings};
use super::index::Node;
use super::policy::Policy;
use super::subscriptions::Subscriptions;
use device_index::DeviceIndex;
use lists::Lists;

/// How much one launch takes; longer batches are cut. At most 2^20 notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSizes {
    pub notifications: usize,
    /// Bytes of attributes, strings and patterns.
    pub input_bytes: usize,
    /// Pairs of notification and interface, each as often as filters lead to it.
    pub pairs: usize,
}

impl Default for BatchSizes {
    fn default() -> BatchSizes {
        BatchSizes {
            notifications: 1 << 20,
            input_bytes: 256 << 20,
            pairs: 1 << 24,
        }
    }
}

impl BatchSizes {
    /// One notification, whatever it is, always fits, and numbers fit into a pair.
    fn clamped(self) -> BatchSizes {
        BatchSizes {
            notifications: self.notifications.clamp(1, 1 << 20),
            input_bytes: self.input_bytes.max(INPUT_BYTES_MIN),
            pairs: self.pairs,
        }
    }
}

/// Why a batch was not matched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MatchError {
    #[error("the GPU failed: {0}")]
    Driver(#[from] DriverError),
    #[error(
        "the batch's strings and their patterns take {needed} bytes, where {limit} are set aside"
    )]
    Strings { needed: usize, limit: usize },
}

/// A matcher with a GPU of its own.
pub struct CudaMatcher {
    on_device: ContentOnDevice,
    device: Device,
}

impl CudaMatcher {
    /// Takes memory for as many subscriptions as these may become. From here on, it
    /// must be given the same ones.
    pub fn new(
        subscriptions: &mut Subscriptions,
        sizes: BatchSizes,
    ) -> Result<CudaMatcher, NoDevice> {
        let mut device = Device::open(KERNELS)?;
        let bytes = ContentOnDevice::bytes(subscriptions, sizes);
        let base = device.allocate(bytes)?;
        let on_device = ContentOnDevice::new(&device, base, subscriptions, sizes)?;
        Ok(CudaMatcher { on_device, device })
    }

    /// Finds all matches of a batch.
    pub fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> Result<(), MatchError> {
        let device = &self.device;
        self.on_device
            .match_batch(device, subscriptions, batch, matches)
    }

    /// Copies what subscriptions have changed, ahead of the next batch.
    pub fn deploy(&mut self, subscriptions: &mut Subscriptions) -> Result<(), DriverError> {
        self.device.enter()?;
        self.on_device.index.update(&self.device, subscriptions)?;
        self.device.synchronize(Lane::Work)
    }

    /// Device memory in all.
    pub fn bytes(&self) -> u64 {
        self.on_device.taken
    }
}

/// A matcher's part of a device's memory. It goes with any device whose memory
/// at `base` is its own.
pub struct ContentOnDevice {
    sizes: BatchSizes,
    index: DeviceIndex,
    lists: Lists,
    input: Pointer,
    search: Kernel,
    scan: Kernel,
    /// Between those two, for notifications of many attributes.
    policy: Policy,
    resolved: ResolvedStrings,
    /// A small batch, so that it goes over in one copy.
    staging: HostBuffer<u64>,
    taken: u64,
}

impl ContentOnDevice {
    /// Bytes that must lie at `base`.
    pub fn bytes(subscriptions: &Subscriptions, sizes: BatchSizes) -> u64 {
        let limits = subscriptions.limits();
        let sizes = sizes.clamped();
        let mut end = 0;
        DeviceIndex::places(0, &mut end, subscriptions);
        Lists::places(0, &mut end, sizes, limits.interfaces, limits.filters);
        reserve(0, &mut end, input_bytes(sizes) as u64);
        end
    }

    /// `base` must be aligned for any number, as the driver's addresses are.
    pub fn new(
        device: &Device,
        base: Pointer,
        subscriptions: &mut Subscriptions,
        sizes: BatchSizes,
    ) -> Result<ContentOnDevice, DriverError> {
        let limits = *subscriptions.limits();
        let sizes = sizes.clamped();
        let mut end = 0;
        let index = DeviceIndex::new(device, base, &mut end, subscriptions)?;
        let lists = Lists::new(
            device,
            base,
            &mut end,
            sizes,
            limits.interfaces,
            limits.filters,
        )?;
        let input = reserve(base, &mut end, input_bytes(sizes) as u64);
        Ok(ContentOnDevice {
            sizes,
            index,
            lists,
            input,
            search: device.kernel("content_match")?,
            scan: device.kernel("content_scan")?,
            policy: Policy::default(),
            resolved: ResolvedStrings::default(),
            staging: HostBuffer::new(device, STAGING_BYTES / 8)?,
            taken: end,
        })
    }

    /// Finds all matches of a batch, with subscriptions as they are now.
    pub fn match_batch(
        &mut self,
        device: &Device,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> Result<(), MatchError> {
        device.enter()?;
        self.index.update(device, subscriptions)?;
        subscriptions.resolve(batch, &mut self.resolved);
        // A batch that comes again is copied from where it is.
        batch.lock();
        matches.clear();
        let (needed, limit) = (self.input_bytes_of(batch, 0, 0), self.sizes.input_bytes / 2);
        if needed > limit {
            return Err(MatchError::Strings { needed, limit });
        }
        let mut start = 0;
        let mut step = self.sizes.notifications;
        while start < batch.len() {
            let end = (start + step).min(batch.len());
            if end - start > 1 && self.input_bytes_of(batch, start, end) > self.sizes.input_bytes {
                step = (end - start) / 2;
                continue;
            }
            let (begin, n) = (Instant::now(), end - start);
            let widest = widest(&batch.offsets()[start..=end]);
            // By a scan of all filters, 0, or down the tree, 1, whose ways are nothing for
            // a few notifications, which leave the GPU idle.
            let choice = (widest > NARROW_MAX).then(|| self.policy.choose(n));
            let is_scan = choice.is_some_and(|(way, _)| way == 0);
            self.launch(device, subscriptions, batch, start..end, widest, is_scan)?;
            if self.lists.collect(device, n, matches)? {
                if let Some(choice) = choice {
                    self.policy.note(choice, n, begin.elapsed());
                }
                start = end;
            } else {
                // More pairs than there is room for. One notification's always fit.
                step = ((end - start) / 2).max(1);
            }
        }
        Ok(())
    }

    fn input_bytes_of(&self, batch: &Batch, start: usize, end: usize) -> usize {
        let offset = |i| batch.offsets().get(i).copied().unwrap_or_default();
        (offset(end) - offset(start)) as usize * size_of::<Attribute>()
            + self.resolved.strings.len() * size_of::<ResolvedString>()
            + self.resolved.patterns.len() * 4
    }

    /// Uploads some notifications, the widest of which has so many attributes, and starts
    /// the search.
    fn launch(
        &mut self,
        device: &Device,
        subscriptions: &Subscriptions,
        batch: &Batch,
        range: Range<usize>,
        widest: u32,
        is_scan: bool,
    ) -> Result<(), DriverError> {
        let Range { start, end } = range;
        let offsets = &batch.offsets()[start..=end];
        let first = offsets[0] as usize;
        let attributes = &batch.attributes()[first..offsets[end - start] as usize];
        let mut input = Input {
            device,
            to: self.input,
            staging: &mut self.staging,
            used: 0,
            staged: 0,
        };
        let strings = &self.resolved.strings;
        let patterns = &self.resolved.patterns;
        let in_place = [
            input.put(offsets.len(), offsets, |offset| [u64::from(*offset), 0], 4)?,
            input.put(attributes.len(), attributes, attribute_words, 16)?,
            input.put(strings.len(), strings, string_words, 16)?,
            input.put(patterns.len(), patterns, |id| [u64::from(*id), 0], 4)?,
        ];
        input.send()?;
        let n = (end - start) as u32;
        self.lists.clear(device, n)?;
        let index = &self.index;
        let host = &subscriptions.index;
        let (sets, entries) = (
            host.sets.rows().len() as u32,
            host.entries.items().len() as u32,
        );
        let tiles = n.div_ceil(SCAN_TILE);
        let slices = match is_scan {
            true => (BLOCKS_WANTED / tiles).clamp(1, entries.div_ceil(THREADS_PER_BLOCK).max(1)),
            // A set takes less time than a token does, which many filters may have.
            false => (WARPS_WANTED / n).clamp(
                1,
                (2 * widest).max(sets.min(1 << widest.min(31)) / 32).max(1),
            ),
        };
        let attributes_max = widest.next_multiple_of(8).max(8);
        let mut search = Search {
            nodes: index.nodes,
            entries: index.entries,
            conditions: index.conditions,
            sets: index.sets,
            offsets: in_place[0],
            // Offsets count from the batch's first attribute.
            attributes: in_place[1].wrapping_sub((first * size_of::<Attribute>()) as u64),
            strings: in_place[2],
            patterns: in_place[3],
            bits: self.lists.bits,
            pairs: self.lists.pairs(),
            pair_count: self.lists.pair_count,
            pairs_max: self.lists.pairs_max as u64,
            root: host.root,
            node_mask: host.nodes.nodes().len() as u32 - 1,
            notifications: n,
            slices,
            attributes_max,
            words: self.lists.words,
            interface_bits: self.lists.interface_bits,
            set_sizes: host.sets.size_bits(),
            set_count: sets,
            entry_count: entries,
            padding: 0,
        };
        if is_scan {
            let grid = Grid {
                blocks: tiles * slices,
                threads: THREADS_PER_BLOCK,
                shared_bytes: SCAN_TILE * attributes_max * 20,
            };
            return device.launch(self.scan, grid, &mut [argument(&mut search)]);
        }
        let grid = Grid {
            blocks: (u64::from(n) * u64::from(slices)).div_ceil(WARPS_PER_BLOCK.into()) as u32,
            threads: WARPS_PER_BLOCK * 32,
            shared_bytes: WARPS_PER_BLOCK * attributes_max * 40,
        };
        device.launch(self.search, grid, &mut [argument(&mut search)])
    }
}

/// As `kernels/content.cu` has it.
#[repr(C)]
struct Search {
    nodes: Pointer,
    entries: Pointer,
    conditions: Pointer,
    sets: Pointer,
    offsets: Pointer,
    attributes: Pointer,
    strings: Pointer,
    patterns: Pointer,
    bits: Pointer,
    pairs: Pointer,
    pair_count: Pointer,
    pairs_max: u64,
    root: Node,
    node_mask: u32,
    notifications: u32,
    slices: u32,
    attributes_max: u32,
    words: u32,
    interface_bits: u32,
    set_sizes: u32,
    set_count: u32,
    entry_count: u32,
    padding: u32,
}

const _: () = assert!(size_of::<Search>() == 168);

/// Puts arrays one behind the other on the device: by way of page-locked memory
/// while that lasts, else each by itself.
struct Input<'a> {
    device: &'a Device,
    to: Pointer,
    staging: &'a mut HostBuffer<u64>,
    /// In words of 8 bytes.
    used: usize,
    staged: usize,
}

impl Input<'_> {
    /// `words` gives an item's bytes, 16 or the low 4 of the first word.
    fn put<T: Copy>(
        &mut self,
        n: usize,
        items: &[T],
        words: impl Fn(&T) -> [u64; 2],
        bytes: usize,
    ) -> Result<Pointer, DriverError> {
        let start = self.used;
        // Arrays begin at multiples of 16 bytes.
        self.used += (n * bytes).div_ceil(16) * 2;
        let place = self.to + start as u64 * 8;
        if self.used > self.staging.len() || self.staged < start {
            self.device.upload(Lane::Work, place, items)?;
            return Ok(place);
        }
        self.staged = self.used;
        let room = &mut self.staging[start..self.used];
        match bytes {
            16 => {
                for (to, item) in room.chunks_exact_mut(2).zip(items) {
                    to.copy_from_slice(&words(item));
                }
            }
            _ => {
                for (to, pair) in room.iter_mut().zip(items.chunks(2)) {
                    let high = pair.get(1).map_or(0, |item| words(item)[0] << 32);
                    *to = words(&pair[0])[0] | high;
                }
            }
        }
        Ok(place)
    }

    fn send(self) -> Result<(), DriverError> {
        self.device
            .upload(Lane::Work, self.to, &self.staging[..self.staged])
    }
}

fn attribute_words(attribute: &Attribute) -> [u64; 2] {
    let names = u64::from(attribute.name) | u64::from(attribute.is_string) << 32;
    [attribute.value, names]
}

fn string_words(string: &ResolvedString) -> [u64; 2] {
    let low = u64::from(string.exact) | u64::from(string.patterns_start) << 32;
    [low, u64::from(string.patterns_len)]
}

/// The most attributes of any notification.
fn widest(offsets: &[u32]) -> u32 {
    let each = offsets.windows(2).map(|pair| pair[1] - pair[0]);
    each.max().unwrap_or(0)
}

fn input_bytes(sizes: BatchSizes) -> usize {
    sizes.input_bytes + (sizes.notifications + 1) * 4 + 64
}

/// The next place in an allocation, aligned for any access.
fn reserve(base: Pointer, end: &mut u64, bytes: u64) -> Pointer {
    let place = base + *end;
    *end += bytes.next_multiple_of(256);
    place
}

fn argument<T>(value: &mut T) -> *mut c_void {
    (value as *mut T).cast()
}

/// Many times what a large GPU holds at once, since some slices take far longer than
/// others.
const WARPS_WANTED: u32 = 1 << 17;
const WARPS_PER_BLOCK: u32 = 4;
/// With more attributes, a notification's ways through the tree are many and long.
const NARROW_MAX: u32 = 16;
/// Notifications of a scan's block, as `kernels/content.cu` has it.
const SCAN_TILE: u32 = 8;
const BLOCKS_WANTED: u32 = 1 << 10;
const THREADS_PER_BLOCK: u32 = 256;
const INPUT_BYTES_MIN: usize = 64 << 20;
const STAGING_BYTES: usize = 1 << 20;
