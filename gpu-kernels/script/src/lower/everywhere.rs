//! What asks for entities wherever they are: by kind, by ranking, by holder, and by group.

use proc_macro2::Span;
use shared::predicate::nearest;
use syn::spanned::Spanned;

use super::statement::strip;
use super::{Checked, Loop, Lower};
use crate::diagnostic::one_of;
use crate::ir::{ALL_MAX, Binary, Inst, Operand, Reg};
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
        Ok(self.of_kind(slot, Some(kind)))
    }

    /// `for name in all("kind")`. With more of them than it may go over, the run overruns.
    pub(super) fn all_loop(
        &mut self,
        name: &str,
        is_mutable: bool,
        call: &'a syn::ExprCall,
        body: &'a syn::Block,
    ) -> Checked<Value> {
        let takes = ("`all` takes 1 argument", "expected `all(\"kind\")`");
        let [kind] = self.arguments_of_visit("`all`", call, takes)?;
        let kind = self.asked_kind(kind)?;
        self.check_near(call.span())?;
        let fits = self.label();
        let count = self.set(|reg| Inst::Count(reg, kind));
        let is_over = self.binary(Binary::Lt, ALL_MAX.into(), count);
        self.emit(Inst::JumpUnless(is_over, fits));
        self.emit(Inst::Overrun);
        self.place(fits);
        let nth = |reg, place| Inst::Nth(reg, kind, place);
        self.visit(None, nth, |lower, slot| {
            let value = lower.of_kind(slot, Some(kind));
            lower.round((name, is_mutable), value, call, body)
        })
    }

    /// An entity whose kind may be known.
    pub(super) fn of_kind(&mut self, slot: Operand, kind: Option<u16>) -> Value {
        if let (Operand::Reg(reg), Some(kind)) = (slot, kind)
            && self.unit.schema.is_thing(kind)
        {
            self.things.push((reg, kind));
        }
        Value::scalar(Type::Entity, slot)
    }

    /// A thing has no place, so nothing reads it where the kind is known.
    pub(super) fn check_place(&self, slot: Operand, span: Span) -> Checked<()> {
        let mut things = self.things.iter();
        let Some((_, kind)) = things.find(|(reg, _)| Operand::Reg(*reg) == slot) else {
            return Ok(());
        };
        let name = &self.unit.schema.kinds[usize::from(*kind)].name;
        let message = format!("a `{name}` has no place");
        let label = "things belong to a holder";
        let help = "its holder may have one: `thing.holder.position`";
        Err(self.helped(span, message, label, help))
    }

    /// `rank(entity, "ranking")`: the place of an entity, from 1 on; 0 if it has none.
    pub(super) fn rank(&mut self, entity: &'a syn::Expr, ranking: &'a syn::Expr) -> Checked<Value> {
        let slot = self.expression_of(entity, Type::Entity)?.operand();
        let (ranking, _) = self.ranking(ranking)?;
        let rank = self.set(|reg| Inst::Rank(reg, slot, ranking));
        Ok(Value::scalar(Type::Int, rank))
    }

    /// `for name in top("ranking", number)`: at most as many as the ranking's length.
    pub(super) fn top_loop(
        &mut self,
        name: &str,
        is_mutable: bool,
        call: &'a syn::ExprCall,
        body: &'a syn::Block,
    ) -> Checked<Value> {
        let takes = (
            "`top` takes 2 arguments",
            "expected `top(\"ranking\", number)`",
        );
        let [ranking, number] = self.arguments_of_visit("`top`", call, takes)?;
        let (ranking, length) = self.ranking(ranking)?;
        let at = number.span();
        let number = self.expression_of(number, Type::Int)?.operand();
        let length = i32::from(length);
        if let Some(found) = number.constant().filter(|found| *found > length) {
            let message = format!("the ranking is {length} long, so it has no first {found}");
            let help = "a world file can say `length = …` in its `[[ranking]]`";
            return Err(self.helped(at, message, "", help));
        }
        self.check_near(call.span())?;
        let most = self.binary(Binary::Min, number, length.into());
        let ranked = |reg, place| Inst::Ranked(reg, ranking, place);
        self.visit(Some(most), ranked, |lower, slot| {
            let value = Value::scalar(Type::Entity, slot);
            lower.round((name, is_mutable), value, call, body)
        })
    }

    /// The arguments of a loop over entities wherever they are, which clients do not have. `takes` is
    /// the problem, and what is expected, where their number is another one.
    pub(super) fn arguments_of_visit<const N: usize>(
        &self,
        name: &str,
        call: &'a syn::ExprCall,
        (message, label): (&str, &str),
    ) -> Checked<[&'a syn::Expr; N]> {
        if self.unit.is_client {
            return Err(self.is_for_worlds(name, call.span()));
        }
        let arguments: Vec<_> = call.args.iter().collect();
        let arguments = arguments.try_into();
        arguments.map_err(|_| self.problem(call.span(), message, label))
    }

    /// Goes over the entities at places from 0 on, until there is none, or before one.
    pub(super) fn visit(
        &mut self,
        most: Option<Operand>,
        at: impl FnOnce(Reg, Operand) -> Inst,
        body: impl FnOnce(&mut Lower<'a>, Operand) -> Checked<()>,
    ) -> Checked<Value> {
        let (head, again, exit) = (self.label(), self.label(), self.label());
        let place = self.copy(Value::constant(Type::Int, 0));
        self.place(head);
        if let Some(most) = most {
            let goes_on = self.binary(Binary::Lt, place.operand(), most);
            self.emit(Inst::JumpUnless(goes_on, exit));
        }
        let slot = self.set(|reg| at(reg, place.operand()));
        let is_none = self.binary(Binary::Eq, slot, Value::NOBODY.operand());
        self.emit(Inst::JumpIf(is_none, exit));
        self.loops.push(Loop { exit, again });
        self.step();
        let result = body(self, slot);
        self.loops.pop();
        self.place(again);
        let next = self.binary(Binary::Add, place.operand(), 1.into());
        self.assign(place, Value::scalar(Type::Int, next));
        self.emit(Inst::Jump(head));
        self.place(exit);
        result.map(|()| Value::UNIT)
    }

    /// The number and the length of the ranking that a text names.
    fn ranking(&self, ranking: &syn::Expr) -> Checked<(u16, u16)> {
        let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(literal),
            ..
        }) = strip(ranking)
        else {
            let label = "expected a text such as \"score\"";
            return Err(self.problem(ranking.span(), "a ranking is named by a text", label));
        };
        let name = literal.value();
        let rankings = &self.unit.schema.rankings;
        let mut numbered = (0..).zip(rankings);
        if let Some((number, found)) = numbered.find(|(_, ranking)| ranking.name == name) {
            return Ok((number, found.length));
        }
        let message = format!("there is no ranking \"{name}\"");
        let known: Vec<&str> = rankings.iter().map(|ranking| &ranking.name[..]).collect();
        Err(
            match (nearest(&name, known.iter().copied()), known.is_empty()) {
                (Some(near), _) => {
                    let help = format!("did you mean \"{near}\"?");
                    self.helped(ranking.span(), message, "", help)
                }
                (None, true) => {
                    let help = "a world file declares one: `[[ranking]]` with `kind` and `by`";
                    self.helped(ranking.span(), message, "", help)
                }
                (None, false) => self.problem(ranking.span(), message, one_of(&known)),
            },
        )
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
