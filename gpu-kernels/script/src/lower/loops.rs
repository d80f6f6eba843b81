//! Loops, and what leaves them.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::statement::{is_call, plain_name, strip};
use super::{Checked, Loop, Lower, Scope};
use crate::ir::{Binary, Inst, Operand};
use crate::types::{Type, Value};

/// How deep loops over what is near may nest.
const NEAR_DEPTH_MAX: u8 = 4;

impl<'a> Lower<'a> {
    /// `for name in range`, or in `near(…)`, `all(…)`, `top(…)` or
    /// `held_by(…)`, `members(…)`.
    pub(super) fn for_loop(&mut self, each: &'a syn::ExprForLoop) -> Checked<Value> {
        if let Some(label) = &each.label {
            let message = "scripts have no loop labels";
            return Err(self.problem(label.span(), message, "expected `for`"));
        }
        let Some((name, is_mutable)) = plain_name(&each.pat) else {
            let label = "expected a name";
            return Err(self.problem(each.pat.span(), "scripts don't have this pattern", label));
        };
        match strip(&each.expr) {
            syn::Expr::Range(range) => self.range_loop(&name, is_mutable, range, &each.body),
            syn::Expr::Call(call) if is_call(call, "near") => {
                self.near_loop(&name, is_mutable, call, &each.body)
            }
            syn::Expr::Call(call) if is_call(call, "top") => {
                self.top_loop(&name, is_mutable, call, &each.body)
            }
            syn::Expr::Call(call) if is_call(call, "held_by") => {
                self.held_loop(&name, is_mutable, call, &each.body)
            }
            syn::Expr::Call(call) if is_call(call, "members") => {
                self.members_loop(&name, is_mutable, call, &each.body)
            }
            syn::Expr::Call(call) if is_call(call, "all") => {
                self.all_loop(&name, is_mutable, call, &each.body)
            }
            other => Err(self.problem(
                other.span(),
                "this can't be looped over",
                "expected a range such as `0..10`, `near(point, radius)` or `all(\"kind\")`",
            )),
        }
    }

    /// `while condition`, which the budget ends if nothing else does.
    pub(super) fn while_loop(&mut self, each: &'a syn::ExprWhile) -> Checked<Value> {
        if let Some(label) = &each.label {
            let message = "scripts have no loop labels";
            return Err(self.problem(label.span(), message, "expected `while`"));
        }
        if let syn::Expr::Let(pattern) = strip(&each.cond) {
            let label = "expected a condition";
            return Err(self.problem(pattern.span(), "scripts have no `while let`", label));
        }
        let (head, exit) = (self.label(), self.label());
        self.place(head);
        self.loops.push(Loop { exit, again: head });
        self.step();
        let result = self.while_round(each, exit);
        self.loops.pop();
        self.emit(Inst::Jump(head));
        self.place(exit);
        result.map(|()| Value::UNIT)
    }

    fn while_round(&mut self, each: &'a syn::ExprWhile, exit: u32) -> Checked<()> {
        let condition = self.expression_of(&each.cond, Type::Bool)?.operand();
        self.emit(Inst::JumpUnless(condition, exit));
        self.block(&each.body, Some(Type::Unit))?;
        Ok(())
    }

    fn range_loop(
        &mut self,
        name: &str,
        is_mutable: bool,
        range: &'a syn::ExprRange,
        body: &'a syn::Block,
    ) -> Checked<Value> {
        let (Some(start), Some(end)) = (&range.start, &range.end) else {
            let label = "expected both ends, as in `0..10`";
            return Err(self.problem(range.span(), "this range has no end", label));
        };
        let first = self.expression_of(start, Type::Int)?;
        let last = self.expression_of(end, Type::Int)?;
        let is_closed = matches!(range.limits, syn::RangeLimits::Closed(_));
        let counter = self.copy(first);
        let (head, again, exit) = (self.label(), self.label(), self.label());
        if is_closed {
            let is_empty = self.binary(Binary::Lt, last.operand(), counter.operand());
            self.emit(Inst::JumpIf(is_empty, exit));
        }
        self.place(head);
        self.loops.push(Loop { exit, again });
        if !is_closed {
            let goes_on = self.binary(Binary::Lt, counter.operand(), last.operand());
            self.emit(Inst::JumpUnless(goes_on, exit));
        }
        self.step();
        let own = self.copy(counter);
        let result = self.round((name, is_mutable), own, range, body);
        self.loops.pop();
        self.place(again);
        if is_closed {
            // The last number may be the largest that there is.
            let is_last = self.binary(Binary::Le, last.operand(), counter.operand());
            self.emit(Inst::JumpIf(is_last, exit));
        }
        let next = self.binary(Binary::Add, counter.operand(), 1.into());
        self.assign(counter, Value::scalar(Type::Int, next));
        self.emit(Inst::Jump(head));
        self.place(exit);
        result.map(|()| Value::UNIT)
    }

    /// A round of a loop, in which a value has a name.
    pub(super) fn round(
        &mut self,
        (name, is_mutable): (&str, bool),
        value: Value,
        at: &dyn Spanned,
        body: &'a syn::Block,
    ) -> Checked<()> {
        self.scopes.push(Scope::default());
        self.bind(name, value, is_mutable);
        self.value_site(at, name, value);
        let result = self.block(body, Some(Type::Unit));
        self.scopes.pop();
        result.map(|_| ())
    }

    fn near_loop(
        &mut self,
        name: &str,
        is_mutable: bool,
        call: &'a syn::ExprCall,
        body: &'a syn::Block,
    ) -> Checked<Value> {
        let arguments: Vec<_> = call.args.iter().collect();
        let (center, radius, kind) = match arguments[..] {
            [center, radius] => (center, radius, None),
            [center, radius, kind] => (center, radius, Some(kind)),
            _ => {
                let label = "expected `near(place, radius)` or `near(place, radius, \"kind\")`";
                return Err(self.problem(call.span(), "`near` takes 2 or 3 arguments", label));
            }
        };
        let center = self.place_of(center)?;
        let radius = self.expression_of(radius, Type::Fixed)?;
        let kind = self.kind_argument(kind)?;
        self.visit_near(center, radius.operand(), call, |lower, slot| {
            if let (Some(_), Some(own)) = (kind, lower.loops.last()) {
                let again = own.again;
                let is_kind = lower.is_kind(slot, kind);
                lower.emit(Inst::JumpUnless(is_kind, again));
            }
            let value = Value::scalar(Type::Entity, slot);
            lower.round((name, is_mutable), value, call, body)
        })?;
        Ok(Value::UNIT)
    }

    /// Runs `body` with each entity within a radius of a point.
    pub(super) fn visit_near(
        &mut self,
        center: [Operand; 3],
        radius: Operand,
        at: &dyn Spanned,
        body: impl FnOnce(&mut Lower<'a>, Operand) -> Checked<()>,
    ) -> Checked<()> {
        self.check_near(at.span())?;
        if self.near_depth == NEAR_DEPTH_MAX {
            let label = format!("at most {NEAR_DEPTH_MAX} deep are allowed");
            return Err(self.problem(at.span(), "visits of what is near nest too deep", label));
        }
        let number = self.near_depth;
        self.near_depth += 1;
        self.near_max = self.near_max.max(self.near_depth);
        let (center, plane) = self.search_from(center, radius);
        let (head, exit) = (self.label(), self.label());
        self.emit(Inst::NearOpen(number, center, radius));
        self.place(head);
        let slot = self.register();
        self.emit(Inst::NearNext(slot, number, exit));
        self.loops.push(Loop { exit, again: head });
        if let Some(plane) = plane {
            self.skip_unless_in(&plane, slot.into(), head);
        }
        let result = body(self, slot.into());
        self.loops.pop();
        self.emit(Inst::Jump(head));
        self.place(exit);
        self.near_depth -= 1;
        result
    }

    /// `break` or `continue`.
    pub(super) fn jump_out(&mut self, span: Span, is_break: bool) -> Checked<Value> {
        let own = self.frames.last().map_or(0, |frame| frame.loops);
        match self.loops[own..].last() {
            Some(around) => {
                let target = if is_break { around.exit } else { around.again };
                self.emit(Inst::Jump(target));
                Ok(Value::NEVER)
            }
            None => {
                let label = "expected it inside of a loop";
                Err(self.problem(span, "there is no loop around this", label))
            }
        }
    }
}
