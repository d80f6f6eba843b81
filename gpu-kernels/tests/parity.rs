//! Every backend agrees with the oracle after every tick.

use std::ops::Range;
use std::sync::Mutex;
use std::thread;

use gpu_kernels::tick::frame::POPULATION_TOKEN;
use gpu_kernels::{Birth, Counts, CpuBackend, Delivery, Frame, Target};
use script::builtin;
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, EntityRef, Refusal, Slot, Tick, WorldConfig};
use testkit::backends::{Starter, starters};
use testkit::dice::Dice;
use testkit::oracle::OracleOutput;
use testkit::parity::{self, Cause, Parity, RandomWorlds};
use testkit::scenario::{self, Scenario};
use testkit::scripts::{setters, with_texts, without_limit};
use testkit::watching::watch;

/// `PARITY_SEED=7` runs one random world, `PARITY_SEEDS=20000` the first so many.
fn seeds() -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    match number("PARITY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("PARITY_SEEDS").unwrap_or(400),
    }
}

#[test]
fn random_worlds_agree_with_the_oracle_after_every_tick() {
    let reached = Mutex::new(Reached::default());
    let check = |seeds: Range<u64>| {
        let worlds = RandomWorlds { seeds, ticks: 25 };
        let compared = parity::check(&worlds, &starters(), |output| {
            reached.lock().unwrap().add(output);
        })
        .unwrap_or_else(|error| panic!("{error}"));
        println!("{compared:?}");
        assert_eq!(compared.ticks, 25 * compared.worlds);
        compared.worlds
    };
    let Range { start, end } = seeds();
    let middle = start.midpoint(end);
    // No test takes longer, and at the end it would have a core to itself: so it has two threads.
    let worlds = thread::scope(|scope| {
        let first = scope.spawn(|| check(start..middle));
        check(middle..end) + first.join().unwrap()
    });
    if worlds >= 1000 {
        let reached = reached.into_inner().unwrap();
        reached.assert_everything_happened_often();
    }
}

#[test]
fn a_backend_that_differs_is_named_with_the_world_and_the_part() {
    let wrong = Starter::new("wrong", |config| {
        let mut config = config.clone();
        config.seed += 1;
        Ok(Box::new(CpuBackend::new(&config, 1, None)?))
    });
    let worlds = RandomWorlds {
        seeds: 5..100,
        ticks: 5,
    };
    let backends = [starters().swap_remove(0), wrong];
    let error = parity::check(&worlds, &backends, |_| {}).expect_err("it differs");
    assert_eq!(error.failure.backend, "wrong");
    assert_eq!(error.seed, 5 + error.world);
    let Cause::Difference(difference) = &error.failure.cause else {
        panic!("{error}");
    };
    // The seed decides where entities are born, and where they roam.
    let entry_of = |part: &str| difference.part.starts_with(&format!("{part}, entry "));
    let is_count = difference.part == "counts";
    assert!(
        is_count || entry_of("birth rows") || entry_of("changes"),
        "{error}"
    );
    assert!(error.to_string().contains(&difference.expected), "{error}");
}

/// How often each thing happened: a comparison of idle worlds would show nothing.
#[derive(Default)]
struct Reached {
    counts: [u64; 27],
    /// Updates, enters and leaves.
    deliveries: [u64; 3],
    /// By number of a notification.
    notifications: [u64; 4],
    /// By number of a refusal, those of ticks.
    refusals: [u64; Refusal::ALL.len()],
}

impl Reached {
    fn add(&mut self, output: &OracleOutput) {
        let Counts {
            commands: _,
            entities: _,
            deliveries: _,
            // Worlds with layers that change are in `edits.rs`.
            edits: _,
            edits_dropped: _,
            // These seldom happen by chance: `atomic.rs` has them.
            atomic_moved: _,
            applied,
            stale,
            malformed,
            over_budget,
            over_per_tick,
            resting,
            atomic_refused,
            atomic_deferred,
            commands_dropped,
            updates,
            updates_dropped,
            changes,
            courses,
            births,
            births_refused,
            deaths,
            deliveries_dropped,
            clients_behind,
            ignored,
            timed,
            timed_dropped,
            notifications,
            notifications_dropped,
            hearings,
            hearings_dropped,
            respawns,
        } = output.counts;
        // Of the populations, only those that are born again fill a slot once more.
        let is_reborn = |birth: &&Birth| {
            let generation = birth.entity.map_or(0, |entity| entity.generation);
            birth.token == POPULATION_TOKEN && generation > 1
        };
        let reborn = output.births.iter().filter(is_reborn).count() as u64;
        let counts = [
            applied,
            stale,
            malformed,
            over_budget,
            over_per_tick,
            resting,
            atomic_refused,
            atomic_deferred,
            commands_dropped,
            updates,
            updates_dropped,
            changes,
            courses,
            births,
            births_refused,
            deaths,
            deliveries_dropped,
            clients_behind,
            ignored,
            timed,
            timed_dropped,
            notifications,
            notifications_dropped,
            hearings,
            hearings_dropped,
            respawns,
            reborn,
        ];
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum += count;
        }
        for delivery in output.deliveries.values().flatten() {
            // Renewals have a test of their own.
            if let Some(n) = self.deliveries.get_mut(delivery.kind() as usize) {
                *n += 1;
            }
        }
        for notification in &output.notifications {
            // Those of random scripts are not numbered here.
            if let Some(n) = self.notifications.get_mut(usize::from(notification.kind)) {
                *n += 1;
            }
        }
        for refused in &output.refused {
            self.refusals[refused.reason as usize] += 1;
        }
    }

    fn assert_everything_happened_often(&self) {
        // The server gives the others, but for what `atomic.rs` has.
        let is_of_tick = |reason: &Refusal| {
            use Refusal::{Moved, OverQuota, TooEarly, TooLate};
            !matches!(reason, OverQuota | TooEarly | TooLate | Moved)
        };
        let often = |reason: Refusal| self.refusals[reason as usize] > 50;
        assert!(
            self.counts.iter().chain(&self.deliveries).all(|&n| n > 500)
                && Refusal::ALL.into_iter().filter(is_of_tick).all(often)
                && self.notifications.iter().all(|&n| n > 50),
            "{:?} {:?} {:?} {:?}",
            self.counts,
            self.deliveries,
            self.notifications,
            self.refusals
        );
    }
}

fn play(mut scenario: Scenario, ticks: u32) {
    let mut parity = Parity::new(&scenario.config);
    for _ in 0..ticks {
        let output = parity.tick(&scenario.frame());
        scenario.observe(&output.births, &output.deaths);
    }
}

// Sizes at which the stages split their work among threads.

#[test]
fn a_large_plain_agrees() {
    play(scenario::wander(20_000, 600), 4);
}

#[test]
fn a_large_crowd_that_overflows_the_deliveries_agrees() {
    play(scenario::crowd(9000, 300), 2);
}

#[test]
fn a_large_fight_agrees() {
    play(scenario::fight(9000, 600), 3);
}

#[test]
fn a_large_space_agrees() {
    play(scenario::space(10_000, 600), 4);
}

#[test]
fn a_large_market_agrees() {
    play(scenario::market(4000, 600), 3);
}

#[test]
fn a_large_coming_and_going_agrees() {
    play(scenario::generations(10_000, 600), 6);
}

#[test]
fn a_hundred_thousand_updates_of_one_attribute_merge_by_every_rule() {
    for rule in ["sum", "min", "max", "first", "last"] {
        let config = world(&format!(
            "[world]\ncapacity = 3\n[limits]\ncommands_per_tick = 200000\nupdates_per_tick = 200000\n\
             [[kind]]\nname = \"hot\"\nattributes = [{{ name = \"hp\", type = \"i32\", \
             merge = \"{rule}\", default = 3, audience = \"state\" }}]\n"
        ));
        let config = without_limit(&config, &["set_hp"]);
        let config = with_texts(&config, vec![setters(&config.schema)]);
        let set = config.schema.command_named("set_hp").expect("hp").kind;
        let mut parity = Parity::new(&config);
        let mut frame = Frame::new(Tick(0));
        for token in 0..3 {
            frame.spawn_at(0, token, &[5, 5]);
        }
        parity.tick(&frame);
        let target = EntityId::new(0, 1).reference().0;
        let mut dice = Dice::new(1);
        for tick in 1..4 {
            frame.reset(Tick(tick));
            for sequence in 0..100_000 {
                let entity = EntityId::new(1 + dice.below(2) as u32, 1);
                // More down than up, so that the sum leaves 32 bits.
                let value = match dice.once_in(3) {
                    true => i32::MAX,
                    false => -i32::MAX,
                };
                frame.push(entity, sequence, set, &[target, value]);
            }
            let output = parity.tick(&frame);
            assert_eq!(output.counts.updates, 100_000, "{rule}");
        }
    }
}

#[test]
fn the_updates_that_fit_are_kept_where_some_commands_have_far_more_than_others() {
    let (entities, blasts, sets) = (64, 4096, 8192);
    let all = blasts * (entities - 1) + sets;
    for updates_max in [all, all - 1, all - sets - 1, 100_000] {
        let config = world(&format!(
            "[world]\ncapacity = 64\n[limits]\ncommands_per_tick = 20000\n\
             updates_per_tick = {updates_max}\n[commands]\nblast = {{}}\n\
             [[kind]]\nname = \"hot\"\nattributes = [{{ name = \"hp\", type = \"i32\", \
             default = 3, audience = \"state\" }}]\n"
        ));
        let config = without_limit(&config, &["set_hp", "blast"]);
        let config = with_texts(&config, vec![setters(&config.schema)]);
        let set = config.schema.command_named("set_hp").expect("hp").kind;
        let mut parity = Parity::new(&config);
        let mut frame = Frame::new(Tick(0));
        for token in 0..entities {
            frame.spawn_at(0, token, &[5, 5]);
        }
        parity.tick(&frame);
        frame.reset(Tick(1));
        for n in 0..blasts {
            let entity = EntityId::new(n % entities, 1);
            frame.push(entity, n, builtin::BLAST, &[5, 5]);
        }
        for n in 0..sets {
            let entity = EntityId::new(n % entities, 1);
            let words = [entity.reference().0, n as i32];
            frame.push(entity, blasts + n, set, &words);
        }
        let output = parity.tick(&frame);
        assert_eq!(
            output.counts.updates + output.counts.updates_dropped,
            u64::from(all)
        );
    }
}

#[test]
fn the_order_in_which_commands_arrive_does_not_matter() {
    let mut hashes = vec![];
    for seed in 0..3 {
        let mut scenario = scenario::market(200, 20);
        let mut parity = Parity::new(&scenario.config);
        let mut dice = Dice::new(seed);
        for tick in 0..8 {
            let mut frame = scenario.frame();
            // Births of the first tick keep their order, which decides who gets which slot.
            if tick > 0 {
                dice.shuffle(&mut frame.commands);
                frame.order(scenario.config.seed);
            }
            let output = parity.tick(&frame);
            scenario.observe(&output.births, &output.deaths);
        }
        hashes.push(parity.oracle.hash());
    }
    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[0], hashes[2]);
}

#[test]
fn a_newborn_cannot_die_in_the_tick_of_its_birth() {
    let mut parity = Parity::new(&world("[world]\ncapacity = 3"));
    let newborn = EntityId::new(0, 1);
    let mut frame = Frame::new(Tick(0));
    frame.spawn(0, 7);
    frame.push(newborn, 0, CommandKind::DESPAWN, &[]);
    let output = parity.tick(&frame);
    assert_eq!(output.births[0].entity, Some(newborn));
    assert_eq!(output.deaths, []);
    assert_eq!((output.counts.stale, output.counts.entities), (1, 1));
}

#[test]
fn a_slot_rests_from_death_to_release() {
    let mut parity = Parity::new(&world("[world]\ncapacity = 2"));
    let mut frame = Frame::new(Tick(0));
    frame.spawn(0, 1);
    frame.spawn(0, 2);
    frame.spawn(0, 3);
    let output = parity.tick(&frame);
    assert_eq!(output.births[2].entity, None);
    assert_eq!(output.counts.births_refused, 1);

    frame.reset(Tick(1));
    frame.push(EntityId::new(0, 1), 0, CommandKind::DESPAWN, &[]);
    frame.push(EntityId::new(0, 1), 1, CommandKind::DESPAWN, &[]);
    frame.spawn(0, 4);
    let output = parity.tick(&frame);
    assert_eq!(output.deaths, [EntityId::new(0, 1)]);
    assert_eq!(output.births[0].entity, None);

    frame.reset(Tick(2));
    frame.spawn(0, 5);
    let output = parity.tick(&frame);
    assert_eq!(output.births[0].entity, None);

    frame.reset(Tick(3));
    frame.release.extend([Slot(0), Slot(0), Slot(1), Slot(9)]);
    frame.spawn(0, 6);
    let output = parity.tick(&frame);
    assert_eq!(output.births[0].entity, Some(EntityId::new(0, 2)));
    assert_eq!(output.counts.ignored, 3);
}

#[test]
fn an_entity_exactly_at_the_radius_is_seen_and_one_step_farther_is_not() {
    let mut parity = Parity::new(&world(
        "[world]\nsize = [100.0, 100.0, 100.0]\naoi = 9.0\ncapacity = 4\n[limits]\nclients = 1",
    ));
    let unit = 4096;
    let mut frame = Frame::new(Tick(0));
    let center = [50 * unit; 3];
    // 1² + 4² + 8² = 9².
    frame.spawn_at(0, 0, &[51 * unit, 54 * unit, 58 * unit]);
    frame.spawn_at(0, 1, &[51 * unit, 54 * unit, 58 * unit + 1]);
    frame.spawn_at(0, 2, &[41 * unit, 50 * unit, 50 * unit]);
    frame.spawn_at(0, 3, &[41 * unit - 1, 50 * unit, 50 * unit]);
    frame
        .observers
        .push(watch(0, 0, Target::Point(center), i32::MAX));
    let output = parity.tick(&frame);
    // They are in the last tier.
    let enter = |slot| Delivery::new(Delivery::ENTER, slot).in_tier(3);
    assert_eq!(output.deliveries[&0], [enter(0), enter(2)]);
}

#[test]
fn a_followed_entity_comes_before_others_on_the_same_spot() {
    let mut parity = Parity::new(&world("[world]\nvisible_max = 2\ncapacity = 9"));
    let mut frame = Frame::new(Tick(0));
    for token in 0..9 {
        frame.spawn_at(0, token, &[77, 77]);
    }
    let followed = Target::Entity(EntityId::new(6, 1));
    frame.observers.push(watch(3, 0, followed, 0));
    let output = parity.tick(&frame);
    let enter = |slot| Delivery::new(Delivery::ENTER, slot);
    assert_eq!(output.deliveries[&3], [enter(0), enter(6)]);
}

#[test]
fn clients_beyond_the_limit_get_their_deliveries_as_soon_as_there_is_room() {
    let mut parity = Parity::new(&world(
        "[world]\ncapacity = 4\n[limits]\nclients = 3\ndeliveries_per_tick = 9",
    ));
    let mut frame = Frame::new(Tick(0));
    for token in 0..4 {
        frame.spawn_at(0, token, &[100, 100]);
    }
    for client in 0..3 {
        frame
            .observers
            .push(watch(client, 0, Target::Point([100, 100, 0]), 50));
    }
    let output = parity.tick(&frame);
    assert_eq!(output.deliveries.keys().collect::<Vec<_>>(), [&0, &1]);
    assert_eq!(output.counts.deliveries_dropped, 4);
    assert_eq!(output.counts.clients_behind, 1);

    let output = parity.tick(&Frame::new(Tick(1)));
    assert_eq!(output.deliveries.keys().collect::<Vec<_>>(), [&2]);
    assert_eq!(output.counts.clients_behind, 0);

    // A client that was behind is sent everything that it knows again.
    let mut tick = |n: u64, movers: Range<u32>| {
        let mut frame = Frame::new(Tick(n));
        for slot in movers {
            frame.push(EntityId::new(slot, 1), 0, builtin::MOVE, &[1, 1]);
        }
        parity.tick(&frame)
    };
    assert_eq!(tick(2, 0..4).counts.clients_behind, 1);
    let output = tick(3, 0..1);
    let renewal = |slot| Delivery::new(Delivery::RENEW, slot);
    assert_eq!(output.deliveries[&0], [Delivery::new(Delivery::UPDATE, 0)]);
    assert_eq!(output.deliveries[&2], [0, 1, 2, 3].map(renewal));
}

#[test]
fn clients_that_fall_behind_again_and_again_are_renewed() {
    let mut parity = Parity::new(&world(
        "[world]\nsize = [100, 100]\naoi = 20\ncapacity = 90\n\
         [limits]\nclients = 40\ndeliveries_per_tick = 90",
    ));
    let mut dice = Dice::new(3);
    let mut frame = Frame::new(Tick(0));
    for token in 0..90 {
        let at = [0; 2].map(|_| dice.below(100 << 12) as i32);
        frame.spawn_at(0, token, &at);
    }
    for client in 0..40 {
        let target = Target::Entity(EntityId::new(client, 1));
        frame.observers.push(watch(client, 0, target, 20 << 12));
    }
    parity.tick(&frame);
    let mut renewals = 0;
    for tick in 1..60 {
        frame.reset(Tick(tick));
        for slot in 0..90 {
            if dice.once_in(3) {
                let velocity = [0; 2].map(|_| dice.within(-4096..=4096));
                frame.push(EntityId::new(slot, 1), 0, builtin::MOVE, &velocity);
            }
        }
        frame.order(parity.oracle.config.seed);
        let deliveries = parity.tick(&frame).deliveries;
        let all = deliveries.values().flatten();
        renewals += all.filter(|d| d.kind() == Delivery::RENEW).count();
    }
    assert!(renewals > 300, "{renewals} renewals");
}

#[test]
fn words_may_be_any_number() {
    let config = world(
        "[world]\nsize = [262143.0, 262143.0, 262143.0]\naoi = 262143.0\ncapacity = 20\n\
         [commands]\nmove.speed_max = 262143.0\nblast.reach = 262143.0\nblast.radius = 262143.0\n\
         strike.reach = 262143.0\nheal.reach = 262143.0\n",
    );
    let extremes = [i32::MIN, i32::MIN + 1, -1, 0, 1, i32::MAX - 1, i32::MAX];
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    for (i, &word) in extremes.iter().enumerate() {
        frame.spawn_at(0, i as u32, &[word, i32::MIN, i32::MAX]);
        let target = Target::Point([word, i32::MAX, i32::MIN]);
        frame.observers.push(watch(i as u32, 0, target, word));
    }
    parity.tick(&frame);
    for (tick, &a) in (1..).zip(&extremes) {
        frame.reset(Tick(tick));
        for (i, &b) in extremes.iter().enumerate() {
            let entity = EntityId::new(i as u32, 1);
            frame.push(entity, 0, builtin::MOVE, &[a, b, a]);
            frame.push(entity, 1, builtin::BLAST, &[b, a, b]);
            frame.push(entity, 2, builtin::STRIKE, &[a]);
            frame.push(entity, 3, builtin::HEAL, &[EntityRef::NONE.0]);
        }
        assert_eq!(parity.tick(&frame).counts.applied, 28);
    }
}

#[test]
fn a_blast_across_a_world_of_countless_buckets_ends() {
    let mut parity = Parity::new(&world(
        "[world]\nsize = [262143.0, 262143.0, 262143.0]\naoi = 1.0\ncapacity = 50\n\
         [commands]\nblast = { reach = 262143.0, radius = 262143.0 }\n\
         [[kind]]\nname = \"a\"\npopulation = 50\nattributes = [{ name = \"hp\", type = \"i32\", \
         default = 9, audience = \"state\" }]\n",
    ));
    let mut frame = Frame::new(Tick(0));
    frame.populate(&parity.oracle.config);
    parity.tick(&frame);
    frame.reset(Tick(1));
    for slot in 0..50 {
        let center = [1 << 29; 3];
        frame.push(EntityId::new(slot, 1), 0, builtin::BLAST, &center);
    }
    let output = parity.tick(&frame);
    assert!(output.counts.updates > 50);
}

#[test]
fn a_script_that_looks_around_an_invented_point_sees_who_is_there() {
    let text = "
        #[command(clients)]
        fn look(me: Entity, at: Point, radius: Fixed) {
            for other in near(at, radius) { other.hp -= 1; }
        }
    ";
    let config = world(
        "[world]\nsize = [262143.0, 262143.0, 262143.0]\naoi = 262143.0\ncapacity = 50\n\
         [[kind]]\nname = \"a\"\npopulation = 50\nattributes = [{ name = \"hp\", type = \"i32\", \
         audience = \"state\" }]\n",
    );
    let config = without_limit(&config, &["look"]);
    let config = with_texts(&config, vec![Text::new("look.rs", text)]);
    let look = config.schema.command_named("look").expect("look").kind;
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    parity.tick(&frame);
    frame.reset(Tick(1));
    let mut dice = Dice::new(1);
    for sequence in 0..500 {
        let mut word = || dice.pick(&[i32::MIN, -(1 << 30), 0, 1 << 29, 1 << 30, i32::MAX]);
        let words = [word(), word(), word(), word()];
        frame.push(EntityId::new(0, 1), sequence, look, &words);
    }
    let output = parity.tick(&frame);
    assert!(output.counts.updates > 100, "{:?}", output.counts);
}

#[test]
fn worlds_go_on_across_31_and_32_bits_of_ticks() {
    for bits in [31, 32] {
        run_across(Tick(1 << bits));
    }
}

fn run_across(wrap: Tick) {
    let mut scenario = scenario::generations(60, 10);
    let mut parity = Parity::new(&scenario.config);
    let output = parity.tick(&scenario.frame());
    scenario.observe(&output.births, &output.deaths);
    parity.oracle.tick = wrap.before(3);
    parity.restore_from_oracle();
    for _ in 0..6 {
        let mut frame = scenario.frame();
        frame.tick = parity.oracle.tick;
        let output = parity.tick(&frame);
        scenario.observe(&output.births, &output.deaths);
    }
    assert_eq!(parity.oracle.tick, wrap.after(3));
}

fn world(text: &str) -> WorldConfig {
    world_file::parse(text, "test").expect("the world file is valid")
}
