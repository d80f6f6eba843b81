//! One player on a bad network, in a time that is made: a server, a game and the network between
//! them, without sockets.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, ensure};
use client_bot::client_core::{Event, GameOptions};
use quic::{Faults, Network, faults::Path};
use server::embedded::{EmbeddedServer, RemoteGame};
use shared::{EntityId, Slot, Tick};

/// The scene and its network.
#[derive(Clone, Debug)]
pub struct Play {
    pub tick_hz: u32,
    pub up: Vec<(Duration, Faults)>,
    pub down: Vec<(Duration, Faults)>,
    /// From one frame of the game to the next.
    pub frame: Duration,
    /// How long the player plays. The first seconds, and those after it, do not count.
    pub seconds: u32,
    /// When the network changes, and when it is through with that. Ticks after the change do
    /// not count; how long it takes until all is well does.
    pub change: Option<(Duration, Duration)>,
    /// Entities that walk about in view.
    pub crowd: u32,
    pub seed: u64,
}

/// The result.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Ticks that count, and those in which no command of the player ran.
    pub ticks: u32,
    pub empty: u32,
    /// The same behind two seconds after the change.
    pub ticks_after: u32,
    pub empty_after: u32,
    pub refused: u32,
    /// Predictions that were compared with the server, and those that were corrected.
    pub compared: u64,
    pub corrected: u64,
    /// Entities that are elsewhere in the view than in the world, at rest.
    pub wrong: u32,
    pub lost: u32,
    /// How old the view is: median and 99th percentile.
    pub age_p50: Duration,
    pub age_p99: Duration,
    /// By the client's clock, at the end of play.
    pub lead: Duration,
    /// From the change until all seconds have input in 98 of 100 ticks.
    pub recovery: Option<Duration>,
    /// How often an entity's movement had to wait, and how often the client was sent none since
    /// nothing was received of it.
    pub deferred: u64,
    pub out_of_touch: u64,
    /// Bytes a second on the way to the client, with their headers, and from it.
    pub rate_down: u32,
    pub rate_up: u32,
}

impl Outcome {
    pub fn empty_percent(&self) -> f64 {
        f64::from(self.empty) * 100.0 / f64::from(self.ticks.max(1))
    }
}

impl Outcome {
    pub fn empty_after_percent(&self) -> f64 {
        f64::from(self.empty_after) * 100.0 / f64::from(self.ticks_after.max(1))
    }
}

impl Play {
    pub fn run(&self) -> anyhow::Result<Outcome> {
        let mut server = EmbeddedServer::new(self.world()?)?;
        let end = Duration::from_secs(u64::from(self.seconds));
        // At rest the network is good, so that the view can be compared.
        let rests = end + Duration::from_secs(2);
        let network = self.network(rests);
        let mut remote = RemoteGame::new(GameOptions::default(), &network, self.seed);
        let mut outcome = Outcome::default();
        let mut player = Player::default();
        let period = server.period();
        let all = rests + Duration::from_secs(12);
        let (mut now, mut next_frame) = (Duration::ZERO, Duration::ZERO);
        let (mut ages, mut moved) = (vec![], vec![]);
        let mut bytes = (0, 0);
        while now < all {
            remote.carry(&mut server, now)?;
            let before = server.tick();
            server.advance(now)?;
            let tick = server.tick();
            if tick != before {
                moved.push((now, player.has_moved(&server, &remote)));
                player.note_places(&server, &remote, tick);
            }
            if now == WARM_UP {
                bytes = remote.bytes();
            }
            if now >= next_frame {
                next_frame += self.frame;
                for event in remote.poll(&mut server, now) {
                    match event {
                        Event::Refused { commands, .. } => outcome.refused += commands.count,
                        Event::Lost { .. } => outcome.lost += 1,
                        _ => {}
                    }
                }
                if now < end {
                    player.play(&mut remote, now)?;
                }
                remote.flush(now);
                if let Some(view) = remote.game().view()
                    && (WARM_UP..end).contains(&now)
                {
                    ages.push(period * tick.since(view.newest()));
                }
            }
            if now == end {
                self.note_end(&mut outcome, &remote, bytes)?;
            }
            now += STEP;
        }
        let through = self.change.map(|(_, through)| through);
        outcome.recovery = through.and_then(|through| recovery(&moved, through, end));
        let figures = server.figures();
        outcome.deferred = figures.movement_deferred;
        outcome.out_of_touch = figures.out_of_touch;
        self.count_ticks(&mut outcome, &moved, end);
        ages.sort_unstable();
        let at = |percent: usize| {
            let last = ages.len().saturating_sub(1);
            ages.get(last * percent / 100).copied().unwrap_or_default()
        };
        (outcome.age_p50, outcome.age_p99) = (at(50), at(99));
        outcome.wrong = player.wrong(&remote)?;
        Ok(outcome)
    }

    /// The network, which is good from `rests` on.
    fn network(&self, rests: Duration) -> Network {
        let path = |changes: &[(Duration, Faults)]| {
            let mut changes = changes.to_vec();
            changes.retain(|change| change.0 < rests);
            changes.push((rests, Faults::default()));
            Path::changing(changes, Duration::ZERO)
        };
        Network {
            up: path(&self.up),
            down: path(&self.down),
        }
    }

    /// Notes the figures of the end of play. `before` are the bytes up and down until the warm-up
    /// was over.
    fn note_end(
        &self,
        outcome: &mut Outcome,
        remote: &RemoteGame,
        before: (u64, u64),
    ) -> anyhow::Result<()> {
        let clock = remote.game().clock().context("the player is in no world")?;
        outcome.lead = clock.lead();
        let seconds = self.seconds.saturating_sub(WARM_UP.as_secs() as u32).max(1);
        let rate = |all: u64, before: u64| ((all - before) / u64::from(seconds)) as u32;
        outcome.rate_up = rate(remote.bytes().0, before.0);
        outcome.rate_down = rate(remote.bytes().1, before.1);
        let prediction = remote.game().prediction().map(|p| p.corrections());
        let corrections = prediction.unwrap_or_default();
        (outcome.compared, outcome.corrected) = (corrections.compared, corrections.corrected);
        Ok(())
    }

    /// Counts the ticks of play, and those in which the player did not move.
    fn count_ticks(&self, outcome: &mut Outcome, moved: &[(Duration, bool)], end: Duration) {
        let counts = |at: Duration| {
            let is_before = self.change.is_none_or(|(change, _)| at < change);
            (WARM_UP..end.saturating_sub(SETTLED)).contains(&at) && is_before
        };
        for (_, has_moved) in moved.iter().filter(|moved| counts(moved.0)) {
            outcome.ticks += 1;
            outcome.empty += u32::from(!has_moved);
        }
        if let Some((_, through)) = self.change {
            let after = through + Duration::from_secs(2)..end.saturating_sub(SETTLED);
            for (_, has_moved) in moved.iter().filter(|moved| after.contains(&moved.0)) {
                outcome.ticks_after += 1;
                outcome.empty_after += u32::from(!has_moved);
            }
        }
    }

    fn world(&self) -> anyhow::Result<shared::WorldConfig> {
        let (tick_hz, crowd) = (self.tick_hz, self.crowd);
        let capacity = crowd + 8;
        let text = format!(
            "[world]\nsize = [400, 400]\naoi = 50\ncapacity = {capacity}\ntick_hz = {tick_hz}\n\
             seed = {}\n\
             [limits]\nclients = 4\n\
             [[kind]]\nname = 'player'\nspawn = {{ area = [[180, 180], [220, 220]] }}\n\
             [[kind]]\nname = 'npc'\npopulation = {crowd}\n\
             spawn = {{ area = [[170, 170], [230, 230]] }}\n\
             [[every]]\nkind = 'npc'\nticks = 4\ncommand = 'roam'\n",
            self.seed
        );
        Ok(world_file::parse(&text, "the world of networks")?)
    }
}

/// The player, and its entity in the world.
#[derive(Default)]
struct Player {
    given: u32,
    place: Option<[i32; 3]>,
    /// Where everybody in view was in the latest ticks.
    places: HashMap<Tick, HashMap<Slot, [i32; 3]>>,
}

impl Player {
    /// A step for each tick that input is due for.
    fn play(&mut self, remote: &mut RemoteGame, now: Duration) -> anyhow::Result<()> {
        while remote.game().input_due(now).is_some() {
            let game = remote.game_mut();
            let schema = game.view().context("the player is in no world")?.schema();
            let step = schema.command_named("move").context("`move` is built in")?;
            // To and fro, so that the border is never near.
            let far = if (self.given / 32).is_multiple_of(2) {
                STEP_RAW
            } else {
                -STEP_RAW
            };
            self.given += 1;
            game.command(step.kind, &[far, 0])?;
            remote.flush(now);
        }
        Ok(())
    }

    /// Whether the player has moved since the tick before.
    fn has_moved(&mut self, server: &EmbeddedServer, remote: &RemoteGame) -> bool {
        let entity = remote.game().view().map(|view| view.entity());
        let place = entity.and_then(|entity| server.position(entity));
        std::mem::replace(&mut self.place, place) != place
    }

    fn note_places(&mut self, server: &EmbeddedServer, remote: &RemoteGame, tick: Tick) {
        let Some(view) = remote.game().view() else {
            return;
        };
        let ids = view.entities().values().map(|entity| entity.id);
        let place = |id: EntityId| Some((id.slot, server.position(id)?));
        self.places.insert(tick, ids.filter_map(place).collect());
        self.places.retain(|&old, _| tick.since(old) < PLACES_TICKS);
    }

    /// How many entities of the view are not where they are in the world.
    fn wrong(&self, remote: &RemoteGame) -> anyhow::Result<u32> {
        let view = remote.game().view().context("the player is in no world")?;
        let newest = view.newest();
        let Some(places) = self.places.get(&newest) else {
            // Nothing has come for long, although the network is good.
            return Ok(u32::try_from(view.entities().len()).unwrap_or(u32::MAX));
        };
        ensure!(
            !places.is_empty(),
            "the player sees no entity, and not itself"
        );
        let mut wrong = 0;
        for entity in view.entities().values() {
            // One that has just come into view is in no list.
            let place = places.get(&entity.id.slot);
            let shown = view.position(entity, newest);
            wrong += u32::from(place.is_some_and(|place| *place != shown));
        }
        Ok(wrong)
    }
}

/// How long after a change it takes until no second has more than 2 of 100 ticks without input.
fn recovery(moved: &[(Duration, bool)], change: Duration, end: Duration) -> Option<Duration> {
    let after: Vec<_> = moved
        .iter()
        .filter(|moved| (change..end).contains(&moved.0))
        .collect();
    let is_bad = |window: &[&(Duration, bool)]| {
        let empty = window.iter().filter(|moved| !moved.1).count();
        // One of thirty ticks is more than 2 of 100, and means nothing.
        empty > 1 && empty * 50 > window.len()
    };
    let second = after
        .iter()
        .take_while(|moved| moved.0 < change + Duration::from_secs(1))
        .count()
        .max(1);
    // The end of play is in none of them.
    let windows = after.windows(second);
    let last = windows.clone().rposition(is_bad);
    match last {
        None => Some(Duration::ZERO),
        Some(last) if last + 1 == windows.len() => None,
        // It holds from the first tick of the window after the last bad one.
        Some(last) => Some(after[last + 1].0 - change),
    }
}

/// Before this the clock finds its way.
pub const WARM_UP: Duration = Duration::from_secs(5);
/// The last input may be on its way.
const SETTLED: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(1);
/// A quarter of a unit.
const STEP_RAW: i32 = 1 << 10;
const PLACES_TICKS: u32 = 256;
