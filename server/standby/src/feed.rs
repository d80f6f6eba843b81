//! At the primary: the records on their way to the standby, its acknowledgements, and how
//! long a tick waits for that.
//!
//! The journal's thread pushes, the link's thread takes and acknowledges, the tick's thread
//! waits. There is one standby: a second one is refused.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use durability::elsewhere::Replica;
use durability::epoch::Epoch;
use platform::metrics::table;
use platform::waits::{Stopped, Wait};
use tokio::sync::Notify;
use tracing::{error, info, warn};

use super::link;

/// State shared by the three threads.
#[derive(Debug)]
pub struct Feed {
    options: FeedOptions,
    alone: Option<Arc<dyn Alone>>,
    state: Mutex<State>,
    /// For the tick's thread.
    changed: Condvar,
    /// For the link's thread.
    arrived: Notify,
}

/// Notes at a third party that this server has no standby, so that none takes over that may lack
/// ticks.
pub trait Alone: std::fmt::Debug + Send + Sync {
    /// Whether it was noted before.
    fn is_noted(&self) -> bool;

    /// Returns once it is noted. Fails with [`Stopped`] if the server is stopping.
    fn note(&self, stop: &AtomicBool) -> Result<()>;

    /// Removes the note, soon.
    fn clear(&self);
}

/// Options for a standby that does not acknowledge.
#[derive(Clone, Copy, Debug)]
pub struct FeedOptions {
    /// The world ends rather than that a tick which the standby lacks is sent to clients.
    pub is_required: bool,
    /// How long a tick waits.
    pub patience: Duration,
    /// Records that wait for a standby before it is too slow.
    pub queue_bytes_max: usize,
}

impl Default for FeedOptions {
    fn default() -> FeedOptions {
        FeedOptions {
            is_required: false,
            patience: Duration::from_secs(5),
            queue_bytes_max: 64 << 20,
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// The tick of the next record.
    next: u64,
    seat: Option<Seat>,
    /// Where clients find the standby that has a seat, or had the last one; empty: nowhere.
    clients_at: Arc<str>,
    /// When the last one lost it.
    left: Option<Instant>,
    /// How many there were.
    seats: u64,
    /// The first tick that the standby has not acknowledged.
    acknowledged: u64,
    /// The first tick that was not sent to clients.
    released: u64,
    /// False while ticks don't wait, because there is no standby.
    is_in_force: bool,
    /// It is noted that there is none.
    is_alone: bool,
    deposed: Option<Epoch>,
}

/// A standby that gets records.
#[derive(Debug)]
struct Seat {
    number: u64,
    /// Messages, oldest first.
    queue: VecDeque<Vec<u8>>,
    queue_bytes: usize,
}

/// A place at the feed. Dropping it gives it up.
#[derive(Debug)]
pub struct Seated<'a> {
    feed: &'a Feed,
    number: u64,
    /// The first record that the feed will give.
    pub first: u64,
}

impl Feed {
    pub fn new(options: FeedOptions) -> Feed {
        Feed::with_alone(options, None)
    }

    /// A feed whose server may run without a required standby, once that is noted.
    pub fn with_alone(options: FeedOptions, alone: Option<Arc<dyn Alone>>) -> Feed {
        let alone = alone.filter(|_| options.is_required);
        let is_alone = alone.as_ref().is_some_and(|alone| alone.is_noted());
        Feed {
            options,
            alone,
            state: Mutex::new(State {
                is_in_force: options.is_required && !is_alone,
                is_alone,
                ..State::default()
            }),
            changed: Condvar::new(),
            arrived: Notify::new(),
        }
    }

    /// The tick of the next record.
    pub fn next(&self) -> u64 {
        self.lock().next
    }

    /// Takes the place of the standby, which clients will find at an address; `None` if another
    /// one has it.
    pub fn take_seat(&self, clients_at: &str) -> Option<Seated<'_>> {
        let mut state = self.lock();
        if state.seat.is_some() || state.deposed.is_some() {
            return None;
        }
        state.seats += 1;
        state.acknowledged = 0;
        let number = state.seats;
        state.clients_at = clients_at.into();
        state.seat = Some(Seat {
            number,
            queue: VecDeque::new(),
            queue_bytes: 0,
        });
        table::STANDBYS.set(1);
        Some(Seated {
            feed: self,
            number,
            first: state.next,
        })
    }

    /// Disconnects the standby, which must connect again.
    pub fn disconnect_standby(&self, reason: &str) {
        if self.lock().stand_up() {
            warn!(reason, "the standby is disconnected");
            self.wake_all();
        }
    }

    /// Another server took over the world: nothing is sent or acknowledged here any more.
    pub fn depose(&self, epoch: Epoch) {
        let mut state = self.lock();
        state.deposed = Some(epoch);
        state.stand_up();
        drop(state);
        self.wake_all();
    }

    /// The first tick that the standby has not acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.lock().acknowledged
    }

    fn wake_all(&self) {
        table::STANDBYS.set(0);
        self.changed.notify_all();
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Replica for Feed {
    fn begin(&self, next: u64) {
        let mut state = self.lock();
        state.next = next;
        state.released = next;
    }

    fn push(&self, tick: u64, record: &[u8], begins_segment: bool) {
        let mut state = self.lock();
        state.next = tick + 1;
        let lag = state.next.saturating_sub(state.acknowledged);
        let Some(seat) = &mut state.seat else {
            return;
        };
        table::STANDBY_LAG.set(lag);
        let message = link::record(record, begins_segment);
        seat.queue_bytes += message.len();
        seat.queue.push_back(message);
        if seat.queue_bytes > self.options.queue_bytes_max {
            drop(state);
            self.disconnect_standby("it is too slow, and gets a new checkpoint");
        } else {
            drop(state);
            self.arrived.notify_one();
        }
    }

    /// Waits until the standby has a tick, or need not have it. Fails with [`Stopped`] once the
    /// server is stopping: then the tick is not sent.
    fn wait(&self, tick: u64, stop: &AtomicBool) -> Result<()> {
        let begun = Instant::now();
        let mut wait = None;
        let mut state = self.lock();
        let was_in_force = state.is_in_force;
        loop {
            check(&state)?;
            let has_seat = state.seat.is_some();
            if has_seat && state.acknowledged > tick {
                state.is_in_force = true;
                if !was_in_force {
                    info!(
                        tick,
                        "the standby is up to date: level `standby` is in force"
                    );
                }
                // From here on ticks wait for it.
                if std::mem::take(&mut state.is_alone)
                    && let Some(alone) = &self.alone
                {
                    alone.clear();
                }
                break;
            }
            let is_close = has_seat && state.acknowledged + CLOSE_TICKS > tick;
            if !state.is_in_force && !is_close {
                break;
            }
            state.is_in_force = true;
            let left = self.options.patience.saturating_sub(begun.elapsed());
            let is_required = self.options.is_required;
            let may_be_alone = !is_required || self.alone.is_some();
            if left.is_zero() || !has_seat && may_be_alone {
                if !may_be_alone {
                    bail!(
                        "the standby has not acknowledged tick {tick} in {} seconds, and it is \
                         required",
                        self.options.patience.as_secs_f64()
                    );
                }
                // Otherwise the next tick would wait for it, too.
                if state.stand_up() {
                    table::STANDBYS.set(0);
                    self.arrived.notify_one();
                }
                if let Some(alone) = self.alone.as_ref().filter(|_| !state.is_alone) {
                    drop(state);
                    alone.note(stop)?;
                    state = self.lock();
                    state.is_alone = true;
                }
                state.is_in_force = false;
                table::STANDBY_FALLBACKS.add(1);
                error!(
                    tick,
                    has_seat, "there is no standby: level `synced` holds until there is one"
                );
                break;
            }
            let what = || format!("the standby to acknowledge tick {tick}");
            if stop.load(Ordering::Relaxed) {
                bail!(Stopped(what()));
            }
            if begun.elapsed() >= WAIT_USUAL && wait.is_none() {
                wait = Some(Wait::new(what(), WAIT_USUAL));
            }
            let waited = self.changed.wait_timeout(state, left.min(STOP_LATENCY));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.released = tick + 1;
        table::STANDBY_IN_FORCE.set(u64::from(state.is_in_force));
        table::STANDBY_WAIT.record(begun.elapsed());
        Ok(())
    }

    fn check(&self) -> Result<()> {
        check(&self.lock())
    }

    fn released(&self) -> u64 {
        self.lock().released
    }

    fn disconnect(&self, reason: &str) {
        self.disconnect_standby(reason);
    }

    /// One that lost its seat a moment ago
    /// may connect again, or have been promoted: then clients need its address most.
    fn clients_at(&self, now: Instant) -> Arc<str> {
        let mut state = self.lock();
        let is_gone = |left: &mut Instant| now.saturating_duration_since(*left) > ABSENCE_MAX;
        if state.seat.is_none() && state.left.take_if(is_gone).is_some() {
            state.clients_at = Arc::default();
        }
        state.clients_at.clone()
    }
}

impl Seated<'_> {
    /// The next message for the standby; `None` once the place is lost.
    pub async fn next(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut state = self.feed.lock();
                let seat = state.seat.as_mut();
                let seat = seat.filter(|seat| seat.number == self.number)?;
                if let Some(message) = seat.queue.pop_front() {
                    seat.queue_bytes -= message.len();
                    return Some(message);
                }
            }
            self.feed.arrived.notified().await;
        }
    }

    /// The standby has everything before a tick. False if that is impossible.
    pub fn acknowledge(&self, next: u64) -> bool {
        let mut state = self.feed.lock();
        let is_here = state.seat.as_ref().map(|seat| seat.number) == Some(self.number);
        if next > state.next || next < state.acknowledged {
            return false;
        }
        if is_here {
            state.acknowledged = next;
            table::STANDBY_ACKNOWLEDGED.set(next.saturating_sub(1));
            table::STANDBY_LAG.set(state.next - next);
            drop(state);
            self.feed.changed.notify_all();
        }
        true
    }
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        let mut state = self.feed.lock();
        if state.seat.as_ref().map(|seat| seat.number) == Some(self.number) {
            state.stand_up();
            drop(state);
            self.feed.wake_all();
        }
    }
}

impl State {
    /// Takes the standby's seat away. False if there was none.
    fn stand_up(&mut self) -> bool {
        let had_seat = self.seat.take().is_some();
        if had_seat {
            self.left = Some(Instant::now());
        }
        had_seat
    }
}

fn check(state: &State) -> Result<()> {
    match state.deposed {
        Some(epoch) => bail!(
            "a standby was promoted, and runs the world in epoch {epoch}: this server \
            must not continue"
        ),
        None => Ok(()),
    }
}

/// A standby that lost its seat for longer is gone.
const ABSENCE_MAX: Duration = Duration::from_secs(10);
/// A wait for a standby that is no longer is usual.
const WAIT_USUAL: Duration = Duration::from_secs(1);
/// The longest that a stop waits for a tick that waits.
const STOP_LATENCY: Duration = Duration::from_millis(50);
/// A standby that is so far behind is waited for again.
const CLOSE_TICKS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    static RUNS: AtomicBool = AtomicBool::new(false);

    fn feed(is_required: bool, patience_ms: u64) -> Feed {
        let feed = Feed::new(FeedOptions {
            is_required,
            patience: Duration::from_millis(patience_ms),
            queue_bytes_max: 1000,
        });
        feed.begin(10);
        feed
    }

    #[test]
    fn a_required_standby_is_waited_for_and_without_it_the_world_ends() {
        let feed = feed(true, 20);
        let seated = feed.take_seat("").unwrap();
        feed.push(10, &[1], true);
        assert!(seated.acknowledge(11));
        feed.wait(10, &RUNS).unwrap();
        assert_eq!(feed.released(), 11);
        feed.push(11, &[1], false);
        assert!(feed.wait(11, &RUNS).is_err());
        drop(seated);
        assert!(feed.wait(11, &RUNS).is_err());
        assert_eq!(feed.released(), 11);
    }

    #[derive(Debug, Default)]
    struct Noted(Mutex<Vec<bool>>);

    impl Alone for Noted {
        fn is_noted(&self) -> bool {
            false
        }

        fn note(&self, _: &AtomicBool) -> Result<()> {
            self.0.lock().unwrap().push(true);
            Ok(())
        }

        fn clear(&self) {
            self.0.lock().unwrap().push(false);
        }
    }

    #[test]
    fn a_required_standby_is_done_without_once_that_is_noted() {
        let noted = Arc::new(Noted::default());
        let options = FeedOptions {
            is_required: true,
            // An hour: a standby that is gone is not waited for.
            patience: Duration::from_secs(3600),
            queue_bytes_max: 1000,
        };
        let feed = Feed::with_alone(options, Some(noted.clone()));
        feed.begin(10);
        feed.push(10, &[1], true);
        feed.wait(10, &RUNS).unwrap();
        feed.push(11, &[1], false);
        feed.wait(11, &RUNS).unwrap();
        assert_eq!(*noted.0.lock().unwrap(), [true]);
        let seated = feed.take_seat("").unwrap();
        feed.push(12, &[1], false);
        assert!(seated.acknowledge(13));
        feed.wait(12, &RUNS).unwrap();
        assert_eq!(*noted.0.lock().unwrap(), [true, false]);
        drop(seated);
        feed.push(13, &[1], false);
        feed.wait(13, &RUNS).unwrap();
        assert_eq!(*noted.0.lock().unwrap(), [true, false, true]);
        assert_eq!(feed.released(), 14);
    }

    #[test]
    fn a_stop_ends_the_wait_for_a_standby_and_the_tick_is_not_sent() {
        // An hour.
        let feed = feed(true, 3_600_000);
        feed.push(10, &[1], true);
        let ended = feed.wait(10, &AtomicBool::new(true));
        assert!(ended.unwrap_err().is::<Stopped>());
        assert_eq!(feed.released(), 10);
        // With a standby that has it, a stop changes nothing.
        let seated = feed.take_seat("").unwrap();
        assert!(seated.acknowledge(11));
        feed.wait(10, &AtomicBool::new(true)).unwrap();
    }

    #[test]
    fn without_a_standby_ticks_continue_and_wait_again_once_it_has_caught_up() {
        let feed = feed(false, 20);
        feed.push(10, &[1], true);
        feed.wait(10, &RUNS).unwrap();
        let seated = feed.take_seat("").unwrap();
        for tick in 11..30 {
            feed.push(tick, &[1], false);
            feed.wait(tick, &RUNS).unwrap();
        }
        assert!(!feed.lock().is_in_force);
        assert!(seated.acknowledge(30));
        feed.push(30, &[1], false);
        // It is close, so ticks wait for it, until the deadline.
        feed.wait(30, &RUNS).unwrap();
        assert!(!feed.lock().is_in_force);
        // It has lost its place, so it connects again.
        let seated = feed.take_seat("").unwrap();
        feed.wait(30, &RUNS).unwrap();
        assert!(!feed.lock().is_in_force);
        assert!(seated.acknowledge(31));
        feed.wait(30, &RUNS).unwrap();
        assert!(feed.lock().is_in_force);
    }

    #[test]
    fn a_standby_that_is_too_slow_or_lies_loses_its_place() {
        let feed = feed(false, 20);
        let seated = feed.take_seat("").unwrap();
        assert!(feed.take_seat("").is_none());
        assert!(!seated.acknowledge(11), "nothing was pushed");
        feed.push(10, &[0; 2000], true);
        assert!(feed.take_seat("").is_some());
    }

    #[test]
    fn clients_know_a_standby_for_a_moment_longer_than_it_is_there() {
        let feed = feed(false, 20);
        let soon = || Instant::now() + ABSENCE_MAX / 2;
        let late = || Instant::now() + ABSENCE_MAX * 2;
        assert_eq!(&*feed.clients_at(late()), "");
        let seated = feed.take_seat("one:4433").unwrap();
        assert_eq!(&*feed.clients_at(late()), "one:4433");
        drop(seated);
        assert_eq!(&*feed.clients_at(soon()), "one:4433");
        let seated = feed.take_seat("two:4433").unwrap();
        assert_eq!(&*feed.clients_at(late()), "two:4433");
        drop(seated);
        assert_eq!(&*feed.clients_at(late()), "");
    }

    #[test]
    fn a_deposed_server_sends_no_tick() {
        let feed = feed(false, 20);
        feed.depose(Epoch(9));
        assert!(feed.wait(10, &RUNS).is_err());
        assert!(feed.check().is_err());
        assert!(feed.take_seat("").is_none());
    }
}
