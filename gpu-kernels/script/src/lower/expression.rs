//! Operators, names, attributes, `if`, `match`.

use proc_macro2::Span;
use shared::predicate::nearest;
use shared::world::fixed::Fixed;
use shared::world::mix::hash_of;
use shared::world::words::{LENGTH_MAX, TextHandle};
use shared::{Audience, Kind};
use syn::spanned::Spanned;

use super::collection::ColumnRef;
use super::constant::constant;
use super::statement::{CALL, is_change, is_text, strip};
use super::{ALL_WORK_MAX, Checked, DEPTH_MAX, FIXED_RANGE, INSTRUCTIONS_MAX, Lower, WORK_MAX};
use crate::diagnostic::one_of;
use crate::ir::{Binary, Inst, Operand, Point, Unary};
use crate::parse::{foreign, guarded, name_of};
use crate::types::{Type, Value};

impl<'a> Lower<'a> {
    /// An expression of a given type.
    pub(super) fn expression_of(&mut self, expression: &'a syn::Expr, ty: Type) -> Checked<Value> {
        let value = self.expression(expression, Some(ty))?;
        self.convert(value, ty, expression)
    }

    /// An expression. `expected` gives literals their type; the result may have another.
    pub(super) fn expression(
        &mut self,
        expression: &'a syn::Expr,
        expected: Option<Type>,
    ) -> Checked<Value> {
        self.check_limits(expression)?;
        let depth = &self.unit.depth;
        depth.set(depth.get() + 1);
        let value = self.expression_inside(expression, expected);
        depth.set(depth.get() - 1);
        value
    }

    fn expression_inside(
        &mut self,
        expression: &'a syn::Expr,
        expected: Option<Type>,
    ) -> Checked<Value> {
        match expression {
            syn::Expr::Paren(inner) => self.expression(&inner.expr, expected),
            syn::Expr::Group(inner) => self.expression(&inner.expr, expected),
            syn::Expr::Lit(literal) => self.literal(&literal.lit, expected),
            syn::Expr::Path(path) => self.name(path, expected),
            syn::Expr::Field(field) => self.field(field),
            syn::Expr::Index(index) => {
                let element = self.element(index)?;
                let value = self.element_value(&element);
                self.read_site(index, element.slot, element.place, value);
                Ok(value)
            }
            syn::Expr::Unary(unary) => self.unary_expression(unary, expected),
            syn::Expr::Binary(binary) => self.binary_expression(binary, expected),
            syn::Expr::Cast(cast) => self.cast(cast),
            syn::Expr::If(branch) => self.if_expression(branch, expected),
            syn::Expr::Match(select) => self.match_expression(select, expected),
            syn::Expr::Block(block) if block.label.is_none() => self.block(&block.block, expected),
            syn::Expr::Call(call) => self.call(call),
            syn::Expr::MethodCall(call) => self.method_call(call),
            syn::Expr::Assign(assign) if expected.is_some_and(|ty| ty != Type::Unit) => {
                let (message, label) = ("an assignment gives no value", "expected `==`");
                let help = "`==` compares two values, `=` changes one";
                Err(self.helped(assign.eq_token.span(), message, label, help))
            }
            syn::Expr::Assign(assign) => self.assignment(&assign.left, None, &assign.right),
            syn::Expr::ForLoop(each) => self.for_loop(each),
            syn::Expr::Return(statement) => self.return_statement(statement),
            syn::Expr::Break(exit) if exit.label.is_none() && exit.expr.is_none() => {
                self.jump_out(exit.span(), true)
            }
            syn::Expr::Continue(again) if again.label.is_none() => {
                self.jump_out(again.span(), false)
            }
            syn::Expr::While(each) => self.while_loop(each),
            syn::Expr::Loop(each) => {
                let label = "expected `while`, or `for` over a range or `near`";
                let span = each.loop_token.span();
                Err(self.problem(span, "scripts have no `loop`", label))
            }
            syn::Expr::Macro(call) => {
                Err(self.problem(call.span(), "scripts have no macros", CALL))
            }
            syn::Expr::Struct(item) => Err(self.misplaced(item)),
            other => {
                let (message, label) = lack(other);
                Err(self.problem(other.span(), message, label))
            }
        }
    }

    /// Ends everything if the command, or all texts together, are too much to compile.
    fn check_limits(&mut self, expression: &syn::Expr) -> Checked<()> {
        let (work, depth) = (&self.unit.work, &self.unit.depth);
        self.work += 1;
        work.set(work.get() + 1);
        let copies = "each call of a helper function is a copy of it: call it in a loop, or \
                      split the command";
        let (message, label, help) = if self.is_stopped {
            (
                "the command is not compiled to its end".to_owned(),
                "",
                "mend the rest first",
            )
        } else if self.lines.len() > self.lines_max() || self.work > WORK_MAX {
            let message = format!("the command has more than {INSTRUCTIONS_MAX} instructions");
            (message, "it has as many before this", copies)
        } else if work.get() > ALL_WORK_MAX {
            let message = "all texts together are too long".to_owned();
            (message, "this is where compilation ended", copies)
        } else if depth.get() > DEPTH_MAX {
            let message = "expressions nest too deep".to_owned();
            (
                message,
                "in all functions and constants around this",
                "give parts of it a name",
            )
        } else {
            return Ok(());
        };
        self.is_stopped = true;
        Err(self.helped(expression.span(), message, label, help))
    }

    fn literal(&mut self, literal: &syn::Lit, expected: Option<Type>) -> Checked<Value> {
        let span = literal.span();
        match literal {
            syn::Lit::Bool(literal) => Ok(Value::constant(Type::Bool, i32::from(literal.value))),
            syn::Lit::Int(literal)
                if matches!(expected, None | Some(Type::Long)) || literal.suffix() == "i64" =>
            {
                match Lower::wide_literal(literal, false) {
                    Some(wide) => Ok(wide),
                    None => self.whole_literal(literal),
                }
            }
            syn::Lit::Int(literal) => self.whole_literal(literal),
            syn::Lit::Float(literal) if literal.suffix().is_empty() => {
                let number = literal.base10_parse::<f64>().ok();
                match number.and_then(Fixed::from_f64) {
                    Some(fixed) => Ok(Value::constant(Type::Fixed, fixed.raw())),
                    None => {
                        Err(self.problem(span, "this number does not fit `Fixed`", FIXED_RANGE))
                    }
                }
            }
            syn::Lit::Str(literal) => self.text(&literal.value(), expected, span),
            _ => Err(self.no_literal(span)),
        }
    }

    fn whole_literal(&self, literal: &syn::LitInt) -> Checked<Value> {
        if !["", "i32"].contains(&literal.suffix()) {
            return Err(match literal.suffix() {
                "i64" => self.problem(
                    literal.span(),
                    "this number does not fit `i64`",
                    "expected -9223372036854775808 to 9223372036854775807",
                ),
                _ => self.no_literal(literal.span()),
            });
        }
        match literal.base10_parse::<i32>() {
            Ok(number) => Ok(Value {
                is_literal: literal.suffix().is_empty(),
                ..Value::constant(Type::Int, number)
            }),
            Err(_) => Err(self.problem(
                literal.span(),
                "this number does not fit `i32`",
                "expected -2147483648 to 2147483647",
            )),
        }
    }

    fn no_literal(&self, span: Span) -> Box<crate::Diagnostic> {
        let label = "expected a number, `true`, `false` or a \"symbol\"";
        self.problem(span, "scripts don't have this literal", label)
    }

    /// The name of a symbol or kind.
    fn text(&mut self, text: &str, expected: Option<Type>, span: Span) -> Checked<Value> {
        let schema = self.unit.schema;
        let (found, what, names): (_, _, Vec<&str>) = match expected {
            Some(Type::Kind) => (
                schema.kind(text),
                "kind",
                schema.kinds.iter().map(|k| k.name.as_str()).collect(),
            ),
            Some(ty @ (Type::Symbol | Type::SymbolOf(_))) => {
                let found = self.unit.symbol(text);
                if found.is_some_and(|number| !self.unit.fits(ty, number)) {
                    return Err(self.foreign_symbol(text, ty, span));
                }
                let found = found.map(|number| number as usize);
                (found, "symbol", self.unit.symbol_names(ty))
            }
            Some(Type::Never) => return Ok(Value::NEVER),
            Some(Type::Text) => return self.text_literal(text, span),
            Some(ty) if ty != Type::Unit => {
                let label = format!("expected `{}`, found a text", self.unit.show(ty));
                return Err(self.problem(span, "the types differ", label));
            }
            _ => {
                let label = "only symbols and kinds are written like this, next to one";
                return Err(self.problem(span, "a text has no place here", label));
            }
        };
        let ty = expected.unwrap_or(Type::Symbol);
        match found {
            Some(number) => Ok(Value::constant(ty, number as i32)),
            None => {
                let message = format!("this world has no {what} \"{text}\"");
                Err(self.problem(span, message, one_of(&names)))
            }
        }
    }

    /// The empty text. Tests have others, too: a text of each length and content is one of its own.
    fn text_literal(&self, text: &str, span: Span) -> Checked<Value> {
        if text.is_empty() {
            return Ok(Value::constant(Type::Text, 0));
        }
        if !self.unit.is_test {
            let message = "scripts have no texts of their own";
            let label = "expected `\"\"`, a parameter of type `Text` or an attribute of type text";
            return Err(self.problem(span, message, label));
        }
        let Ok(length) = u8::try_from(text.len()) else {
            let message = "this text is too long";
            let label = format!("expected at most {LENGTH_MAX} bytes, found {}", text.len());
            return Err(self.problem(span, message, label));
        };
        let handle = TextHandle::new(length, hash_of(text.as_bytes()) as u32);
        Ok(Value::constant(Type::Text, handle.0))
    }

    fn name(&mut self, path: &'a syn::ExprPath, expected: Option<Type>) -> Checked<Value> {
        let Some(ident) = path.path.get_ident() else {
            return Err(self.no_path(&path.path));
        };
        let name = name_of(ident);
        if let Some(local) = self.local(&name) {
            if local.is_unborn {
                return Err(self.not_born(&name, ident.span()));
            }
            // A later assignment must not change what was read.
            return Ok(match local.is_mutable {
                true => self.copy(local.value),
                false => local.value,
            });
        }
        if name == "none" {
            return Ok(Value::NOBODY);
        }
        if name == WORLD {
            return self.shared_entity(ident.span());
        }
        match constant(self.unit, self.file(), &name) {
            // Its own problem is enough.
            Some(value) => Ok(value.unwrap_or(Value::NEVER)),
            None => {
                let schema = self.unit.schema;
                let is_text = match expected {
                    Some(Type::Kind) => schema.kind(&name).is_some(),
                    Some(ty) if ty.is_symbol() => schema.symbols.contains(&name),
                    _ => false,
                };
                let mut problem = self.unknown_name(&name, ident.span());
                if is_text {
                    problem.help = Some(format!("write `\"{name}\"`"));
                }
                Err(problem)
            }
        }
    }

    /// The entity that has what the whole world shares.
    fn shared_entity(&mut self, span: Span) -> Checked<Value> {
        let Some(entity) = self.unit.schema.world_entity() else {
            let message = "this world shares nothing";
            let label = "expected `attributes = [ … ]` in `[world]` of the world file";
            return Err(self.problem(span, message, label));
        };
        let slot = self.resolved(Operand::Const(entity.reference().0), span);
        Ok(Value::scalar(Type::Entity, slot))
    }

    /// Checks that the world shares an attribute, where `base` is the world.
    pub(super) fn check_shared(&self, base: &syn::Expr, name: &str, span: Span) -> Checked<()> {
        let schema = self.unit.schema;
        let is_world = matches!(strip(base), syn::Expr::Path(path) if path.path.is_ident(WORLD));
        let Some(kind) = schema
            .world_kind
            .filter(|_| is_world && self.local(WORLD).is_none())
        else {
            return Ok(());
        };
        let own = schema.kinds[usize::from(kind)].attributes.iter();
        let own = own.filter(|own| usize::from(own.column) >= self.unit.dimensions);
        let own = own.map(|own| self.unit.attribute_name(own.column));
        let mut names: Vec<&str> = own.collect();
        names.dedup();
        if names.contains(&name) {
            return Ok(());
        }
        let message = format!("the world shares no `{name}`");
        let mut problem = self.problem(span, message, one_of(&names));
        let near = nearest(name, names.iter().copied());
        problem.help = near.map(|near| format!("did you mean `{near}`?"));
        Err(problem)
    }

    pub(super) fn unknown_name(&self, name: &str, span: Span) -> Box<crate::Diagnostic> {
        let message = format!("there is no `{name}` here");
        if let Some(value) = foreign::value_of(name) {
            return self.helped(span, message, "", format!("write `{value}`"));
        }
        if let Some(file) = self.unit.private_constant(name) {
            let label = format!("{file} has one, which it keeps to itself");
            let help = format!("write `pub const {name}` in {file}");
            return self.helped(span, message, label, help);
        }
        let scopes = self.scopes.iter().flat_map(|scope| scope.locals.keys());
        let locals = scopes.map(String::as_str);
        let known = locals.chain(self.unit.constant_names(self.file()));
        // A local of the same name is another function's.
        match nearest(name, known.filter(|known| *known != name)) {
            Some(near) => self.helped(span, message, "", format!("did you mean `{near}`?")),
            None => {
                let label = "expected a variable, a parameter or a constant";
                let mut problem = self.problem(span, message, label);
                if self.unit.attribute_names().contains(&name) {
                    problem.help = Some(format!("an attribute is of an entity: `me.{name}`"));
                }
                problem
            }
        }
    }

    /// `entity.attribute`, `entity.kind`, `entity.position`, `point.x`.
    fn field(&mut self, field: &'a syn::ExprField) -> Checked<Value> {
        let syn::Member::Named(member) = &field.member else {
            let label = "expected the name of an attribute or axis";
            return Err(self.problem(field.member.span(), "scripts have no tuples", label));
        };
        let name = name_of(member);
        self.check_shared(&field.base, &name, member.span())?;
        let base = self.expression(&field.base, None)?;
        match base.ty {
            Type::Never => Ok(Value::NEVER),
            Type::Point => match self.axis(&name) {
                Some(axis) => Ok(Value::scalar(Type::Fixed, base.operands[axis])),
                None => Err(self.no_axis(&name, member.span())),
            },
            Type::Entity if name == "position" => {
                self.check_place(base.operand(), member.span())?;
                let value = Value::new(Type::Point, self.position(base.operand()));
                self.read_site(field, base.operand(), 0.into(), value);
                Ok(value)
            }
            Type::Entity if name == "kind" => {
                let slot = base.operand();
                Ok(Value::scalar(
                    Type::Kind,
                    self.set(|reg| Inst::Kind(reg, slot)),
                ))
            }
            Type::Entity => {
                let value = self.attribute(base.operand(), &name, member.span())?;
                if let Some(column) = self.unit.schema.column(&name) {
                    let place = ColumnRef::from(column as u16);
                    self.read_site(field, base.operand(), place, value);
                }
                Ok(value)
            }
            other => {
                let message = format!("`{other}` has no `{name}`");
                Err(self.problem(
                    member.span(),
                    message,
                    "only entities and points have parts",
                ))
            }
        }
    }

    pub(super) fn no_axis(&self, name: &str, span: Span) -> Box<crate::Diagnostic> {
        let axes = &["x", "y", "z"][..self.unit.dimensions];
        self.problem(span, format!("a point has no `{name}`"), one_of(axes))
    }

    pub(super) fn axis(&self, name: &str) -> Option<usize> {
        let axes = &["x", "y", "z"][..self.unit.dimensions];
        axes.iter().position(|&axis| axis == name)
    }

    /// The column of an attribute.
    pub(super) fn column(&self, name: &str, span: Span) -> Checked<usize> {
        let schema = self.unit.schema;
        if let Some(column) = schema.column(name) {
            if self.unit.is_client && schema.attributes[column].audience == Audience::Hidden {
                let message = format!("`{name}` is hidden");
                return Err(self.problem(span, message, "no client is sent it"));
            }
            return Ok(column);
        }
        if let Some(own) = self.unit.collection(name) {
            return Err(self.whole_collection(&own.collection, span));
        }
        let names = self.unit.attribute_names();
        let message = format!("this world has no attribute `{name}`");
        Err(match nearest(name, names.iter().copied()) {
            Some(near) => self.helped(span, message, "", format!("did you mean `{near}`?")),
            None => self.problem(span, message, one_of(&names)),
        })
    }

    pub(super) fn attribute(&mut self, slot: Operand, name: &str, span: Span) -> Checked<Value> {
        let column = self.column(name, span)?;
        let ty = Type::of_column(self.unit.schema, column);
        Ok(self.value_at(slot, ColumnRef::from(column as u16), ty, span))
    }

    /// An attribute's value, or -1, which is no entity and no symbol, where the kind lacks the
    /// attribute.
    pub(super) fn reference_or_none(
        &mut self,
        slot: Operand,
        column: u16,
        value: Operand,
    ) -> Operand {
        let column_of = |kind: &Kind| kind.attributes.iter().any(|a| a.column == column);
        if Some(slot) == self.me && self.unit.schema.kinds.iter().all(column_of) {
            return value;
        }
        let has = self.set(|reg| Inst::Has(reg, slot, column));
        // All ones where it has none.
        let lacks = self.binary(Binary::Sub, has, 1.into());
        self.binary(Binary::Or, value, lacks)
    }

    /// The position of an entity; the world's corner if it isn't there.
    pub(super) fn position(&mut self, slot: Operand) -> Point {
        let mut position = [Operand::ZERO; 3];
        for (axis, operand) in position.iter_mut().enumerate().take(self.unit.dimensions) {
            *operand = self.set(|reg| Inst::Read(reg, slot, axis as u16));
        }
        position
    }

    /// A point, or the position of an entity.
    pub(super) fn place_of(&mut self, expression: &'a syn::Expr) -> Checked<Point> {
        let value = self.expression(expression, None)?;
        match value.ty {
            Type::Entity => {
                self.check_place(value.operand(), expression.span())?;
                Ok(self.position(value.operand()))
            }
            _ => Ok(self.as_point(value, expression)?.operands),
        }
    }

    /// A value as a point, where an entity would do as well.
    pub(super) fn as_point(&self, value: Value, at: &dyn Spanned) -> Checked<Value> {
        match value.ty {
            Type::Point | Type::Never => Ok(value),
            other => Err(self.mismatch(other, "`Point` or `Entity`", None, at.span())),
        }
    }

    fn unary_expression(
        &mut self,
        unary: &'a syn::ExprUnary,
        expected: Option<Type>,
    ) -> Checked<Value> {
        if let (syn::UnOp::Neg(_), syn::Expr::Lit(literal)) = (&unary.op, strip(&unary.expr))
            && let Some(lowest) = lowest(&literal.lit)
        {
            return Ok(lowest);
        }
        let a = self.expression(&unary.expr, expected)?;
        match (&unary.op, a.ty) {
            (_, Type::Never) => Ok(Value::NEVER),
            (syn::UnOp::Neg(_), Type::Long) => Ok(self.wide_negative(a)),
            (syn::UnOp::Not(_), Type::Long) => {
                let flipped = a.halves().map(|half| self.unary(Unary::BitNot, half));
                Ok(Value::of_halves(flipped))
            }
            (syn::UnOp::Neg(_), Type::Int | Type::Fixed) => {
                let operand = self.unary(Unary::Neg, a.operand());
                Ok(Value {
                    operands: [operand, Operand::ZERO, Operand::ZERO],
                    ..a
                })
            }
            (syn::UnOp::Neg(_), Type::Point) => {
                let operands = a.operands.map(|axis| self.unary(Unary::Neg, axis));
                Ok(Value::new(Type::Point, operands))
            }
            (syn::UnOp::Not(_), Type::Bool) => Ok(Value::scalar(
                Type::Bool,
                self.unary(Unary::Not, a.operand()),
            )),
            (syn::UnOp::Not(_), Type::Int) => Ok(Value::scalar(
                Type::Int,
                self.unary(Unary::BitNot, a.operand()),
            )),
            (syn::UnOp::Deref(star), _) => {
                let label = "expected nothing before the value";
                Err(self.problem(star.span(), "scripts have no references", label))
            }
            (op, ty) => {
                let label = match op {
                    syn::UnOp::Not(_) => "expected `bool` or `i32`",
                    _ => "expected `i32`, `Fixed` or `Point`",
                };
                let message = format!("`{ty}` doesn't have this operator");
                Err(self.problem(unary.expr.span(), message, label))
            }
        }
    }

    fn binary_expression(
        &mut self,
        binary: &'a syn::ExprBinary,
        expected: Option<Type>,
    ) -> Checked<Value> {
        use syn::BinOp;
        match &binary.op {
            BinOp::And(_) | BinOp::Or(_) => return self.logic(binary),
            op if is_change(op) => {
                return self.assignment(&binary.left, Some(op), &binary.right);
            }
            _ => {}
        }
        if let (BinOp::Mul(sign), syn::Expr::Unary(unary)) = (&binary.op, &*binary.right)
            && matches!(unary.op, syn::UnOp::Deref(_))
        {
            let (message, label) = ("scripts don't write `**`", "expected a product");
            return Err(self.helped(
                sign.span(),
                message,
                label,
                "there is no power: write `a * a`",
            ));
        }
        let is_comparison = matches!(
            binary.op,
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
        );
        let expected = expected.filter(|_| !is_comparison);
        // A text gets its type from the other side.
        let (a, b) = if is_text(&binary.left) {
            let b = self.expression(&binary.right, expected)?;
            (self.expression(&binary.left, Some(b.ty))?, b)
        } else {
            let a = self.expression(&binary.left, expected)?;
            let hint = match binary.op {
                _ if is_text(&binary.right) => Some(a.ty),
                BinOp::Shl(_) | BinOp::Shr(_) => Some(Type::Int),
                _ => expected,
            };
            (a, self.expression(&binary.right, hint)?)
        };
        if is_comparison {
            self.side_site(&binary.left, a);
            self.side_site(&binary.right, b);
        }
        self.operate(binary.op, a, b, [&binary.left, &binary.right, binary])
    }

    /// A side of a comparison, unless its value stands there.
    fn side_site(&mut self, side: &syn::Expr, value: Value) {
        let is_written =
            matches!(strip(side), syn::Expr::Field(_) | syn::Expr::Index(_)) || value.is_constant();
        if self.unit.has_sites && !is_written {
            let source = self.unit.files[self.file()].source(side.span());
            let name = source.unwrap_or("…").to_owned();
            self.value_site(side, &name, value);
        }
    }

    /// `a && b`, `a || b`: the right side only counts where it decides.
    fn logic(&mut self, binary: &'a syn::ExprBinary) -> Checked<Value> {
        let is_and = matches!(binary.op, syn::BinOp::And(_));
        let a = self.expression_of(&binary.left, Type::Bool)?;
        if let Some(known) = a.operand().constant() {
            if (known != 0) == is_and {
                return self.expression_of(&binary.right, Type::Bool);
            }
            self.unreached(|lower| lower.expression_of(&binary.right, Type::Bool))?;
            return Ok(a);
        }
        let result = self.copy(a);
        let exit = self.label();
        let operand = result.operand();
        self.emit(match is_and {
            true => Inst::JumpUnless(operand, exit),
            false => Inst::JumpIf(operand, exit),
        });
        let b = self.expression_of(&binary.right, Type::Bool)?;
        self.assign(result, b);
        self.place(exit);
        Ok(result)
    }

    /// Lowers what is never reached, to check it, and drops the instructions.
    pub(super) fn unreached<T>(
        &mut self,
        lower: impl FnOnce(&mut Lower<'a>) -> Checked<T>,
    ) -> Checked<T> {
        let kept = self.lines.len();
        let result = lower(self);
        self.lines.truncate(kept);
        result
    }

    /// The result of an operator that isn't lazy.
    pub(super) fn operate(
        &mut self,
        op: syn::BinOp,
        a: Value,
        b: Value,
        [at_a, at_b, at]: [&dyn Spanned; 3],
    ) -> Checked<Value> {
        use syn::BinOp;
        if a.ty == Type::Never || b.ty == Type::Never {
            return Ok(Value::NEVER);
        }
        if let Some(value) = self.point_operator(op, a, b, at_b)? {
            return Ok(value);
        }
        let is_shift = matches!(op, BinOp::Shl(_) | BinOp::Shr(_));
        let [a, b] = match a.ty.is_symbol() && b.ty.is_symbol() {
            true => self.compared_symbols([a, b], [at_a, at_b, at])?,
            false => [a, b],
        };
        let (a, b) = match (a.ty, b.ty) {
            (Type::Fixed, Type::Int) if !is_shift => (a, self.convert(b, Type::Fixed, at_b)?),
            (Type::Int, Type::Fixed) if !is_shift => (self.convert(a, Type::Fixed, at_a)?, b),
            (Type::Fixed, Type::Int) => (a, b),
            (Type::Long, Type::Int) if !is_shift => (a, self.convert(b, Type::Long, at_b)?),
            (Type::Int, Type::Long) if !is_shift => (self.convert(a, Type::Long, at_a)?, b),
            (Type::Long, Type::Int) => (a, self.widened(b.operand())),
            (a_ty, b_ty) if a_ty == b_ty => (a, b),
            (a_ty, b_ty) => {
                let [a_ty, b_ty] = [a_ty, b_ty].map(|ty| self.unit.show(ty));
                let label = format!("found `{a_ty}` and `{b_ty}`");
                return Err(self.problem(at.span(), "the two sides differ in type", label));
            }
        };
        if a.ty == Type::Long {
            return self.wide_operator(op, a, b, at);
        }
        let (x, y, ty) = (a.operand(), b.operand(), a.ty);
        let is_literal = a.is_literal && b.is_literal;
        let number = |value| Value {
            is_literal,
            ..Value::scalar(ty, value)
        };
        let truth = |value| Value::scalar(Type::Bool, value);
        Ok(match (op, ty) {
            (BinOp::Add(_), Type::Int | Type::Fixed) => number(self.binary(Binary::Add, x, y)),
            (BinOp::Sub(_), Type::Int | Type::Fixed) => number(self.binary(Binary::Sub, x, y)),
            (BinOp::Mul(_), Type::Int) => number(self.binary(Binary::Mul, x, y)),
            (BinOp::Mul(_), Type::Fixed) => number(self.binary(Binary::MulFixed, x, y)),
            (BinOp::Div(_), Type::Int) => number(self.binary(Binary::Div, x, y)),
            (BinOp::Div(_), Type::Fixed) => number(self.binary(Binary::DivFixed, x, y)),
            (BinOp::Rem(_), Type::Int | Type::Fixed) => number(self.binary(Binary::Rem, x, y)),
            (BinOp::Shl(_), Type::Int | Type::Fixed) => number(self.binary(Binary::Shl, x, y)),
            (BinOp::Shr(_), Type::Int | Type::Fixed) => number(self.binary(Binary::Shr, x, y)),
            (BinOp::BitAnd(_), Type::Int | Type::Bool) => number(self.binary(Binary::And, x, y)),
            (BinOp::BitOr(_), Type::Int | Type::Bool) => number(self.binary(Binary::Or, x, y)),
            (BinOp::BitXor(_), Type::Int | Type::Bool) => number(self.binary(Binary::Xor, x, y)),
            (BinOp::Eq(_), _) => truth(self.binary(Binary::Eq, x, y)),
            (BinOp::Ne(_), _) => truth(self.binary(Binary::Ne, x, y)),
            (BinOp::Lt(_), Type::Int | Type::Fixed) => truth(self.binary(Binary::Lt, x, y)),
            (BinOp::Le(_), Type::Int | Type::Fixed) => truth(self.binary(Binary::Le, x, y)),
            (BinOp::Gt(_), Type::Int | Type::Fixed) => truth(self.binary(Binary::Lt, y, x)),
            (BinOp::Ge(_), Type::Int | Type::Fixed) => truth(self.binary(Binary::Le, y, x)),
            (_, ty) => {
                let message = format!("`{ty}` doesn't have this operator");
                let label = match ty {
                    Type::Point => "points have `+`, `-`, `==`, and `*` and `/` with a number",
                    Type::Bool => "`bool` has `&&`, `||`, `!`, `==`, `&`, `|` and `^`",
                    Type::Fixed => "`Fixed` has `+`, `-`, `*`, `/`, `%`, shifts and comparisons",
                    _ => "it has `==` and `!=`",
                };
                return Err(self.problem(at.span(), message, label));
            }
        })
    }

    /// Operators of points: `+` and `-` of two, `*` and `/` by a number, comparison.
    fn point_operator(
        &mut self,
        op: syn::BinOp,
        a: Value,
        b: Value,
        at_b: &dyn Spanned,
    ) -> Checked<Option<Value>> {
        use syn::BinOp;
        let dimensions = self.unit.dimensions;
        let mut result = [Operand::ZERO; 3];
        match (op, a.ty, b.ty) {
            (BinOp::Add(_) | BinOp::Sub(_), Type::Point, Type::Point) => {
                let op = match op {
                    BinOp::Add(_) => Binary::Add,
                    _ => Binary::Sub,
                };
                for (axis, result) in result.iter_mut().enumerate().take(dimensions) {
                    *result = self.binary(op, a.operands[axis], b.operands[axis]);
                }
            }
            (BinOp::Mul(_) | BinOp::Div(_), Type::Point, Type::Fixed | Type::Int) => {
                let factor = self.convert(b, Type::Fixed, at_b)?.operand();
                let op = match op {
                    BinOp::Mul(_) => Binary::MulFixed,
                    _ => Binary::DivFixed,
                };
                for (axis, result) in result.iter_mut().enumerate().take(dimensions) {
                    *result = self.binary(op, a.operands[axis], factor);
                }
            }
            (BinOp::Eq(_) | BinOp::Ne(_), Type::Point, Type::Point) => {
                let mut all = Operand::Const(1);
                for axis in 0..dimensions {
                    let same = self.binary(Binary::Eq, a.operands[axis], b.operands[axis]);
                    all = self.binary(Binary::And, all, same);
                }
                if let BinOp::Ne(_) = op {
                    all = self.unary(Unary::Not, all);
                }
                return Ok(Some(Value::scalar(Type::Bool, all)));
            }
            _ => return Ok(None),
        }
        Ok(Some(Value::new(Type::Point, result)))
    }

    fn cast(&mut self, cast: &'a syn::ExprCast) -> Checked<Value> {
        let to = self.unit.files[self.file()].ty(&cast.ty)?;
        let value = self.expression(&cast.expr, None)?;
        let operand = value.operand();
        match (value.ty, to) {
            (from, to) if from == to || from == Type::Never => Ok(Value {
                is_literal: false,
                ..value
            }),
            (Type::Fixed, Type::Int) => Ok(Value::scalar(to, self.unary(Unary::Whole, operand))),
            (Type::Int, Type::Fixed) => Ok(Value::scalar(to, self.unary(Unary::ToFixed, operand))),
            (Type::Bool, Type::Int) => Ok(Value::scalar(to, operand)),
            (Type::Int | Type::Bool, Type::Long) => Ok(self.widened(operand)),
            (Type::Fixed, Type::Long) => {
                let whole = self.unary(Unary::Whole, operand);
                Ok(self.widened(whole))
            }
            // Of a number that 32 bits don't hold, the low ones count.
            (Type::Long, Type::Int) => Ok(Value::scalar(to, operand)),
            (Type::Long, Type::Fixed) => Ok(Value::scalar(to, self.unary(Unary::ToFixed, operand))),
            (from, to) if from.is_symbol() && to.is_symbol() => {
                self.convert_symbol(value, to, cast)
            }
            (from, to) => {
                let message = format!("`{from}` can't become `{to}`");
                Err(self.problem(
                    cast.span(),
                    message,
                    "only numbers and `bool` change their type",
                ))
            }
        }
    }

    fn if_expression(&mut self, branch: &'a syn::ExprIf, expected: Option<Type>) -> Checked<Value> {
        if let syn::Expr::Let(pattern) = strip(&branch.cond) {
            let label = "expected a condition";
            return Err(self.problem(pattern.span(), "scripts have no `if let`", label));
        }
        let condition = self.expression_of(&branch.cond, Type::Bool)?;
        let otherwise = branch
            .else_branch
            .as_ref()
            .map(|(_, otherwise)| &**otherwise);
        let expected = if otherwise.is_some() {
            expected
        } else {
            Some(Type::Unit)
        };
        if let Some(known) = condition.operand().constant() {
            return self.known_branch(known != 0, &branch.then_branch, otherwise, expected);
        }
        let (over, exit) = (self.label(), self.label());
        self.emit(Inst::JumpUnless(condition.operand(), over));
        let mut joined = None;
        let then = self.block(&branch.then_branch, expected)?;
        self.join(&mut joined, then, expected, &branch.then_branch)?;
        self.emit(Inst::Jump(exit));
        self.place(over);
        let value = match otherwise {
            Some(otherwise) => self.expression(otherwise, expected)?,
            None => Value::UNIT,
        };
        let at: &dyn Spanned = match otherwise {
            Some(otherwise) => otherwise,
            None => branch,
        };
        self.join(&mut joined, value, expected, at)?;
        self.place(exit);
        Ok(joined.unwrap_or(Value::NEVER))
    }

    /// The branches of an `if` of which one is never taken.
    fn known_branch(
        &mut self,
        is_then: bool,
        then: &'a syn::Block,
        otherwise: Option<&'a syn::Expr>,
        expected: Option<Type>,
    ) -> Checked<Value> {
        let lower_otherwise = |lower: &mut Lower<'a>| match otherwise {
            Some(otherwise) => lower.expression(otherwise, expected),
            None => Ok(Value::UNIT),
        };
        if is_then {
            self.unreached(lower_otherwise)?;
            let value = self.block(then, expected)?;
            // Without `else`, it may as well not have been there.
            Ok(if otherwise.is_none() && value.ty != Type::Never {
                Value::UNIT
            } else {
                value
            })
        } else {
            self.unreached(|lower| lower.block(then, expected))?;
            lower_otherwise(self)
        }
    }

    /// Brings the values of branches together in the same registers.
    fn join(
        &mut self,
        joined: &mut Option<Value>,
        value: Value,
        expected: Option<Type>,
        at: &dyn Spanned,
    ) -> Checked<()> {
        // Here a whole number is still known to be as written.
        let value = match expected {
            Some(ty @ (Type::Fixed | Type::Long)) if value.is_literal => {
                self.convert(value, ty, at)?
            }
            _ => value,
        };
        if value.ty == Type::Never {
            return Ok(());
        }
        match *joined {
            None => *joined = Some(self.copy(value)),
            Some(to) if to.ty == Type::Unit || value.ty == Type::Unit => {
                *joined = Some(Value::UNIT);
            }
            // Symbols of different attributes come out as any symbol.
            Some(to) if to.ty != value.ty && to.ty.is_symbol() && value.ty.is_symbol() => {
                self.assign(to, value);
                *joined = Some(Value {
                    ty: Type::Symbol,
                    ..to
                });
            }
            Some(to) => {
                let value = self.convert(value, to.ty, at)?;
                self.assign(to, value);
            }
        }
        Ok(())
    }

    fn match_expression(
        &mut self,
        select: &'a syn::ExprMatch,
        expected: Option<Type>,
    ) -> Checked<Value> {
        let value = self.expression(&select.expr, None)?;
        if !matches!(
            value.ty,
            Type::Int | Type::Bool | Type::Symbol | Type::SymbolOf(_) | Type::Kind | Type::Never
        ) {
            let label = format!(
                "expected a symbol, kind, `i32` or `bool`, found `{}`",
                value.ty
            );
            return Err(self.problem(select.expr.span(), "this can't be matched", label));
        }
        let exit = self.label();
        let mut joined = None;
        let mut is_exhaustive = false;
        let mut truths = [false; 2];
        for arm in &select.arms {
            let (next, body) = (self.label(), self.label());
            let (pattern, guard) = guarded(&arm.pat);
            is_exhaustive |= self.pattern(pattern, value, body)? && guard.is_none();
            if let (syn::Pat::Lit(literal), None) = (pattern, guard)
                && let syn::Lit::Bool(truth) = &literal.lit
            {
                truths[usize::from(truth.value)] = true;
                is_exhaustive |= truths == [true; 2];
            }
            self.emit(Inst::Jump(next));
            self.place(body);
            if let Some(guard) = guard {
                let guard = self.expression_of(guard, Type::Bool)?;
                self.emit(Inst::JumpUnless(guard.operand(), next));
            }
            let result = self.expression(&arm.body, expected)?;
            let result = match expected {
                Some(Type::Unit) if result.ty != Type::Never => Value::UNIT,
                _ => result,
            };
            self.join(&mut joined, result, expected, &arm.body)?;
            self.emit(Inst::Jump(exit));
            self.place(next);
        }
        if !is_exhaustive {
            let help = "add `_ => …` as the last arm";
            let message = "this `match` does not cover every value";
            let label = "expected an arm for all other values";
            return Err(self.helped(select.match_token.span(), message, label, help));
        }
        self.place(exit);
        Ok(joined.unwrap_or(Value::NEVER))
    }

    /// Jumps to `body` if the pattern fits. Returns whether it always does.
    fn pattern(&mut self, pattern: &'a syn::Pat, value: Value, body: u32) -> Checked<bool> {
        match pattern {
            syn::Pat::Wild(_) => {
                self.emit(Inst::Jump(body));
                Ok(true)
            }
            syn::Pat::Or(or) => {
                let mut always = false;
                for case in &or.cases {
                    always |= self.pattern(case, value, body)?;
                }
                Ok(always)
            }
            syn::Pat::Paren(inner) => self.pattern(&inner.pat, value, body),
            syn::Pat::Lit(literal) => {
                let case = self.literal(&literal.lit, Some(value.ty))?;
                self.case(value, case, body, literal)
            }
            syn::Pat::Ident(name) if name.subpat.is_none() && name.by_ref.is_none() => {
                let text = name_of(&name.ident);
                match constant(self.unit, self.file(), &text) {
                    Some(case) => self.case(value, case.unwrap_or(Value::NEVER), body, name),
                    None => {
                        let message = format!("there is no constant `{text}`");
                        Err(self.problem(
                            name.span(),
                            message,
                            "expected a literal, a constant or `_`",
                        ))
                    }
                }
            }
            other => {
                let label = "expected a literal, a constant or `_`";
                Err(self.problem(other.span(), "scripts don't have this pattern", label))
            }
        }
    }

    fn case(&mut self, value: Value, case: Value, body: u32, at: &dyn Spanned) -> Checked<bool> {
        if value.ty == Type::Never {
            return Ok(false);
        }
        let case = self.convert(case, value.ty, at)?;
        let fits = self.binary(Binary::Eq, value.operand(), case.operand());
        self.emit(Inst::JumpIf(fits, body));
        Ok(false)
    }
}

/// The value of `-2147483648` or `-524288.0`, which have no positive counterpart.
fn lowest(literal: &syn::Lit) -> Option<Value> {
    match literal {
        syn::Lit::Int(number) if ["", "i32"].contains(&number.suffix()) => {
            let magnitude = number.base10_parse::<u64>().ok()?;
            match magnitude {
                0x8000_0000 => Some(Value::constant(Type::Int, i32::MIN)),
                _ => lowest_wide(number, magnitude),
            }
        }
        syn::Lit::Int(number) if number.suffix() == "i64" => {
            lowest_wide(number, number.base10_parse::<u64>().ok()?)
        }
        syn::Lit::Float(number) if number.suffix().is_empty() => {
            let number = number.base10_parse::<f64>().ok()?;
            let fixed = Fixed::from_f64(-number).filter(|fixed| fixed.raw() == i32::MIN)?;
            Some(Value::constant(Type::Fixed, fixed.raw()))
        }
        _ => None,
    }
}

fn lowest_wide(number: &syn::LitInt, magnitude: u64) -> Option<Value> {
    let is_lowest = magnitude == i64::MIN.unsigned_abs();
    is_lowest.then(|| Lower::wide_literal(number, true))?
}

/// What scripts don't have, and what they have in its place.
fn lack(expression: &syn::Expr) -> (&'static str, &'static str) {
    use syn::Expr;
    match expression {
        Expr::Reference(_) => ("scripts have no references", "expected the value itself"),
        Expr::Array(_) | Expr::Repeat(_) => (
            "only attributes are arrays, which the world file declares",
            "expected one value",
        ),
        Expr::Tuple(tuple) if tuple.elems.is_empty() => ("scripts don't write `()`", ""),
        Expr::Tuple(_) => (
            "scripts have no tuples",
            "expected one value, or `point(x, y)`",
        ),
        Expr::Closure(_) => ("scripts have no closures", "expected a value"),
        Expr::Range(_) => ("a range only stands in a `for`", "expected a value"),
        Expr::Let(_) => (
            "scripts have no `let` in conditions",
            "expected a condition",
        ),
        Expr::Try(_) => (
            "scripts have no `?`",
            "expected a value, or `if a { b } else { c }`",
        ),
        Expr::Await(_) | Expr::Async(_) => ("scripts don't wait", "expected `after(ticks, …)`"),
        Expr::Unsafe(_) => ("scripts have no `unsafe`", "expected a value"),
        Expr::Break(_) | Expr::Continue(_) => (
            "scripts have no loop labels",
            "expected `break` or `continue` alone",
        ),
        Expr::Block(_) => ("scripts have no labels", "expected a block alone"),
        _ => ("scripts don't have this", "expected a value"),
    }
}

/// What the whole world shares, as scripts name it.
pub(super) const WORLD: &str = "world";
