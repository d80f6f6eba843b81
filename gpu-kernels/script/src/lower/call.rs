//! Helper functions, which are inlined, and built-in functions.

use proc_macro2::Span;
use shared::predicate::nearest;
use shared::world::command::{REASON_BYTES_MAX, REASONS_MAX};
use syn::spanned::Spanned;

use super::send::{PAUSE, SEND};
use super::sites::What;
use super::statement::strip;
use super::{Checked, Frame, Lower, Scope};
use crate::functions::{BUILTINS, form_of, yields};
use crate::ir::{Binary, Inst, Operand, Point, Unary, Wide};
use crate::parse::{foreign, name_of};
use crate::types::{Type, Value};

/// How deep helper functions may call each other.
const CALLS_MAX: usize = 32;

impl<'a> Lower<'a> {
    pub(super) fn call(&mut self, call: &'a syn::ExprCall) -> Checked<Value> {
        let syn::Expr::Path(path) = strip(&call.func) else {
            let label = "expected the name of a function";
            return Err(self.problem(call.func.span(), "this is not a function", label));
        };
        let Some(ident) = path.path.get_ident() else {
            return Err(self.no_path(&path.path));
        };
        let name = name_of(ident);
        let arguments: Vec<&'a syn::Expr> = call.args.iter().collect();
        if name == SEND && self.unit.is_client {
            return self.send(&arguments, call.span());
        }
        if name == PAUSE && self.unit.is_client {
            return self.pause(&arguments, call.span());
        }
        if self.unit.is_test
            && let Some(value) = self.test_call(&name, &arguments, call)?
        {
            return Ok(value);
        }
        let is_own = yields(&name) && self.unit.helper(self.file(), &name).is_some();
        if !is_own && let Some(form) = form_of(&name) {
            return self.builtin(&name, form, &arguments, call);
        }
        self.helper(&name, ident, &arguments, call)
    }

    /// Inlines a helper function.
    fn helper(
        &mut self,
        name: &str,
        ident: &syn::Ident,
        arguments: &[&'a syn::Expr],
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let Some((file, function)) = self.unit.helper(self.file(), name) else {
            let message = format!("there is no function `{name}`");
            if self.unit.is_client && self.unit.schema.command_named(name).is_some() {
                let message = format!("`{name}` is a command");
                let help = format!("write `send({name}(…))`");
                return Err(self.helped(ident.span(), message, "", help));
            }
            if self.unit.commands.contains_key(name) {
                let help = format!("it can run in a later tick: `after(1, {name}(…))`");
                let message = format!("`{name}` is a command");
                let label = "expected a function";
                return Err(self.helped(ident.span(), message, label, help));
            }
            if let Some(file) = self.unit.private_helper(name) {
                let label = format!("{file} has one, which it keeps to itself");
                let help = format!("write `pub fn {name}` in {file}");
                return Err(self.helped(ident.span(), message, label, help));
            }
            if let Some(help) = foreign::call_of(name) {
                return Err(self.helped(ident.span(), message, "", help));
            }
            let builtins = BUILTINS.iter().map(|(name, _)| *name);
            let known = self.unit.helper_names(self.file()).chain(builtins);
            return Err(match nearest(name, known) {
                Some(near) => {
                    self.helped(ident.span(), message, "", format!("did you mean `{near}`?"))
                }
                None => {
                    let label =
                        "expected one of this text, a `pub` one of another, or a built-in one";
                    self.problem(ident.span(), message, label)
                }
            });
        };
        let is_running = |frame: &Frame<'a>| {
            frame
                .function
                .is_some_and(|running| std::ptr::eq(running, function))
        };
        if self.frames.iter().any(is_running) {
            let label = "functions can't call themselves";
            let message = format!("`{name}` leads back to itself");
            return Err(self.problem(ident.span(), message, label));
        }
        if self.frames.len() > CALLS_MAX {
            let label = format!("at most {CALLS_MAX} may call each other in a row");
            return Err(self.problem(ident.span(), "function calls nest too deep", label));
        }
        let expected = function.parameters.len();
        if arguments.len() != expected {
            let message = format!("`{name}` takes {}", count(expected, "argument"));
            return Err(self.problem(call.span(), message, format!("found {}", arguments.len())));
        }
        let mut values = vec![];
        for (argument, parameter) in arguments.iter().zip(&function.parameters) {
            values.push(self.expression_of(argument, parameter.ty)?);
        }
        self.step();
        let exit = self.label();
        self.frames.push(Frame {
            file,
            function: Some(function),
            exit,
            result: None,
            returns: 0,
            scopes: self.scopes.len(),
            loops: self.loops.len(),
        });
        self.scopes.push(Scope::default());
        for (value, parameter) in values.into_iter().zip(&function.parameters) {
            self.bind(&parameter.name, value, parameter.is_mutable);
        }
        let mut value = self.body(&function.body, function.result);
        self.scopes.pop();
        if let Ok(last) = value {
            let returns = self.frames.last().map_or(0, |frame| frame.returns);
            if returns > 0 {
                if last.ty != Type::Never {
                    self.leave(last);
                }
                self.place(exit);
                let result = self.frames.last().and_then(|frame| frame.result);
                value = Ok(result.unwrap_or(Value::UNIT));
            }
        }
        self.frames.pop();
        value
    }

    fn builtin(
        &mut self,
        name: &str,
        form: &str,
        arguments: &[&'a syn::Expr],
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        match (name, arguments) {
            ("require", &[condition]) => self.require(condition, None),
            ("require", &[condition, reason]) => self.require(condition, Some(reason)),
            ("log", &[text, ref values @ ..]) => self.log(text, values, call.span()),
            ("require_fits", &[change]) => self.require_fits(change),
            ("exists", &[entity]) => {
                let entity = self.expression_of(entity, Type::Entity)?;
                let nobody = Value::NOBODY.operand();
                let exists = self.binary(Binary::Ne, entity.operand(), nobody);
                Ok(Value::scalar(Type::Bool, exists))
            }
            ("resolve", &[number]) => {
                let span = number.span();
                let number = self.expression_of(number, Type::Int)?.operand();
                Ok(Value::scalar(Type::Entity, self.resolved(number, span)))
            }
            ("is_within", &[a, b, radius]) => self.is_within(a, b, radius),
            ("was_within", _) if self.unit.is_client => {
                Err(self.is_for_worlds("`was_within`", call.span()))
            }
            ("was_within", &[entity, reach, tick]) => self.was_within(entity, reach, tick, call),
            ("distance", &[a, b]) => {
                let (a, b) = (self.place_of(a)?, self.place_of(b)?);
                Ok(Value::scalar(
                    Type::Fixed,
                    self.set(|reg| Inst::Distance(reg, a, b)),
                ))
            }
            ("towards", &[from, to, most]) => self.towards(from, to, most),
            ("near", _) => {
                let label = "expected `for other in near(point, radius) { … }`";
                Err(self.problem(call.span(), "`near` only stands in a `for`", label))
            }
            ("count_near", &[place, radius]) => self.count_near(place, radius, None, call),
            ("count_near", &[place, radius, kind]) => {
                self.count_near(place, radius, Some(kind), call)
            }
            ("nearest", &[place, radius]) => self.nearest(place, radius, None, call),
            ("nearest", &[place, radius, kind]) => self.nearest(place, radius, Some(kind), call),
            ("count" | "the" | "all" | "rank" | "top", _) if self.unit.is_client => {
                Err(self.is_for_worlds(&format!("`{name}`"), call.span()))
            }
            ("count", &[kind]) => self.count_everywhere(kind),
            ("the", &[kind]) => self.the(kind),
            ("count_held", &[holder]) => self.count_held(holder, None, call),
            ("count_held", &[holder, kind]) => self.count_held(holder, Some(kind), call),
            ("held_by", _) => {
                let label = "expected `for thing in held_by(entity, \"kind\") { … }`";
                Err(self.problem(call.span(), "`held_by` only stands in a `for`", label))
            }
            ("count_members", &[group]) => self.count_members(group, None, call),
            ("count_members", &[group, name]) => self.count_members(group, Some(name), call),
            ("members", _) => {
                let label = "expected `for other in members(group) { … }`";
                Err(self.problem(call.span(), "`members` only stands in a `for`", label))
            }
            ("rank", &[entity, ranking]) => self.rank(entity, ranking),
            ("top", _) => {
                let label = "expected `for other in top(\"ranking\", number) { … }`";
                Err(self.problem(call.span(), "`top` only stands in a `for`", label))
            }
            ("all", _) => {
                let label = "expected `for other in all(\"kind\") { … }`";
                Err(self.problem(call.span(), "`all` only stands in a `for`", label))
            }
            ("random", &[low, high]) => {
                let [low, high] = self.numbers([low, high])?;
                self.check_short(low, call)?;
                let drawn = self.set(|reg| Inst::Random(reg, low.operand(), high.operand()));
                Ok(Value::scalar(low.ty, drawn))
            }
            ("random_offset", &[distance]) => {
                let most = self.expression_of(distance, Type::Fixed)?.operand();
                let least = self.unary(Unary::Neg, most);
                let mut operands = [Operand::ZERO; 3];
                for operand in &mut operands[..self.unit.dimensions] {
                    *operand = self.set(|reg| Inst::Random(reg, least, most));
                }
                Ok(Value::new(Type::Point, operands))
            }
            ("min" | "max", &[a, b]) => {
                let [a, b] = self.numbers([a, b])?;
                if a.ty == Type::Long {
                    let op = match name {
                        "min" => Wide::Min,
                        _ => Wide::Max,
                    };
                    return Ok(self.wide(op, a, b));
                }
                let op = if name == "min" {
                    Binary::Min
                } else {
                    Binary::Max
                };
                Ok(Value::scalar(
                    a.ty,
                    self.binary(op, a.operand(), b.operand()),
                ))
            }
            ("clamp", &[value, low, high]) => self.clamp(value, low, high),
            ("abs", &[number]) => {
                let [number] = self.numbers([number])?;
                if number.ty == Type::Long {
                    return Ok(self.wide_absolute(number));
                }
                Ok(Value::scalar(
                    number.ty,
                    self.unary(Unary::Abs, number.operand()),
                ))
            }
            ("sqrt", &[number]) => {
                let [number] = self.numbers([number])?;
                self.check_short(number, call)?;
                let op = match number.ty {
                    Type::Fixed => Unary::SqrtFixed,
                    _ => Unary::Sqrt,
                };
                Ok(Value::scalar(number.ty, self.unary(op, number.operand())))
            }
            ("sine", &[degrees]) => {
                let degrees = self.expression_of(degrees, Type::Fixed)?.operand();
                Ok(Value::scalar(Type::Fixed, self.sine(degrees)))
            }
            ("cosine", &[degrees]) => {
                let degrees = self.expression_of(degrees, Type::Fixed)?.operand();
                Ok(Value::scalar(Type::Fixed, self.cosine(degrees)))
            }
            ("angle", &[from, to]) => self.angle(from, to),
            ("turn", &[offset, degrees]) => self.turn(offset, degrees),
            ("point", axes) if axes.len() == self.unit.dimensions => {
                let mut operands = [Operand::ZERO; 3];
                for (operand, axis) in operands.iter_mut().zip(axes) {
                    *operand = self.expression_of(axis, Type::Fixed)?.operand();
                }
                Ok(Value::new(Type::Point, operands))
            }
            ("point", _) => {
                let message = format!("a point of this world has {} axes", self.unit.dimensions);
                Err(self.problem(call.span(), message, format!("found {}", arguments.len())))
            }
            ("inside", &[point]) => {
                let point = self.expression_of(point, Type::Point)?;
                let mut operands = [Operand::ZERO; 3];
                for (axis, operand) in operands.iter_mut().enumerate().take(self.unit.dimensions) {
                    let last = Operand::Const(self.unit.schema.world.size[axis].raw() - 1);
                    let raised = self.binary(Binary::Max, point.operands[axis], Operand::ZERO);
                    *operand = self.binary(Binary::Min, raised, last);
                }
                let inside = self.nearest_in_plane(operands);
                Ok(Value::new(Type::Point, self.free_place(inside)))
            }
            ("is_blocked", &[place]) => self.is_blocked(place),
            ("height", &[place]) => self.height(place, call),
            ("tag", &[place]) => self.tag(place, call),
            ("set_blocked", &[place, is]) => self.set_blocked(place, is, call),
            ("set_height", &[place, to]) => self.set_height(place, to, call),
            ("set_tag", &[place, to]) => self.set_tag(place, Some(to), call),
            ("clear_tag", &[place]) => self.set_tag(place, None, call),
            ("sees", &[from, to]) => self.sees(from, to),
            ("slide", &[from, step]) => self.slide(from, step),
            ("first_hit", &[from, towards, reach]) => self.first_hit(from, towards, reach),
            ("approach", &[from, to, step, window]) => self.approach(from, to, step, window),
            ("toward", _) if self.unit.is_client => {
                Err(self.is_for_worlds("`toward`", call.span()))
            }
            ("toward", &[from, field, step]) => self.toward(from, field, step),
            ("plane", &[place]) => self.plane_number(place),
            ("local", &[place]) => self.local_place(place),
            ("in_plane", &[plane, at]) => self.in_plane(plane, at),
            ("first_plane", &[name]) => self.named_planes(name, |(first, _)| first),
            ("copies", &[name]) => self.named_planes(name, |(_, copies)| copies),
            ("tick", &[]) => Ok(Value::scalar(Type::Int, self.set(Inst::Tick))),
            ("has", &[attribute]) => self.has(attribute),
            (
                "after" | "cancel" | "spawn" | "despawn" | "tell" | "set_blocked" | "set_height"
                | "set_tag" | "clear_tag",
                _,
            ) if self.unit.is_client => Err(self.is_for_worlds(&format!("`{name}`"), call.span())),
            ("after", &[ticks, command]) => self.after(ticks, command),
            ("cancel", &[timer]) => self.cancel(timer),
            ("spawn", &[kind]) => self.spawn(kind, None),
            ("spawn", &[kind, place]) => self.spawn(kind, Some(place)),
            ("despawn", &[entity]) => self.despawn(entity),
            ("tell", &[notification]) => self.tell(notification, None),
            ("tell", &[notification, area]) => self.tell(notification, Some(area)),
            ("around", _) => {
                let label = "expected `tell(Name { … }, around(point, distance))`";
                Err(self.problem(call.span(), "`around` only stands in `tell`", label))
            }
            _ => {
                let message = format!("`{name}` can't be called like this");
                Err(self.problem(call.span(), message, format!("expected `{form}`")))
            }
        }
    }

    /// Arguments that are numbers of one type.
    fn numbers<const N: usize>(&mut self, arguments: [&'a syn::Expr; N]) -> Checked<[Value; N]> {
        let mut values = [Value::UNIT; N];
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = self.expression(argument, None)?;
            self.check_number(*value, argument)?;
        }
        let is_literal = values.iter().all(|value| value.is_literal);
        let has = |ty: Type| values.iter().any(|value| value.ty == ty);
        let ty = match (has(Type::Fixed), has(Type::Long)) {
            (true, _) => Type::Fixed,
            (false, true) => Type::Long,
            (false, false) => Type::Int,
        };
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = match self.convert(*value, ty, argument)? {
                Value {
                    ty: Type::Never, ..
                } => Value::constant(ty, 0),
                value => Value {
                    is_literal,
                    ..value
                },
            };
        }
        Ok(values)
    }

    /// Numbers of 64 bits are not for every function.
    fn check_short(&self, value: Value, call: &syn::ExprCall) -> Checked<()> {
        if value.ty != Type::Long {
            return Ok(());
        }
        Err(self.mismatch(value.ty, "`i32` or `Fixed`", None, call.args.span()))
    }

    fn check_number(&self, value: Value, argument: &syn::Expr) -> Checked<()> {
        if value.ty.is_number() || value.ty == Type::Never {
            return Ok(());
        }
        Err(self.mismatch(value.ty, "`i32` or `Fixed`", None, argument.span()))
    }

    /// A number between two others, or a point with each axis between them.
    fn clamp(
        &mut self,
        value: &'a syn::Expr,
        low: &'a syn::Expr,
        high: &'a syn::Expr,
    ) -> Checked<Value> {
        let mut value_of = self.expression(value, None)?;
        let (at_low, at_high) = (low, high);
        let [low, high] = self.numbers([low, high])?;
        if value_of.ty == Type::Never {
            return Ok(Value::NEVER);
        }
        if value_of.ty != Type::Point {
            self.check_number(value_of, value)?;
        }
        if value_of.ty == Type::Int && matches!(low.ty, Type::Fixed | Type::Long) {
            value_of = self.convert(value_of, low.ty, value)?;
        }
        let mut value = value_of;
        let ty = match value.ty {
            Type::Point => Type::Fixed,
            ty => ty,
        };
        let low = self.convert(low, ty, at_low)?;
        let high = self.convert(high, ty, at_high)?;
        if ty == Type::Long {
            let raised = self.wide(Wide::Max, value, low);
            return Ok(self.wide(Wide::Min, raised, high));
        }
        for operand in &mut value.operands[..value.ty.width(self.unit.dimensions)] {
            let raised = self.binary(Binary::Max, *operand, low.operand());
            *operand = self.binary(Binary::Min, raised, high.operand());
        }
        Ok(Value::new(value.ty, value.operands))
    }

    /// Ends the command unless a condition holds; of an atomic one, nothing counts then.
    fn require(
        &mut self,
        condition: &'a syn::Expr,
        reason: Option<&'a syn::Expr>,
    ) -> Checked<Value> {
        let at = condition;
        let (reason, number) = match reason {
            Some(reason) => {
                let text = self.reason(reason)?;
                let number = self.reason_number(&text, reason.span())?;
                (Some(text), number)
            }
            None => (None, None),
        };
        let unmet = || What::Unmet { reason };
        let condition = self.expression_of(condition, Type::Bool)?;
        self.value_site(at, "require", condition);
        let exit = self.refusal();
        match condition.operand().constant() {
            Some(0) => {
                self.site(at, unmet);
                self.emit_reason(number);
                self.emit(Inst::Jump(exit));
                Ok(Value::NEVER)
            }
            Some(_) => Ok(Value::UNIT),
            None if self.unit.has_sites || number.is_some() => {
                let over = self.label();
                self.emit(Inst::JumpIf(condition.operand(), over));
                self.site(at, unmet);
                self.emit_reason(number);
                self.emit(Inst::Jump(exit));
                self.place(over);
                Ok(Value::UNIT)
            }
            None => {
                self.emit(Inst::JumpUnless(condition.operand(), exit));
                Ok(Value::UNIT)
            }
        }
    }

    /// The number of a reason in the world, if a client gives the command that is lowered, as
    /// nobody else receives it.
    fn reason_number(&self, text: &str, span: Span) -> Checked<Option<u8>> {
        let senders = self.frames[0]
            .function
            .and_then(|function| function.senders);
        if self.unit.has_sites || !senders.is_some_and(|senders| senders.clients) {
            return Ok(None);
        }
        let number = self.unit.reason(text).ok_or_else(|| {
            let label = format!("at most {REASONS_MAX} texts");
            self.problem(span, "the world has too many reasons", label)
        })?;
        Ok(Some(number))
    }

    fn emit_reason(&mut self, number: Option<u8>) {
        if let Some(number) = number {
            self.emit(Inst::Reason(number));
        }
    }

    /// What people read when a condition does not hold.
    pub(super) fn reason(&self, text: &syn::Expr) -> Checked<String> {
        let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(literal),
            ..
        }) = strip(text)
        else {
            let label = "expected `require(condition, \"reason\")`";
            return Err(self.problem(text.span(), "a reason is a text", label));
        };
        let literal = literal.value();
        if literal.is_empty() || literal.len() > REASON_BYTES_MAX {
            let label = format!(
                "expected 1 to {REASON_BYTES_MAX} bytes, found {}",
                literal.len()
            );
            return Err(self.problem(text.span(), "a reason is a short text", label));
        }
        Ok(literal)
    }

    fn is_within(
        &mut self,
        a: &'a syn::Expr,
        b: &'a syn::Expr,
        radius: &'a syn::Expr,
    ) -> Checked<Value> {
        let (a, a_exists) = self.place_that_exists(a)?;
        let (b, b_exists) = self.place_that_exists(b)?;
        let radius = self.expression_of(radius, Type::Fixed)?.operand();
        let mut is = self.set(|reg| Inst::IsWithin(reg, a, b, radius));
        let one_plane = self.is_one_plane(a, b, radius);
        for exists in [a_exists, b_exists, one_plane].into_iter().flatten() {
            is = self.binary(Binary::And, is, exists);
        }
        Ok(Value::scalar(Type::Bool, is))
    }

    /// Whether an entity was within reach of who gives the command, after a tick.
    fn was_within(
        &mut self,
        entity: &'a syn::Expr,
        reach: &'a syn::Expr,
        tick: &'a syn::Expr,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let Some(me) = self.me else {
            let message = "no entity gives this command, so none is near";
            return Err(self.problem(call.span(), message, "expected `me: Entity` in the command"));
        };
        let at = entity.span();
        let entity = self.expression_of(entity, Type::Entity)?.operand();
        self.check_place(entity, at)?;
        let reach = self.expression_of(reach, Type::Fixed)?.operand();
        let tick = self.expression_of(tick, Type::Int)?.operand();
        let here = self.position(me);
        let mut there = [Operand::ZERO; 3];
        for (axis, operand) in (0..).zip(&mut there[..self.unit.dimensions]) {
            *operand = self.set(|reg| Inst::Past(reg, entity, axis, tick));
        }
        let is_near = self.set(|reg| Inst::IsWithin(reg, here, there, reach));
        // An entity that was nowhere has no coordinates.
        let was_there = self.binary(Binary::Le, Operand::ZERO, there[0]);
        let mut is = self.binary(Binary::And, is_near, was_there);
        if let Some(is_one) = self.is_one_plane(here, there, reach) {
            is = self.binary(Binary::And, is, is_one);
        }
        Ok(Value::scalar(Type::Bool, is))
    }

    /// A place, and whether its entity exists, if it is one's and may not.
    pub(super) fn place_that_exists(
        &mut self,
        expression: &'a syn::Expr,
    ) -> Checked<([Operand; 3], Option<Operand>)> {
        let value = self.expression(expression, None)?;
        if value.ty != Type::Entity {
            let point = self.as_point(value, expression)?;
            return Ok((point.operands, None));
        }
        let slot = value.operand();
        self.check_place(slot, expression.span())?;
        let position = self.position(slot);
        if Some(slot) == self.me {
            return Ok((position, None));
        }
        let exists = self.binary(Binary::Ne, slot, Value::NOBODY.operand());
        Ok((position, Some(exists)))
    }

    /// The point that is at most `most` from the first on the way to the second.
    fn towards(
        &mut self,
        from: &'a syn::Expr,
        to: &'a syn::Expr,
        most: &'a syn::Expr,
    ) -> Checked<Value> {
        let (from, to) = (self.place_of(from)?, self.place_of(to)?);
        let most = self.expression_of(most, Type::Fixed)?.operand();
        Ok(self.point_towards(from, to, most))
    }

    pub(super) fn point_towards(&mut self, from: Point, to: Point, most: Operand) -> Value {
        let distance = self.set(|reg| Inst::Distance(reg, from, to));
        let step = self.binary(Binary::Max, most, Operand::ZERO);
        let mut operands = [Operand::ZERO; 3];
        for (axis, operand) in operands.iter_mut().enumerate().take(self.unit.dimensions) {
            let way = self.binary(Binary::Sub, to[axis], from[axis]);
            // The direction first: as a part of a long way, a short step would be nothing.
            let direction = self.binary(Binary::DivFixed, way, distance);
            let way = self.binary(Binary::MulFixed, step, direction);
            *operand = self.binary(Binary::Add, from[axis], way);
        }
        let point = self.copy(Value::new(Type::Point, operands));
        // An entity that can get there does, exactly.
        let over = self.label();
        let is_short = self.binary(Binary::Lt, most, distance);
        self.emit(Inst::JumpIf(is_short, over));
        self.assign(point, Value::new(Type::Point, to));
        self.place(over);
        point
    }

    /// The number of entities within a radius, of one kind or of all.
    fn count_near(
        &mut self,
        place: &'a syn::Expr,
        radius: &'a syn::Expr,
        kind: Option<&'a syn::Expr>,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let place = self.place_of(place)?;
        let radius = self.expression_of(radius, Type::Fixed)?.operand();
        let kind = self.kind_argument(kind)?;
        let n = self.copy(Value::constant(Type::Int, 0));
        self.visit_near(place, radius, call, |lower, slot| {
            let counts = lower.is_kind(slot, kind);
            let sum = lower.binary(Binary::Add, n.operand(), counts);
            lower.assign(n, Value::scalar(Type::Int, sum));
            Ok(())
        })?;
        Ok(n)
    }

    /// The nearest entity within a radius, of one kind or of all; of those that are equally
    /// near, the first in index order. An entity is not near itself.
    fn nearest(
        &mut self,
        place: &'a syn::Expr,
        radius: &'a syn::Expr,
        kind: Option<&'a syn::Expr>,
        call: &'a syn::ExprCall,
    ) -> Checked<Value> {
        let value = self.expression(place, None)?;
        let own = match value.ty {
            Type::Entity => value.operand(),
            _ => Value::NOBODY.operand(),
        };
        let place = match value.ty {
            Type::Entity => {
                self.check_place(own, place.span())?;
                self.position(own)
            }
            _ => self.as_point(value, place)?.operands,
        };
        let radius = self.expression_of(radius, Type::Fixed)?.operand();
        let kind = self.kind_argument(kind)?;
        let found = self.copy(Value::NOBODY);
        let closest = self.copy(Value::constant(Type::Fixed, i32::MAX));
        self.visit_near(place, radius, call, |lower, slot| {
            let over = lower.label();
            let at = lower.position(slot);
            let distance = lower.set(|reg| Inst::Distance(reg, place, at));
            let mut closer = lower.binary(Binary::Lt, distance, closest.operand());
            let is_other = lower.binary(Binary::Ne, slot, own);
            closer = lower.binary(Binary::And, closer, is_other);
            let is_kind = lower.is_kind(slot, kind);
            closer = lower.binary(Binary::And, closer, is_kind);
            lower.emit(Inst::JumpUnless(closer, over));
            lower.assign(found, Value::scalar(Type::Entity, slot));
            lower.assign(closest, Value::scalar(Type::Fixed, distance));
            lower.place(over);
            Ok(())
        })?;
        Ok(found)
    }

    pub(super) fn kind_argument(
        &mut self,
        kind: Option<&'a syn::Expr>,
    ) -> Checked<Option<Operand>> {
        match kind {
            Some(kind) => Ok(Some(self.expression_of(kind, Type::Kind)?.operand())),
            None => Ok(None),
        }
    }

    /// 1 if an entity is of a kind, or of any.
    pub(super) fn is_kind(&mut self, slot: Operand, kind: Option<Operand>) -> Operand {
        let Some(kind) = kind else {
            return Operand::Const(1);
        };
        let own = self.set(|reg| Inst::Kind(reg, slot));
        self.binary(Binary::Eq, own, kind)
    }

    /// Whether an entity has an attribute.
    fn has(&mut self, attribute: &'a syn::Expr) -> Checked<Value> {
        if let syn::Expr::Field(field) = strip(attribute)
            && let syn::Member::Named(member) = &field.member
        {
            let slot = self.expression_of(&field.base, Type::Entity)?.operand();
            let name = name_of(member);
            let column = match self.unit.collection(&name) {
                Some(own) => self.column(own.first_name, member.span())?,
                None => self.column(&name, member.span())?,
            };
            let column = column as u16;
            let has = self.set(|reg| Inst::Has(reg, slot, column));
            return Ok(Value::scalar(Type::Bool, has));
        }
        let label = "expected `has(entity.attribute)`";
        Err(self.problem(attribute.span(), "this is not an attribute", label))
    }
}

pub(super) fn count(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}
