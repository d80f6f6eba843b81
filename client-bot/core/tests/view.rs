//! Enters, leaves and movement reach a client's view in the order in which they happened,
//! whatever the order in which they arrive.

use client_core::{EventHandler, Message, Session};
use shared::wire::control::Welcome;
use shared::world::config::VISIBLE_MAX;
use shared::{AttributeValue, Course, EntityId, Name, Slot, Tick};

use crate::common::{OWN, Server, session, welcome};

/// A server, and a session with one entity in view.
struct Play {
    server: Server,
    session: Session,
}

const OTHER: u32 = 7;

impl Play {
    fn new() -> Play {
        Play {
            server: Server::new(),
            session: session(),
        }
    }

    /// In a world of so many entities.
    fn among(capacity: u32) -> Play {
        let text = format!("[world]\ncapacity = {capacity}");
        let config = world_file::parse(&text, "a test's world");
        let schema = config.expect("a valid world").schema;
        let server = Server::of(&schema);
        let session = Session::new(&Welcome {
            schema,
            ..welcome()
        });
        Play {
            server,
            session: session.expect("a world's own schema"),
        }
    }

    fn moves(&mut self, tick: u64, x: i32) {
        let bytes = self.server.movement(tick, OTHER, x);
        self.session.handle_datagram(&bytes, &mut ()).unwrap();
    }

    fn glides(&mut self, tick: u64, x: i32, velocity: i32) {
        let bytes = self.server.course(tick, OTHER, x, velocity);
        self.session.handle_datagram(&bytes, &mut ()).unwrap();
    }

    /// As the difference from where it rested by an earlier tick.
    fn moves_from(&mut self, tick: u64, x: i32, (earlier, from): (u64, i32)) {
        let known = Course {
            tick: Tick(earlier),
            position: [from, 0, 0],
            velocity: [0; 3],
        };
        let known = Some(known);
        let bytes = self.server.course_after(tick, OTHER, (x, 0), known);
        self.session.handle_datagram(&bytes, &mut ()).unwrap();
    }

    fn moves_another(&mut self, tick: u64) {
        let bytes = self.server.movement(tick, OTHER + 1, 5);
        self.session.handle_datagram(&bytes, &mut ()).unwrap();
    }

    fn enters(&mut self, tick: u64, x: i32) {
        let bytes = self.server.enter(tick, EntityId::new(OTHER, 1), x);
        self.session.handle_stream(&bytes, &mut ()).unwrap();
    }

    fn leaves(&mut self, tick: u64, slot: u32) {
        let frame = self
            .server
            .frame(tick, |stream, writer| stream.leave(writer, Slot(slot)));
        self.session.handle_stream(&frame, &mut ()).unwrap();
    }

    fn x(&self) -> Option<i32> {
        let entity = self.session.view().entities().get(&OTHER);
        entity.map(|entity| entity.row[0])
    }
}

#[test]
fn movement_that_arrives_before_its_enter_takes_effect_with_the_enter() {
    let mut play = Play::new();
    play.moves(12, 500);
    assert_eq!(play.x(), None);
    play.enters(11, 100);
    assert_eq!(play.x(), Some(500));
}

#[test]
fn differences_build_on_movement_that_was_overtaken() {
    let mut play = Play::new();
    play.enters(11, 100);
    play.moves(14, 400);
    play.moves(12, 200);
    assert_eq!(play.x(), Some(400));
    play.moves_from(15, 250, (12, 200));
    assert_eq!(play.x(), Some(250));
}

#[test]
fn differences_build_on_all_movement_that_arrives_before_its_enter() {
    for ticks in [[12, 14], [14, 12]] {
        let mut play = Play::new();
        for tick in ticks {
            play.moves(tick, 100 * (tick as i32 - 10));
        }
        play.enters(11, 100);
        assert_eq!(play.x(), Some(400), "{ticks:?}");
        play.moves_from(15, 250, (12, 200));
        assert_eq!(play.x(), Some(250), "{ticks:?}");
    }
}

#[test]
fn differences_build_on_movement_that_overtakes_leave_and_enter() {
    let mut play = Play::new();
    play.enters(11, 100);
    play.moves(14, 400);
    play.moves(15, 500);
    play.leaves(12, OTHER);
    play.enters(13, 300);
    assert_eq!(play.x(), Some(500));
    play.moves_from(16, 450, (14, 400));
    assert_eq!(play.x(), Some(450));
}

#[test]
fn movement_older_than_the_enter_is_ignored() {
    let mut play = Play::new();
    play.enters(12, 100);
    play.moves(11, 50);
    assert_eq!(play.x(), Some(100));
}

#[test]
fn an_overtaken_datagram_changes_nothing() {
    let mut play = Play::new();
    play.enters(11, 100);
    play.moves(14, 400);
    play.moves(13, 300);
    assert_eq!(play.x(), Some(400));
}

#[test]
fn movement_from_before_a_leave_does_not_move_the_entity_when_it_enters_again() {
    let mut play = Play::new();
    play.enters(11, 100);
    play.leaves(13, OTHER);
    assert_eq!(play.x(), None);
    play.moves(12, 120);
    play.enters(20, 900);
    assert_eq!(play.x(), Some(900));
}

#[test]
fn an_entity_continues_on_its_last_course() {
    let mut play = Play::new();
    let entered = play
        .server
        .enter_gliding(11, EntityId::new(OTHER, 1), 100, 7);
    play.session.handle_stream(&entered, &mut ()).unwrap();
    assert_eq!(play.x(), Some(100));
    // Datagrams without it show that it moves on.
    play.moves_another(14);
    assert_eq!(play.x(), Some(121));
    play.glides(16, 90, -30);
    assert_eq!(play.x(), Some(90));
    play.moves_another(18);
    assert_eq!(play.x(), Some(30));
    // At the edge of the world it stops.
    play.moves_another(30);
    assert_eq!(play.x(), Some(0));
    let view = play.session.view();
    let entity = &view.entities()[&OTHER];
    assert_eq!(view.position(entity, Tick(17)), [60, 0, 0]);
}

#[test]
fn a_late_course_leads_to_where_the_entity_is_by_now() {
    let mut play = Play::new();
    play.enters(11, 100);
    play.moves_another(20);
    play.glides(15, 1000, 10);
    assert_eq!(play.x(), Some(1050));
    // It rests from tick 18 on, which is late too.
    play.moves(18, 1030);
    assert_eq!(play.x(), Some(1030));
}

#[test]
fn a_course_that_arrives_before_its_enter_takes_effect_with_the_enter() {
    let mut play = Play::new();
    play.glides(12, 500, 2);
    play.moves_another(15);
    play.enters(11, 100);
    assert_eq!(play.x(), Some(506));
}

#[test]
fn movement_that_overtakes_a_leave_and_an_enter_takes_effect_after_both() {
    let mut play = Play::new();
    play.enters(11, 100);
    play.moves(14, 400);
    play.leaves(12, OTHER);
    assert_eq!(play.x(), None);
    play.enters(13, 150);
    assert_eq!(play.x(), Some(400));
}

#[test]
fn movement_for_which_there_is_no_room_is_not_acknowledged() {
    let mut play = Play::among(3 * VISIBLE_MAX);
    // Twice as many entities as a server shows to one client, all ahead of their enters.
    for slot in 0..2 * VISIBLE_MAX {
        let bytes = play.server.movement(12, 1000 + slot, 5);
        play.session.handle_datagram(&bytes, &mut ()).unwrap();
    }
    play.moves(13, 400);
    let acknowledges = |play: &mut Play, tick| {
        let bytes = play.session.datagram();
        bytes.is_some_and(|bytes| play.server.read(&bytes).acknowledgement.has(Tick(tick)))
    };
    assert!(!acknowledges(&mut play, 13));
    // The frame shows that none of them has entered by then.
    play.leaves(13, 3000);
    play.moves(14, 500);
    assert!(acknowledges(&mut play, 14));
    play.enters(14, 450);
    assert_eq!(play.x(), Some(450));
    play.moves(15, 600);
    assert_eq!(play.x(), Some(600));
}

#[test]
fn a_client_is_dead_from_the_leave_of_its_entity_until_it_is_reborn() {
    let mut play = Play::new();
    let bytes = play.server.enter(11, OWN, 100);
    play.session.handle_stream(&bytes, &mut ()).unwrap();
    assert!(play.session.view().own().is_some());
    play.leaves(12, OWN.slot.0);
    assert!(play.session.view().is_dead() && play.session.view().own().is_none());
    let new = EntityId::new(9, 4);
    let frame = play
        .server
        .frame(20, |stream, writer| stream.reborn(writer, new));
    play.session.handle_stream(&frame, &mut ()).unwrap();
    assert!(!play.session.view().is_dead());
    assert_eq!(play.session.view().entity(), new);
}

#[test]
fn frames_are_taken_in_however_the_stream_is_cut() {
    #[derive(Default)]
    struct Log(Vec<(Tick, Message)>);

    impl EventHandler for Log {
        fn message(&mut self, tick: Tick, message: &Message) {
            self.0.push((tick, message.clone()));
        }
    }

    let server = Server::new();
    let mut stream = server.enter(11, EntityId::new(7, 1), 100);
    stream.extend(server.enter(11, EntityId::new(8, 1), 200));
    stream.extend(server.frame(12, |stream, writer| stream.leave(writer, Slot(7))));
    let mut whole = Log::default();
    session().handle_stream(&stream, &mut whole).unwrap();
    assert_eq!(whole.0.len(), 3);
    for cut in 1..stream.len() {
        let (mut log, mut session) = (Log::default(), session());
        for bytes in stream.chunks(cut) {
            session.handle_stream(bytes, &mut log).unwrap();
        }
        assert_eq!(log.0, whole.0, "cut every {cut} bytes");
        assert_eq!(session.view().counts().stream_bytes, stream.len() as u64);
    }
}

#[test]
fn a_view_of_its_own_entity_alone_has_that_as_any_other_view_does() {
    let server = Server::new();
    let [mut whole, mut own] = [session(), session()];
    own.keep_only_own();
    let other = EntityId::new(OTHER, 1);
    let frames = [server.enter(11, OWN, 100), server.enter(11, other, 300)];
    let known = |x| Course {
        tick: Tick(12),
        position: [x, 0, 0],
        velocity: [0; 3],
    };
    let datagrams = [
        server.movement(12, OWN.slot.0, 110),
        server.movement(12, OTHER, 310),
        server.course_after(13, OTHER, (320, 0), Some(known(310))),
        server.course_after(14, OWN.slot.0, (120, 3), Some(known(110))),
    ];
    for session in [&mut whole, &mut own] {
        for frame in &frames {
            session.handle_stream(frame, &mut ()).unwrap();
        }
        for datagram in &datagrams {
            session.handle_datagram(datagram, &mut ()).unwrap();
        }
    }
    assert_eq!(own.view().own(), whole.view().own());
    assert_eq!(own.view().own().map(|own| own.row[0]), Some(120));
    assert_eq!(whole.view().entities().len(), 2);
    assert_eq!(own.view().entities().len(), 1);
    // The movement of others is acknowledged, too: the server need not repeat it.
    let acknowledged = own
        .datagram()
        .map(|bytes| server.read(&bytes).acknowledgement);
    assert!((12..=14).all(|tick| acknowledged.is_some_and(|a| a.has(Tick(tick)))));
    let [whole, own] = [&whole, &own].map(|session| *session.view().counts());
    assert_eq!(own, whole);
}

/// A session in a world with chests, bags and axes, and its server.
fn with_things() -> (Server, Session, Vec<u16>) {
    let text = "[world]\ncapacity = 100\n[[kind]]\nname = 'player'\n[[kind]]\nname = 'chest'\n\
                [[kind]]\nname = 'bag'\nplace = 'none'\n[[kind]]\nname = 'axe'\nplace = 'none'\n\
                attributes = [{ name = 'wear', type = 'i32', audience = 'state' }]";
    let schema = world_file::parse(text, "a test's world")
        .expect("a valid world")
        .schema;
    let server = Server::of(&schema);
    let column = |name: &str| schema.column(name).unwrap() as u16;
    let columns = vec![column("holder"), column("wear")];
    let session = Session::new(&Welcome {
        schema,
        ..welcome()
    });
    (server, session.expect("a world's own schema"), columns)
}

#[test]
fn things_are_held_by_who_they_refer_to_and_are_no_entities_of_a_place() {
    let (server, mut session, columns) = with_things();
    let row = |holder: EntityId, wear: i32| {
        let mut row = vec![0; session.view().schema().attributes.len()];
        row[usize::from(columns[0])] = holder.reference().0;
        row[usize::from(columns[1])] = wear;
        row
    };
    let [bag, axe, other] = [20, 9, 30].map(|slot| EntityId::new(slot, 1));
    let rest = Course::default();
    let things = [
        (axe, 3, row(bag, 4)),
        (bag, 2, row(OWN, 0)),
        (other, 3, row(OWN, 5)),
    ];
    let frame = server.frame(11, |stream, writer| {
        stream.enter(writer, OWN, 0, true, &rest, &row(EntityId::NONE, 0));
        for (thing, kind, row) in &things {
            stream.enter(writer, *thing, *kind, true, &rest, row);
        }
    });
    // Each takes a few bytes, as it has no place.
    assert!(frame.len() < 60, "{} bytes", frame.len());
    session.handle_stream(&frame, &mut ()).unwrap();
    let held = |session: &Session, holder| -> Vec<EntityId> {
        session
            .view()
            .held_by(holder)
            .map(|thing| thing.id)
            .collect()
    };
    assert_eq!(session.view().entities().len(), 1);
    assert_eq!(held(&session, OWN), [bag, other]);
    assert_eq!(held(&session, bag), [axe]);
    assert!(
        session
            .view()
            .things()
            .values()
            .all(|thing| session.view().is_own(thing))
    );

    // The bag is handed on to another, who has it with what is in it.
    let someone = EntityId::new(7, 1);
    let frame = server.frame(12, |stream, writer| {
        let holder = (columns[0], someone.reference().0);
        stream.state(writer, bag.slot, [holder].into_iter());
        stream.state(writer, axe.slot, [(columns[1], 6)].into_iter());
        stream.leave(writer, other.slot);
    });
    session.handle_stream(&frame, &mut ()).unwrap();
    assert_eq!(held(&session, someone), [bag]);
    assert_eq!(held(&session, OWN), []);
    let seen = session.view().get(axe.slot).expect("a thing");
    assert_eq!(seen.row[usize::from(columns[1])], 6);
    assert!(!session.view().is_own(seen));

    // Two that hold each other are nobody's, and are no way without an end.
    let frame = server.frame(13, |stream, writer| {
        for (thing, holder) in [(bag, axe), (axe, bag)] {
            let holder = (columns[0], holder.reference().0);
            stream.state(writer, thing.slot, [holder].into_iter());
        }
    });
    session.handle_stream(&frame, &mut ()).unwrap();
    assert!(
        !session
            .view()
            .things()
            .values()
            .any(|thing| session.view().is_own(thing))
    );
}

#[test]
fn members_are_apart_from_what_is_in_view() {
    let text = "[world]\ncapacity = 100\n[[kind]]\nname = 'player'\nattributes = [\
                { name = 'hp', type = 'i32', audience = 'state', shared_with = ['party'] },\
                { name = 'party', type = 'entity', group = true, audience = 'private' },\
                { name = 'guild', type = 'entity', group = true, audience = 'private' }]\n\
                [[kind]]\nname = 'team'\nplace = 'none'";
    let schema = world_file::parse(text, "a test's world")
        .expect("a valid world")
        .schema;
    let server = Server::of(&schema);
    let column = |name: &str| schema.column(name).unwrap() as u16;
    let (hp, party, guild) = (column("hp"), column("party"), column("guild"));
    let row = vec![0; schema.attributes.len()];
    let mut session = Session::new(&Welcome {
        schema: schema.clone(),
        ..welcome()
    })
    .expect("a world's own schema");
    let [bea, cid] = [20, 9].map(|slot| EntityId::new(slot, 1));
    let name = Name::new("Bea").unwrap();
    let rest = Course::default();
    let frame = server.frame(11, |stream, writer| {
        stream.enter(writer, OWN, 0, true, &rest, &row);
        stream.member(
            writer,
            (bea, Some(&name)),
            &[party, guild],
            [(hp, 70)].into_iter(),
        );
        stream.member(writer, (cid, None), &[party], [(hp, 5)].into_iter());
        // One of them is in view, too.
        stream.enter(writer, bea, 0, false, &rest, &row);
    });
    session.handle_stream(&frame, &mut ()).unwrap();
    let members = |session: &Session, group: &str| -> Vec<(EntityId, AttributeValue)> {
        let view = session.view();
        let value = |member| view.shared_by(member, "hp").unwrap();
        view.members(group)
            .map(|member| (member.id, value(member)))
            .collect()
    };
    let value = AttributeValue::I32;
    assert_eq!(
        members(&session, "party"),
        [(cid, value(5)), (bea, value(70))]
    );
    assert_eq!(members(&session, "guild"), [(bea, value(70))]);
    assert_eq!(members(&session, "hp"), []);
    let member = session.view().member(bea.slot).unwrap();
    assert_eq!(member.name, Some(name));
    assert_eq!(session.view().shared_by(member, "party"), None);
    assert_eq!(session.view().entities().len(), 2);

    let frame = server.frame(12, |stream, writer| {
        stream.leave(writer, bea.slot);
        stream.member_changed(writer, bea.slot, [(hp, 69)].into_iter());
        stream.member_left(writer, cid.slot);
        // Nobody knows this one.
        stream.member_changed(writer, OWN.slot, [(hp, 1)].into_iter());
    });
    session.handle_stream(&frame, &mut ()).unwrap();
    assert_eq!(members(&session, "party"), [(bea, value(69))]);
    assert_eq!(session.view().entities().len(), 1);
}
