//! A world with its listeners on every matcher and the oracle, side by side.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpu_kernels::listen::{Listeners, Notice, SubscribeError};
use gpu_kernels::{Backend, CpuBackend, Frame, TickOutput};
use shared::{ClientRow, EntityId, WorldConfig};

use super::direct::{Direct, Predicate, text};
use super::mirror::Mirror;

pub struct Game {
    pub config: WorldConfig,
    pub backend: CpuBackend,
    pub mirror: Mirror,
    pub direct: Direct,
    pub listeners: Vec<(&'static str, Listeners)>,
    pub full: u64,
}

/// Notices with the numbers of the subscriptions that matched, by client.
pub type ByClient = BTreeMap<u32, Vec<(Notice, Vec<u32>)>>;

impl Game {
    pub fn new(config: &WorldConfig) -> Game {
        let matchers = [
            ("cpu with 1 thread", 1, None),
            ("cpu with 3 threads", 3, None),
            ("auto", 2, Some(0)),
        ];
        Game {
            config: config.clone(),
            backend: CpuBackend::new(config, 1, None).expect("the backend starts"),
            mirror: Mirror::new(config),
            direct: Direct::default(),
            listeners: matchers
                .into_iter()
                .map(|(label, threads, gpu)| {
                    let listeners = Listeners::new(config, threads, gpu);
                    let listeners = listeners.expect("they start");
                    (label, listeners.expect("clients may subscribe"))
                })
                .collect(),
            full: 0,
        }
    }

    pub fn subscribe(&mut self, client: u32, id: u32, predicate: Predicate) -> bool {
        let text = text(&predicate);
        let done = self.subscribe_text(client, id, &text);
        if done.is_ok() {
            self.direct.subscriptions.insert((client, id), predicate);
        }
        done.is_ok()
    }

    /// As [`Game::subscribe`], without the oracle.
    pub fn subscribe_text(
        &mut self,
        client: u32,
        id: u32,
        text: &str,
    ) -> Result<(), SubscribeError> {
        let mut results = vec![];
        for (_, listeners) in &self.listeners {
            results.push(listeners.registry().subscribe(ClientRow(client), id, text));
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
        results.remove(0)
    }

    pub fn unsubscribe(&mut self, client: u32, id: u32) {
        let was_there = self.direct.subscriptions.remove(&(client, id)).is_some();
        for (label, listeners) in &self.listeners {
            let done = listeners.registry().unsubscribe(ClientRow(client), id);
            assert_eq!(done.is_ok(), was_there, "{label}");
        }
    }

    pub fn forget(&mut self, client: u32) {
        self.direct
            .subscriptions
            .retain(|&(own, _), _| own != client);
        self.direct.entities.remove(&client);
        for (_, listeners) in &self.listeners {
            listeners.registry().forget(ClientRow(client));
        }
    }

    pub fn set_entity(&mut self, client: u32, entity: EntityId) {
        // An entity belongs to one client.
        self.direct.entities.retain(|_, own| *own != entity);
        self.direct.entities.insert(client, entity);
        for (_, listeners) in &self.listeners {
            listeners
                .registry()
                .set_entity(ClientRow(client), Some(entity));
        }
    }

    /// Runs a tick, and gives each client's notices; panics where listeners and oracle
    /// disagree.
    pub fn tick(&mut self, frame: &Frame) -> (Arc<TickOutput>, ByClient) {
        let output = self.backend.tick(frame).expect("the frame is accepted");
        let expected = self.direct.listen(&self.config, &output, &self.mirror);
        for (label, listeners) in &mut self.listeners {
            let notices = listeners.listen(&output, &self.mirror);
            let found: ByClient = (0..self.config.limits.clients)
                .map(|client| {
                    let own = notices.of(ClientRow(client));
                    let own = own.map(|own| (own.notice, own.subscriptions.to_vec()));
                    (client, own.collect::<Vec<_>>())
                })
                .filter(|(_, own)| !own.is_empty())
                .collect();
            assert_eq!(found, expected, "{label}, tick {}", output.tick);
            let clients: Vec<u32> = notices.clients().map(|client| client.0).collect();
            assert_eq!(clients, expected.keys().copied().collect::<Vec<_>>());
            let total: usize = expected.values().map(Vec::len).sum();
            assert_eq!(notices.total(), total as u64);
            assert_eq!(notices.lost(), [], "{label}");
            let quota = self.config.limits.client_notices_per_tick as usize;
            let full = expected.values().filter(|own| own.len() == quota);
            assert_eq!(notices.full(), full.count() as u64, "{label}");
            self.full = notices.full();
            let subscriptions = self.direct.subscriptions.len();
            assert_eq!(
                listeners.registry().subscriptions(),
                subscriptions,
                "{label}"
            );
        }
        self.mirror.apply(&self.config, &output);
        (output, expected)
    }
}
