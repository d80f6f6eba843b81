use anyhow::ensure;
use gpu_kernels::{Delivery, Frame, TickOutput};
use script::builtin;
use shared::WorldConfig;
use shared::world::mix::{Random, mix};

use crate::tick::moves::{Actor, Moves};

/// The frames of a fight.
pub struct Frames {
    moves: Moves,
}

impl Frames {
    /// Continues from the tick in which all entities were born.
    pub fn after_births(config: &WorldConfig, births: &TickOutput) -> anyhow::Result<Frames> {
        let moves = Moves::after_births(config, births)?;
        Ok(Frames { moves })
    }

    /// Lets only so many of a hundred clients do anything in a tick.
    pub fn set_acting(&mut self, percent: u32) {
        self.moves.set_acting(percent);
    }

    /// Takes the last frame away, and gives the memory of another one for it.
    pub fn exchange(&mut self, memory: Frame) -> Frame {
        self.moves.exchange(memory)
    }

    /// The next tick's frame: all clients move, and of eight clients three strike an
    /// entity that the last tick delivered to them, one heals itself and one blasts.
    /// The bots' behaviour `fight` does the same.
    pub fn next(&mut self, last: &TickOutput) -> &mut Frame {
        let sequence = self.moves.next_tick().low();
        self.moves.next_frame_with(|actor, random, batch| {
            let mut push = |kind, words: &[i32]| batch.push(actor.entity, sequence, kind, words);
            match random.below(8) {
                0..3 => {
                    if let Some(target) = target(actor, last, random) {
                        push(builtin::STRIKE, &[target]);
                    }
                }
                3 => push(builtin::HEAL, &[actor.entity.reference().0]),
                4 => push(builtin::BLAST, &actor.position),
                _ => {}
            }
        })
    }

    /// The position of each entity, by slot, in raw units.
    #[cfg(test)]
    pub fn positions(&self) -> &[[i32; 2]] {
        self.moves.positions()
    }
}

/// One of the entities that the last tick delivered to the client.
fn target(actor: &Actor<'_>, last: &TickOutput, random: &mut Random) -> Option<i32> {
    let deliveries = last.deliveries.of(actor.client);
    let delivery = deliveries.get(random.below(deliveries.len() as u32) as usize)?;
    let is_other = delivery.slot() != actor.entity.slot && delivery.kind() != Delivery::LEAVE;
    let target = actor.entities.get(delivery.slot().index())?;
    is_other.then_some(target.reference().0)
}

/// The world: as dense as with 524,288 clients on 2500 x 2500, and limits that nothing
/// reaches.
pub fn config(clients: u32, seed: u64) -> anyhow::Result<WorldConfig> {
    walled(clients, seed, 0)
}

/// The same with walls: so many of a hundred blocks of 4 x 4 cells. The cells are as small as can be
/// without more than [`CELLS_MAX`] of them along an axis.
pub fn walled(clients: u32, seed: u64, percent: u32) -> anyhow::Result<WorldConfig> {
    walled_with(clients, seed, (percent, CELLS_MAX), "")
}

/// The same where walls hide what is behind them.
pub fn in_sight(clients: u32, seed: u64, percent: u32) -> anyhow::Result<WorldConfig> {
    ensure!(
        percent > 0,
        "without walls, nothing is out of sight; expected --walls"
    );
    let sight = "[visibility]\nline_of_sight = true";
    walled_with(clients, seed, (percent, CELLS_MAX), sight)
}

/// The edge of the world.
pub fn side(clients: u32) -> f64 {
    (2500.0 * (f64::from(clients) / 524_288.0).sqrt()).ceil()
}

/// The most cells of walls along an axis.
pub const CELLS_MAX: u32 = 4096;

/// The same with another such limit, and more of a world file.
pub fn walled_with(
    clients: u32,
    seed: u64,
    (percent, cells_max): (u32, u32),
    more: &str,
) -> anyhow::Result<WorldConfig> {
    let side = side(clients);
    let walls = match percent {
        0 => String::new(),
        percent => walls(side, seed, percent, cells_max),
    };
    let population = format!("population = {clients}");
    let rest = format!("{more}\n{walls}");
    let text = text((clients, seed), side, "", &population, &rest);
    Ok(world_file::parse(&text, "the world of the fight")?)
}

/// The world file: with more keys of `[world]`, of the players' kind, and with the rest of it.
fn text((clients, seed): (u32, u64), side: f64, world: &str, player: &str, rest: &str) -> String {
    format!(
        r#"
        [world]
        name = "fight"
        size = [{side}, {side}]
        aoi = 10
        capacity = {clients}
        {world}
        seed = {seed}
        visible_max = {VISIBLE_MAX}

        [limits]
        clients = {clients}
        commands_per_tick = {commands}
        updates_per_tick = {updates}
        deliveries_per_tick = {deliveries}

        # Reaches relative to the AOI are those of the server's example world; a blast
        # hits two or three.
        [commands]
        move = {{ speed_max = 1 }}
        strike = {{ reach = 10, damage = 5 }}
        heal = {{ reach = 2, amount = 4 }}
        blast = {{ reach = 6, radius = 3, damage = 3 }}

        # Enough points for the whole bench: at 0 points blows change nothing.
        [[kind]]
        name = "player"
        {player}
        attributes = [
            {{ name = "hp", type = "i32", default = 1000000, min = 0, max = 1000000, audience = "state" }},
        ]
        {rest}
        "#,
        commands = clients * 2,
        updates = u64::from(clients) * 8 + 65_536,
        deliveries = u64::from(clients) * u64::from(VISIBLE_MAX),
    )
}

/// The same, with as many clients in each plane, which is as dense.
pub fn in_planes(clients: u32, seed: u64, planes: u32) -> anyhow::Result<WorldConfig> {
    let each = clients / planes;
    ensure!(
        each > 0 && each * planes == clients,
        "{planes} planes can't have as many of {clients} clients each"
    );
    let side = 2500.0 * (f64::from(each) / 524_288.0).sqrt();
    // Whole cells of the walls between planes.
    let side = (side / 2.0).round().max(1.0) * 2.0;
    let rest = format!(
        "[[plane]]\nname = \"room\"\nsize = [{side}, {side}]\ncopies = {planes}\n\
         [[kind]]\nname = \"nobody\"\n"
    );
    let home = "player_kind = \"nobody\"";
    let population = format!("plane = \"room\"\npopulation = {each}");
    let text = text((clients, seed), side, home, &population, &rest);
    Ok(world_file::parse(&text, "the world of the fight")?)
}

/// The layer of walls of a world with so many units along an axis.
fn walls(side: f64, seed: u64, percent: u32, cells_max: u32) -> String {
    let mut cell = 1.0 / 16.0;
    while side / cell > f64::from(cells_max) {
        cell *= 2.0;
    }
    let cells = (side / cell).ceil() as u64;
    let mut text = format!("[[layer]]\nname = \"blocked\"\ncell = {cell}\ndrawing = \"\"\"\n");
    for row in 0..cells {
        text.extend((0..cells).map(|column| {
            let block = row / 4 * cells + column / 4;
            match mix(seed, block) % 100 < u64::from(percent) {
                true => '#',
                false => '.',
            }
        }));
        text.push('\n');
    }
    text + "\"\"\"\n"
}

/// A client sees 27 on average, itself included.
const VISIBLE_MAX: u32 = 64;
