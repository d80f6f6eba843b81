//! All texts of a world while they are compiled: what their names mean.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use shared::world::command::{COMMAND_WORDS_MAX, COMMANDS_MAX};
use shared::world::fixed::Fixed;
use shared::world::logic::{Budget, Constant, Constants, Numbers};
use shared::world::notification::NOTIFICATIONS_MAX;
use shared::{CommandKind, NotificationKind, Schema};

use crate::diagnostic::Diagnostic;
use crate::logic::Problem;
use crate::lower::{BUILTINS, Lower};
use crate::parse::{Const, File, Function, Item, NotificationItem};
use crate::types::{Type, Value};

/// What the names of all texts mean.
pub struct Unit<'a> {
    pub schema: &'a Schema,
    pub dimensions: usize,
    pub budget: Budget,
    pub files: &'a [File<'a>],
    /// Whether it is what a client does. It can't change the world, and sends commands of
    /// the schema.
    pub is_client: bool,
    pub commands: BTreeMap<String, Signature<'a>>,
    /// By text and name.
    helpers: BTreeMap<(usize, String), &'a Function>,
    constants: BTreeMap<(usize, String), &'a Const>,
    values: RefCell<HashMap<(usize, String), Evaluation>>,
    settings: &'a Constants,
    notifications: RefCell<BTreeMap<String, Form>>,
    numbers: RefCell<Numbers>,
    pub problems: RefCell<Vec<Problem>>,
}

/// A command's number and declaration.
pub struct Signature<'a> {
    pub kind: CommandKind,
    pub file: usize,
    pub function: &'a Function,
}

/// A notification's number and fields.
#[derive(Clone)]
pub struct Form {
    pub kind: NotificationKind,
    pub fields: Vec<(String, Type)>,
}

enum Evaluation {
    /// A constant that needs itself ends here.
    Running,
    Done(Result<Value, ()>),
}

impl<'a> Unit<'a> {
    pub fn new(
        schema: &'a Schema,
        files: &'a [File<'a>],
        budget: Budget,
        settings: &'a Constants,
        numbers: Numbers,
    ) -> Unit<'a> {
        let mut unit = Unit {
            schema,
            dimensions: schema.dimensions(),
            budget,
            files,
            is_client: false,
            commands: BTreeMap::new(),
            helpers: BTreeMap::new(),
            constants: BTreeMap::new(),
            values: RefCell::default(),
            settings,
            notifications: RefCell::default(),
            numbers: RefCell::new(numbers),
            problems: RefCell::default(),
        };
        for (f, file) in files.iter().enumerate() {
            for item in &file.items {
                unit.declare(f, item);
            }
        }
        unit
    }

    fn declare(&mut self, f: usize, item: &'a Item) {
        let (name, span, is_double) = match item {
            Item::Const(item) => {
                let known = self
                    .constants
                    .insert((f, item.name.clone()), item)
                    .is_some();
                (&item.name, item.span, known)
            }
            Item::Function(function) => {
                let name = &function.name;
                let known = self.helpers.contains_key(&(f, name.clone()))
                    || self.commands.contains_key(name);
                match function.senders {
                    Some(_) => self.declare_command(f, function),
                    None => {
                        self.helpers.insert((f, name.clone()), function);
                    }
                }
                (name, function.span, known)
            }
            Item::Notification(item) => {
                let known = self.declare_notification(item);
                (&item.name, item.span, known)
            }
        };
        if is_double {
            let message = format!("`{name}` is declared twice");
            let label = "commands and notifications need names of their own in all texts";
            self.note(self.files[f].at(span, message, label));
        }
        let is_reserved = name == "none" || BUILTINS.iter().any(|(builtin, _)| builtin == name);
        let is_engines = ["spawn", "despawn", "fall", "pick"].contains(&name.as_str());
        let is_command = matches!(item, Item::Function(f) if f.senders.is_some());
        if is_reserved || is_engines && is_command && name != "pick" {
            let message = format!("`{name}` is a built-in name");
            self.note(self.files[f].at(span, message, "expected another one"));
        }
    }

    fn declare_command(&mut self, file: usize, function: &'a Function) {
        let at = |span, message: &str, label: &str| self.files[file].at(span, message, label);
        let senders = function.senders.unwrap_or_default();
        let mut has_actor = false;
        for (i, parameter) in function.parameters.iter().enumerate() {
            let is_me = parameter.name == "me";
            has_actor |= is_me;
            if is_me && (i > 0 || parameter.ty != Type::Entity) {
                let label = "expected `me: Entity` as the first parameter";
                self.note(at(parameter.span, "`me` is who gives the command", label));
            }
            let is_same = |other: &&crate::parse::Parameter| other.name == parameter.name;
            if function.parameters[..i].iter().any(|other| is_same(&other)) {
                self.note(at(parameter.span, "two parameters have this name", ""));
            }
        }
        let words = function
            .parameters
            .iter()
            .map(|p| p.ty.width(self.dimensions))
            .sum::<usize>();
        if words - usize::from(has_actor) > COMMAND_WORDS_MAX {
            let label = format!("at most {}", COMMAND_WORDS_MAX);
            self.note(at(function.span, "the command has too many words", &label));
        }
        if senders.clients && !has_actor {
            let label = "expected `me: Entity` as the first parameter";
            self.note(at(
                function.span,
                "a client gives commands for its own entity",
                label,
            ));
        }
        let needs_target = function
            .parameters
            .iter()
            .any(|p| p.ty == Type::Entity && p.name != "me");
        if senders.rules && needs_target {
            let label = "leave out `rules`, or the parameter";
            self.note(at(
                function.span,
                "a rule has no other entity to name",
                label,
            ));
        }
        if senders.rules && !has_actor {
            let label = "expected `me: Entity` as the first parameter";
            self.note(at(function.span, "rules give commands for entities", label));
        }
        let Some(kind) = self.numbers.borrow_mut().command(&function.name) else {
            let label = format!("at most {}", COMMANDS_MAX);
            self.note(at(
                function.span,
                "the world has had too many commands",
                &label,
            ));
            return;
        };
        let signature = Signature {
            kind,
            file,
            function,
        };
        self.commands.insert(function.name.clone(), signature);
    }

    /// Returns whether it was known.
    fn declare_notification(&self, item: &NotificationItem) -> bool {
        let Some(kind) = self
            .numbers
            .borrow_mut()
            .notification(&snake_case(&item.name))
        else {
            return false;
        };
        let fields = item.fields.clone();
        let mut notifications = self.notifications.borrow_mut();
        notifications
            .insert(item.name.clone(), Form { kind, fields })
            .is_some()
    }

    /// Notes a problem, once.
    pub fn note(&self, diagnostic: Diagnostic) {
        let problem = Problem::Text(diagnostic);
        let mut problems = self.problems.borrow_mut();
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// A helper function as a text sees it: its own, or a public one.
    pub fn helper(&self, file: usize, name: &str) -> Option<(usize, &'a Function)> {
        if let Some(&function) = self.helpers.get(&(file, name.to_owned())) {
            return Some((file, function));
        }
        let mut public = self
            .helpers
            .iter()
            .filter(|(_, f)| f.is_public && f.name == name);
        public
            .next()
            .map(|(&(file, _), &function)| (file, function))
    }

    /// All helper functions and their texts.
    pub fn helpers(&self) -> impl Iterator<Item = (usize, &'a Function)> + '_ {
        self.helpers
            .iter()
            .map(|(&(file, _), &function)| (file, function))
    }

    pub fn helper_names(&self, file: usize) -> impl Iterator<Item = &str> {
        let seen = move |((f, _), function): &(&(usize, String), &&'a Function)| {
            *f == file || function.is_public
        };
        self.helpers
            .iter()
            .filter(seen)
            .map(|((_, name), _)| name.as_str())
    }

    pub fn constant_names(&self, file: usize) -> impl Iterator<Item = &str> {
        let seen =
            move |((f, _), item): &(&(usize, String), &&'a Const)| *f == file || item.is_public;
        self.constants
            .iter()
            .filter(seen)
            .map(|((_, name), _)| name.as_str())
    }

    /// All constants and their texts.
    pub fn constants(&self) -> impl Iterator<Item = (usize, &'a Const)> + '_ {
        self.constants
            .iter()
            .map(|(&(file, _), &item)| (file, item))
    }

    /// The value of a constant as a text sees it; an error if it has none, which is noted.
    pub fn constant(&'a self, file: usize, name: &str) -> Option<Result<Value, ()>> {
        let own = self.constants.get_key_value(&(file, name.to_owned()));
        let public = || {
            self.constants
                .iter()
                .find(|((_, n), item)| item.is_public && n == name)
        };
        let (key, &item) = own.or_else(public)?;
        let state = self
            .values
            .borrow()
            .get(key)
            .map(|evaluation| match evaluation {
                Evaluation::Running => None,
                Evaluation::Done(value) => Some(*value),
            });
        match state {
            Some(Some(value)) => return Some(value),
            Some(None) => {
                let message = format!("`{name}` leads back to itself");
                self.note(self.files[key.0].at(item.span, message, ""));
                return Some(Err(()));
            }
            None => {}
        }
        self.values
            .borrow_mut()
            .insert(key.clone(), Evaluation::Running);
        let value = self.evaluate(key.0, item);
        self.values
            .borrow_mut()
            .insert(key.clone(), Evaluation::Done(value));
        Some(value)
    }

    fn evaluate(&'a self, file: usize, item: &'a Const) -> Result<Value, ()> {
        let own = Lower::constant(self, file, item).map_err(|problem| self.note(*problem))?;
        let stem = self.files[file].text.stem();
        let key = item.name.to_lowercase();
        let setting = self
            .settings
            .get(stem)
            .and_then(|settings| settings.get(&key));
        let value = match setting {
            None => own,
            Some(setting) => self.setting(stem, &key, item.ty, setting)?,
        };
        if let Some((low, high)) = &item.range {
            let bound = |expression| {
                Lower::constant_expression(self, file, expression, item.ty)
                    .map(|bound| bound.operand().constant().unwrap_or(0))
                    .map_err(|problem| self.note(*problem))
            };
            let (low, high) = (bound(low)?, bound(high)?);
            let number = value.operand().constant().unwrap_or(0);
            if !(low..=high).contains(&number) {
                let show = |number: i32| match item.ty {
                    Type::Fixed => Fixed::from_raw(number).to_string(),
                    _ => number.to_string(),
                };
                let expected = format!("expected {} to {}", show(low), show(high));
                match setting {
                    Some(_) => self.wrong_setting(
                        stem,
                        &key,
                        format!("{expected}, found {}", show(number)),
                    ),
                    None => self.note(self.files[file].at(
                        item.span,
                        "the value is out of its range",
                        expected,
                    )),
                }
                return Err(());
            }
        }
        Ok(value)
    }

    /// A value that the world file sets.
    fn setting(&self, stem: &str, key: &str, ty: Type, setting: &Constant) -> Result<Value, ()> {
        let number = match (ty, setting) {
            (Type::Int, &Constant::Int(whole)) => i32::try_from(whole).ok(),
            (Type::Fixed, &Constant::Int(whole)) => Fixed::from_f64(whole as f64).map(Fixed::raw),
            (Type::Fixed, &Constant::Float(number)) => Fixed::from_f64(number).map(Fixed::raw),
            (Type::Bool, &Constant::Bool(truth)) => Some(i32::from(truth)),
            (Type::Symbol, Constant::Text(text)) => {
                let symbols = &self.schema.symbols;
                symbols
                    .iter()
                    .position(|s| s == text)
                    .map(|symbol| symbol as i32)
            }
            _ => None,
        };
        match number {
            Some(number) => Ok(Value::constant(ty, number)),
            None => {
                self.wrong_setting(
                    stem,
                    key,
                    format!("expected a value of type `{ty}`, found {setting}"),
                );
                Err(())
            }
        }
    }

    pub fn wrong_setting(&self, stem: &str, key: &str, message: String) {
        let key = match key {
            "" => format!("commands.{stem}"),
            key => format!("commands.{stem}.{key}"),
        };
        let problem = Problem::Setting { key, message };
        let mut problems = self.problems.borrow_mut();
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// The type of a field of a notification that is known already.
    pub fn declared_field(&self, name: &str, field: &str) -> Option<Type> {
        let notifications = self.notifications.borrow();
        let fields = &notifications.get(name)?.fields;
        fields
            .iter()
            .find(|(name, _)| name == field)
            .map(|&(_, ty)| ty)
    }

    /// The number and the fields of a notification. The first one of a name declares it.
    pub fn notification(
        &self,
        name: &str,
        given: &[(String, Type)],
    ) -> Result<(NotificationKind, Vec<(String, Type)>), String> {
        let mut notifications = self.notifications.borrow_mut();
        if let Some(form) = notifications.get(name) {
            let mut sorted = [given.to_vec(), form.fields.clone()];
            for fields in &mut sorted {
                fields.sort_by(|a, b| a.0.cmp(&b.0));
            }
            if sorted[0] == sorted[1] {
                return Ok((form.kind, form.fields.clone()));
            }
            let fields = form.fields.iter().map(|(name, ty)| format!("{name}: {ty}"));
            return Err(format!(
                "`{name} {{ {} }}`",
                fields.collect::<Vec<_>>().join(", ")
            ));
        }
        let Some(kind) = self.numbers.borrow_mut().notification(&snake_case(name)) else {
            return Err(format!(
                "at most {} kinds of notification",
                NOTIFICATIONS_MAX
            ));
        };
        let form = Form {
            kind,
            fields: given.to_vec(),
        };
        notifications.insert(name.to_owned(), form.clone());
        Ok((form.kind, form.fields))
    }

    /// Notifications by name, and the numbers that names have now.
    pub fn into_forms(self) -> (BTreeMap<String, Form>, Numbers) {
        (self.notifications.into_inner(), self.numbers.into_inner())
    }
}

/// `TakeAll` as `take_all`: the name of a notification outside of scripts.
pub fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (i, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && i > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
