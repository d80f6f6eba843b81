//! What texts declare, and whether they may.

use proc_macro2::Span;
use shared::Occasion;
use shared::world::command::{COMMAND_WORDS_MAX, COMMANDS_MAX, SEEN, WAITING_WORDS_MAX};

use super::{Signature, Unit, snake_case};
use crate::functions::{form_of, yields};
use crate::parse::{Const, Function, Item, NotificationItem, Parameter, TestRole};
use crate::types::Type;

impl<'a> Unit<'a> {
    pub(super) fn declare(&mut self, f: usize, item: &'a Item) {
        match item {
            Item::Const(item) => self.declare_constant(f, item),
            Item::Function(function) if function.test.is_some() && !self.is_test => {}
            Item::Function(function) if function.test == Some(TestRole::Test) => {
                self.declare_test(f, function);
            }
            Item::Function(function) if function.senders.is_some() => {
                self.declare_command(f, function);
            }
            Item::Function(function) => self.declare_helper(f, function),
            Item::Notification(item) => self.declare_notification(f, item),
        }
    }

    fn declare_constant(&mut self, f: usize, item: &'a Const) {
        self.check_name(f, &item.name, item.span);
        if let Some(first) = self.constants.insert((f, item.name.clone()), item) {
            self.declared_twice(f, item.span, &item.name, f, first.span);
        }
        if item.is_public
            && let Some(first) = self.public_constants.insert(&item.name, f)
            && first != f
        {
            let span = self.constants[&(first, item.name.clone())].span;
            self.declared_twice(f, item.span, &item.name, first, span);
        }
    }

    fn declare_test(&mut self, f: usize, function: &'a Function) {
        let mut known = self.tests.iter();
        let first = known.find(|(file, other)| *file == f && other.name == function.name);
        if let Some(&(_, first)) = first {
            self.declared_twice(f, function.span, &function.name, f, first.span);
        }
        self.tests.push((f, function));
    }

    fn declare_helper(&mut self, f: usize, function: &'a Function) {
        self.check_name(f, &function.name, function.span);
        self.check_parameters(f, function);
        let key = (f, function.name.clone());
        let command = self.commands.get(&function.name).filter(|c| c.file == f);
        let first = command.map(|command| command.function.span);
        let known = self.helpers.insert(key, function);
        if let Some(first) = first.or(known.map(|known| known.span)) {
            self.declared_twice(f, function.span, &function.name, f, first);
        }
        if function.is_public
            && let Some(first) = self.public_helpers.insert(&function.name, f)
            && first != f
        {
            let span = self.helpers[&(first, function.name.clone())].span;
            self.declared_twice(f, function.span, &function.name, first, span);
        }
    }

    fn declared_twice(&self, f: usize, span: Span, name: &str, first: usize, first_span: Span) {
        let first = self.files[first].at(first_span, "", "");
        let label = format!("it is also in {}, line {}", first.file, first.line);
        self.note(self.files[f].at(span, format!("`{name}` is declared twice"), label));
    }

    fn check_name(&self, f: usize, name: &str, span: Span) {
        if (form_of(name).is_some() && !yields(name)) || name == "none" {
            let message = format!("`{name}` is a built-in name");
            self.note(self.files[f].at(span, message, "expected another name"));
        }
    }

    fn check_parameters(&self, f: usize, function: &Function) {
        let is_double = |(i, parameter): (usize, &Parameter)| {
            let mut before = function.parameters[..i].iter();
            before.any(|other| other.name == parameter.name)
        };
        for (i, parameter) in function.parameters.iter().enumerate() {
            if is_double((i, parameter)) {
                let message = format!("two parameters are named `{}`", parameter.name);
                self.note(self.files[f].at(parameter.span, message, "expected another name"));
            }
        }
    }

    fn declare_command(&mut self, file: usize, function: &'a Function) {
        self.check_name(file, &function.name, function.span);
        self.check_parameters(file, function);
        self.check_command(file, function);
        let key = (file, function.name.clone());
        let known = self.helpers.get(&key).map(|known| (file, known.span));
        let command = self.commands.get(&function.name);
        let known = known.or(command.map(|c| (c.file, c.function.span)));
        if let Some((first, span)) = known {
            self.declared_twice(file, function.span, &function.name, first, span);
            return;
        }
        let Some(kind) = self.numbers.borrow_mut().command(&function.name) else {
            let label = format!("at most {}", COMMANDS_MAX);
            let message = "the world has had too many commands";
            self.note(self.files[file].at(function.span, message, label));
            return;
        };
        let signature = Signature {
            kind,
            file,
            function,
        };
        self.commands.insert(function.name.clone(), signature);
    }

    fn check_command(&self, file: usize, function: &Function) {
        let at = |span, message: &str, label: &str| self.files[file].at(span, message, label);
        let senders = function.senders.unwrap_or_default();
        let me_first = "expected `me: Entity` as the first parameter";
        for (i, parameter) in function.parameters.iter().enumerate() {
            if parameter.name == "me" && (i > 0 || parameter.ty != Type::Entity) {
                self.note(at(
                    parameter.span,
                    "`me` is the entity that gives the command",
                    me_first,
                ));
            }
        }
        if !function.hooks.is_empty() {
            return self.check_hooks(file, function);
        }
        let is_outside = senders.clients || senders.rules;
        if let Some(parameter) = function.parameters.iter().find(|p| p.ty == Type::Long) {
            let message = "clients and rules give numbers of 32 bits";
            let label = "expected `i32`, or a command that only other commands give";
            if is_outside {
                self.note(at(parameter.span, message, label));
            }
        }
        let mut texts = function.parameters.iter().filter(|p| p.ty == Type::Text);
        if let Some(parameter) = texts.clone().next()
            && !self.schema.has_texts()
        {
            self.note(at(parameter.span, NO_TEXTS, NO_TEXTS_LABEL));
        }
        if let Some(parameter) = texts.next()
            && (!senders.clients || senders.rules || function.is_atomic)
        {
            let message = "only clients give texts, for a command that runs at once";
            let label = "expected `#[command(clients)]`";
            self.note(at(parameter.span, message, label));
        }
        let is_wrong = |p: &&Parameter| p.name == SEEN && p.ty != Type::Int && senders.clients;
        if let Some(parameter) = function.parameters.iter().find(is_wrong) {
            let message = "`seen` is the tick that the client saw";
            self.note(at(parameter.span, message, "expected `seen: i32`"));
        }
        let has_actor = function.parameters.iter().any(|p| p.name == "me");
        let others = || function.parameters.iter().filter(|p| p.name != "me");
        let words: usize = others().map(|p| p.ty.width(self.dimensions)).sum();
        let waits = function.is_atomic || !(senders.clients || senders.rules);
        let (most, what) = match waits {
            true => (WAITING_WORDS_MAX, "can wait"),
            false => (COMMAND_WORDS_MAX, "are sent"),
        };
        if words > most {
            let label = format!(
                "at most {most} {what}, a point counts as {}; found {words}",
                self.dimensions
            );
            self.note(at(
                function.span,
                "the command has too many parameters",
                &label,
            ));
        }
        if senders.clients && !has_actor {
            let message = "a client gives commands for its own entity";
            self.note(at(function.span, message, me_first));
        } else if senders.rules && !has_actor {
            self.note(at(
                function.span,
                "rules give commands for entities",
                me_first,
            ));
        }
        if senders.rules
            && let Some(target) = others().find(|p| p.ty == Type::Entity)
        {
            let label = "leave out the parameter, or `rules`";
            self.note(at(target.span, "a rule has no other entity to name", label));
        }
    }

    /// Checks what the world gives hooks: the entity that one is about, and maybe another one.
    fn check_hooks(&self, file: usize, function: &Function) {
        for hook in &function.hooks {
            let Some(expected) = expected_form(function, hook.occasion) else {
                continue;
            };
            // Of several, each gives the same.
            let span = match &function.hooks[..] {
                [_] => function.span,
                _ => hook.span,
            };
            let message = "the world gives this hook something else";
            let label = format!("expected {expected}");
            self.note(self.files[file].at(span, message, label));
        }
    }

    fn declare_notification(&self, f: usize, item: &NotificationItem) {
        let at = |span, message: String, label: &str| {
            self.note(self.files[f].at(span, message, label));
        };
        for (i, field) in item.fields.iter().enumerate() {
            if item.fields[..i].iter().any(|other| other.0 == field.0) {
                let message = format!("two fields are named `{}`", field.0);
                at(
                    item.span,
                    message,
                    "expected a name of its own for each field",
                );
            }
        }
        if item.fields.iter().any(|field| field.1 == Type::Text) && !self.schema.has_texts() {
            at(item.span, NO_TEXTS.to_owned(), NO_TEXTS_LABEL);
        }
        let known = self
            .notifications
            .borrow()
            .contains_key(&snake_case(&item.name));
        if known {
            let message = format!("`{}` is declared twice", item.name);
            at(
                item.span,
                message,
                "it has the name of another notification",
            );
        } else if let Err(problem) = self.notification(&item.name, &item.fields) {
            at(item.span, problem.message, &problem.label);
        }
    }
}

const NO_TEXTS: &str = "no attribute of this world has a text";
const NO_TEXTS_LABEL: &str = "expected an attribute of `type = \"text\"` in the world file";

/// How a hook of an occasion has to be declared, unless it is.
fn expected_form(function: &Function, occasion: Occasion) -> Option<String> {
    let (has_actor, other) = match occasion {
        Occasion::Reload => (false, None),
        Occasion::Join | Occasion::Leave | Occasion::Birth => (true, None),
        Occasion::Fall => (true, Some("by")),
        Occasion::Enter(_) | Occasion::Exit(_) => (true, Some("carrier")),
    };
    let is_entity = |p: &Parameter| p.ty == Type::Entity;
    let fits = match &function.parameters[..] {
        [] => !has_actor,
        [me] => has_actor && me.name == "me" && is_entity(me),
        [me, by] => other.is_some() && me.name == "me" && is_entity(me) && is_entity(by),
        _ => false,
    };
    let name = &function.name;
    let expected = match (has_actor, other) {
        (false, _) => format!("`fn {name}()`"),
        (true, None) => format!("`fn {name}(me: Entity)`"),
        (true, Some(other)) => {
            format!("`fn {name}(me: Entity)` or `fn {name}(me: Entity, {other}: Entity)`")
        }
    };
    (!fits).then_some(expected)
}
