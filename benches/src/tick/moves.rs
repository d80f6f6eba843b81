use gpu_kernels::{Frame, Observer, ObserverChange, Target, TickOutput};
use script::builtin;
use shared::world::mix::Random;
use shared::{ClientRow, EntityId, Fixed, Tick, WorldConfig};

/// Frames in which every client moves: small steps that keep all entities inside the
/// map and evenly spread.
pub struct Moves {
    seed: u64,
    size: i32,
    entities: Vec<EntityId>,
    positions: Vec<[i32; 2]>,
    frame: Frame,
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
    pub fn after_births(config: &WorldConfig, births: &TickOutput) -> Moves {
        let born = births.births.iter().filter_map(|birth| birth.entity);
        let rows = births
            .birth_rows
            .chunks_exact(config.schema.attributes.len());
        Moves {
            seed: config.seed,
            size: config.size_raw()[0],
            entities: born.collect(),
            positions: rows.map(|row| [row[0], row[1]]).collect(),
            frame: Frame::new(births.tick),
        }
    }

    /// The position of each entity, by slot, in raw units.
    pub fn positions(&self) -> &[[i32; 2]] {
        &self.positions
    }

    /// The next tick's frame. The first one also gives each client an observer that
    /// follows its own entity.
    pub fn next_frame(&mut self) -> &Frame {
        self.next_frame_with(|_, _, _| {})
    }

    /// The same, with what `act` lets each client do beside moving.
    pub fn next_frame_with(
        &mut self,
        mut act: impl FnMut(&Actor<'_>, &mut Random, &mut Frame),
    ) -> &mut Frame {
        let tick = self.frame.tick.next();
        self.frame.reset(tick);
        if tick == Tick(1) {
            self.observe();
        }
        let actors = self.entities.iter().zip(&mut self.positions);
        for (client, (entity, position)) in actors.enumerate() {
            let mut random = Random::new(self.seed, tick, *entity);
            let step = position.map(|from| {
                let length = 1 + random.below(Fixed::ONE.raw() as u32) as i32;
                let step = if random.below(2) == 0 {
                    length
                } else {
                    -length
                };
                // Steps are reflected at the edge of the map.
                match (0..self.size).contains(&(from + step)) {
                    true => step,
                    false => -step,
                }
            });
            self.frame.push(*entity, tick.low(), builtin::MOVE, &step);
            let actor = Actor {
                client: ClientRow(client as u32),
                entity: *entity,
                position: *position,
                entities: &self.entities,
            };
            act(&actor, &mut random, &mut self.frame);
            *position = [position[0] + step[0], position[1] + step[1]];
        }
        self.frame.order(self.seed);
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

#[cfg(test)]
mod tests {
    use gpu_kernels::{Backend, CpuBackend};

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
            interest = "buckets"

            [limits]
            clients = 100
            deliveries_per_tick = 20000

            [[kind]]
            name = "client"
            population = 100
        "#;
        let config = script::world::parse(text, "a small world").unwrap();
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        let births = backend.tick(&frame).unwrap();
        let mut moves = Moves::after_births(&config, &births);
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
