use device::cpu::Workers;
use gpu_kernels::{Batch, CommandOrder, Frame, Observer, ObserverChange, Target, TickOutput};
use script::builtin;
use shared::world::mix::Random;
use shared::{ClientRow, EntityId, Fixed, Tick, WorldConfig};

/// Frames in which every client moves: small steps that keep all entities inside the
/// map and evenly spread.
pub struct Moves {
    seed: u64,
    size: i32,
    /// How many of a hundred clients do anything in a tick.
    acting: u32,
    entities: Vec<EntityId>,
    positions: Vec<[i32; 2]>,
    frame: Frame,
    workers: Workers,
    /// One for each part of the clients.
    batches: Vec<Batch>,
    order: CommandOrder,
}

/// A client with its entity, at the beginning of a tick.
pub struct Actor<'a> {
    pub client: ClientRow,
    pub entity: EntityId,
    /// In raw units.
    pub position: [i32; 2],
    /// All entities, by slot.
    pub entities: &'a [EntityId],
}

impl Moves {
    /// Continues from the tick in which all entities were born.
    pub fn after_births(config: &WorldConfig, births: &TickOutput) -> anyhow::Result<Moves> {
        let born = births.births.iter().filter_map(|birth| birth.entity);
        let rows = births
            .birth_rows
            .chunks_exact(config.schema.attributes.len());
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        Ok(Moves {
            seed: config.seed,
            size: config.size_raw()[0],
            acting: 100,
            entities: born.collect(),
            positions: rows.map(|row| [row[0], row[1]]).collect(),
            frame: Frame::new(births.tick),
            workers: Workers::new(cores)?,
            batches: vec![],
            order: CommandOrder::new(),
        })
    }

    /// Lets only so many of a hundred clients do anything in a tick.
    pub fn set_acting(&mut self, percent: u32) {
        self.acting = percent;
    }

    /// The position of each entity, by slot, in raw units.
    pub fn positions(&self) -> &[[i32; 2]] {
        &self.positions
    }

    /// The tick of the next frame.
    pub fn next_tick(&self) -> Tick {
        self.frame.tick.next()
    }

    /// The next tick's frame. The first one also gives each client an observer that
    /// follows its own entity.
    pub fn next_frame(&mut self) -> &Frame {
        self.next_frame_with(|_, _, _| {})
    }

    /// Takes the last frame away, and gives the memory of another one for it.
    pub fn exchange(&mut self, mut memory: Frame) -> Frame {
        memory.reset(self.frame.tick);
        std::mem::replace(&mut self.frame, memory)
    }

    /// The same, with what `act` lets each client do beside moving.
    pub fn next_frame_with(
        &mut self,
        act: impl Fn(&Actor<'_>, &mut Random, &mut Batch) + Sync,
    ) -> &mut Frame {
        let tick = self.next_tick();
        self.frame.reset(tick);
        if tick == Tick(1) {
            self.observe();
        }
        let (seed, size, entities) = (self.seed, self.size, &self.entities);
        let acting = self.acting;
        let parts = self.positions.chunks_mut(CLIENTS_OF_A_PART);
        self.batches.resize_with(parts.len(), Batch::default);
        let tasks = parts.zip(&mut self.batches).enumerate().collect();
        self.workers.run(tasks, |(part, (positions, batch))| {
            batch.clear();
            for (client, position) in (part * CLIENTS_OF_A_PART..).zip(positions) {
                let entity = entities[client];
                let mut random = Random::new(seed, tick, entity);
                if acting < 100 && random.below(100) >= acting {
                    continue;
                }
                let step = position.map(|from| step_from(from, size, &mut random));
                batch.push(entity, tick.low(), builtin::MOVE, &step);
                let actor = Actor {
                    client: ClientRow(client as u32),
                    entity,
                    position: *position,
                    entities,
                };
                act(&actor, &mut random, batch);
                *position = [position[0] + step[0], position[1] + step[1]];
            }
        });
        let batches: Vec<&Batch> = self.batches.iter().collect();
        self.frame.append(&self.workers, &batches);
        self.order.order(&self.workers, &mut self.frame, seed);
        &mut self.frame
    }

    fn observe(&mut self) {
        for (client, &entity) in self.entities.iter().enumerate() {
            self.frame.observers.push(ObserverChange {
                client: ClientRow(client as u32),
                index: 0,
                observer: Some(Observer {
                    target: Target::Entity(entity),
                    radius: i32::MAX,
                }),
            });
        }
    }
}

/// A step along an axis, reflected at the edge of the map.
fn step_from(from: i32, size: i32, random: &mut Random) -> i32 {
    let length = 1 + random.below(Fixed::ONE.raw() as u32) as i32;
    let step = match random.below(2) {
        0 => length,
        _ => -length,
    };
    match (0..size).contains(&(from + step)) {
        true => step,
        false => -step,
    }
}

/// As many as take a thread some 100 µs.
const CLIENTS_OF_A_PART: usize = 4096;

#[cfg(test)]
mod tests {
    use gpu_kernels::{Backend, CpuBackend};
    use shared::InterestMode;

    use super::*;

    #[test]
    fn every_client_moves_and_stays_on_the_map() {
        // The map is so small that most entities are at an edge.
        let text = r#"
            [world]
            name = "moves"
            size = [2, 2]
            aoi = 1
            capacity = 100
            seed = 5
            visible_max = 0

            [limits]
            clients = 100
            deliveries_per_tick = 20000

            [[kind]]
            name = "client"
            population = 100
        "#;
        let mut config = world_file::parse(text, "a small world").unwrap();
        config.interest = InterestMode::Buckets;
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        let births = backend.tick(&frame).unwrap();
        let mut moves = Moves::after_births(&config, &births).unwrap();
        for _ in 0..20 {
            let before = moves.positions().to_vec();
            let output = backend.tick(moves.next_frame()).unwrap();
            assert_eq!(output.counts.changes, 200);
            for ((slot, _, values), before) in output.changes.iter().zip(before) {
                assert_eq!(values, moves.positions()[slot.index()]);
                assert_ne!(values, before);
            }
        }
    }
}
