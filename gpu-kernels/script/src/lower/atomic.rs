//! What only atomic commands have: changes of any attribute, runs that are refused, keys.

use std::collections::HashMap;

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::collection::ColumnRef;
use super::statement::strip;
use super::{Checked, Lower};
use crate::atomic::{self, KEYS_MAX, Keys};
use crate::diagnostic::Diagnostic;
use crate::ir::{Binary, Code, Inst, Operand, Reg, Write, WriteOp};
use crate::types::{Type, Value};

/// An atomic command while it is lowered.
#[derive(Default)]
pub(super) struct Atomic {
    /// Where a run goes that is refused.
    pub refuse: u32,
    /// Whether a write that would be clamped is refused.
    pub fits: bool,
    /// By register that an instruction resolves: where the text names the entity.
    pub places: HashMap<Reg, (usize, Span)>,
}

impl<'a> Lower<'a> {
    /// Where a run goes whose condition does not hold: to the end of the command, or where
    /// nothing of an atomic one counts.
    pub(super) fn refusal(&self) -> u32 {
        match &self.atomic {
            Some(atomic) => atomic.refuse,
            None => self.frames[0].exit,
        }
    }

    /// The slot of the entity to which a number refers, as named at a place.
    pub(super) fn resolved(&mut self, reference: Operand, span: Span) -> Operand {
        let slot = self.set(|reg| Inst::Resolve(reg, reference));
        self.note_named(slot, span);
        slot
    }

    /// Notes where the text names the entity of an atomic command.
    pub(super) fn note_named(&mut self, slot: Operand, span: Span) {
        let file = self.file();
        if let (Some(atomic), Operand::Reg(reg)) = (&mut self.atomic, slot) {
            atomic.places.insert(reg, (file, span));
        }
    }

    /// Emits a change of an attribute. Outside of atomic commands it is an update, which its
    /// merge rule applies.
    pub(super) fn change(
        &mut self,
        slot: Operand,
        place: impl Into<ColumnRef>,
        op: WriteOp,
        value: Operand,
    ) {
        let ColumnRef { column, index, .. } = place.into();
        let write = self.atomic.as_ref().map(|atomic| Write {
            slot,
            column,
            op,
            value,
            fits: atomic.fits,
        });
        self.emit(match (write, index) {
            (None, None) => Inst::Update(slot, column, value),
            (None, Some(index)) => Inst::UpdateAt(slot, column, index, value),
            (Some(write), None) => Inst::Write(write),
            (Some(write), Some(index)) => Inst::WriteAt(write, index),
        });
    }

    /// `entity.attribute = value`, and `+=` and `-=`, whatever the merge rule is.
    pub(super) fn write(
        &mut self,
        slot: Operand,
        (place, ty): (ColumnRef, Type),
        op: Option<&'a syn::BinOp>,
        from: &'a syn::Expr,
        span: Span,
    ) -> Checked<()> {
        let op = match op {
            None => WriteOp::Set,
            Some(syn::BinOp::AddAssign(_)) => WriteOp::Add,
            Some(syn::BinOp::SubAssign(_)) => WriteOp::Sub,
            Some(_) => {
                let message = "an attribute can't be changed like this";
                let label = "expected `=`, `+=`, `-=`, `.min(…)` or `.max(…)`";
                return Err(self.problem(span, message, label));
            }
        };
        if op != WriteOp::Set && !ty.is_number() && ty != Type::Point {
            let message = format!("an attribute of type `{}` has no sum", self.unit.show(ty));
            return Err(self.problem(span, message, "expected `=`"));
        }
        let value = self.expression_of(from, ty)?;
        if value.ty == Type::Long {
            self.write_wide(slot, place.column, op, value);
            return Ok(());
        }
        let mut words = vec![];
        self.words(value, &mut words);
        for (axis, word) in (0..).zip(words) {
            self.change_at(slot, place.axis(axis), op, word);
        }
        Ok(())
    }

    /// `entity.attribute.min(value)` and `….max(value)` at once.
    pub(super) fn write_limit(
        &mut self,
        slot: Operand,
        (place, ty): (ColumnRef, Type),
        op: Binary,
        word: Operand,
        span: Span,
    ) {
        let before = self.value_at(slot, place, ty, span).operand();
        let value = self.binary(op, before, word);
        self.change_at(slot, place, WriteOp::Set, value);
    }

    /// `require_fits(entity.attribute += value)`: the run is refused where the value would be
    /// clamped.
    pub(super) fn require_fits(&mut self, change: &'a syn::Expr) -> Checked<Value> {
        let is_of_attribute =
            |to: &syn::Expr| matches!(strip(to), syn::Expr::Field(_) | syn::Expr::Index(_));
        let is_change = match strip(change) {
            syn::Expr::Assign(assign) => is_of_attribute(&assign.left),
            syn::Expr::Binary(binary) => {
                super::statement::is_change(&binary.op) && is_of_attribute(&binary.left)
            }
            _ => false,
        };
        if !is_change {
            let label = "expected `require_fits(entity.attribute += value)`";
            return Err(self.problem(change.span(), "this changes no attribute", label));
        }
        let Some(atomic) = &mut self.atomic else {
            let message = "only an atomic command knows what a change leads to";
            let label = "expected `#[command(…, atomic)]`";
            return Err(self.problem(change.span(), message, label));
        };
        let before = std::mem::replace(&mut atomic.fits, true);
        let result = self.expression(change, None);
        if let Some(atomic) = &mut self.atomic {
            atomic.fits = before;
        }
        result.map(|_| Value::UNIT)
    }

    /// Looks around, which an atomic command can't.
    pub(super) fn check_near(&self, span: Span) -> Checked<()> {
        if self.atomic.is_none() {
            return Ok(());
        }
        let message = "an atomic command can't look around";
        let label = "it can't say beforehand which entities are near";
        let help = "an ordinary command can, and `after(1, …)` hands an atomic one what it found";
        Err(self.helped(span, message, label, help))
    }
}

/// Guards what an atomic command resolves, or says which entity can't be bounded. `names` has the
/// registers' numbers before they were numbered anew.
pub(super) fn guarded(
    lower: &Lower<'_>,
    atomic: &Atomic,
    mut code: Code,
    names: &HashMap<Reg, Reg>,
) -> Result<Code, Box<Diagnostic>> {
    let Err(unbounded) = Keys::of(&code) else {
        atomic::guard(&mut code);
        // One that changes nothing is atomic, too: its instructions say so.
        if !code.is_atomic() {
            code.insts.extend([Inst::End, Inst::Refuse]);
        }
        return Ok(code);
    };
    let reg = code.insts[unbounded.inst].sets();
    let place = reg.and_then(|reg| names.get(&reg));
    let place = place.and_then(|before| atomic.places.get(before));
    let (file, span) = match place {
        Some(&place) => place,
        // Parameters have no place of their own.
        None => (lower.file(), lower.name_span()),
    };
    let (message, label) = match unbounded.is_too_many {
        true => (
            "an atomic command can't use so many entities",
            format!("at most {KEYS_MAX}, with all that its references lead to"),
        ),
        false => (
            "an atomic command can't compute which entity it uses",
            "expected an argument, or an attribute of one".to_owned(),
        ),
    };
    let mut problem = lower.unit.files[file].at(span, message, label);
    problem.help = Some(
        "name the entities: `me`, arguments, and what their attributes refer to; a loop can't \
         follow a chain of references"
            .to_owned(),
    );
    Err(Box::new(problem))
}
