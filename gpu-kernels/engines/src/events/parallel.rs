//! Windows on all threads. A part is a range of processes. It keeps their events and
//! handles those of the window by itself; the events that these cause in other parts
//! are handed over after the window.

use device::cpu::{ThreadError, Workers};

use super::{Event, Model, NEVER, Progress, Snapshot, Start, Tally};

/// A run of a model in windows.
pub struct Parallel<'a, M: Model> {
    model: &'a M,
    windows: Windows,
    workers: Workers,
    /// Processes in each part but the last.
    part_len: u32,
    parts: Vec<Part<M>>,
    events: u64,
    now: u32,
}

/// Which events are handled at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Those that come less than the lookahead after the earliest event.
    Exact,
    /// Those that come up to the next multiple of the lookahead, as in the older
    /// approximate-time way.
    Slots,
}

impl<'a, M: Model> Parallel<'a, M> {
    /// A run at its start, with exact windows.
    pub fn new(model: &'a M, threads: usize) -> Result<Self, ThreadError> {
        Self::with_windows(model, threads, Windows::Exact)
    }

    pub fn with_windows(
        model: &'a M,
        threads: usize,
        windows: Windows,
    ) -> Result<Self, ThreadError> {
        let workers = Workers::new(threads)?;
        let processes = model.processes();
        let parts = workers.parts_of(processes as usize, PROCESSES_PER_PART) as u32;
        let part_len = processes.div_ceil(parts).max(1);
        let start = model.start();
        Ok(Parallel {
            model,
            windows,
            workers,
            part_len,
            parts: cut(start, part_len),
            events: 0,
            now: 0,
        })
    }

    /// Handles every event before `until`.
    pub fn run(&mut self, until: u32) -> Progress {
        self.run_some(until, u64::MAX)
    }

    /// Handles windows of events before `until`, until at least `events` are handled.
    pub fn run_some(&mut self, until: u32, events: u64) -> Progress {
        let pool = self.workers.pool_for(self.model.processes() as usize);
        let progress = match pool {
            Some(pool) => pool.install(|| self.windows(until, events)),
            None => self.windows(until, events),
        };
        self.events += progress.events;
        if progress.events < events {
            self.now = self.now.max(until);
        }
        progress
    }

    fn windows(&mut self, until: u32, events: u64) -> Progress {
        let mut progress = Progress::default();
        let lookahead = self.model.lookahead();
        while progress.events < events {
            let least = self.parts.iter().map(|part| part.least).min();
            let Some(least) = least.filter(|&least| least < until) else {
                break;
            };
            let end = match self.windows {
                Windows::Exact => least.saturating_add(lookahead),
                Windows::Slots => {
                    let slot = u64::from(least).next_multiple_of(u64::from(lookahead));
                    (slot + 1).min(u64::from(NEVER)) as u32
                }
            };
            progress.events += self.window(end.min(until));
            progress.windows += 1;
        }
        progress
    }

    /// Handles the events before `end`, and counts them.
    fn window(&mut self, end: u32) -> u64 {
        let (model, part_len) = (self.model, self.part_len);
        let exact = self.windows == Windows::Exact;
        self.workers.run(self.parts.iter_mut().collect(), |part| {
            part.select(end);
            part.handle(model, part_len, if exact { end } else { 0 });
        });
        let handled = self.parts.iter().map(|part| part.batch.len() as u64).sum();
        if self.parts.len() > 1 {
            self.exchange();
            self.workers
                .run(self.parts.iter_mut().collect(), Part::apply);
        }
        handled
    }

    /// Each part's outbox for another becomes the other's inbox from it.
    fn exchange(&mut self) {
        for from in 0..self.parts.len() {
            for to in 0..self.parts.len() {
                let events = std::mem::take(&mut self.parts[from].boxes[to].0);
                let place = &mut self.parts[to].boxes[from].1;
                let emptied = std::mem::replace(place, events);
                self.parts[from].boxes[to].0 = emptied;
            }
        }
    }

    /// The state; its `now` is meaningless after [`Parallel::run_some`] stopped early.
    pub fn snapshot(&self) -> Snapshot<M::Process, M::Tally> {
        let mut snapshot = Snapshot {
            now: self.now,
            processes: Vec::with_capacity(self.model.processes() as usize),
            pending: vec![],
            tally: M::Tally::default(),
            events: self.events,
        };
        for part in &self.parts {
            snapshot.processes.extend_from_slice(&part.processes);
            snapshot.pending.extend(part.pending());
            snapshot.tally.add(&part.tally);
        }
        snapshot.pending.sort_unstable();
        snapshot
    }

    /// Handles every event before `until` and gives all of them back, in order.
    pub fn record(&mut self, until: u32) -> Vec<Event> {
        let mut trace = vec![];
        while self.run_some(until, 1).events > 0 {
            let events = self.parts.iter().flat_map(|part| &part.batch);
            trace.extend(events.map(|&key| event_of(key)));
        }
        trace.sort_unstable();
        trace
    }
}

/// A range of processes and the events that will happen to them.
struct Part<M: Model> {
    first: u32,
    processes: Vec<M::Process>,
    /// The times of a pool of events. A free place has [`NEVER`], and is listed in
    /// `free`.
    times: Vec<u32>,
    bodies: Vec<Body>,
    free: Vec<u32>,
    /// No event is earlier.
    least: u32,
    tally: M::Tally,
    /// Scratch of the selection: places in the pool.
    selected: Vec<u32>,
    /// The window's events by (target, time, source, number).
    batch: Vec<u128>,
    /// By other part: the events for it, and those that came from it.
    boxes: Vec<(Vec<Event>, Vec<Event>)>,
    /// When each process had its latest event, to check causality.
    #[cfg(debug_assertions)]
    clocks: Vec<u32>,
}

/// An event without its time.
#[derive(Clone, Copy)]
struct Body {
    source: u32,
    number: u32,
    target: u32,
}

impl<M: Model> Part<M> {
    /// Moves the events before `end` from the pool to the batch, sorted.
    fn select(&mut self, end: u32) {
        let places = self.times.len();
        if self.selected.len() < places {
            self.selected.resize(places, 0);
        }
        // Without branches: they would be mispredicted.
        let (mut n, mut least) = (0, NEVER);
        for (i, &time) in self.times.iter().enumerate() {
            self.selected[n] = i as u32;
            let is_selected = time < end;
            n += usize::from(is_selected);
            least = least.min(if is_selected { NEVER } else { time });
        }
        self.least = least;
        self.batch.clear();
        for &i in &self.selected[..n] {
            let time = std::mem::replace(&mut self.times[i as usize], NEVER);
            let Body {
                source,
                number,
                target,
            } = self.bodies[i as usize];
            let key = u128::from(target) << 96
                | u128::from(time) << 64
                | u128::from(source) << 32
                | u128::from(number);
            self.batch.push(key);
        }
        self.free.extend_from_slice(&self.selected[..n]);
        self.batch.sort_unstable();
    }

    /// Handles the batch. The events that it causes come at `not_before` or later.
    fn handle(&mut self, model: &M, part_len: u32, not_before: u32) {
        let mut batch = std::mem::take(&mut self.batch);
        let own = self.first..self.first + self.processes.len() as u32;
        let mut tally = M::Tally::default();
        for &key in &batch {
            let event = event_of(key);
            let place = (event.target - own.start) as usize;
            #[cfg(debug_assertions)]
            if not_before > 0 {
                assert!(self.clocks[place] <= event.time, "{event:?} comes too late");
                self.clocks[place] = event.time;
            }
            let mut process = self.processes[place];
            model.handle(&event, &mut process, &mut tally, |next| {
                debug_assert!(next.time >= not_before, "{next:?} is within the window");
                if own.contains(&next.target) {
                    self.insert(next);
                } else {
                    self.boxes[(next.target / part_len) as usize].0.push(next);
                }
            });
            self.processes[place] = process;
        }
        self.tally.add(&tally);
        std::mem::swap(&mut self.batch, &mut batch);
    }

    /// Takes the events that came from other parts.
    fn apply(&mut self) {
        for from in 0..self.boxes.len() {
            let mut events = std::mem::take(&mut self.boxes[from].1);
            events.drain(..).for_each(|event| self.insert(event));
            self.boxes[from].1 = events;
        }
    }

    #[inline]
    fn insert(&mut self, event: Event) {
        let Event {
            time,
            source,
            number,
            target,
        } = event;
        let body = Body {
            source,
            number,
            target,
        };
        self.least = self.least.min(time);
        match self.free.pop() {
            Some(place) => {
                self.times[place as usize] = time;
                self.bodies[place as usize] = body;
            }
            None => {
                self.times.push(time);
                self.bodies.push(body);
            }
        }
    }

    fn pending(&self) -> impl Iterator<Item = Event> {
        let mut is_free = vec![false; self.times.len()];
        for &place in &self.free {
            is_free[place as usize] = true;
        }
        let places = self.times.iter().zip(&self.bodies).zip(is_free);
        places
            .filter(|(_, is_free)| !is_free)
            .map(|((&time, body), _)| Event {
                time,
                source: body.source,
                number: body.number,
                target: body.target,
            })
    }
}

/// Cuts a model's start into parts.
fn cut<M: Model>(start: Start<M>, part_len: u32) -> Vec<Part<M>> {
    let mut parts: Vec<Part<M>> = start
        .processes
        .chunks(part_len as usize)
        .enumerate()
        .map(|(i, processes)| Part {
            first: i as u32 * part_len,
            processes: processes.to_vec(),
            times: vec![],
            bodies: vec![],
            free: vec![],
            least: NEVER,
            tally: M::Tally::default(),
            selected: vec![],
            batch: vec![],
            boxes: vec![],
            #[cfg(debug_assertions)]
            clocks: vec![0; processes.len()],
        })
        .collect();
    let n = parts.len();
    for part in &mut parts {
        part.boxes.resize_with(n, Default::default);
    }
    parts[0].tally = start.tally;
    for event in start.events {
        parts[(event.target / part_len) as usize].insert(event);
    }
    parts
}

fn event_of(key: u128) -> Event {
    Event {
        time: (key >> 64) as u32,
        source: (key >> 32) as u32,
        number: key as u32,
        target: (key >> 96) as u32,
    }
}

/// Processes below which waking a thread twice a window costs more than it saves.
const PROCESSES_PER_PART: usize = 16_384;
