//! The requests on a client's stream, read no faster than the client may send them.

use std::time::{Duration, Instant};

use platform::rate_limit::RateLimit;
use quic::StreamEnd;
use shared::wire::DecodeError;
use shared::wire::request::{Request, RequestReader};

use super::client_link::ClientLink;

/// The client's half of its stream, behind the hello.
pub struct Requests {
    reader: RequestReader,
    rate_limit: RateLimit<Instant>,
    /// From one request to the next at the even rate, and all that may come at once. More requests
    /// wait in the client's own buffers, since the stream's window is small.
    interval: Duration,
    at_once: Duration,
    /// Room for unanswered requests: as many as a client may send in a second.
    room: u32,
    /// The stream may have unread bytes.
    is_readable: bool,
    /// The stream has ended.
    is_ended: bool,
}

impl Requests {
    pub fn new(per_second: u32, now: Instant) -> Requests {
        let interval = Duration::from_secs(1) / per_second;
        Requests {
            reader: RequestReader::default(),
            rate_limit: RateLimit::new(now),
            interval,
            at_once: interval * per_second,
            room: per_second,
            is_readable: true,
            is_ended: false,
        }
    }

    /// Those of a session that begins anew, at another rate: the bytes that have come are kept.
    pub fn restart(&mut self, per_second: u32, now: Instant) {
        *self = Requests {
            reader: std::mem::take(&mut self.reader),
            is_ended: self.is_ended,
            ..Requests::new(per_second, now)
        };
    }

    /// More bytes have arrived.
    pub fn note_readable(&mut self) {
        self.is_readable = true;
    }

    /// The next request that has arrived, if the client may send one now.
    pub fn next(&mut self, link: &mut impl ClientLink) -> Result<Option<Request>, DecodeError> {
        let now = link.now();
        while self.is_readable && self.room > 0 && self.may_come(now) {
            match self.reader.next_request() {
                Ok(Some(request)) => {
                    self.rate_limit.take(self.interval, now, self.at_once);
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

    /// Whether the rate allows a request now.
    fn may_come(&self, now: Instant) -> bool {
        self.rate_limit.has_room(self.interval, now, self.at_once)
    }

    /// A request is answered.
    pub fn answer(&mut self) {
        self.room += 1;
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
        let mut requests = Requests::new(10, start);
        let mut come = |now| {
            let limit = &mut requests.rate_limit;
            let (interval, at_once) = (requests.interval, requests.at_once);
            (0..100)
                .filter(|_| limit.take(interval, now, at_once))
                .count()
        };
        assert_eq!(come(start), 10);
        assert_eq!(come(start + ms(99)), 0);
        assert_eq!(come(start + ms(100)), 1);
        assert_eq!(come(start + ms(199)), 0);
        // After a long pause there is room for one burst, not more.
        let later = start + Duration::from_secs(60);
        assert_eq!(come(later), 10);
        assert_eq!(come(later + ms(99)), 0);
        assert!(!requests.may_come(later + ms(99)) && requests.may_come(later + ms(100)));
    }
}
