//! The tools for writing worlds and scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{myriad_binary, scratch, text};

#[test]
fn a_new_script_can_be_checked_measured_and_run() {
    let folder = empty("new_script");
    let made = myriad(&folder, &["logic", "new", "storm"]);
    assert!(made.status.success(), "{}", text(&made));
    assert!(text(&made).contains("myriad logic check logic"));
    let again = myriad(&folder, &["logic", "new", "storm"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        text(&again).contains("is there already"),
        "{}",
        text(&again)
    );

    let checked = myriad(&folder, &["logic", "check", "logic", "--seconds", "0.2"]);
    let printed = text(&checked);
    assert!(checked.status.success(), "{printed}");
    let line = printed.lines().find(|line| line.starts_with("storm "));
    let words: Vec<&str> = line.expect(&printed).split_whitespace().collect();
    assert_eq!(words, ["storm", "clients", "target:", "Entity", "storm.rs"]);
    assert!(printed.contains(" agree: "), "{printed}");

    let cost = text(&myriad(&folder, &["logic", "cost", "logic"]));
    let line = cost.lines().find(|line| line.starts_with("storm "));
    assert!(line.expect(&cost).ends_with("defers"), "{cost}");

    let ran = myriad(
        &folder,
        &["logic", "run", "storm", "1", "--folder", "logic"],
    );
    assert!(ran.status.success(), "{}", text(&ran));
    let expected = [
        "tick 1, entity 0 (player) at (500, 500) gives storm(target: entity 1 (player) at (501, 500))",
        "entity 1 (player): hp 100 - 3 = 97",
        "in 20 ticks: end_storm() by entity 1 (player)",
    ];
    assert_eq!(text(&ran).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_new_script_fits_every_world_that_is_shipped_and_worlds_with_no_or_other_attributes() {
    let worlds = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds");
    let mut texts: Vec<(String, String)> = fs::read_dir(&worlds)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| {
            (
                path.display().to_string(),
                fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    assert!(texts.len() >= 4, "{}", texts.len());
    let guide = include_str!("../worlds/logic.md");
    let hugs = guide
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let own = [
        ("the guide's world", hugs),
        ("no attribute", "[[kind]]\nname = 'a'"),
        (
            "three axes",
            "[world]\nsize = [9, 9, 9]\naoi = 5\n[[kind]]\nname = 'a'",
        ),
        (
            "only a maximum",
            "[[kind]]\nname = 'a'\nattributes = [{ name = 'best', type = 'i32', merge = 'max', \
             audience = 'state' }]",
        ),
    ];
    texts.extend(own.map(|(name, text)| (name.to_owned(), text.to_owned())));
    for (name, world) in texts {
        let folder = empty("new_script_in_a_world");
        fs::write(folder.join("world.toml"), &world).unwrap();
        // Beside the world's own scripts, if it has some.
        let own = world_folder(&world).filter(|own| worlds.join(own).is_dir());
        let scripts = own.clone().unwrap_or("logic".to_owned());
        if let Some(own) = own {
            fs::create_dir(folder.join(&own)).unwrap();
            for entry in fs::read_dir(worlds.join(&own)).unwrap() {
                let from = entry.unwrap().path();
                let to = folder.join(&own).join(from.file_name().unwrap());
                fs::copy(from, to).unwrap();
            }
        }
        let made = myriad(&folder, &["logic", "new", "storm", "--folder", &scripts]);
        assert!(made.status.success(), "{name}: {}", text(&made));
        let check = ["logic", "check", &scripts, "--seconds", "0.05"];
        let checked = myriad(&folder, &check);
        let printed = text(&checked);
        assert!(checked.status.success(), "{name}: {printed}");
        assert!(
            printed.lines().any(|line| line.starts_with("storm ")),
            "{name}: {printed}"
        );
    }
}

/// The `folder` of a world's `[logic]`.
fn world_folder(world: &str) -> Option<String> {
    let line = world.lines().find(|line| line.starts_with("folder = "))?;
    Some(line.split('"').nth(1)?.to_owned())
}

#[test]
fn a_designer_can_start_from_each_built_in_text() {
    let folder = empty("built_in");
    for name in script::builtin::names() {
        let made = myriad(&folder, &["logic", "new", name, "--folder", "own"]);
        assert!(made.status.success(), "{}", text(&made));
        let written = fs::read_to_string(folder.join(format!("own/{name}.rs"))).unwrap();
        assert_eq!(Some(written), script::builtin::text(name).map(|t| t.text));
    }
    for name in ["fn", "Storm", "a b", ""] {
        let refused = myriad(&folder, &["logic", "new", name]);
        assert_eq!(refused.status.code(), Some(1), "{name}: {}", text(&refused));
        assert!(!folder.join("logic").exists());
    }
}

#[test]
fn problems_of_scripts_are_drawn_all_at_once() {
    let folder = empty("problems");
    write(
        &folder,
        "a.rs",
        "#[command(clients)]\nfn a(me: Entity) { me.hpp += 1; }\n",
    );
    write(
        &folder,
        "b.rs",
        "#[command(clients)]\nfn b(me: Entity) { me.hp += true; }\n",
    );
    let checked = myriad(&folder, &["logic", "check", "logic"]);
    let printed = text(&checked);
    assert_eq!(checked.status.code(), Some(1), "{printed}");
    for part in ["no attribute `hpp`", "a.rs:2", "b.rs:2"] {
        assert!(printed.contains(part), "{part:?} is missing in: {printed}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_script_holds_up_no_check_and_is_named() {
    let folder = empty("no_scripts");
    let gold = "#[command(clients)]\nfn mint(me: Entity) { me.hp += 1; }\n";
    write(&folder, "mint.rs", gold);
    let scripts = folder.join("logic");
    fs::create_dir(scripts.join("folder.rs")).unwrap();
    std::os::unix::fs::symlink("me@host.1", scripts.join(".#mint.rs")).unwrap();
    let made = Command::new("mkfifo").arg(scripts.join("pipe.rs")).status();
    assert!(made.unwrap().success());
    let checked = myriad(&folder, &["logic", "check", "logic", "--seconds", "0.05"]);
    let printed = text(&checked);
    assert!(checked.status.success(), "{printed}");
    for what in ["folder.rs is a folder", "pipe.rs is a pipe"] {
        assert!(printed.contains(what), "{printed}");
    }
    fs::write(folder.join("w.toml"), "[logic]\nfolder = \"logic\"").unwrap();
    let checked = myriad(&folder, &["check", "w.toml"]);
    assert!(checked.status.success(), "{}", text(&checked));
    assert!(text(&checked).contains("pipe.rs is a pipe"));
}

#[test]
fn scripts_are_checked_in_the_only_world_beside_their_folder() {
    let folder = empty("beside");
    let gold = "#[command(clients)]\nfn mint(me: Entity) { me.gold += 1; }\n";
    write(&folder, "mint.rs", gold);
    let check = ["logic", "check", "logic", "--seconds", "0.1"];
    assert_eq!(myriad(&folder, &check).status.code(), Some(1));
    let world = "[[kind]]\nname = \"a\"\nattributes = [{ name = \"gold\", type = \"i32\", \
                 audience = \"state\" }]";
    fs::write(folder.join("world.toml"), world).unwrap();
    let checked = myriad(&folder, &check);
    assert!(checked.status.success(), "{}", text(&checked));
}

#[test]
fn a_command_without_effect_says_why() {
    let folder = empty("why");
    let says = |arguments: &[&str], status: i32, expected: &str| {
        let ran = myriad(&folder, &[&["logic", "run"], arguments].concat());
        let printed = text(&ran);
        assert_eq!(ran.status.code(), Some(status), "{printed}");
        assert!(
            printed.contains(expected),
            "{expected:?} is missing in: {printed}"
        );
    };
    says(
        &["strike"],
        1,
        "malformed: `strike` takes 1 word (target: Entity), found 0",
    );
    says(
        &["strike", "x"],
        1,
        "target: expected the slot of a living entity, or none",
    );
    says(
        &["strike", "1", "--actor", "9"],
        1,
        "stale: no entity lives in slot 9",
    );
    says(&["strike", "0"], 0, "no effect");
    says(
        &["storm"],
        1,
        "there is no command `storm`; expected one of [\"move\", ",
    );
    says(&["pick", "1"], 1, "`pick` is left out: ");
    let endless = "#[command(clients)]\nfn spin(me: Entity) {\n    for i in 0..1000000 {\n        \
                   me.hp += random(0, 1);\n    }\n}\n";
    write(&folder, "spin.rs", endless);
    says(
        &["spin", "--folder", "logic"],
        1,
        "over budget, so without effect",
    );
    let picky = "#[command(clients)]\nfn dig(me: Entity, n: i32) {\n    me.hp += 1;\n    \
                 require(n > 2);\n    me.hp += 1;\n}\n\
                 #[command(clients, atomic)]\nfn pay(me: Entity, n: i32) {\n    \
                 require(me.hp > n, \"you are too weak\");\n    me.hp -= n;\n}\n";
    write(&folder, "spin.rs", picky);
    says(
        &["dig", "1", "--folder", "logic"],
        0,
        "it ended there: `n > 2` does not hold (spin.rs, line 4)\n",
    );
    says(
        &["pay", "999", "--folder", "logic"],
        0,
        "refused, so without effect: `me.hp > n` does not hold (spin.rs, line 9): you are too weak",
    );
    says(&["pay", "1", "--folder", "logic"], 0, "hp 100 → 99");
    write(
        &folder,
        "spin.rs",
        &format!(
            "{picky}#[test]\nfn the_rich_pay() {{\n    let me = spawn(\"player\", point(1.0, 1.0));\n    \
             send(pay(me, 500));\n    ticks(1);\n    assert(me.hp < 100);\n}}\n"
        ),
    );
    let failed = myriad(&folder, &["logic", "test", "logic"]);
    let ended =
        "`pay` ended in tick 0: `me.hp > n` does not hold (spin.rs, line 9): you are too weak";
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed));
    assert!(text(&failed).contains(ended), "{}", text(&failed));
}

#[test]
fn a_command_can_be_run_in_the_world_of_a_recording() {
    let folder = empty("recorded");
    let world = "[[kind]]\nname = \"wolf\"\npopulation = 3\nattributes = [{ name = \"hp\", \
                 type = \"i32\", default = 30, min = 0, max = 30, audience = \"state\" }]\n\
                 [[every]]\nkind = \"wolf\"\nticks = 1\ncommand = \"roam\"";
    fs::write(folder.join("wolves.toml"), world).unwrap();
    let served = myriad(
        &folder,
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--stop-after",
            "1",
            "--world",
            "wolves.toml",
            "--record",
            "wolves.myriad",
        ],
    );
    assert!(served.status.success(), "{}", text(&served));
    let run = [
        "logic",
        "run",
        "move",
        "1",
        "0",
        "--actor",
        "2",
        "--on",
        "wolves.myriad",
    ];
    for more in [vec!["--tick", "3"], vec![]] {
        let ran = myriad(&folder, &[&run[..], &more].concat());
        let printed = text(&ran);
        assert!(ran.status.success(), "{printed}");
        assert!(printed.contains("entity 2 (wolf): x "), "{printed}");
        assert!(
            more.is_empty() || printed.starts_with("tick 3, "),
            "{printed}"
        );
    }
    let ran = myriad(&folder, &[&run[..], &["--tick", "99999"]].concat());
    assert_eq!(ran.status.code(), Some(1));
    assert!(text(&ran).contains("has only "), "{}", text(&ran));
}

#[test]
fn populations_are_born_in_the_area_of_their_kind() {
    let folder = empty("area");
    let world = "[[kind]]\nname = \"wolf\"\npopulation = 3\nspawn = { center = [100, 200] }\n";
    fs::write(folder.join("den.toml"), world).unwrap();
    let run = [
        "logic",
        "run",
        "move",
        "0",
        "0",
        "--players",
        "0",
        "--actor",
        "2",
    ];
    let ran = text(&myriad(
        &folder,
        &[&run[..], &["--world", "den.toml"]].concat(),
    ));
    assert!(ran.contains("entity 2 (wolf) at (100, 200)"), "{ran}");
}

#[test]
fn all_problems_of_a_world_file_are_printed() {
    let folder = empty("world");
    fs::write(
        folder.join("bad.toml"),
        "[world]\naoi = -3\n[limits]\nidle_seconds = 0\nclient = 3\n",
    )
    .unwrap();
    let checked = myriad(&folder, &["check", "bad.toml"]);
    assert_eq!(checked.status.code(), Some(1));
    let printed = text(&checked);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(
        lines[0],
        "bad.toml:2: world.aoi: expected 1 to 262143, found -3"
    );
    assert_eq!(
        lines[1],
        "bad.toml:4: limits.idle_seconds: expected 1 to 3600, found 0"
    );
    assert!(
        lines[2].starts_with("bad.toml:5:1: limits.client: unknown key"),
        "{printed}"
    );
}

#[test]
fn contradictions_are_printed_by_check_and_at_the_start() {
    let folder = empty("full");
    let world = "[world]\ncapacity = 3\n[[kind]]\nname = \"a\"\npopulation = 3\n";
    fs::write(folder.join("full.toml"), world).unwrap();
    let expected = "warning: full.toml:3: kind.population: populations fill world.capacity = 3, \
                    so no player can join";
    let checked = text(&myriad(&folder, &["check", "full.toml"]));
    assert!(checked.contains(expected), "{checked}");
    assert!(
        checked.contains("note: full.toml: logic: `strike` is left out: "),
        "{checked}"
    );
    let serve = ["serve", "--listen", "127.0.0.1:0", "--stop-after", "0.1"];
    let served = text(&myriad(
        &folder,
        &[&serve[..], &["--world", "full.toml"]].concat(),
    ));
    assert!(served.contains(expected), "{served}");
    assert!(!served.contains("left out"), "{served}");
}

const STALL: &str = "#[command(clients)]
fn buy(me: Entity, stall: Entity, count: i32) {
    require(stall.stock >= count);
    stall.stock -= count;
    me.gold += count;
}
";

const MARKET: &str = "
[[kind]]
name = 'player'
attributes = [{ name = 'gold', type = 'i32', audience = 'state' }]
[[kind]]
name = 'stall'
attributes = [{ name = 'stock', type = 'i32', min = 0, audience = 'state' }]
";

#[test]
fn warnings_are_drawn_with_their_names_and_fail_a_check_that_denies_them() {
    let folder = empty("warned");
    write(&folder, "stall.rs", STALL);
    let world = format!("[logic]\nfolder = 'logic'\n{MARKET}");
    fs::write(folder.join("w.toml"), world).unwrap();
    let checks: [&[&str]; 2] = [
        &["check", "w.toml"],
        &["logic", "check", "logic", "--seconds", "0.05"],
    ];
    for check in checks {
        let checked = myriad(&folder, check);
        let printed = text(&checked);
        assert!(checked.status.success(), "{printed}");
        for part in [
            "warning[double_spends]: `stock` can be taken twice",
            "stall.rs:4:5",
            "stall.stock -= count;",
        ] {
            assert!(printed.contains(part), "{part:?} is missing in: {printed}");
        }
        let denied = myriad(&folder, &[check, &["--deny-warnings"]].concat());
        assert_eq!(denied.status.code(), Some(1), "{}", text(&denied));
    }
    let silent = STALL.replace(
        "    stall.stock -=",
        "    #[allow(double_spends)]\n    stall.stock -=",
    );
    write(&folder, "stall.rs", &silent);
    let denied = myriad(&folder, &["check", "w.toml", "--deny-warnings"]);
    assert!(denied.status.success(), "{}", text(&denied));
}

const TESTS: &str = "
#[cfg(test)]
fn stall_with(stock: i32) -> Entity {
    let stall = spawn(\"stall\", point(10.0, 10.0));
    stall.stock = stock;
    stall
}

#[test]
fn a_buyer_gets_what_the_stall_has() {
    let (me, stall) = (0, 0);
}

#[test]
fn two_buyers_take_what_is_there_once() {
    let stall = stall_with(1);
    let ann = spawn(\"player\", stall);
    let bob = spawn(\"player\", stall);
    send(buy(ann, stall, 1));
    send(buy(bob, stall, 1));
    ticks(1);
    assert(stall.stock >= 0);
    assert_eq(ann.gold + bob.gold, 1);
}
";

#[test]
fn tests_of_scripts_run_on_every_backend_and_a_failure_shows_the_values() {
    let folder = empty("tested");
    fs::write(folder.join("w.toml"), MARKET).unwrap();
    // What is no test is drawn as in every text.
    write(&folder, "stall.rs", &format!("{STALL}{TESTS}"));
    let wrong = myriad(&folder, &["logic", "test", "logic"]);
    let printed = text(&wrong);
    assert_eq!(wrong.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("scripts don't have this pattern"),
        "{printed}"
    );
    let checked = myriad(&folder, &["logic", "check", "logic", "--seconds", "0.05"]);
    assert_eq!(checked.status.code(), Some(1), "{}", text(&checked));

    let tests = TESTS.replace(
        "let (me, stall) = (0, 0);",
        "let stall = stall_with(5);
    let me = spawn(\"player\", point(11.0, 10.0));
    let before = tick();
    send(buy(me, stall, 3));
    ticks(2);
    assert_eq(me.gold, 3);
    assert_eq(stall.stock, 2);
    assert_eq(tick(), before + 2);
    send(buy(me, stall, 3));
    ticks(1);
    assert(stall.stock == 2 && distance(me, stall) == 1.0);
    despawn(stall);
    ticks(1);
    assert(!exists(stall) && exists(me));",
    );
    write(&folder, "stall.rs", &format!("{STALL}{tests}"));
    let failed = myriad(&folder, &["logic", "test", "logic"]);
    let printed = text(&failed);
    assert_eq!(failed.status.code(), Some(1), "{printed}");
    for part in [
        "test `two_buyers_take_what_is_there_once` of stall.rs failed:",
        "assert_eq(ann.gold + bob.gold, 1);",
        "left is 2, right is 1",
        "1 passed, 1 failed on cpu with the interpreter, cpu",
    ] {
        assert!(printed.contains(part), "{part:?} is missing in: {printed}");
    }
    // One script, one test.
    let one = ["logic", "test", "logic/stall.rs", "a_buyer"];
    let passed = myriad(&folder, &one);
    assert!(passed.status.success(), "{}", text(&passed));
    assert!(
        text(&passed).contains("1 passed, 0 failed"),
        "{}",
        text(&passed)
    );
}

#[test]
fn a_thousand_tests_pass_and_the_world_has_none_of_them() {
    let folder = empty("thousand");
    fs::write(folder.join("w.toml"), MARKET).unwrap();
    for file in 0..4 {
        let mut tests = String::new();
        for n in 0..250 {
            tests += &format!(
                "#[test] fn t{n}() {{ let me = spawn(\"player\", point(1.0, 1.0)); \
                 let it = spawn(\"stall\", me); it.stock = 9; send(buy(me, it, {})); ticks(2); \
                 assert_eq(me.gold, {}); }}\n",
                n % 9,
                n % 9
            );
        }
        let shared = if file == 0 { STALL } else { "" };
        write(&folder, &format!("t{file}.rs"), &format!("{shared}{tests}"));
    }
    let passed = myriad(&folder, &["logic", "test", "logic"]);
    let printed = text(&passed);
    println!("{printed}");
    assert!(passed.status.success(), "{printed}");
    assert!(printed.contains("1000 passed, 0 failed"), "{printed}");
    let cost = text(&myriad(&folder, &["logic", "cost", "logic"]));
    assert!(cost.contains("buy ") && !cost.contains("t1 "), "{cost}");
}

#[test]
fn the_tests_of_the_example_worlds_pass() {
    let worlds = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds");
    for world in [
        "bag.toml",
        "guild.toml",
        "hollow.toml",
        "mire.toml",
        "range.toml",
        "rounds.toml",
    ] {
        let passed = myriad(&worlds, &["logic", "test", world]);
        let printed = text(&passed);
        assert!(passed.status.success(), "{world}: {printed}");
        assert!(!printed.contains("0 passed"), "{world}: {printed}");
    }
}

#[test]
fn the_list_of_commands_says_which_the_world_gives() {
    let worlds = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds");
    let checked = myriad(
        &worlds,
        &["logic", "check", "hollow", "--world", "hollow.toml"],
    );
    let printed = text(&checked);
    assert!(checked.status.success(), "{printed}");
    let line = printed.lines().find(|line| line.starts_with("wash "));
    let words: Vec<&str> = line.expect(&printed).split_whitespace().collect();
    assert_eq!(words, ["wash", "the", "world", "spring.rs"]);
}

#[test]
fn what_scripts_log_is_shown_while_the_world_runs_and_escaped() {
    let folder = empty("logged");
    let howl = "#[command(rules)]
fn howl(me: Entity) {
    me.hp += 1;
    log(\"how\\nl {}\", me.hp, me);
    after(1, echo(me, 4));
}
#[command]
fn echo(me: Entity, n: i32) {
    log(\"echo\", n);
    me.hp -= n;
}
";
    write(&folder, "howl.rs", howl);
    let world = "[logic]
folder = 'logic'
[[kind]]
name = 'wolf'
population = 1
attributes = [{ name = 'hp', type = 'i32', default = 30, audience = 'state' }]
[[every]]
kind = 'wolf'
ticks = 5
command = 'howl'
";
    fs::write(folder.join("w.toml"), world).unwrap();
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--stop-after",
        "3",
        "--world",
        "w.toml",
    ];
    let served = text(&myriad(&folder, &serve));
    let howled = served.lines().find(|line| line.contains("command=howl"));
    let howled = howled.unwrap_or_else(|| panic!("no line in: {served}"));
    assert!(howled.contains(r"how\nl 30 entity 0 (wolf)"), "{howled}");
    assert!(served.contains("echo 4"), "{served}");
    // So are warnings, once.
    assert_eq!(served.matches("[stale_reads]").count(), 1, "{served}");
    let mut silent = Command::new(myriad_binary());
    let silent = silent
        .args(serve)
        .current_dir(&folder)
        .env("RUST_LOG", "warn");
    let silent = text(&silent.output().unwrap());
    assert!(!silent.contains("echo"), "{silent}");
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder.join("logic")).unwrap();
    fs::write(folder.join("logic").join(name), text).unwrap();
}

/// A folder of a test's own.
fn empty(name: &str) -> PathBuf {
    let folder = scratch(&format!("logic_tools_{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn myriad(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(myriad_binary())
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the binary runs")
}

#[test]
fn a_check_names_the_commands_that_use_up_their_budget() {
    let folder = empty("over_budget");
    let long = "#[command(clients)]\nfn long(me: Entity) {\n    for i in 0..9999 { me.hp -= i; }\n}\n\
                #[command(clients)]\nfn short(me: Entity) {\n    me.hp += 1;\n}\n";
    fs::create_dir(folder.join("logic")).unwrap();
    fs::write(folder.join("logic/long.rs"), long).unwrap();
    let checked = myriad(&folder, &["logic", "check", "logic", "--seconds", "1"]);
    let printed = text(&checked);
    let line = printed
        .lines()
        .find(|line| line.contains("used up their budget"));
    let line = line.expect(&printed);
    assert!(line.contains(" long;") && !line.contains("short"), "{line}");
}
