//! What clients hold in the world beside their observer, because they asked for it:
//! who may have what, and what becomes of it while a client is away and once it is
//! gone. It does no I/O and reads no clock.

use std::collections::BTreeMap;

use gpu_kernels::content::listen::{Desk, SubscribeError};
use gpu_kernels::{Frame, Holder, Region, RegionChange};
use shared::config::REGIONS_PER_CLIENT_MAX;
use shared::wire::control::Ticket;
use shared::wire::session::{self, Body};
use shared::{ClientRow, EntityId, WorldConfig};

use crate::directory::Presence;

/// Everything that clients hold. As much as clients are allowed, and no more.
pub struct Holdings {
    config: WorldConfig,
    /// Where clients subscribe, if they can.
    desk: Option<Desk>,
    /// By client row, where something is held.
    held: BTreeMap<ClientRow, Held>,
}

/// What one client holds.
struct Held {
    /// Tells this client from the row's next one.
    ticket: Ticket,
    /// Its entity, as far as its regions and its subscriptions know.
    entity: Option<EntityId>,
    /// By index.
    regions: Vec<Option<Region>>,
    /// As bits, by index: what the world does not know of yet. It is told at the end of
    /// a tick, of each region once, so that a frame has room for all however often
    /// clients change their minds.
    changed: u64,
    /// The world has the regions: the client is there to see.
    is_set: bool,
    /// It has, or had, subscriptions.
    has_subscribed: bool,
}

impl Holdings {
    /// Nobody holds anything. Without a desk, clients can't subscribe.
    pub fn new(config: &WorldConfig, desk: Option<Desk>) -> Holdings {
        Holdings {
            config: config.clone(),
            desk,
            held: BTreeMap::new(),
        }
    }

    /// Grants what a connected client asks for, from the tick on whose frame
    /// [`follow`](Holdings::follow) makes next, or says why not.
    pub fn ask(
        &mut self,
        client: ClientRow,
        presence: &Presence,
        body: &Body,
    ) -> Result<(), String> {
        match body {
            Body::SetRegion { index, region } => {
                let region = self.region(*index, region.as_ref())?;
                let held = self.held(client, presence);
                held.regions[*index as usize] = region;
                held.changed |= 1 << index;
                Ok(())
            }
            Body::Subscribe { id, predicate } => {
                self.desk()?
                    .subscribe(client, *id, predicate)
                    .map_err(|error| match error {
                        SubscribeError::Text(error) => format!("the predicate: {error}"),
                        error => error.to_string(),
                    })?;
                self.note_subscriber(client, presence);
                Ok(())
            }
            Body::Unsubscribe { id } => {
                let ended = self.desk()?.unsubscribe(client, *id);
                ended.map_err(|error| error.to_string())
            }
        }
    }

    fn desk(&self) -> Result<&Desk, String> {
        let none = || "this world has no subscriptions".to_owned();
        self.desk.as_ref().ok_or_else(none)
    }

    fn note_subscriber(&mut self, client: ClientRow, presence: &Presence) {
        let held = self.held(client, presence);
        if std::mem::replace(&mut held.has_subscribed, true) {
            return;
        }
        let entity = held.entity;
        if let Some(desk) = &self.desk {
            desk.embody(client, entity);
        }
    }

    /// What a client holds; for now, that may be nothing.
    fn held(&mut self, client: ClientRow, presence: &Presence) -> &mut Held {
        let count = self.config.limits.regions_per_client as usize;
        self.held.entry(client).or_insert_with(|| Held {
            ticket: presence.ticket,
            entity: presence.entity,
            regions: vec![None; count],
            changed: 0,
            is_set: true,
            has_subscribed: false,
        })
    }

    /// The region as the world takes it.
    fn region(
        &self,
        index: u32,
        asked: Option<&session::Region>,
    ) -> Result<Option<Region>, String> {
        let count = self.config.limits.regions_per_client;
        if count == 0 {
            return Err("this world has no regions for clients".to_owned());
        }
        if index >= count {
            return Err(format!(
                "there is no region {index}: a client has {count}, from 0 on"
            ));
        }
        let Some(asked) = asked else {
            return Ok(None);
        };
        let region = Region {
            low: asked.low,
            high: asked.high,
            follows: asked.follows,
        };
        let region = region
            .check(&self.config)
            .map_err(|error| format!("the region: {error}"))?;
        let capacity = self.config.schema.world.capacity;
        match region.follows {
            Some(entity) if entity.slot.0 >= capacity => Err(format!(
                "the region follows slot {}, where the world has {capacity}",
                entity.slot.0
            )),
            _ => Ok(Some(region)),
        }
    }

    /// Tells the world what clients asked for. Takes their regions out of it while they
    /// are away, puts them back when they return, and drops all that clients hold when
    /// they are gone.
    /// What is tied to a client's own entity goes on with the next one when it is born
    /// anew. `presence` is who a row stands for.
    pub fn follow(&mut self, presence: impl Fn(ClientRow) -> Option<Presence>, frame: &mut Frame) {
        let desk = self.desk.as_ref();
        self.held.retain(|&client, held| {
            let desk = desk.filter(|_| held.has_subscribed);
            let presence = presence(client).filter(|p| p.ticket == held.ticket);
            held.show(presence.is_some_and(|p| p.is_connected));
            let Some(presence) = presence else {
                held.tell(client, frame);
                if let Some(desk) = desk {
                    desk.forget(client);
                }
                return false;
            };
            if held.go_on_as(presence.entity)
                && let Some(desk) = desk
            {
                desk.embody(client, presence.entity);
            }
            held.tell(client, frame);
            held.has_subscribed || held.regions.iter().any(Option::is_some)
        });
    }
}

impl Held {
    /// Puts its regions into the world, or takes them out.
    fn show(&mut self, is_set: bool) {
        if std::mem::replace(&mut self.is_set, is_set) == is_set {
            return;
        }
        for (index, region) in self.regions.iter().enumerate() {
            self.changed |= u64::from(region.is_some()) << index;
        }
    }

    /// The client acts as another entity; false where it is still the same.
    fn go_on_as(&mut self, entity: Option<EntityId>) -> bool {
        // While it is dead, it is still who it was.
        if entity.is_none() || entity == self.entity {
            return false;
        }
        let before = std::mem::replace(&mut self.entity, entity);
        for (index, region) in self.regions.iter_mut().enumerate() {
            if let Some(region) = region
                && region.follows.is_some()
                && region.follows == before
            {
                region.follows = entity;
                self.changed |= 1 << index;
            }
        }
        true
    }

    /// Tells the world what it does not know of yet.
    fn tell(&mut self, client: ClientRow, frame: &mut Frame) {
        for (index, region) in (0..).zip(&self.regions) {
            if self.changed >> index & 1 == 1 {
                frame.regions.push(RegionChange {
                    holder: Holder::Client { client, index },
                    region: region.filter(|_| self.is_set),
                });
            }
        }
        self.changed = 0;
    }
}

const _: () = assert!(REGIONS_PER_CLIENT_MAX <= u64::BITS);

#[cfg(test)]
mod tests {
    use gpu_kernels::content::listen::Listeners;
    use shared::Tick;

    use super::*;

    const ROW: ClientRow = ClientRow(3);

    /// By index, the low corner along the first axis and who is followed.
    type Changed = (u32, Option<(i32, Option<EntityId>)>);

    struct World {
        holdings: Holdings,
        frame: Frame,
        presence: Option<Presence>,
    }

    fn world() -> World {
        let text = "[world]\ncapacity = 8\n[limits]\nclients = 8\nregions_per_client = 2\n\
                    region_edge_max = 100\nsubscriptions_per_client = 2\npredicate_bytes = 40";
        let config = WorldConfig::parse(text, "test").unwrap();
        let listeners = Listeners::new(&config, 1, false).unwrap().unwrap();
        World {
            holdings: Holdings::new(&config, Some(listeners.desk())),
            frame: Frame::new(Tick(0)),
            presence: Some(Presence {
                ticket: [1; 16],
                is_connected: true,
                entity: Some(EntityId::new(5, 1)),
            }),
        }
    }

    impl World {
        fn ask(&mut self, index: u32, region: Option<session::Region>) -> Result<(), String> {
            self.ask_for(&Body::SetRegion { index, region })
        }

        fn subscribe(&mut self, id: u32, predicate: &str) -> Result<(), String> {
            let predicate = predicate.to_owned();
            self.ask_for(&Body::Subscribe { id, predicate })
        }

        fn subscriptions(&self) -> usize {
            self.holdings.desk.as_ref().unwrap().subscriptions()
        }

        fn ask_for(&mut self, body: &Body) -> Result<(), String> {
            let presence = self.presence.unwrap();
            self.holdings.ask(ROW, &presence, body)
        }

        /// What the next tick's frame changes.
        fn tick(&mut self) -> Vec<Changed> {
            let presence = self.presence;
            let of = |row| presence.filter(|_| row == ROW);
            self.holdings.follow(of, &mut self.frame);
            let changes = std::mem::take(&mut self.frame.regions).into_iter();
            changes
                .map(|change| {
                    let Holder::Client { client: ROW, index } = change.holder else {
                        panic!("{change:?}");
                    };
                    (index, change.region.map(|r| (r.low[0], r.follows)))
                })
                .collect()
        }

        fn change(&mut self, change: impl FnOnce(&mut Presence)) {
            change(self.presence.as_mut().unwrap());
        }
    }

    fn region(x: i32) -> session::Region {
        session::Region::fixed(&[x, 0], &[x + 10, 10])
    }

    #[test]
    fn regions_rest_while_their_client_is_away_and_end_with_it() {
        let mut world = world();
        world.ask(0, Some(region(1))).unwrap();
        world.ask(1, Some(region(2))).unwrap();
        world.ask(0, Some(region(3))).unwrap();
        let set = |index, x| (index, Some((x, None)));
        assert_eq!(world.tick(), [set(0, 3), set(1, 2)]);
        assert_eq!(world.tick(), []);
        world.change(|p| p.is_connected = false);
        assert_eq!(world.tick(), [(0, None), (1, None)]);
        assert_eq!(world.tick(), []);
        world.change(|p| p.is_connected = true);
        assert_eq!(world.tick(), [set(0, 3), set(1, 2)]);
        // Somebody else has the row now.
        world.change(|p| p.ticket = [2; 16]);
        assert_eq!(world.tick(), [(0, None), (1, None)]);
        assert!(world.holdings.held.is_empty());
        world.ask(1, Some(region(4))).unwrap();
        assert_eq!(world.tick(), [set(1, 4)]);
        world.presence = None;
        assert_eq!(world.tick(), [(1, None)]);
    }

    #[test]
    fn the_world_is_told_of_each_region_once_a_tick() {
        let mut world = world();
        for x in 0..100 {
            world.ask(0, Some(region(x))).unwrap();
            world.ask(1, (x < 99).then(|| region(x))).unwrap();
        }
        assert_eq!(world.tick(), [(0, Some((99, None))), (1, None)]);
        // Whoever goes takes along what it asked for last.
        world.ask(1, Some(region(5))).unwrap();
        world.presence = None;
        assert_eq!(world.tick(), [(0, None), (1, None)]);
    }

    #[test]
    fn what_follows_its_own_entity_goes_on_with_the_next() {
        let mut world = world();
        let [own, other, next] = [(5, 1), (6, 1), (2, 4)].map(|(s, g)| EntityId::new(s, g));
        world
            .ask(0, Some(session::Region::around(own, &[7, 7])))
            .unwrap();
        world
            .ask(1, Some(session::Region::around(other, &[9, 9])))
            .unwrap();
        world.tick();
        world.change(|p| p.entity = None);
        assert_eq!(world.tick(), []);
        world.change(|p| p.entity = Some(next));
        assert_eq!(world.tick(), [(0, Some((-7, Some(next))))]);
        assert_eq!(world.tick(), []);
    }

    #[test]
    fn subscriptions_outlast_a_lost_connection_and_end_with_their_client() {
        let mut world = world();
        world.subscribe(1, "x < 5").unwrap();
        world.subscribe(2, "y < 5").unwrap();
        world.ask_for(&Body::Unsubscribe { id: 1 }).unwrap();
        for is_connected in [true, false, true] {
            world.change(|p| p.is_connected = is_connected);
            assert_eq!(world.tick(), []);
            assert_eq!(world.subscriptions(), 1);
        }
        world.change(|p| p.ticket = [2; 16]);
        world.tick();
        assert_eq!(world.subscriptions(), 0);
        // Whoever has the row now may use the same numbers.
        world.subscribe(2, "x < 5").unwrap();
        world.presence = None;
        world.tick();
        assert_eq!(world.subscriptions(), 0);
        assert!(world.holdings.held.is_empty());
    }

    #[test]
    fn subscriptions_are_refused_with_the_reason() {
        let mut world = world();
        world.subscribe(1, "x < 5").unwrap();
        let long = "x < 5 && y < 5 && x > 0 && y > 0 && x != 3";
        let cases = [
            (1, "y < 5", "subscription 1 exists already: end it first"),
            (
                2,
                "x <",
                "the predicate: column 4: expected a number or a string in quotes, found the end",
            ),
            (
                2,
                "z == 1",
                "the predicate: column 1: no notification has \"z\": expected a declared name",
            ),
            (2, long, "a text of 42 bytes, where at most 40 are allowed"),
        ];
        for (id, text, reason) in cases {
            assert_eq!(world.subscribe(id, text), Err(reason.to_owned()));
        }
        world.subscribe(2, "x < 5").unwrap();
        let refusal = world.subscribe(3, "x < 5");
        let reason = "2 subscriptions already: end one first";
        assert_eq!(refusal, Err(reason.to_owned()));
        let refusal = world.ask_for(&Body::Unsubscribe { id: 7 });
        assert_eq!(refusal, Err("there is no subscription 7".to_owned()));
    }

    #[test]
    fn what_may_not_be_had_is_refused_with_the_reason() {
        let mut world = world();
        let large = 101 * 4096;
        let cases = [
            (
                2,
                region(0),
                "there is no region 2: a client has 2, from 0 on",
            ),
            (
                0,
                session::Region::fixed(&[0, 5], &[9, 5]),
                "the region: 5..5 on axis 1 is empty or inverted",
            ),
            (
                0,
                session::Region::fixed(&[0, 0], &[large, 5]),
                "the region: an edge of 413696 on axis 0 is longer than 409600",
            ),
            (
                0,
                session::Region::fixed(&[i32::MIN, 0], &[i32::MIN + 5, 5]),
                "the region: -2147483648..-2147483643 on axis 0 leaves -1073741824..1073741824",
            ),
            (
                1,
                session::Region::around(EntityId::new(8, 1), &[5, 5]),
                "the region follows slot 8, where the world has 8",
            ),
        ];
        for (index, region, reason) in cases {
            assert_eq!(world.ask(index, Some(region)), Err(reason.to_owned()));
        }
        assert_eq!(world.tick(), []);
    }
}
