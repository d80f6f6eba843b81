//! Searches of flow fields that go on beside ticks.
//!
//! What a field is searched from is known `refresh_ticks` before its steps come into force, so the
//! search takes that long at most, and no tick waits for one unless the machine is too slow.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use shared::Tick;
use shared::world::field::Field;

use crate::space::field::{FieldCells, Ground, Search};

/// Threads that search, and what they found.
pub struct Searches {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    ground: Ground,
    fields: Vec<Field>,
    queue: Mutex<Queue>,
    /// A job was added, or the threads shall end.
    added: Condvar,
    /// A search ended.
    ended: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    found: Vec<Found>,
    /// What a thread searches since before a restore has another number.
    epoch: u64,
    is_over: bool,
}

/// A field to be searched.
struct Job {
    field: usize,
    cells: FieldCells,
    /// The tick in which its steps come into force.
    due: Tick,
}

/// Its steps, or what the search failed with.
struct Found {
    field: usize,
    steps: Result<Vec<i32>, Box<dyn Any + Send>>,
}

impl Searches {
    /// Starts so many threads; fewer, or none, where the system refuses.
    pub fn new(ground: Ground, fields: &[Field], threads: usize) -> Searches {
        let shared = Arc::new(Shared {
            ground,
            fields: fields.to_vec(),
            queue: Mutex::default(),
            added: Condvar::new(),
            ended: Condvar::new(),
        });
        let start = |number| {
            let shared = shared.clone();
            let thread = thread::Builder::new().name(format!("field-{number}"));
            thread.spawn(move || shared.search()).ok()
        };
        let threads = (0..threads).filter_map(start).collect();
        Searches { shared, threads }
    }

    pub fn ground(&self) -> &Ground {
        &self.shared.ground
    }

    pub fn fields(&self) -> &[Field] {
        &self.shared.fields
    }

    /// Begins with a field.
    pub fn begin(&self, field: usize, cells: FieldCells, due: Tick) {
        let mut queue = self.shared.lock();
        queue.jobs.push(Job { field, cells, due });
        self.shared.added.notify_one();
    }

    /// Waits for the steps of a field that was begun, and writes them to `words`.
    pub fn finish(&self, field: usize, words: &mut [i32]) {
        let mut queue = self.shared.lock();
        let found = loop {
            if let Some(at) = queue.found.iter().position(|found| found.field == field) {
                break queue.found.swap_remove(at).steps;
            }
            // Nobody has begun with it: this thread need not wait for others.
            if let Some(at) = queue.jobs.iter().position(|job| job.field == field) {
                let job = queue.jobs.swap_remove(at);
                drop(queue);
                let mut search = Search::default();
                let field = &self.shared.fields[field];
                return search.run(&self.shared.ground, field, &job.cells, words);
            }
            queue = (self.shared.ended.wait(queue)).unwrap_or_else(PoisonError::into_inner);
        };
        drop(queue);
        match found {
            Ok(steps) => words.copy_from_slice(&steps),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Forgets what was begun.
    pub fn forget(&self) {
        let mut queue = self.shared.lock();
        queue.epoch += 1;
        queue.jobs.clear();
        queue.found.clear();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing panics while it is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does.
    fn search(&self) {
        let mut search = Search::default();
        let mut queue = self.lock();
        while !queue.is_over {
            let next = (0..queue.jobs.len()).min_by_key(|&at| queue.jobs[at].due.0);
            let Some(next) = next else {
                queue = (self.added.wait(queue)).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let job = queue.jobs.swap_remove(next);
            let epoch = queue.epoch;
            drop(queue);
            let steps = catch_unwind(AssertUnwindSafe(|| {
                let mut steps = vec![0; self.ground.words()];
                let field = &self.fields[job.field];
                search.run(&self.ground, field, &job.cells, &mut steps);
                steps
            }));
            queue = self.lock();
            if epoch == queue.epoch {
                let field = job.field;
                queue.found.push(Found { field, steps });
                self.ended.notify_all();
            }
        }
    }
}

impl Drop for Searches {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.added.notify_all();
        for thread in self.threads.drain(..) {
            // Searches catch panics.
            let _ = thread.join();
        }
    }
}
