//! Blocks, `let`, loops, assignments.

use syn::spanned::Spanned;

use super::constant::constant;
use super::{Checked, Lower, Scope};
use crate::diagnostic::PROBLEMS_MAX;
use crate::ir::Inst;
use crate::parse::name_of;
use crate::types::{Type, Value};

impl<'a> Lower<'a> {
    /// A function's body: its value is that of the block.
    pub(super) fn body(&mut self, block: &'a syn::Block, result: Type) -> Checked<Value> {
        let value = self.block(block, Some(result))?;
        let end = block.brace_token.span.close();
        match block.stmts.last() {
            Some(syn::Stmt::Expr(expression, None)) => {
                if result == Type::Unit && !matches!(value.ty, Type::Unit | Type::Never) {
                    let message = "the function gives no value";
                    let label = format!("found a value of type `{}`", value.ty);
                    let help = format!("end it with `;`, or declare `-> {}`", value.ty);
                    return Err(self.helped(expression.span(), message, label, help));
                }
                self.convert(value, result, expression)
            }
            _ => self.convert(value, result, &end).map_err(|mut problem| {
                let help = "the last line of a function is its value, without `;`";
                problem.help = Some(help.to_owned());
                problem
            }),
        }
    }

    /// A block. Problems of its statements are noted, so that all of them are found.
    pub(super) fn block(
        &mut self,
        block: &'a syn::Block,
        expected: Option<Type>,
    ) -> Checked<Value> {
        self.scopes.push(Scope::default());
        let value = self.statements(&block.stmts, expected);
        self.scopes.pop();
        value
    }

    fn statements(
        &mut self,
        statements: &'a [syn::Stmt],
        expected: Option<Type>,
    ) -> Checked<Value> {
        let mut last = Value::UNIT;
        for (i, statement) in statements.iter().enumerate() {
            let is_last = i + 1 == statements.len();
            let value = match statement {
                syn::Stmt::Expr(expression, None) if is_last => {
                    let value = self.expression(expression, expected)?;
                    if expected == Some(Type::Unit) && is_comparison(expression) {
                        return Err(self.no_effect(expression));
                    }
                    return Ok(value);
                }
                _ => self.statement(statement),
            };
            last = match value {
                Ok(value) if value.ty == Type::Never => Value::NEVER,
                Ok(_) => Value::UNIT,
                Err(problem) if self.is_stopped => return Err(problem),
                Err(problem) => {
                    self.problems.push(*problem);
                    self.is_stopped = self.problems.len() >= PROBLEMS_MAX;
                    Value::NEVER
                }
            };
        }
        Ok(last)
    }

    fn statement(&mut self, statement: &'a syn::Stmt) -> Checked<Value> {
        match statement {
            syn::Stmt::Local(local) => self.let_statement(local),
            syn::Stmt::Expr(expression, semicolon) => {
                let value = self.expression(expression, None)?;
                match semicolon.is_some() && is_idle(expression) && value.ty != Type::Never {
                    true => Err(self.no_effect(expression)),
                    false => Ok(value),
                }
            }
            syn::Stmt::Item(item) => {
                let label = "move it out of the function";
                Err(self.problem(item.span(), "items stand at the top of a text", label))
            }
            syn::Stmt::Macro(call) => {
                Err(self.problem(call.span(), "scripts have no macros", CALL))
            }
        }
    }

    /// A statement that gives a value which nothing uses.
    fn no_effect(&self, expression: &syn::Expr) -> Box<crate::Diagnostic> {
        let span = expression.span();
        if is_comparison(expression) {
            let help = "`==` compares two values; a change is written `=`, `+=` or `-=`";
            return self.helped(
                span,
                "this comparison has no effect",
                "expected a change",
                help,
            );
        }
        let label = "expected a change, or a call";
        let mut problem = self.problem(span, "this has no effect", label);
        let function = self.frames.last().and_then(|frame| frame.function);
        if function.is_some_and(|function| function.result != Type::Unit) {
            let help = "the last line of a function is its value, without `;`";
            problem.help = Some(help.to_owned());
        }
        let is_negative = |e: &syn::Expr| matches!(strip(e), syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)));
        if let syn::Expr::Unary(unary) = strip(expression)
            && is_negative(expression)
            && is_negative(&unary.expr)
        {
            problem.help = Some("`--n` does not change `n`: write `n -= 1`".to_owned());
        }
        problem
    }

    fn let_statement(&mut self, local: &'a syn::Local) -> Checked<Value> {
        let (pattern, ty) = match &local.pat {
            syn::Pat::Type(typed) => {
                let ty = self.unit.files[self.file()].ty(&typed.ty)?;
                (&*typed.pat, Some(ty))
            }
            pattern => (pattern, None),
        };
        let Some((text, is_mutable)) = plain_name(pattern) else {
            let label = "expected a name";
            return Err(self.problem(pattern.span(), "scripts don't have this pattern", label));
        };
        if let Some(birth) = self.birth_to_name(local, ty, is_mutable)? {
            return self.bind_newborn(&text, birth);
        }
        let value = self.let_value(local, ty);
        if value.is_err() {
            // A value that fits everywhere, so that its uses give no more problems.
            self.bind(&text, Value::NEVER, is_mutable);
        }
        let value = value?;
        self.bind(&text, value, is_mutable);
        self.value_site(pattern, &text, value);
        Ok(Value::UNIT)
    }

    fn let_value(&mut self, local: &'a syn::Local, ty: Option<Type>) -> Checked<Value> {
        let Some(init) = &local.init else {
            let label = "expected `let name = value;`";
            return Err(self.problem(local.span(), "a value is missing", label));
        };
        if let Some((token, _)) = &init.diverge {
            let label = "expected `let name = value;`";
            return Err(self.problem(token.span(), "scripts have no `let … else`", label));
        }
        let value = match ty {
            Some(ty) => self.expression_of(&init.expr, ty)?,
            None => self.expression(&init.expr, None)?,
        };
        if value.ty == Type::Unit {
            let label = "expected a value";
            return Err(self.problem(init.expr.span(), "this gives no value", label));
        }
        Ok(Value {
            is_literal: false,
            ..value
        })
    }

    pub(super) fn return_statement(&mut self, statement: &'a syn::ExprReturn) -> Checked<Value> {
        let function = self.frames.last().and_then(|frame| frame.function);
        let expected = function.map_or(Type::Unit, |function| function.result);
        let value = match &statement.expr {
            Some(expression) if expected == Type::Unit => {
                let value = self.expression(expression, None)?;
                if !matches!(value.ty, Type::Unit | Type::Never) {
                    let label = "expected `return` alone";
                    let message = "the function gives no value";
                    return Err(self.problem(expression.span(), message, label));
                }
                Value::UNIT
            }
            Some(expression) => self.expression_of(expression, expected)?,
            None => self.convert(Value::UNIT, expected, statement)?,
        };
        self.leave(value);
        Ok(Value::NEVER)
    }

    /// Leaves the innermost function with a value.
    pub(super) fn leave(&mut self, value: Value) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        let (exit, result) = (frame.exit, frame.result);
        if value.ty != Type::Never {
            let result = match result {
                Some(result) => {
                    self.assign(result, value);
                    result
                }
                None => self.copy(value),
            };
            if let Some(frame) = self.frames.last_mut() {
                frame.result = Some(result);
                frame.returns += 1;
            }
        }
        self.emit(Inst::Jump(exit));
    }

    /// `a = b`, and `a += b` with its operator.
    pub(super) fn assignment(
        &mut self,
        to: &'a syn::Expr,
        op: Option<&'a syn::BinOp>,
        from: &'a syn::Expr,
    ) -> Checked<Value> {
        let to = strip(to);
        match to {
            syn::Expr::Path(path) => {
                let local = self.variable(path)?;
                let value = self.assigned(local, op, from)?;
                self.assign(local, value);
                if let Some(name) = path.path.get_ident() {
                    self.value_site(name, &name_of(name), value);
                }
            }
            syn::Expr::Field(field) => {
                let syn::Member::Named(member) = &field.member else {
                    return Err(self.problem(to.span(), "this can't be changed", ASSIGNABLE));
                };
                let name = name_of(member);
                if let Some((axis, local)) = self.axis_of_variable(&field.base, &name, member)? {
                    let place = Value::scalar(Type::Fixed, local.operands[axis]);
                    let value = self.assigned(place, op, from)?;
                    self.assign(place, value);
                    return Ok(Value::UNIT);
                }
                self.check_shared(&field.base, &name, member.span())?;
                let entity = self.expression(&field.base, None)?;
                if entity.ty == Type::Point {
                    let help = "add a point to `position`, or copy it: `let mut place = …`";
                    let message = "this can't be changed";
                    return Err(self.helped(to.span(), message, ASSIGNABLE, help));
                }
                let entity = self.convert(entity, Type::Entity, &field.base)?;
                if name == "position" {
                    self.check_place(entity.operand(), member.span())?;
                }
                self.update(entity, field, member, op, from)?;
            }
            syn::Expr::Index(index) => {
                let element = self.element(index)?;
                self.update_element(element, index, op, from)?;
            }
            other => {
                return Err(self.problem(other.span(), "this can't be changed", ASSIGNABLE));
            }
        }
        Ok(Value::UNIT)
    }

    /// The new value of a variable.
    pub(super) fn assigned(
        &mut self,
        old: Value,
        op: Option<&'a syn::BinOp>,
        from: &'a syn::Expr,
    ) -> Checked<Value> {
        let Some(op) = op else {
            return self.expression_of(from, old.ty);
        };
        let hint = match op {
            syn::BinOp::ShlAssign(_) | syn::BinOp::ShrAssign(_) => Type::Int,
            _ => old.ty,
        };
        let value = self.expression(from, Some(hint))?;
        let value = self.operate(plain(op), old, value, [from; 3])?;
        self.convert(value, old.ty, from)
    }

    /// The registers of a variable that may be set.
    fn variable(&mut self, path: &'a syn::ExprPath) -> Checked<Value> {
        let Some(ident) = path.path.get_ident() else {
            return Err(self.no_path(&path.path));
        };
        let name = name_of(ident);
        match self.local(&name) {
            Some(local) if local.is_mutable || local.value.ty == Type::Never => Ok(local.value),
            Some(local) if local.is_unborn => {
                let message = format!("`{name}` can't be changed");
                Err(self.problem(ident.span(), message, "it is the name of a newborn"))
            }
            Some(_) => {
                let message = format!("`{name}` can't be changed");
                let help = format!("declare it as `mut {name}`, as in `let mut {name} = …`");
                Err(self.helped(ident.span(), message, "it is not `mut`", help))
            }
            None if constant(self.unit, self.file(), &name).is_some() => {
                let message = format!("`{name}` can't be changed");
                Err(self.problem(ident.span(), message, "it is a constant"))
            }
            None => Err(self.unknown_name(&name, ident.span())),
        }
    }

    /// `variable.x`, if that is a point's axis.
    fn axis_of_variable(
        &mut self,
        base: &'a syn::Expr,
        name: &str,
        member: &syn::Ident,
    ) -> Checked<Option<(usize, Value)>> {
        let syn::Expr::Path(path) = strip(base) else {
            return Ok(None);
        };
        let ident = path.path.get_ident().map(name_of);
        match ident.and_then(|ident| self.local(&ident)) {
            Some(local) if local.value.ty == Type::Point => {
                let value = self.variable(path)?;
                match self.axis(name) {
                    Some(axis) => Ok(Some((axis, value))),
                    None => Err(self.no_axis(name, member.span())),
                }
            }
            _ => Ok(None),
        }
    }
}

/// What stands in place of macros, as labels say it.
pub(super) const CALL: &str = "expected a function";

/// What assignments change, as labels say it.
const ASSIGNABLE: &str = "expected a variable, or an attribute of an entity";

/// Whether an expression does nothing but give a value.
fn is_idle(expression: &syn::Expr) -> bool {
    use syn::Expr;
    match strip(expression) {
        Expr::Binary(binary) => !is_change(&binary.op),
        Expr::Unary(_)
        | Expr::Lit(_)
        | Expr::Path(_)
        | Expr::Field(_)
        | Expr::Index(_)
        | Expr::Cast(_) => true,
        _ => false,
    }
}

/// Whether it is `==` or the like.
pub fn is_comparison(expression: &syn::Expr) -> bool {
    use syn::BinOp;
    let is_one = |op: &BinOp| {
        matches!(
            op,
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
        )
    };
    matches!(strip(expression), syn::Expr::Binary(binary) if is_one(&binary.op))
}

/// Whether it is `+=` or the like.
pub fn is_change(op: &syn::BinOp) -> bool {
    use syn::BinOp;
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

/// The name that a pattern gives, and whether it is `mut`.
pub(super) fn plain_name(pattern: &syn::Pat) -> Option<(String, bool)> {
    match pattern {
        syn::Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
            Some((name_of(&name.ident), name.mutability.is_some()))
        }
        syn::Pat::Wild(_) => Some(("_".to_owned(), false)),
        _ => None,
    }
}

/// Whether it is a text in quotes.
pub(super) fn is_text(expression: &syn::Expr) -> bool {
    let is_text = |literal: &syn::ExprLit| matches!(literal.lit, syn::Lit::Str(_));
    matches!(strip(expression), syn::Expr::Lit(literal) if is_text(literal))
}

/// An expression without the parentheses around it.
pub fn strip(expression: &syn::Expr) -> &syn::Expr {
    match expression {
        syn::Expr::Paren(inner) => strip(&inner.expr),
        syn::Expr::Group(inner) => strip(&inner.expr),
        _ => expression,
    }
}

/// Whether a function of this name is called.
pub(super) fn is_call(call: &syn::ExprCall, name: &str) -> bool {
    matches!(strip(&call.func), syn::Expr::Path(path) if path.path.is_ident(name))
}

/// The operator of `+=` and the like.
fn plain(op: &syn::BinOp) -> syn::BinOp {
    use syn::BinOp;
    match op {
        BinOp::AddAssign(_) => BinOp::Add(Default::default()),
        BinOp::SubAssign(_) => BinOp::Sub(Default::default()),
        BinOp::MulAssign(_) => BinOp::Mul(Default::default()),
        BinOp::DivAssign(_) => BinOp::Div(Default::default()),
        BinOp::RemAssign(_) => BinOp::Rem(Default::default()),
        BinOp::BitAndAssign(_) => BinOp::BitAnd(Default::default()),
        BinOp::BitOrAssign(_) => BinOp::BitOr(Default::default()),
        BinOp::BitXorAssign(_) => BinOp::BitXor(Default::default()),
        BinOp::ShlAssign(_) => BinOp::Shl(Default::default()),
        BinOp::ShrAssign(_) => BinOp::Shr(Default::default()),
        other => *other,
    }
}
