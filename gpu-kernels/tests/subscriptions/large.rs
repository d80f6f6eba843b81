//! Sizes at which the stages split their work among threads and blocks.

use gpu_kernels::{Frame, Holder, Observer, ObserverChange, Region, RegionChange, Target};
use script::builtin;
use shared::{ClientRow, Tick};
use testkit::dice::Dice;
use testkit::parity::Parity;

use crate::subscriptions::table::{UNIT, entity, following};

/// Boxes of many sizes, and more entities than clients may know.
fn play_large(visible_max: u32, axes: usize) {
    let size = vec![300.0; axes];
    let text = format!(
        "[world]\nsize = {size:?}\naoi = 12\ncapacity = 2600\nvisible_max = {visible_max}\n\
         [limits]\nclients = 300\nregions_per_client = 2\nregion_edge_max = 290\n\
         deliveries_per_tick = 60000\n\
         [[kind]]\nname = \"walker\"\npopulation = 2000\nsubscribes = {:?}\n\
         [[kind]]\nname = \"crier\"\npopulation = 500\npublishes = {:?}\n",
        vec![40.0; axes],
        vec![9.0; axes],
    );
    let mut parity = Parity::new(&world_file::parse(&text, "test").unwrap());
    let mut dice = Dice::new(u64::from(visible_max));
    for tick in 0..4 {
        let mut frame = Frame::new(Tick(tick));
        if tick == 0 {
            frame.populate(&parity.oracle.config);
        } else {
            for entity in parity.oracle.alive() {
                let words: Vec<i32> = (0..axes).map(|_| dice.within(-UNIT..=UNIT)).collect();
                frame.push(entity, 0, builtin::MOVE, &words);
            }
        }
        for client in (0..300).map(ClientRow) {
            let target = Target::Entity(entity(dice.below(2500) as u32));
            if tick == 0 {
                frame.observers.push(ObserverChange {
                    client,
                    index: 0,
                    observer: Some(Observer {
                        target,
                        radius: 12 * UNIT,
                    }),
                });
            }
            if !dice.once_in(3) {
                continue;
            }
            let edge = dice.pick(&[1, 20, 20, 60, 290]) * UNIT;
            let low = [0; 3].map(|_| dice.within(-10 * UNIT..=290 * UNIT));
            frame.regions.push(RegionChange {
                holder: Holder::Client {
                    client,
                    index: dice.below(2) as u32,
                },
                region: Some(Region {
                    low,
                    high: low.map(|low| low + edge),
                    follows: None,
                }),
            });
        }
        for _ in 0..80 * tick {
            let entity = entity(dice.below(2500) as u32);
            let half = dice.pick(&[1, 200, UNIT, 4 * UNIT, 30 * UNIT, 145 * UNIT]);
            frame.regions.push(RegionChange {
                holder: Holder::Publication(entity),
                region: Some(following(entity, half)),
            });
        }
        let output = parity.tick(&frame);
        assert!(output.counts.deliveries > 1000, "{:?}", output.counts);
    }
}

#[test]
fn a_large_world_with_regions_agrees() {
    play_large(100, 2);
}

#[test]
fn a_large_world_of_three_axes_with_regions_agrees() {
    play_large(1000, 3);
}

#[test]
fn a_large_world_whose_clients_remember_nothing_agrees() {
    play_large(0, 2);
}
