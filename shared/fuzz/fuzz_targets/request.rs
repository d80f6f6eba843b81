#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::request::RequestReader;

// The first byte is the offset at which the rest is cut in two.
fuzz_target!(|data: &[u8]| {
    let Some((&cut, bytes)) = data.split_first() else {
        return;
    };
    let (head, tail) = bytes.split_at(usize::from(cut).min(bytes.len()));
    let mut reader = RequestReader::default();
    let mut read = vec![];
    for part in [head, tail] {
        reader.push(part);
        loop {
            match reader.next_request() {
                Ok(Some(request)) => read.push(request),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
    let mut again = vec![];
    for request in &read {
        request.encode(&mut again);
    }
    let mut reader = RequestReader::default();
    reader.push(&again);
    for request in read {
        assert_eq!(reader.next_request(), Ok(Some(request)));
    }
});
