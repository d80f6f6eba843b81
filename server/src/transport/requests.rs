//! The requests on a client's stream, read no faster than the client may send them.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use quinn::RecvStream;
use shared::wire::DecodeError;
use shared::wire::request::{Request, RequestReader};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// The client's half of its stream, behind the hello.
pub struct Requests {
    receive: RecvStream,
    reader: RequestReader,
    pace: Pace,
    unanswered: Unanswered,
    /// Nothing more can come.
    is_ended: bool,
}

/// So many requests a second, and as many at once after a pause. More requests wait in the
/// client's own buffers, since the stream's window is small.
struct Pace {
    interval: Duration,
    burst: Duration,
    /// When the requests so far would have been taken in at an even pace.
    paid: Instant,
}

/// Room for requests that wait for their answers: as many as a client may send in a second.
#[derive(Clone)]
pub struct Unanswered(Arc<Semaphore>);

impl Unanswered {
    pub fn new(per_second: u32) -> Unanswered {
        Unanswered(Arc::new(Semaphore::new(per_second as usize)))
    }

    /// A request is answered.
    pub fn answer(&self) {
        self.0.add_permits(1);
    }
}

impl Requests {
    pub fn new(receive: RecvStream, per_second: u32, unanswered: Unanswered) -> Requests {
        Requests {
            receive,
            reader: RequestReader::default(),
            pace: Pace::new(per_second, Instant::now()),
            unanswered,
            is_ended: false,
        }
    }

    /// Waits for the next request; for ever after the end of the stream. Dropping the
    /// future loses nothing.
    pub async fn next(&mut self) -> Result<Request, DecodeError> {
        while !self.is_ended {
            // Both waits come before the reading, so that the window fills.
            let Ok(room) = self.unanswered.0.clone().acquire_owned().await else {
                break;
            };
            let next = self.pace.next();
            if next > Instant::now() {
                sleep_until(next).await;
            }
            match self.reader.next_request() {
                Ok(Some(message)) => {
                    self.pace.take(Instant::now());
                    // The answer gives the room back.
                    room.forget();
                    return Ok(message);
                }
                Ok(None) => {}
                Err(error) => {
                    self.is_ended = true;
                    return Err(error);
                }
            }
            // A stream may end, even inside a request, before the connection does; the
            // reader of the datagrams sees the end of the connection.
            match self.receive.read_chunk(CHUNK_BYTES_MAX, true).await {
                Ok(Some(chunk)) => self.reader.push(&chunk.bytes),
                Ok(None) | Err(_) => self.is_ended = true,
            }
        }
        pending().await
    }
}

impl Pace {
    fn new(per_second: u32, now: Instant) -> Pace {
        let interval = Duration::from_secs(1) / per_second;
        Pace {
            interval,
            burst: interval * per_second.saturating_sub(1),
            paid: now,
        }
    }

    /// When the next request may be taken in.
    fn next(&self) -> Instant {
        self.paid.checked_sub(self.burst).unwrap_or(self.paid)
    }

    fn take(&mut self, now: Instant) {
        self.paid = self.paid.max(now) + self.interval;
    }
}

const CHUNK_BYTES_MAX: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_requests_goes_through_and_then_one_an_interval() {
        let start = Instant::now() + Duration::from_secs(100);
        let ms = Duration::from_millis;
        let mut pace = Pace::new(10, start);
        for _ in 0..10 {
            assert!(pace.next() <= start);
            pace.take(start);
        }
        assert_eq!(pace.next(), start + ms(100));
        pace.take(start + ms(100));
        assert_eq!(pace.next(), start + ms(200));
        // After a long pause there is room for one burst, not more.
        let later = start + Duration::from_secs(60);
        for _ in 0..10 {
            assert!(pace.next() <= later);
            pace.take(later);
        }
        assert_eq!(pace.next(), later + ms(100));
    }
}
