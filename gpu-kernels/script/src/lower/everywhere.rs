//! What asks for entities wherever they are, by their kind.

use syn::spanned::Spanned;

use super::statement::strip;
use super::{Checked, Loop, Lower, Scope};
use crate::ir::{ALL_MAX, Binary, Inst, Operand};
use crate::types::{Type, Value};

impl<'a> Lower<'a> {
    /// `count("kind")`: how many of a kind live.
    pub(super) fn count_everywhere(&mut self, kind: &'a syn::Expr) -> Checked<Value> {
        let kind = self.asked_kind(kind)?;
        let count = self.set(|reg| Inst::Count(reg, kind));
        Ok(Value::scalar(Type::Int, count))
    }

    /// `the("kind")`: the one of a kind that lives, or none.
    pub(super) fn the(&mut self, kind: &'a syn::Expr) -> Checked<Value> {
        let span = kind.span();
        let kind = self.asked_kind(kind)?;
        let slot = self.set(|reg| Inst::Nth(reg, kind, Operand::ZERO));
        self.note_named(slot, span);
        Ok(Value::scalar(Type::Entity, slot))
    }

    /// `for name in all("kind")`. With more of them than it may go over, the run overruns.
    pub(super) fn all_loop(
        &mut self,
        name: &str,
        is_mutable: bool,
        call: &'a syn::ExprCall,
        body: &'a syn::Block,
    ) -> Checked<Value> {
        if self.unit.is_client {
            return Err(self.is_for_worlds("`all`", call.span()));
        }
        let arguments: Vec<_> = call.args.iter().collect();
        let &[kind] = &arguments[..] else {
            let label = "expected `all(\"kind\")`";
            return Err(self.problem(call.span(), "`all` takes 1 argument", label));
        };
        let kind = self.asked_kind(kind)?;
        self.check_near(call.span())?;
        let (fits, head, again, exit) = (self.label(), self.label(), self.label(), self.label());
        let count = self.set(|reg| Inst::Count(reg, kind));
        let is_over = self.binary(Binary::Lt, ALL_MAX.into(), count);
        self.emit(Inst::JumpUnless(is_over, fits));
        self.emit(Inst::Overrun);
        self.place(fits);
        let place = self.copy(Value::constant(Type::Int, 0));
        self.place(head);
        let slot = self.set(|reg| Inst::Nth(reg, kind, place.operand()));
        let is_none = self.binary(Binary::Eq, slot, Value::NOBODY.operand());
        self.emit(Inst::JumpIf(is_none, exit));
        self.loops.push(Loop { exit, again });
        self.step();
        self.scopes.push(Scope::default());
        let value = Value::scalar(Type::Entity, slot);
        self.bind(name, value, is_mutable);
        self.value_site(call, name, value);
        let result = self.block(body, Some(Type::Unit));
        self.scopes.pop();
        self.loops.pop();
        self.place(again);
        let next = self.binary(Binary::Add, place.operand(), 1.into());
        self.assign(place, Value::scalar(Type::Int, next));
        self.emit(Inst::Jump(head));
        self.place(exit);
        result.map(|_| Value::UNIT)
    }

    /// The kind of which a text asks, which it names.
    fn asked_kind(&mut self, kind: &'a syn::Expr) -> Checked<u16> {
        let value = self.expression_of(kind, Type::Kind)?.operand();
        let is_text = matches!(
            strip(kind),
            syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(_),
                ..
            })
        );
        let Some(number) = value.constant().filter(|_| is_text) else {
            let message = "a kind is asked for by its name";
            return Err(self.problem(kind.span(), message, "expected a text such as \"player\""));
        };
        let shared = self.unit.schema.world_kind.map(i32::from);
        if shared == Some(number) {
            let message = "there is one world, which is nowhere";
            return Err(self.problem(kind.span(), message, "expected another kind"));
        }
        Ok(number as u16)
    }
}
