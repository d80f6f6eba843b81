//! What `Backend` promises besides the tick itself: starting, refusing frames, two ticks in
//! flight.

use std::sync::Arc;

use gpu_kernels::tick::cpu::memory_plan;
use gpu_kernels::{
    Command, CpuBackend, Frame, Observer, ObserverChange, StartError, Target, TickError,
};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use gpu_kernels::{CudaBackend, tick::cuda::CudaOptions};
use shared::{ClientRow, CommandKind, EntityId, Tick};
use testkit::agree::assert_agrees;
use testkit::backends::backends;
use testkit::oracle::Oracle;
use testkit::scenario;

#[test]
fn a_frame_for_another_tick_is_refused() {
    let config = world_file::default();
    for (label, mut backend) in backends(&config) {
        backend.tick(&Frame::new(Tick(0))).unwrap();
        let before = backend.snapshot().unwrap();
        for found in [0, 2, (1 << 32) + 1] {
            let refused = backend.submit(&Frame::new(Tick(found)));
            let expected = TickError::WrongTick {
                expected: Tick(1),
                found: Tick(found),
            };
            assert_eq!(refused, Err(expected), "{label}");
        }
        assert_eq!(backend.snapshot().unwrap(), before, "{label}");
        backend.tick(&Frame::new(Tick(1))).unwrap();
    }
}

#[test]
fn a_command_with_more_words_than_can_be_counted_is_malformed() {
    for (label, mut backend) in backends(&world_file::default()) {
        let mut frame = Frame::new(Tick(0));
        // Cut to 16 bits, it would be a birth.
        let words = vec![0; (1 << 16) + 2];
        frame.push(EntityId::NONE, 0, CommandKind::SPAWN, &words);
        let counts = backend.tick(&frame).unwrap().counts;
        assert_eq!((counts.births, counts.malformed), (0, 1), "{label}");
    }
}

#[test]
fn a_command_whose_words_are_not_in_the_frame_is_refused() {
    let command = |word_start, word_count| Command {
        entity: EntityId::NONE,
        sequence: 0,
        word_start,
        kind: 0,
        word_count,
    };
    for (label, mut backend) in backends(&world_file::default()) {
        let before = backend.snapshot().unwrap();
        for (start, count) in [(1, 2), (3, 0), (0, 3), (u32::MAX, u16::MAX)] {
            let mut frame = Frame::new(Tick(0));
            frame.words = vec![0, 0].into();
            frame.observers.push(at_the_origin(0));
            frame.commands = vec![command(0, 2), command(start, count)].into();
            let expected = TickError::WordsOutOfRange {
                index: 1,
                start: start as usize,
                end: start as usize + usize::from(count),
                words: 2,
            };
            assert_eq!(backend.submit(&frame), Err(expected), "{label}");
        }
        assert_eq!(backend.snapshot().unwrap(), before, "{label}");
        let mut frame = Frame::new(Tick(0));
        frame.words = vec![0, 0].into();
        frame.commands = vec![command(0, 2), command(2, 0)].into();
        let output = backend.tick(&frame).unwrap();
        assert_eq!((output.counts.births, output.counts.malformed), (1, 1));
    }
}

#[test]
fn two_ticks_may_be_in_flight_and_be_collected_in_either_order() {
    for newest_first in [false, true] {
        let config = scenario::fight(60, 20).config;
        for (label, mut backend) in backends(&config) {
            let mut scenario = scenario::fight(60, 20);
            let mut oracle = Oracle::new(&config);
            for pair in 0..6 {
                let mut expected = vec![];
                let mut tickets = vec![];
                for _ in 0..2 {
                    let frame = scenario.frame();
                    let output = oracle.tick(&frame);
                    scenario.observe(&output.births, &output.deaths);
                    expected.push(output);
                    tickets.push(backend.submit(&frame).unwrap());
                }
                let third = backend.submit(&Frame::new(oracle.tick));
                assert_eq!(third, Err(TickError::TooManyInFlight), "{label}");
                let order = if newest_first { [1, 0] } else { [0, 1] };
                for i in order {
                    let output = backend.collect(tickets[i]).unwrap();
                    let place = format!("{label}, pair {pair}, output {i}");
                    assert_agrees(&config, &expected[i], &output, &place);
                }
                let again = backend.collect(tickets[0]).err();
                let expected = TickError::NotInFlight(Tick(2 * pair));
                assert_eq!(again, Some(expected), "{label}");
                assert_eq!(backend.state_hash().unwrap(), oracle.hash(), "{label}");
            }
        }
    }
}

#[test]
fn an_output_keeps_its_contents_while_someone_keeps_the_output() {
    let config = scenario::generations(60, 10).config;
    for (label, mut backend) in backends(&config) {
        let mut scenario = scenario::generations(60, 10);
        let mut oracle = Oracle::new(&config);
        let mut kept = vec![];
        for _ in 0..8 {
            let frame = scenario.frame();
            let expected = oracle.tick(&frame);
            scenario.observe(&expected.births, &expected.deaths);
            kept.push((expected, Arc::clone(&backend.tick(&frame).unwrap())));
        }
        for (expected, output) in &kept {
            assert_agrees(&config, expected, output, &label);
        }
    }
}

#[test]
fn a_world_that_does_not_fit_is_refused_with_the_bytes_it_needs() {
    type Start<'a> = Box<dyn Fn(u64) -> Result<(), StartError> + 'a>;
    let config = world_file::default();
    let mut starts: Vec<(&str, Start)> = vec![(
        "cpu",
        Box::new(|memory| CpuBackend::new(&config, 1, Some(memory)).map(drop)),
    )];
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    if testkit::backends::gpu().is_some() {
        starts.push((
            "cuda",
            Box::new(|memory| {
                let options = CudaOptions {
                    memory_available: Some(memory),
                    ..CudaOptions::default()
                };
                CudaBackend::new(&config, &options).map(drop)
            }),
        ));
    }
    for (label, start) in starts {
        let Err(StartError::OutOfMemory { needed, available }) = start(1000) else {
            panic!("{label}: the world starts in 1000 bytes");
        };
        assert_eq!(available, 1000, "{label}");
        assert!(needed > 1000, "{label}");
        assert!(start(needed - 1).is_err(), "{label}");
        assert!(start(needed).is_ok(), "{label}");
    }
}

/// 125 million buckets, of which a thousand entities can fill a thousand.
#[test]
fn a_vast_world_needs_memory_for_its_entities_not_for_its_buckets() {
    let vast = |capacity: u32| {
        let text = format!(
            "[world]\nsize = [5000.0, 5000.0, 5000.0]\naoi = 10.0\ncapacity = {capacity}\n\
             [limits]\nclients = 50\n[[kind]]\nname = \"star\"\npopulation = {capacity}\n\
             [[every]]\nkind = \"star\"\nticks = 1\ncommand = \"roam\"\n"
        );
        world_file::parse(&text, "vast").unwrap()
    };
    let bytes = |config| memory_plan(config).iter().map(|&(_, n)| n).sum::<u64>();
    let config = vast(1000);
    assert!(bytes(&config) < 64 << 20, "{}", bytes(&config));
    assert!(bytes(&vast(100_000)) < 110 * bytes(&config));
    for (label, mut backend) in backends(&config) {
        let mut oracle = Oracle::new(&config);
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        for client in 0..50 {
            frame.observers.push(ObserverChange {
                client: ClientRow(client),
                index: 0,
                observer: Some(Observer {
                    target: Target::Entity(EntityId::new(client, 1)),
                    radius: i32::MAX,
                }),
            });
        }
        for tick in 0..3 {
            let output = backend.tick(&frame).unwrap();
            assert_agrees(&config, &oracle.tick(&frame), &output, &label);
            frame.reset(Tick(tick + 1));
        }
    }
}

fn at_the_origin(client: u32) -> ObserverChange {
    ObserverChange {
        client: ClientRow(client),
        index: 0,
        observer: Some(Observer {
            target: Target::Point([0; 3]),
            radius: 1,
        }),
    }
}
