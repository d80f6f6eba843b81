#![no_main]

//! What a standby and its primary say to each other: any bytes are read or refused, however
//! they are cut, and what was read is written as it was read. The first byte says how they
//! are cut.

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use standby::link::{Decode, LinkError, Reader, ToPrimary, ToStandby};

fuzz_target!(|bytes: &[u8]| {
    let Some((&step, bytes)) = bytes.split_first() else {
        return;
    };
    let step = usize::from(step) + 1;
    check(bytes, step, ToPrimary::encode);
    check(bytes, step, ToStandby::encode);
});

fn check<M: Decode + PartialEq + Debug>(bytes: &[u8], step: usize, encode: fn(&M) -> Vec<u8>) {
    let whole = read::<M>(bytes, bytes.len().max(1));
    assert_eq!(whole, read(bytes, step));
    for message in whole.0 {
        let again = read(&encode(&message), step);
        assert_eq!(again, (vec![message], None));
    }
}

/// The messages up to the first that is refused.
fn read<M: Decode>(bytes: &[u8], step: usize) -> (Vec<M>, Option<LinkError>) {
    let (mut reader, mut messages) = (Reader::default(), vec![]);
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
