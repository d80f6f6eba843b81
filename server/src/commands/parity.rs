//! `myriad doctor --parity`: the same random worlds on the processor and on the GPU,
//! compared after every tick.

use anyhow::{Context, Result, bail};
use gpu_kernels::{Backend, CpuBackend, Frame, Observer, ObserverChange, Target, TickOutput};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shared::{ClientRow, CommandKind, EntityId, Tick, WorldConfig};

use super::difference::differing_parts;
use crate::tick::backend::{BackendChoice, start_backend};

/// Runs random worlds, and says what was compared. An error says where the backends differ.
pub fn check(worlds: u32, ticks: u32, threads: usize, seed: u64) -> Result<String> {
    let mut compared = Compared::default();
    let mut device = String::new();
    for world in 0..worlds {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(u64::from(world)));
        let config = random_world(&mut dice, world)?;
        let started = start_backend(BackendChoice::Cuda, &config, threads, None)?;
        device = started.description;
        let mut gpu = started.backend;
        let mut cpu = CpuBackend::new(&config, threads, None)?;
        let mut game = Game::new(&config, dice);
        for _ in 0..ticks {
            let frame = game.frame();
            let expected = cpu.tick(&frame)?;
            let found = gpu.tick(&frame)?;
            compare(&config, &expected, &found)
                .with_context(|| format!("world {world} (seed {seed}), tick {}", frame.tick))?;
            compared.ticks += 1;
            compared.commands += expected.counts.applied;
            compared.deliveries += expected.counts.deliveries;
            game.observe(&expected.births, &expected.deaths);
        }
    }
    Ok(format!(
        "cpu and {device} agree: {worlds} worlds, {} ticks, {} commands, {} deliveries",
        compared.ticks, compared.commands, compared.deliveries
    ))
}

fn compare(config: &WorldConfig, cpu: &TickOutput, cuda: &TickOutput) -> Result<()> {
    if cpu.hash != cuda.hash {
        let parts = differing_parts(&config.schema, &cpu.hash, &cuda.hash);
        bail!("the states differ in {parts}");
    }
    for client in (0..config.limits.clients).map(ClientRow) {
        if cpu.deliveries.of(client) != cuda.deliveries.of(client) {
            bail!("the deliveries to client {} differ", client.0);
        }
    }
    if cpu.counts != cuda.counts {
        bail!("{:?} on cpu, {:?} on cuda", cpu.counts, cuda.counts);
    }
    Ok(())
}

#[derive(Default)]
struct Compared {
    ticks: u64,
    commands: u64,
    deliveries: u64,
}

/// A small world that differs from others in size, shape and limits.
fn random_world(dice: &mut Xoshiro256PlusPlus, number: u32) -> Result<WorldConfig> {
    let mut below = |n: u64| dice.next_u64() % n;
    let capacity = 64 + below(4000);
    let side = 50 + below(2000);
    let size = match number % 3 {
        2 => format!("[{side}, {side}, {}]", 20 + below(300)),
        _ => format!("[{side}, {}]", 50 + below(2000)),
    };
    let text = format!(
        r#"
        [world]
        size = {size}
        aoi = {aoi}
        capacity = {capacity}
        seed = {seed}
        visible_max = {visible}
        interest = "{interest}"
        [limits]
        clients = {clients}
        observers_per_client = 2
        [commands]
        blast.ember_ticks = {ember_ticks}
        [[kind]]
        name = "player"
        attributes = [
            {{ name = "hp", type = "i32", default = 100, min = 0, max = 100, audience = "state" }},
            {{ name = "secret", type = "i32", audience = "hidden" }},
        ]
        [[kind]]
        name = "item"
        population = {items}
        attributes = [{{ name = "owner", type = "entity", merge = "first", audience = "state" }}]
        [[kind]]
        name = "npc"
        population = {items}
        respawn_ticks = {respawn_ticks}
        attributes = [{{ name = "hp", type = "i32", default = 50, min = 0, max = 50, audience = "state" }}]
        [[every]]
        kind = "npc"
        ticks = 3
        command = "roam"
        "#,
        aoi = 5 + below(100),
        seed = below(1 << 40),
        visible = [1, 8, 64, 256, 1024][below(5) as usize],
        interest = ["exact", "buckets"][below(2) as usize],
        clients = 1 + capacity / 2,
        ember_ticks = below(4),
        respawn_ticks = 1 + below(9),
        items = capacity / 8,
    );
    Ok(WorldConfig::parse(&text, "a random world")?)
}

/// Plays at random.
struct Game<'a> {
    config: &'a WorldConfig,
    dice: Xoshiro256PlusPlus,
    tick: Tick,
    alive: Vec<EntityId>,
    dead: Vec<EntityId>,
    sequence: u32,
}

impl Game<'_> {
    fn new(config: &WorldConfig, dice: Xoshiro256PlusPlus) -> Game<'_> {
        Game {
            config,
            dice,
            tick: Tick(0),
            alive: vec![],
            dead: vec![],
            sequence: 0,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        (self.dice.next_u64() % n.max(1) as u64) as usize
    }

    fn frame(&mut self) -> Frame {
        let mut frame = Frame::new(self.tick);
        self.tick = self.tick.next();
        if frame.tick.0 == 0 {
            frame.populate(self.config);
            for token in 0..self.config.schema.world.capacity / 2 {
                frame.spawn(0, token);
            }
            return frame;
        }
        for dead in std::mem::take(&mut self.dead) {
            frame.release.push(dead.slot);
        }
        for _ in 0..self.alive.len() {
            self.command(&mut frame);
        }
        for _ in 0..self.below(20) {
            let client = ClientRow(self.below(self.config.limits.clients as usize) as u32);
            let observer = self.observer();
            frame.observers.push(ObserverChange {
                client,
                index: self.below(2) as u32,
                observer,
            });
            if self.below(20) == 0 {
                frame.forget.push(client);
            }
        }
        if frame.tick.0 == 1 {
            for client in 0..self.config.limits.clients {
                let observer = self.observer();
                frame.observers.push(ObserverChange {
                    client: ClientRow(client),
                    index: 0,
                    observer,
                });
            }
        }
        frame.order(self.config.seed);
        frame
    }

    fn command(&mut self, frame: &mut Frame) {
        let i = self.below(self.alive.len());
        let j = self.below(self.alive.len());
        let (own, other) = (self.alive[i], self.alive[j]);
        let dimensions = self.config.dimensions();
        self.sequence += 1;
        let kind = [
            CommandKind::Move,
            CommandKind::Strike,
            CommandKind::Heal,
            CommandKind::Pick,
            CommandKind::Blast,
        ][[0, 0, 0, 1, 1, 2, 3, 4][self.below(8)]];
        let words: Vec<i32> = match kind {
            CommandKind::Move => (0..dimensions)
                .map(|_| self.below(16_384) as i32 - 8192)
                .collect(),
            CommandKind::Blast => (0..dimensions)
                .map(|axis| self.below(self.config.size_raw()[axis] as usize) as i32)
                .collect(),
            _ => vec![other.reference().0],
        };
        match self.below(400) {
            0 => frame.push(own, self.sequence, CommandKind::Despawn, &[]),
            1 => frame.spawn(0, self.sequence),
            _ => frame.push(own, self.sequence, kind, &words),
        }
    }

    fn observer(&mut self) -> Option<Observer> {
        let i = self.below(self.alive.len());
        let target = match (self.below(6), self.alive.get(i)) {
            (0, _) | (_, None) => Target::Point(
                self.config
                    .size_raw()
                    .map(|size| self.below(size as usize) as i32),
            ),
            (1, _) => return None,
            (_, Some(&entity)) => Target::Entity(entity),
        };
        let aoi = self.config.schema.world.aoi.raw();
        Some(Observer {
            target,
            radius: aoi - self.below(aoi as usize / 2) as i32,
        })
    }

    fn observe(&mut self, births: &[gpu_kernels::Birth], deaths: &[EntityId]) {
        self.alive.retain(|entity| !deaths.contains(entity));
        self.alive.extend(births.iter().filter_map(|b| b.entity));
        self.dead.extend_from_slice(deaths);
    }
}
