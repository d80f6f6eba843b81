//! The commands that run, and the updates of each.

use std::collections::{BTreeMap, VecDeque};

use gpu_kernels::{Frame, SlotState};
use script::arith::Random;
use shared::{AttributeType, EntityId, MergeRule, Refusal};

use super::interest::square_of_distance;
use super::{Oracle, OracleOutput};

pub const SPAWN: u16 = 0;
pub const DESPAWN: u16 = 1;
const MOVE: u16 = 2;
const STRIKE: u16 = 3;
const HEAL: u16 = 4;
pub const BLAST: u16 = 5;
const PICK: u16 = 6;
const ROAM: u16 = 7;
pub const BURN: u16 = 8;
pub const SHOUT: u16 = 9;

/// A command with its words.
#[derive(Clone)]
pub struct Command {
    pub entity: EntityId,
    pub kind: u16,
    /// Distinguishes the commands of one kind that an entity gives in one tick.
    pub sequence: u32,
    pub words: Vec<i32>,
    /// Its place in the frame; `None`: a rule or a timer gives it.
    pub place: Option<usize>,
}

impl Command {
    /// Whether it is a birth's, and has values for it only, or names.
    pub fn has_values(&self) -> bool {
        self.is_extra() && self.words[0] >> 28 & 7 != 7
    }

    /// Whether it names newborns.
    fn has_names(&self) -> bool {
        self.has_values() && self.words[0] >> 28 & 7 == 6
    }

    /// Whether it is a birth's, and schedules a command for its newborn only.
    pub fn follows_up(&self) -> bool {
        self.is_extra() && self.words[0] >> 28 & 7 == 7
    }

    fn is_extra(&self) -> bool {
        self.kind == SPAWN && self.words.first().is_some_and(|&word| word < 0)
    }

    /// The command that it schedules for a newborn, which is of another command.
    pub fn follow_up(&self, newborn: EntityId) -> Delayed {
        let form = self.words[0] as u32;
        let ticks = (self.words[1] as u32 % (1 << 20)).clamp(1, 1_000_000);
        let (count, mut others) = (form / 256 % 8, self.words[2..].iter());
        let word = |n: u32| match form >> (11 + n) & 1 {
            1 => reference(newborn),
            _ => others.next().copied().unwrap_or(0),
        };
        let command = Command {
            entity: if form >> 16 & 1 == 1 {
                newborn
            } else {
                self.entity
            },
            kind: (form % 256) as u16,
            sequence: 0,
            words: (0..count.min(5)).map(word).collect(),
            place: None,
        };
        (ticks, command)
    }
}

/// What a birth is given for a column.
pub enum Given {
    Value(i32),
    /// A reference to the entity that was born so many births before.
    BirthsAgo(usize),
}

/// The delay in ticks, and the command.
pub type Delayed = (u32, Command);

/// Updates of one command: slot, column, value.
type Emitted = Vec<(u32, usize, i32)>;
/// The values of all updates, by slot and column.
type Updates = BTreeMap<(u32, usize), Vec<i32>>;

impl Oracle {
    /// The frame's commands, then the timed ones that are due, then those of world rules,
    /// up to the limit.
    pub(super) fn commands(&mut self, frame: &Frame, out: &mut OracleOutput) -> Vec<Command> {
        let mut commands = vec![];
        for (place, command) in frame.commands.iter().enumerate() {
            let start = command.word_start as usize;
            commands.push(Command {
                entity: command.entity,
                kind: command.kind,
                sequence: command.sequence,
                words: frame.words[start..start + usize::from(command.word_count)].to_vec(),
                place: Some(place),
            });
        }
        commands.extend(self.due());
        for (number, rule) in self.config.every.iter().enumerate() {
            for entity in self.living().into_iter().chain(self.shared()) {
                let of_ended = rule.of_ended;
                if of_ended.is_some_and(|relation| !self.has_lost(relation, entity.slot)) {
                    continue;
                }
                let turn = self.tick.0 + u64::from(entity.slot.0);
                let kind = self.slots[entity.slot.index()].kind;
                if kind == rule.kind && turn.is_multiple_of(u64::from(rule.ticks)) {
                    let mut words = rule.words.clone();
                    if let Some(place) = rule.own_place {
                        let position = self.position(entity.slot.0);
                        for axis in 0..self.config.schema.world.size.len() {
                            words[usize::from(place) + axis] = position[axis];
                        }
                    }
                    commands.push(Command {
                        entity,
                        kind: rule.command.id(),
                        sequence: number as u32,
                        words,
                        place: None,
                    });
                }
            }
        }
        out.counts.commands = commands.len() as u64;
        let kept = commands
            .len()
            .min(self.config.limits.commands_per_tick as usize);
        for command in commands.drain(kept..) {
            self.refuse(&command, Refusal::BeyondLimits, out);
            out.counts.commands_dropped += 1;
        }
        commands
    }

    /// The columns that each birth is given by the commands right before it, with their values, or
    /// with how many births ago the entity was born to which they refer.
    pub(super) fn given(&self, commands: &[Command]) -> VecDeque<BTreeMap<usize, Given>> {
        let mut all = VecDeque::new();
        for (place, birth) in commands.iter().enumerate() {
            let is_birth = birth.kind == SPAWN && !birth.is_extra();
            if !is_birth || !self.is_well_formed(birth) {
                continue;
            }
            let mut given = BTreeMap::new();
            let mut named = BTreeMap::new();
            let most = birth.words[0] / 65_536;
            for command in commands[..place].iter().rev().take(most as usize) {
                if !command.has_values() || !self.is_well_formed(command) {
                    break;
                }
                if command.has_names() {
                    for &word in &command.words[1..] {
                        let word = word as u32;
                        let column = (word / (1 << 24)) as usize;
                        named.insert(column, Given::BirthsAgo(word as usize % (1 << 24)));
                    }
                    continue;
                }
                let columns = command.words[0] as u32 - (1 << 31);
                let near = 4usize.saturating_sub(columns as usize / (1 << 28));
                for (n, &value) in command.words[1..].iter().enumerate() {
                    let column = (columns >> (7 * n)) as usize % 128;
                    let column = match column {
                        127 => continue,
                        _ if n >= near => column + 127,
                        0 | 1 => column + 254,
                        _ => column,
                    };
                    given.insert(column, Given::Value(value));
                }
            }
            if !self.config.kept_kinds.is_empty() {
                given.extend(named);
            }
            all.push_back(given);
        }
        all
    }

    /// The commands that are neither malformed nor stale, and those of them that are atomic;
    /// counts the others.
    pub(super) fn runnable(
        &self,
        commands: Vec<Command>,
        out: &mut OracleOutput,
    ) -> (Vec<Command>, Vec<Command>) {
        let (mut run, mut atomic) = (vec![], vec![]);
        let mut given: Vec<(EntityId, u16)> = vec![];
        for command in commands {
            let is_surplus = self.is_surplus(&command, &given);
            if command.place.is_some() {
                given.push((command.entity, command.kind));
            }
            if !self.is_well_formed(&command) {
                out.counts.malformed += 1;
            } else if self.has_actor(&command) && !self.is_alive(command.entity) {
                out.counts.stale += 1;
                self.refuse(&command, Refusal::Dead, out);
            } else if is_surplus {
                out.counts.over_per_tick += 1;
                self.refuse(&command, Refusal::OverPerTick, out);
            } else if self.rests(&command) {
                out.counts.resting += 1;
                self.refuse(&command, Refusal::Resting, out);
            } else if self.is_atomic(command.kind) {
                atomic.push(command);
            } else if self.overruns(&command) {
                out.counts.over_budget += 1;
                *out.over_budget.entry(command.kind).or_default() += 1;
                self.refuse(&command, Refusal::BeyondLimits, out);
            } else {
                out.counts.applied += 1;
                self.note_miss(&command, out);
                run.push(command);
            }
        }
        (run, atomic)
    }

    pub(super) fn has_actor(&self, command: &Command) -> bool {
        match self.script(command.kind) {
            Some(script) => script.schema.has_actor,
            None => ![SPAWN, BURN].contains(&command.kind),
        }
    }

    pub(super) fn is_well_formed(&self, command: &Command) -> bool {
        let axes = self.config.schema.world.size.len();
        let words = command.words.len();
        let hp = self.hp().is_some();
        if let Some(script) = self.script(command.kind) {
            return words == script.schema.words.len();
        }
        match command.kind {
            SPAWN if command.has_values() => words == 5,
            SPAWN if command.follows_up() => words == 5 && command.place.is_none(),
            SPAWN => {
                let columns = self.config.schema.attributes.len();
                let is_birth = [2, 2 + axes, 2 + columns].contains(&words);
                // The upper half counts commands with values.
                let kind = command.words.first().map_or(0, |word| word % 65_536);
                is_birth
                    && command.words[0] / 65_536 <= 2
                    && (kind as usize) < self.config.schema.kinds.len()
                    && self.config.schema.world_kind.map(i32::from) != Some(kind)
            }
            DESPAWN | ROAM => words == 0,
            MOVE => words == axes,
            BLAST => hp && words == axes,
            BURN => hp && self.config.limits.timed_commands > 0 && words == axes + 1,
            SHOUT => self.rules.shout_radius_max.raw() > 0 && words == 2,
            STRIKE | HEAL => hp && words == 1,
            PICK => self.owner().is_some() && words == 1,
            _ => false,
        }
    }

    /// Counts a run that meets an index or a key that is not there.
    fn note_miss(&self, command: &Command, out: &mut OracleOutput) {
        let script = self.script(command.kind);
        let ran = script.and_then(|script| self.run_script(script, command).ok());
        if ran.is_some_and(|ran| ran.missed) {
            *out.out_of_range.entry(command.kind).or_default() += 1;
        }
    }

    /// Whether a command visits more entities than it may.
    fn overruns(&self, command: &Command) -> bool {
        if let Some(script) = self.script(command.kind) {
            return self.run_script(script, command).is_err();
        }
        let is_loop = match command.kind {
            BLAST => self.in_blast_reach(command),
            BURN => true,
            _ => false,
        };
        let (center, radius) = (self.point(&command.words), self.rules.blast_radius.raw());
        let near = |entity: &EntityId| within(self.position(entity.slot.0), center, radius);
        let visits = || self.alive().iter().filter(|&entity| near(entity)).count();
        is_loop && visits() > self.config.logic.budget.visits as usize
    }

    /// The updates of commands, and the commands that they delay, in command order.
    pub(super) fn updates(
        &self,
        commands: &[Command],
        out: &mut OracleOutput,
    ) -> (Updates, Vec<Delayed>) {
        let mut later = vec![];
        let mut updates = Updates::new();
        let mut full = false;
        for command in commands {
            let emitted = self.run(command);
            let scheduled = self.later(command);
            let n = emitted.len() as u64;
            full |= out.counts.updates + n > u64::from(self.config.limits.updates_per_tick);
            if full && n > 0 {
                self.refuse(command, Refusal::BeyondLimits, out);
            } else if n == 0 && scheduled.is_empty() && self.notifications_of(command).is_empty() {
                let script = self.script(command.kind);
                let ran = script.and_then(|script| self.run_script(script, command).ok());
                let because = ran.and_then(|ran| ran.reason);
                self.refuse_because(command, Refusal::Idle, because, out);
            }
            later.extend(scheduled);
            if full {
                out.counts.updates_dropped += n;
                continue;
            }
            out.counts.updates += n;
            for (slot, column, value) in emitted {
                updates.entry((slot, column)).or_default().push(value);
                let actor = match self.has_actor(command) {
                    true => command.entity,
                    false => EntityId::NONE,
                };
                out.causes
                    .entry((slot, column as u16))
                    .or_insert((command.kind, actor.slot.0));
            }
        }
        (updates, later)
    }

    fn run(&self, command: &Command) -> Emitted {
        if let Some(script) = self.script(command.kind) {
            let ran = self.run_script(script, command);
            return ran.expect("it is within its budget").updates;
        }
        match command.kind {
            MOVE => self.step(command),
            STRIKE => self.strike(command),
            HEAL => self.heal(command),
            BLAST => self.blast(command),
            PICK => self.pick(command),
            ROAM => self.roam(command),
            BURN => self.burn(command),
            _ => vec![],
        }
    }

    /// The commands for later ticks that a command schedules.
    fn later(&self, command: &Command) -> Vec<Delayed> {
        let rules = &self.rules;
        if let Some(script) = self.script(command.kind) {
            let ran = self.run_script(script, command);
            return ran.expect("it is within its budget").later;
        }
        let center = self.point(&command.words);
        match command.kind {
            BLAST if self.in_blast_reach(command) => self.embers(center, rules.blast_ember_ticks),
            BURN => {
                let remaining = command.words[self.config.schema.world.size.len()];
                self.embers(center, remaining.max(1) - 1)
            }
            _ => vec![],
        }
    }

    fn step(&self, command: &Command) -> Emitted {
        let speed = self.rules.move_speed_max.raw();
        let mut step = [0; 3];
        for (axis, &offset) in command.words.iter().enumerate() {
            step[axis] = if offset > speed {
                speed
            } else if offset < -speed {
                -speed
            } else {
                offset
            };
        }
        self.moved(command.entity.slot.0, step)
    }

    /// The updates of an entity that takes a step, as far as walls leave it.
    fn moved(&self, slot: u32, step: [i32; 3]) -> Emitted {
        let step = self.slide(self.position(slot), step);
        let axes = self.config.schema.world.size.len();
        (0..axes).map(|axis| (slot, axis, step[axis])).collect()
    }

    fn roam(&self, command: &Command) -> Emitted {
        let step = self.rules.roam_step.raw();
        let Command {
            entity,
            kind,
            sequence,
            ..
        } = *command;
        let mut random = Random::new(self.config.seed, self.tick, entity, kind, sequence);
        let mut offset = [0; 3];
        for axis in &mut offset[..self.config.schema.world.size.len()] {
            *axis = random.within(-step, step);
        }
        self.moved(entity.slot.0, offset)
    }

    fn strike(&self, command: &Command) -> Emitted {
        let rules = &self.rules;
        let own = command.entity.slot.0;
        match self.slot_of(command.words[0]) {
            Some(slot)
                if slot != own
                    && self.near(own, slot, rules.strike_reach.raw())
                    && self.has(slot, "hp") =>
            {
                vec![(slot, self.hp().unwrap(), -rules.strike_damage)]
            }
            _ => vec![],
        }
    }

    fn heal(&self, command: &Command) -> Emitted {
        let rules = &self.rules;
        match self.slot_of(command.words[0]) {
            Some(slot)
                if self.near(command.entity.slot.0, slot, rules.heal_reach.raw())
                    && self.has(slot, "hp") =>
            {
                vec![(slot, self.hp().unwrap(), rules.heal_amount)]
            }
            _ => vec![],
        }
    }

    fn blast(&self, command: &Command) -> Emitted {
        let rules = &self.rules;
        let own = command.entity.slot.0;
        let center = self.point(&command.words);
        if !self.in_blast_reach(command) {
            return vec![];
        }
        let mut emitted = vec![];
        for other in self.alive() {
            let slot = other.slot.0;
            if slot != own
                && self.has(slot, "hp")
                && within(self.position(slot), center, rules.blast_radius.raw())
            {
                emitted.push((slot, self.hp().unwrap(), -rules.blast_damage));
            }
        }
        emitted
    }

    pub(super) fn in_blast_reach(&self, command: &Command) -> bool {
        let reach = self.rules.blast_reach.raw();
        let own = self.position(command.entity.slot.0);
        within(own, self.point(&command.words), reach)
    }

    fn burn(&self, command: &Command) -> Emitted {
        let rules = &self.rules;
        let center = self.point(&command.words);
        let mut emitted = vec![];
        for other in self.alive() {
            let slot = other.slot.0;
            if self.has(slot, "hp") && within(self.position(slot), center, rules.blast_radius.raw())
            {
                emitted.push((slot, self.hp().unwrap(), -rules.blast_ember_damage));
            }
        }
        emitted
    }

    /// The point in the world that is nearest to the first words.
    pub(super) fn point(&self, words: &[i32]) -> [i32; 3] {
        let mut point = [0; 3];
        let axes = self.config.schema.world.size.len();
        for (axis, place) in point[..axes].iter_mut().enumerate() {
            let word = words.get(axis).copied().unwrap_or(0);
            *place = word.min(self.size(axis) - 1).max(0);
        }
        // `inside` leaves walls.
        self.free_place(point)
    }

    fn pick(&self, command: &Command) -> Emitted {
        let own = command.entity;
        let reach = self.rules.pick_reach.raw();
        let column = self.owner().unwrap();
        let Some(item) = self.slot_of(command.words[0]) else {
            return vec![];
        };
        if !self.near(own.slot.0, item, reach) || !self.has(item, "owner") {
            return vec![];
        }
        match self.slot_of(self.slots[item as usize].row[column]) {
            None => vec![(item, column, reference(own))],
            Some(owner) if owner == own.slot.0 => vec![(item, column, -1)],
            Some(_) => vec![],
        }
    }

    /// The slot of the living entity that a word refers to.
    pub(super) fn slot_of(&self, word: i32) -> Option<u32> {
        self.living()
            .into_iter()
            .find(|&entity| reference(entity) == word)
            .map(|entity| entity.slot.0)
    }

    fn near(&self, a: u32, b: u32, reach: i32) -> bool {
        within(self.position(a), self.position(b), reach)
    }

    /// The column of hit points, if commands can add to them.
    pub(super) fn hp(&self) -> Option<usize> {
        let column = self.column("hp", AttributeType::I32)?;
        let is_sum = self.config.schema.attributes[column].merge == MergeRule::Sum;
        is_sum.then_some(column)
    }

    /// The column of owners, if commands can set them.
    pub(super) fn owner(&self) -> Option<usize> {
        let column = self.column("owner", AttributeType::Entity)?;
        let merge = self.config.schema.attributes[column].merge;
        [MergeRule::First, MergeRule::Last]
            .contains(&merge)
            .then_some(column)
    }

    fn column(&self, name: &str, ty: AttributeType) -> Option<usize> {
        let attributes = &self.config.schema.attributes;
        attributes.iter().position(|a| a.name == name && a.ty == ty)
    }

    /// Whether the entity's kind has the attribute.
    fn has(&self, slot: u32, attribute: &str) -> bool {
        let slot = &self.slots[slot as usize];
        assert_eq!(slot.state, SlotState::Live);
        let schema = &self.config.schema;
        schema.kinds[usize::from(slot.kind)]
            .attributes
            .iter()
            .any(|a| schema.attributes[usize::from(a.column)].name == attribute)
    }
}

/// 8 bits of generation, then 24 of slot.
pub fn reference(entity: EntityId) -> i32 {
    ((entity.generation % 256) * (1 << 24) + entity.slot.0) as i32
}

fn within(a: [i32; 3], b: [i32; 3], distance: i32) -> bool {
    square_of_distance(a, b) <= u128::from(distance.unsigned_abs()).pow(2)
}
