//! The requests on a client's stream, read no faster than the client may send them.

use std::time::{Duration, Instant};

use quic::StreamEnd;
use shared::wire::DecodeError;
use shared::wire::request::{Request, RequestReader};

use super::client_link::ClientLink;

/// The client's half of its stream, behind the hello.
pub struct Requests {
    reader: RequestReader,
    pace: Pace,
    /// Room for requests that wait for their answers: as many as a client may send in a
    /// second.
    room: u32,
    /// The stream was not read to the last byte that has arrived.
    is_readable: bool,
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

impl Requests {
    pub fn new(per_second: u32, now: Instant) -> Requests {
        Requests {
            reader: RequestReader::default(),
            pace: Pace::new(per_second, now),
            room: per_second,
            is_readable: true,
            is_ended: false,
        }
    }

    /// More bytes have arrived.
    pub fn note_readable(&mut self) {
        self.is_readable = true;
    }

    /// The next request that has arrived, if the client may send one now.
    pub fn next(&mut self, link: &mut impl ClientLink) -> Result<Option<Request>, DecodeError> {
        let now = link.now();
        while self.is_readable && self.room > 0 && self.pace.next() <= now {
            match self.reader.next_request() {
                Ok(Some(request)) => {
                    self.pace.take(now);
                    self.room -= 1;
                    return Ok(Some(request));
                }
                Ok(None) if self.is_ended => break,
                Ok(None) => {}
                Err(error) => {
                    self.is_ended = true;
                    return Err(error);
                }
            }
            // What is not read fills the window. A stream may end, even inside a request,
            // before the connection does.
            let mut is_new = false;
            let end = link.read(CHUNK_BYTES_MAX, |bytes| {
                self.reader.push(bytes);
                is_new = true;
            });
            self.is_ended = end == StreamEnd::Finished;
            self.is_readable = end != StreamEnd::Waiting || is_new;
        }
        Ok(None)
    }

    /// A request is answered.
    pub fn answer(&mut self) {
        self.room += 1;
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
