//! One event after another. With a heap it is the oracle of all other ways; with other
//! event sets it is the baseline of their speed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Event, Model, Progress, Snapshot, Start};

/// A future event set.
pub trait EventSet {
    /// An empty set, made for `events` events.
    fn with_capacity(events: usize) -> Self;

    fn push(&mut self, event: Event);

    /// Takes the first event, if it is before `until`.
    fn pop_before(&mut self, until: u32) -> Option<Event>;

    /// All events, in any order.
    fn events(&self) -> Vec<Event>;
}

/// A run of a model in the order of its events.
pub struct Sequential<'a, M: Model, S = HeapSet> {
    model: &'a M,
    processes: Vec<M::Process>,
    set: S,
    tally: M::Tally,
    events: u64,
    now: u32,
}

impl<'a, M: Model, S: EventSet> Sequential<'a, M, S> {
    pub fn new(model: &'a M) -> Self {
        let Start {
            processes,
            events,
            tally,
        } = model.start();
        let mut set = S::with_capacity(events.len());
        events.into_iter().for_each(|event| set.push(event));
        Sequential {
            model,
            processes,
            set,
            tally,
            events: 0,
            now: 0,
        }
    }

    /// Handles every event before `until` and passes each to `trace` before that.
    pub fn run(&mut self, until: u32, trace: impl FnMut(&Event)) -> Progress {
        let done = self.run_some(until, u64::MAX, trace);
        self.now = self.now.max(until);
        done
    }

    /// Handles the first `events` events before `until`. Unlike [`Sequential::run`], it
    /// leaves the run's `now` as it is.
    pub fn run_some(&mut self, until: u32, events: u64, mut trace: impl FnMut(&Event)) -> Progress {
        let mut done = 0;
        while done < events
            && let Some(event) = self.set.pop_before(until)
        {
            trace(&event);
            let process = &mut self.processes[event.target as usize];
            let set = &mut self.set;
            self.model
                .handle(&event, process, &mut self.tally, |next| set.push(next));
            done += 1;
        }
        self.events += done;
        Progress {
            events: done,
            windows: 0,
        }
    }

    pub fn snapshot(&self) -> Snapshot<M::Process, M::Tally> {
        let mut pending = self.set.events();
        pending.sort_unstable();
        Snapshot {
            now: self.now,
            processes: self.processes.clone(),
            pending,
            tally: self.tally,
            events: self.events,
        }
    }
}

/// A binary heap.
pub struct HeapSet(BinaryHeap<Reverse<Event>>);

impl EventSet for HeapSet {
    fn with_capacity(events: usize) -> HeapSet {
        HeapSet(BinaryHeap::with_capacity(events))
    }

    fn push(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }

    fn pop_before(&mut self, until: u32) -> Option<Event> {
        if self.0.peek()?.0.time >= until {
            return None;
        }
        self.0.pop().map(|event| event.0)
    }

    fn events(&self) -> Vec<Event> {
        self.0.iter().map(|event| event.0).collect()
    }
}
