//! Golden cases of a client's datagrams.

use serde::Serialize;
use shared::wire::bits::BitWriter;
use shared::wire::commands::{Acknowledgement, ClientDatagram, CommandCodec};
use shared::{EntityId, Tick};

use crate::protocol::case::Case;
use crate::protocol::world::{GIVE, MOVE, SHOOT, flat};

/// The tick in which the server reads.
const NOW: Tick = Tick((1 << 32) + 12);
const EPOCH: u8 = 1;

#[derive(Serialize)]
struct Given {
    world: &'static str,
    tick: u64,
}

#[derive(Serialize)]
struct Value {
    epoch: u8,
    newest: u64,
    mask: u32,
    stream: u64,
    first_sequence: u32,
    /// The ticks that commands are meant for; empty: they don't say.
    ticks: Vec<u64>,
    commands: Vec<Command>,
}

#[derive(Serialize)]
struct Command {
    kind: u16,
    words: Vec<i32>,
}

pub fn cases() -> Vec<Case> {
    let nobody = EntityId::new(300, 258).reference().0;
    vec![
        case(
            "datagram-acknowledgement",
            "what a client has received, and no command",
            ClientDatagram {
                acknowledgement: Acknowledgement {
                    newest: NOW.before(1),
                    mask: 0b1011,
                    stream: NOW.before(20),
                },
                ..ClientDatagram::default()
            },
        ),
        case(
            "datagram-commands",
            "three commands; the last has a word of each type",
            ClientDatagram {
                acknowledgement: Acknowledgement {
                    newest: NOW.before(2),
                    mask: u32::MAX,
                    stream: NOW.before(2),
                },
                first_sequence: 70_000,
                ticks: vec![],
                kinds: vec![MOVE, MOVE, GIVE],
                words: vec![4096, -4096, 0, 1, -3, 1, nobody, 2, 2048],
            },
        ),
        case(
            "datagram-ticks",
            "four commands that are meant for ticks: one that is over, two for the same, a later one",
            ClientDatagram {
                acknowledgement: Acknowledgement {
                    newest: NOW.before(1),
                    mask: 0,
                    stream: NOW.before(1),
                },
                first_sequence: 1,
                ticks: vec![NOW.before(1), NOW.after(1), NOW.after(1), NOW.after(40)],
                kinds: vec![MOVE; 4],
                words: vec![4096, 0, 0, 4096, -4096, 0, 0, -4096],
            },
        ),
        case(
            "datagram-repeated",
            "five commands, two of which are the same as the one before",
            ClientDatagram {
                acknowledgement: Acknowledgement {
                    newest: NOW.before(1),
                    mask: 0,
                    stream: NOW.before(1),
                },
                first_sequence: 9,
                ticks: (1..=5).map(|ticks| NOW.after(ticks)).collect(),
                kinds: vec![MOVE; 5],
                words: vec![4096, 0, 4096, 0, 4096, 1, 4096, 1, 4096, 0],
            },
        ),
        case(
            "datagram-seen",
            "two shots, at what was shown three ticks before the newest, and before the low bits began anew",
            ClientDatagram {
                acknowledgement: Acknowledgement {
                    newest: NOW.before(1),
                    mask: 0,
                    stream: NOW.before(1),
                },
                first_sequence: 5,
                ticks: vec![NOW.after(3); 2],
                kinds: vec![SHOOT; 2],
                words: vec![nobody, 8, nobody, -2],
            },
        ),
    ]
}

fn case(name: &'static str, text: &'static str, datagram: ClientDatagram) -> Case {
    let codec = CommandCodec::new(&flat(), EPOCH);
    let mut bytes = vec![];
    codec.encode(&datagram, &mut BitWriter::default(), &mut bytes);
    let mut read = ClientDatagram::default();
    assert_eq!(codec.decode(&bytes, NOW, &mut read), Ok(()), "{name}");
    assert_eq!(read, datagram, "{name}");
    let given = Given {
        world: "welcome-flat",
        tick: NOW.0,
    };
    Case::new(name, text, bytes, &value(&read, &codec)).given(&given)
}

fn value(datagram: &ClientDatagram, codec: &CommandCodec) -> Value {
    let mut words = datagram.words.as_slice();
    let commands = datagram.kinds.iter().map(|kind| {
        let count = codec.word_count(*kind).expect("a command of clients");
        let (own, rest) = words.split_at(count);
        words = rest;
        Command {
            kind: kind.id(),
            words: own.to_vec(),
        }
    });
    Value {
        commands: commands.collect(),
        epoch: codec.epoch(),
        newest: datagram.acknowledgement.newest.0,
        mask: datagram.acknowledgement.mask,
        stream: datagram.acknowledgement.stream.0,
        first_sequence: datagram.first_sequence,
        ticks: datagram.ticks.iter().map(|tick| tick.0).collect(),
    }
}
