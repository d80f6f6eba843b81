#![no_main]

use libfuzzer_sys::fuzz_target;
use shared_fuzz::decoders;

fuzz_target!(|message: &[u8]| decoders::hello(message));
