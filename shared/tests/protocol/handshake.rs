//! Golden cases of the handshake.

use serde::Serialize;
use shared::wire::control::{HELLO_BYTES_MAX, Hello, Quotas, WELCOME_BYTES_MAX, Welcome};
use shared::wire::layers::{self, LayerInfo, LayerKind};
use shared::wire::rankings::RankingInfo;
use shared::wire::{PROTOCOL_VERSION, codec};
use shared::world::door::Door;
use shared::world::layer::{Layers, Sheet, Sheets, cells_of};
use shared::world::mix::hash_of;
use shared::world::plane::{Atlas, Declared};
use shared::{EntityId, Fixed, Schema, Tick};

use crate::protocol::case::Case;
use crate::protocol::world::{PLAYER, bags, deep, flat, wide};

pub fn cases() -> Vec<Case> {
    vec![
        hello("hello", "a hello that asks for nothing", plain()),
        hello(
            "hello-all",
            "a spectator's hello with everything that one can have",
            Hello {
                token: "open sesame".to_owned(),
                name: "Édith".to_owned(),
                schema_hash: Some(flat().hash()),
                resume: Some(std::array::from_fn(|i| i as u8 * 16)),
                spectates: true,
                ..plain()
            },
        ),
        welcome(
            "welcome-flat",
            "a welcome to the world `flat`",
            first(flat()),
        ),
        welcome(
            "welcome-deep",
            "a spectator's welcome to the world `deep`",
            watching(deep()),
        ),
        welcome(
            "welcome-wide",
            "a welcome to the world `wide`",
            first(wide()),
        ),
        welcome(
            "welcome-layers",
            "a welcome to the world `flat`, with layers and doors",
            Welcome {
                layers: layers_of_flat(),
                resumed: true,
                processed: Some(70_001),
                doors: vec![
                    Door {
                        kind: 0,
                        cells: [2, 1],
                        closed: Some(3),
                    },
                    Door {
                        kind: 1,
                        cells: [32, 5],
                        closed: None,
                    },
                ],
                ..first(flat())
            },
        ),
        welcome(
            "welcome-rankings",
            "a welcome to the world `flat`, with a ranking",
            Welcome {
                rankings: rankings_of_flat(),
                ..first(flat())
            },
        ),
        welcome(
            "welcome-planes",
            "a welcome to the world `flat`, with planes",
            Welcome {
                planes: planes_of_flat(),
                editable: vec![LayerKind::Blocked, LayerKind::Tag],
                ..first(flat())
            },
        ),
        welcome(
            "welcome-bags",
            "a welcome to the world `bags`",
            first(bags()),
        ),
        hash(&flat()),
        content(),
    ]
}

pub fn plain() -> Hello {
    Hello {
        version: PROTOCOL_VERSION,
        token: String::new(),
        name: String::new(),
        schema_hash: None,
        resume: None,
        spectates: false,
    }
}

pub fn first(schema: Schema) -> Welcome {
    Welcome {
        tick: Tick(70_000),
        entity: EntityId::new(300, 2),
        commands_epoch: 1,
        ticket: std::array::from_fn(|i| 255 - i as u8),
        resumed: false,
        processed: None,
        player_kind: PLAYER,
        quotas: Quotas {
            commands_per_tick: 4,
            commands_burst: 8,
            input_ticks: 5,
            late_ticks: 10,
            surplus_waits: true,
            requests_per_second: 10,
            bytes_per_tick: 0,
            regions: 2,
            region_edge_max: Fixed::from_raw(100 << Fixed::FRACTION_BITS),
            subscriptions: 3,
            predicate_bytes: 1024,
            idle_seconds: 5,
            resume_seconds: 30,
            spectator_step: None,
        },
        schema,
        forecast: vec![],
        servers: vec![],
        reasons: vec![],
        layers: vec![],
        doors: vec![],
        rankings: vec![],
        planes: Default::default(),
        editable: vec![],
    }
}

fn watching(schema: Schema) -> Welcome {
    Welcome {
        tick: Tick(1 << 33),
        entity: EntityId::NONE,
        quotas: Quotas {
            spectator_step: Some(4096),
            ..Quotas::default()
        },
        forecast: vec![7, 8, 9],
        servers: vec!["two.example:4433".to_owned()],
        reasons: vec!["too far away".to_owned(), "too poor".to_owned()],
        ..first(schema)
    }
}

/// Planes that the world `flat` can have.
pub fn planes_of_flat() -> Atlas {
    let [width, height, _] = flat().world.size_raw();
    let declared = [("cave", 3), ("attic", 1)].map(|(name, copies)| Declared {
        name: name.to_owned(),
        size: [width / 8, height / 9],
        copies,
    });
    let gap = width / 16;
    let longest = width.min(height);
    let home = [width / 3, height / 3];
    let atlas = Atlas::lay_out(home, [gap, gap / 2], declared.to_vec(), 16, longest);
    atlas.expect("the world has room")
}

/// A ranking that the world `flat` can have.
pub fn rankings_of_flat() -> Vec<RankingInfo> {
    vec![RankingInfo {
        name: "healthiest".to_owned(),
        kind: PLAYER,
        column: 3,
        is_least_first: false,
        length: 10,
    }]
}

/// Layers that the world `flat` can have.
pub fn layers_of_flat() -> Vec<LayerInfo> {
    let layer = |kind, edge_bits: u8, tags: Vec<i32>| {
        let size = flat().world.size_raw();
        LayerInfo {
            kind,
            cells: [0, 1].map(|axis| cells_of(size[axis], edge_bits.into()).cast_unsigned()),
            edge_bits,
            hash: hash_of(kind.name().as_bytes()),
            packed_bytes: 4321,
            tags,
            is_editable: false,
        }
    };
    vec![
        layer(LayerKind::Blocked, 13, vec![]),
        layer(LayerKind::Height, 14, vec![]),
        layer(LayerKind::Tag, 15, vec![0]),
    ]
}

/// The content of a small layer of walls, and its hash.
fn content() -> Case {
    #[derive(Serialize)]
    struct Content {
        hash: u64,
        cells: [u32; 2],
        walls: Vec<[usize; 2]>,
    }
    let (width, height) = (5, 3);
    let walls = vec![[0, 0], [3, 1], [4, 2]];
    let cells = (0..width * height).map(|at| walls.contains(&[at % width, at / width]));
    let sheet = Sheet {
        edge_bits: 12,
        cells: cells.collect(),
    };
    let sheets = Sheets {
        blocked: Some(sheet),
        ..Sheets::default()
    };
    let layers = Layers::new([5 << 12, 3 << 12, 1], &sheets);
    let (info, bytes) = layers::contents(&layers).remove(0);
    let value = Content {
        hash: info.hash,
        cells: info.cells,
        walls,
    };
    let text = "an unpacked content: walls in 5 x 3 cells, as (x, y), and its hash";
    Case::new("layer-content", text, bytes, &value)
}

/// A hello with its length, as a client sends it.
fn hello(name: &'static str, text: &'static str, hello: Hello) -> Case {
    let body = codec::to_bytes(&hello);
    let read = codec::from_bytes::<HELLO_BYTES_MAX, Hello>(&body);
    assert_eq!(read.as_ref(), Ok(&hello), "{name}");
    let length = u32::try_from(body.len()).expect("a short hello");
    let bytes = [&length.to_le_bytes()[..], &body].concat();
    Case::new(name, text, bytes, &hello)
}

/// A welcome with its length, as a server sends it.
fn welcome(name: &'static str, text: &'static str, welcome: Welcome) -> Case {
    let body = codec::to_bytes(&welcome);
    assert!(body.len() <= WELCOME_BYTES_MAX);
    assert_eq!(Welcome::decode(&body).as_ref(), Ok(&welcome), "{name}");
    let mut bytes = vec![];
    shared::wire::length::put(body.len(), &mut bytes);
    bytes.extend_from_slice(&body);
    Case::new(name, text, bytes, &welcome)
}

fn hash(schema: &Schema) -> Case {
    #[derive(Serialize)]
    struct Hash {
        hash: u64,
    }
    let value = Hash {
        hash: schema.hash(),
    };
    Case::new(
        "schema-hash",
        "the schema of `flat`, and its hash",
        codec::to_bytes(schema),
        &value,
    )
}
