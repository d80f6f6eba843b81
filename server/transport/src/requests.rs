//! The requests on a client's stream, read no faster than the client may send them.

use std::time::{Duration, Instant};

use quic::StreamEnd;
use shared::wire::DecodeError;
use shared::wire::request::{Request, RequestReader};

use super::client_link::ClientLink;

/// The client's half of its stream, behind the hello.
pub struct Requests {
    reader: RequestReader,
    rate_limit: RateLimit,
    /// Room for unanswered requests: as many as a client may send in a second.
    room: u32,
    /// The stream may have unread bytes.
    is_readable: bool,
    /// The stream has ended.
    is_ended: bool,
}

/// A rate of requests a second, with a burst of one second. More requests wait in the client's own
/// buffers, since the stream's window is small.
struct RateLimit {
    interval: Duration,
    burst: Duration,
    /// When the requests so far would have been accepted at the even rate.
    paid: Instant,
}

impl Requests {
    pub fn new(per_second: u32, now: Instant) -> Requests {
        Requests {
            reader: RequestReader::default(),
            rate_limit: RateLimit::new(per_second, now),
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
        while self.is_readable && self.room > 0 && self.rate_limit.next() <= now {
            match self.reader.next_request() {
                Ok(Some(request)) => {
                    self.rate_limit.take(now);
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
            // Unread bytes fill the window. A stream may end, even inside a request,
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

impl RateLimit {
    fn new(per_second: u32, now: Instant) -> RateLimit {
        let interval = Duration::from_secs(1) / per_second;
        RateLimit {
            interval,
            burst: interval * per_second.saturating_sub(1),
            paid: now,
        }
    }

    /// When the next request is accepted.
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
        let mut rate_limit = RateLimit::new(10, start);
        for _ in 0..10 {
            assert!(rate_limit.next() <= start);
            rate_limit.take(start);
        }
        assert_eq!(rate_limit.next(), start + ms(100));
        rate_limit.take(start + ms(100));
        assert_eq!(rate_limit.next(), start + ms(200));
        // After a long pause there is room for one burst, not more.
        let later = start + Duration::from_secs(60);
        for _ in 0..10 {
            assert!(rate_limit.next() <= later);
            rate_limit.take(later);
        }
        assert_eq!(rate_limit.next(), later + ms(100));
    }
}
