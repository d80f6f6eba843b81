//! Arrays and maps: which attribute an index or a key means.

use proc_macro2::Span;
use shared::predicate::nearest;
use shared::world::collection::Collection;
use shared::world::symbols::KEYS;
use syn::spanned::Spanned;

use super::statement::{is_text, strip};
use super::{Checked, Lower};
use crate::diagnostic::{Diagnostic, one_of};
use crate::ir::{Binary, Index, Inst, Operand, Unary, WriteOp};
use crate::parse::name_of;
use crate::types::{Type, Value};

/// Where an attribute stands in a row.
#[derive(Clone, Copy)]
pub(super) struct ColumnRef {
    /// The first of several columns, if there is an index.
    pub column: u16,
    pub index: Option<Index>,
    /// Whether the index is one of the columns'.
    pub is_in: Option<Operand>,
}

impl From<u16> for ColumnRef {
    fn from(column: u16) -> ColumnRef {
        ColumnRef {
            column,
            index: None,
            is_in: None,
        }
    }
}

impl ColumnRef {
    /// Of a point, that of an axis.
    pub fn axis(self, axis: u16) -> ColumnRef {
        ColumnRef {
            column: self.column + axis,
            ..self
        }
    }
}

/// An element of an array, or a value of a map, of an entity.
pub(super) struct Element<'a> {
    /// The entity, as it is written.
    pub entity: &'a syn::Expr,
    pub slot: Operand,
    pub place: ColumnRef,
    pub ty: Type,
    /// The attribute, as messages name it.
    pub name: String,
    pub span: Span,
}

impl<'a> Lower<'a> {
    /// `entity.array[index]` and `entity.map["key"]`.
    pub(super) fn element(&mut self, of: &'a syn::ExprIndex) -> Checked<Element<'a>> {
        let syn::Expr::Field(field) = strip(&of.expr) else {
            let label = "expected an array or a map of an entity, as in `me.slot[0]`";
            return Err(self.problem(of.expr.span(), "this has no index", label));
        };
        let syn::Member::Named(member) = &field.member else {
            let label = "expected the name of an attribute";
            return Err(self.problem(field.member.span(), "scripts have no tuples", label));
        };
        let name = name_of(member);
        self.check_shared(&field.base, &name, member.span())?;
        let entity = self.expression_of(&field.base, Type::Entity)?;
        let unit = self.unit;
        let Some(own) = unit.collection(&name) else {
            // Its own problem, if there is no such attribute at all.
            self.column(&name, member.span())?;
            let message = format!("`{name}` is one value");
            let label = "expected it without an index";
            return Err(self.problem(of.index.span(), message, label));
        };
        self.column(own.first_name, member.span())?;
        let collection = &own.collection;
        let place = match collection.is_map() {
            true => self.key_place(collection, &of.index)?,
            false => self.index_place(collection, &of.index)?,
        };
        let source = unit.files[self.file()].source(of.index.span());
        Ok(Element {
            entity: &field.base,
            slot: entity.operand(),
            place,
            // Of all its columns, the types are the same.
            ty: Type::of_column(unit.schema, collection.first.into()),
            name: format!("{name}[{}]", source.unwrap_or("…")),
            span: of.span(),
        })
    }

    /// The value of an element.
    pub(super) fn element_value(&mut self, element: &Element<'a>) -> Value {
        let Element {
            slot, place, ty, ..
        } = *element;
        self.value_at(slot, place, ty, element.span)
    }

    /// Changes an element as `change` says, if there is one.
    pub(super) fn change_at(
        &mut self,
        slot: Operand,
        place: ColumnRef,
        op: WriteOp,
        value: Operand,
    ) {
        let over = self.label();
        if let Some(is_in) = place.is_in {
            self.emit(Inst::JumpUnless(is_in, over));
        }
        self.change(slot, place, op, value);
        self.place(over);
    }

    /// The number of elements or keys: `entity.array.len()`.
    pub(super) fn length(&mut self, call: &'a syn::ExprMethodCall) -> Checked<Option<Value>> {
        let syn::Expr::Field(field) = strip(&call.receiver) else {
            return Ok(None);
        };
        let syn::Member::Named(member) = &field.member else {
            return Ok(None);
        };
        let unit = self.unit;
        let Some(own) = unit.collection(&name_of(member)) else {
            return Ok(None);
        };
        if !call.args.is_empty() {
            let label = format!("found {}", call.args.len());
            return Err(self.problem(call.span(), "`len` takes no argument", label));
        }
        // It is the same for all entities; the entity must be one.
        self.expression_of(&field.base, Type::Entity)?;
        let len = i32::from(own.collection.len);
        Ok(Some(Value::constant(Type::Int, len)))
    }

    fn index_place(&mut self, of: &Collection<'a>, index: &'a syn::Expr) -> Checked<ColumnRef> {
        let place = self.expression_of(index, Type::Int)?.operand();
        let len = i32::from(of.len);
        if let Some(known) = place.constant() {
            if (0..len).contains(&known) {
                return Ok(ColumnRef::from(of.first + known as u16));
            }
            let message = format!("`{}` has {len} elements", of.name);
            let label = format!("expected 0 to {}, found {known}", len - 1);
            return Err(self.problem(index.span(), message, label));
        }
        let is_low = self.binary(Binary::Le, Operand::ZERO, place);
        let is_high = self.binary(Binary::Lt, place, len.into());
        let is_in = self.binary(Binary::And, is_low, is_high);
        Ok(self.checked_place(of, place, is_in))
    }

    fn key_place(&mut self, of: &Collection<'a>, key: &'a syn::Expr) -> Checked<ColumnRef> {
        let ty = Type::SymbolOf(of.first | KEYS);
        if let (true, syn::Expr::Lit(literal)) = (is_text(key), strip(key))
            && let syn::Lit::Str(text) = &literal.lit
        {
            let text = text.value();
            return match of.place(&text) {
                Some(place) => Ok(ColumnRef::from(of.first + place)),
                None => Err(self.unknown_key(of, &text, key.span())),
            };
        }
        let value = self.expression(key, Some(ty))?;
        let word = value.operand();
        if value.ty != Type::Never && !value.ty.is_symbol() {
            let label = format!(
                "expected a key, as a symbol, found `{}`",
                self.unit.show(value.ty)
            );
            let message = format!("`{}` is a map", of.name);
            return Err(self.problem(key.span(), message, label));
        }
        if let Some(known) = word.constant() {
            let place = usize::try_from(known).ok();
            let text = place.and_then(|place| self.unit.schema.symbols.get(place));
            let text = text.map_or("", String::as_str);
            return match of.place(text) {
                Some(place) => Ok(ColumnRef::from(of.first + place)),
                None => Err(self.unknown_key(of, text, key.span())),
            };
        }
        let (place, is_in) = self.place_of_key(of, word);
        Ok(self.checked_place(of, place, is_in))
    }

    /// Where the column of a symbol stands among those of a map, and whether it is a key.
    fn place_of_key(&mut self, of: &Collection<'a>, word: Operand) -> (Operand, Operand) {
        let unit = self.unit;
        let numbers = of.keys.iter().map(|key| unit.symbol(key).unwrap_or(-2));
        let places: Vec<(i32, i32)> = (0..).zip(numbers).collect();
        let follows = |a: &(i32, i32), b: &(i32, i32)| a.1 + 1 == b.1;
        let (mut place, mut is_in) = (Operand::ZERO, Operand::ZERO);
        // Symbols in a row have columns in a row, as world files sort both.
        for run in places.chunk_by(follows) {
            let (first, number) = run[0];
            let numbers: Vec<i32> = run.iter().map(|&(_, number)| number).collect();
            let is_here = self.is_one_of(word, &numbers);
            let here = self.binary(Binary::Sub, word, (number - first).into());
            let here = self.only_if(here, is_here);
            place = self.either(place, here);
            is_in = self.either(is_in, is_here);
        }
        (place, is_in)
    }

    /// `a | b`, of which one is 0.
    fn either(&mut self, a: Operand, b: Operand) -> Operand {
        match a.constant() {
            Some(0) => b,
            _ => self.binary(Binary::Or, a, b),
        }
    }

    /// The value if a truth holds, else 0.
    fn only_if(&mut self, value: Operand, truth: Operand) -> Operand {
        let mask = self.unary(Unary::Neg, truth);
        self.binary(Binary::And, value, mask)
    }

    /// A place that only a run knows, of which the command notes whether it is there.
    fn checked_place(&mut self, of: &Collection<'a>, place: Operand, is_in: Operand) -> ColumnRef {
        let missed = match self.missed {
            Some(missed) => missed,
            None => {
                let missed = self.register();
                self.missed = Some(missed);
                missed
            }
        };
        let is_out = self.unary(Unary::Not, is_in);
        let any = self.binary(Binary::Or, missed.into(), is_out);
        self.emit(Inst::Copy(missed, any));
        ColumnRef {
            column: of.first,
            index: Some(Index { place, len: of.len }),
            is_in: Some(is_in),
        }
    }

    /// The value at a place of an entity's row; 0 where there is none, no entity and no symbol.
    pub(super) fn value_at(
        &mut self,
        slot: Operand,
        place: ColumnRef,
        ty: Type,
        span: Span,
    ) -> Value {
        let ColumnRef {
            column,
            index,
            is_in,
        } = place;
        if ty == Type::Long {
            return self.wide_at(slot, column);
        }
        let value = match index {
            Some(index) => self.set(|reg| Inst::ReadAt(reg, slot, column, index)),
            None => self.set(|reg| Inst::Read(reg, slot, column)),
        };
        match ty {
            Type::Entity | Type::SymbolOf(_) => {
                // Where there is none, the attribute reads as 0, which may refer to one.
                let mut value = self.reference_or_none(slot, column, value);
                if let Some(is_in) = is_in {
                    let lacks = self.binary(Binary::Sub, is_in, 1.into());
                    value = self.binary(Binary::Or, value, lacks);
                }
                match ty {
                    Type::Entity => Value::scalar(ty, self.resolved(value, span)),
                    _ => Value::scalar(ty, value),
                }
            }
            _ => match is_in {
                Some(is_in) => Value::scalar(ty, self.only_if(value, is_in)),
                None => Value::scalar(ty, value),
            },
        }
    }

    fn unknown_key(&self, of: &Collection<'a>, key: &str, span: Span) -> Box<Diagnostic> {
        let message = format!("`{}` has no key \"{key}\"", of.name);
        match nearest(key, of.keys.iter().copied()) {
            Some(near) => self.helped(span, message, "", format!("did you mean \"{near}\"?")),
            None => self.problem(span, message, one_of(&of.keys)),
        }
    }

    /// An array or a map stands alone.
    pub(super) fn whole_collection(&self, of: &Collection<'a>, span: Span) -> Box<Diagnostic> {
        let name = of.name;
        let (what, form) = match of.keys.first() {
            Some(key) => ("a map", format!("{name}[\"{key}\"]")),
            None => ("an array", format!("{name}[0]")),
        };
        let label = format!("expected one of its values, as `{form}`");
        self.problem(span, format!("`{name}` is {what}"), label)
    }
}
