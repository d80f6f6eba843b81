use std::fmt::Write;
use std::sync::Arc;

use anyhow::Context;
use gpu_kernels::listen::Before;
use gpu_kernels::{Backend, CpuBackend, Frame, TickOutput};
use shared::world::mix::mix;
use shared::{ClientRow, EntityId, Slot, Tick, WorldConfig};

use super::{LISTENERS_MAX, Options, WARM_UP_TICKS};
use crate::dice::Dice;

/// A world, its ticks, and the subscriptions.
pub struct Scenario {
    pub config: WorldConfig,
    /// The first tick has births only.
    pub ticks: Vec<Arc<TickOutput>>,
    /// The predicate of each subscription.
    pub texts: Vec<String>,
    pub entities: u32,
    pub listeners: u32,
}

impl Scenario {
    pub fn new(options: &Options, subscriptions: u32) -> anyhow::Result<Scenario> {
        let listeners = subscriptions.min(LISTENERS_MAX);
        let config = config(options, listeners)?;
        let mut backend = CpuBackend::new(&config, options.run.threads(), None)?;
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        let mut ticks = vec![backend.tick(&frame)?];
        for tick in 1..=(WARM_UP_TICKS as u32 + options.runs) {
            frame.reset(Tick(tick.into()));
            ticks.push(backend.tick(&frame).context("the tick failed")?);
        }
        let dice = Dice(mix(options.run.seed(), 1));
        let size = side(options.entities);
        Ok(Scenario {
            texts: texts(
                dice,
                subscriptions,
                options.entities as usize,
                size as usize,
            ),
            config,
            ticks,
            entities: options.entities,
            listeners,
        })
    }

    pub fn last(&self) -> &TickOutput {
        &self.ticks[self.ticks.len() - 1]
    }

    /// The number of changes of the last tick.
    pub fn changes(&self) -> u64 {
        self.last().counts.changes
    }

    pub fn mirror_before_last(&self) -> Mirror {
        let mut mirror = Mirror::new(&self.config);
        for output in &self.ticks[..self.ticks.len() - 1] {
            mirror.apply(output);
        }
        mirror
    }
}

/// The client that a subscription belongs to.
pub fn client_of(subscription: u32) -> ClientRow {
    ClientRow(subscription % LISTENERS_MAX)
}

/// A world with a quarter of the entities of each kind.
fn config(options: &Options, listeners: u32) -> anyhow::Result<WorldConfig> {
    let entities = options.entities;
    let size = side(entities);
    let mut text = format!(
        "[world]\nname = \"listen\"\nsize = [{size}, {size}]\naoi = 16\ncapacity = {entities}\n\
         seed = {}\nvisible_max = 1\n[limits]\nclients = {listeners}\ndeliveries_per_tick = 1\n\
         subscriptions_per_client = 16\nclient_notices_per_tick = 65536\n\
         updates_per_tick = {}\n",
        options.run.seed(),
        4 * entities
    );
    let share = entities / KINDS.len() as u32;
    for kind in KINDS {
        write!(
            text,
            "[[kind]]\nname = \"{kind}\"\npopulation = {share}\nattributes = [\
             {{ name = \"hp\", type = \"i32\", min = 0, max = 100, default = 100, \
             audience = \"state\" }}]\n\
             [[every]]\nkind = \"{kind}\"\nticks = 1\ncommand = \"roam\"\n"
        )?;
    }
    Ok(world_file::parse(&text, "the world of the bench")?)
}

/// The side of a world with 100 units of area per entity.
fn side(entities: u32) -> u32 {
    (f64::from(entities) * 100.0).sqrt().ceil() as u32
}

fn texts(mut dice: Dice, subscriptions: u32, entities: usize, size: usize) -> Vec<String> {
    let one = |_| {
        let mut entity = || EntityId::new(dice.below(entities) as u32, 1).reference().0;
        let (a, b) = (entity(), entity());
        match dice.below(10) {
            0..=3 => format!("event == \"change\" && entity == {a}"),
            4..=6 => format!(
                "entity == {a} && attribute == \"x\" || entity == {b} && command == \"roam\""
            ),
            7..=8 => {
                let edge = 10.min(size);
                let [x, y] = [0, 1].map(|_| dice.below(size - edge + 1));
                format!(
                    "attribute == \"x\" && x >= {x} && x < {} && y >= {y} && y < {}",
                    x + edge,
                    y + edge
                )
            }
            _ => {
                let kind = KINDS[dice.below(KINDS.len())];
                let [x, y] = [0, 1].map(|_| dice.below(size));
                format!(
                    "kind == \"{kind}\" && attribute == \"y\" && y > {y} && y <= {} && x >= {x}",
                    y + 1
                )
            }
        }
    };
    (0..subscriptions).map(one).collect()
}

/// The world after the ticks that were applied.
pub struct Mirror {
    columns: usize,
    ids: Vec<EntityId>,
    kinds: Vec<u16>,
    rows: Vec<i32>,
}

impl Mirror {
    pub fn new(config: &WorldConfig) -> Mirror {
        let capacity = config.schema.world.capacity as usize;
        let columns = config.schema.attributes.len();
        Mirror {
            columns,
            ids: vec![EntityId::NONE; capacity],
            kinds: vec![0; capacity],
            rows: vec![0; capacity * columns],
        }
    }

    pub fn apply(&mut self, output: &TickOutput) {
        let born = output
            .births
            .iter()
            .filter_map(|b| Some((b.kind, b.entity?)));
        for ((kind, id), row) in born.zip(output.birth_rows.chunks(self.columns)) {
            let place = id.slot.index();
            (self.ids[place], self.kinds[place]) = (id, kind);
            self.rows[place * self.columns..][..self.columns].copy_from_slice(row);
        }
        for (slot, columns, values) in output.changes.iter() {
            for (&column, &value) in columns.iter().zip(values) {
                self.rows[slot.index() * self.columns + usize::from(column)] = value;
            }
        }
    }
}

impl Before for Mirror {
    fn id(&self, slot: Slot) -> EntityId {
        self.ids[slot.index()]
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.kinds[slot.index()]
    }

    fn row(&self, slot: Slot) -> &[i32] {
        &self.rows[slot.index() * self.columns..][..self.columns]
    }
}

pub const KINDS: [&str; 4] = ["wolf", "deer", "bear", "hare"];
