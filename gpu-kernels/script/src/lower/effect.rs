//! Updates, scheduled commands, notifications.

use proc_macro2::Span;
use shared::predicate::nearest;
use shared::world::config::DELAY_TICKS_MAX;
use shared::{CommandKind, MergeRule};
use syn::spanned::Spanned;

use super::call::count;
use super::collection::{ColumnRef, Element};
use super::statement::{is_call, strip};
use super::{Checked, Lower};
use crate::functions::form_of;
use crate::ir::{After, Binary, Inst, Notify, Operand, TIMED_WORDS_MAX, Unary, WriteOp};
use crate::parse::name_of;
use crate::types::{Type, Value};

/// A call of a command, to be given later or by a test.
pub(super) struct GivenCommand<'a> {
    pub call: &'a syn::ExprCall,
    pub name: String,
    pub command: u16,
    pub actor: Option<Operand>,
    pub words: Vec<Operand>,
    /// The newborn that it names, if it does.
    pub newborn: Option<Named>,
}

/// A newborn among the arguments of a command.
#[derive(Clone, Copy)]
pub(super) struct Named {
    /// How many commands the run had scheduled with its birth.
    pub birth: Operand,
    /// A bit for each word of the command that it is.
    pub words: u32,
    /// Whether it gives the command.
    pub is_giver: bool,
}

impl<'a> Lower<'a> {
    /// `entity.attribute = value`, and `+=` and the like.
    pub(super) fn update(
        &mut self,
        entity: Value,
        to: &'a syn::ExprField,
        member: &syn::Ident,
        op: Option<&'a syn::BinOp>,
        from: &'a syn::Expr,
    ) -> Checked<()> {
        let name = name_of(member);
        let span = member.span();
        if name == "kind" && !self.unit.is_client {
            let label = "an entity keeps its kind";
            return Err(self.problem(span, "`kind` can't be changed", label));
        }
        let (column, ty) = match &name[..] {
            _ if self.unit.is_client => return Err(self.is_for_worlds("an update", span)),
            "position" => (0, Type::Point),
            name => {
                let column = self.column(name, span)?;
                (column, Type::of_column(self.unit.schema, column))
            }
        };
        let element = Element {
            entity: &to.base,
            slot: entity.operand(),
            place: ColumnRef::from(column as u16),
            ty,
            name,
            span,
        };
        self.update_element(element, to, op, from)
    }

    /// The same of an attribute, or an element of an array or a map.
    pub(super) fn update_element(
        &mut self,
        element: Element<'a>,
        to: &dyn Spanned,
        op: Option<&'a syn::BinOp>,
        from: &'a syn::Expr,
    ) -> Checked<()> {
        let Element {
            slot,
            place,
            ty,
            span,
            ..
        } = element;
        if self.unit.is_client {
            return Err(self.is_for_worlds("an update", span));
        }
        if self.unit.is_test {
            let old = match ty {
                Type::Point => Value::new(ty, self.position(slot)),
                _ => self.element_value(&element),
            };
            return self.test_update(slot, place, (old, op, from), to.span());
        }
        // Symbols and texts are set alone, and checked.
        let is_checked = ty.is_symbol() || ty == Type::Text;
        if self.atomic.is_some() && (op.is_some() || !is_checked) {
            self.begin_timer(&element, op, from)?;
            return self.write(slot, (place, ty), op, from, span);
        }
        let merge = self.unit.schema.attributes[usize::from(place.column)].merge;
        let is_minus = match (merge, op) {
            (_, None) if self.atomic.is_some() => false,
            (MergeRule::Sum, Some(syn::BinOp::AddAssign(_))) => false,
            (MergeRule::Sum, Some(syn::BinOp::SubAssign(_))) => true,
            (MergeRule::First | MergeRule::Last, None) => false,
            _ => return Err(self.wrong_update(element.entity, &element.name, merge, span)),
        };
        self.begin_timer(&element, op, from)?;
        if let Type::SymbolOf(_) = ty {
            let value = self.update_symbol(slot, (place, ty), from)?;
            self.update_site(to, slot, place, op, value);
            return Ok(());
        }
        if ty == Type::Text {
            let value = self.update_text(slot, place, from)?;
            self.update_site(to, slot, place, op, value);
            return Ok(());
        }
        let value = self.expression_of(from, ty)?;
        let mut words = vec![];
        match is_minus && value.ty == Type::Long {
            true => words.extend(self.wide_negative(value).halves()),
            false => self.words(value, &mut words),
        }
        for (axis, word) in (0..).zip(words) {
            let word = match is_minus && value.ty != Type::Long {
                true => self.unary(Unary::Neg, word),
                false => word,
            };
            self.change_at(slot, place.axis(axis), WriteOp::Set, word);
        }
        self.update_site(to, slot, place, op, value);
        Ok(())
    }

    /// An update by a symbol, which has no effect if the attribute can't have it.
    fn update_symbol(
        &mut self,
        slot: Operand,
        (place, ty): (ColumnRef, Type),
        from: &'a syn::Expr,
    ) -> Checked<Value> {
        let value = self.expression(from, Some(ty))?;
        let value = match value.ty.is_symbol() {
            true => value,
            false => self.convert(value, ty, from)?,
        };
        if value.ty == Type::Never {
            return Ok(value);
        }
        let (word, can) = self.symbol_for(slot, place.column, value, from)?;
        let over = self.label();
        if let Some(can) = can {
            self.emit(Inst::JumpUnless(can, over));
        }
        self.change_at(slot, place, WriteOp::Set, word);
        self.place(over);
        Ok(value)
    }

    /// An update by a text, which has no effect if it is longer than the attribute's: handles are
    /// ordered by the lengths of their texts.
    fn update_text(
        &mut self,
        slot: Operand,
        place: ColumnRef,
        from: &'a syn::Expr,
    ) -> Checked<Value> {
        let value = self.expression_of(from, Type::Text)?;
        if value.ty == Type::Never {
            return Ok(value);
        }
        let (word, over) = (value.operand(), self.label());
        if word.constant().is_none() {
            let most = self.unit.schema.attributes[usize::from(place.column)].max;
            let fits = self.binary(Binary::Le, word, most.into());
            self.emit(Inst::JumpUnless(fits, over));
        }
        self.change_at(slot, place, WriteOp::Set, word);
        self.place(over);
        Ok(value)
    }

    /// Checks that an attribute can be set.
    pub(super) fn check_set(&self, element: &Element<'a>) -> Checked<()> {
        let attribute = &self.unit.schema.attributes[usize::from(element.place.column)];
        let merge = attribute.merge;
        match self.atomic.is_some() || matches!(merge, MergeRule::First | MergeRule::Last) {
            true => Ok(()),
            false => Err(self.wrong_update(element.entity, &element.name, merge, element.span)),
        }
    }

    fn wrong_update(
        &self,
        entity: &syn::Expr,
        name: &str,
        merge: MergeRule,
        span: Span,
    ) -> Box<crate::Diagnostic> {
        let entity = self.unit.files[self.file()].source(entity.span());
        let to = format!("{}.{name}", entity.unwrap_or("…"));
        let (rule, form) = match merge {
            MergeRule::Sum => ("sum", format!("`{to} += …` or `{to} -= …`")),
            MergeRule::First => ("first", format!("`{to} = …`")),
            MergeRule::Last => ("last", format!("`{to} = …`")),
            MergeRule::Min => ("min", format!("`{to}.min(…)`")),
            MergeRule::Max => ("max", format!("`{to}.max(…)`")),
        };
        let message = format!("`{name}` merges by `{rule}`, so it can't be changed like this");
        let help = "when several commands change it in one tick, its merge rule, which the world \
                    file sets, says what comes out; an `atomic` command changes anything";
        self.helped(span, message, format!("expected {form}"), help)
    }

    /// `entity.attribute.min(value)` and `….max(value)`, as statements.
    pub(super) fn method_call(&mut self, call: &'a syn::ExprMethodCall) -> Checked<Value> {
        let method = name_of(&call.method);
        let arguments: Vec<&'a syn::Expr> = call.args.iter().collect();
        let rule = match &method[..] {
            "min" => Some(MergeRule::Min),
            "max" => Some(MergeRule::Max),
            _ => None,
        };
        if method == "len"
            && let Some(length) = self.length(call)?
        {
            return Ok(length);
        }
        let receiver = strip(&call.receiver);
        let is_attribute = match receiver {
            syn::Expr::Field(field) => matches!(field.member, syn::Member::Named(_)),
            other => matches!(other, syn::Expr::Index(_)),
        };
        if let (Some(rule), true) = (rule, is_attribute) {
            if self.unit.is_client {
                return Err(self.is_for_worlds("an update", call.span()));
            }
            if self.unit.is_test {
                let message = "a test sets attributes by `=`";
                return Err(self.problem(call.span(), message, ""));
            }
            let element = self.attribute_or_element(receiver)?;
            let (slot, place, name) = (element.slot, element.place, &element.name);
            let attribute = &self.unit.schema.attributes[usize::from(place.column)];
            if self.atomic.is_some() {
                let is_number = Type::of(attribute.ty).is_number() && name != "position";
                if !is_number {
                    let message = format!("`{name}` has no `{method}`");
                    let label = "expected an attribute of type i32 or fixed";
                    return Err(self.problem(call.span(), message, label));
                }
            } else if attribute.merge != rule {
                let merge = attribute.merge;
                return Err(self.wrong_update(element.entity, name, merge, call.span()));
            }
            let &[argument] = &arguments[..] else {
                let message = format!("`{method}` takes 1 argument here");
                let label = format!("found {}", arguments.len());
                return Err(self.problem(call.span(), message, label));
            };
            let value = self.expression_of(argument, Type::of(attribute.ty))?;
            let op = match rule {
                MergeRule::Min => Binary::Min,
                _ => Binary::Max,
            };
            if value.ty == Type::Long {
                self.wide_limit(slot, place.column, op, value);
                self.update_site(receiver, slot, place, None, value);
                return Ok(Value::UNIT);
            }
            let word = self.stored(value);
            match &self.atomic {
                Some(_) => self.write_limit(slot, (place, element.ty), op, word, call.span()),
                None => self.change_at(slot, place, WriteOp::Set, word),
            }
            self.update_site(receiver, slot, place, None, value);
            return Ok(Value::UNIT);
        }
        let message = format!("there is no method `{method}`");
        let label = "scripts have functions only";
        let mut problem = self.problem(call.method.span(), message, label);
        if form_of(&method).is_some() || self.unit.helper(self.file(), &method).is_some() {
            let value = self.unit.files[self.file()].source(call.receiver.span());
            let value = value.unwrap_or("…");
            problem.help = Some(match arguments.is_empty() {
                true => format!("write `{method}({value})`"),
                false => format!("write `{method}({value}, …)`"),
            });
        }
        Err(problem)
    }

    /// What an expression names that can be changed: `entity.attribute`, or an element of one.
    pub(super) fn attribute_or_element(&mut self, of: &'a syn::Expr) -> Checked<Element<'a>> {
        if let syn::Expr::Index(index) = of {
            return self.element(index);
        }
        let syn::Expr::Field(field) = of else {
            return Err(self.problem(of.span(), "this is not an attribute", ""));
        };
        let syn::Member::Named(member) = &field.member else {
            return Err(self.problem(of.span(), "scripts have no tuples", ""));
        };
        let (name, span) = (name_of(member), member.span());
        let slot = self.expression_of(&field.base, Type::Entity)?.operand();
        let column = match &name[..] {
            "position" => 0,
            name => self.column(name, span)?,
        };
        Ok(Element {
            entity: &field.base,
            slot,
            place: ColumnRef::from(column as u16),
            ty: Type::of_column(self.unit.schema, column),
            name,
            span,
        })
    }

    /// A value of one word as the word that an attribute or a command holds.
    pub(super) fn stored(&mut self, value: Value) -> Operand {
        let operand = value.operand();
        match value.ty {
            Type::Entity => self.set(|reg| Inst::Reference(reg, operand)),
            _ => operand,
        }
    }

    pub(super) fn words(&mut self, value: Value, words: &mut Vec<Operand>) {
        match value.ty {
            Type::Point => words.extend(&value.operands[..self.unit.dimensions]),
            Type::Long => words.extend(value.halves()),
            _ => {
                let word = self.stored(value);
                words.push(word);
            }
        }
    }

    /// `after(ticks, command(…))`.
    pub(super) fn after(&mut self, ticks: &'a syn::Expr, command: &'a syn::Expr) -> Checked<Value> {
        let at_ticks = ticks;
        let value = self.expression_of(ticks, Type::Int)?;
        let ticks = value.operand();
        // What only a run knows is clamped by the backends.
        let most = DELAY_TICKS_MAX as i32;
        let known = ticks.constant().filter(|_| value.ty == Type::Int);
        if let Some(found) = known.filter(|ticks| !(1..=most).contains(ticks)) {
            let message = format!("a command can't be scheduled {found} ticks ahead");
            let label = format!("expected 1 to {most}");
            return Err(self.problem(at_ticks.span(), message, label));
        }
        let label = "expected `after(ticks, command(…))`";
        let timer = self.timer.take();
        let mut given = self.given_command(command, label, "only commands can be scheduled")?;
        if let Some(newborn) = given.newborn {
            return self.follow_up(ticks, newborn, given, timer);
        }
        let kept = timer.map(|timer| self.keep_timer(timer, &mut given));
        let kept = kept.transpose()?;
        let GivenCommand {
            call,
            name,
            command,
            actor,
            words,
            ..
        } = given;
        if words.len() > TIMED_WORDS_MAX {
            let message = format!("`{name}` has too many parameters to be scheduled");
            let label = format!("at most {TIMED_WORDS_MAX}, found {}", words.len());
            return Err(self.problem(call.span(), message, label));
        }
        let after = After {
            ticks,
            actor,
            command,
            words,
        };
        let nothing = self.schedule_call(after)?;
        Ok(kept.unwrap_or(nothing))
    }

    /// A call of a command with its arguments. The labels are for what is no call, and for what
    /// is no command.
    pub(super) fn given_command(
        &mut self,
        command: &'a syn::Expr,
        no_call: &str,
        no_command: &str,
    ) -> Checked<GivenCommand<'a>> {
        let syn::Expr::Call(call) = strip(command) else {
            return Err(self.problem(command.span(), "this is not a command", no_call));
        };
        let name = match strip(&call.func) {
            syn::Expr::Path(path) => path.path.get_ident().map(name_of),
            _ => None,
        };
        let name = name.unwrap_or_default();
        let unit = self.unit;
        let Some(signature) = unit.commands.get(&name) else {
            let message = format!("there is no command `{name}`");
            let known = unit.commands.keys().map(String::as_str);
            return Err(match nearest(&name, known) {
                Some(near) => {
                    let help = format!("did you mean `{near}`?");
                    self.helped(call.func.span(), message, "", help)
                }
                None if self.unit.helper(self.file(), &name).is_some()
                    || form_of(&name).is_some() =>
                {
                    let message = format!("`{name}` is not a command");
                    self.problem(call.func.span(), message, no_command)
                }
                None => {
                    let label = "expected a function with `#[command]`";
                    self.problem(call.func.span(), message, label)
                }
            });
        };
        let expected = signature.function.parameters.len();
        if call.args.len() != expected {
            let message = format!("`{name}` takes {}", count(expected, "argument"));
            return Err(self.problem(call.span(), message, format!("found {}", call.args.len())));
        }
        if !self.unit.is_test
            && signature
                .function
                .parameters
                .iter()
                .any(|p| p.ty == Type::Text)
        {
            let message = "a command with a text can't wait";
            let label = "expected a command without `Text`: only clients give texts";
            return Err(self.problem(call.span(), message, label));
        }
        let (mut actor, mut words) = (None, vec![]);
        let mut newborn = None;
        for (argument, parameter) in call.args.iter().zip(&signature.function.parameters) {
            if let Some(birth) = self
                .unborn(argument)
                .filter(|_| parameter.ty == Type::Entity)
            {
                let place = (parameter.name != "me").then_some(words.len());
                self.name_newborn(&mut newborn, birth, place, argument)?;
                words.extend(place.map(|_| Operand::ZERO));
                continue;
            }
            let value = self.expression_of(argument, parameter.ty)?;
            match parameter.name == "me" {
                true => actor = Some(value.operand()),
                false => self.words(value, &mut words),
            }
        }
        Ok(GivenCommand {
            call,
            name,
            command: signature.kind.0,
            actor,
            words,
            newborn,
        })
    }

    pub(super) fn despawn(&mut self, entity: &'a syn::Expr) -> Checked<Value> {
        let entity = self.expression_of(entity, Type::Entity)?;
        self.schedule_call(After {
            ticks: Operand::Const(1),
            actor: Some(entity.operand()),
            command: CommandKind::DESPAWN.0,
            words: vec![],
        })
    }

    pub(super) fn schedule_call(&mut self, after: After) -> Checked<Value> {
        self.step();
        self.schedule(after);
        Ok(Value::UNIT)
    }

    /// `tell(Name { field: value }, around(point, distance))`.
    pub(super) fn tell(
        &mut self,
        notification: &'a syn::Expr,
        area: Option<&'a syn::Expr>,
    ) -> Checked<Value> {
        let syn::Expr::Struct(item) = strip(notification) else {
            let label = "expected `Name { field: value }`";
            return Err(self.problem(notification.span(), "this is not a notification", label));
        };
        let Some(ident) = item.path.get_ident() else {
            return Err(self.problem(item.path.span(), "scripts have no paths", "expected a name"));
        };
        if let Some(rest) = &item.rest {
            let label = "expected every field by its name";
            return Err(self.problem(rest.span(), "a notification has all its fields", label));
        }
        let name = ident.to_string();
        let mut given = vec![];
        for field in &item.fields {
            let syn::Member::Named(member) = &field.member else {
                let label = "expected `name: value`";
                let message = "a notification's fields have names";
                return Err(self.problem(field.span(), message, label));
            };
            let field_name = name_of(member);
            let expected = self.unit.declared_field(&name, &field_name);
            let value = match expected {
                Some(ty) => self.expression_of(&field.expr, ty)?,
                None => self.expression(&field.expr, None)?,
            };
            match value.ty {
                Type::Unit => {
                    let label = "expected a value";
                    return Err(self.problem(field.expr.span(), "this gives no value", label));
                }
                Type::Never => return Ok(Value::UNIT),
                _ => {}
            }
            if given.iter().any(|(name, _)| *name == field_name) {
                let message = format!("two fields are named `{field_name}`");
                return Err(self.problem(member.span(), message, "expected another name"));
            }
            given.push((field_name, value));
        }
        let form: Vec<_> = given
            .iter()
            .map(|(name, value)| (name.clone(), value.ty.plain()))
            .collect();
        let form = self.unit.notification(&name, &form);
        let form = form.map_err(|wrong| self.problem(item.span(), wrong.message, wrong.label))?;
        let (mut words, over) = (vec![], self.label());
        let mut symbols = vec![];
        for (field, _) in &form.fields {
            if let Some((_, value)) = given.iter().find(|(name, _)| name == field) {
                self.words(*value, &mut words);
                let is_known = value.operand().constant().is_some();
                symbols.extend((value.ty.is_symbol() && !is_known).then(|| value.operand()));
            }
        }
        let area = match area {
            Some(area) => Some(self.area(area)?),
            None => None,
        };
        // Clients read symbols of the world only.
        for symbol in symbols {
            let is_one = self.is_symbol(symbol);
            self.emit(Inst::JumpUnless(is_one, over));
        }
        self.step();
        self.emit(Inst::Notify(Notify {
            kind: form.kind.0,
            source: self.me,
            area,
            words,
        }));
        self.place(over);
        Ok(Value::UNIT)
    }

    fn area(&mut self, area: &'a syn::Expr) -> Checked<([Operand; 3], Operand)> {
        let syn::Expr::Call(call) = strip(area) else {
            let label = "expected `around(point, distance)`";
            return Err(self.problem(area.span(), "this is not an area", label));
        };
        let arguments: Vec<&'a syn::Expr> = call.args.iter().collect();
        match &arguments[..] {
            &[place, distance] if is_call(call, "around") => {
                let place = self.place_of(place)?;
                let distance = self.expression_of(distance, Type::Fixed)?;
                self.area_in_plane(place, distance.operand(), area)
            }
            _ => {
                let label = "expected `around(point, distance)`";
                Err(self.problem(area.span(), "this is not an area", label))
            }
        }
    }
}
