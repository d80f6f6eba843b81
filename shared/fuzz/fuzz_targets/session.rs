#![no_main]

//! A client gets any bytes in any order: it reads them or ends its session, and what it
//! sends afterwards can be read by a server.

use client_core::{Handshake, hello};
use libfuzzer_sys::fuzz_target;
use shared::wire::commands::{ClientDatagram, CommandCodec};
use shared::wire::control::Welcome;
use shared::wire::{codec, length};
use shared::{EntityId, Tick};
use shared_fuzz::world_and_message;

// Behind the world, each piece is a byte that says by which way it comes, its length, and
// so many bytes.
fuzz_target!(|data: &[u8]| {
    let Some((schema, mut rest)) = world_and_message(data) else {
        return;
    };
    let welcome = codec::to_bytes(&Welcome {
        tick: Tick(1000),
        entity: EntityId::new(1, 1),
        commands_epoch: 1,
        ticket: [1; 16],
        resumed: false,
        processed: None,
        player_kind: 0,
        quotas: Default::default(),
        schema: schema.clone(),
        forecast: vec![],
        servers: vec![],
        reasons: vec![],
        layers: vec![],
        editable: vec![],
        doors: vec![],
        rankings: vec![],
        planes: Default::default(),
    });
    let mut stream = vec![];
    length::put(welcome.len(), &mut stream);
    stream.extend_from_slice(&welcome);
    let mut handshake = Handshake::new(&hello("", None));
    let welcomed = handshake.handle_stream(&stream).unwrap();
    let mut session = welcomed.unwrap().session;
    let codec = CommandCodec::new(schema, 1);
    let mut read = ClientDatagram::default();
    while let [way, length, behind @ ..] = rest {
        let (piece, next) = behind.split_at(usize::from(*length).min(behind.len()));
        rest = next;
        let taken = match way % 2 {
            0 => session.handle_datagram(piece, &mut ()),
            _ => session.handle_stream(piece, &mut ()),
        };
        // A new interface has commands that this codec does not know.
        if let Some(bytes) = session.datagram()
            && bytes[0] == 1
        {
            codec.decode(&bytes, Tick(1000), &mut read).unwrap();
        }
        if taken.is_err() && way % 2 == 1 {
            return;
        }
    }
});
