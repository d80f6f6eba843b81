use accounts::identity::{Account, Identity};
use frontend::inbox::Join;
use gpu_kernels::{Backend, CpuBackend};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use script::builtin;
use script::logic::with_logic;
use shared::world::logic::Text;

use super::*;

/// A directory with a real backend behind it.
struct World {
    directory: Directory,
    backend: CpuBackend,
    frame: Frame,
}

impl World {
    fn new(extra: &str) -> World {
        let text = format!("[world]\ncapacity = 2\n[limits]\nclients = 2\n{extra}");
        World::of(&world_file::parse(&text, "test").unwrap())
    }

    fn of(config: &WorldConfig) -> World {
        World {
            directory: Directory::new(config),
            backend: CpuBackend::new(config, 1, None).unwrap(),
            frame: Frame::new(Tick(0)),
        }
    }

    fn join(&mut self, session: u64, resume: Option<Ticket>) {
        self.join_as(session, resume, Identity::default());
    }

    fn join_as(&mut self, session: u64, resume: Option<Ticket>, identity: Identity) {
        self.come(session, resume, false, identity);
    }

    fn watch_as(&mut self, session: u64, resume: Option<Ticket>, identity: Identity) {
        self.come(session, resume, true, identity);
    }

    fn come(&mut self, session: u64, resume: Option<Ticket>, spectates: bool, identity: Identity) {
        self.enter(&Join {
            session,
            resume,
            must_resume: false,
            spectates,
            identity,
            network: None,
            continues: true,
            rejoins: false,
        });
    }

    fn enter(&mut self, join: &Join) {
        let ticket = [join.session as u8; 16];
        self.directory.join(0, join, ticket, &mut self.frame);
    }

    fn leave(&mut self, session: u64, is_final: bool) {
        let leave = Leave { session, is_final };
        self.directory.leave(0, &leave, &mut self.frame);
    }

    fn tick(&mut self, acked_through: u64) -> Vec<SessionEvent> {
        self.directory.prepare(&mut self.frame, Tick(acked_through));
        self.frame.order(1);
        let output = self.backend.tick(&self.frame).unwrap();
        self.directory.settle(&output, |_| [7, 8, 0]);
        self.frame.reset(output.tick.next());
        self.directory.events().map(|(_, event)| event).collect()
    }
}

fn entity_of(event: &SessionEvent) -> (EntityId, bool) {
    match event {
        SessionEvent::Assigned {
            entity, resumed, ..
        } => (*entity, *resumed),
        SessionEvent::Answered { .. } | SessionEvent::Texts { .. } | SessionEvent::Talk { .. } => {
            panic!("a directory answers nothing")
        }
        SessionEvent::Reborn { entity, .. } => (*entity, false),
        SessionEvent::Closed { reason, .. } => panic!("closed: {reason}"),
    }
}

#[test]
fn a_lost_client_comes_back_as_the_same_entity() {
    let mut world = World::new("resume_seconds = 1");
    world.join(1, None);
    let first = entity_of(&world.tick(0)[0]);
    world.tick(0);
    world.leave(1, false);
    world.tick(0);
    world.join(2, Some([1; 16]));
    assert_eq!(entity_of(&world.tick(0)[0]), (first.0, true));
}

#[test]
fn a_lost_client_that_stays_away_dies_after_its_wait() {
    let mut world = World::new("resume_seconds = 1");
    world.join(1, None);
    world.tick(0);
    world.leave(1, false);
    for _ in 0..12 {
        world.tick(0);
    }
    assert_eq!(world.directory.live(), 0);
    world.join(2, Some([1; 16]));
    assert!(!entity_of(&world.tick(0)[0]).1);
}

#[test]
fn a_client_that_is_lost_again_has_the_whole_wait_again() {
    let mut world = World::new("resume_seconds = 1");
    world.join(1, None);
    let first = entity_of(&world.tick(0)[0]);
    world.leave(1, false);
    for session in [2, 3] {
        for _ in 0..6 {
            world.tick(0);
        }
        // Each wait takes ten ticks.
        world.join(session, Some([1; 16]));
        assert_eq!(entity_of(&world.tick(0)[0]), (first.0, true));
        world.leave(session, false);
    }
}

#[test]
fn a_client_that_breaks_off_while_resuming_may_try_again() {
    let mut world = World::new("resume_seconds = 1");
    world.join(1, None);
    let first = entity_of(&world.tick(0)[0]);
    world.leave(1, false);
    world.join(2, Some([1; 16]));
    world.leave(2, false);
    world.tick(0);
    world.join(3, Some([1; 16]));
    assert_eq!(entity_of(&world.tick(0)[0]), (first.0, true));
}

#[test]
fn the_hooks_of_a_leave_run_behind_the_last_commands_of_the_client() {
    let text = "[world]\ncapacity = 4\nattributes = [{ name = 'left', type = 'i32', audience = \
                'state' }]\n[limits]\nclients = 2\ntimed_commands = 64\natomic_per_tick = 8\n\
                [[kind]]\nname = 'player'\nattributes = [{ name = 'coins', type = 'i32', \
                audience = 'state' }]";
    let plain = world_file::parse(text, "test").unwrap();
    let mut logic = plain.logic.clone();
    let script = "#[command(clients, atomic)]\nfn find(me: Entity) { me.coins += 5; }\n\
                  #[on(leave, atomic)]\nfn leave(me: Entity) { world.left += me.coins; }";
    logic.texts.push(Text::new("coins.rs", script));
    let config = with_logic(&plain, &logic).unwrap();
    let mut world = World::of(&config);
    world.join(1, None);
    let (entity, _) = entity_of(&world.tick(0)[0]);
    let find = config.schema.command_named("find").unwrap().kind;
    world.frame.push(entity, 70_000, find, &[]);
    world.leave(1, true);
    world.tick(0);
    let shared = config.schema.world_entity().unwrap().slot.0 as usize;
    let column = config.schema.column("left").unwrap();
    let snapshot = world.backend.snapshot().unwrap();
    let columns = config.schema.attributes.len();
    assert_eq!(snapshot.rows[shared * columns + column], 5);
}

#[test]
fn a_slot_is_not_reused_until_its_leaves_are_acked() {
    let mut world = World::new("");
    world.join(1, None);
    world.join(2, None);
    world.tick(0);
    world.leave(1, true);
    let death = world.frame.tick;
    world.tick(0);
    world.join(3, None);
    let events = world.tick(death.0 - 1);
    assert!(matches!(
        events[0],
        SessionEvent::Closed {
            close: Close::Full,
            ..
        }
    ));
    world.tick(death.0);
    world.join(4, None);
    let (entity, _) = entity_of(&world.tick(death.0)[0]);
    assert_eq!(entity.generation, 2);
}

/// A world whose players die after two strikes and are reborn three ticks later.
fn mortals(extra: &str) -> World {
    World::new(&format!(
        "{extra}\n[commands]\nstrike = {{ reach = 1000, damage = 5, per_tick = 0 }}\n\
         [[kind]]\nname = \"player\"\nrespawn_ticks = 3\nattributes = [\n\
         {{ name = \"hp\", type = \"i32\", default = 10, min = 0, falls_at = 0, audience = \"state\" }}]"
    ))
}

/// A world with two clients, the second of which has just killed the first; and the
/// entity that died.
fn one_down(extra: &str) -> (World, EntityId) {
    let mut world = mortals(extra);
    world.join(1, None);
    world.join(2, None);
    let entities: Vec<_> = world.tick(0).iter().map(|n| entity_of(n).0).collect();
    for sequence in 0..2 {
        let target = [entities[0].reference().0];
        let striker = entities[1];
        world
            .frame
            .push(striker, sequence, builtin::STRIKE, &target);
    }
    assert!(world.tick(0).is_empty());
    (world, entities[0])
}

fn is_alive(world: &mut World, entity: EntityId) -> bool {
    let snapshot = world.backend.snapshot().unwrap();
    let slot = entity.slot.index();
    snapshot.states[slot] == gpu_kernels::SlotState::Live
        && snapshot.generations[slot] == entity.generation
}

#[test]
fn a_player_that_dies_watches_the_place_until_it_is_reborn() {
    // The world has two slots: the dead player's is free once all clients have received the
    // leave.
    let (mut world, first) = one_down("");
    assert!(!is_alive(&mut world, first));
    assert_eq!(world.directory.live(), 2);
    let death = world.frame.tick.0 - 1;
    world.directory.prepare(&mut world.frame, Tick(death));
    let observer = world.frame.observers[0].observer.unwrap();
    assert_eq!(observer.target, Target::Point([7, 8, 0]));
    assert!(world.tick(death).is_empty());
    assert!(world.tick(death).is_empty());
    let events = world.tick(death);
    let [SessionEvent::Reborn { session: 1, entity }] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(world.frame.tick.0 - 1, death + 3);
    assert!(is_alive(&mut world, entity) && entity != first);
}

#[test]
fn players_are_born_and_reborn_in_the_area_of_their_kind() {
    let mut world = mortals("");
    let text = "[world]\ncapacity = 2\n[limits]\nclients = 2\n[commands]\nstrike.damage = 10\n\
                [[kind]]\nname = \"player\"\nrespawn_ticks = 3\n\
                spawn = { area = [[20, 30], [21, 31]] }\nattributes = [\n\
                { name = \"hp\", type = \"i32\", default = 10, min = 0, falls_at = 0, \
                audience = \"state\" }]";
    let config = world_file::parse(text, "test").unwrap();
    world.directory = Directory::new(&config);
    world.backend = CpuBackend::new(&config, 1, None).unwrap();
    world.join(1, None);
    world.join(2, None);
    let first: Vec<_> = world.tick(0).iter().map(|n| entity_of(n).0).collect();
    world
        .frame
        .push(first[1], 0, builtin::STRIKE, &[first[0].reference().0]);
    let events: Vec<_> = (0..8).flat_map(|tick| world.tick(tick)).collect();
    let [SessionEvent::Reborn { entity, .. }] = events[..] else {
        panic!("{events:?}");
    };
    let rows = world.backend.snapshot().unwrap().rows;
    let places: Vec<&[i32]> = [first[1], entity]
        .iter()
        .map(|e| &rows[e.slot.index() * 3..][..2])
        .collect();
    for place in &places {
        assert!((20 * 4096..=21 * 4096).contains(&place[0]), "{place:?}");
        assert!((30 * 4096..=31 * 4096).contains(&place[1]), "{place:?}");
    }
    assert_ne!(places[0], places[1]);
}

#[test]
fn a_rebirth_that_finds_no_room_is_tried_again() {
    let (mut world, _) = one_down("");
    for _ in 0..5 {
        // No client has acknowledged the leave, so the slot is not reused.
        assert!(world.tick(0).is_empty());
    }
    let now = world.frame.tick.0;
    let events: Vec<_> = (0..4).flat_map(|_| world.tick(now)).collect();
    assert!(matches!(
        events[..],
        [SessionEvent::Reborn { session: 1, .. }]
    ));
}

/// A world with two slots and a third client, in which things are born in every tick.
fn crowded() -> (World, EntityId) {
    let text = "[world]\ncapacity = 2\n[limits]\nclients = 3\n\
                [commands]\nstrike = { reach = 1000, damage = 10 }\n\
                [[kind]]\nname = \"player\"\nrespawn_ticks = 3\nattributes = [\n\
                { name = \"hp\", type = \"i32\", default = 10, min = 0, falls_at = 0, \
                audience = \"state\" }]\n[[kind]]\nname = \"thing\"";
    let mut world = World::of(&world_file::parse(text, "test").unwrap());
    world.join(1, None);
    world.join(2, None);
    let entities: Vec<_> = world.tick(0).iter().map(|n| entity_of(n).0).collect();
    let target = [entities[0].reference().0];
    world.frame.push(entities[1], 0, builtin::STRIKE, &target);
    assert!(world.tick(0).is_empty());
    (world, entities[0])
}

#[test]
fn the_slot_of_a_player_is_reserved_for_its_rebirth() {
    // Whether all clients receive the leave at once, or after the rebirth is due.
    for known_after in [0, 2, 6] {
        let (mut world, fallen) = crowded();
        let mut reborn = None;
        for tick in 0..12 {
            world
                .frame
                .spawn(1, gpu_kernels::tick::frame::POPULATION_TOKEN);
            world.join(100 + tick, None);
            let now = world.frame.tick.0;
            for event in world.tick(if tick < known_after { 0 } else { now }) {
                match event {
                    SessionEvent::Closed {
                        close: Close::Full,
                        session,
                        ..
                    } if session >= 100 => {}
                    SessionEvent::Reborn { session: 1, entity } => reborn = Some((tick, entity)),
                    other => panic!("{other:?}"),
                }
            }
        }
        let (tick, entity) = reborn.expect("a rebirth");
        assert_eq!((tick, entity.slot), (known_after.max(2), fallen.slot));
    }
}

#[test]
fn an_account_that_joins_before_the_rebirth_of_its_last_entity_gets_that() {
    for known_after in [0, 6] {
        let mut world = mortals("");
        world.join_as(1, None, account("alice"));
        world.join_as(2, None, account("bob"));
        let entities: Vec<_> = world.tick(0).iter().map(|n| entity_of(n).0).collect();
        for sequence in 0..2 {
            let target = [entities[0].reference().0];
            (world.frame).push(entities[1], sequence, builtin::STRIKE, &target);
        }
        world.tick(0);
        world.leave(1, true);
        world.join_as(3, None, account("alice"));
        let mut events = vec![];
        for tick in 0..10 {
            let now = world.frame.tick.0;
            events.extend(world.tick(if tick < known_after { 0 } else { now }));
        }
        let [ref event @ SessionEvent::Assigned { session: 3, .. }] = events[..] else {
            panic!("{events:?}");
        };
        let (entity, resumed) = entity_of(event);
        assert!(!resumed && is_alive(&mut world, entity));
        assert_eq!(entity.slot, entities[0].slot);
    }
}

#[test]
fn the_slot_of_a_player_that_is_gone_before_its_rebirth_is_free() {
    let (mut world, _) = crowded();
    world.leave(1, true);
    for _ in 0..3 {
        let now = world.frame.tick.0;
        assert!(world.tick(now).is_empty());
    }
    world.join(3, None);
    let now = world.frame.tick.0;
    assert!(!entity_of(&world.tick(now)[0]).1);
}

#[test]
fn a_client_that_leaves_while_dead_leaves_no_entity_behind() {
    for is_final in [true, false] {
        let (mut world, _) = one_down("resume_seconds = 1");
        world.leave(1, is_final);
        for _ in 0..20 {
            let now = world.frame.tick.0;
            assert!(world.tick(now).is_empty());
        }
        assert_eq!(world.directory.live(), 1);
        let snapshot = world.backend.snapshot().unwrap();
        let live = snapshot.states.iter();
        let live = live.filter(|&&s| s == gpu_kernels::SlotState::Live);
        assert_eq!(live.count(), 1, "final: {is_final}");
        let now = world.frame.tick.0;
        world.join(3, None);
        assert!(!entity_of(&world.tick(now)[0]).1);
    }
}

#[test]
fn a_session_that_rejoins_does_not_take_the_entity_from_the_one_that_has_resumed_it() {
    let mut world = World::new("resume_seconds = 1");
    world.join(1, None);
    let first = entity_of(&world.tick(0)[0]);
    world.leave(1, false);
    world.join(2, Some([1; 16]));
    assert_eq!(entity_of(&world.tick(0)[0]), (first.0, true));
    let again = |session, ticket| Join {
        session,
        resume: Some([ticket; 16]),
        rejoins: true,
        ..Join::default()
    };
    world.enter(&again(3, 1));
    let [SessionEvent::Closed { session, close, .. }] = world.tick(0)[..] else {
        panic!("expected one session to be closed");
    };
    assert_eq!((session, close), (3, Close::Starting));
    // The session itself begins anew, and its end is not known yet.
    world.enter(&again(4, 2));
    let events = world.tick(0);
    let assigned = events
        .iter()
        .find(|event| matches!(event, SessionEvent::Assigned { .. }));
    assert_eq!(entity_of(assigned.unwrap()), (first.0, true));
}

#[test]
fn a_client_whose_token_is_not_checked_is_admitted_by_its_ticket_only() {
    let mut world = World::new("resume_seconds = 1");
    let come = |session, resume| Join {
        session,
        resume: Some(resume),
        must_resume: true,
        ..Join::default()
    };
    world.join(1, None);
    let first = entity_of(&world.tick(0)[0]);
    world.enter(&come(2, [9; 16]));
    assert!(matches!(
        world.tick(0)[..],
        [SessionEvent::Closed {
            close: Close::Refused,
            ..
        }]
    ));
    world.leave(1, false);
    world.enter(&come(3, [1; 16]));
    assert_eq!(entity_of(&world.tick(0)[0]), (first.0, true));
}

#[test]
fn a_client_that_resumes_while_dead_is_welcomed_at_its_rebirth() {
    let (mut world, first) = one_down("resume_seconds = 1");
    world.leave(1, false);
    world.join(3, Some([1; 16]));
    let death = world.frame.tick.0 - 1;
    let events: Vec<_> = (0..3).flat_map(|_| world.tick(death)).collect();
    let [ref event @ SessionEvent::Assigned { session: 3, .. }] = events[..] else {
        panic!("{events:?}");
    };
    let (entity, resumed) = entity_of(event);
    assert!(resumed && entity != first && is_alive(&mut world, entity));
}

#[test]
fn a_session_that_takes_over_after_a_death_watches_nothing_until_the_rebirth() {
    let (mut world, _) = one_down("resume_seconds = 1");
    world.join(3, Some([1; 16]));
    let acked_through = world.frame.tick;
    world.directory.prepare(&mut world.frame, acked_through);
    let mut observers = world.frame.observers.iter();
    assert!(observers.all(|change| change.client == ClientRow(0) && change.observer.is_none()));
    assert_eq!(world.frame.observers.len(), 1);
}

#[test]
fn a_lost_client_whose_entity_dies_may_resume_with_a_new_one() {
    let mut world = mortals("resume_seconds = 10");
    world.join(1, None);
    world.join(2, None);
    let entities: Vec<_> = world.tick(0).iter().map(|n| entity_of(n).0).collect();
    world.leave(1, false);
    for sequence in 0..2 {
        let target = [entities[0].reference().0];
        world
            .frame
            .push(entities[1], sequence, builtin::STRIKE, &target);
    }
    for _ in 0..6 {
        let now = world.frame.tick.0;
        assert!(world.tick(now).is_empty());
    }
    world.join(3, Some([1; 16]));
    let now = world.frame.tick.0;
    let (entity, resumed) = entity_of(&world.tick(now)[0]);
    assert!(resumed && entity != entities[0] && is_alive(&mut world, entity));
}

#[test]
fn a_client_that_leaves_before_its_birth_leaves_no_entity_behind() {
    let mut world = World::new("");
    world.join(1, None);
    world.leave(1, true);
    assert!(world.tick(0).is_empty());
    world.tick(0);
    world.tick(0);
    let snapshot = world.backend.snapshot().unwrap();
    assert!(
        snapshot
            .states
            .iter()
            .all(|&s| s != gpu_kernels::SlotState::Live)
    );
}

#[test]
fn a_session_that_left_does_not_affect_its_row_with_another_session() {
    let mut world = World::new("resume_seconds = 1");
    world.join(1, None);
    world.tick(0);
    world.join(2, Some([1; 16]));
    world.leave(1, true);
    world.tick(0);
    assert!(world.directory.is_session_of(ClientRow(0), (0, 2)));
    assert_eq!(world.directory.live(), 1);
}

/// Rows of clients are counted as they change; here they are counted anew.
#[test]
fn clients_are_counted_as_they_join_die_and_leave() {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut world = mortals("resume_seconds = 1");
    let mut sessions: Vec<u64> = vec![];
    for session in 0..400 {
        let word = dice.next_u64();
        match word % 5 {
            0 | 1 => {
                let resume = [(word >> 8) as u8; 16];
                world.join(session, (word & 128 == 0).then_some(resume));
                sessions.push(session);
            }
            2 if !sessions.is_empty() => {
                let gone = sessions.swap_remove(word as usize / 8 % sessions.len());
                world.leave(gone, word & 128 == 0);
            }
            3 => {
                let players: Vec<EntityId> = world.directory.players().map(|(_, e)| e).collect();
                for &striker in &players {
                    let target = [players[0].reference().0];
                    world
                        .frame
                        .push(striker, session as u32, builtin::STRIKE, &target);
                }
            }
            _ => {}
        }
        let now = world.frame.tick.0;
        for event in world.tick(now) {
            if let SessionEvent::Closed { session, .. } = event {
                sessions.retain(|&s| s != session);
            }
        }
        let rows = world.directory.rows.iter();
        let live = rows.filter(|row| {
            matches!(
                row,
                Row::Live(..) | Row::Fallen(Waiting::Player(_) | Waiting::Returned(..), _)
            )
        });
        assert_eq!(
            world.directory.live(),
            live.count(),
            "seed {SEED}, {session}"
        );
        for &session in &sessions {
            assert!(
                world.directory.rows.of_session((0, session)).is_some(),
                "seed {SEED}: session {session} has no row"
            );
        }
    }
}

/// Players come and go, and one kills all wolves that it sees, while a client reads slowly.
#[test]
fn neither_joins_nor_slow_readers_use_up_a_population() {
    const WOLVES: usize = 6;
    let text = format!(
        "[world]\nsize = [10, 10]\naoi = 20\ncapacity = 12\n[limits]\nclients = 8\n\
         resume_seconds = 0\ntimed_commands = 1\n[commands]\n\
         strike = {{ reach = 100, damage = 5, per_tick = 0 }}\n[[kind]]\nname = \"player\"\n\
         [[kind]]\nname = \"wolf\"\npopulation = {WOLVES}\nrespawn_ticks = 2\nattributes = [\n\
         {{ name = \"hp\", type = \"i32\", default = 5, min = 0, falls_at = 0, \
         audience = \"state\" }}]"
    );
    let config = world_file::parse(&text, "test").unwrap();
    let mut world = World::of(&config);
    world.frame.populate(&config);
    world.join(0, None);
    let (striker, _) = entity_of(&world.tick(0)[0]);
    let wolves = |world: &mut World| -> Vec<EntityId> {
        let snapshot = world.backend.snapshot().unwrap();
        let slots = 0..snapshot.states.len();
        slots
            .filter(|&slot| snapshot.states[slot] == gpu_kernels::SlotState::Live)
            .filter(|&slot| snapshot.kinds[slot] == 1)
            .map(|slot| EntityId::new(slot as u32, snapshot.generations[slot]))
            .collect()
    };
    assert_eq!(wolves(&mut world).len(), WOLVES);
    let mut falls = 0;
    for session in 1..200 {
        for (sequence, wolf) in (0..).zip(wolves(&mut world)) {
            let target = [wolf.reference().0];
            world
                .frame
                .push(striker, sequence, builtin::STRIKE, &target);
            falls += 1;
        }
        world.join(session, None);
        if session > 3 {
            world.leave(session - 3, true);
        }
        let acked_through = world.frame.tick.0.saturating_sub(9);
        world.tick(acked_through);
    }
    assert!(falls > 3 * WOLVES, "{falls} falls");
    for _ in 0..12 {
        let now = world.frame.tick.0;
        world.tick(now);
    }
    assert_eq!(wolves(&mut world).len(), WOLVES);
}

const SEED: u64 = 9;

fn account(name: &str) -> Identity {
    Identity {
        account: Some(Account::new(name).unwrap()),
        name: Name::new(name).ok(),
    }
}

#[test]
fn an_account_has_one_entity_whatever_becomes_of_its_connections() {
    let mut world = World::new("resume_seconds = 1");
    world.join_as(1, None, account("alice"));
    let first = entity_of(&world.tick(99)[0]);
    // A second connection replaces the first, which is closed before.
    world.join_as(2, None, account("alice"));
    let events = world.tick(99);
    let is_closed = |event: &SessionEvent| {
        matches!(
            event,
            SessionEvent::Closed {
                session: 1,
                close: Close::Replaced,
                ..
            }
        )
    };
    assert!(is_closed(&events[0]), "{events:?}");
    assert_eq!(entity_of(&events[1]), (first.0, false));
    // The first one's ticket is invalid, for the account and for others.
    world.join(3, Some([1; 16]));
    assert_ne!(entity_of(&world.tick(99)[0]).0, first.0);
    world.leave(3, true);
    // Lost, and back without a ticket.
    world.leave(2, false);
    world.tick(99);
    world.join_as(4, None, account("alice"));
    assert_eq!(entity_of(&world.tick(99)[0]), (first.0, false));
    // Lost for longer than the wait: another entity.
    world.leave(4, false);
    for _ in 0..12 {
        world.tick(99);
    }
    world.join_as(5, None, account("alice"));
    assert_ne!(entity_of(&world.tick(99)[0]).0, first.0);
    assert_eq!(world.directory.live(), 1);
}

#[test]
fn two_connections_of_an_account_in_one_tick_become_one() {
    let mut world = World::new("");
    world.join_as(1, None, account("alice"));
    world.join_as(2, None, account("alice"));
    let events = world.tick(99);
    assert!(matches!(events[0], SessionEvent::Closed { session: 1, .. }));
    assert!(matches!(
        events[1],
        SessionEvent::Assigned { session: 2, .. }
    ));
    assert_eq!((events.len(), world.directory.live()), (2, 1));
}

#[test]
fn a_ticket_of_one_account_brings_back_no_other() {
    let mut world = World::new("resume_seconds = 1");
    world.join_as(1, None, account("alice"));
    let alice = entity_of(&world.tick(99)[0]).0;
    world.leave(1, false);
    world.tick(99);
    world.join_as(2, Some([1; 16]), account("mallory"));
    assert_ne!(entity_of(&world.tick(99)[0]).0, alice);
    world.join_as(3, Some([1; 16]), account("alice"));
    assert_eq!(entity_of(&world.tick(99)[0]), (alice, true));
}

#[test]
fn a_kicked_client_is_removed_in_every_state_and_frees_its_row() {
    for state in ["joining", "live", "lost"] {
        let mut world = World::new("resume_seconds = 1");
        world.join_as(1, None, account("alice"));
        if state != "joining" {
            world.tick(99);
        }
        if state == "lost" {
            world.leave(1, false);
            world.tick(99);
        }
        let client = world
            .directory
            .people()
            .of_account(&account("alice").account.unwrap());
        let client = client.expect("a row");
        world
            .directory
            .kick(client, "rude", false, &mut world.frame);
        let events = world.tick(99);
        let is_closed = events.iter().any(|event| {
            matches!(event, SessionEvent::Closed { close: Close::Kicked, reason, .. }
                if reason == "kicked by the operator: rude")
        });
        assert_eq!(is_closed, state != "lost", "{state}");
        world.tick(99);
        world.tick(99);
        assert_eq!(world.directory.rows().count(), 0, "{state}");
        world.join_as(2, Some([1; 16]), account("alice"));
        assert!(
            !entity_of(&world.tick(99)[0]).1,
            "{state}: its ticket is over"
        );
    }
}

#[test]
fn new_clients_are_admitted_and_a_replaced_connection_is_none() {
    let mut world = World::new("");
    let mut came = vec![];
    for (session, name) in [(1, "alice"), (2, "bob"), (3, "alice")] {
        world.join_as(session, None, account(name));
        let admitted = world.directory.take_admitted().into_iter();
        came.extend(admitted.map(|p| (p.client, p.person.account)));
        world.tick(99);
    }
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(
        came,
        [(ClientRow(0), named("alice")), (ClientRow(1), named("bob"))]
    );
}

const SPECTATORS: &str = "resume_seconds = 1\n[spectators]\nallowed = true\nspeed_max = 10";

#[test]
fn a_spectator_with_an_account_comes_back_by_its_ticket() {
    let mut world = World::new(SPECTATORS);
    world.watch_as(1, None, account("alice"));
    assert_eq!(entity_of(&world.tick(99)[0]), (EntityId::NONE, false));
    assert!(world.directory.people().name(ClientRow(0)).is_some());
    world.leave(1, false);
    world.tick(99);
    world.watch_as(2, Some([1; 16]), account("alice"));
    assert_eq!(entity_of(&world.tick(99)[0]), (EntityId::NONE, true));
    assert_eq!(world.directory.live(), 1);
}

#[test]
fn an_account_plays_or_watches_with_one_connection() {
    let mut world = World::new(SPECTATORS);
    world.join_as(1, None, account("alice"));
    let player = entity_of(&world.tick(99)[0]).0;
    world.watch_as(2, None, account("alice"));
    let events = world.tick(99);
    let is_replaced = |event: &SessionEvent, session| {
        matches!(event, SessionEvent::Closed { session: s, close: Close::Replaced, .. }
            if *s == session)
    };
    assert!(is_replaced(&events[0], 1), "{events:?}");
    assert_eq!(entity_of(&events[1]), (EntityId::NONE, false));
    assert!(!is_alive(&mut world, player));
    world.join_as(3, None, account("alice"));
    let events = world.tick(99);
    assert!(is_replaced(&events[0], 2), "{events:?}");
    assert_ne!(entity_of(&events[1]).0, EntityId::NONE);
    assert_eq!(world.directory.live(), 1);
    let alice = account("alice").account.unwrap();
    assert!(world.directory.people().of_account(&alice).is_some());
}

#[test]
fn a_lost_spectator_sees_nothing_and_its_point_stands_still() {
    let mut world = World::new(SPECTATORS);
    world.watch_as(1, None, Identity::default());
    world.tick(99);
    world.directory.watch(ClientRow(0), [0; 3]).unwrap();
    world.tick(99);
    world.leave(1, false);
    world.directory.prepare(&mut world.frame, Tick(99));
    let set = |frame: &Frame| frame.observers.iter().any(|o| o.observer.is_some());
    assert!(!set(&world.frame), "{:?}", world.frame.observers);
    world.tick(99);
    world.directory.prepare(&mut world.frame, Tick(99));
    assert!(!set(&world.frame), "{:?}", world.frame.observers);
}

#[test]
fn an_account_that_is_back_while_its_entity_is_dead_has_not_resumed() {
    let mut world = mortals("");
    world.join_as(1, None, account("alice"));
    world.join_as(2, None, account("bob"));
    let entities: Vec<_> = world.tick(99).iter().map(|n| entity_of(n).0).collect();
    for sequence in 0..2 {
        let target = [entities[0].reference().0];
        (world.frame).push(entities[1], sequence, builtin::STRIKE, &target);
    }
    world.tick(99);
    world.join_as(3, None, account("alice"));
    let mut events = vec![];
    while !events
        .iter()
        .any(|e| matches!(e, SessionEvent::Assigned { .. }))
    {
        events.extend(world.tick(99));
    }
    let assigned = events.last().expect("an event");
    assert!(!entity_of(assigned).1, "{events:?}");
}
