//! The example game `server/worlds/hollow.toml`: its scripts have their effects, and it is
//! the same on every backend.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gpu_kernels::{Frame, Observer, ObserverChange, Target};
use shared::{ClientRow, CommandKind, EntityId, NotificationKind, WorldConfig};
use testkit::agree::assert_agrees;
use testkit::backends::backends;
use testkit::dice::Dice;
use testkit::oracle::{Oracle, OracleOutput};

const PLAYERS: u32 = 60;
const TICKS: u32 = 300;

#[test]
fn the_same_happens_on_every_backend_and_all_of_it_happens() {
    let config = load();
    let mut game = Game::new(&config);
    let mut backends = backends(&config);
    let mut seen = Seen::default();
    for _ in 0..TICKS {
        let frame = game.frame();
        let before = game.oracle.clone();
        let output = game.oracle.tick(&frame);
        for (label, backend) in &mut backends {
            let place = format!("{label}, tick {}", frame.tick);
            let found = backend.tick(&frame).unwrap();
            assert_agrees(&config, &output, &found, &place);
        }
        game.observe(&output);
        seen.take(&game, &before, &output);
    }
    for (label, backend) in &mut backends {
        assert_eq!(backend.state_hash().unwrap(), game.oracle.hash(), "{label}");
    }
    for (what, least) in [
        ("a wolf bit", 100),
        ("poison hurt", 50),
        ("a shield soaked", 20),
        ("a herb was taken", 50),
        ("a herb regrew", 20),
        ("a herb healed", 20),
        ("a player struck for points", 100),
        ("a player was felled", 10),
        ("a player was born again", 10),
        ("the warden's mood changed", 2),
        ("the warden raged", 1),
        ("the warden healed itself", 1),
        ("a whelp was called", 3),
        ("a whelp was removed", 1),
        ("gold changed hands", 5),
        ("the spring washed off poison", 2),
        ("a player won points for a fall", 5),
    ] {
        let found = seen.0.get(what).copied().unwrap_or_default();
        assert!(found >= least, "{what}: {found} times; {:?}", seen.0);
    }
    for notification in &config.schema.notifications {
        let name = &notification.name;
        let is_notified = seen.0.contains_key(&format!("notified: {name}"));
        assert!(is_notified || name == "pick", "{name}: {:?}", seen.0);
    }
    let world = config.schema.world_entity().unwrap();
    for team in ["oak", "elm"] {
        let of_team = |name| value(&game.oracle, world, &format!("{name}.{team}"));
        let (won, best) = (of_team("won"), of_team("best"));
        assert!(best > 10 && won >= best, "{won}, {best}");
    }
}

#[test]
fn scripts_of_the_example_are_short() {
    let folder = worlds().join("hollow");
    let scripts = world_file::folder::read_all(&folder).unwrap().texts;
    assert!(scripts.len() > 4);
    for script in scripts {
        let lines = script.text.lines().count();
        assert!(lines <= 60, "{}: {lines} lines", script.file);
    }
}

fn worlds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds")
}

fn load() -> WorldConfig {
    world_file::load(&worlds().join("hollow.toml")).unwrap_or_else(|error| panic!("{error}"))
}

/// The world and its players, whose commands make sense most of the time.
struct Game {
    oracle: Oracle,
    dice: Dice,
    /// By client.
    players: Vec<Option<EntityId>>,
    /// Clients whose player has to be born.
    waiting: Vec<u32>,
    dead: Vec<EntityId>,
}

impl Game {
    fn new(config: &WorldConfig) -> Game {
        Game {
            oracle: Oracle::new(config),
            dice: Dice::new(5),
            players: vec![None; PLAYERS as usize],
            waiting: (0..PLAYERS).collect(),
            dead: vec![],
        }
    }

    fn frame(&mut self) -> Frame {
        let config = self.oracle.config.clone();
        let mut frame = Frame::new(self.oracle.tick);
        if frame.tick.0 == 0 {
            frame.populate(&config);
        }
        for client in self.waiting.drain(..) {
            frame.spawn(config.player_kind, client);
        }
        for (client, player) in (0..).zip(self.players.clone()) {
            frame.observers.push(ObserverChange {
                client: ClientRow(client),
                index: 0,
                observer: player.map(|player| Observer {
                    target: Target::Entity(player),
                    radius: config.schema.world.aoi.raw(),
                }),
            });
            let Some(player) = player else { continue };
            let commands = [self.step(client, player), self.deed(player)];
            for (sequence, (name, words)) in (0..).zip(commands) {
                let command = config.schema.command_named(name).expect(name);
                frame.push(player, sequence, command.kind, &words);
            }
        }
        if frame.tick.0.is_multiple_of(20) {
            frame
                .release
                .extend(self.dead.drain(..).map(|dead| dead.slot));
        }
        frame.order(config.seed);
        frame
    }

    /// A third of the players seek the warden, the others wander.
    fn step(&mut self, client: u32, me: EntityId) -> (&'static str, Vec<i32>) {
        let warden = self.of_kind("warden").first().copied();
        let step = match warden.filter(|_| client.is_multiple_of(3)) {
            Some(warden) => {
                let [from, to] = [me, warden].map(|who| self.oracle.position(who.slot.0));
                vec![to[0] - from[0], to[1] - from[1]]
            }
            None => (0..2).map(|_| self.dice.within(-8192..=8192)).collect(),
        };
        ("move", step)
    }

    fn deed(&mut self, me: EntityId) -> (&'static str, Vec<i32>) {
        let buyer = me.reference().0;
        let mut others = self.players.iter().flatten();
        let seller = others.find(|other| value(&self.oracle, **other, "buyer") == buyer);
        if let Some(seller) = seller.filter(|_| self.dice.once_in(2)) {
            return (
                "accept",
                vec![seller.reference().0, self.dice.within(0..=9)],
            );
        }
        let kind = self
            .dice
            .pick(&["player", "player", "wolf", "whelp", "warden"]);
        let target = self
            .nearest(me, kind)
            .map_or(-1, |target| target.reference().0);
        let herb = self
            .nearest(me, "herb")
            .map_or(-1, |herb| herb.reference().0);
        let neighbour = self
            .nearest(me, "player")
            .map_or(-1, |other| other.reference().0);
        let any = self.dice.any();
        match self.dice.below(12) {
            0..4 => ("strike", vec![target]),
            4..7 => ("pick", vec![herb]),
            7 => ("heal", vec![self.dice.pick(&[buyer, neighbour])]),
            8 => ("raise", vec![]),
            9 => ("offer", vec![neighbour, 1, self.dice.within(0..=9)]),
            10 => ("offer", vec![neighbour, any, self.dice.any()]),
            _ => ("strike", vec![any]),
        }
    }

    /// Notes births and deaths.
    fn observe(&mut self, output: &OracleOutput) {
        for birth in &output.births {
            if let Some(player) = self.players.get_mut(birth.token as usize) {
                *player = birth.entity;
            }
        }
        for death in &output.deaths {
            self.dead.push(*death);
            if let Some(client) = self.players.iter().position(|p| *p == Some(*death)) {
                self.players[client] = None;
                self.waiting.push(client as u32);
            }
        }
    }

    fn of_kind(&self, kind: &str) -> Vec<EntityId> {
        let mut all = self.oracle.alive();
        all.retain(|entity| kind_name(&self.oracle, *entity) == kind);
        all
    }

    /// The nearest entity of a kind, besides oneself.
    fn nearest(&self, me: EntityId, kind: &str) -> Option<EntityId> {
        let own = self.oracle.position(me.slot.0);
        let others = self.of_kind(kind).into_iter().filter(|&other| other != me);
        others.min_by_key(|other| squared_distance(own, self.oracle.position(other.slot.0)))
    }
}

/// How often something happened.
#[derive(Default)]
struct Seen(BTreeMap<String, u32>);

impl Seen {
    fn note(&mut self, what: &str) {
        *self.0.entry(what.to_owned()).or_default() += 1;
    }

    fn take(&mut self, game: &Game, before: &Oracle, output: &OracleOutput) {
        let schema = &before.config.schema;
        let column = |name: &str| schema.column(name).unwrap();
        for (&(slot, changed), &new) in &output.changes {
            let old = before.slots[slot as usize].row[usize::from(changed)];
            let name = schema.attributes[usize::from(changed)].name.as_str();
            let (cause, _) = output.causes[&(slot, changed)];
            let cause = schema.command(CommandKind(cause)).unwrap().name.as_str();
            match (name, cause) {
                ("hp", "hunt") if new < old => self.note("a wolf bit"),
                ("hp", "sicken") if new < old => self.note("poison hurt"),
                ("hp", "heal") if new > old => self.note("a herb healed"),
                ("mended", "brood") => self.note("the warden healed itself"),
                ("shield", _) if new < old => self.note("a shield soaked"),
                ("ripe", "grow") => self.note("a herb was taken"),
                ("ripe", "regrow") => self.note("a herb regrew"),
                ("best.oak" | "best.elm", _) => {
                    assert!(new > old, "the best score fell from {old} to {new}")
                }
                ("score", "strike") => self.note("a player struck for points"),
                ("score", "fell") => self.note("a player won points for a fall"),
                ("immune_until", "wash") => self.note("the spring washed off poison"),
                ("mood", "brood") => {
                    self.note("the warden's mood changed");
                    if schema.symbols[new as usize] == "raging" {
                        self.note("the warden raged");
                    }
                }
                ("gold", "accept") if new > old => self.note("gold changed hands"),
                _ => {}
            }
        }
        for notification in &output.notifications {
            let kind = NotificationKind(notification.kind);
            let name = &schema.notification(kind).unwrap().name;
            self.note(&format!("notified: {name}"));
            if name == "felled" {
                self.note("a player was felled");
            }
        }
        for birth in &output.births {
            match schema.kinds[usize::from(birth.kind)].name.as_str() {
                "whelp" => self.note("a whelp was called"),
                "player" if before.tick.0 > 0 => self.note("a player was born again"),
                _ => {}
            }
        }
        let dead = output.deaths.iter().map(|dead| kind_name(before, *dead));
        dead.filter(|&kind| kind == "whelp")
            .for_each(|_| self.note("a whelp was removed"));
        check_gold(before, &game.oracle, output, column("gold"));
    }
}

/// Gold comes with births, and goes with deaths; trade moves it.
fn check_gold(before: &Oracle, after: &Oracle, output: &OracleOutput, column: usize) {
    let held = |world: &Oracle, entity: EntityId| world.slots[entity.slot.index()].row[column];
    let all = |world: &Oracle| -> i32 {
        let alive = world.alive().into_iter();
        alive.map(|entity| held(world, entity)).sum()
    };
    let births = output.births.iter().filter_map(|birth| birth.entity);
    let born: i32 = births.map(|entity| held(after, entity)).sum();
    // A player may die in the tick of a deal, with its goods after it.
    let change = |slot: u32| output.changes.get(&(slot, column as u16)).copied();
    let died: i32 = output
        .deaths
        .iter()
        .map(|&dead| change(dead.slot.0).unwrap_or(held(before, dead)))
        .sum();
    assert_eq!(
        all(after),
        all(before) + born - died,
        "tick {}",
        before.tick
    );
}

fn kind_name(world: &Oracle, entity: EntityId) -> &str {
    let kind = world.slots[entity.slot.index()].kind;
    &world.config.schema.kinds[usize::from(kind)].name
}

fn value(world: &Oracle, entity: EntityId, attribute: &str) -> i32 {
    let column = world.config.schema.column(attribute).unwrap();
    world.slots[entity.slot.index()].row[column]
}

fn squared_distance(a: [i32; 3], b: [i32; 3]) -> i64 {
    let along = |axis: usize| i64::from(a[axis]) - i64::from(b[axis]);
    (0..3).map(|axis| along(axis) * along(axis)).sum()
}
