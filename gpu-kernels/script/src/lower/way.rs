//! Ways around walls, for those who follow others: a search through the cells around them.

use shared::world::layer::Blocked;
use syn::spanned::Spanned;

use super::{Checked, Lower};
use crate::ir::{Binary, Inst, Operand, Point, Unary};
use crate::types::{Type, Value};

/// The most cells along an edge of the window: with the borders of a word's bits on both sides.
pub const WINDOW_MAX: i32 = 31;

/// The cells that a search looks at: a square, around the one where the way begins.
struct Window {
    /// How many cells it reaches beyond that one.
    reach: i32,
    /// By row, from the lowest `y` on: a bit for each cell that is free, the lowest `x` first.
    free: Vec<Operand>,
    /// Likewise, for each cell from which the goal has been reached. They are variables.
    reached: Vec<Operand>,
}

impl<'a> Lower<'a> {
    /// A step on a shortest way through free cells to a goal within a window, or else straight
    /// towards it, as far as walls leave it.
    pub(super) fn approach(
        &mut self,
        from: &'a syn::Expr,
        to: &'a syn::Expr,
        step: &'a syn::Expr,
        window: &'a syn::Expr,
    ) -> Checked<Value> {
        let from = self.place_of(from)?;
        let (to, exists) = self.place_that_exists(to)?;
        let most = self.expression_of(step, Type::Fixed)?.operand();
        let cells = self.expression_of(window, Type::Int)?.operand().constant();
        let Some(cells) = cells.filter(|n| (3..=WINDOW_MAX).contains(n) && n % 2 == 1) else {
            let message = "the window of `approach` is not a number of cells";
            let label = format!("expected an odd constant from 3 to {WINDOW_MAX}");
            return Err(self.problem(window.span(), message, label));
        };
        let walls = self.layers().blocked();
        let goal = match walls {
            None => to,
            Some(walls) => self.next_place(walls, from, to, cells / 2),
        };
        let end = self.point_towards(from, goal, most).operands;
        let mut way = [0, 1, 2].map(|axis| self.binary(Binary::Sub, end[axis], from[axis]));
        if let Some(walls) = walls {
            way = self.slid(walls, from, way);
        }
        if let Some(exists) = exists {
            way = way.map(|axis| self.binary(Binary::Mul, axis, exists));
        }
        Ok(Value::new(Type::Point, way))
    }

    /// The middle of the next cell on the way, or the goal if that is there, or no way is found.
    fn next_place(&mut self, walls: &Blocked, from: Point, to: Point, reach: i32) -> Point {
        let own = self.cell(&walls.grid, from);
        let last = self.cell(&walls.grid, to);
        let away = [0, 1].map(|axis| self.binary(Binary::Sub, last[axis], own[axis]));
        let place = self.copy(Value::new(Type::Point, to));
        let (found, done) = (self.label(), self.label());
        for axis in away {
            let long = self.unary(Unary::Abs, axis);
            let is_outside = self.binary(Binary::Lt, reach.into(), long);
            self.emit(Inst::JumpIf(is_outside, done));
        }
        let is_elsewhere = self.binary(Binary::Or, away[0], away[1]);
        self.emit(Inst::JumpUnless(is_elsewhere, done));
        let window = self.window(walls, own, away, reach);
        let sides = self.register_of(Operand::ZERO);
        let rounds = (2 * reach + 1) * (2 * reach + 1);
        let left = self.register_of(rounds.into());
        self.repeat(left, |lower| {
            let reached = lower.sides(&window);
            lower.store(sides, reached);
            lower.emit(Inst::JumpIf(sides, found));
            let changed = lower.spread(&window);
            lower.emit(Inst::JumpUnless(changed, done));
        });
        self.emit(Inst::Jump(done));
        self.place(found);
        // Of several sides, the first.
        let others = self.unary(Unary::Neg, sides);
        let side = self.binary(Binary::And, sides, others);
        let bit = |lower: &mut Lower<'a>, n: i32| {
            let bit = lower.binary(Binary::Shr, side, n.into());
            lower.binary(Binary::And, bit, 1.into())
        };
        let mut is_last = Operand::Const(1);
        let mut middle = [Operand::ZERO; 2];
        for axis in 0..2 {
            let (up, down) = (bit(self, axis as i32), bit(self, axis as i32 + 2));
            let along = self.binary(Binary::Sub, up, down);
            let is_there = self.binary(Binary::Eq, along, away[axis]);
            is_last = self.binary(Binary::And, is_last, is_there);
            let cell = self.binary(Binary::Add, own[axis], along);
            middle[axis] = self.middle_along(walls, axis, cell);
        }
        self.emit(Inst::JumpIf(is_last, done));
        self.assign(
            place,
            Value::new(Type::Point, [middle[0], middle[1], to[2]]),
        );
        self.place(done);
        place.operands
    }

    /// Where the middle of a cell is along an axis, or the last place of the world before it.
    pub(super) fn middle_along(&mut self, walls: &Blocked, axis: usize, cell: Operand) -> Operand {
        let bits = walls.grid.edge_bits as i32;
        let low = self.binary(Binary::Shl, cell, bits.into());
        let half = self.binary(Binary::Add, low, (1 << (bits - 1)).into());
        let most = self.unit.schema.world.size[axis].raw() - 1;
        self.binary(Binary::Min, half, most.into())
    }

    /// The window around a cell, with the one of the goal reached.
    fn window(
        &mut self,
        walls: &Blocked,
        own: [Operand; 2],
        away: [Operand; 2],
        reach: i32,
    ) -> Window {
        let rows = 2 * reach + 1;
        let [x, y] = own.map(|axis| self.binary(Binary::Sub, axis, reach.into()));
        let shift = self.binary(Binary::And, x, 31.into());
        let rest = self.binary(Binary::Sub, 31.into(), shift);
        // The bits that a word shifted to the right has of its own.
        let above = self.binary(Binary::Shl, (-2).into(), rest);
        let own_bits = self.unary(Unary::BitNot, above);
        let [low, high] = [Operand::ZERO, walls.grid.cells[0].into()].map(|edge| {
            let count = self.binary(Binary::Sub, edge, x);
            let count = self.between(count, 0, rows);
            let bits = self.binary(Binary::Shl, 1.into(), count);
            self.binary(Binary::Sub, bits, 1.into())
        });
        // Those of columns of the world.
        let columns = self.binary(Binary::Xor, high, low);
        let first = self.binary(Binary::Shr, x, 5.into());
        let words_log = walls.grid.row.ilog2() as i32 - 5;
        let row = self.binary(Binary::Shl, y, words_log.into());
        let first = self.binary(Binary::Add, row, first);
        let (mut free, mut reached) = (vec![], vec![]);
        let goal = away.map(|axis| self.binary(Binary::Add, axis, reach.into()));
        for n in 0..rows {
            let at = self.binary(Binary::Add, first, (n << words_log).into());
            let next = self.binary(Binary::Add, at, 1.into());
            let [word, next] = [at, next].map(|at| self.set(|reg| Inst::Layer(reg, at)));
            let word = self.binary(Binary::Shr, word, shift);
            let word = self.binary(Binary::And, word, own_bits);
            let next = self.binary(Binary::Shl, next, 1.into());
            let next = self.binary(Binary::Shl, next, rest);
            let blocked = self.binary(Binary::Or, word, next);
            let is_free = self.unary(Unary::BitNot, blocked);
            let is_free = self.binary(Binary::And, is_free, columns);
            let row = self.binary(Binary::Add, y, n.into());
            let is_low = self.binary(Binary::Le, Operand::ZERO, row);
            let is_high = self.binary(Binary::Lt, row, walls.grid.cells[1].into());
            let is_row = self.binary(Binary::And, is_low, is_high);
            let all = self.unary(Unary::Neg, is_row);
            free.push(self.binary(Binary::And, is_free, all));
            let is_goal = self.binary(Binary::Eq, goal[1], n.into());
            let bit = self.binary(Binary::Shl, is_goal, goal[0]);
            reached.push(self.register_of(bit));
        }
        Window {
            reach,
            free,
            reached,
        }
    }

    /// A bit for each side of the window's middle that is reached: that of higher `x`, of higher
    /// `y`, of lower `x`, of lower `y`.
    fn sides(&mut self, window: &Window) -> Operand {
        let reach = window.reach;
        let sides = [
            (reach, reach + 1),
            (reach + 1, reach),
            (reach, reach - 1),
            (reach - 1, reach),
        ];
        let mut all = Operand::ZERO;
        for (n, (row, bit)) in (0..).zip(sides) {
            let side = self.binary(Binary::Shr, window.reached[row as usize], bit.into());
            let side = self.binary(Binary::And, side, 1.into());
            let side = self.binary(Binary::Shl, side, Operand::Const(n));
            all = self.binary(Binary::Or, all, side);
        }
        all
    }

    /// Reaches the free cells beside those that are reached; not 0 if there are any.
    fn spread(&mut self, window: &Window) -> Operand {
        let mut below = Operand::ZERO;
        let mut changed = Operand::ZERO;
        for (n, (&reached, &free)) in window.reached.iter().zip(&window.free).enumerate() {
            let before = self.register_of(reached);
            let up = self.binary(Binary::Shl, before, 1.into());
            let down = self.binary(Binary::Shr, before, 1.into());
            let mut beside = self.binary(Binary::Or, up, down);
            beside = self.binary(Binary::Or, beside, below);
            if let Some(&above) = window.reached.get(n + 1) {
                beside = self.binary(Binary::Or, beside, above);
            }
            beside = self.binary(Binary::And, beside, free);
            let now = self.binary(Binary::Or, before, beside);
            self.store(reached, now);
            let more = self.binary(Binary::Xor, now, before);
            changed = self.binary(Binary::Or, changed, more);
            below = before;
        }
        changed
    }
}
