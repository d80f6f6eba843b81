//! The form of a command between the checker and the backends: a list of instructions over
//! 32-bit registers, with jumps.
//!
//! All types are words: `bool` is 0 or 1; `Fixed` is its raw number; an entity is its slot,
//! or [`NOBODY`]; a point is one word for each axis. Helper functions are inlined, and what
//! is constant is computed, so a command is one [`Code`].

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use shared::CommandKind;
use shared::world::edit::EDIT_KIND;
use shared::world::given::{self, FollowUp};

pub use shared::world::logic::Budget;

/// The entity that isn't there: dead, or never born.
pub const NOBODY: i32 = -1;

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reg(pub u32);

/// What an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operand {
    Const(i32),
    Reg(Reg),
}

/// A point: an operand for each axis; 0 along an axis that the world lacks.
pub type Point = [Operand; 3];

/// A place in [`Code::insts`].
pub type Target = u32;

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unary {
    Neg,
    /// Of a `bool`.
    Not,
    BitNot,
    Abs,
    /// A `Fixed` without its fraction, as `i32`.
    Whole,
    /// An `i32` as `Fixed`.
    ToFixed,
    Sqrt,
    SqrtFixed,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    MulFixed,
    DivFixed,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
}

/// Operators of numbers of 64 bits. An operand is two words, the low half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Wide {
    Add,
    Sub,
    /// Of sums and differences beyond 64 bits, these give the nearest number.
    AddWithin,
    SubWithin,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Min,
    Max,
    /// 0 or 1, as the low half.
    Eq,
    Lt,
    Le,
}

/// Half of a number of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Half {
    Low,
    High,
}

/// An instruction. The first field is the register that it sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inst {
    Copy(Reg, Operand),
    Unary(Reg, Unary, Operand),
    Binary(Reg, Binary, Operand, Operand),
    /// A word of the command.
    Word(Reg, u16),
    /// The slot of the acting entity, which lives.
    Actor(Reg),
    /// The number of the tick.
    Tick(Reg),
    /// A random number from the second to the third operand, both included.
    Random(Reg, Operand, Operand),
    /// The slot of the living entity to which a reference refers.
    Resolve(Reg, Operand),
    /// The reference to the entity in a slot; [`EntityRef::NONE`](shared::EntityRef::NONE)
    /// for [`NOBODY`].
    Reference(Reg, Operand),
    /// The kind of the entity in a slot; -1 for [`NOBODY`].
    Kind(Reg, Operand),
    /// Whether the kind of the entity in a slot has a column.
    Has(Reg, Operand, u16),
    /// An attribute of the entity in a slot; 0 for [`NOBODY`] and where its kind lacks it.
    Read(Reg, Operand, u16),
    /// A coordinate, by its axis, of the entity in a slot after the tick with these low bits:
    /// -1 if it was nowhere, or isn't there. Ticks that are not kept are taken for the nearest
    /// that is.
    Past(Reg, Operand, u8, Operand),
    Distance(Reg, Point, Point),
    IsWithin(Reg, Point, Point, Operand),
    /// Begins a visit of the living entities within a radius of a point. The first field is
    /// the number of the loop, below [`Code::loops`].
    NearOpen(u8, Point, Operand),
    /// The slot of the next entity, in index order; jumps if there is none. Too many visits
    /// in a run overrun.
    NearNext(Reg, u8, Target),
    /// An update of an attribute, unless the entity isn't there or its kind lacks it.
    Update(Operand, u16, Operand),
    /// Puts a command off.
    After(After),
    /// Tells of something that happened.
    Notify(Notify),
    Jump(Target),
    /// Jumps if the operand is not 0.
    JumpIf(Operand, Target),
    /// Jumps if the operand is 0.
    JumpUnless(Operand, Target),
    /// Ends the run.
    End,
    /// Ends the run without any effect: it used up its budget.
    Overrun,
    /// A change of an attribute by an atomic command.
    Write(Write),
    /// Ends the run of an atomic command without any effect, for it to come again in the next
    /// tick, unless the entity in a slot is one of its [keys](crate::atomic), or [`NOBODY`]. It
    /// comes before each use of an entity that may be none.
    Keep(Operand),
    /// Ends the run of an atomic command without any effect: a condition does not hold.
    Refuse,
    /// Like [`Inst::Read`], of the column at an index. Whether the kind has the first decides.
    ReadAt(Reg, Operand, u16, Index),
    /// Like [`Inst::Update`], of the column at an index.
    UpdateAt(Operand, u16, Index, Operand),
    /// Like [`Inst::Write`], of the column at an index.
    WriteAt(Write, Index),
    /// Counts the run if the operand is not 0: an index was none that there is. It comes last.
    Miss(Operand),
    /// A word of the world's [layers](shared::world::layer::Layers), by its place; 0 where there is
    /// none.
    Layer(Reg, Operand),
    /// Notes why the run has no effect, if it has none: by number, a reason of the world. The last
    /// one counts.
    Reason(u8),
    /// How many entities of a kind live.
    Count(Reg, u16),
    /// The slot of a living entity of a kind, by its place among all of them in the order of their
    /// slots; [`NOBODY`] where there is none.
    Nth(Reg, u16, Operand),
    /// The place, from 1 on, in a ranking of the world, of the entity in a slot; 0 of one that is
    /// not of the ranking's kind, and of [`NOBODY`].
    Rank(Reg, Operand, u16),
    /// The slot of the entity at a place of a ranking, from 0 on; [`NOBODY`] where there is none.
    Ranked(Reg, u16, Operand),
    /// Half of the result of an operator of 64 bits; the four words are those of its operands.
    Wide(Reg, Wide, Half, [Operand; 4]),
    /// A word of the world's [fields](shared::world::field), by its place; 0 where there is none.
    Field(Reg, Operand),
    /// By number of a [relation](shared::world::group::Relation): the slot of an entity that relates to
    /// the one in a slot, as a thing to its holder, by its place among all of them in the order of their
    /// slots; [`NOBODY`] where there is none, and of [`NOBODY`].
    Held(Reg, u8, Operand, Operand),
}

/// Which of some consecutive columns, of which an instruction names the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// From 0. Any other is taken for the nearest that there is.
    pub place: Operand,
    /// The number of columns, at least 1.
    pub len: u16,
}

impl Index {
    /// The column of a place.
    pub fn column(self, first: u16, place: i32) -> u16 {
        first + place.clamp(0, i32::from(self.len) - 1) as u16
    }
}

/// A change of an attribute by an atomic command, unless the entity isn't there or its kind lacks
/// the attribute. It is computed in 64 bits and clamped to the bounds of the kind at once, and
/// later reads of the run see it. A run with more than [`WRITES_MAX`] overruns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    pub slot: Operand,
    pub column: u16,
    pub op: WriteOp,
    pub value: Operand,
    /// Whether the run is refused where the value would be clamped.
    pub fits: bool,
}

/// What a write makes of the value that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WriteOp {
    Set,
    Add,
    Sub,
}

impl WriteOp {
    /// What it makes of a value, before that is clamped.
    pub fn of(self, before: i32, value: i32) -> i64 {
        let (before, value) = (i64::from(before), i64::from(value));
        match self {
            WriteOp::Set => value,
            WriteOp::Add => before + value,
            WriteOp::Sub => before - value,
        }
    }
}

/// The most writes of a run of an atomic command.
pub const WRITES_MAX: usize = 256;
/// The most commands that a run of an atomic command schedules, and the most notifications: one
/// with more overruns.
pub const EFFECTS_MAX: usize = 8;

/// A command that a command schedules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    /// 1 to [`DELAY_TICKS_MAX`](shared::world::config::DELAY_TICKS_MAX), to which it is
    /// clamped.
    pub ticks: Operand,
    /// The slot of the entity that is to give it; nothing is scheduled for [`NOBODY`]. `None`
    /// for commands that no entity gives.
    pub actor: Option<Operand>,
    pub command: u16,
    /// At most [`TIMED_WORDS_MAX`].
    pub words: Vec<Operand>,
}

/// A notification of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notify {
    pub kind: u16,
    /// The slot of the entity that it is about, which lives; `None`: about none.
    pub source: Option<Operand>,
    /// A box by its centre and its distance along each axis, both clamped to what the world
    /// can hold. `None`: it can only be subscribed to.
    pub area: Option<(Point, Operand)>,
    /// At most [`NOTIFICATION_WORDS_MAX`](shared::world::notification::NOTIFICATION_WORDS_MAX).
    pub words: Vec<Operand>,
}

/// The most arguments of a scheduled command.
pub const TIMED_WORDS_MAX: usize = 5;
/// The longest radius of `near`: beyond any edge of a world.
pub const NEAR_RADIUS_MAX: i32 = (1 << 30) - 1;
/// The lowest coordinate of the centre of `near`, to which it is clamped: at least
/// [`NEAR_RADIUS_MAX`] from any place of a world.
pub const NEAR_CENTER_MIN: i32 = -(1 << 30);

/// The most entities that `all` goes over: with more of its kind, a run overruns.
pub const ALL_MAX: i32 = 256;

/// A command's instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    pub insts: Vec<Inst>,
    /// The number of registers. A register holds 0 until it is set.
    pub registers: u32,
    /// The number of loops over what is near.
    pub loops: u8,
}

impl Operand {
    pub const ZERO: Operand = Operand::Const(0);

    pub fn constant(self) -> Option<i32> {
        match self {
            Operand::Const(value) => Some(value),
            Operand::Reg(_) => None,
        }
    }
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Operand {
        Operand::Reg(reg)
    }
}

impl From<i32> for Operand {
    fn from(value: i32) -> Operand {
        Operand::Const(value)
    }
}

/// The register that an instruction sets, shared or not as the instruction is.
macro_rules! register {
    ($inst:expr) => {
        match $inst {
            Inst::Copy(reg, ..)
            | Inst::Unary(reg, ..)
            | Inst::Binary(reg, ..)
            | Inst::Word(reg, _)
            | Inst::Actor(reg)
            | Inst::Tick(reg)
            | Inst::Random(reg, ..)
            | Inst::Resolve(reg, _)
            | Inst::Reference(reg, _)
            | Inst::Kind(reg, _)
            | Inst::Has(reg, ..)
            | Inst::Read(reg, ..)
            | Inst::ReadAt(reg, ..)
            | Inst::Past(reg, ..)
            | Inst::Layer(reg, _)
            | Inst::Field(reg, _)
            | Inst::Held(reg, ..)
            | Inst::Count(reg, _)
            | Inst::Nth(reg, ..)
            | Inst::Rank(reg, ..)
            | Inst::Ranked(reg, ..)
            | Inst::Wide(reg, ..)
            | Inst::Distance(reg, ..)
            | Inst::IsWithin(reg, ..)
            | Inst::NearNext(reg, ..) => Some(reg),
            _ => None,
        }
    };
}

/// Likewise, where it may jump to.
macro_rules! target {
    ($inst:expr) => {
        match $inst {
            Inst::Jump(target)
            | Inst::JumpIf(_, target)
            | Inst::JumpUnless(_, target)
            | Inst::NearNext(_, _, target) => Some(target),
            _ => None,
        }
    };
}

impl Inst {
    /// The register that it sets.
    pub fn sets(&self) -> Option<Reg> {
        register!(self).copied()
    }

    pub fn sets_mut(&mut self) -> Option<&mut Reg> {
        register!(self)
    }

    /// Whether it only sets its register, so that it can go where nobody reads that.
    pub fn is_pure(&self) -> bool {
        // A draw moves the random numbers after it.
        self.sets().is_some() && !matches!(self, Inst::NearNext(..) | Inst::Random(..))
    }

    /// Where it may jump to.
    pub fn target(&self) -> Option<Target> {
        target!(self).copied()
    }

    pub fn target_mut(&mut self) -> Option<&mut Target> {
        target!(self)
    }

    /// Whether the next instruction in the list does not follow it.
    pub fn ends_block(&self) -> bool {
        matches!(
            self,
            Inst::Jump(_) | Inst::End | Inst::Overrun | Inst::Refuse
        )
    }

    /// The columns that it names, in which it may read or change an attribute.
    pub fn columns(&self) -> Range<usize> {
        let (first, len) = match self {
            Inst::Has(_, _, column) | Inst::Read(_, _, column) | Inst::Update(_, column, _) => {
                (*column, 1)
            }
            Inst::Write(write) => (write.column, 1),
            Inst::ReadAt(_, _, first, index) | Inst::UpdateAt(_, first, index, _) => {
                (*first, index.len)
            }
            Inst::WriteAt(write, index) => (write.column, index.len),
            _ => (0, 0),
        };
        usize::from(first)..usize::from(first) + usize::from(len)
    }

    /// Whether it changes an attribute.
    pub fn is_change(&self) -> bool {
        matches!(
            self,
            Inst::Update(..) | Inst::Write(_) | Inst::UpdateAt(..) | Inst::WriteAt(..)
        )
    }

    /// Calls `visit` with each operand.
    pub fn each_operand(&mut self, mut visit: impl FnMut(&mut Operand)) {
        match self {
            Inst::Copy(_, a)
            | Inst::Unary(_, _, a)
            | Inst::Resolve(_, a)
            | Inst::Reference(_, a)
            | Inst::Kind(_, a)
            | Inst::Has(_, a, _)
            | Inst::Read(_, a, _)
            | Inst::Layer(_, a)
            | Inst::Field(_, a)
            | Inst::Nth(_, _, a)
            | Inst::Rank(_, a, _)
            | Inst::Ranked(_, _, a)
            | Inst::Keep(a)
            | Inst::Miss(a)
            | Inst::JumpIf(a, _)
            | Inst::JumpUnless(a, _) => visit(a),
            Inst::Binary(_, _, a, b)
            | Inst::Random(_, a, b)
            | Inst::Held(_, _, a, b)
            | Inst::Update(a, _, b)
            | Inst::Past(_, a, _, b) => {
                visit(a);
                visit(b);
            }
            Inst::ReadAt(_, a, _, index) => {
                visit(a);
                visit(&mut index.place);
            }
            Inst::UpdateAt(a, _, index, b) => {
                visit(a);
                visit(&mut index.place);
                visit(b);
            }
            Inst::Write(write) => {
                visit(&mut write.slot);
                visit(&mut write.value);
            }
            Inst::WriteAt(write, index) => {
                visit(&mut write.slot);
                visit(&mut write.value);
                visit(&mut index.place);
            }
            Inst::Wide(_, _, _, words) => words.iter_mut().for_each(visit),
            Inst::Distance(_, a, b) => a.iter_mut().chain(b).for_each(visit),
            Inst::IsWithin(_, a, b, radius) => {
                a.iter_mut().chain(b).for_each(&mut visit);
                visit(radius);
            }
            Inst::NearOpen(_, center, radius) => {
                center.iter_mut().for_each(&mut visit);
                visit(radius);
            }
            Inst::After(after) => {
                visit(&mut after.ticks);
                after.actor.iter_mut().for_each(&mut visit);
                after.words.iter_mut().for_each(visit);
            }
            Inst::Notify(notify) => {
                notify.source.iter_mut().for_each(&mut visit);
                if let Some((center, distance)) = &mut notify.area {
                    center.iter_mut().for_each(&mut visit);
                    visit(distance);
                }
                notify.words.iter_mut().for_each(visit);
            }
            Inst::Word(..)
            | Inst::Actor(_)
            | Inst::Tick(_)
            | Inst::Count(..)
            | Inst::NearNext(..)
            | Inst::Jump(_)
            | Inst::End
            | Inst::Overrun
            | Inst::Refuse
            | Inst::Reason(_) => {}
        }
    }
}

impl Code {
    /// By instruction: whether a jump leads to it.
    pub fn jump_targets(&self) -> Vec<bool> {
        let mut targets = vec![false; self.insts.len() + 1];
        for inst in &self.insts {
            if let Some(target) = inst.target() {
                targets[target as usize] = true;
            }
        }
        targets
    }

    pub fn has_updates(&self) -> bool {
        self.insts.iter().any(Inst::is_change)
    }

    /// The columns that it may update or write, once for each instruction.
    pub fn updates(&self) -> impl Iterator<Item = usize> {
        let changes = self.insts.iter().filter(|inst| inst.is_change());
        changes.flat_map(Inst::columns)
    }

    /// Whether it reads or changes an attribute whose column only a run knows.
    pub fn is_indexed(&self) -> bool {
        let is = |inst: &Inst| {
            matches!(
                inst,
                Inst::ReadAt(..) | Inst::UpdateAt(..) | Inst::WriteAt(..)
            )
        };
        self.insts.iter().any(is)
    }

    /// Whether it has instructions that only atomic commands have.
    pub fn is_atomic(&self) -> bool {
        let is_own = |i: &Inst| {
            matches!(
                i,
                Inst::Write(_) | Inst::WriteAt(..) | Inst::Keep(_) | Inst::Refuse
            )
        };
        self.insts.iter().any(is_own)
    }

    /// Whether it reads what the cells of the world are.
    pub fn reads_layers(&self) -> bool {
        self.insts.iter().any(|i| matches!(i, Inst::Layer(..)))
    }

    /// Whether it asks for the steps of fields.
    pub fn reads_fields(&self) -> bool {
        self.insts.iter().any(|i| matches!(i, Inst::Field(..)))
    }

    /// Whether it computes with numbers of 64 bits.
    pub fn is_wide(&self) -> bool {
        self.insts.iter().any(|i| matches!(i, Inst::Wide(..)))
    }

    /// Whether it draws random numbers.
    pub fn draws(&self) -> bool {
        self.insts.iter().any(|i| matches!(i, Inst::Random(..)))
    }

    /// The kinds of which it asks for entities wherever they are, once for each instruction.
    pub fn asked_kinds(&self) -> impl Iterator<Item = u16> + '_ {
        self.insts.iter().filter_map(|inst| match *inst {
            Inst::Count(_, kind) | Inst::Nth(_, kind, _) => Some(kind),
            _ => None,
        })
    }

    /// The rankings of which it asks, once for each instruction.
    pub fn asked_rankings(&self) -> impl Iterator<Item = u16> + '_ {
        self.insts.iter().filter_map(|inst| match *inst {
            Inst::Rank(_, _, ranking) | Inst::Ranked(_, ranking, _) => Some(ranking),
            _ => None,
        })
    }

    /// A bit for each relation of which it asks: for the things of holders, and the members of groups.
    pub fn asked_relations(&self) -> u32 {
        self.insts.iter().fold(0, |bits, inst| match *inst {
            Inst::Held(_, relation, ..) => bits | 1 << relation,
            _ => bits,
        })
    }

    /// Whether it asks for entities wherever they are.
    pub fn asks(&self) -> bool {
        self.asked_kinds().next().is_some()
            || self.asked_rankings().next().is_some()
            || self.asked_relations() != 0
    }

    /// Whether it can say why it has no effect.
    pub fn has_reasons(&self) -> bool {
        self.insts.iter().any(|i| matches!(i, Inst::Reason(_)))
    }

    /// Drops notifications of kinds that a world doesn't have.
    pub fn drop_notifications(&mut self, has: impl Fn(u16) -> bool) {
        for (i, inst) in self.insts.iter_mut().enumerate() {
            if matches!(inst, Inst::Notify(notify) if !has(notify.kind)) {
                *inst = Inst::Jump(i as u32 + 1);
            }
        }
    }

    /// The commands that it may schedule.
    pub fn afters(&self) -> impl Iterator<Item = &After> {
        self.insts.iter().filter_map(|inst| match inst {
            Inst::After(after) => Some(after),
            _ => None,
        })
    }

    /// The commands that it may schedule for newborns, once these are born.
    pub fn follow_ups(&self) -> impl Iterator<Item = FollowUp> {
        let births = self.afters();
        let births = births.filter(|after| after.command == CommandKind::SPAWN.id());
        let words = births.filter_map(|after| after.words.first()?.constant());
        let words = words.filter(|&word| given::is_follow_up(word));
        words.map(FollowUp::of)
    }

    /// Whether it may change cells of layers.
    pub fn edits(&self) -> bool {
        self.notifications().any(|n| n.kind == EDIT_KIND.0)
    }

    /// The notifications that it may emit, and edits of cells, which travel as such.
    pub fn notifications(&self) -> impl Iterator<Item = &Notify> {
        self.insts.iter().filter_map(|inst| match inst {
            Inst::Notify(notify) => Some(notify),
            _ => None,
        })
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, inst) in self.insts.iter().enumerate() {
            writeln!(f, "{i:4}  {inst:?}")?;
        }
        Ok(())
    }
}
