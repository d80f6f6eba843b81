//! The events that a bot receives: its latencies, and what its checker needs.

use std::time::{Duration, Instant};

use client_core::{DatagramSummary, EventHandler, Message, Movement, View};
use shared::Tick;

use crate::swarm::latency::Unprocessed;
use crate::swarm::thread::Bots;
use crate::verify::Checker;

/// A bot's record of the events that it receives.
pub struct Log {
    pub checker: Option<Checker>,
    pub unprocessed: Unprocessed,
    /// The last request that was answered, and the tick of the answer.
    pub answered: Option<(u32, Tick)>,
    /// The last tick in which the bot was sure to know all movement.
    pub complete_tick: Tick,
    /// 1, or the server is busy: see [`DatagramSummary::send_every`].
    pub send_every: u32,
}

/// The log of a bot, and what it shares with others.
pub struct SharedLog<'a> {
    log: &'a mut Log,
    bots: &'a mut Bots,
    now: Instant,
}

impl Log {
    pub fn of<'a>(&'a mut self, bots: &'a mut Bots, now: Instant) -> SharedLog<'a> {
        SharedLog {
            log: self,
            bots,
            now,
        }
    }
}

impl EventHandler for SharedLog<'_> {
    fn datagram(&mut self, view: &View, summary: DatagramSummary, movement: &Movement) {
        self.log.send_every = summary.send_every;
        let us = &mut self.bots.tally.latencies_us;
        let take = |latency: Duration| us.push(latency.as_micros() as u64);
        self.log
            .unprocessed
            .process(view.processed(), self.now, take);
        if let (Some(checker), Some(history)) =
            (&mut self.log.checker, self.bots.state.history.get())
        {
            checker.datagram(history, view, summary, movement);
            if checker.has_all_movement(summary, movement) {
                self.log.complete_tick = summary.tick;
            }
        }
    }

    fn message(&mut self, tick: Tick, message: &Message) {
        if let Message::Answer(answer) = message {
            self.log.answered = Some((answer.request, tick));
        }
        if let (Some(checker), Some(history)) =
            (&mut self.log.checker, self.bots.state.history.get())
        {
            checker.message(history, tick, message);
        }
    }
}
