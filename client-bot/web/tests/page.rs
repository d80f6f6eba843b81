//! Whatever a page hands in, the client says so or does nothing; and what the page computes by
//! itself, where Node.js is there to run it.

use std::path::Path;
use std::process::Command;

use client_web::client::Client;

/// Times that are none, and some that are.
const TIMES: [f64; 6] = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 5.0];

fn hand_in(client: &mut Client, bytes: &[u8]) {
    client.room(bytes.len()).copy_from_slice(bytes);
}

#[test]
fn a_page_may_ask_anything_before_it_is_in_the_world() {
    let mut client = Client::default();
    for time in TIMES {
        assert_eq!(client.poll(time), 0);
        assert_eq!(client.input_due(time), -1.0);
        assert_eq!(client.rest(u32::MAX, time), 0.0);
        assert_eq!(client.give_datagram(time), 0);
        let length = client.quality();
        let quality = &client.output()[..length];
        let quality: serde_json::Value = serde_json::from_slice(quality).expect("JSON");
        assert_eq!(quality["is_playing"], false);
    }
    assert_eq!(client.entities(-1), 0);
    assert_eq!(client.entities(i32::MAX), 0);
    assert_eq!(client.schema(), 0);
    assert_eq!(client.entity(u32::MAX), 0);
    assert_eq!(client.ticket(), 0);
    hand_in(&mut client, &[1, 2, 3]);
    let length = client.command(u32::MAX);
    assert_eq!(
        &client.output()[..length],
        b"the client is not in the world"
    );
}

#[test]
fn bytes_that_are_no_welcome_are_an_error_and_not_an_end() {
    let mut client = Client::default();
    hand_in(&mut client, b"open sesame");
    client.begin(false, 1.0);
    assert_eq!(client.next_step(0.0), 1, "it connects");
    client.opened();
    assert!(client.give_stream() > 0, "a hello");
    hand_in(&mut client, &[0xff; 100]);
    let length = client.take_stream(1.0);
    assert!(length > 0);
    assert!(std::str::from_utf8(&client.output()[..length]).is_ok());
    hand_in(&mut client, "gone".as_bytes());
    client.closed(-1, 2.0);
    let length = client.poll(3.0);
    let events = String::from_utf8(client.output()[..length].to_vec()).expect("text");
    assert!(
        events.contains("\"lost\"") && events.contains("gone"),
        "{events}"
    );
}

#[test]
fn a_ticket_behind_the_token_is_kept_and_one_too_short_is_none() {
    let mut client = Client::default();
    hand_in(&mut client, b"token-0123456789abcdef");
    client.begin(true, 1.0);
    assert_eq!(client.ticket(), 16);
    assert_eq!(client.output(), b"0123456789abcdef");
    hand_in(&mut client, b"short");
    client.begin(true, 1.0);
    assert_eq!(client.ticket(), 0);
}

#[test]
fn the_page_steps_as_far_in_all_directions_and_stays_in_its_world() {
    let steps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/steps.mjs");
    let Ok(status) = Command::new("node").arg(steps).status() else {
        println!("skipped: there is no node");
        return;
    };
    assert!(status.success(), "{status}");
}
