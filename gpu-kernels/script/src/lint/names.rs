//! What nothing uses, what never runs, and what a text says that can hardly be meant. This looks
//! at texts as they are written; `scope` holds the variables of their blocks.

mod scope;

use std::collections::BTreeSet;

use shared::Audience;
use shared::world::config::DELAY_TICKS_MAX;
use syn::spanned::Spanned;

use super::{
    CLAMPED_DELAYS, Found, HIDDEN_VALUES, IDLE_COMPARISONS, LONG_LOOPS, UNREACHABLE_CODE,
    UNUSED_CONSTANTS, UNUSED_FUNCTIONS, UNUSED_VARIABLES,
};
use crate::lower::{constant, is_comparison, strip};
use crate::parse::{Function, Item, guarded, name_of};
use scope::{Scopes, Variable};

/// The names that texts use of each other.
#[derive(Default)]
pub struct Uses {
    /// By text and name.
    constants: BTreeSet<(usize, String)>,
    functions: BTreeSet<(usize, String)>,
    /// Commands that others schedule.
    pub commands: BTreeSet<String>,
}

pub fn check(found: &mut Found<'_>) -> Uses {
    let mut uses = Uses::default();
    let unit = found.unit;
    for (file, parsed) in unit.files.iter().enumerate() {
        for item in &parsed.items {
            let mut walk = Walk {
                found,
                uses: &mut uses,
                scopes: Scopes::default(),
                file,
                steps: 0,
            };
            match item {
                Item::Function(function) => walk.function(function),
                Item::Const(item) => {
                    walk.expression(&item.value);
                    if let Some((low, high)) = &item.range {
                        walk.expression(low);
                        walk.expression(high);
                    }
                }
                Item::Notification(_) => {}
            }
        }
    }
    for (file, item) in unit.constants() {
        if !uses.constants.contains(&(file, item.name.clone())) {
            let place = (file, unit.files[file].range(item.span));
            let message = format!("nothing uses the constant `{}`", item.name);
            found.warn(UNUSED_CONSTANTS, place, message, "", "remove it");
        }
    }
    for (file, function) in unit.helpers() {
        if !uses.functions.contains(&(file, function.name.clone())) {
            let place = (file, unit.files[file].range(function.span));
            let message = format!("nothing calls the function `{}`", function.name);
            let help = "remove it, or make it a command: `#[command(clients)]`";
            found.warn(UNUSED_FUNCTIONS, place, message, "", help);
        }
    }
    uses
}

struct Walk<'f, 'a> {
    found: &'f mut Found<'a>,
    uses: &'f mut Uses,
    scopes: Scopes,
    file: usize,
    /// The steps of literal loops so far.
    steps: u64,
}

impl Walk<'_, '_> {
    fn function(&mut self, function: &Function) {
        self.scopes.open();
        for parameter in &function.parameters {
            self.scopes.declare(Variable {
                is_parameter: true,
                is_read: parameter.name == "me" || parameter.name.starts_with('_'),
                is_mutable: parameter.is_mutable,
                span: parameter.span,
                name: parameter.name.clone(),
                hidden: None,
            });
        }
        self.block(&function.body);
        self.close();
    }

    /// Ends a scope: what was not read in it has no use.
    fn close(&mut self) {
        for variable in self.scopes.close() {
            let name = &variable.name;
            let place = (
                self.file,
                self.found.unit.files[self.file].range(variable.span),
            );
            let what = match variable.is_parameter {
                true => "parameter",
                false => "variable",
            };
            let message = format!("nothing reads the {what} `{name}`");
            let help = format!("remove it, or name it `_{name}`");
            self.found.warn(UNUSED_VARIABLES, place, message, "", help);
        }
    }

    fn warn(
        &mut self,
        name: &'static str,
        at: &dyn Spanned,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = (self.file, self.found.unit.files[self.file].range(at.span()));
        self.found.warn(name, place, message, label, help);
    }

    fn block(&mut self, block: &syn::Block) {
        self.scopes.open();
        let mut ended = false;
        for (i, statement) in block.stmts.iter().enumerate() {
            if std::mem::take(&mut ended) {
                let label = "the statement before leaves the block";
                let message = "this code never runs";
                self.warn(UNREACHABLE_CODE, statement, message, label, "");
            }
            let is_last = i + 1 == block.stmts.len();
            match statement {
                syn::Stmt::Local(local) => self.local(local),
                syn::Stmt::Expr(expression, semicolon) => {
                    if !is_last || semicolon.is_some() {
                        self.idle_values(expression);
                    }
                    self.expression(expression);
                    ended = leaves(expression);
                }
                syn::Stmt::Item(_) | syn::Stmt::Macro(_) => {}
            }
        }
        self.close();
    }

    fn local(&mut self, local: &syn::Local) {
        let mut hidden = None;
        if let Some(init) = &local.init {
            self.expression(&init.expr);
            hidden = self.hidden(&init.expr);
        }
        let pattern = match &local.pat {
            syn::Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        self.declare(pattern, hidden);
    }

    fn declare(&mut self, pattern: &syn::Pat, hidden: Option<String>) {
        if let syn::Pat::Ident(pattern) = pattern {
            let name = name_of(&pattern.ident);
            self.scopes.declare(Variable {
                is_parameter: false,
                is_read: name.starts_with('_'),
                is_mutable: pattern.mutability.is_some(),
                span: pattern.ident.span(),
                name,
                hidden,
            });
        }
    }

    fn expression(&mut self, expression: &syn::Expr) {
        use syn::Expr;
        match expression {
            Expr::Paren(inner) => self.expression(&inner.expr),
            Expr::Group(inner) => self.expression(&inner.expr),
            Expr::Path(path) => self.name(path),
            Expr::Field(field) => self.expression(&field.base),
            Expr::Index(of) => {
                self.expression(&of.expr);
                self.expression(&of.index);
            }
            Expr::Unary(unary) => self.expression(&unary.expr),
            Expr::Cast(cast) => self.expression(&cast.expr),
            Expr::Binary(binary) => {
                match crate::lower::is_change(&binary.op) {
                    true => self.target(&binary.left),
                    false => self.expression(&binary.left),
                }
                self.expression(&binary.right);
            }
            Expr::Assign(assign) => {
                self.expression(&assign.right);
                self.target(&assign.left);
            }
            Expr::If(branch) => {
                self.expression(&branch.cond);
                self.perhaps(|walk| walk.block(&branch.then_branch));
                if let Some((_, otherwise)) = &branch.else_branch {
                    self.perhaps(|walk| walk.expression(otherwise));
                }
            }
            Expr::Match(select) => {
                self.expression(&select.expr);
                for arm in &select.arms {
                    let (pattern, guard) = guarded(&arm.pat);
                    if let Some(guard) = guard {
                        self.expression(guard);
                    }
                    self.pattern(pattern);
                    self.perhaps(|walk| walk.expression(&arm.body));
                }
            }
            Expr::Block(block) => self.block(&block.block),
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => {
                match strip(&call.receiver) {
                    Expr::Field(field) => self.expression(&field.base),
                    other => self.expression(other),
                }
                call.args.iter().for_each(|arg| self.expression(arg));
            }
            Expr::ForLoop(each) => self.each(each),
            Expr::While(each) => {
                self.expression(&each.cond);
                self.perhaps(|walk| walk.block(&each.body));
            }
            Expr::Return(exit) => exit.expr.iter().for_each(|value| self.expression(value)),
            Expr::Struct(item) => {
                item.fields
                    .iter()
                    .for_each(|field| self.expression(&field.expr));
            }
            Expr::Range(range) => {
                let ends = range.start.iter().chain(&range.end);
                ends.for_each(|end| self.expression(end));
            }
            _ => {}
        }
    }

    /// What runs only sometimes: its loops count for themselves.
    fn perhaps(&mut self, walk: impl FnOnce(&mut Self)) {
        let steps = self.steps;
        walk(self);
        self.steps = steps;
    }

    fn name(&mut self, path: &syn::ExprPath) {
        let Some(ident) = path.path.get_ident() else {
            return;
        };
        let name = name_of(ident);
        if let Some(variable) = self.scopes.find(&name) {
            variable.is_read = true;
        } else if let Some((file, _)) = self.found.unit.visible_constant(self.file, &name) {
            self.uses.constants.insert((file, name));
        }
    }

    /// A constant in a pattern.
    fn pattern(&mut self, pattern: &syn::Pat) {
        match pattern {
            syn::Pat::Ident(name) => {
                let name = name_of(&name.ident);
                if let Some((file, _)) = self.found.unit.visible_constant(self.file, &name) {
                    self.uses.constants.insert((file, name));
                }
            }
            syn::Pat::Or(any) => any.cases.iter().for_each(|case| self.pattern(case)),
            syn::Pat::Paren(inner) => self.pattern(&inner.pat),
            _ => {}
        }
    }

    /// What is assigned: a variable is not read by that.
    fn target(&mut self, to: &syn::Expr) {
        match strip(to) {
            syn::Expr::Path(_) => {}
            syn::Expr::Field(field) if self.is_own_axis(field) => {}
            other => self.expression(other),
        }
    }

    /// Whether it is an axis of a point in a variable.
    fn is_own_axis(&mut self, field: &syn::ExprField) -> bool {
        let syn::Member::Named(member) = &field.member else {
            return false;
        };
        let syn::Expr::Path(path) = strip(&field.base) else {
            return false;
        };
        let name = path.path.get_ident().map(name_of).unwrap_or_default();
        let is_mutable = self.scopes.find(&name).is_some_and(|v| v.is_mutable);
        is_mutable && ["x", "y", "z"].iter().any(|axis| member == axis)
    }

    fn call(&mut self, call: &syn::ExprCall) {
        let name = called(call);
        let unit = self.found.unit;
        match &name[..] {
            "after" if call.args.len() == 2 => {
                self.delay(&call.args[0]);
                self.expression(&call.args[0]);
                if let syn::Expr::Call(command) = strip(&call.args[1]) {
                    self.uses.commands.insert(called(command));
                    command.args.iter().for_each(|arg| self.expression(arg));
                }
                return;
            }
            "tell" => self.check_sent(call),
            _ => {
                if let Some((file, function)) = unit.helper(self.file, &name) {
                    self.uses.functions.insert((file, function.name.clone()));
                }
            }
        }
        call.args.iter().for_each(|arg| self.expression(arg));
    }

    /// `after(random(0, 5), …)`: what is out of range is clamped.
    fn delay(&mut self, ticks: &syn::Expr) {
        let syn::Expr::Call(call) = strip(ticks) else {
            return;
        };
        if called(call) != "random" || call.args.len() != 2 {
            return;
        }
        let ends = [&call.args[0], &call.args[1]].map(|end| self.known(end));
        let most = i64::from(DELAY_TICKS_MAX);
        let is_out = |end: &&Option<i64>| end.is_some_and(|end| !(1..=most).contains(&end));
        if let Some(Some(end)) = ends.iter().find(is_out) {
            let message = format!("a command can't be scheduled {end} ticks ahead");
            let label = format!("values outside 1 to {most} are clamped");
            self.warn(CLAMPED_DELAYS, ticks, message, label, "");
        }
    }

    /// `tell(Name { field: value }, …)` with a value that no client may know.
    fn check_sent(&mut self, call: &syn::ExprCall) {
        let Some(syn::Expr::Struct(item)) = call.args.first().map(strip) else {
            return;
        };
        for field in &item.fields {
            if let Some(hidden) = self.hidden(&field.expr) {
                let message = format!("this sends clients `{hidden}`, which is hidden");
                let label = "its audience in the world file is \"hidden\"";
                self.warn(HIDDEN_VALUES, &field.expr, message, label, "");
            }
        }
    }

    /// The hidden attribute that a value is, or is computed from.
    fn hidden(&mut self, expression: &syn::Expr) -> Option<String> {
        use syn::{Expr, Member};
        match strip(expression) {
            Expr::Field(field) => {
                let Member::Named(member) = &field.member else {
                    return None;
                };
                let unit = self.found.unit;
                let name = name_of(member);
                let column = match unit.collection(&name) {
                    Some(own) => own.collection.first.into(),
                    None => unit.schema.column(&name)?,
                };
                let attribute = &unit.schema.attributes[column];
                (attribute.audience == Audience::Hidden).then_some(name)
            }
            Expr::Path(path) => {
                let name = name_of(path.path.get_ident()?);
                self.scopes.find(&name)?.hidden.clone()
            }
            Expr::Index(of) => self.hidden(&of.expr),
            Expr::Unary(unary) => self.hidden(&unary.expr),
            Expr::Cast(cast) => self.hidden(&cast.expr),
            Expr::Binary(binary) if !is_comparison(expression) => self
                .hidden(&binary.left)
                .or_else(|| self.hidden(&binary.right)),
            Expr::Call(call)
                if ["min", "max", "abs", "clamp", "sqrt"].contains(&&called(call)[..]) =>
            {
                call.args.iter().find_map(|arg| self.hidden(arg))
            }
            _ => None,
        }
    }

    /// A comparison at the end of a branch whose value goes nowhere.
    fn idle_values(&mut self, expression: &syn::Expr) {
        let tail = |block: &syn::Block| match block.stmts.last() {
            Some(syn::Stmt::Expr(tail, None)) => Some(tail.clone()),
            _ => None,
        };
        let mut tails = vec![];
        match strip(expression) {
            syn::Expr::If(branch) => {
                tails.extend(tail(&branch.then_branch));
                tails.extend(branch.else_branch.iter().map(|(_, e)| (**e).clone()));
            }
            syn::Expr::Match(select) => {
                tails.extend(select.arms.iter().map(|arm| (*arm.body).clone()));
            }
            syn::Expr::Block(block) => tails.extend(tail(&block.block)),
            _ => {}
        }
        for tail in &tails {
            if is_comparison(tail) {
                let help = "`==` compares two values; a change is written `=`, `+=` or `-=`";
                let message = "this comparison has no effect";
                self.warn(IDLE_COMPARISONS, tail, message, "expected a change", help);
            } else {
                self.idle_values(tail);
            }
        }
    }

    fn each(&mut self, each: &syn::ExprForLoop) {
        self.expression(&each.expr);
        let before = std::mem::take(&mut self.steps);
        self.scopes.open();
        self.declare(&each.pat, None);
        self.block(&each.body);
        self.close();
        let inside = std::mem::replace(&mut self.steps, before);
        let rounds = match strip(&each.expr) {
            syn::Expr::Range(range) if !self.ends_early(&each.body) => self.rounds(range),
            _ => None,
        };
        let Some(rounds) = rounds else {
            return;
        };
        let budget = u64::from(self.found.unit.budget.steps);
        let steps = rounds.saturating_mul(inside.saturating_add(1));
        if steps > budget && inside <= budget {
            let message = format!("this loop takes {steps} steps");
            let label = format!("a run of more than {budget} has no effect");
            let help = "split it over several ticks by `after`, or raise `logic.steps` of the \
                        world file";
            self.warn(LONG_LOOPS, &each.expr, message, label, help);
        }
        self.steps = self.steps.saturating_add(steps);
    }

    /// The rounds of a loop whose ends are known.
    fn rounds(&mut self, range: &syn::ExprRange) -> Option<u64> {
        let first = self.known(range.start.as_ref()?)?;
        let last = self.known(range.end.as_ref()?)?;
        let is_closed = matches!(range.limits, syn::RangeLimits::Closed(_));
        u64::try_from(last - first + i64::from(is_closed)).ok()
    }

    /// Whether a loop may end before its last round: this looks at words alone.
    fn ends_early(&self, body: &syn::Block) -> bool {
        let file = &self.found.unit.files[self.file];
        let text = &file.text.text[file.range(body.span())];
        let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.any(|word| ["break", "return", "require"].contains(&word))
    }

    /// The value of literals and constants.
    fn known(&mut self, expression: &syn::Expr) -> Option<i64> {
        use syn::{BinOp, Expr, Lit};
        match strip(expression) {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => number.base10_parse::<i32>().ok().map(i64::from),
                _ => None,
            },
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => {
                Some(-self.known(&unary.expr)?)
            }
            Expr::Binary(binary) => {
                let (a, b) = (self.known(&binary.left)?, self.known(&binary.right)?);
                match binary.op {
                    BinOp::Add(_) => Some(a + b),
                    BinOp::Sub(_) => Some(a - b),
                    BinOp::Mul(_) => a.checked_mul(b),
                    _ => None,
                }
                .filter(|value| i32::try_from(*value).is_ok())
            }
            Expr::Path(path) => {
                let name = name_of(path.path.get_ident()?);
                if self.scopes.find(&name).is_some() {
                    return None;
                }
                let value = constant(self.found.unit, self.file, &name)?.ok()?;
                (value.ty == crate::types::Type::Int)
                    .then(|| value.operand().constant())
                    .flatten()
                    .map(i64::from)
            }
            _ => None,
        }
    }
}

/// The name of what is called.
fn called(call: &syn::ExprCall) -> String {
    match strip(&call.func) {
        syn::Expr::Path(path) => path.path.get_ident().map(name_of).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Whether nothing runs behind a statement.
fn leaves(expression: &syn::Expr) -> bool {
    use syn::Expr;
    match strip(expression) {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Block(block) => block_leaves(&block.block),
        Expr::If(branch) => {
            let otherwise = branch.else_branch.as_ref();
            block_leaves(&branch.then_branch) && otherwise.is_some_and(|(_, e)| leaves(e))
        }
        Expr::Match(select) => select.arms.iter().all(|arm| leaves(&arm.body)),
        _ => false,
    }
}

fn block_leaves(block: &syn::Block) -> bool {
    let mut statements = block.stmts.iter();
    statements.any(|s| matches!(s, syn::Stmt::Expr(expression, _) if leaves(expression)))
}
