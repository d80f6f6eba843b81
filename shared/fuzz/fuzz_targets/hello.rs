#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::codec;
use shared::wire::control::{HELLO_BYTES_MAX, Hello};

fuzz_target!(|message: &[u8]| {
    if let Ok(read) = codec::from_bytes::<HELLO_BYTES_MAX, Hello>(message) {
        let again = codec::to_bytes(&read);
        assert!(again.len() <= message.len());
        assert_eq!(
            codec::from_bytes::<HELLO_BYTES_MAX, Hello>(&again),
            Ok(read)
        );
    }
});
