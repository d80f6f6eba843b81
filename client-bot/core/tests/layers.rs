//! A session that fetches the layers of its world.

#![cfg_attr(not(feature = "inflate"), allow(dead_code))]

use client_core::{LayerCache, LayerError, Session};
use shared::wire::control::{Quotas, Welcome};
use shared::wire::layers::{LayerInfo, LayerKind, contents, pack};
use shared::wire::request::{RequestBody, RequestReader};
use shared::world::door::Door;
use shared::world::edit::Edit;
use shared::{Course, EntityId, Schema, Tick};

use crate::common::{self, Server};

/// 6 x 4 cells of walls, and 3 x 2 of heights.
const ROOM: &str = r#"
[world]
size = [6, 4]
aoi = 3
capacity = 8

[[layer]]
name = "blocked"
drawing = """
######
#....#
#.#..#
######
"""

[[layer]]
name = "height"
cell = 2
drawing = """
012
345
"""
"#;

/// The descriptions of a world's layers, and their contents as they travel.
fn packed(schema: &Schema) -> (Vec<LayerInfo>, Vec<Vec<u8>>) {
    let all = contents(&schema.layers).into_iter();
    let all = all.map(|(info, content)| {
        let packed = pack(&content);
        let packed_bytes = packed.len() as u32;
        (
            LayerInfo {
                packed_bytes,
                ..info
            },
            packed,
        )
    });
    all.unzip()
}

/// A session that was welcomed to a room, and the server's side of it.
struct Fetch {
    session: Session,
    server: Server,
    schema: Schema,
    infos: Vec<LayerInfo>,
    packed: Vec<Vec<u8>>,
}

impl Fetch {
    fn new() -> Fetch {
        Fetch::of(ROOM)
    }

    fn of(room: &str) -> Fetch {
        let schema = world_file::parse(room, "a room")
            .expect("a valid world")
            .schema;
        let (infos, packed) = packed(&schema);
        let welcome = Welcome {
            schema: schema.for_clients(),
            quotas: Quotas::default(),
            layers: infos.clone(),
            editable: (infos.iter().filter(|info| info.is_editable))
                .map(|info| info.kind)
                .collect(),
            ..common::welcome()
        };
        // As it arrives.
        let welcome = Welcome::decode(&shared::wire::codec::to_bytes(&welcome)).unwrap();
        Fetch {
            session: Session::new(&welcome).unwrap(),
            server: Server::of(&schema),
            schema,
            infos,
            packed,
        }
    }

    /// A part of a layer arrives; gives what is wrong with it.
    fn part(&mut self, hash: u64, offset: u32, bytes: &[u8]) -> Result<(), String> {
        let frame = self.server.frame(12, |stream, writer| {
            stream.layer(writer, hash, offset, bytes)
        });
        let taken = self.session.handle_stream(&frame, &mut ());
        taken.map_err(|error| error.to_string())
    }

    /// Edits arrive; gives what is wrong with them.
    fn edits(&mut self, edits: &[(LayerKind, u32, i32)]) -> Result<(), String> {
        let edits = edits
            .iter()
            .map(|&(layer, cell, value)| Edit { layer, cell, value });
        let edits: Vec<Edit> = edits.collect();
        let frame = self
            .server
            .frame(13, |stream, writer| stream.edits(writer, &edits));
        let taken = self.session.handle_stream(&frame, &mut ());
        taken.map_err(|error| error.to_string())
    }

    /// The hashes that it asks for.
    fn asked(&mut self) -> Vec<u64> {
        let mut reader = RequestReader::default();
        reader.push(self.session.stream_bytes());
        let mut asked = vec![];
        while let Some(request) = reader.next_request().unwrap() {
            match request.body {
                RequestBody::Layer { hash } => asked.push(hash),
                body => panic!("{body:?}"),
            }
        }
        self.session.stream_sent(self.session.stream_bytes().len());
        asked
    }
}

#[cfg(feature = "inflate")]
#[test]
fn layers_come_part_by_part_and_stay_for_the_next_session() {
    let mut fetch = Fetch::new();
    let cache = LayerCache::default();
    assert!(!fetch.session.keep_layers(&cache));
    fetch.session.fetch_layers();
    // Once, however often that is sent.
    fetch.session.fetch_layers();
    let hashes: Vec<u64> = fetch.infos.iter().map(|info| info.hash).collect();
    assert_eq!(fetch.asked(), hashes);
    for (hash, packed) in hashes.into_iter().zip(fetch.packed.clone()) {
        assert_eq!(fetch.session.layers(), None);
        let (first, rest) = packed.split_at(5);
        fetch.part(hash, 0, first).unwrap();
        fetch.part(hash, 5, rest).unwrap();
    }
    assert_eq!(fetch.session.layers(), Some(&fetch.schema.layers));
    assert_eq!(fetch.session.missing_layers().count(), 0);
    let mut next = Fetch::new();
    assert!(next.session.keep_layers(&cache));
    assert_eq!(next.session.layers(), Some(&next.schema.layers));
    next.session.fetch_layers();
    assert!(next.asked().is_empty());
}

#[cfg(feature = "inflate")]
#[test]
fn wrong_contents_end_the_session_with_what_was_expected() {
    let wrong = |change: &dyn Fn(&mut Fetch) -> Result<(), String>| {
        let mut fetch = Fetch::new();
        fetch.session.fetch_layers();
        let error = change(&mut fetch).unwrap_err();
        assert_eq!(fetch.session.layers(), None);
        error
    };
    let unknown = wrong(&|fetch| fetch.part(7, 0, &[1]));
    let expected = "the world has no layer with the hash 0000000000000007";
    assert!(unknown.contains(expected), "{unknown}");
    let behind = wrong(&|fetch| fetch.part(fetch.infos[0].hash, 1, &[1]));
    assert!(behind.contains("is not the next one"), "{behind}");
    let long = wrong(&|fetch| fetch.part(fetch.infos[0].hash, 0, &[0; 500]));
    assert!(long.contains("is not the next one"), "{long}");
    let damaged = wrong(&|fetch| {
        let mut packed = fetch.packed[0].clone();
        packed.iter_mut().for_each(|byte| *byte ^= 0x55);
        fetch.part(fetch.infos[0].hash, 0, &packed)
    });
    let expected = "the layer `blocked` is not a zlib stream of 3 bytes";
    assert!(damaged.contains(expected), "{damaged}");
}

#[test]
fn what_nobody_asked_for_is_refused() {
    let mut fetch = Fetch::new();
    let hash = fetch.infos[0].hash;
    assert!(fetch.part(hash, 0, &[1]).is_err());
}

#[test]
fn a_caller_can_bring_the_contents_and_wrong_ones_change_nothing() {
    let mut fetch = Fetch::new();
    let raw = contents(&fetch.schema.layers);
    let error = fetch.session.put_layer(7, vec![]).unwrap_err();
    assert_eq!(error, LayerError::Unknown(7));
    let (info, content) = &raw[0];
    let mut damaged = content.clone();
    damaged[1] ^= 1;
    let error = fetch.session.put_layer(info.hash, damaged).unwrap_err();
    let expected = format!("expected {:016x}", info.hash);
    assert!(error.to_string().ends_with(&expected), "{error}");
    for (info, content) in raw {
        fetch.session.put_layer(info.hash, content).unwrap();
    }
    assert_eq!(fetch.session.layers(), Some(&fetch.schema.layers));
}

/// The room, whose walls scripts change.
fn soft() -> String {
    ROOM.replacen("drawing", "editable = true\ndrawing", 1)
}

#[test]
fn edits_hold_whether_they_come_before_the_contents_or_after() {
    use LayerKind::Blocked;
    let mut fetch = Fetch::of(&soft());
    assert!(fetch.schema.layers.is_editable(Blocked));
    let at = |x: i32, y: i32| [x * 4096, y * 4096, 0];
    fetch.edits(&[(Blocked, 7, 1), (Blocked, 9, 0)]).unwrap();
    fetch.edits(&[(Blocked, 9, 1)]).unwrap();
    for (info, content) in contents(&fetch.schema.layers) {
        fetch.session.put_layer(info.hash, content).unwrap();
    }
    let is_wall = |fetch: &Fetch, x, y| fetch.session.layers().unwrap().is_blocked(at(x, y));
    // Of rows of six cells.
    assert!(is_wall(&fetch, 1, 1) && is_wall(&fetch, 3, 1));
    fetch.edits(&[(Blocked, 7, 0), (Blocked, 0, 0)]).unwrap();
    assert!(!is_wall(&fetch, 1, 1) && !is_wall(&fetch, 0, 0));
    // What is as the content has it is no edit any more.
    fetch.edits(&[(Blocked, 0, 1)]).unwrap();
    let edits = fetch.session.layers().unwrap().edits();
    assert_eq!(edits.map(|edit| edit.cell).collect::<Vec<_>>(), [9]);
    // The next session begins with the content again.
    let cache = LayerCache::default();
    let mut next = Fetch::of(&soft());
    assert!(!next.session.keep_layers(&cache));
    for (info, content) in contents(&next.schema.layers) {
        next.session.put_layer(info.hash, content).unwrap();
    }
    next.edits(&[(Blocked, 7, 1)]).unwrap();
    let mut last = Fetch::of(&soft());
    assert!(last.session.keep_layers(&cache));
    assert!(!is_wall(&last, 1, 1));
}

#[test]
fn edits_of_what_no_script_changes_end_the_session() {
    use LayerKind::{Blocked, Height, Tag};
    for wrong in [(Blocked, 24, 1), (Height, 0, 1), (Tag, 0, 0)] {
        let error = Fetch::of(&soft()).edits(&[wrong]).unwrap_err();
        let expected = format!("an edit of the layer `{}`", wrong.0.name());
        assert!(error.contains(&expected), "{error}");
    }
    assert!(Fetch::new().edits(&[(Blocked, 7, 1)]).is_err());
}

#[test]
fn a_world_with_more_than_a_client_keeps_is_played_without_its_layers() {
    let schema = world_file::parse("[world]\nsize = [8192, 8192]\naoi = 10", "a large world")
        .expect("a valid world")
        .schema;
    let info = LayerInfo {
        kind: client_core::LayerKind::Height,
        cells: [8192; 2],
        edge_bits: 12,
        hash: 7,
        packed_bytes: 9,
        tags: vec![],
        is_editable: false,
    };
    let welcome = Welcome {
        tick: Tick(7),
        schema: schema.for_clients(),
        layers: vec![info],
        ..common::welcome()
    };
    let mut session = Session::new(&welcome).unwrap();
    assert!(session.keep_layers(&LayerCache::default()));
    session.fetch_layers();
    assert_eq!(session.stream_bytes(), b"");
    assert_eq!(session.put_layer(7, vec![]), Err(LayerError::Unknown(7)));
    assert_eq!(session.layers(), None);
}

#[test]
fn entities_in_view_block_their_cells_while_they_are_closed() {
    let file = format!(
        "{ROOM}\n[[kind]]\nname = \"player\"\n\
         [[kind]]\nname = \"gate\"\nblocks = [2, 1]\nattributes = [\
         {{ name = \"closed\", type = \"bool\", default = true, audience = \"state\" }}]\n"
    );
    let schema = world_file::parse(&file, "a room")
        .expect("a valid world")
        .schema;
    let (infos, _) = packed(&schema);
    let welcome = Welcome {
        schema: schema.for_clients(),
        layers: infos,
        doors: schema.doors.clone(),
        ..common::welcome()
    };
    let welcome = Welcome::decode(&shared::wire::codec::to_bytes(&welcome)).unwrap();
    let mut session = Session::new(&welcome).unwrap();
    let server = Server::of(&schema);
    let gate = EntityId::new(5, 1);
    let closed = schema.column("closed").unwrap() as u16;
    let enter = server.frame(12, |stream, writer| {
        let course = Course {
            tick: Tick(12),
            position: [3 << 12, 1 << 12, 0],
            velocity: [0; 3],
        };
        stream.enter(writer, gate, 1, false, &course, &[0, 0, 1]);
    });
    let walls = |session: &Session| {
        let layers = session.layers().unwrap();
        let row = (0..6).map(|x| layers.is_blocked([x << 12, 1 << 12, 0]));
        row.map(|is| if is { '#' } else { '.' }).collect::<String>()
    };
    // It enters before the layers are there.
    session.handle_stream(&enter, &mut ()).unwrap();
    for (info, content) in contents(&schema.layers) {
        session.put_layer(info.hash, content).unwrap();
    }
    assert_eq!(walls(&session), "#.##.#", "the wall at 2 is drawn");
    for (tick, is_closed, expected) in [(13, 0, "#.#..#"), (14, 1, "#.##.#")] {
        let state = server.frame(tick, |stream, writer| {
            stream.state(writer, gate.slot, [(closed, is_closed)].into_iter());
        });
        session.handle_stream(&state, &mut ()).unwrap();
        assert_eq!(walls(&session), expected);
    }
    let leave = server.frame(15, |stream, writer| stream.leave(writer, gate.slot));
    session.handle_stream(&leave, &mut ()).unwrap();
    assert_eq!(walls(&session), "#.#..#");
    assert_eq!(session.layers().unwrap().words(), schema.layers.words());
}

#[test]
fn doors_that_the_world_cannot_have_are_no_welcome() {
    let right = Door {
        kind: 0,
        cells: [1, 1],
        closed: None,
    };
    let welcome = |door: Door| {
        let welcome = Welcome {
            doors: vec![door],
            ..common::welcome()
        };
        Welcome::decode(&shared::wire::codec::to_bytes(&welcome)).map(|_| ())
    };
    assert_eq!(welcome(right), Ok(()));
    for wrong in [
        Door { kind: 99, ..right },
        Door {
            cells: [0, 1],
            ..right
        },
        Door {
            cells: [1, 33],
            ..right
        },
        Door {
            closed: Some(99),
            ..right
        },
    ] {
        assert!(welcome(wrong).is_err(), "{wrong:?}");
    }
}
