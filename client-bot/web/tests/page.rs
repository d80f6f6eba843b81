//! Whatever a page hands in, the client says so or does nothing; and what the page computes by
//! itself, where Node.js is there to run it.

use std::path::Path;
use std::process::Command;

use client_core::LossCode;
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
    assert!(events.contains("\"unreachable\""), "{events}");
}

#[test]
fn a_page_is_told_why_it_was_closed_by_a_code_and_not_by_a_sentence() {
    for (code, reason, name, is_tried_again) in [
        (
            9,
            "kicked by the operator: stop stealing tokens",
            "kicked",
            false,
        ),
        (12, "banned for another 60 seconds", "banned", false),
        (13, "the server requires a token", "unauthorized", false),
        (
            14,
            "too old [version=13 url=https://example.org]",
            "outdated",
            false,
        ),
        (2, "the server has no room for more clients", "full", true),
        (6, "the server is shutting down", "shutdown", true),
        (4_000, "", "other", true),
    ] {
        let mut client = Client::default();
        hand_in(&mut client, b"");
        client.begin(false, 1.0);
        assert_eq!(client.next_step(0.0), 1, "it connects");
        client.opened();
        hand_in(&mut client, reason.as_bytes());
        client.closed(code, 1.0);
        let length = client.poll(2.0);
        let events = &client.output()[..length];
        let events: serde_json::Value = serde_json::from_slice(events).expect("JSON");
        let lost = &events[0];
        assert_eq!(
            (&lost["type"], &lost["code"]),
            (&"lost".into(), &name.into())
        );
        assert_eq!(lost["retry_ms"].is_number(), is_tried_again, "{lost}");
        assert!(
            lost["words"]
                .as_str()
                .is_some_and(|words| !words.is_empty())
        );
        if name == "outdated" {
            assert_eq!(lost["text"], "too old");
            assert_eq!(lost["server_version"], 13);
            assert_eq!(lost["update_url"], "https://example.org");
        }
    }
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
fn what_the_page_computes_by_itself_is_right() {
    for name in [
        "steps",
        "camera",
        "gestures",
        "log",
        "look",
        "planes",
        "layers",
        "websocket",
    ] {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}.mjs"));
        let Ok(status) = Command::new("node").arg(tests).status() else {
            println!("skipped: there is no node");
            return;
        };
        assert!(status.success(), "{name}: {status}");
    }
}

#[test]
fn a_player_is_told_what_to_do_after_each_loss() {
    let banners = Path::new(env!("CARGO_MANIFEST_DIR")).join("page/banners.js");
    let banners = std::fs::read_to_string(banners).expect("a file of the page");
    for code in LossCode::ALL {
        let hint = format!("\n  {}: \"", code.name());
        assert!(banners.contains(&hint), "no hint for {}", code.name());
    }
}
