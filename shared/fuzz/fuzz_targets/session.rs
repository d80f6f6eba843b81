#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::session::MessageReader;

// The first byte says where the rest is cut in two.
fuzz_target!(|data: &[u8]| {
    let Some((&cut, bytes)) = data.split_first() else {
        return;
    };
    let (head, tail) = bytes.split_at(usize::from(cut).min(bytes.len()));
    let mut reader = MessageReader::default();
    let mut read = vec![];
    for part in [head, tail] {
        reader.push(part);
        loop {
            match reader.next_message() {
                Ok(Some(message)) => read.push(message),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
    let mut again = vec![];
    for message in &read {
        message.encode(&mut again);
    }
    let mut reader = MessageReader::default();
    reader.push(&again);
    for message in read {
        assert_eq!(reader.next_message(), Ok(Some(message)));
    }
});
