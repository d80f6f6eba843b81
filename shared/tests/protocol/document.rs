//! The document, and its tables that repeat numbers of the code.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use shared::Refusal;
use shared::wire::close::{CLOSE_REASON_BYTES_MAX, UPDATE_URL_BYTES_MAX};
use shared::wire::commands::{COMMAND_TICKS_MAX, COMMANDS_MAX};
use shared::wire::control::{
    ADDRESS_BYTES_MAX, Close, FORECAST_BYTES_MAX, HELLO_BYTES_MAX, Interface, SERVERS_MAX,
    TOKEN_BYTES_MAX,
};
use shared::wire::layers::{LAYER_BYTES_MAX, LAYER_PACKED_BYTES_MAX};
use shared::wire::movement::{BASE_TICKS_MAX, PARTS_MAX};
use shared::wire::request::{ANSWER_BYTES_MAX, REQUEST_BYTES_MAX, TEXTS_MAX};
use shared::wire::talk::{CHANNEL_MEMBERS_MAX, TALK_BYTES_MAX};
use shared::wire::{DATAGRAM_BYTES_MAX, FRAME_BYTES_MAX, PROTOCOL_VERSION};
use shared::world::command::COMMAND_WORDS_MAX;
use shared::world::course::VELOCITY_MAX;
use shared::world::notification::NOTIFICATION_WORDS_MAX;
use shared::world::talk::{NAME_BYTES_MAX, TEXT_BYTES_MAX};
use shared::world::words::LENGTH_MAX;

use crate::protocol::handshake::{first, layers_of_flat, plain, planes_of_flat, rankings_of_flat};
use crate::protocol::world::flat;

const DOCUMENT: &str = include_str!("../../PROTOCOL.md");

/// The cases that the document cites: the words in backquotes of its paragraphs behind the words
/// about golden bytes.
pub fn golden_names() -> BTreeSet<&'static str> {
    let paragraphs = DOCUMENT.split("\n\n");
    let lines = paragraphs.filter_map(|paragraph| Some(paragraph.split_once("Golden bytes:")?.1));
    lines
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

/// The rows of the table with this heading: the first two cells of each, in their order.
pub fn table(heading: &str) -> Vec<(&'static str, &'static str)> {
    let lines = DOCUMENT
        .lines()
        .skip_while(|line| !line.starts_with(heading));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells = row.trim_matches('|').split('|');
        let mut cells = cells.map(|cell| cell.trim().trim_matches('`'));
        let mut cell = || cells.next().expect("a cell");
        (cell(), cell())
    })
    .collect()
}

fn assert_table(heading: &str, expected: &[(&'static str, u64)]) {
    let number = |text: &str| text.replace(',', "").parse().expect(heading);
    let found = table(heading).into_iter();
    let found: Vec<(&str, u64)> = found.map(|(name, cell)| (name, number(cell))).collect();
    assert_eq!(found, expected, "{heading}");
}

#[test]
fn limits_are_those_of_the_code() {
    assert_table(
        "| limit |",
        &[
            ("protocol version", PROTOCOL_VERSION.into()),
            ("bytes of a datagram", DATAGRAM_BYTES_MAX as u64),
            (
                "bytes of a frame or a welcome, without its length",
                FRAME_BYTES_MAX as u64,
            ),
            (
                "bytes of a hello, without its length",
                HELLO_BYTES_MAX as u64,
            ),
            ("bytes of a token", TOKEN_BYTES_MAX as u64),
            (
                "bytes of a request, without its length",
                REQUEST_BYTES_MAX as u64,
            ),
            ("bytes of the reason in an answer", ANSWER_BYTES_MAX as u64),
            ("bytes of a forecast", FORECAST_BYTES_MAX as u64),
            ("bytes of a server's address", ADDRESS_BYTES_MAX as u64),
            ("other servers", SERVERS_MAX as u64),
            (
                "bytes of the sentence of a close",
                CLOSE_REASON_BYTES_MAX as u64,
            ),
            (
                "bytes of an address for updates",
                UPDATE_URL_BYTES_MAX as u64,
            ),
            (
                "bytes of what a talk message carries",
                TALK_BYTES_MAX as u64,
            ),
            (
                "bytes of a name of a player or channel",
                NAME_BYTES_MAX as u64,
            ),
            ("bytes of a text that is said", TEXT_BYTES_MAX as u64),
            ("bytes of a text of an attribute", LENGTH_MAX.into()),
            ("texts that a request asks for", TEXTS_MAX as u64),
            ("members of a channel", CHANNEL_MEMBERS_MAX as u64),
            ("commands in a datagram", COMMANDS_MAX as u64),
            (
                "distance of a command's tick from the server's, in ticks, less than",
                COMMAND_TICKS_MAX.into(),
            ),
            ("words of a command", COMMAND_WORDS_MAX as u64),
            ("words of a notification", NOTIFICATION_WORDS_MAX as u64),
            ("bytes of a layer's content", LAYER_BYTES_MAX as u64),
            (
                "bytes of a layer's content, packed",
                LAYER_PACKED_BYTES_MAX as u64,
            ),
            ("movement datagrams of a tick", PARTS_MAX as u64),
            ("age of a base, in ticks", BASE_TICKS_MAX.into()),
            (
                "velocity along an axis, in raw units a tick",
                VELOCITY_MAX as u64,
            ),
        ],
    );
}

#[test]
fn refusals_are_those_of_the_code() {
    let expected = Refusal::ALL.map(|refusal| {
        let name = match refusal {
            Refusal::Idle => "Idle",
            Refusal::Dead => "Dead",
            Refusal::OverPerTick => "OverPerTick",
            Refusal::Resting => "Resting",
            Refusal::BeyondLimits => "BeyondLimits",
            Refusal::OverQuota => "OverQuota",
            Refusal::TooEarly => "TooEarly",
            Refusal::TooLate => "TooLate",
            Refusal::Unmet => "Unmet",
            Refusal::Moved => "Moved",
        };
        (name, refusal as u64)
    });
    assert_table("| reason |", &expected);
}

#[test]
fn close_codes_are_those_of_the_code() {
    // A code that is new must be added to the document.
    let name = |close: Close| match close {
        Close::Bye => "Bye",
        Close::Refused => "Refused",
        Close::Full => "Full",
        Close::Malformed => "Malformed",
        Close::TooSlow => "TooSlow",
        Close::Resumed => "Resumed",
        Close::Shutdown => "Shutdown",
        Close::Removed => "Removed",
        Close::Replaced => "Replaced",
        Close::Kicked => "Kicked",
        Close::Starting => "Starting",
        Close::Standby => "Standby",
        Close::Banned => "Banned",
        Close::Unauthorized => "Unauthorized",
        Close::Outdated => "Outdated",
        Close::SchemaMismatch => "SchemaMismatch",
        Close::TooOften => "TooOften",
    };
    let expected = Close::ALL.map(|close| (name(close), close.code().into()));
    assert_table("| close code |", &expected);
}

#[test]
fn fields_are_those_of_the_code_in_their_order() {
    let welcome = first(flat());
    let schema = &welcome.schema;
    let interface = Interface {
        commands_epoch: 1,
        commands: vec![],
        notifications: vec![],
        constants: vec![],
        forecast: vec![],
        reasons: vec![],
    };
    for (heading, fields) in [
        ("| field of the hello |", fields(&plain())),
        ("| field of the welcome |", fields(&welcome)),
        ("| field of quotas |", fields(&welcome.quotas)),
        ("| field of the schema |", fields(schema)),
        ("| field of the world |", fields(&schema.world)),
        ("| field of an attribute |", fields(&schema.attributes[0])),
        ("| field of a kind |", fields(&schema.kinds[0])),
        ("| field of a zone |", fields(&schema.zones[0])),
        ("| field of a constant |", fields(&schema.constants[0])),
        ("| field of a command |", fields(&schema.commands[0])),
        (
            "| field of a notification |",
            fields(&schema.notifications[0]),
        ),
        ("| field of an interface |", fields(&interface)),
        ("| field of a layer |", fields(&layers_of_flat()[0])),
        ("| field of a ranking |", fields(&rankings_of_flat()[0])),
        ("| field of planes |", fields(&planes_of_flat())),
        ("| field of a group |", fields(&planes_of_flat().groups[0])),
    ] {
        let table = table(heading);
        let found: Vec<&str> = table.iter().map(|row| row.0).collect();
        assert_eq!(found, fields, "{heading}");
    }
}

/// The names of a structure's fields, in their order.
fn fields(value: &impl Serialize) -> Vec<String> {
    let json = serde_json::to_string(value).expect("a structure");
    let Names(names) = serde_json::from_str(&json).expect("an object");
    names
}

struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(object: D) -> Result<Names, D::Error> {
        object.deserialize_map(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Names, A::Error> {
        let mut names = vec![];
        while let Some((name, IgnoredAny)) = object.next_entry()? {
            names.push(name);
        }
        Ok(Names(names))
    }
}
