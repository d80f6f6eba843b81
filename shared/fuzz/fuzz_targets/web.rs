#![no_main]

//! Whatever a browser says around its session is read or rejected, wherever it is cut, and
//! little of it is kept.

use libfuzzer_sys::fuzz_target;
use quic::web::browser::try_any;

fuzz_target!(|data: &[u8]| try_any(data));
