#![no_main]

use libfuzzer_sys::fuzz_target;
use shared_fuzz::decoders;

// The first byte is the offset at which the rest is cut in two.
fuzz_target!(|data: &[u8]| {
    if let Some((&cut, bytes)) = data.split_first() {
        decoders::requests(bytes, usize::from(cut));
    }
});
