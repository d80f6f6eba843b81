//! What commands read of the world, and their effects.

use std::mem::{offset_of, size_of};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value};

use shared::world::columns::Columns;

use super::super::frame::{self, Frame, Held, Pair};
use super::Emit;
use crate::ir::{After, Index, NOBODY, Notify, Operand};

/// The slot of an entity, in 64 bits.
#[derive(Clone, Copy)]
pub(super) struct SlotValue {
    pub slot: Value,
    /// Whether it is below the number of slots; `None`: surely.
    is_there: Option<Value>,
}

impl Emit<'_, '_> {
    /// An operand that is a slot or [`NOBODY`], which is above all slots.
    pub(super) fn place(&mut self, operand: Operand) -> SlotValue {
        let is_slot = self.state.is_slot(operand);
        let short = self.get(operand);
        let is_there = (!is_slot).then(|| self.is_below(short));
        let slot = self.b.ins().uextend(I64, short);
        SlotValue { slot, is_there }
    }

    fn is_below(&mut self, slot: Value) -> Value {
        let slots = self.of_frame(I32, offset_of!(Frame, slots));
        self.b.ins().icmp(IntCC::UnsignedLessThan, slot, slots)
    }

    /// A value of a place, and another where there is none.
    fn value_at(
        &mut self,
        place: SlotValue,
        otherwise: i32,
        value: impl FnOnce(&mut Self, Value) -> Value,
    ) -> Value {
        let Some(is_there) = place.is_there else {
            return value(self, place.slot);
        };
        let (there, after) = (self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(after, I32);
        let otherwise = self.get(Operand::Const(otherwise));
        let other = &[otherwise.into()];
        self.b.ins().brif(is_there, there, &[], after, other);
        self.b.switch_to_block(there);
        let value = value(self, place.slot);
        self.b.ins().jump(after, &[value.into()]);
        self.b.switch_to_block(after);
        result
    }

    /// Loads a slot's element of an array. Where the slot isn't surely there, after a branch:
    /// so loads must stay in their block.
    pub(super) fn element(&mut self, ty: Type, array: usize, slot: Value) -> Value {
        let array = self.of_frame(I64, array);
        let offset = self.b.ins().imul_imm_s(slot, i64::from(ty.bytes()));
        let address = self.b.ins().iadd(array, offset);
        let flags = self.frozen();
        self.b.ins().load(ty, flags, address, 0)
    }

    /// Of memory that doesn't change while a command runs.
    pub(super) fn frozen(&self) -> MemFlagsData {
        (MemFlagsData::trusted().with_readonly()).with_alias_region(Some(self.world_region))
    }

    pub(super) fn resolve(&mut self, reference: Operand) -> Value {
        let reference = self.get(reference);
        let slot = self.b.ins().band_imm_u(reference, SLOT_MASK);
        let is_there = Some(self.is_below(slot));
        let place = SlotValue {
            slot: self.b.ins().uextend(I64, slot),
            is_there,
        };
        self.value_at(place, NOBODY, |emit, long| {
            // Both loads before the branch, so that neither waits for the other.
            let is_live = emit.is_live(long);
            let generation = emit.element(I32, offset_of!(Frame, generations), long);
            let generation = emit.b.ins().ishl_imm_u(generation, 24);
            let differs = emit.b.ins().bxor(generation, reference);
            let is_same = (emit.b.ins()).icmp_imm_u(IntCC::UnsignedLessThan, differs, 1 << 24);
            let is = emit.b.ins().band(is_live, is_same);
            // Not selected, as what follows would then wait for the loads.
            let (found, after) = (emit.b.create_block(), emit.b.create_block());
            let result = emit.b.append_block_param(after, I32);
            let nobody = emit.get(Operand::Const(NOBODY));
            emit.b.ins().brif(is, found, &[], after, &[nobody.into()]);
            emit.b.switch_to_block(found);
            emit.b.ins().jump(after, &[slot.into()]);
            emit.b.switch_to_block(after);
            result
        })
    }

    fn is_live(&mut self, slot: Value) -> Value {
        let state = self.element(I8, offset_of!(Frame, states), slot);
        let live = i64::from(self.of.shape.live);
        self.b.ins().icmp_imm_u(IntCC::Equal, state, live)
    }

    pub(super) fn reference(&mut self, slot: Operand) -> Value {
        let place = self.place(slot);
        self.value_at(place, NOBODY, |emit, long| {
            let generation = emit.element(I32, offset_of!(Frame, generations), long);
            let generation = emit.b.ins().ishl_imm_u(generation, 24);
            let short = emit.b.ins().ireduce(I32, long);
            let reference = emit.b.ins().bor(generation, short);
            let is_live = emit.is_live(long);
            let none = emit.get(Operand::Const(NOBODY));
            emit.b.ins().select(is_live, reference, none)
        })
    }

    pub(super) fn kind(&mut self, slot: Operand) -> Value {
        let place = self.place(slot);
        self.value_at(place, -1, |emit, slot| {
            let kind = emit.element(I16, offset_of!(Frame, kinds), slot);
            emit.b.ins().uextend(I32, kind)
        })
    }

    pub(super) fn has(&mut self, slot: Operand, column: u16) -> Value {
        let place = self.place(slot);
        self.value_at(place, 0, |emit, slot| emit.kind_has(slot, column))
    }

    /// Whether the kind of an entity has a column.
    pub(super) fn kind_has(&mut self, slot: Value, column: u16) -> Value {
        let kinds = &self.of.shape.kind_columns;
        let has = |columns: &Columns| columns.has(column.into());
        if kinds.iter().all(has) {
            return self.get(Operand::Const(1));
        }
        if !kinds.iter().any(has) {
            return self.get(Operand::ZERO);
        }
        let table = kinds.as_ptr() as usize as i64;
        let last = kinds.len() as i64 - 1;
        let kind = self.element(I16, offset_of!(Frame, kinds), slot);
        let kind = self.b.ins().uextend(I64, kind);
        let bit = if kinds.len() <= 64 {
            // A bit for each kind.
            let bits = kinds.iter().enumerate();
            let bits = bits.fold(0, |all, (kind, own)| all | u64::from(has(own)) << kind);
            let bits = self.b.ins().iconst(I64, bits as i64);
            self.b.ins().ushr(bits, kind)
        } else {
            // No kind is above the last, but nothing outside the table is to be read.
            let last = self.b.ins().iconst(I64, last);
            let kind = self.b.ins().umin(kind, last);
            let bytes = size_of::<Columns>() as i64;
            let offset = self.b.ins().imul_imm_s(kind, bytes);
            let table = self.b.ins().iconst(I64, table);
            let address = self.b.ins().iadd(table, offset);
            let flags = self.frozen();
            let word = i32::from(column / 64) * 8;
            let bits = self.b.ins().load(I64, flags, address, word);
            self.b.ins().ushr_imm_u(bits, i64::from(column % 64))
        };
        let bit = self.b.ins().band_imm_u(bit, 1);
        self.b.ins().ireduce(I32, bit)
    }

    pub(super) fn read(&mut self, slot: Operand, column: u16) -> Value {
        let place = self.place(slot);
        self.value_at(place, 0, |emit, slot| {
            let row = emit.row(slot);
            let flags = emit.of_rows();
            emit.b.ins().load(I32, flags, row, i32::from(column) * 4)
        })
    }

    /// Like [`Emit::read`], of the column at an index.
    pub(super) fn read_at(&mut self, slot: Operand, first: u16, index: Index) -> Value {
        let place = self.place(slot);
        self.value_at(place, 0, |emit, slot| {
            let row = emit.row(slot);
            let offset = emit.place_in(index);
            let offset = emit.b.ins().imul_imm_s(offset, size_of::<i32>() as i64);
            let address = emit.b.ins().iadd(row, offset);
            let flags = emit.of_rows();
            emit.b.ins().load(I32, flags, address, i32::from(first) * 4)
        })
    }

    /// The place that an index gives, among its columns.
    pub(super) fn place_in(&mut self, index: Index) -> Value {
        let place = self.get(index.place);
        let zero = self.get(Operand::ZERO);
        let last = self.get(Operand::Const(i32::from(index.len) - 1));
        let place = self.b.ins().smax(place, zero);
        let place = self.b.ins().smin(place, last);
        self.b.ins().uextend(I64, place)
    }

    /// The number of an attribute of a slot: slot × columns + column.
    pub(super) fn key(&mut self, slot: Value, column: u16, place: Option<Value>) -> Value {
        let columns = self.of.shape.columns as i64;
        let key = self.b.ins().imul_imm_s(slot, columns);
        let key = self.b.ins().iadd_imm_s(key, i64::from(column));
        let key = match place {
            Some(place) => self.b.ins().iadd(key, place),
            None => key,
        };
        self.b.ins().ireduce(I32, key)
    }

    /// The address of a slot's row.
    pub(super) fn row(&mut self, slot: Value) -> Value {
        let rows = self.of_frame(I64, offset_of!(Frame, rows));
        let row_bytes = (self.of.shape.columns * size_of::<i32>()) as i64;
        let offset = self.b.ins().imul_imm_s(slot, row_bytes);
        self.b.ins().iadd(rows, offset)
    }

    /// Of the rows, which only atomic commands change.
    pub(super) fn of_rows(&self) -> MemFlagsData {
        match self.of.code.is_atomic() {
            true => MemFlagsData::trusted().with_alias_region(Some(self.rows_region)),
            false => self.frozen(),
        }
    }

    /// A coordinate of an entity after a tick.
    pub(super) fn past(&mut self, slot: Operand, axis: u8, tick: Operand) -> Value {
        // Nothing is kept of `NOBODY`, nor in worlds that keep nothing.
        let short = self.get(slot);
        let slots = self.of_frame(I32, offset_of!(Frame, past_slots));
        let is_there = self.b.ins().icmp(IntCC::UnsignedLessThan, short, slots);
        let place = SlotValue {
            slot: self.b.ins().uextend(I64, short),
            is_there: Some(is_there),
        };
        let tick = self.get(tick);
        self.value_at(place, -1, |emit, slot| {
            let now = emit.of_frame(I32, offset_of!(Frame, tick));
            let kept = emit.of_frame(I32, offset_of!(Frame, past_ticks));
            let next = emit.of_frame(I32, offset_of!(Frame, past_next));
            let slots = emit.of_frame(I32, offset_of!(Frame, past_slots));
            let back = emit.b.ins().isub(now, tick);
            let one = emit.get(Operand::Const(1));
            let back = emit.b.ins().smax(back, one);
            let back = emit.b.ins().umin(back, kept);
            // `back` is from 1 to `kept`, and `next` below it, so this is below twice that.
            let end = emit.b.ins().iadd(next, kept);
            let at = emit.b.ins().isub(end, back);
            let is_over = (emit.b.ins()).icmp(IntCC::UnsignedGreaterThanOrEqual, at, kept);
            let around = emit.b.ins().isub(at, kept);
            let at = emit.b.ins().select(is_over, around, at);
            let (at, slots) = (
                emit.b.ins().uextend(I64, at),
                emit.b.ins().uextend(I64, slots),
            );
            let at = emit.b.ins().imul(at, slots);
            let at = emit.b.ins().iadd(at, slot);
            let bytes = (emit.of.shape.space.dimensions * size_of::<i32>()) as i64;
            let offset = emit.b.ins().imul_imm_s(at, bytes);
            let past = emit.of_frame(I64, offset_of!(Frame, past));
            let address = emit.b.ins().iadd(past, offset);
            let flags = emit.frozen();
            let stored = (emit.b.ins()).load(I32, flags, address, i32::from(axis) * 4);
            emit.b.ins().iadd_imm_s(stored, -1)
        })
    }

    /// A word of the layers.
    pub(super) fn layer(&mut self, place: Operand) -> Value {
        let [first, count] = [offset_of!(Frame, layers), offset_of!(Frame, layer_words)];
        self.word_at(first, count, place)
    }

    /// A word of the fields.
    pub(super) fn field(&mut self, place: Operand) -> Value {
        let [first, count] = [offset_of!(Frame, fields), offset_of!(Frame, field_words)];
        self.word_at(first, count, place)
    }

    /// A word of a list. What is loaded in place of one that isn't there is not used.
    fn word_at(&mut self, first: usize, count: usize, place: Operand) -> Value {
        let place = self.get(place);
        let words = self.of_frame(I32, count);
        let is_there = self.b.ins().icmp(IntCC::UnsignedLessThan, place, words);
        let zero = self.get(Operand::ZERO);
        let safe = self.b.ins().select(is_there, place, zero);
        let safe = self.b.ins().uextend(I64, safe);
        let offset = self.b.ins().ishl_imm_u(safe, 2);
        let first = self.of_frame(I64, first);
        let address = self.b.ins().iadd(first, offset);
        // There is always a first word, so this can move anywhere.
        let flags = self.frozen().with_can_move();
        let word = self.b.ins().load(I32, flags, address, 0);
        self.b.ins().select(is_there, word, zero)
    }

    /// Where the entities of a kind begin in the census, and how many there are.
    fn range_of(&mut self, kind: u16) -> (Value, Value) {
        let starts = self.of_frame(I64, offset_of!(Frame, census_starts));
        let (flags, at) = (self.frozen(), i32::from(kind) * 4);
        let start = self.b.ins().load(I32, flags, starts, at);
        let end = self.b.ins().load(I32, flags, starts, at + 4);
        (start, self.b.ins().isub(end, start))
    }

    pub(super) fn count(&mut self, kind: u16) -> Value {
        self.range_of(kind).1
    }

    pub(super) fn nth(&mut self, kind: u16, place: Operand) -> Value {
        let (start, count) = self.range_of(kind);
        let place = self.get(place);
        let is_there = self.b.ins().icmp(IntCC::UnsignedLessThan, place, count);
        let at = self.b.ins().iadd(start, place);
        let at = SlotValue {
            slot: self.b.ins().uextend(I64, at),
            is_there: Some(is_there),
        };
        self.value_at(at, NOBODY, |emit, at| {
            emit.element(I32, offset_of!(Frame, census_slots), at)
        })
    }

    pub(super) fn held(&mut self, relation: u8, holder: Operand, place: Operand) -> Value {
        let holder = self.place(holder);
        let held = offset_of!(Frame, held) + usize::from(relation) * size_of::<Held>();
        self.value_at(holder, NOBODY, |emit, holder| {
            let starts = emit.of_frame(I64, held + offset_of!(Held, starts));
            let offset = emit.b.ins().imul_imm_s(holder, size_of::<u32>() as i64);
            let address = emit.b.ins().iadd(starts, offset);
            let flags = emit.frozen();
            let start = emit.b.ins().load(I32, flags, address, 0);
            let end = emit
                .b
                .ins()
                .load(I32, flags, address, size_of::<u32>() as i32);
            let count = emit.b.ins().isub(end, start);
            let place = emit.get(place);
            let is_there = emit.b.ins().icmp(IntCC::UnsignedLessThan, place, count);
            let at = emit.b.ins().iadd(start, place);
            let at = SlotValue {
                slot: emit.b.ins().uextend(I64, at),
                is_there: Some(is_there),
            };
            emit.value_at(at, NOBODY, |emit, at| {
                emit.element(I32, held + offset_of!(Held, slots), at)
            })
        })
    }

    /// Where a ranking begins in the standings, for a place or a slot of it.
    fn in_ranking(&mut self, ranking: u16, at: Value) -> Value {
        let stride = self.of_frame(I64, offset_of!(Frame, standings_stride));
        let start = self.b.ins().imul_imm_s(stride, i64::from(ranking));
        self.b.ins().iadd(start, at)
    }

    pub(super) fn rank(&mut self, slot: Operand, ranking: u16) -> Value {
        let place = self.place(slot);
        self.value_at(place, 0, |emit, slot| {
            let at = emit.in_ranking(ranking, slot);
            emit.element(I32, offset_of!(Frame, standings_ranks), at)
        })
    }

    pub(super) fn ranked(&mut self, ranking: u16, place: Operand) -> Value {
        let counts = self.of_frame(I64, offset_of!(Frame, standings_counts));
        let (flags, at) = (self.frozen(), i32::from(ranking) * 4);
        let count = self.b.ins().load(I32, flags, counts, at);
        let place = self.get(place);
        let is_there = self.b.ins().icmp(IntCC::UnsignedLessThan, place, count);
        let place = SlotValue {
            slot: self.b.ins().uextend(I64, place),
            is_there: Some(is_there),
        };
        self.value_at(place, NOBODY, |emit, place| {
            let at = emit.in_ranking(ranking, place);
            emit.element(I32, offset_of!(Frame, standings_slots), at)
        })
    }

    pub(super) fn update(
        &mut self,
        slot: Operand,
        column: u16,
        index: Option<Index>,
        value: Operand,
    ) {
        let place = self.place(slot);
        let after = self.b.create_block();
        self.branch_unless_there(place, after);
        let has = self.kind_has(place.slot, column);
        let update = self.b.create_block();
        self.b.ins().brif(has, update, &[], after, &[]);

        self.b.switch_to_block(update);
        let next = self.b.use_var(self.emitted);
        let behind = self.b.ins().iadd_imm_s(next, size_of::<Pair>() as i64);
        self.b.def_var(self.emitted, behind);
        let fits = (self.b.ins()).icmp(IntCC::UnsignedLessThan, next, self.out_end);
        let store = self.b.create_block();
        self.b.ins().brif(fits, store, &[], after, &[]);

        self.b.switch_to_block(store);
        let offset = index.map(|index| self.place_in(index));
        let key = self.key(place.slot, column, offset);
        let value = self.get(value);
        let flags = MemFlagsData::trusted().with_alias_region(Some(self.out_region));
        (self.b.ins()).store(flags, key, next, offset_of!(Pair, 0) as i32);
        (self.b.ins()).store(flags, value, next, offset_of!(Pair, 1) as i32);
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
    }

    /// Goes on where the place is there.
    pub(super) fn branch_unless_there(&mut self, place: SlotValue, otherwise: super::Block) {
        if let Some(is_there) = place.is_there {
            let there = self.b.create_block();
            self.b.ins().brif(is_there, there, &[], otherwise, &[]);
            self.b.switch_to_block(there);
        }
    }

    pub(super) fn after(&mut self, after: &After) {
        let skip = self.b.create_block();
        let (slot, generation) = match after.actor {
            None => self.nobody(),
            Some(actor) => {
                let place = self.place(actor);
                self.branch_unless_there(place, skip);
                let is_live = self.is_live(place.slot);
                let live = self.b.create_block();
                self.b.ins().brif(is_live, live, &[], skip, &[]);
                self.b.switch_to_block(live);
                let generation = offset_of!(Frame, generations);
                let generation = self.element(I32, generation, place.slot);
                (self.b.ins().ireduce(I32, place.slot), generation)
            }
        };
        self.put_constant(offset_of!(frame::After, command), after.command.into());
        let ticks = self.get(after.ticks);
        self.put(offset_of!(frame::After, ticks), ticks);
        self.put(offset_of!(frame::After, slot), slot);
        self.put(offset_of!(frame::After, generation), generation);
        let words_len = offset_of!(frame::After, words_len);
        self.put_words(&after.words, words_len, offset_of!(frame::After, words));
        self.call(offset_of!(Frame, after));
        self.b.ins().jump(skip, &[]);
        self.b.switch_to_block(skip);
    }

    pub(super) fn notify(&mut self, notify: &Notify) {
        let (slot, generation) = self.nobody();
        self.put(offset_of!(frame::Notify, slot), slot);
        self.put(offset_of!(frame::Notify, generation), generation);
        if let Some(source) = notify.source {
            let none = self.b.create_block();
            let place = self.place(source);
            self.branch_unless_there(place, none);
            let is_live = self.is_live(place.slot);
            let live = self.b.create_block();
            self.b.ins().brif(is_live, live, &[], none, &[]);
            self.b.switch_to_block(live);
            let generation = offset_of!(Frame, generations);
            let generation = self.element(I32, generation, place.slot);
            let slot = self.b.ins().ireduce(I32, place.slot);
            self.put(offset_of!(frame::Notify, slot), slot);
            self.put(offset_of!(frame::Notify, generation), generation);
            self.b.ins().jump(none, &[]);
            self.b.switch_to_block(none);
        }
        self.put_constant(offset_of!(frame::Notify, kind), notify.kind.into());
        self.put_constant(
            offset_of!(frame::Notify, has_area),
            notify.area.is_some().into(),
        );
        if let Some((center, distance)) = notify.area {
            for (axis, operand) in center.into_iter().enumerate() {
                let value = self.get(operand);
                self.put(offset_of!(frame::Notify, center) + axis * 4, value);
            }
            let distance = self.get(distance);
            self.put(offset_of!(frame::Notify, distance), distance);
        }
        let words_len = offset_of!(frame::Notify, words_len);
        self.put_words(&notify.words, words_len, offset_of!(frame::Notify, words));
        self.call(offset_of!(Frame, notify));
    }

    /// [`EntityId::NONE`](shared::EntityId::NONE): slot and generation.
    fn nobody(&mut self) -> (Value, Value) {
        (self.get(Operand::Const(NOBODY)), self.get(Operand::ZERO))
    }

    fn put_words(&mut self, words: &[Operand], len: usize, first: usize) {
        self.put_constant(len, words.len() as i32);
        for (i, &word) in words.iter().enumerate() {
            let word = self.get(word);
            self.put(first + i * 4, word);
        }
    }
}

/// The bits of an [`EntityRef`](shared::EntityRef) that hold its slot.
const SLOT_MASK: i64 = 0x00ff_ffff;
