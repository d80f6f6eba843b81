//! The older, approximate-time way (Park and Fishwick 2010; the paper's figure 2):
//! time is cut into slots, service times have no lower bound, and all events of a
//! slot are handled at once. A token may then arrive before one that was served
//! already: a causality error, which the paper counts in Table 1.

use super::random::{Draw, exponential};
use super::torus::Facility;
use super::{Event, Model, NEVER, Start, Tally, Torus};

/// A torus network run in slots as long as its lookahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApproximateTorus(pub Torus);

/// A facility, and when the last token arrived there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    pub facility: Facility,
    pub last_arrival: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorTally {
    pub arrivals: u64,
    /// Arrivals that were handled after a later one.
    pub errors: u64,
}

impl Model for ApproximateTorus {
    type Process = Watched;
    type Tally = ErrorTally;

    fn processes(&self) -> u32 {
        self.0.processes()
    }

    /// The slot's length. Events may cause others sooner than that.
    fn lookahead(&self) -> u32 {
        self.0.lookahead
    }

    fn start(&self) -> Start<ApproximateTorus> {
        let facilities = self.processes();
        let mut start = Start {
            processes: vec![Watched::default(); facilities as usize],
            events: Vec::with_capacity(self.0.tokens() as usize),
            tally: ErrorTally::default(),
        };
        for number in 0..self.0.tokens() {
            let target = number % facilities;
            let arrival = Event {
                time: 0,
                source: target,
                number,
                target,
            };
            let process = &mut start.processes[target as usize];
            let events = &mut start.events;
            self.handle(&arrival, process, &mut start.tally, |next| {
                events.push(next)
            });
        }
        start
    }

    fn handle(
        &self,
        event: &Event,
        process: &mut Watched,
        tally: &mut ErrorTally,
        mut schedule: impl FnMut(Event),
    ) {
        let torus = &self.0;
        tally.arrivals += 1;
        tally.errors += u64::from(event.time < process.last_arrival);
        process.last_arrival = process.last_arrival.max(event.time);
        let facility = &mut process.facility;
        let bits = Draw::new(torus.seed, event.target, facility.services).bits();
        let service = exponential(torus.service_mean, (bits >> 32) as u32);
        let begin = event.time.max(facility.free_at);
        facility.free_at = (u64::from(begin) + service).min(u64::from(NEVER)) as u32;
        facility.services = facility.services.wrapping_add(1);
        schedule(Event {
            time: facility.free_at,
            source: event.target,
            number: event.number,
            target: torus.neighbour(event.target, bits as u32 % super::torus::WAYS),
        });
    }

    fn process_bits(process: &Watched) -> u64 {
        Torus::process_bits(&process.facility) ^ u64::from(process.last_arrival).rotate_left(16)
    }
}

impl Tally for ErrorTally {
    fn add(&mut self, other: &ErrorTally) {
        self.arrivals += other.arrivals;
        self.errors += other.errors;
    }
}
