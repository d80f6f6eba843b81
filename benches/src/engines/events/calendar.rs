//! A calendar queue (Brown 1988), the usual future event set of one thread with many
//! events. It is faster than Brown's, as a baseline should be: a day is an array that is
//! sorted when it begins, not a sorted list.

use engines::events::{Event, EventSet};

/// Events by day of the year, whatever their year.
pub struct CalendarQueue {
    days: Vec<Vec<Event>>,
    /// The binary logarithm of a day's ticks.
    day_shift: u32,
    /// Days since the beginning of time.
    today: u64,
    /// The events up to today, latest first.
    current: Vec<Event>,
    len: usize,
}

impl EventSet for CalendarQueue {
    fn with_capacity(_: usize) -> CalendarQueue {
        CalendarQueue {
            days: vec![vec![]; DAYS_MIN],
            day_shift: 0,
            today: 0,
            current: vec![],
            len: 0,
        }
    }

    fn push(&mut self, event: Event) {
        self.insert(event);
        if self.len > EVENTS_PER_DAY * self.days.len() {
            self.resize(2 * self.days.len());
        }
    }

    fn pop_before(&mut self, until: u32) -> Option<Event> {
        if self.current.is_empty() {
            self.begin_next_day(until)?;
        }
        if self.current.last()?.time >= until {
            return None;
        }
        self.len -= 1;
        self.current.pop()
    }

    fn events(&self) -> Vec<Event> {
        let days = self.days.iter().flatten();
        days.chain(&self.current).copied().collect()
    }
}

impl CalendarQueue {
    #[inline]
    fn insert(&mut self, event: Event) {
        self.len += 1;
        let day = u64::from(event.time) >> self.day_shift;
        if day <= self.today {
            let place = self.current.partition_point(|other| *other > event);
            self.current.insert(place, event);
        } else {
            let mask = self.days.len() - 1;
            self.days[day as usize & mask].push(event);
        }
    }

    /// Goes to the next day that has events and begins before `until`.
    fn begin_next_day(&mut self, until: u32) -> Option<()> {
        let last = u64::from(until.checked_sub(1)?) >> self.day_shift;
        let mut passed = 0;
        while self.today < last {
            self.today += 1;
            passed += 1;
            if passed > self.days.len() {
                // A year without events: continue with the earliest event.
                let earliest = self.days.iter().flatten().min()?.time;
                self.today = (u64::from(earliest) >> self.day_shift).min(last);
                passed = 0;
            }
            let (shift, today) = (self.day_shift, self.today);
            let mask = self.days.len() - 1;
            let day = &mut self.days[today as usize & mask];
            let current = &mut self.current;
            day.retain(|event| {
                let is_later = u64::from(event.time) >> shift != today;
                if !is_later {
                    current.push(*event);
                }
                is_later
            });
            if !current.is_empty() {
                current.sort_unstable_by(|a, b| b.cmp(a));
                return Some(());
            }
        }
        None
    }

    /// Changes the number of days. They get so long that a year holds nearly all events:
    /// four times their mean distance from now.
    fn resize(&mut self, days: usize) {
        let events = self.events();
        let now = self.today << self.day_shift;
        let ahead = events.iter().map(|e| u64::from(e.time).saturating_sub(now));
        let year = 4 * ahead.sum::<u64>() / events.len() as u64;
        self.day_shift = (year / days as u64).max(1).ilog2().min(31);
        self.today = now >> self.day_shift;
        self.days = vec![vec![]; days];
        self.current.clear();
        self.len = 0;
        events.into_iter().for_each(|event| self.insert(event));
    }
}

/// On average; the next days have more.
const EVENTS_PER_DAY: usize = 8;
const DAYS_MIN: usize = 16;

#[cfg(test)]
mod tests {
    use engines::events::{HeapSet, Phold, Sequential, Torus};

    use super::*;

    #[test]
    fn events_come_in_the_order_of_the_heap() {
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
    fn empty_years_are_skipped() {
        let event = |time| Event {
            time,
            source: 0,
            number: 0,
            target: 0,
        };
        let mut queue = CalendarQueue::with_capacity(4);
        for time in [4_000_000_000, 5, u32::MAX - 1, 7] {
            queue.push(event(time));
        }
        let mut times = vec![];
        while let Some(event) = queue.pop_before(u32::MAX) {
            times.push(event.time);
        }
        assert_eq!(times, [5, 7, 4_000_000_000, u32::MAX - 1]);
        assert_eq!(queue.pop_before(u32::MAX), None);
    }
}
