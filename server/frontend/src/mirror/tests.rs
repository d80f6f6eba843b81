use gpu_kernels::{Backend, CpuBackend, Frame};
use shared::wire::movement::MovementCodec;

use super::*;

const ENTITIES: u32 = 9000;

/// All data of a slot that the fan-out reads.
fn read(mirror: &Mirror, slot: Slot) -> String {
    let movement = [None, Some(Tick(2))].map(|base| mirror.movement(slot, base));
    format!(
        "{:?} {:?} {:x}",
        mirror.id(slot),
        movement,
        mirror.columns_to_send(slot)
    )
}

#[test]
fn the_mirror_is_the_world_whatever_the_number_of_threads() {
    for motion in [true, false] {
        let text = format!(
            "[world]\ncapacity = {ENTITIES}\nmotion = {motion}\n[limits]\nclients = 8\n\
             [[kind]]\nname = \"player\"\n[[kind]]\nname = \"npc\"\n"
        );
        let config = world_file::parse(&text, "test").unwrap();
        let walk = config.schema.command_named("move").unwrap().kind;
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut mirrors = [1, 3].map(|threads| {
            let movement = MovementCodec::new(&config.schema).unwrap();
            let workers = Workers::new(threads).unwrap();
            (workers, Mirror::new(&config, movement))
        });
        for tick in 0..6 {
            let mut frame = Frame::new(Tick(tick));
            for slot in 0..ENTITIES {
                match tick {
                    0 => frame.spawn((slot % 2) as u16, slot),
                    // Some rest, some keep their course, some turn.
                    _ if (u64::from(slot) + tick) % 5 == 0 => {}
                    _ => {
                        let turn = if slot % 3 == 0 { tick as i32 } else { 1 };
                        let entity = EntityId::new(slot, 1);
                        frame.push(
                            entity,
                            tick as u32,
                            walk,
                            &[100 * turn, 50 - slot as i32 % 100],
                        );
                    }
                }
            }
            let output = backend.tick(&frame).unwrap();
            for (workers, mirror) in &mut mirrors {
                mirror.apply(workers, &output);
            }
            let [(_, alone), (_, shared)] = &mirrors;
            let rows = backend.snapshot().unwrap().rows;
            assert_eq!(alone.rows, rows, "tick {tick}");
            assert_eq!(shared.rows, rows, "tick {tick}");
            for slot in (0..ENTITIES).map(Slot) {
                assert_eq!(
                    read(shared, slot),
                    read(alone, slot),
                    "tick {tick}, {slot:?}"
                );
            }
        }
    }
}
