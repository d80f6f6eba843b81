//! A world's definition that did not come from a world file: it is written as the file that
//! would give it, and passes through the same checks.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::build::{self, Built, Rejected};
use super::check::{Problem, problem};
use super::error::{ConfigError, Remark};
use super::logic::Texts;
use super::{limits, raw};
use shared::Limits;
use shared::world::attribute::{Attribute, AttributeType};
use shared::world::command::{CommandKind, CommandSchema};
use shared::world::config::{Every, Fall, Motion, Spectators, WorldConfig};
use shared::world::fixed::Fixed;
use shared::world::initial::{Choice, Initial};
use shared::world::logic::{Constant, LogicConfig};
use shared::world::schema::{Kind, KindAttribute, Schema};
use shared::world::spawn::SpawnArea;
use shared::world::symbols::Symbols;

/// A [`WorldConfig`] as it was read from somewhere: [`UncheckedWorld::check`] makes one of it,
/// if any world file could. A `WorldConfig` itself can't be deserialized. The fields are its
/// own, in the same order, as the codec reads them. `S` is `()` for one that was written
/// before worlds kept which symbols each attribute has.
#[derive(Debug, Deserialize)]
pub struct UncheckedWorld<S = Symbols> {
    seed: u64,
    player_kind: u16,
    populations: Vec<u32>,
    spawns: Vec<Option<SpawnArea>>,
    initials: Vec<Vec<Initial>>,
    born: Vec<Option<CommandKind>>,
    falls: Vec<Option<Fall>>,
    tells_owner: Option<u16>,
    persists: Vec<u16>,
    every: Vec<Every>,
    motion: Option<Motion>,
    spectators: Option<Spectators>,
    logic: LogicConfig,
    limits: Limits,
    schema: Schema,
    symbols: S,
}

impl From<UncheckedWorld<()>> for UncheckedWorld {
    fn from(before: UncheckedWorld<()>) -> UncheckedWorld {
        UncheckedWorld {
            symbols: Symbols::within_bounds(&before.schema),
            seed: before.seed,
            player_kind: before.player_kind,
            populations: before.populations,
            spawns: before.spawns,
            initials: before.initials,
            born: before.born,
            falls: before.falls,
            tells_owner: before.tells_owner,
            persists: before.persists,
            every: before.every,
            motion: before.motion,
            spectators: before.spectators,
            logic: before.logic,
            limits: before.limits,
            schema: before.schema,
        }
    }
}

impl From<WorldConfig> for UncheckedWorld {
    fn from(world: WorldConfig) -> UncheckedWorld {
        UncheckedWorld {
            seed: world.seed,
            player_kind: world.player_kind,
            populations: world.populations,
            spawns: world.spawns,
            initials: world.initials,
            born: world.born,
            falls: world.falls,
            tells_owner: world.tells_owner,
            persists: world.persists,
            every: world.every,
            motion: world.motion,
            spectators: world.spectators,
            logic: world.logic,
            limits: world.limits,
            schema: world.schema,
            symbols: world.symbols,
        }
    }
}

impl UncheckedWorld {
    /// The world, if it is what some world file gives. `file` is where it came from, for
    /// errors.
    pub fn check(self, file: &str) -> Result<WorldConfig, ConfigError> {
        let built = build(self.raw(), &self.logic);
        let rejected = match built {
            Ok(built) => match self.difference(&built.config) {
                None => return Ok(built.config),
                Some(part) => Rejected::of(inconsistent(part)),
            },
            Err(rejected) => rejected,
        };
        Err(error(rejected, file))
    }

    /// The world at another rate of ticks. Limits that were those of the rate before become
    /// those of the new one; the way of a spectator in a tick becomes as much as before in a
    /// second.
    pub fn check_at_rate(self, tick_hz: u32, file: &str) -> Result<WorldConfig, ConfigError> {
        let of_rate_before = limits::of_rate(self.schema.world.tick_hz, u32::MAX);
        let raw = self.raw().map(|mut raw| {
            raw.world.tick_hz = tick_hz;
            let limits = &mut raw.limits;
            let found = [&mut limits.input_ticks_max, &mut limits.late_ticks_max];
            for (limit, usual) in found.into_iter().zip(of_rate_before) {
                *limit = limit.filter(|&limit| limit != usual);
            }
            raw
        });
        let built = build(raw, &self.logic);
        let built = built.map_err(|rejected| error(rejected, file))?;
        Ok(built.config)
    }

    /// The part in which it differs from the world that its file gives.
    fn difference(&self, built: &WorldConfig) -> Option<&'static str> {
        let parts = [
            ("seed", self.seed == built.seed),
            ("player_kind", self.player_kind == built.player_kind),
            ("populations", self.populations == built.populations),
            ("spawns", self.spawns == built.spawns),
            ("falls", self.falls == built.falls),
            ("tells_owner", self.tells_owner == built.tells_owner),
            ("persists", self.persists == built.persists),
            ("initials", self.initials == built.initials),
            ("born", self.born == built.born),
            ("every", self.every == built.every),
            ("motion", self.motion == built.motion),
            ("spectators", self.spectators == built.spectators),
            ("logic", self.logic == built.logic),
            ("limits", self.limits == built.limits),
            ("schema", self.schema == built.schema),
            ("symbols", self.symbols == built.symbols),
        ];
        let differing = parts.into_iter().find(|(_, is_equal)| !is_equal);
        differing.map(|(part, _)| part)
    }

    /// The world file. What no file can say comes out as something else, or is a problem.
    fn raw(&self) -> Result<raw::World, Problem> {
        let schema = &self.schema;
        let kinds = schema.kinds.iter().enumerate();
        let every = self.every.iter();
        Ok(raw::World {
            world: raw::Section {
                name: schema.world.name.clone(),
                size: schema.world.size.iter().map(|size| size.to_f64()).collect(),
                aoi: schema.world.aoi.to_f64(),
                aoi_leave: Some(schema.world.aoi_leave.to_f64()),
                capacity: schema.world.capacity,
                tick_hz: schema.world.tick_hz,
                seed: self.seed,
                visible_max: schema.world.visible_max,
                interest: schema.world.interest,
                motion: Some(self.motion.is_some()),
                wire_tolerance: self
                    .motion
                    .as_ref()
                    .map_or(0.0, |motion| Fixed::from_raw(motion.tolerance).to_f64()),
                wire_step: schema.attributes.first().and_then(Attribute::wire_step),
                velocity: self.velocity(),
                player_kind: Some(
                    self.kind(self.player_kind, "world.player_kind")?
                        .name
                        .clone(),
                ),
            },
            limits: (&self.limits).into(),
            logic: raw::Logic {
                folder: self.logic.folder.clone(),
                // The recorded ones, whatever this world's file says.
                builtin: None,
                steps: self.logic.budget.steps,
                visits: self.logic.budget.visits,
            },
            commands: self.raw_commands(),
            spectators: self.raw_spectators(),
            kind: Some(
                kinds
                    .map(|(i, kind)| self.raw_kind(i, kind))
                    .collect::<Result<_, _>>()?,
            ),
            every: every
                .map(|every| self.raw_every(every))
                .collect::<Result<_, _>>()?,
        })
    }

    fn command(&self, kind: CommandKind, key: &str) -> Result<&CommandSchema, Problem> {
        match self.schema.command(kind) {
            Some(command) => Ok(command),
            None => problem(key, format!("there is no command {}", kind.id())),
        }
    }

    fn kind(&self, index: u16, key: &str) -> Result<&Kind, Problem> {
        match self.schema.kinds.get(usize::from(index)) {
            Some(kind) => Ok(kind),
            None => problem(key, format!("there is no kind {index}")),
        }
    }

    /// The names of the columns of a velocity; what is no column has none.
    fn velocity(&self) -> Option<Vec<String>> {
        let columns = &self.motion.as_ref()?.velocity;
        let attributes = &self.schema.attributes;
        let name = |&column: &u16| attributes.get(usize::from(column)).map(|a| a.name.clone());
        (!columns.is_empty()).then(|| columns.iter().filter_map(name).collect())
    }

    fn raw_spectators(&self) -> raw::Spectators {
        let speed = |step: i32| {
            // A speed that gives the same step, whatever was left of the division.
            let tick_hz = i64::from(self.schema.world.tick_hz);
            let raw = i32::try_from(i64::from(step) * tick_hz).unwrap_or(i32::MAX);
            Fixed::from_raw(raw).to_f64()
        };
        raw::Spectators {
            allowed: self.spectators.is_some(),
            speed_max: self.spectators.and_then(|s| s.step_max).map(speed),
        }
    }

    fn raw_commands(&self) -> raw::Commands {
        let value = |constant: &Constant| match constant {
            Constant::Int(number) => toml::Value::Integer(*number),
            Constant::Float(number) => toml::Value::Float(*number),
            Constant::Bool(truth) => toml::Value::Boolean(*truth),
            Constant::Text(text) => toml::Value::String(text.clone()),
        };
        let constants = self.logic.constants.iter();
        let settings = constants.map(|(stem, settings)| {
            let settings = settings.iter().map(|(key, c)| (key.clone(), value(c)));
            (stem.clone(), settings.collect::<BTreeMap<_, _>>())
        });
        settings.collect()
    }

    fn raw_kind(&self, index: usize, kind: &Kind) -> Result<raw::Kind, Problem> {
        let dimensions = self.schema.dimensions();
        let fall = self.falls.get(index).copied().flatten();
        let born = self.born.get(index).copied().flatten();
        let born = born.map(|command| self.command(command, "kind.born"));
        let edges = |edges: Option<[i32; 3]>| Some(point(edges?, dimensions));
        let own = kind.attributes.iter();
        // Every kind has the position, which the file does not name.
        let own = own.filter(|a| usize::from(a.column) >= dimensions);
        Ok(raw::Kind {
            name: kind.name.clone(),
            population: self.populations.get(index).copied().unwrap_or(0),
            respawn_ticks: fall.map(|fall| fall.respawn_ticks),
            born: born.transpose()?.map(|command| command.name.clone()),
            publishes: edges(kind.regions.publishes),
            subscribes: edges(kind.regions.subscribes),
            spawn: self
                .spawns
                .get(index)
                .copied()
                .flatten()
                .map(|area| raw_spawn(area, dimensions)),
            attributes: own
                .map(|own| self.raw_attribute(index, own, fall))
                .collect::<Result<_, _>>()?,
        })
    }

    fn raw_attribute(
        &self,
        kind: usize,
        own: &KindAttribute,
        fall: Option<Fall>,
    ) -> Result<raw::Attribute, Problem> {
        let Some(attribute) = self.schema.attributes.get(usize::from(own.column)) else {
            let message = format!("there is no column {}", own.column);
            return problem("kind.attributes", message);
        };
        let initials = self.initials.get(kind).into_iter().flatten();
        let initial = initials.clone().find(|of| of.column == own.column);
        let symbols = match attribute.ty {
            AttributeType::Symbol => self.symbols(kind, own),
            _ => vec![],
        };
        let bound = |value: i32, natural: i32| {
            let is_number = matches!(attribute.ty, AttributeType::I32 | AttributeType::Fixed);
            (is_number && value != natural).then(|| number(attribute.ty, value))
        };
        let fall = fall.filter(|fall| fall.column == own.column);
        Ok(raw::Attribute {
            name: attribute.name.clone(),
            ty: attribute.ty,
            default: match initial {
                Some(initial) => Some(self.choice(attribute, &initial.choice)),
                None => self.default(attribute, own.default),
            },
            min: bound(own.min, i32::MIN),
            max: bound(own.max, i32::MAX),
            merge: Some(attribute.merge),
            audience: attribute.audience,
            symbols,
            falls_at: fall.map(|fall| number(attribute.ty, fall.at)),
            tells_owner: (self.tells_owner == Some(own.column)).then_some(true),
            persist: kind == usize::from(self.player_kind) && self.persists.contains(&own.column),
            wire_step: attribute.wire_step(),
        })
    }

    fn default(&self, attribute: &Attribute, default: i32) -> Option<toml::Value> {
        match attribute.ty {
            AttributeType::I32 | AttributeType::Fixed => Some(number(attribute.ty, default)),
            AttributeType::Bool => Some(toml::Value::Boolean(default != 0)),
            // Its kind's first symbol is the default.
            AttributeType::Entity | AttributeType::Symbol => None,
        }
    }

    /// A choice of several values.
    fn choice(&self, attribute: &Attribute, choice: &Choice) -> toml::Value {
        let value = |value: i32| match attribute.ty {
            AttributeType::Symbol => {
                let place = usize::try_from(value).unwrap_or(usize::MAX);
                let symbol = self.schema.symbols.get(place);
                toml::Value::String(symbol.cloned().unwrap_or_default())
            }
            ty => number(ty, value),
        };
        let list = |values: &[i32]| values.iter().copied().map(value).collect();
        let entries = match choice {
            Choice::Between { low, count } => {
                let high = low.wrapping_add_unsigned(count.wrapping_sub(1));
                vec![("from", value(*low)), ("to", value(high))]
            }
            Choice::OneOf(values) => vec![("one_of", toml::Value::Array(list(values)))],
            Choice::InTurn(values) => vec![("in_turn", toml::Value::Array(list(values)))],
        };
        let entries = entries.into_iter();
        toml::Value::Table(entries.map(|(key, v)| (key.to_owned(), v)).collect())
    }

    /// The symbols of an attribute, the default first.
    fn symbols(&self, kind: usize, own: &KindAttribute) -> Vec<String> {
        let kind = u16::try_from(kind).unwrap_or(u16::MAX);
        let numbers = self.symbols.of(kind, own.column).iter();
        let others = numbers.filter(|&&number| number != own.default);
        let all = std::iter::once(&own.default).chain(others);
        let name = |&number: &i32| self.schema.symbols.get(usize::try_from(number).ok()?);
        all.filter_map(name).cloned().collect()
    }

    fn raw_every(&self, every: &Every) -> Result<raw::Every, Problem> {
        let command = self.command(every.command, "every.command")?;
        let own = every.own_place.map_or(0..0, |place| {
            let place = usize::from(place);
            place..place + self.schema.dimensions()
        });
        let types = command.words.iter().map(|word| word.ty);
        let types = types.chain(std::iter::repeat(AttributeType::I32));
        let value = |ty, word: i32| match ty {
            AttributeType::Symbol => {
                let place = usize::try_from(word).ok();
                let symbol = place.and_then(|place| self.schema.symbols.get(place));
                toml::Value::String(symbol.cloned().unwrap_or_default())
            }
            ty => number(ty, word),
        };
        Ok(raw::Every {
            kind: self.kind(every.kind, "every.kind")?.name.clone(),
            ticks: every.ticks,
            command: command.name.clone(),
            // The file leaves out the words of the entity's own place.
            words: (0..)
                .zip(every.words.iter().zip(types))
                .filter(|(place, _)| !own.contains(place))
                .map(|(_, (&word, ty))| value(ty, word))
                .collect(),
            at: every.own_place.map(|_| raw::Place::Own),
        })
    }
}

/// Builds a file with the recorded texts.
fn build(raw: Result<raw::World, Problem>, logic: &LogicConfig) -> Result<Built, Rejected> {
    let raw = raw.map_err(Rejected::of)?;
    build::build(&raw, &Texts::Recorded(logic), false, Rejected::default())
}

fn error(rejected: Rejected, file: &str) -> ConfigError {
    let remarks = rejected.problems.0.into_iter().map(|problem| Remark {
        file: file.to_owned(),
        line: None,
        column: None,
        key: problem.key,
        message: problem.message,
    });
    ConfigError::Rejected {
        remarks: remarks.collect(),
        drawn: rejected.drawn,
    }
}

fn raw_spawn(area: SpawnArea, dimensions: usize) -> raw::Spawn {
    match area {
        SpawnArea::Ball { center, radius } => raw::Spawn {
            center: Some(point(center, dimensions)),
            radius: Some(Fixed::from_raw(radius).to_f64()),
            area: None,
        },
        SpawnArea::Box { low, high } => raw::Spawn {
            center: None,
            radius: None,
            area: Some([low, high].map(|corner| point(corner, dimensions)).to_vec()),
        },
    }
}

fn point(raw: [i32; 3], dimensions: usize) -> Vec<f64> {
    let axes = raw.iter().take(dimensions);
    axes.map(|&axis| Fixed::from_raw(axis).to_f64()).collect()
}

/// A raw value of this type, as a file has it.
fn number(ty: AttributeType, raw: i32) -> toml::Value {
    match ty {
        AttributeType::Fixed => toml::Value::Float(Fixed::from_raw(raw).to_f64()),
        AttributeType::Bool => toml::Value::Boolean(raw != 0),
        _ => toml::Value::Integer(i64::from(raw)),
    }
}

fn inconsistent(part: &str) -> Problem {
    Problem::new(
        part,
        "it does not follow from the other parts, as it does in a world file",
    )
}
