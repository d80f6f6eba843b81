//! Random scripts: well-typed texts over any world, from a seed. Backends are compared by
//! what such scripts do.
//!
//! Most runs stay within their budget; some don't. Literals are often extreme.

use std::fmt::Write;

use shared::world::collection::{Member, declared_name, member, script_form};
use shared::world::command::{COMMAND_WORDS_MAX, WAITING_WORDS_MAX};
use shared::world::logic::Text;
use shared::world::notification::NOTIFICATION_WORDS_MAX;
use shared::world::symbols::KEYS;
use shared::{Attribute, AttributeType, MergeRule, Schema};

/// Random choices from a seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number in `0..bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Any number.
    pub fn any(&mut self) -> i32 {
        self.next() as i32
    }

    /// True with probability 1 / `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Picks one of these items; there must be at least one.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Random texts that compile in a world of this schema. All names have a mark, so that the
/// texts of several scripts can be in one world.
pub fn random_script(dice: &mut Dice, schema: &Schema, mark: &str) -> Vec<Text> {
    let mut writer = Writer {
        mark,
        texts: vec![String::new(); 1 + dice.below(3)],
        dice,
        schema,
        file: 0,
        constants: vec![],
        helpers: vec![],
        commands: vec![],
        notifications: vec![],
        body: Body::default(),
    };
    writer.declare_notifications();
    writer.declare_commands();
    for i in 0..writer.dice.below(6) {
        writer.constant(i);
    }
    for i in 0..writer.dice.below(5) {
        writer.helper(i);
    }
    for i in 0..writer.commands.len() {
        writer.command(i);
    }
    let texts = writer.texts.into_iter().enumerate();
    texts
        .map(|(i, text)| Text::new(format!("text{mark}{i}.rs"), text))
        .collect()
}

/// Enough for several thousand instructions.
const WORK_MAX: usize = 400;
/// Keeps statements short.
const STATEMENT_WORK_MAX: usize = 25;
const NEAR_DEPTH_MAX: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Int,
    Long,
    Bool,
    Fixed,
    Entity,
    Symbol,
    Point,
}

use Type::{Bool, Entity, Fixed, Int, Long, Point, Symbol};

struct Writer<'a> {
    dice: &'a mut Dice,
    schema: &'a Schema,
    mark: &'a str,
    texts: Vec<String>,
    /// The text that is written.
    file: usize,
    constants: Vec<Constant>,
    helpers: Vec<Function>,
    commands: Vec<Function>,
    /// Names and fields.
    notifications: Vec<(String, Vec<Type>)>,
    body: Body,
}

struct Constant {
    name: String,
    ty: Type,
    /// `None`: all texts see it.
    file: Option<usize>,
}

#[derive(Clone)]
struct Function {
    name: String,
    /// `None`: all texts see it.
    file: Option<usize>,
    parameters: Vec<Type>,
    has_actor: bool,
    senders: &'static str,
    result: Option<Type>,
    /// How much it adds to what calls it.
    work: usize,
    near_depth: usize,
}

/// The function that is written.
#[derive(Default)]
struct Body {
    variables: Vec<Variable>,
    result: Option<Type>,
    has_actor: bool,
    /// Only what is known without a world.
    is_constant: bool,
    work: usize,
    /// `work` at the beginning of the statement.
    statement: usize,
    near_depth: usize,
    near_depth_max: usize,
    loops: usize,
    blocks: usize,
}

#[derive(Clone)]
struct Variable {
    name: String,
    ty: Type,
    is_mutable: bool,
}

impl Writer<'_> {
    // ---- items

    fn declare_notifications(&mut self) {
        for i in 0..self.dice.below(4) {
            let mut fields = vec![];
            for _ in 0..self.dice.below(4) {
                fields.push(self.short_type());
            }
            while self.width(&fields) > NOTIFICATION_WORDS_MAX {
                fields.pop();
            }
            let name = format!("Told{}{i}", self.mark);
            let named = fields.iter().enumerate();
            let named: Vec<String> = named
                .map(|(i, &ty)| format!("f{i}: {}", name_of(ty)))
                .collect();
            self.notifications.push((name.clone(), fields.clone()));
            // Without a declaration, the first use is one. There, a text has no type.
            if self.dice.once_in(2) && !fields.contains(&Symbol) {
                continue;
            }
            self.file = self.dice.below(self.texts.len());
            let item = format!("struct {name} {{ {} }}\n\n", named.join(", "));
            self.texts[self.file] += &item;
        }
    }

    fn declare_commands(&mut self) {
        for i in 0..1 + self.dice.below(4) {
            let senders = self
                .dice
                .pick(&["", "(clients)", "(rules)", "(clients, rules)"]);
            let has_actor = !senders.is_empty() || self.dice.once_in(2);
            let mut parameters = vec![];
            // What only `after` gives has to wait.
            let most = match senders.is_empty() {
                true => WAITING_WORDS_MAX,
                false => COMMAND_WORDS_MAX,
            };
            let many = 4 + 8 * usize::from(self.dice.once_in(4));
            for _ in 0..self.dice.below(many) {
                let ty = match senders.is_empty() {
                    true => self.any_type(),
                    false => self.short_type(),
                };
                match ty {
                    Entity if senders.contains("rules") => parameters.push(Int),
                    ty => parameters.push(ty),
                }
            }
            while self.width(&parameters) > most {
                parameters.pop();
            }
            self.commands.push(Function {
                name: format!("command{}{i}", self.mark),
                file: Some(self.dice.below(self.texts.len())),
                parameters,
                has_actor,
                senders,
                result: None,
                work: 0,
                near_depth: 0,
            });
        }
    }

    fn constant(&mut self, i: usize) {
        self.file = self.dice.below(self.texts.len());
        let ty = self.any_type();
        self.body = Body {
            is_constant: true,
            ..Body::default()
        };
        let value = self.value(ty, 3);
        let is_public = self.dice.once_in(3);
        let constant = Constant {
            name: format!("C{}{i}", self.mark),
            ty,
            file: (!is_public).then_some(self.file),
        };
        let item = format!(
            "{}const {}: {} = {value};\n\n",
            if is_public { "pub " } else { "" },
            constant.name,
            name_of(ty)
        );
        self.texts[self.file] += &item;
        self.constants.push(constant);
    }

    fn helper(&mut self, i: usize) {
        self.file = self.dice.below(self.texts.len());
        let parameters: Vec<Type> = (0..self.dice.below(4)).map(|_| self.any_type()).collect();
        let result = match self.dice.once_in(4) {
            true => None,
            false => Some(self.any_type()),
        };
        let is_public = self.dice.once_in(3);
        let mut function = Function {
            name: format!("helper{}{i}", self.mark),
            file: (!is_public).then_some(self.file),
            parameters,
            has_actor: false,
            senders: "",
            result,
            work: 0,
            near_depth: 0,
        };
        let visible = if is_public { "pub " } else { "" };
        let text = self.function(&function, visible, WORK_MAX / 8);
        self.texts[self.file] += &text;
        function.work = self.body.work + 2;
        function.near_depth = self.body.near_depth_max;
        self.helpers.push(function);
    }

    fn command(&mut self, i: usize) {
        let function = self.commands[i].clone();
        self.file = function.file.unwrap_or(0);
        let head = format!("/// Random.\n#[command{}]\n", function.senders);
        let work = WORK_MAX / (1 + self.dice.below(8));
        let text = self.function(&function, &head, work);
        self.texts[self.file] += &text;
    }

    fn function(&mut self, function: &Function, head: &str, work: usize) -> String {
        let mut variables = vec![];
        let mut parameters = vec![];
        if function.has_actor {
            parameters.push("me: Entity".to_owned());
        }
        for (i, &ty) in function.parameters.iter().enumerate() {
            let is_mutable = self.dice.once_in(4);
            let name = format!("p{i}");
            let mutable = if is_mutable { "mut " } else { "" };
            parameters.push(format!("{mutable}{name}: {}", name_of(ty)));
            variables.push(Variable {
                name,
                ty,
                is_mutable,
            });
        }
        self.body = Body {
            variables,
            result: function.result,
            has_actor: function.has_actor,
            ..Body::default()
        };
        let mut text = format!("{head}fn {}({})", function.name, parameters.join(", "));
        if let Some(result) = function.result {
            let _ = write!(text, " -> {}", name_of(result));
        }
        text += " {\n";
        while self.body.work < work {
            text += &self.statement(1);
            if self.dice.once_in(12) {
                break;
            }
        }
        if let Some(result) = function.result {
            self.body.statement = self.body.work;
            let _ = writeln!(text, "    {}", self.value(result, 3));
        }
        text + "}\n\n"
    }

    // ---- statements

    fn block(&mut self, depth: usize) -> String {
        let variables = self.body.variables.clone();
        let mut text = "{\n".to_owned();
        for _ in 0..self.dice.below(4) {
            text += &self.statement(depth + 1);
        }
        self.body.variables = variables;
        text + &"    ".repeat(depth) + "}"
    }

    fn statement(&mut self, depth: usize) -> String {
        self.body.statement = self.body.work;
        self.body.work += 1;
        let can_nest = depth < 5 && self.body.work < WORK_MAX;
        let text = match self.dice.below(if can_nest { 26 } else { 16 }) {
            0..=2 => self.let_statement(),
            3..=4 => self.assignment(),
            5..=9 => self.update(),
            10 if self.dice.once_in(3) => {
                let condition = self.value(Bool, 3);
                match self.dice.below(6) {
                    n @ 0..=3 => format!("require({condition}, \"reason {n}\");"),
                    _ => format!("require({condition});"),
                }
            }
            10 => self.update(),
            11 => self.after(),
            12 => self.tell(),
            13 if self.dice.once_in(3) => self.birth_and_follow_ups(depth),
            13 => match self.dice.once_in(2) {
                true => format!("spawn({}, {});", self.newborn(), self.place(2)),
                false => format!("despawn({});", self.value(Entity, 2)),
            },
            14 => match self.dice.below(4) {
                0 if self.body.loops > 0 => self.dice.pick(&["break;", "continue;"]).to_owned(),
                1 if self.dice.once_in(3) => self.leave(),
                _ => self.let_statement(),
            },
            15 => {
                let call = self.call_of(None).map(|call| call + ";");
                call.unwrap_or_else(|| self.let_statement())
            }
            16..=19 => self.if_statement(depth),
            20..=21 => self.match_statement(depth),
            22..=23 => self.range_loop(depth),
            _ => self.near_loop(depth),
        };
        format!("{}{text}\n", "    ".repeat(depth))
    }

    fn let_statement(&mut self) -> String {
        let ty = self.any_type();
        let value = self.value(ty, 4);
        let is_mutable = self.dice.once_in(2);
        let name = format!("v{}", self.dice.below(8));
        let mutable = if is_mutable { "mut " } else { "" };
        let text = format!("let {mutable}{name}: {} = {value};", name_of(ty));
        self.body.variables.push(Variable {
            name,
            ty,
            is_mutable,
        });
        text
    }

    fn assignment(&mut self) -> String {
        let variables = self.visible(|variable| variable.is_mutable);
        if variables.is_empty() {
            return self.let_statement();
        }
        let at = self.dice.below(variables.len());
        let Variable { name, ty, .. } = variables[at].clone();
        if self.dice.once_in(3) {
            return format!("{name} = {};", self.value(ty, 3));
        }
        match ty {
            Int => {
                let ops = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"];
                let op = self.dice.pick(&ops);
                format!("{name} {op}= {};", self.value(Int, 3))
            }
            Long => {
                let ops = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"];
                let op = self.dice.pick(&ops);
                format!("{name} {op}= {};", self.value(Long, 3))
            }
            Fixed => match self.dice.once_in(4) {
                true => format!(
                    "{name} {}= {};",
                    self.dice.pick(&["<<", ">>"]),
                    self.value(Int, 2)
                ),
                false => {
                    let op = self.dice.pick(&["+", "-", "*", "/", "%"]);
                    format!("{name} {op}= {};", self.value(Fixed, 3))
                }
            },
            Bool => {
                let op = self.dice.pick(&["&", "|", "^"]);
                format!("{name} {op}= {};", self.value(Bool, 3))
            }
            Point => match self.dice.below(3) {
                0 => {
                    let op = self.dice.pick(&["+", "-"]);
                    format!("{name} {op}= {};", self.value(Point, 3))
                }
                1 => {
                    let op = self.dice.pick(&["*", "/"]);
                    format!("{name} {op}= {};", self.value(Fixed, 3))
                }
                _ => {
                    let (axis, op) = (self.axis(), self.dice.pick(&["", "+", "-", "*", "/"]));
                    format!("{name}.{axis} {op}= {};", self.value(Fixed, 3))
                }
            },
            Entity | Symbol => format!("{name} = {};", self.value(ty, 3)),
        }
    }

    fn update(&mut self) -> String {
        let entity = self.entity();
        if self.dice.once_in(6) {
            let op = self.dice.pick(&["+", "-"]);
            return format!("{entity}.position {op}= {};", self.value(Point, 3));
        }
        let attributes = &self.schema.attributes;
        let whole = attributes.iter().filter(|a| a.ty != AttributeType::High);
        let whole: Vec<&Attribute> = whole.collect();
        let attribute = self.dice.pick(&whole);
        let value = self.value(type_of(attribute.ty), 3);
        let name = self.place_of(&attribute.name);
        match attribute.merge {
            MergeRule::Sum => {
                let op = self.dice.pick(&["+", "-"]);
                format!("{entity}.{name} {op}= {value};")
            }
            MergeRule::First | MergeRule::Last => format!("{entity}.{name} = {value};"),
            MergeRule::Min => format!("{entity}.{name}.min({value});"),
            MergeRule::Max => format!("{entity}.{name}.max({value});"),
        }
    }

    /// An attribute as scripts write it; of an array or a map, perhaps another of its values, or
    /// none.
    fn place_of(&mut self, name: &str) -> String {
        match member(name) {
            Some((collection, Member::Index(_))) if self.dice.once_in(2) => {
                // What could be a constant is none that there is, at times.
                format!("{collection}[{} + tick() % 3]", self.value(Int, 2))
            }
            Some((collection, Member::Key(_))) if self.dice.once_in(2) => {
                // One that is known must be a key.
                let mut attributes = self.schema.attributes.iter();
                match attributes.find(|a| a.ty == AttributeType::Symbol) {
                    Some(symbol) => {
                        let symbol = script_form(&symbol.name);
                        format!("{collection}[{}.{symbol}]", self.entity())
                    }
                    None => script_form(name),
                }
            }
            _ => script_form(name),
        }
    }

    fn after(&mut self) -> String {
        let ticks = match self.dice.once_in(3) {
            // What is known beforehand must be a number of ticks; what is not can be any number.
            true => format!("tick() % 3 * ({})", self.value(Int, 2)),
            false => (1 + self.dice.below(20)).to_string(),
        };
        let command = self.commands[self.dice.below(self.commands.len())].clone();
        // Others can't be scheduled.
        if self.width(&command.parameters) > WAITING_WORDS_MAX {
            return self.let_statement();
        }
        let mut arguments = vec![];
        if command.has_actor {
            arguments.push(self.value(Entity, 2));
        }
        arguments.extend(command.parameters.iter().map(|&ty| self.value(ty, 2)));
        format!(
            "after({ticks}, {}({}));",
            command.name,
            arguments.join(", ")
        )
    }

    fn tell(&mut self) -> String {
        if self.notifications.is_empty() {
            return self.let_statement();
        }
        let at = self.dice.below(self.notifications.len());
        let (name, fields) = self.notifications[at].clone();
        let fields = fields.iter().enumerate();
        let mut fields: Vec<String> = fields
            .map(|(i, &ty)| format!("f{i}: {}", self.value(ty, 2)))
            .collect();
        if self.dice.once_in(2) {
            fields.reverse();
        }
        let notification = format!("{name} {{ {} }}", fields.join(", "));
        match self.dice.once_in(3) {
            true => format!("tell({notification});"),
            false => format!(
                "tell({notification}, around({}, {}));",
                self.place(2),
                self.value(Fixed, 2)
            ),
        }
    }

    /// A kind, with values or without.
    fn newborn(&mut self) -> String {
        let schema = self.schema;
        let kind = &schema.kinds[self.dice.below(schema.kinds.len())];
        let words = kind.name.split('_').map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        });
        let name: String = words.collect();
        if self.dice.once_in(3) {
            return format!("{:?}", kind.name);
        }
        let (mut fields, mut columns) = (vec![], 0);
        for own in &kind.attributes {
            let attribute = &schema.attributes[usize::from(own.column)];
            let is_place = usize::from(own.column) < schema.world.size.len();
            // Values of arrays and maps have no name that a field could have.
            let is_one = member(&attribute.name).is_none() && attribute.ty != AttributeType::High;
            let width = self.width(&[type_of(attribute.ty)]);
            if !is_place && is_one && columns + width <= 8 && self.dice.once_in(2) {
                columns += width;
                // Not every kind has every symbol, so a run is to decide.
                let value = match type_of(attribute.ty) {
                    Symbol => format!("{}.{}", self.entity(), attribute.name),
                    ty => self.value(ty, 2),
                };
                fields.push(format!("{}: {value}", attribute.name));
            }
        }
        if self.dice.once_in(2) {
            fields.reverse();
        }
        format!("{name} {{ {} }}", fields.join(", "))
    }

    /// A birth, and commands that name its newborn.
    fn birth_and_follow_ups(&mut self, depth: usize) -> String {
        let name = format!("born{}", self.body.work);
        let mut lines = vec![format!(
            "let {name} = spawn({}, {});",
            self.newborn(),
            self.place(2)
        )];
        for _ in 0..self.dice.below(3) {
            if self.dice.once_in(3) {
                lines.push(self.after());
            }
            let command = self.commands[self.dice.below(self.commands.len())].clone();
            let entities = command.parameters.iter().filter(|ty| **ty == Entity);
            let entities = entities.count() + usize::from(command.has_actor);
            let width = self.width(&command.parameters);
            if entities == 0 || width > WAITING_WORDS_MAX {
                continue;
            }
            // One of them is the newborn, or several; three words beside it have room.
            let mut is_newborn = vec![self.dice.once_in(2)];
            is_newborn.extend((1..entities).map(|_| self.dice.once_in(2)));
            if !is_newborn.contains(&true) {
                is_newborn[0] = true;
            }
            let words = is_newborn[usize::from(command.has_actor)..].iter();
            if width - words.filter(|is| **is).count() > 3 {
                continue;
            }
            let mut is_newborn = is_newborn.into_iter();
            let mut arguments = vec![];
            let actor = command.has_actor.then_some(&Entity);
            for &ty in actor.into_iter().chain(&command.parameters) {
                let names_it = ty == Entity && is_newborn.next() == Some(true);
                arguments.push(match names_it {
                    true => name.clone(),
                    false => self.value(ty, 2),
                });
            }
            let ticks = self.dice.pick(&["1", "2", "3", "9", "tick() % 5"]);
            let arguments = arguments.join(", ");
            lines.push(format!("after({ticks}, {}({arguments}));", command.name));
        }
        lines.join(&format!("\n{}", "    ".repeat(depth)))
    }

    fn leave(&mut self) -> String {
        match self.body.result {
            Some(result) => format!("return {};", self.value(result, 2)),
            None => "return;".to_owned(),
        }
    }

    fn if_statement(&mut self, depth: usize) -> String {
        let mut text = format!("if {} {}", self.value(Bool, 3), self.block(depth));
        while self.dice.once_in(3) && self.body.work < WORK_MAX {
            self.body.statement = self.body.work;
            let _ = write!(
                text,
                " else if {} {}",
                self.value(Bool, 2),
                self.block(depth)
            );
        }
        if self.dice.once_in(2) {
            let _ = write!(text, " else {}", self.block(depth));
        }
        text
    }

    fn match_statement(&mut self, depth: usize) -> String {
        let (value, patterns) = self.matched();
        let mut text = format!("match {value} {{\n");
        for pattern in patterns {
            self.body.statement = self.body.work;
            let guard = match self.dice.once_in(4) {
                true => format!(" if {}", self.value(Bool, 2)),
                false => String::new(),
            };
            let arm = self.block(depth + 1);
            let _ = writeln!(
                text,
                "{}{pattern}{guard} => {arm}",
                "    ".repeat(depth + 1)
            );
        }
        let _ = write!(
            text,
            "{}_ => {}\n{}}}",
            "    ".repeat(depth + 1),
            self.block(depth + 1),
            "    ".repeat(depth)
        );
        text
    }

    /// What is matched, in parentheses, and some patterns for it.
    fn matched(&mut self) -> (String, Vec<String>) {
        let mut patterns = vec![];
        let count = self.dice.below(4);
        let value = match self.dice.below(4) {
            0 => {
                let kinds = &self.schema.kinds;
                for _ in 0..count {
                    patterns.push(format!("{:?}", kinds[self.dice.below(kinds.len())].name));
                }
                format!("{}.kind", self.entity())
            }
            1 if self.has_symbols() => {
                for _ in 0..count {
                    patterns.push(self.symbol());
                }
                let symbol = self.plain_symbol();
                match symbol {
                    Some(symbol) => symbol,
                    None => {
                        patterns.clear();
                        "true".to_owned()
                    }
                }
            }
            2 => {
                patterns.push(
                    self.dice
                        .pick(&["true", "false", "true | false"])
                        .to_owned(),
                );
                self.value(Bool, 2)
            }
            _ => {
                for _ in 0..count {
                    let names = self
                        .constants
                        .iter()
                        .filter(|c| c.ty == Int && self.sees(c.file));
                    let names: Vec<String> = names.map(|c| c.name.clone()).collect();
                    let pattern = match names.is_empty() || !self.dice.once_in(4) {
                        true => {
                            let literals: Vec<String> = (0..1 + self.dice.below(3))
                                .map(|_| self.whole().to_string())
                                .collect();
                            literals.join(" | ")
                        }
                        false => names[self.dice.below(names.len())].clone(),
                    };
                    patterns.push(pattern);
                }
                self.value(Int, 3)
            }
        };
        (format!("({value})"), patterns)
    }

    fn range_loop(&mut self, depth: usize) -> String {
        let range = match self.dice.below(8) {
            0 => format!("{}..{}", self.value(Int, 2), self.value(Int, 2)),
            1 => format!("0..={}", self.value(Int, 2)),
            2 => format!("2147483645..={}", i32::MAX),
            3 => return self.while_loop(depth),
            _ => {
                let low = self.dice.below(8) as i32 - 4;
                let dots = self.dice.pick(&["..", "..="]);
                format!("{low}{dots}{}", low + self.dice.below(5) as i32)
            }
        };
        self.for_loop(&range, Int, depth)
    }

    fn while_loop(&mut self, depth: usize) -> String {
        // No name that a body can change.
        let name = format!("left{}", self.dice.below(1000));
        let most = self.dice.below(5);
        let condition = match self.dice.once_in(3) {
            true => format!(" && {}", self.value(Bool, 2)),
            false => String::new(),
        };
        self.body.loops += 1;
        let block = self.block(depth);
        self.body.loops -= 1;
        format!(
            "{{ let mut {name} = {most}; while {name} > 0{condition} {{ {name} -= 1; {block} }} }}"
        )
    }

    fn near_loop(&mut self, depth: usize) -> String {
        if self.dice.once_in(6)
            && let Some((ranking, length)) = self.ranking()
        {
            let number = match self.dice.once_in(2) {
                true => self.dice.below(1 + usize::from(length)).to_string(),
                false => format!("min({}, {length})", self.value(Int, 2)),
            };
            let range = format!("top({ranking:?}, {number})");
            return self.for_loop(&range, Entity, depth);
        }
        if self.dice.once_in(4) {
            let range = format!("all({})", self.kind());
            return self.for_loop(&range, Entity, depth);
        }
        if self.body.near_depth == NEAR_DEPTH_MAX {
            return self.range_loop(depth);
        }
        let kind = self.kind_or_any();
        let range = format!("near({}, {}{kind})", self.place(2), self.radius());
        self.enter_near();
        let text = self.for_loop(&range, Entity, depth);
        self.body.near_depth -= 1;
        text
    }

    fn enter_near(&mut self) {
        self.body.near_depth += 1;
        self.body.near_depth_max = self.body.near_depth_max.max(self.body.near_depth);
    }

    fn for_loop(&mut self, range: &str, ty: Type, depth: usize) -> String {
        let name = format!("v{}", self.dice.below(8));
        let is_mutable = self.dice.once_in(4);
        let variables = self.body.variables.clone();
        self.body.variables.push(Variable {
            name: name.clone(),
            ty,
            is_mutable,
        });
        self.body.loops += 1;
        let block = self.block(depth);
        self.body.loops -= 1;
        self.body.variables = variables;
        format!(
            "for {}{name} in {range} {block}",
            if is_mutable { "mut " } else { "" }
        )
    }

    // ---- values

    /// An expression of a type where that type is expected.
    fn value(&mut self, ty: Type, depth: usize) -> String {
        self.body.work += 1;
        let is_long = self.body.work > self.body.statement + STATEMENT_WORK_MAX;
        if depth == 0 || is_long || self.dice.once_in(4) {
            return self.leaf(ty);
        }
        let d = depth - 1;
        if self.dice.once_in(8) {
            return self.branches(ty, d);
        }
        if !self.body.is_constant
            && self.dice.once_in(6)
            && let Some(call) = self.call_of(Some(ty))
        {
            return call;
        }
        match ty {
            Int => self.int(d),
            Long => self.long(d),
            Bool => self.truth(d),
            Fixed => self.fixed(d),
            Entity => self.other_entity(d),
            Symbol => self.leaf(Symbol),
            Point => self.point(d),
        }
    }

    fn leaf(&mut self, ty: Type) -> String {
        let variables = self.visible(|variable| variable.ty == ty);
        if !variables.is_empty() && !self.dice.once_in(3) {
            return variables[self.dice.below(variables.len())].name.clone();
        }
        if !self.body.is_constant && self.dice.once_in(2) {
            let schema = self.schema;
            let whole = schema
                .attributes
                .iter()
                .filter(|a| a.ty != AttributeType::High);
            let fitting = whole.filter(|a| type_of(a.ty) == ty);
            let fitting: Vec<&str> = fitting.map(|a| a.name.as_str()).collect();
            if !fitting.is_empty() {
                let name = self.dice.pick(&fitting);
                let name = self.place_of(name);
                return format!("{}.{name}", self.entity());
            }
            if ty == Point {
                return format!("{}.position", self.entity());
            }
        }
        let constants = self
            .constants
            .iter()
            .filter(|c| c.ty == ty && self.sees(c.file));
        let constants: Vec<String> = constants.map(|c| c.name.clone()).collect();
        if !constants.is_empty() && self.dice.once_in(2) {
            return constants[self.dice.below(constants.len())].clone();
        }
        match ty {
            Int => self.bracketed_whole(),
            Long => self.long_whole(),
            Bool => self.dice.pick(&["true", "false"]).to_owned(),
            Fixed => self.fraction(),
            Entity => match self.body.has_actor {
                true => self.dice.pick(&["me", "me", "none"]).to_owned(),
                false => "none".to_owned(),
            },
            Symbol => self.symbol(),
            Point => {
                let axes: Vec<String> = (0..self.dimensions()).map(|_| self.fraction()).collect();
                format!("point({})", axes.join(", "))
            }
        }
    }

    /// A value from one of several branches.
    fn branches(&mut self, ty: Type, d: usize) -> String {
        match self.dice.below(4) {
            0 if !self.body.is_constant && self.body.blocks < 3 => {
                let (value, patterns) = self.matched();
                let arms: Vec<String> = patterns
                    .iter()
                    .map(|pattern| format!("{pattern} => {}, ", self.value(ty, d)))
                    .collect();
                format!(
                    "(match {value} {{ {}_ => {} }})",
                    arms.concat(),
                    self.value(ty, d)
                )
            }
            1 if !self.body.is_constant && self.body.blocks < 3 => {
                self.body.blocks += 1;
                let variables = self.body.variables.clone();
                let first = match self.dice.once_in(3) {
                    true => format!("if {} {{ {} }}", self.value(Bool, d), self.leave()),
                    false => self.let_statement(),
                };
                let value = self.value(ty, d);
                self.body.variables = variables;
                self.body.blocks -= 1;
                format!("({{ {first} {value} }})")
            }
            _ => {
                let condition = self.value(Bool, d);
                let (a, b) = (self.value(ty, d), self.value(ty, d));
                format!("(if {condition} {{ {a} }} else {{ {b} }})")
            }
        }
    }

    fn int(&mut self, d: usize) -> String {
        match self.dice.below(16) {
            0..=6 => {
                let ops = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"];
                let op = self.dice.pick(&ops);
                format!("({} {op} {})", self.value(Int, d), self.value(Int, d))
            }
            7 => format!("({}{})", self.dice.pick(&["-", "!"]), self.value(Int, d)),
            8 => format!("({} as i32)", self.value(Fixed, d)),
            9 if self.dice.once_in(2) => format!("({} as i32)", self.value(Long, d)),
            9 => format!("({} as i32)", self.value(Bool, d)),
            10 => self.extreme(Int, d),
            11 => format!(
                "{}({})",
                self.dice.pick(&["abs", "sqrt"]),
                self.value(Int, d)
            ),
            12 if !self.body.is_constant => "tick()".to_owned(),
            13 if !self.body.is_constant => {
                format!("random({}, {})", self.value(Int, d), self.value(Int, d))
            }
            14 if self.dice.once_in(3) && !self.body.is_constant => match self.ranking() {
                Some((ranking, _)) if self.dice.once_in(2) => {
                    format!("rank({}, {ranking:?})", self.value(Entity, d))
                }
                _ => format!("count({})", self.kind()),
            },
            14 if self.can_look_near() => {
                let kind = self.kind_or_any();
                self.leave_near();
                format!("count_near({}, {}{kind})", self.place(d), self.radius())
            }
            _ => self.leaf(Int),
        }
    }

    fn long(&mut self, d: usize) -> String {
        match self.dice.below(12) {
            0..=4 => {
                let op = self.dice.pick(&["+", "-", "*", "/", "%", "&", "|", "^"]);
                match self.dice.below(6) {
                    // A whole number next to one of 64 bits has as many.
                    0 => format!("({} {op} {})", self.value(Long, d), self.dice.below(1000)),
                    _ => format!("({} {op} {})", self.value(Long, d), self.value(Long, d)),
                }
            }
            5 => {
                let ty = self.dice.pick(&[Int, Long]);
                let op = self.dice.pick(&["<<", ">>"]);
                format!("({} {op} {})", self.value(Long, d), self.value(ty, d))
            }
            6 => format!("({}{})", self.dice.pick(&["-", "!"]), self.value(Long, d)),
            7 | 8 => {
                let ty = self.dice.pick(&[Int, Int, Fixed, Bool]);
                format!("({} as i64)", self.value(ty, d))
            }
            9 => self.extreme(Long, d),
            10 => format!("abs({})", self.value(Long, d)),
            _ => self.leaf(Long),
        }
    }

    fn truth(&mut self, d: usize) -> String {
        match self.dice.below(14) {
            0..=4 => {
                let ty = self.dice.pick(&[Int, Fixed, Long]);
                let op = self.dice.pick(&["==", "!=", "<", "<=", ">", ">="]);
                format!("({} {op} {})", self.value(ty, d), self.value(ty, d))
            }
            5 => {
                let op = self.dice.pick(&["==", "!="]);
                match self.plain_symbol() {
                    Some(symbol) => match self.dice.once_in(2) {
                        true => format!("({} {op} {symbol})", self.symbol()),
                        false => format!("({symbol} {op} {})", self.symbol()),
                    },
                    None => {
                        let ty = self.dice.pick(&[Bool, Entity, Point]);
                        format!("({} {op} {})", self.value(ty, d), self.value(ty, d))
                    }
                }
            }
            6 => {
                let op = self.dice.pick(&["==", "!="]);
                let ty = self.dice.pick(&[Bool, Entity, Point]);
                format!("({} {op} {})", self.value(ty, d), self.value(ty, d))
            }
            7..=8 => {
                let op = self.dice.pick(&["&&", "||", "&", "|", "^"]);
                format!("({} {op} {})", self.value(Bool, d), self.value(Bool, d))
            }
            9 => format!("(!{})", self.value(Bool, d)),
            10 if !self.body.is_constant => format!("exists({})", self.value(Entity, d)),
            11 if self.body.has_actor && self.dice.once_in(2) => {
                let (entity, reach) = (self.value(Entity, d), self.value(Fixed, d));
                let tick = match self.dice.once_in(3) {
                    true => self.value(Int, d),
                    false => format!("tick() - {}", self.dice.below(6)),
                };
                format!("was_within({entity}, {reach}, {tick})")
            }
            11 if !self.body.is_constant => {
                let (a, b) = (self.place(d), self.place(d));
                format!("is_within({a}, {b}, {})", self.value(Fixed, d))
            }
            12 if !self.body.is_constant => {
                let attributes = self.schema.attributes.iter();
                let whole = attributes.filter(|a| a.ty != AttributeType::High);
                let whole: Vec<&Attribute> = whole.collect();
                let name = &self.dice.pick(&whole).name;
                format!("has({}.{})", self.entity(), declared_name(name))
            }
            13 if !self.body.is_constant => {
                let op = self.dice.pick(&["==", "!="]);
                format!("({}.kind {op} {})", self.entity(), self.kind())
            }
            _ => self.leaf(Bool),
        }
    }

    fn fixed(&mut self, d: usize) -> String {
        match self.dice.below(17) {
            0..=5 => {
                let op = self.dice.pick(&["+", "-", "*", "/", "%"]);
                match self.dice.below(6) {
                    // A whole number next to a `Fixed` is one, too.
                    0 => format!("({} {op} {})", self.fraction(), self.dice.below(1000)),
                    1 => format!("({} {op} {})", self.dice.below(1000), self.fraction()),
                    _ => format!("({} {op} {})", self.value(Fixed, d), self.value(Fixed, d)),
                }
            }
            6 => format!("(-{})", self.value(Fixed, d)),
            7 => {
                let op = self.dice.pick(&["<<", ">>"]);
                format!("({} {op} {})", self.value(Fixed, d), self.value(Int, d))
            }
            8 => format!("({} as Fixed)", self.value(Int, d)),
            9 => self.extreme(Fixed, d),
            10 => format!(
                "{}({})",
                self.dice.pick(&["abs", "sqrt"]),
                self.value(Fixed, d)
            ),
            11 if !self.body.is_constant => {
                format!("random({}, {})", self.value(Fixed, d), self.value(Fixed, d))
            }
            12 if !self.body.is_constant => {
                format!("distance({}, {})", self.place(d), self.place(d))
            }
            13 => format!("{}.{}", self.value(Point, d), self.axis()),
            // Angles are many instructions.
            14 if self.dice.once_in(3) => format!(
                "{}({})",
                self.dice.pick(&["sine", "cosine"]),
                self.value(Fixed, d)
            ),
            15 if !self.body.is_constant && self.dice.once_in(3) => {
                format!("angle({}, {})", self.place(d), self.place(d))
            }
            _ => self.leaf(Fixed),
        }
    }

    fn extreme(&mut self, ty: Type, d: usize) -> String {
        match self.dice.below(3) {
            0 => format!("min({}, {})", self.value(ty, d), self.value(ty, d)),
            1 => format!("max({}, {})", self.value(ty, d), self.value(ty, d)),
            _ => {
                let value = self.value(ty, d);
                format!(
                    "clamp({value}, {}, {})",
                    self.value(ty, d),
                    self.value(ty, d)
                )
            }
        }
    }

    fn other_entity(&mut self, d: usize) -> String {
        if self.body.is_constant {
            return "none".to_owned();
        }
        match self.dice.below(5) {
            0 if self.dice.once_in(2) => format!("the({})", self.kind()),
            0 => format!("resolve({})", self.value(Int, d)),
            1..=2 if self.can_look_near() => {
                let kind = self.kind_or_any();
                self.leave_near();
                format!("nearest({}, {}{kind})", self.place(d), self.radius())
            }
            _ => self.leaf(Entity),
        }
    }

    fn point(&mut self, d: usize) -> String {
        match self.dice.below(13) {
            0..=1 => {
                let op = self.dice.pick(&["+", "-"]);
                format!("({} {op} {})", self.value(Point, d), self.value(Point, d))
            }
            2..=3 => {
                let op = self.dice.pick(&["*", "/"]);
                let factor = match self.dice.once_in(3) {
                    true => self.dice.below(100).to_string(),
                    false => self.value(Fixed, d),
                };
                format!("({} {op} {factor})", self.value(Point, d))
            }
            4 => format!("(-{})", self.value(Point, d)),
            // With walls, it is not constant.
            5 if !self.body.is_constant || self.schema.layers.is_empty() => {
                format!("inside({})", self.value(Point, d))
            }
            6 => {
                let value = self.value(Point, d);
                format!(
                    "clamp({value}, {}, {})",
                    self.value(Fixed, d),
                    self.value(Fixed, d)
                )
            }
            7 if !self.body.is_constant => format!("random_offset({})", self.value(Fixed, d)),
            8 if !self.body.is_constant && !self.schema.fields.is_empty() => {
                let fields: Vec<&str> = self.schema.fields.iter().map(|f| &f.name[..]).collect();
                let (from, field) = (self.place(d), self.dice.pick(&fields));
                format!("toward({from}, {field:?}, {})", self.value(Fixed, d))
            }
            8 if !self.body.is_constant => {
                let (from, to) = (self.place(d), self.place(d));
                format!("towards({from}, {to}, {})", self.value(Fixed, d))
            }
            11 if self.dice.once_in(3) => {
                format!("turn({}, {})", self.value(Point, d), self.value(Fixed, d))
            }
            9..=10 => {
                let axes = (0..self.dimensions()).map(|_| self.value(Fixed, d));
                let axes: Vec<String> = axes.collect();
                format!("point({})", axes.join(", "))
            }
            _ => self.leaf(Point),
        }
    }

    fn place(&mut self, d: usize) -> String {
        let ty = self.dice.pick(&[Entity, Point]);
        self.value(ty, d)
    }

    /// An entity whose attributes may be named: in no parentheses.
    fn entity(&mut self) -> String {
        let entities = self.visible(|variable| variable.ty == Entity);
        match (entities.is_empty(), self.body.has_actor) {
            (false, true) if self.dice.once_in(2) => "me".to_owned(),
            (false, _) => entities[self.dice.below(entities.len())].name.clone(),
            (true, true) => "me".to_owned(),
            (true, false) => "none".to_owned(),
        }
    }

    /// The last argument of a search for one kind, or of one for all.
    fn kind_or_any(&mut self) -> String {
        match self.dice.once_in(2) {
            true => format!(", {}", self.kind()),
            false => String::new(),
        }
    }

    /// A ranking of the world, and its length.
    fn ranking(&mut self) -> Option<(String, u16)> {
        let all = &self.schema.rankings;
        let ranking = all.get(self.dice.below(all.len().max(1)))?;
        Some((ranking.name.clone(), ranking.length))
    }

    /// A kind where one is expected.
    fn kind(&mut self) -> String {
        let kinds = &self.schema.kinds;
        format!("{:?}", kinds[self.dice.below(kinds.len())].name)
    }

    fn symbol(&mut self) -> String {
        // One that fits wherever a symbol stands, if there is one.
        let symbols = shared::world::symbols::Symbols::within_bounds(self.schema);
        let names = (0..).zip(&self.schema.symbols);
        let sets = || symbols.0.iter().filter(|set| set.column & KEYS == 0);
        let is_everybodys = |number: &i32| sets().all(|set| set.numbers.contains(number));
        let everybodys = names.filter(|(number, _)| is_everybodys(number));
        let mut fitting: Vec<&String> = everybodys.map(|(_, name)| name).collect();
        if fitting.is_empty() {
            fitting = self.schema.symbols.iter().collect();
        }
        format!("{:?}", fitting[self.dice.below(fitting.len())])
    }

    /// A symbol that is no text.
    fn plain_symbol(&mut self) -> Option<String> {
        let schema = self.schema;
        let variables = self.visible(|variable| variable.ty == Symbol);
        if !variables.is_empty() {
            return Some(variables[self.dice.below(variables.len())].name.clone());
        }
        let mut attributes = schema.attributes.iter();
        let attribute = attributes.find(|a| a.ty == AttributeType::Symbol)?;
        let name = script_form(&attribute.name);
        (!self.body.is_constant).then(|| format!("{}.{name}", self.entity()))
    }

    fn radius(&mut self) -> String {
        match self.dice.once_in(6) {
            true => self.fraction(),
            false => format!("{}.{}", self.dice.below(40), self.dice.below(10)),
        }
    }

    /// A call of a helper function that gives a value of a type, if there is one that fits.
    fn call_of(&mut self, result: Option<Type>) -> Option<String> {
        let room = WORK_MAX.saturating_sub(self.body.work);
        let near_room = NEAR_DEPTH_MAX - self.body.near_depth;
        let fitting = self.helpers.iter().filter(|helper| {
            (result.is_none() || helper.result == result)
                && self.sees(helper.file)
                && helper.work < room / 2
                && helper.near_depth <= near_room
        });
        let fitting: Vec<Function> = fitting.cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let helper = &fitting[self.dice.below(fitting.len())];
        self.body.work += helper.work;
        self.body.statement += helper.work;
        let depth = self.body.near_depth + helper.near_depth;
        self.body.near_depth_max = self.body.near_depth_max.max(depth);
        let arguments = helper.parameters.iter().map(|&ty| self.value(ty, 2));
        let arguments: Vec<String> = arguments.collect();
        Some(format!("{}({})", helper.name, arguments.join(", ")))
    }

    // ---- numbers

    /// A whole number as it stands in a pattern.
    fn whole(&mut self) -> i32 {
        match self.dice.below(8) {
            0 => self.dice.any(),
            1 => self
                .dice
                .pick(&[i32::MAX, i32::MIN, i32::MAX - 1, i32::MIN + 1]),
            2 => 1 << self.dice.below(31),
            3 => self
                .dice
                .pick(&[31, 32, 33, 4095, 4096, 4097, -4096, 65_536]),
            _ => self.dice.below(20) as i32 - 5,
        }
    }

    /// A number of 64 bits, bracketed if it is negative.
    fn long_whole(&mut self) -> String {
        let number = match self.dice.below(4) {
            0 => self
                .dice
                .pick(&[i64::MIN, i64::MAX, -1, 1 << 32, -(1 << 32)]),
            1 => i64::from(self.dice.any()) << 32 | i64::from(self.dice.any()),
            _ => i64::from(self.whole()),
        };
        match number {
            ..0 => format!("({number}i64)"),
            _ => format!("{number}i64"),
        }
    }

    fn bracketed_whole(&mut self) -> String {
        match self.whole() {
            negative @ ..0 => format!("({negative})"),
            number if self.dice.once_in(10) => format!("{number:#x}"),
            number => number.to_string(),
        }
    }

    fn fraction(&mut self) -> String {
        let number = match self.dice.below(6) {
            0 => self
                .dice
                .pick(&[524_287.0, -524_288.0, 1.0 / 4096.0, -1.0 / 4096.0]),
            1 => f64::from(self.dice.any()) / 4096.0,
            2 => 0.0,
            _ => f64::from(self.dice.any() % 200_000) / 4096.0,
        };
        match number < 0.0 {
            true => format!("({number:?})"),
            false => format!("{number:?}"),
        }
    }

    // ---- what there is

    /// The variables that have a name for themselves.
    fn visible(&self, fits: impl Fn(&Variable) -> bool) -> Vec<Variable> {
        let variables = &self.body.variables;
        let last = |i: usize| {
            variables[i + 1..]
                .iter()
                .all(|v| v.name != variables[i].name)
        };
        let visible = (0..variables.len()).filter(|&i| last(i) && fits(&variables[i]));
        visible.map(|i| variables[i].clone()).collect()
    }

    fn sees(&self, file: Option<usize>) -> bool {
        file.is_none_or(|file| file == self.file)
    }

    fn can_look_near(&self) -> bool {
        !self.body.is_constant && self.body.near_depth < NEAR_DEPTH_MAX
    }

    /// Notes a look at what is near that is over at once.
    fn leave_near(&mut self) {
        self.enter_near();
        self.body.near_depth -= 1;
    }

    fn any_type(&mut self) -> Type {
        let ty = self.dice.pick(&[
            Int, Int, Int, Long, Bool, Fixed, Fixed, Entity, Entity, Point, Symbol,
        ]);
        match ty {
            Symbol if !self.has_symbols() => Int,
            ty => ty,
        }
    }

    /// One that clients and notifications have, too.
    fn short_type(&mut self) -> Type {
        match self.any_type() {
            Long => Int,
            ty => ty,
        }
    }

    fn has_symbols(&self) -> bool {
        !self.schema.symbols.is_empty()
    }

    fn axis(&mut self) -> &'static str {
        let dimensions = self.dimensions();
        self.dice.pick(&["x", "y", "z"][..dimensions])
    }

    fn dimensions(&self) -> usize {
        self.schema.dimensions()
    }

    fn width(&self, types: &[Type]) -> usize {
        let points = types.iter().filter(|&&ty| ty == Point).count();
        let longs = types.iter().filter(|&&ty| ty == Long).count();
        types.len() + longs + points * (self.dimensions() - 1)
    }
}

fn type_of(ty: AttributeType) -> Type {
    match ty {
        AttributeType::I32 | AttributeType::High => Int,
        AttributeType::I64 => Long,
        AttributeType::Fixed => Fixed,
        AttributeType::Bool => Bool,
        AttributeType::Entity => Entity,
        AttributeType::Symbol => Symbol,
        // The random worlds have none.
        AttributeType::Text => Int,
    }
}

fn name_of(ty: Type) -> &'static str {
    match ty {
        Int => "i32",
        Long => "i64",
        Bool => "bool",
        Fixed => "Fixed",
        Entity => "Entity",
        Symbol => "Symbol",
        Point => "Point",
    }
}

/// Arrays and maps of all types; `other` has neither.
pub const COLLECTIONS: &str = r#"
[[kind]]
name = "player"
attributes = [
    { name = "slot", type = { array = "i32", length = 5 }, default = 3, min = -9, max = 90, audience = "state" },
    { name = "friend", type = { array = "entity", length = 2 }, audience = "state" },
    { name = "worn", type = { array = "symbol", length = 3 }, symbols = ["iron", "oak"], audience = "state" },
    { name = "bag", type = { map = "fixed", keys = ["oak", "iron", "coal"] }, audience = "state" },
    { name = "known", type = { map = "bool", keys = ["iron", "wool"] }, audience = "state" },
    { name = "best", type = { array = "i32", length = 2 }, merge = "max", audience = "state" },
    { name = "gold", type = "i64", min = -5, max = 5_000_000_000, audience = "private" },
    { name = "deep", type = "i64", merge = "min", audience = "state" },
]
[[kind]]
name = "other"
attributes = [{ name = "item", type = "symbol", symbols = ["coal", "iron", "oak"], audience = "state" }]
"#;
