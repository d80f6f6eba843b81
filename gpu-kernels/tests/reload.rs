//! A world gets other scripts while it runs. On every backend they come into force with the
//! frame that names them, whether they were compiled beforehand or not.

use std::thread;

use gpu_kernels::{Backend, Command, Frame, RestoreError, TickError};
use script::logic::{compile_with, with_logic};
use shared::world::logic::{Constant, LogicConfig, Text};
use shared::{CommandKind, EntityId, Slot, Tick, WorldConfig};
use testkit::agree::assert_agrees;
use testkit::backends::{backends, starters};
use testkit::oracle::{Oracle, OracleOutput};
use testkit::parity::Parity;
use testkit::scenario;
use testkit::scripts::with_texts;

const HP: u16 = 2;

const BEFORE: &str = "
#[command(clients)]
fn sting(me: Entity, target: Entity) {
    target.hp -= 3;
    after(3, swell(target, 10));
}
#[command]
fn swell(me: Entity, by: i32) {
    me.hp -= by;
}
";

const AFTER: &str = "
#[command(clients)]
fn sting(me: Entity, target: Entity) {
    target.hp -= 7;
}
#[command]
fn swell(me: Entity, by: i32) {
    me.hp -= 2 * by;
}
";

const WITHOUT_SWELL: &str = "
#[command(clients)]
fn sting(me: Entity, target: Entity) {
    target.hp -= 7;
}
";

/// The tick from which other scripts are in force.
const CHANGE: u64 = 3;

/// What a test does before the frame with other scripts.
#[derive(Clone, Copy, Debug)]
enum Staged {
    Nothing,
    /// The scripts of the frame.
    Same,
    /// Others, which never come into force.
    Others,
}

#[test]
fn other_scripts_come_into_force_with_the_frame_that_names_them() {
    for staged in [Staged::Nothing, Staged::Same, Staged::Others] {
        // Two scheduled stings run as the new scripts say.
        assert_eq!(
            hit_points(AFTER, staged, false),
            [997, 994, 987, 960, 933, 926]
        );
        // Nothing gives a command that is gone.
        assert_eq!(
            hit_points(WITHOUT_SWELL, staged, false),
            [997, 994, 987, 980, 973, 966]
        );
    }
}

#[test]
fn a_tick_in_flight_keeps_its_scripts() {
    for staged in [Staged::Nothing, Staged::Same, Staged::Others] {
        assert_eq!(
            hit_points(AFTER, staged, true),
            [997, 994, 987, 960, 933, 926]
        );
    }
}

/// The hit points of an entity after each tick from the second on, on every backend. It is
/// stung in each. With pairs, two ticks are in flight, and the scripts change between them.
fn hit_points(text: &str, staged: Staged, in_pairs: bool) -> Vec<i32> {
    let config = world(BEFORE);
    let logic = changed(&config, text);
    let frames: Vec<Frame> = (0..8).map(|tick| frame(&config, tick, &logic)).collect();
    let mut oracle = Oracle::new(&config);
    let expected: Vec<OracleOutput> = frames.iter().map(|frame| oracle.tick(frame)).collect();
    let mut hit_points = vec![];
    for (label, mut backend) in backends(&config) {
        let mut found = vec![];
        stage(&mut *backend, &config, &logic, staged);
        for frames in frames.chunks(if in_pairs { 2 } else { 1 }) {
            let tickets: Vec<_> = frames.iter().map(|f| backend.submit(f).unwrap()).collect();
            for ticket in tickets {
                let output = backend.collect(ticket).unwrap();
                let tick = output.tick.0;
                let place = format!("{label}, {staged:?}, tick {tick}");
                assert_agrees(&oracle.config, &expected[tick as usize], &output, &place);
                let mut changes = output.changes.iter();
                if let Some((_, columns, values)) = changes.find(|change| change.0 == Slot(1)) {
                    assert_eq!(columns, [HP], "{place}");
                    found.push(values[0]);
                }
            }
        }
        let hash = backend.state_hash().unwrap();
        assert_eq!(hash, oracle.hash(), "{label}, {staged:?}");
        hit_points.push(found);
    }
    let first = hit_points.swap_remove(0);
    assert!(hit_points.iter().all(|found| *found == first));
    first[..6].to_vec()
}

fn stage(backend: &mut dyn Backend, config: &WorldConfig, logic: &LogicConfig, staged: Staged) {
    let logic = match staged {
        Staged::Nothing => return,
        Staged::Same => logic.clone(),
        Staged::Others => changed(config, "#[command(clients)]\nfn rest(me: Entity) {}\n"),
    };
    let (config, logic) = compile_with(config, &logic).unwrap();
    let mut compiler = backend.logic_compiler();
    let compiled = thread::spawn(move || compiler.compile(config, logic).unwrap());
    backend.stage(compiled.join().unwrap());
}

#[test]
fn a_snapshot_brings_its_scripts_with_it() {
    let config = world(BEFORE);
    let logic = changed(&config, AFTER);
    let frames: Vec<Frame> = (0..8).map(|tick| frame(&config, tick, &logic)).collect();
    for starter in starters() {
        let label = &starter.label;
        let mut oracle = Oracle::new(&config);
        let mut backend = starter.start(&config);
        let mut snapshots = vec![];
        let mut expected = vec![];
        for frame in &frames {
            expected.push(oracle.tick(frame));
            snapshots.push(backend.snapshot().unwrap());
            backend.tick(frame).unwrap();
        }
        // A world that never had the scripts, and one that has others now.
        let fresh = starter.start(&config);
        for mut backend in [fresh, backend] {
            for from in [5, 1] {
                backend.restore(&snapshots[from]).unwrap();
                assert_eq!(backend.snapshot().unwrap(), snapshots[from], "{label}");
                for (frame, expected) in frames.iter().zip(&expected).skip(from) {
                    let output = backend.tick(frame).unwrap();
                    let place = format!("{label}, from {from}, tick {}", frame.tick);
                    assert_agrees(&oracle.config, expected, &output, &place);
                }
            }
        }
    }
}

#[test]
fn scripts_that_cannot_run_are_refused_and_change_nothing() {
    let config = world(BEFORE);
    let logic = changed(&config, AFTER);
    let mut broken = logic.clone();
    own_text(&mut broken).text.push('}');
    for (label, mut backend) in backends(&config) {
        for tick in 0..CHANGE {
            backend.tick(&frame(&config, tick, &logic)).unwrap();
        }
        let before = backend.snapshot().unwrap();
        let mut refused = frame(&config, CHANGE, &broken);
        let error = backend.submit(&refused).unwrap_err();
        assert!(matches!(error, TickError::Scripts(_)), "{label}: {error}");
        // Scripts of a frame that is refused for another reason.
        refused = frame(&config, CHANGE, &logic);
        refused.commands.push(Command {
            entity: EntityId::NONE,
            sequence: 0,
            word_start: 100,
            kind: 0,
            word_count: 2,
        });
        let error = backend.submit(&refused).unwrap_err();
        assert!(
            matches!(error, TickError::WordsOutOfRange { .. }),
            "{label}"
        );
        let mut snapshot = before.clone();
        snapshot.logic = broken.clone();
        let error = backend.restore(&snapshot).unwrap_err();
        assert!(
            matches!(error, RestoreError::Scripts(_)),
            "{label}: {error}"
        );
        assert_eq!(backend.snapshot().unwrap(), before, "{label}");

        let mut calm = frame(&config, CHANGE, &logic);
        calm.logic = None;
        let output = backend.tick(&calm).unwrap();
        let (_, _, values) = output.changes.iter().next().unwrap();
        assert_eq!(values, [991], "{label}");
    }
}

/// Scripts change often, while commands wait that the ones before scheduled.
#[test]
fn backends_agree_while_scripts_change_to_and_fro() {
    for mut scenario in [scenario::embers(80, 20), scenario::embers(120, 20)] {
        let base = scenario.config.logic.clone();
        let logics: Vec<LogicConfig> = [3, 9, 1]
            .into_iter()
            .map(|damage| {
                let mut logic = base.clone();
                let blast = logic.constants.entry("blast".to_owned()).or_default();
                blast.insert("damage".to_owned(), Constant::Int(damage));
                blast.insert("ember_ticks".to_owned(), Constant::Int(4 - damage / 3));
                logic
            })
            .collect();
        let mut parity = Parity::new(&scenario.config);
        for tick in 0..40 {
            let mut frame = scenario.frame();
            if tick % 3 == 2 {
                let next = logics[tick / 3 % logics.len()].clone();
                frame.logic = Some(Box::new(next));
            }
            let output = parity.tick(&frame);
            scenario.observe(&output.births, &output.deaths);
            if tick == 25 {
                parity.restart(true);
            }
        }
    }
}

/// A world with a folder of scripts has room from the start for what those may do later.
#[test]
fn the_first_command_that_schedules_notifies_or_spawns_needs_no_restart() {
    let folder = std::env::temp_dir().join(format!("myriad-first-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("logic")).unwrap();
    std::fs::write(folder.join("logic/bee.rs"), WITHOUT_SWELL).unwrap();
    let file = "[world]\ncapacity = 8\n[logic]\nfolder = \"logic\"\n[[kind]]\nname = \"bee\"\n\
                attributes = [{ name = \"hp\", type = \"i32\", audience = \"state\", default = 1000 }]\n";
    let path = folder.join("first.toml").display().to_string();
    let config = world_file::parse(file, &path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let text = BEFORE.replace(
        "target.hp -= 3;",
        "target.hp -= 3; spawn(\"bee\", me); tell(Stung { by: me }, around(me, 10.0));",
    );
    let logic = changed(&config, &text);
    let mut parity = Parity::new(&config);
    let (mut born, mut notified, mut hurt) = (0, 0, 0);
    for tick in 0..8 {
        let output = parity.tick(&frame(&config, tick, &logic));
        born += output.births.len();
        notified += output.notifications.len();
        hurt = parity.oracle.slots[1].row[usize::from(HP)];
    }
    // Two births of the frame, and one after each sting from the change on, but the last.
    assert_eq!((born, notified), (2 + 4, 5));
    // 2 stings of 7, 5 of 3, 2 swellings of 10.
    assert_eq!(hurt, 1000 - 14 - 15 - 20);
}

fn world(text: &str) -> WorldConfig {
    let file = "[world]\ncapacity = 8\n[limits]\ntimed_commands = 20\n\
                [[kind]]\nname = \"bee\"\nattributes = [\
                { name = \"hp\", type = \"i32\", audience = \"state\", default = 1000 }]\n";
    let config = world_file::parse(file, "reload").unwrap();
    with_texts(&config, vec![Text::new("bee.rs", text)])
}

/// The scripts of a world with another text.
fn changed(config: &WorldConfig, text: &str) -> LogicConfig {
    let mut logic = config.logic.clone();
    own_text(&mut logic).text = text.to_owned();
    with_logic(config, &logic).unwrap().logic
}

fn own_text(logic: &mut LogicConfig) -> &mut Text {
    let mut texts = logic.texts.iter_mut();
    texts.find(|text| text.file == "bee.rs").unwrap()
}

/// Two births; then the first stings the second in each tick.
fn frame(config: &WorldConfig, tick: u64, logic: &LogicConfig) -> Frame {
    let mut frame = Frame::new(Tick(tick));
    if tick == 0 {
        frame.spawn(0, 0);
        frame.spawn(0, 1);
        return frame;
    }
    if tick == CHANGE {
        frame.logic = Some(Box::new(logic.clone()));
    }
    let commands = &config.schema.commands;
    let sting: CommandKind = commands.iter().find(|c| c.name == "sting").unwrap().kind;
    let target = EntityId::new(1, 1).reference();
    frame.push(EntityId::new(0, 1), tick as u32, sting, &[target.0]);
    frame
}
