//! What one client writes into an attribute, others read: beside it, behind a gateway, and in the
//! world that another server continues.

use std::path::Path;

use client_bot::client_core::{
    Close, Event, EventType, GameOptions, GivenCommand, LossCode, NamedEvent,
};
use client_bot::connect::{ClientError, hello};
use client_bot::named::{NamedArgument, text};
use client_bot::{BehaviourKind, Connector, GameClient, Trust};
use server::Server;
use server::host::DataOptions;
use shared::wire::control::Hello;
use shared::wire::{PROTOCOL_VERSION_MIN, TEXTS_VERSION};
use shared::{EntityId, WorldConfig};

use crate::common::folder::TestFolder;
use crate::common::gateways::{Host, stop};
use crate::common::{Bots, DEADLINE, start_with, ticks, trust, until_game};

const WORLD: &str = "
    [world]
    size = [10, 10]
    capacity = 8
    tick_hz = 20

    [limits]
    clients = 4
    resume_seconds = 30

    [logic]
    folder = 'logic'

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'says', type = 'text', length = 40, audience = 'state' },
        { name = 'note', type = 'text', length = 8, audience = 'private' },
        { name = 'echo', type = 'text', length = 40, audience = 'state' },
    ]
";
const SCRIPT: &str = "
/// The words of somebody.
pub struct Spoken {
    words: Text,
}

#[command(clients)]
fn speak(me: Entity, words: Text) {
    me.says = words;
    if words != \"\" {
        tell(Spoken { words: words }, around(me.position, 20.0));
    }
}

#[command(clients)]
fn jot(me: Entity, words: Text) {
    me.note = words;
}

/// Says what another one says.
#[command(clients)]
fn repeat(me: Entity, other: Entity) {
    require(me.echo != other.says);
    me.echo = other.says;
}
";

/// The files of a world.
struct Files(TestFolder);

impl Files {
    fn new(name: &str) -> Files {
        let folder = TestFolder::new(&format!("texts-{name}"));
        std::fs::create_dir(folder.join("logic")).unwrap();
        std::fs::write(folder.join("logic/speak.rs"), SCRIPT).unwrap();
        std::fs::write(folder.join("world.toml"), WORLD).unwrap();
        Files(folder)
    }

    fn world(&self) -> WorldConfig {
        world_file::load(&self.0.join("world.toml")).unwrap()
    }

    fn start(&self, data: &Path) -> Server {
        start_with("[world]\nsize = [10, 10]\ncapacity = 1\n", |options| {
            options.world = self.world();
            options.data = Some(DataOptions::new(data));
        })
    }
}

#[tokio::test]
async fn bots_write_in_many_letters_and_read_what_they_wrote() {
    let files = Files::new("bots");
    let data = TestFolder::absent("texts-bots-data");
    let server = files.start(&data);
    let bots = Bots::start_with(&server, 3, BehaviourKind::Any, |options| options.seed = 2).await;
    ticks(&server, 20).await;
    let (address, trust) = (server.address(), trust(&server));
    // A game waits for what it looks for, and the bots play meanwhile.
    let reading = tokio::task::spawn_blocking(move || {
        let (mut reader, _) = joined(address, &trust);
        until_game(&mut reader, ("a text beyond ASCII", DEADLINE), |game, _| {
            let entities: Vec<EntityId> = game.view()?.entities().values().map(|e| e.id).collect();
            let says = |id: EntityId| text(game.game(), id, "says").ok().flatten();
            let is_it = |words: &str| !words.is_ascii() && words.len() <= 40;
            let mut all = entities.into_iter().filter_map(says);
            all.any(is_it).then_some(())
        });
        reader.leave();
    });
    reading.await.expect("it reads");
    bots.verify(&server).await;
    server.stop().unwrap();
}

fn joined(at: std::net::SocketAddr, trust: &Trust) -> (GameClient, EntityId) {
    let game = GameClient::new(at, "localhost", trust, GameOptions::default());
    let mut game = game.expect("a socket");
    let own = until_game(&mut game, ("it is in the world", DEADLINE), |game, _| {
        Some(game.view()?.own()?.id)
    });
    (game, own)
}

fn give(game: &mut GameClient, command: &str, words: &str) -> GivenCommand {
    let words = [NamedArgument::Text(words)];
    game.command_named_with(command, &words).unwrap()
}

fn until_says(game: &mut GameClient, of: EntityId, attribute: &str, words: &str) {
    let what = format!("{attribute} is {words:?}");
    until_game(game, (&what, DEADLINE), |game, _| {
        (text(game.game(), of, attribute).ok()?? == words).then_some(())
    });
}

/// The reason why a request is refused.
fn refused(game: &mut GameClient, request: u32) -> String {
    until_game(game, ("an answer", DEADLINE), |_, events| {
        events.iter().find_map(|event| match event {
            Event::Answered(answer) if answer.request == request => answer.result.clone().err(),
            _ => None,
        })
    })
}

/// Until a command is reported as one without effect.
fn until_idle(game: &mut GameClient, number: u32) {
    until_game(game, ("it has no effect", DEADLINE), |_, events| {
        let mut events = events.iter();
        let is_it = |event: &Event| match event {
            Event::Refused { commands, .. } => {
                (commands.first..commands.first + commands.count).contains(&number)
            }
            _ => false,
        };
        events.any(is_it).then_some(())
    });
}

#[test]
fn what_one_client_writes_another_reads_also_after_the_server_was_killed() {
    let files = Files::new("written");
    let data = TestFolder::absent("texts-data");
    let server = files.start(&data);
    let trust_in = trust(&server);
    let (mut ann, own) = joined(server.address(), &trust_in);
    let (mut bob, bobs) = joined(server.address(), &trust_in);
    give(&mut ann, "speak", "Grüße, Bob");
    until_says(&mut ann, own, "says", "Grüße, Bob");
    // The notification comes once its words can be read.
    let received = until_game(&mut bob, ("a notification", DEADLINE), |game, events| {
        let mut received = None;
        for event in events {
            NamedEvent::each(event, game.view(), |event| {
                if event.what == EventType::Notified {
                    received = event.fields[0].text.clone();
                }
            });
        }
        received
    });
    assert_eq!(received, "Grüße, Bob");
    until_says(&mut bob, own, "says", "Grüße, Bob");
    // Texts are copied and compared in scripts.
    let of_ann = client_bot::named::reference(own);
    bob.command_named("repeat", &[of_ann]).unwrap();
    until_says(&mut bob, bobs, "echo", "Grüße, Bob");
    let again = bob.command_named("repeat", &[of_ann]).unwrap();
    until_idle(&mut bob, again);
    // What is private is seen by its own client only.
    give(&mut ann, "jot", "pssst");
    until_says(&mut ann, own, "note", "pssst");
    assert!(text(bob.game(), own, "note").is_err());
    // Some ticks later all of it is on disk.
    let end = server.stats().figures().ticks + 10;
    until_game(&mut bob, ("the world runs", DEADLINE), |_, _| {
        (server.stats().figures().ticks >= end).then_some(())
    });
    let crashed = data.crashed("texts-crashed");
    let again = files.start(&crashed);
    let ticket = ann.game().ticket().unwrap();
    let trust_again = trust(&again);
    let game = GameClient::new(
        again.address(),
        "localhost",
        &trust_again,
        GameOptions::default(),
    );
    let mut ann = game.expect("a socket");
    ann.set_ticket(ticket);
    until_says(&mut ann, own, "says", "Grüße, Bob");
    until_says(&mut ann, own, "note", "pssst");
    let (mut cid, _) = joined(again.address(), &trust_again);
    until_says(&mut cid, own, "says", "Grüße, Bob");
    until_says(&mut cid, bobs, "echo", "Grüße, Bob");
    // An equal text is the same one.
    give(&mut cid, "speak", "Grüße, Bob");
    until_game(&mut cid, ("both are equal", DEADLINE), |game, _| {
        let view = game.view()?;
        let column = view.schema().column("says")?;
        let anns = view.get(own.slot)?.row[column];
        (view.own()?.row[column] == anns).then_some(())
    });
    give(&mut cid, "speak", "");
    let own_cid = cid.view().unwrap().entity();
    until_says(&mut cid, own_cid, "says", "");
    again.stop().unwrap();
    server.stop().unwrap();
}

#[test]
fn a_client_uses_only_texts_that_it_has_given_and_that_fit() {
    let files = Files::new("foreign");
    let data = TestFolder::absent("texts-foreign-data");
    let server = files.start(&data);
    let trust = trust(&server);
    let (mut ann, own) = joined(server.address(), &trust);
    give(&mut ann, "speak", "mine");
    until_says(&mut ann, own, "says", "mine");
    let (mut bob, bobs) = joined(server.address(), &trust);
    until_says(&mut bob, own, "says", "mine");
    // A modified client plants a handle that it has seen, and one that it has invented.
    let view = bob.view().unwrap();
    let column = view.schema().column("says").unwrap();
    let speak = view.schema().command_named("speak").unwrap().kind;
    let foreign = view.get(own.slot).unwrap().row[column];
    for handle in [foreign, foreign ^ 1, -7] {
        let number = bob.command(speak, &[handle]).unwrap();
        until_idle(&mut bob, number);
    }
    assert_eq!(text(bob.game(), bobs, "says"), Ok(Some("")));
    // A text that is too long for an attribute does not change it.
    give(&mut bob, "jot", "too long a note");
    until_game(&mut bob, ("it has no effect", DEADLINE), |_, events| {
        let is_refused = |event: &Event| matches!(event, Event::Refused { .. });
        events.iter().any(is_refused).then_some(())
    });
    give(&mut bob, "jot", "short");
    until_says(&mut bob, bobs, "note", "short");
    // What can't be shown in a line is refused, as in talk.
    let GivenCommand::Waits(request) = give(&mut bob, "speak", "a\u{202e}b") else {
        panic!("it is queued");
    };
    let reason = refused(&mut bob, request);
    assert!(reason.contains("can't be shown in a line"), "{reason}");
    let long = [NamedArgument::Text(&"x".repeat(41))];
    let error = bob.command_named_with("speak", &long).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a text has 41 bytes, expected at most 40"
    );
    let wrong = bob.command_named_with("repeat", &[NamedArgument::Text("x")]);
    assert_eq!(
        wrong.unwrap_err().to_string(),
        "`repeat` takes an entity as `other`"
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn texts_pass_gateways_in_both_directions() {
    let files = Files::new("gateway");
    let world = files.world();
    let host = Host::start("[world]\ncapacity = 1\n", "texts", |options| {
        options.world = world
    });
    let gateway = host.gateway().await;
    let (there, here) = (gateway.address(), host.server.address());
    let trust = trust(&host.server);
    let played = tokio::task::spawn_blocking(move || {
        let (mut ann, own) = joined(there, &trust);
        let (mut bob, bobs) = joined(here, &trust);
        give(&mut ann, "speak", "from afar");
        until_says(&mut ann, own, "says", "from afar");
        until_says(&mut bob, own, "says", "from afar");
        give(&mut bob, "speak", "from here");
        until_says(&mut bob, bobs, "says", "from here");
        until_says(&mut ann, bobs, "says", "from here");
        until_says(&mut ann, own, "says", "from afar");
    });
    played.await.unwrap();
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_world_with_texts_sends_clients_that_know_none_for_an_update() {
    let files = Files::new("older");
    let server = start_with("[world]\ncapacity = 1\n", |options| {
        options.world = files.world();
    });
    for version in [PROTOCOL_VERSION_MIN, TEXTS_VERSION - 1] {
        let of_version = Hello {
            version,
            ..hello("", None)
        };
        let connector = Connector::new(server.address(), "localhost", &trust(&server));
        let joined = connector.expect("a socket").connect(&of_version).await;
        let Err(ClientError::Refused(ending)) = joined.map(|_| ()) else {
            panic!("version {version} is not refused");
        };
        assert_eq!(ending.code, LossCode::Closed(Close::Outdated));
        assert!(
            ending.reason.contains("protocol version"),
            "{}",
            ending.reason
        );
    }
    server.stop().unwrap();
}
