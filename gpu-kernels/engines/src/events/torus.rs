//! The paper's torus queueing network (section 2, figure 3): service facilities
//! in a square whose edges meet, and tokens that are served and move on to one of
//! four neighbours, each equally likely.
//!
//! A facility serves tokens in the order of arrival, so the start of a token's service
//! is known when it arrives: its arrival or the last departure before it, whichever is
//! later. The event is therefore an arrival, and it causes the arrival at the next
//! facility; a facility is two numbers and has no queue. Every token departs at the
//! same time as with the paper's departure events and waiting queues.

use super::random::{Draw, exponential};
use super::{Event, Model, ModelError, NEVER, Start, Tally, within};

/// A torus network. An event's number is its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torus {
    pub side: u32,
    pub tokens_per_facility: u32,
    pub seed: u64,
    /// Ticks of service, on average.
    pub service_mean: u32,
    /// The paper's d: the least ticks of a service.
    pub lookahead: u32,
}

/// One server and its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Facility {
    /// When the last token that has arrived will have been served.
    pub free_at: u32,
    /// How many services were drawn.
    pub services: u32,
}

/// Sums in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TorusTally {
    /// Arrivals at facilities.
    pub arrivals: u64,
    pub service: u64,
    /// From arrivals to the departures that follow them.
    pub stay: u64,
}

/// Ways to leave a facility. A token's channel into a facility is the way that it
/// took to come there.
pub const WAYS: u32 = 4;

impl Torus {
    /// A network with one token in each facility, whose service times are
    /// `exponential(service_mean − lookahead) + lookahead`.
    pub fn new(
        side: u32,
        seed: u64,
        service_mean: u32,
        lookahead: u32,
    ) -> Result<Torus, ModelError> {
        within("facilities on a side", side, 1, SIDE_MAX)?;
        within("ticks of service on average", service_mean, 2, u32::MAX)?;
        within(
            "ticks of lookahead below the average service",
            lookahead,
            1,
            service_mean - 1,
        )?;
        Ok(Torus {
            side,
            tokens_per_facility: 1,
            seed,
            service_mean,
            lookahead,
        })
    }

    /// The same network with more tokens in each facility at the beginning.
    pub fn with_tokens(self, tokens_per_facility: u32) -> Result<Torus, ModelError> {
        let facilities = self.side * self.side;
        within(
            "tokens in a facility",
            tokens_per_facility,
            1,
            TOKENS_MAX / facilities,
        )?;
        Ok(Torus {
            tokens_per_facility,
            ..self
        })
    }

    pub fn tokens(&self) -> u32 {
        self.side * self.side * self.tokens_per_facility
    }

    /// The facility next to another: +x, −x, +y or −y.
    #[inline]
    pub fn neighbour(&self, facility: u32, way: u32) -> u32 {
        let (side, x) = (self.side, facility % self.side);
        let last = side - 1;
        match way {
            0 if x == last => facility - last,
            0 => facility + 1,
            1 if x == 0 => facility + last,
            1 => facility - 1,
            2 if facility >= side * last => facility - side * last,
            2 => facility + side,
            _ if facility < side => facility + side * last,
            _ => facility - side,
        }
    }

    /// A service that begins at `start`: when it ends, and which way the token goes.
    #[inline]
    pub(super) fn serve(
        &self,
        target: u32,
        facility: &mut Facility,
        start: u32,
    ) -> (u32, u32, u64) {
        let bits = Draw::new(self.seed, target, facility.services).bits();
        let mean = self.service_mean - self.lookahead;
        let service = exponential(mean, (bits >> 32) as u32) + u64::from(self.lookahead);
        let end = (u64::from(start) + service).min(u64::from(NEVER)) as u32;
        facility.services = facility.services.wrapping_add(1);
        facility.free_at = end;
        (end, bits as u32 % WAYS, service)
    }

    /// Ticks until `now` in which servers were busy, over all of them.
    pub fn busy(&self, now: u32, facilities: &[Facility], tally: &TorusTally) -> u64 {
        // The tally has whole services, also those that end after `now`.
        let left = facilities
            .iter()
            .map(|f| u64::from(f.free_at.saturating_sub(now)));
        tally.service - left.sum::<u64>()
    }
}

impl Model for Torus {
    type Process = Facility;
    type Tally = TorusTally;

    fn processes(&self) -> u32 {
        self.side * self.side
    }

    fn lookahead(&self) -> u32 {
        self.lookahead
    }

    /// Token t begins in facility t mod the facilities, in the order of tokens.
    fn start(&self) -> Start<Torus> {
        let facilities = self.processes();
        let mut start = Start {
            processes: vec![Facility::default(); facilities as usize],
            events: Vec::with_capacity(self.tokens() as usize),
            tally: TorusTally::default(),
        };
        for token in 0..self.tokens() {
            let target = token % facilities;
            let arrival = Event {
                time: 0,
                source: target,
                number: token,
                target,
            };
            let facility = &mut start.processes[target as usize];
            let events = &mut start.events;
            self.handle(&arrival, facility, &mut start.tally, |next| {
                events.push(next)
            });
        }
        start
    }

    #[inline]
    fn handle(
        &self,
        event: &Event,
        facility: &mut Facility,
        tally: &mut TorusTally,
        mut schedule: impl FnMut(Event),
    ) {
        let begin = event.time.max(facility.free_at);
        let (end, way, service) = self.serve(event.target, facility, begin);
        tally.arrivals += 1;
        tally.service += service;
        tally.stay += u64::from(begin - event.time) + service;
        schedule(Event {
            time: end,
            source: event.target,
            number: event.number,
            target: self.neighbour(event.target, way),
        });
    }

    fn process_bits(facility: &Facility) -> u64 {
        u64::from(facility.free_at) << 32 | u64::from(facility.services)
    }
}

impl Tally for TorusTally {
    fn add(&mut self, other: &TorusTally) {
        self.arrivals += other.arrivals;
        self.service += other.service;
        self.stay += other.stay;
    }
}

/// Facilities and tokens are numbered in 30 bits; a channel takes the other two.
pub const SIDE_MAX: u32 = 1 << 15;
pub const TOKENS_MAX: u32 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_next_to_each_other_on_a_torus() {
        let torus = Torus::new(3, 0, 10, 1).unwrap();
        //  0 1 2
        //  3 4 5
        //  6 7 8
        let all = |f| [0, 1, 2, 3].map(|way| torus.neighbour(f, way));
        assert_eq!(all(4), [5, 3, 7, 1]);
        assert_eq!(all(0), [1, 2, 3, 6]);
        assert_eq!(all(8), [6, 7, 2, 5]);
        let alone = Torus::new(1, 0, 10, 1).unwrap();
        assert_eq!([0, 1, 2, 3].map(|way| alone.neighbour(0, way)), [0; 4]);
    }

    #[test]
    fn a_refusal_says_what_was_expected() {
        let error = Torus::new(8, 1, 10, 10).unwrap_err().to_string();
        assert_eq!(
            error,
            "expected ticks of lookahead below the average service from 1 to 9, found 10"
        );
        assert!(Torus::new(0, 1, 10, 1).is_err());
        assert!(Torus::new(SIDE_MAX + 1, 1, 10, 1).is_err());
        assert!(Torus::new(8, 1, 1, 1).is_err());
        assert!(
            Torus::new(SIDE_MAX, 1, 10, 1)
                .unwrap()
                .with_tokens(2)
                .is_err()
        );
    }
}
