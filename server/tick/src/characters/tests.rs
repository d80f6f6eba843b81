use accounts::identity::Identity;
use device::cpu::Workers;
use frontend::inbox::{Join, Leave};
use gpu_kernels::{Backend, CpuBackend, TickOutput};
use shared::wire::movement::MovementCodec;
use shared::world::logic::Text;
use testkit::scripts::with_texts;

use super::*;

/// A player with 20 gold buys an axe; newborns and every player do, too, if they have the default.
const SHOP: &str = "
#[command(clients)]
fn buy(me: Entity) {
    require(me.gold >= 20);
    me.gold -= 20;
    me.axes += 1;
}
#[command]
fn greet(me: Entity) {
    if me.gold == 20 { me.axes += 10; }
}
#[command(rules)]
fn offer(me: Entity) {
    if me.gold == 20 { me.axes += 100; }
}
";

const WORLD: &str = "
[world]
capacity = 8
player_kind = 'player'
[limits]
clients = 4
resume_seconds = 0
timed_commands = 8
[logic]
builtin = []
[[kind]]
name = 'item'
[[kind]]
name = 'player'
respawn_ticks = 2
attributes = [
    { name = 'gold', type = 'i32', default = 20, min = 0, max = 500, persist = true, audience = 'private' },
    { name = 'axes', type = 'i32', persist = true, audience = 'private' },
    { name = 'hp', type = 'i32', default = 9, falls_at = 0, persist = true, audience = 'state' },
    { name = 'side', type = 'symbol', symbols = ['elm', 'oak'], default = { in_turn = ['oak', 'elm'] }, persist = true, audience = 'state' },
    { name = 'wood', type = 'symbol', symbols = ['fir'], audience = 'state' },
    { name = 'luck', type = 'i32', default = { from = 3, to = 5 }, audience = 'state' },
]
";

struct World {
    config: WorldConfig,
    characters: Characters,
    directory: Directory,
    texts: Texts,
    backend: CpuBackend,
    mirror: Mirror,
    workers: Workers,
    frame: Frame,
    sessions: u64,
}

impl World {
    /// Accounts keep gold, axes, hit points and side.
    fn new(kept: &[(&str, [i32; 4])]) -> World {
        let config = world_file::parse(WORLD, "test").unwrap();
        let mut config = with_texts(&config, vec![Text::new("shop.rs", SHOP)]);
        let number = |name| config.schema.command_named(name).unwrap().kind;
        let (greet, offer) = (number("greet"), number("offer"));
        config.born[1] = Some(greet);
        config.hooks = WorldConfig::hooks_of_born(&config.born).collect();
        config.every.push(shared::Every {
            kind: 1,
            ticks: 1,
            command: offer,
            words: vec![],
            own_place: None,
            of_ended: None,
        });
        let rows = kept.iter().map(|(account, row)| {
            let character = Character::of_row(row.to_vec());
            (Account::new(*account).unwrap(), character)
        });
        World {
            characters: Characters::new(&config, rows.collect()).unwrap(),
            directory: Directory::new(&config),
            texts: Texts::new(&config, || 1),
            backend: CpuBackend::new(&config, 1, None).unwrap(),
            mirror: Mirror::new(&config, MovementCodec::new(&config.schema).unwrap()),
            workers: Workers::new(1).unwrap(),
            frame: Frame::new(Tick(0)),
            config,
            sessions: 0,
        }
    }

    fn tick(&mut self) -> std::sync::Arc<TickOutput> {
        let acked_through = self.frame.tick;
        self.directory.prepare(&mut self.frame, acked_through);
        self.characters.complete_births(
            &self.directory,
            (&self.mirror, &mut self.texts),
            &mut self.frame,
        );
        let output = self.backend.tick(&self.frame).unwrap();
        self.mirror.apply(&self.workers, &output);
        self.directory.settle(&output, |_| [0; 3]);
        self.frame.reset(output.tick.next());
        output
    }

    /// An account joins; returns its entity, and the values at its birth.
    fn join(&mut self, account: &str) -> (EntityId, Vec<i32>) {
        self.sessions += 1;
        let join = Join {
            session: self.sessions,
            identity: Identity {
                account: Some(Account::new(account).unwrap()),
                name: None,
            },
            ..Join::default()
        };
        let ticket = [self.sessions as u8; 16];
        self.directory.join(0, &join, ticket, &mut self.frame);
        let output = self.tick();
        let entity = output.births[0].entity.unwrap();
        (entity, output.birth_rows.to_vec())
    }

    fn leave(&mut self) {
        let (session, is_final) = (self.sessions, true);
        self.directory
            .leave(0, &Leave { session, is_final }, &mut self.frame);
        self.tick();
    }

    fn of(&self, row: &[i32], name: &str) -> i32 {
        row[self.config.schema.column(name).unwrap()]
    }

    fn now(&mut self, entity: EntityId, name: &str) -> i32 {
        let columns = self.config.schema.attributes.len();
        let rows = self.backend.snapshot().unwrap().rows;
        self.of(&rows[entity.slot.index() * columns..][..columns], name)
    }
}

/// An account that joins again and again would have an axe for each time.
#[test]
fn no_command_finds_a_default_in_place_of_what_an_account_keeps() {
    let mut world = World::new(&[("ann", [0, 3, 9, 0])]);
    let buy = world.config.schema.command_named("buy").unwrap().kind;
    for _ in 0..3 {
        let (ann, born) = world.join("ann");
        assert_eq!((world.of(&born, "gold"), world.of(&born, "axes")), (0, 3));
        for sequence in 0..3 {
            world.frame.push(ann, sequence, buy, &[]);
            world.tick();
            assert_eq!((world.now(ann, "gold"), world.now(ann, "axes")), (0, 3));
        }
        world.leave();
    }
    // Without saved attributes a player has the default, for which it gets an axe each: at birth,
    // by a rule, and by its own command.
    let (bob, born) = world.join("bob");
    assert_eq!(world.of(&born, "gold"), 20);
    world.frame.push(bob, 0, buy, &[]);
    world.tick();
    assert_eq!((world.now(bob, "gold"), world.now(bob, "axes")), (0, 111));
}

#[test]
fn a_birth_has_the_bounds_and_the_chances_of_its_kind() {
    let elm = 0;
    // More than is allowed, fallen, a symbol of another attribute.
    let mut world = World::new(&[("ann", [900, 3, 0, 1]), ("bob", [7, 0, 4, elm])]);
    assert_eq!(world.config.schema.symbols, ["elm", "fir", "oak"]);
    let (_, ann) = world.join("ann");
    let (_, bob) = world.join("bob");
    let of = |row: &[i32]| ["gold", "axes", "hp"].map(|name| world.of(row, name));
    assert_eq!(of(&ann), [500, 3, 9]);
    assert_eq!(of(&bob), [7, 0, 4]);
    // The first in turn, since what is kept is no side; and what is kept, though it is out of turn.
    assert_eq!([&ann, &bob].map(|row| world.of(row, "side")), [2, elm]);
    let size = world.config.size_raw();
    for row in [&ann, &bob] {
        assert_eq!(world.of(row, "wood"), 1);
        assert!((3..=5).contains(&world.of(row, "luck")));
        assert!((0..size[0]).contains(&row[0]) && (0..size[1]).contains(&row[1]));
    }
    assert_ne!(ann[..2], bob[..2]);
}
