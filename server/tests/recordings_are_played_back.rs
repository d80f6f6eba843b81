//! A recording is played to any tick: the state is the recorded one, each change has its
//! causes, damage is reported in a sentence, and a browser shows all that.
//!
//! The test of an hour is left out by default, since it takes minutes:
//! `cargo test -p server --test it recordings_are_played_back -- --ignored --nocapture`.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use console::playback::{Moment, Player as PlaybackPlayer, surveyor};
use console::web::replay::ReplaySite;
use durability::annotations::Annotations;
use durability::recording::{NextTick, RecordingReader, RecordingWriter};
use gpu_kernels::{Backend, CpuBackend, Frame, StateHash};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use script::builtin;
use serde_json::{Value, json};
use server::host::DataOptions;
use server::offline::{self, Options};
use shared::{EntityId, Tick, WorldConfig};
use tick::tick_loop::FanOutMode;

use crate::common;
use crate::common::chromium::Chromium;
use crate::common::folder::TestFolder;
use crate::common::names::{ByName, named};
use crate::common::{Player, listen_for, scratch, start_with, units};

const KEPT: &str = "
    [world]
    size = [200, 200]
    capacity = 64
    tick_hz = 20

    [[kind]]
    name = 'player'
    attributes = []
";

#[test]
fn the_state_at_any_tick_is_that_of_a_straight_replay() {
    let file = played("any", 64, 120);
    let (world, hashes) = straight(&file.0);
    let seed = 0x5eed;
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    // Snapshots of all ticks; of a few, because there is no room for more; and none.
    for (span, bytes_max) in [(0, u64::MAX), (0, 60_000), (600, u64::MAX)] {
        let (mut player, survey) = PlaybackPlayer::with_shelf(&file.0, 1, bytes_max).unwrap();
        survey.every(Duration::from_secs(span)).run();
        let progress = surveyor::read(&player.progress());
        assert!(
            progress.is_done && progress.ends_early.is_none(),
            "{progress:?}"
        );
        assert_eq!(progress.ticks, hashes.len() as u64);
        for _ in 0..60 {
            let position = dice.next_u64() % (progress.ticks + 1);
            let moment = player.at(position).unwrap();
            assert_eq!(moment.position, position);
            if let Some(tick) = position.checked_sub(1) {
                let what = format!("seed {seed:#x}, span {span}, position {position}");
                assert_eq!(hash_of(&world, &moment), hashes[tick as usize], "{what}");
            }
        }
        assert!(player.at(progress.ticks + 1).is_err());
        let kept = player.shelf().positions();
        match span {
            0 if bytes_max == u64::MAX => assert_eq!(kept.len(), hashes.len()),
            0 => assert!(kept.len() < hashes.len() / 2, "{}", kept.len()),
            _ => assert!(kept.is_empty()),
        }
        fs::remove_dir_all(player.shelf().folder()).unwrap();
    }
}

#[test]
fn a_damaged_snapshot_is_not_used_and_not_replaced() {
    let file = played("snapshots", 16, 40);
    let (world, hashes) = straight(&file.0);
    let survey = || {
        let (player, survey) = PlaybackPlayer::open(&file.0, 1).unwrap();
        survey.every(Duration::ZERO).run();
        player
    };
    let shelf = survey().shelf().folder().to_owned();
    let mut kept = vec![];
    for entry in fs::read_dir(&shelf).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, &bytes).unwrap();
        kept.push((path, bytes));
    }
    let mut player = survey();
    for position in [30, 7, 20] {
        let moment = player.at(position).unwrap();
        assert_eq!(hash_of(&world, &moment), hashes[position as usize - 1]);
    }
    for (path, bytes) in kept {
        assert!(fs::read(&path).unwrap() == bytes, "{}", path.display());
    }
    fs::remove_dir_all(shelf).unwrap();
}

#[test]
fn every_command_that_updated_an_attribute_is_named() {
    let file = Recording::new("causes");
    let world = world(2);
    let mut backend = CpuBackend::new(&world, 1, None).unwrap();
    let mut recording = RecordingWriter::create(&file.0, &world).unwrap();
    let mut tick = |mut frame: Frame| {
        let output = backend.tick(&frame).unwrap();
        assert!(recording.record(&mut frame, Annotations::default(), &output.hash));
    };
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[units(10.0), units(10.0)]);
    frame.spawn_at(0, 1, &[units(20.0), units(20.0)]);
    tick(frame);
    let [a, b] = [EntityId::new(0, 1), EntityId::new(1, 1)];
    let mut frame = Frame::new(Tick(1));
    frame.push(a, 0, builtin::MOVE, &[units(0.25), 0]);
    frame.push(a, 1, builtin::MOVE, &[units(0.5), 0]);
    frame.push(b, 0, builtin::MOVE, &[0, units(-0.25)]);
    tick(frame);
    recording.finish().unwrap();

    let (mut player, survey) = PlaybackPlayer::open(&file.0, 1).unwrap();
    survey.run();
    let born = player.at(1).unwrap();
    assert_eq!(born.births, [(a, 0), (b, 0)]);
    let moved = player.at(2).unwrap();
    let found: Vec<_> = (moved.changes.iter())
        .map(|change| {
            let of = change.causes.iter().map(|cause| {
                let command = moved.trace.commands[cause.0 as usize];
                (command.entity, command.sequence)
            });
            let (slot, column) = (change.slot, change.column);
            let causes: Vec<(EntityId, u32)> = of.collect();
            (slot, column, change.new - change.old, causes)
        })
        .collect();
    let expected = [
        (a.slot, 0, units(0.75), vec![(a, 0), (a, 1)]),
        (b.slot, 1, units(-0.25), vec![(b, 0)]),
    ];
    assert_eq!(found, expected);
    fs::remove_dir_all(player.shelf().folder()).unwrap();
}

#[tokio::test]
async fn a_persistent_world_is_shown_with_the_names_of_its_players() {
    let place = TestFolder::new("looked-at");
    let data = place.join("data");
    let start = || {
        start_with(KEPT, |options| {
            options.authenticator = Arc::new(ByName);
            options.data = Some(DataOptions::new(&data));
        })
    };
    // A restart is in the middle of the ticks.
    let mut seen = vec![];
    for name in ["ann", "bob"] {
        let server = start();
        let mut player = Player::join_as(&server, &named(name)).await;
        let step = player.client.view().schema().command_named("move").unwrap();
        let step = step.kind;
        for _ in 0..5 {
            player.client.command(step, &[units(0.5), 0]).unwrap();
            listen_for(&server, &mut [&mut player], 3).await;
        }
        let own = player.client.view().own().unwrap();
        seen.push((name, player.entity(), own.row[0]));
        server.stop().unwrap();
    }

    let show = || {
        let (player, survey) = PlaybackPlayer::open(&data, 1).unwrap();
        survey.every(Duration::ZERO).run();
        player
    };
    let mut shown = show();
    let progress = surveyor::read(&shown.progress());
    assert_eq!(progress.ends_early, None);
    assert!(progress.is_done && progress.first < progress.ticks);
    assert!(shown.at(progress.ticks + 1).is_err());
    let check = |shown: &mut PlaybackPlayer| {
        // Each player is where its own view had it, in some tick, and has its name there.
        for (name, entity, x) in &seen {
            let found = (progress.first..=progress.ticks)
                .rev()
                .find_map(|position| {
                    let moment = shown.at(position).unwrap();
                    let mut clients = moment.clients();
                    let client = clients.find(|(_, own)| *own == Some(*entity))?.0;
                    let spot = moment.spot(entity.slot)?;
                    (spot.position[0] == *x).then_some((client, position))
                });
            let (client, position) = found.expect("the player is there");
            let called = shown.names().at(client, position).unwrap();
            assert_eq!(&called.to_string(), name);
        }
    };
    check(&mut shown);
    // The same with the snapshots of the first look.
    assert!(!shown.shelf().positions().is_empty());
    check(&mut show());
    // A player that walks is a cause.
    let moves = (progress.first..=progress.ticks)
        .flat_map(|position| shown.at(position).unwrap().changes.clone())
        .filter(|change| change.column == 0 && !change.causes.is_empty());
    assert!(moves.count() >= 4);
}

#[test]
fn what_is_good_of_a_damaged_recording_is_shown() {
    let file = played("damaged", 16, 40);
    let (world, hashes) = straight(&file.0);
    let bytes = fs::read(&file.0).unwrap();
    let cut = Recording::new("cut");
    fs::write(&cut.0, &bytes[..bytes.len() - 3]).unwrap();
    let (mut player, survey) = PlaybackPlayer::open(&cut.0, 1).unwrap();
    survey.run();
    let progress = surveyor::read(&player.progress());
    assert_eq!(progress.ticks, hashes.len() as u64 - 1);
    let reason = progress.ends_early.unwrap();
    assert!(reason.ends_with("it ends inside a record"), "{reason}");
    let last = player.at(progress.ticks).unwrap();
    assert_eq!(hash_of(&world, &last), hashes[hashes.len() - 2]);
    fs::remove_dir_all(player.shelf().folder()).unwrap();

    fs::write(&cut.0, "MYRIADJ1 and more").unwrap();
    let refused = PlaybackPlayer::open(&cut.0, 1).err().unwrap().to_string();
    assert!(
        refused.contains("is not a recording of this version"),
        "{refused}"
    );
}

#[test]
fn the_port_answers_requests_and_refuses_invalid_ones_with_a_sentence() {
    let file = played("port", 16, 40);
    let site = ReplaySite::start(&file.0, "127.0.0.1:0".parse().unwrap(), None, 1, vec![]).unwrap();
    let ask = |path: &str| get(site.address(), &format!("/replay/data/{path}"));
    let json = |path: &str| body(&ask(path));
    let done = Instant::now();
    while json("world?viewer=1")["progress"]["is_done"] != json!(true) {
        assert!(
            done.elapsed() < common::DEADLINE,
            "the recording is not read"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
    let ticks = json("world?viewer=1")["progress"]["ticks"]
        .as_u64()
        .unwrap();
    let shown = json("moment?viewer=2&tick=20&x=30&y=30&edge=60&slot=3&client=3");
    assert_eq!(shown["tick"], json!(20));
    assert_eq!(shown["entity"]["slot"], json!(3));
    assert_eq!(shown["clients"].as_array().unwrap().len(), 16);
    let first = &shown["changes"][0];
    assert_eq!(
        first["slot"],
        json!(3),
        "the chosen entity's changes come first"
    );
    let cause = first["causes"][0][0].as_u64().unwrap() as usize;
    assert_eq!(shown["commands"][cause]["name"], json!("move"));
    assert_eq!(shown["commands"][cause]["entity"][0], json!(3));
    // That command once more, with what its lines give.
    let number = shown["commands"][cause]["number"].as_u64().unwrap();
    let run = json(&format!("run?viewer=2&tick=20&command={number}"));
    assert_eq!(run["command"], json!("move"));
    let text = &run["texts"][0];
    assert_eq!(text["file"], json!("move.rs"));
    let update = run["values"].as_array().unwrap().iter();
    let update = update
        .clone()
        .find(|value| value["name"] == json!("me.position +="));
    let update = update.expect("the line with the update");
    let line = update["line"].as_u64().unwrap() as usize;
    assert!(
        text["lines"][line - 1]
            .as_str()
            .unwrap()
            .contains("me.position += clamp(")
    );
    let step = update["values"][0].as_str().unwrap();
    let axis = |n: usize| {
        let axes = step.trim_matches(['(', ')']).split(", ");
        axes.map(|axis| axis.parse::<f64>().unwrap())
            .nth(n)
            .unwrap()
    };
    let changed = shown["changes"].as_array().unwrap().iter();
    let moved = changed
        .clone()
        .find(|change| change["slot"] == json!(3) && change["attribute"] == json!("x"));
    if let Some(moved) = moved {
        let way = moved["new"].as_f64().unwrap() - moved["old"].as_f64().unwrap();
        assert!((way - axis(0)).abs() < 0.002, "{way} {step}");
    }
    // The client's view: at most its known set.
    let all = json("moment?viewer=2&tick=20&x=30&y=30&edge=60");
    let listed = |shown: &Value| shown["crowd"]["total"].as_u64().unwrap();
    assert_eq!(listed(&shown), shown["view"]["entities"].as_u64().unwrap());
    assert!(
        listed(&shown) < listed(&all),
        "{} {}",
        listed(&shown),
        listed(&all)
    );
    for (path, status) in [
        (format!("moment?viewer=3&tick={}", ticks + 1), "409"),
        ("run?viewer=3&tick=20&command=99999".to_owned(), "409"),
        ("run?viewer=3&tick=0&command=0".to_owned(), "409"),
        ("run?viewer=3&tick=20".to_owned(), "400"),
        ("moment?viewer=3".to_owned(), "400"),
        ("moment?viewer=3&tick=-1".to_owned(), "400"),
        ("moment?tick=1".to_owned(), "400"),
        ("nothing?viewer=3".to_owned(), "404"),
    ] {
        let answer = ask(&path);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{path}: {answer}"
        );
    }
    drop(site);
    // With a token, requests without it are refused.
    let token = Some("open sesame".into());
    let site =
        ReplaySite::start(&file.0, "127.0.0.1:0".parse().unwrap(), token, 1, vec![]).unwrap();
    let answer = get(site.address(), "/replay/data/world?viewer=1");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    remove_shelves(&file.0);
}

#[test]
fn a_browser_scrubs_steps_and_shows_who_caused_what() {
    let file = played("browser", 40, 300);
    let site = ReplaySite::start(&file.0, "127.0.0.1:0".parse().unwrap(), None, 1, vec![]).unwrap();
    let Some(browser) = Chromium::start(&scratch("replay-browser")) else {
        return;
    };
    browser.open(&format!("http://{}/replay", site.address()));
    browser.until(
        "the recording is read",
        "globalThis.replay?.shown?.progress.is_done",
    );
    let at = |tick: u64| format!("replay.shown.tick === {tick}");
    // It opens where the world is no longer empty.
    let entities = "replay.shown.density.kinds.reduce((sum, count) => sum + count, 0)";
    assert!(browser.value(entities).as_u64() > Some(0));
    browser.run("document.getElementById('back').click()");
    browser.until("all before is empty", &format!("{entities} === 0"));
    browser.run(
        "const scrub = document.getElementById('scrub');
         scrub.value = 150; scrub.dispatchEvent(new Event('input'));",
    );
    browser.until("it has scrubbed", &at(150));
    browser.run("document.getElementById('forward').click()");
    browser.until("one tick on", &at(151));
    browser.run("document.getElementById('back').click()");
    browser.until("and back", &at(150));
    // The whole world as the area, and a click on an entity.
    browser.run("document.getElementById('edge').value = 60");
    browser.until("all are drawn", "replay.map.spots?.length === 40");
    browser.click_entity("replay.map", 7);
    let chosen = "document.getElementById('inspected-title').innerText.startsWith('Entity ')";
    browser.until("its attributes are shown", chosen);
    let caused = "document.querySelector('#changes tr.chosen')?.cells[4].innerText
                  .startsWith(`move of ${replay.slot} `)";
    browser.until("its own command caused its change", caused);
    // What caused it runs once more, beside its text.
    browser.run("document.querySelector('#changes tr.chosen .cause').click()");
    browser.until(
        "the text with its values is shown",
        "!document.getElementById('run-card').hidden
            && document.getElementById('run').textContent.includes('me.position +=: (')",
    );
    browser.run("document.getElementById('run-close').click()");
    // The view of a client.
    browser.run(
        "const client = document.getElementById('client');
         client.value = '5'; client.dispatchEvent(new Event('change'));",
    );
    browser.until("its sight is drawn", "replay.map.sights.length === 1");
    let fewer = "replay.shown.view.entities < 40 && replay.shown.view.entities > 0";
    browser.until("only its known set is there", fewer);
    // Nothing is wider than the page.
    let fits = "document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(browser.value(fits), json!(true));
    if let Ok(folder) = std::env::var("REPLAY_PICTURES") {
        take_pictures(&browser, Path::new(&folder));
    }
    browser.run("document.getElementById('play').click()");
    browser.until("it plays", "replay.shown.tick > 155");
    assert_eq!(browser.log(), Vec::<String>::new());
    drop((browser, site));
    remove_shelves(&file.0);
}

#[test]
#[ignore = "takes minutes; prints figures"]
fn seeking_in_an_hour_of_a_thousand_clients() {
    let ticks = std::env::var("REPLAY_TICKS").map_or(36_000, |text| text.parse().unwrap());
    let begun = Instant::now();
    let file = played("hour", 1000, ticks);
    let bytes = fs::metadata(&file.0).unwrap().len();
    println!(
        "{ticks} ticks played in {:?}, {} MiB",
        begun.elapsed(),
        bytes >> 20
    );
    let begun = Instant::now();
    let (mut player, survey) = PlaybackPlayer::open(&file.0, 1).unwrap();
    println!("opened in {:?}", begun.elapsed());
    let begun = Instant::now();
    survey.run();
    let kept = player.shelf().positions().len();
    println!("{kept} snapshots made in {:?}", begun.elapsed());
    let folder = player.shelf().folder().to_owned();
    let sizes = fs::read_dir(&folder).unwrap();
    let sizes: u64 = sizes.map(|e| e.unwrap().metadata().unwrap().len()).sum();
    println!("they take {} MiB", sizes >> 20);
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut times = vec![];
    for _ in 0..100 {
        let position = dice.next_u64() % (ticks as u64 + 1);
        let begun = Instant::now();
        player.at(position).unwrap();
        times.push(begun.elapsed());
    }
    times.sort();
    println!(
        "seek: median {:?}, 90 % {:?}, worst {:?}",
        times[50], times[90], times[99]
    );
    fs::remove_dir_all(folder).unwrap();
}

/// For the documents, and for changes of the page.
fn take_pictures(browser: &Chromium, folder: &Path) {
    use base64::Engine;
    let pictures = [
        ("replay.jpg", "jpeg", 1200, 820),
        ("wide.png", "png", 1280, 860),
        ("narrow.png", "png", 700, 1400),
    ];
    for (name, format, width, height) in pictures {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        browser.devtools("Emulation.setDeviceMetricsOverride", &size);
        std::thread::sleep(Duration::from_millis(1500));
        let form = match format {
            "jpeg" => json!({"format": format, "quality": 45}),
            _ => json!({"format": format}),
        };
        let picture = browser.devtools("Page.captureScreenshot", &form);
        let text = picture["data"].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text);
        fs::write(folder.join(name), bytes.unwrap()).unwrap();
    }
    browser.devtools("Emulation.clearDeviceMetricsOverride", &json!({}));
}

fn world(clients: u32) -> WorldConfig {
    // As dense for any number of clients.
    let side = (f64::from(clients).sqrt() * 9.5) as u32;
    let side = side.max(60);
    let text = format!(
        "[world]\nname = 'plain'\nsize = [{side}, {side}]\naoi = 12\ncapacity = {}\ntick_hz = 10\n\
         visible_max = 200\n[commands]\nmove = {{ per_tick = 0 }}\n[limits]\nclients = {clients}\n[[kind]]\nname = 'player'\n\
         attributes = [{{ name = 'hp', type = 'i32', default = 100, audience = 'state' }}]\n",
        clients + 24
    );
    world_file::parse(&text, "test").unwrap()
}

/// A recording of clients that move in every tick.
fn played(name: &str, clients: u32, ticks: usize) -> Recording {
    let file = Recording::new(name);
    let world = world(clients);
    let backend = CpuBackend::new(&world, 1, None).unwrap();
    offline::run(Options {
        backend: Box::new(backend),
        recording: Some(RecordingWriter::create(&file.0, &world).unwrap()),
        world,
        shards: 1,
        ticks,
        period: Some(Duration::ZERO),
        fan_out: FanOutMode::Awaited,
        threads: 1,
        kept: None,
        is_linked: false,
        is_checked: false,
    })
    .unwrap();
    file
}

/// The recorded hashes, which `myriad replay` compares.
fn straight(file: &Path) -> (WorldConfig, Vec<StateHash>) {
    let mut recording = RecordingReader::open(file).unwrap();
    let mut backend = CpuBackend::new(&recording.config, 1, None).unwrap();
    let mut hashes = vec![];
    while let NextTick::Tick(next) = recording.next_tick() {
        assert_eq!(backend.tick(&next.frame).unwrap().hash, next.hash);
        hashes.push(next.hash);
    }
    (recording.config, hashes)
}

fn hash_of(world: &WorldConfig, moment: &Moment) -> StateHash {
    let columns = world.schema.attributes.len();
    let observers = world.limits.observers_per_client as usize;
    StateHash::of(&moment.snapshot, columns, observers)
}

/// Asks under a name of this machine.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// Removes the snapshots beside a recording.
fn remove_shelves(file: &Path) {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    for entry in fs::read_dir(file.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let own = path.file_name().unwrap().to_string_lossy().into_owned();
        if own.starts_with(&format!("{name}.seek-")) {
            // The thread that makes them may still be at work.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// A file that is removed when the test ends.
struct Recording(PathBuf);

impl Recording {
    fn new(name: &str) -> Recording {
        let file = Recording(scratch(&format!("looked-{name}.recording")));
        remove_shelves(&file.0);
        file
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // The test may have failed before it made the file.
        let _ = fs::remove_file(&self.0);
    }
}
