//! Bytes from the network are read or refused, and never make a session panic.

use crate::common::{OWN, Server, session, welcome};
use client_core::{Handshake, Session, hello};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use script::builtin;
use shared::wire::{codec, length};
use shared::{EntityId, Slot};

/// Received bytes, by the way on which they come.
#[derive(Clone, Debug)]
enum Input {
    Datagram(Vec<u8>),
    Stream(Vec<u8>),
}

/// Valid input from any ticks, which may contradict itself.
fn any_valid_input() -> impl Strategy<Value = Input> {
    let tick = prop_oneof![0u64..40, any::<u64>()];
    let slot = 0u32..64;
    let x = 0i32..100_000;
    let processed: BoxedStrategy<u32> = any::<u32>().boxed();
    let movement = (tick.clone(), slot.clone(), x.clone(), processed).prop_map(
        |(tick, slot, x, processed)| {
            let mut server = Server::new();
            server.processed = processed;
            Input::Datagram(server.movement(tick, slot, x))
        },
    );
    let enter = (tick.clone(), slot.clone(), x)
        .prop_map(|(tick, slot, x)| Server::new().enter(tick, EntityId::new(slot, 1), x))
        .prop_map(Input::Stream);
    let leave = (tick, slot).prop_map(|(tick, slot)| {
        let frame = Server::new().frame(tick, |stream, writer| {
            stream.leave(writer, Slot(slot));
            stream.reborn(writer, OWN);
            stream.state(writer, Slot(slot), [(2, 50)].into_iter());
        });
        Input::Stream(frame)
    });
    prop_oneof![movement, enter, leave]
}

/// Valid input of which some bytes may be overwritten, or any bytes at all.
fn any_input() -> impl Strategy<Value = Input> {
    let damaged = (any_valid_input(), vec((any::<Index>(), any::<u8>()), 0..4)).prop_map(
        |(mut input, damage)| {
            let (Input::Datagram(bytes) | Input::Stream(bytes)) = &mut input;
            for (place, value) in damage {
                let place = place.index(bytes.len());
                bytes[place] = value;
            }
            input
        },
    );
    let bytes = || vec(any::<u8>(), 0..200);
    prop_oneof![
        4 => damaged,
        1 => bytes().prop_map(Input::Datagram),
        1 => bytes().prop_map(Input::Stream),
    ]
}

/// Hands input in, errors or not, and sends all pending bytes.
fn drive(session: &mut Session, inputs: &[Input]) {
    for input in inputs {
        let _ = session.command(builtin::MOVE, &[1, 1]);
        let _ = match input {
            Input::Datagram(bytes) => session.handle_datagram(bytes, &mut ()),
            Input::Stream(bytes) => session.handle_stream(bytes, &mut ()),
        };
        if let Some(bytes) = session.datagram() {
            Server::new().read(&bytes);
        }
    }
}

proptest! {
    #[test]
    fn any_input_is_read_or_refused(inputs in vec(any_input(), 0..40)) {
        drive(&mut session(), &inputs);
    }

    #[test]
    fn valid_input_in_any_order_is_read(inputs in vec(any_valid_input(), 0..40)) {
        let mut session = session();
        for input in inputs {
            match input {
                Input::Datagram(bytes) => session.handle_datagram(&bytes, &mut ()).unwrap(),
                Input::Stream(bytes) => session.handle_stream(&bytes, &mut ()).unwrap(),
            }
        }
    }

    #[test]
    fn any_welcome_is_read_or_refused(
        damage in vec((any::<Index>(), any::<u8>()), 0..4),
        inputs in vec(any_input(), 0..10),
        cut in 1usize..300,
    ) {
        let mut bytes = codec::to_bytes(&welcome());
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let mut stream = vec![];
        length::put(bytes.len(), &mut stream);
        stream.extend(bytes);
        let mut handshake = Handshake::new(&hello("", None));
        for bytes in stream.chunks(cut) {
            match handshake.handle_stream(bytes) {
                Ok(None) => {}
                Ok(Some(mut welcomed)) => {
                    read_only(&mut welcomed.session, &inputs);
                    return Ok(());
                }
                Err(_) => return Ok(()),
            }
        }
        prop_assert!(false, "a whole welcome is read or refused");
    }

    #[test]
    fn any_bytes_are_a_welcome_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        let mut handshake = Handshake::new(&hello("", None));
        let _ = handshake.handle_stream(&bytes);
    }
}

/// Hands input in. Such a session sends by a damaged schema.
fn read_only(session: &mut Session, inputs: &[Input]) {
    for input in inputs {
        let _ = match input {
            Input::Datagram(bytes) => session.handle_datagram(bytes, &mut ()),
            Input::Stream(bytes) => session.handle_stream(bytes, &mut ()),
        };
        session.datagram();
    }
}
