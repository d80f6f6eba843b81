//! A calendar queue (Brown 1988): the best known future event set for one thread.

use gpu_kernels::events::{Event, EventSet};

/// Days of a year as sorted lists; an event lies in its day, whatever its year.
pub struct CalendarQueue {
    /// The first event of each day, as a place in `nodes`.
    days: Vec<u32>,
    /// A day is this power of two of ticks.
    day_shift: u32,
    nodes: Vec<Node>,
    /// The first free node.
    free: u32,
    len: usize,
    /// No event is earlier.
    now: u32,
}

#[derive(Clone, Copy)]
struct Node {
    event: Event,
    next: u32,
}

impl EventSet for CalendarQueue {
    fn with_capacity(events: usize) -> CalendarQueue {
        CalendarQueue {
            days: vec![NONE; DAYS_MIN],
            day_shift: 0,
            nodes: Vec::with_capacity(events),
            free: NONE,
            len: 0,
            now: 0,
        }
    }

    fn push(&mut self, event: Event) {
        self.insert(event);
        if self.len > 2 * self.days.len() {
            self.resize(2 * self.days.len());
        }
    }

    fn pop_before(&mut self, until: u32) -> Option<Event> {
        if self.len == 0 {
            return None;
        }
        let mask = self.days.len() - 1;
        let today = u64::from(self.now) >> self.day_shift;
        for day in today..today + self.days.len() as u64 {
            let first = self.days[day as usize & mask];
            if first == NONE {
                continue;
            }
            let Node { event, next } = self.nodes[first as usize];
            if u64::from(event.time) >> self.day_shift != day {
                continue; // of a later year
            }
            self.now = event.time.min(until);
            if event.time >= until {
                return None;
            }
            self.days[day as usize & mask] = next;
            self.nodes[first as usize].next = self.free;
            self.free = first;
            self.len -= 1;
            return Some(event);
        }
        // Nothing this year: go on in the year of the earliest event.
        let firsts = self.days.iter().filter(|&&first| first != NONE);
        let times = firsts.map(|&first| self.nodes[first as usize].event.time);
        let earliest = times.min()?;
        if earliest >= until {
            return None;
        }
        self.now = earliest;
        self.pop_before(until)
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::with_capacity(self.len);
        for &first in &self.days {
            let mut place = first;
            while place != NONE {
                events.push(self.nodes[place as usize].event);
                place = self.nodes[place as usize].next;
            }
        }
        events
    }
}

impl CalendarQueue {
    fn insert(&mut self, event: Event) {
        let node = Node { event, next: NONE };
        let place = match self.free {
            NONE => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
            place => {
                self.free = self.nodes[place as usize].next;
                self.nodes[place as usize] = node;
                place
            }
        };
        let day = (event.time >> self.day_shift) as usize & (self.days.len() - 1);
        let mut before = NONE;
        let mut after = self.days[day];
        while after != NONE && self.nodes[after as usize].event < event {
            before = after;
            after = self.nodes[after as usize].next;
        }
        self.nodes[place as usize].next = after;
        match before {
            NONE => self.days[day] = place,
            before => self.nodes[before as usize].next = place,
        }
        self.len += 1;
    }

    /// Twice the days, as long as leaves a year for nearly all events: the mean
    /// distance of the events from now, times four.
    fn resize(&mut self, days: usize) {
        let events = self.events();
        let ahead = events
            .iter()
            .map(|e| u64::from(e.time.saturating_sub(self.now)));
        let year = 4 * ahead.sum::<u64>() / events.len() as u64;
        self.day_shift = (year / days as u64).max(1).ilog2().min(31);
        self.days = vec![NONE; days];
        self.nodes.clear();
        self.free = NONE;
        self.len = 0;
        events.into_iter().for_each(|event| self.insert(event));
    }
}

const NONE: u32 = u32::MAX;
const DAYS_MIN: usize = 16;

#[cfg(test)]
mod tests {
    use gpu_kernels::events::{HeapSet, Phold, Sequential, Torus};

    use super::*;

    #[test]
    fn it_gives_events_in_the_heaps_order() {
        let torus = Torus::new(20, 3, 3000, 100).unwrap();
        let phold = Phold::new(50, 4, 6, 1, 500_000)
            .unwrap()
            .with_events(20)
            .unwrap();
        let mut traces = (vec![], vec![]);
        for until in [1, 2_999, 90_000] {
            let mut heap = Sequential::<_, HeapSet>::new(&torus);
            heap.run(until, |&event| traces.0.push(event));
            let mut calendar = Sequential::<_, CalendarQueue>::new(&torus);
            calendar.run(until, |&event| traces.1.push(event));
            assert!(heap.snapshot() == calendar.snapshot());
        }
        Sequential::<_, HeapSet>::new(&phold).run(200, |&event| traces.0.push(event));
        Sequential::<_, CalendarQueue>::new(&phold).run(200, |&event| traces.1.push(event));
        assert!(traces.0 == traces.1);
        assert!(traces.0.len() > 20_000);
    }

    #[test]
    fn it_passes_over_empty_years() {
        let event = |time| Event {
            time,
            source: 0,
            number: 0,
            target: 0,
        };
        let mut queue = CalendarQueue::with_capacity(4);
        [4_000_000_000, 5, u32::MAX - 1, 7].map(|time| queue.push(event(time)));
        let mut times = vec![];
        while let Some(event) = queue.pop_before(u32::MAX) {
            times.push(event.time);
        }
        assert_eq!(times, [5, 7, 4_000_000_000, u32::MAX - 1]);
        assert_eq!(queue.pop_before(u32::MAX), None);
    }
}
