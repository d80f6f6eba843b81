//! Congestion control for many thin, steady flows.
//!
//! A game server sends each client a little in each tick. Ordinary congestion control fits
//! such a flow badly: random loss shrinks its window as if it had filled a queue, and after
//! an outage the packets that were lost count as in flight until an acknowledgement comes,
//! so that the flow is silent for as long again.
//!
//! So one packet a turn (a tick of the server, an input of a client) is always allowed. This
//! is a low data-volume application in the sense of RFC 8085, section 3.1.2 (BCP 145), as
//! long as turns come about once a round trip; RFC 9002, section 7, allows endpoints to
//! choose such a controller. An idle time-out ends a flow of which nothing is acknowledged,
//! which is the circuit breaker of RFC 8085, section 3.1.10. All that goes beyond one packet
//! a turn is bounded by CUBIC (RFC 9438).

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, Cubic, CubicConfig};

/// Counts the turns of all connections of an endpoint. A turn that begins lets each of them
/// send a packet.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<AtomicU32>);

/// Makes a controller for each connection.
#[derive(Clone, Debug, Default)]
pub struct ThinFlowConfig {
    turns: Turns,
    beyond: Arc<CubicConfig>,
}

#[derive(Clone)]
struct ThinFlow {
    turns: Turns,
    /// Bounds packets beyond one a turn.
    beyond: Cubic,
    mtu: u64,
    in_flight: u64,
    /// The last turn in which something was sent.
    sent: u32,
}

impl Turns {
    /// Begins the next turn.
    pub fn begin(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn current(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl ThinFlowConfig {
    pub fn new(turns: Turns) -> ThinFlowConfig {
        ThinFlowConfig {
            turns,
            beyond: Arc::default(),
        }
    }
}

impl ControllerFactory for ThinFlowConfig {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(ThinFlow {
            turns: self.turns.clone(),
            beyond: Cubic::new(self.beyond.clone(), now, mtu),
            mtu: u64::from(mtu),
            in_flight: 0,
            sent: self.turns.current(),
        })
    }
}

impl Controller for ThinFlow {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.in_flight += bytes;
        self.sent = self.turns.current();
        self.beyond.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.beyond.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.in_flight = in_flight;
        self.beyond
            .on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    /// Where packets were marked (ECN) and not lost, `lost_bytes` is 0.
    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
        self.beyond
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = u64::from(mtu);
        self.beyond.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        let beyond = self.beyond.window();
        if self.turns.current() == self.sent {
            return beyond;
        }
        // A packet goes out if it leaves the window open, so one more byte than a packet is
        // not enough.
        beyond.max(self.in_flight + 2 * self.mtu)
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.beyond.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u16 = 1200;

    fn flow() -> (Turns, Box<dyn Controller>) {
        let turns = Turns::default();
        let config = Arc::new(ThinFlowConfig::new(turns.clone()));
        (turns, config.build(Instant::now(), MTU))
    }

    #[test]
    fn each_turn_lets_one_packet_out_however_much_is_lost() {
        let (turns, mut flow) = flow();
        let mut in_flight = 0;
        for turn in 0..1000 {
            turns.begin();
            let room = flow.window().saturating_sub(in_flight);
            assert!(room > u64::from(MTU), "turn {turn}: {room} bytes");
            flow.on_sent(Instant::now(), 1200, turn);
            in_flight += 1200;
        }
    }

    #[test]
    fn beyond_one_packet_a_turn_the_window_is_that_of_cubic() {
        let (turns, mut flow) = flow();
        turns.begin();
        let window = flow.initial_window();
        flow.on_sent(Instant::now(), window, 1);
        assert_eq!(flow.window(), window);
        let now = Instant::now();
        flow.on_congestion_event(now, now, true, window);
        assert!(flow.window() < window / 2);
    }

    #[test]
    fn a_mark_narrows_the_window_once_a_round_trip_and_nothing_counts_as_lost() {
        let (turns, mut flow) = flow();
        let (now, window) = (Instant::now(), flow.initial_window());
        flow.on_sent(now, window, 1);
        flow.on_congestion_event(now, now, false, 0);
        let narrowed = flow.window();
        assert!((window / 2..window).contains(&narrowed), "{narrowed} bytes");
        // One more of the packets that were on their way.
        flow.on_congestion_event(now, now, false, 0);
        assert_eq!(flow.window(), narrowed);
        // All is in flight still, and the next turn has its packet beyond that.
        turns.begin();
        assert_eq!(flow.window(), window + 2 * u64::from(MTU));
    }

    #[test]
    fn what_is_lost_is_not_in_flight() {
        let (turns, mut flow) = flow();
        let now = Instant::now();
        for packet in 0..100 {
            flow.on_sent(now, 1200, packet);
        }
        flow.on_congestion_event(now, now, false, 100 * 1200);
        turns.begin();
        assert!(flow.window() <= flow.initial_window());
    }
}
