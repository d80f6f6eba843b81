//! The dashboard and the replay of a recording show what texts say, and things below their holders.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use client_bot::GameClient;
use client_bot::client_core::GameOptions;
use client_bot::named::{NamedArgument, text};
use console::web::replay::ReplaySite;
use serde_json::{Value, json};
use shared::EntityId;

use crate::common::folder::TestFolder;
use crate::common::{DEADLINE, start_with, trust, until_game, web};

const WORLD: &str = "
    [world]
    size = [10, 10]
    capacity = 16
    tick_hz = 20

    [logic]
    folder = 'logic'

    [[kind]]
    name = 'player'
    attributes = [{ name = 'sign', type = 'text', length = 40, audience = 'state' }]

    [[kind]]
    name = 'bag'
    place = 'none'

    [[kind]]
    name = 'letter'
    place = 'none'
    attributes = [{ name = 'words', type = 'text', length = 40, audience = 'state' }]
";
const SCRIPT: &str = "
#[on(join)]
fn equip(me: Entity) { spawn(Bag { holder: me }); }

#[on(birth, kind = \"bag\")]
fn fill(me: Entity) { spawn(Letter { holder: me }); }

#[command(clients)]
fn write(me: Entity, words: Text) {
    me.sign = words;
    for bag in held_by(me, \"bag\") {
        for letter in held_by(bag) { letter.words = words; }
    }
}
";
const WORDS: &str = "Grüße, <b>Bob</b>";

#[test]
fn texts_are_shown_as_words_and_things_below_their_holders() {
    let folder = TestFolder::new("shown-words");
    std::fs::create_dir(folder.join("logic")).unwrap();
    std::fs::write(folder.join("logic/letters.rs"), SCRIPT).unwrap();
    std::fs::write(folder.join("world.toml"), WORLD).unwrap();
    let file = folder.join("letters.recording");
    let server = start_with("[world]\nsize = [10, 10]\ncapacity = 1\n", |options| {
        options.world = world_file::load(&folder.join("world.toml")).unwrap();
        options.record = Some(file.clone());
        web(options);
    });
    let options = GameOptions::default();
    let game = GameClient::new(server.address(), "localhost", &trust(&server), options);
    let mut game = game.expect("a socket");
    let own = until_game(&mut game, ("it has a letter", DEADLINE), |game, _| {
        let view = game.view()?;
        let own = view.own()?.id;
        let bag = view.held_by(own).next()?.id;
        let letter = view.held_by(bag).next()?;
        (letter.id != EntityId::NONE).then_some(own)
    });
    let words = [NamedArgument::Text(WORDS)];
    game.command_named_with("write", &words).unwrap();
    until_game(&mut game, ("it is written", DEADLINE), |game, _| {
        (text(game.game(), own, "sign").ok()?? == WORDS).then_some(())
    });

    let slot = own.slot.0;
    let page = server.page().expect("a page");
    let shown = ask(
        page,
        &format!("/dashboard/data/entity?viewer=1&slot={slot}"),
    );
    assert_eq!(value(&shown, "sign"), WORDS);
    assert_has_letter(&shown);
    game.leave();
    server.stop().unwrap();

    let site = ReplaySite::start(&file, "127.0.0.1:0".parse().unwrap(), None, 1, vec![]).unwrap();
    let replay = |path: &str| ask(site.address(), &format!("/replay/data/{path}"));
    let begun = Instant::now();
    let progress = || replay("world?viewer=1")["progress"].clone();
    while progress()["is_done"] != json!(true) {
        assert!(begun.elapsed() < DEADLINE, "the recording is not read");
        std::thread::sleep(Duration::from_millis(100));
    }
    let ticks = progress()["ticks"].as_u64().unwrap();
    let area = "x=5&y=5&edge=10";
    let moments =
        (1..=ticks).map(|tick| replay(&format!("moment?viewer=1&tick={tick}&{area}&slot={slot}")));
    let (moment, change) = moments
        .filter_map(|moment| {
            let changes = moment["changes"].as_array()?.clone();
            let change = changes
                .into_iter()
                .find(|change| change["attribute"] == "sign")?;
            Some((moment, change))
        })
        .next()
        .expect("a tick in which it is written");
    assert_eq!(
        (&change["old"], &change["new"]),
        (&json!(""), &json!(WORDS))
    );
    let cause = change["causes"][0][0].as_u64().expect("a cause") as usize;
    assert_eq!(
        moment["commands"][cause]["words"],
        json!([["words", WORDS]])
    );
    assert_eq!(value(&moment["entity"], "sign"), WORDS);
    assert_has_letter(&moment["entity"]);
    drop(site);
}

/// It holds a bag, and that a letter.
fn assert_has_letter(shown: &Value) {
    let bag = &shown["things"][0];
    assert_eq!(bag["kind"], "bag", "{shown}");
    let letter = &bag["things"][0];
    assert_eq!(
        (&letter["kind"], value(letter, "words")),
        (&json!("letter"), json!(WORDS))
    );
    let is_holder = |own: &Value| own["name"] == "holder";
    assert!(
        !letter["attributes"]
            .as_array()
            .unwrap()
            .iter()
            .any(is_holder)
    );
    assert_eq!(letter["things"], json!([]));
}

fn value(shown: &Value, attribute: &str) -> Value {
    let mut all = shown["attributes"].as_array().expect("a list").iter();
    let found = all.find(|own| own["name"] == attribute);
    found.map_or(Value::Null, |own| own["value"].clone())
}

/// The answer of a port.
fn ask(address: SocketAddr, path: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}
