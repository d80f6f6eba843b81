//! Who subscribes while ticks are matched.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use gpu_kernels::content::listen::Listeners;
use gpu_kernels::{Backend, CpuBackend, Frame};
use shared::{ClientRow, EntityId, Tick, WorldConfig};

use crate::mirror::Mirror;

/// What is accepted before a tick's matching begins is told in it; nobody waits.
#[test]
fn clients_subscribe_while_ticks_are_matched() {
    let text = "[world]\nsize = [100, 100]\ncapacity = 300\n\
        [limits]\nsubscriptions_per_client = 4\nclients = 4000\n\
        [[kind]]\nname = \"sheep\"\npopulation = 300\n\
        [[every]]\nkind = \"sheep\"\nticks = 1\ncommand = \"roam\"\n";
    let config = WorldConfig::parse(text, "test").unwrap();
    let mut backend = CpuBackend::new(&config, 1, None).unwrap();
    let mut mirror = Mirror::new(&config);
    let mut listeners = Listeners::new(&config, 2, false).unwrap().unwrap();
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    let output = backend.tick(&frame).unwrap();
    mirror.apply(&config, &output);
    let sheep = |slot: u32| format!("entity == {}", EntityId::new(slot, 1).reference().0);
    // Others, among whom nobody should have to wait.
    let desk = listeners.desk();
    for client in 1000..4000 {
        for id in 0..4 {
            desk.subscribe(ClientRow(client), id, &sheep(client % 300))
                .unwrap();
        }
    }
    let is_over = AtomicBool::new(false);
    // By client: accepted in which round, counted by the ticks begun.
    let begun = AtomicU32::new(0);
    let rounds = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let (desk, is_over, begun, sheep) = (listeners.desk(), &is_over, &begun, &sheep);
                scope.spawn(move || {
                    let mut accepted = vec![];
                    let mut rounds = 0u32;
                    for client in (thread * 500..).take(500) {
                        // Comes and goes, and comes to stay.
                        for id in 0..3 {
                            desk.subscribe(ClientRow(client), id, "true").unwrap();
                        }
                        desk.unsubscribe(ClientRow(client), 1).unwrap();
                        desk.forget(ClientRow(client));
                        let text = sheep(client % 300);
                        desk.subscribe(ClientRow(client), 3, &text).unwrap();
                        accepted.push((client, begun.load(Ordering::SeqCst)));
                        rounds += 1;
                        if is_over.load(Ordering::SeqCst) {
                            break;
                        }
                        std::thread::yield_now();
                    }
                    (accepted, rounds)
                })
            })
            .collect();
        let mut told_in: Vec<(u32, Vec<ClientRow>)> = vec![];
        for tick in 1..30 {
            let output = backend.tick(&Frame::new(Tick(tick))).unwrap();
            begun.store(tick, Ordering::SeqCst);
            let notices = listeners.listen(&output, &mirror);
            for client in (1000..4000).map(ClientRow) {
                let all = notices
                    .of(client)
                    .all(|told| told.subscriptions == [0, 1, 2, 3]);
                assert!(all, "{client:?}");
            }
            told_in.push((tick, notices.clients().collect()));
            mirror.apply(&config, &output);
        }
        is_over.store(true, Ordering::SeqCst);
        let all: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        for (accepted, _) in &all {
            for &(client, tick) in accepted {
                // Sheep hardly ever stand still: a step of nothing along both axes.
                let later = told_in.iter().filter(|(number, _)| *number > tick);
                let missed = later.filter(|(_, clients)| !clients.contains(&ClientRow(client)));
                assert!(missed.count() <= 1, "client {client}, accepted in {tick}");
            }
        }
        all.iter().map(|(_, rounds)| rounds).sum::<u32>()
    });
    assert!(rounds >= 2);
    assert_eq!(listeners.desk().subscriptions(), 12_000 + rounds as usize);
}
