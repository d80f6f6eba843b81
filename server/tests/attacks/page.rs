//! Attacks on the port of the metrics.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::attacks::attacker::garbage;
use crate::attacks::field::{Field, scaled, scrape};
use crate::common::DEADLINE;

#[tokio::test]
async fn a_reader_gets_the_page_while_others_hold_all_connections() {
    let field = Field::start().await;
    for _ in 0..scaled(2) {
        let mut held = vec![];
        for i in 0..64 {
            let mut stream = open(field.metrics);
            match i % 3 {
                // Headers that never end; no word at all.
                0 => stream.write_all(b"GET /metrics HTTP/1.1\r\nHo").unwrap(),
                1 => {}
                // The page is requested, and never read.
                _ => stream
                    .write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
                    .unwrap(),
            }
            held.push(stream);
        }
        assert!(scrape(field.metrics).is_some(), "the page is not given");
        drop(held);
    }
    field.stands().await;
}

#[tokio::test]
async fn nonsense_to_the_port_of_the_metrics_is_answered_with_an_error_or_not_at_all() {
    let field = Field::start().await;
    for seed in 0..scaled(40) as u64 {
        let request = match seed % 5 {
            0 => garbage(seed, 500),
            1 => format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(200_000)).into_bytes(),
            2 => {
                let headers: String = (0..5000).map(|i| format!("h{i}: {i}\r\n")).collect();
                format!("GET /metrics HTTP/1.1\r\n{headers}\r\n").into_bytes()
            }
            3 => b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\nx".to_vec(),
            _ => b"DELETE /metrics HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
        };
        let mut stream = open(field.metrics);
        // The port may close before it has read all.
        let _ = stream.write_all(&request);
        let mut answer = vec![];
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    field.stands().await;
}

fn open(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
    stream
}
