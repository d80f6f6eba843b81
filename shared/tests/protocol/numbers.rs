//! Golden cases of numbers and bit fields.

use serde::Serialize;
use shared::wire::bits::{BitReader, BitWriter};
use shared::wire::{DecodeError, codec, length};

use crate::protocol::case::Case;

#[derive(Serialize)]
struct Field {
    bits: u32,
    value: u64,
}

#[derive(Serialize)]
struct Rice {
    parameter: u32,
    value: u32,
}

pub fn cases() -> Vec<Case> {
    vec![
        integers(),
        signed_integers(),
        lengths(),
        fields(),
        small(),
        signed(),
        rice(),
        longer(
            "longer-integer",
            "7 as an integer of 2 bytes",
            vec![251, 7, 0],
        ),
        longer("longer-length", "7 as a length of 2 bytes", vec![0x87, 0]),
        longer(
            "longer-small",
            "7 as a small number of 4 bits",
            vec![0xc4, 1],
        ),
        longer(
            "longer-rice",
            "7 as an escaped Rice code of parameter 0",
            vec![0xff, 0xff, 0xff, 7, 0, 0, 0],
        ),
    ]
}

/// Bytes that no reader takes: a number in a longer form than it needs.
fn longer(name: &'static str, text: &'static str, bytes: Vec<u8>) -> Case {
    Case::new(name, text, bytes, &())
}

fn integers() -> Case {
    let all = [0u64, 250, 251, 65_535, 65_536, 1 << 32];
    let bytes = all.iter().flat_map(codec::to_bytes).collect();
    Case::new(
        "integers",
        "integers of serialised messages, one after the other",
        bytes,
        &all,
    )
}

fn signed_integers() -> Case {
    let all = [0i32, -1, 1, -125, 125, -126, 40_000, i32::MIN];
    let bytes = all.iter().flat_map(codec::to_bytes).collect();
    let text = "signed integers of serialised messages, one after the other";
    Case::new("integers-signed", text, bytes, &all)
}

fn lengths() -> Case {
    let all = [0usize, 127, 128, 16_383, 16_384, 1 << 20];
    let mut bytes = vec![];
    for &each in &all {
        length::put(each, &mut bytes);
    }
    Case::new(
        "lengths",
        "lengths of frames, one after the other",
        bytes,
        &all,
    )
}

fn fields() -> Case {
    let field = |bits, value| Field { bits, value };
    let fields = [
        field(1, 1),
        field(4, 0b1010),
        field(16, 0xbeef),
        field(0, 0),
        field(32, 0x0102_0304),
        field(3, 5),
    ];
    written("fields", "bit fields", &fields, |writer| {
        for field in &fields {
            writer.put(field.value, field.bits);
        }
    })
}

fn small() -> Case {
    let all = [0u32, 1, 2, 255, 256, u32::MAX];
    written("small", "small numbers", &all, |writer| {
        for &each in &all {
            writer.put_small(each);
        }
    })
}

fn signed() -> Case {
    let all = [0i32, -1, 1, -2, 4096, i32::MIN];
    written("signed", "signed numbers", &all, |writer| {
        for &each in &all {
            writer.put_signed(each);
        }
    })
}

fn rice() -> Case {
    let code = |parameter, value| Rice { parameter, value };
    let codes = [
        code(0, 0),
        code(0, 3),
        code(2, 9),
        code(5, 31),
        code(1, 47),
        code(1, 48),
    ];
    written(
        "rice",
        "Rice codes; the last one is escaped",
        &codes,
        |writer| {
            for code in &codes {
                writer.put_rice(code.value, code.parameter);
            }
        },
    )
}

fn written(
    name: &'static str,
    text: &'static str,
    value: &impl Serialize,
    write: impl FnOnce(&mut BitWriter),
) -> Case {
    let mut writer = BitWriter::default();
    write(&mut writer);
    let mut bytes = vec![];
    writer.finish_into(&mut bytes);
    Case::new(name, text, bytes, value)
}

#[test]
fn numbers_in_longer_forms_than_they_need_are_refused() {
    let bytes = |name: &str| {
        let case = cases().into_iter().find(|case| case.name == name);
        case.expect("a golden case").bytes
    };
    let too_long = |what| DecodeError::NotShortest(what);
    let integer = codec::from_wire::<64, u64>(&bytes("longer-integer"));
    assert_eq!(integer, Err(too_long("an integer")));
    let length = bytes("longer-length");
    assert_eq!(length::split(&length, 64), Err(too_long("a length")));
    let small = bytes("longer-small");
    let small = BitReader::new(&small).get_small();
    assert_eq!(small, Err(too_long("a small number")));
    let rice = bytes("longer-rice");
    let rice = BitReader::new(&rice).get_rice(0);
    assert_eq!(rice, Err(too_long("a Rice code")));
}

#[test]
fn an_escaped_rice_code_is_read_as_it_was_written() {
    let mut writer = BitWriter::default();
    writer.put_rice(48, 1);
    assert_eq!(writer.bit_len(), 24 + 32);
    let mut bytes = vec![];
    writer.finish_into(&mut bytes);
    assert_eq!(BitReader::new(&bytes).get_rice(1), Ok(48));
}
