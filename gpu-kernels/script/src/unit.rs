//! All texts of a world while they are compiled: what their names mean.

mod declare;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};

use shared::world::collection::{Collection, declared_name};
use shared::world::command::REASONS_MAX;
use shared::world::logic::{Budget, Constant, Constants, Numbers};
use shared::world::notification::{NOTIFICATION_WORDS_MAX, NOTIFICATIONS_MAX};
use shared::world::symbols::{KEYS, Symbols};
use shared::{AttributeType, CommandKind, NotificationKind, Schema};

use crate::diagnostic::{Diagnostic, PROBLEMS_MAX, Problem};
use crate::parse::{Const, File, Function};
use crate::types::{Type, Value};

/// What the names of all texts mean.
pub struct Unit<'a> {
    pub schema: &'a Schema,
    /// Which symbols attributes can have.
    pub symbols: &'a Symbols,
    pub dimensions: usize,
    collections: Vec<Own<'a>>,
    pub budget: Budget,
    pub files: &'a [File<'a>],
    /// Whether it is what a client does. It can't change the world, and sends commands of
    /// the schema.
    pub is_client: bool,
    /// Whether instructions are for people, who want to know where they come from.
    pub has_sites: bool,
    /// Whether functions for tests are compiled.
    pub is_test: bool,
    /// By text.
    pub tests: Vec<(usize, &'a Function)>,
    pub commands: BTreeMap<String, Signature<'a>>,
    /// By text and name.
    helpers: BTreeMap<(usize, String), &'a Function>,
    constants: BTreeMap<(usize, String), &'a Const>,
    /// The texts in which public names are declared.
    public_helpers: HashMap<&'a str, usize>,
    public_constants: HashMap<&'a str, usize>,
    values: RefCell<HashMap<(usize, String), Evaluation>>,
    settings: &'a Constants,
    /// By their names outside of scripts.
    notifications: RefCell<BTreeMap<String, Form>>,
    numbers: RefCell<Numbers>,
    /// Why commands of clients have no effect, by number.
    reasons: RefCell<Vec<String>>,
    /// Commands that an attribute keeps: by number of the command, and by column, their own number.
    kept: RefCell<BTreeMap<(u16, u16), CommandKind>>,
    /// Where commands are scheduled that an attribute keeps: text, line and column.
    timer_sites: RefCell<Vec<(usize, usize, usize)>>,
    pub problems: RefCell<Vec<Problem>>,
    /// How many expressions were lowered, and how deep they nest now.
    pub work: Cell<u32>,
    pub depth: Cell<u32>,
}

/// An array or a map of the world.
pub struct Own<'a> {
    pub collection: Collection<'a>,
    /// The name of its first attribute outside of scripts.
    pub first_name: &'a str,
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
    /// As scripts write it.
    pub name: String,
    pub fields: Vec<(String, Type)>,
}

/// Why a notification can't be sent.
pub struct WrongForm {
    pub message: String,
    pub label: String,
}

/// How far the value of a constant is known.
#[derive(Clone, Copy)]
pub enum Evaluation {
    /// A constant that needs itself ends here.
    Running,
    /// An error is noted already.
    Done(Result<Value, ()>),
}

impl<'a> Unit<'a> {
    pub fn new(
        schema: &'a Schema,
        symbols: &'a Symbols,
        files: &'a [File<'a>],
        budget: Budget,
        settings: &'a Constants,
        numbers: Numbers,
    ) -> Unit<'a> {
        let mut unit = Unit {
            schema,
            symbols,
            dimensions: schema.dimensions(),
            collections: collections(schema),
            budget,
            files,
            is_client: false,
            has_sites: false,
            is_test: false,
            tests: vec![],
            commands: BTreeMap::new(),
            helpers: BTreeMap::new(),
            constants: BTreeMap::new(),
            public_helpers: HashMap::new(),
            public_constants: HashMap::new(),
            values: RefCell::default(),
            settings,
            notifications: RefCell::default(),
            numbers: RefCell::new(numbers),
            reasons: RefCell::default(),
            kept: RefCell::default(),
            timer_sites: RefCell::default(),
            problems: RefCell::default(),
            work: Cell::new(0),
            depth: Cell::new(0),
        };
        unit.declare_all(files);
        unit
    }

    /// A number, from 1 on, for a place where a command is scheduled that an attribute keeps.
    pub fn timer_site(&self, place: (usize, usize, usize)) -> usize {
        let mut sites = self.timer_sites.borrow_mut();
        let at = sites.iter().position(|known| *known == place);
        let at = at.unwrap_or_else(|| {
            sites.push(place);
            sites.len() - 1
        });
        at + 1
    }

    /// The number of a command, known by a name and its own number, where an attribute keeps it; `None`
    /// if the world has had too many.
    pub fn kept_command(&self, name: &str, command: u16, column: u16) -> Option<CommandKind> {
        let mut kept = self.kept.borrow_mut();
        if let Some(kind) = kept.get(&(command, column)) {
            return Some(*kind);
        }
        let attribute = &self.schema.attributes[usize::from(column)].name;
        let kind = self
            .numbers
            .borrow_mut()
            .command(&format!("{name}@{attribute}"))?;
        kept.insert((command, column), kind);
        Some(kind)
    }

    /// Commands that an attribute keeps: the number of each, the column, and its own number.
    pub fn kept(&self) -> Vec<(CommandKind, u16, CommandKind)> {
        let kept = self.kept.borrow();
        let kept = kept.iter();
        kept.map(|(&(of, column), &kind)| (CommandKind(of), column, kind))
            .collect()
    }

    /// The same for the tests of the texts.
    pub fn of_tests(
        schema: &'a Schema,
        symbols: &'a Symbols,
        files: &'a [File<'a>],
        settings: &'a Constants,
        numbers: Numbers,
    ) -> Unit<'a> {
        // A test may do more than a command.
        let budget = Budget {
            steps: Budget::STEPS_MAX,
            visits: Budget::VISITS_MAX,
        };
        let mut unit = Unit::new(schema, symbols, &[], budget, settings, numbers);
        unit.files = files;
        unit.has_sites = true;
        unit.is_test = true;
        unit.declare_all(files);
        unit
    }

    fn declare_all(&mut self, files: &'a [File<'a>]) {
        for (f, file) in files.iter().enumerate() {
            for item in &file.items {
                self.declare(f, item);
            }
        }
    }

    /// Notes a problem, once.
    pub fn note(&self, diagnostic: Diagnostic) {
        self.note_any(Problem::Text(diagnostic));
    }

    fn note_any(&self, problem: Problem) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < PROBLEMS_MAX && !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    /// Whether no more problems are noted.
    pub fn is_full(&self) -> bool {
        self.problems.borrow().len() >= PROBLEMS_MAX
    }

    /// A helper function as a text sees it: its own, or a public one.
    pub fn helper(&self, file: usize, name: &str) -> Option<(usize, &'a Function)> {
        let own = |file: usize| Some((file, *self.helpers.get(&(file, name.to_owned()))?));
        own(file).or_else(|| own(*self.public_helpers.get(name)?))
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

    /// The text that has a constant of this name for itself.
    pub fn private_constant(&self, name: &str) -> Option<&str> {
        let mut constants = self.constants();
        let (file, _) = constants.find(|(_, item)| item.name == name && !item.is_public)?;
        Some(&self.files[file].text.file)
    }

    /// The text that has a helper function of this name for itself.
    pub fn private_helper(&self, name: &str) -> Option<&str> {
        let mut helpers = self.helpers();
        let (file, _) =
            helpers.find(|(_, function)| function.name == name && !function.is_public)?;
        Some(&self.files[file].text.file)
    }

    /// All constants and their texts.
    pub fn constants(&self) -> impl Iterator<Item = (usize, &'a Const)> + '_ {
        self.constants
            .iter()
            .map(|(&(file, _), &item)| (file, item))
    }

    /// A constant as a text sees it, and the text that it stands in: its own, or a public one.
    pub fn visible_constant(&self, file: usize, name: &str) -> Option<(usize, &'a Const)> {
        let own = |file: usize| Some((file, *self.constants.get(&(file, name.to_owned()))?));
        own(file).or_else(|| own(*self.public_constants.get(name)?))
    }

    /// How far the value of a constant is known; `None`: nobody has asked for it.
    pub fn evaluation(&self, file: usize, name: &str) -> Option<Evaluation> {
        let values = self.values.borrow();
        values.get(&(file, name.to_owned())).copied()
    }

    pub fn set_evaluation(&self, file: usize, name: &str, evaluation: Evaluation) {
        let mut values = self.values.borrow_mut();
        values.insert((file, name.to_owned()), evaluation);
    }

    /// The array or map of a name.
    pub fn collection(&self, name: &str) -> Option<&Own<'a>> {
        let mut all = self.collections.iter();
        all.find(|own| own.collection.name == name)
    }

    /// The name by which scripts know an attribute.
    pub fn attribute_name(&self, column: u16) -> &'a str {
        declared_name(&self.schema.attributes[usize::from(column)].name)
    }

    /// The names of all attributes, as scripts write them.
    pub fn attribute_names(&self) -> Vec<&'a str> {
        let names = self.schema.attributes.iter();
        let names = names.filter(|own| own.ty != AttributeType::High);
        let mut names: Vec<&str> = names.map(|own| declared_name(&own.name)).collect();
        names.dedup();
        names
    }

    /// The number of a symbol of the world.
    pub fn symbol(&self, text: &str) -> Option<i32> {
        let place = self.schema.symbols.iter().position(|s| s == text);
        place.and_then(|place| i32::try_from(place).ok())
    }

    /// Whether a symbol is one of a type.
    pub fn fits(&self, ty: Type, number: i32) -> bool {
        match ty {
            Type::SymbolOf(column) => self.symbols.all_of(column).binary_search(&number).is_ok(),
            _ => usize::try_from(number).is_ok_and(|place| place < self.schema.symbols.len()),
        }
    }

    /// The symbols of a type, by name.
    pub fn symbol_names(&self, ty: Type) -> Vec<&'a str> {
        let all = &self.schema.symbols;
        match ty {
            Type::SymbolOf(column) => {
                let own = self.symbols.all_of(column).into_iter();
                let name = |number: i32| all.get(usize::try_from(number).ok()?);
                own.filter_map(name).map(String::as_str).collect()
            }
            _ => all.iter().map(String::as_str).collect(),
        }
    }

    /// A type as scripts write it.
    pub fn show(&self, ty: Type) -> String {
        match ty {
            Type::SymbolOf(column) => format!("Symbol<{}>", self.attribute_name(column & !KEYS)),
            ty => ty.to_string(),
        }
    }

    /// What the world file sets for a name and a key.
    pub fn setting_of(&self, name: &str, key: &str) -> Option<&'a Constant> {
        self.settings.get(name)?.get(key)
    }

    pub fn wrong_setting(&self, stem: &str, key: &str, message: String) {
        let key = match key {
            "" => format!("commands.{stem}"),
            key => format!("commands.{stem}.{key}"),
        };
        self.note_any(Problem::Setting { key, message });
    }

    /// The type of a field of a notification that is known already.
    pub fn declared_field(&self, name: &str, field: &str) -> Option<Type> {
        let notifications = self.notifications.borrow();
        let fields = &notifications.get(&snake_case(name))?.fields;
        fields
            .iter()
            .find(|(name, _)| name == field)
            .map(|&(_, ty)| ty)
    }

    /// A notification's form. The first one of a name declares it.
    pub fn notification(&self, name: &str, given: &[(String, Type)]) -> Result<Form, WrongForm> {
        let snake = snake_case(name);
        let mut notifications = self.notifications.borrow_mut();
        if let Some(form) = notifications.get(&snake) {
            let mut sorted = [given.to_vec(), form.fields.clone()];
            for fields in &mut sorted {
                fields
                    .iter_mut()
                    .for_each(|field| field.1 = field.1.plain());
                fields.sort_by(|a, b| a.0.cmp(&b.0));
            }
            if sorted[0] == sorted[1] && form.name == name {
                return Ok(form.clone());
            }
            let fields = form
                .fields
                .iter()
                .map(|(name, ty)| format!("{name}: {}", self.show(*ty)));
            let fields = fields.collect::<Vec<_>>().join(", ");
            return Err(WrongForm {
                message: format!("`{name}` has other fields elsewhere"),
                label: format!("expected `{} {{ {fields} }}`", form.name),
            });
        }
        if ["fall", "pick"].contains(&&snake[..]) {
            return Err(WrongForm {
                message: format!("the engine itself tells of `{snake}`"),
                label: "expected another name".to_owned(),
            });
        }
        if let Some((field, _)) = given.iter().find(|(_, ty)| *ty == Type::Long) {
            return Err(WrongForm {
                message: format!("the field `{field}` has 64 bits"),
                label: "notifications have numbers of 32 bits: write `… as i32`".to_owned(),
            });
        }
        let words: usize = given.iter().map(|(_, ty)| ty.width(self.dimensions)).sum();
        if words > NOTIFICATION_WORDS_MAX {
            return Err(WrongForm {
                message: format!("`{name}` has too many fields"),
                label: format!(
                    "at most {NOTIFICATION_WORDS_MAX}, a point counts as {}; found {words}",
                    self.dimensions
                ),
            });
        }
        let Some(kind) = self.numbers.borrow_mut().notification(&snake) else {
            return Err(WrongForm {
                message: "the world has had too many notifications".to_owned(),
                label: format!("at most {}", NOTIFICATIONS_MAX),
            });
        };
        let form = Form {
            kind,
            name: name.to_owned(),
            fields: given.to_vec(),
        };
        notifications.insert(snake, form.clone());
        Ok(form)
    }

    /// The number of a reason; `None`: the world has too many.
    pub fn reason(&self, text: &str) -> Option<u8> {
        let mut reasons = self.reasons.borrow_mut();
        let known = reasons.iter().position(|reason| reason == text);
        let place = known.unwrap_or(reasons.len());
        if place == REASONS_MAX {
            return None;
        }
        if known.is_none() {
            reasons.push(text.to_owned());
        }
        u8::try_from(place).ok()
    }

    /// Notifications by name, the numbers that names have now, and the reasons by number.
    pub fn into_forms(self) -> (BTreeMap<String, Form>, Numbers, Vec<String>) {
        let notifications = self.notifications.into_inner();
        (
            notifications,
            self.numbers.into_inner(),
            self.reasons.into_inner(),
        )
    }
}

fn collections(schema: &Schema) -> Vec<Own<'_>> {
    let all = schema.collections().into_iter();
    all.map(|collection| Own {
        first_name: &schema.attributes[usize::from(collection.first)].name,
        collection,
    })
    .collect()
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
