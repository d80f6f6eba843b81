//! Timed commands: when they run, in which order, and what happens to those that cannot
//! run; on every backend and in the oracle.

use gpu_kernels::{Frame, TickError};
use script::builtin;
use shared::world::config::DELAY_TICKS_MAX;
use shared::{CommandKind, EntityId, EntityRef, Slot, Tick, WorldConfig};
use testkit::backends::backends;
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::without_limits;

const UNIT: i32 = 4096;
const HP: usize = 2;

#[test]
fn a_timed_command_runs_as_many_ticks_later_as_asked() {
    let mut parity = Parity::new(&world("timed_commands = 9", ""));
    let mut frame = Frame::new(Tick(0));
    for ticks in [3, 1, 2, 3] {
        frame.push_after(
            ticks,
            EntityId::NONE,
            0,
            CommandKind::SPAWN,
            &[0, ticks as i32],
        );
    }
    assert_eq!(parity.tick(&frame).counts.timed, 4);
    let born = |parity: &mut Parity, tick| {
        let births = parity.tick(&Frame::new(Tick(tick))).births;
        births.iter().map(|birth| birth.token).collect::<Vec<_>>()
    };
    assert_eq!(born(&mut parity, 1), [1]);
    assert_eq!(born(&mut parity, 2), [2]);
    assert_eq!(born(&mut parity, 3), [3, 3]);
    assert_eq!(born(&mut parity, 4), [0; 0]);
}

#[test]
fn timed_commands_run_after_the_frames_in_the_order_of_scheduling() {
    let mut parity = Parity::new(&world("timed_commands = 9", ""));
    let spawn = |frame: &mut Frame, ticks, token| {
        frame.push_after(ticks, EntityId::NONE, 0, CommandKind::SPAWN, &[0, token]);
    };
    let mut frame = Frame::new(Tick(0));
    spawn(&mut frame, 2, 10);
    spawn(&mut frame, 2, 11);
    parity.tick(&frame);
    frame.reset(Tick(1));
    spawn(&mut frame, 1, 12);
    parity.tick(&frame);
    frame.reset(Tick(2));
    frame.spawn(0, 9);
    let births = parity.tick(&frame).births;
    let tokens: Vec<_> = births.iter().map(|birth| birth.token).collect();
    assert_eq!(tokens, [9, 10, 11, 12]);
}

#[test]
fn the_limit_drops_commands_of_rules_before_timed_commands() {
    let config = world(
        "timed_commands = 9\ncommands_per_tick = 3",
        "[[every]]\nkind = \"player\"\nticks = 1\ncommand = \"roam\"",
    );
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn(0, 0);
    for token in 1..4 {
        frame.push_after(1, EntityId::NONE, 0, CommandKind::SPAWN, &[0, token]);
    }
    parity.tick(&frame);
    frame.reset(Tick(1));
    frame.spawn(0, 9);
    let output = parity.tick(&frame);
    let tokens: Vec<_> = output.births.iter().map(|birth| birth.token).collect();
    assert_eq!(tokens, [9, 1, 2]);
    // The third timed command, and the rule's.
    assert_eq!(output.counts.commands_dropped, 2);
    assert_eq!(output.counts.timed, 0);
}

#[test]
fn timed_commands_beyond_the_limit_are_dropped_and_their_numbers_used_again() {
    let mut parity = Parity::new(&world("timed_commands = 2", ""));
    let mut frame = Frame::new(Tick(0));
    for token in 0..5 {
        frame.push_after(2, EntityId::NONE, 0, CommandKind::SPAWN, &[0, token]);
    }
    let output = parity.tick(&frame);
    assert_eq!((output.counts.timed, output.counts.timed_dropped), (2, 3));
    assert_eq!(parity.oracle.snapshot().next_sequence, 2);
    parity.restart(true);
    parity.tick(&Frame::new(Tick(1)));
    // Commands that fall due make room for those scheduled in the same tick.
    frame.reset(Tick(2));
    for token in 5..8 {
        frame.push_after(1, EntityId::NONE, 0, CommandKind::SPAWN, &[0, token]);
    }
    let output = parity.tick(&frame);
    assert_eq!(output.births.len(), 2);
    assert_eq!((output.counts.timed, output.counts.timed_dropped), (2, 1));
}

#[test]
fn a_world_without_timed_commands_drops_them_and_has_no_embers() {
    let config = world("timed_commands = 0", "");
    assert!(config.schema.command(builtin::BURN).is_none());
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.push_after(1, EntityId::NONE, 0, CommandKind::SPAWN, &[0, 1]);
    frame.push(EntityId::NONE, 0, builtin::BURN, &[0, 0, 5]);
    let output = parity.tick(&frame);
    assert_eq!(output.counts.timed_dropped, 1);
    assert_eq!(output.counts.malformed, 1);
    assert_eq!(parity.tick(&Frame::new(Tick(1))).counts.births, 0);
}

#[test]
fn a_timed_command_of_a_dead_entity_is_stale() {
    let mut parity = Parity::new(&world("timed_commands = 9", ""));
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[5, 5]);
    parity.tick(&frame);
    let entity = EntityId::new(0, 1);
    frame.reset(Tick(1));
    frame.push_after(1, entity, 0, builtin::MOVE, &[1, 1]);
    frame.push_after(2, entity, 1, builtin::MOVE, &[1, 1]);
    frame.push_after(2, entity, 2, CommandKind::DESPAWN, &[]);
    parity.tick(&frame);
    assert_eq!(parity.tick(&Frame::new(Tick(2))).counts.applied, 1);
    assert_eq!(parity.oracle.position(0), [6, 6, 0]);
    frame.reset(Tick(3));
    frame.push(entity, 0, CommandKind::DESPAWN, &[]);
    frame.push_after(1, entity, 0, builtin::MOVE, &[1, 1]);
    // Alive at the start of the tick in which it dies.
    assert_eq!(parity.tick(&frame).counts.stale, 0);
    assert_eq!(parity.tick(&Frame::new(Tick(4))).counts.stale, 1);
}

#[test]
fn delays_reach_across_32_bits() {
    let mut parity = Parity::new(&world("timed_commands = 9", ""));
    parity.oracle.tick = Tick(WRAP - 2);
    parity.restore_from_oracle();
    let mut frame = Frame::new(Tick(WRAP - 2));
    for ticks in [1, 2, 4] {
        frame.push_after(
            ticks,
            EntityId::NONE,
            0,
            CommandKind::SPAWN,
            &[0, ticks as i32],
        );
    }
    parity.tick(&frame);
    let mut births = vec![];
    for tick in WRAP - 1..WRAP + 3 {
        parity.restart(tick % 2 == 0);
        let output = parity.tick(&Frame::new(Tick(tick)));
        births.extend(output.births.iter().map(|birth| (tick, birth.token)));
    }
    assert_eq!(births, [(WRAP - 1, 1), (WRAP, 2), (WRAP + 2, 4)]);
}

#[test]
fn embers_burn_for_ember_ticks_and_hurt_all_entities_in_reach() {
    let config = world(
        "",
        "[commands]\nblast = { reach = 30, radius = 5, damage = 10, ember_ticks = 3, \
         ember_damage = 4 }",
    );
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    for (token, x) in [(0, 50), (1, 53), (2, 56)] {
        frame.spawn_at(0, token, &[x * UNIT, 50 * UNIT]);
    }
    parity.tick(&frame);
    frame.reset(Tick(1));
    let center = [50 * UNIT, 50 * UNIT];
    frame.push(EntityId::new(0, 1), 0, builtin::BLAST, &center);
    parity.tick(&frame);
    let hp = |parity: &Parity| [0, 1, 2].map(|slot| parity.oracle.slots[slot].row[HP]);
    // The blast spares the soldier itself; its embers do not.
    assert_eq!(hp(&parity), [100, 90, 100]);
    for (tick, expected) in [(2, 4), (3, 8), (4, 12), (5, 12)] {
        parity.restart(tick == 3);
        let output = parity.tick(&Frame::new(Tick(tick)));
        assert_eq!(hp(&parity), [100 - expected, 90 - expected, 100]);
        assert_eq!(output.counts.timed, u64::from(tick < 4));
    }
}

#[test]
fn a_blast_out_of_reach_leaves_no_embers() {
    let config = world("", "[commands]\nblast = { reach = 3, ember_ticks = 3 }");
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[0, 0]);
    parity.tick(&frame);
    frame.reset(Tick(1));
    let far = [4 * UNIT, 0];
    frame.push(EntityId::new(0, 1), 0, builtin::BLAST, &far);
    assert_eq!(parity.tick(&frame).counts.timed, 0);
}

const WOLVES: &str = "[commands]\nstrike.damage = 10\n\
    [[kind]]\nname = \"player\"\nattributes = [{ name = \"hp\", type = \"i32\", min = 0, \
    default = 100, audience = \"state\" }]\n\
    [[kind]]\nname = \"wolf\"\nrespawn_ticks = 3\nattributes = [{ name = \"hp\", type = \"i32\", \
    min = -5, default = 5, falls_at = -5, audience = \"state\" }]\n";

/// A player in slot 0 and two wolves beside it.
fn wolves() -> Parity {
    let mut parity = Parity::new(&world("", WOLVES));
    let mut frame = Frame::new(Tick(0));
    for kind in [0, 1, 1] {
        frame.spawn_at(kind, u32::from(kind), &[5, 5]);
    }
    parity.tick(&frame);
    parity
}

fn strike(parity: &mut Parity, tick: u64, targets: &[u32], despawned: &[u32]) -> OracleOutput {
    let mut frame = Frame::new(Tick(tick));
    for &slot in targets {
        let target = EntityId::new(slot, 1).reference().0;
        frame.push(EntityId::new(0, 1), slot, builtin::STRIKE, &[target]);
    }
    for &slot in despawned {
        frame.push(EntityId::new(slot, 1), 0, CommandKind::DESPAWN, &[]);
    }
    parity.tick(&frame)
}

#[test]
fn the_fallen_die_and_respawn_after_the_ticks_of_their_kind() {
    let mut parity = wolves();
    // From 5 to -5, this kind's minimum.
    let output = strike(&mut parity, 1, &[2, 1], &[]);
    assert_eq!(output.deaths, [EntityId::new(1, 1), EntityId::new(2, 1)]);
    assert_eq!((output.counts.respawns, output.counts.entities), (2, 1));
    parity.restart(true);
    let born = |parity: &mut Parity, tick, released: &[u32]| {
        let mut frame = Frame::new(Tick(tick));
        frame
            .release
            .extend(released.iter().map(|&slot| Slot(slot)));
        let births = parity.tick(&frame).births;
        let entities = births.iter().map(|birth| (birth.kind, birth.entity));
        entities.collect::<Vec<_>>()
    };
    assert_eq!(born(&mut parity, 2, &[2]), []);
    assert_eq!(born(&mut parity, 3, &[]), []);
    parity.restart(false);
    // Each in its own slot, once all clients know that it fell.
    let second = Some(EntityId::new(2, 2));
    assert_eq!(born(&mut parity, 4, &[]), [(1, second)]);
    for tick in 5..40 {
        assert_eq!(born(&mut parity, tick, &[]), []);
    }
    parity.restart(true);
    let first = Some(EntityId::new(1, 2));
    assert_eq!(born(&mut parity, 40, &[1]), [(1, first)]);
    let output = parity.tick(&Frame::new(Tick(41)));
    assert_eq!((output.counts.respawns, output.counts.entities), (0, 3));
}

#[test]
fn an_entity_falls_at_the_value_that_its_kind_says_and_below() {
    let from_20_at = |falls_at: i32| {
        let falls_at = format!("default = 20, falls_at = {falls_at}");
        let kinds = WOLVES.replace("default = 5, falls_at = -5", &falls_at);
        let mut parity = Parity::new(&world("", &kinds));
        let mut frame = Frame::new(Tick(0));
        for kind in [0, 1] {
            frame.spawn_at(kind, 0, &[5, 5]);
        }
        parity.tick(&frame);
        // A strike takes 10.
        (1..=2)
            .map(|tick| strike(&mut parity, tick, &[1], &[]).deaths.len())
            .collect::<Vec<_>>()
    };
    assert_eq!(from_20_at(12), [1, 0]);
    assert_eq!(from_20_at(10), [1, 0]);
    assert_eq!(from_20_at(9), [0, 1]);
    assert_eq!(from_20_at(-1), [0, 0]);
}

/// The server decides when a client plays on with a new entity.
#[test]
fn fallen_players_die_and_do_not_respawn_by_themselves() {
    let players = WOLVES.replace("default = 100", "default = 100, falls_at = 0");
    let players = players.replace(
        "name = \"player\"\n",
        "name = \"player\"\nrespawn_ticks = 2\n",
    );
    let mut parity = Parity::new(&world("", &players));
    let mut frame = Frame::new(Tick(0));
    for kind in [0, 1, 0] {
        frame.spawn_at(kind, u32::from(kind), &[5, 5]);
    }
    parity.tick(&frame);
    let mut frame = Frame::new(Tick(1));
    for sequence in 0..20 {
        let target = EntityId::new(2, 1).reference().0;
        frame.push(EntityId::new(0, 1), sequence, builtin::STRIKE, &[target]);
    }
    let wolf = EntityId::new(1, 1).reference().0;
    frame.push(EntityId::new(0, 1), 20, builtin::STRIKE, &[wolf]);
    let output = parity.tick(&frame);
    assert_eq!(output.deaths, [EntityId::new(1, 1), EntityId::new(2, 1)]);
    // Only the wolf is to be born again.
    assert_eq!(output.counts.respawns, 1);
    let births: Vec<_> = (2..5)
        .flat_map(|tick| {
            let mut frame = Frame::new(Tick(tick));
            frame.release.push(Slot(tick as u32 % 2 + 1));
            parity.tick(&frame).births
        })
        .collect();
    let kinds: Vec<_> = births.iter().map(|birth| birth.kind).collect();
    assert_eq!(kinds, [1]);
}

#[test]
fn births_do_not_take_the_slots_of_those_who_respawn() {
    let mut parity = wolves();
    strike(&mut parity, 1, &[1, 2], &[]);
    let mut frame = Frame::new(Tick(2));
    frame.release.extend([Slot(1), Slot(2)]);
    for token in 0..100 {
        frame.spawn(0, token);
    }
    // One player of the world's 40 entities was there before, and two are to come.
    let output = parity.tick(&frame);
    assert_eq!(
        (output.counts.births, output.counts.births_refused),
        (37, 63)
    );
    parity.tick(&Frame::new(Tick(3)));
    let output = parity.tick(&Frame::new(Tick(4)));
    assert_eq!((output.counts.births, output.counts.births_refused), (2, 0));
    assert_eq!(output.counts.entities, 40);
}

/// Neither the limit of commands nor that of timed commands counts them.
#[test]
fn all_respawn_however_many_commands_wait_or_are_given() {
    let limits = "timed_commands = 4\ncommands_per_tick = 8";
    let mut parity = Parity::new(&world(limits, WOLVES));
    let mut frame = Frame::new(Tick(0));
    for kind in [0, 1, 1, 1, 1, 1] {
        frame.spawn_at(kind, u32::from(kind), &[5, 5]);
    }
    parity.tick(&frame);
    strike(&mut parity, 1, &[1, 2, 3, 4, 5], &[]);
    for tick in 2..9 {
        let mut frame = Frame::new(Tick(tick));
        frame.release.extend((1..6).map(Slot));
        for token in 0..20 {
            let player = EntityId::new(0, 1);
            frame.push(player, token, builtin::MOVE, &[1, 1]);
            frame.push_after(1, player, token, builtin::MOVE, &[1, 1]);
        }
        let output = parity.tick(&frame);
        assert_eq!(output.births.len(), if tick == 4 { 5 } else { 0 });
        assert!(output.counts.commands_dropped > 0 && output.counts.timed_dropped > 0);
    }
    assert_eq!(parity.oracle.alive().len(), 6);
}

#[test]
fn rebirths_come_after_the_births_of_their_tick_and_carry_their_kinds_regions() {
    let kinds = WOLVES.replace("respawn_ticks = 3", "respawn_ticks = 3\npublishes = [4, 4]");
    let mut parity = Parity::new(&world("", &kinds));
    let mut frame = Frame::new(Tick(0));
    for kind in [0, 1] {
        frame.spawn_at(kind, 0, &[5, 5]);
    }
    parity.tick(&frame);
    strike(&mut parity, 1, &[1], &[]);
    parity.tick(&Frame::new(Tick(2)));
    let mut frame = Frame::new(Tick(3));
    frame.release.push(Slot(1));
    parity.tick(&frame);
    let mut frame = Frame::new(Tick(4));
    frame.spawn_at(0, 7, &[6, 6]);
    let births = parity.tick(&frame).births;
    let slots: Vec<_> = births.iter().map(|b| b.entity.unwrap().slot.0).collect();
    assert_eq!(slots, [2, 1]);
    assert!(parity.oracle.snapshot().publications[1].is_some());
    parity.restart(true);
    parity.tick(&Frame::new(Tick(5)));
}

#[test]
fn rebirths_are_due_across_32_bits() {
    let mut parity = wolves();
    parity.oracle.tick = Tick(WRAP - 2);
    parity.restore_from_oracle();
    let mut born = vec![];
    strike(&mut parity, WRAP - 2, &[1], &[]);
    for tick in WRAP - 1..WRAP + 3 {
        let mut frame = Frame::new(Tick(tick));
        frame.release.push(Slot(1));
        born.extend(parity.tick(&frame).births.iter().map(|_| tick));
        parity.restart(tick == WRAP);
    }
    assert_eq!(born, [WRAP + 1]);
}

#[test]
fn a_despawned_entity_does_not_respawn_even_if_it_falls_in_the_same_tick() {
    let mut parity = wolves();
    let output = strike(&mut parity, 1, &[1], &[1, 2]);
    assert_eq!(output.deaths, [EntityId::new(1, 1), EntityId::new(2, 1)]);
    assert_eq!(output.counts.respawns, 0);
}

#[test]
fn a_kind_that_does_not_respawn_stays_at_its_minimum() {
    let mut parity = wolves();
    let mut frame = Frame::new(Tick(1));
    let player = EntityId::new(0, 1).reference().0;
    for sequence in 0..20 {
        frame.push(EntityId::new(1, 1), sequence, builtin::STRIKE, &[player]);
    }
    let output = parity.tick(&frame);
    assert_eq!(output.deaths, []);
    assert_eq!(parity.oracle.slots[0].row[HP], 0);
}

#[test]
fn an_impossible_timed_command_is_refused_and_changes_nothing() {
    for (label, mut backend) in backends(&world("timed_commands = 9", "")) {
        let before = backend.snapshot().unwrap();
        for ticks in [0, DELAY_TICKS_MAX + 1, u32::MAX] {
            let mut frame = Frame::new(Tick(0));
            frame.spawn(0, 0);
            frame.push_after(1, EntityId::NONE, 0, CommandKind::SPAWN, &[0, 0]);
            frame.push_after(ticks, EntityId::NONE, 0, CommandKind::SPAWN, &[0, 0]);
            let expected = TickError::DelayOutOfRange { index: 1, ticks };
            assert_eq!(backend.submit(&frame), Err(expected), "{label}");
        }
        for (start, count) in [(0, 6), (5, 4), (8, 1), (u32::MAX, u16::MAX)] {
            let mut frame = Frame::new(Tick(0));
            frame.push_after(1, EntityId::NONE, 0, CommandKind::SPAWN, &[0; 8]);
            frame.after[0].command.word_start = start;
            frame.after[0].command.word_count = count;
            let expected = TickError::TimedWordsOutOfRange {
                index: 0,
                start: start as usize,
                end: start as usize + usize::from(count),
                words: 8,
            };
            assert_eq!(backend.submit(&frame), Err(expected), "{label}");
        }
        assert_eq!(backend.snapshot().unwrap(), before, "{label}");
    }
}

#[test]
fn unused_words_of_a_frame_do_not_displace_those_of_timed_commands() {
    let mut parity = Parity::new(&world("timed_commands = 9\ncommands_per_tick = 2", ""));
    let mut frame = Frame::new(Tick(0));
    frame.words.extend_from_slice(&[77; 1000]);
    frame.spawn_at(0, 1, &[5, 6]);
    frame.push_after(1, EntityId::NONE, 0, CommandKind::SPAWN, &[0, 2, 7, 8]);
    parity.tick(&frame);
    let output = parity.tick(&Frame::new(Tick(1)));
    assert_eq!(output.births[0].token, 2);
    assert_eq!(output.birth_rows[..2], [7, 8]);
}

/// Thousands of blocks, and a tick in which all commands fall due.
#[test]
fn a_hundred_thousand_waiting_commands_agree() {
    let config = world("timed_commands = 100000\ncommands_per_tick = 60000", "");
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[5, 5]);
    parity.tick(&frame);
    let entity = EntityId::new(0, 1);
    let mut dropped = 0;
    for tick in 1..9 {
        frame.reset(Tick(tick));
        for i in 0..30_000 {
            let words = [i % 5 - 2, EntityRef::NONE.0];
            frame.push_after((9 - tick) as u32, entity, 0, builtin::MOVE, &words);
        }
        dropped += parity.tick(&frame).counts.timed_dropped;
        parity.restart(false);
    }
    assert_eq!(dropped, 8 * 30_000 - 100_000);
    let output = parity.tick(&Frame::new(Tick(9)));
    assert_eq!(output.counts.commands, 100_000);
    assert_eq!(output.counts.commands_dropped, 40_000);
    assert_eq!(output.counts.timed, 0);
}

/// A world of 100 × 100 units.
fn world(limits: &str, rest: &str) -> WorldConfig {
    let text = format!(
        "[world]\nsize = [100, 100]\ncapacity = 40\nvisible_max = 8\n[limits]\n{limits}\n{rest}\n"
    );
    // Some give many commands in a tick.
    without_limits(&world_file::parse(&text, "test").expect("the world file is valid"))
}

/// Where the low 32 bits of a tick begin again.
const WRAP: u64 = 1 << 32;
