//! Load tests as operators run them: in stages, of accounts, shared by several machines.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use accounts::signed::SignedTokens;
use clap::Parser;
use client_bot::cli::Arguments;
use client_bot::load::{self, Measured};
use client_bot::scrape::ServerSample;
use server::Server;

use crate::common::{DEADLINE, ROOM, free_address, scratch, start_with};

const KEY: &[u8] = b"a key of thirty-two bytes or more";

fn start() -> Server {
    start_with(ROOM, |options| {
        options.authenticator = Arc::new(SignedTokens::new(KEY).unwrap());
    })
}

/// The arguments of bots that reach a server with accounts.
fn arguments(server: &Server, more: &[&str]) -> Arguments {
    let key = scratch("load-test-account.key");
    std::fs::write(&key, KEY).unwrap();
    let address = server.address().to_string();
    let key = key.to_str().unwrap();
    let own = ["myriad-bot", &address, "--insecure", "--account-key", key];
    let own = own.into_iter().chain(more.iter().copied());
    Arguments::try_parse_from(own).unwrap()
}

/// Where the metrics of a server are read that has made twenty ticks each time.
fn metrics() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (stream, reading) in listener.incoming().zip(1..) {
            let mut stream = stream.unwrap();
            let mut request = [0; 64];
            let read = stream.read(&mut request).unwrap();
            assert!(request[..read].starts_with(b"GET /metrics HTTP/1.0\r\n"));
            let (count, sum) = (20 * reading, 0.06 * f64::from(reading));
            let body = format!(
                "# TYPE myriad_clients gauge\nmyriad_clients 7\n\
                 myriad_tick_seconds_sum {sum}\nmyriad_tick_seconds_count {count}\n"
            );
            write!(stream, "HTTP/1.1 200 OK\r\n\r\n{body}").unwrap();
        }
    });
    address
}

fn measure(arguments: &Arguments) -> Measured {
    load::measure(arguments).unwrap()
}

#[test]
fn bots_of_accounts_come_and_go_in_stages() {
    let server = start();
    let metrics = format!("http://{}/metrics", metrics());
    let page = scratch("load-test.html");
    let stages = ["--stage", "2s:12", "--stage", "2s:2", "--stage", "2s:9"];
    let shown = ["--html", page.to_str().unwrap(), "--metrics", &metrics];
    let arguments = arguments(&server, &[&stages[..], &shown[..]].concat());
    let Measured { report, samples } = measure(&arguments);
    assert_eq!(report.clients, 12);
    // Seven came a second time, as the entities of the same accounts.
    assert_eq!((report.joins, report.leaves), (19, 10), "{report:?}");
    let failed = [report.joins_failed, report.sessions_lost];
    assert_eq!(failed, [0, 0], "{:?}", report.examples);
    assert!(report.commands_sent > 0 && report.updates_delivered > 0);
    let bots: Vec<f64> = samples.iter().map(|sample| sample.bots).collect();
    assert!((5..=6).contains(&bots.len()), "{bots:?}");
    assert!(
        bots[1] > bots[3] && bots[3] < bots[bots.len() - 1],
        "{bots:?}"
    );
    let of_server = samples.iter().filter_map(|sample| sample.server.as_ref());
    let of_server: Vec<&ServerSample> = of_server.collect();
    assert!(of_server.len() > 2, "{of_server:?}");
    // Twenty ticks of 3 ms in the time between two readings.
    let is_right =
        |server: &&ServerSample| server.clients == 7.0 && (2.9..3.1).contains(&server.tick_ms);
    assert!(of_server.iter().all(is_right), "{of_server:?}");

    // The page is written by the program's own run.
    assert!(load::run(&arguments).unwrap());
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["The server's tick", "19 joins and 10 leaves"] {
        assert!(page.contains(part), "no {part} in:\n{page}");
    }
}

#[test]
fn machines_share_a_load_test_and_its_report() {
    let server = start();
    let meeting = free_address().to_string();
    let load = ["--clients", "9", "--seconds", "2", "--verify"];
    let coordinator = arguments(
        &server,
        &[&load[..], &["--workers", "2", "--workers-listen", &meeting]].concat(),
    );
    let worker = arguments(&server, &["--join", &meeting]);
    let measured = std::thread::scope(|scope| {
        let measured = scope.spawn(|| measure(&coordinator));
        is_turned_away(&meeting);
        let workers = [(); 2].map(|()| scope.spawn(|| load::run(&worker)));
        for worker in workers {
            assert!(worker.join().unwrap().unwrap());
        }
        measured.join().unwrap()
    });
    let Measured { report, samples } = measured;
    let counted = (
        report.clients,
        report.clients_connected,
        report.verify_errors,
    );
    assert_eq!(counted, (9, 9, 0), "{:?}", report.examples);
    assert!(report.verify_checked > 0);
    // One account each: none took another's place.
    assert_eq!((report.sessions_lost, report.joins), (0, 9));
    assert!(
        samples.iter().any(|sample| sample.bots == 9.0),
        "{samples:?}"
    );
}

/// Somebody who is no worker.
fn is_turned_away(meeting: &str) {
    let began = Instant::now();
    let mut stream = loop {
        match TcpStream::connect(meeting) {
            Ok(stream) => break stream,
            Err(error) => assert!(began.elapsed() < DEADLINE, "{meeting}: {error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let ended = stream.read(&mut [0; 8]);
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}

#[test]
fn options_of_a_load_that_do_not_fit_are_refused() {
    let parse = |more: &[&str]| {
        let own = ["myriad-bot", "127.0.0.1:1", "--insecure"];
        let all = own.into_iter().chain(more.iter().copied());
        Arguments::try_parse_from(all).unwrap_err().to_string()
    };
    let wrong = parse(&["--stage", "1000:30s"]);
    assert!(
        wrong.contains("expected TIME:BOTS such as `30s:1000`"),
        "{wrong}"
    );
    for more in [
        &["--stage", "1s:1", "--clients", "3"][..],
        &["--join", "h:1", "--clients", "3"],
        &["--workers", "2"],
        &["--metrics", "http://127.0.0.1:1/metrics"],
        &["--account-key", "f", "--token", "t"],
    ] {
        parse(more);
    }
    let wrong = parse(&["--html", "x", "--metrics", "127.0.0.1:9000"]);
    assert!(wrong.contains("http://127.0.0.1:9464/metrics"), "{wrong}");
}
