//! One kernel of a command: its commands of the tick, and the instructions for each.

use crate::arith;
use crate::ir::{Code, Inst, NOBODY, Operand, Point, Reg};

use super::effects::{Effects, Pass};
use super::entities;
use super::layout::Layout;
use super::memory::{Presence, counters, element_of, load, load_of, store, table};
use super::near::Near;
use super::operators;
use super::random::Random;
use super::text::{Flag, Label, Long, Register, Text, Value, Word};
use super::turn::Turn;

/// The body of the kernel that counts or stores the effects of a command's runs.
pub fn body(kind: u16, code: &Code, layout: &Layout, pass: Pass) -> String {
    let mut text = Text::default();
    for _ in 0..code.registers {
        text.register::<Word>();
    }
    let [again, next, done] = [(); 3].map(|()| text.label());
    let [place, end, step] = own_part(&mut text, layout, kind);
    let is_none: Flag = text.set("setp.ge.u32", format_args!("{place}, {end}"));
    text.jump_if(is_none, done);
    text.place(again);
    let command = load_of(&mut text, layout.world.group_order, place);
    Run::new(&mut text, layout, code, pass, (kind, command), next).write();
    text.place(next);
    text.put("add.u32", place, format_args!("{place}, {step}"));
    let is_more: Flag = text.set("setp.lt.u32", format_args!("{place}, {end}"));
    text.jump_if(is_more, again);
    text.place(done);
    text.line(format_args!("ret"));
    text.finish()
}

/// The thread's first place in the order of commands by kind, the end of the kind's, and the
/// number of threads.
fn own_part(text: &mut Text, layout: &Layout, kind: u16) -> [Word; 3] {
    let starts = table(text, layout.world.group_starts);
    let offset = i32::from(kind) * 4;
    let (start, end) = (load(text, starts, offset), load(text, starts, offset + 4));
    let [number, step] = own_number(text);
    let place = text.set("add.u32", format_args!("{number}, {start}"));
    [place, end, step]
}

/// The number of the thread in the grid, and how many there are.
pub fn own_number(text: &mut Text) -> [Word; 2] {
    let [block, threads, thread, blocks] = ["%ctaid.x", "%ntid.x", "%tid.x", "%nctaid.x"]
        .map(|special| -> Word { text.set("mov.u32", format_args!("{special}")) });
    let number = text.set("mad.lo.u32", format_args!("{block}, {threads}, {thread}"));
    let step = text.set("mul.lo.u32", format_args!("{blocks}, {threads}"));
    [number, step]
}

/// The run of one command.
pub struct Run<'a> {
    text: &'a mut Text,
    layout: &'a Layout,
    code: &'a Code,
    /// The command's number.
    kind: u16,
    pass: Pass,
    /// The place of the command in the tick.
    command: Word,
    effects: Effects,
    slot: Option<Word>,
    words: Option<Long>,
    random: Option<Random>,
    near: Vec<Near>,
    /// How many entities were visited, where that is counted: what is stored has been counted
    /// before, and was within the budget.
    visits: Option<Word>,
    /// By register: whether it never holds [`NOBODY`].
    is_somebody: Vec<bool>,
    /// By instruction, if a jump leads to it.
    labels: Vec<Option<Label>>,
    end: Label,
    overrun: Label,
    /// Of an atomic command.
    turn: Option<Turn>,
    next: Label,
}

impl Run<'_> {
    pub fn new<'a>(
        text: &'a mut Text,
        layout: &'a Layout,
        code: &'a Code,
        pass: Pass,
        (kind, command): (u16, Word),
        next: Label,
    ) -> Run<'a> {
        let overrun = match pass {
            Pass::Turn(_, overrun) => overrun,
            _ => text.label(),
        };
        let effects = Effects::new(text, layout, code, pass, command, next);
        let uses = |is: fn(&Inst) -> bool| code.insts.iter().any(is);
        let draws = uses(|inst| matches!(inst, Inst::Random(..)));
        let record = element_of(text, layout.world.commands, command, layout.command.bytes);
        let mut field =
            |offset: u32, is_used: bool| is_used.then(|| load(text, record, offset as i32));
        let fields = &layout.command;
        let slot = field(
            fields.slot,
            draws || uses(|inst| matches!(inst, Inst::Actor(_))),
        );
        let generation = field(fields.generation, draws);
        let sequence = field(fields.sequence, draws);
        let word_start = field(
            fields.word_start,
            uses(|inst| matches!(inst, Inst::Word(..))),
        );
        let words = word_start.map(|start| entities::words(text, layout, start));
        let random = match (slot, generation, sequence) {
            (Some(slot), Some(generation), Some(sequence)) => {
                let of = [slot, generation, sequence];
                Some(Random::new(text, layout, kind, of))
            }
            _ => None,
        };
        if pass != Pass::Store && code.has_reasons() {
            store_reason(text, layout, command, 0);
        }
        let counts_visits = pass == Pass::Count && code.loops > 0;
        let targets = code.jump_targets();
        Run {
            kind,
            pass,
            command,
            effects,
            slot,
            words,
            random,
            near: (0..code.loops).map(|_| Near::new(text, layout)).collect(),
            visits: counts_visits.then(|| text.set("mov.b32", format_args!("0"))),
            is_somebody: never_nobody(code),
            labels: targets.iter().map(|&is| is.then(|| text.label())).collect(),
            end: text.label(),
            overrun,
            turn: None,
            next,
            text,
            layout,
            code,
        }
    }

    /// The run of an atomic command.
    pub fn of_turn<'a>(
        text: &'a mut Text,
        layout: &'a Layout,
        code: &'a Code,
        (kind, command): (u16, Word),
        turn: Turn,
        next: Label,
    ) -> Run<'a> {
        let pass = Pass::Turn(turn.number, turn.overrun);
        let mut run = Run::new(text, layout, code, pass, (kind, command), next);
        run.turn = Some(turn);
        run
    }

    pub fn write(&mut self) {
        self.insts();
        if let Some(turn) = self.turn {
            return turn.end(self.text, self.layout, &self.effects, self.command);
        }
        self.effects.finish(self.text, self.layout, self.command);
        let overruns = |inst: &Inst| matches!(inst, Inst::Overrun);
        if self.visits.is_some() || self.code.insts.iter().any(overruns) {
            self.text.jump(self.next);
            self.text.place(self.overrun);
            self.store_overrun();
        }
    }

    fn insts(&mut self) {
        for register in 0..self.code.registers {
            let register = Word::new(register);
            self.text.put("mov.b32", register, format_args!("0"));
        }
        let code = self.code;
        for (inst, label) in code.insts.iter().zip(self.labels.clone()) {
            if let Some(label) = label {
                self.text.place(label);
            }
            self.inst(inst);
        }
        if let Some(&Some(label)) = self.labels.last() {
            self.text.place(label);
        }
        self.text.place(self.end);
    }

    /// The counts stay 0, so that nothing is stored, and the command does not run again.
    fn store_overrun(&mut self) {
        let verdict = element_of(self.text, self.layout.world.verdicts, self.command, 4);
        let over_budget = Value::Const(self.layout.numbers.over_budget as i32);
        store(self.text, verdict, 0, over_budget);
    }

    fn inst(&mut self, inst: &Inst) {
        let layout = self.layout;
        match *inst {
            Inst::Copy(to, a) => self.put(to, a.into()),
            Inst::Unary(to, op, a) => match a {
                Operand::Const(a) => self.put(to, Value::Const(arith::unary(op, a))),
                Operand::Reg(a) => operators::unary(self.text, word(to), op, word(a)),
            },
            Inst::Binary(to, op, a, b) => match (a, b) {
                (Operand::Const(a), Operand::Const(b)) => {
                    self.put(to, Value::Const(arith::binary(op, a, b)));
                }
                _ => operators::binary(self.text, word(to), op, a.into(), b.into()),
            },
            Inst::Wide(to, op, half, words) => {
                let known = words.map(Operand::constant);
                match known {
                    [Some(a), Some(b), Some(c), Some(d)] => {
                        let value = arith::wide_half(op, half, [a, b, c, d]);
                        self.put(to, Value::Const(value));
                    }
                    _ => operators::wide(self.text, word(to), op, half, words.map(Value::from)),
                }
            }
            Inst::Word(to, number) => {
                let words = self.words.expect("loaded where a word is used");
                let value = load(self.text, words, i32::from(number) * 4);
                self.put(to, Value::Word(value));
            }
            Inst::Actor(to) => {
                let slot = self.slot.expect("loaded where the actor is used");
                self.put(to, Value::Word(slot));
            }
            Inst::Tick(to) => {
                // The low bits come first.
                let number = layout.tick.number;
                let operands = format_args!("[{}+{number}]", super::memory::TICK);
                self.text.put("ld.param.u32", word(to), operands);
            }
            Inst::Random(to, low, high) => {
                let random = self.random.as_ref().expect("there where it is used");
                random.within(self.text, word(to), low.into(), high.into());
            }
            Inst::Resolve(to, reference) => {
                entities::resolve(self.text, layout, word(to), reference.into());
            }
            Inst::Reference(to, slot) => {
                let is = self.presence(slot);
                entities::reference(self.text, layout, word(to), slot.into(), is);
            }
            Inst::Kind(to, slot) => {
                let is = self.presence(slot);
                let kind = entities::kind(self.text, layout, slot.into(), is);
                self.put(to, kind);
            }
            Inst::Has(to, slot, column) => match self.has(slot, column) {
                Presence::Always => self.put(to, Value::Const(1)),
                Presence::Never => self.put(to, Value::Const(0)),
                Presence::If(flag) => self.text.put_flag(word(to), flag),
            },
            Inst::Read(to, slot, column) => {
                let is = self.presence(slot);
                let value = entities::attribute(self.text, layout, slot.into(), is, column);
                self.put(to, value);
            }
            Inst::Past(to, slot, axis, tick) => {
                let is = self.presence(slot);
                let past = entities::past(self.text, layout, slot.into(), is, axis, tick.into());
                self.put(to, past);
            }
            Inst::Layer(to, place) => {
                let value = entities::layer(self.text, layout, place.into());
                self.put(to, value);
            }
            Inst::Field(to, place) => {
                let value = entities::field(self.text, layout, place.into());
                self.put(to, value);
            }
            Inst::Count(to, kind) => {
                let count = entities::count(self.text, layout, kind);
                self.put(to, count);
            }
            Inst::Nth(to, kind, place) => {
                let slot = entities::nth(self.text, layout, kind, place.into());
                self.put(to, slot);
            }
            Inst::Held(to, relation, holder, place) => {
                let holder = (holder.into(), self.presence(holder));
                let slot = entities::held(self.text, layout, relation, holder, place.into());
                self.put(to, slot);
            }
            Inst::Rank(to, slot, ranking) => {
                let is = self.presence(slot);
                let rank = entities::rank(self.text, layout, slot.into(), is, ranking);
                self.put(to, rank);
            }
            Inst::Ranked(to, ranking, place) => {
                let slot = entities::ranked(self.text, layout, ranking, place.into());
                self.put(to, slot);
            }
            Inst::Distance(to, a, b) => self.distance(to, a, b),
            Inst::IsWithin(to, a, b, radius) => {
                entities::is_within(self.text, word(to), a, b, radius.into());
            }
            Inst::NearOpen(number, center, radius) => {
                let near = &self.near[usize::from(number)];
                near.open(self.text, layout, center, radius.into());
            }
            Inst::NearNext(to, number, done) => self.near_next(to, number, done),
            Inst::Update(slot, column, value) => {
                let has = self.has(slot, column);
                let (slot, value) = (slot.into(), value.into());
                self.effects
                    .update(self.text, layout, slot, has, (column, None), value);
            }
            Inst::ReadAt(to, slot, first, index) => {
                let is = self.presence(slot);
                let at = (first, index);
                let value = entities::attribute_at(self.text, layout, slot.into(), is, at);
                self.put(to, value);
            }
            Inst::UpdateAt(slot, first, index, value) => {
                let has = self.has(slot, first);
                let (slot, value) = (slot.into(), value.into());
                let at = (first, Some(index));
                self.effects.update(self.text, layout, slot, has, at, value);
            }
            Inst::After(ref after) => {
                let (actor, is) = self.entity(after.actor);
                let is = match after.actor {
                    None => Presence::Always,
                    Some(_) => is,
                };
                self.effects.after(self.text, layout, after, actor, is);
            }
            Inst::Notify(ref notify) => {
                let (source, is) = self.entity(notify.source);
                self.effects.notify(self.text, layout, notify, source, is);
            }
            Inst::Jump(to) => self.text.jump(self.target(to)),
            Inst::JumpIf(condition, to) => self.jump(condition, "setp.ne.s32", to),
            Inst::JumpUnless(condition, to) => self.jump(condition, "setp.eq.s32", to),
            Inst::End => self.text.jump(self.end),
            Inst::Overrun => self.text.jump(self.overrun),
            Inst::Write(ref write) => {
                let has = self.has(write.slot, write.column);
                let turn = self.turn.expect("atomic commands have turns");
                turn.write(self.text, layout, write, None, has);
            }
            Inst::WriteAt(ref write, index) => {
                let has = self.has(write.slot, write.column);
                let turn = self.turn.expect("atomic commands have turns");
                turn.write(self.text, layout, write, Some(index), has);
            }
            Inst::Miss(missed) => self.miss(missed),
            Inst::Keep(slot) => {
                let is = self.presence(slot);
                let turn = self.turn.expect("atomic commands have turns");
                turn.keep(self.text, layout, slot.into(), is);
            }
            Inst::Refuse => {
                let turn = self.turn.expect("atomic commands have turns");
                self.text.jump(turn.refuse);
            }
            Inst::Reason(number) => {
                if self.effects.pass() != Pass::Store {
                    let reason = i32::from(number) + 1;
                    store_reason(self.text, layout, self.command, reason);
                }
            }
        }
    }

    /// Counts the run of the command, once.
    fn miss(&mut self, missed: Operand) {
        if self.pass == Pass::Store {
            return;
        }
        let has_missed = format_args!("{}, 0", Value::from(missed));
        let has_missed: Flag = self.text.set("setp.ne.s32", has_missed);
        let counters = counters(self.text, self.layout);
        let place = self.layout.counters.out_of_range_of + 4 * u32::from(self.kind);
        self.text.line(format_args!(
            "@{has_missed} red.global.add.u32 [{counters}+{place}], 1"
        ));
    }

    fn distance(&mut self, to: Reg, a: Point, b: Point) {
        let squared = entities::squared_distance(self.text, a, b);
        let root = operators::square_root(self.text, squared);
        let operands = format_args!("{root}, {}", i32::MAX);
        self.text.put("min.u32", word(to), operands);
    }

    fn near_next(&mut self, to: Reg, number: u8, done: u32) {
        let done = self.target(done);
        let near = &self.near[usize::from(number)];
        let slot = near.next(self.text, self.layout, done);
        if let Some(visits) = self.visits {
            let max = self.layout.numbers.space.budget.visits;
            self.text
                .put("add.u32", visits, format_args!("{visits}, 1"));
            let is_over: Flag = self
                .text
                .set("setp.gt.u32", format_args!("{visits}, {max}"));
            self.text.jump_if(is_over, self.overrun);
        }
        self.put(to, Value::Word(slot));
    }

    fn jump(&mut self, condition: Operand, operation: &str, to: u32) {
        let operands = format_args!("{}, 0", Value::from(condition));
        let flag: Flag = self.text.set(operation, operands);
        self.text.jump_if(flag, self.target(to));
    }

    fn target(&self, to: u32) -> Label {
        self.labels[to as usize].expect("a jump's target has a label")
    }

    fn put(&mut self, to: Reg, value: Value) {
        self.text.put("mov.b32", word(to), format_args!("{value}"));
    }

    fn entity(&mut self, slot: Option<Operand>) -> (Value, Presence) {
        match slot {
            None => (Value::Const(NOBODY), Presence::Never),
            Some(slot) => (slot.into(), self.presence(slot)),
        }
    }

    /// Whether a slot is that of an entity.
    fn presence(&mut self, slot: Operand) -> Presence {
        match slot {
            Operand::Const(NOBODY) => Presence::Never,
            Operand::Const(_) => Presence::Always,
            Operand::Reg(reg) if self.is_somebody[reg.0 as usize] => Presence::Always,
            Operand::Reg(_) => {
                let operands = format_args!("{}, {NOBODY}", Value::from(slot));
                Presence::If(self.text.set("setp.ne.s32", operands))
            }
        }
    }

    fn has(&mut self, slot: Operand, column: u16) -> Presence {
        let is = self.presence(slot);
        entities::has(self.text, self.layout, slot.into(), is, column)
    }
}

/// Stores why the run of a command has no effect.
fn store_reason(text: &mut Text, layout: &Layout, command: Word, reason: i32) {
    let at = element_of(text, layout.world.reasons, command, 4);
    store(text, at, 0, Value::Const(reason));
}

/// By register: whether no instruction sets it to [`NOBODY`].
fn never_nobody(code: &Code) -> Vec<bool> {
    let mut is_somebody = vec![true; code.registers as usize];
    loop {
        let mut has_changed = false;
        for inst in &code.insts {
            let Some(reg) = inst.sets() else { continue };
            let sets_somebody = match *inst {
                Inst::Actor(_) | Inst::NearNext(..) => true,
                Inst::Copy(_, Operand::Const(slot)) => slot != NOBODY,
                Inst::Copy(_, Operand::Reg(from)) => is_somebody[from.0 as usize],
                _ => false,
            };
            let known = &mut is_somebody[reg.0 as usize];
            has_changed |= *known && !sets_somebody;
            *known &= sets_somebody;
        }
        if !has_changed {
            return is_somebody;
        }
    }
}

fn word(reg: Reg) -> Word {
    Word::new(reg.0)
}
