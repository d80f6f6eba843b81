//! The torus network as the paper's figure 9 has it: departures are events,
//! tokens wait in queues.

use std::collections::VecDeque;

use engines::events::random::{Draw, exponential};
use engines::events::{Event, NEVER, Torus};

pub struct Network<'a> {
    torus: &'a Torus,
    facilities: Vec<Facility>,
    /// (time, facility) of departures to come.
    departures: Vec<(u32, u32)>,
}

#[derive(Clone, Default)]
struct Facility {
    queue: VecDeque<u32>,
    services: u32,
    /// Which way the token being served will go.
    way: u32,
}

impl Network<'_> {
    pub fn new(torus: &Torus) -> Network<'_> {
        let n = torus.side * torus.side;
        let mut network = Network {
            torus,
            facilities: vec![Facility::default(); n as usize],
            departures: vec![],
        };
        for token in 0..torus.tokens() {
            network.arrive(0, token % n, token);
        }
        network
    }

    /// Every arrival before `until` but the first at time 0, in order.
    pub fn arrivals(mut self, until: u32) -> Vec<Event> {
        let mut arrivals = vec![];
        loop {
            let Some(&(time, source)) = self.departures.iter().min() else {
                return arrivals;
            };
            if time >= until {
                return arrivals;
            }
            self.departures.retain(|&d| d != (time, source));
            let facility = &mut self.facilities[source as usize];
            let token = facility.queue.pop_front().unwrap();
            let way = facility.way;
            if !facility.queue.is_empty() {
                self.begin_service(time, source);
            }
            let target = self.step(source, way);
            arrivals.push(Event {
                time,
                source,
                number: token,
                target,
            });
            self.arrive(time, target, token);
        }
    }

    fn arrive(&mut self, time: u32, facility: u32, token: u32) {
        let queue = &mut self.facilities[facility as usize].queue;
        queue.push_back(token);
        if queue.len() == 1 {
            self.begin_service(time, facility);
        }
    }

    fn begin_service(&mut self, time: u32, number: u32) {
        let facility = &mut self.facilities[number as usize];
        let bits = Draw::new(self.torus.seed, number, facility.services).bits();
        facility.services += 1;
        facility.way = (bits % 4) as u32;
        let mean = self.torus.service_mean - self.torus.lookahead;
        let service = u64::from(self.torus.lookahead) + exponential(mean, (bits >> 32) as u32);
        let end = (u64::from(time) + service).min(u64::from(NEVER));
        self.departures.push((end as u32, number));
    }

    fn step(&self, facility: u32, way: u32) -> u32 {
        let side = self.torus.side;
        let (x, y) = (facility % side, facility / side);
        let (dx, dy) = [(1, 0), (side - 1, 0), (0, 1), (0, side - 1)][way as usize];
        (y + dy) % side * side + (x + dx) % side
    }
}
