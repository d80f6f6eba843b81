#![no_main]

//! What a standby and its primary say to each other: any bytes are read or refused, however
//! they are cut, and what was read is written as it was read. The first byte says how they
//! are cut.

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use peer::frames::{Decode, FrameError, FrameReader};
use standby::link::{LinkError, ToPrimary, ToStandby};

fuzz_target!(|bytes: &[u8]| {
    let Some((&step, bytes)) = bytes.split_first() else {
        return;
    };
    let step = usize::from(step) + 1;
    check(bytes, step, ToPrimary::reader, ToPrimary::encode);
    check(bytes, step, ToStandby::reader, ToStandby::encode);
});

fn check<M: Decode<Error = LinkError> + PartialEq + Debug>(
    bytes: &[u8],
    step: usize,
    reader: fn() -> FrameReader,
    encode: fn(&M) -> Vec<u8>,
) {
    let whole = read::<M>(bytes, bytes.len().max(1), reader());
    assert_eq!(whole, read(bytes, step, reader()));
    for message in whole.0 {
        let again = read(&encode(&message), step, reader());
        assert_eq!(again, (vec![message], None));
    }
}

/// The messages up to the first that is refused.
fn read<M: Decode>(
    bytes: &[u8],
    step: usize,
    mut reader: FrameReader,
) -> (Vec<M>, Option<FrameError<M::Error>>) {
    let mut messages = vec![];
    for part in bytes.chunks(step) {
        reader.push(part);
        loop {
            match reader.message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(refusal) => return (messages, Some(refusal)),
            }
        }
    }
    (messages, None)
}
