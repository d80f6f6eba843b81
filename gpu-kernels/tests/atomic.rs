//! Atomic commands: each sees what the ones before left, on every backend and in the oracle.

use gpu_kernels::{Frame, RefusedCommand};
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Refusal, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const A: EntityId = EntityId::new(0, 1);
const B: EntityId = EntityId::new(1, 1);
const C: EntityId = EntityId::new(2, 1);
const SWORD: EntityId = EntityId::new(3, 1);

const SHOP: &str = "
/// Buys a sword that nobody has.
#[command(clients, atomic)]
fn buy(me: Entity, sword: Entity) {
    require(!exists(sword.owner) && me.gold >= sword.price);
    me.gold -= sword.price;
    sword.owner = me;
}

/// The trap: of two buyers in a tick, each sees the sword without an owner.
#[command(clients)]
fn grab(me: Entity, sword: Entity) {
    require(!exists(sword.owner) && me.gold >= sword.price);
    me.gold -= sword.price;
    sword.owner = me;
}

#[command(clients, atomic)]
fn give(me: Entity, to: Entity, n: i32) {
    require(n >= 0 && me.gold >= n);
    me.gold -= n;
    to.gold += n;
}

#[command(clients, atomic)]
fn earn(me: Entity, n: i32) {
    me.gold += n;
}

#[command(clients, atomic)]
fn befriend(me: Entity, friend: Entity) {
    me.friend = friend;
}

#[command(clients, atomic)]
fn treat(me: Entity) {
    me.friend.gold += 1;
    me.gold -= 1;
}

#[command(clients, atomic)]
fn leave(me: Entity, friend: Entity) {
    me.friend.gold += 5;
    me.friend = friend;
}

#[command(clients)]
fn hurt(me: Entity, n: i32) {
    me.gold -= n;
}

#[command(clients, atomic)]
fn jump(me: Entity) {
    me.position = point(50.0, 50.0);
}
";

fn world(limits: &str, gold: &str) -> WorldConfig {
    let text = format!(
        "[world]\nsize = [100, 100]\naoi = 20\ncapacity = 40\nvisible_max = 8\n\
         [limits]\nclients = 4\nsubscriptions_per_client = 1\n{limits}\n\
         [[kind]]\nname = \"player\"\nattributes = [\
         {{ name = \"gold\", type = \"i32\", min = 0, default = 10, audience = \"state\", {gold} }}, \
         {{ name = \"friend\", type = \"entity\", audience = \"state\" }}]\n\
         [[kind]]\nname = \"sword\"\nattributes = [\
         {{ name = \"price\", type = \"i32\", default = 7, audience = \"state\" }}, \
         {{ name = \"owner\", type = \"entity\", audience = \"state\" }}]\n"
    );
    let config = world_file::parse(&text, "shop").unwrap();
    with_texts(&config, vec![Text::new("shop.rs", SHOP)])
}

/// Three players and a sword, beside each other.
fn started(config: &WorldConfig) -> Parity {
    let mut parity = Parity::new(config);
    let mut frame = Frame::new(Tick(0));
    for kind in [0, 0, 0, 1] {
        frame.spawn_at(kind, u32::MAX, &[4096 * 10, 4096 * 10]);
    }
    parity.tick(&frame);
    parity
}

struct Shop {
    parity: Parity,
}

impl Shop {
    fn new(config: &WorldConfig) -> Shop {
        Shop {
            parity: started(config),
        }
    }

    fn kind(&self, name: &str) -> CommandKind {
        let schema = &self.parity.oracle.config.schema;
        schema.command_named(name).unwrap().kind
    }

    /// A tick with these commands, in this order.
    fn tick(&mut self, commands: &[(EntityId, &str, &[i32])]) -> OracleOutput {
        let mut frame = Frame::new(self.parity.oracle.tick);
        for (sequence, &(entity, name, words)) in (0..).zip(commands) {
            frame.push(entity, sequence, self.kind(name), words);
        }
        self.parity.tick(&frame)
    }

    fn value(&self, entity: EntityId, attribute: &str) -> i32 {
        let oracle = &self.parity.oracle;
        let column = oracle.config.schema.column(attribute).unwrap();
        oracle.slots[entity.slot.index()].row[column]
    }

    fn gold(&self) -> [i32; 3] {
        [A, B, C].map(|entity| self.value(entity, "gold"))
    }
}

fn refused(entity: EntityId, sequence: u32, reason: Refusal) -> RefusedCommand {
    RefusedCommand {
        entity,
        sequence,
        reason,
        because: None,
    }
}

#[test]
fn of_two_buyers_in_a_tick_one_has_the_sword_and_the_other_keeps_the_gold() {
    let mut shop = Shop::new(&world("atomic_per_tick = 100", ""));
    let sword = [SWORD.reference().0];
    let output = shop.tick(&[(B, "buy", &sword), (A, "buy", &sword)]);
    assert_eq!(shop.gold(), [10, 3, 10]);
    assert_eq!(shop.value(SWORD, "owner"), B.reference().0);
    assert_eq!(output.counts.atomic_refused, 1);
    assert_eq!(output.refused, [refused(A, 1, Refusal::Unmet)]);
}

#[test]
fn without_atomic_both_buyers_pay_and_one_has_the_sword() {
    let mut shop = Shop::new(&world("atomic_per_tick = 100", ""));
    let sword = [SWORD.reference().0];
    shop.tick(&[(B, "grab", &sword), (A, "grab", &sword)]);
    assert_eq!(shop.gold(), [3, 3, 10], "the trap that `atomic` closes");
}

#[test]
fn atomic_commands_see_the_merged_world_and_the_last_of_them_is_the_cause() {
    let mut shop = Shop::new(&world("atomic_per_tick = 100", ""));
    let to_c = [C.reference().0, 5];
    // The merge comes first: A has too little left.
    let output = shop.tick(&[(A, "give", &to_c), (B, "give", &to_c), (A, "hurt", &[6])]);
    assert_eq!(shop.gold(), [4, 5, 15]);
    let column = shop.parity.oracle.config.schema.column("gold").unwrap() as u16;
    let give = shop.kind("give").id();
    assert_eq!(output.causes[&(C.slot.0, column)], (give, B.slot.0));
    assert_eq!(output.changes[&(A.slot.0, column)], 4);
}

#[test]
fn a_change_that_is_undone_within_the_stage_is_no_change() {
    let mut shop = Shop::new(&world("atomic_per_tick = 100", ""));
    let (to_b, to_a) = ([B.reference().0, 5], [A.reference().0, 5]);
    let output = shop.tick(&[(A, "give", &to_b), (B, "give", &to_a)]);
    assert_eq!(shop.gold(), [10, 10, 10]);
    assert!(output.changes.is_empty(), "{:?}", output.changes);
}

#[test]
fn a_sum_that_does_not_fit_is_clamped_or_refused_as_the_world_says() {
    for (gold, expected) in [
        ("max = 12", [5, 12, 10]),
        ("max = 12, overflow = \"clamp\"", [5, 12, 10]),
        ("max = 12, overflow = \"refuse\"", [10, 10, 10]),
    ] {
        let mut shop = Shop::new(&world("atomic_per_tick = 100", gold));
        shop.tick(&[(A, "give", &[B.reference().0, 5])]);
        assert_eq!(shop.gold(), expected, "{gold}");
        // Ordinary updates are clamped, whatever it says.
        shop.tick(&[(C, "hurt", &[100])]);
        assert_eq!(shop.value(C, "gold"), 0);
    }
}

#[test]
fn commands_beyond_the_limit_run_in_the_next_tick_before_all_others() {
    let mut shop = Shop::new(&world("atomic_per_tick = 2", ""));
    shop.parity.restart(true);
    let to_c = [C.reference().0, 10];
    // By the time of B, only the order says who has how much.
    let first = shop.tick(&[
        (A, "earn", &[1]),
        (C, "earn", &[1]),
        (A, "give", &to_c),
        (B, "give", &to_c),
    ]);
    assert_eq!(first.counts.atomic_deferred, 2);
    assert_eq!(shop.gold(), [11, 10, 11]);
    shop.parity.restart(true);
    let second = shop.tick(&[(C, "give", &[B.reference().0, 31])]);
    assert_eq!(second.counts.atomic_deferred, 1);
    assert_eq!(shop.gold(), [1, 0, 31]);
    shop.parity.restart(false);
    let third = shop.tick(&[]);
    assert_eq!(third.counts.atomic_deferred, 0);
    assert_eq!(shop.gold(), [1, 31, 0]);
    assert!(
        [first, second, third]
            .iter()
            .all(|output| output.refused.is_empty())
    );
}

#[test]
fn a_command_whose_reference_has_changed_comes_again_once() {
    let mut shop = Shop::new(&world("atomic_per_tick = 100", ""));
    shop.tick(&[(A, "befriend", &[B.reference().0])]);
    let befriend = |friend: EntityId| [friend.reference().0];
    let output = shop.tick(&[(A, "befriend", &befriend(C)), (A, "treat", &[])]);
    assert_eq!(output.counts.atomic_deferred, 1);
    assert_eq!(shop.gold(), [10, 10, 10]);
    shop.parity.restart(true);
    // It comes before what changes the reference now.
    let output = shop.tick(&[(A, "befriend", &befriend(B))]);
    assert_eq!(
        (output.counts.atomic_deferred, output.counts.applied),
        (0, 2)
    );
    assert_eq!(shop.gold(), [9, 10, 11]);
}

#[test]
fn a_command_whose_reference_has_changed_twice_is_refused() {
    let mut shop = Shop::new(&world("atomic_per_tick = 100", ""));
    let befriend = |friend: EntityId| [friend.reference().0];
    let (b, c) = (befriend(B), befriend(C));
    shop.tick(&[(A, "befriend", &b)]);
    let output = shop.tick(&[(A, "befriend", &c), (A, "leave", &b), (A, "treat", &[])]);
    assert_eq!(output.counts.atomic_deferred, 2);
    // In its turn, `leave` changes the reference before `treat` has its own.
    let output = shop.tick(&[]);
    assert_eq!((output.counts.applied, output.counts.atomic_moved), (1, 1));
    assert_eq!(output.refused, [refused(A, 2, Refusal::Moved)]);
    assert_eq!(shop.gold(), [10, 10, 15]);
}

#[test]
fn thousands_of_commands_whose_references_change_come_again_once() {
    let mut shop = Shop::new(&world("atomic_per_tick = 100", ""));
    let mut births = Frame::new(shop.parity.oracle.tick);
    for _ in 4..40 {
        births.spawn(0, u32::MAX);
    }
    shop.parity.tick(&births);
    let mut dice = Dice::new(7);
    let (mut moved, mut deferred) = (0, 0);
    for _ in 0..100 {
        let commands: Vec<(EntityId, &str, Vec<i32>)> = (0..90)
            .map(|_| {
                let [own, other] = [0; 2].map(|_| EntityId::new(dice.below(40) as u32, 1));
                let friend = vec![other.reference().0];
                match dice.below(4) {
                    0 => (own, "befriend", friend),
                    1 => (own, "leave", friend),
                    _ => (own, "treat", vec![]),
                }
            })
            .collect();
        let commands: Vec<_> = (commands.iter())
            .map(|(entity, name, words)| (*entity, *name, &words[..]))
            .collect();
        let counts = shop.tick(&commands).counts;
        moved += counts.atomic_moved;
        deferred += counts.atomic_deferred;
    }
    assert!(moved > 300 && deferred > 1000, "{moved} {deferred}");
}

#[test]
fn a_command_that_waits_is_stale_once_its_entity_is_dead() {
    let mut shop = Shop::new(&world("atomic_per_tick = 1", ""));
    let mut frame = Frame::new(shop.parity.oracle.tick);
    frame.push(A, 0, shop.kind("earn"), &[1]);
    frame.push(B, 0, shop.kind("earn"), &[1]);
    frame.push(B, 1, CommandKind::DESPAWN, &[]);
    shop.parity.tick(&frame);
    let output = shop.tick(&[]);
    assert_eq!(output.counts.stale, 1);
    assert_eq!(output.refused, [refused(B, 0, Refusal::Dead)]);
}

#[test]
fn an_atomic_command_moves_its_entity() {
    let mut shop = Shop::new(&world("atomic_per_tick = 100", ""));
    let output = shop.tick(&[(A, "jump", &[])]);
    assert_eq!(shop.value(A, "x"), 50 * 4096);
    assert!(output.courses.contains_key(&A.slot.0));
}

#[test]
fn a_hundred_thousand_trades_keep_the_sum() {
    let entities = 1000;
    let text = "[world]\nsize = [100, 100]\naoi = 20\ncapacity = 1000\n[limits]\nclients = 1\n\
                commands_per_tick = 30000\natomic_per_tick = 15000\n\
                [[kind]]\nname = \"player\"\nattributes = [\
                { name = \"gold\", type = \"i32\", min = 0, max = 40, default = 10, \
                overflow = \"refuse\", audience = \"state\" }, \
                { name = \"friend\", type = \"entity\", audience = \"state\" }, \
                { name = \"price\", type = \"i32\", audience = \"state\" }, \
                { name = \"owner\", type = \"entity\", audience = \"state\" }]\n";
    let parsed = world_file::parse(text, "market").unwrap();
    let market = with_texts(&parsed, vec![Text::new("shop.rs", SHOP)]);
    let market = testkit::scripts::without_limits(&market);
    let mut parity = Parity::new(&market);
    let mut frame = Frame::new(Tick(0));
    for _ in 0..entities {
        frame.spawn(0, u32::MAX);
    }
    parity.tick(&frame);
    let give = market.schema.command_named("give").unwrap().kind;
    let mut dice = Dice::new(5);
    let (mut given, mut applied) = (0, 0);
    while given < 100_000 || !parity.oracle.snapshot().deferred.is_empty() {
        let mut frame = Frame::new(parity.oracle.tick);
        for sequence in 0..20_000.min(100_000 - given) {
            let [from, to] = [0; 2].map(|_| {
                // Some entities are in many trades.
                let slot = match dice.once_in(3) {
                    true => dice.below(10),
                    false => dice.below(entities),
                };
                EntityId::new(slot as u32, 1)
            });
            let n = dice.within(-2..=9);
            frame.push(from, sequence, give, &[to.reference().0, n]);
        }
        given += frame.commands.len() as u32;
        frame.order(market.seed);
        let output = parity.tick(&frame);
        applied += output.counts.applied;
        let column = market.schema.column("gold").unwrap();
        let sum: i64 = (parity.oracle.slots.iter())
            .map(|slot| i64::from(slot.row[column]))
            .sum();
        assert_eq!(sum, 10 * entities as i64, "tick {}", frame.tick);
    }
    assert!(applied > 20_000, "{applied} trades");
}
