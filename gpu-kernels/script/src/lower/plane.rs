//! What scripts ask of planes, and how far anything reaches in a world that has some. All of it is made
//! of plain instructions, so all backends give the same.

use shared::world::fixed::Fixed;
use shared::world::plane::{Atlas, PlaneGroup};
use syn::spanned::Spanned;

use super::call::count;
use super::statement::strip;
use super::{Checked, Lower};
use crate::ir::{Binary, Inst, Operand, Point};
use crate::types::{Type, Value};

/// A plane that is found while a command runs: variables.
pub(super) struct Located {
    number: Operand,
    /// Its low corner, and its last place, along `x` and `y`.
    low: [Operand; 2],
    last: [Operand; 2],
}

impl<'a> Lower<'a> {
    /// Where the planes of the world are.
    fn atlas(&self) -> &'a Atlas {
        &self.unit.schema.atlas
    }

    /// `plane(place)`: the number of the plane that a place is in.
    pub(super) fn plane_number(&mut self, place: &'a syn::Expr) -> Checked<Value> {
        let place = self.place_of(place)?;
        let plane = self.located(place);
        Ok(Value::scalar(Type::Int, plane.number))
    }

    /// `local(place)`: the place as seen from its plane's corner.
    pub(super) fn local_place(&mut self, place: &'a syn::Expr) -> Checked<Value> {
        let place = self.place_of(place)?;
        let plane = self.located(place);
        let mut local = place;
        for axis in 0..2 {
            local[axis] = self.binary(Binary::Sub, place[axis], plane.low[axis]);
        }
        Ok(Value::new(Type::Point, local))
    }

    /// `in_plane(number, point)`: the place in a plane that is there from its corner, or the nearest.
    pub(super) fn in_plane(&mut self, plane: &'a syn::Expr, at: &'a syn::Expr) -> Checked<Value> {
        let plane = self.expression_of(plane, Type::Int)?.operand();
        let mut place = self.expression_of(at, Type::Point)?.operands;
        let plane = self.numbered(plane);
        for (axis, at) in place.iter_mut().enumerate().take(2) {
            let last = self.binary(Binary::Sub, plane.last[axis], plane.low[axis]);
            let raised = self.binary(Binary::Max, *at, Operand::ZERO);
            let local = self.binary(Binary::Min, raised, last);
            *at = self.binary(Binary::Add, plane.low[axis], local);
        }
        Ok(Value::new(Type::Point, place))
    }

    /// `first_plane("name")` and `copies("name")`.
    pub(super) fn named_planes(
        &mut self,
        name: &'a syn::Expr,
        of: fn((u32, u32)) -> u32,
    ) -> Checked<Value> {
        let at = name;
        let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(literal),
            ..
        }) = strip(name)
        else {
            let label = "expected a text such as \"dungeon\"";
            return Err(self.problem(name.span(), "planes are named by a text", label));
        };
        let name = literal.value();
        let Some(found) = self.atlas().named(&name) else {
            let message = format!("there is no plane \"{name}\"");
            let known = self.atlas().groups.iter().map(|group| &group.name[..]);
            let near = shared::predicate::nearest(&name, known.clone());
            let help = match (near, known.count()) {
                (Some(near), _) => format!("did you mean \"{near}\"?"),
                (None, 0) => {
                    "a world file declares one: `[[plane]]` with `name` and `size`".to_owned()
                }
                (None, planes) => format!("the world file declares {}", count(planes, "other")),
            };
            return Err(self.helped(at.span(), message, "", help));
        };
        Ok(Value::constant(Type::Int, of(found).cast_signed()))
    }

    /// The nearest place that is in the plane that a place counts as in; in a world without planes the
    /// place itself.
    pub(super) fn nearest_in_plane(&mut self, place: Point) -> Point {
        if self.atlas().is_empty() {
            return place;
        }
        let plane = self.located(place);
        self.nearest_of(&plane, place)
    }

    fn nearest_of(&mut self, plane: &Located, place: Point) -> Point {
        let mut inside = place;
        for axis in 0..2 {
            let raised = self.binary(Binary::Max, place[axis], plane.low[axis]);
            inside[axis] = self.binary(Binary::Min, raised, plane.last[axis]);
        }
        inside
    }

    /// Where a search begins, and, if it may reach other planes, the one that it must not leave.
    pub(super) fn search_from(
        &mut self,
        center: Point,
        radius: Operand,
    ) -> (Point, Option<Located>) {
        if self.atlas().is_empty() {
            return (center, None);
        }
        let plane = self.located(center);
        let center = self.nearest_of(&plane, center);
        let is_short = radius
            .constant()
            .is_some_and(|radius| radius <= self.atlas().gap);
        (center, (!is_short).then_some(plane))
    }

    /// Jumps to `over` unless an entity is in a plane.
    pub(super) fn skip_unless_in(&mut self, plane: &Located, slot: Operand, over: u32) {
        let place = self.position(slot);
        for ((at, low), last) in place.into_iter().zip(plane.low).zip(plane.last) {
            let is_low = self.binary(Binary::Lt, at, low);
            self.emit(Inst::JumpIf(is_low, over));
            let is_high = self.binary(Binary::Lt, last, at);
            self.emit(Inst::JumpIf(is_high, over));
        }
    }

    /// Whether two places are in one plane, where something that reaches so far may be in two.
    pub(super) fn is_one_plane(&mut self, a: Point, b: Point, reach: Operand) -> Option<Operand> {
        let gap = self.atlas().gap;
        if self.atlas().is_empty() || reach.constant().is_some_and(|reach| reach <= gap) {
            return None;
        }
        let [a, b] = [a, b].map(|place| self.located(place).number);
        Some(self.binary(Binary::Eq, a, b))
    }

    /// The area of a notification, which is received in one plane only.
    pub(super) fn area_in_plane(
        &mut self,
        place: Point,
        distance: Operand,
        at: &'a syn::Expr,
    ) -> Checked<(Point, Operand)> {
        if self.atlas().is_empty() {
            return Ok((place, distance));
        }
        let most = self.atlas().around;
        if distance.constant().is_some_and(|distance| distance > most) {
            let [found, most, gap] = [
                distance.constant().unwrap_or_default(),
                most,
                self.atlas().gap,
            ]
            .map(Fixed::from_raw);
            let message = format!("this may be received in other planes: it reaches {found} units");
            let label = format!("expected at most {most}");
            let help = format!("a larger `gap` in `[world]`, now {gap}, lets it reach farther");
            return Err(self.helped(at.span(), message, label, help));
        }
        let place = self.nearest_in_plane(place);
        Ok((place, self.binary(Binary::Min, distance, most.into())))
    }

    /// The plane that a place is in.
    fn located(&mut self, place: Point) -> Located {
        let atlas = self.atlas();
        let plane = self.plane_zero();
        if atlas.is_empty() {
            return plane;
        }
        let place = self.nearest_place(place);
        let done = self.label();
        let half = atlas.gap / 2;
        let groups: Vec<(u32, &PlaneGroup)> = atlas.numbered().collect();
        for (first, group) in groups.into_iter().rev() {
            let other = self.label();
            let is_below = self.binary(Binary::Lt, place[1], (group.low - half).into());
            self.emit(Inst::JumpIf(is_below, other));
            let up = self.binary(Binary::Sub, place[1], group.low.into());
            let up = self.binary(Binary::Max, up, Operand::ZERO);
            let counts = [group.columns, group.rows()];
            let mut cells = [place[0], up];
            for (axis, cell) in cells.iter_mut().enumerate() {
                let from = self.binary(Binary::Add, *cell, half.into());
                let number = self.binary(Binary::Div, from, group.stride[axis].into());
                let most = counts[axis].cast_signed() - 1;
                *cell = self.binary(Binary::Min, number, most.into());
            }
            let row = self.binary(Binary::Mul, cells[1], group.columns.cast_signed().into());
            let copy = self.binary(Binary::Add, row, cells[0]);
            let copy = self.binary(Binary::Min, copy, (group.copies.cast_signed() - 1).into());
            self.store_plane(&plane, first, group, copy);
            self.emit(Inst::Jump(done));
            self.place(other);
        }
        self.place(done);
        plane
    }

    /// The plane of a number, or the nearest.
    fn numbered(&mut self, number: Operand) -> Located {
        let plane = self.plane_zero();
        let done = self.label();
        let groups: Vec<(u32, &PlaneGroup)> = self.atlas().numbered().collect();
        for (first, group) in groups.into_iter().rev() {
            let other = self.label();
            let is_before = self.binary(Binary::Lt, number, first.cast_signed().into());
            self.emit(Inst::JumpIf(is_before, other));
            let copy = self.binary(Binary::Sub, number, first.cast_signed().into());
            let copy = self.binary(Binary::Min, copy, (group.copies.cast_signed() - 1).into());
            self.store_plane(&plane, first, group, copy);
            self.emit(Inst::Jump(done));
            self.place(other);
        }
        self.place(done);
        plane
    }

    /// Plane 0, in variables.
    fn plane_zero(&mut self) -> Located {
        let (atlas, world) = (self.atlas(), &self.unit.schema.world);
        let size = match atlas.is_empty() {
            true => [world.size[0].raw(), world.size[1].raw()],
            false => atlas.size,
        };
        let last = size.map(|size| Operand::Const(size - 1));
        match atlas.is_empty() {
            true => Located {
                number: Operand::ZERO,
                low: [Operand::ZERO; 2],
                last,
            },
            false => Located {
                number: self.register_of(Operand::ZERO),
                low: [(); 2].map(|()| self.register_of(Operand::ZERO)),
                last: last.map(|last| self.register_of(last)),
            },
        }
    }

    fn store_plane(&mut self, plane: &Located, first: u32, group: &PlaneGroup, copy: Operand) {
        let number = self.binary(Binary::Add, copy, first.cast_signed().into());
        self.store(plane.number, number);
        let columns = group.columns.cast_signed().into();
        let column = self.binary(Binary::Rem, copy, columns);
        let row = self.binary(Binary::Div, copy, columns);
        for (axis, cell) in [column, row].into_iter().enumerate() {
            let along = self.binary(Binary::Mul, cell, group.stride[axis].into());
            let low = self.binary(Binary::Add, along, [0, group.low][axis].into());
            self.store(plane.low[axis], low);
            let last = self.binary(Binary::Add, low, (group.size[axis] - 1).into());
            self.store(plane.last[axis], last);
        }
    }
}
