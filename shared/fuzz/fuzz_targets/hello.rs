#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::codec;
use shared::wire::control::Hello;

fuzz_target!(|message: &[u8]| {
    let version = Hello::version(message);
    if let Ok(read) = Hello::decode(message) {
        assert_eq!(version, Ok(read.version));
        let again = codec::to_bytes(&read);
        assert!(again.len() <= message.len());
        assert_eq!(Hello::decode(&again), Ok(read));
    }
});
