//! The world behind a game's connections.

use std::time::Duration;

use script::Forecast;
use shared::wire::DecodeError;
use shared::wire::control::{Quotas, Welcome};
use shared::{Schema, Tick};

use crate::Movement;
use crate::clock::{Clock, moment_of, tick_of};
use crate::event::{Both, DatagramSummary, EventHandler};
use crate::pace::Pace;
use crate::session::Session;
use crate::view::View;

use super::presentation::Presentation;

/// A game's knowledge of the world, also while it is not connected.
pub(super) struct World {
    pub session: Session,
    pub clock: Clock,
    /// `None` in a headless game.
    pub presentation: Option<Box<Presentation>>,
    pub quotas: Quotas,
    /// The newest tick that input was sent for.
    input: Option<Tick>,
    /// The newest tick for which input was due when the game was polled last, and the time
    /// before.
    pub polled: [Option<Tick>; 2],
    /// When a datagram was sent last.
    sent: Duration,
    pub pace: Pace,
    /// The newest command that was in no datagram yet.
    pub unsent: Option<u32>,
    /// Commands that wait for a datagram, up to the last one that is meant for the first of
    /// their ticks, and that tick.
    held: Option<(u32, Tick)>,
    /// The tick of the input that was sent last.
    sent_for: Option<Tick>,
}

/// The server's word of its ticks, in bytes that are being read.
struct Arrival<'a> {
    clock: &'a mut Clock,
    now: Duration,
    /// The tick of a datagram that was applied.
    tick: Option<Tick>,
    /// From that datagram: see [`DatagramSummary::send_every`].
    send_every: u32,
}

impl EventHandler for Arrival<'_> {
    fn datagram(&mut self, _: &View, summary: DatagramSummary, _: &Movement) {
        let DatagramSummary {
            tick,
            processed,
            margin,
            ..
        } = summary;
        self.clock.receive(tick, processed, margin, self.now);
        self.tick = Some(tick);
        self.send_every = summary.send_every;
    }
}

impl World {
    /// Without a forecast, nothing is shown.
    pub fn new(
        session: Session,
        forecast: Option<Forecast>,
        welcome: &Welcome,
        round_trip: Option<Duration>,
        now: Duration,
    ) -> World {
        let view = session.view();
        let mut clock = Clock::new(view.schema().world.tick_hz, round_trip);
        clock.set_early_max(welcome.quotas.input_ticks);
        let shown = |forecast| Box::new(Presentation::new(view, forecast, &welcome.quotas));
        World {
            unsent: session.newest_command(),
            presentation: forecast.map(shown),
            quotas: welcome.quotas,
            session,
            input: None,
            polled: [None; 2],
            sent: Duration::ZERO,
            pace: Pace::new(clock.period(), now),
            clock,
            held: None,
            sent_for: None,
        }
    }

    pub fn schema(&self) -> &Schema {
        self.session.view().schema()
    }

    /// Applies layers that have come.
    pub fn settle_layers(&mut self) {
        if let Some(shown) = &mut self.presentation {
            shown.use_layers(self.session.view());
        }
    }

    /// Whether it has received later ticks than the world of a session has now: a world whose
    /// machine has died may have lost its last ones.
    pub fn is_ahead_of(&self, session: &Session) -> bool {
        self.session.view().newest() > session.view().newest()
    }

    pub fn resume(&mut self, session: Session, forecast: Option<Forecast>) {
        self.session = session;
        self.clock.forget_inputs();
        if let (Some(shown), Some(forecast)) = (&mut self.presentation, forecast) {
            shown.resume(self.session.view(), forecast);
        }
        (self.unsent, self.held) = (self.session.newest_command(), None);
    }

    pub fn handle_stream(
        &mut self,
        bytes: &[u8],
        handler: &mut dyn EventHandler,
    ) -> Result<(), DecodeError> {
        let Some(shown) = &mut self.presentation else {
            self.session.handle_stream(bytes, handler)?;
            let released = self.session.take_released();
            self.unsent = released.last().map(|last| last.sequence).or(self.unsent);
            return Ok(());
        };
        let mut recorder = shown.recorder();
        let both = &mut Both(&mut recorder, handler);
        self.session.handle_stream(bytes, both)?;
        let forecast = recorder.forecast.take();
        shown.settle(self.session.view(), forecast)?;
        for released in self.session.take_released() {
            let (kind, words) = (released.kind, &released.words);
            self.unsent = Some(released.sequence);
            shown.prediction.give(released.sequence, kind, words);
        }
        Ok(())
    }

    pub fn handle_datagram(
        &mut self,
        bytes: &[u8],
        now: Duration,
        handler: &mut dyn EventHandler,
    ) -> Result<(), DecodeError> {
        let newest = self.session.view().newest();
        let mut arrival = Arrival {
            clock: &mut self.clock,
            now,
            tick: None,
            send_every: 1,
        };
        match &mut self.presentation {
            None => {
                let both = &mut Both(&mut arrival, handler);
                self.session.handle_datagram(bytes, both)?;
            }
            Some(shown) => {
                let mut recorder = shown.recorder();
                let both = &mut Both(&mut recorder, handler);
                let all = &mut Both(&mut arrival, both);
                self.session.handle_datagram(bytes, all)?;
            }
        }
        let send_every = arrival.send_every;
        if let Some(tick) = arrival.tick {
            if tick > newest {
                self.pace.receive(send_every, now);
            }
            if self.input.is_none() {
                // Its tick has begun to be due some time ago: input for it might be late.
                let due = self.clock.input_tick(now);
                self.input = due.map(|tick| tick_of(tick.max(0.0)));
            }
            if self.clock.take_surplus(now) {
                self.input = self.input.map(Tick::next);
            }
            if let Some(shown) = &mut self.presentation {
                let arrived = self.session.arrived();
                shown
                    .prediction
                    .receive(self.session.view(), &arrived, tick);
            }
        }
        Ok(())
    }

    /// The tick that is shown, or the newest one that was received before anything is.
    pub fn shown(&self) -> Tick {
        let shown = self.presentation.as_ref();
        let shown = shown.and_then(|shown| shown.scene.shown_tick());
        shown.map_or(self.session.view().newest(), |shown| tick_of(shown.round()))
    }

    pub fn input_due(&self, now: Duration) -> Option<Tick> {
        let due = self.clock.input_tick(now).filter(|tick| *tick >= 0.0)?;
        // Input that could not be sent now would be for one tick with the next.
        if !self.pace.may_send(now) {
            return None;
        }
        // One that was received is over.
        let next = self.session.view().newest().next();
        let newest = self.earliest(tick_of(due).max(next));
        let Some(sent) = self.input.filter(|_| !self.pace.is_busy()) else {
            return self
                .input
                .is_none_or(|sent| newest > sent)
                .then_some(newest);
        };
        // Of ticks that have passed within a frame none is left out, unless it was offered in the
        // frame before, or is long over.
        let [_, before] = self.polled;
        let late = MISSED_MAX.as_nanos() / self.clock.period().as_nanos().max(1);
        let late = newest.before(u32::try_from(late).unwrap_or(u32::MAX));
        let offered = before.map_or(Tick(0), Tick::next);
        let first = sent.next().max(offered).max(late);
        let first = first.max(next).max(self.clock.first_input());
        let first = self.earliest(first);
        (first <= newest).then_some(first)
    }

    fn earliest(&self, tick: Tick) -> Tick {
        let shown = self.presentation.as_ref();
        shown.map_or(tick, |shown| shown.prediction.earliest(tick))
    }

    /// When input is due next, and may be sent.
    pub fn next_input(&self, now: Duration) -> Duration {
        let held = self.pace.held_until(now).unwrap_or_default();
        let Some(tick) = self.clock.input_tick(now) else {
            return held.max(now + self.clock.period());
        };
        let next = self.input.map_or(0.0, |sent| moment_of(sent.next()));
        // Behind the border between two ticks, however it is rounded.
        let wait = self.clock.period().mul_f64((next - tick).max(0.0));
        held.max(now + wait + Duration::from_micros(1))
    }

    pub fn datagram(&mut self, now: Duration) -> Option<Vec<u8>> {
        let due = self.input_due(now);
        if let Some(tick) = due {
            self.input = due;
            if let Some(shown) = &mut self.presentation {
                shown.prediction.reach(self.session.view(), tick);
            }
            if let Some(sequence) = self.unsent {
                self.session.mean(tick);
                self.held.get_or_insert((sequence, tick));
            }
        }
        if !self.is_time_to_send(due, now) {
            return None;
        }
        // Commands since the last input are for the next one.
        let meant = due.or(self.held.and(self.input).map(Tick::next));
        let datagram = self.unsent_for(meant)?;
        self.sent_for = self.input;
        self.note_sent(meant, now);
        Some(datagram)
    }

    /// Whether a datagram may go out, in a moment in which input is due for a tick or for none.
    fn is_time_to_send(&self, due: Option<Tick>, now: Duration) -> bool {
        if self.clock.input_tick(now).is_none() {
            // Without a clock, words go out as if ticks began at any time.
            return now >= self.sent + self.clock.period() && self.pace.may_send(now);
        }
        let every = self.clock.send_every();
        match (self.held, due) {
            (Some(_), Some(_)) if every == 1 => true,
            // Input for the first of several ticks waits for that of the others.
            (Some((_, first)), _) => self.clock.is_time_for(first, now) && self.pace.may_send(now),
            (None, Some(tick)) => self.sent_for.is_none_or(|sent| tick >= sent.after(every)),
            (None, None) => false,
        }
    }

    /// A datagram with all news for the server, where new commands are meant for a tick,
    /// or for when they arrive.
    pub fn unsent_for(&mut self, meant: Option<Tick>) -> Option<Vec<u8>> {
        match meant {
            Some(tick) => self.session.datagram_for(tick),
            None => self.session.datagram(),
        }
    }

    pub fn note_sent(&mut self, meant: Option<Tick>, now: Duration) {
        self.sent = now;
        self.pace.send(now);
        if let Some(sequence) = self.unsent.take() {
            if let Some(shown) = &mut self.presentation {
                let acknowledged = self.session.arrived().newest;
                shown.prediction.send(sequence, acknowledged);
            }
            if let Some(tick) = meant {
                // The first of them shows how long the way takes: the others waited for nothing.
                let (first, tick) = self.held.unwrap_or((sequence, tick));
                self.clock.send(first, tick, now);
            }
        }
        self.held = None;
    }
}

/// Input for ticks that became due this long ago is not offered any more.
const MISSED_MAX: Duration = Duration::from_millis(125);
