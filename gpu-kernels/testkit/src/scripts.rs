//! Scripts for tests.

use std::fmt::Write;

use script::logic::with_logic;
use shared::world::collection::{Member, member, script_form};
use shared::world::logic::{Constant, Text};
use shared::{Attribute, AttributeType, CommandKind, MergeRule, Schema, WorldConfig};

use crate::dice::Dice;

/// A world with texts besides those that it has.
pub fn with_texts(config: &WorldConfig, texts: Vec<Text>) -> WorldConfig {
    let mut logic = config.logic.clone();
    logic.texts.extend(texts);
    with_logic(config, &logic).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// A world whose clients may give these commands as often as they want, once it has them.
pub fn without_limit(config: &WorldConfig, commands: &[&str]) -> WorldConfig {
    let mut config = config.clone();
    for &command in commands {
        let settings = config.logic.constants.entry(command.to_owned());
        let settings = settings.or_default();
        settings.insert("per_tick".to_owned(), Constant::Int(0));
    }
    config
}

/// A world whose clients may give all commands as often as they want.
pub fn without_limits(config: &WorldConfig) -> WorldConfig {
    let clients = config.schema.commands.iter();
    let clients = clients.filter(|command| command.per_tick > 0);
    let names: Vec<_> = clients.map(|command| command.name.as_str()).collect();
    with_texts(&without_limit(config, &names), vec![])
}

/// A command `shoot(me, target, reach, ticks)`, which moves the target if it was within reach so
/// many ticks ago.
pub fn shots() -> Text {
    let text = "\
#[command(clients)]
fn shoot(me: Entity, target: Entity, reach: Fixed, ticks: i32) {
    if was_within(target, reach, tick() - ticks) {
        target.position += random_offset(1.5);
    }
    // The nearest is often an entity that was born of late.
    let near = nearest(me, 50.0);
    if was_within(near, 30.0, tick() - ticks % 8) {
        near.position += random_offset(0.5);
    }
}
";
    Text::new("shots.rs", text.to_owned())
}

/// Commands that follow the fields `field 0`, `field 1` and `field 2` of a world.
pub fn flows() -> Text {
    let text = "\
#[command(clients)]
fn flow(me: Entity, which: i32, step: Fixed) {
    me.position += toward(me, \"field 0\", step);
    if which > 0 { me.position += toward(me, \"field 1\", 1.5); }
}
#[command(clients)]
fn drift(me: Entity, target: Entity, place: Point) {
    target.position += toward(place, \"field 2\", 2.0);
}
";
    Text::new("flows.rs", text.to_owned())
}

/// Commands by which players join groups, lead others from one to another, and part; for each attribute
/// that refers to a group.
pub fn gatherings(schema: &Schema) -> Text {
    let text = "\
#[command(clients)]
fn enlist_GROUP(me: Entity, thing: Entity) { me.GROUP = thing; }
#[command(clients)]
fn lead_GROUP(me: Entity, target: Entity, n: i32) {
    let mut left = n % 5 + count_members(me.GROUP, \"GROUP\") / 2;
    for other in members(target.GROUP, \"GROUP\") {
        if left < 1 { break; }
        left -= 1;
        other.GROUP = me.GROUP;
    }
    if count_members(target.GROUP, \"GROUP\") > 3 {
        for other in members(me.GROUP, \"GROUP\") { if other != me { other.GROUP = none; } }
    }
}
";
    let names = schema.groups.iter();
    let names = names.map(|group| &schema.attributes[usize::from(group.column)].name);
    let texts: Vec<String> = names.map(|name| text.replace("GROUP", name)).collect();
    Text::new("gatherings.rs", texts.concat())
}

/// Commands that look through the things of a holder, and hand them on: pouches and coins.
/// In worlds whose commands can schedule others, they end some.
pub fn holdings(can_end: bool) -> Text {
    let text = "\
#[command(clients)]
fn take(me: Entity, thing: Entity) {
    thing.holder = me;
    for it in held_by(thing) { it.holder = me; }
}
#[command(clients)]
fn pass(me: Entity, target: Entity, n: i32) {
    let mut left = n % 4;
    for it in held_by(me, \"coin\") {
        if left == 0 { break; }
        left -= 1;
        it.holder = target;
        it.worth += count_held(me) + count_held(target, \"pouch\");
    }
    for it in held_by(target) { if n % 3 == 0 { END } }
}
";
    let end = match can_end {
        true => "despawn(it);",
        false => "it.holder = none;",
    };
    Text::new("holdings.rs", text.replace("END", end))
}

/// A command `set_NAME(me, target, value)` for each attribute but the position. It updates
/// the attribute of the target, as its merge rule allows: to the value, or by it.
pub fn setters(schema: &Schema) -> Text {
    let mut text = String::new();
    let own = schema.attributes[schema.dimensions()..].iter();
    for attribute in own.filter(|attribute| is_set(attribute)) {
        let name = place(&attribute.name, "value");
        let value = match attribute.ty {
            AttributeType::I32 => "value",
            AttributeType::Fixed => "value as Fixed",
            // Beyond 32 bits, so that sums carry from the low half into the high one.
            AttributeType::I64 | AttributeType::High => "(value as i64) * 0x1_2345_6789",
            AttributeType::Bool => "value > 0",
            AttributeType::Entity => "if value > 0 { me } else { target }",
            AttributeType::Symbol | AttributeType::Text => {
                &format!("if value > 0 {{ me.{name} }} else {{ target.{name} }}")
            }
        };
        let update = match attribute.merge {
            MergeRule::Sum => format!("target.{name} += {value};"),
            MergeRule::Min => format!("target.{name}.min({value});"),
            MergeRule::Max => format!("target.{name}.max({value});"),
            MergeRule::First | MergeRule::Last => format!("target.{name} = {value};"),
        };
        writeln!(
            text,
            "#[command(clients)]\nfn set_{}(me: Entity, target: Entity, value: i32) {{ {update} }}",
            attribute.name.replace(['[', '.'], "__").replace(']', ""),
        )
        .expect("a string takes everything");
    }
    Text::new("setters.rs", text)
}

/// Those of a long array have a setter together.
fn is_set(attribute: &Attribute) -> bool {
    let is_later = |index: u16| index > 3;
    let is_own = match member(&attribute.name) {
        Some((_, Member::Index(index))) => !is_later(index),
        _ => true,
    };
    is_own && attribute.ty != AttributeType::High
}

/// An attribute as scripts write it: of an array, the first one is that at an index.
fn place(name: &str, index: &str) -> String {
    match member(name) {
        Some((array, Member::Index(0))) => format!("{array}[{index}]"),
        _ => script_form(name),
    }
}

/// The number of a command of a world.
pub fn command(config: &WorldConfig, name: &str) -> CommandKind {
    let command = config.schema.command_named(name);
    command.unwrap_or_else(|| panic!("no command {name}")).kind
}

/// Atomic commands `deal_0` and so on, with random statements.
pub fn deals(dice: &mut Dice, config: &WorldConfig) -> Text {
    let mut text = "struct Dealt { n: i32, by: Entity }\n".to_owned();
    for number in 0..1 + dice.below(3) {
        let by = if dice.once_in(4) { "" } else { "clients, " };
        let mut deal = Deal {
            schema: &config.schema,
            has_timed: config.limits.timed_commands > 0,
            notifies: config.limits.notifications_per_tick > 0,
            body: String::new(),
        };
        deal.statements(dice, 0);
        let body = deal.body;
        writeln!(
            text,
            "#[command({by}atomic)]\nfn deal_{number}(me: Entity, other: Entity, third: Entity, \
             n: i32) {{\n{body}}}",
        )
        .expect("a string takes everything");
    }
    if config.limits.timed_commands > 0 {
        // Clients reach those of others only, too.
        text += "#[command(clients)]\nfn start_deal(me: Entity, other: Entity, n: i32) {\n    \
                 after(1, deal_0(me, other, me, n));\n    after(2, deal_0(other, me, other, n));\n}\n";
    }
    Text::new("deals.rs", text)
}

/// Hooks for some occasions, which change who they are about and what they name, and may so feed
/// each other. Some are for several occasions.
pub fn hooks(dice: &mut Dice, config: &WorldConfig) -> Option<Text> {
    let schema = &config.schema;
    let mut on: Vec<(String, Option<&str>)> = ["join", "birth", "birth, kind = \"player\""]
        .map(|occasion| (occasion.to_owned(), None))
        .to_vec();
    let by = Some("by").filter(|_| config.causes);
    on.extend([("fall".to_owned(), None), ("fall".to_owned(), by)]);
    for zone in &schema.zones {
        let name = &zone.name;
        on.push((format!("enter, {name:?}"), Some("carrier")));
        on.push((format!("exit, {name:?}"), Some("carrier")));
        on.push((format!("enter, {name:?}, kind = \"player\""), None));
    }
    let numbers = (schema.attributes.iter().skip(schema.dimensions()))
        .filter(|attribute| attribute.ty == AttributeType::I32)
        .filter(|attribute| attribute.merge == MergeRule::Sum);
    let numbers: Vec<String> = numbers
        .map(|attribute| place(&attribute.name, "tick() % 4"))
        .collect();
    let mut text = String::new();
    for (number, (own, other)) in on.iter().enumerate() {
        if dice.once_in(2) {
            continue;
        }
        let can_be_atomic = config.limits.atomic_per_tick > 0;
        let atomic = if can_be_atomic && dice.once_in(3) {
            ", atomic"
        } else {
            ""
        };
        // Those of one function take the same, and no two of them happen at once.
        let mut clauses = vec![own];
        while dice.once_in(2) {
            let (more, takes) = &on[dice.below(on.len())];
            let occasion = |on: &str| on.split(", kind").next().map(str::to_owned);
            if takes.is_some() == other.is_some()
                && clauses.iter().all(|own| occasion(own) != occasion(more))
            {
                clauses.push(more);
            }
        }
        let clauses = clauses.iter().map(|on| format!("#[on({on}{atomic})]\n"));
        let clauses: String = clauses.collect();
        let parameter = other.map_or(String::new(), |other| format!(", {other}: Entity"));
        let step = vec![dice.pick(&["1.0", "-2.5", "0.0"]); schema.dimensions()].join(", ");
        let mut body = match dice.once_in(2) {
            true => format!("    me.position += point({step});\n"),
            false => String::new(),
        };
        if schema.world_kind.is_some() && dice.once_in(2) {
            body += dice.pick(&[
                "    world.round += 1;\n",
                "    if world.round > 5 { world.champion = me; }\n",
                "    if world.champion == me { world.round += 100; me.x += 1.0; }\n",
            ]);
        }
        for who in ["me"].into_iter().chain(*other) {
            let by = dice.pick(&["1", "-3", "-60"]);
            body += &match numbers.is_empty() {
                true => format!("    {who}.x += {by} as Fixed;\n"),
                false => format!(
                    "    {who}.{} += {by};\n",
                    numbers[dice.below(numbers.len())]
                ),
            };
        }
        text += &format!("{clauses}fn hook_{number}(me: Entity{parameter}) {{\n{body}}}\n");
    }
    (!text.is_empty()).then(|| Text::new("hooks.rs", text))
}

/// The statements of an atomic command.
struct Deal<'a> {
    schema: &'a Schema,
    has_timed: bool,
    notifies: bool,
    body: String,
}

impl Deal<'_> {
    fn statements(&mut self, dice: &mut Dice, depth: usize) {
        for _ in 0..1 + dice.below(5) {
            let statement = self.statement(dice, depth);
            self.body += &statement;
            self.body.push('\n');
        }
    }

    fn statement(&mut self, dice: &mut Dice, depth: usize) -> String {
        match dice.below(if depth < 2 { 16 } else { 12 }) {
            0 => format!("require({});", self.condition(dice)),
            1 => format!("if {} {{ return; }}", self.condition(dice)),
            2 => {
                let (who, by) = (self.entity(dice), dice.pick(&["0.5", "-3", "2"]));
                format!(
                    "{who}.position += point({});",
                    vec![by; self.schema.dimensions()].join(", ")
                )
            }
            3 => format!(
                "{}.position = {}.position;",
                self.entity(dice),
                self.entity(dice)
            ),
            4 if self.notifies => {
                let (who, by) = (self.entity(dice), self.entity(dice));
                format!("tell(Dealt {{ n, by: {by} }}, around({who}, 10.0));")
            }
            5 if self.has_timed && !dice.once_in(3) => {
                let ticks = dice.pick(&["1", "n", "2"]);
                // One after another, not ever more.
                let (me, other) = (self.entity(dice), self.entity(dice));
                format!("if n > 0 {{ after({ticks}, deal_0({me}, {other}, third, n - 7)); }}")
            }
            12 | 13 => {
                let condition = self.condition(dice);
                let before = std::mem::take(&mut self.body);
                self.statements(dice, depth + 1);
                let then = std::mem::replace(&mut self.body, before);
                format!("if {condition} {{\n{then}}}")
            }
            14 => {
                let before = std::mem::take(&mut self.body);
                self.statements(dice, depth + 1);
                let inner = std::mem::replace(&mut self.body, before);
                let end = dice.pick(&["3", "n", "abs(n)", "2"]);
                format!("for i in 0..{end} {{\n{inner}}}")
            }
            _ => self.change(dice),
        }
    }

    fn change(&self, dice: &mut Dice) -> String {
        let own = &self.schema.attributes[self.schema.dimensions()..];
        let own = own.iter().filter(|own| own.ty != AttributeType::High);
        let own: Vec<&Attribute> = own.collect();
        if self.schema.world_kind.is_some() && dice.once_in(6) {
            return dice
                .pick(&["world.round += n;", "world.champion = other;"])
                .to_owned();
        }
        if own.is_empty() {
            return format!("{}.x += n as Fixed;", self.entity(dice));
        }
        // Deals that name others by it move those behind them.
        let reference = own.iter().find(|own| own.ty == AttributeType::Entity);
        if let Some(reference) = reference
            && dice.once_in(3)
        {
            let (who, to) = (self.entity(dice), self.entity(dice));
            return format!("{who}.{} = {to};", place(&reference.name, "n"));
        }
        let attribute = own[dice.below(own.len())];
        let name = place(&attribute.name, "n");
        let to = format!("{}.{name}", self.entity(dice));
        let value = match attribute.ty {
            AttributeType::I32 => self.number(dice),
            AttributeType::Fixed => format!("({} as Fixed)", self.number(dice)),
            AttributeType::I64 | AttributeType::High => self.long(dice, name.as_str()),
            AttributeType::Bool => return format!("{to} = {};", self.condition(dice)),
            AttributeType::Entity => return format!("{to} = {};", self.entity(dice)),
            AttributeType::Symbol | AttributeType::Text => {
                return format!("{to} = {}.{name};", self.entity(dice));
            }
        };
        match dice.below(8) {
            0 => format!("{to} = {value};"),
            1 => format!("{to}.min({value});"),
            2 => format!("{to}.max({value});"),
            3 => format!("require_fits({to} -= {value});"),
            4 | 5 => format!("{to} -= {value};"),
            _ => format!("{to} += {value};"),
        }
    }

    /// A number of 64 bits, maybe from an attribute of this name.
    fn long(&self, dice: &mut Dice, name: &str) -> String {
        let number = format!("({} as i64)", self.number(dice));
        let own = format!("{}.{name}", self.entity(dice));
        match dice.below(8) {
            0 => number,
            1 => own,
            2 => format!("({own} + {number})"),
            3 => format!("({own} - {number} * 5_000_000_000)"),
            4 => format!("(abs({own}) / {number})"),
            5 => format!("({own} % max({number}, 3))"),
            6 => format!("(({own} >> 7) ^ {number})"),
            _ => format!("({number} << 33)"),
        }
    }

    fn condition(&self, dice: &mut Dice) -> String {
        match dice.below(6) {
            0 => format!(
                "is_within({}, {}, 20.0)",
                self.entity(dice),
                self.entity(dice)
            ),
            1 => format!("exists({})", self.entity(dice)),
            2 => format!("{} != {}", self.entity(dice), self.entity(dice)),
            _ => format!("{} >= {}", self.number(dice), self.number(dice)),
        }
    }

    fn number(&self, dice: &mut Dice) -> String {
        let own = self.schema.attributes.iter();
        let own = own.filter(|a| a.ty == AttributeType::I32);
        let own: Vec<String> = own.map(|a| place(&a.name, "n - 1")).collect();
        match dice.below(8) {
            0 => "n".to_owned(),
            1 => "random(-5, 9)".to_owned(),
            2 if dice.once_in(3) => format!("count({:?})", self.schema.kinds[0].name),
            2 => "tick()".to_owned(),
            3 | 4 => dice.pick(&["1", "5", "20", "100"]).to_owned(),
            _ if own.is_empty() => "n".to_owned(),
            _ => format!("{}.{}", self.entity(dice), own[dice.below(own.len())]),
        }
    }

    /// At most as many different ones as an atomic command may have to do with.
    fn entity(&self, dice: &mut Dice) -> String {
        let references = self.schema.attributes.iter();
        let mut references = references.filter(|a| a.ty == AttributeType::Entity);
        let plain = ["me", "other", "third"];
        match references.next() {
            None if dice.once_in(6) => format!("the({:?})", self.schema.kinds[0].name),
            Some(reference) if dice.once_in(3) => {
                let name = &reference.name;
                let chains = [
                    format!("me.{name}"),
                    format!("other.{name}"),
                    format!("third.{name}"),
                    format!("third.{name}.{name}"),
                ];
                chains[dice.below(chains.len())].clone()
            }
            _ => dice.pick(&plain).to_owned(),
        }
    }
}
