//! What scripts ask of layers and change in them: walls, heights and tags. What
//! they ask is made of instructions that read words of the layers by their places, so all backends give
//! the same. What they change they emit as [edits](shared::world::edit).

use shared::world::edit::{EDIT_KIND, LayerKind};
use shared::world::layer::{Blocked, Grid, Layers, SEARCH_CELLS};
use syn::spanned::Spanned;

use super::{Checked, Loop, Lower};
use crate::diagnostic::Diagnostic;
use crate::ir::{Binary, Inst, Notify, Operand, Point, Unary};
use crate::types::{Type, Value};

/// A line through cells. The first three are variables.
struct Line {
    /// The place of its cell among the bits of walls.
    at: Operand,
    /// How many borders it still crosses.
    left: Operand,
    /// Above 0 if it comes to the next column first, below if to the next row.
    lead: Operand,
    /// What a step to the next column and one to the next row add to the place.
    along: Operand,
    across: Operand,
    /// What a step across adds to the lead, and what one along takes.
    gain: Operand,
    loss: Operand,
}

impl<'a> Lower<'a> {
    /// The layers of the world, which outlive what is lowered.
    pub(super) fn layers(&self) -> &'a Layers {
        &self.unit.schema.layers
    }

    pub(super) fn is_blocked(&mut self, place: &'a syn::Expr) -> Checked<Value> {
        let place = self.place_of(place)?;
        let Some(walls) = self.layers().blocked() else {
            return Ok(Value::constant(Type::Bool, 0));
        };
        let cell = self.cell(&walls.grid, place);
        let at = self.wall_place(walls, cell);
        let is = self.is_wall(at);
        Ok(Value::scalar(Type::Bool, is))
    }

    pub(super) fn height(
        &mut self,
        place: &'a syn::Expr,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let place = self.place_of(place)?;
        let Some(grid) = self.layers().height() else {
            return Err(self.lacks_layer("height", call));
        };
        let word = self.cell_bits(grid, place, 16);
        let high = self.binary(Binary::Shl, word, 16.into());
        let height = self.binary(Binary::Shr, high, 16.into());
        Ok(Value::scalar(Type::Int, height))
    }

    pub(super) fn tag(&mut self, place: &'a syn::Expr, call: &'a syn::ExprCall) -> Checked<Value> {
        let place = self.place_of(place)?;
        let Some(tags) = self.layers().tag() else {
            return Err(self.lacks_layer("tag", call));
        };
        let word = self.cell_bits(&tags.grid, place, 8);
        let number = self.binary(Binary::And, word, 0xff.into());
        let at = self.binary(Binary::Add, number, tags.symbols.into());
        let symbol = self.set(|reg| Inst::Layer(reg, at));
        Ok(Value::scalar(Type::Symbol, symbol))
    }

    pub(super) fn set_blocked(
        &mut self,
        place: &'a syn::Expr,
        is: &'a syn::Expr,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let place = self.place_of(place)?;
        let is = self.expression_of(is, Type::Bool)?.operand();
        self.edit(LayerKind::Blocked, place, is, call)
    }

    pub(super) fn set_height(
        &mut self,
        place: &'a syn::Expr,
        to: &'a syn::Expr,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let place = self.place_of(place)?;
        let to = self.expression_of(to, Type::Int)?.operand();
        self.edit(LayerKind::Height, place, to, call)
    }

    /// `to` is `None` to leave a cell without a tag.
    pub(super) fn set_tag(
        &mut self,
        place: &'a syn::Expr,
        to: Option<&'a syn::Expr>,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let place = self.place_of(place)?;
        let symbol = match to {
            Some(to) => self.expression_of(to, Type::Symbol)?.operand(),
            None => (-1).into(),
        };
        let tags = self.layers().tag().copied();
        if let (Some(to), Some(tags), Some(symbol)) = (to, tags, symbol.constant()) {
            let known = &self.layers().words()[tags.symbols as usize + 1..];
            if !known.contains(&symbol) {
                let help = "a tag is one of the `legend` or the `tags` of the layer `tag`";
                return Err(self.helped(to.span(), "this is no tag of the world", "", help));
            }
        }
        self.edit(LayerKind::Tag, place, symbol, call)
    }

    /// Emits an edit of the cell of a place.
    fn edit(
        &mut self,
        layer: LayerKind,
        place: Point,
        value: Operand,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let layers = self.layers();
        let Some(grid) = layers.grid(layer) else {
            return Err(self.lacks_layer(layer.name(), call));
        };
        if !layers.is_editable(layer) {
            let name = layer.name();
            let message = format!("the layer `{name}` can't be changed");
            let help = format!("say so in the world file: `editable = true` of the layer `{name}`");
            return Err(self.helped(call.span(), message, "", help));
        }
        let [x, y] = self.cell(grid, place);
        let row = self.binary(Binary::Mul, y, grid.cells[0].into());
        let cell = self.binary(Binary::Add, row, x);
        self.step();
        self.emit(Inst::Notify(Notify {
            kind: EDIT_KIND.0,
            source: None,
            area: None,
            words: vec![(layer as i32).into(), cell, value],
        }));
        Ok(Value::UNIT)
    }

    fn lacks_layer(&self, name: &str, call: &syn::ExprCall) -> Box<Diagnostic> {
        let message = format!("the world has no layer `{name}`");
        let help = format!("declare one in the world file: `[[layer]]`, `name = \"{name}\"`");
        self.helped(call.span(), message, "", help)
    }

    /// The part of a step that walls leave: [`Layers::slide`].
    pub(super) fn slide(&mut self, from: &'a syn::Expr, step: &'a syn::Expr) -> Checked<Value> {
        let from_value = self.expression(from, None)?;
        let Some(walls) = self.layers().blocked() else {
            // Without walls, where it begins does not matter.
            if from_value.ty != Type::Entity {
                self.as_point(from_value, from)?;
            }
            return self.expression_of(step, Type::Point);
        };
        let from = match from_value.ty {
            Type::Entity => {
                self.check_place(from_value.operand(), from.span())?;
                self.position(from_value.operand())
            }
            _ => self.as_point(from_value, from)?.operands,
        };
        let step = self.expression_of(step, Type::Point)?.operands;
        Ok(Value::new(Type::Point, self.slid(walls, from, step)))
    }

    /// The part of a step that walls leave.
    pub(super) fn slid(&mut self, walls: &Blocked, from: Point, step: Point) -> Point {
        let bits = walls.grid.edge_bits;
        let start = self.nearest_place(from);
        let at = start.map(|axis| self.register_of(axis));
        let mut way = [Operand::ZERO; 2];
        for (axis, way) in way.iter_mut().enumerate() {
            let size = self.unit.schema.world.size[axis].raw();
            let step = self.between(step[axis], -size, size);
            let end = self.binary(Binary::Add, at[axis], step);
            let end = self.between(end, 0, size - 1);
            let whole = self.binary(Binary::Sub, end, at[axis]);
            *way = self.register_of(whole);
        }
        let long = way.map(|axis| self.unary(Unary::Abs, axis));
        let longest = self.binary(Binary::Max, long[0], long[1]);
        let before = self.binary(Binary::Sub, longest, 1.into());
        let cells = self.binary(Binary::Shr, before, (bits as i32).into());
        let parts = self.binary(Binary::Add, cells, 1.into());
        // A step of one part needs no division.
        let part = way.map(|axis| self.register_of(axis));
        let rest = [(); 2].map(|()| self.register_of(Operand::ZERO));
        let is_short = self.binary(Binary::Le, parts, 1.into());
        let over = self.label();
        self.emit(Inst::JumpIf(is_short, over));
        for axis in 0..2 {
            let quotient = self.binary(Binary::Div, way[axis], parts);
            self.store(part[axis], quotient);
            let remainder = self.binary(Binary::Rem, way[axis], parts);
            let remainder = self.unary(Unary::Abs, remainder);
            self.store(rest[axis], remainder);
        }
        self.place(over);
        let sign = way.map(|axis| self.sign(axis));
        let owed = [(); 2].map(|()| self.register_of(Operand::ZERO));
        let left = self.register_of(parts);
        self.repeat(left, |lower| {
            for axis in 0..2 {
                let sum = lower.binary(Binary::Add, owed[axis], rest[axis]);
                let carry = lower.binary(Binary::Le, parts, sum);
                let paid = lower.binary(Binary::Mul, carry, parts);
                let sum = lower.binary(Binary::Sub, sum, paid);
                lower.store(owed[axis], sum);
                let more = lower.binary(Binary::Mul, carry, sign[axis]);
                let step = lower.binary(Binary::Add, part[axis], more);
                let next = lower.binary(Binary::Add, at[axis], step);
                let next = lower.register_of(next);
                let mut cell = at;
                cell[axis] = next;
                let cell = cell.map(|axis| lower.binary(Binary::Shr, axis, (bits as i32).into()));
                let place = lower.wall_place(walls, cell);
                let is_wall = lower.is_wall(place);
                let free = lower.label();
                lower.emit(Inst::JumpUnless(is_wall, free));
                let edge = 1 << bits;
                let low = lower.binary(Binary::And, at[axis], (-edge).into());
                let high = lower.binary(Binary::Or, at[axis], (edge - 1).into());
                let raised = lower.binary(Binary::Max, next, low);
                let limited = lower.binary(Binary::Min, raised, high);
                lower.store(next, limited);
                lower.place(free);
                lower.store(at[axis], next);
            }
        });
        let moved = [0, 1].map(|axis| self.binary(Binary::Sub, at[axis], from[axis]));
        [moved[0], moved[1], step[2]]
    }

    /// Whether no wall is on the line from the middle of a place's cell to the middle of another's:
    /// neither there nor between. Where the line goes through a corner of four cells, it passes
    /// unless both of those beside it are walls.
    pub(super) fn sees(&mut self, from: &'a syn::Expr, to: &'a syn::Expr) -> Checked<Value> {
        let (from, from_exists) = self.place_that_exists(from)?;
        let (to, to_exists) = self.place_that_exists(to)?;
        let sees = self.register_of(1.into());
        if let Some(walls) = self.layers().blocked() {
            let line = self.line(walls, from, to);
            let (blocked, done) = (self.label(), self.label());
            self.walk(&line, blocked, |_| ());
            self.emit(Inst::Jump(done));
            self.place(blocked);
            self.store(sees, Operand::ZERO);
            self.place(done);
        }
        let mut sees = sees;
        for exists in [from_exists, to_exists].into_iter().flatten() {
            sees = self.binary(Binary::And, sees, exists);
        }
        Ok(Value::scalar(Type::Bool, sees))
    }

    /// How far a shot goes: to the end of its reach, or to the middle of the last cell before a wall.
    /// It goes through the same cells as sight does.
    pub(super) fn first_hit(
        &mut self,
        from: &'a syn::Expr,
        towards: &'a syn::Expr,
        reach: &'a syn::Expr,
    ) -> Checked<Value> {
        let (from, to) = (self.place_of(from)?, self.place_of(towards)?);
        let reach = self.expression_of(reach, Type::Fixed)?.operand();
        let end = self.point_towards(from, to, reach);
        let Some(walls) = self.layers().blocked() else {
            return Ok(end);
        };
        let (near, far) = (self.nearest_place(from), self.nearest_place(end.operands));
        let end = [far[0], far[1], end.operands[2]];
        // A shot that gets nowhere ends where it began.
        let hit = self.copy(Value::new(Type::Point, [near[0], near[1], from[2]]));
        let line = self.line(walls, from, end);
        let first = self.register_of(line.at);
        let all = self.register_of(line.left);
        let (last, left) = (self.register_of(first), self.register_of(all));
        let (blocked, done) = (self.label(), self.label());
        let (at, rest) = (line.at, line.left);
        self.walk(&line, blocked, |lower| {
            lower.store(last, at);
            lower.store(left, rest);
        });
        self.assign(hit, Value::new(Type::Point, end));
        self.emit(Inst::Jump(done));
        self.place(blocked);
        let is_first = self.binary(Binary::Eq, last, first);
        self.emit(Inst::JumpIf(is_first, done));
        let row = walls.grid.row;
        let x = self.binary(Binary::And, last, (row - 1).into());
        let y = self.binary(Binary::Shr, last, (row.ilog2() as i32).into());
        let mut middle = [Operand::ZERO; 3];
        for (axis, cell) in [x, y].into_iter().enumerate() {
            let bits = walls.grid.edge_bits as i32;
            let low = self.binary(Binary::Shl, cell, bits.into());
            let half = self.binary(Binary::Add, low, (1 << (bits - 1)).into());
            let most = self.unit.schema.world.size[axis].raw() - 1;
            middle[axis] = self.binary(Binary::Min, half, most.into());
        }
        if self.unit.dimensions == 3 {
            // As much of the way up as of the cells.
            let passed = self.binary(Binary::Sub, all, left);
            let passed = self.binary(Binary::Add, passed, 1.into());
            let share = self.binary(Binary::DivFixed, passed, all);
            let way = self.binary(Binary::Sub, end[2], from[2]);
            let way = self.binary(Binary::MulFixed, way, share);
            middle[2] = self.binary(Binary::Add, from[2], way);
        }
        self.assign(hit, Value::new(Type::Point, middle));
        self.place(done);
        Ok(hit)
    }

    /// A place of the world to which a point is moved out of walls: [`Layers::free_place`].
    pub(super) fn free_place(&mut self, place: Point) -> Point {
        let Some(walls) = self.layers().blocked() else {
            return place;
        };
        let bits = (walls.grid.edge_bits as i32).into();
        let free = self.copy(Value::new(Type::Point, place));
        let inside = [free.operands[0], free.operands[1]];
        let cell = inside.map(|axis| self.binary(Binary::Shr, axis, bits));
        let cell = cell.map(|axis| self.register_of(axis));
        let at = self.wall_place(walls, cell);
        let is_wall = self.is_wall(at);
        let (found, done) = (self.label(), self.label());
        self.emit(Inst::JumpUnless(is_wall, done));
        let (along, across) = (self.register_of(1.into()), self.register_of(Operand::ZERO));
        let (leg, straight) = (self.register_of(1.into()), self.register_of(1.into()));
        let turns = self.register_of(Operand::ZERO);
        let left = self.register_of((SEARCH_CELLS - 1).into());
        self.repeat(left, |lower| {
            for (axis, step) in [along, across].into_iter().enumerate() {
                let next = lower.binary(Binary::Add, cell[axis], step);
                lower.store(cell[axis], next);
            }
            let ahead = lower.binary(Binary::Sub, straight, 1.into());
            lower.store(straight, ahead);
            let (no_turn, again) = (lower.label(), lower.label());
            lower.emit(Inst::JumpIf(straight, no_turn));
            let turned = lower.unary(Unary::Neg, across);
            let turned = lower.register_of(turned);
            lower.store(across, along);
            lower.store(along, turned);
            let other = lower.binary(Binary::Xor, turns, 1.into());
            lower.store(turns, other);
            let more = lower.binary(Binary::Sub, 1.into(), turns);
            let longer = lower.binary(Binary::Add, leg, more);
            lower.store(leg, longer);
            lower.store(straight, leg);
            lower.place(no_turn);
            for (axis, &cells) in walls.grid.cells.iter().enumerate() {
                let is_low = lower.binary(Binary::Lt, cell[axis], Operand::ZERO);
                lower.emit(Inst::JumpIf(is_low, again));
                let is_high = lower.binary(Binary::Le, cells.into(), cell[axis]);
                lower.emit(Inst::JumpIf(is_high, again));
            }
            let at = lower.wall_place(walls, cell);
            let is_wall = lower.is_wall(at);
            lower.emit(Inst::JumpUnless(is_wall, found));
            lower.place(again);
        });
        for (axis, refuge) in walls.refuge.into_iter().enumerate() {
            self.store(cell[axis], refuge.into());
        }
        self.place(found);
        for axis in 0..2 {
            let low = self.binary(Binary::Shl, cell[axis], bits);
            let edge = 1 << walls.grid.edge_bits;
            let high = self.binary(Binary::Add, low, (edge - 1).into());
            let last = self.unit.schema.world.size[axis].raw() - 1;
            let high = self.binary(Binary::Min, high, last.into());
            let raised = self.binary(Binary::Max, inside[axis], low);
            let limited = self.binary(Binary::Min, raised, high);
            self.store(inside[axis], limited);
        }
        self.place(done);
        free.operands
    }

    /// The line from the middle of a place's cell to that of another's.
    fn line(&mut self, walls: &Blocked, from: Point, to: Point) -> Line {
        let from = self
            .cell(&walls.grid, from)
            .map(|axis| self.register_of(axis));
        let to = self.cell(&walls.grid, to);
        let way = [0, 1].map(|axis| self.binary(Binary::Sub, to[axis], from[axis]));
        let sign = way.map(|axis| self.sign(axis));
        let long = way.map(|axis| self.unary(Unary::Abs, axis));
        let row = (walls.grid.row.ilog2() as i32).into();
        let across = self.binary(Binary::Shl, sign[1], row);
        let at = self.wall_place(walls, from);
        let at = self.register_of(at);
        let cells = self.binary(Binary::Add, long[0], long[1]);
        let left = self.register_of(cells);
        let lead = self.binary(Binary::Sub, long[0], long[1]);
        let lead = self.register_of(lead);
        let double = long.map(|axis| self.binary(Binary::Shl, axis, 1.into()));
        Line {
            at,
            left,
            lead,
            along: sign[0],
            across,
            gain: double[0],
            loss: double[1],
        }
    }

    /// Walks a line to its end, and runs `each` at each free cell after the first. Jumps to `blocked`
    /// where a wall is.
    fn walk(&mut self, line: &Line, blocked: u32, each: impl FnOnce(&mut Lower<'a>)) {
        let is_wall = self.is_wall(line.at);
        self.emit(Inst::JumpIf(is_wall, blocked));
        // What a step across changes, beside one along.
        let turn = self.binary(Binary::Sub, line.across, line.along);
        let gain = self.binary(Binary::Add, line.gain, line.loss);
        let both = self.binary(Binary::Add, line.along, line.across);
        self.repeat(line.left, |lower| {
            let (corner, check) = (lower.label(), lower.label());
            lower.emit(Inst::JumpUnless(line.lead, corner));
            // All bits are set where the border to the next row comes first.
            let is_across = lower.binary(Binary::Shr, line.lead, 31.into());
            let turned = lower.binary(Binary::And, is_across, turn);
            let step = lower.binary(Binary::Add, line.along, turned);
            let at = lower.binary(Binary::Add, line.at, step);
            lower.store(line.at, at);
            let gained = lower.binary(Binary::And, is_across, gain);
            let lead = lower.binary(Binary::Sub, line.lead, line.loss);
            let lead = lower.binary(Binary::Add, lead, gained);
            lower.store(line.lead, lead);
            lower.emit(Inst::Jump(check));
            lower.place(corner);
            let beside = [line.along, line.across].map(|step| {
                let at = lower.binary(Binary::Add, line.at, step);
                lower.is_wall(at)
            });
            let is_closed = lower.binary(Binary::And, beside[0], beside[1]);
            lower.emit(Inst::JumpIf(is_closed, blocked));
            let at = lower.binary(Binary::Add, line.at, both);
            lower.store(line.at, at);
            let lead = lower.binary(Binary::Sub, line.gain, line.loss);
            let lead = lower.binary(Binary::Add, line.lead, lead);
            lower.store(line.lead, lead);
            let left = lower.binary(Binary::Sub, line.left, 1.into());
            lower.store(line.left, left);
            lower.place(check);
            let is_wall = lower.is_wall(line.at);
            lower.emit(Inst::JumpIf(is_wall, blocked));
            each(lower);
        });
    }

    /// Runs `body` as often as a variable says, which counts down. Each round is a step of the run's
    /// budget.
    pub(super) fn repeat(&mut self, left: Operand, body: impl FnOnce(&mut Lower<'a>)) {
        let (head, exit) = (self.label(), self.label());
        self.place(head);
        let goes_on = self.binary(Binary::Lt, Operand::ZERO, left);
        self.emit(Inst::JumpUnless(goes_on, exit));
        self.loops.push(Loop { exit, again: head });
        self.step();
        body(self);
        self.loops.pop();
        let fewer = self.binary(Binary::Sub, left, 1.into());
        self.store(left, fewer);
        self.emit(Inst::Jump(head));
        self.place(exit);
    }

    /// The nearest place of the world.
    pub(super) fn nearest_place(&mut self, place: Point) -> [Operand; 2] {
        [0, 1].map(|axis| {
            let last = self.unit.schema.world.size[axis].raw() - 1;
            self.between(place[axis], 0, last)
        })
    }

    pub(super) fn cell(&mut self, grid: &Grid, place: Point) -> [Operand; 2] {
        let bits = (grid.edge_bits as i32).into();
        let inside = self.nearest_place(place);
        inside.map(|axis| self.binary(Binary::Shr, axis, bits))
    }

    /// The word with the bits of a place's cell, of which they are the lowest.
    fn cell_bits(&mut self, grid: &Grid, place: Point, bits: u32) -> Operand {
        let [x, y] = self.cell(grid, place);
        let row = self.binary(Binary::Mul, y, grid.row.into());
        let at = self.binary(Binary::Add, row, x);
        let in_word = (32 / bits) as i32;
        let word = self.binary(Binary::Shr, at, (in_word.ilog2() as i32).into());
        let word = self.binary(Binary::Add, word, grid.first.into());
        let word = self.set(|reg| Inst::Layer(reg, word));
        let place = self.binary(Binary::And, at, (in_word - 1).into());
        let shift = self.binary(Binary::Mul, place, (bits as i32).into());
        self.binary(Binary::Shr, word, shift)
    }

    /// The place of a cell among the bits of walls, which are the first of the layers.
    pub(super) fn wall_place(&mut self, walls: &Blocked, [x, y]: [Operand; 2]) -> Operand {
        let row = (walls.grid.row.ilog2() as i32).into();
        let row = self.binary(Binary::Shl, y, row);
        self.binary(Binary::Add, row, x)
    }

    fn is_wall(&mut self, at: Operand) -> Operand {
        let word = self.binary(Binary::Shr, at, 5.into());
        let word = self.set(|reg| Inst::Layer(reg, word));
        // A shift counts by its lowest 5 bits.
        let bit = self.binary(Binary::Shr, word, at);
        self.binary(Binary::And, bit, 1.into())
    }

    pub(super) fn between(&mut self, value: Operand, low: i32, high: i32) -> Operand {
        let raised = self.binary(Binary::Max, value, low.into());
        self.binary(Binary::Min, raised, high.into())
    }

    /// -1 of a number below 0, else 1.
    fn sign(&mut self, value: Operand) -> Operand {
        let sign = self.binary(Binary::Shr, value, 31.into());
        self.binary(Binary::Or, sign, 1.into())
    }

    /// A register that can be set again.
    pub(super) fn register_of(&mut self, value: Operand) -> Operand {
        self.copy(Value::scalar(Type::Int, value)).operand()
    }

    pub(super) fn store(&mut self, variable: Operand, value: Operand) {
        let variable = Value::scalar(Type::Int, variable);
        self.assign(variable, Value::scalar(Type::Int, value));
    }
}
