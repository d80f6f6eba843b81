//! What happens in a simulation: all of it follows from the seed.

use std::sync::LazyLock;

use durability::level::Level;
use script::logic::with_logic;
use shared::WorldConfig;
use shared::world::logic::{Constant, Text};
use shared::world::mix::mix;

use crate::clock::{MILLISECOND, Micros, SECOND};
use crate::dice::{Dice, index};

/// A simulation before it runs.
pub struct Plan {
    pub seed: u64,
    pub config: WorldConfig,
    /// Whether players have the commands of the yard.
    pub is_yard: bool,
    /// Whether that is a market: players have accounts, which keep what they hold.
    pub is_market: bool,
    pub gateways: usize,
    pub players: usize,
    pub level: Level,
    pub checkpoint_ticks: u64,
    pub segment_bytes: u64,
    pub network: Network,
    /// How long players play, while faults happen; everything rests afterwards.
    pub play: Micros,
    /// From then until all must be well.
    pub quiet: Micros,
    /// Ascending.
    pub faults: Vec<(Micros, Fault)>,
}

/// The network while players play.
pub struct Network {
    pub delay: Micros,
    pub jitter: Micros,
    /// Of a thousand datagrams.
    pub lost: u64,
    pub doubled: u64,
}

/// Something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    CutPlayer(usize),
    StallPlayer(usize, Micros),
    PausePlayer(usize, Micros),
    KillPlayer(usize, Comeback),
    LeavePlayer(usize, Comeback),
    CutLink(usize),
    StallLink(usize, Micros),
    PauseGateway(usize, Micros),
    /// It is there again after some time.
    KillGateway(usize, Micros),
    PauseHost(Micros),
    KillHost(Death, Micros),
    /// The tick host dies at so manyth change of its disk from now on.
    KillHostAtChange(u64),
    StopHost(Micros),
    FailSyncs(u64),
}

/// Whether what was not synced survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    Process,
    Machine,
}

/// How a player that is gone comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comeback {
    Never,
    /// With its ticket, after some time.
    Resumes(Micros),
    /// As a new one.
    New(Micros),
}

impl Plan {
    pub fn new(seed: u64) -> Plan {
        let mut dice = Dice::new(seed);
        let is_yard = !dice.one_of(10);
        let is_market = is_yard && mix(seed, MARKETS).is_multiple_of(3);
        let variants = match (is_yard, is_market) {
            (_, true) => &MARKETS_OF_YARDS,
            (true, false) => &YARDS,
            (false, false) => &KEEPS,
        };
        let config = variants[index(dice.below(VARIANTS))].clone();
        let gateways = 2 + index(dice.below(2));
        let players = match is_yard {
            true => 3 + index(dice.below(8)),
            false => 3 + index(dice.below(3)),
        };
        let play = match is_yard {
            true => (6 + dice.below(20)) * SECOND,
            false => (4 + dice.below(6)) * SECOND,
        };
        let level = match dice.below(6) {
            0 => Level::None,
            1 | 2 => Level::Soon,
            _ => Level::Synced,
        };
        let delay = dice.below(120) * MILLISECOND + MILLISECOND;
        let network = Network {
            delay,
            jitter: dice.below(delay + 1),
            lost: [0, 10, 50, 200][index(dice.below(4))],
            doubled: [0, 10, 100][index(dice.below(3))],
        };
        let count = match dice.below(8) {
            0 => 0,
            1 => 10 + dice.below(20),
            _ => 1 + dice.below(6),
        };
        let mut faults: Vec<_> = (0..count)
            .map(|_| {
                let at = SECOND / 2 + dice.below(play - SECOND / 2);
                (at, Fault::new(&mut dice, gateways, players))
            })
            .collect();
        faults.sort_by_key(|&(at, _)| at);
        let checkpoint_ticks = 5 + dice.below(60);
        let segment_bytes = 4096 << dice.below(4);
        Plan {
            seed,
            config,
            is_yard,
            is_market,
            gateways,
            players,
            level,
            checkpoint_ticks,
            segment_bytes,
            network,
            play,
            quiet: QUIET,
            faults,
        }
    }
}

impl Fault {
    fn new(dice: &mut Dice, gateways: usize, players: usize) -> Fault {
        let gateway = index(dice.below(gateways as u64));
        let player = index(dice.below(players as u64));
        let some = dice.below(3 * SECOND) + 50 * MILLISECOND;
        let soon = dice.below(SECOND) + 50 * MILLISECOND;
        let death = match dice.one_of(2) {
            true => Death::Process,
            false => Death::Machine,
        };
        let comeback = match dice.below(3) {
            0 => Comeback::Never,
            1 => Comeback::Resumes(some),
            _ => Comeback::New(some),
        };
        match dice.below(16) {
            0 => Fault::CutPlayer(player),
            1 => Fault::StallPlayer(player, some),
            2 => Fault::PausePlayer(player, some),
            3 => Fault::KillPlayer(player, comeback),
            4 => Fault::LeavePlayer(player, comeback),
            5 => Fault::CutLink(gateway),
            6 => Fault::StallLink(gateway, some),
            7 => Fault::PauseGateway(gateway, some),
            8 | 9 => Fault::KillGateway(gateway, some),
            10 => Fault::PauseHost(some),
            11 | 12 => Fault::KillHost(death, soon),
            13 => Fault::KillHostAtChange(dice.below(40)),
            14 => Fault::StopHost(soon),
            _ => Fault::FailSyncs(1 + dice.below(2)),
        }
    }
}

/// Players walk, note numbers, and take coins from each other.
static YARDS: LazyLock<Vec<WorldConfig>> =
    LazyLock::new(|| yards(YARD, include_str!("../worlds/yard.rs")));

/// The same, where they also give each other things that their accounts keep.
static MARKETS_OF_YARDS: LazyLock<Vec<WorldConfig>> = LazyLock::new(|| {
    let script = concat!(
        include_str!("../worlds/yard.rs"),
        include_str!("../worlds/market.rs")
    );
    yards(&(YARD.to_owned() + MARKET), script)
});

const YARD: &str = include_str!("../worlds/yard.toml");
const MARKET: &str = include_str!("../worlds/market.toml");

fn yards(text: &str, script: &str) -> Vec<WorldConfig> {
    let with_scripts = |world: WorldConfig| {
        let mut logic = world.logic.clone();
        logic.texts.push(Text::new("yard.rs", script));
        for command in ["mark", "take", "put", "gather", "hand", "pack"] {
            if !script.contains(&format!("fn {command}(")) {
                continue;
            }
            let settings = logic.constants.entry(command.to_owned()).or_default();
            settings.insert("per_tick".to_owned(), Constant::Int(0));
        }
        with_logic(&world, &logic).expect("the yard's scripts compile")
    };
    variants(text, "yard.toml").map(with_scripts).collect()
}

/// One of the worlds that come with the server: walls, gates, and guards that never rest. Its scripts
/// are beside it.
static KEEPS: LazyLock<Vec<WorldConfig>> = LazyLock::new(|| {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../worlds/keep.toml");
    variants(include_str!("../../worlds/keep.toml"), file).collect()
});

/// Worlds of a file's text with other seeds, and other times in which lost clients may come back. No
/// command of their clients is refused for its time or their number.
fn variants(text: &str, file: &str) -> impl Iterator<Item = WorldConfig> {
    (1..=VARIANTS).map(move |number| {
        let text = text.replace("[world]\n", &format!("[world]\nseed = {number}\n"));
        let limits = format!(
            "[limits]\nresume_seconds = {number}\nlate_ticks_max = 200\ninput_ticks_max = 100\n\
             client_commands_per_tick = 50\nclient_commands_burst = 500\n"
        );
        let text = text.replace("[limits]\n", &limits);
        let text = text.replace("move = {", "move = { per_tick = 0,");
        world_file::parse(&text, file).expect("it is a world")
    })
}

/// Clients notice within 2 seconds that they are lost, their servers, too, and then they have up to
/// 3 seconds to come back.
const QUIET: Micros = 14 * SECOND;
const VARIANTS: u64 = 3;
/// Distinguishes the choice of a market from others of a seed.
const MARKETS: u64 = 0x6d61_726b;
