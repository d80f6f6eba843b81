//! Steps along flow fields.

use shared::predicate::nearest;
use shared::world::field::{CELLS_IN_WORD, STEP_BITS, words};
use syn::spanned::Spanned;

use super::statement::strip;
use super::{Checked, Lower};
use crate::diagnostic::one_of;
use crate::ir::{Binary, Inst, Operand};
use crate::types::{Type, Value};

impl<'a> Lower<'a> {
    /// `toward(place, "field", step)`: an offset to the next cell on the way to the nearest goal, as
    /// far as walls leave it.
    pub(super) fn toward(
        &mut self,
        from: &'a syn::Expr,
        field: &'a syn::Expr,
        step: &'a syn::Expr,
    ) -> Checked<Value> {
        let from = self.place_of(from)?;
        let number = self.flow_field(field)?;
        let most = self.expression_of(step, Type::Fixed)?.operand();
        let Some(walls) = self.layers().blocked() else {
            return Ok(Value::new(Type::Point, [Operand::ZERO; 3]));
        };
        let own = self.cell(&walls.grid, from);
        let at = self.wall_place(walls, own);
        let word = self.binary(Binary::Shr, at, (CELLS_IN_WORD.ilog2() as i32).into());
        let first = number * words(walls) as i32;
        let word = self.binary(Binary::Add, word, first.into());
        let word = self.set(|reg| Inst::Field(reg, word));
        // A shift counts by its lowest 5 bits.
        let shift = self.binary(Binary::Shl, at, (STEP_BITS.ilog2() as i32).into());
        let next = self.binary(Binary::Shr, word, shift);
        let next = self.binary(Binary::And, next, ((1 << STEP_BITS) - 1).into());
        let mut goal = from;
        for (axis, own) in own.into_iter().enumerate() {
            let is = |lower: &mut Lower<'a>, step: i32| lower.binary(Binary::Eq, next, step.into());
            let (up, down) = (is(self, axis as i32 + 1), is(self, axis as i32 + 3));
            let along = self.binary(Binary::Sub, up, down);
            let cell = self.binary(Binary::Add, own, along);
            goal[axis] = self.middle_along(walls, axis, cell);
        }
        let end = self.point_towards(from, goal, most).operands;
        let way = [0, 1, 2].map(|axis| self.binary(Binary::Sub, end[axis], from[axis]));
        let way = self.slid(walls, from, way);
        let leads = self.binary(Binary::Lt, Operand::ZERO, next);
        let way = way.map(|axis| self.binary(Binary::Mul, axis, leads));
        Ok(Value::new(Type::Point, way))
    }

    /// The number of the field that a text names.
    fn flow_field(&self, field: &syn::Expr) -> Checked<i32> {
        let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(literal),
            ..
        }) = strip(field)
        else {
            let label = "expected a text such as \"gate\"";
            return Err(self.problem(field.span(), "a field is named by a text", label));
        };
        let name = literal.value();
        let fields = &self.unit.schema.fields;
        let mut numbered = (0..).zip(fields);
        if let Some((number, _)) = numbered.find(|(_, field)| field.name == name) {
            return Ok(number);
        }
        let message = format!("there is no field \"{name}\"");
        let known: Vec<&str> = fields.iter().map(|field| &field.name[..]).collect();
        Err(
            match (nearest(&name, known.iter().copied()), known.is_empty()) {
                (Some(near), _) => {
                    let help = format!("did you mean \"{near}\"?");
                    self.helped(field.span(), message, "", help)
                }
                (None, true) => {
                    let help = "a world file declares one: `[[field]]` with `name`, a goal, and \
                                `refresh_ticks`";
                    self.helped(field.span(), message, "", help)
                }
                (None, false) => self.problem(field.span(), message, one_of(&known)),
            },
        )
    }
}
