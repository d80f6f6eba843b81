//! The metrics page of a played world shows every metric.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use client_bot::BehaviourKind;
use platform::metrics::table::{self, Kind};
use server::host::DataOptions;
use server::host::version::versions;
use tokio::task::spawn_blocking;

use crate::common::{Bots, eventually, free_address, run_alone, scratch, start_with, ticks};

/// Metrics are those of a process: other tests' servers would change them.
#[test]
fn every_metric_of_the_table_is_on_the_page_of_a_played_world() {
    run_alone("metrics::the_page_of_a_played_world_alone_in_its_process");
}

#[tokio::test]
#[ignore = "every_metric_of_the_table_is_on_the_page_of_a_played_world runs it"]
async fn the_page_of_a_played_world_alone_in_its_process() {
    let address = free_address();
    // The disk is only measured in a persistent world.
    let folder = scratch("metrics-of-a-kept-world");
    let _ = fs::remove_dir_all(&folder);
    let server = start_with(WORLD, |options| {
        options.metrics = Some(address);
        options.data = Some(DataOptions::new(&folder));
    });
    let bots = Bots::start(&server, 10, BehaviourKind::Listen).await;
    ticks(&server, 40).await;
    let page = scrape(address).await;
    for metric in table::all() {
        let name = metric.name;
        // Only ticks that wait for a standby, and worlds on GPUs, have these.
        let elsewhere = [
            "myriad_standby_wait_seconds",
            "myriad_gpu_memory_bytes",
            "myriad_tick_gpu_seconds",
        ];
        if elsewhere.contains(&name) {
            continue;
        }
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "summary",
        };
        assert!(page.contains(&format!("# HELP {name} ")), "{name}");
        assert!(page.contains(&format!("# TYPE {name} {kind}\n")), "{name}");
        if let Some(label) = metric.label {
            for value in label.values {
                let text = format!("{{{}=\"{value}\"", label.name);
                let has_value = |line: &str| line.starts_with(name) && line.contains(&text);
                assert!(page.lines().any(has_value), "{name}{text}}}");
            }
        }
    }
    for name in [
        "myriad_clients",
        "myriad_entities",
        "myriad_commands_total{fate=\"applied\"}",
        "myriad_deliveries_total",
        "myriad_datagrams_total",
        "myriad_tick_seconds_count",
        "myriad_tick_stage_seconds_count{stage=\"merge\"}",
        "myriad_journal_sync_seconds_count",
    ] {
        assert!(value(&page, name) > 0.0, "{name}");
    }
    assert_eq!(value(&page, "myriad_clients"), 10.0);
    // The usual figures of a process, the build, and the disk.
    assert!(value(&page, "process_open_fds") > 3.0);
    assert!(value(&page, "process_start_time_seconds") > 1e9);
    // Whole seconds.
    assert!(value(&page, "process_cpu_seconds_total") >= 0.0);
    assert!(value(&page, "myriad_data_free_bytes") > 0.0);
    let build = page
        .lines()
        .find(|line| line.starts_with("myriad_build_info{"));
    let build = build.expect("the build");
    for (name, version) in versions() {
        let label = format!("{name}=\"{version}\"");
        assert!(build.contains(&label), "{label}: {build}");
    }
    // Every command of the world is there, also those that never use up their budget.
    for command in ["move", "blast", "shout"] {
        let name = format!("myriad_commands_over_budget_total{{command=\"{command}\"}}");
        assert_eq!(value(&page, &name), 0.0);
    }
    // Probes learn that it runs and takes clients.
    for (path, expected) in [("/healthz", "alive"), ("/readyz", "ready")] {
        let page = get(address, path).await;
        assert!(page.starts_with("HTTP/1.1 200 "), "{path}: {page}");
        assert_eq!(page.lines().last(), Some(expected), "{path}");
    }
    assert!(get(address, "/").await.starts_with("HTTP/1.1 404 "));
    // The figures for people and those for Prometheus count the same.
    bots.go_home();
    eventually("all have left", || server.stats().figures().clients == 0).await;
    let counted = server.stats().figures().commands_applied as f64;
    let page = scrape(address).await;
    assert!(value(&page, "myriad_commands_total{fate=\"applied\"}") >= counted);
    drop(server);
    fs::remove_dir_all(&folder).unwrap();
}

fn value(page: &str, name: &str) -> f64 {
    let is_wanted = |line: &&str| line.split_once(' ').is_some_and(|(n, _)| n == name);
    let line = page.lines().find(is_wanted).expect(name);
    line.split_once(' ').unwrap().1.parse().expect("a number")
}

async fn scrape(address: SocketAddr) -> String {
    get(address, "/metrics").await
}

/// Reads a page on a thread of its own: the test's runtime serves it.
async fn get(address: SocketAddr, path: &'static str) -> String {
    let read = move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    };
    spawn_blocking(read).await.unwrap()
}

/// An event that is notified by place and by subscription.
const WORLD: &str = "
    [world]
    size = [60, 60]
    aoi = 20
    capacity = 64
    tick_hz = 20

    [limits]
    subscriptions_per_client = 3

    [commands]
    blast = { sound = 40 }
    shout = { radius_max = 40 }

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
    ]

    [[kind]]
    name = 'item'
    population = 10
    attributes = [{ name = 'owner', type = 'entity', merge = 'first', audience = 'state', tells_owner = true }]
";
