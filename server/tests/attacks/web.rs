//! Attacks on the port of the page and the dashboard: their cost is bounded, and counted.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::attacks::attacker::garbage;
use crate::attacks::field::{DASHBOARD_TOKEN, Field, scaled};
use crate::common::DEADLINE;

impl Field {
    /// How often the port has turned something away for this reason.
    fn refused(&self, reason: &str) -> f64 {
        self.figure(&format!("myriad_web_refused_total{{reason=\"{reason}\"}}"))
    }

    /// The status of the dashboard's answer to a request with a token.
    fn status(&self, viewer: usize, token: &str) -> u16 {
        let request = format!(
            "GET /dashboard/data/health?viewer={viewer} HTTP/1.1\r\nHost: a\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        status_of(&answer(self.page(), request.as_bytes()))
    }
}

fn open(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
    stream
}

/// The response until the end of the connection. The port may close before it has read
/// all.
fn answer(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = open(address);
    let _ = stream.write_all(request);
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status_of(answer: &str) -> u16 {
    let status = answer.split(' ').nth(1).unwrap_or_default();
    status.parse().unwrap_or(0)
}

#[tokio::test]
async fn slow_and_half_open_requests_end_in_time_and_others_are_answered_meanwhile() {
    let field = Field::start_with_page().await;
    let body = "POST /dashboard/do?viewer=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{";
    let mut held = vec![];
    for i in 0..40 {
        let mut stream = open(field.page());
        let part = match i % 4 {
            0 => "GET /dashboard/data/health?viewer=1 HTTP/1.1\r\nHo",
            1 => body,
            // Nothing more can come of it.
            2 => "GET / HTTP/1.1\r\n",
            _ => "",
        };
        stream.write_all(part.as_bytes()).unwrap();
        if i % 4 == 2 {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        held.push(stream);
    }
    assert_eq!(field.status(1, DASHBOARD_TOKEN), 200);
    // A byte now and then does not help.
    for _ in 0..20 {
        for stream in &mut held {
            let _ = stream.write_all(b"a");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    for mut stream in held {
        let mut rest = vec![];
        // A reset is an end, too.
        let _ = stream.read_to_end(&mut rest);
        let rest = String::from_utf8_lossy(&rest);
        assert!(!rest.starts_with("HTTP/1.1 200 "), "{rest}");
    }
    assert!(field.refused("slow") >= 20.0, "{}", field.refused("slow"));
    field.stands().await;
}

#[tokio::test]
async fn thousands_of_sockets_take_each_others_places() {
    let field = Field::start_with_page().await;
    let sockets = 3000;
    let held: Vec<TcpStream> = (0..sockets).map(|_| open(field.page())).collect();
    assert_eq!(field.status(1, DASHBOARD_TOKEN), 200);
    // All but those that have a place.
    let crowded = field.refused("crowded");
    assert!(crowded >= f64::from(sockets - 64), "{crowded}");
    drop(held);
    field.stands().await;
}

#[tokio::test]
async fn huge_and_senseless_requests_are_refused_and_counted() {
    let field = Field::start_with_page().await;
    let post = |length: usize, body: &str| {
        format!(
            "POST /dashboard/do?viewer=1 HTTP/1.1\r\nHost: a\r\n\
             Content-Type: application/json\r\nAuthorization: Bearer {DASHBOARD_TOKEN}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    };
    let rounds = scaled(8);
    for seed in 0..rounds as u64 {
        let headers: String = (0..5000).map(|i| format!("h{i}: {i}\r\n")).collect();
        let long = "a".repeat(200_000);
        for request in [
            garbage(seed, 500),
            format!("GET /dashboard/{long} HTTP/1.1\r\n\r\n").into_bytes(),
            format!("GET /dashboard HTTP/1.1\r\n{headers}\r\n").into_bytes(),
            b"DELETE /dashboard/do HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            b"POST /dashboard HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345".to_vec(),
            post(long.len(), &long).into_bytes(),
            post(usize::MAX >> 1, "{").into_bytes(),
            post(9, "[[[[[[[[[").into_bytes(),
        ] {
            let answer = answer(field.page(), &request);
            let status = status_of(&answer);
            assert!(
                answer.is_empty() || (400..500).contains(&status),
                "{answer}"
            );
        }
    }
    let rounds = rounds as f64;
    assert!(
        field.refused("large") >= 2.0 * rounds,
        "{}",
        field.refused("large")
    );
    let malformed = field.refused("malformed");
    assert!(malformed >= 4.0 * rounds, "{malformed}");
    field.stands().await;
}

#[tokio::test]
async fn tokens_are_guessed_ten_times_and_then_not_checked() {
    let field = Field::start_with_page().await;
    let statuses: Vec<u16> = (0..scaled(50))
        .map(|guess| field.status(1, &format!("guess-{guess}")))
        .collect();
    assert_eq!(statuses[..10], [401; 10]);
    assert!(
        statuses[10..]
            .iter()
            .all(|status| [401, 429].contains(status))
    );
    assert!(statuses[10..].contains(&429));
    let wrong = statuses.iter().filter(|status| **status == 401).count();
    assert_eq!(field.refused("token"), wrong as f64);
    assert_eq!(field.refused("guessing"), (statuses.len() - wrong) as f64);
    field.stands().await;
}

#[tokio::test]
async fn dashboards_beyond_the_most_are_turned_away_and_so_are_those_that_ask_too_often() {
    let field = Field::start_with_page().await;
    let statuses: Vec<u16> = (0..40)
        .map(|viewer| field.status(viewer, DASHBOARD_TOKEN))
        .collect();
    assert_eq!(statuses[..16], [200; 16]);
    assert_eq!(field.refused("viewers"), 24.0);
    let often = (0..400).filter(|_| field.status(3, DASHBOARD_TOKEN) == 429);
    assert_eq!(often.count() as f64, field.refused("often"));
    assert!(field.refused("often") > 0.0);
    field.stands().await;
}
