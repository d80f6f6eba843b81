//! What several tests do with the library.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use client_bot::connect::fingerprint;
use myriad_client::connection::{MyriadOptions, myriad_connect, myriad_poll};
use myriad_client::failure::myriad_error;
use myriad_client::schema::{MyriadSchema, myriad_schema};
use myriad_client::{MyriadClient, MyriadStatus};
use server::Server;

/// Why the last call of this thread failed.
pub fn sentence() -> String {
    let text = unsafe { CStr::from_ptr(myriad_error()) };
    text.to_str().expect("UTF-8").to_owned()
}

/// A client in the world of a server.
pub fn join(server: &Server) -> MyriadClient {
    let address = CString::new(server.address().to_string()).expect("no zero bytes");
    let digits = fingerprint(server.certificate()).map(|byte| format!("{byte:02x}"));
    let digits = CString::new(digits.concat()).expect("no zero bytes");
    let options = MyriadOptions {
        server: address.as_ptr(),
        server_name: c"localhost".as_ptr(),
        fingerprint: digits.as_ptr(),
        authority: null(),
        any_certificate: false,
        token: null(),
        name: null(),
        spectates: false,
        ticket: null(),
        attempts: 0,
        bindings: std::ptr::null(),
    };
    let mut client = 0;
    let status = unsafe { myriad_connect(&options, &mut client) };
    assert_eq!(status, MyriadStatus::Ok, "{}", sentence());
    let end = Instant::now() + Duration::from_secs(30);
    let mut schema = MyriadSchema::default();
    while unsafe { myriad_schema(client, &mut schema, null_mut(), 0) } != MyriadStatus::Ok {
        assert!(Instant::now() < end, "{}", sentence());
        assert_eq!(myriad_poll(client), MyriadStatus::Ok);
        std::thread::sleep(Duration::from_millis(10));
    }
    client
}
