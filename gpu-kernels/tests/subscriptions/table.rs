//! A small world that is played by hand.

use gpu_kernels::{
    Delivery, Frame, Holder, Observer, ObserverChange, Region, RegionChange, Target,
};
use script::builtin;
use shared::{ClientRow, CommandKind, EntityId, InterestMode, Tick};
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::without_limits;

pub const UNIT: i32 = 4096;

/// A world on all backends that is played by hand.
pub struct Table {
    pub parity: Parity,
    pub frame: Frame,
}

impl Table {
    /// A world of regions; `limits` are further lines of `[limits]`, and what follows.
    pub fn new(world: &str, limits: &str) -> Table {
        Table::without_regions(world, &format!("regions_per_client = 2\n{limits}"))
    }

    /// As [`Table::new`], without regions.
    pub fn without_regions(world: &str, limits: &str) -> Table {
        Table::of(world, limits, InterestMode::Exact)
    }

    /// As [`Table::without_regions`], and observers see whole buckets.
    pub fn with_whole_buckets(limits: &str) -> Table {
        Table::of("", limits, InterestMode::Buckets)
    }

    fn of(world: &str, limits: &str, interest: InterestMode) -> Table {
        let text = format!(
            "[world]\nsize = [1000.0, 1000.0]\naoi = 10.0\ncapacity = 8\n{world}\n\
             [limits]\nclients = 2\n{limits}"
        );
        let config = world_file::parse(&text, "test");
        let mut config = config.unwrap_or_else(|error| panic!("{error}"));
        config.interest = interest;
        Table {
            // Some give many commands in a tick.
            parity: Parity::new(&without_limits(&config)),
            frame: Frame::new(Tick(0)),
        }
    }

    /// A birth at a place in raw units.
    pub fn birth(&mut self, place: [i32; 2]) {
        self.frame.spawn_at(0, 0, &place);
    }

    pub fn watch(&mut self, index: u32, target: Option<Target>) {
        self.frame.observers.push(ObserverChange {
            client: ClientRow(0),
            index,
            observer: target.map(|target| Observer {
                target,
                radius: 10 * UNIT,
            }),
        });
    }

    pub fn set_region(&mut self, holder: Holder, region: Region) {
        self.frame.regions.push(RegionChange {
            holder,
            region: Some(region),
        });
    }

    pub fn drop_region(&mut self, holder: Holder) {
        self.frame.regions.push(RegionChange {
            holder,
            region: None,
        });
    }

    pub fn command(&mut self, entity: EntityId, kind: CommandKind, words: &[i32]) {
        self.frame.push(entity, 0, kind, words);
    }

    /// A shout of an entity; the radius is in raw units.
    pub fn shout(&mut self, slot: u32, radius: i32, number: i32) {
        // Shouts come in the order of the calls.
        let sequence = self.frame.commands.len() as u32;
        self.frame
            .push(entity(slot), sequence, builtin::SHOUT, &[radius, number]);
    }

    /// Runs the tick, and gives the numbers of the shouts that the first client hears,
    /// ascending.
    pub fn heard(&mut self) -> Vec<i32> {
        let [mut heard, _] = self.heard_by_all();
        heard.sort_unstable();
        heard
    }

    /// As [`Table::heard`] for both clients, in the order of the hearings.
    pub fn heard_by_all(&mut self) -> [Vec<i32>; 2] {
        let output = self.tick();
        [0, 1].map(|client| {
            let heard = output.hearings.get(&client).into_iter().flatten();
            heard
                .map(|&i| output.notifications[i as usize].words()[0])
                .collect()
        })
    }

    /// Runs the tick, and gives the first client's deliveries, without their tiers.
    pub fn deliveries(&mut self) -> Vec<Delivery> {
        let output = self.tick();
        let deliveries = output.deliveries.get(&0).into_iter().flatten();
        deliveries
            .map(|delivery| Delivery::new(delivery.kind(), delivery.slot().0))
            .collect()
    }

    pub fn tick(&mut self) -> OracleOutput {
        let output = self.parity.tick(&self.frame);
        let next = self.frame.tick.next();
        self.frame.reset(next);
        output
    }
}

pub fn entity(slot: u32) -> EntityId {
    EntityId::new(slot, 1)
}

/// The first client's first region.
pub const OWN: Holder = Holder::Client {
    client: ClientRow(0),
    index: 0,
};

pub fn fixed(low: [i32; 2], high: [i32; 2]) -> Region {
    Region {
        low: [low[0], low[1], 7],
        high: [high[0], high[1], -7],
        follows: None,
    }
}

pub fn following(entity: EntityId, half: i32) -> Region {
    Region {
        low: [-half; 3],
        high: [half; 3],
        follows: Some(entity),
    }
}

pub fn enter(slot: u32) -> Delivery {
    Delivery::new(Delivery::ENTER, slot)
}

pub fn update(slot: u32) -> Delivery {
    Delivery::new(Delivery::UPDATE, slot)
}

pub fn leave(slot: u32) -> Delivery {
    Delivery::new(Delivery::LEAVE, slot)
}
