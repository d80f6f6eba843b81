use std::collections::HashSet;
use std::sync::Arc;

use device::cpu::Workers;
use gpu_kernels::listen::Notices;
use gpu_kernels::{
    Backend, CpuBackend, Delivery, Frame, Observer, ObserverChange, Target, TickOutput,
};
use shared::wire::bits::{BitReader, BitWriter};
use shared::wire::movement::MovementCodec;
use shared::world::command::COMMAND_WORDS_MAX;
use shared::world::mix::mix;
use shared::{ClientRow, CommandKind, EntityId, Fixed, Slot, Tick, WorldConfig};

use super::feed::{Feed, FeedReader, FeedWriter};
use super::input::{Input, TimedInput};
use super::known::{Fresh, Known};
use super::*;
use crate::inbox::{ClientCommand, Inbox, Join, Leave, LongText, PendingRequest, SessionChange};
use crate::mirror::{Mirror, Newborns};
use crate::publication::{Publication, SessionEvent};
use crate::servers::Others;

/// Both ends of a link, and the worlds there.
struct Link {
    backend: CpuBackend,
    workers: Workers,
    near: Mirror,
    far: Mirror,
    writer: FeedWriter,
    reader: FeedReader,
    bytes: Vec<u8>,
}

impl Link {
    fn new(config: &WorldConfig) -> Link {
        let mirror = || Mirror::new(config, MovementCodec::new(&config.schema).unwrap());
        Link {
            backend: CpuBackend::new(config, 1, None).unwrap(),
            workers: Workers::new(2).unwrap(),
            near: mirror(),
            far: mirror(),
            writer: FeedWriter::new(0, config),
            reader: FeedReader::new(config),
            bytes: vec![],
        }
    }

    /// Runs a tick and passes it on. Returns its output, and what the front end has of it.
    fn tick(&mut self, frame: &Frame, events: Vec<SessionEvent>) -> (Publication, Feed) {
        let output = self.backend.tick(frame).unwrap();
        self.pass(output, events)
    }

    /// Passes the output of a tick on.
    fn pass(&mut self, output: Arc<TickOutput>, events: Vec<SessionEvent>) -> (Publication, Feed) {
        self.near.apply(&self.workers, &output);
        let publication = Publication {
            tick: output.tick,
            durable_through: Some(output.tick),
            others: Others::new(["standby.example:7777".into()]),
            output,
            newborns: Newborns::default(),
            subscribed: Notices::default(),
            world: None,
            nearby_talk: vec![],
            muted: HashSet::new(),
            events: vec![events],
            inputs: vec![9],
        };
        self.bytes.clear();
        let tick = (&publication, &self.near);
        (self.writer).write(&self.workers, tick, 7, &mut self.bytes);
        let feed = self.reader.read(&self.workers, &self.bytes).unwrap();
        self.far.apply(&self.workers, &feed.publication.output);
        (publication, feed)
    }
}

fn world(clients: u32, motion: bool) -> WorldConfig {
    // About 20 others in view.
    let side = 20.0 * f64::from(clients).sqrt();
    let text = format!(
        "[world]\nsize = [{side}, {side}]\naoi = 50\ncapacity = {}\nmotion = {motion}\n\
         [limits]\nclients = {clients}\n[[kind]]\nname = 'player'",
        clients + clients / 4
    );
    world_file::parse(&text, "test").unwrap()
}

/// Numbers below a bound.
fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = mix(seed, 0x9e37);
    move |bound| {
        state = mix(state, 1);
        state % bound.max(1)
    }
}

fn assigned(row: u32, entity: EntityId) -> SessionEvent {
    SessionEvent::Assigned {
        session: row.into(),
        client: ClientRow(row),
        entity,
        ticket: [7; 16],
        resumed: false,
        processed: None,
    }
}

fn observe(frame: &mut Frame, row: u32, entity: EntityId) {
    frame.observers.push(ObserverChange {
        client: ClientRow(row),
        index: 0,
        observer: Some(Observer {
            target: Target::Entity(entity),
            radius: 50 << Fixed::FRACTION_BITS,
        }),
    });
}

/// The newborns of a tick by their tokens.
fn newborns(output: &TickOutput) -> Vec<(u32, EntityId)> {
    let births = output.births.iter();
    births
        .filter_map(|birth| Some((birth.token, birth.entity?)))
        .collect()
}

/// Clients that walk as bots do: straight on for about so many ticks. Returns the bytes of a tick
/// and client, without the first ticks.
fn wander(clients: u32, ticks: u64, motion: bool, straight: u64, seed: u64) -> f64 {
    let config = world(clients, motion);
    let walk = config.schema.command_named("move").unwrap().kind;
    let mut dice = dice(seed);
    let mut link = Link::new(&config);
    let mut players: Vec<(u32, EntityId)> = vec![];
    let mut steps = vec![[0, 0]; clients as usize];
    let (mut bytes, mut counted, mut in_view) = (0, 0, 0);
    for tick in 0..ticks {
        let mut frame = Frame::new(Tick(tick));
        let mut events = vec![];
        if tick == 0 {
            (0..clients).for_each(|row| frame.spawn(0, row));
            (0..clients).for_each(|row| assert!(link.writer.join(row.into())));
        }
        for &(row, entity) in &players {
            if tick == 1 {
                observe(&mut frame, row, entity);
                events.push(assigned(row, entity));
            }
            let step = &mut steps[row as usize];
            if tick == 1 || dice(straight) == 0 {
                *step = [(); 2].map(|()| dice(8192) as i32 - 4096);
            }
            frame.push(entity, tick as u32, walk, step);
        }
        let (near, feed) = link.tick(&frame, events);
        if tick == 0 {
            players = newborns(&near.output);
            assert_eq!(players.len(), clients as usize, "seed {seed}");
        }
        let (output, passed) = (&near.output, &feed.publication.output);
        for row in (0..clients).map(ClientRow) {
            let (own, passed) = (output.deliveries.of(row), passed.deliveries.of(row));
            assert_eq!(own, passed, "seed {seed}, tick {tick}, {row:?}");
            let of_kind = |kind| own.iter().filter(|d| d.kind() == kind).count() as i64;
            in_view += of_kind(Delivery::ENTER) - of_kind(Delivery::LEAVE);
        }
        for slot in (0..config.schema.world.capacity).map(Slot) {
            let read = |mirror: &Mirror| {
                let movement = [None, Some(Tick(tick).before(1))];
                let movement = movement.map(|base| mirror.movement(slot, base));
                let course = mirror.course(slot);
                let columns = mirror.columns_to_send(slot);
                (
                    mirror.id(slot),
                    mirror.living(slot),
                    movement,
                    course,
                    columns,
                )
            };
            if link.near.living(slot).is_some() {
                let (near, far) = (read(&link.near), read(&link.far));
                assert_eq!(
                    format!("{near:?}"),
                    format!("{far:?}"),
                    "seed {seed}, tick {tick}"
                );
            }
        }
        if tick >= 8 {
            bytes += link.bytes.len();
            counted += clients as usize;
        }
    }
    let in_view = in_view as f64 / f64::from(clients);
    assert!((8.0..30.0).contains(&in_view), "{in_view} in view");
    bytes as f64 / counted as f64
}

#[test]
fn a_front_end_has_the_deliveries_and_movement_of_the_tick() {
    for seed in 0..4 {
        for motion in [true, false] {
            wander(60, 24, motion, 3, seed);
        }
    }
}

#[test]
fn a_wanderer_with_20_in_view_takes_few_bytes_of_a_feed() {
    // And of one that turns all the time.
    for (straight, bytes_max) in [(50, 4.0), (1, 25.0)] {
        let bytes = wander(1000, 40, true, straight, 7);
        println!("{bytes:.1} bytes a client and tick, with a turn every {straight} ticks");
        assert!(bytes < bytes_max, "{bytes:.1} bytes a client and tick");
    }
}

/// Kinds with so many columns that worlds have more or less than 64.
fn kinds(attributes: usize) -> String {
    let kinds = ["player", "tree", "rock"].map(|kind| {
        let own = (0..attributes).map(|n| {
            let audience = ["state", "private", "hidden", "state"][n % 4];
            format!("{{ name = '{kind}{n}', type = 'i32', audience = '{audience}' }}, ")
        });
        let own: String = own.collect();
        format!("[[kind]]\nname = '{kind}'\nattributes = [{own}]\n")
    });
    kinds.concat()
}

#[test]
fn a_front_end_has_the_changes_of_every_kind() {
    const ENTITIES: u32 = 60;
    for (attributes, motion) in [(20, true), (20, false), (62, true), (62, false)] {
        let text = format!(
            "[world]\ncapacity = {ENTITIES}\nmotion = {motion}\n[limits]\nclients = 2\n{}",
            kinds(attributes)
        );
        let config = world_file::parse(&text, "test").unwrap();
        let schema = &config.schema;
        assert_eq!(schema.attributes.len(), 2 + 3 * attributes);
        let mut link = Link::new(&config);
        let mut dice = dice(attributes as u64);
        let mut sent = 0;
        for tick in 0..12 {
            if tick == 0 {
                let mut frame = Frame::new(Tick(tick));
                (0..ENTITIES).for_each(|slot| frame.spawn((slot % 3) as u16, slot));
                link.tick(&frame, vec![]);
            } else {
                let mut output = TickOutput {
                    tick: Tick(tick),
                    ..TickOutput::default()
                };
                let changes = &mut output.changes;
                changes.offsets.push(0);
                for slot in 0..ENTITIES {
                    let kind = &schema.kinds[slot as usize % 3];
                    let own = kind.attributes[2..].iter().map(|own| own.column);
                    let own: Vec<u16> = own.filter(|_| dice(12) == 0).collect();
                    if own.is_empty() {
                        continue;
                    }
                    changes.slots.push(slot);
                    changes
                        .values
                        .extend(own.iter().map(|_| dice(1 << 32) as i32));
                    changes.columns.extend(own);
                    changes.offsets.push(changes.columns.len() as u32);
                }
                link.pass(output.into(), vec![]);
            }
            for slot in (0..ENTITIES).map(Slot) {
                let read = |mirror: &Mirror| {
                    let own = mirror.masks(slot);
                    let bits = mirror.columns_to_send(slot) & (own.state | own.private);
                    mirror.values(slot, bits).collect::<Vec<_>>()
                };
                let expected = read(&link.near);
                assert_eq!(
                    read(&link.far),
                    expected,
                    "{attributes}, tick {tick}, {slot:?}"
                );
                let is_own = |&(column, _): &(u16, i32)| {
                    let kind = &schema.kinds[slot.index() % 3];
                    kind.attributes.iter().any(|own| own.column == column)
                };
                assert!(expected.iter().all(is_own), "{expected:?}");
                sent += expected.len();
            }
        }
        // Three in four columns are for clients.
        let all = 12 * ENTITIES as usize * attributes;
        assert!(sent > all / 24, "{sent} of {all}");
        let mut joined = Mirror::new(&config, MovementCodec::new(schema).unwrap());
        let bytes = snapshot::encode(&config, &link.near);
        snapshot::decode(&bytes, &config, &mut joined).unwrap();
        for slot in (0..ENTITIES).map(Slot) {
            let own = link.near.masks(slot);
            let read = |mirror: &Mirror| {
                let values = mirror.values(slot, own.state | own.private);
                values.collect::<Vec<_>>()
            };
            assert_eq!(read(&joined), read(&link.near), "{attributes}, {slot:?}");
        }
    }
}

/// Front ends that join before any tick have what one has that was there from the beginning.
#[test]
fn a_front_end_joins_a_world_that_runs() {
    let config = world(30, true);
    let walk = config.schema.command_named("move").unwrap().kind;
    for seed in 0..6 {
        let mut dice = dice(seed);
        let mut link = Link::new(&config);
        let mut players = vec![];
        for tick in 0..30 {
            let mut frame = Frame::new(Tick(tick));
            if tick == 0 {
                (0..30).for_each(|row| frame.spawn(0, row));
                (0..30_u32).for_each(|row| assert!(link.writer.join(row.into())));
            }
            for &(row, entity) in &players {
                if tick == 1 {
                    observe(&mut frame, row, entity);
                }
                if dice(2) == 0 {
                    let step = [(); 2].map(|()| dice(8192) as i32 - 4096);
                    frame.push(entity, tick as u32, walk, &step);
                }
                if dice(100) == 0 {
                    frame.push(entity, tick as u32, CommandKind::DESPAWN, &[]);
                }
            }
            let (near, feed) = link.tick(&frame, vec![]);
            if tick == 0 {
                players = newborns(&near.output);
            }
            // Then it follows, too.
            let mut joined = Mirror::new(&config, MovementCodec::new(&config.schema).unwrap());
            let bytes = snapshot::encode(&config, &link.near);
            snapshot::decode(&bytes, &config, &mut joined).unwrap();
            let read = |mirror: &Mirror, slot: Slot| {
                let names = mirror.name(slot).cloned();
                let course = mirror.course(slot);
                let (id, kind) = (mirror.id(slot), mirror.kind(slot));
                format!(
                    "{:?}",
                    (id, kind, course, names, mirror.movement(slot, None))
                )
            };
            for slot in (0..config.schema.world.capacity).map(Slot) {
                let living = link.near.living(slot);
                assert_eq!(joined.living(slot), living, "seed {seed}, tick {tick}");
                if living.is_some() {
                    let pair = [read(&joined, slot), read(&link.far, slot)];
                    assert_eq!(pair[0], pair[1], "seed {seed}, tick {tick}");
                }
            }
            assert_eq!(joined.tick(), feed.publication.tick);
        }
    }
}

#[test]
fn a_changed_snapshot_is_read_or_refused() {
    let config = world(12, true);
    let mut link = Link::new(&config);
    let mut frame = Frame::new(Tick(0));
    (0..12).for_each(|row| frame.spawn(0, row));
    link.tick(&frame, vec![]);
    let good = snapshot::encode(&config, &link.near);
    for seed in 0..400 {
        let mut dice = dice(seed);
        let mut bytes = good.clone();
        for _ in 0..=dice(3) {
            let place = dice(bytes.len() as u64) as usize;
            bytes[place] = dice(256) as u8;
        }
        bytes.truncate(bytes.len() - dice(4) as usize);
        let mut mirror = Mirror::new(&config, MovementCodec::new(&config.schema).unwrap());
        // What can be read names only what is in the world.
        let _ = snapshot::decode(&bytes, &config, &mut mirror);
    }
}

/// A known set and any deliveries, as backends make them or not.
#[test]
fn any_deliveries_come_back_and_leave_both_ends_with_the_same_set() {
    const SLOTS: u64 = 90;
    for seed in 0..200 {
        let mut dice = dice(seed);
        let (mut near, mut far) = (Known::default(), Known::default());
        for round in 0..30 {
            let mut fresh = Fresh::new(SLOTS as u32);
            (0..dice(60)).for_each(|_| fresh.add(dice(SLOTS) as u32));
            let is_sorted = dice(4) > 0;
            let is_renewed = dice(5) == 0;
            let mut deliveries: Vec<Delivery> = (0..dice(40))
                .map(|_| {
                    let kind = if is_renewed { 3 } else { dice(4) as u32 };
                    Delivery::new(kind, dice(SLOTS) as u32).in_tier(dice(4) as u32)
                })
                .collect();
            if is_sorted {
                deliveries.sort_unstable_by_key(|delivery| delivery.slot());
                deliveries.dedup_by_key(|delivery| delivery.slot());
            }
            let mut writer = BitWriter::default();
            near.write(&deliveries, &fresh, &mut writer);
            let mut bytes = vec![];
            writer.finish_into(&mut bytes);
            let mut reader = BitReader::new(&bytes);
            let read = far.read(&fresh, &mut reader);
            assert_eq!(read.as_ref(), Ok(&deliveries), "seed {seed}, round {round}");
            assert_eq!(near, far, "seed {seed}, round {round}");
            assert_eq!(reader.finish(), Ok(()), "seed {seed}, round {round}");
        }
    }
}

#[test]
fn input_comes_back_and_other_bytes_are_errors() {
    let mut inbox = Inbox::default();
    inbox.tick = Tick(5);
    let leave = Leave {
        session: 3,
        is_final: true,
    };
    inbox.join(Join {
        session: 9,
        resume: Some([1; 16]),
        ..Join::default()
    });
    inbox.leave(leave);
    inbox.confirmed.push(4);
    let request = PendingRequest {
        session: 4,
        client: ClientRow(2),
        number: 8,
        body: Err(LongText { found: 9, limit: 5 }),
    };
    inbox.requests.push(request.clone());
    let command = |sequence| ClientCommand {
        entity: EntityId::new(7, 1),
        sequence,
        kind: CommandKind(2),
    };
    inbox.push(command(1), &[5, -6]);
    inbox.push_for(Tick(7), command(2), &[]);
    let input = Input {
        sent_through: Some(Tick(4)),
        acked_through: Tick(3),
        ..Input::take(&mut inbox)
    };
    assert_eq!(
        inbox.batches().map(|(_, batch)| batch.len()).sum::<usize>(),
        0
    );
    assert_eq!(input.changes[1], SessionChange::Leave(leave));
    let timed = |tick, sequence, words: &[i32]| TimedInput {
        tick: Tick(tick),
        entity: EntityId::new(7, 1),
        sequence,
        kind: CommandKind(2),
        words: words.to_vec(),
    };
    assert_eq!(input.commands, [timed(5, 1, &[5, -6]), timed(7, 2, &[])]);
    let bytes = input.encode();
    assert_eq!(Input::decode(&bytes), Ok(input.clone()));

    let mut again = Inbox::default();
    again.tick = Tick(5);
    input.clone().add_to(&mut again);
    let later: Vec<_> = again.batches().map(|(_, batch)| batch.len()).collect();
    assert_eq!(later, [1, 0, 1]);
    assert_eq!(again.requests, [request]);
    assert_eq!(again.changes().cloned().collect::<Vec<_>>(), input.changes);

    assert!(Input::decode(&bytes[..bytes.len() - 1]).is_err());
    assert_eq!(Input::decode(&[]), Err(DecodeError::Truncated.into()));
    assert_eq!(
        Input::decode(&[VERSION + 1, 0]),
        Err(WireError::Version(VERSION + 1))
    );
    let mut long = input;
    long.commands[0].words = vec![0; COMMAND_WORDS_MAX + 1];
    let error = Input::decode(&long.encode()).unwrap_err().to_string();
    assert_eq!(
        error,
        "the words of a command is 17, where 16 is the largest"
    );
}

#[test]
fn a_command_for_a_far_tick_takes_no_room_for_the_ticks_between() {
    let mut inbox = Inbox::default();
    let command = TimedInput {
        tick: Tick::MAX,
        entity: EntityId::new(1, 1),
        sequence: 1,
        kind: CommandKind(2),
        words: vec![],
    };
    let input = Input {
        commands: vec![command],
        ..Input::default()
    };
    input.add_to(&mut inbox);
    assert_eq!(inbox.batches().count(), 1001);
}

#[test]
fn a_feed_with_changed_bytes_is_read_or_refused() {
    let config = world(12, true);
    for seed in 0..60 {
        let mut dice = dice(seed);
        let mut link = Link::new(&config);
        let mut frame = Frame::new(Tick(0));
        (0..12).for_each(|row| frame.spawn(0, row));
        (0..12).for_each(|row| assert!(link.writer.join(row)));
        let (near, _) = link.tick(&frame, vec![]);
        let mut frame = Frame::new(Tick(1));
        let mut events = vec![];
        for (row, entity) in newborns(&near.output) {
            observe(&mut frame, row, entity);
            events.push(assigned(row, entity));
        }
        link.tick(&frame, events);
        let mut bytes = link.bytes.clone();
        for _ in 0..=dice(3) {
            let place = dice(bytes.len() as u64) as usize;
            bytes[place] = dice(256) as u8;
        }
        bytes.truncate(bytes.len() - dice(4) as usize);
        // What can be read names only what is in the world.
        let Ok(feed) = FeedReader::new(&config).read(&link.workers, &bytes) else {
            continue;
        };
        let mut mirror = Mirror::new(&config, MovementCodec::new(&config.schema).unwrap());
        mirror.apply(&link.workers, &feed.publication.output);
    }
}
