//! Clients that subscribe while ticks are matched.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use gpu_kernels::listen::{Listeners, SubscriptionRegistry};
use gpu_kernels::{Backend, CpuBackend, Frame};
use shared::{ClientRow, EntityId, Tick, WorldConfig};

use crate::listen::mirror::Mirror;

/// A subscription that is accepted before a tick's matching begins counts in that tick, and
/// no client waits.
#[test]
fn clients_subscribe_while_ticks_are_matched() {
    let mut flock = Flock::new();
    let registry = flock.listeners.registry();
    // Clients among which none should have to wait.
    for client in 1000..4000 {
        for id in 0..4 {
            registry
                .subscribe(ClientRow(client), id, &one_sheep(client))
                .unwrap();
        }
    }
    let is_over = AtomicBool::new(false);
    let begun = AtomicU64::new(0);
    let accepted = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let (registry, is_over, begun) = (flock.listeners.registry(), &is_over, &begun);
                scope.spawn(move || come_and_go(&registry, thread * 500, is_over, begun))
            })
            .collect();
        let with_notices = flock.run(&begun);
        is_over.store(true, Ordering::SeqCst);
        let threads = threads.into_iter();
        let accepted: Vec<Accepted> = threads.flat_map(|t| t.join().unwrap()).collect();
        for &(client, tick) in &accepted {
            // A sheep hardly ever stands still: that takes a step of 0 along both axes.
            let later = with_notices.iter().filter(|(number, _)| *number > tick);
            let missed = later.filter(|(_, clients)| !clients.contains(&ClientRow(client)));
            assert!(missed.count() <= 1, "client {client}, accepted in {tick}");
        }
        accepted
    });
    assert!(accepted.len() >= 2);
    assert_eq!(registry.subscriptions(), 12_000 + accepted.len());
}

/// A client, and the last tick that had begun when its subscription was accepted.
type Accepted = (u32, u64);

/// Clients that subscribe and unsubscribe, and keep one subscription each.
fn come_and_go(
    registry: &SubscriptionRegistry,
    first: u32,
    is_over: &AtomicBool,
    begun: &AtomicU64,
) -> Vec<Accepted> {
    let mut accepted = vec![];
    for client in first..first + 500 {
        let row = ClientRow(client);
        for id in 0..3 {
            registry.subscribe(row, id, "true").unwrap();
        }
        registry.unsubscribe(row, 1).unwrap();
        registry.forget(row);
        registry.subscribe(row, 3, &one_sheep(client)).unwrap();
        accepted.push((client, begun.load(Ordering::SeqCst)));
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        std::thread::yield_now();
    }
    accepted
}

/// The predicate of one client: one sheep of 300.
fn one_sheep(client: u32) -> String {
    let entity = EntityId::new(client % 300, 1);
    format!("entity == {}", entity.reference().0)
}

/// 300 sheep that roam, and their listeners.
struct Flock {
    config: WorldConfig,
    backend: CpuBackend,
    mirror: Mirror,
    listeners: Listeners,
}

impl Flock {
    fn new() -> Flock {
        let text = "[world]\nsize = [100, 100]\ncapacity = 300\n\
            [limits]\nsubscriptions_per_client = 4\nclients = 4000\n\
            [[kind]]\nname = \"sheep\"\npopulation = 300\n\
            [[every]]\nkind = \"sheep\"\nticks = 1\ncommand = \"roam\"\n";
        let config = world_file::parse(text, "test").unwrap();
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut mirror = Mirror::new(&config);
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        mirror.apply(&config, &backend.tick(&frame).unwrap());
        Flock {
            backend,
            mirror,
            listeners: Listeners::new(&config, 2, None).unwrap().unwrap(),
            config,
        }
    }

    /// Runs ticks 1 to 29, and gives for each the clients with notices.
    fn run(&mut self, begun: &AtomicU64) -> Vec<(u64, Vec<ClientRow>)> {
        let mut with_notices = vec![];
        for tick in 1..30 {
            let output = self.backend.tick(&Frame::new(Tick(tick))).unwrap();
            begun.store(tick, Ordering::SeqCst);
            let notices = self.listeners.listen(&output, &self.mirror);
            for client in (1000..4000).map(ClientRow) {
                let all = notices
                    .of(client)
                    .all(|own| own.subscriptions == [0, 1, 2, 3]);
                assert!(all, "{client:?}");
            }
            with_notices.push((tick, notices.clients().collect()));
            self.mirror.apply(&self.config, &output);
        }
        with_notices
    }
}
