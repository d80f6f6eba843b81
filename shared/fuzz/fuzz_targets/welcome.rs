#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::codec;
use shared::wire::control::{WELCOME_BYTES_MAX, Welcome};

fuzz_target!(|message: &[u8]| {
    if let Ok(read) = codec::from_bytes::<WELCOME_BYTES_MAX, Welcome>(message) {
        let again = codec::to_bytes(&read);
        assert!(again.len() <= message.len());
        assert_eq!(
            codec::from_bytes::<WELCOME_BYTES_MAX, Welcome>(&again),
            Ok(read)
        );
    }
});
