use std::cell::RefCell;

use gpu_kernels::listen::Listeners;
use shared::Tick;

use super::*;

const ROW: ClientRow = ClientRow(3);

/// By index, the low corner along the first axis and the followed entity.
type Changed = (u32, Option<(i32, Option<EntityId>)>);

struct World {
    holdings: Holdings,
    frame: Frame,
    presence: Option<Presence>,
    /// Its value in the tick before.
    followed: Option<Presence>,
}

fn world() -> World {
    world_of(
        "[world]\ncapacity = 8\n[limits]\nclients = 8\nregions_per_client = 2\n\
         region_edge_max = 100\nsubscriptions_per_client = 2\npredicate_bytes = 40",
    )
}

fn world_of(text: &str) -> World {
    let config = world_file::parse(text, "test").unwrap();
    let listeners = Listeners::new(&config, 1, None).unwrap().unwrap();
    World {
        holdings: Holdings::new(&config, Some(listeners.registry())),
        frame: Frame::new(Tick(0)),
        presence: Some(Presence {
            ticket: [1; 16],
            is_connected: true,
            entity: Some(EntityId::new(5, 1)),
        }),
        followed: None,
    }
}

impl World {
    fn set_region(&mut self, index: u32, region: Option<request::Region>) -> Result<(), String> {
        self.request(&RequestBody::SetRegion { index, region })
    }

    fn subscribe(&mut self, id: u32, predicate: &str) -> Result<(), String> {
        let predicate = predicate.to_owned();
        self.request(&RequestBody::Subscribe { id, predicate })
    }

    fn subscriptions(&self) -> usize {
        self.holdings.registry.as_ref().unwrap().subscriptions()
    }

    fn request(&mut self, body: &RequestBody) -> Result<(), String> {
        let presence = self.presence.unwrap();
        let granted = self.holdings.grant(ROW, &presence, body);
        granted.map_err(|error| error.to_string())
    }

    /// The region changes in the next tick's frame.
    fn tick(&mut self) -> Vec<Changed> {
        let presence = self.presence;
        let presence_of = |row| presence.filter(|_| row == ROW);
        let is_new = std::mem::replace(&mut self.followed, presence) != presence;
        let changed = is_new.then_some(ROW);
        self.holdings.follow(changed, presence_of, &mut self.frame);
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

fn region(x: i32) -> request::Region {
    request::Region::fixed(&[x, 0], &[x + 10, 10])
}

#[test]
fn regions_are_taken_out_while_their_client_is_away_and_when_it_is_gone() {
    let mut world = world();
    world.set_region(0, Some(region(1))).unwrap();
    world.set_region(1, Some(region(2))).unwrap();
    world.set_region(0, Some(region(3))).unwrap();
    let set = |index, x| (index, Some((x, None)));
    assert_eq!(world.tick(), [set(0, 3), set(1, 2)]);
    assert_eq!(world.tick(), []);
    world.change(|p| p.is_connected = false);
    assert_eq!(world.tick(), [(0, None), (1, None)]);
    assert_eq!(world.tick(), []);
    world.change(|p| p.is_connected = true);
    assert_eq!(world.tick(), [set(0, 3), set(1, 2)]);
    // Another client has the row now.
    world.change(|p| p.ticket = [2; 16]);
    assert_eq!(world.tick(), [(0, None), (1, None)]);
    assert!(world.holdings.clients.is_empty());
    world.set_region(1, Some(region(4))).unwrap();
    assert_eq!(world.tick(), [set(1, 4)]);
    world.presence = None;
    assert_eq!(world.tick(), [(1, None)]);
}

#[test]
fn a_frame_has_each_changed_region_once() {
    let mut world = world();
    for x in 0..100 {
        world.set_region(0, Some(region(x))).unwrap();
        world.set_region(1, (x < 99).then(|| region(x))).unwrap();
    }
    assert_eq!(world.tick(), [(0, Some((99, None))), (1, None)]);
    // A request of a client that leaves in the same tick has no effect.
    world.set_region(1, Some(region(5))).unwrap();
    world.presence = None;
    assert_eq!(world.tick(), [(0, None), (1, None)]);
}

#[test]
fn a_tick_inspects_no_client_without_changes() {
    let mut world = world();
    let presence = world.presence.unwrap();
    let body = RequestBody::SetRegion {
        index: 0,
        region: Some(region(1)),
    };
    for client in [5, 2, 7].map(ClientRow) {
        world.holdings.grant(client, &presence, &body).unwrap();
    }
    let mut follow = |changed: &[u32]| {
        let asked = RefCell::new(vec![]);
        let presence_of = |client: ClientRow| {
            asked.borrow_mut().push(client.0);
            Some(presence)
        };
        let changed = changed.iter().copied().map(ClientRow);
        world
            .holdings
            .follow(changed, presence_of, &mut world.frame);
        asked.into_inner()
    };
    assert_eq!(follow(&[]), [2, 5, 7]);
    assert!(follow(&[]).is_empty());
    // Row 1 holds nothing.
    assert_eq!(follow(&[7, 1, 2, 7]), [2, 7]);
}

#[test]
fn a_region_around_the_own_entity_follows_the_next_one() {
    let mut world = world();
    let [own, other, next] = [(5, 1), (6, 1), (2, 4)].map(|(s, g)| EntityId::new(s, g));
    world
        .set_region(0, Some(request::Region::around(own, &[7, 7])))
        .unwrap();
    world
        .set_region(1, Some(request::Region::around(other, &[9, 9])))
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
    world.request(&RequestBody::Unsubscribe { id: 1 }).unwrap();
    for is_connected in [true, false, true] {
        world.change(|p| p.is_connected = is_connected);
        assert_eq!(world.tick(), []);
        assert_eq!(world.subscriptions(), 1);
    }
    world.change(|p| p.ticket = [2; 16]);
    world.tick();
    assert_eq!(world.subscriptions(), 0);
    // The next client with the row may use the same numbers.
    world.subscribe(2, "x < 5").unwrap();
    world.presence = None;
    world.tick();
    assert_eq!(world.subscriptions(), 0);
    assert!(world.holdings.clients.is_empty());
}

#[test]
fn subscriptions_are_rejected_with_the_reason() {
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
            "the predicate: column 1: expected a name that this world declares, found `z`",
        ),
        (2, long, "a text of 42 bytes, where at most 40 are allowed"),
    ];
    for (id, text, reason) in cases {
        assert_eq!(world.subscribe(id, text), Err(reason.to_owned()));
    }
    world.subscribe(2, "x < 5").unwrap();
    let rejection = world.subscribe(3, "x < 5");
    let reason = "2 subscriptions already: end one first";
    assert_eq!(rejection, Err(reason.to_owned()));
    let rejection = world.request(&RequestBody::Unsubscribe { id: 7 });
    assert_eq!(rejection, Err("there is no subscription 7".to_owned()));
}

#[test]
fn regions_are_rejected_with_the_reason() {
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
            request::Region::fixed(&[0, 5], &[9, 5]),
            "the region: 5..5 on axis 1 is empty or inverted",
        ),
        (
            0,
            request::Region::fixed(&[0, 0], &[large, 5]),
            "the region: an edge of 413696 on axis 0 is longer than 409600",
        ),
        (
            0,
            request::Region::fixed(&[i32::MIN, 0], &[i32::MIN + 5, 5]),
            "the region: -2147483648..-2147483643 on axis 0 leaves -1073741824..1073741824",
        ),
        (
            1,
            request::Region::around(EntityId::new(8, 1), &[5, 5]),
            "the region follows slot 8, where the world has 8",
        ),
    ];
    for (index, region, reason) in cases {
        assert_eq!(
            world.set_region(index, Some(region)),
            Err(reason.to_owned())
        );
    }
    assert_eq!(world.tick(), []);
}

#[test]
fn regions_may_cover_a_share_of_a_tick_by_the_number_of_clients_that_have_some() {
    let mut world = world_of(
        "[world]\nsize = [1000, 1000]\naoi = 10\ncapacity = 60000\n[limits]\nclients = 8\n\
         regions_per_client = 64\nregion_edge_max = 100\nsubscriptions_per_client = 1",
    );
    let large = |x: i32| {
        let [low, high] = [x, x + 100].map(|x| x * 4096);
        Some(request::Region::fixed(&[low, 0], &[high, 100 * 4096]))
    };
    // A client alone may have all that its world allows.
    for index in 0..64 {
        world.set_region(index, large(index as i32)).unwrap();
    }
    assert_eq!(world.holdings.with_regions, 1);
    world.tick();
    // Beside others it keeps them, but gets no more; small ones have room for a long time.
    world.holdings.with_regions = 2000;
    let refused = world.set_region(0, large(7)).unwrap_err();
    // 12 by 12 squares with 6 entities each, and the squares; four of them are always allowed.
    assert_eq!(
        refused,
        format!(
            "regions that touch {} entities in each tick, where a client's part is {} now: drop \
             or shorten one first",
            64 * 12 * 12 * 7,
            4 * 12 * 12 * 7
        )
    );
    assert_eq!(world.tick(), []);
    for index in 4..64 {
        world.set_region(index, None).unwrap();
    }
    world.set_region(0, large(7)).unwrap();
    world.set_region(4, Some(region(1))).unwrap_err();
    world.set_region(3, Some(region(1))).unwrap();
    world.set_region(4, Some(region(1))).unwrap();
    assert_eq!(world.holdings.with_regions, 2000);
    for index in 0..5 {
        world.set_region(index, None).unwrap();
    }
    assert_eq!(world.holdings.with_regions, 1999);
    world.set_region(1, large(1)).unwrap();
    world.presence = None;
    world.tick();
    assert_eq!(world.holdings.with_regions, 1999);
}
