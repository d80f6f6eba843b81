//! What only tests do: entities come and get values at once, commands are given, ticks pass.

use proc_macro2::Span;
use shared::CommandKind;
use syn::spanned::Spanned;

use super::birth::{Given, Newborn};
use super::collection::ColumnRef;
use super::sites::{TestStep, What};
use super::{Checked, Lower};
use crate::ir::{Inst, Operand};
use crate::types::{Type, Value};

impl<'a> Lower<'a> {
    /// A call of a function that only tests have, or that does something else in tests.
    pub(super) fn test_call(
        &mut self,
        name: &str,
        arguments: &[&'a syn::Expr],
        call: &'a syn::ExprCall,
    ) -> Checked<Option<Value>> {
        match (name, arguments) {
            ("spawn", &[kind]) => self.test_spawn(kind, None, call.span()).map(Some),
            ("spawn", &[kind, place]) => {
                let spawned = self.test_spawn(kind, Some(place), call.span());
                spawned.map(Some)
            }
            ("send", &[command]) => self.test_send(command).map(Some),
            ("ticks", &[n]) => {
                let n = self.expression_of(n, Type::Int)?.operand();
                self.test_step(call.span(), TestStep::Ticks(n));
                Ok(Some(Value::UNIT))
            }
            ("tick", &[]) => {
                let now = self.register();
                self.test_step(call.span(), TestStep::Now(now));
                Ok(Some(Value::scalar(Type::Int, now.into())))
            }
            ("assert", &[condition]) => {
                let value = self.expression_of(condition, Type::Bool)?;
                self.assert(call.span(), value.operand(), "this is not true");
                Ok(Some(Value::UNIT))
            }
            ("assert_eq", &[left, right]) => self.assert_eq(left, right, call).map(Some),
            // In a command it ends the run in silence.
            ("require", &[condition]) => {
                let value = self.expression_of(condition, Type::Bool)?;
                self.assert(call.span(), value.operand(), "this does not hold");
                Ok(Some(Value::UNIT))
            }
            ("require", &[condition, reason]) => {
                let reason = self.reason(reason)?;
                let value = self.expression_of(condition, Type::Bool)?;
                self.assert(call.span(), value.operand(), &reason);
                Ok(Some(Value::UNIT))
            }
            // An entity may have died since.
            ("exists", &[entity]) => {
                let slot = self.expression_of(entity, Type::Entity)?.operand();
                let reference = self.set(|reg| Inst::Reference(reg, slot));
                let now = self.set(|reg| Inst::Resolve(reg, reference));
                let nobody = Value::NOBODY.operand();
                let exists = self.binary(crate::ir::Binary::Ne, now, nobody);
                Ok(Some(Value::scalar(Type::Bool, exists)))
            }
            ("despawn", &[entity]) => {
                let actor = self.expression_of(entity, Type::Entity)?.operand();
                let step = TestStep::Send {
                    command: CommandKind::DESPAWN.0,
                    actor: Some(actor),
                    words: vec![],
                };
                self.test_step(call.span(), step);
                Ok(Some(Value::UNIT))
            }
            ("after" | "tell", _) => {
                let message = format!("`{name}` has no place in a test");
                let label = "only commands do this";
                let help = "a test gives commands: `send(command(me, …)); ticks(1);`";
                Err(self.helped(call.span(), message, label, help))
            }
            _ => match FORMS.iter().find(|(form, _)| *form == name) {
                Some((_, form)) => {
                    let message = format!("`{name}` takes other arguments in a test");
                    Err(self.problem(call.span(), message, format!("expected `{form}`")))
                }
                None => Ok(None),
            },
        }
    }

    pub(super) fn test_step(&mut self, span: Span, step: TestStep) {
        self.site(&span, || What::Test(step));
    }

    /// `spawn(…)`, which counts at once in a test.
    fn test_spawn(
        &mut self,
        what: &'a syn::Expr,
        place: Option<&'a syn::Expr>,
        span: Span,
    ) -> Checked<Value> {
        let Some(Newborn { kind, given }) = self.newborn(what)? else {
            return Ok(Value::NEVER);
        };
        let place = self.birthplace(kind, what, place)?;
        let slot = self.register();
        self.test_step(span, TestStep::Spawn { slot, kind, place });
        for Given { column, value, .. } in given {
            let step = TestStep::Set {
                slot: slot.into(),
                column,
                index: None,
                words: vec![value],
            };
            self.test_step(span, step);
        }
        Ok(Value::scalar(Type::Entity, slot.into()))
    }

    /// `send(command(me, …))`.
    fn test_send(&mut self, command: &'a syn::Expr) -> Checked<Value> {
        let label = "expected `send(command(me, …))`";
        let given = self.given_command(command, label, "only commands can be sent")?;
        let step = TestStep::Send {
            command: given.command,
            actor: given.actor,
            words: given.words,
        };
        self.test_step(given.call.span(), step);
        Ok(Value::UNIT)
    }

    fn assert(&mut self, span: Span, condition: Operand, text: &str) {
        let step = TestStep::Assert {
            condition,
            text: text.to_owned(),
        };
        self.test_step(span, step);
    }

    fn assert_eq(
        &mut self,
        left: &'a syn::Expr,
        right: &'a syn::Expr,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let [a, b] = match super::statement::is_text(left) {
            true => {
                let b = self.expression(right, None)?;
                [self.expression(left, Some(b.ty))?, b]
            }
            false => {
                let a = self.expression(left, None)?;
                [a, self.expression(right, Some(a.ty))?]
            }
        };
        self.value_site(left, "left", a);
        self.value_site(right, "right", b);
        let equal = syn::BinOp::Eq(Default::default());
        let is_equal = self.operate(equal, a, b, [left, right, call])?;
        self.assert(call.span(), is_equal.operand(), "these differ");
        Ok(Value::UNIT)
    }

    /// `entity.attribute = value`, and `+=` and the like, which count at once in a test.
    pub(super) fn test_update(
        &mut self,
        slot: Operand,
        place: ColumnRef,
        (old, op, from): (Value, Option<&'a syn::BinOp>, &'a syn::Expr),
        span: Span,
    ) -> Checked<()> {
        let value = self.assigned(old, op, from)?;
        let mut words = vec![];
        self.words(value, &mut words);
        let over = self.label();
        if let Some(is_in) = place.is_in {
            self.emit(Inst::JumpUnless(is_in, over));
        }
        let step = TestStep::Set {
            slot,
            column: place.column,
            index: place.index,
            words,
        };
        self.test_step(span, step);
        self.place(over);
        Ok(())
    }
}

const FORMS: [(&str, &str); 5] = [
    (
        "spawn",
        "spawn(\"kind\", place)` or `spawn(Kind { … }, place)",
    ),
    ("send", "send(command(me, …))"),
    ("ticks", "ticks(number)"),
    ("assert", "assert(condition)"),
    ("assert_eq", "assert_eq(left, right)"),
];
