//! What only atomic commands do.

use std::mem::{offset_of, size_of};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};

use super::super::frame::{Frame, Pair};
use super::Emit;
use crate::atomic::KEYS_MAX;
use crate::ir::{Index, NOBODY, Operand, Write, WriteOp};

impl Emit<'_, '_> {
    /// A change of an attribute, where the entity is there and has it. What was there goes to the
    /// log.
    pub(super) fn write(&mut self, write: &Write, index: Option<Index>) {
        let place = self.place(write.slot);
        let after = self.b.create_block();
        self.branch_unless_there(place, after);
        let has = self.kind_has(place.slot, write.column);
        let some = self.b.create_block();
        self.b.ins().brif(has, some, &[], after, &[]);

        self.b.switch_to_block(some);
        let next = self.b.use_var(self.emitted);
        let fits = (self.b.ins()).icmp(IntCC::UnsignedLessThan, next, self.out_end);
        let room = self.b.create_block();
        self.b.ins().brif(fits, room, &[], self.overrun, &[]);

        self.b.switch_to_block(room);
        let row = self.row(place.slot);
        let offset = i32::from(write.column) * size_of::<i32>() as i32;
        let flags = self.of_rows();
        let at = index.map(|index| self.place_in(index));
        let row = match at {
            Some(at) => {
                let bytes = self.b.ins().imul_imm_s(at, size_of::<i32>() as i64);
                self.b.ins().iadd(row, bytes)
            }
            None => row,
        };
        let before = self.b.ins().load(I32, flags, row, offset);
        let value = self.written(write, place.slot, at.zip(index), before);
        let key = self.key(place.slot, write.column, at);
        let log = MemFlagsData::trusted().with_alias_region(Some(self.out_region));
        (self.b.ins()).store(log, key, next, offset_of!(Pair, 0) as i32);
        (self.b.ins()).store(log, before, next, offset_of!(Pair, 1) as i32);
        let behind = self.b.ins().iadd_imm_s(next, size_of::<Pair>() as i64);
        self.b.def_var(self.emitted, behind);
        self.b.ins().store(flags, value, row, offset);
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
    }

    /// What a write leaves; goes away where that does not fit and has to.
    fn written(
        &mut self,
        write: &Write,
        slot: Value,
        at: Option<(Value, Index)>,
        before: Value,
    ) -> Value {
        let value = self.get(write.value);
        let long = self.b.ins().sextend(I64, value);
        let wanted = match write.op {
            WriteOp::Set => long,
            WriteOp::Add => {
                let before = self.b.ins().sextend(I64, before);
                self.b.ins().iadd(before, long)
            }
            WriteOp::Sub => {
                let before = self.b.ins().sextend(I64, before);
                self.b.ins().isub(before, long)
            }
        };
        let (min, max) = self.bounds(slot, write.column, at);
        let clamped = self.b.ins().smax(wanted, min);
        let clamped = self.b.ins().smin(clamped, max);
        if write.fits {
            let is_same = self.b.ins().icmp(IntCC::Equal, clamped, wanted);
            let same = self.b.create_block();
            self.b.ins().brif(is_same, same, &[], self.refused, &[]);
            self.b.switch_to_block(same);
        }
        self.b.ins().ireduce(I32, clamped)
    }

    /// The bounds of a column that the kind of an entity has, in 64 bits; of an index, those of the
    /// column at its place.
    fn bounds(&mut self, slot: Value, column: u16, at: Option<(Value, Index)>) -> (Value, Value) {
        let shape = self.of.shape;
        let columns = shape.columns;
        let len = at.map_or(1, |(_, index)| usize::from(index.len));
        let rows = shape.bounds.chunks_exact(columns).zip(&shape.kind_columns);
        let own = rows.filter(|(_, columns)| columns.has(column.into()));
        let own = own.flat_map(|(row, _)| &row[usize::from(column)..usize::from(column) + len]);
        let own: Vec<(i32, i32)> = own.copied().collect();
        if let Some(&(min, max)) = own.first()
            && own.iter().all(|&bounds| bounds == (min, max))
        {
            let [min, max] = [min, max].map(i64::from);
            return (self.b.ins().iconst(I64, min), self.b.ins().iconst(I64, max));
        }
        let kind = self.element(I16, offset_of!(Frame, kinds), slot);
        let kind = self.b.ins().uextend(I64, kind);
        // No kind is above the last, but nothing outside the table is to be read.
        let last = shape.kind_columns.len() as i64 - 1;
        let last = self.b.ins().iconst(I64, last);
        let kind = self.b.ins().umin(kind, last);
        let row_bytes = (columns * size_of::<(i32, i32)>()) as i64;
        let offset = self.b.ins().imul_imm_s(kind, row_bytes);
        let table = shape.bounds.as_ptr() as usize as i64;
        let table = self.b.ins().iconst(I64, table);
        let address = self.b.ins().iadd(table, offset);
        let address = match at {
            Some((place, _)) => {
                let bytes = size_of::<(i32, i32)>() as i64;
                let offset = self.b.ins().imul_imm_s(place, bytes);
                self.b.ins().iadd(address, offset)
            }
            None => address,
        };
        let flags = self.frozen();
        let at = i32::from(column) * size_of::<(i32, i32)>() as i32;
        let [min, max] = [offset_of!((i32, i32), 0), offset_of!((i32, i32), 1)].map(|field| {
            let bound = self.b.ins().load(I32, flags, address, at + field as i32);
            self.b.ins().sextend(I64, bound)
        });
        (min, max)
    }

    /// Goes away unless the entity is one of the command's keys, or nobody.
    pub(super) fn keep(&mut self, slot: Operand) {
        let slot = self.get(slot);
        let mut is_key = (self.b.ins()).icmp_imm_s(IntCC::Equal, slot, i64::from(NOBODY));
        for place in 0..KEYS_MAX {
            let key = self.of_frame(I32, offset_of!(Frame, keys) + place * size_of::<i32>());
            let is_this = self.b.ins().icmp(IntCC::Equal, slot, key);
            is_key = self.b.ins().bor(is_key, is_this);
        }
        let kept = self.b.create_block();
        self.b.ins().brif(is_key, kept, &[], self.moved, &[]);
        self.b.switch_to_block(kept);
    }
}
