//! Stage: deliveries: enters, updates and leaves for each client (thesis 3.5).

mod changed;
mod compare;
mod cover;
mod eyes;
mod gather;
mod hearings;
mod neighbours;
mod see;
mod sight;
mod stirs;
mod subscribed;
mod views;

use std::ops::Range;

use device::cpu::{Workers, grow, partition_point, ranges, take};
use shared::world::door::Door;
use shared::world::visibility::Visibility;
use shared::{ClientRow, InterestMode, Slot, WorldConfig};

use super::{Boxes, Index, Merge, State};
use crate::tick::counts::Counts;
use crate::tick::frame::{Observer, Target};
use crate::tick::output::{ByClient, Deliveries, Delivery, TickOutput};
use crate::tick::parts::{self, Cuts};
use crate::tick::state::{self, Snapshot, part};
use compare::Compared;
use cover::{Cover, NumberSet};
use device::cpu::lanes::Words;
use gather::{Candidates, Viewpoint, tiers};
use hearings::HearingScratch;
use neighbours::Runs;
use stirs::Stirs;
use views::{Views, slot_of, word};

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
    /// Squared: an entity is in the tier of its number of these that are exceeded.
    tiers: [i64; 3],
    visibility: Visibility,
    doors: Vec<Door>,
    deliveries_max: u64,
    /// Client rows from this on were never used.
    used: usize,
    /// Where the output is cut, as several GPUs cut it.
    cuts: Cuts,
    /// Per client: `visible_max` places; the first ones hold the words of its known set.
    known: Views,
    /// The words of all entities, in the order of the index.
    words: Vec<u32>,
    stirs: Stirs,
    /// Per client: an observer of it or its known set was changed by a frame.
    is_fresh: Vec<bool>,
    behind: Vec<bool>,
    /// The number of clients that are behind.
    behind_count: usize,
    /// Per client: the number of its deliveries.
    owed: Vec<u32>,
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
    search: Search,
    seen: NumberSet,
    compared: Compared,
}

/// The buffers for finding what one client sees.
struct Search {
    near: Words,
    candidates: Candidates,
    cover: Cover,
    /// The words of what it sees, in order.
    view: Vec<u32>,
}

impl Scratch {
    fn new(config: &WorldConfig) -> Scratch {
        let visible_max = config.schema.world.visible_max as usize;
        Scratch {
            search: Search {
                near: Words::new(visible_max),
                candidates: Candidates::new(&config.schema.world),
                cover: Cover::default(),
                view: vec![0; visible_max],
            },
            seen: NumberSet::default(),
            compared: Compared::default(),
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
            mode: config.interest,
            dimensions: config.dimensions(),
            aoi: config.schema.world.aoi.raw(),
            margin: config.schema.world.leave_margin(),
            tiers: tiers(&config.schema.world),
            visibility: config.schema.visibility,
            doors: config.schema.doors.clone(),
            deliveries_max: config.limits.deliveries_per_tick,
            used: 0,
            cuts: Cuts::even(config.limits.clients, 1),
            known: Views::new(clients, visible_max),
            words: vec![],
            stirs: Stirs::default(),
            is_fresh: vec![false; clients],
            behind: vec![false; clients],
            behind_count: 0,
            owed: vec![],
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
        out.cut(self.cut_ranges().map(|range| range.start as u32));
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

    /// A client looks at the world, or looks elsewhere.
    pub fn use_client(&mut self, client: ClientRow) {
        self.used = self.used.max(client.index() + 1);
        self.is_fresh[client.index()] = true;
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
        self.is_fresh[client.index()] = true;
        self.set_behind(client.index(), false, state);
        true
    }

    pub fn restore(&mut self, snapshot: &Snapshot) {
        for (client, slots) in snapshot.known.iter().enumerate() {
            let words = slots.iter().map(|&slot| word(slot, false));
            self.known.set(client, words);
        }
        self.stirs.forget();
        self.behind.fill(false);
        self.behind_count = snapshot.behind.len();
        for &client in &snapshot.behind {
            self.behind[client as usize] = true;
        }
        self.used = self.clients;
    }

    /// Finds the tick's deliveries.
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
        grow(&mut self.owed, self.used);
        if self.visible_max == 0 {
            self.count_changed(workers, input);
            let segments: Vec<Range<usize>> = self.cut_ranges().collect();
            let served = self.publish_offsets(workers, &segments, out, counts);
            self.enumerate_changed(workers, input, served, out);
        } else {
            let parts = self.see(workers, input);
            let served = self.publish_offsets(workers, &parts, out, counts);
            self.settle(served, &parts, state);
            for (segment, part) in out.segments.iter_mut().zip(&mut self.scratch) {
                state.add(part::KNOWN, part.compared.hash());
                part.compared.exchange(&mut segment.items);
            }
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

    /// The clients of each part that the output is cut into.
    fn cut_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let ranges = self.cuts.ranges(self.used as u32);
        ranges.map(|range| range.start as usize..range.end as usize)
    }

    /// Writes where each client's deliveries begin to a segment for each of `parts`, whose clients
    /// follow each other. Truncates them where the deliveries are full: a client gets all of its
    /// deliveries or none. Returns the number of served clients.
    fn publish_offsets(
        &self,
        workers: &Workers,
        parts: &[Range<usize>],
        out: &mut Deliveries,
        counts: &mut Counts,
    ) -> usize {
        out.cut(parts.iter().map(|clients| clients.start as u32));
        let tasks = out.segments.iter_mut().zip(parts);
        workers.run(tasks.collect(), |(segment, clients)| {
            segment.offsets.set_len(clients.len() + 1);
            let mut end = 0u32;
            segment.offsets[0] = end;
            let owed = &self.owed[clients.clone()];
            for (offset, &owed) in segment.offsets[1..].iter_mut().zip(owed) {
                // More than fit 32 bits are more than are served.
                end = end.saturating_add(owed);
                *offset = end;
            }
        });
        let mut served = 0;
        counts.deliveries = 0;
        for (segment, clients) in out.segments.iter_mut().zip(parts) {
            let ends = &segment.offsets[1..];
            let is_served =
                |i: usize| counts.deliveries + u64::from(ends[i]) <= self.deliveries_max;
            // All before it are served, too, or none of it.
            let own = match served == clients.start {
                true => partition_point(clients.len(), is_served),
                false => 0,
            };
            served += own;
            let kept = segment.offsets[own];
            segment.offsets[own + 1..].fill(kept);
            counts.deliveries += u64::from(kept);
        }
        let rest = &self.owed[served..self.used];
        counts.deliveries_dropped = rest.iter().map(|&owed| u64::from(owed)).sum();
        counts.clients_behind = rest.iter().filter(|&&owed| owed > 0).count() as u64;
        served
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

    fn set_behind(&mut self, client: usize, behind: bool, state: &mut State) {
        if self.behind[client] == behind {
            return;
        }
        self.behind[client] = behind;
        self.behind_count = self.behind_count + usize::from(behind) - usize::from(!behind);
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
        // It never shrinks: items behind the end are from earlier ticks.
        let n = offsets.last().map_or(0, |&end| end as usize);
        if segment.items.len() < n {
            segment.items.resize(n, Delivery::default());
        }
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
