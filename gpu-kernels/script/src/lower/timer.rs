//! Timers: scheduled commands that an attribute keeps, so that they can be cancelled.
//!
//! `me.fuse = after(50, explode(me))` stores a number in `fuse` that says when and where it was
//! scheduled, and schedules `explode` as it is with such a timer: a command of its own, with the number
//! as a last argument, that ends at once unless `fuse` has that number still. So whatever changes
//! `fuse` cancels the command, and no backend knows of timers.

use syn::spanned::Spanned;

use super::collection::Element;
use super::effect::GivenCommand;
use super::statement::{is_call, strip};
use super::{Checked, Lower};
use crate::ir::{Binary, Code, Inst, Operand, Reg, TIMED_WORDS_MAX, WriteOp};
use crate::types::{Type, Value};

/// The attribute that is to keep the command which is scheduled next.
#[derive(Clone, Copy)]
pub(super) struct Timer {
    slot: Operand,
    column: u16,
}

impl<'a> Lower<'a> {
    /// Notes that an attribute is to keep a command, if that is what an update by `from` is.
    pub(super) fn begin_timer(
        &mut self,
        element: &Element<'a>,
        op: Option<&'a syn::BinOp>,
        from: &'a syn::Expr,
    ) -> Checked<()> {
        let is_after = matches!(strip(from), syn::Expr::Call(call) if is_call(call, "after"));
        if op.is_none() && is_after {
            self.check_timer(element)?;
            self.timer = Some(Timer {
                slot: element.slot,
                column: element.place.column,
            });
        }
        Ok(())
    }

    /// Checks that an attribute can keep any number of a timer.
    fn check_timer(&self, element: &Element<'a>) -> Checked<()> {
        let (name, span) = (&element.name, element.span);
        if element.ty != Type::Int || element.place.index.is_some() {
            let message = format!("`{name}` can't keep a timer");
            let label = "expected an attribute of type i32, or an element with a constant index";
            return Err(self.problem(span, message, label));
        }
        let kinds = self.unit.schema.kinds.iter();
        let mut own = kinds.flat_map(|kind| &kind.attributes);
        let is_narrow = |column: u16, (min, max): (i32, i32)| {
            column == element.place.column && (min > 0 || max < i32::MAX)
        };
        if own.any(|own| is_narrow(own.column, (own.min, own.max))) {
            let message = format!("`{name}` can't keep a timer");
            let label = "it has a `min` above 0, or a `max`";
            return Err(self.problem(span, message, label));
        }
        Ok(())
    }

    /// Has an attribute keep a command that is scheduled. Gives the number that it keeps.
    pub(super) fn keep_timer(
        &mut self,
        timer: Timer,
        given: &mut GivenCommand<'a>,
    ) -> Checked<Value> {
        let span = given.call.span();
        if given.actor != Some(timer.slot) {
            let message = "an entity can only keep a timer of its own";
            let label = "expected a command that this entity gives, as its first argument";
            return Err(self.problem(span, message, label));
        }
        if given.words.len() + 1 > TIMED_WORDS_MAX {
            let message = format!("`{}` has too many parameters for a timer", given.name);
            let most = TIMED_WORDS_MAX - 1;
            let label = format!("at most {most}, found {}", given.words.len());
            return Err(self.problem(span, message, label));
        }
        let start = span.start();
        let place = (self.file(), start.line, start.column);
        let site = i32::try_from(self.unit.timer_site(place)).ok();
        let site = site.filter(|site| *site < 1 << SITE_BITS);
        let kept = self
            .unit
            .kept_command(&given.name, given.command, timer.column);
        let (Some(site), Some(command)) = (site, kept) else {
            let message = "the world has too many timers, or has had too many commands";
            return Err(self.problem(span, message, ""));
        };
        let tick = self.set(Inst::Tick);
        let low = self.binary(Binary::And, tick, Operand::Const((1 << TICK_BITS) - 1));
        let high = self.binary(Binary::Shl, low, Operand::Const(SITE_BITS));
        let number = self.binary(Binary::Or, high, Operand::Const(site));
        given.command = command.id();
        given.words.push(number);
        Ok(Value::scalar(Type::Int, number))
    }

    /// `cancel(entity.attribute)`.
    pub(super) fn cancel(&mut self, of: &'a syn::Expr) -> Checked<Value> {
        if self.unit.is_test {
            let message = "a test sets attributes by `=`";
            return Err(self.problem(of.span(), message, ""));
        }
        let element = self.attribute_or_element(strip(of))?;
        self.check_timer(&element)?;
        self.check_set(&element)?;
        self.change_at(element.slot, element.place, WriteOp::Set, Operand::ZERO);
        let none = Value::scalar(Type::Int, Operand::ZERO);
        self.update_site(of, element.slot, element.place, None, none);
        Ok(Value::UNIT)
    }
}

/// A command's instructions where an attribute of its entity keeps it: they end at once unless that
/// has the number which is the last of so many words.
pub fn kept(code: &Code, words: u16, column: u16) -> Code {
    let [number, actor, now, is_other] = [0, 1, 2, 3].map(|n| Reg(code.registers + n));
    let mut insts = vec![
        Inst::Word(number, words - 1),
        Inst::Actor(actor),
        Inst::Read(now, actor.into(), column),
        Inst::Binary(is_other, Binary::Ne, now.into(), number.into()),
        Inst::JumpUnless(is_other.into(), 6),
        Inst::End,
    ];
    let before = insts.len() as u32;
    insts.extend(code.insts.iter().cloned().map(|mut inst| {
        if let Some(target) = inst.target_mut() {
            *target += before;
        }
        inst
    }));
    Code {
        insts,
        registers: code.registers + 4,
        loops: code.loops,
    }
}

/// More ticks than a command can wait, so that no two that wait have the same.
const TICK_BITS: i32 = 20;
const _: () = assert!(shared::world::config::DELAY_TICKS_MAX < 1 << TICK_BITS);
/// Of the number of a place in the texts; with those of a tick they leave the sign.
const SITE_BITS: i32 = 11;
const _: () = assert!(TICK_BITS + SITE_BITS == 31);
