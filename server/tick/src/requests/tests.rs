use frontend::inbox::{Join, SessionId};
use gpu_kernels::listen::Listeners;
use gpu_kernels::{Backend, CpuBackend, Frame};
use shared::Tick;
use shared::wire::request::Region;

use super::*;
use crate::holdings::Holdings;

/// Clients in a world, each with a session of its row's number.
struct World {
    directory: Directory,
    holdings: Holdings,
    queue: RequestQueue,
    /// By session.
    numbers: Vec<u32>,
}

impl World {
    fn new(clients: u32) -> World {
        let text = format!(
            "[world]\ncapacity = {clients}\n[limits]\nclients = {clients}\n\
             regions_per_client = 1\nsubscriptions_per_client = 64\npredicate_filters = 1024\n\
             predicate_bytes = 16384\n[[kind]]\nname = \"player\"\nattributes = [\n\
             {{ name = \"team\", type = \"symbol\", symbols = [\"red\"], audience = \"state\" }}]"
        );
        let config = world_file::parse(&text, "test").unwrap();
        let mut directory = Directory::new(&config);
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut frame = Frame::new(Tick(0));
        for client in 0..clients {
            let join = Join {
                session: SessionId::from(client),
                ..Join::default()
            };
            let mut ticket = [0; 16];
            ticket[..4].copy_from_slice(&client.to_le_bytes());
            directory.join(0, &join, ticket, &mut frame);
        }
        let output = backend.tick(&frame).unwrap();
        directory.settle(&output, |_| [0; 3]);
        let listeners = Listeners::new(&config, 1, None).unwrap();
        World {
            holdings: Holdings::new(&config, listeners.as_ref().map(Listeners::registry)),
            directory,
            queue: RequestQueue::new(&config),
            numbers: vec![0; clients as usize],
        }
    }

    fn request(&mut self, client: u32, body: RequestBody) {
        let number = &mut self.numbers[client as usize];
        *number += 1;
        let request = PendingRequest {
            session: SessionId::from(client),
            client: ClientRow(client),
            number: *number,
            body: Ok(body),
        };
        let requests = std::iter::once(request);
        self.queue.push(&self.directory, 0, requests);
    }

    fn subscribe(&mut self, client: u32, predicate: &str) {
        let id = self.numbers[client as usize];
        let predicate = predicate.to_owned();
        self.request(client, RequestBody::Subscribe { id, predicate });
    }

    /// The (session, number) of each request that is answered in a tick.
    fn answered(&mut self) -> Vec<(SessionId, u32)> {
        let mut events = vec![];
        let grant = |_: &mut Directory, client, presence: &Presence, body: &RequestBody| {
            self.holdings.grant(client, presence, body)
        };
        self.queue.answer(&mut self.directory, grant, &mut events);
        let answers = events.into_iter().map(|(_, event)| match event {
            SessionEvent::Answered { session, answer } => {
                assert_eq!(answer.result, Ok(()), "session {session}");
                (session, answer.request)
            }
            other => panic!("{other:?}"),
        });
        answers.collect()
    }
}

fn region() -> RequestBody {
    RequestBody::SetRegion {
        index: 0,
        region: Some(Region {
            low: [0, 0, 0],
            high: [4096, 4096, 1],
            follows: None,
        }),
    }
}

/// A predicate of 1,024 filters.
fn dear() -> String {
    let pair = |i: u32| format!("(x < {i} || y < {i})");
    (0..10).map(pair).collect::<Vec<_>>().join(" && ")
}

#[test]
fn a_cheap_request_is_answered_at_once_however_many_expensive_ones_wait() {
    let mut world = World::new(101);
    for client in 0..100 {
        for _ in 0..20 {
            world.subscribe(client, &dear());
        }
    }
    for _ in 0..5 {
        let answered = world.answered().len();
        assert!((1..10).contains(&answered), "{answered} of 1,024 filters");
    }
    world.request(100, region());
    world.subscribe(100, "x < 5");
    assert_eq!(world.answered()[..2], [(100, 1), (100, 2)]);
}

#[test]
fn clients_that_wait_share_the_time_of_ticks_evenly() {
    let mut world = World::new(5);
    for client in 0..4 {
        for _ in 0..60 {
            world.subscribe(client, "x < 5");
        }
    }
    for _ in 0..20 {
        world.subscribe(4, &dear());
    }
    let mut answers = [0; 5];
    // The four have 240 requests of 16 each, as much as one of the other client.
    while answers[..4] != [60; 4] {
        for (session, number) in world.answered() {
            answers[session as usize] += 1;
            assert_eq!(number, answers[session as usize], "in order");
        }
    }
    assert!(answers[4] <= 3, "{} dear requests came first", answers[4]);
    while answers[4] < 20 {
        let last = world.answered();
        assert!(!last.is_empty());
        answers[4] += last.len() as u32;
    }
}

#[test]
fn a_price_follows_from_the_filters_and_not_from_the_text() {
    let mut world = World::new(40);
    // No symbol has this name, but each is one filter.
    let harmless = format!("team == \"{}\"", "||".repeat(20));
    for client in 0..40 {
        for _ in 0..20 {
            world.subscribe(client, &harmless);
        }
    }
    // 12 for the subscription, 4 for the filter, 3 for the text.
    assert_eq!(world.answered().len(), 8192_usize.div_ceil(12 + 4 + 3));
}

#[test]
fn requests_of_sessions_that_are_gone_are_forgotten() {
    let mut world = World::new(3);
    for client in 0..3 {
        for _ in 0..20 {
            world.subscribe(client, &dear());
        }
    }
    let leave = frontend::inbox::Leave {
        session: 1,
        is_final: true,
    };
    let mut frame = Frame::new(Tick(1));
    world.directory.leave(0, &leave, &mut frame);
    let mut answered = vec![];
    while answered.len() < 40 {
        answered.extend(world.answered());
        assert!(answered.iter().all(|&(session, _)| session != 1));
    }
    world.answered();
    assert!(world.queue.clients.is_empty() && world.queue.turns.is_empty());
    // A request from a closing session is dropped.
    world.request(1, region());
    assert!(world.queue.clients.is_empty());
}

#[test]
fn a_client_that_changes_its_connection_drops_its_waiting_requests() {
    let mut world = World::new(2);
    for _ in 0..20 {
        world.subscribe(0, &dear());
        world.subscribe(1, &dear());
    }
    let join = Join {
        session: 7,
        resume: Some([0; 16]),
        ..Join::default()
    };
    let mut frame = Frame::new(Tick(1));
    world.directory.join(0, &join, [9; 16], &mut frame);
    let request = PendingRequest {
        session: 7,
        client: ClientRow(0),
        number: 1,
        body: Ok(region()),
    };
    let requests = std::iter::once(request);
    world.queue.push(&world.directory, 0, requests);
    assert_eq!(world.queue.clients[&ClientRow(0)].requests.len(), 1);
    let mut answered = vec![];
    while answered.len() < 21 {
        answered.extend(world.answered());
    }
    let of = |session| answered.iter().filter(|a| a.0 == session).count();
    assert_eq!([of(0), of(1), of(7)], [0, 20, 1]);
    world.answered();
    assert!(world.queue.turns.is_empty());
}
