//! Runs a command, instruction by instruction. The other backends must do the same.
//!
//! What an atomic command writes stays in the interpreter until its run ends.

use shared::world::command::COMMAND_WORDS_MAX;
use shared::world::config::DELAY_TICKS_MAX;
use shared::world::notification::NOTIFICATION_WORDS_MAX;
use shared::{EntityId, EntityRef, Slot, Tick};

use crate::arith::{self, Random};
use crate::census::Census;
use crate::holdings::Holdings;
use crate::ir::{
    Budget, Code, EFFECTS_MAX, Index, Inst, NEAR_CENTER_MIN, NEAR_RADIUS_MAX, NOBODY, Operand,
    Point, Reg, WRITES_MAX, Write,
};
use crate::standings::Standings;

/// The world at the start of the tick.
pub trait World {
    /// A column of a live entity; 0 where its kind lacks it.
    fn attribute(&self, slot: Slot, column: usize) -> i32;
    /// The generation of a slot's live entity; `None` if there is none. The slot may be any
    /// number.
    fn generation(&self, slot: Slot) -> Option<u32>;
    /// The kind of a live entity.
    fn kind(&self, slot: Slot) -> u16;
    /// Whether the kind of a live entity has a column.
    fn has(&self, slot: Slot, column: usize) -> bool;
    /// The least and the greatest value of a column that the kind of a live entity has, for
    /// atomic commands.
    fn bounds(&self, _slot: Slot, _column: usize) -> (i32, i32) {
        (i32::MIN, i32::MAX)
    }
    /// Whether a live entity is one of the keys of the atomic command that runs. Where it runs
    /// alone, they all are.
    fn is_key(&self, _slot: Slot) -> bool {
        true
    }
    /// A coordinate of a live entity after a tick, of which the low bits are given: -1 where it
    /// was nowhere. Ticks that are not kept are taken for the nearest that is
    /// ([`arith::ticks_back`]). A world that keeps none has nothing to say.
    fn past(&self, _slot: Slot, _axis: usize, _tick: i32) -> i32 {
        -1
    }
    /// A word of the world's layers; 0 where there is none.
    fn layer(&self, _place: i32) -> i32 {
        0
    }
    /// A word of the world's fields, as they are in force; 0 where there is none.
    fn field(&self, _place: i32) -> i32 {
        0
    }
    /// The live entities by kind; a world that has none has nobody to count.
    fn census(&self) -> Option<&Census> {
        None
    }
    /// Where they stand in the rankings, if there are any.
    fn standings(&self) -> Option<&Standings> {
        None
    }
    /// The things of each holder or the members of each group, by number of the relation, if there are
    /// any.
    fn holdings(&self, _relation: u8) -> Option<&Holdings> {
        None
    }
    /// The slot of an entity that relates to a live one, by its place among all of them in the order of
    /// their slots. The place may be any number.
    fn held(&self, relation: u8, holder: Slot, place: u32) -> Option<Slot> {
        self.holdings(relation)?.nth(holder, place)
    }
    /// How many entities of a kind live.
    fn count(&self, kind: u16) -> u32 {
        self.census().map_or(0, |census| census.count(kind))
    }
    /// The slot of a live entity of a kind, by its place among all of them in the order of their
    /// slots. The place may be any number.
    fn nth(&self, kind: u16, place: u32) -> Option<Slot> {
        self.census()?.nth(kind, place)
    }
    /// The place of a live entity in a ranking, from 1 on; 0 if it has none.
    fn rank(&self, ranking: u16, slot: Slot) -> u32 {
        self.standings()
            .map_or(0, |standings| standings.rank(ranking, slot))
    }
    /// The slot of the entity at a place of a ranking, from 0 on. The place may be any number.
    fn ranked(&self, ranking: u16, place: u32) -> Option<Slot> {
        self.standings()?.ranked(ranking, place)
    }
    /// Adds the slots of all live entities within `radius` of `center`
    /// ([`arith::is_within`]), in index order: by bucket, then by slot.
    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>);
}

/// Where a command's effects go.
pub trait Effects: Outgoing {
    /// An update of an attribute that the entity has.
    fn update(&mut self, slot: Slot, column: u16, value: i32);
    /// A value that an atomic command leaves in an attribute that the entity has. It comes after
    /// the run, once for each write, and only of runs that have an effect.
    fn write(&mut self, _slot: Slot, _column: u16, _value: i32) {}
    /// An index was none that there is. It comes once, after the run.
    fn miss(&mut self) {}
}

/// Where the commands that a command schedules go, and its notifications.
pub trait Outgoing {
    /// A command for a later tick; `ticks` is from 1 to [`DELAY_TICKS_MAX`].
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]);
    /// A notification; the area is a centre in the world and a distance along each axis.
    fn notify(&mut self, kind: u16, source: EntityId, area: Option<([i32; 3], i32)>, words: &[i32]);
}

/// A command that is run.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    pub tick: Tick,
    /// The acting entity, which lives, if the command has one.
    pub entity: EntityId,
    /// As many as the command takes.
    pub words: &'a [i32],
    pub random: Random,
}

/// The world's properties that commands depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// 2 or 3.
    pub dimensions: usize,
    /// The size per axis in raw units; 1 along an axis that the world lacks.
    pub size: [i32; 3],
    pub budget: Budget,
}

/// Why a run has no effect: what it did so far does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEffect {
    /// It used up its budget.
    Overrun,
    /// A condition of an atomic command does not hold.
    Refused,
    /// An atomic command has to do with an entity that it did not name at the start of the stage.
    Moved,
}

/// Memory that runs share.
#[derive(Debug, Default)]
pub struct Interpreter {
    registers: Vec<i32>,
    near: Vec<Near>,
    writes: Vec<Written>,
    reason: Option<u8>,
}

/// What an atomic command has written so far.
#[derive(Clone, Copy, Debug)]
struct Written {
    slot: Slot,
    column: u16,
    value: i32,
}

/// A loop over what is near.
#[derive(Debug, Default)]
struct Near {
    slots: Vec<u32>,
    next: usize,
}

impl Interpreter {
    /// Why the last run had no effect, if it said so and had none: the number of a reason.
    pub fn reason(&self) -> Option<u8> {
        self.reason
    }

    /// Runs a command. After an error the caller drops the effects.
    pub fn run(
        &mut self,
        code: &Code,
        space: &Space,
        world: &impl World,
        invocation: &Invocation<'_>,
        effects: &mut impl Effects,
    ) -> Result<(), NoEffect> {
        self.run_bounded(code, space, world, invocation, effects, u64::MAX)
    }

    /// Likewise, but a run of more than so many instructions is an overrun: for code that
    /// was not compiled here.
    pub fn run_bounded(
        &mut self,
        code: &Code,
        space: &Space,
        world: &impl World,
        invocation: &Invocation<'_>,
        effects: &mut impl Effects,
        insts_max: u64,
    ) -> Result<(), NoEffect> {
        let unwatched = |_: usize, _: &mut [i32]| Ok(());
        self.run_watched(
            code,
            space,
            world,
            (invocation, insts_max),
            effects,
            unwatched,
        )
    }

    /// Likewise, and calls `watch` before each instruction, with its place and the registers. An
    /// error of it ends the run.
    pub fn run_watched(
        &mut self,
        code: &Code,
        space: &Space,
        world: &impl World,
        (invocation, insts_max): (&Invocation<'_>, u64),
        effects: &mut impl Effects,
        mut watch: impl FnMut(usize, &mut [i32]) -> Result<(), NoEffect>,
    ) -> Result<(), NoEffect> {
        self.registers.clear();
        self.registers.resize(code.registers as usize, 0);
        if self.near.len() < usize::from(code.loops) {
            self.near
                .resize_with(usize::from(code.loops), Near::default);
        }
        for near in &mut self.near[..usize::from(code.loops)] {
            near.slots.clear();
            near.next = 0;
        }
        self.writes.clear();
        self.reason = None;
        let mut run = Run {
            registers: &mut self.registers,
            near: &mut self.near,
            writes: &mut self.writes,
            reason: &mut self.reason,
            visits: 0,
            afters: 0,
            notifications: 0,
            code,
            random: invocation.random,
            space,
            world,
            invocation,
            effects: &mut *effects,
        };
        let (mut at, mut left) = (0, insts_max);
        while let Some(inst) = code.insts.get(at) {
            left = left.checked_sub(1).ok_or(NoEffect::Overrun)?;
            watch(at, run.registers)?;
            at = match run.step(inst)? {
                Next::Following => at + 1,
                Next::At(target) => target as usize,
                Next::End => break,
            };
        }
        for written in &self.writes {
            effects.write(written.slot, written.column, written.value);
        }
        Ok(())
    }
}

enum Next {
    Following,
    At(u32),
    End,
}

struct Run<'a, W, E> {
    registers: &'a mut [i32],
    near: &'a mut [Near],
    writes: &'a mut Vec<Written>,
    reason: &'a mut Option<u8>,
    /// The commands that it scheduled, and its notifications.
    afters: usize,
    notifications: usize,
    code: &'a Code,
    visits: u32,
    random: Random,
    space: &'a Space,
    world: &'a W,
    invocation: &'a Invocation<'a>,
    effects: &'a mut E,
}

impl<W: World, E: Effects> Run<'_, W, E> {
    #[cfg_attr(not(feature = "compile"), allow(unreachable_patterns))]
    fn step(&mut self, inst: &Inst) -> Result<Next, NoEffect> {
        match *inst {
            // Forecasts are without these, and clients run nothing else.
            #[cfg(not(feature = "compile"))]
            Inst::Random(..)
            | Inst::Wide(..)
            | Inst::ReadAt(..)
            | Inst::UpdateAt(..)
            | Inst::WriteAt(..)
            | Inst::Miss(_)
            | Inst::After(_)
            | Inst::Notify(_)
            | Inst::Reason(_) => {}
            Inst::Copy(reg, a) => self.set(reg, self.get(a)),
            Inst::Unary(reg, op, a) => self.set(reg, arith::unary(op, self.get(a))),
            Inst::Binary(reg, op, a, b) => {
                self.set(reg, arith::binary(op, self.get(a), self.get(b)));
            }
            Inst::Wide(reg, op, half, words) => {
                let words = words.map(|word| self.get(word));
                self.set(reg, arith::wide_half(op, half, words));
            }
            Inst::Word(reg, word) => self.set(reg, self.invocation.words[usize::from(word)]),
            Inst::Actor(reg) => self.set(reg, self.invocation.entity.slot.0 as i32),
            Inst::Tick(reg) => self.set(reg, self.invocation.tick.low().cast_signed()),
            Inst::Random(reg, low, high) => {
                let value = self.random.within(self.get(low), self.get(high));
                self.set(reg, value);
            }
            Inst::Resolve(reg, reference) => {
                let reference = EntityRef(self.get(reference));
                let generation = self.world.generation(reference.slot());
                let found = generation.is_some_and(|g| reference.is_generation(g));
                self.set(
                    reg,
                    if found {
                        reference.slot().0 as i32
                    } else {
                        NOBODY
                    },
                );
            }
            Inst::Reference(reg, slot) => {
                let reference = self.entity(slot).map(EntityId::reference);
                self.set(reg, reference.unwrap_or(EntityRef::NONE).0);
            }
            Inst::Kind(reg, slot) => {
                let kind = self.slot(slot).map(|slot| self.world.kind(slot));
                self.set(reg, kind.map_or(-1, i32::from));
            }
            Inst::Has(reg, slot, column) => {
                let has = self.has(slot, column);
                self.set(reg, i32::from(has));
            }
            Inst::Read(reg, slot, column) => {
                let slot = self.slot(slot);
                let value = slot.map_or(0, |slot| self.attribute(slot, column));
                self.set(reg, value);
            }
            Inst::Past(reg, slot, axis, tick) => {
                let (slot, tick) = (self.slot(slot), self.get(tick));
                let past = slot.map_or(-1, |slot| self.world.past(slot, axis.into(), tick));
                self.set(reg, past);
            }
            Inst::Layer(reg, place) => self.set(reg, self.world.layer(self.get(place))),
            Inst::Field(reg, place) => self.set(reg, self.world.field(self.get(place))),
            Inst::Count(reg, kind) => self.set(reg, self.world.count(kind) as i32),
            Inst::Nth(reg, kind, place) => {
                let place = self.get(place).cast_unsigned();
                let found = self.world.nth(kind, place);
                self.set(reg, found.map_or(NOBODY, |slot| slot.0 as i32));
            }
            Inst::Held(reg, relation, holder, place) => {
                let (holder, place) = (self.slot(holder), self.get(place).cast_unsigned());
                let found = holder.and_then(|holder| self.world.held(relation, holder, place));
                self.set(reg, found.map_or(NOBODY, |slot| slot.0 as i32));
            }
            Inst::Rank(reg, slot, ranking) => {
                let slot = self.slot(slot);
                let rank = slot.map_or(0, |slot| self.world.rank(ranking, slot));
                self.set(reg, rank as i32);
            }
            Inst::Ranked(reg, ranking, place) => {
                let place = self.get(place).cast_unsigned();
                let found = self.world.ranked(ranking, place);
                self.set(reg, found.map_or(NOBODY, |slot| slot.0 as i32));
            }
            Inst::Distance(reg, a, b) => {
                self.set(reg, arith::distance(self.point(a), self.point(b)));
            }
            Inst::IsWithin(reg, a, b, radius) => {
                let is = arith::is_within(self.point(a), self.point(b), self.get(radius));
                self.set(reg, i32::from(is));
            }
            Inst::NearOpen(number, center, radius) => {
                let center = self.point(center).map(|c| c.max(NEAR_CENTER_MIN));
                let radius = self.get(radius).min(NEAR_RADIUS_MAX);
                let near = &mut self.near[usize::from(number)];
                near.next = 0;
                near.slots.clear();
                if radius >= 0 {
                    self.world.near(center, radius, &mut near.slots);
                }
            }
            Inst::NearNext(reg, number, done) => {
                let near = &mut self.near[usize::from(number)];
                let Some(&slot) = near.slots.get(near.next) else {
                    return Ok(Next::At(done));
                };
                near.next += 1;
                self.visits += 1;
                if self.visits > self.space.budget.visits {
                    return Err(NoEffect::Overrun);
                }
                self.set(reg, slot as i32);
            }
            Inst::Update(slot, column, value) => {
                if self.has(slot, column) {
                    let slot = Slot(self.get(slot) as u32);
                    self.effects.update(slot, column, self.get(value));
                }
            }
            Inst::Write(ref write) => {
                if self.has(write.slot, write.column) {
                    self.write(write, write.column)?;
                }
            }
            Inst::ReadAt(reg, slot, first, index) => {
                let (slot, column) = (self.slot(slot), self.column(first, index));
                let value = slot.map_or(0, |slot| self.attribute(slot, column));
                self.set(reg, value);
            }
            Inst::UpdateAt(slot, first, index, value) => {
                if self.has(slot, first) {
                    let column = self.column(first, index);
                    let slot = Slot(self.get(slot) as u32);
                    self.effects.update(slot, column, self.get(value));
                }
            }
            Inst::WriteAt(ref write, index) => {
                if self.has(write.slot, write.column) {
                    self.write(write, self.column(write.column, index))?;
                }
            }
            Inst::Miss(missed) => {
                if self.get(missed) != 0 {
                    self.effects.miss();
                }
            }
            Inst::Keep(slot) => {
                if self.slot(slot).is_some_and(|slot| !self.world.is_key(slot)) {
                    return Err(NoEffect::Moved);
                }
            }
            Inst::After(ref after) => {
                let entity = match after.actor {
                    None => Some(EntityId::NONE),
                    Some(slot) => self.entity(slot),
                };
                if let Some(entity) = entity {
                    self.afters += 1;
                    self.check_effects(self.afters)?;
                    let ticks = self.get(after.ticks).clamp(1, DELAY_TICKS_MAX as i32);
                    let mut words = [0; COMMAND_WORDS_MAX];
                    let words = self.words(&after.words, &mut words);
                    let kind = after.command;
                    self.effects.after(ticks as u32, entity, kind, words);
                }
            }
            Inst::Notify(ref notify) => {
                self.notifications += 1;
                self.check_effects(self.notifications)?;
                let source = notify.source.and_then(|slot| self.entity(slot));
                let area = notify.area.map(|(center, distance)| {
                    let center = self.point(center);
                    let size = self.space.size;
                    let inside = |axis: usize| center[axis].clamp(0, size[axis] - 1);
                    let distance = self.get(distance).clamp(0, NEAR_RADIUS_MAX);
                    (std::array::from_fn(inside), distance)
                });
                let mut words = [0; NOTIFICATION_WORDS_MAX];
                let words = self.words(&notify.words, &mut words);
                let source = source.unwrap_or(EntityId::NONE);
                self.effects.notify(notify.kind, source, area, words);
            }
            Inst::Jump(target) => return Ok(Next::At(target)),
            Inst::JumpIf(a, target) if self.get(a) != 0 => return Ok(Next::At(target)),
            Inst::JumpUnless(a, target) if self.get(a) == 0 => return Ok(Next::At(target)),
            Inst::JumpIf(..) | Inst::JumpUnless(..) => {}
            Inst::End => return Ok(Next::End),
            Inst::Overrun => return Err(NoEffect::Overrun),
            Inst::Refuse => return Err(NoEffect::Refused),
            Inst::Reason(number) => *self.reason = Some(number),
        }
        Ok(Next::Following)
    }

    /// A run of an atomic command has few effects of a kind.
    fn check_effects(&self, n: usize) -> Result<(), NoEffect> {
        match n > EFFECTS_MAX && self.code.is_atomic() {
            true => Err(NoEffect::Overrun),
            false => Ok(()),
        }
    }

    /// An attribute as the run left it.
    fn attribute(&self, slot: Slot, column: u16) -> i32 {
        let is_it = |written: &&Written| (written.slot, written.column) == (slot, column);
        match self.writes.iter().rev().find(is_it) {
            Some(written) => written.value,
            None => self.world.attribute(slot, column.into()),
        }
    }

    /// A write of an attribute that the entity has.
    fn write(&mut self, write: &Write, column: u16) -> Result<(), NoEffect> {
        if self.writes.len() == WRITES_MAX {
            return Err(NoEffect::Overrun);
        }
        let slot = Slot(self.get(write.slot) as u32);
        let before = self.attribute(slot, column);
        let wanted = write.op.of(before, self.get(write.value));
        let (min, max) = self.world.bounds(slot, column.into());
        // Not `clamp`, which panics where a schema from elsewhere has them reversed.
        let value = wanted.max(i64::from(min)).min(i64::from(max));
        if write.fits && value != wanted {
            return Err(NoEffect::Refused);
        }
        self.writes.push(Written {
            slot,
            column,
            value: value as i32,
        });
        Ok(())
    }

    fn get(&self, operand: Operand) -> i32 {
        match operand {
            Operand::Const(value) => value,
            Operand::Reg(reg) => self.registers[reg.0 as usize],
        }
    }

    fn set(&mut self, reg: Reg, value: i32) {
        self.registers[reg.0 as usize] = value;
    }

    fn point(&self, point: Point) -> [i32; 3] {
        point.map(|axis| self.get(axis))
    }

    fn words<'w>(&self, operands: &[Operand], words: &'w mut [i32]) -> &'w [i32] {
        for (word, &operand) in words.iter_mut().zip(operands) {
            *word = self.get(operand);
        }
        &words[..operands.len()]
    }

    fn slot(&self, operand: Operand) -> Option<Slot> {
        let slot = self.get(operand);
        (slot != NOBODY).then_some(Slot(slot as u32))
    }

    fn entity(&self, operand: Operand) -> Option<EntityId> {
        let slot = self.slot(operand)?;
        let generation = self.world.generation(slot)?;
        Some(EntityId { slot, generation })
    }

    fn column(&self, first: u16, index: Index) -> u16 {
        index.column(first, self.get(index.place))
    }

    fn has(&self, slot: Operand, column: u16) -> bool {
        let slot = self.slot(slot);
        slot.is_some_and(|slot| self.world.has(slot, column.into()))
    }
}
