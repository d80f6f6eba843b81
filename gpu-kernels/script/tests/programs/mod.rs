//! Random commands, for all that runs instructions.
//!
//! They keep to the rules that scripts follow: entities are in registers of their own, loops
//! end, and what is near is opened before it is visited. Wild ones do not.

use script::ir::{
    After, Binary, Code, Half, Index, Inst, NOBODY, Notify, Operand, Point, Reg, TIMED_WORDS_MAX,
    Unary, Wide, Write, WriteOp,
};
use shared::world::group::RELATIONS_MAX as RELATIONS;
use shared::world::mix::mix;
use shared::world::notification::NOTIFICATION_WORDS_MAX;

/// What random commands may name.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub columns: u16,
    pub dimensions: usize,
    pub kinds: u16,
    /// Of the world: one at least.
    pub rankings: u16,
    /// The words of every command: one at least.
    pub words: u16,
    pub commands: u16,
    pub notifications: u16,
    /// Whether a command may do what no script does: it takes any number for a slot where
    /// that has a meaning, jumps forward to anywhere, and visits what it has not opened. The
    /// budget must be small, and slot 0 alive: it is in registers that are not set.
    pub is_wild: bool,
    /// Whether it writes at once instead of updating.
    pub is_atomic: bool,
}

/// The command of a seed.
pub fn program(seed: u64, shape: Shape) -> Code {
    let mut program = Program {
        seed,
        drawn: 0,
        shape,
        insts: match shape.is_wild {
            true => vec![],
            false => vec![
                Inst::Actor(ENTITIES[0]),
                Inst::Word(Reg(NUMBERS_FROM), 0),
                Inst::Resolve(ENTITIES[1], Reg(NUMBERS_FROM).into()),
                Inst::Copy(ENTITIES[2], Operand::Const(NOBODY)),
                Inst::Actor(ENTITIES[3]),
            ],
        },
        counters: 0,
        loops: 0,
    };
    let statements = 3 + program.below(20);
    program.block(statements, 0);
    program.choose_targets();
    let missed = program.number();
    program.insts.push(Inst::Miss(missed.into()));
    Code {
        insts: program.insts,
        registers: COUNTERS_FROM + program.counters,
        loops: program.loops,
    }
}

struct Program {
    seed: u64,
    drawn: u64,
    shape: Shape,
    insts: Vec<Inst>,
    counters: u32,
    loops: u8,
}

const ENTITIES: [Reg; 4] = [Reg(0), Reg(1), Reg(2), Reg(3)];
const NUMBERS_FROM: u32 = 4;
const COUNTERS_FROM: u32 = 12;
/// Of a jump to somewhere further on, which is chosen last.
const ONWARD: u32 = u32::MAX;
pub const BINARY: [Binary; 18] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Div,
    Binary::Rem,
    Binary::MulFixed,
    Binary::DivFixed,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::Shl,
    Binary::Shr,
    Binary::Min,
    Binary::Max,
    Binary::Eq,
    Binary::Ne,
    Binary::Lt,
    Binary::Le,
];
pub const WIDE: [Wide; 17] = [
    Wide::Add,
    Wide::Sub,
    Wide::AddWithin,
    Wide::SubWithin,
    Wide::Mul,
    Wide::Div,
    Wide::Rem,
    Wide::And,
    Wide::Or,
    Wide::Xor,
    Wide::Shl,
    Wide::Shr,
    Wide::Min,
    Wide::Max,
    Wide::Eq,
    Wide::Lt,
    Wide::Le,
];
pub const UNARY: [Unary; 8] = [
    Unary::Neg,
    Unary::Not,
    Unary::BitNot,
    Unary::Abs,
    Unary::Whole,
    Unary::ToFixed,
    Unary::Sqrt,
    Unary::SqrtFixed,
];

/// Numbers at the ends of what operators take.
pub const LIMITS: [i32; 12] = [
    i32::MIN,
    i32::MIN + 1,
    -4096,
    -1,
    0,
    1,
    2,
    31,
    4097,
    1 << 30,
    i32::MAX - 1,
    i32::MAX,
];

impl Program {
    fn below(&mut self, n: u32) -> u32 {
        self.drawn += 1;
        let bits = mix(mix(self.seed, self.drawn), self.drawn) >> 32;
        ((bits * u64::from(n)) >> 32) as u32
    }

    fn block(&mut self, statements: u32, depth: u32) {
        for _ in 0..statements {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        let number = self.number();
        let inst = match self.below(if self.shape.is_wild { 26 } else { 25 }) {
            0..=4 => {
                let op = BINARY[self.below(BINARY.len() as u32) as usize];
                Inst::Binary(number, op, self.operand(), self.operand())
            }
            5 => {
                let op = UNARY[self.below(UNARY.len() as u32) as usize];
                Inst::Unary(number, op, self.operand())
            }
            6 if self.below(2) == 0 => {
                let op = WIDE[self.below(WIDE.len() as u32) as usize];
                let half = match self.below(2) {
                    0 => Half::Low,
                    _ => Half::High,
                };
                Inst::Wide(number, op, half, [0; 4].map(|_| self.operand()))
            }
            6 => Inst::Copy(number, self.operand()),
            7 => Inst::Word(number, self.word()),
            8 => Inst::Random(number, self.operand(), self.operand()),
            9 if self.below(4) == 0 => Inst::Resolve(self.entity(), self.operand()),
            9 => {
                let word = self.word();
                self.insts.push(Inst::Word(number, word));
                Inst::Resolve(self.entity(), number.into())
            }
            10 if self.below(3) == 0 => {
                let kind = self.below(self.shape.kinds.into()) as u16;
                match self.below(4) {
                    0 => Inst::Count(number, kind),
                    3 => {
                        let relation = self.below(RELATIONS as u32) as u8;
                        Inst::Held(self.entity(), relation, self.any_slot(), self.operand())
                    }
                    1 => Inst::Nth(self.entity(), kind, self.operand()),
                    _ => Inst::Nth(self.entity(), kind, Operand::Const(self.below(3) as i32)),
                }
            }
            10 if self.below(4) == 0 => {
                let ranking = self.below(self.shape.rankings.into()) as u16;
                match self.below(2) {
                    0 => Inst::Rank(number, self.any_slot(), ranking),
                    _ => Inst::Ranked(self.entity(), ranking, self.operand()),
                }
            }
            10 => match self.below(4) {
                0 => Inst::Tick(number),
                1 => Inst::Reference(number, self.any_slot()),
                2 => Inst::Kind(number, self.slot()),
                _ => Inst::Has(number, self.any_slot(), self.column()),
            },
            12 if self.below(2) == 0 => {
                let axis = self.below(self.shape.dimensions as u32) as u8;
                Inst::Past(number, self.any_slot(), axis, self.operand())
            }
            11 | 12 if self.below(3) == 0 => {
                let (first, index) = self.columns();
                Inst::ReadAt(number, self.any_slot(), first, index)
            }
            11 if self.below(4) == 0 => {
                let place = match self.below(2) {
                    0 => Operand::Const(self.below(64) as i32),
                    _ => self.operand(),
                };
                match self.below(2) {
                    0 => Inst::Layer(number, place),
                    _ => Inst::Field(number, place),
                }
            }
            11 | 12 => Inst::Read(number, self.any_slot(), self.column()),
            13 => Inst::Distance(number, self.point(), self.point()),
            14 => Inst::IsWithin(number, self.point(), self.point(), self.operand()),
            15..=17 if self.shape.is_atomic => {
                let (column, index) = self.columns();
                let write = Write {
                    slot: self.any_slot(),
                    column,
                    op: [WriteOp::Set, WriteOp::Add, WriteOp::Sub][self.below(3) as usize],
                    value: self.operand(),
                    fits: self.below(8) == 0,
                };
                match self.below(3) {
                    0 => Inst::WriteAt(write, index),
                    _ => Inst::Write(write),
                }
            }
            15..=17 if self.below(3) == 0 => {
                let (first, index) = self.columns();
                Inst::UpdateAt(self.any_slot(), first, index, self.operand())
            }
            15..=17 => Inst::Update(self.any_slot(), self.column(), self.operand()),
            18 => self.after(),
            19 => self.notify(),
            20 if depth < 3 => return self.condition(depth),
            21 if depth < 2 => return self.near(depth),
            22 if depth < 2 => return self.repeat(depth),
            24 if depth < 3 => return self.guard(depth),
            25 => {
                let condition = self.operand();
                match self.below(4) {
                    0 => Inst::Jump(ONWARD),
                    1 => Inst::JumpIf(condition, ONWARD),
                    _ => Inst::JumpUnless(condition, ONWARD),
                }
            }
            23 => match self.below(20) {
                0 => Inst::End,
                3..=5 if self.shape.is_atomic => Inst::Keep(self.any_slot()),
                6 if self.shape.is_atomic => Inst::Refuse,
                1 => Inst::Overrun,
                7..=9 => Inst::Reason(self.below(256) as u8),
                2 => Inst::Copy(self.entity(), Operand::Const(NOBODY)),
                _ => Inst::Copy(self.entity(), self.slot()),
            },
            _ => Inst::Actor(self.entity()),
        };
        self.insts.push(inst);
    }

    fn condition(&mut self, depth: u32) {
        let condition = self.operand();
        let at = self.insts.len();
        let otherwise = self.below(2) == 0;
        self.insts.push(match otherwise {
            true => Inst::JumpUnless(condition, 0),
            false => Inst::JumpIf(condition, 0),
        });
        let statements = self.below(5);
        self.block(statements, depth + 1);
        if self.below(2) == 0 {
            let end = self.insts.len();
            self.insts.push(Inst::Jump(0));
            self.lead_here(at);
            let statements = self.below(5);
            self.block(statements, depth + 1);
            self.lead_here(end);
        } else {
            self.lead_here(at);
        }
    }

    /// What is done with an entity if it is there, or if it isn't.
    fn guard(&mut self, depth: u32) {
        let (entity, test) = (self.entity(), self.number());
        let reference = self.operand();
        self.insts.push(Inst::Resolve(entity, reference));
        let op = [Binary::Eq, Binary::Ne][self.below(2) as usize];
        let nobody = Operand::Const(NOBODY);
        let (a, b) = match self.below(2) {
            0 => (entity.into(), nobody),
            _ => (nobody, entity.into()),
        };
        self.insts.push(Inst::Binary(test, op, a, b));
        if self.below(4) == 0 {
            let not = Inst::Unary(test, Unary::Not, test.into());
            self.insts.push(not);
        }
        let at = self.insts.len();
        let jump = match self.below(2) {
            0 => Inst::JumpIf(test.into(), 0),
            _ => Inst::JumpUnless(test.into(), 0),
        };
        self.insts.push(jump);
        let statements = 1 + self.below(5);
        self.block(statements, depth + 1);
        self.lead_here(at);
    }

    fn near(&mut self, depth: u32) {
        let number = match (self.shape.is_wild, self.loops) {
            (true, 3..) => self.below(self.loops.into()) as u8,
            (_, next) => {
                self.loops += 1;
                next
            }
        };
        let (center, radius) = (self.point(), self.radius());
        if !self.shape.is_wild || self.below(10) > 0 {
            self.insts.push(Inst::NearOpen(number, center, radius));
        }
        let next = self.insts.len();
        let entity = self.entity();
        self.insts.push(Inst::NearNext(entity, number, 0));
        let statements = 1 + self.below(5);
        self.block(statements, depth + 1);
        self.insts.push(Inst::Jump(next as u32));
        self.lead_here(next);
    }

    fn repeat(&mut self, depth: u32) {
        let counter = Reg(COUNTERS_FROM + self.counters);
        self.counters += 1;
        self.insts.push(Inst::Copy(counter, Operand::ZERO));
        let again = self.insts.len();
        let is_more = self.number();
        let end = Operand::Const(self.below(5) as i32);
        self.insts
            .push(Inst::Binary(is_more, Binary::Lt, counter.into(), end));
        let at = self.insts.len();
        self.insts.push(Inst::JumpUnless(is_more.into(), 0));
        let one = Operand::Const(1);
        self.insts
            .push(Inst::Binary(counter, Binary::Add, counter.into(), one));
        let statements = 1 + self.below(4);
        self.block(statements, depth + 1);
        self.insts.push(Inst::Jump(again as u32));
        self.lead_here(at);
    }

    fn after(&mut self) -> Inst {
        let words = self.below(TIMED_WORDS_MAX as u32 + 1);
        Inst::After(After {
            ticks: self.operand(),
            actor: (self.below(3) > 0).then(|| self.any_slot()),
            command: self.below(self.shape.commands.into()) as u16,
            words: (0..words).map(|_| self.operand()).collect(),
        })
    }

    fn notify(&mut self) -> Inst {
        let words = self.below(NOTIFICATION_WORDS_MAX as u32 + 1);
        Inst::Notify(Notify {
            kind: self.below(self.shape.notifications.into()) as u16,
            source: (self.below(3) > 0).then(|| self.any_slot()),
            area: (self.below(3) > 0).then(|| (self.point(), self.operand())),
            words: (0..words).map(|_| self.operand()).collect(),
        })
    }

    /// Gives jumps to somewhere further on their targets.
    fn choose_targets(&mut self) {
        let len = self.insts.len();
        for at in 0..len {
            let further = 1 + self.below((len - at) as u32);
            if let Some(target) = self.insts[at].target_mut()
                && *target == ONWARD
            {
                *target = at as u32 + further;
            }
        }
    }

    fn lead_here(&mut self, at: usize) {
        let here = self.insts.len() as u32;
        let target = self.insts[at].target_mut();
        *target.expect("a jump is there") = here;
    }

    fn number(&mut self) -> Reg {
        Reg(NUMBERS_FROM + self.below(COUNTERS_FROM - NUMBERS_FROM))
    }

    fn entity(&mut self) -> Reg {
        ENTITIES[self.below(ENTITIES.len() as u32) as usize]
    }

    fn slot(&mut self) -> Operand {
        match self.below(20) {
            0 => Operand::Const(NOBODY),
            _ => self.entity().into(),
        }
    }

    /// A slot, or where it has a meaning, perhaps any number.
    fn any_slot(&mut self) -> Operand {
        match self.shape.is_wild && self.below(8) == 0 {
            true => self.operand(),
            false => self.slot(),
        }
    }

    fn operand(&mut self) -> Operand {
        match self.below(3) {
            0 => Operand::Const(self.constant()),
            _ => self.number().into(),
        }
    }

    fn constant(&mut self) -> i32 {
        match self.below(8) {
            0 => LIMITS[self.below(LIMITS.len() as u32) as usize],
            1 => self.below(u32::MAX) as i32,
            2 => 1 << self.below(31),
            _ => self.below(40) as i32 - 10,
        }
    }

    fn radius(&mut self) -> Operand {
        match self.below(3) {
            0 => self.operand(),
            _ => Operand::Const(self.below(40 << 12) as i32),
        }
    }

    fn point(&mut self) -> Point {
        let dimensions = self.shape.dimensions;
        [0, 1, 2].map(|axis| match axis < dimensions || self.shape.is_wild {
            true => self.operand(),
            false => Operand::ZERO,
        })
    }

    fn word(&mut self) -> u16 {
        self.below(self.shape.words.into()) as u16
    }

    /// The first of some columns, and one of them or not.
    fn columns(&mut self) -> (u16, Index) {
        let first = self.column();
        let len = 1 + self.below((self.shape.columns - first).into()) as u16;
        let place = self.operand();
        (first, Index { place, len })
    }

    fn column(&mut self) -> u16 {
        self.below(self.shape.columns.into()) as u16
    }
}
