//! The data that a session sends, and the answers.

use crate::common;
use crate::common::{OWN, Server, WELCOMED, session, welcome};
use client_core::event::Both;
use client_core::{
    Answer, CommandError, EventHandler, Handshake, Message, PredicateTooLong, RefusedRun, Region,
    Request, RequestBody, Session, hello,
};
use script::builtin;
use shared::wire::commands::COMMANDS_MAX;
use shared::wire::control::{Hello, Interface};
use shared::wire::request::RequestReader;
use shared::wire::{DATAGRAM_BYTES_MAX, codec, length};
use shared::{CommandKind, Course, EntityId, Refusal, Tick};

#[test]
fn a_handshake_sends_the_hello_and_reads_the_welcome_however_it_is_cut() {
    let sent = hello("secret", Some([3; 16]));
    let body = codec::to_bytes(&welcome());
    let mut stream = vec![];
    length::put(body.len(), &mut stream);
    stream.extend(body);
    let length = stream.len();
    stream.extend(Server::new().enter(11, OWN, 100));
    for cut in [1, 7, length, stream.len()] {
        let mut handshake = Handshake::new(&sent);
        let received = Hello::decode(&handshake.stream_bytes()[4..]);
        assert_eq!(received.as_ref(), Ok(&sent));
        let mut chunks = stream.chunks(cut);
        let mut welcomed = None;
        while welcomed.is_none() {
            let bytes = chunks.next().expect("the welcome is in the stream");
            welcomed = handshake.handle_stream(bytes).unwrap();
        }
        let mut welcomed = welcomed.unwrap();
        assert_eq!(welcomed.welcome, welcome());
        assert_eq!(welcomed.session.ticket(), [7; 16]);
        for bytes in std::iter::once(&welcomed.rest[..]).chain(chunks) {
            welcomed.session.handle_stream(bytes, &mut ()).unwrap();
        }
        assert!(welcomed.session.view().own().is_some(), "cut every {cut}");
    }
}

#[test]
fn commands_are_repeated_until_the_server_has_processed_them() {
    let (mut server, mut session) = (Server::new(), session());
    assert_eq!(session.datagram(), None, "there is nothing to say");
    assert_eq!(session.command(builtin::MOVE, &[1, 0]), Ok(1));
    assert_eq!(session.command(builtin::MOVE, &[2, 0]), Ok(2));
    for _ in 0..3 {
        let sent = server.read(&session.datagram().expect("two commands"));
        assert_eq!(sent.first_sequence, 1);
        assert_eq!(sent.kinds, [builtin::MOVE; 2]);
        assert_eq!(sent.words, [1, 0, 2, 0]);
    }
    server.processed = 1;
    let bytes = server.movement(WELCOMED + 1, 5, 0);
    session.handle_datagram(&bytes, &mut ()).unwrap();
    let sent = server.read(&session.datagram().expect("one command"));
    assert_eq!((sent.first_sequence, &sent.words[..]), (2, &[2, 0][..]));
    server.processed = 2;
    let bytes = server.movement(WELCOMED + 2, 5, 0);
    session.handle_datagram(&bytes, &mut ()).unwrap();
    let sent = server.read(&session.datagram().expect("an acknowledgement"));
    assert!(sent.kinds.is_empty());
    assert_eq!(session.datagram(), None);
}

#[test]
fn only_the_latest_commands_are_sent() {
    let (server, mut session) = (Server::new(), session());
    let count = COMMANDS_MAX as i32 + 5;
    for i in 0..count {
        session.command(builtin::MOVE, &[i, 0]).unwrap();
    }
    let sent = server.read(&session.datagram().unwrap());
    assert_eq!(sent.first_sequence, 6);
    assert_eq!(sent.kinds.len(), COMMANDS_MAX);
    assert_eq!(sent.words[..2], [5, 0]);
}

#[test]
fn more_commands_than_fit_into_a_datagram_are_those_that_were_given_last() {
    let (server, mut session) = (Server::new(), session());
    for _ in 0..200 {
        session
            .command(builtin::MOVE, &[i32::MAX, i32::MIN])
            .unwrap();
    }
    let bytes = session.datagram().unwrap();
    assert!(bytes.len() <= DATAGRAM_BYTES_MAX, "{} bytes", bytes.len());
    let sent = server.read(&bytes);
    assert!(sent.kinds.len() > 70, "{} commands", sent.kinds.len());
    assert_eq!(sent.first_sequence + sent.kinds.len() as u32, 201);
}

#[test]
fn commands_say_for_which_tick_they_are_meant_however_often_they_are_sent() {
    let (server, mut session) = (Server::new(), session());
    session.command(builtin::MOVE, &[1, 0]).unwrap();
    let sent = server.read(&session.datagram().unwrap());
    assert_eq!(
        sent.ticks,
        [],
        "the client does not know the server's clock"
    );
    for tick in [30, 31, 34] {
        session.command(builtin::MOVE, &[1, 0]).unwrap();
        session.datagram_for(Tick(tick)).unwrap();
    }
    session.command(builtin::MOVE, &[1, 0]).unwrap();
    // A clock that was put back does not change the order.
    let sent = server.read(&session.datagram_for(Tick(33)).unwrap());
    let expected = [30, 30, 31, 34, 34].map(Tick);
    assert_eq!(sent.ticks, expected);
    assert_eq!(server.read(&session.datagram().unwrap()).ticks, expected);
}

#[test]
fn commands_without_effect_are_named() {
    #[derive(Default)]
    struct Named(Vec<(Tick, RefusedRun)>);
    impl EventHandler for Named {
        fn refused(&mut self, tick: Tick, commands: RefusedRun) {
            self.0.push((tick, commands));
        }
    }
    let (server, mut session) = (Server::new(), session());
    for _ in 0..9 {
        session.command(builtin::MOVE, &[1, 0]).unwrap();
    }
    let reason = Refusal::OverQuota;
    let frame = server.frame(12, |stream, writer| {
        stream.refused(writer, 2, 3, (reason, None));
        // The client has given nine.
        stream.refused(writer, 8, 1000, (Refusal::TooLate, None));
        stream.refused(writer, 10, 1, (reason, None));
    });
    let mut named = Named::default();
    session.handle_stream(&frame, &mut named).unwrap();
    let run = |first, count, reason| RefusedRun {
        first,
        count,
        reason,
        because: None,
    };
    let expected = [run(2, 3, reason), run(8, 2, Refusal::TooLate)];
    assert_eq!(named.0, expected.map(|run| (Tick(12), run)));
}

#[test]
fn a_refusal_has_the_words_of_the_worlds_script() {
    #[derive(Default)]
    struct Said(Vec<String>);
    impl EventHandler for Said {
        fn refused(&mut self, _: Tick, commands: RefusedRun) {
            self.0.push(commands.to_string());
        }
    }
    let mut welcome = common::welcome();
    welcome.reasons = vec!["too far away".to_owned(), "too poor".to_owned()];
    let (server, mut session) = (Server::new(), Session::new(&welcome).unwrap());
    for _ in 0..4 {
        session.command(builtin::MOVE, &[1, 0]).unwrap();
    }
    let mut said = Said::default();
    let frame = server.frame(12, |stream, writer| {
        stream.refused(writer, 1, 1, (Refusal::Idle, Some(1)));
        // The world has no third.
        stream.refused(writer, 2, 1, (Refusal::Unmet, Some(2)));
        stream.refused(writer, 3, 1, (Refusal::Idle, None));
    });
    session.handle_stream(&frame, &mut said).unwrap();
    let idle = Refusal::Idle.to_string();
    let unmet = Refusal::Unmet.to_string();
    assert_eq!(said.0, ["too poor", unmet.as_str(), idle.as_str()]);
    // Other scripts have others.
    let schema = common::schema();
    let interface = Interface {
        commands_epoch: 2,
        commands: schema.commands,
        notifications: schema.notifications,
        constants: schema.constants,
        forecast: vec![],
        reasons: vec!["too late".to_owned()],
    };
    let frame = server.frame(13, |stream, writer| {
        stream.interface(writer, &interface);
    });
    session.handle_stream(&frame, &mut said).unwrap();
    let frame = server.frame(14, |stream, writer| {
        stream.refused(writer, 4, 1, (Refusal::Unmet, Some(0)));
    });
    session.handle_stream(&frame, &mut said).unwrap();
    assert_eq!(said.0.last().unwrap(), "too late");
}

#[test]
fn a_command_that_clients_cannot_send_is_an_error() {
    let mut session = session();
    assert_eq!(
        session.command(CommandKind::DESPAWN, &[]),
        Err(CommandError::Unavailable(CommandKind::DESPAWN))
    );
    let error = session.command(builtin::MOVE, &[1, 2, 3]).unwrap_err();
    assert_eq!(error.to_string(), "`move` takes 2 numbers, found 3");
    assert_eq!(session.datagram(), None);
}

#[test]
fn datagrams_acknowledge_what_has_arrived() {
    let (server, mut session) = (Server::new(), session());
    for tick in [12, 14, 13] {
        let bytes = server.movement(tick, 7, 100);
        session.handle_datagram(&bytes, &mut ()).unwrap();
    }
    let bytes = server.enter(16, OWN, 100);
    session.handle_stream(&bytes, &mut ()).unwrap();
    let known = server.read(&session.datagram().unwrap()).acknowledgement;
    let ticks: Vec<u64> = (11..20).filter(|&t| known.has(Tick(t))).collect();
    assert_eq!(ticks, [12, 13, 14]);
    assert_eq!(known.stream, Tick(16));
    assert_eq!(session.datagram(), None);
}

#[test]
fn a_session_goes_on_across_32_bits_of_ticks() {
    let wrap = 1u64 << 32;
    let welcome = shared::wire::control::Welcome {
        tick: Tick(wrap - 3),
        ..common::welcome()
    };
    let (server, mut session) = (Server::new(), Session::new(&welcome).unwrap());
    let enter = server.enter(wrap - 2, OWN, 100);
    session.handle_stream(&enter, &mut ()).unwrap();
    for tick in wrap - 1..wrap + 3 {
        let x = 200 + (tick + 1 - wrap) as i32;
        let bytes = server.movement(tick, OWN.slot.0, x);
        session.handle_datagram(&bytes, &mut ()).unwrap();
        assert_eq!(session.view().own().unwrap().course.tick, Tick(tick));
        assert_eq!(session.view().own().unwrap().row[0], x);
    }
    let mut read = Default::default();
    let bytes = session.datagram().unwrap();
    let now = Tick(wrap + 3);
    server.commands.decode(&bytes, now, &mut read).unwrap();
    let known = read.acknowledgement;
    let ticks: Vec<u64> = (wrap - 9..wrap + 9)
        .filter(|&t| known.has(Tick(t)))
        .collect();
    assert_eq!(ticks, [wrap - 3, wrap - 1, wrap, wrap + 1, wrap + 2]);
    assert_eq!(known.stream, Tick(wrap - 2));
}

#[test]
fn a_difference_from_what_the_client_never_knew_is_not_acknowledged() {
    let (server, mut session) = (Server::new(), session());
    let course = |tick, x| Course {
        tick: Tick(tick),
        position: [x, 0, 0],
        velocity: [0; 3],
    };
    let enter = server.enter(12, EntityId::new(7, 1), 100);
    session.handle_stream(&enter, &mut ()).unwrap();
    let known = server.course_after(14, 7, (103, 0), Some(course(13, 100)));
    session.handle_datagram(&known, &mut ()).unwrap();
    let unknown = server.course_after(15, 8, (500, 0), Some(course(13, 499)));
    session.handle_datagram(&unknown, &mut ()).unwrap();
    // Of tick 11 the client knew nothing of the entity.
    let before = server.course_after(16, 7, (200, 0), Some(course(11, 199)));
    session.handle_datagram(&before, &mut ()).unwrap();
    let acknowledged = server.read(&session.datagram().unwrap()).acknowledgement;
    let ticks: Vec<u64> = (11..20).filter(|&t| acknowledged.has(Tick(t))).collect();
    assert_eq!(ticks, [14]);
    assert_eq!(session.view().entities()[&7].row[0], 103);
}

#[test]
fn requests_are_numbered_and_stay_until_the_transport_takes_them() {
    let mut session = session();
    let region = Region::fixed(&[0, 0], &[10, 10]);
    assert_eq!(session.set_region(0, Some(region)), 1);
    assert_eq!(session.subscribe(4, "true"), Ok(2));
    assert_eq!(session.unsubscribe(4), 3);
    let mut reader = RequestReader::default();
    while !session.stream_bytes().is_empty() {
        reader.push(&session.stream_bytes()[..1]);
        session.stream_sent(1);
    }
    let mut next = || reader.next_request().unwrap();
    let requests = [next(), next(), next(), next()];
    let request = |request, body| {
        Some(Request {
            number: request,
            body,
        })
    };
    let (index, region) = (0, Some(region));
    let predicate = "true".to_owned();
    assert_eq!(
        requests,
        [
            request(1, RequestBody::SetRegion { index, region }),
            request(2, RequestBody::Subscribe { id: 4, predicate }),
            request(3, RequestBody::Unsubscribe { id: 4 }),
            None,
        ]
    );
}

#[test]
fn a_predicate_longer_than_a_request_is_an_error() {
    let mut session = session();
    let predicate = "x".repeat(1 << 16);
    let found = predicate.len();
    let result = session.subscribe(1, &predicate);
    assert_eq!(result, Err(PredicateTooLong { found }));
    assert!(session.stream_bytes().is_empty());
}

#[test]
fn two_handlers_get_the_same() {
    #[derive(Default)]
    struct Answers(Vec<Answer>);

    impl EventHandler for Answers {
        fn message(&mut self, _: Tick, message: &Message) {
            if let Message::Answer(answer) = message {
                self.0.push(answer.clone());
            }
        }
    }

    let (server, mut session) = (Server::new(), session());
    let answers = [Ok(()), Err("too many regions".to_owned())];
    let answers = [1, 2].map(|request| Answer {
        request,
        result: answers[request as usize - 1].clone(),
    });
    let [mut one, mut two] = [(); 2].map(|()| Answers::default());
    for answer in &answers {
        let frame = server.frame(12, |stream, writer| stream.answer(writer, answer));
        let both = &mut Both(&mut one, &mut two);
        session.handle_stream(&frame, both).unwrap();
    }
    assert_eq!((&one.0[..], &two.0[..]), (&answers[..], &answers[..]));
}
