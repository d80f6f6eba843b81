//! What subscriptions may cost in a tick, and that no client pays for those of another.

use std::collections::BTreeMap;

use gpu_kernels::listen::{Costs, Listeners, Notice};
use gpu_kernels::{Backend, CpuBackend, Frame};
use shared::{ClientRow, EntityId, Tick, WorldConfig};

use crate::listen::direct::Value;
use crate::listen::game::Game;
use crate::listen::mirror::Mirror;

/// Clients whose subscriptions match every change, or almost.
const GREEDY: u32 = 10;
const SUBSCRIPTIONS: u32 = 16;
const FILTERS: usize = 16;
/// A client that wants two entities.
const HONEST: u32 = 19;
const ENTITIES: u32 = 1000;

/// All entities move in every tick.
fn meadow(tick_hz: u32, notices: u32) -> WorldConfig {
    let text = format!(
        "[world]\nsize = [200, 200]\ntick_hz = {tick_hz}\ncapacity = {ENTITIES}\nvisible_max = 1\n\
         [limits]\nsubscriptions_per_client = {SUBSCRIPTIONS}\nclients = 20\n\
         client_notices_per_tick = {notices}\n[[kind]]\nname = \"sheep\"\n\
         population = {ENTITIES}\n[[every]]\nkind = \"sheep\"\nticks = 1\ncommand = \"roam\"\n"
    );
    world_file::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"))
}

/// A world whose listeners have different numbers of threads, without an oracle.
struct Play {
    backend: CpuBackend,
    mirror: Mirror,
    config: WorldConfig,
    listeners: [Listeners; 2],
    tick: u64,
}

/// The result of a tick.
struct Heard {
    notices: BTreeMap<u32, Vec<(Notice, Vec<u32>)>>,
    cut: Vec<u32>,
    costs: Costs,
    changes: u64,
}

impl Play {
    fn new(config: &WorldConfig) -> Play {
        let listeners = [1, 3].map(|threads| {
            let listeners = Listeners::new(config, threads, None).unwrap();
            listeners.expect("clients may subscribe")
        });
        let mut play = Play {
            backend: CpuBackend::new(config, 1, None).unwrap(),
            mirror: Mirror::new(config),
            config: config.clone(),
            listeners,
            tick: 0,
        };
        let mut frame = Frame::new(Tick(0));
        frame.populate(config);
        play.run(&frame);
        play
    }

    fn subscribe(&self, client: u32, id: u32, text: &str) {
        for listeners in &self.listeners {
            let subscribed = listeners.registry().subscribe(ClientRow(client), id, text);
            subscribed.unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    fn unsubscribe(&self, client: u32, id: u32) {
        for listeners in &self.listeners {
            let registry = listeners.registry();
            registry.unsubscribe(ClientRow(client), id).unwrap();
        }
    }

    fn next(&mut self) -> Heard {
        let frame = Frame::new(Tick(self.tick));
        self.run(&frame)
    }

    fn run(&mut self, frame: &Frame) -> Heard {
        self.tick += 1;
        let output = self.backend.tick(frame).expect("the frame is accepted");
        let mirror = &self.mirror;
        let heard = self.listeners.each_mut().map(|listeners| {
            let notices = listeners.listen(&output, mirror);
            let rows = (0..20).map(ClientRow);
            let of = |client: ClientRow| {
                let own = notices.of(client);
                let own = own.map(|own| (own.notice, own.subscriptions.to_vec()));
                (client.0, own.collect())
            };
            Heard {
                notices: rows.clone().map(of).collect(),
                cut: rows.filter(|&c| notices.is_cut(c)).map(|c| c.0).collect(),
                costs: listeners.costs(),
                changes: output.counts.changes,
            }
        });
        self.mirror.apply(&self.config, &output);
        let [one, three] = heard;
        assert_eq!(one.notices, three.notices, "on one and three threads");
        assert_eq!(one.cut, three.cut);
        assert_eq!(one.costs, three.costs);
        one
    }
}

fn of_entity(slot: u32) -> String {
    format!("entity == {}", EntityId::new(slot, 1).reference().0)
}

/// The filter of this number, which all changes match.
fn matches_all(number: usize) -> String {
    format!("x > -{}", number + 1)
}

fn joined(filter: impl Fn(usize) -> String) -> String {
    (0..FILTERS).map(filter).collect::<Vec<_>>().join(" || ")
}

#[test]
fn clients_that_match_everything_cost_no_more_than_their_first_notices() {
    let mut game = Game::new(&meadow(10, 64));
    let mut frame = Frame::new(Tick(0));
    frame.populate(&game.config);
    game.tick(&frame);
    // The oracle compares one filter of each only, as all match the same.
    for client in 0..GREEDY {
        for id in 0..SUBSCRIPTIONS {
            assert!(game.subscribe(client, id, vec![vec![]]));
        }
    }
    let entity = |slot| f64::from(EntityId::new(slot, 1).reference().0);
    let honest = [0, 999].map(|slot| {
        let name = "entity".to_owned();
        vec![(name, "==", Value::Number(entity(slot)))]
    });
    assert!(game.subscribe(HONEST, 7, honest.to_vec()));
    let mut changes = 0;
    for tick in 1..4 {
        let (output, notices) = game.tick(&Frame::new(Tick(tick)));
        changes = output.counts.changes;
        assert!(changes > 1500);
        assert!((2..=4).contains(&notices[&HONEST].len()));
        assert!((0..GREEDY).all(|client| notices[&client].len() == 64));
    }
    for (label, listeners) in &game.listeners {
        let costs = listeners.costs();
        assert_eq!(costs.clients_apart, GREEDY as usize, "{label}");
        // What is left are the two filters of the honest client.
        assert!(costs.together < 3 * changes, "{label}: {costs:?}");
        // Each looks at its 16 subscriptions and a condition of each for 64 events.
        let each = 64 * (1 + 2 * u64::from(SUBSCRIPTIONS));
        assert!(
            costs.apart <= u64::from(GREEDY) * each,
            "{label}: {costs:?}"
        );
    }
}

#[test]
fn a_client_at_its_limit_costs_nothing_more_within_the_same_tick() {
    let mut play = Play::new(&meadow(10, 64));
    for client in 0..GREEDY {
        for id in 0..SUBSCRIPTIONS {
            play.subscribe(
                client,
                id,
                &joined(|n| matches_all(n + FILTERS * id as usize)),
            );
        }
    }
    play.subscribe(HONEST, 1, &of_entity(999));
    let filters = u64::from(GREEDY * SUBSCRIPTIONS) * FILTERS as u64;
    let first = play.next();
    assert_eq!(first.notices[&0].len(), 64);
    assert!(!first.notices[&HONEST].is_empty());
    // Batches are as long as filters allow, and clients are out of the next one.
    let batches = first.costs.together as f64 / (1u64 << 20) as f64;
    let all = (filters * first.changes) as f64 / (1u64 << 20) as f64;
    assert!(batches < 1.5 && all > 3.0, "{batches} of {all}");
    let next = play.next();
    assert!(next.costs.together < 2 * next.changes, "{:?}", next.costs);
    assert_eq!(next.costs.clients_apart, GREEDY as usize);
    assert!(next.cut.is_empty());
}

#[test]
fn filters_that_never_match_have_an_equal_share_and_take_nothing_from_others() {
    const TICK_HZ: u32 = 100;
    let mut play = Play::new(&meadow(TICK_HZ, 64));
    // No index excludes them, and none is true.
    let filter = |n: usize| format!("x != {n}.5 && y != {n}.5 && new != 7.25 && old > 5000");
    for client in 0..GREEDY {
        for id in 0..SUBSCRIPTIONS {
            play.subscribe(client, id, &joined(|n| filter(n + FILTERS * id as usize)));
        }
    }
    play.subscribe(HONEST, 1, &of_entity(0));
    play.subscribe(HONEST, 2, &of_entity(999));
    let budget = (1 << 24) / u64::from(TICK_HZ);
    // What the last event costs a client beyond its share.
    let slack = u64::from(GREEDY * SUBSCRIPTIONS) * (2 + 4 * FILTERS as u64);
    for tick in 0..12 {
        let heard = play.next();
        assert!(
            (2..=4).contains(&heard.notices[&HONEST].len()),
            "tick {tick}"
        );
        assert!(heard.costs.apart <= budget + slack, "{:?}", heard.costs);
        if tick > 0 {
            assert!(
                heard.costs.together < 3 * heard.changes,
                "{:?}",
                heard.costs
            );
            // They are sent that there may have been more.
            assert_eq!(heard.cut, (0..GREEDY).collect::<Vec<_>>(), "tick {tick}");
        }
    }
}

#[test]
fn a_client_with_a_cheap_and_a_dear_neighbour_apart_has_what_they_leave() {
    let mut play = Play::new(&meadow(1000, 20));
    let share = (1u64 << 24) / 1000 / 4;
    // All four are at their limits at first, and so apart.
    for client in 0..4 {
        play.subscribe(client, 0, "true");
    }
    play.next();
    assert_eq!(play.next().costs.clients_apart, 4);
    // One of them then wants what is found late: more than its share pays for.
    play.subscribe(0, 1, "old > 1000000");
    play.subscribe(0, 9, &of_entity(ENTITIES - 1));
    play.unsubscribe(0, 0);
    let heard = play.next();
    assert!(heard.cut.is_empty());
    assert!(heard.costs.apart > share + 3 * 20 * 3, "{:?}", heard.costs);
    let own = &heard.notices[&0];
    assert!(
        !own.is_empty() && own.iter().all(|(_, ids)| ids == &[9]),
        "{own:?}"
    );
}

#[test]
fn a_client_is_matched_with_all_others_again_and_forgotten_once_it_has_gone() {
    let mut play = Play::new(&meadow(10, 64));
    play.subscribe(0, 0, "true");
    play.next();
    assert_eq!(play.next().costs.clients_apart, 1);
    // It wants less now, which is right at once, and costs no more than others' after a while.
    play.subscribe(0, 1, &of_entity(5));
    play.unsubscribe(0, 0);
    play.subscribe(1, 0, "true");
    let mut ticks_apart = 0;
    for _ in 0..40 {
        let heard = play.next();
        assert!((1..=2).contains(&heard.notices[&0].len()));
        assert_eq!(heard.notices[&1].len(), 64);
        ticks_apart += usize::from(heard.costs.clients_apart == 2);
    }
    assert!((10..20).contains(&ticks_apart), "{ticks_apart}");
    for listeners in &play.listeners {
        listeners.registry().forget(ClientRow(1));
    }
    assert_eq!(play.next().costs.clients_apart, 0);
}
