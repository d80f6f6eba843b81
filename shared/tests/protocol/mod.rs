//! The protocol on paper (`shared/PROTOCOL.md`) says what the code does: each layout has golden
//! bytes in `golden.json`, which the document cites by name.
//!
//! `UPDATE_GOLDEN=1 cargo test -p shared --test it protocol` writes the golden bytes again, after a
//! change of a layout that is meant. Such a change needs another `PROTOCOL_VERSION`.
//!
//! | module | holds |
//! | --- | --- |
//! | [`case`] | a golden case, and the file of all |
//! | [`world`] | the worlds of the cases |
//! | [`numbers`] | cases of numbers and bit fields |
//! | [`handshake`] | hello, welcome, the hash of a schema |
//! | [`requests`] | what follows the hello |
//! | [`commands`] | datagrams of clients |
//! | [`stream`] | frames, one for each message |
//! | [`movement`] | datagrams of servers |
//! | [`decoders`] | how messages are written, from the other tests |
//! | [`document`] | tables of the document, compared with the code |

mod case;
mod commands;
mod document;
mod handshake;
mod movement;
mod numbers;
mod requests;
mod stream;
mod world;

use std::collections::BTreeSet;
use std::path::Path;

use case::{Case, file_of};
use shared::wire::{ALPNS, PROTOCOL_VERSION, PROTOCOL_VERSION_MIN, SERVER_ALPNS};

fn cases() -> Vec<Case> {
    [
        numbers::cases(),
        handshake::cases(),
        requests::cases(),
        commands::cases(),
        stream::cases(),
        movement::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn bytes_are_those_of_the_golden_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protocol/golden.json");
    let expected = file_of(&cases());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &expected).expect("the golden file is written");
    }
    let found = std::fs::read_to_string(&path).expect("the golden file");
    let lines = expected.lines().zip(found.lines());
    let first = lines.clone().position(|(a, b)| a != b);
    if let Some((expected, found)) = first.and_then(|first| lines.clone().nth(first)) {
        panic!("golden.json has\n{found}\nwhere the code writes\n{expected}");
    }
    assert_eq!(found.len(), expected.len(), "golden.json has other cases");
}

#[test]
fn the_first_alpn_names_the_version() {
    let expected = format!("myriad/1.{PROTOCOL_VERSION}");
    assert_eq!(ALPNS, [expected.as_bytes(), b"myriad/1"]);
    let versions = (PROTOCOL_VERSION_MIN..=PROTOCOL_VERSION).rev();
    let versions = versions.map(|version| format!("myriad/1.{version}").into_bytes());
    let of_server: Vec<Vec<u8>> = versions.chain([b"myriad/1".to_vec()]).collect();
    assert_eq!(SERVER_ALPNS.map(<[u8]>::to_vec).to_vec(), of_server);
}

#[test]
fn every_golden_case_is_in_the_document_and_every_one_in_the_document_exists() {
    let cases = cases();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "two cases have the same name");
    assert_eq!(document::golden_names(), names);
}
