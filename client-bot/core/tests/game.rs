//! A game over a transport that the test plays: what it shows and sends, and when.

use crate::common;
use std::time::Duration;

use crate::common::{OWN, Server, WELCOMED, welcome};
use client_core::{
    Change, DatagramSummary, Ending, Event, EventHandler, Game, GameOptions, Headless, Link,
    LinkState, LossCode, Message, Movement, Quotas, RetryOptions, Step, View,
};
use script::builtin;
use shared::wire::control::{Close, Welcome};
use shared::wire::{codec, length};
use shared::{EntityId, Slot, Tick};

const OTHER: EntityId = EntityId {
    slot: Slot(9),
    generation: 3,
};
/// The default world ticks ten times a second.
const PERIOD: Duration = Duration::from_millis(100);
const UNIT: i32 = 4096;

fn welcome_bytes(welcome: &Welcome) -> Vec<u8> {
    let body = codec::to_bytes(welcome);
    let mut bytes = vec![];
    length::put(body.len(), &mut bytes);
    bytes.extend(body);
    bytes
}

/// A game that was welcomed at this time.
fn welcomed(now: Duration) -> Game {
    let mut game = Game::new(GameOptions::default());
    join(&mut game, now, &welcome(), None);
    assert_eq!(game.poll(now), [Event::Welcomed(OWN)]);
    game
}

fn join(game: &mut Game, now: Duration, welcome: &Welcome, round_trip: Option<Duration>) {
    assert_eq!(game.next_step(now), Step::Connect);
    game.opened(round_trip);
    assert!(!game.stream_bytes().is_empty(), "a hello");
    game.stream_sent(usize::MAX >> 1);
    game.handle_stream(&welcome_bytes(welcome), now).unwrap();
}

/// When a tick arrives without delay.
fn arrival(tick: u64) -> Duration {
    PERIOD * (tick - WELCOMED) as u32
}

fn lost(reason: &str) -> Ending {
    Ending::new(LossCode::Unreachable, reason)
}

/// A close by a server that is a standby.
fn turned_away() -> Ending {
    Ending::closed(Close::Standby.code().into(), "a standby")
}

#[test]
fn a_lost_game_goes_to_the_standby_and_back_until_one_of_them_welcomes_it() {
    let mut game = Game::new(GameOptions::default());
    let mut now = Duration::ZERO;
    let standby = "two.example:4433".to_owned();
    let named = Welcome {
        servers: vec![standby.clone()],
        ..welcome()
    };
    join(&mut game, now, &named, Some(Duration::from_millis(20)));
    // It may have taken over already, so two seconds of silence are enough.
    now += Duration::from_millis(1999);
    assert_eq!(game.next_step(now), Step::Wait);
    now += Duration::from_millis(1);
    assert!(matches!(game.next_step(now), Step::Close(..)));
    for _ in 0..50 {
        now += Duration::from_millis(500);
        assert_eq!(game.next_step(now), Step::Connect);
        assert_eq!(game.address(), Some(&*standby));
        game.closed(turned_away(), now);
        assert_eq!(game.next_step(now), Step::Connect);
        assert_eq!(game.address(), None);
        // No server answers there.
        now += Duration::from_secs(2);
        assert!(matches!(game.next_step(now), Step::Close(..)));
        game.poll(now);
    }
    now += Duration::from_millis(500);
    let resumed = Welcome {
        resumed: true,
        ..welcome()
    };
    join(&mut game, now, &resumed, None);
    assert_eq!(game.poll(now).last(), Some(&Event::Resumed(OWN)));
    // From now on it is the first that it tries.
    game.closed(lost("gone"), now);
    now += Duration::from_millis(500);
    assert_eq!(game.next_step(now), Step::Connect);
    assert_eq!(game.address(), Some(&*standby));
}

#[test]
fn a_game_follows_a_world_that_has_lost_ticks_and_counts_them_again() {
    let server = Server::new();
    let mut game = welcomed(Duration::ZERO);
    let after = |tick: u64| arrival(90) + Duration::from_millis(100) * tick as u32;
    game.handle_stream(&server.enter(11, OTHER, 5 * UNIT), arrival(11))
        .unwrap();
    for tick in 12..=90 {
        let now = arrival(tick);
        let course = server.movement(tick, OTHER.slot.0, 7 * UNIT);
        game.handle_datagram(&course, now).unwrap();
        assert_eq!(game.input_due(now).is_some(), game.datagram(now).is_some());
    }
    game.closed(lost("the machine died"), arrival(90));
    let resumed = Welcome {
        resumed: true,
        tick: Tick(40),
        ..welcome()
    };
    game.poll(after(8));
    join(&mut game, after(10), &resumed, None);
    game.handle_stream(&server.enter(41, OTHER, 5 * UNIT), after(11))
        .unwrap();
    // It acknowledges what it receives now, though it has sent input for later ticks.
    let mut sent = 0;
    for tick in 42..=60 {
        let now = after(tick - 30);
        let course = server.movement(tick, OTHER.slot.0, 6 * UNIT);
        game.handle_datagram(&course, now).unwrap();
        game.poll(now);
        sent += u32::from(game.datagram(now).is_some());
    }
    assert!(sent > 15, "{sent}");
    assert_eq!(game.position(OTHER).map(|place| place[0]), Some(6.0));
}

#[test]
fn a_game_that_comes_back_sends_the_commands_again_that_were_not_processed() {
    // Where a world does not know what it has processed, they are given up.
    for processed in [Some(1), None] {
        let server = Server::new();
        let mut game = welcomed(Duration::ZERO);
        let step = game.view().unwrap().schema().command_named("move");
        let step = step.expect("this world has it").kind;
        let give = |game: &mut Game, x| game.command(step, &[x, 0]).unwrap();
        let go = |game: &mut Game, tick| {
            let course = server.movement(tick, OWN.slot.0, 0);
            game.handle_datagram(&course, arrival(tick)).unwrap();
            game.poll(arrival(tick));
        };
        (11..20).for_each(|tick| go(&mut game, tick));
        assert_eq!([10, 20, 30].map(|x| give(&mut game, x)), [1, 2, 3]);
        assert!(game.datagram(arrival(20)).is_some());
        game.closed(lost("the gateway is gone"), arrival(20));
        let again = Welcome {
            resumed: true,
            tick: Tick(40),
            processed,
            ..welcome()
        };
        game.poll(arrival(39));
        join(&mut game, arrival(40), &again, None);
        assert_eq!(game.view().unwrap().processed(), processed.unwrap_or(0));
        let next = give(&mut game, 40);
        (41..44).for_each(|tick| go(&mut game, tick));
        let datagram = game.datagram(arrival(44)).expect("input is due");
        let sent = server.read_at(&datagram, 44);
        assert!(sent.ticks.iter().all(|&tick| tick > Tick(40)));
        let found = (next, sent.first_sequence, &sent.words[..]);
        match processed {
            Some(_) => assert_eq!(found, (4, 2, &[20, 0, 30, 0, 40, 0][..])),
            None => assert_eq!(found, (1, 1, &[40, 0][..])),
        }
    }
}

#[test]
fn a_game_receives_who_entered_changed_and_left() {
    let server = Server::new();
    let mut game = welcomed(Duration::ZERO);
    let hp = server_column("hp");
    let now = arrival(11);
    game.handle_stream(&server.enter(11, OTHER, 5 * UNIT), now)
        .unwrap();
    let state = server.frame(12, |stream, writer| {
        stream.state(writer, OTHER.slot, [(hp, 70)].into_iter());
    });
    game.handle_stream(&state, now).unwrap();
    game.handle_stream(&state, now).unwrap();
    let leave = server.frame(13, |stream, writer| stream.leave(writer, OTHER.slot));
    game.handle_stream(&leave, now).unwrap();
    let (tick, entity) = (Tick(11), OTHER);
    let kind = 0;
    let changes = vec![Change {
        column: hp,
        old: 100,
        new: 70,
    }];
    let expected = [
        Event::Entered { tick, entity, kind },
        Event::Changed {
            tick: Tick(12),
            entity,
            changes,
        },
        Event::Left {
            tick: Tick(13),
            entity,
        },
    ];
    assert_eq!(game.poll(now), expected);
    assert_eq!(game.poll(now), []);
}

#[test]
fn others_go_evenly_at_any_frame_rate_although_words_are_late_and_lost() {
    let mut dice = Dice(7);
    let server = Server::new();
    let mut game = welcomed(Duration::ZERO);
    let speed = UNIT / 2;
    game.handle_stream(&server.enter(11, OTHER, 10 * UNIT), arrival(11))
        .unwrap();
    // It takes a step in each tick, and each is sent: one in twenty datagrams is lost, and the
    // others are up to 40 ms late.
    let mut words: Vec<(Duration, Vec<u8>)> = vec![];
    for tick in 12..400 {
        let late = Duration::from_millis(dice.below(40));
        let x = 10 * UNIT + (tick as i32 - 11) * speed;
        if dice.below(20) > 0 {
            words.push((arrival(tick) + late, server.movement(tick, OTHER.slot.0, x)));
        }
    }
    words.sort_by_key(|word| word.0);
    let mut words = words.into_iter().peekable();
    let (mut frames, mut far) = (0, 0);
    let mut now = arrival(11);
    let mut last = 0.0;
    while now < arrival(380) {
        now += Duration::from_millis(5 + dice.below(20));
        while let Some((at, word)) = words.next_if(|word| word.0 <= now) {
            game.handle_datagram(&word, at).unwrap();
        }
        game.poll(now);
        let x = game.position(OTHER).expect("it is in view")[0];
        if now < arrival(40) {
            continue;
        }
        let tick = game.scene().and_then(|s| s.shown_tick()).expect("a tick");
        let truth = 10.0 + (tick - 11.0) * f64::from(speed) / f64::from(UNIT);
        frames += 1;
        far += u32::from((x - truth).abs() > f64::from(speed) / f64::from(UNIT));
        assert!(x >= last - 0.25, "it goes back from {last} to {x}");
        last = x;
    }
    assert!(frames > 1000);
    assert!(
        far * 100 <= frames,
        "{far} of {frames} frames are a step off"
    );
    let delay = game.scene().expect("a scene").delay_ticks();
    assert!((1.3..1.45).contains(&delay), "{delay}");
}

#[test]
fn one_whose_turn_was_lost_was_on_course_until_the_turn() {
    let server = Server::new();
    let mut game = welcomed(Duration::ZERO);
    game.handle_stream(
        &server.enter_gliding(11, OTHER, 10 * UNIT, UNIT),
        arrival(11),
    )
    .unwrap();
    for tick in 12..20 {
        game.handle_datagram(&server.movement(tick, 77, 0), arrival(tick))
            .unwrap();
        game.poll(arrival(tick));
    }
    // It turned in tick 20; the word of it was lost, and came again in tick 22.
    let back = server.course(22, OTHER.slot.0, (10 + 8 - 3) * UNIT, -UNIT);
    game.handle_datagram(&back, arrival(22)).unwrap();
    let mut now = arrival(22);
    while now < arrival(28) {
        now += Duration::from_millis(10);
        game.poll(now);
    }
    let tick = game.scene().and_then(|s| s.shown_tick()).expect("a tick");
    let x = game.position(OTHER).expect("it is in view")[0];
    assert!((x - (15.0 - (tick - 22.0))).abs() < 0.01, "{x} in {tick}");
}

#[test]
fn input_is_sent_once_a_tick_and_arrives_in_time() {
    for (seed, up_ms, down_ms, jitter_ms) in [(1, 5, 5, 1), (2, 80, 80, 40), (3, 30, 120, 10)] {
        let mut dice = Dice(seed);
        let mut server = Server::new();
        let mut game = Game::new(GameOptions::default());
        let first = Duration::from_millis(up_ms + down_ms);
        join(&mut game, Duration::ZERO, &welcome(), Some(first));
        let step = game.view().unwrap().schema().command_named("move");
        let step = step.expect("this world has it").kind;
        let mut up: Vec<(Duration, Vec<u8>)> = vec![];
        let mut down: Vec<(Duration, Vec<u8>)> = vec![];
        let way = |ms: u64, dice: &mut Dice| {
            Duration::from_micros(1000 * ms + dice.below(1000 * jitter_ms))
        };
        let (mut now, mut tick, mut sent, mut inputs) = (arrival(11), 11, 0, 0);
        let start = now;
        while tick < 600 {
            now += Duration::from_micros(16_667);
            // The server reads what has arrived, tick by tick.
            while arrival(tick) <= now {
                for (_, bytes) in up.extract_if(.., |word| word.0 <= arrival(tick)) {
                    server.apply(&bytes, tick);
                }
                server.run(tick);
                let late = arrival(tick) + way(down_ms, &mut dice);
                down.push((late, server.movement(tick, OWN.slot.0, 0)));
                tick += 1;
            }
            for (at, word) in down.extract_if(.., |word| word.0 <= now) {
                game.handle_datagram(&word, at.max(now)).unwrap();
            }
            game.poll(now);
            if game.input_due(now).is_some() {
                game.command(step, &[1, 0]).unwrap();
                inputs += 1;
            }
            while let Some(datagram) = game.datagram(now) {
                sent += 1;
                up.push((now + way(up_ms, &mut dice), datagram));
            }
        }
        let ticks = (now - start).as_millis() / PERIOD.as_millis();
        assert!(sent <= ticks + 3, "seed {seed}: {sent} in {ticks} ticks");
        assert!(
            inputs >= ticks - 10,
            "seed {seed}: {inputs} in {ticks} ticks"
        );
        let clock = game.clock().unwrap();
        let late = clock.late_share();
        assert!(late < 0.25, "seed {seed}: {late} of the input was late");
        // No earlier than the way takes, jitter and a frame each way; and half a tick.
        let longest = Duration::from_millis(up_ms + down_ms + 2 * jitter_ms + 34 + 50);
        let lead = clock.lead();
        assert!(lead < longest, "seed {seed}: {lead:?} ahead");
        let least = Duration::from_millis(up_ms + down_ms);
        let round_trip = clock.round_trip().expect("commands were processed");
        assert!(
            (least / 2..longest + PERIOD / 2).contains(&round_trip),
            "seed {seed}: {round_trip:?}"
        );
    }
}

#[test]
fn a_headless_game_sends_what_one_that_is_shown_does_and_a_handler_gets_all_from_the_welcome_on() {
    #[derive(Default)]
    struct Seen(Vec<&'static str>);
    impl EventHandler for Seen {
        fn welcomed(&mut self, view: &View, _: &Quotas) {
            assert_eq!(view.entity(), OWN);
            self.0.push("welcomed");
        }
        fn message(&mut self, _: Tick, _: &Message) {
            self.0.push("message");
        }
        fn datagram(&mut self, _: &View, _: DatagramSummary, _: &Movement) {
            self.0.push("datagram");
        }
    }
    let mut server = Server::new();
    let mut shown = Game::new(GameOptions::default());
    let mut headless = Game::headless(GameOptions::default(), Headless::OnlyOwn);
    // The first frame comes in one packet with the welcome.
    let mut first = welcome_bytes(&welcome());
    first.extend(server.enter(11, OWN, 0));
    first.extend(server.enter(11, OTHER, 0));
    let mut seen = Seen::default();
    for game in [&mut shown, &mut headless] {
        assert_eq!(game.next_step(Duration::ZERO), Step::Connect);
        game.opened(Some(Duration::from_millis(30)));
        game.stream_sent(usize::MAX >> 1);
        seen = Seen::default();
        game.handle_stream_with(&first, Duration::ZERO, &mut seen)
            .unwrap();
        assert_eq!(seen.0, ["welcomed", "message", "message"]);
    }
    let mut sent = 0;
    for ms in 0..3000_u32 {
        let now = Duration::from_millis(u64::from(ms));
        let tick = WELCOMED + u64::from(ms / 100);
        if ms % 100 == 0 && tick > 11 {
            server.run(tick);
            let bytes = server.movement(tick, OWN.slot.0, 0);
            shown.handle_datagram(&bytes, now).unwrap();
            headless
                .handle_datagram_with(&bytes, now, &mut seen)
                .unwrap();
        }
        assert_eq!(shown.input_due(now), headless.input_due(now), "{ms}");
        assert_eq!(shown.next_due(now), headless.next_due(now), "{ms}");
        if shown.input_due(now).is_some() {
            for game in [&mut shown, &mut headless] {
                game.command(builtin::MOVE, &[1, 1]).unwrap();
            }
        }
        let datagram = shown.datagram(now);
        assert_eq!(datagram, headless.datagram(now), "{ms}");
        if let Some(datagram) = datagram {
            server.apply(&datagram, tick + 1);
            sent += 1;
        }
    }
    assert!(sent >= 25, "{sent}");
    assert_eq!(
        seen.0.iter().filter(|what| **what == "datagram").count(),
        28
    );
    let now = Duration::from_secs(3);
    assert_eq!(headless.poll(now), [Event::Welcomed(OWN)]);
    assert!(headless.scene().is_none() && headless.prediction().is_none());
    let known = headless.view().expect("a view").entities();
    assert_eq!(known.keys().collect::<Vec<_>>(), [&OWN.slot.0]);
    // It comes back by itself, as the other does.
    for game in [&mut shown, &mut headless] {
        game.closed(lost("gone"), now);
        assert!(game.next_due(now).is_some_and(|due| due > now));
        assert_eq!(game.next_step(now + Duration::from_secs(1)), Step::Connect);
        assert_eq!(game.hello().resume, Some(welcome().ticket));
    }
}

#[test]
fn a_lost_game_comes_back_and_says_only_what_is_new() {
    let server = Server::new();
    let mut game = welcomed(Duration::ZERO);
    let now = arrival(11);
    let gone = EntityId::new(30, 1);
    for entity in [OWN, OTHER, gone] {
        let frame = server.enter(11, entity, UNIT);
        game.handle_stream(&frame, now).unwrap();
    }
    assert_eq!(game.poll(now).len(), 3);
    game.closed(lost("the cable was pulled"), now);
    let events = game.poll(now);
    let [
        Event::Lost {
            code: LossCode::Unreachable,
            reason,
            update: None,
            retry_in: Some(wait),
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(reason, "the cable was pulled");
    assert!(game.view().is_some(), "what was seen last is still there");
    assert_eq!(game.next_step(now), Step::Wait);
    let again = Welcome {
        resumed: true,
        tick: Tick(40),
        ..welcome()
    };
    let now = now + *wait;
    join(&mut game, now, &again, None);
    let news = EntityId::new(31, 1);
    let frame = server.frame(41, |stream, writer| {
        for (entity, hp) in [(OWN, 100), (OTHER, 60), (news, 100)] {
            let course = shared::Course {
                tick: Tick(41),
                position: [UNIT, 0, 0],
                velocity: [0; 3],
            };
            let is_own = entity == OWN;
            stream.enter(writer, entity, 0, is_own, &course, &[UNIT, 0, hp]);
        }
    });
    game.handle_stream(&frame, now).unwrap();
    let tick = Tick(41);
    let changes = vec![Change {
        column: server_column("hp"),
        old: 100,
        new: 60,
    }];
    let expected = [
        Event::Resumed(OWN),
        Event::Changed {
            tick,
            entity: OTHER,
            changes,
        },
        Event::Entered {
            tick,
            entity: news,
            kind: 0,
        },
        Event::Left { tick, entity: gone },
    ];
    assert_eq!(game.poll(now), expected);
}

#[test]
fn a_server_that_does_not_answer_is_tried_as_often_as_the_options_say() {
    for attempts in [1, 2, 5] {
        let options = GameOptions {
            retry: RetryOptions {
                attempts,
                ..RetryOptions::default()
            },
            ..GameOptions::default()
        };
        // From the start, and once it was in the world.
        for was_playing in [false, true] {
            let mut game = match was_playing {
                false => Game::new(options.clone()),
                true => {
                    let mut game = Game::new(options.clone());
                    join(&mut game, Duration::ZERO, &welcome(), None);
                    game.closed(lost("gone"), Duration::ZERO);
                    game
                }
            };
            let mut now = Duration::ZERO;
            let (mut tried, mut last) = (0, None);
            while !game.is_over() {
                match game.next_step(now) {
                    Step::Connect => tried += 1,
                    Step::Close(..) | Step::Wait => {}
                }
                last = game.poll(now).pop().or(last);
                now += Duration::from_millis(20);
                assert!(now < Duration::from_secs(60), "it never ends");
            }
            assert_eq!(tried, attempts, "was playing: {was_playing}");
            let expected = Event::Lost {
                code: LossCode::TimedOut,
                reason: "no welcome within 5 seconds".to_owned(),
                update: None,
                retry_in: None,
            };
            assert_eq!(last, Some(expected));
        }
    }
}

#[test]
fn a_game_without_attempts_tries_once() {
    let mut game = Game::new(GameOptions {
        retry: RetryOptions::NEVER,
        ..GameOptions::default()
    });
    assert_eq!(game.next_step(Duration::ZERO), Step::Connect);
    game.closed(lost("gone"), Duration::ZERO);
    assert!(game.is_over());
}

#[test]
fn every_close_has_its_code_and_only_some_are_tried_again() {
    use Close::*;
    // Whether the server closes before the welcome or after it.
    for is_welcome in [false, true] {
        for close in Close::ALL {
            let mut game = match is_welcome {
                true => welcomed(Duration::ZERO),
                false => {
                    let mut game = Game::new(GameOptions::default());
                    assert_eq!(game.next_step(Duration::ZERO), Step::Connect);
                    game.opened(None);
                    game
                }
            };
            game.closed(Ending::closed(close.code().into(), "why"), Duration::ZERO);
            let events = game.poll(Duration::ZERO);
            let [
                Event::Lost {
                    code,
                    reason,
                    update: None,
                    retry_in,
                },
            ] = &events[..]
            else {
                panic!("{close:?}: {events:?}");
            };
            assert_eq!((*code, reason.as_str()), (LossCode::Closed(close), "why"));
            let is_tried_again = matches!(
                close,
                Full | TooSlow | Shutdown | Starting | Standby | TooOften
            );
            assert_eq!(retry_in.is_some(), is_tried_again, "{close:?}");
            assert_eq!(game.is_over(), !is_tried_again, "{close:?}");
        }
    }
}

#[test]
fn a_game_of_another_version_learns_which_one_and_where_to_get_it() {
    let mut game = Game::new(GameOptions::default());
    game.next_step(Duration::ZERO);
    game.opened(None);
    let reason = "too old [version=99 url=https://example.org]";
    let ending = Ending::closed(Close::Outdated.code().into(), reason);
    game.closed(ending, Duration::ZERO);
    let events = game.poll(Duration::ZERO);
    let [
        Event::Lost {
            code,
            reason,
            update: Some(update),
            retry_in: None,
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(*code, Close::Outdated.into());
    assert_eq!(reason, "too old");
    assert_eq!(update.server_version, 99);
    assert_eq!(update.url.as_deref(), Some("https://example.org"));
}

#[test]
fn a_server_with_a_wrong_certificate_is_not_tried_again() {
    let untrusted = || Ending::new(LossCode::Untrusted, "another certificate");
    let mut game = Game::new(GameOptions::default());
    game.next_step(Duration::ZERO);
    game.closed(untrusted(), Duration::ZERO);
    assert!(game.is_over());
    // A standby with a wrong one does not keep the game from the server that it was given.
    let mut game = Game::new(GameOptions::default());
    let named = Welcome {
        servers: vec!["two.example:4433".to_owned()],
        ..welcome()
    };
    join(&mut game, Duration::ZERO, &named, None);
    game.closed(lost("gone"), Duration::ZERO);
    let mut now = Duration::from_secs(1);
    assert_eq!(game.next_step(now), Step::Connect);
    assert!(game.address().is_some());
    game.closed(untrusted(), now);
    assert_eq!(game.next_step(now), Step::Connect);
    assert_eq!(game.address(), None);
    game.closed(untrusted(), now);
    now += Duration::from_secs(60);
    assert_eq!(game.next_step(now), Step::Wait);
    assert!(game.is_over());
}

#[test]
fn a_player_is_warned_once_that_the_server_is_silent_and_once_that_it_is_back() {
    let server = Server::new();
    let mut game = welcomed(Duration::ZERO);
    assert_eq!(game.link().map(|link| link.state), Some(LinkState::Good));
    // It speaks in each tick, for a while.
    let mut now = Duration::ZERO;
    let mut events = vec![];
    for tick in 11..200 {
        now = arrival(tick);
        game.handle_datagram(&server.movement(tick, OWN.slot.0, 0), now)
            .unwrap();
        events.extend(game.poll(now));
    }
    let frame = Duration::from_millis(20);
    let silent_from = now;
    let mut noticed_at = None;
    while now < silent_from + Duration::from_secs(6) {
        now += frame;
        assert_eq!(game.next_step(now), Step::Wait);
        let news = game.poll(now);
        noticed_at = noticed_at.or((!news.is_empty()).then_some(now));
        events.extend(news);
    }
    let noticed_after = noticed_at.expect("an event") - silent_from;
    assert_eq!(noticed_after, Duration::from_millis(1500));
    let unstable = Link {
        state: LinkState::Unstable,
        since: silent_from,
    };
    assert_eq!(game.link(), Some(unstable));
    game.handle_datagram(&server.movement(260, OWN.slot.0, 0), now)
        .unwrap();
    events.extend(game.poll(now));
    events.extend(game.poll(now + frame));
    let (state, since) = (unstable.state, unstable.since);
    let expected = [
        Event::Link { state, since },
        Event::Link {
            state: LinkState::Good,
            since: now,
        },
    ];
    assert_eq!(events, expected);
    // A loss ends the link.
    game.closed(lost("gone"), now);
    assert_eq!(game.link(), None);
}

#[test]
fn a_game_that_was_not_polled_does_not_blame_the_server() {
    let server = Server::new();
    let mut game = welcomed(Duration::ZERO);
    game.poll(Duration::ZERO);
    // A page in the background: its first poll comes before what has arrived is handed in.
    let now = Duration::from_secs(8);
    assert_eq!(game.poll(now), []);
    game.handle_datagram(&server.movement(80, OWN.slot.0, 0), now)
        .unwrap();
    assert_eq!(game.poll(now + Duration::from_secs(1)), []);
    assert_eq!(game.link().map(|link| link.state), Some(LinkState::Good));
}

#[test]
fn a_game_comes_back_once_from_an_attempt_of_its_own_that_came_late() {
    // The connection that it has left resumes the session in its turn, or joins with the account.
    for close in [Close::Resumed, Close::Replaced] {
        let mut game = welcomed(Duration::ZERO);
        let silent = Duration::from_secs(10);
        assert!(matches!(game.next_step(silent), Step::Close(..)));
        let mut now = silent + Duration::from_secs(1);
        let resumed = Welcome {
            resumed: true,
            ..welcome()
        };
        join(&mut game, now, &resumed, None);
        let elsewhere = || Ending::new(close, "it plays elsewhere".to_owned());
        game.closed(elsewhere(), now);
        assert!(!game.is_over(), "{close:?}");
        now += Duration::from_secs(1);
        join(&mut game, now, &resumed, None);
        // This is another one.
        game.closed(elsewhere(), now);
        assert!(game.is_over(), "{close:?}");
    }
}

#[test]
fn a_server_that_falls_silent_is_left() {
    let mut game = welcomed(Duration::ZERO);
    let silence = GameOptions::default().silence_timeout;
    let almost = silence - Duration::from_millis(1);
    assert_eq!(game.next_step(almost), Step::Wait);
    assert!(matches!(game.next_step(silence), Step::Close(..)));
    assert!(matches!(
        game.poll(silence)[..],
        [Event::Lost {
            retry_in: Some(_),
            ..
        }]
    ));
}

fn server_column(name: &str) -> u16 {
    let column = common::schema().column(name);
    column.expect("such an attribute") as u16
}

/// Small random numbers by a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = shared::world::mix::mix(self.0, 1);
        (self.0 >> 33) % bound.max(1)
    }
}
