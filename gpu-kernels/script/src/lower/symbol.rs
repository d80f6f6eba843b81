//! Symbols, and the attributes that can have them.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::{Checked, Lower};
use crate::diagnostic::{Diagnostic, one_of};
use crate::ir::{Binary, Inst, Operand};
use crate::types::{Type, Value};

impl Lower<'_> {
    /// A symbol as one of another type of symbols: one that is known is looked up; of others,
    /// all that it can be must be of that type.
    pub(super) fn convert_symbol(
        &self,
        value: Value,
        ty: Type,
        at: &dyn Spanned,
    ) -> Checked<Value> {
        let converted = Value { ty, ..value };
        match (value.operand().constant(), value.ty, ty) {
            (_, _, Type::Symbol) => Ok(converted),
            (Some(number), ..) if self.unit.fits(ty, number) => Ok(converted),
            (Some(number), ..) => {
                let place = usize::try_from(number).unwrap_or(usize::MAX);
                let text = self.unit.schema.symbols.get(place);
                let text = text.map_or("", String::as_str);
                Err(self.foreign_symbol(text, ty, at.span()))
            }
            (None, Type::SymbolOf(from), Type::SymbolOf(to)) if self.includes(to, from) => {
                Ok(converted)
            }
            (None, from, _) => {
                let expected = format!("`{}`", self.unit.show(ty));
                Err(self.mismatch(from, &expected, Some(ty), at.span()))
            }
        }
    }

    /// The world has a symbol, and an attribute doesn't.
    pub(super) fn foreign_symbol(&self, text: &str, ty: Type, span: Span) -> Box<Diagnostic> {
        let label = one_of(&self.unit.symbol_names(ty));
        let message = format!("\"{text}\" is no `{}`", self.unit.show(ty));
        self.problem(span, message, label)
    }

    /// Two symbols as they are compared. Those that can never be equal are not.
    pub(super) fn compared_symbols(
        &self,
        [a, b]: [Value; 2],
        [at_a, at_b, at]: [&dyn Spanned; 3],
    ) -> Checked<[Value; 2]> {
        let plain = [a, b].map(|value| Value {
            ty: Type::Symbol,
            ..value
        });
        match (a.ty, b.ty) {
            (Type::SymbolOf(_), _) if b.operand().constant().is_some() => {
                self.convert_symbol(b, a.ty, at_b)?;
            }
            (_, Type::SymbolOf(_)) if a.operand().constant().is_some() => {
                self.convert_symbol(a, b.ty, at_a)?;
            }
            (Type::SymbolOf(left), Type::SymbolOf(right)) if self.are_disjoint(left, right) => {
                let [left, right] = [a.ty, b.ty].map(|ty| self.unit.show(ty));
                let message = "these have no symbol in common";
                let label = format!("found `{left}` and `{right}`");
                return Err(self.problem(at.span(), message, label));
            }
            _ => {}
        }
        Ok(plain)
    }

    /// A value for an attribute of type symbol, and whether the entity in a slot can have it:
    /// `None` if it surely can. Its kind decides, where the kinds differ.
    pub(super) fn symbol_for(
        &mut self,
        slot: Operand,
        column: u16,
        value: Value,
        at: &dyn Spanned,
    ) -> Checked<(Operand, Option<Operand>)> {
        let ty = Type::SymbolOf(column);
        let word = value.operand();
        // What is not known before a run is checked in it.
        let is_hopeless = match value.ty {
            Type::SymbolOf(from) => self.are_disjoint(column, from),
            _ => false,
        };
        if word.constant().is_some() || is_hopeless {
            self.convert_symbol(value, ty, at)?;
        }
        let symbols = self.unit.symbols;
        let sets: Vec<(u16, &[i32])> = symbols
            .of_column(column)
            .map(|set| (set.kind, &set.numbers[..]))
            .collect();
        let is_same = sets.windows(2).all(|pair| pair[0].1 == pair[1].1);
        if let (true, Some(&(_, own))) = (is_same, sets.first()) {
            if word.constant().is_some() {
                return Ok((word, None));
            }
            let is_its = match value.ty {
                // An entity without the attribute has no symbol, which is below all.
                Type::SymbolOf(from) if self.includes(column, from) => {
                    self.binary(Binary::Le, Operand::ZERO, word)
                }
                _ => self.is_one_of(word, own),
            };
            return Ok((word, Some(is_its)));
        }
        let own_kind = self.set(|reg| Inst::Kind(reg, slot));
        let mut can = Operand::ZERO;
        for (kind, own) in sets {
            let is_kind = self.binary(Binary::Eq, own_kind, i32::from(kind).into());
            let is_its = self.is_one_of(word, own);
            let fits = self.binary(Binary::And, is_kind, is_its);
            can = self.binary(Binary::Or, can, fits);
        }
        Ok((word, Some(can)))
    }

    /// Whether a symbol is one of the world's, and not that of an entity without the attribute.
    pub(super) fn is_symbol(&mut self, word: Operand) -> Operand {
        let end = self.unit.schema.symbols.len() as i32;
        let is_low = self.binary(Binary::Le, Operand::ZERO, word);
        let is_high = self.binary(Binary::Lt, word, end.into());
        self.binary(Binary::And, is_low, is_high)
    }

    /// Whether a word is one of these numbers, which ascend.
    pub(super) fn is_one_of(&mut self, word: Operand, numbers: &[i32]) -> Operand {
        let mut any = Operand::ZERO;
        for run in numbers.chunk_by(|a, b| a + 1 == *b) {
            let (low, high) = (run[0], run[run.len() - 1]);
            let is_in = if low == high {
                self.binary(Binary::Eq, word, low.into())
            } else {
                let is_low = self.binary(Binary::Le, low.into(), word);
                let is_high = self.binary(Binary::Le, word, high.into());
                self.binary(Binary::And, is_low, is_high)
            };
            any = match any.constant() {
                Some(0) => is_in,
                _ => self.binary(Binary::Or, any, is_in),
            };
        }
        any
    }

    /// Whether an attribute can have all symbols of another.
    fn includes(&self, column: u16, other: u16) -> bool {
        let own = self.unit.symbols.all_of(column);
        let others = self.unit.symbols.all_of(other);
        others
            .iter()
            .all(|number| own.binary_search(number).is_ok())
    }

    fn are_disjoint(&self, column: u16, other: u16) -> bool {
        let own = self.unit.symbols.all_of(column);
        let others = self.unit.symbols.all_of(other);
        !others
            .iter()
            .any(|number| own.binary_search(number).is_ok())
    }
}
