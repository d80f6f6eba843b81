use gpu_kernels::{Backend, CpuBackend, Frame};
use shared::CommandKind;
use shared::wire::movement::MovementCodec;
use testkit::dice::Dice;
use testkit::scripts::with_texts;

use device::cpu::Workers;

use super::*;

const SIGNS: &str = r#"
[world]
capacity = 64
tick_hz = 10

[limits]
texts = 8
text_bytes = 256
client_texts = 3

[[kind]]
name = "sign"
attributes = [
    { name = "words", type = "text", length = 20, audience = "state" },
    { name = "title", type = "text", length = 8, audience = "state" },
]
"#;

const WRITE: &str = "
/// Writes both.
#[command(clients)]
fn write(me: Entity, words: Text, title: Text) {
    me.words = words;
    me.title = title;
}
";

const ANN: (ClientRow, Ticket) = (ClientRow(0), [1; 16]);
const BOB: (ClientRow, Ticket) = (ClientRow(1), [2; 16]);

fn config() -> WorldConfig {
    let config = world_file::parse(SIGNS, "test").unwrap();
    let script = shared::world::logic::Text {
        file: "signs.rs".to_owned(),
        text: WRITE.to_owned(),
        is_builtin: false,
    };
    with_texts(&config, vec![script])
}

fn texts() -> Texts {
    let mut numbers = 1u32..;
    Texts::new(&config(), move || numbers.next().unwrap() * 77_777)
}

fn text(text: &str) -> Text {
    Text::new(text).unwrap()
}

fn give(texts: &mut Texts, whose: (ClientRow, Ticket), words: &str, now: u64) -> TextHandle {
    let given = texts.give(whose, &text(words), Tick(now)).unwrap();
    assert_eq!(given.text.as_deref(), Some(words));
    given.handle
}

fn forget(texts: &mut Texts, now: u64) {
    texts.forget(Tick(now), |_, _| true);
}

#[test]
fn equal_texts_have_the_same_handle_and_others_do_not() {
    let mut texts = texts();
    let hello = give(&mut texts, ANN, "hello", 0);
    assert_eq!(give(&mut texts, BOB, "hello", 5), hello);
    assert_ne!(give(&mut texts, BOB, "hallo", 5), hello);
    assert_eq!(hello.length(), 5);
    assert_eq!(texts.size(), (2, 10));
    let read = texts.read(BOB, &[hello, TextHandle(5)], Tick(6)).unwrap();
    assert_eq!(read[0].text.as_deref(), Some("hello"));
    assert_eq!(read[1].text, None);
}

#[test]
fn what_exceeds_a_limit_is_refused_and_nothing_else_is_lost() {
    let mut texts = texts();
    let long = "x".repeat(21);
    let refused = texts.give(ANN, &text(&long), Tick(0)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a text has 21 bytes, expected at most 20"
    );
    let first = give(&mut texts, ANN, "one", 0);
    give(&mut texts, ANN, "two", 0);
    give(&mut texts, ANN, "three", 0);
    let refused = texts.give(ANN, &text("four"), Tick(1)).unwrap_err();
    assert_eq!(refused, TextsError::TooManyGiven { limit: 3 });
    // One that it has is granted again, and for longer.
    assert_eq!(give(&mut texts, ANN, "one", 200), first);
    give(&mut texts, ANN, "four", 300);
    for (row, words) in (1..).zip(["5", "6", "7", "8"]) {
        give(&mut texts, (ClientRow(row), [9; 16]), words, 300);
    }
    let refused = texts.give(BOB, &text("9"), Tick(300)).unwrap_err();
    assert_eq!(refused, TextsError::Full { limit: 8 });
    assert_eq!(texts.get(first).map(|text| &**text), Some("one"));
}

#[test]
fn the_bytes_of_all_texts_are_limited() {
    let mut config = config();
    config.limits.texts = 1000;
    let mut random = 0..;
    let mut texts = Texts::new(&config, move || random.next().unwrap());
    for row in 0..12 {
        let words = format!("{row:020}");
        give(&mut texts, (ClientRow(row), [9; 16]), &words, 0);
    }
    let refused = texts
        .give(BOB, &text(&"x".repeat(17)), Tick(0))
        .unwrap_err();
    assert_eq!(refused, TextsError::FullOfBytes { limit: 256 });
    give(&mut texts, BOB, &"x".repeat(16), 0);
}

#[test]
fn commands_may_use_what_their_client_was_given_and_nothing_else() {
    let mut texts = texts();
    let own = give(&mut texts, ANN, "own", 0);
    let foreign = give(&mut texts, BOB, "foreign", 0);
    let kind = config().schema.command_named("write").unwrap().kind;
    let entity = EntityId::new(3, 1);
    let mut check = |words: [i32; 2], now: u64| {
        let mut batch = Batch::default();
        batch.push(entity, 1, kind, &words);
        batch.push(entity, 2, CommandKind::DESPAWN, &[]);
        let owner = |of: EntityId| (of == entity).then_some(ANN);
        let found = texts.check(&mut batch, Tick(now), owner);
        let words = batch.iter().next().unwrap().1.to_vec();
        (words, found)
    };
    assert_eq!(check([own.0, 0], 1), (vec![own.0, 0], 0));
    assert_eq!(check([foreign.0, own.0], 1), (vec![FOREIGN, own.0], 1));
    assert_eq!(check([12_345, i32::MIN], 1), (vec![FOREIGN, FOREIGN], 2));
    // The grant ends.
    assert_eq!(check([own.0, 0], 300), (vec![FOREIGN, 0], 1));
    // So it does with the client.
    assert!(texts.may_use(Some(BOB), foreign, Tick(1)));
    assert!(!texts.may_use(Some((BOB.0, [3; 16])), foreign, Tick(1)));
}

#[test]
fn a_text_is_forgotten_once_nothing_needs_it() {
    let mut texts = texts();
    texts.record_changes();
    let handle = give(&mut texts, ANN, "hello", 0);
    forget(&mut texts, 299);
    assert!(texts.get(handle).is_some());
    forget(&mut texts, 300);
    assert_eq!(texts.get(handle), None);
    assert_eq!(texts.size(), (0, 0));
    let words = text("hello");
    let expected = [Some(words), None].map(|text| RosterChange::Text { handle, text });
    assert_eq!(texts.take_changes(), expected);
}

#[test]
fn nobody_finds_texts_by_trying() {
    let mut texts = texts();
    let secret = give(&mut texts, ANN, "secret", 0);
    let invented: Vec<TextHandle> = (1..=TEXTS_MAX as i32).map(TextHandle).collect();
    assert!(texts.read(BOB, &invented, Tick(0)).is_ok());
    assert!(texts.read(BOB, &invented, Tick(0)).is_ok());
    let refused = texts.read(BOB, &[TextHandle(99)], Tick(1));
    assert_eq!(refused, Err(TextsError::TooManyMisses));
    // What there is, it may still read; and after a while, it may err again.
    assert!(texts.read(BOB, &[secret], Tick(1)).is_ok());
    assert!(texts.read(BOB, &[TextHandle(99)], Tick(25)).is_ok());
    let many = vec![secret; TEXTS_MAX + 1];
    assert!(texts.read(BOB, &many, Tick(25)).is_err());
}

/// A world on a backend, with a store that follows it.
struct World {
    config: WorldConfig,
    backend: CpuBackend,
    mirror: Mirror,
    texts: Texts,
    workers: Workers,
    now: Tick,
    frame: Frame,
}

impl World {
    fn new() -> World {
        let config = config();
        let movement = MovementCodec::new(&config.schema).unwrap();
        let mut random = 0..;
        World {
            backend: CpuBackend::new(&config, 1, None).unwrap(),
            mirror: Mirror::new(&config, movement),
            texts: Texts::new(&config, move || random.next().unwrap()),
            workers: Workers::new(1).unwrap(),
            now: Tick(0),
            frame: Frame::new(Tick(0)),
            config,
        }
    }

    fn tick(&mut self) {
        let output = self.backend.tick(&self.frame).unwrap();
        let touched = self.texts.before(&output, &self.mirror);
        self.mirror.apply(&self.workers, &output);
        self.texts.after_tick(&touched, &mut self.mirror);
        self.now = self.now.next();
        self.frame.reset(self.now);
    }

    fn living(&self) -> Vec<EntityId> {
        let slots = 0..self.mirror.capacity() as u32;
        slots
            .filter_map(|slot| self.mirror.living(Slot(slot)))
            .collect()
    }
}

#[test]
fn every_text_of_a_living_entity_is_there_whatever_happens_to_others() {
    for seed in 0..20 {
        let mut dice = Dice::new(seed);
        let mut world = World::new();
        let write = world.config.schema.command_named("write").unwrap().kind;
        for _ in 0..400 {
            let now = world.now;
            world.texts.forget(now, |_, _| true);
            match dice.below(4) {
                0 if world.living().len() < 6 => world.frame.spawn(0, 7),
                1 if !world.living().is_empty() => {
                    let dead = dice.pick(&world.living());
                    world.frame.push(dead, 1, CommandKind::DESPAWN, &[]);
                    world.frame.release.extend((0..64).map(Slot));
                }
                _ => {}
            }
            if !world.living().is_empty() && dice.below(3) == 0 {
                let entity = dice.pick(&world.living());
                let words = format!("{}", dice.below(12));
                let given = world.texts.give(ANN, &text(&words), now);
                let handle = given.map_or(0, |given| given.handle.0);
                let mut batch = Batch::default();
                batch.push(entity, 1, write, &[handle, 0]);
                world.texts.check(&mut batch, now, |_| Some(ANN));
                world.frame.append(&world.workers, &[&batch]);
            }
            world.tick();
            for entity in world.living() {
                for column in world.config.schema.text_columns() {
                    let handle = TextHandle(world.mirror.row(entity.slot)[column]);
                    let is_there = handle.is_empty() || world.texts.get(handle).is_some();
                    assert!(is_there, "seed {seed}, tick {}", world.now);
                    let shown = world.mirror.texts.get(&handle);
                    assert_eq!(shown, world.texts.get(handle), "seed {seed}");
                }
            }
        }
        let living = world.living();
        let count = |handle: TextHandle| {
            let rows = living.iter().map(|entity| world.mirror.row(entity.slot));
            let texts = rows.flat_map(|row| texts_in(world.texts.columns, row));
            texts.filter(|own| *own == handle).count()
        };
        for (handle, held) in &world.texts.held {
            assert_eq!(held.references as usize, count(*handle), "seed {seed}");
        }
    }
}

#[test]
fn a_world_that_continues_has_the_texts_that_it_had() {
    let mut world = World::new();
    world.frame.spawn(0, 7);
    world.tick();
    let handle = give(&mut world.texts, ANN, "kept", 1);
    let lost = give(&mut world.texts, ANN, "lost", 1);
    let write = world.config.schema.command_named("write").unwrap().kind;
    let entity = world.living()[0];
    world.frame.push(entity, 1, write, &[handle.0, handle.0]);
    world.tick();
    let snapshot = world.backend.snapshot().unwrap();
    let mut again = texts();
    let saved = [(handle, text("kept")), (lost, text("lost"))];
    again.restore(saved.iter().map(|(handle, text)| (handle, text)), &snapshot);
    forget(&mut again, 500);
    assert_eq!(again.get(handle).map(|text| &**text), Some("kept"));
    assert_eq!(again.get(lost), None);
    assert_eq!(again.held[&handle].references, 2);
}
