//! The own entity, ahead of a server that the test plays.

use std::time::Duration;

use client_core::{Game, GameOptions, Step};
use script::logic::with_logic;
use script::{Forecast, Logic};
use shared::wire::control::{Quotas, Welcome};
use shared::wire::layers::contents;
use shared::wire::{codec, length};
use shared::world::logic::Text;
use shared::{CommandKind, Tick, WorldConfig};

use crate::common;
use crate::common::{OWN, Server, WELCOMED};

const PERIOD: Duration = Duration::from_millis(100);
const UNIT: i32 = 4096;
const ROUND_TRIP: Duration = Duration::from_millis(120);

/// A world in which the own entity moves as `steer` has set it.
const SEA: &str = "
    [world]
    size = [200, 200]
    tick_hz = 10

    [logic]
    builtin = ['move', 'steer']

    [[kind]]
    name = 'boat'
    attributes = [
        { name = 'vx', type = 'fixed', merge = 'last', audience = 'private' },
        { name = 'vy', type = 'fixed', merge = 'last', audience = 'private' },
    ]

    [[every]]
    kind = 'boat'
    ticks = 1
    command = 'drift'
";

/// A game, and the server's side of it.
struct Play {
    game: Game,
    server: Server,
    now: Duration,
    /// The tick that the server runs next, and where it has the own entity along an axis.
    tick: u64,
    x: i32,
    /// Datagrams on their way to the server, by when they arrive.
    up: Vec<(Duration, Vec<u8>)>,
}

impl Play {
    fn new(world: &str) -> Play {
        Play::of(world_file::parse(world, "a test's world").expect("a valid world"))
    }

    fn of(config: WorldConfig) -> Play {
        let server = Server::of(&config.schema);
        let mut game = Game::new(GameOptions::default());
        assert_eq!(game.next_step(Duration::ZERO), Step::Connect);
        game.opened(Some(ROUND_TRIP));
        game.handle_stream(&welcome(&config), Duration::ZERO)
            .unwrap();
        let tick = WELCOMED + 1;
        let x = 20 * UNIT;
        let row = vec![x; config.schema.attributes.len()];
        let row = [&[x, 0], &vec![0; row.len() - 2][..]].concat();
        let enter = server.frame(tick, |stream, writer| {
            let course = shared::Course {
                tick: Tick(tick),
                position: [x, 0, 0],
                velocity: [0; 3],
            };
            stream.enter(writer, OWN, 0, true, &course, &row);
        });
        game.handle_stream(&enter, PERIOD).unwrap();
        Play {
            game,
            server,
            now: PERIOD,
            tick,
            x,
            up: vec![],
        }
    }

    fn kind(&self, name: &str) -> CommandKind {
        let schema = self.game.view().expect("it is welcomed").schema();
        schema.command_named(name).expect("this world has it").kind
    }

    /// A frame of the game, and what the server does in it: in each tick it applies the
    /// words of the commands that have arrived, and `run` gives how far the entity goes.
    fn frame(&mut self, input: Option<(CommandKind, [i32; 2])>, run: impl Fn(u64, &[i32]) -> i32) {
        self.now += Duration::from_millis(20);
        let due = PERIOD * (self.tick - WELCOMED) as u32;
        if self.now >= due + ROUND_TRIP / 2 {
            for (_, bytes) in self.up.extract_if(.., |word| word.0 <= due) {
                self.server.apply(&bytes, self.tick);
            }
            let words = self.server.run(self.tick);
            self.x += run(self.tick, &words);
            let news = self.server.movement(self.tick, OWN.slot.0, self.x);
            self.game.handle_datagram(&news, self.now).unwrap();
            self.tick += 1;
        }
        self.game.poll(self.now);
        if self.game.input_due(self.now).is_some()
            && let Some((kind, words)) = input
        {
            self.game.command(kind, &words).unwrap();
        }
        if let Some(datagram) = self.game.datagram(self.now) {
            self.up.push((self.now + ROUND_TRIP / 2, datagram));
        }
    }

    fn shown(&self) -> f64 {
        self.game.position(OWN).expect("it is in view")[0]
    }

    fn predicted(&self) -> i32 {
        let prediction = self.game.prediction().expect("it is welcomed");
        prediction.newest().expect("it is predicted").1[0]
    }

    /// The tick for which input is next.
    fn input_tick(&self) -> Tick {
        let prediction = self.game.prediction().expect("it is welcomed");
        prediction.input_tick()
    }

    fn corrected(&self) -> u64 {
        let prediction = self.game.prediction().expect("it is welcomed");
        prediction.corrections().corrected
    }
}

fn welcome(config: &WorldConfig) -> Vec<u8> {
    let logic = Logic::of(config).expect("valid scripts");
    let welcome = Welcome {
        player_kind: config.player_kind,
        quotas: Quotas::of(&config.limits, config.spectators),
        schema: config.schema.for_clients(),
        forecast: Forecast::of(config, &logic).to_bytes(),
        servers: vec![],
        layers: contents(&config.schema.layers)
            .into_iter()
            .map(|(info, _)| info)
            .collect(),
        ..common::welcome()
    };
    let body = codec::to_bytes(&welcome);
    let mut bytes = vec![];
    length::put(body.len(), &mut bytes);
    bytes.extend(body);
    bytes
}

/// How far `move` goes along the first axis: at most 2 units a command.
fn moved(words: &[i32]) -> i32 {
    let along = words.chunks(2).map(|step| step[0]);
    along.map(|step| step.clamp(-2 * UNIT, 2 * UNIT)).sum()
}

#[test]
fn input_is_seen_at_once_and_the_server_changes_nothing() {
    let mut play = Play::new("");
    let step = play.kind("move");
    for _ in 0..40 {
        play.frame(None, |_, _| 0);
    }
    let start = play.shown();
    let server = play.x;
    // A tick and a frame later it has gone a step; the server does not know of it yet.
    for _ in 0..7 {
        play.frame(Some((step, [UNIT, 0])), |_, words| moved(words));
    }
    assert_eq!(play.x, server);
    assert!(
        play.shown() > start + 0.5,
        "from {start} to {}",
        play.shown()
    );
    for _ in 0..500 {
        // Longer steps than are allowed are foreseen, too.
        play.frame(Some((step, [3 * UNIT, 0])), |_, words| moved(words));
    }
    assert!(play.x > server + 50 * UNIT);
    assert!(play.predicted() > play.x, "it is ahead of the server");
    assert_eq!(play.corrected(), 0);
}

#[test]
fn a_way_is_foreseen_up_to_walls_once_the_layers_have_come() {
    // The lowest row of cells is free up to x = 32.
    let mut rows = vec![".".repeat(50); 50];
    rows[49] = format!("{}#{}", ".".repeat(8), ".".repeat(41));
    let rows = rows.join("\n");
    let world = format!(
        "[world]\nsize = [200, 200]\n[[layer]]\nname = 'blocked'\ncell = 4\n\
         drawing = \"\"\"\n{rows}\n\"\"\""
    );
    let config = world_file::parse(&world, "a test's world").expect("a valid world");
    let layers = config.schema.layers.clone();
    let mut play = Play::of(config);
    let step = play.kind("move");
    let x = std::cell::Cell::new(play.x);
    let along = |_, words: &[i32]| {
        let from = [x.get(), 0, 0];
        let gone = layers.slide(from, [moved(words), 0, 0])[0];
        x.set(x.get() + gone);
        gone
    };
    for _ in 0..40 {
        play.frame(None, along);
    }
    // Without them, nobody can tell how far it goes.
    assert!(!play.game.prediction().unwrap().foresees(step));
    for (info, content) in contents(&layers) {
        play.game.put_layer(info.hash, content).unwrap();
    }
    assert!(play.game.prediction().unwrap().foresees(step));
    assert_eq!(play.game.layers(), Some(&layers));
    for _ in 0..7 {
        play.frame(Some((step, [UNIT, 0])), along);
    }
    assert!(play.predicted() > play.x, "it is ahead of the server");
    for _ in 0..200 {
        play.frame(Some((step, [UNIT, 0])), along);
    }
    assert_eq!((play.x, play.predicted()), (32 * UNIT - 1, 32 * UNIT - 1));
    assert_eq!(play.corrected(), 0);
}

#[test]
fn what_the_server_says_otherwise_is_taken_over_and_faded_to() {
    let mut play = Play::new("");
    let step = play.kind("move");
    let pushed = 60;
    let mut last = None;
    for _ in 0..500 {
        let push = |tick, words: &[i32]| match tick == pushed {
            true => moved(words) - 5 * UNIT,
            false => moved(words),
        };
        play.frame(Some((step, [UNIT, 0])), push);
        let shown = play.shown();
        if let Some(last) = last.replace(shown) {
            // A frame's part of a step, and of what fades in a frame.
            assert!(f64::abs(shown - last) < 1.6, "from {last} to {shown}");
        }
    }
    assert_eq!(play.corrected(), 1);
    let behind = play.predicted() - play.x;
    assert!((UNIT..4 * UNIT).contains(&behind), "{behind} behind");
    let shown = play.shown() * f64::from(UNIT);
    let ahead = f64::from(play.predicted()) - shown;
    assert!((0.0..=1.1 * f64::from(UNIT)).contains(&ahead), "{ahead}");
}

#[test]
fn rules_of_the_world_go_on_in_the_prediction() {
    let mut play = Play::new(SEA);
    let steer = play.kind("steer");
    for _ in 0..40 {
        play.frame(None, |_, _| 0);
    }
    let speed = std::cell::Cell::new(0);
    let drift = |_, words: &[i32]| {
        // A step by the velocity of the tick before.
        let step = speed.get();
        if let Some(&[vx, _]) = words.chunks(2).last() {
            speed.set(vx);
        }
        step
    };
    while play.server.processed == 0 {
        play.frame(Some((steer, [UNIT / 2, 0])), drift);
    }
    let news = play.server.frame(play.tick - 1, |stream, writer| {
        let velocity = [(2, UNIT / 2), (3, 0)];
        stream.state(writer, OWN.slot, velocity.into_iter());
    });
    play.game.handle_stream(&news, play.now).unwrap();
    for _ in 0..100 {
        play.frame(None, drift);
    }
    assert!(play.x > 25 * UNIT, "the server's boat drifts");
    assert!(play.predicted() > play.x, "it is ahead of the server");
    assert_eq!(play.corrected(), 0);
}

#[test]
fn an_atomic_command_is_predicted_as_if_alone_with_all_of_it_or_nothing() {
    let text = "#[command(clients, atomic)]
        fn hop(me: Entity, along: Fixed, across: Fixed) {
            me.x += along + 1.0;
            require(me.x < 60.0 && across == 0.0);
            me.x -= 1.0;
        }";
    let world = "[limits]\natomic_per_tick = 8";
    let config = world_file::parse(world, "a test's world").expect("a valid world");
    let mut logic = config.logic.clone();
    logic.texts.push(Text::new("hop.rs", text));
    let config = with_logic(&config, &logic).expect("a valid script");
    let mut play = Play::of(config);
    let hop = play.kind("hop");
    let x = std::cell::Cell::new(play.x);
    let alone = |_, words: &[i32]| {
        let before = x.get();
        for step in words.chunks(2) {
            let after = x.get() + step[0];
            if after + UNIT < 60 * UNIT {
                x.set(after);
            }
        }
        x.get() - before
    };
    for _ in 0..40 {
        play.frame(None, alone);
    }
    let server = play.x;
    for _ in 0..7 {
        play.frame(Some((hop, [UNIT, 0])), alone);
    }
    assert!(play.predicted() > server, "it is ahead of the server");
    for _ in 0..500 {
        play.frame(Some((hop, [UNIT, 0])), alone);
    }
    // What does not hold undoes the step before it.
    assert_eq!((play.x, play.predicted()), (58 * UNIT, 58 * UNIT));
    assert_eq!(play.corrected(), 0);
}

#[test]
fn what_is_foreseen_follows_the_worlds_scripts() {
    let play = Play::new(SEA);
    let (steer, step) = (play.kind("steer"), play.kind("move"));
    let prediction = play.game.prediction().expect("it is welcomed");
    assert!(prediction.foresees(steer) && prediction.foresees(step));
    let hidden = Play::new(&SEA.replace("'private'", "'hidden'"));
    let prediction = hidden.game.prediction().expect("it is welcomed");
    assert!(!prediction.foresees(steer) && prediction.foresees(step));
}

#[test]
fn commands_beyond_their_number_are_not_predicted() {
    let mut play = Play::new("");
    let step = play.kind("move");
    for _ in 0..40 {
        play.frame(None, |_, _| 0);
    }
    for _ in 0..500 {
        // The server runs the first of each tick.
        let first = |_, words: &[i32]| moved(&words[..words.len().min(2)]);
        play.frame(Some((step, [UNIT, 0])), first);
        let _ = play.game.command(step, &[UNIT, 0]);
    }
    assert!(play.x > 60 * UNIT);
    assert_eq!(play.corrected(), 0);
}

#[test]
fn commands_beyond_their_number_are_predicted_later_where_they_wait() {
    let mut play = Play::new("[limits]\nsurplus_waits = true\ninput_ticks_max = 60");
    let step = play.kind("move");
    let queue = std::cell::RefCell::new(vec![]);
    let in_turn = |_, words: &[i32]| {
        let mut queue = queue.borrow_mut();
        queue.extend(words.chunks(2).map(|step| step[0]));
        if queue.is_empty() { 0 } else { queue.remove(0) }
    };
    for _ in 0..60 {
        play.frame(None, in_turn);
    }
    let start = play.x;
    while play
        .game
        .input_due(play.now + Duration::from_millis(20))
        .is_none()
    {
        play.frame(None, in_turn);
    }
    for along in 1..5 {
        play.game.command(step, &[along * UNIT / 4, 0]).unwrap();
    }
    let mut seen = vec![];
    for _ in 0..100 {
        play.frame(None, in_turn);
        let along = play.predicted() - start;
        if seen.last() != Some(&along) {
            seen.push(along);
        }
    }
    let quarter = UNIT / 4;
    let expected = [1, 3, 6, 10].map(|steps| steps * quarter);
    assert!(seen.ends_with(&expected), "{seen:?}");
    assert_eq!(play.x, start + 10 * quarter);
}

#[test]
fn a_command_that_rests_is_not_predicted_and_says_when_it_is_ready() {
    let mut play = Play::new("[commands]\nmove.cooldown = 4");
    let step = play.kind("move");
    let last = std::cell::Cell::new(0);
    let with_rests = |tick, words: &[i32]| {
        if words.is_empty() || tick < last.get() + 4 {
            return 0;
        }
        last.set(tick);
        moved(words)
    };
    for _ in 0..60 {
        play.frame(None, with_rests);
    }
    assert!(play.game.ready_at(step) <= Some(play.input_tick()));
    let mut rested = 0;
    for _ in 0..500 {
        play.frame(Some((step, [UNIT, 0])), with_rests);
        let ready = play.game.ready_at(step).expect("it is welcomed");
        rested = rested.max(ready.since(play.input_tick()));
    }
    // It was used in the tick before the next one of input.
    assert_eq!(rested, 3);
    assert!(play.x > 30 * UNIT);
    assert_eq!(play.corrected(), 0);
}
