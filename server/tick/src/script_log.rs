//! What scripts log, and why commands of clients had no effect: such commands are run again on the
//! host, in the world before the tick, as long as somebody reads the log, or a dashboard shows it.

use std::cell::OnceCell;
use std::sync::mpsc::{Receiver, channel};

use frontend::mirror::{Mirror, Spot};
use gpu_kernels::tick::still::{Buckets, held, ranked};
use gpu_kernels::{Backend, Command, Frame, TickError, TickOutput};
use platform::log::script_lines::{ScriptLine, ScriptLines};
use script::arith::Random;
use script::census::Census;
use script::holdings::Holdings;
use script::interpreter::{Interpreter, Invocation, World};
use script::standings::Standings;
use script::watched::Watched;
use shared::world::door::layers_with;
use shared::world::layer::Layers;
use shared::{CommandKind, EntityId, Refusal, Slot, Tick, WorldConfig};
use tracing::{debug, info, warn};

/// The commands that log something, of the scripts in force.
#[derive(Default)]
pub struct ScriptLog {
    watched: Option<Watched>,
    /// They are compiled on another thread.
    compiled: Option<Receiver<Watched>>,
    /// Whether no scripts are compiled yet, or other ones.
    is_stale: bool,
    interpreter: Interpreter,
    /// For dashboards; `None` without any.
    lines: Option<ScriptLines>,
    /// Commands that were not run again, as a tick had too many.
    left_out: u64,
}

/// The commands of a tick that are run again.
const COMMANDS_MAX: usize = 64;

impl ScriptLog {
    pub fn new(lines: Option<ScriptLines>) -> ScriptLog {
        ScriptLog {
            is_stale: true,
            lines,
            ..ScriptLog::default()
        }
    }

    /// Looks at other scripts from now on.
    pub fn change(&mut self) {
        self.watched = None;
        self.compiled = None;
        self.is_stale = true;
    }

    fn compile(&mut self, config: &WorldConfig) {
        self.is_stale = false;
        let texts = &config.logic.texts;
        let shows = |text: &str| text.contains("log") || text.contains("require");
        if !texts.iter().any(|text| shows(&text.text)) {
            return;
        }
        let (sender, receiver) = channel();
        let config = config.clone();
        let compile = move || {
            if let Ok(watched) = Watched::logging(&config) {
                // The world may have ended.
                let _ = sender.send(watched);
            }
        };
        let builder = std::thread::Builder::new().name("script log".to_owned());
        match builder.spawn(compile) {
            Ok(_) => self.compiled = Some(receiver),
            Err(error) => warn!(%error, "what scripts log is not shown"),
        }
    }

    /// Shows what the commands of a tick log. The mirror is still that of the tick before.
    pub fn show(
        &mut self,
        config: &WorldConfig,
        mirror: &Mirror,
        frame: &Frame,
        backend: &mut dyn Backend,
        output: &TickOutput,
    ) -> Result<(), TickError> {
        let lines = self.lines.as_ref().filter(|lines| lines.are_wanted());
        let lines = lines.cloned();
        if lines.is_none() && !is_read() {
            return Ok(());
        }
        if self.is_stale {
            self.compile(config);
        }
        if let Some(watched) = self.compiled.as_ref().and_then(|from| from.try_recv().ok()) {
            self.watched = Some(watched);
            self.compiled = None;
        }
        let Some(watched) = self.watched.as_ref().filter(|watched| !watched.is_empty()) else {
            return Ok(());
        };
        let world = Before {
            config,
            mirror,
            buckets: OnceCell::new(),
            census: OnceCell::new(),
            standings: OnceCell::new(),
            holdings: OnceCell::new(),
            layers: OnceCell::new(),
        };
        let given = frame.commands.iter().map(|c| (*c, frame.words_of(c)));
        let shows_reasons = lines.is_some() || is_detailed();
        let given = given.filter_map(|(command, words)| {
            let is_refused = fate(&command, output)?;
            Some((command, words, is_refused && shows_reasons))
        });
        let due = backend.due(&|kind| watched.logs(kind))?;
        self.left_out += due.left_out;
        let ruled = match due.has_rules {
            true => vec![],
            false => rules(config, mirror, |kind| watched.logs(kind), output.tick),
        };
        let ruled = ruled.iter().map(|(command, words)| (*command, &words[..]));
        let others = due.iter().chain(ruled);
        let all = given.chain(others.map(|(command, words)| (command, words, false)));
        let logging = all.filter(|(command, words, is_refused)| {
            let kind = CommandKind(command.kind);
            let schema = config.schema.command(kind);
            (watched.logs(kind) || *is_refused && watched.has(kind))
                && schema.is_some_and(|schema| {
                    let lives = mirror.living(command.entity.slot) == Some(command.entity);
                    schema.words.len() == words.len() && (lives || !schema.has_actor)
                })
        });
        for (n, (command, words, is_refused)) in logging.enumerate() {
            if n >= COMMANDS_MAX {
                self.left_out += 1;
                continue;
            }
            let entity = command.entity;
            let Command { kind, sequence, .. } = command;
            let invocation = Invocation {
                tick: output.tick,
                entity,
                words,
                random: Random::new(config.seed, output.tick, entity, kind, sequence),
            };
            let kind = CommandKind(kind);
            let run = watched.logged(config, &mut self.interpreter, &world, kind, &invocation);
            let name = config.logic.numbers.command_name(kind).unwrap_or_default();
            let by = (entity != EntityId::NONE).then_some(entity.slot.0);
            let reason = run.unmet.and_then(|unmet| unmet.reason);
            let reason = reason.filter(|_| is_refused);
            let refused = reason.map(|reason| format!("without effect: {reason}"));
            if let Some(text) = &refused {
                debug!(target: "script", tick = %output.tick, command = name, entity = by, %text);
            }
            for text in &run.logged {
                info!(target: "script", tick = %output.tick, command = name, entity = by, %text);
            }
            let Some(lines) = &lines else { continue };
            for text in run.logged.into_iter().chain(refused) {
                lines.add(ScriptLine {
                    tick: output.tick.0,
                    command: name.to_owned(),
                    entity: by,
                    text,
                });
            }
        }
        let seconds = u64::from(config.schema.world.tick_hz);
        if self.left_out > 0 && output.tick.0.is_multiple_of(seconds) {
            let commands = std::mem::take(&mut self.left_out);
            info!(target: "script", commands, "commands were left out of the log of scripts");
        }
        Ok(())
    }
}

/// Whether the log has the lines of scripts.
fn is_read() -> bool {
    tracing::enabled!(target: "script", tracing::Level::INFO)
}

/// Whether the log has the reasons of what clients can't do: any client can cause as many lines as it
/// may send commands.
fn is_detailed() -> bool {
    tracing::enabled!(target: "script", tracing::Level::DEBUG)
}

/// Whether a command of the frame was reported as one without effect; `None` if it was refused before
/// its run.
fn fate(command: &Command, output: &TickOutput) -> Option<bool> {
    let key = (command.entity, command.sequence);
    let at = output
        .refused
        .binary_search_by_key(&key, |r| (r.entity, r.sequence));
    match at {
        Err(_) => Some(false),
        Ok(at) => {
            let reason = output.refused[at].reason;
            matches!(reason, Refusal::Idle | Refusal::Unmet).then_some(true)
        }
    }
}

/// The commands that rules give in a tick, of those that log.
fn rules(
    config: &WorldConfig,
    mirror: &Mirror,
    wants: impl Fn(CommandKind) -> bool,
    tick: Tick,
) -> Vec<(Command, Vec<i32>)> {
    let mut given = vec![];
    let logging = (0u32..).zip(&config.every);
    let logging = logging.filter(|(_, rule)| wants(rule.command) && rule.of_ended.is_none());
    for (number, rule) in logging {
        let ticks = u64::from(rule.ticks);
        let first = (ticks - tick.0 % ticks) % ticks;
        let (Ok(first), Ok(slots)) = (u32::try_from(first), u32::try_from(mirror.capacity()))
        else {
            continue;
        };
        for slot in (first..slots).step_by(rule.ticks as usize).map(Slot) {
            let Some(entity) = mirror
                .living(slot)
                .filter(|_| mirror.kind(slot) == rule.kind)
            else {
                continue;
            };
            if given.len() > COMMANDS_MAX {
                return given;
            }
            let mut words = rule.words.clone();
            if let Some(place) = rule.own_place {
                let axes = config.dimensions();
                let own = &mut words[usize::from(place)..][..axes];
                own.copy_from_slice(&mirror.position(slot)[..axes]);
            }
            let command = Command {
                entity,
                sequence: number,
                word_start: 0,
                kind: rule.command.0,
                word_count: 0,
            };
            given.push((command, words));
        }
    }
    given
}

/// The world before a tick, as its commands saw it. It keeps no earlier places and no fields:
/// `was_within` is false and `toward` 0 in what is logged.
struct Before<'a> {
    config: &'a WorldConfig,
    mirror: &'a Mirror,
    buckets: OnceCell<Buckets>,
    census: OnceCell<Census>,
    standings: OnceCell<Standings>,
    holdings: OnceCell<Vec<Holdings>>,
    layers: OnceCell<Layers>,
}

impl Before<'_> {
    fn living(&self) -> Vec<Spot> {
        let mut spots = vec![];
        self.mirror.spots(0..self.mirror.capacity(), &mut spots);
        spots
    }
}

impl World for Before<'_> {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.mirror.row(slot)[column]
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        self.mirror.living(slot).map(|entity| entity.generation)
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.mirror.kind(slot)
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        self.mirror.kind_columns(slot).has(column)
    }

    fn layer(&self, place: i32) -> i32 {
        let layers = self.layers.get_or_init(|| {
            let doors = &self.config.schema.doors;
            let living = self.living();
            let rows = living
                .iter()
                .map(|spot| (spot.kind, self.mirror.row(spot.entity.slot)));
            layers_with(doors, self.mirror.layers(), rows)
        });
        layers.word(place)
    }

    fn census(&self) -> Option<&Census> {
        Some(self.census.get_or_init(|| {
            let spots = self.living();
            let living = spots.iter().map(|spot| (spot.kind, spot.entity.slot.0));
            Census::of(self.config.schema.kinds.len(), living)
        }))
    }

    fn standings(&self) -> Option<&Standings> {
        Some(self.standings.get_or_init(|| {
            let (spots, slots_max) = (self.living(), self.mirror.capacity());
            ranked(&self.config.schema.rankings, slots_max, |ranking| {
                let own = spots.iter().filter(|spot| spot.kind == ranking.kind);
                let slots = own.map(|spot| spot.entity.slot);
                let value = |slot| self.mirror.row(slot)[usize::from(ranking.column)];
                slots.map(|slot| (value(slot), slot)).collect()
            })
        }))
    }

    fn holdings(&self, relation: u8) -> Option<&Holdings> {
        let all = self.holdings.get_or_init(|| {
            let spots = self.living();
            let living: Vec<Slot> = spots.iter().map(|spot| spot.entity.slot).collect();
            held(&self.config.schema, self, self.mirror.capacity(), &living)
        });
        all.get(usize::from(relation))
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        let buckets = self.buckets.get_or_init(|| {
            let spots = self.living();
            let placed = spots.iter();
            let placed = placed.filter(|spot| !self.config.schema.is_thing(spot.kind));
            let places = placed.map(|spot| (spot.entity.slot, spot.position));
            Buckets::of(self.config, places)
        });
        buckets.near(center, radius, |slot| self.mirror.position(slot), slots);
    }
}

#[cfg(test)]
mod tests {
    use device::cpu::Workers;
    use gpu_kernels::CpuBackend;
    use shared::wire::movement::MovementCodec;

    use super::*;

    const WORLD: &str = "
        [logic]
        builtin = ['roam', 'blast']
        [[kind]]
        name = 'wolf'
        population = 7
        attributes = [{ name = 'hp', type = 'i32', default = 9, audience = 'state' }]
        [[every]]
        kind = 'wolf'
        ticks = 3
        command = 'roam'
        [[every]]
        kind = 'wolf'
        ticks = 2
        command = 'blast'
        at = 'own'
    ";

    #[test]
    fn the_commands_of_rules_on_the_host_are_those_of_the_backend() {
        let config = world_file::parse(WORLD, "a test's world").unwrap();
        let watched = Watched::of(&config, |_| true).unwrap();
        let workers = Workers::new(1).unwrap();
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut mirror = Mirror::new(&config, MovementCodec::new(&config.schema).unwrap());
        let mut compared = 0;
        for tick in (0..7).map(Tick) {
            let mut frame = Frame::new(tick);
            if tick == Tick(0) {
                frame.populate(&config);
            }
            let output = backend.tick(&frame).unwrap();
            let due = backend.due(&|_| true).unwrap();
            let expected: Vec<_> = due
                .iter()
                .map(|(c, words)| (c.entity, c.sequence, c.kind, words.to_vec()))
                .collect();
            let found = rules(&config, &mirror, |kind| watched.has(kind), tick).into_iter();
            let found: Vec<_> = found
                .map(|(c, words)| (c.entity, c.sequence, c.kind, words))
                .collect();
            assert_eq!(found, expected, "tick {tick}");
            compared += found.len();
            mirror.apply(&workers, &output);
        }
        assert!(compared > 30, "{compared}");
    }

    const SHOP: &str = "
        [[kind]]
        name = 'player'
        attributes = [{ name = 'gold', type = 'i32', default = 3, audience = 'state' }]
    ";

    const BUY: &str = "#[command(clients)] fn buy(me: Entity, price: i32) {
        require(me.gold >= price, \"there is too little gold\");
        me.gold -= price;
    }";

    #[test]
    fn a_dashboard_has_the_reason_of_what_a_client_could_not_do() {
        let mut config = world_file::parse(SHOP, "a test's world").unwrap();
        config.logic.texts = vec![shared::world::logic::Text::new("buy.rs", BUY)];
        let config = script::logic::with_logic(&config, &config.logic).unwrap();
        let buy = config.schema.command_named("buy").unwrap().kind;
        let workers = Workers::new(1).unwrap();
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut mirror = Mirror::new(&config, MovementCodec::new(&config.schema).unwrap());
        let mut frame = Frame::new(Tick(0));
        frame.spawn_at(config.player_kind, 0, &[0, 0]);
        let output = backend.tick(&frame).unwrap();
        let player = output.births[0].entity.unwrap();
        mirror.apply(&workers, &output);
        let lines = ScriptLines::default();
        let mut log = ScriptLog::new(Some(lines.clone()));
        // The scripts are compiled beside the world.
        for tick in (1..).map(Tick) {
            let mut frame = Frame::new(tick);
            frame.push(player, 0, buy, &[5]);
            let output = backend.tick(&frame).unwrap();
            assert_eq!(output.refused[0].reason, Refusal::Idle);
            lines.since(0, 1);
            log.show(&config, &mirror, &frame, &mut backend, &output)
                .unwrap();
            mirror.apply(&workers, &output);
            let shown = lines.since(0, 0).lines;
            if let Some(line) = shown.first() {
                assert_eq!(line.text, "without effect: there is too little gold");
                assert_eq!((line.command.as_str(), line.entity), ("buy", Some(0)));
                break;
            }
            assert!(tick < Tick(2000), "no line is shown");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
