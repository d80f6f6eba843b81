use gpu_kernels::{Frame, Observer, ObserverChange, Target, TickOutput};
use shared::mix::Random;
use shared::{ClientRow, CommandKind, EntityId, Fixed, Tick, WorldConfig};

/// One cell of table 4-4.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The map's side in units.
    pub map: u32,
    /// The AOI's radius and the bucket's edge in units.
    pub aoi: u32,
    pub clients: u32,
    pub seed: u64,
}

impl Scenario {
    /// The world: entities with nothing but a position, as many as clients, and
    /// limits that nothing reaches.
    pub fn config(&self) -> anyhow::Result<WorldConfig> {
        let Scenario {
            map,
            aoi,
            clients,
            seed,
        } = self;
        let text = format!(
            r#"
            [world]
            name = "thesis"
            size = [{map}, {map}]
            aoi = {aoi}
            capacity = {clients}
            seed = {seed}
            visible_max = 0
            interest = "buckets"

            [limits]
            clients = {clients}
            commands_per_tick = {clients}
            updates_per_tick = {updates}
            deliveries_per_tick = {deliveries}

            [[kind]]
            name = "client"
            population = {clients}
            "#,
            updates = clients * 2,
            deliveries = self.deliveries_max(),
        );
        Ok(WorldConfig::parse(&text, "the thesis's world")?)
    }

    /// How many deliveries even the unluckiest spread stays below: twice those
    /// of an even one, and some.
    pub fn deliveries_max(&self) -> u64 {
        let (clients, map, aoi) = (
            f64::from(self.clients),
            f64::from(self.map),
            f64::from(self.aoi),
        );
        let neighbourhood = (9.0 * aoi * aoi / (map * map)).min(1.0);
        let expected = clients * (1.0 + clients * neighbourhood);
        (2.0 * expected) as u64 + 16 * u64::from(self.clients)
    }
}

/// The frames of a scenario: small steps that keep everyone inside the map and
/// the spread even.
pub struct Moves {
    seed: u64,
    size: i32,
    entities: Vec<EntityId>,
    positions: Vec<[i32; 2]>,
    frame: Frame,
}

/// Who acts, as things are when the tick begins.
pub struct Actor<'a> {
    pub client: ClientRow,
    pub entity: EntityId,
    /// In raw units.
    pub position: [i32; 2],
    /// Everyone, by slot.
    pub entities: &'a [EntityId],
}

impl Moves {
    /// Goes on from the tick in which everyone was born.
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

    /// Where everyone is, by slot, in raw units.
    pub fn positions(&self) -> &[[i32; 2]] {
        &self.positions
    }

    /// The next tick's frame. The first one also gives each client its observer:
    /// it follows the client's own entity.
    pub fn next_frame(&mut self) -> &Frame {
        self.next_frame_with(|_, _, _| {})
    }

    /// The same, with what each client does beside moving.
    pub fn next_frame_with(
        &mut self,
        mut act: impl FnMut(&Actor<'_>, &mut Random, &mut Frame),
    ) -> &Frame {
        let tick = self.frame.tick.next();
        self.frame.reset(tick);
        if tick == Tick(1) {
            self.observe();
        }
        let everyone = self.entities.iter().zip(&mut self.positions);
        for (client, (entity, position)) in everyone.enumerate() {
            let mut random = Random::new(self.seed, tick, *entity);
            let step = position.map(|from| {
                let length = 1 + random.below(Fixed::ONE.raw() as u32) as i32;
                let step = if random.below(2) == 0 {
                    length
                } else {
                    -length
                };
                // At the edge of the map it is reflected.
                match (0..self.size).contains(&(from + step)) {
                    true => step,
                    false => -step,
                }
            });
            self.frame.push(*entity, tick.0, CommandKind::Move, &step);
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
        &self.frame
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
    fn every_client_moves_and_none_leaves_the_map() {
        // A map so small that everyone is at an edge most of the time.
        let scenario = Scenario {
            map: 2,
            aoi: 1,
            clients: 100,
            seed: 5,
        };
        let config = scenario.config().unwrap();
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
