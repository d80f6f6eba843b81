//! Threads that live as long as their owner, each for its own share of what is done together.
//!
//! Unlike those of [`Workers`](super::Workers) they may wait for each other: each task has a
//! thread to itself, which never takes up another task meanwhile. A thread that sleeps starts
//! its task some 10 µs late; a new one would start 100 µs late and more.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::workers::ThreadError;

/// Threads beside the caller's.
#[derive(Default)]
pub struct Crew {
    members: Vec<Member>,
}

struct Member {
    /// `None` once it is to end.
    jobs: Option<Sender<Job>>,
    done: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

/// A task. It borrows from the caller of [`Crew::run`], which waits until it is done.
type Job = Box<dyn FnOnce() + Send>;

impl Crew {
    /// Starts so many threads.
    pub fn new(threads: usize) -> Result<Crew, ThreadError> {
        let members = (1..=threads).map(Member::start).collect::<Result<_, _>>()?;
        Ok(Crew { members })
    }

    /// Does something for each task: for the first one on this thread, for each other one on a
    /// thread of its own. The results are in the order of the tasks. A panic of a task is
    /// passed on, once all tasks have ended.
    ///
    /// # Panics
    /// Panics if there are more tasks than threads, this one included.
    pub fn run<T: Send, R: Send>(&mut self, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        let mut tasks = tasks.into_iter();
        let Some(first) = tasks.next() else {
            return vec![];
        };
        assert!(tasks.len() <= self.members.len(), "a thread for each task");
        let work = &work;
        let mut others: Vec<Option<thread::Result<R>>> = vec![];
        others.resize_with(tasks.len(), || None);
        let mut busy = Busy(Vec::with_capacity(others.len()));
        for ((member, task), result) in self.members.iter().zip(tasks).zip(&mut others) {
            let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
                *result = Some(catch_unwind(AssertUnwindSafe(|| work(task))));
            });
            // SAFETY: only the lifetime changes. What the job borrows outlives it: `busy` is
            // dropped before `others` and `work`, also when a panic leaves this function, and
            // then waits until the member has run the job and dropped it. A member that does
            // not get the job gives it back, and one that has ended has no job.
            let job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Job>(job) };
            let sent = member.jobs.as_ref().map(|jobs| jobs.send(job));
            if let Some(Ok(())) = sent {
                busy.0.push(member);
            }
        }
        let own = work(first);
        drop(busy);
        let mut results = vec![own];
        for other in others {
            match other {
                Some(Ok(result)) => results.push(result),
                Some(Err(panic)) => resume_unwind(panic),
                None => panic!("a thread of the crew has ended"),
            }
        }
        results
    }
}

impl Member {
    fn start(number: usize) -> Result<Member, ThreadError> {
        let (jobs, to_do) = channel::<Job>();
        let (has_done, done) = channel();
        let thread = thread::Builder::new()
            .name(format!("part-{number}"))
            .spawn(move || {
                while let Ok(job) = to_do.recv() {
                    job();
                    // The owner is gone only if it waits for nothing.
                    let _ = has_done.send(());
                }
            })
            .map_err(|error| ThreadError::new(error.to_string()))?;
        Ok(Member {
            jobs: Some(jobs),
            done,
            thread: Some(thread),
        })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Jobs catch panics.
            let _ = thread.join();
        }
    }
}

/// Members with a job; waits for all of them.
struct Busy<'a>(Vec<&'a Member>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        for member in &self.0 {
            let _ = member.done.recv();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn tasks_borrow_and_run_at_the_same_time_each_time_on_the_same_threads() {
        let mut crew = Crew::new(3).unwrap();
        let mut seen = vec![];
        for round in 0..50 {
            let mut numbers = [0, 1, 2, 3];
            // Nobody passes it alone.
            let barrier = Barrier::new(4);
            let threads = crew.run(numbers.iter_mut().collect(), |number: &mut u32| {
                barrier.wait();
                *number += round;
                thread::current().id()
            });
            assert_eq!(numbers, [round, round + 1, round + 2, round + 3]);
            assert_eq!(threads[0], thread::current().id());
            seen.push(threads);
        }
        assert!(seen.iter().all(|threads| threads == &seen[0]), "{seen:?}");
    }

    #[test]
    fn fewer_tasks_than_threads_have_their_results_in_order() {
        let mut crew = Crew::new(5).unwrap();
        for tasks in 0..6usize {
            let doubled = crew.run((0..tasks).collect(), |number| 2 * number);
            assert_eq!(doubled, (0..tasks).map(|n| 2 * n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_is_passed_on_after_all_tasks_and_the_threads_go_on() {
        let mut crew = Crew::new(2).unwrap();
        for failing in 0..3 {
            let ended = AtomicUsize::new(0);
            let ran = catch_unwind(AssertUnwindSafe(|| {
                crew.run(vec![0, 1, 2], |task| {
                    ended.fetch_add(1, Ordering::SeqCst);
                    assert_ne!(task, failing, "task {task}");
                })
            }));
            let panic = ran.expect_err("a panic");
            let said = panic.downcast_ref::<String>().unwrap();
            assert!(said.contains(&format!("task {failing}")), "{said}");
            assert_eq!(ended.load(Ordering::SeqCst), 3);
        }
        assert_eq!(crew.run(vec![1, 2, 3], |task| task), [1, 2, 3]);
    }
}
