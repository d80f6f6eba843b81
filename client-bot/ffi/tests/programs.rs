//! Programs in other languages play in a real world over the library.
//!
//! The C compiler must be there. C# runs where `mcs` and `mono`, or `dotnet` are.
#![cfg(unix)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client_bot::client_core::GameOptions;
use client_bot::connect::fingerprint;
use client_bot::named::reference;
use client_bot::{GameClient, Trust};
use server::{Server, ServerOptions};

const WORLD: &str = "
    [world]
    size = [100, 100]
    aoi = 200
    capacity = 64
    tick_hz = 20

    [[kind]]
    name = \"player\"
    attributes = []

    [[kind]]
    name = \"tree\"
    population = 7
    attributes = []
";
/// More sides of a square than one, fewer than four: the walker ends elsewhere.
const SECONDS: &str = "3";

/// Players die of two strikes, and are born again.
const DUEL: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [limits]
    subscriptions_per_client = 1

    [commands]
    strike = { reach = 100, damage = 50, per_tick = 0 }

    [[kind]]
    name = \"player\"
    respawn_ticks = 8
    attributes = [
        { name = \"hp\", type = \"i32\", default = 100, min = 0, max = 100, falls_at = 0, audience = \"state\" },
    ]
";

#[test]
fn a_program_in_c_lists_the_world_and_walks() {
    let server = serve(WORLD);
    let output = run(&mut walk(Command::new(compiled("c", "walk")), &server));
    assert_walked(&output);
    for line in [
        "kind tree, 2 attributes",
        "attribute x: fixed, movement, from 0 to 99.9998",
        "command move: x (fixed) y (fixed)",
    ] {
        assert!(output.lines().any(|found| found == line), "{output}");
    }
}

#[test]
fn a_program_in_c_goes_on_after_its_death() {
    let server = serve(DUEL);
    let certificates = vec![server.certificate().clone()];
    let trust = Trust::Certificates(certificates);
    let options = GameOptions::default();
    let mut killer = GameClient::new(server.address(), "localhost", &trust, options)
        .expect("a socket of this machine");
    let is_over = Arc::new(AtomicBool::new(false));
    let stop = is_over.clone();
    let killing = std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            killer.poll();
            if let (Some(_), Some(view)) = (killer.input_due(), killer.view()) {
                let others = view.entities().values().map(|entity| entity.id);
                let others: Vec<_> = others.filter(|&id| id != view.entity()).collect();
                for other in others {
                    let strike = killer.command_named("strike", &[reference(other)]);
                    strike.expect("the world has it");
                }
            }
            killer.flush();
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let output = run(&mut walk(Command::new(compiled("c-dies", "walk")), &server));
    is_over.store(true, Ordering::Relaxed);
    killing.join().expect("nothing went wrong");
    for line in ["notification fall, 1 fields", "born again as entity "] {
        assert!(output.contains(line), "{output}");
    }
    let last = output.lines().last().unwrap_or_default();
    assert!(last.contains(" steps, at "), "{output}");
}

/// A chest, in which is a bag with an axe in it, and a player beside it.
const BAG: &str = "
    [world]
    size = [10, 10]
    capacity = 16
    tick_hz = 20

    [logic]
    folder = \"logic\"

    [[kind]]
    name = \"player\"
    attributes = [{ name = \"looks_into\", type = \"entity\", audience = \"private\", shows_held = true }]

    [[kind]]
    name = \"chest\"
    population = 1

    [[kind]]
    name = \"bag\"
    place = \"none\"
    attributes = [{ name = \"room\", type = \"fixed\", default = 2.5, audience = \"state\" }]

    [[kind]]
    name = \"axe\"
    place = \"none\"
    attributes = [
        { name = \"wear\", type = \"i32\", default = 9, audience = \"state\" },
        { name = \"price\", type = \"i32\", default = 7, audience = \"private\" },
    ]

    [[every]]
    kind = \"chest\"
    ticks = 2
    command = \"stock\"
";
const BAG_SCRIPT: &str = "
#[command(rules)]
fn stock(me: Entity) {
    if count(\"axe\") == 0 { spawn(Axe { holder: me }); }
    if count(\"bag\") == 0 { spawn(Bag { holder: me }); }
    for bag in held_by(me, \"bag\") {
        if count(\"axe\") == 1 { spawn(Axe { holder: bag, wear: 3 }); }
    }
}

#[command(clients)]
fn open(me: Entity, chest: Entity) { me.looks_into = chest; }

#[command(clients, atomic)]
fn take(me: Entity, chest: Entity, it: Entity) {
    require(it.holder == chest);
    it.holder = me;
}
";

#[test]
fn a_program_in_c_reads_what_a_chest_and_its_player_have() {
    let server = serve_bag("c");
    let program = compiled("c-bag", "bag");
    assert_has_taken(&run(&mut at(Command::new(program), &server)));
}

#[test]
fn a_program_in_c_sharp_reads_what_a_chest_and_its_player_have() {
    let Some(program) = compiled_cs("cs-bag", &["csharp/Myriad.cs", "examples/Bag.cs"]) else {
        return;
    };
    let server = serve_bag("cs");
    assert_has_taken(&run(&mut at(program, &server)));
}

fn serve_bag(name: &str) -> Server {
    let folder = folder(&format!("bag-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("logic")).expect("a folder");
    std::fs::write(folder.join("logic/bag.rs"), BAG_SCRIPT).expect("a script");
    std::fs::write(folder.join("world.toml"), BAG).expect("a world file");
    let world = world_file::load(&folder.join("world.toml")).expect("a valid world file");
    std::fs::remove_dir_all(&folder).expect("the folder is there");
    Server::start(ServerOptions::local(world)).expect("the server starts")
}

/// The first thing of the chest is the player's; each line names its holder, and what is within a
/// bag comes behind it.
fn assert_has_taken(output: &str) {
    let lines: Vec<&str> = output.lines().collect();
    let slot = |line: &str| {
        let slot = line
            .split_once(", entity ")
            .and_then(|(_, slot)| slot.strip_suffix(':'));
        slot.map(str::to_owned)
            .unwrap_or_else(|| panic!("no slot in {line:?}: {output}"))
    };
    let chest = lines.iter().position(|line| line.starts_with("the chest"));
    let player = lines.iter().position(|line| line.starts_with("the player"));
    let (Some(0), Some(player)) = (chest, player) else {
        panic!("{output}");
    };
    let (in_chest, own) = (&lines[1..player], &lines[player + 1..]);
    let of_chest = format!(", holder {}", slot(lines[0]));
    let of_player = format!(", holder {}", slot(lines[player]));
    let top: Vec<&&str> = in_chest
        .iter()
        .filter(|line| !line.starts_with("    "))
        .collect();
    assert!(top.iter().all(|line| line.contains(&of_chest)), "{output}");
    assert!(
        !in_chest.iter().any(|line| line.contains(", own")),
        "{output}"
    );
    let taken = own.first().unwrap_or_else(|| panic!("{output}"));
    assert!(
        taken.contains(&of_player) && taken.contains(", own"),
        "{output}"
    );
    let bag = in_chest
        .iter()
        .chain(own)
        .position(|line| line.starts_with("  bag"));
    let all: Vec<&&str> = in_chest.iter().chain(own).collect();
    let inner = bag.and_then(|bag| all.get(bag + 1));
    let has = |line: &str, value: &str| line.contains(value);
    assert!(
        bag.is_some_and(|bag| has(all[bag], ", room 2.5")),
        "{output}"
    );
    assert!(
        inner.is_some_and(|line| line.starts_with("    axe") && has(line, ", wear 3")),
        "{output}"
    );
    assert!(
        all.iter()
            .any(|line| line.starts_with("  axe") && has(line, ", wear 9")),
        "{output}"
    );
    // Private attributes are those of its own things.
    for axe in all.iter().filter(|line| line.contains("axe")) {
        assert_eq!(has(axe, ", price 7"), has(axe, ", own"), "{output}");
    }
}

/// Players can do nothing.
const STILL: &str = "
    [world]
    size = [100, 100]
    aoi = 20
    capacity = 64

    [logic]
    builtin = []

    [[kind]]
    name = \"player\"
    attributes = []
";

#[test]
fn a_program_in_c_gets_what_the_world_of_its_bindings_lacks() {
    let server = serve(STILL);
    let output = walk(Command::new(compiled("c-still", "walk")), &server).output();
    let output = output.expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for expected in [
        "the game was made for another world",
        "command `move` is missing",
        "`myriad bindings --lang c`",
    ] {
        assert!(errors.contains(expected), "{errors}");
    }
}

/// An example in C, in a folder of this name.
fn compiled(name: &str, example: &str) -> PathBuf {
    let folder = folder(name);
    let program = folder.join(example);
    let library = library();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    run(Command::new("cc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-o",
        ])
        .arg(&program)
        .arg(sources.join(format!("examples/{example}.c")))
        .args([OsStr::new("-I"), sources.join("include").as_os_str()])
        .arg(&library)
        .arg(format!(
            "-Wl,-rpath,{}",
            library.parent().expect("a folder").display()
        )));
    program
}

#[test]
fn a_program_in_c_sharp_walks() {
    let files = ["Myriad.cs", "Bindings.cs", "WalkWorld.cs", "Walk.cs"];
    let Some(program) = compiled_cs("csharp", &files.map(|file| format!("csharp/{file}"))) else {
        return;
    };
    let server = serve(WORLD);
    assert_walked(&run(&mut walk(program, &server)));
}

/// A program in C#, in a folder of this name; `None` where nothing compiles it.
fn compiled_cs(name: &str, files: &[impl AsRef<str>]) -> Option<Command> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = files.iter().map(|file| sources.join(file.as_ref()));
    let folder = folder(name);
    let mut program = if is_there("mcs") && is_there("mono") {
        let program = folder.join("Program.exe");
        run(Command::new("mcs")
            .arg(format!("-out:{}", program.display()))
            .args(files));
        let mut mono = Command::new("mono");
        mono.arg(program);
        mono
    } else if is_there("dotnet") {
        for file in files {
            let name = file.file_name().expect("a file");
            std::fs::copy(&file, folder.join(name)).expect("a copy");
        }
        let project = folder.join("Program.csproj");
        std::fs::copy(sources.join("csharp/Walk.csproj"), &project).expect("a copy");
        let built = folder.join("built");
        run(Command::new("dotnet")
            .args(["publish", "-o"])
            .args([&built, &project]));
        let mut dotnet = Command::new("dotnet");
        dotnet.arg(built.join("Program.dll"));
        dotnet
    } else {
        eprintln!("skipped: neither mcs and mono nor dotnet are installed");
        return None;
    };
    program.env("LD_LIBRARY_PATH", library().parent().expect("a folder"));
    Some(program)
}

fn serve(world: &str) -> Server {
    let world = world_file::parse(world, "a test's world").expect("a valid world file");
    Server::start(ServerOptions::local(world)).expect("the server starts")
}

fn walk(program: Command, server: &Server) -> Command {
    let mut program = at(program, server);
    program.arg(SECONDS);
    program
}

/// A program that is to connect to a server.
fn at(mut program: Command, server: &Server) -> Command {
    let digits = fingerprint(server.certificate()).map(|byte| format!("{byte:02x}"));
    program.args([&server.address().to_string(), &digits.concat()]);
    program
}

/// The last line is `N entered, N in view, N steps, at X Y`: the walker saw itself and all
/// others, gave a command in most ticks, and is somewhere in the world.
fn assert_walked(output: &str) {
    let last = output.lines().last().unwrap_or_default();
    let numbers: Vec<f64> = last
        .split([' ', ','])
        .filter_map(|word| word.trim().parse().ok())
        .collect();
    let &[entered, in_view, steps, x, y] = &numbers[..] else {
        panic!("expected five numbers: {output}");
    };
    assert_eq!((entered, in_view), (8.0, 8.0), "{output}");
    assert!(steps > 10.0, "{output}");
    assert!(
        (0.0..=100.0).contains(&x) && (0.0..=100.0).contains(&y),
        "{output}"
    );
}

/// The library for C that was built with this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.parent().expect("a folder");
    let name = format!(
        "{}myriad_client{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    folder.join(name)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder for what is built");
    folder
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Runs a program to its end, and gives what it printed.
fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{:?} does not start: {error}", command.get_program()));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {printed}{errors}");
    printed
}
