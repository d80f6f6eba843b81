//! Whatever the order in which the frames and datagrams of a short history arrive, and
//! whatever datagrams are lost, a client's view ends as the server's.
//!
//! Frames arrive in order, as on a stream; datagrams arrive in any order or not at all.
//! Unacknowledged data is sent once more at the end.

use crate::common::{Server, WELCOMED, welcome};
use client_core::Session;
use shared::wire::control::Welcome;
use shared::{EntityId, Slot, Tick};

/// The fate of the one entity in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Away,
    Rests,
    Moves,
}

/// The server's data of a history.
struct Sent {
    /// In order.
    frames: Vec<Vec<u8>>,
    /// (tick, bytes).
    datagrams: Vec<(u64, Vec<u8>)>,
    /// The last datagram that is not out of date at the end.
    pending: Option<u64>,
    /// The entity's place at the end, if it is in view.
    x: Option<i32>,
}

#[test]
fn a_view_ends_as_the_servers_in_every_order_of_arrival() {
    let (server, welcome) = (Server::new(), welcome());
    let mut orders = 0;
    for number in 0..STEPS.len().pow(TICKS as u32) {
        let history: Vec<Step> = (0..TICKS)
            .map(|tick| STEPS[number / STEPS.len().pow(tick as u32) % STEPS.len()])
            .collect();
        let sent = send(&server, &history);
        each_order(&sent, &mut vec![], 0, 0, &mut |order| {
            orders += 1;
            let x = receive(&server, &welcome, &sent, order);
            assert_eq!(x, sent.x, "{history:?} in the order {order:?}");
        });
    }
    assert!(orders > 10_000, "only {orders} orders were tried");
}

fn send(server: &Server, history: &[Step]) -> Sent {
    let mut sent = Sent {
        frames: vec![],
        datagrams: vec![],
        pending: None,
        x: None,
    };
    let mut x = 100;
    for (tick, &step) in (WELCOMED + 1..).zip(history) {
        let was_there = sent.x.is_some();
        x += if step == Step::Moves { 10 } else { 0 };
        sent.x = (step != Step::Away).then_some(x);
        match (was_there, sent.x) {
            (false, Some(x)) => {
                let entity = EntityId::new(OTHER, 1);
                sent.frames.push(server.enter(tick, entity, x));
                sent.pending = None;
            }
            (true, None) => {
                let leave = server.frame(tick, |stream, writer| stream.leave(writer, Slot(OTHER)));
                sent.frames.push(leave);
                sent.pending = None;
            }
            (true, Some(x)) if step == Step::Moves => {
                sent.datagrams.push((tick, server.movement(tick, OTHER, x)));
                sent.pending = Some(tick);
            }
            _ => {}
        }
    }
    sent
}

/// Passes on each order of arrival: `None` is the next frame, a number is that datagram.
/// Datagrams that are missing from an order are lost.
fn each_order(
    sent: &Sent,
    order: &mut Vec<Option<usize>>,
    frames: usize,
    arrived: u32,
    each: &mut impl FnMut(&[Option<usize>]),
) {
    if frames == sent.frames.len() {
        each(order);
    } else {
        order.push(None);
        each_order(sent, order, frames + 1, arrived, each);
        order.pop();
    }
    for datagram in 0..sent.datagrams.len() {
        if arrived >> datagram & 1 == 0 {
            order.push(Some(datagram));
            each_order(sent, order, frames, arrived | 1 << datagram, each);
            order.pop();
        }
    }
}

/// Where the client sees the entity after all.
fn receive(
    server: &Server,
    welcome: &Welcome,
    sent: &Sent,
    order: &[Option<usize>],
) -> Option<i32> {
    let mut session = Session::new(welcome).expect("a world's own schema");
    let mut frames = sent.frames.iter();
    for &arrival in order {
        match arrival {
            Some(i) => session
                .handle_datagram(&sent.datagrams[i].1, &mut ())
                .expect("a datagram of the server"),
            None => session
                .handle_stream(frames.next().expect("a frame"), &mut ())
                .expect("a frame of the server"),
        }
    }
    let datagram = session.datagram();
    let acknowledgement = datagram.map(|bytes| server.read(&bytes).acknowledgement);
    let has = |tick| acknowledgement.is_some_and(|a| a.has(Tick(tick)));
    if let (Some(x), Some(pending)) = (sent.x, sent.pending)
        && !has(pending)
    {
        let again = server.movement(WELCOMED + TICKS + 1, OTHER, x);
        session
            .handle_datagram(&again, &mut ())
            .expect("a datagram of the server");
    }
    let entity = session.view().entities().get(&OTHER);
    entity.map(|entity| entity.row[0])
}

const STEPS: [Step; 3] = [Step::Away, Step::Rests, Step::Moves];
const TICKS: u64 = 6;
const OTHER: u32 = 7;
