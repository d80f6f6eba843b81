//! Stage: deliveries: enters, updates and leaves for each client (thesis 3.5).

mod changed;
mod cover;
mod gather;
mod hearings;
mod neighbours;
mod subscribed;
mod views;

use std::ops::Range;

use device::cpu::{Workers, grow, partition_point, ranges, take};
use shared::{ClientRow, InterestMode, Slot, WorldConfig};

use super::logic::exclusive_scan;
use super::{Boxes, Index, Merge, State};
use crate::tick::counts::Counts;
use crate::tick::frame::{Observer, Target};
use crate::tick::output::{ByClient, Deliveries, Delivery, TickOutput};
use crate::tick::parts::{self, Cuts};
use crate::tick::state::{self, Snapshot, part};
use cover::{Cover, NumberSet};
use gather::{Candidates, Viewpoint};
use hearings::HearingScratch;
use neighbours::Runs;
use views::{Views, slot_of, tier_of};

/// The known sets, and the buffers for finding visible entities.
pub struct Interest {
    clients: usize,
    observers_per_client: usize,
    /// Whether clients may subscribe to regions or entities may carry regions.
    with_regions: bool,
    /// The size of a client's known set; 0 where nothing is remembered.
    visible_max: usize,
    mode: InterestMode,
    dimensions: usize,
    aoi: i32,
    /// By how much a known entity counts as nearer.
    margin: i32,
    deliveries_max: u64,
    /// Client rows from this on were never used.
    used: usize,
    /// Where the output is cut, as several GPUs cut it.
    cuts: Cuts,
    /// Per client: `visible_max` places; the first ones hold the slots of its known set,
    /// ascending, each with a tier.
    known: Views,
    /// Per client: the slots that it sees in this tick, each with its tier.
    visible: Views,
    behind: Vec<bool>,
    /// Per client: the number of its deliveries, then their start.
    offsets: Vec<u64>,
    /// Per client: its deliveries in ticks that deliver whole neighbourhoods.
    runs: Vec<Runs>,
    /// One for each part of the work.
    scratch: Vec<Scratch>,
    /// The maximum number of a client's hearings in a tick.
    hearings_max: usize,
    /// Areas of the tick's notifications.
    areas: Boxes,
    /// One for each part of the work.
    hearings: Vec<HearingScratch>,
    /// Per client: the number of its hearings.
    hearing_lengths: Vec<u32>,
}

/// The buffers of one part of the work.
struct Scratch {
    candidates: Candidates,
    cover: Cover,
    seen: NumberSet,
}

impl Scratch {
    fn new(config: &WorldConfig) -> Scratch {
        Scratch {
            candidates: Candidates::new(&config.schema.world),
            cover: Cover::default(),
            seen: NumberSet::default(),
        }
    }
}

/// The stage's inputs.
#[derive(Clone, Copy)]
struct Input<'a> {
    state: &'a State,
    index: &'a Index,
    /// Boxes in which entities are published, beside their positions.
    published: &'a Boxes,
    merge: &'a Merge,
}

impl Interest {
    pub fn new(config: &WorldConfig, threads: usize) -> Interest {
        let clients = config.limits.clients as usize;
        let visible_max = config.schema.world.visible_max as usize;
        Interest {
            clients,
            observers_per_client: config.limits.observers_per_client as usize,
            with_regions: config.limits.regions_per_client > 0 || config.limits.entity_regions,
            visible_max,
            mode: config.schema.world.interest,
            dimensions: config.dimensions(),
            aoi: config.schema.world.aoi.raw(),
            margin: config.schema.world.leave_margin(),
            deliveries_max: config.limits.deliveries_per_tick,
            used: 0,
            cuts: Cuts::even(config.limits.clients, 1),
            known: Views::new(clients, visible_max),
            visible: Views::new(clients, visible_max),
            behind: vec![false; clients],
            offsets: vec![],
            runs: vec![],
            scratch: (0..Workers::parts_max(threads))
                .map(|_| Scratch::new(config))
                .collect(),
            hearings_max: config.limits.client_hearings_per_tick as usize,
            areas: Boxes::new(config),
            hearings: vec![],
            hearing_lengths: vec![],
        }
    }

    /// Cuts the output into this many segments.
    pub fn divide(&mut self, parts: usize, config: &WorldConfig) {
        self.cuts = Cuts::even(self.clients as u32, parts);
        // A segment begins with a task of its own.
        let room = self.scratch.len() + parts;
        self.scratch.resize_with(room, || Scratch::new(config));
    }

    /// Makes an empty segment for each part.
    fn cut<T>(&self, out: &mut ByClient<T>) {
        out.cut(self.cuts.ranges(self.used as u32).map(|range| range.start));
    }

    /// The slots of a client's known set, ascending.
    pub fn known(&self, client: ClientRow) -> Vec<u32> {
        let known = self.known.of(client.index()).iter();
        known.map(|&word| slot_of(word)).collect()
    }

    /// The clients that are owed deliveries, ascending.
    pub fn behind(&self) -> Vec<u32> {
        let owed = |&client: &u32| self.behind[client as usize];
        (0..self.clients as u32).filter(owed).collect()
    }

    pub fn use_client(&mut self, client: ClientRow) {
        self.used = self.used.max(client.index() + 1);
    }

    /// Clears a client's known set. Returns false if the client does not exist.
    pub fn forget(&mut self, client: ClientRow, state: &mut State) -> bool {
        if client.index() >= self.clients {
            return false;
        }
        for &word in self.known.of(client.index()) {
            state.subtract(part::KNOWN, state::known(client, Slot(slot_of(word))));
        }
        self.known.counts[client.index()] = 0;
        self.set_behind(client.index(), false, state);
        true
    }

    pub fn restore(&mut self, snapshot: &Snapshot) {
        for (client, slots) in snapshot.known.iter().enumerate() {
            self.known.set_slots(client, slots);
        }
        self.behind.fill(false);
        for &client in &snapshot.behind {
            self.behind[client as usize] = true;
        }
        self.used = self.clients;
    }

    /// Finds the tick's deliveries: count, scan, enumerate.
    pub fn deliver(
        &mut self,
        workers: &Workers,
        state: &mut State,
        index: &Index,
        published: &Boxes,
        merge: &Merge,
        out: &mut TickOutput,
    ) {
        let tick = state.tick;
        let (out, counts) = (&mut out.deliveries, &mut out.counts);
        let input = Input {
            state,
            index,
            published,
            merge,
        };
        grow(&mut self.offsets, self.used);
        if self.visible_max == 0 {
            self.count_changed(workers, input);
        } else {
            self.see(workers, input);
        }
        let total = exclusive_scan(&mut self.offsets[..self.used]);
        let served = self.publish_offsets(total, out, counts);
        if self.visible_max == 0 {
            self.enumerate_changed(workers, input, served, out);
        } else {
            let hash = self.compare(workers, input, served, out);
            state.add(part::KNOWN, hash);
            self.settle(served, total, state);
        }
        if self.cuts.parts() > 1 && Cuts::follow_after(tick) {
            let views = self.cut_views();
            self.cuts.follow(out, &views);
        }
    }

    /// What the clients of each part see now.
    fn cut_views(&self) -> Vec<parts::Views> {
        if self.visible_max == 0 {
            return vec![];
        }
        let of_part = |clients: Range<u32>| {
            let own = &self.known.counts[clients.start as usize..clients.end as usize];
            parts::Views::of(clients.start, own, self.visible_max as u32)
        };
        self.cuts.ranges(self.used as u32).map(of_part).collect()
    }

    /// Truncates the scanned counts where the deliveries are full: a client gets all of its
    /// deliveries or none. Returns the number of served clients.
    fn publish_offsets(&self, total: u64, out: &mut Deliveries, counts: &mut Counts) -> usize {
        let offsets = &self.offsets[..self.used];
        let start = |i: usize| offsets.get(i).copied().unwrap_or(total);
        let end = |i: usize| start(i + 1);
        let served = partition_point(self.used, |i| end(i) <= self.deliveries_max);
        let kept = start(served);
        self.cut(out);
        let parts = self.cuts.ranges(self.used as u32);
        for (segment, clients) in out.segments.iter_mut().zip(parts) {
            let start = |i: u32| start(served.min(i as usize));
            let before = start(clients.start);
            let own = (clients.start..=clients.end).map(|i| (start(i) - before) as u32);
            segment.offsets.extend(own);
            // It never shrinks: items behind the end are from earlier ticks.
            let n = (start(clients.end) - before) as usize;
            if segment.items.len() < n {
                segment.items.resize(n, Delivery::default());
            }
        }
        counts.deliveries = kept;
        counts.deliveries_dropped = total - kept;
        counts.clients_behind = (served..self.used).filter(|&i| end(i) > offsets[i]).count() as u64;
        served
    }

    fn parts(&self, workers: &Workers, clients: usize) -> usize {
        let grain = (VIEWS_GRAIN / self.visible_max).clamp(1, CLIENTS_GRAIN);
        workers.parts_of(clients, grain).min(self.scratch.len())
    }

    /// Finds every client's visible entities, and counts its deliveries.
    fn see(&mut self, workers: &Workers, input: Input<'_>) {
        let parts = self.parts(workers, self.used);
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut visible = std::mem::take(&mut self.visible);
        let mut offsets = std::mem::take(&mut self.offsets);
        let shared = &*self;
        let mut slots = &mut visible.slots[..];
        let mut sizes = &mut visible.counts[..];
        let mut rest = &mut offsets[..];
        let tasks = ranges(self.used, parts)
            .zip(&mut scratch)
            .map(|(range, scratch)| {
                let n = range.len();
                let slots = take(&mut slots, n * shared.visible_max);
                (
                    range,
                    scratch,
                    slots,
                    take(&mut sizes, n),
                    take(&mut rest, n),
                )
            });
        workers.run(
            tasks.collect(),
            |(range, scratch, slots, sizes, offsets)| {
                let views = slots.chunks_exact_mut(shared.visible_max);
                for (i, (client, view)) in range.zip(views).enumerate() {
                    let n = shared.see_one(client, input, scratch, view);
                    sizes[i] = n as u32;
                    let mut count = 0;
                    let known = shared.known.of(client);
                    shared.difference(client, input, known, &view[..n], |_| count += 1);
                    offsets[i] = count;
                }
            },
        );
        self.scratch = scratch;
        self.visible = visible;
        self.offsets = offsets;
    }

    /// Writes the slots that one client sees, ascending, each with its tier, and returns
    /// their number.
    fn see_one(
        &self,
        client: usize,
        input: Input<'_>,
        scratch: &mut Scratch,
        view: &mut [u32],
    ) -> usize {
        let Scratch {
            candidates, cover, ..
        } = scratch;
        candidates.begin_client(self.known.of(client));
        for place in self.places(client, input.state) {
            candidates.gather(input.index, self.mode, &place, self.dimensions);
        }
        if self.with_regions {
            self.gather_subscribed(client, input, cover, candidates);
        }
        candidates.end_client(self.known.of(client), view)
    }

    /// The places of a client's observers.
    fn places<'a>(
        &'a self,
        client: usize,
        state: &'a State,
    ) -> impl Iterator<Item = Viewpoint> + 'a {
        let observers = self.observers(client, state);
        observers.iter().flatten().filter_map(move |observer| {
            let Observer { target, radius } = *observer;
            let (center, followed) = match target {
                Target::Point(point) => (point, None),
                Target::Entity(entity) if state.slots.has(entity) => (
                    state.position(entity.slot, self.dimensions),
                    Some(entity.slot.0),
                ),
                Target::Entity(_) => return None,
            };
            Some(Viewpoint {
                center,
                radius: radius.min(self.aoi),
                margin: self.margin,
                followed,
            })
        })
    }

    fn observers<'a>(&self, client: usize, state: &'a State) -> &'a [Option<Observer>] {
        let first = client * self.observers_per_client;
        &state.observers[first..first + self.observers_per_client]
    }

    /// Walks the slots that a client knew and those that it sees, and passes on each
    /// delivery, ascending by slot.
    fn difference(
        &self,
        client: usize,
        input: Input<'_>,
        known: &[u32],
        visible: &[u32],
        mut deliver: impl FnMut(Delivery),
    ) {
        let behind = self.behind[client];
        let (mut k, mut v) = (0, 0);
        while k < known.len() || v < visible.len() {
            let old = known.get(k).map_or(u32::MAX, |&word| slot_of(word));
            let new = visible.get(v).map_or(u32::MAX, |&word| slot_of(word));
            let tier = || visible.get(v).map_or(0, |&word| tier_of(word));
            if old < new {
                deliver(Delivery::new(Delivery::LEAVE, old));
            } else if new < old {
                deliver(Delivery::new(Delivery::ENTER, new).in_tier(tier()));
            } else if behind {
                deliver(Delivery::new(Delivery::RENEW, old).in_tier(tier()));
            } else if input.merge.has_changed(old) {
                deliver(Delivery::new(Delivery::UPDATE, old).in_tier(tier()));
            }
            k += usize::from(old <= new);
            v += usize::from(new <= old);
        }
    }

    /// Writes the deliveries of the served clients, and returns the difference that their
    /// enters and leaves make to the hash.
    fn compare(
        &self,
        workers: &Workers,
        input: Input<'_>,
        served: usize,
        out: &mut Deliveries,
    ) -> u64 {
        let parts = self.parts(workers, served);
        let tasks = client_parts(served, parts, out);
        let mut hashes = vec![0u64; tasks.len()];
        let tasks = tasks.into_iter().zip(&mut hashes);
        workers.run(tasks.collect(), |((range, entries), hash)| {
            let mut next = 0;
            for client in range {
                let (known, visible) = (self.known.of(client), self.visible.of(client));
                self.difference(client, input, known, visible, |delivery| {
                    entries[next] = delivery;
                    next += 1;
                    let element = state::known(ClientRow(client as u32), delivery.slot());
                    match delivery.kind() {
                        Delivery::ENTER => *hash = hash.wrapping_add(element),
                        Delivery::LEAVE => *hash = hash.wrapping_sub(element),
                        _ => {}
                    }
                });
            }
        });
        hashes.into_iter().fold(0, u64::wrapping_add)
    }

    /// Replaces the known slots of served clients by those that they see. The other clients
    /// are behind, unless they were owed nothing.
    fn settle(&mut self, served: usize, total: u64, state: &mut State) {
        std::mem::swap(&mut self.known, &mut self.visible);
        for client in 0..self.used {
            let end = self
                .offsets
                .get(client + 1)
                .filter(|_| client + 1 < self.used);
            let owed = end.copied().unwrap_or(total) > self.offsets[client];
            if client >= served {
                self.known.set(client, self.visible.of(client));
            }
            self.set_behind(client, client >= served && owed, state);
        }
    }

    fn set_behind(&mut self, client: usize, behind: bool, state: &mut State) {
        if self.behind[client] == behind {
            return;
        }
        self.behind[client] = behind;
        let element = state::behind(ClientRow(client as u32));
        if behind {
            state.add(part::KNOWN, element);
        } else {
            state.subtract(part::KNOWN, element);
        }
    }
}

/// Cuts the served clients, and with them their deliveries, into about this many parts.
fn client_parts(
    served: usize,
    parts: usize,
    out: &mut Deliveries,
) -> Vec<(Range<usize>, &mut [Delivery])> {
    let mut tasks = vec![];
    for segment in &mut out.segments {
        let first = segment.first as usize;
        let clients = segment.clients().min(served.saturating_sub(first));
        let offsets = &segment.offsets;
        let mut rest = &mut segment.items[..];
        let own = (clients * parts).div_ceil(served.max(1));
        for range in ranges(clients, own) {
            let n = offsets[range.end] - offsets[range.start];
            let all = first + range.start..first + range.end;
            tasks.push((all, take(&mut rest, n as usize)));
        }
    }
    tasks
}

/// The minimum number of clients that is worth a second thread.
const CLIENTS_GRAIN: usize = 256;
/// The same, in places of their views.
const VIEWS_GRAIN: usize = 64 * 1024;
