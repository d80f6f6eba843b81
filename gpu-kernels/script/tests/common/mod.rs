//! A small world in memory, and what scripts do to it.
#![allow(dead_code)]

use script::arith::{self, Random};
use script::interpreter::{Effects, Interpreter, Invocation, Overrun, Space, World};
use script::ir::Budget;
use script::{Command, Logic, Problem, builtin};
use shared::world::logic::{Constants, LogicConfig, Text};
use shared::{EntityId, Schema, Slot, Tick};

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
]

[[kind]]
name = "item"
attributes = [
    { name = "owner", type = "entity", merge = "first", audience = "state" },
    { name = "ripe", type = "bool", default = true, audience = "state" },
]
"#;

pub fn schema() -> Schema {
    script::world::parse(WORLD, "test").unwrap().schema
}

pub fn compile(text: &str) -> Result<Logic, Vec<Problem>> {
    compile_all(vec![Text::new("test.rs", text)], &Constants::default())
}

pub fn compile_all(texts: Vec<Text>, constants: &Constants) -> Result<Logic, Vec<Problem>> {
    let logic = LogicConfig {
        texts,
        constants: constants.clone(),
        ..LogicConfig::default()
    };
    Logic::compile(&schema(), &logic)
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
        .into_iter()
        .map(|problem| match problem {
            Problem::Text(diagnostic) => diagnostic,
            other => panic!("{other}"),
        })
        .collect();
    script::diagnostic::draw(&diagnostics, &[Text::new("test.rs", text)], false)
}

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
        TestWorld {
            schema: schema(),
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

    fn row(&self, slot: Slot) -> Option<&(u16, u32, Vec<i32>)> {
        self.rows.get(slot.index())?.as_ref()
    }

    pub fn space(&self) -> Space {
        let size = &self.schema.world.size;
        Space {
            dimensions: size.len(),
            size: [size[0].raw(), size[1].raw(), 1],
            budget: Budget::default(),
        }
    }

    pub fn run(&self, command: &Command, entity: EntityId, words: &[i32]) -> Result<Done, Overrun> {
        let mut done = Done::default();
        let invocation = Invocation {
            tick: self.tick,
            entity,
            words,
            random: Random::new(1, self.tick, entity, command.schema.kind.0, 0),
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

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        for slot in 0..self.rows.len() as u32 {
            if let Some((_, _, row)) = self.row(Slot(slot))
                && arith::is_within([row[0], row[1], 0], center, radius)
            {
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
    /// Ticks, entity, command, words.
    pub afters: Vec<(u32, EntityId, u16, Vec<i32>)>,
    pub notifications: Vec<Told>,
}

/// Kind, source, area, words.
pub type Told = (u16, EntityId, Option<([i32; 3], i32)>, Vec<i32>);

impl Effects for Done {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        self.updates.push((slot.0, column, value));
    }

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
