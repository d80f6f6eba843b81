//! Instructions become Cranelift's.
//!
//! Slots that aren't surely there are compared with the number of slots before memory is
//! read, so that no instruction list, however wrong, reads outside the arrays. The
//! comparison is a branch and no selection: what a guessed branch leads to is loaded while
//! the slot's state still comes from memory.

mod arith;
mod atomic;
mod world;

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{
    self, AbiParam, AliasRegion, AliasRegionData, Block, InstBuilder, MemFlagsData, SigRef,
    Signature, StackSlot, StackSlotData, StackSlotKind, Type, Value,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::Shape;
use super::check;
use super::facts::State;
use super::frame::{After, Frame, Near, Notify, OVERRUN, Outcome, Pair};
use crate::ir::{Code, Inst, Operand};

/// A command that becomes a function.
#[derive(Clone, Copy)]
pub struct Emission<'a> {
    pub code: &'a Code,
    pub shape: &'a Shape,
    /// What is known before each basic block.
    pub states: &'a [Option<State>],
    pub config: TargetFrontendConfig,
}

/// The signature of [`Run`](super::frame::Run).
pub fn signature(config: TargetFrontendConfig) -> Signature {
    let mut signature = Signature::new(config.default_call_conv);
    signature.params = vec![AbiParam::new(I64); 6];
    signature.returns = vec![AbiParam::new(I64)];
    signature
}

impl Emission<'_> {
    pub fn emit(self, function: &mut ir::Function, context: &mut FunctionBuilderContext) {
        let config = self.config;
        let mut b = FunctionBuilder::new(function, context);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let parameters = b.block_params(entry).to_vec();

        let zero = b.ins().iconst(I32, 0);
        let zero_long = b.ins().iconst(I64, 0);
        let mut variable = |ty: Type, value: Value| {
            let variable = b.declare_var(ty);
            b.def_var(variable, value);
            variable
        };
        let registers = (0..self.code.registers).map(|_| variable(I32, zero));
        let registers = registers.collect();
        let loops = (0..self.code.loops).map(|_| Loop {
            next: variable(I64, zero_long),
            end: variable(I64, zero_long),
        });
        let loops = loops.collect();
        let emitted = variable(I64, parameters[4]);
        let visits = variable(I32, zero);
        let drawn = variable(I64, zero_long);

        let block = |state: &Option<State>| state.as_ref().map(|_| b.create_block());
        let blocks: Vec<Option<Block>> = self.states.iter().map(block).collect();
        let overrun = b.create_block();
        let (refused, moved) = (b.create_block(), b.create_block());
        for block in [overrun, refused, moved] {
            b.set_cold_block(block);
        }
        let end = b.create_block();
        let mut emit = Emit {
            frame: parameters[0],
            actor: parameters[1],
            words: parameters[2],
            random: parameters[3],
            out: parameters[4],
            out_end: parameters[5],
            out_region: region(&mut b, 1),
            world_region: region(&mut b, 2),
            rows_region: region(&mut b, 3),
            operands: None,
            callback: None,
            b,
            of: self,
            needed: check::needed(self.code),
            // Of the block that is emitted.
            state: self.states[0].clone().expect("it begins at the start"),
            registers,
            loops,
            emitted,
            visits,
            drawn,
            overrun,
            refused,
            moved,
            end,
            blocks,
        };
        emit.all();
        emit.b.seal_all_blocks();
        emit.b.finalize(config);
    }
}

/// A category of memory: writes to another don't change it.
fn region(b: &mut FunctionBuilder<'_>, user_id: u32) -> AliasRegion {
    b.func.dfg.alias_regions.insert(AliasRegionData {
        user_id,
        description: "".into(),
    })
}

struct Emit<'a, 'f> {
    b: FunctionBuilder<'f>,
    of: Emission<'a>,
    /// By register: whether a run needs it.
    needed: Vec<bool>,
    /// What is known before the instruction.
    state: State,
    frame: Value,
    actor: Value,
    words: Value,
    random: Value,
    /// Where updates go, and where that ends.
    out: Value,
    out_end: Value,
    out_region: AliasRegion,
    world_region: AliasRegion,
    /// Of rows that the command changes.
    rows_region: AliasRegion,
    /// Where callbacks find their operands.
    operands: Option<StackSlot>,
    callback: Option<SigRef>,
    registers: Vec<Variable>,
    loops: Vec<Loop>,
    /// Where the next update goes, if there is room.
    emitted: Variable,
    visits: Variable,
    /// How many random numbers were drawn.
    drawn: Variable,
    overrun: Block,
    /// Only in atomic commands.
    refused: Block,
    moved: Block,
    end: Block,
    /// By instruction, of those that begin a block.
    blocks: Vec<Option<Block>>,
}

/// The slots that a loop has yet to visit: addresses.
struct Loop {
    next: Variable,
    end: Variable,
}

impl Emit<'_, '_> {
    fn all(&mut self) {
        let start = self.block(0);
        self.b.ins().jump(start, &[]);
        let of = self.of;
        // Whether the instruction before leads here.
        let mut follows = false;
        for (at, inst) in of.code.insts.iter().enumerate() {
            if let Some(block) = self.blocks[at] {
                if follows {
                    self.b.ins().jump(block, &[]);
                }
                self.b.switch_to_block(block);
                self.state = of.states[at].clone().expect("a block has a state");
                follows = true;
            }
            if !follows {
                continue;
            }
            if check::is_needed(inst, &self.needed) {
                self.inst(at, inst);
            } else if let Inst::Random(..) = inst {
                self.draw();
            }
            self.state.step(inst);
            follows = inst.target().is_none() && !inst.ends_block();
        }
        if let Some(last) = self.blocks[of.code.insts.len()] {
            if follows {
                self.b.ins().jump(last, &[]);
            }
            self.b.switch_to_block(last);
            self.b.ins().jump(self.end, &[]);
        }

        self.b.switch_to_block(self.end);
        let emitted = self.b.use_var(self.emitted);
        let bytes = self.b.ins().isub(emitted, self.out);
        let count = self.b.ins().ushr_imm_u(bytes, PAIR_BITS);
        self.b.ins().return_(&[count]);
        if of.code.is_atomic() {
            self.end_without(self.overrun, Outcome::Overrun);
            self.end_without(self.refused, Outcome::Refused);
            self.end_without(self.moved, Outcome::Moved);
            return;
        }
        self.b.switch_to_block(self.overrun);
        let overrun = self.b.ins().iconst(I64, OVERRUN);
        self.b.ins().return_(&[overrun]);
    }

    /// Ends a run of an atomic command without an effect.
    fn end_without(&mut self, block: Block, outcome: Outcome) {
        self.b.switch_to_block(block);
        let emitted = self.b.use_var(self.emitted);
        let bytes = self.b.ins().isub(emitted, self.out);
        // Four times the number of writes.
        let writes = self.b.ins().ushr_imm_u(bytes, PAIR_BITS - 2);
        let outcome = self.b.ins().iconst(I64, outcome as i64);
        let result = self.b.ins().bor(writes, outcome);
        let result = self.b.ins().bnot(result);
        self.b.ins().return_(&[result]);
    }

    fn inst(&mut self, at: usize, inst: &Inst) {
        match *inst {
            Inst::Copy(reg, a) => {
                let value = self.get(a);
                self.set(reg, value);
            }
            Inst::Unary(reg, op, a) => {
                let a = self.get(a);
                let value = self.unary(op, a);
                self.set(reg, value);
            }
            Inst::Binary(reg, op, a, b) => {
                let value = self.binary(op, a, b);
                self.set(reg, value);
            }
            Inst::Wide(reg, op, half, words) => {
                let value = self.wide(op, half, words);
                self.set(reg, value);
            }
            Inst::Word(reg, word) => {
                // As many words as it reads are there.
                let flags = MemFlagsData::trusted().with_readonly().with_can_move();
                let value = (self.b.ins()).load(I32, flags, self.words, i32::from(word) * 4);
                self.set(reg, value);
            }
            Inst::Actor(reg) => {
                let value = self.b.ins().ireduce(I32, self.actor);
                self.set(reg, value);
            }
            Inst::Tick(reg) => {
                let value = self.of_frame(I32, offset_of!(Frame, tick));
                self.set(reg, value);
            }
            Inst::Random(reg, low, high) => {
                let value = self.random(low, high);
                self.set(reg, value);
            }
            Inst::Resolve(reg, reference) => {
                let value = self.resolve(reference);
                self.set(reg, value);
            }
            Inst::Reference(reg, slot) => {
                let value = self.reference(slot);
                self.set(reg, value);
            }
            Inst::Kind(reg, slot) => {
                let value = self.kind(slot);
                self.set(reg, value);
            }
            Inst::Has(reg, slot, column) => {
                let value = self.has(slot, column);
                self.set(reg, value);
            }
            Inst::Read(reg, slot, column) => {
                let value = self.read(slot, column);
                self.set(reg, value);
            }
            Inst::Past(reg, slot, axis, tick) => {
                let value = self.past(slot, axis, tick);
                self.set(reg, value);
            }
            Inst::Layer(reg, place) => {
                let value = self.layer(place);
                self.set(reg, value);
            }
            Inst::Field(reg, place) => {
                let value = self.field(place);
                self.set(reg, value);
            }
            Inst::Count(reg, kind) => {
                let value = self.count(kind);
                self.set(reg, value);
            }
            Inst::Nth(reg, kind, place) => {
                let value = self.nth(kind, place);
                self.set(reg, value);
            }
            Inst::Held(reg, relation, holder, place) => {
                let value = self.held(relation, holder, place);
                self.set(reg, value);
            }
            Inst::Rank(reg, slot, ranking) => {
                let value = self.rank(slot, ranking);
                self.set(reg, value);
            }
            Inst::Ranked(reg, ranking, place) => {
                let value = self.ranked(ranking, place);
                self.set(reg, value);
            }
            Inst::Distance(reg, a, b) => {
                let value = self.distance(a, b);
                self.set(reg, value);
            }
            Inst::IsWithin(reg, a, b, radius) => {
                let value = self.is_within(a, b, radius);
                self.set(reg, value);
            }
            Inst::NearOpen(number, center, radius) => self.near_open(number, center, radius),
            Inst::NearNext(reg, number, done) => {
                let next = self.block(at + 1);
                self.near_next(reg, number, done, next);
            }
            Inst::Update(slot, column, value) => self.update(slot, column, None, value),
            Inst::After(ref after) => self.after(after),
            Inst::Notify(ref notify) => self.notify(notify),
            Inst::Jump(target) => {
                let target = self.block(target as usize);
                self.b.ins().jump(target, &[]);
            }
            Inst::JumpIf(a, target) => {
                let (a, then) = (self.get(a), self.block(target as usize));
                let next = self.block(at + 1);
                self.b.ins().brif(a, then, &[], next, &[]);
            }
            Inst::JumpUnless(a, target) => {
                let (a, then) = (self.get(a), self.block(target as usize));
                let next = self.block(at + 1);
                self.b.ins().brif(a, next, &[], then, &[]);
            }
            Inst::End => {
                self.b.ins().jump(self.end, &[]);
            }
            Inst::Overrun => {
                self.b.ins().jump(self.overrun, &[]);
            }
            Inst::Write(ref write) => self.write(write, None),
            Inst::Keep(slot) => self.keep(slot),
            Inst::Refuse => {
                self.b.ins().jump(self.refused, &[]);
            }
            Inst::ReadAt(reg, slot, first, index) => {
                let value = self.read_at(slot, first, index);
                self.set(reg, value);
            }
            Inst::UpdateAt(slot, first, index, value) => {
                self.update(slot, first, Some(index), value);
            }
            Inst::WriteAt(ref write, index) => self.write(write, Some(index)),
            Inst::Miss(missed) => {
                let missed = self.get(missed);
                let offset = offset_of!(Frame, missed) as i32;
                let flags = MemFlagsData::trusted();
                self.b.ins().store(flags, missed, self.frame, offset);
            }
            Inst::Reason(number) => {
                let reason = self.get(Operand::Const(i32::from(number) + 1));
                let (flags, offset) = (MemFlagsData::trusted(), offset_of!(Frame, reason));
                self.b.ins().store(flags, reason, self.frame, offset as i32);
            }
        }
    }

    /// The block that begins with an instruction to which one leads that is emitted.
    fn block(&self, at: usize) -> Block {
        self.blocks[at].expect("what is led to begins a block")
    }

    fn get(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Const(value) => self.b.ins().iconst(I32, i64::from(value)),
            Operand::Reg(reg) => self.b.use_var(self.registers[reg.0 as usize]),
        }
    }

    fn set(&mut self, reg: crate::ir::Reg, value: Value) {
        self.b.def_var(self.registers[reg.0 as usize], value);
    }

    /// A field of the frame that no run changes.
    fn of_frame(&mut self, ty: Type, offset: usize) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.b.ins().load(ty, flags, self.frame, offset as i32)
    }

    /// Writes an operand of a callback.
    fn put(&mut self, offset: usize, value: Value) {
        let slot = *self.operands.get_or_insert_with(|| {
            let size = size_of::<Near>()
                .max(size_of::<After>())
                .max(size_of::<Notify>());
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size as u32, 3);
            self.b.create_sized_stack_slot(data)
        });
        (self.b.ins()).stack_store(I64, value, slot, offset as i32);
    }

    fn put_constant(&mut self, offset: usize, value: i32) {
        let value = self.get(Operand::Const(value));
        self.put(offset, value);
    }

    /// Calls the function that a field of the frame holds, with the operands.
    fn call(&mut self, callback: usize) {
        let slot = self.operands.expect("operands come first");
        let pointer = self.b.ins().stack_addr(I64, slot, 0);
        let signature = *self.callback.get_or_insert_with(|| {
            let mut signature = Signature::new(self.of.config.default_call_conv);
            signature.params = vec![AbiParam::new(I64); 2];
            self.b.import_signature(signature)
        });
        let callback = self.of_frame(I64, callback);
        (self.b.ins()).call_indirect(signature, callback, &[self.frame, pointer]);
    }

    fn near_open(&mut self, number: u8, center: crate::ir::Point, radius: Operand) {
        self.put_constant(offset_of!(Near, number), i32::from(number));
        for (axis, operand) in center.into_iter().enumerate() {
            let value = self.get(operand);
            self.put(offset_of!(Near, center) + axis * 4, value);
        }
        let radius = self.get(radius);
        self.put(offset_of!(Near, radius), radius);
        self.call(offset_of!(Frame, near));
        let flags = MemFlagsData::trusted();
        let next = offset_of!(Frame, near_start) as i32;
        let next = self.b.ins().load(I64, flags, self.frame, next);
        let end = offset_of!(Frame, near_end) as i32;
        let end = self.b.ins().load(I64, flags, self.frame, end);
        let near = &self.loops[usize::from(number)];
        self.b.def_var(near.next, next);
        self.b.def_var(near.end, end);
    }

    fn near_next(&mut self, reg: crate::ir::Reg, number: u8, done: u32, following: Block) {
        let near = &self.loops[usize::from(number)];
        let (next_variable, end) = (near.next, near.end);
        let next = self.b.use_var(next_variable);
        let end = self.b.use_var(end);
        let (some, within) = (self.b.create_block(), self.b.create_block());
        let done = self.block(done as usize);
        let is_done = self.b.ins().icmp(IntCC::Equal, next, end);
        self.b.ins().brif(is_done, done, &[], some, &[]);

        self.b.switch_to_block(some);
        let visits = self.b.use_var(self.visits);
        let limit = i64::from(self.of.shape.space.budget.visits);
        let limit = self.b.ins().iconst(I32, limit);
        let spent = (self.b.ins()).icmp(IntCC::UnsignedGreaterThanOrEqual, visits, limit);
        self.b.ins().brif(spent, self.overrun, &[], within, &[]);

        self.b.switch_to_block(within);
        let visits = self.b.ins().iadd_imm_s(visits, 1);
        self.b.def_var(self.visits, visits);
        // The slots stay as they are until the loop is opened again.
        let slot = self.b.ins().load(I32, MemFlagsData::trusted(), next, 0);
        self.set(reg, slot);
        let next = self.b.ins().iadd_imm_s(next, 4);
        self.b.def_var(next_variable, next);
        self.b.ins().jump(following, &[]);
    }
}

/// The size of an update is 2 to the power of this.
const PAIR_BITS: i64 = size_of::<Pair>().ilog2() as i64;
