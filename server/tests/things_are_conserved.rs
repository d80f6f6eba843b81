//! Where many trade at once, nothing is lost or doubled: bots and traders play in the world `bag`, and
//! its recording is run once more, where each thing and each piece of gold is counted after each tick.

use std::collections::BTreeMap;
use std::path::Path;

use client_bot::BehaviourKind;
use durability::recording::{NextTick, RecordingReader};
use gpu_kernels::{Backend, CpuBackend, Frame, SlotState, Snapshot, TickOutput};
use server::Server;
use shared::{EntityId, EntityRef, WorldConfig};

use crate::common::folder::TestFolder;
use crate::common::witness::dice;
use crate::common::{Bots, Player, start_with};

#[tokio::test]
async fn many_trade_and_each_thing_is_there_once() {
    let folder = TestFolder::new("things-conserved");
    let file = folder.join("bag.recording");
    let server = start_with(&small_bag(), |options| options.record = Some(file.clone()));
    let bots = Bots::start(&server, 8, BehaviourKind::Any).await;
    let mut traders = vec![];
    for _ in 0..4 {
        traders.push(Player::join(&server).await);
    }
    trade(&server, &mut traders, 200).await;
    bots.verify(&server).await;
    drop(traders);
    server.stop().unwrap();
    let books = Books::of_recording(&file);
    assert!(books.ticks > 200, "{} ticks", books.ticks);
    let [crafted, handed, paid] = [books.crafted, books.handed, books.paid];
    assert!(
        crafted > 0 && handed > 20 && paid > 2,
        "{crafted} axes made, {handed} things handed on, {paid} paid for"
    );
}

/// The world `bag` in so small a space that all is within reach, where more is found.
pub fn small_bag() -> String {
    let worlds = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds");
    let mut text = std::fs::read_to_string(worlds.join("bag.toml")).expect("a file");
    let scripts = format!("folder = {:?}", worlds.join("bag"));
    for (usual, here) in [
        ("folder = \"bag\"", scripts.as_str()),
        ("size = [100, 100]", "size = [4, 4]\ntick_hz = 20"),
        ("places = [[40, 50], [60, 50]]", "places = [[1, 1], [3, 3]]"),
        ("places = [[50, 60]]", "places = [[2, 2]]"),
        ("ticks = 50", "ticks = 5"),
    ] {
        assert!(text.contains(usual), "{usual}");
        text = text.replace(usual, here);
    }
    text
}

/// Lets players open chests, take the same things, make axes, and sell and buy them.
async fn trade(server: &Server, traders: &mut [Player], ticks: u64) {
    let mut dice = dice(3);
    let end = server.stats().figures().ticks + ticks;
    while server.stats().figures().ticks < end {
        for trader in &mut *traders {
            act(trader, &mut dice);
            trader.listen().await.expect("a connection");
        }
    }
}

fn act(trader: &mut Player, dice: &mut impl FnMut(u64) -> u64) {
    let view = trader.client.view();
    let of_kind = |name: &str| {
        let kind = view.schema().kind(name);
        let all = view.entities().values();
        let own = all.filter(|entity| Some(usize::from(entity.kind)) == kind);
        own.map(|entity| entity.id).collect::<Vec<_>>()
    };
    let (chests, vendors) = (of_kind("chest"), of_kind("vendor"));
    let (&[a, b], &[vendor]) = (&chests[..], &vendors[..]) else {
        return;
    };
    let chest = [a, b][dice(2) as usize];
    // All take the first.
    let first = view.held_by(chest).next().map(|thing| thing.id);
    let (command, words) = match (dice(9), first) {
        (0, _) | (1..=3, None) => ("open", vec![chest]),
        (1..=3, Some(first)) => ("take", vec![chest, first]),
        (4 | 5, _) => ("craft", vec![]),
        (6, _) => ("sell", vec![vendor]),
        (7, _) => ("buy", vec![vendor]),
        _ if dice(2) == 0 => ("store", vec![chest]),
        _ => ("pack", vec![]),
    };
    let command = view.schema().command_named(command).expect("a command");
    let words: Vec<i32> = words.iter().map(|entity| entity.reference().0).collect();
    trader.send(command.kind, &words);
}

/// A recording, run once more. What may happen in it follows from the scripts of `bag`.
struct Books {
    backend: CpuBackend,
    config: WorldConfig,
    before: Living,
    ticks: u64,
    crafted: usize,
    /// Things that have another holder.
    handed: usize,
    /// Vendors and players whose gold has changed.
    paid: usize,
}

type Living = BTreeMap<EntityId, Known>;

/// What counts of an entity.
struct Known {
    kind: String,
    gold: i64,
    /// Of a thing.
    holder: EntityRef,
}

impl Books {
    fn of_recording(file: &Path) -> Books {
        let mut recording = RecordingReader::open(file).unwrap();
        let config = recording.config.clone();
        let mut books = Books {
            backend: CpuBackend::new(&config, 1, None).unwrap(),
            config,
            before: BTreeMap::new(),
            ticks: 0,
            crafted: 0,
            handed: 0,
            paid: 0,
        };
        loop {
            match recording.next_tick() {
                NextTick::Tick(next) => books.tick(&next.frame),
                NextTick::End => return books,
                NextTick::BrokenOff(reason) => panic!("{reason}"),
            }
        }
    }

    fn tick(&mut self, frame: &Frame) {
        let output = self.backend.tick(frame).unwrap();
        let state = self.backend.snapshot().unwrap();
        let after = self.living(&state);
        self.compare(&after, &output);
        let common = |known: fn(&Known) -> i64| {
            let both = after
                .iter()
                .filter_map(|(id, now)| Some((now, self.before.get(id)?)));
            both.filter(|(now, then)| known(now) != known(then)).count()
        };
        self.handed += common(|known| known.holder.0.into());
        self.paid += common(|known| known.gold);
        self.before = after;
        self.ticks += 1;
    }

    fn compare(&mut self, after: &Living, output: &TickOutput) {
        let (before, tick) = (&self.before, output.tick);
        let born = after.iter().filter(|(id, _)| !before.contains_key(id));
        let born: Vec<(&EntityId, &Known)> = born.collect();
        let died = before.iter().filter(|(id, _)| !after.contains_key(id));
        let died: Vec<(&EntityId, &Known)> = died.collect();
        let of = |all: &[(&EntityId, &Known)], kind: &str| {
            all.iter().filter(|(_, known)| known.kind == kind).count()
        };
        assert_eq!(output.counts.births_refused, 0, "the world is full");
        let births = output.births.iter().filter_map(|birth| birth.entity);
        assert!(births.eq(born.iter().map(|(id, _)| **id)), "tick {tick}");
        assert!(
            output.deaths.iter().eq(died.iter().map(|(id, _)| *id)),
            "tick {tick}"
        );
        // What a player carries goes with it. Else nothing but an axe takes wood and stones, and
        // nothing ends bags and axes before their holders.
        let goes_along =
            |thing: &Known| holder_in(before, thing).is_some() && holder_in(after, thing).is_none();
        let used = died.iter().filter(|(_, known)| !goes_along(known));
        let used: Vec<_> = used.copied().collect();
        let made = of(&used, "stone");
        assert_eq!(
            (of(&used, "wood"), of(&used, "bag")),
            (2 * made, 0),
            "tick {tick}"
        );
        // A vendor forges those that are not made of them.
        let is_forged = |axe: &Known| holder_in(after, axe).is_some_and(|own| own.kind == "vendor");
        let crafted = born
            .iter()
            .filter(|(_, known)| known.kind == "axe" && !is_forged(known));
        assert_eq!(crafted.count(), made, "tick {tick}");
        self.crafted += made;
        for (axe, known) in used.iter().filter(|(_, known)| known.kind == "axe") {
            let is_kept = known.holder == EntityRef::NONE || holder_in(before, known).is_some();
            assert!(!is_kept, "tick {tick}: {axe} ended before its holder");
        }
        for (thing, known) in after
            .iter()
            .filter(|(_, known)| known.holder != EntityRef::NONE)
        {
            // One whose holder has ended in this tick is dropped in the next one.
            let lives = holder_in(before, known).or(holder_in(after, known));
            assert!(
                lives.is_some(),
                "tick {tick}: {thing} is held by nobody who lives"
            );
        }
        if of(&died, "player") == 0 {
            let gold = |all: &Living| all.values().map(|known| known.gold).sum::<i64>();
            let given = 20 * (of(&born, "player") + of(&born, "vendor")) as i64;
            assert_eq!(gold(after), gold(before) + given, "tick {tick}");
        }
    }

    fn living(&self, state: &Snapshot) -> Living {
        let schema = &self.config.schema;
        let gold = schema.column("gold").expect("an attribute");
        let holder = schema.holder_column().expect("things");
        let rows = state.rows.chunks_exact(schema.attributes.len());
        let slots = (0..).zip(rows).zip(&state.states).zip(&state.kinds);
        let living = slots.filter(|((_, own), _)| **own == SlotState::Live);
        living
            .map(|(((slot, row), _), &kind)| {
                let id = EntityId::new(slot, state.generations[slot as usize]);
                let known = Known {
                    kind: schema.kinds[usize::from(kind)].name.clone(),
                    gold: row[gold].into(),
                    holder: match schema.is_thing(kind) {
                        true => EntityRef(row[holder]),
                        false => EntityRef::NONE,
                    },
                };
                (id, known)
            })
            .collect()
    }
}

/// The holder of a thing, if it is among these.
fn holder_in<'a>(all: &'a Living, thing: &Known) -> Option<&'a Known> {
    let mut all = all.iter();
    all.find(|(id, _)| id.reference() == thing.holder)
        .map(|(_, own)| own)
}
