//! Commands that name a newborn: `let pile = spawn(Pile { count: n }, me); after(10, rot(pile));`
//!
//! Which entity is born is known in the next tick only. So what is scheduled is a follow-up of the
//! birth, as [`shared::world::given`] describes it, which says how many commands ago the run has
//! scheduled the birth: these are counted from there on, by instructions like all others.

use proc_macro2::Span;
use shared::CommandKind;
use shared::world::config::DELAY_TICKS_MAX;
use shared::world::given::{FOLLOW_UP_WORDS, FollowUp, SINCE_MAX, TICK_BITS};
use syn::spanned::Spanned;

use super::effect::{GivenCommand, Named};
use super::statement::{is_call, strip};
use super::timer::Timer;
use super::{Checked, Local, Lower};
use crate::diagnostic::Diagnostic;
use crate::ir::{After, Binary, Inst, NOBODY, Operand, TIMED_WORDS_MAX};
use crate::parse::name_of;
use crate::types::{Type, Value};

impl<'a> Lower<'a> {
    /// Schedules a command. Where newborns have names, it is counted.
    pub(super) fn schedule(&mut self, after: After) {
        // Nothing is scheduled for an entity that isn't there.
        let is_there = match after.actor {
            Some(actor) if Some(actor) != self.me => Some(actor),
            _ => None,
        };
        self.emit(Inst::After(after));
        let Some(scheduled) = self.scheduled else {
            return;
        };
        let one = match is_there {
            Some(actor) => self.binary(Binary::Ne, actor, NOBODY.into()),
            None => Operand::Const(1),
        };
        let sum = self.binary(Binary::Add, scheduled.operand(), one);
        self.assign(scheduled, Value::scalar(Type::Int, sum));
    }

    /// The birth whose newborn a `let` names, if it does.
    pub(super) fn birth_to_name(
        &self,
        local: &'a syn::Local,
        ty: Option<Type>,
        is_mutable: bool,
    ) -> Checked<Option<&'a syn::Expr>> {
        if self.unit.is_test || self.unit.is_client {
            return Ok(None);
        }
        let init = local.init.as_ref().filter(|init| init.diverge.is_none());
        let birth = init
            .map(|init| &*init.expr)
            .filter(|from| matches!(strip(from), syn::Expr::Call(call) if is_call(call, "spawn")));
        let Some(birth) = birth.filter(|_| ty.is_none_or(|ty| ty == Type::Entity)) else {
            return Ok(None);
        };
        if is_mutable {
            let message = "the name of a newborn can't be changed";
            return Err(self.problem(local.pat.span(), message, "expected a name without `mut`"));
        }
        Ok(Some(birth))
    }

    /// `let name = spawn(…);`
    pub(super) fn bind_newborn(&mut self, name: &str, birth: &'a syn::Expr) -> Checked<Value> {
        if self.scheduled.is_none() {
            self.scheduled = Some(self.copy(Value::constant(Type::Int, 0)));
        }
        let spawned = self.expression(birth, None);
        if spawned.is_err() {
            self.bind(name, Value::NEVER, false);
        }
        spawned?;
        if let Some(scheduled) = self.scheduled {
            // Other commands are scheduled later.
            let value = self.copy(scheduled);
            self.bind_local(
                name,
                Local {
                    value,
                    is_mutable: false,
                    is_unborn: true,
                },
            );
        }
        Ok(Value::UNIT)
    }

    /// The birth of the newborn that an argument names, if it names one.
    pub(super) fn unborn(&self, argument: &syn::Expr) -> Option<Operand> {
        let syn::Expr::Path(path) = strip(argument) else {
            return None;
        };
        let local = self.local(&name_of(path.path.get_ident()?))?;
        local.is_unborn.then(|| local.value.operand())
    }

    /// Notes that a command names a newborn: as a word, or as who gives it.
    pub(super) fn name_newborn(
        &self,
        named: &mut Option<Named>,
        birth: Operand,
        place: Option<usize>,
        argument: &syn::Expr,
    ) -> Checked<()> {
        let named = named.get_or_insert(Named {
            birth,
            words: 0,
            is_giver: false,
        });
        if named.birth != birth {
            let message = "a command can name one newborn only";
            return Err(self.problem(argument.span(), message, "this is another one"));
        }
        match place {
            Some(place) => named.words |= 1u32.checked_shl(place as u32).unwrap_or(0),
            None => named.is_giver = true,
        }
        Ok(())
    }

    /// `after(ticks, command(…))` with a newborn among the arguments.
    pub(super) fn follow_up(
        &mut self,
        ticks: Operand,
        newborn: Named,
        given: GivenCommand<'a>,
        timer: Option<Timer>,
    ) -> Checked<Value> {
        let (name, span) = (&given.name, given.call.span());
        if timer.is_some() {
            let message = "an attribute can't keep a command that names a newborn";
            return Err(self.problem(span, message, "expected entities that live"));
        }
        let places = (0..).zip(&given.words);
        let others = places.filter(|(place, _)| newborn.words >> place & 1 == 0);
        let others: Vec<Operand> = others.map(|(_, &word)| word).collect();
        let count = given.words.len();
        if count > TIMED_WORDS_MAX || others.len() > FOLLOW_UP_WORDS {
            let message = format!("`{name}` has too many parameters to be scheduled for a newborn");
            let label = format!(
                "at most {FOLLOW_UP_WORDS} beside it, found {}",
                others.len()
            );
            return Err(self.problem(span, message, label));
        }
        let form = FollowUp {
            command: given.command,
            words: count,
            newborn: newborn.words,
            is_giver: newborn.is_giver,
        };
        // From the tick of the birth, which is the next one, and not within it.
        let most = Operand::Const(DELAY_TICKS_MAX.cast_signed());
        let ticks = self.binary(Binary::Min, ticks, most);
        let ticks = self.binary(Binary::Max, ticks, Operand::Const(2));
        let ticks = self.binary(Binary::Sub, ticks, Operand::Const(1));
        let scheduled = self.scheduled.map_or(Operand::ZERO, |n| n.operand());
        let since = self.binary(Binary::Sub, scheduled, newborn.birth);
        let since = self.binary(Binary::Add, since, Operand::Const(1));
        let since = self.binary(Binary::Min, since, Operand::Const(SINCE_MAX.cast_signed()));
        let bits = Operand::Const(TICK_BITS.cast_signed());
        let since = self.binary(Binary::Shl, since, bits);
        let when = self.binary(Binary::Or, since, ticks);
        let mut words = vec![Operand::Const(form.word()), when];
        words.extend(others);
        words.resize(TIMED_WORDS_MAX, Operand::ZERO);
        let actor = given.actor.filter(|_| !newborn.is_giver);
        self.schedule_call(After {
            ticks: Operand::Const(1),
            actor,
            command: CommandKind::SPAWN.0,
            words,
        })
    }

    /// A newborn where an entity must live.
    pub(super) fn not_born(&self, name: &str, span: Span) -> Box<Diagnostic> {
        let message = format!("`{name}` is not born yet");
        let label = "expected it as an argument of a scheduled command";
        let help = format!(
            "which entity it is, is known once it is born, in the next tick: \
             `after(1, command({name}))`; its values stand in `spawn(Kind {{ … }}, place)`"
        );
        self.helped(span, message, label, help)
    }
}
