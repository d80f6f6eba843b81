//! Things are neither lost nor doubled: what a holder has is what it was given, whatever atomic
//! commands do at once, and every backend finds each thing with one holder.

use std::collections::BTreeMap;

use gpu_kernels::Frame;
use shared::world::logic::Text;
use shared::{EntityId, WorldConfig};
use testkit::dice::Dice;
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::{command, with_texts, without_limits};

use crate::things::{released, value};

/// Fewer atomic commands can run in a tick than are given.
const WORLD: &str = r#"
[world]
size = [60, 60]
aoi = 20
capacity = 300
[limits]
clients = 8
timed_commands = 1000
atomic_per_tick = 12
[logic]
builtin = []

[[kind]]
name = "player"
population = 6
attributes = [
    { name = "balance", type = "i32", audience = "state" },
    { name = "seen", type = "i32", merge = "last", audience = "state" },
]

[[kind]]
name = "chest"
population = 4
attributes = [
    { name = "balance", type = "i32", audience = "state" },
    { name = "seen", type = "i32", merge = "last", audience = "state" },
]

[[kind]]
name = "bag"
place = "none"
population = 4
attributes = [
    { name = "balance", type = "i32", audience = "state" },
    { name = "seen", type = "i32", merge = "last", audience = "state" },
]

[[kind]]
name = "coin"
place = "none"
population = 12
attributes = [{ name = "is_spent", type = "bool", audience = "state" }]
"#;

/// Each that moves a coin writes down who had it, and who has it.
const SCRIPT: &str = r#"
#[command(clients)]
fn count_things(me: Entity) { me.seen = count_held(me, "coin"); }

#[command(clients, atomic)]
fn pick(me: Entity, coin: Entity) {
    require(coin.kind == "coin" && coin.holder == none && !coin.is_spent);
    coin.holder = me;
    me.balance += 1;
}

#[command(clients, atomic)]
fn hand(me: Entity, to: Entity, coin: Entity) {
    require(coin.kind == "coin" && coin.holder == me && exists(to) && to.kind != "coin");
    coin.holder = to;
    me.balance -= 1;
    to.balance += 1;
}

#[command(clients, atomic)]
fn swap(me: Entity, with: Entity, own: Entity, other: Entity) {
    require(own.kind == "coin" && other.kind == "coin");
    require(own.holder == me && other.holder == with && with != none);
    own.holder = with;
    other.holder = me;
}

#[command(clients, atomic)]
fn spend(me: Entity, coin: Entity) {
    require(coin.kind == "coin" && coin.holder == me && !coin.is_spent);
    coin.holder = none;
    coin.is_spent = true;
    me.balance -= 1;
    despawn(coin);
}

#[command(clients)]
fn mint(me: Entity) { spawn(Coin { holder: me }); }

#[command(clients)]
fn smash(me: Entity, it: Entity) { if it.kind == "chest" { despawn(it); } }
"#;

#[test]
fn a_holder_has_the_coins_that_it_was_given_and_no_coin_has_two_holders() {
    for seed in 0..6 {
        let mut books = Books::new();
        let mut dice = Dice::new(seed);
        for _ in 0..60 {
            books.tick(&mut dice, seed);
        }
        let Books { moved, minted, .. } = books;
        assert!(moved > 40 && minted > 10, "seed {seed}: {moved} {minted}");
    }
}

/// A world, and what must be in it.
struct Books {
    config: WorldConfig,
    parity: Parity,
    /// Coins that were born with this holder.
    born: BTreeMap<EntityId, i32>,
    /// Balances that changed.
    moved: usize,
    minted: usize,
}

impl Books {
    fn new() -> Books {
        let config = world_file::parse(WORLD, "world").unwrap_or_else(|error| panic!("{error}"));
        let config = with_texts(&config, vec![Text::new("coins.rs", SCRIPT.to_owned())]);
        let config = without_limits(&config);
        let mut parity = Parity::new(&config);
        let mut frame = Frame::new(parity.oracle.tick);
        frame.populate(&config);
        parity.tick(&frame);
        Books {
            config,
            parity,
            born: BTreeMap::new(),
            moved: 0,
            minted: 0,
        }
    }

    /// Gives random commands, mostly about the same few coins, and compares.
    fn tick(&mut self, dice: &mut Dice, seed: u64) {
        let coins = self.parity.oracle.living_of("coin");
        let holders = self.holders();
        let before = self.by_holder();
        let mut frame = Frame::new(self.parity.oracle.tick);
        for sequence in 0..20 {
            let name = dice.pick(&["pick", "hand", "hand", "swap", "spend"]);
            let name = if dice.once_in(30) { "mint" } else { name };
            let name = if dice.once_in(60) { "smash" } else { name };
            let few = &coins[..coins.len().min(8)];
            let words = &self.config.schema.command_named(name).unwrap().words;
            let first = few.first().map_or(EntityId::NONE, |_| dice.pick(few));
            let mut word = |word: &str| match word {
                "coin" | "own" => first,
                "other" if !few.is_empty() => dice.pick(few),
                _ => dice.pick(&holders),
            };
            let words: Vec<i32> = words.iter().map(|w| word(&w.name).reference().0).collect();
            // Mostly who has the coin.
            let has_it = |own: &&EntityId| self.has(**own, first);
            let by = match holders.iter().find(has_it) {
                Some(own) if !dice.once_in(4) => *own,
                _ => dice.pick(&holders),
            };
            frame.push(by, sequence, command(&self.config, name), &words);
        }
        for (holder, sequence) in holders.iter().zip(20..) {
            let counts = command(&self.config, "count_things");
            frame.push(*holder, sequence, counts, &[]);
        }
        frame.release = released(&self.parity);
        frame.order(self.config.seed);
        let spent = |coin: &&EntityId| value(&self.config, &self.parity, **coin, "is_spent") == 1;
        let kept = coins.len() - coins.iter().filter(spent).count();
        let output = self.parity.tick(&frame);
        let born = self.note_births(&output);
        let coins = self.parity.oracle.living_of("coin").len();
        assert_eq!(coins, kept + born, "seed {seed}, {}", frame.tick);
        self.minted += born;
        let balance = self.config.schema.column("balance").unwrap();
        let changed = output
            .changes
            .keys()
            .map(|(_, column)| usize::from(*column));
        self.moved += changed.filter(|&column| column == balance).count();
        self.compare(&before, seed);
    }

    /// Notes who has which newborn coin; gives how many there are.
    fn note_births(&mut self, output: &OracleOutput) -> usize {
        let columns = self.config.schema.attributes.len();
        let holder = self.config.schema.holder_column().unwrap();
        let coin = self.config.schema.kind("coin");
        let holders = self.holders();
        let births = output.births.iter().filter(|birth| birth.entity.is_some());
        let born = births.zip(output.birth_rows.chunks_exact(columns));
        let born = born.filter(|(birth, _)| Some(usize::from(birth.kind)) == coin);
        let mut count = 0;
        for (_, row) in born {
            count += 1;
            // One that has ended meanwhile has nothing.
            let own = holders.iter().find(|own| own.reference().0 == row[holder]);
            if let Some(own) = own {
                *self.born.entry(*own).or_default() += 1;
            }
        }
        count
    }

    fn compare(&self, before: &BTreeMap<EntityId, i32>, seed: u64) {
        let tick = self.parity.oracle.tick;
        let now = self.by_holder();
        for holder in self.holders() {
            let has = now.get(&holder).copied().unwrap_or_default();
            let balance = value(&self.config, &self.parity, holder, "balance");
            let born = self.born.get(&holder).copied().unwrap_or_default();
            assert_eq!(has, balance + born, "seed {seed}, {tick}: {holder} has");
            let had = before.get(&holder).copied().unwrap_or_default();
            let seen = value(&self.config, &self.parity, holder, "seen");
            assert_eq!(seen, had, "seed {seed}, {tick}: {holder} counted");
        }
    }

    /// All who can hold coins.
    fn holders(&self) -> Vec<EntityId> {
        let kinds = ["player", "chest", "bag"];
        let all = kinds.map(|kind| self.parity.oracle.living_of(kind));
        all.concat()
    }

    fn has(&self, holder: EntityId, coin: EntityId) -> bool {
        let lives = coin != EntityId::NONE && self.parity.oracle.is_alive(coin);
        lives && value(&self.config, &self.parity, coin, "holder") == holder.reference().0
    }

    /// How many coins name each as their holder.
    fn by_holder(&self) -> BTreeMap<EntityId, i32> {
        let mut found = BTreeMap::new();
        let holders = self.holders();
        for coin in self.parity.oracle.living_of("coin") {
            if let Some(own) = holders.iter().find(|own| self.has(**own, coin)) {
                *found.entry(*own).or_default() += 1;
            }
        }
        found
    }
}
