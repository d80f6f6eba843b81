use std::path::PathBuf;

use gpu_kernels::{Backend, CpuBackend, Frame, TimedCommand};
use shared::world::edit::{Edit, LayerKind};
use shared::world::given;
use shared::{CommandKind, EntityId, Tick};
use world_file::Reader;

use shared::world::attribute::joined;
use shared::world::value::words_at;

use super::*;
use durability::roster::Roster;

const KINDS: &str = "
    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
        { name = 'mana', type = 'i32', audience = 'state' },
        { name = 'team', type = 'symbol', symbols = ['red', 'blue', 'green'], audience = 'state' },
    ]

    [[kind]]
    name = 'item'
    attributes = [{ name = 'hp', type = 'i32', default = 5, audience = 'state' }]
";
const SCRIPTS: &str = "
    #[command]
    fn grow(me: Entity, by: i32) { me.hp += by; }

    #[command]
    fn paint(me: Entity, team: Symbol) { me.team = team; }

    #[command(clients)]
    fn plant(me: Entity) { after(5, grow(me, 1)); after(6, paint(me, \"blue\")); }
";

/// A world with this head, these kinds and scripts of its own.
fn world(head: &str, kinds: &str, scripts: &str) -> WorldConfig {
    let folder = Scripts::new(scripts);
    let reader = Reader {
        folder: Some(folder.0.clone()),
        ..Reader::default()
    };
    let head = format!("[world]\nsize = [100, 100]\naoi = 20\n{head}\n[logic]\nbuiltin = []\n");
    let parsed = reader.parse(&format!("{head}{kinds}"), "a test's world");
    parsed.unwrap().config
}

/// A folder of scripts, which is removed at the end.
struct Scripts(PathBuf);

impl Scripts {
    fn new(text: &str) -> Scripts {
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(format!("myriad-migration-{process}-{thread:?}"));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("own.rs"), text).unwrap();
        Scripts(path)
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn kept() -> WorldConfig {
    world("capacity = 8", KINDS, SCRIPTS)
}

/// A state before tick 1 with players in the slots 0 and 1 and an item in slot 2.
fn state(world: &WorldConfig) -> Body {
    let mut backend = CpuBackend::new(world, 1, None).unwrap();
    let mut frame = Frame::new(Tick(0));
    for (kind, token) in [(0, 3), (0, 4), (1, 5)] {
        frame.spawn_at(kind, token, &[4096, 8192]);
    }
    let output = backend.tick(&frame).unwrap();
    Body {
        world: world.clone(),
        snapshot: backend.snapshot().unwrap(),
        hash: output.hash.clone(),
        roster: Roster::default(),
        births: output.births.clone(),
        deaths: vec![],
    }
}

fn set(body: &mut Body, slot: usize, attribute: &str, value: i32) {
    let schema = &body.world.schema;
    let column = schema.column(attribute).unwrap();
    body.snapshot.rows[slot * schema.attributes.len() + column] = value;
}

fn get(body: &Body, slot: usize, attribute: &str) -> i32 {
    let schema = &body.world.schema;
    let column = schema.column(attribute).unwrap();
    body.snapshot.rows[slot * schema.attributes.len() + column]
}

fn symbol(world: &WorldConfig, name: &str) -> i32 {
    let mut symbols = world.schema.symbols.iter();
    symbols.position(|own| own == name).unwrap() as i32
}

fn migrated(body: Body, given: &WorldConfig) -> Migrated {
    migrate(body, given, &MigrationOptions::default()).unwrap()
}

/// Whether any line has these parts.
fn says(migrated: &Migrated, line: &str) {
    let lines = &migrated.changes;
    assert!(lines.iter().any(|own| own == line), "{line}: {lines:#?}");
}

/// Backends run from it to the same states, whatever their number of threads.
fn runs_on(body: &Body, ticks: u64) -> Snapshot {
    let mut ends = vec![];
    for threads in [1, 3] {
        let mut backend = CpuBackend::new(&body.world, threads, None).unwrap();
        backend.restore(&body.snapshot).unwrap();
        assert_eq!(backend.state_hash().unwrap(), body.hash);
        let first = body.snapshot.tick.0;
        for tick in first..first + ticks {
            backend.tick(&Frame::new(Tick(tick))).unwrap();
        }
        ends.push(backend.snapshot().unwrap());
    }
    assert_eq!(ends[0], ends[1]);
    ends.pop().unwrap()
}

#[test]
fn cells_that_scripts_changed_stay_as_they_are_while_the_layers_do() {
    let with = |more: &str, row: &str| {
        let layer = format!(
            "[[layer]]\nname = 'blocked'\ncell = 32\neditable = true\n\
             drawing = \"\"\"\n....\n....\n{row}\n....\n\"\"\"\n"
        );
        world(
            &format!("capacity = 8{more}"),
            &format!("{layer}{KINDS}"),
            SCRIPTS,
        )
    };
    let edit = |cell, value| Edit {
        layer: LayerKind::Blocked,
        cell,
        value,
    };
    let body = || {
        let mut body = state(&with("", "...."));
        body.snapshot.edits = vec![edit(3, 1), edit(9, 1)];
        body
    };
    let kept = migrated(body(), &with("\nname = 'other'", "...."));
    assert_eq!(kept.body.snapshot.edits, [edit(3, 1), edit(9, 1)]);
    runs_on(&kept.body, 3);
    let dropped = migrated(body(), &with("", ".#.."));
    assert_eq!(dropped.body.snapshot.edits, []);
    says(
        &dropped,
        "layers: 2 cells that scripts changed are as the file has them",
    );
}

#[test]
fn values_follow_their_names_and_new_ones_have_their_defaults() {
    let mut body = state(&kept());
    set(&mut body, 0, "hp", 80);
    set(&mut body, 0, "mana", 7);
    let red = symbol(&body.world, "red");
    set(&mut body, 0, "team", red);
    set(&mut body, 1, "hp", 30);
    let green = symbol(&body.world, "green");
    set(&mut body, 1, "team", green);
    let kinds = "
        [[kind]]
        name = 'item'
        attributes = [{ name = 'hp', type = 'i32', default = 5, audience = 'state' }]

        [[kind]]
        name = 'player'
        attributes = [
            { name = 'team', type = 'symbol', symbols = ['red', 'amber'], audience = 'state' },
            { name = 'rage', type = 'fixed', default = 1.5, audience = 'state' },
            { name = 'hp', type = 'i32', default = 50, min = 40, max = 60, audience = 'state' },
        ]
    ";
    let given = world(
        "capacity = 16\nplayer_kind = 'player'",
        kinds,
        SCRIPTS.replace("blue", "amber").as_str(),
    );
    let migrated = migrated(body, &given);
    let body = &migrated.body;
    let player = given.schema.kind("player").unwrap() as u16;
    assert_eq!(body.snapshot.kinds[..3], [player, player, 1 - player]);
    assert_eq!([0, 1, 2].map(|slot| get(body, slot, "hp")), [60, 40, 5]);
    assert_eq!([0, 1, 2].map(|slot| get(body, slot, "x")), [4096; 3]);
    assert_eq!(get(body, 0, "rage"), 6144);
    assert_eq!(get(body, 0, "team"), symbol(&given, "red"));
    assert_eq!(
        get(body, 1, "team"),
        symbol(&given, "red"),
        "its first symbol"
    );
    assert_eq!(
        body.births
            .iter()
            .map(|birth| birth.kind)
            .collect::<Vec<_>>(),
        [player, player, 1 - player]
    );
    for line in [
        "capacity: 8 slots, now 16",
        "attribute mana is gone",
        "player.rage is new: 2 entities have the default, 1.5",
        "player.hp: 2 values are clamped to 40 to 60",
        "player.team: 1 value is a symbol that is gone, now the default, red",
    ] {
        says(&migrated, line);
    }
    runs_on(body, 3);
}

#[test]
fn numbers_become_numbers_of_another_type() {
    let mut body = state(&kept());
    set(&mut body, 0, "mana", -3);
    let fixed = KINDS.replace("'mana', type = 'i32'", "'mana', type = 'fixed'");
    let given = world("capacity = 8", &fixed, SCRIPTS);
    let migrated = migrated(body, &given);
    assert_eq!(get(&migrated.body, 0, "mana"), -3 * 4096);
    says(
        &migrated,
        "attribute mana: i32, now fixed; its values are converted",
    );
    let back = super::migrate(migrated.body, &kept(), &MigrationOptions::default()).unwrap();
    assert_eq!(get(&back.body, 0, "mana"), -3);
}

#[test]
fn a_number_of_32_bits_keeps_its_value_in_64() {
    let mut body = state(&kept());
    set(&mut body, 0, "mana", -3);
    set(&mut body, 1, "mana", 70);
    let wide = KINDS.replace(
        "'mana', type = 'i32'",
        "'mana', type = 'i64', default = 5_000_000_000, max = 5_000_000_000",
    );
    let given = world("capacity = 8", &wide, SCRIPTS);
    let mut migrated = migrated(body, &given);
    let number = |body: &Body, slot: usize| {
        let column = body.world.schema.column("mana").unwrap();
        let row = &body.snapshot.rows[slot * body.world.schema.attributes.len()..];
        joined(words_at(row, column))
    };
    assert_eq!([0, 1].map(|slot| number(&migrated.body, slot)), [-3, 70]);
    says(
        &migrated,
        "attribute mana: i32, now i64; its values are converted",
    );
    runs_on(&migrated.body, 3);
    // From then on it is one of 64 bits under any name, and within its bounds.
    set(&mut migrated.body, 0, "mana high", 1);
    let columns = given.schema.attributes.len();
    migrated.body.hash = StateHash::of(&migrated.body.snapshot, columns, 1);
    let renamed = wide
        .replace("'mana'", "'magic'")
        .replace("max = 5_", "max = 6_");
    let given = world("capacity = 8", &renamed, SCRIPTS);
    let options = MigrationOptions {
        renames: vec![("mana".to_owned(), "magic".to_owned())],
        ..MigrationOptions::default()
    };
    let again = migrate(migrated.body, &given, &options).unwrap();
    let column = given.schema.column("magic").unwrap();
    let row = &again.body.snapshot.rows;
    assert_eq!(joined(words_at(row, column)), 6_000_000_000);
    says(
        &again,
        "player.magic: 1 value is clamped to -9223372036854775808 to 6000000000",
    );
}

#[test]
fn a_value_that_an_account_is_to_get_arrives_under_another_name() {
    let persisted = KINDS.replace(
        "'mana', type = 'i32'",
        "'mana', type = 'i32', persist = true",
    );
    let before = world("capacity = 8", &persisted, SCRIPTS);
    let mut body = state(&before);
    let kind = before.schema.command_named("inherit_mana").unwrap().kind;
    let mut command = TimedCommand::new(Tick(3), EntityId::new(0, 1), kind.id(), &[9]);
    command.sequence = 0;
    body.snapshot.timed.push(command);
    body.snapshot.next_sequence = 1;
    let given = world(
        "capacity = 8",
        &persisted.replace("'mana'", "'magic'"),
        SCRIPTS,
    );
    let options = MigrationOptions {
        renames: vec![("mana".to_owned(), "magic".to_owned())],
        ..MigrationOptions::default()
    };
    let migrated = migrate(body, &given, &options).unwrap();
    assert_eq!(migrated.changes, ["attribute mana is magic now"]);
    let end = Body {
        snapshot: runs_on(&migrated.body, 4),
        ..migrated.body
    };
    assert_eq!(get(&end, 0, "magic"), 9);
}

#[test]
fn a_renamed_attribute_keeps_its_values_and_its_conversion() {
    let mut body = state(&kept());
    set(&mut body, 0, "mana", 9);
    set(&mut body, 1, "team", symbol(&kept(), "blue"));
    let kinds = KINDS
        .replace(
            "'mana', type = 'i32'",
            "'magic', type = 'fixed', default = 3",
        )
        .replace("'team'", "'side'");
    let scripts = SCRIPTS.replace("me.team", "me.side");
    let given = world("capacity = 8", &kinds, &scripts);
    let renames = |pairs: &[(&str, &str)]| MigrationOptions {
        renames: pairs
            .iter()
            .map(|&(old, new)| (old.to_owned(), new.to_owned()))
            .collect(),
        ..MigrationOptions::default()
    };
    let options = renames(&[("mana", "magic"), ("team", "side")]);
    let migrated = migrate(body, &given, &options).unwrap();
    assert_eq!(get(&migrated.body, 0, "magic"), 9 * 4096);
    assert_eq!(get(&migrated.body, 1, "side"), symbol(&given, "blue"));
    says(&migrated, "attribute mana is magic now");
    says(&migrated, "attribute team is side now");
    assert!(!migrated.changes.iter().any(|line| line.contains("is gone")));
    runs_on(&migrated.body, 3);
    for (pair, expected) in [
        (("manna", "magic"), "no attribute of the first name"),
        (("mana", "magik"), "no attribute of the second name"),
        (("hp", "magic"), "still has an attribute of the first name"),
        (
            ("mana", "hp"),
            "has an attribute of the second name already",
        ),
    ] {
        let refused = migrate(state(&kept()), &given, &renames(&[pair])).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
    let twice = renames(&[("mana", "magic"), ("team", "magic")]);
    let refused = migrate(state(&kept()), &given, &twice).unwrap_err();
    assert!(refused.to_string().contains("renamed twice"), "{refused}");
}

#[test]
fn values_of_arrays_and_maps_follow_their_index_and_key() {
    let bag = |name: &str, length: u32, keys: &str| {
        let kinds = format!(
            "[[kind]]\nname = 'player'\nattributes = [
            {{ name = 'slot', type = {{ array = 'i32', length = {length} }}, default = 1, audience = 'state' }},
            {{ name = '{name}', type = {{ map = 'i32', keys = [{keys}] }}, audience = 'state' }}]
            [[kind]]\nname = 'item'"
        );
        world("capacity = 8", &kinds, "")
    };
    let kept = bag("bag", 2, "'wood', 'stone'");
    let body = || {
        let mut body = state(&kept);
        set(&mut body, 0, "slot[1]", 7);
        set(&mut body, 0, "bag.wood", 8);
        set(&mut body, 0, "bag.stone", 9);
        body
    };
    // The array grows, one key goes, one comes.
    let given = bag("bag", 4, "'wood', 'ore', 'axe'");
    let grown = migrated(body(), &given);
    let values = ["slot[0]", "slot[1]", "slot[2]", "bag.axe", "bag.wood"];
    let found = values.map(|name| get(&grown.body, 0, name));
    assert_eq!(found, [1, 7, 1, 0, 8]);
    says(&grown, "attribute bag.stone is gone");
    says(&grown, "symbol \"stone\" is gone");
    let given = bag("sack", 1, "'wood', 'stone'");
    let options = MigrationOptions {
        renames: vec![("bag".to_owned(), "sack".to_owned())],
        ..MigrationOptions::default()
    };
    let migrated = migrate(body(), &given, &options).unwrap();
    let found = ["slot[0]", "sack.wood", "sack.stone"].map(|name| get(&migrated.body, 0, name));
    assert_eq!(found, [1, 8, 9]);
    says(&migrated, "attribute bag.wood is sack.wood now");
    says(&migrated, "attribute slot[1] is gone");
    let given = bag("sack", 2, "'wood'");
    let migrated = migrate(body(), &given, &options).unwrap();
    assert_eq!(get(&migrated.body, 0, "sack.wood"), 8);
    says(&migrated, "attribute bag.stone is gone");
}

#[test]
fn values_of_a_birth_that_waits_move_to_any_columns() {
    let world_before = kept();
    let mut body = state(&world_before);
    let column = |name: &str| world_before.schema.column(name).unwrap() as u16;
    let none = given::NO_COLUMN;
    let columns = [column("hp"), column("team"), column("mana"), none];
    let blue = symbol(&world_before, "blue");
    let waiting = [
        vec![given::values_word(columns), 55, blue, 7, 0],
        vec![given::birth_word(0, 1), -1],
    ];
    for (sequence, words) in (0..).zip(&waiting) {
        let kind = CommandKind::SPAWN.id();
        let mut command = TimedCommand::new(Tick(3), EntityId::NONE, kind, words);
        command.sequence = sequence;
        body.snapshot.timed.push(command);
    }
    body.snapshot.next_sequence = 2;
    // The team comes before many others, and all else behind them.
    let others = ["moss", "fern", "reed"].map(|name| {
        format!(
            "[[kind]]\nname = '{name}'\nattributes = [
                {{ name = 'team', type = 'symbol', symbols = ['red'], audience = 'state' }},
                {{ name = '{name}s', type = {{ array = 'i32', length = 60 }}, audience = 'state' }},
            ]\n"
        )
    });
    let wide = world("capacity = 8", &(others.concat() + KINDS), SCRIPTS);
    let column = |name: &str| wide.schema.column(name).unwrap() as u16;
    let is_far = ["hp", "team", "mana"].map(|name| given::is_far(column(name)));
    assert_eq!(is_far, [true, false, true]);
    let migrated = migrated(body, &wide);
    let end = Body {
        snapshot: runs_on(&migrated.body, 4),
        ..migrated.body
    };
    assert_eq!(get(&end, 3, "hp"), 55);
    assert_eq!(get(&end, 3, "mana"), 7);
    assert_eq!(get(&end, 3, "team"), symbol(&wide, "blue"));
}

#[test]
fn waiting_commands_run_as_what_they_were() {
    let world_before = kept();
    let mut body = state(&world_before);
    let number = |world: &WorldConfig, name: &str| world.schema.command_named(name).unwrap().kind;
    let blue = symbol(&world_before, "blue");
    let player = EntityId::new(0, 1);
    let column = |name: &str| world_before.schema.column(name).unwrap() as u16;
    let columns = [
        column("hp"),
        column("team"),
        given::NO_COLUMN,
        given::NO_COLUMN,
    ];
    let paint_newborn = given::FollowUp {
        command: number(&world_before, "paint").id(),
        words: 1,
        newborn: 0,
        is_giver: true,
    };
    let waiting = [
        (number(&world_before, "grow"), player, vec![-20]),
        (number(&world_before, "paint"), player, vec![blue]),
        (CommandKind::SPAWN, EntityId::NONE, vec![1, 77]),
        (
            CommandKind::SPAWN,
            EntityId::NONE,
            vec![given::values_word(columns), 55, blue, 0, 0],
        ),
        (
            CommandKind::SPAWN,
            EntityId::NONE,
            vec![given::birth_word(0, 1), -1],
        ),
        // It is scheduled for the newborn of the birth before it.
        (
            CommandKind::SPAWN,
            EntityId::NONE,
            vec![
                paint_newborn.word(),
                1 << given::TICK_BITS | 1,
                symbol(&world_before, "red"),
                0,
                0,
            ],
        ),
        (CommandKind::DESPAWN, EntityId::new(1, 1), vec![]),
    ];
    for (sequence, (kind, entity, words)) in (0..).zip(&waiting) {
        let mut command = TimedCommand::new(Tick(3), *entity, kind.id(), words);
        command.sequence = sequence;
        body.snapshot.timed.push(command);
    }
    body.snapshot.next_sequence = 7;
    // Another command comes first, so all numbers are others.
    let scripts = format!("#[command(clients)]\nfn aim(me: Entity) {{ me.hp += 1; }}\n{SCRIPTS}");
    let kinds = format!("[[kind]]\nname = 'altar'\n{KINDS}")
        .replace("['red', 'blue'", "['azure', 'red', 'blue'");
    let given = world("capacity = 8\nplayer_kind = 'player'", &kinds, &scripts);
    assert_ne!(number(&given, "grow"), number(&world_before, "grow"));
    assert_ne!(symbol(&given, "blue"), blue);
    let migrated = migrated(body, &given);
    let born = Body {
        snapshot: runs_on(&migrated.body, 3),
        ..state(&given)
    };
    let end = Body {
        snapshot: runs_on(&migrated.body, 4),
        ..migrated.body
    };
    assert_eq!(get(&end, 0, "hp"), 80);
    assert_eq!(get(&end, 0, "team"), symbol(&given, "blue"));
    assert_ne!(end.snapshot.states[1], SlotState::Live);
    let item = given.schema.kind("item").unwrap() as u16;
    assert_eq!(
        (end.snapshot.states[3], end.snapshot.kinds[3]),
        (SlotState::Live, item)
    );
    // The values of a birth are those of the same attributes.
    assert_eq!(get(&born, 4, "hp"), 55);
    assert_eq!(get(&born, 4, "team"), symbol(&given, "blue"));
    // The newborn was given its command.
    assert_eq!(get(&end, 4, "team"), symbol(&given, "red"));
    // Without its command, a command can't wait.
    let end = body_with(&end, &given);
    let fewer = world(
        "capacity = 8\nplayer_kind = 'player'",
        &kinds,
        &scripts.replace("grow", "shrink"),
    );
    let migrated = super::migrate(end, &fewer, &MigrationOptions::default()).unwrap();
    assert!(migrated.body.snapshot.timed.is_empty());
    says(&migrated, "1 waiting command is dropped: grow is gone");
}

/// A state in which one `grow` waits.
fn body_with(end: &Body, world: &WorldConfig) -> Body {
    let mut snapshot = end.snapshot.clone();
    let grow = world.schema.command_named("grow").unwrap().kind;
    let due = snapshot.tick.after(9);
    let mut command = TimedCommand::new(due, EntityId::new(0, 1), grow.id(), &[1]);
    command.sequence = snapshot.next_sequence;
    snapshot.next_sequence += 1;
    snapshot.timed.push(command);
    Body {
        world: world.clone(),
        snapshot,
        hash: end.hash.clone(),
        roster: Roster::default(),
        births: vec![],
        deaths: vec![],
    }
}

#[test]
fn entities_of_a_kind_that_is_gone_are_removed_only_if_that_is_meant() {
    let body = state(&kept());
    let kinds = &KINDS[..KINDS.find("[[kind]]\n    name = 'item'").unwrap()];
    let given = world("capacity = 8", kinds, SCRIPTS);
    let refused = migrate(state(&kept()), &given, &MigrationOptions::default());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("1 of item"), "{refused}");
    let options = MigrationOptions {
        removes_entities: true,
        ..MigrationOptions::default()
    };
    let migrated = migrate(body, &given, &options).unwrap();
    says(&migrated, "kind item is gone: 1 entity is removed");
    assert_eq!(migrated.body.deaths, [EntityId::new(2, 1)]);
    assert_eq!(migrated.body.snapshot.states[2], SlotState::Resting);
    runs_on(&migrated.body, 3);
}

#[test]
fn a_smaller_capacity_needs_free_slots() {
    let given = |capacity: u32| world(&format!("capacity = {capacity}"), KINDS, SCRIPTS);
    let refused = migrate(state(&kept()), &given(2), &MigrationOptions::default());
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("1 entities live in higher slots"),
        "{refused}"
    );
    assert!(refused.contains("at least 3"), "{refused}");
    runs_on(&migrated(state(&kept()), &given(3)).body, 3);
}

/// What is in a copy stays in it, wherever that is.
#[test]
fn what_is_in_a_plane_stays_there_wherever_the_plane_is() {
    let planes = |pits: u32, caves: u32| {
        let planes = [("pit", 24, pits), ("cave", 16, caves)].map(|(name, size, copies)| {
            format!("[[plane]]\nname = '{name}'\nsize = [{size}, 8]\ncopies = {copies}\n")
        });
        let used = planes.into_iter().zip([pits, caves]);
        let used = used
            .filter(|(_, copies)| *copies > 0)
            .map(|(plane, _)| plane);
        world(
            "capacity = 8",
            &format!("{}{KINDS}", used.collect::<String>()),
            SCRIPTS,
        )
    };
    let kept = planes(2, 3);
    // One player in the world itself, one in the second cave, and an item in the third.
    let places = [[5 << 12, 6 << 12], [3 << 12, 7 << 12], [9 << 12, 2 << 12]];
    let body = || {
        let mut backend = CpuBackend::new(&kept, 1, None).unwrap();
        let mut frame = Frame::new(Tick(0));
        for (token, (plane, local)) in (3..).zip([0, 4, 5].into_iter().zip(places)) {
            let kind = u16::from(token == 5);
            frame.spawn_at(kind, token, &kept.schema.atlas.place_in(plane, local));
        }
        let output = backend.tick(&frame).unwrap();
        Body {
            snapshot: backend.snapshot().unwrap(),
            hash: output.hash.clone(),
            births: output.births.clone(),
            ..state(&kept)
        }
    };
    // More pits move the caves; of two caves, the third is gone; and then all are.
    for (given, expected) in [
        (planes(2, 3), [0, 4, 5]),
        (planes(9, 3), [0, 11, 12]),
        (planes(1, 2), [0, 3, 0]),
        (planes(0, 0), [0, 0, 0]),
    ] {
        let migrated = migrated(body(), &given);
        let atlas = &given.schema.atlas;
        for (slot, (plane, local)) in expected.into_iter().zip(places).enumerate() {
            let place = ["x", "y"].map(|axis| get(&migrated.body, slot, axis));
            assert_eq!(
                (atlas.plane_of(place), atlas.local(place)),
                (plane, local),
                "{slot}"
            );
        }
        runs_on(&migrated.body, 3);
    }
}

/// No living entity has fallen, also by a new rule.
#[test]
fn a_new_rule_for_falls_finds_no_fallen_entity() {
    let mut body = state(&kept());
    set(&mut body, 0, "hp", 10);
    let kinds = KINDS.replace("max = 100, audience", "max = 100, falls_at = 20, audience");
    let kinds = kinds.replace("name = 'player'", "name = 'player'\nrespawn_ticks = 5");
    let migrated = migrated(body, &world("capacity = 8", &kinds, SCRIPTS));
    assert_eq!(get(&migrated.body, 0, "hp"), 21);
    says(&migrated, "player.hp: 1 value is clamped to 21 to 100");
    runs_on(&migrated.body, 3);
}

#[test]
fn a_rest_continues_under_its_commands_name() {
    let scripts = format!("{SCRIPTS}#[command(clients)]\nfn blink(me: Entity) {{ me.hp += 1; }}");
    let commands = "[commands]\nblink = { cooldown = 30 }\nplant = { cooldown = 50 }\n";
    let kept = world("capacity = 8", &format!("{commands}{KINDS}"), &scripts);
    let rests: Vec<&str> = kept.schema.resting_commands().map(|c| &*c.name).collect();
    let plant = rests.iter().position(|&name| name == "plant").unwrap();
    for (cooldown, ready) in [(60, Tick(40)), (10, Tick(10))] {
        let commands = format!("[commands]\nplant = {{ cooldown = {cooldown} }}\n");
        let given = world("capacity = 8", &format!("{commands}{KINDS}"), &scripts);
        let mut body = state(&kept);
        body.snapshot.ready[rests.len() + plant] = Tick(40);
        let migrated = migrate(body, &given, &MigrationOptions::default()).unwrap();
        let mut expected = vec![Tick(0); 8];
        expected[1] = ready;
        assert_eq!(migrated.body.snapshot.ready, expected, "{cooldown}");
    }
}

/// It is in the last slot, which is another one with another capacity.
#[test]
fn what_the_world_shares_keeps_its_values_at_any_capacity() {
    const SHARED: &str =
        "attributes = [{ name = 'round', type = 'i32', default = 4, audience = 'state' }]";
    let given = |capacity: u32, shared: &str| {
        world(&format!("capacity = {capacity}\n{shared}"), KINDS, SCRIPTS)
    };
    // New: it has its default.
    let begun = || migrated(state(&kept()), &given(8, SHARED)).body;
    assert_eq!(get(&begun(), 8, "round"), 4);
    runs_on(&begun(), 3);
    let in_round_9 = || {
        let mut body = begun();
        set(&mut body, 8, "round", 9);
        body
    };
    for capacity in [3, 20] {
        let other = migrated(in_round_9(), &given(capacity, SHARED)).body;
        assert_eq!(get(&other, capacity as usize, "round"), 9);
        runs_on(&other, 3);
    }
    let refused = migrate(
        in_round_9(),
        &given(2, SHARED),
        &MigrationOptions::default(),
    );
    assert!(refused.unwrap_err().to_string().contains("at least 3"));
    // Gone, its slot is one of those that are free.
    let without = migrated(in_round_9(), &given(9, "")).body;
    assert_eq!(without.snapshot.states[8], SlotState::Free);
    runs_on(&without, 3);
}

#[test]
fn what_falls_dies_in_the_migrated_world_once_its_hook_has_run() {
    let item = "name = 'item'\n    attributes = [{ name = 'hp', type = 'i32',";
    let falling = "name = 'item'\n    respawn_ticks = 3\n    attributes = [{ name = 'hp', \
                   type = 'i32', min = 0, falls_at = 0,";
    assert!(KINDS.contains(item));
    let kinds = KINDS.replace(item, falling);
    let scripts = "
        #[command(clients)] fn end(me: Entity) { me.hp -= 5; }
        #[on(fall)] fn fell(me: Entity) { nearest(me, 50.0, \"player\").mana += 1; }";
    let kept = world("capacity = 8", &kinds, scripts);
    let mut body = state(&kept);
    let mut backend = CpuBackend::new(&kept, 1, None).unwrap();
    backend.restore(&body.snapshot).unwrap();
    let mut frame = Frame::new(Tick(1));
    let end = kept.schema.command_named("end").unwrap().kind;
    frame.push(EntityId::new(2, 1), 0, end, &[]);
    let output = backend.tick(&frame).unwrap();
    assert!(output.deaths.is_empty());
    (body.hash, body.births) = (output.hash.clone(), vec![]);
    body.snapshot = backend.snapshot().unwrap();

    let given = world("capacity = 9", &kinds, scripts);
    let mut migrated = migrated(body, &given);
    let mut backend = CpuBackend::new(&given, 1, None).unwrap();
    backend.restore(&migrated.body.snapshot).unwrap();
    let output = backend.tick(&Frame::new(Tick(2))).unwrap();
    assert_eq!(output.deaths, [EntityId::new(2, 1)]);
    migrated.body.snapshot = backend.snapshot().unwrap();
    let mana = [0, 1].map(|slot| get(&migrated.body, slot, "mana"));
    assert_eq!(mana[0] + mana[1], 1);
}
