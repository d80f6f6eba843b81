//! Random trades, purchases, splits and merges keep all sums: whatever is contended, refused, or
//! comes again in the next tick.
//!
//! | variable | sets |
//! | --- | --- |
//! | `DEALS` | how many commands each backend runs (100000) |
//! | `DEALS_SEED` | the seed of all random numbers (12) |
//! | `BACKENDS` | a part of the labels of the backends that run them (all of them) |
//!
//! `DEALS=1000000000 BACKENDS="cuda on NVIDIA" it sums::each` runs for minutes on a GPU.

use std::sync::mpsc::sync_channel;

use gpu_kernels::{Backend, Counts, Frame, Snapshot, TickOutput};
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Tick, WorldConfig};
use testkit::backends::backends;
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::{with_texts, without_limits};

/// Commands that take something. Some trust `overflow`, some ask by `require_fits`.
const MARKET: &str = "
#[command(clients, atomic)]
fn barter(me: Entity, other: Entity, gold: i32, iron: i32) {
    require(gold >= 0 && iron >= 0 && has(other.gold) && has(me.gold));
    require(me.gold >= gold && other.iron >= iron);
    me.gold -= gold;
    other.gold += gold;
    other.iron -= iron;
    require_fits(me.iron += iron);
}

#[command(clients, atomic)]
fn buy(me: Entity, stall: Entity, count: i32) {
    require(has(me.gold) && has(stall.stock) && count > 0);
    require(stall.stock >= count && me.gold >= stall.price * count);
    stall.stock -= count;
    me.gold -= stall.price * count;
    stall.till += stall.price * count;
    require_fits(me.iron += count);
}

#[command(clients, atomic)]
fn sell(me: Entity, stall: Entity, count: i32) {
    require(has(me.gold) && has(stall.stock) && count > 0);
    require(me.iron >= count && stall.till >= stall.price * count);
    me.iron -= count;
    stall.till -= stall.price * count;
    me.gold += stall.price * count;
    require_fits(stall.stock += count);
}

#[command(clients, atomic)]
fn split(me: Entity, into: Entity, count: i32) {
    require(has(me.amount) && has(into.amount) && count > 0 && me.amount >= count);
    me.amount -= count;
    into.amount += count;
    me.pile = into;
}

/// The pile may be another one by the time of the run, or be the stack itself.
#[command(clients, atomic)]
fn merge(me: Entity) {
    require(has(me.amount) && has(me.pile.amount));
    let all = me.amount;
    me.amount = 0;
    me.pile.amount += all;
}
";

const KINDS: &str = r#"
[[kind]]
name = "trader"
population = TRADERS
attributes = [
    { name = "gold", type = "i32", default = 60, min = 0, max = 200, overflow = "refuse", audience = "state" },
    { name = "iron", type = "i32", default = 20, min = 0, max = 40, audience = "state" },
]

[[kind]]
name = "stall"
population = STALLS
attributes = [
    { name = "stock", type = "i32", default = 500, min = 0, max = 700, audience = "state" },
    { name = "till", type = "i32", default = 900, min = 0, max = 2000, overflow = "refuse", audience = "state" },
    { name = "price", type = "i32", default = 3, audience = "state" },
]

[[kind]]
name = "stack"
population = STACKS
attributes = [
    { name = "amount", type = "i32", default = 30, min = 0, max = 99, overflow = "refuse", audience = "state" },
    { name = "pile", type = "entity", audience = "state" },
]
"#;

/// Attributes of which the values of all entities have one sum.
const SUMS: [&[&str]; 3] = [&["gold", "till"], &["iron", "stock"], &["amount"]];
const COMMANDS: [&str; 5] = ["barter", "buy", "sell", "split", "merge"];

/// A market, and what is known of it from the output of its ticks.
struct Market {
    config: WorldConfig,
    kinds: [CommandKind; COMMANDS.len()],
    /// By column: in which of the sums it is.
    sums: Vec<Option<usize>>,
    /// Traders, stalls, stacks.
    entities: [Vec<EntityId>; 3],
}

impl Market {
    /// A market of so many entities, with some more commands in a tick than may run in one.
    fn new(entities: usize, per_tick: usize, seed: u64) -> Market {
        let numbers = [
            ("TRADERS", entities * 6 / 10),
            ("STALLS", entities / 10),
            ("STACKS", entities * 3 / 10),
        ];
        let text = format!(
            "[world]\nsize = [1000, 1000]\naoi = 10\ncapacity = {entities}\nvisible_max = 1\n\
             seed = {seed}\n[limits]\nclients = 1\ncommands_per_tick = {}\n\
             atomic_per_tick = {}\ndeliveries_per_tick = 1\n[logic]\nbuiltin = []\n{KINDS}",
            2 * per_tick.max(entities),
            per_tick - per_tick / 50,
        );
        let text = numbers.iter().fold(text, |text, (name, number)| {
            text.replace(name, &number.to_string())
        });
        let config = world_file::parse(&text, "market").unwrap();
        let config = without_limits(&with_texts(&config, vec![Text::new("market.rs", MARKET)]));
        let sum_of = |name: &str| SUMS.iter().position(|names| names.contains(&name));
        Market {
            kinds: COMMANDS.map(|name| config.schema.command_named(name).unwrap().kind),
            sums: (config.schema.attributes.iter())
                .map(|attribute| sum_of(&attribute.name))
                .collect(),
            entities: Default::default(),
            config,
        }
    }

    /// The frame of its first tick.
    fn births(&self) -> Frame {
        let mut frame = Frame::new(Tick(0));
        frame.populate(&self.config);
        frame
    }

    /// Takes over what a tick gave birth to.
    fn open(&mut self, births: impl Iterator<Item = (u16, EntityId)>) {
        for (kind, entity) in births {
            self.entities[usize::from(kind)].push(entity);
        }
    }

    /// Random deals: a third takes from one of the first few entities. Of a million, these are some
    /// hundred. Few deals are by these: all commands of one actor run one after another, so those of
    /// another hot actor that deals with the same entities would wait for all of them.
    fn deals(&self, tick: Tick, count: usize) -> Frame {
        let Market {
            entities, kinds, ..
        } = self;
        let dice = &mut Dice::new(self.config.seed << 32 | tick.0);
        let [trader, stall, stack] = [0, 1, 2];
        let some = |dice: &mut Dice, kind: usize, hot_in: usize| {
            // Sometimes one of another kind, of which nothing can be taken.
            let kind = if dice.once_in(50) {
                dice.below(3)
            } else {
                kind
            };
            let all = match dice.once_in(hot_in) {
                true => (entities[kind].len() / 4096).max(4),
                false => entities[kind].len(),
            };
            entities[kind][dice.below(all)]
        };
        let mut frame = Frame::new(tick);
        for sequence in 0..count as u32 {
            let deal = dice.below(COMMANDS.len());
            let [from, to] = match COMMANDS[deal] {
                "barter" => [trader, trader],
                "buy" | "sell" => [trader, stall],
                _ => [stack, stack],
            };
            let me = some(dice, from, 300);
            let to = some(dice, to, 3).reference().0;
            let words = [to, dice.within(-1..=9), dice.within(-1..=9)];
            let words = match COMMANDS[deal] {
                "barter" => &words[..],
                "merge" => &[],
                _ => &words[..2],
            };
            frame.push(me, sequence, kinds[deal], words);
        }
        frame.order(self.config.seed);
        frame
    }

    fn sums(&self, rows: &[i32]) -> [i64; SUMS.len()] {
        let mut sums = [0; SUMS.len()];
        for row in rows.chunks_exact(self.sums.len()) {
            for (sum, value) in self.sums.iter().zip(row) {
                if let Some(sum) = *sum {
                    sums[sum] += i64::from(*value);
                }
            }
        }
        sums
    }

    /// Applies the changes of a tick. Returns by how much they change each sum.
    fn apply(&self, rows: &mut [i32], output: &TickOutput) -> [i64; SUMS.len()] {
        let mut by = [0; SUMS.len()];
        for (slot, columns, values) in output.changes.iter() {
            let row = slot.index() * self.sums.len();
            for (&column, &value) in columns.iter().zip(values) {
                let column = usize::from(column);
                let before = std::mem::replace(&mut rows[row + column], value);
                if let Some(sum) = self.sums[column] {
                    by[sum] += i64::from(value) - i64::from(before);
                }
            }
        }
        by
    }
}

#[test]
fn random_deals_keep_all_sums_in_step_with_the_oracle() {
    let seed = 11;
    let mut market = Market::new(400, 3000, seed);
    let mut parity = Parity::new(&market.config);
    parity.tick(&market.births());
    let slots = parity.oracle.slots.iter().zip(0..);
    let births: Vec<_> = slots
        .map(|(slot, number)| (slot.kind, EntityId::new(number, slot.generation)))
        .collect();
    market.open(births.into_iter());
    let begun = market.sums(&parity.oracle.snapshot().rows);
    let (mut seen, mut moved) = (Counts::default(), 0);
    for _ in 0..12 {
        let frame = market.deals(parity.oracle.tick, 3000);
        let output = parity.tick(&frame);
        note(&mut seen, &output.counts);
        let state = parity.oracle.snapshot();
        moved += moved_in(&state);
        assert_eq!(
            market.sums(&state.rows),
            begun,
            "seed {seed}, tick {}",
            frame.tick
        );
    }
    expect_all(&seen, moved);
}

#[test]
fn each_backend_keeps_all_sums_over_many_random_deals() {
    let variable = |name| std::env::var(name).ok();
    let count = variable("DEALS").map_or(100_000, |text| text.parse().expect("a number"));
    let per_tick = (count / 20).clamp(1000, 1 << 20);
    let seed = variable("DEALS_SEED").map_or(12, |text| text.parse().expect("a number"));
    let market = || Market::new(per_tick, per_tick, seed);
    let wanted = variable("BACKENDS").unwrap_or_default();
    let all = backends(&market().config).into_iter();
    for (label, mut backend) in all.filter(|(label, _)| label.contains(&wanted)) {
        run(&label, &mut *backend, market(), count, per_tick);
    }
}

/// Runs so many deals, and those that wait. Other threads make them meanwhile.
fn run(label: &str, backend: &mut dyn Backend, mut market: Market, count: usize, per_tick: usize) {
    let output = backend.tick(&market.births()).unwrap();
    let births = output.births.iter();
    let births = births.map(|birth| (birth.kind, birth.entity.expect("there is room")));
    market.open(births);
    let market = &market;
    let mut rows = backend.snapshot().unwrap().rows;
    let begun = market.sums(&rows);
    let counts = counts(count, per_tick);
    let (mut seen, mut moved) = (Counts::default(), 0);
    std::thread::scope(|scope| {
        let makers = std::thread::available_parallelism().map_or(1, usize::from);
        let frames: Vec<_> = (0..makers)
            .map(|maker| {
                let (made, frames) = sync_channel(1);
                let own = counts.iter().skip(maker).step_by(makers);
                scope.spawn(move || {
                    for &(tick, count) in own {
                        // After a failed check, nobody takes it.
                        let _ = made.send(market.deals(tick, count));
                    }
                });
                frames
            })
            .collect();
        let mut tick = Tick(1);
        let mut waiting = 0;
        while tick.0 <= counts.len() as u64 || waiting > 0 {
            // There are none while the last ones wait.
            let frame = frames[(tick.0 - 1) as usize % makers].recv();
            let frame = frame.unwrap_or_else(|_| Frame::new(tick));
            let output = backend.tick(&frame).unwrap();
            waiting = output.counts.atomic_deferred;
            note(&mut seen, &output.counts);
            let by = market.apply(&mut rows, &output);
            assert_eq!(by, [0; SUMS.len()], "{label}, tick {tick}");
            if tick == Tick(1) {
                moved = moved_in(&backend.snapshot().unwrap());
            }
            tick = tick.next();
        }
    });
    let state = backend.snapshot().unwrap().rows;
    assert!(state == rows, "{label}: rows without their changes");
    assert_eq!(market.sums(&state), begun, "{label}");
    expect_all(&seen, moved);
    println!(
        "{label}, seed {}: {} deals done, {} refused, {} times deferred: all sums are kept",
        market.config.seed, seen.applied, seen.atomic_refused, seen.atomic_deferred
    );
}

/// The ticks of so many deals, and how many each has. Every second one has room for those that
/// waited in the one before.
fn counts(mut left: usize, per_tick: usize) -> Vec<(Tick, usize)> {
    let mut counts = vec![];
    while left > 0 {
        let tick = Tick(counts.len() as u64 + 1);
        let most = per_tick - per_tick / 5 * (tick.0 % 2) as usize;
        counts.push((tick, most.min(left)));
        left -= most.min(left);
    }
    counts
}

fn note(seen: &mut Counts, counts: &Counts) {
    seen.applied += counts.applied;
    seen.atomic_refused += counts.atomic_refused;
    seen.atomic_deferred += counts.atomic_deferred;
    assert_eq!(counts.commands_dropped, 0, "there is room for all");
}

/// How many commands wait as their reference had changed.
fn moved_in(state: &Snapshot) -> usize {
    state
        .deferred
        .iter()
        .filter(|command| command.has_moved)
        .count()
}

/// Sums that are kept because little happens would show nothing.
fn expect_all(seen: &Counts, moved: usize) {
    let all = [seen.applied, seen.atomic_refused, seen.atomic_deferred];
    assert!(
        all.iter().all(|&count| count > 1000) && moved > 0,
        "{moved} moved, {seen:?}"
    );
}
