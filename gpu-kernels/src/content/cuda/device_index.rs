use crate::content::compile::Condition;
use crate::content::index::{Entry, Node};
use crate::content::subscriptions::Subscriptions;
use crate::cuda::device::{Device, DriverError, Grid, HostBuffer, Kernel, Lane};
use crate::cuda::layout::Pointer;

use super::{argument, reserve};

/// The index on the device, and how it follows the one on the host.
pub struct DeviceIndex {
    pub nodes: Pointer,
    pub entries: Pointer,
    pub conditions: Pointer,
    patch_places: Pointer,
    patch_items: Pointer,
    patch: Kernel,
    places: HostBuffer<u32>,
    items: HostBuffer<u64>,
    is_there: bool,
    changes: u64,
}

impl DeviceIndex {
    /// Nodes, entries, conditions, and the two arrays of a patch.
    pub fn places(base: Pointer, end: &mut u64, subscriptions: &Subscriptions) -> [Pointer; 5] {
        let index = &subscriptions.index;
        let bytes = [
            size_of_val(index.nodes.nodes()),
            index.entries.max() * size_of::<Entry>(),
            index.conditions.max() * size_of::<Condition>(),
            PATCH_ITEMS * 4,
            PATCH_ITEMS * WORDS_MAX * 8,
        ];
        bytes.map(|bytes| reserve(base, end, bytes as u64))
    }

    pub fn new(
        device: &Device,
        base: Pointer,
        end: &mut u64,
        subscriptions: &mut Subscriptions,
    ) -> Result<DeviceIndex, DriverError> {
        let [nodes, entries, conditions, patch_places, patch_items] =
            DeviceIndex::places(base, end, subscriptions);
        let index = &mut subscriptions.index;
        let places = index.nodes.nodes().len();
        index.nodes.dirty().watch(places);
        index.entries.watch();
        index.conditions.watch();
        Ok(DeviceIndex {
            nodes,
            entries,
            conditions,
            patch_places,
            patch_items,
            patch: device.kernel("content_patch")?,
            places: HostBuffer::new(device, PATCH_ITEMS)?,
            items: HostBuffer::new(device, PATCH_ITEMS * WORDS_MAX)?,
            is_there: false,
            changes: 0,
        })
    }

    /// Copies what has changed since the last time.
    pub fn update(
        &mut self,
        device: &Device,
        subscriptions: &mut Subscriptions,
    ) -> Result<(), DriverError> {
        if self.is_there && self.changes == subscriptions.changes() {
            return Ok(());
        }
        let whole = !self.is_there;
        let index = &mut subscriptions.index;
        let nodes = index.nodes.nodes();
        let of_node = |n: &Node| {
            let low = u64::from(n.start) | u64::from(n.len) << 32;
            let high = u64::from(n.capacity) | u64::from(n.children) << 32;
            [n.key, n.child_bits, low, high]
        };
        let list = index.nodes.changed();
        self.follow(device, self.nodes, nodes, list, whole, of_node)?;
        index.nodes.dirty().clear();
        let of_entry = |e: &Entry| {
            let high = u64::from(e.conditions) | u64::from(e.interface) << 32;
            [e.names, high]
        };
        let (entries, list) = (index.entries.items(), index.entries.changed());
        self.follow(device, self.entries, entries, list, whole, of_entry)?;
        index.entries.dirty().clear();
        let of_condition = |c: &Condition| {
            let kind = u64::from(c.kind as u8) << 16 | u64::from(c.is_last) << 24;
            [c.low, c.high, u64::from(c.name) | kind]
        };
        let (conditions, list) = (index.conditions.items(), index.conditions.changed());
        self.follow(
            device,
            self.conditions,
            conditions,
            list,
            whole,
            of_condition,
        )?;
        index.conditions.dirty().clear();
        self.is_there = true;
        self.changes = subscriptions.changes();
        Ok(())
    }

    /// One array: all of it, or the items that changed, by their words.
    fn follow<T: Copy, const WORDS: usize>(
        &mut self,
        device: &Device,
        to: Pointer,
        items: &[T],
        changed: &[u32],
        whole: bool,
        words: impl Fn(&T) -> [u64; WORDS],
    ) -> Result<(), DriverError> {
        if whole || changed.len() > items.len() / 4 {
            device.upload(Lane::Work, to, items)?;
            // The slice may change before the copy is done.
            return device.synchronize(Lane::Work);
        }
        for changed in changed.chunks(PATCH_ITEMS) {
            for (i, &place) in changed.iter().enumerate() {
                self.places[i] = place;
                let item = words(&items[place as usize]);
                self.items[i * WORDS..][..WORDS].copy_from_slice(&item);
            }
            device.upload(Lane::Work, self.patch_places, &self.places[..changed.len()])?;
            device.upload(
                Lane::Work,
                self.patch_items,
                &self.items[..changed.len() * WORDS],
            )?;
            let (mut to, mut places, mut items) = (to, self.patch_places, self.patch_items);
            let (mut n, mut per_item) = (changed.len() as u32, WORDS as u32);
            let grid = Grid {
                blocks: (n * per_item).div_ceil(256),
                threads: 256,
                shared_bytes: 0,
            };
            let mut arguments = [
                argument(&mut to),
                argument(&mut places),
                argument(&mut items),
                argument(&mut per_item),
                argument(&mut n),
            ];
            device.launch(self.patch, grid, &mut arguments)?;
            // The buffers serve again.
            device.synchronize(Lane::Work)?;
        }
        Ok(())
    }
}

const PATCH_ITEMS: usize = 1 << 16;
/// Of the largest item.
const WORDS_MAX: usize = 4;
