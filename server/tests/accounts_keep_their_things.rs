//! What a player holds goes with its entity and comes back with it, and is never lost or doubled:
//! whenever the server ends, in whichever folder the world continues.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Arc;

use durability::characters::character::Character;
use durability::disk::Folder;
use durability::recovery::{self, Replay};
use gpu_kernels::{CpuBackend, SlotState};
use server::host::DataOptions;
use server::host::following::Standby;
use server::{Server, ServerOptions};
use shared::EntityId;

use crate::common::folder::TestFolder;
use crate::common::names::{ByName, join_named};
use crate::common::pair::{Pair, complete, has_all};
use crate::common::{Player, leave, myriad_binary, scratch, start_with, text, ticks, until};

const SCRIPT: &str = "
#[command(clients)]
fn forge(me: Entity, wear: i32) { spawn(Axe { holder: me, wear: wear }); }

#[command(clients)]
fn sew(me: Entity) { if count_held(me, \"bag\") == 0 { spawn(Bag { holder: me, maker: me }); } }

#[command(clients)]
fn pack(me: Entity) {
    for bag in held_by(me, \"bag\") {
        for it in held_by(me, \"axe\") { it.holder = bag; }
        return;
    }
}

#[command(clients)]
fn fall_down(me: Entity) { me.hp = 0; }

#[command(clients)]
fn pass_on(me: Entity, it: Entity, to: Entity) { if it.holder == me { it.holder = to; } }
";

/// A world of axes and bags, which accounts keep.
fn axes(name: &str, capacity: u32) -> String {
    let folder = scratch(&format!("scripts-of-axes-{name}"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("all.rs"), SCRIPT).unwrap();
    format!(
        "
        [world]
        size = [10, 10]
        aoi = 40
        capacity = {capacity}
        tick_hz = 20

        [limits]
        clients = 4
        resume_seconds = 0

        [logic]
        folder = {folder:?}

        [[kind]]
        name = 'player'
        respawn_ticks = 3
        attributes = [
            {{ name = 'gold', type = 'i32', default = 7, min = 0, persist = true, audience = 'private' }},
            {{ name = 'hp', type = 'i32', default = 9, min = 0, falls_at = 0, merge = 'last', audience = 'state' }},
            {{ name = 'motto', type = 'text', length = 20, persist = true, audience = 'state' }},
        ]

        [[kind]]
        name = 'bag'
        place = 'none'
        persist = true
        attributes = [{{ name = 'maker', type = 'entity', audience = 'state' }}]

        [[kind]]
        name = 'axe'
        place = 'none'
        persist = true
        attributes = [{{ name = 'wear', type = 'i32', min = 0, max = 90, audience = 'state' }}]
        "
    )
}

fn by_name(options: &mut ServerOptions) {
    options.authenticator = Arc::new(ByName);
}

fn start(world: &str, folder: &TestFolder) -> Server {
    start_with(world, |options| {
        by_name(options);
        options.data = Some(DataOptions {
            checkpoint_seconds: 1000,
            keeps_all: true,
            ..DataOptions::new(&**folder)
        });
    })
}

fn give(player: &mut Player, command: &str, words: &[i32]) {
    let command = player.client.view().schema().command_named(command);
    player.send(command.expect("a command").kind, words);
}

fn held(player: &Player, holder: EntityId, kind: &str) -> Vec<EntityId> {
    let view = player.client.view();
    let kind = view.schema().kind(kind);
    let held = view.held_by(holder);
    let held = held.filter(|thing| Some(usize::from(thing.kind)) == kind);
    held.map(|thing| thing.id).collect()
}

fn value(player: &Player, thing: EntityId, attribute: &str) -> i32 {
    let view = player.client.view();
    let column = view.schema().column(attribute).expect("an attribute");
    view.get(thing.slot).map_or(-1, |thing| thing.row[column])
}

fn wear_of(player: &Player, holder: EntityId) -> Vec<i32> {
    let axes = held(player, holder, "axe").into_iter();
    let mut wear: Vec<i32> = axes.map(|axe| value(player, axe, "wear")).collect();
    wear.sort_unstable();
    wear
}

/// The wear of the axes in a player's bag, and of those in its hands.
fn carried(player: &Player) -> (Vec<i32>, Vec<i32>) {
    let own = player.entity();
    let bag = held(player, own, "bag").first().copied();
    let packed = bag.map_or(vec![], |bag| wear_of(player, bag));
    (packed, wear_of(player, own))
}

async fn carries(player: &mut Player, packed: &[i32], in_hand: &[i32]) {
    let expected = (packed.to_vec(), in_hand.to_vec());
    until(&mut [player], "it carries its things", |p| {
        carried(p[0]) == expected
    })
    .await;
}

/// A player with a bag of two axes, and one in its hands.
async fn equip(player: &mut Player) {
    give(player, "forge", &[3]);
    carries(player, &[], &[3]).await;
    give(player, "forge", &[4]);
    carries(player, &[], &[3, 4]).await;
    give(player, "sew", &[]);
    until(&mut [player], "it has a bag", |p| {
        !held(p[0], p[0].entity(), "bag").is_empty()
    })
    .await;
    give(player, "pack", &[]);
    carries(player, &[3, 4], &[]).await;
    give(player, "forge", &[5]);
    carries(player, &[3, 4], &[5]).await;
}

fn myriad(words: &[&str]) -> String {
    let output = Command::new(myriad_binary()).args(words).output().unwrap();
    text(&output)
}

#[tokio::test]
async fn things_come_back_with_their_account_after_it_has_left_and_after_a_fall() {
    let world = axes("back", 64);
    let folder = TestFolder::absent("axes-back");
    let server = start(&world, &folder);
    let mut ann = join_named(&server, "ann").await;
    equip(&mut ann).await;
    leave(&server, ann).await;
    let mut ann = join_named(&server, "ann").await;
    carries(&mut ann, &[3, 4], &[5]).await;
    let bag = held(&ann, ann.entity(), "bag")[0];
    assert_eq!(value(&ann, bag, "maker"), ann.entity().reference().0);
    let before = ann.entity();
    give(&mut ann, "fall_down", &[]);
    until(&mut [&mut ann], "it is born again", |p| {
        p[0].entity() != before && p[0].client.view().own().is_some()
    })
    .await;
    carries(&mut ann, &[3, 4], &[5]).await;
    // One goes to another account, and stays there.
    let mut bob = join_named(&server, "bob").await;
    let other = bob.entity();
    until(&mut [&mut ann, &mut bob], "they see each other", |p| {
        p[0].sees(other)
    })
    .await;
    let axe = held(&ann, ann.entity(), "axe")[0];
    give(
        &mut ann,
        "pass_on",
        &[axe.reference().0, other.reference().0],
    );
    carries(&mut bob, &[], &[5]).await;
    leave(&server, ann).await;
    leave(&server, bob).await;
    let mut bob = join_named(&server, "bob").await;
    carries(&mut bob, &[], &[5]).await;
    let mut ann = join_named(&server, "ann").await;
    carries(&mut ann, &[3, 4], &[]).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn things_outlive_crashes_with_their_players_away_and_in_the_world() {
    let world = axes("crash", 64);
    let folder = TestFolder::absent("axes-crash");
    let server = start(&world, &folder);
    let mut ann = join_named(&server, "ann").await;
    equip(&mut ann).await;
    ticks(&server, 2).await;
    let with_ann = folder.crashed("axes-crash-with");
    leave(&server, ann).await;
    let without_ann = folder.crashed("axes-crash-without");
    server.stop().unwrap();
    for folder in [&with_ann, &without_ann, &folder] {
        for _ in 0..2 {
            let server = start(&world, folder);
            let mut ann = join_named(&server, "ann").await;
            carries(&mut ann, &[3, 4], &[5]).await;
            leave(&server, ann).await;
            server.stop().unwrap();
        }
    }
}

/// How many axes and bags there are in a world and its characters before a tick.
fn count(folder: &TestFolder, until: u64) -> (u64, BTreeMap<&'static str, usize>) {
    let disk = Folder::new(&**folder);
    let stored = recovery::read(&disk, 0).unwrap();
    let mut backend = CpuBackend::new(&stored.body.world, 1, None).unwrap();
    let replay = Replay {
        backend: &mut backend,
        until: Some(until),
        progress: &mut |_| (),
    };
    let (recovered, end) = recovery::replay(&disk, stored, replay).unwrap();
    let mut characters: BTreeMap<String, Character> = recovered.roster.characters;
    let world = &recovered.world;
    recovered.settlement.apply(world, |account, change| {
        change(characters.entry(account.to_owned()).or_default());
    });
    let mut counts = BTreeMap::new();
    for name in ["axe", "bag"] {
        let kind = world.schema.kind(name).unwrap() as u16;
        let slots = recovered.snapshot.states.iter();
        let slots = slots.zip(&recovered.snapshot.kinds);
        let living = slots.filter(|(state, own)| **state == SlotState::Live && **own == kind);
        let kept = characters.values().flat_map(|own| &own.things);
        let kept = kept.filter(|thing| thing.kind == kind).count();
        counts.insert(name, living.count() + kept);
    }
    (end.tick, counts)
}

#[tokio::test]
async fn after_every_tick_each_thing_is_in_the_world_or_in_one_character() {
    let world = axes("ticks", 24);
    let folder = TestFolder::absent("axes-ticks");
    let server = start(&world, &folder);
    let mut ann = join_named(&server, "ann").await;
    equip(&mut ann).await;
    let mut bob = join_named(&server, "bob").await;
    for round in 0..4 {
        if round % 2 == 0 {
            leave(&server, ann).await;
            ann = join_named(&server, "ann").await;
        } else {
            let before = ann.entity();
            give(&mut ann, "fall_down", &[]);
            until(&mut [&mut ann, &mut bob], "it is born again", |p| {
                p[0].entity() != before && p[0].client.view().own().is_some()
            })
            .await;
        }
        carries(&mut ann, &[3, 4], &[5]).await;
    }
    leave(&server, ann).await;
    leave(&server, bob).await;
    server.stop().unwrap();
    let (last, _) = count(&folder, u64::MAX);
    let expected = BTreeMap::from([("axe", 3), ("bag", 1)]);
    let counts = (0..=last).map(|tick| count(&folder, tick).1);
    let counts: Vec<_> = counts.collect();
    let made = counts.iter().position(|counts| *counts == expected);
    let made = made.expect("all things are made");
    assert!(counts.len() > made + 20, "{made} of {last}");
    for (tick, counts) in counts.iter().enumerate().skip(made) {
        assert_eq!(*counts, expected, "before tick {tick}");
    }
}

#[tokio::test]
async fn what_has_no_room_stays_with_the_account_and_comes_later() {
    let world = axes("room", 8);
    let folder = TestFolder::absent("axes-room");
    let server = start(&world, &folder);
    server.stop().unwrap();
    let dir = folder.display().to_string();
    let axes: Vec<String> = (1..=12)
        .map(|n| format!("{{\"kind\": \"axe\", \"wear\": {n}}}"))
        .collect();
    let things = format!("things=[{}]", axes.join(", "));
    myriad(&["characters", "set", &dir, "ann", &things]);
    let server = start(&world, &folder);
    let mut ann = join_named(&server, "ann").await;
    carries(&mut ann, &[], &[1, 2, 3, 4, 5, 6, 7]).await;
    // Five are still there, as the world has eight slots.
    leave(&server, ann).await;
    server.stop().unwrap();
    let shown = myriad(&["characters", "show", &dir, "ann"]);
    assert_eq!(shown.matches("\"axe\"").count(), 12, "{shown}");
    let wider = world.replace("capacity = 8", "capacity = 64");
    let place = folder.join("wider.toml");
    fs::write(&place, &wider).unwrap();
    let migrated = myriad(&["migrate", &dir, "--world", &place.display().to_string()]);
    assert!(migrated.contains("capacity: 8 slots, now 64"), "{migrated}");
    let server = start(&wider, &folder);
    let mut ann = join_named(&server, "ann").await;
    let all: Vec<i32> = (1..=12).collect();
    carries(&mut ann, &[], &all).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn operators_see_things_and_texts_and_give_them_to_accounts() {
    let world = axes("operators", 64);
    let folder = TestFolder::absent("axes-operators");
    let server = start(&world, &folder);
    let mut ann = join_named(&server, "ann").await;
    equip(&mut ann).await;
    leave(&server, ann).await;
    server.stop().unwrap();
    let dir = folder.display().to_string();
    let exported = myriad(&["characters", "export", &dir]);
    let expected = "{\"account\":\"ann\",\"character\":{\"gold\":7,\"motto\":\"\",\"things\":[\
        {\"kind\":\"bag\",\"maker\":0,\"things\":[{\"kind\":\"axe\",\"wear\":3},\
        {\"kind\":\"axe\",\"wear\":4}]},{\"kind\":\"axe\",\"wear\":5}]}}\n";
    assert_eq!(exported, expected);
    let lines = exported
        .replace("ann", "bob")
        .replace("\"wear\":5", "\"wear\":6");
    let file = folder.join("accounts.json");
    fs::write(&file, lines).unwrap();
    myriad(&["characters", "import", &dir, &file.display().to_string()]);
    myriad(&["characters", "delete", &dir, "ann"]);
    myriad(&["characters", "set", &dir, "bob", "gold=8", "motto=Onwards"]);
    let refused = myriad(&[
        "characters",
        "set",
        &dir,
        "bob",
        "things=[{\"kind\":\"hat\"}]",
    ]);
    assert!(refused.contains("one of [\"bag\", \"axe\"]"), "{refused}");
    let server = start(&world, &folder);
    let mut bob = join_named(&server, "bob").await;
    carries(&mut bob, &[3, 4], &[6]).await;
    assert_ne!(bob.value(bob.entity(), "motto"), 0);
    let mut ann = join_named(&server, "ann").await;
    carries(&mut ann, &[], &[]).await;
    leave(&server, bob).await;
    server.stop().unwrap();
    let shown = myriad(&["characters", "show", &dir, "bob"]);
    assert!(
        shown.contains("\"gold\":8,\"motto\":\"Onwards\""),
        "{shown}"
    );
    assert_eq!(shown.matches("axe").count(), 3, "{shown}");
}

#[tokio::test]
async fn a_migrated_world_finds_things_by_name() {
    let world = axes("migrated", 64);
    let folder = TestFolder::absent("axes-migrated");
    let server = start(&world, &folder);
    let mut ann = join_named(&server, "ann").await;
    equip(&mut ann).await;
    leave(&server, ann).await;
    server.stop().unwrap();
    // Another kind comes before, so all have other numbers.
    let other = world.replacen("[[kind]]", "[[kind]]\nname = 'post'\n[[kind]]", 1);
    let other = other.replace("[world]", "[world]\nplayer_kind = 'player'");
    let place = folder.join("other.toml");
    fs::write(&place, &other).unwrap();
    let dir = folder.display().to_string();
    let migrated = myriad(&["migrate", &dir, "--world", &place.display().to_string()]);
    assert!(migrated.contains("kind post is new"), "{migrated}");
    let server = start(&other, &folder);
    let mut ann = join_named(&server, "ann").await;
    carries(&mut ann, &[3, 4], &[5]).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn a_standby_that_takes_over_has_the_things_of_its_primary() {
    let world = axes("standby", 64);
    let pair = Pair::new(&world, "axes");
    let primary = pair.primary(by_name);
    let standby = pair.standby_with(&primary, by_name);
    complete(&standby).await;
    let mut ann = join_named(&primary, "ann").await;
    equip(&mut ann).await;
    let mut bob = join_named(&primary, "bob").await;
    equip(&mut bob).await;
    leave(&primary, bob).await;
    has_all(&primary).await;
    let promoted = pair.promote(standby);
    drop(primary);
    for account in ["ann", "bob"] {
        let mut player = join_named(&promoted, account).await;
        carries(&mut player, &[3, 4], &[5]).await;
        leave(&promoted, player).await;
    }
    // The next one gets all of it, too.
    let back = Standby::start(pair.options("primary", by_name), pair.follow(&promoted)).unwrap();
    complete(&back).await;
    has_all(&promoted).await;
    drop(promoted);
    let again = back.promote().expect("back again");
    let mut ann = join_named(&again, "ann").await;
    carries(&mut ann, &[3, 4], &[5]).await;
    again.stop().unwrap();
}
