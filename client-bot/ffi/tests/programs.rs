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
    let output = run(&mut walk(Command::new(compiled("c")), &server));
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
    let output = run(&mut walk(Command::new(compiled("c-dies")), &server));
    is_over.store(true, Ordering::Relaxed);
    killing.join().expect("nothing went wrong");
    for line in ["notification fall, 1 fields", "born again as entity "] {
        assert!(output.contains(line), "{output}");
    }
    let last = output.lines().last().unwrap_or_default();
    assert!(last.contains(" steps, at "), "{output}");
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
    let output = walk(Command::new(compiled("c-still")), &server).output();
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

/// The program in C, in a folder of this name.
fn compiled(name: &str) -> PathBuf {
    let folder = folder(name);
    let program = folder.join("walk");
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
        .arg(sources.join("examples/walk.c"))
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
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("csharp");
    let server = serve(WORLD);
    let folder = folder("csharp");
    let mut program = if is_there("mcs") && is_there("mono") {
        let program = folder.join("Walk.exe");
        run(Command::new("mcs")
            .arg(format!("-out:{}", program.display()))
            .args(
                ["Myriad.cs", "Bindings.cs", "WalkWorld.cs", "Walk.cs"]
                    .map(|file| sources.join(file)),
            ));
        let mut mono = Command::new("mono");
        mono.arg(program);
        mono
    } else if is_there("dotnet") {
        run(Command::new("dotnet")
            .args(["publish", "-o"])
            .arg(&folder)
            .arg(sources.join("Walk.csproj"))
            .arg(format!(
                "-p:BaseIntermediateOutputPath={}/",
                folder.join("obj").display()
            )));
        let mut dotnet = Command::new("dotnet");
        dotnet.arg(folder.join("Walk.dll"));
        dotnet
    } else {
        eprintln!("skipped: neither mcs and mono nor dotnet are installed");
        return;
    };
    program.env("LD_LIBRARY_PATH", library().parent().expect("a folder"));
    assert_walked(&run(&mut walk(program, &server)));
}

fn serve(world: &str) -> Server {
    let world = world_file::parse(world, "a test's world").expect("a valid world file");
    Server::start(ServerOptions::local(world)).expect("the server starts")
}

fn walk(mut program: Command, server: &Server) -> Command {
    let digits = fingerprint(server.certificate()).map(|byte| format!("{byte:02x}"));
    program.args([&server.address().to_string(), &digits.concat(), SECONDS]);
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
