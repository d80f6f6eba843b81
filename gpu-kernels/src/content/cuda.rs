//! Matching with the index on a GPU. The index is copied to the device once. After that,
//! only the parts are copied that subscriptions changed.
//!
//! | module | holds |
//! | --- | --- |
//! | `layout` | the layouts of kernel parameters, declared once |
//! | `index` | the index on the device, and its updates |
//! | `input` | the copy of a part of a batch |
//! | `lists` | the lists of matches, from the bits or pairs of a search |

mod index;
mod input;
pub mod layout;
pub mod lists;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use device::gpu::Layout;
use device::{Copies, Device, DriverError, Grid, HostBuffer, NoDevice, Plan, Pointer};
use thiserror::Error;

use super::batch::{Attribute, Batch, Matches, ResolvedString, ResolvedStrings};
use super::policy::Policy;
use super::subscriptions::Subscriptions;
use crate::kernels::KERNELS;
use index::{DeviceIndex, IndexBuffers, IndexSizes};
use input::{Input, attribute_words, number_words, string_words};
use layout::Search;
use lists::{ListBuffers, ListSizes, Lists};

/// The most that one launch takes, of at most 2^20 notifications. Longer batches are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSizes {
    pub notifications: usize,
    /// Bytes of attributes, strings and patterns.
    pub input_bytes: usize,
    /// Pairs of notification and subscriber, counted once for each filter that matches.
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
    /// These sizes, but so that any single notification fits, and the numbers of
    /// notifications fit a pair.
    fn clamped(self) -> BatchSizes {
        BatchSizes {
            notifications: self.notifications.clamp(1, 1 << 20),
            input_bytes: self.input_bytes.max(INPUT_BYTES_MIN),
            pairs: self.pairs,
        }
    }

    /// Bytes of the input buffer.
    fn buffer_bytes(&self) -> u64 {
        (self.input_bytes + (self.notifications + 1) * 4 + 64) as u64
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

device::kernels! {
    struct Kernels { search: "content_match", compare: "content_scan" }
}

/// A matcher with an allocation of its own on a GPU.
pub struct CudaMatcher {
    sizes: BatchSizes,
    index: DeviceIndex,
    lists: Lists,
    input: Pointer<u64>,
    kernels: Kernels,
    /// Chooses the way for notifications of many attributes.
    policy: Policy,
    resolved: ResolvedStrings,
    /// Collects a small batch, so that it is one copy.
    staging: HostBuffer<u64>,
    bytes: u64,
    device: Arc<Device>,
}

impl CudaMatcher {
    /// A matcher on the GPU with this number, with memory for as many subscriptions as their
    /// limits allow. All later calls must be given the same subscriptions.
    ///
    /// # Errors
    /// If the GPU can't be used, or has too little memory.
    pub fn new(
        ordinal: u32,
        subscriptions: &mut Subscriptions,
        sizes: BatchSizes,
    ) -> Result<CudaMatcher, NoDevice> {
        let limits = *subscriptions.limits();
        let sizes = sizes.clamped();
        let list_sizes = ListSizes::new(sizes, limits.subscribers, limits.filters);
        let mut plan = Plan::default();
        let index_group = plan.add(IndexBuffers::buffers(&IndexSizes::of(subscriptions)));
        let lists_group = plan.add(ListBuffers::buffers(&list_sizes));
        let scratch = list_sizes.add_scratch(&mut plan);
        let input = plan.add_bytes("input", sizes.buffer_bytes());
        let mut device = Device::open(ordinal, &KERNELS, &LAYOUTS)?;
        let base = device.allocate(plan.bytes())?;
        let device = Arc::new(device);
        let mut index = IndexBuffers::default();
        index.place(plan.places(base, &index_group));
        let mut lists = ListBuffers::default();
        lists.place(plan.places(base, &lists_group));
        let scratch = Pointer::new(base + scratch);
        Ok(CudaMatcher {
            sizes,
            index: DeviceIndex::new(&device, index, subscriptions)?,
            lists: Lists::new(&device, list_sizes, limits.subscribers, lists, scratch)?,
            input: Pointer::new(base + input),
            kernels: Kernels::load(&device)?,
            policy: Policy::default(),
            resolved: ResolvedStrings::default(),
            staging: HostBuffer::new(&device, STAGING_BYTES / 8)?,
            bytes: plan.bytes(),
            device,
        })
    }

    /// Finds all matches of a batch. After an error, `matches` is incomplete.
    pub fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> Result<(), MatchError> {
        self.device.enter()?;
        self.index.update(&self.device, subscriptions)?;
        subscriptions.resolve(batch, &mut self.resolved);
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
            if self.match_some(subscriptions, batch, start..end, matches)? {
                start = end;
            } else {
                // There are more pairs than fit. Those of one notification always fit.
                step = ((end - start) / 2).max(1);
            }
        }
        Ok(())
    }

    /// Copies the changes of subscriptions to the device, ahead of the next batch.
    pub fn deploy(&mut self, subscriptions: &mut Subscriptions) -> Result<(), DriverError> {
        self.device.enter()?;
        self.index.update(&self.device, subscriptions)
    }

    /// Bytes of device memory in all.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the input for the notifications from `start` to `end`.
    fn input_bytes_of(&self, batch: &Batch, start: usize, end: usize) -> usize {
        let offset = |i| batch.offsets().get(i).copied().unwrap_or_default();
        (offset(end) - offset(start)) as usize * size_of::<Attribute>()
            + self.resolved.strings.len() * size_of::<ResolvedString>()
            + self.resolved.patterns.len() * 4
    }

    /// Appends the matches of some notifications. If there are more than one launch can list,
    /// appends nothing and returns false.
    fn match_some(
        &mut self,
        subscriptions: &Subscriptions,
        batch: &Batch,
        range: Range<usize>,
        matches: &mut Matches,
    ) -> Result<bool, DriverError> {
        let (begin, n) = (Instant::now(), range.len());
        let offsets = &batch.offsets()[range.start..=range.end];
        let widest = widest(offsets);
        // Way 0 compares all filters, way 1 goes down the tree. Down the tree, a few
        // notifications of many attributes leave the GPU idle.
        let choice = (widest > NARROW_MAX).then(|| self.policy.choose(n));
        let is_scan = choice.is_some_and(|(way, _)| way == 0);
        let mut search = self.search(subscriptions, n as u32, widest, is_scan);
        let (device, kernels) = (self.device.clone(), self.kernels);
        let (to, resolved) = (self.input, &self.resolved);
        let (staging, lists) = (&mut self.staging, &mut self.lists);
        device.copies(|copies| {
            let mut input = Input::new(copies, to, staging);
            put(&mut input, batch, offsets, resolved, &mut search)?;
            input.send()?;
            lists.clear(copies.device(), n as u32)?;
            launch(copies, kernels, &search, is_scan)?;
            lists.fetch(copies, n)
        })?;
        let is_listed = self.lists.collect(&device, n, matches)?;
        if let Some(choice) = choice.filter(|_| is_listed) {
            self.policy.note(choice, n, begin.elapsed());
        }
        Ok(is_listed)
    }

    /// The parameters of a launch, without its input.
    fn search(&self, subscriptions: &Subscriptions, n: u32, widest: u32, is_scan: bool) -> Search {
        let (index, lists) = (&self.index.buffers, &self.lists);
        let host = &subscriptions.index;
        let sets = host.sets.rows().len() as u32;
        let entries = host.entries.items().len() as u32;
        let slices = match is_scan {
            true => (BLOCKS_WANTED / n.div_ceil(SCAN_TILE))
                .min(SLICES_MAX)
                .clamp(1, entries.div_ceil(THREADS_PER_BLOCK).max(1)),
            // A set takes less time than a token, which many filters may have.
            false => (WARPS_WANTED / n).clamp(
                1,
                (2 * widest).max(sets.min(1 << widest.min(31)) / 32).max(1),
            ),
        };
        Search {
            nodes: index.nodes.into(),
            entries: index.entries.into(),
            conditions: index.conditions.into(),
            sets: index.sets.into(),
            bits: lists.buffers.bits,
            pairs: lists.pairs(),
            pair_count: lists.buffers.pair_count,
            pairs_max: lists.pairs_max(),
            root: host.root,
            node_mask: host.nodes.nodes().len() as u32 - 1,
            notifications: n,
            slices,
            attributes_max: widest.next_multiple_of(8).max(8),
            words: lists.words(),
            subscriber_bits: lists.subscriber_bits,
            set_sizes: host.sets.size_bits(),
            set_count: sets,
            entry_count: entries,
            ..Search::default()
        }
    }
}

/// Puts a part of a batch into the input, and its places into the parameters.
fn put<'scope>(
    input: &mut Input<'scope, '_>,
    batch: &'scope Batch,
    offsets: &'scope [u32],
    resolved: &'scope ResolvedStrings,
    search: &mut Search,
) -> Result<(), DriverError> {
    let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
    // Copied from where they are, if that pays.
    let attributes = &batch.sendable_attributes()[first..last];
    search.offsets = input.put(offsets, number_words)?.into();
    let attributes = input.put(attributes, attribute_words)?;
    // Offsets count from the batch's first attribute.
    let before = (first * size_of::<Attribute>()) as u64;
    search.attributes = device::ConstPointer::new(attributes.0.wrapping_sub(before));
    search.strings = input.put(&resolved.strings, string_words)?.into();
    search.patterns = input.put(&resolved.patterns, number_words)?.into();
    Ok(())
}

/// Starts a search.
#[allow(unsafe_code)]
fn launch(
    copies: &Copies<'_, '_>,
    kernels: Kernels,
    search: &Search,
    is_scan: bool,
) -> Result<(), DriverError> {
    let n = search.notifications;
    let (kernel, grid) = match is_scan {
        true => {
            let grid = Grid {
                blocks: n.div_ceil(SCAN_TILE) * search.slices,
                threads: THREADS_PER_BLOCK,
                shared_bytes: SCAN_TILE * search.attributes_max * 20,
            };
            (kernels.compare, grid)
        }
        false => {
            let warps = u64::from(n) * u64::from(search.slices);
            let grid = Grid {
                blocks: warps.div_ceil(WARPS_PER_BLOCK.into()) as u32,
                threads: WARPS_PER_BLOCK * 32,
                shared_bytes: WARPS_PER_BLOCK * search.attributes_max * 40,
            };
            (kernels.search, grid)
        }
    };
    // SAFETY: `search` is the parameter of both kernels. They read the index and the input,
    // whose lengths are in it, and write at most `pairs_max` pairs or the bits of `n`
    // notifications. Shared memory is sized for `attributes_max`.
    unsafe { copies.device().launch(kernel, grid, &(*search,)) }
}

/// The most attributes of any notification.
fn widest(offsets: &[u32]) -> u32 {
    let each = offsets.windows(2).map(|pair| pair[1] - pair[0]);
    each.max().unwrap_or(0)
}

const LAYOUTS: [Layout; 1] = [("content_layout_hash", layout::hash)];

/// Warps of a search: many times what a large GPU runs at once, since some slices take far
/// longer than others.
const WARPS_WANTED: u32 = 1 << 17;
const WARPS_PER_BLOCK: u32 = 4;
/// With more attributes than this, a notification may be compared with all filters instead
/// of going down the tree.
const NARROW_MAX: u32 = 16;
/// Notifications of a block that compares all filters, as in `kernels/content/compare.cu`.
const SCAN_TILE: u32 = 8;
/// Blocks that compare all filters. Measured on an H200: with fewer, the last ones leave the
/// GPU idle.
const BLOCKS_WANTED: u32 = 1 << 12;
/// The most slices of the entries. In smaller slices, blocks spend most time on starting.
const SLICES_MAX: u32 = 1 << 9;
const THREADS_PER_BLOCK: u32 = 256;
const INPUT_BYTES_MIN: usize = 64 << 20;
const STAGING_BYTES: usize = 1 << 20;
