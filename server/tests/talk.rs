//! Talk: the receivers of texts, their order, and the texts in a recording.

use std::sync::Arc;

use durability::recording::{NextTick, RecordingReader};
use frontend::talk_budget::{BYTES_AT_ONCE, BYTES_PER_SECOND};
use server::host::{DataOptions, ServerOptions};
use shared::wire::request::Region;
use shared::wire::stream::Message;
use shared::wire::talk::{Talk, TalkRequest};
use shared::{Name, Text};
use tick::talk::filter::WordList;

use crate::common::folder::{TestFolder, refusal};
use crate::common::names::{ByName, join_named as join};
use crate::common::{
    Player, all_listen, go, leave, listen_for, scratch, start_with, units, until, world,
};

/// Players see 20 units far, and their texts reach 30 units far.
const WIDE: &str = "
    [world]
    size = [1000, 1000]
    aoi = 20
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 16
    regions_per_client = 1
    region_edge_max = 100
    subscriptions_per_client = 2

    [logic]
    builtin = ['move', 'say']

    [commands]
    move = { speed_max = 1000 }
    say = { distance = 30 }
";

/// Asks, and waits for the answer.
async fn ask(player: &mut Player, request: TalkRequest) -> Result<(), String> {
    let number = player.client.talk(request);
    player.answer(number).await
}

/// Lets players ask so often at once, and gives the answers of each.
async fn ask_at_once(
    players: &mut [Player],
    times: usize,
    request: impl Fn() -> TalkRequest,
) -> Vec<Vec<Result<(), String>>> {
    let before: Vec<usize> = players
        .iter()
        .map(|player| player.answers().len())
        .collect();
    for player in &mut *players {
        for _ in 0..times {
            player
                .client
                .talk(request())
                .expect("a client in the world");
        }
    }
    let mut all: Vec<&mut Player> = players.iter_mut().collect();
    until(&mut all, "all are answered", |players| {
        let mut both = players.iter().zip(&before);
        both.all(|(player, before)| player.answers().len() == before + times)
    })
    .await;
    let answers = players.iter().zip(before);
    answers
        .map(|(player, before)| {
            let answers = player.answers().split_off(before);
            answers.into_iter().map(|(_, answer)| answer).collect()
        })
        .collect()
}

fn say(text: &str) -> TalkRequest {
    let text = text.to_owned();
    TalkRequest::Say { text }
}

fn whisper(to: &str, text: &str) -> TalkRequest {
    let (to, text) = (to.to_owned(), text.to_owned());
    TalkRequest::Whisper { to, text }
}

fn join_channel(channel: &str) -> TalkRequest {
    let channel = channel.to_owned();
    TalkRequest::Join { channel }
}

fn speak(channel: &str, text: &str) -> TalkRequest {
    let (channel, text) = (channel.to_owned(), text.to_owned());
    TalkRequest::Speak { channel, text }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn text(text: &str) -> Text {
    Text::new(text).unwrap()
}

/// All texts that a player received.
fn received(player: &Player) -> Vec<Talk> {
    let messages = player.log.messages.iter();
    let talk = messages.filter_map(|(_, message)| match message {
        Message::Talk(talk) => Some(talk.clone()),
        _ => None,
    });
    talk.collect()
}

#[tokio::test]
async fn a_text_reaches_players_nearby_once_and_no_others() {
    let server = start_with(WIDE, |options| options.shards = 2);
    let mut players = vec![];
    // Some of the 30 units around the first one are in sight up to 50 units away.
    for (called, distance) in [("Ann", 0.0), ("Bob", 15.0), ("Cid", 49.0), ("Dan", 51.0)] {
        let mut player = join(&server, called).await;
        go(&mut player, 500.0 + distance, 500.0).await;
        players.push(player);
    }
    // The last one looks at the place, from far away.
    let mut far = join(&server, "").await;
    go(&mut far, 10.0, 10.0).await;
    let around = |low: f64, high: f64| Region::fixed(&[units(low); 2], &[units(high); 2]);
    let request = far.client.set_region(0, Some(around(490.0, 510.0)));
    far.answer(request).await.unwrap();
    players.push(far);
    let speaker = players[0].entity();
    ask(&mut players[0], say("hello, ŵorld")).await.unwrap();
    all_listen(&server, &mut players).await;
    let talk = Talk::Said {
        speaker,
        name: Some(name("Ann")),
        text: text("hello, ŵorld"),
    };
    for (i, player) in players.iter().enumerate() {
        let expected = vec![talk.clone(); usize::from(i != 3)];
        assert_eq!(received(player), expected, "player {i}");
        assert!(player.notices().is_empty(), "only the text is sent");
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn everything_a_player_says_arrives_in_its_order() {
    let server = start_with(WIDE, |options| options.shards = 2);
    let mut players = [join(&server, "Ann").await, join(&server, "Bob").await];
    for player in &mut players {
        go(player, 500.0, 500.0).await;
        ask(player, join_channel("trade")).await.unwrap();
    }
    // All at once, so that several are sent in one tick.
    let requests = [
        say("1"),
        whisper("bob", "2"),
        speak("Trade", "3"),
        say("4"),
        speak("trade", "5"),
        whisper("Bob", "6"),
    ];
    for request in requests {
        players[0].client.talk(request);
    }
    players[0].client.flush();
    let words = |player: &Player| -> Vec<String> {
        let talk = received(player);
        let texts = talk.iter().filter_map(|talk| match talk {
            Talk::Said { text, .. } | Talk::Whispered { text, .. } | Talk::Spoken { text, .. } => {
                Some(text.to_string())
            }
            _ => None,
        });
        texts.collect()
    };
    let [ann, bob] = &mut players;
    until(&mut [ann, bob], "both have received all", |p| {
        words(p[0]).len() == 4 && words(p[1]).len() == 6
    })
    .await;
    assert_eq!(words(bob), ["1", "2", "3", "4", "5", "6"]);
    assert_eq!(words(ann), ["1", "3", "4", "5"]);
    server.stop().unwrap();
}

#[tokio::test]
async fn texts_in_a_channel_reach_its_members_only() {
    let server = start_with(WIDE, |options| options.shards = 2);
    let mut players = vec![];
    for called in ["Ann", "Bob", "Cid"] {
        players.push(join(&server, called).await);
    }
    let answer = ask(&mut players[0], speak("trade", "anyone?")).await;
    assert_eq!(
        answer.unwrap_err(),
        "the client is not in the channel trade"
    );
    ask(&mut players[0], join_channel("Trade")).await.unwrap();
    ask(&mut players[1], join_channel("trade")).await.unwrap();
    ask(&mut players[1], speak("trade", "wool!")).await.unwrap();
    let members = TalkRequest::Members {
        channel: "TRADE".to_owned(),
    };
    ask(&mut players[0], members).await.unwrap();
    // A member that leaves the world leaves its channels, too.
    let bob = players.remove(1);
    bob.client.leave();
    let [ann, cid] = &mut players[..] else {
        unreachable!("two are left");
    };
    until(&mut [ann, cid], "Ann is notified that Bob has left", |p| {
        received(p[0]).len() == 5
    })
    .await;
    let channel = || name("Trade");
    let joined = |who| Talk::Joined {
        channel: channel(),
        name: name(who),
    };
    let expected = [
        joined("Ann"),
        joined("Bob"),
        Talk::Spoken {
            channel: channel(),
            from: name("Bob"),
            text: text("wool!"),
        },
        Talk::Members {
            channel: channel(),
            names: vec![name("Ann"), name("Bob")],
        },
        Talk::Left {
            channel: channel(),
            name: name("Bob"),
        },
    ];
    assert_eq!(received(ann), expected);
    assert!(received(cid).is_empty());
    let leave = TalkRequest::Leave {
        channel: "trade".to_owned(),
    };
    ask(ann, leave).await.unwrap();
    assert!(ask(ann, speak("trade", "?")).await.is_err());
    server.stop().unwrap();
}

#[tokio::test]
async fn invalid_texts_are_rejected_with_the_reason() {
    let server = start_with(WIDE, |_| ());
    let mut guest = join(&server, "").await;
    let mut ann = join(&server, "Ann").await;
    let rejection = async |player: &mut Player, request| ask(player, request).await.unwrap_err();
    assert_eq!(rejection(&mut ann, say("")).await, "a text is empty");
    assert_eq!(
        rejection(&mut ann, say(&"x".repeat(513))).await,
        "a text has 513 bytes, expected at most 512"
    );
    assert!(
        rejection(&mut ann, say("a\u{202e}b"))
            .await
            .contains("U+202E")
    );
    assert_eq!(
        rejection(&mut ann, whisper("Zoe", "hi")).await,
        "there is no player called Zoe"
    );
    let nameless = "only players with a name can do that";
    assert_eq!(rejection(&mut guest, whisper("Ann", "hi")).await, nameless);
    assert_eq!(rejection(&mut guest, join_channel("trade")).await, nameless);
    server.stop().unwrap();
    // A world without the command.
    let server = start_with("[world]\ntick_hz = 20", |_| ());
    let mut ann = join(&server, "Ann").await;
    assert!(
        rejection(&mut ann, say("hi"))
            .await
            .contains("has no command `say")
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn texts_beyond_the_rate_limit_are_rejected() {
    let server = start_with(WIDE, |_| ());
    let mut ann = join(&server, "Ann").await;
    for i in 0..20 {
        ann.client.talk(say(&i.to_string()));
    }
    ann.client.flush();
    until(&mut [&mut ann], "all are answered", |p| {
        p[0].answers().len() == 20
    })
    .await;
    let answers = ann.answers();
    let granted = answers.iter().filter(|(_, answer)| answer.is_ok()).count();
    listen_for(&server, &mut [&mut ann], 4).await;
    assert_eq!(received(&ann).len(), granted);
    assert!((8..20).contains(&granted), "{granted} of 20");
    let refused = answers.iter().find_map(|(_, answer)| answer.as_ref().err());
    assert_eq!(refused.unwrap(), "too much talk at once; wait a moment");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_filter_changes_texts() {
    let server = start_with(WIDE, |options| {
        options.talk_filter = Arc::new(WordList::new("darn").expect("a list"));
    });
    let mut ann = join(&server, "Ann").await;
    ask(&mut ann, say("Darn it")).await.unwrap();
    until(&mut [&mut ann], "it receives its own text", |p| {
        !received(p[0]).is_empty()
    })
    .await;
    let Talk::Said { text, .. } = &received(&ann)[0] else {
        panic!("{:?}", received(&ann));
    };
    assert_eq!(&**text, "**** it");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_recording_has_clients_and_texts() {
    let file = scratch("talk.myriad");
    let server = start_with(WIDE, |options| options.record = Some(file.clone()));
    let mut players = [join(&server, "Ann").await, join(&server, "Bob").await];
    for player in &mut players {
        ask(player, join_channel("trade")).await.unwrap();
    }
    for request in [say("one"), whisper("Bob", "two"), speak("trade", "three")] {
        ask(&mut players[0], request).await.unwrap();
    }
    server.stop().unwrap();
    let mut journal = RecordingReader::open(&file).unwrap();
    let (mut people, mut sayings) = (vec![], vec![]);
    while let NextTick::Tick(next) = journal.next_tick() {
        people.extend(next.annotations.people);
        sayings.extend(next.annotations.said);
    }
    let names: Vec<_> = people.iter().map(|p| p.person.name.as_deref()).collect();
    assert_eq!(names, [Some("Ann"), Some("Bob")]);
    let speaker = Some(people[0].client);
    assert!(sayings.iter().all(|saying| saying.speaker == speaker));
    let texts: Vec<&str> = sayings.iter().map(|saying| &*saying.text).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn many_who_whisper_fill_the_budget_of_a_listener_and_not_its_link() {
    let server = start_with(WIDE, |options| options.shards = 2);
    let mut victim = join(&server, "Vic").await;
    let mut friend = join(&server, "Fay").await;
    ask(&mut victim, whisper("Fay", "hello")).await.unwrap();
    let mut crowd = vec![];
    for number in 0..12 {
        crowd.push(join(&server, &format!("Crowd {number}")).await);
    }
    let begun = server.stats().figures().ticks;
    let long = "x".repeat(512);
    let (mut granted, mut refused) = (0, 0);
    for answers in ask_at_once(&mut crowd, 8, || whisper("Vic", &long)).await {
        for answer in answers {
            match answer {
                Ok(()) => granted += 1,
                Err(reason) => {
                    assert!(reason.contains("too many whispers"), "{reason}");
                    refused += 1;
                }
            }
        }
    }
    // The one to whom it has spoken still reaches it.
    ask(&mut friend, whisper("Vic", "are you there?"))
        .await
        .unwrap();
    listen_for(&server, &mut [&mut victim], 5).await;
    let ticks = server.stats().figures().ticks - begun;
    let bytes = received(&victim).len() as u64 * 512;
    let most = BYTES_AT_ONCE + BYTES_PER_SECOND * ticks.div_ceil(20) + 512;
    assert!(bytes <= most, "{bytes} of {most} bytes in {ticks} ticks");
    assert_eq!(received(&victim).len(), granted + 1);
    assert!(granted > 8 && refused > 8, "{granted} and {refused}");
    server.stop().unwrap();
}

#[tokio::test]
async fn texts_of_a_muted_player_are_left_out_until_it_is_unmuted() {
    let server = start_with(WIDE, |options| options.shards = 2);
    let [mut ann, mut bob, mut cid] = [
        join(&server, "Ann").await,
        join(&server, "Bob").await,
        join(&server, "Cid").await,
    ];
    for player in [&mut ann, &mut bob, &mut cid] {
        go(player, 500.0, 500.0).await;
        ask(player, join_channel("trade")).await.unwrap();
    }
    let mute = |name: &str| TalkRequest::Mute {
        name: name.to_owned(),
    };
    let unmute = |name: &str| TalkRequest::Unmute {
        name: name.to_owned(),
    };
    let refusal = ask(&mut ann, unmute("Bob")).await.unwrap_err();
    assert_eq!(refusal, "Bob is not muted");
    ask(&mut ann, mute("bob")).await.unwrap();
    listen_for(&server, &mut [&mut ann, &mut bob, &mut cid], 5).await;
    let before = [received(&ann).len(), received(&cid).len()];
    for request in [say("1"), whisper("Ann", "2"), speak("trade", "3")] {
        // The one that is muted does not learn it.
        ask(&mut bob, request).await.unwrap();
    }
    ask(&mut cid, say("4")).await.unwrap();
    listen_for(&server, &mut [&mut ann, &mut bob, &mut cid], 5).await;
    let texts = |player: &Player, before: usize| {
        let talk = received(player).split_off(before);
        let texts = talk.into_iter().map(|talk| match talk {
            Talk::Said { text, .. } | Talk::Whispered { text, .. } | Talk::Spoken { text, .. } => {
                text.to_string()
            }
            other => panic!("{other:?}"),
        });
        texts.collect::<Vec<_>>()
    };
    assert_eq!(texts(&ann, before[0]), ["4"]);
    assert_eq!(texts(&cid, before[1]), ["1", "3", "4"]);
    ask(&mut ann, unmute("Bob")).await.unwrap();
    ask(&mut bob, say("5")).await.unwrap();
    listen_for(&server, &mut [&mut ann], 5).await;
    assert_eq!(texts(&ann, before[0]), ["4", "5"]);
    server.stop().unwrap();
}

#[tokio::test]
async fn whom_an_account_has_muted_stays_so_after_a_restart_of_a_kept_world() {
    let folder = TestFolder::new("mutes");
    let restart = || {
        start_with(WIDE, |options| {
            options.authenticator = Arc::new(ByName);
            options.data = Some(DataOptions::new(&*folder));
        })
    };
    let mute = |name: &str| TalkRequest::Mute {
        name: name.to_owned(),
    };
    let server = restart();
    let [mut ann, bob, cid] = [
        join(&server, "Ann").await,
        join(&server, "Bob").await,
        join(&server, "Cid").await,
    ];
    for name in ["Bob", "Cid"] {
        ask(&mut ann, mute(name)).await.unwrap();
    }
    let unmute = TalkRequest::Unmute {
        name: "Cid".to_owned(),
    };
    ask(&mut ann, unmute).await.unwrap();
    drop((ann, bob, cid));
    server.stop().unwrap();

    let server = restart();
    let [mut ann, mut bob, mut cid] = [
        join(&server, "Ann").await,
        join(&server, "Bob").await,
        join(&server, "Cid").await,
    ];
    ask(&mut bob, whisper("Ann", "1")).await.unwrap();
    ask(&mut cid, whisper("Ann", "2")).await.unwrap();
    until(&mut [&mut ann], "she hears Cid", |p| {
        !received(p[0]).is_empty()
    })
    .await;
    assert!(
        matches!(&received(&ann)[..], [Talk::Whispered { text, .. }] if &**text == "2"),
        "{:?}",
        received(&ann)
    );
    server.stop().unwrap();

    std::fs::write(folder.join("mutes.json"), "[{}]").unwrap();
    let mut options = ServerOptions::local(world(WIDE));
    options.data = Some(DataOptions::new(&*folder));
    let said = refusal(options);
    assert!(
        said.contains("mutes.json has no lists of muted players"),
        "{said}"
    );
}

#[tokio::test]
async fn who_leaves_and_comes_back_speaks_no_more_often() {
    let server = start_with(WIDE, |_| ());
    let begun = server.stats().figures().ticks;
    let mut accepted = 0;
    for _ in 0..4 {
        let mut guest = [Player::join(&server).await];
        let [answers] = &ask_at_once(&mut guest, 8, || say("me again")).await[..] else {
            panic!("one guest");
        };
        accepted += answers.iter().filter(|answer| answer.is_ok()).count() as u64;
        let [guest] = guest;
        leave(&server, guest).await;
    }
    let ticks = server.stats().figures().ticks - begun;
    let most = 8 + ticks / 10 + 1;
    assert!(
        accepted <= most,
        "{accepted} in {ticks} ticks, expected {most}"
    );
    server.stop().unwrap();
}
