//! How the clients of a world are divided among the parts that serve them.

use gpu_kernels::{Backend, CpuBackend, Frame, Observer, ObserverChange, Target};
use script::builtin;
use shared::{ClientRow, EntityId, Tick, WorldConfig};

/// Those of the second half of the rows move into one area, so that the last part has them all.
#[test]
fn a_flash_crowd_is_shared_by_all_parts_two_seconds_later_and_while_it_stands_still() {
    for parts in [2, 3, 4] {
        let config = config();
        let mut backend = CpuBackend::new(&config, 2, None).unwrap().divided(parts);
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        let births = backend.tick(&frame).unwrap();
        let entities: Vec<EntityId> = births.births.iter().filter_map(|b| b.entity).collect();
        let mut positions: Vec<[i32; 2]> = (births.birth_rows.chunks_exact(2))
            .map(|row| [row[0], row[1]])
            .collect();
        drop(births);
        for tick in 1..=STILL_END {
            frame.reset(Tick(tick));
            if tick == 1 {
                observe(&mut frame, &entities);
            }
            let rush = RUSH_BEGIN..RUSH_END;
            let center = config.size_raw()[0] / 2;
            for client in (CLIENTS / 2) as usize..CLIENTS as usize {
                let position = &mut positions[client];
                let step = match tick {
                    tick if rush.contains(&tick) => {
                        let left = (RUSH_END - tick) as i32;
                        position.map(|from| (center - from) / left)
                    }
                    tick if tick < MOVING_END => [if tick % 2 == 0 { 40 } else { -40 }; 2],
                    _ => continue,
                };
                *position = [position[0] + step[0], position[1] + step[1]];
                frame.push(entities[client], tick as u32, builtin::MOVE, &step);
            }
            frame.order(config.seed);
            let output = backend.tick(&frame).unwrap();
            if tick < RUSH_END + 2 * TICK_HZ {
                continue;
            }
            let mut first = 0;
            let crowded = output.deliveries.shares().map(|(clients, _)| {
                let rows = first..first + clients as u32;
                first = rows.end;
                rows.end.saturating_sub(rows.start.max(CLIENTS / 2))
            });
            let crowded: Vec<u32> = crowded.collect();
            let average = CLIENTS / 2 / parts as u32;
            let is_near = |&n: &u32| n.abs_diff(average) * 10 <= average;
            assert!(crowded.iter().all(is_near), "tick {tick}: {crowded:?}");
        }
    }
}

fn observe(frame: &mut Frame, entities: &[EntityId]) {
    for (client, &entity) in (0..).map(ClientRow).zip(entities) {
        frame.observers.push(ObserverChange {
            client,
            index: 0,
            observer: Some(Observer {
                target: Target::Entity(entity),
                radius: i32::MAX,
            }),
        });
    }
}

fn config() -> WorldConfig {
    let text = format!(
        "[world]\nsize = [200, 200]\naoi = 10\ncapacity = {CLIENTS}\nvisible_max = 128\n\
         tick_hz = {TICK_HZ}\n[limits]\nclients = {CLIENTS}\n\
         [commands]\nmove = {{ speed_max = 200 }}\n\
         [[kind]]\nname = \"player\"\npopulation = {CLIENTS}\n"
    );
    world_file::parse(&text, "a flash crowd").unwrap()
}

const CLIENTS: u32 = 2048;
const TICK_HZ: u64 = 10;
const RUSH_BEGIN: u64 = 10;
const RUSH_END: u64 = RUSH_BEGIN + 5 * TICK_HZ;
const MOVING_END: u64 = RUSH_END + 3 * TICK_HZ;
const STILL_END: u64 = MOVING_END + 2 * TICK_HZ;
