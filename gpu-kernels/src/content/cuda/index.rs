//! The index on the device, and its updates from the index on the host.

use std::sync::Arc;

use device::{Device, DriverError, Grid, HostBuffer, Kernel, Plain, Pointer};

use crate::content::compile::Condition;
use crate::content::index::{Entry, NameSet, Node};
use crate::content::subscriptions::Subscriptions;

device::device_struct! {
    /// The arrays of the index, and those of a patch.
    pub struct IndexBuffers(s: IndexSizes) {
        nodes: Pointer<Node> = s.nodes;
        entries: Pointer<Entry> = s.entries;
        conditions: Pointer<Condition> = s.conditions;
        sets: Pointer<NameSet> = s.sets;
        patch_places: Pointer<u32> = PATCH_ITEMS as u64;
        patch_items: Pointer<u64> = (PATCH_ITEMS * WORDS_MAX) as u64;
    }
}

/// The most items of each array.
pub struct IndexSizes {
    nodes: u64,
    entries: u64,
    conditions: u64,
    sets: u64,
}

impl IndexSizes {
    pub fn of(subscriptions: &Subscriptions) -> IndexSizes {
        let index = &subscriptions.index;
        IndexSizes {
            nodes: index.nodes.nodes().len() as u64,
            entries: index.entries.max() as u64,
            conditions: index.conditions.max() as u64,
            sets: subscriptions.limits.filters as u64,
        }
    }
}

/// The index on the device.
pub struct DeviceIndex {
    pub buffers: IndexBuffers,
    patch: Kernel,
    places: HostBuffer<u32>,
    items: HostBuffer<u64>,
    /// Whether the index was copied at all.
    is_copied: bool,
    /// [`Subscriptions::changes`] at the last copy.
    changes: u64,
}

impl DeviceIndex {
    pub fn new(
        device: &Arc<Device>,
        buffers: IndexBuffers,
        subscriptions: &mut Subscriptions,
    ) -> Result<DeviceIndex, DriverError> {
        let filters = subscriptions.limits.filters;
        let index = &mut subscriptions.index;
        let places = index.nodes.nodes().len();
        index.nodes.dirty().watch(places);
        index.entries.watch();
        index.conditions.watch();
        index.sets.dirty().watch(filters);
        Ok(DeviceIndex {
            buffers,
            patch: device.kernel("content_patch")?,
            places: HostBuffer::new(device, PATCH_ITEMS)?,
            items: HostBuffer::new(device, PATCH_ITEMS * WORDS_MAX)?,
            is_copied: false,
            changes: 0,
        })
    }

    /// Copies the changes since the last call.
    pub fn update(
        &mut self,
        device: &Device,
        subscriptions: &mut Subscriptions,
    ) -> Result<(), DriverError> {
        if self.is_copied && self.changes == subscriptions.changes() {
            return Ok(());
        }
        let whole = !self.is_copied;
        let to = self.buffers;
        let index = &mut subscriptions.index;
        let (nodes, list) = (index.nodes.nodes(), index.nodes.changed());
        self.copy_array(device, to.nodes, nodes, list, whole, node_words)?;
        index.nodes.dirty().clear();
        let (entries, list) = (index.entries.items(), index.entries.changed());
        self.copy_array(device, to.entries, entries, list, whole, entry_words)?;
        index.entries.dirty().clear();
        let (conditions, list) = (index.conditions.items(), index.conditions.changed());
        self.copy_array(
            device,
            to.conditions,
            conditions,
            list,
            whole,
            condition_words,
        )?;
        index.conditions.dirty().clear();
        let (sets, list) = (index.sets.rows(), index.sets.changed());
        self.copy_array(device, to.sets, sets, list, whole, NameSet::words)?;
        index.sets.dirty().clear();
        self.is_copied = true;
        self.changes = subscriptions.changes();
        Ok(())
    }

    /// Copies one array: all of it, or the changed items. `words` gives an item's words.
    fn copy_array<T: Plain, const WORDS: usize>(
        &mut self,
        device: &Device,
        to: Pointer<T>,
        items: &[T],
        changed: &[u32],
        whole: bool,
        words: impl Fn(&T) -> [u64; WORDS],
    ) -> Result<(), DriverError> {
        if whole || changed.len() > items.len() / 4 {
            return device.write(to, items);
        }
        for changed in changed.chunks(PATCH_ITEMS) {
            let mut count = 0;
            for &place in changed {
                // The item may not exist any more.
                let Some(item) = items.get(place as usize) else {
                    continue;
                };
                self.places[count] = place;
                self.items[count * WORDS..][..WORDS].copy_from_slice(&words(item));
                count += 1;
            }
            self.patch(device, to.cast(), count, WORDS)?;
        }
        Ok(())
    }

    /// Writes the first `count` items of the patch to their places on the device.
    #[allow(unsafe_code)]
    fn patch(
        &self,
        device: &Device,
        to: Pointer<u64>,
        count: usize,
        words: usize,
    ) -> Result<(), DriverError> {
        let (places, items) = (self.buffers.patch_places, self.buffers.patch_items);
        // The scope ends when the copies are done, so that the host buffers can be reused.
        device.copies(|copies| {
            copies.upload(device::Lane::Work, places, &self.places[..count])?;
            copies.upload(device::Lane::Work, items, &self.items[..count * words])?;
            let operands = (to, places, items, words as u32, count as u32);
            let grid = Grid::items((count * words) as u64, 256);
            // SAFETY: these are the parameters of `content_patch`. Every place is below the
            // length of the array at `to`, whose items have this many words.
            unsafe { device.launch(self.patch, grid, &operands) }
        })
    }
}

/// The bytes of a node, as words.
fn node_words(node: &Node) -> [u64; 4] {
    let low = u64::from(node.start) | u64::from(node.len) << 32;
    let high = u64::from(node.capacity) | u64::from(node.children) << 32;
    [node.key, node.child_bits, low, high]
}

fn entry_words(entry: &Entry) -> [u64; 2] {
    let high = u64::from(entry.conditions) | u64::from(entry.subscriber) << 32;
    [entry.names, high]
}

fn condition_words(condition: &Condition) -> [u64; 3] {
    let kind = u64::from(condition.kind.0) << 16 | u64::from(condition.is_last) << 24;
    [
        condition.low,
        condition.high,
        u64::from(condition.name) | kind,
    ]
}

/// The most items of a patch.
const PATCH_ITEMS: usize = 1 << 16;
/// Words of 8 bytes of the largest item.
const WORDS_MAX: usize = 4;
