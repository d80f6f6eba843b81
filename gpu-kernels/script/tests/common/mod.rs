//! A small world in memory, and what scripts do to it.
#![allow(dead_code)]

#[cfg(feature = "native")]
pub mod native;
pub mod random;

use script::arith::{self, Random};
use script::census::Census;
use script::holdings::Holdings;
use script::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, Space, World};
use script::ir::Budget;
use script::standings::Standings;
use script::{Command, Logic, Problem, builtin};
use shared::world::group::Relation;
use shared::world::logic::{Constants, LogicConfig, Text};
use shared::{EntityId, EntityRef, Schema, Slot, Tick, WorldConfig};

pub const WORLD: &str = r#"
[world]
size = [100, 100]
aoi = 10
capacity = 16

[[kind]]
name = "player"
attributes = [
    { name = "hp", type = "i32", default = 100, min = 0, max = 100, audience = "state" },
    { name = "speed", type = "fixed", default = 1.5, merge = "last", audience = "state" },
    { name = "gold", type = "i32", default = 10, audience = "private" },
    { name = "target", type = "entity", merge = "first", audience = "state" },
    { name = "team", type = "symbol", symbols = ["red", "blue"], audience = "state" },
    { name = "alert", type = "bool", audience = "movement" },
    { name = "best", type = "i32", merge = "max", audience = "state" },
    { name = "least", type = "i32", merge = "min", audience = "state" },
    { name = "shield", type = "i32", audience = "state" },
    { name = "wood", type = "i32", audience = "state" },
    { name = "score", type = "i32", audience = "state" },
    { name = "vx", type = "fixed", merge = "last", audience = "hidden" },
    { name = "vy", type = "fixed", merge = "last", audience = "hidden" },
]

[[kind]]
name = "item"
attributes = [
    { name = "owner", type = "entity", merge = "first", audience = "state" },
    { name = "ripe", type = "bool", default = true, audience = "state" },
]

[[ranking]]
kind = "player"
by = "score"

[[ranking]]
name = "poor"
kind = "player"
by = "gold"
first = "least"
length = 3

[[zone]]
name = "shrine"
center = [50, 50]
radius = 10
"#;

pub fn schema() -> Schema {
    world_file::parse(WORLD, "test").unwrap().schema
}

pub fn compile(text: &str) -> Result<Logic, Vec<Problem>> {
    compile_all(&[Text::new("test.rs", text)], &Constants::default())
}

pub fn compile_all(texts: &[Text], constants: &Constants) -> Result<Logic, Vec<Problem>> {
    compile_for(&schema(), texts, constants)
}

/// Compiles texts for another world than that of the tests.
pub fn compile_for(
    schema: &Schema,
    texts: &[Text],
    constants: &Constants,
) -> Result<Logic, Vec<Problem>> {
    let logic = LogicConfig {
        texts: texts.to_vec(),
        constants: constants.clone(),
        ..LogicConfig::default()
    };
    Logic::compile(schema, &logic)
}

/// The whole built-in set.
pub fn builtins(constants: &Constants) -> Logic {
    let logic = LogicConfig {
        texts: builtin::names().filter_map(builtin::text).collect(),
        constants: constants.clone(),
        numbers: builtin::numbers(),
        ..LogicConfig::default()
    };
    Logic::compile(&schema(), &logic).unwrap()
}

/// The problems of a text, as drawn.
pub fn drawn(text: &str) -> String {
    let problems = compile(text).expect_err("the text has problems");
    let diagnostics: Vec<_> = problems
        .iter()
        .map(|problem| problem.diagnostic().unwrap_or_else(|| panic!("{problem}")))
        .collect();
    script::diagnostic::draw(&diagnostics, &[Text::new("test.rs", text)], false)
}

/// The warnings of a text, as drawn.
pub fn drawn_warnings(text: &str) -> String {
    let config = world_of(text);
    match &script::lint::warnings(&config)[..] {
        [] => "no problem".to_owned(),
        warnings => script::diagnostic::draw_warnings(warnings, &config.logic.texts, false),
    }
}

/// The world of the tests with a text.
pub fn world_of(text: &str) -> WorldConfig {
    let mut config = world_file::parse(WORLD, "test").unwrap();
    config.logic = LogicConfig {
        texts: vec![Text::new("test.rs", text)],
        ..LogicConfig::default()
    };
    let logic = Logic::compile(&config.schema, &config.logic).unwrap();
    config.logic.numbers = logic.numbers;
    let commands = logic.commands.into_iter().map(|c| c.schema);
    config
        .schema
        .commands
        .retain(|c| c.kind <= shared::CommandKind::DESPAWN);
    config.schema.commands.extend(commands);
    config
}

/// Of random numbers.
pub const SEED: u64 = 1;

/// An entity: kind, generation, row; `None` in a free slot.
pub type Row = Option<(u16, u32, Vec<i32>)>;

#[derive(Clone)]
pub struct TestWorld {
    pub schema: Schema,
    pub rows: Vec<Row>,
    pub tick: Tick,
}

impl TestWorld {
    pub fn new() -> TestWorld {
        TestWorld::of(schema())
    }

    /// A world of another schema.
    pub fn of(schema: Schema) -> TestWorld {
        TestWorld {
            schema,
            rows: vec![],
            tick: Tick(7),
        }
    }

    /// A new entity of a kind at a place, in units.
    pub fn add(&mut self, kind: &str, x: i32, y: i32) -> EntityId {
        let kind = self.schema.kind(kind).unwrap();
        let mut row = self.schema.default_row(kind);
        (row[0], row[1]) = (x * 4096, y * 4096);
        self.rows.push(Some((kind as u16, 3, row)));
        EntityId::new(self.rows.len() as u32 - 1, 3)
    }

    pub fn set(&mut self, entity: EntityId, attribute: &str, value: i32) {
        let column = self.schema.column(attribute).unwrap();
        self.rows[entity.slot.index()].as_mut().unwrap().2[column] = value;
    }

    pub fn row_of(&self, entity: EntityId) -> &[i32] {
        &self.row(entity.slot).unwrap().2
    }

    fn row(&self, slot: Slot) -> Option<&(u16, u32, Vec<i32>)> {
        self.rows.get(slot.index())?.as_ref()
    }

    /// The entities by kind.
    pub fn census(&self) -> Census {
        let rows = (0..).zip(&self.rows);
        let living = rows.filter_map(|(slot, row)| Some((row.as_ref()?.0, slot)));
        Census::of(self.schema.kinds.len(), living)
    }

    /// By relation: the things of each holder, or the members of each group.
    pub fn holdings(&self) -> Vec<Holdings> {
        let of_relation = |relation: Relation| {
            let rows = (0..).zip(&self.rows);
            let living = rows.filter_map(|(slot, row)| Some((slot, row.as_ref()?)));
            let pairs = living.filter_map(|(slot, (kind, _, row))| {
                let reference = EntityRef(row[usize::from(relation.column)]);
                let (other, generation, _) = self.row(reference.slot())?;
                let is_meant = reference.is_generation(*generation);
                let relates = is_meant && self.schema.relates(relation, *kind, *other);
                relates.then_some((reference.slot().0, slot))
            });
            Holdings::of(self.rows.len(), pairs)
        };
        self.schema.relations().map(of_relation).collect()
    }

    /// Where they stand in the rankings.
    pub fn standings(&self) -> Standings {
        let rankings = &self.schema.rankings;
        let mut standings = Standings::new(rankings.len(), self.rows.len());
        for (number, ranking) in rankings.iter().enumerate() {
            let rows = (0..).zip(&self.rows);
            let own = rows.filter_map(|(slot, row)| Some((slot, row.as_ref()?)));
            let own = own.filter(|(_, row)| row.0 == ranking.kind);
            let mut own: Vec<(u32, u32)> = own
                .map(|(slot, row)| (ranking.key(row.2[usize::from(ranking.column)]), slot))
                .collect();
            own.sort_unstable();
            standings.set(number, own.into_iter().map(|(_, slot)| slot));
        }
        standings
    }

    pub fn space(&self) -> Space {
        let mut size = [1; 3];
        for (raw, axis) in size.iter_mut().zip(&self.schema.world.size) {
            *raw = axis.raw();
        }
        Space {
            dimensions: self.schema.dimensions(),
            size,
            budget: Budget::default(),
        }
    }

    pub fn run(
        &self,
        command: &Command,
        entity: EntityId,
        words: &[i32],
    ) -> Result<Done, NoEffect> {
        let mut done = Done::default();
        let invocation = Invocation {
            tick: self.tick,
            entity,
            words,
            random: Random::new(SEED, self.tick, entity, command.schema.kind.0, 0),
        };
        let space = self.space();
        Interpreter::default().run(&command.code, &space, self, &invocation, &mut done)?;
        Ok(done)
    }
}

impl World for TestWorld {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.row(slot).unwrap().2[column]
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        self.row(slot).map(|row| row.1)
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.row(slot).unwrap().0
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        let kind = &self.schema.kinds[usize::from(self.kind(slot))];
        kind.attributes
            .iter()
            .any(|a| usize::from(a.column) == column)
    }

    fn bounds(&self, slot: Slot, column: usize) -> (i32, i32) {
        let kind = &self.schema.kinds[usize::from(self.kind(slot))];
        let mut own = kind.attributes.iter();
        let own = own.find(|a| usize::from(a.column) == column).unwrap();
        match self.schema.attributes[column].ty.is_half() {
            true => (i32::MIN, i32::MAX),
            false => (own.min, own.max),
        }
    }

    fn layer(&self, place: i32) -> i32 {
        self.schema.layers.word(place)
    }

    fn count(&self, kind: u16) -> u32 {
        self.census().count(kind)
    }

    fn nth(&self, kind: u16, place: u32) -> Option<Slot> {
        self.census().nth(kind, place)
    }

    fn held(&self, relation: u8, holder: Slot, place: u32) -> Option<Slot> {
        self.holdings()[usize::from(relation)].nth(holder, place)
    }

    fn rank(&self, ranking: u16, slot: Slot) -> u32 {
        self.standings().rank(ranking, slot)
    }

    fn ranked(&self, ranking: u16, place: u32) -> Option<Slot> {
        self.standings().ranked(ranking, place)
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        let dimensions = self.schema.dimensions();
        for slot in 0..self.rows.len() as u32 {
            let Some((_, _, row)) = self.row(Slot(slot)) else {
                continue;
            };
            let mut place = [0; 3];
            place[..dimensions].copy_from_slice(&row[..dimensions]);
            if arith::is_within(place, center, radius) {
                slots.push(slot);
            }
        }
    }
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Slot, column, value.
    pub updates: Vec<(u32, u16, i32)>,
    /// What an atomic command leaves: slot, column, value.
    pub writes: Vec<(u32, u16, i32)>,
    /// Ticks, entity, command, words.
    pub afters: Vec<(u32, EntityId, u16, Vec<i32>)>,
    pub notifications: Vec<SentNotification>,
    /// Whether an index or a key was none that there is.
    pub missed: bool,
}

/// Kind, source, area, words.
pub type SentNotification = (u16, EntityId, Option<([i32; 3], i32)>, Vec<i32>);

impl Effects for Done {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        self.updates.push((slot.0, column, value));
    }

    fn write(&mut self, slot: Slot, column: u16, value: i32) {
        self.writes.push((slot.0, column, value));
    }

    fn miss(&mut self) {
        self.missed = true;
    }
}

impl Outgoing for Done {
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]) {
        self.afters.push((ticks, entity, kind, words.to_vec()));
    }

    fn notify(
        &mut self,
        kind: u16,
        source: EntityId,
        area: Option<([i32; 3], i32)>,
        words: &[i32],
    ) {
        self.notifications
            .push((kind, source, area, words.to_vec()));
    }
}

/// Compiles texts and draws what is wrong with them, or runs their commands.
pub fn compile_and_run(texts: &[Text]) {
    let logic = match compile_all(texts, &Constants::default()) {
        Ok(logic) => logic,
        Err(problems) => {
            let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
            script::diagnostic::draw(&diagnostics, texts, false);
            return;
        }
    };
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    let item = world.add("item", 12, 10);
    world.add("player", 10, 14);
    for command in &logic.commands {
        for word in [0, 5, i32::MIN, item.reference().0] {
            let words = vec![word; command.schema.words.len()];
            let _ = world.run(command, me, &words);
        }
    }
}
