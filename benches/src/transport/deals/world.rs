//! The accounts, and what is drawn of them.

use std::sync::Arc;

use shared::{EntityId, WorldConfig};

use super::Options;
use crate::dice::{Dice, Zipf};
use crate::tick::deals::with_transfer;

/// A world of accounts, whose clients have to do with any of them.
pub fn config(options: &Options) -> anyhow::Result<WorldConfig> {
    let Options {
        accounts,
        connections,
        pipelined,
        tick_hz,
        seed,
        ..
    } = *options;
    let clients = connections + 16;
    // If one tick is late, the next one has the transfers of both.
    let transfers = 4 * connections * pipelined;
    let commands = transfers.max(accounts) + clients;
    let text = format!(
        r#"
        [world]
        name = "deals"
        size = [1000, 1000]
        aoi = 1
        capacity = {capacity}
        seed = {seed}
        tick_hz = {tick_hz}
        visible_max = 1
        motion = false

        [limits]
        clients = {clients}
        client_commands_per_tick = {per_client}
        client_commands_burst = {per_client}
        commands_per_tick = {commands}
        atomic_per_tick = {transfers}

        [logic]
        builtin = []

        [[kind]]
        name = "player"

        [[kind]]
        name = "account"
        population = {accounts}
        attributes = [
            {{ name = "gold", type = "i32", default = {GOLD}, min = 0, audience = "private" }},
        ]
        "#,
        capacity = accounts + clients,
        per_client = 4 * pipelined,
    );
    with_transfer(&text, SCRIPT)
}

/// The account of a number: the first that are born have the first slots.
pub fn account(number: u32) -> EntityId {
    EntityId::new(number, 1)
}

/// What is transferred: from, to, how much. Drawn beforehand, so that it costs nothing later.
#[derive(Clone)]
pub struct Pairs(Arc<Vec<(u32, u32, i32)>>);

impl Pairs {
    pub fn new(options: &Options, exponent: f64) -> Pairs {
        let accounts = options.accounts;
        let zipf = Zipf::new(accounts as usize, exponent);
        let mut dice = Dice(options.seed);
        let mut account = || zipf.of((dice.below(1 << 53) as u64) << 11) as u32;
        let drawn = (0..DRAWN).map(|number| {
            let from = account();
            let to = match account() {
                to if to == from => (to + 1) % accounts,
                to => to,
            };
            (from, to, (number * 7 % 100) as i32)
        });
        Pairs(Arc::new(drawn.collect()))
    }

    pub fn of(&self, number: u64) -> (u32, u32, i32) {
        self.0[number as usize % self.0.len()]
    }
}

pub const TRANSFER: &str = "transfer";
const SCRIPT: &str = "#[command(clients, atomic)]
fn transfer(me: Entity, from: Entity, to: Entity, amount: i32) {
    require(amount >= 0 && from.gold >= amount);
    from.gold -= amount;
    require_fits(to.gold += amount);
}
";
/// What is in an account at first.
pub const GOLD: i32 = 1000;
/// Prime, so that clients which begin elsewhere in it don't meet.
const DRAWN: usize = 1_000_003;
