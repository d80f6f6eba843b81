//! The events that a bot receives: its latencies, and what its checker needs.

use std::time::{Duration, Instant};

use client_core::{DatagramSummary, EventHandler, Message, Movement, Quotas, RefusedRun, View};
use shared::Tick;

use super::playing::Playing;
use crate::swarm::crew::Crew;

/// Gets all that a bot receives, and what it shares with others.
pub struct Log<'a> {
    pub bot: usize,
    /// `None` before the welcome.
    pub playing: &'a mut Option<Box<Playing>>,
    pub crew: &'a mut Crew,
    pub now: Instant,
    /// The mistake in the bot's script.
    pub mistake: Option<String>,
}

impl EventHandler for Log<'_> {
    fn welcomed(&mut self, view: &View, quotas: &Quotas) {
        match Playing::new(self.bot, view, quotas, self.crew) {
            Ok(playing) => *self.playing = Some(Box::new(playing)),
            Err(mistake) => self.mistake = Some(mistake),
        }
    }

    fn datagram(&mut self, view: &View, summary: DatagramSummary, movement: &Movement) {
        let Some(playing) = self.playing else {
            return;
        };
        let us = &mut self.crew.tally.latencies_us;
        let take = |latency: Duration| us.push(latency.as_micros() as u64);
        playing
            .unprocessed
            .process(view.processed(), self.now, take);
        if let (Some(checker), Some(history)) =
            (&mut playing.checker, self.crew.state.history.get())
        {
            checker.datagram(history, view, summary, movement);
            if checker.has_all_movement(summary, movement) {
                playing.complete_tick = summary.tick;
            }
        }
    }

    fn refused(&mut self, _: Tick, commands: RefusedRun) {
        let refused = &mut self.crew.tally.refused;
        *refused.entry(commands.to_string()).or_default() += u64::from(commands.count);
    }

    fn message(&mut self, tick: Tick, message: &Message) {
        let Some(playing) = self.playing else {
            return;
        };
        if let Message::Answer(answer) = message {
            playing.answered = Some((answer.request, tick));
        }
        if let (Some(checker), Some(history)) =
            (&mut playing.checker, self.crew.state.history.get())
        {
            checker.message(history, tick, message);
        }
    }
}
