use gpu_kernels::{Delivery, Frame, TickOutput};
use shared::mix::Random;
use shared::{CommandKind, WorldConfig};

use crate::tick::thesis::{Actor, Moves};

/// The frames of a fight.
pub struct Fight {
    moves: Moves,
}

impl Fight {
    /// Goes on from the tick in which everyone was born.
    pub fn after_births(config: &WorldConfig, births: &TickOutput) -> Fight {
        Fight {
            moves: Moves::after_births(config, births),
        }
    }

    /// The next tick's frame: everyone moves, and of eight clients three strike
    /// somebody of whom the last tick told them, one heals itself and one blasts, as
    /// the bots' behaviour `fight` does.
    pub fn next_frame(&mut self, last: &TickOutput) -> &Frame {
        self.moves.next_frame_with(|actor, random, frame| {
            let mut push = |kind, words: &[i32]| {
                frame.push(actor.entity, frame.tick.0, kind, words);
            };
            match random.below(8) {
                0..3 => {
                    if let Some(target) = somebody(actor, last, random) {
                        push(CommandKind::Strike, &[target]);
                    }
                }
                3 => push(CommandKind::Heal, &[actor.entity.reference().0]),
                4 => push(CommandKind::Blast, &actor.position),
                _ => {}
            }
        })
    }
}

/// One of those whom the client knows.
fn somebody(actor: &Actor<'_>, last: &TickOutput, random: &mut Random) -> Option<i32> {
    let told = last.deliveries.of(actor.client);
    let delivery = told.get(random.below(told.len() as u32) as usize)?;
    let is_other = delivery.slot() != actor.entity.slot && delivery.kind() != Delivery::LEAVE;
    let target = actor.entities.get(delivery.slot().index())?;
    is_other.then_some(target.reference().0)
}

/// The world: as dense as 524,288 clients on 2500 x 2500, with limits that nothing
/// reaches.
pub fn config(clients: u32, seed: u64) -> anyhow::Result<WorldConfig> {
    let side = (2500.0 * (f64::from(clients) / 524_288.0).sqrt()).ceil();
    let text = format!(
        r#"
        [world]
        name = "fight"
        size = [{side}, {side}]
        aoi = 10
        capacity = {clients}
        seed = {seed}
        visible_max = {VISIBLE_MAX}
        interest = "exact"

        [limits]
        clients = {clients}
        commands_per_tick = {commands}
        updates_per_tick = {updates}
        deliveries_per_tick = {deliveries}

        # Reaches as in the example world of the server, by the AOI; a blast meets two
        # or three.
        [commands]
        move = {{ speed_max = 1 }}
        strike = {{ reach = 10, damage = 5 }}
        heal = {{ reach = 2, amount = 4 }}
        blast = {{ reach = 6, radius = 3, damage = 3 }}

        # So many points that nobody is at 0, where blows change nothing, before the
        # bench ends.
        [[kind]]
        name = "player"
        population = {clients}
        attributes = [
            {{ name = "hp", type = "i32", default = 1000000, min = 0, max = 1000000, audience = "state" }},
        ]
        "#,
        commands = clients * 2,
        updates = u64::from(clients) * 8 + 65_536,
        deliveries = u64::from(clients) * u64::from(VISIBLE_MAX),
    );
    Ok(WorldConfig::parse(&text, "the world of the fight")?)
}

/// Far more than the 27 that a client sees on average, itself included.
const VISIBLE_MAX: u32 = 64;

#[cfg(test)]
mod tests {
    use crate::tick::backends::BASELINE;
    use crate::tick::fight::{Arena, Told};

    #[test]
    fn a_fight_is_what_it_says() {
        let clients = 4096;
        let mut arena = Arena::populated(clients, 3, &BASELINE).unwrap();
        arena.tick().unwrap();
        let first = Told::of(&arena.output);
        // Everyone has just been met for the first time.
        assert_eq!((first.updates, first.leaves), (0, 0));
        for _ in 0..5 {
            arena.tick().unwrap();
            let (told, counts) = (Told::of(&arena.output), arena.output.counts);
            let each = |n: u64| n as f64 / f64::from(clients);
            // Blasts are where their clients truly are.
            for (slot, _, values) in arena.output.changes.iter() {
                assert_eq!(values[..2], arena.fight.moves.positions()[slot.index()]);
            }
            // 27 in the open, fewer at the edge of so small a map.
            let deliveries = each(told.deliveries());
            assert!((22.0..29.0).contains(&deliveries), "{deliveries}");
            assert!(
                each(told.enters) > 0.2 && each(told.leaves) > 0.2,
                "{told:?}"
            );
            // A move of everyone, and 5 in 8 do more, but for those who tried to
            // strike themselves or somebody gone.
            let commands = each(counts.commands);
            assert!((1.55..1.63).contains(&commands), "{commands}");
            assert_eq!(counts.commands, counts.applied);
            // Two axes of everyone, and blows.
            assert!(each(counts.updates) > 2.5, "{counts:?}");
            assert!(each(counts.changes) > 2.3, "{counts:?}");
        }
    }
}
