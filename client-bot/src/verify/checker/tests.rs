//! A bot whose stream is far behind its datagrams.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering::Relaxed;

use client_core::{EventHandler, Session};
use shared::wire::bits::BitWriter;
use shared::wire::control::{Quotas, Welcome};
use shared::wire::movement::{Header, MovementCodec, MovementScratch, Told};
use shared::wire::stream::StreamCodec;
use shared::{Course, Schema};

use super::*;

const OWN: EntityId = EntityId::new(0, 1);
const OTHER: EntityId = EntityId::new(1, 1);
/// The bots stand here, in sight of each other.
const PLACES: [[i32; 3]; 2] = [[40_000, 40_000, 0], [41_000, 40_000, 0]];

/// The first of two bots, and the server's end of its connection.
struct Bot {
    session: Session,
    checker: Checker,
    history: History,
    movement: MovementCodec,
    stream: StreamCodec,
    schema: Schema,
}

struct Heard<'a> {
    checker: &'a mut Checker,
    history: &'a History,
    knows_all: bool,
}

impl<'a> Heard<'a> {
    fn new(checker: &'a mut Checker, history: &'a History) -> Heard<'a> {
        Heard {
            checker,
            history,
            knows_all: false,
        }
    }
}

impl EventHandler for Heard<'_> {
    fn datagram(&mut self, view: &View, summary: DatagramSummary, movement: &Movement) {
        self.checker.datagram(self.history, view, summary, movement);
        self.knows_all = self.checker.knows_all(summary, movement);
    }

    fn message(&mut self, tick: Tick, message: &Message) {
        self.checker.message(self.history, tick, message);
    }
}

impl Bot {
    /// A bot that sees itself from tick 1 on.
    fn new() -> Bot {
        let schema = world_file::default().schema;
        let welcome = Welcome {
            tick: Tick(0),
            entity: OWN,
            commands_epoch: 1,
            ticket: [1; 16],
            resumed: false,
            player_kind: 0,
            quotas: Quotas::default(),
            schema: schema.clone(),
            forecast: vec![],
            standby: String::new(),
        };
        let history = History::new(&schema, 0, 2, NonZeroUsize::MIN);
        history.register(0, OWN);
        history.register(1, OTHER);
        let mut bot = Bot {
            session: Session::new(&welcome).unwrap(),
            checker: Checker::new(0, OWN, 2, Quotas::default(), &schema),
            history,
            movement: MovementCodec::new(&schema).unwrap(),
            stream: StreamCodec::new(&schema),
            schema,
        };
        bot.frame(1, |stream, writer, row| {
            stream.enter(writer, OWN, 0, true, &standing(1, PLACES[0]), row);
        });
        bot
    }

    /// Ticks pass: both bots are told where they are, and this one nothing of the other.
    fn pass(&mut self, ticks: std::ops::Range<u64>) {
        for tick in ticks {
            for (bot, (entity, place)) in [OWN, OTHER].into_iter().zip(PLACES).enumerate() {
                self.history.write(bot, Tick(tick), entity.slot, &place);
            }
            self.datagram(tick, None);
        }
    }

    /// A datagram of a tick that tells of the other bot, if anything.
    fn datagram(&mut self, tick: u64, other: Option<[i32; 3]>) {
        self.tell(tick, other.map(|place| (OTHER.slot, place)), true);
    }

    /// A datagram that tells of one entity, or of none. If it is not whole, others wait.
    /// Whether the bot knows all movement then.
    fn tell(&mut self, tick: u64, one: Option<(Slot, [i32; 3])>, is_whole: bool) -> bool {
        let header = Header {
            tick: Tick(tick),
            base: None,
            processed: 0,
            kept: None,
            margin: None,
            send_every: 1,
            is_whole,
        };
        let slots: Vec<u32> = one.iter().map(|one| one.0.0).collect();
        let place = one.map_or([0; 3], |one| one.1);
        let told = Told {
            place: self.movement.full(place),
            tail: self.movement.tail(0, &[0; 3], &self.schema.default_row(0)),
        };
        let mut bytes = vec![];
        let mut scratch = MovementScratch::default();
        self.movement.encode(
            header,
            &slots,
            usize::MAX,
            |_| told,
            &mut scratch,
            |b| bytes = b,
        );
        let mut heard = Heard::new(&mut self.checker, &self.history);
        self.session.handle_datagram(&bytes, &mut heard).unwrap();
        heard.knows_all
    }

    fn frame(&mut self, tick: u64, write: impl Fn(&StreamCodec, &mut BitWriter, &[i32])) {
        let (mut writer, mut bytes) = (BitWriter::default(), vec![]);
        self.stream.begin(&mut writer, Tick(tick));
        write(&self.stream, &mut writer, &self.schema.default_row(0));
        self.stream.finish(&mut writer, &mut bytes);
        let mut heard = Heard::new(&mut self.checker, &self.history);
        self.session.handle_stream(&bytes, &mut heard).unwrap();
    }

    fn other_enters(&mut self, tick: u64) {
        self.frame(tick, |stream, writer, row| {
            stream.enter(writer, OTHER, 0, false, &standing(tick, PLACES[1]), row);
        });
    }

    fn other_leaves(&mut self, tick: u64) {
        self.frame(tick, |stream, writer, _| stream.leave(writer, OTHER.slot));
    }

    /// Checks, errors, late ones, and cases left open.
    fn found(self) -> [u64; 4] {
        self.checker.finish(&self.history);
        let found = &self.history.findings;
        [&found.checked, &found.errors, &found.late, &found.open].map(|n| n.load(Relaxed))
    }
}

fn standing(tick: u64, position: [i32; 3]) -> Course {
    Course {
        tick: Tick(tick),
        position,
        velocity: [0; 3],
    }
}

#[test]
fn an_enter_that_comes_after_thousands_of_ticks_is_late_and_not_wrong() {
    let mut bot = Bot::new();
    bot.pass(2..3000);
    bot.other_enters(2);
    // The next frame says that there was nothing in between.
    bot.other_leaves(2999);
    let [checked, errors, late, open] = bot.found();
    assert!(late > 50 && checked >= late, "{checked}, {late}");
    assert_eq!((errors, open), (0, 0));
}

#[test]
fn an_entity_of_which_the_stream_never_tells_is_missing() {
    let mut bot = Bot::new();
    bot.pass(2..200);
    assert_eq!(bot.history.findings.errors.load(Relaxed), 0);
    // The stream passes those ticks without an enter.
    bot.other_enters(199);
    let [_, errors, late, _] = bot.found();
    assert!(errors >= 4, "{errors}");
    assert_eq!(late, 0);
}

#[test]
fn what_the_stream_never_reaches_is_left_open() {
    let mut bot = Bot::new();
    bot.pass(2..200);
    let [_, errors, late, open] = bot.found();
    assert!(open >= 4, "{open}");
    assert_eq!((errors, late), (0, 0));
}

#[test]
fn a_place_that_differs_is_held_until_the_stream_says_whether_the_entity_had_left() {
    for has_left in [true, false] {
        let mut bot = Bot::new();
        bot.other_enters(2);
        // From here on its bot is told of another place, and this one of nothing: it may
        // have left, and come back.
        bot.pass(3..10);
        for tick in 10..100 {
            bot.history.write(0, Tick(tick), OWN.slot, &PLACES[0]);
            bot.history
                .write(1, Tick(tick), OTHER.slot, &[39_000, 40_000, 0]);
            bot.datagram(tick, None);
        }
        assert_eq!(bot.history.findings.errors.load(Relaxed), 0);
        if has_left {
            bot.other_leaves(9);
        }
        bot.frame(100, |stream, writer, _| stream.full(writer));
        let [_, errors, late, _] = bot.found();
        assert_eq!(errors > 0, !has_left, "{errors}");
        assert_eq!(late > 0, has_left, "{late}");
    }
}

#[test]
fn an_entity_may_be_where_its_old_course_leads_for_as_long_as_news_may_wait_and_no_longer() {
    // With two in view and one told a tick, 2 × 9 × 2 ticks, and 16 for what is lost.
    for (told, errs) in [(40, false), (190, true)] {
        let mut bot = Bot::new();
        bot.other_enters(2);
        bot.pass(3..10);
        let moved = [39_000, 40_000, 0];
        for tick in 10..250 {
            bot.history.write(0, Tick(tick), OWN.slot, &PLACES[0]);
            bot.history.write(1, Tick(tick), OTHER.slot, &moved);
            let (slot, place) = match tick == told {
                true => (OTHER.slot, moved),
                false => (OWN.slot, PLACES[0]),
            };
            bot.tell(tick, Some((slot, place)), false);
        }
        let [checked, errors, ..] = bot.found();
        assert!(checked > 10, "{checked}");
        assert_eq!(errors > 0, errs, "told in tick {told}: {errors} errors");
    }
}

#[test]
fn a_bot_knows_all_movement_once_it_is_told_that_all_has_arrived() {
    let mut bot = Bot::new();
    bot.other_enters(2);
    // Something is on its way still.
    assert!(!bot.tell(3, None, false));
    // What was said before that may be lost.
    assert!(!bot.tell(5, Some((OTHER.slot, PLACES[1])), true));
    assert!(bot.tell(6, None, true));
}
