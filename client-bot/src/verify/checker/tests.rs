//! A bot whose stream is far behind its datagrams.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering::Relaxed;

use client_core::{EventHandler, Session};
use shared::wire::bits::BitWriter;
use shared::wire::control::{Quotas, Welcome};
use shared::wire::movement::{Header, MovementCodec, MovementScratch, PackedEntity};
use shared::wire::stream::StreamCodec;
use shared::world::layer::{Layers, Sheet, Sheets, cells_of};
use shared::{Course, Schema};

use super::*;

const OWN: EntityId = EntityId::new(0, 1);
const OTHER: EntityId = EntityId::new(1, 1);
/// Of a cell of walls: the bots are in different ones.
const EDGE_BITS: u32 = 12;
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

struct Handler<'a> {
    checker: &'a mut Checker,
    history: &'a History,
    has_all_movement: bool,
}

impl<'a> Handler<'a> {
    fn new(checker: &'a mut Checker, history: &'a History) -> Handler<'a> {
        Handler {
            checker,
            history,
            has_all_movement: false,
        }
    }
}

impl EventHandler for Handler<'_> {
    fn datagram(&mut self, view: &View, summary: DatagramSummary, movement: &Movement) {
        self.checker.datagram(self.history, view, summary, movement);
        self.has_all_movement = self.checker.has_all_movement(summary, movement);
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
            processed: None,
            player_kind: 0,
            quotas: Quotas::default(),
            schema: schema.clone(),
            forecast: vec![],
            servers: vec![],
            reasons: vec![],
            layers: vec![],
            doors: vec![],
            rankings: vec![],
            planes: Default::default(),
            editable: vec![],
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

    /// Walls, with one in the second bot's place if `is_blocked`.
    fn build_walls(&self, is_blocked: bool) {
        let size = self.schema.world.size_raw();
        let row = cells_of(size[0], EDGE_BITS);
        let cell = PLACES[1].map(|axis| axis >> EDGE_BITS);
        let wall = cell[1] * row + cell[0];
        let cells = 0..row * cells_of(size[1], EDGE_BITS);
        let sheets = Sheets {
            blocked: Some(Sheet {
                edge_bits: EDGE_BITS,
                cells: cells.map(|at| is_blocked && at == wall).collect(),
            }),
            ..Sheets::default()
        };
        self.history.set_layers(&Layers::new(size, &sheets));
    }

    /// Ticks pass: both bots receive their own place, and this one nothing of the other.
    fn pass(&mut self, ticks: std::ops::Range<u64>) {
        for tick in ticks {
            for (bot, (entity, place)) in [OWN, OTHER].into_iter().zip(PLACES).enumerate() {
                self.history.write(bot, Tick(tick), entity.slot, &place);
            }
            self.datagram(tick, None);
        }
    }

    /// A datagram of a tick with the other bot, if anything.
    fn datagram(&mut self, tick: u64, other: Option<[i32; 3]>) {
        self.send(tick, other.map(|place| (OTHER.slot, place)), true);
    }

    /// A datagram with one entity, or with none. If it is not whole, others wait.
    /// Whether the bot has all movement then.
    fn send(&mut self, tick: u64, one: Option<(Slot, [i32; 3])>, is_whole: bool) -> bool {
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
        let packed = PackedEntity {
            place: self.movement.full(place),
            tail: self.movement.tail(0, &[0; 3], &self.schema.default_row(0)),
        };
        let mut bytes = vec![];
        let mut scratch = MovementScratch::default();
        self.movement.encode(
            header,
            &slots,
            usize::MAX,
            |_| packed,
            &mut scratch,
            |b| bytes = b,
        );
        let mut handler = Handler::new(&mut self.checker, &self.history);
        self.session.handle_datagram(&bytes, &mut handler).unwrap();
        handler.has_all_movement
    }

    fn frame(&mut self, tick: u64, write: impl Fn(&StreamCodec, &mut BitWriter, &[i32])) {
        let (mut writer, mut bytes) = (BitWriter::default(), vec![]);
        self.stream.begin(&mut writer, Tick(tick));
        write(&self.stream, &mut writer, &self.schema.default_row(0));
        self.stream.finish(&mut writer, &mut bytes);
        let mut handler = Handler::new(&mut self.checker, &self.history);
        self.session.handle_stream(&bytes, &mut handler).unwrap();
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
    // The next frame shows that there was nothing in between.
    bot.other_leaves(2999);
    let [checked, errors, late, open] = bot.found();
    assert!(late > 50 && checked >= late, "{checked}, {late}");
    assert_eq!((errors, open), (0, 0));
}

#[test]
fn an_entity_of_which_the_stream_never_speaks_is_missing() {
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
        // From here on its bot receives another place, and this one nothing: it may
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
    // With two in view and one sent a tick, 2 × 9 × 2 ticks, and 16 for losses.
    for (sent, errs) in [(40, false), (190, true)] {
        let mut bot = Bot::new();
        bot.other_enters(2);
        bot.pass(3..10);
        let moved = [39_000, 40_000, 0];
        for tick in 10..250 {
            bot.history.write(0, Tick(tick), OWN.slot, &PLACES[0]);
            bot.history.write(1, Tick(tick), OTHER.slot, &moved);
            let (slot, place) = match tick == sent {
                true => (OTHER.slot, moved),
                false => (OWN.slot, PLACES[0]),
            };
            bot.send(tick, Some((slot, place)), false);
        }
        let [checked, errors, ..] = bot.found();
        assert!(checked > 10, "{checked}");
        assert_eq!(errors > 0, errs, "sent in tick {sent}: {errors} errors");
    }
}

#[test]
fn an_entity_that_is_shown_in_a_wall_is_an_error() {
    for is_blocked in [false, true] {
        let mut bot = Bot::new();
        bot.build_walls(is_blocked);
        bot.other_enters(2);
        for tick in 3..100 {
            for (bot_of, (entity, place)) in [OWN, OTHER].into_iter().zip(PLACES).enumerate() {
                bot.history.write(bot_of, Tick(tick), entity.slot, &place);
            }
            bot.datagram(tick, Some(PLACES[1]));
        }
        let [checked, errors, ..] = bot.found();
        assert!(checked > 10, "{checked}");
        assert_eq!(errors > 0, is_blocked, "{errors} errors");
    }
}

#[test]
fn a_bot_has_all_movement_once_a_datagram_confirms_it() {
    let mut bot = Bot::new();
    bot.other_enters(2);
    // Something is on its way still.
    assert!(!bot.send(3, None, false));
    // Datagrams before that may be lost.
    assert!(!bot.send(5, Some((OTHER.slot, PLACES[1])), true));
    assert!(bot.send(6, None, true));
}
