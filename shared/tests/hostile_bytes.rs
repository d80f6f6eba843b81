//! Decoders read arbitrary bytes: they return an error, or content that is within the
//! world's bounds and not larger than the bytes allow.

use proptest::prelude::*;
use proptest::sample::Index;
use shared::wire::bits::BitWriter;
use shared::wire::codec;
use shared::wire::commands::{ClientDatagram, CommandCodec};
use shared::wire::control::{Hello, WELCOME_BYTES_MAX, Welcome};

use crate::decoders;
use crate::worlds::{
    any_client_datagram, any_header, any_hello, any_request, any_schema, any_sent, any_tick,
    any_velocity, any_welcome, frame, gathered, movement, scattered,
};

proptest! {
    // A found failure becomes a named case, not a line in a file.
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_are_read_or_refused(schema in any_schema(), bytes in any_bytes()) {
        decoders::movement(schema, &bytes);
        decoders::frame(schema, &bytes);
        let epoch = bytes.first().copied().unwrap_or(0);
        decoders::commands(schema, epoch, &bytes);
        decoders::hello(&bytes);
        decoders::welcome(&bytes);
        decoders::requests(&bytes, usize::from(epoch));
    }

    #[test]
    fn damaged_requests_are_read_or_refused(
        sent in prop::collection::vec(any_request(), 1..5),
        cut in 0usize..200,
        damage in any_damage(),
    ) {
        let mut bytes = vec![];
        for request in sent {
            request.encode(&mut bytes);
        }
        decoders::requests(&damage.apply(bytes), cut);
    }

    #[test]
    fn damaged_movement_is_read_or_refused(
        (schema, entities) in any_schema()
            .prop_flat_map(|s| (Just(s), prop_oneof![gathered(s, 40), scattered(s, 40)])),
        header in any_header(),
        damage in any_damage(),
    ) {
        for datagram in movement(schema, header, &entities, any_velocity).0 {
            decoders::movement(schema, &damage.apply(datagram));
        }
    }

    #[test]
    fn damaged_frames_are_read_or_refused(
        (schema, sent) in any_schema()
            .prop_flat_map(|s| (Just(s), prop::collection::vec(any_sent(s), 0..10))),
        tick in any_tick(),
        damage in any_damage(),
    ) {
        let mut stream = vec![];
        frame(schema, tick, &sent, &mut stream);
        decoders::frame(schema, &damage.apply(stream.split_off(4)));
    }

    #[test]
    fn damaged_commands_are_read_or_refused(
        (schema, sent) in any_schema().prop_flat_map(|s| (Just(s), any_client_datagram(s))),
        epoch: u8,
        damage in any_damage(),
    ) {
        let mut bytes = vec![];
        CommandCodec::new(schema, epoch).encode(&sent, &mut BitWriter::default(), &mut bytes);
        decoders::commands(schema, epoch, &damage.apply(bytes));
    }

    #[test]
    fn damaged_handshakes_are_read_or_refused(
        hello in any_hello(),
        welcome in any_welcome(),
        damage in any_damage(),
    ) {
        decoders::hello(&damage.apply(codec::to_bytes(&hello)));
        decoders::welcome(&damage.apply(codec::to_bytes(&welcome)));
    }

    #[test]
    fn a_handshake_cut_short_is_refused(
        hello in any_hello(),
        welcome in any_welcome(),
        length: Index,
    ) {
        let bytes = codec::to_bytes(&hello);
        let cut = &bytes[..length.index(bytes.len())];
        prop_assert!(Hello::decode(cut).is_err());
        let bytes = codec::to_bytes(&welcome);
        let cut = &bytes[..length.index(bytes.len())];
        prop_assert!(codec::from_bytes::<WELCOME_BYTES_MAX, Welcome>(cut).is_err());
    }
}

/// Damage to a valid message: flipped bits, a cut, bytes added at the end.
#[derive(Clone, Debug)]
struct Damage {
    flips: Vec<(Index, u8)>,
    cut: Option<Index>,
    tail: Vec<u8>,
}

impl Damage {
    fn apply(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (at, bit) in &self.flips {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
        }
        if let Some(cut) = self.cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        bytes.extend(&self.tail);
        bytes
    }
}

/// Found by the fuzz target of commands.
#[test]
fn a_short_datagram_may_have_as_many_commands_as_it_has_bits() {
    let config = world_file::parse("", "w.toml").expect("the default world");
    let schema = &config.schema;
    let codec = CommandCodec::new(schema, 0);
    let kind = schema.command_named("move").expect("a command").kind;
    let words = codec.word_count(kind).expect("clients may send it");
    let datagram = ClientDatagram {
        kinds: vec![kind; 255],
        words: vec![0; 255 * words],
        ..ClientDatagram::default()
    };
    let mut bytes = vec![];
    codec.encode(&datagram, &mut BitWriter::default(), &mut bytes);
    assert!(bytes.len() < 100, "{}", bytes.len());
    decoders::commands(schema, 0, &bytes);
}

fn any_damage() -> impl Strategy<Value = Damage> {
    let flips = prop::collection::vec((any::<Index>(), 0u8..8), 0..6);
    let tail = prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(any::<u8>(), 0..20)];
    (flips, prop::option::weighted(0.3, any::<Index>()), tail)
        .prop_map(|(flips, cut, tail)| Damage { flips, cut, tail })
}

/// Random bytes, and runs of ones and zeros, which are long counts and long codes.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![2 => any::<u8>(), 1 => Just(0), 1 => Just(0xff)];
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..2_000),
        prop::collection::vec(byte, 0..300),
        (any::<u8>(), 0usize..2_000).prop_map(|(byte, count)| vec![byte; count]),
    ]
}
