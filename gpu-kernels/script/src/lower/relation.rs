//! What asks for entities by a reference of theirs: the things of a holder, the members of a group.

use shared::world::group::{FIRST_GROUP, HOLDERS};
use syn::spanned::Spanned;

use super::statement::strip;
use super::{Checked, Lower};
use crate::diagnostic::one_of;
use crate::ir::{Binary, Inst, Operand};
use crate::types::{Type, Value};

impl<'a> Lower<'a> {
    /// `for name in held_by(holder)` and `held_by(holder, "kind")`: things in the order of slots, as
    /// they were held at the start of the tick.
    pub(super) fn held_loop(
        &mut self,
        name: &str,
        is_mutable: bool,
        call: &'a syn::ExprCall,
        body: &'a syn::Block,
    ) -> Checked<Value> {
        let arguments: Vec<_> = call.args.iter().collect();
        let (holder, kind) = match arguments[..] {
            [holder] => (holder, None),
            [holder, kind] => (holder, Some(kind)),
            _ => {
                let label = "expected `held_by(entity)` or `held_by(entity, \"kind\")`";
                let message = "`held_by` takes 1 or 2 arguments";
                return Err(self.problem(call.span(), message, label));
            }
        };
        self.visit_held("`held_by`", holder, kind, call, |lower, slot, kind| {
            let value = lower.of_kind(slot, kind);
            lower.round((name, is_mutable), value, call, body)
        })
    }

    /// `count_held(holder)` and `count_held(holder, "kind")`.
    pub(super) fn count_held(
        &mut self,
        holder: &'a syn::Expr,
        kind: Option<&'a syn::Expr>,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let n = self.copy(Value::constant(Type::Int, 0));
        self.visit_held("`count_held`", holder, kind, call, |lower, _, _| {
            let sum = lower.binary(Binary::Add, n.operand(), 1.into());
            lower.assign(n, Value::scalar(Type::Int, sum));
            Ok(())
        })?;
        Ok(n)
    }

    /// Runs `body` with each thing of a holder, of one kind or of all.
    fn visit_held(
        &mut self,
        name: &str,
        holder: &'a syn::Expr,
        kind: Option<&'a syn::Expr>,
        call: &'a syn::ExprCall,
        body: impl FnOnce(&mut Lower<'a>, Operand, Option<u16>) -> Checked<()>,
    ) -> Checked<Value> {
        if self.unit.is_client {
            return Err(self.is_for_worlds(name, call.span()));
        }
        let schema = self.unit.schema;
        if schema.holder_column().is_none() {
            let message = "this world has no things";
            let help = "a kind of things says `place = \"none\"` in the world file";
            return Err(self.helped(call.span(), message, "", help));
        }
        // Its variable may change in the loop.
        let holder = self.expression_of(holder, Type::Entity)?;
        let holder = self.copy(holder).operand();
        let at = kind.map(Spanned::span);
        let kind = self.kind_argument(kind)?;
        let known = kind.and_then(Operand::constant);
        let known = known.and_then(|kind| u16::try_from(kind).ok());
        if let (Some(kind), Some(at)) = (known, at)
            && !schema.is_thing(kind)
        {
            let message = format!("nobody holds a `{}`", schema.kinds[usize::from(kind)].name);
            let things = (0..).zip(&schema.kinds);
            let things = things.filter(|(kind, _)| schema.is_thing(*kind));
            let names: Vec<&str> = things.map(|(_, kind)| &kind.name[..]).collect();
            return Err(self.problem(at, message, one_of(&names)));
        }
        self.check_near(call.span())?;
        let held = |reg, place| Inst::Held(reg, HOLDERS, holder, place);
        self.visit(None, held, |lower, slot| {
            if let (Some(_), Some(own)) = (kind, lower.loops.last()) {
                let again = own.again;
                let is_kind = lower.is_kind(slot, kind);
                lower.emit(Inst::JumpUnless(is_kind, again));
            }
            body(lower, slot, known)
        })
    }

    /// `for name in members(group)` and `members(group, "attribute")`: who belonged to a group at the
    /// start of the tick, in the order of slots.
    pub(super) fn members_loop(
        &mut self,
        name: &str,
        is_mutable: bool,
        call: &'a syn::ExprCall,
        body: &'a syn::Block,
    ) -> Checked<Value> {
        let arguments: Vec<_> = call.args.iter().collect();
        let (group, attribute) = match arguments[..] {
            [group] => (group, None),
            [group, attribute] => (group, Some(attribute)),
            _ => {
                let label = "expected `members(group)` or `members(group, \"attribute\")`";
                let message = "`members` takes 1 or 2 arguments";
                return Err(self.problem(call.span(), message, label));
            }
        };
        self.visit_members("`members`", group, attribute, call, |lower, slot| {
            let value = Value::scalar(Type::Entity, slot);
            lower.round((name, is_mutable), value, call, body)
        })
    }

    /// `count_members(group)` and `count_members(group, "attribute")`.
    pub(super) fn count_members(
        &mut self,
        group: &'a syn::Expr,
        attribute: Option<&'a syn::Expr>,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let n = self.copy(Value::constant(Type::Int, 0));
        self.visit_members("`count_members`", group, attribute, call, |lower, _| {
            let sum = lower.binary(Binary::Add, n.operand(), 1.into());
            lower.assign(n, Value::scalar(Type::Int, sum));
            Ok(())
        })?;
        Ok(n)
    }

    /// Runs `body` with each member of a group.
    fn visit_members(
        &mut self,
        name: &str,
        group: &'a syn::Expr,
        attribute: Option<&'a syn::Expr>,
        call: &'a syn::ExprCall,
        body: impl FnOnce(&mut Lower<'a>, Operand) -> Checked<()>,
    ) -> Checked<Value> {
        if self.unit.is_client {
            return Err(self.is_for_worlds(name, call.span()));
        }
        let relation = self.group(attribute, call)?;
        // Its variable may change in the loop.
        let group = self.expression_of(group, Type::Entity)?;
        let group = self.copy(group).operand();
        self.check_near(call.span())?;
        let member = |reg, place| Inst::Held(reg, relation, group, place);
        self.visit(None, member, body)
    }

    /// The relation of members to a group: by the attribute that a text names, or by the only one that
    /// there is.
    fn group(&self, attribute: Option<&syn::Expr>, call: &syn::ExprCall) -> Checked<u8> {
        let schema = self.unit.schema;
        let column_name = |column: u16| &schema.attributes[usize::from(column)].name[..];
        let names: Vec<&str> = (schema.groups.iter())
            .map(|group| column_name(group.column))
            .collect();
        if names.is_empty() {
            let message = "this world has no groups";
            let help = "an attribute of the players' kind says `group = true` in the world file";
            return Err(self.helped(call.span(), message, "", help));
        }
        let Some(attribute) = attribute else {
            return match names[..] {
                [_] => Ok(FIRST_GROUP),
                _ => {
                    let message = "players belong to groups by several attributes";
                    let label = format!("name one as the second argument: {}", one_of(&names));
                    Err(self.problem(call.span(), message, label))
                }
            };
        };
        let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(literal),
            ..
        }) = strip(attribute)
        else {
            let label = "expected a text such as \"party\"";
            let message = "an attribute is named by a text here";
            return Err(self.problem(attribute.span(), message, label));
        };
        let found = (FIRST_GROUP..).zip(&names);
        let mut found = found.filter(|(_, name)| **name == literal.value());
        found.next().map(|(relation, _)| relation).ok_or_else(|| {
            let message = format!("players have no group \"{}\"", literal.value());
            self.problem(attribute.span(), message, one_of(&names))
        })
    }
}
