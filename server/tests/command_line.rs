//! The commands of the binary.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use crate::common::{get, myriad_binary, scratch, text};

#[test]
fn the_version_names_the_formats_and_the_commit() {
    let text = |words: &[&str]| String::from_utf8(myriad(words).stdout).unwrap();
    let long = text(&["--version"]);
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], format!("myriad {}", env!("CARGO_PKG_VERSION")));
    for name in [
        "commit",
        "protocol",
        "tick",
        "journal",
        "checkpoint",
        "recording",
    ] {
        let mut found = lines
            .iter()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let version = found.next().expect(name);
        assert!(!version.is_empty(), "{name}");
    }
    let alpn = String::from_utf8_lossy(shared::wire::VERSION_ALPN).into_owned();
    let protocol = lines[2].strip_prefix("protocol: ").unwrap();
    assert!(
        alpn.ends_with(&format!(".{protocol}")),
        "{alpn}: {protocol}"
    );
    // The short one is for scripts.
    assert_eq!(text(&["-V"]).lines().count(), 1);
}

#[test]
fn a_demo_ends_with_one_json_object_and_success() {
    let output = myriad(&["demo", "--clients", "30", "--seconds", "2", "--json"]);
    assert!(output.status.success(), "{}", text(&output));
    let stdout = String::from_utf8(output.stdout).unwrap();
    // Nothing else is on standard output.
    let report: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let report = report.as_object().expect("an object");
    for key in [
        "clients_connected",
        "seconds",
        "tick_hz",
        "ticks",
        "ticks_late",
        "engine_ms_p50",
        "engine_ms_p99",
        "tick_ms_p50",
        "tick_ms_p99",
        "commands_sent",
        "commands_applied",
        "updates_delivered",
        "visible_mean",
        "latency_ms_p50",
        "latency_ms_p99",
        "latency_ms_p999",
        "bytes_per_client_per_second",
        "bytes_per_update",
        "rss_bytes",
        "verify_checked",
        "verify_errors",
        "sessions_lost",
    ] {
        let value = report.get(key);
        assert!(value.is_some_and(|v| v.is_number()), "{key}: {value:?}");
    }
    let number = |key: &str| report[key].as_f64().unwrap();
    assert_eq!(number("clients_connected"), 30.0);
    assert_eq!(number("tick_hz"), 10.0);
    assert_eq!(number("verify_errors"), 0.0);
    assert_eq!(number("sessions_lost"), 0.0);
    for key in ["verify_checked", "commands_applied", "updates_delivered"] {
        assert!(number(key) > 0.0, "{key}");
    }
}

#[test]
fn a_demo_on_a_bad_network_has_it_before_pages_too() {
    // It ends by itself if this fails.
    let mut demo = Command::new(myriad_binary())
        .args(["demo", "--clients", "2", "--seconds", "10"])
        .args(["--network", "lte", "--web", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let mut after = |start: &str| {
        let mut rests = lines.by_ref().map_while(Result::ok);
        let rest = rests.find_map(|line| Some(line.split_once(start)?.1.to_owned()));
        rest.expect(start)
    };
    let page = after("play on http://");
    let page = page.split(',').next().unwrap().parse().unwrap();
    let port = after("pages play over the network of the bots: each has its own, at UDP port ");
    let connect = get(page, "/connect.json");
    demo.kill().unwrap();
    demo.wait().unwrap();
    assert!(connect.contains(&format!("\"port\":{port},")), "{connect}");
}

#[test]
fn options_may_be_variables_of_the_environment() {
    let mut command = Command::new(myriad_binary());
    command
        .arg("serve")
        .env("MYRIAD_LISTEN", "localhost:0")
        .env("MYRIAD_STOP_AFTER", "0.3")
        .env("MYRIAD_LOG_FORMAT", "json");
    let output = command.output().expect("the binary runs");
    assert!(output.status.success(), "{}", text(&output));
    // Another address than without the variable.
    let stdout = String::from_utf8_lossy(&output.stdout);
    let first = stdout.lines().next().unwrap_or_default();
    assert!(!first.contains("0.0.0.0:4433"), "{first}");
    let line: serde_json::Value = serde_json::from_str(first).unwrap();
    let message = line["fields"]["message"].as_str();
    assert!(
        message.is_some_and(|m| m.starts_with("listening on ")),
        "{first}"
    );
    assert!(stdout.lines().all(|line| line.starts_with('{')), "{stdout}");
    // The log says how clients are authenticated, a JSON object a line.
    let log = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let printed = lines.iter().map(|line| line["fields"]["message"].as_str());
    let is_who = |line: Option<&str>| line.is_some_and(|text| text.contains("authentication"));
    assert!(printed.into_iter().any(is_who), "{log}");

    let wrong = command.env("MYRIAD_STOP_AFTER", "never").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        text(&wrong).contains("expected a number above 0"),
        "{}",
        text(&wrong)
    );
}

#[test]
fn files_without_an_end_are_errors_and_fill_no_memory() {
    for arguments in [
        &["--token-file", "/dev/zero"][..],
        &["--account-key", "/dev/zero"],
        &["--talk-filter", "/dev/zero"],
        &["--certificate", "/dev/zero", "--key", "/dev/zero"],
        &[
            "--web",
            "127.0.0.1:0",
            "--dashboard-token-file",
            "/dev/zero",
        ],
    ] {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--stop-after", "0.1"];
        let output = myriad(&[&serve, arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(
            text(&output).contains("/dev/zero: it has more than 16777216 bytes"),
            "{}",
            text(&output)
        );
    }
}

#[test]
fn numbers_on_the_command_line_are_told_with_what_is_expected() {
    for (option, value, expected) in [
        ("--tick-hz", "fast", ": expected a whole number\n"),
        ("--tick-hz", "0", ": expected 1 to 1000\n"),
        ("--stop-after", "1e300", "above 0, at most 10000000\n"),
    ] {
        let output = myriad(&["serve", option, value]);
        assert_eq!(output.status.code(), Some(2), "{option} {value}");
        assert!(text(&output).contains(expected), "{}", text(&output));
    }
}

/// `myriad serve` with these arguments and variables, for a moment.
fn serve(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(myriad_binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--stop-after", "0.2"]);
    command.args(arguments).envs(variables.iter().copied());
    command.output().expect("the binary runs")
}

#[test]
fn a_variable_of_an_option_that_another_one_excludes_does_not_count_beside_it() {
    let file = scratch("beside-a-variable");
    let recording = file.to_str().expect("a path in UTF-8");
    for (arguments, variables) in [
        (
            &["--token", "word"][..],
            &[("MYRIAD_TOKEN_FILE", "/none")][..],
        ),
        (
            &["--token", "word"],
            &[
                ("MYRIAD_ACCOUNT_KEY", "/none"),
                ("MYRIAD_TOKEN_FILE", "/none"),
            ],
        ),
        (
            &["--web=127.0.0.1:0", "--dashboard-token", "word"],
            &[("MYRIAD_DASHBOARD_TOKEN_FILE", "/none")],
        ),
        (&["--record", recording], &[("MYRIAD_DATA", "/none/at/all")]),
        // Nor do those that need it.
        (
            &["--token", "word"],
            &[
                ("MYRIAD_JWT_KEYS", "/none"),
                ("MYRIAD_JWT_ISSUER", "https://login.example.org"),
                ("MYRIAD_JWT_AUDIENCE", "myriad"),
            ],
        ),
        (
            &["--record", recording],
            &[
                ("MYRIAD_DATA", "/none/at/all"),
                ("MYRIAD_LEVEL", "soon"),
                ("MYRIAD_CHECKPOINT_EVERY", "5"),
            ],
        ),
    ] {
        let output = serve(arguments, variables);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    }
    fs::remove_file(&file).expect("a recording");
    // Something else is missing, or there is nothing that excludes.
    let issuer = [("MYRIAD_JWT_ISSUER", "https://login.example.org")];
    assert_eq!(serve(&[], &issuer).status.code(), Some(2));
    let both = [("MYRIAD_TOKEN", "word"), ("MYRIAD_TOKEN_FILE", "/none")];
    assert_eq!(serve(&[], &both).status.code(), Some(2));
}

#[test]
fn an_empty_setting_is_an_error_where_it_would_mean_none() {
    let file = scratch("empty-setting");
    fs::write(&file, "\n").expect("a file");
    let path = file.to_str().expect("a path in UTF-8");
    for name in [
        "TOKEN",
        "TOKEN_FILE",
        "ACCOUNT_KEY",
        "JWT_KEYS",
        "LINK_KEY",
        "CERTIFICATE",
        "KEY",
        "DASHBOARD_TOKEN",
        "TALK_FILTER",
        "LEASE",
        "CHARACTERS",
        "NAMES",
        "WEB_ORIGIN",
    ] {
        let variable = format!("MYRIAD_{name}");
        let output = serve(&[], &[(&variable, "")]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", text(&output));
        assert!(
            text(&output).contains(&format!("{variable} is empty")),
            "{}",
            text(&output)
        );
    }
    for (arguments, code) in [
        (&["--token", ""][..], 2),
        (&["--token-file", ""], 2),
        (&["--web=127.0.0.1:0", "--dashboard-token="], 2),
        (&["--token-file", path], 1),
        (&["--account-key", path], 1),
        (&["--talk-filter", path], 1),
        (&["--web=127.0.0.1:0", "--dashboard-token-file", path], 1),
    ] {
        let output = serve(arguments, &[]);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            text(&output)
        );
    }
    let output = serve(&["--token", "word"], &[("MYRIAD_TOKEN", "")]);
    assert!(output.status.success(), "{}", text(&output));
    fs::remove_file(&file).expect("a file");
}

#[test]
fn ports_that_the_system_picks_are_printed() {
    let output = serve(&["--metrics", "127.0.0.1:0", "--web", "127.0.0.1:0"], &[]);
    assert!(output.status.success(), "{}", text(&output));
    let printed = text(&output);
    for before in [
        "listening on 127.0.0.1:",
        "metrics on http://127.0.0.1:",
        "play on http://127.0.0.1:",
    ] {
        let rest = printed
            .split_once(before)
            .map(|(_, rest)| rest)
            .unwrap_or_default();
        let digits = rest
            .chars()
            .take_while(char::is_ascii_digit)
            .collect::<String>();
        assert!(
            digits.parse().is_ok_and(|port: u16| port > 0),
            "{before}: {printed}"
        );
    }
}

#[test]
fn shells_and_man_know_every_command() {
    let output = myriad(&["completions", "bash"]);
    assert!(output.status.success(), "{}", text(&output));
    let script = text(&output);
    let folder = scratch("manual-pages");
    let _ = fs::remove_dir_all(&folder);
    let output = myriad(&["man", folder.to_str().expect("a path in UTF-8")]);
    assert!(output.status.success(), "{}", text(&output));
    for name in ["serve", "demo", "doctor"] {
        assert!(script.contains(&format!("myriad,{name})")), "{name}");
        let page = fs::read_to_string(folder.join(format!("myriad-{name}.1"))).expect(name);
        assert!(page.contains(".SH OPTIONS"), "{name}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_doctor_names_the_cores_and_the_gpu() {
    let output = myriad(&["doctor"]);
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    for name in ["cores", "memory", "GPU", "UDP receive buffer"] {
        assert!(
            stdout.lines().any(|line| line.starts_with(name)),
            "{name}: {}",
            text(&output)
        );
    }
}

#[test]
fn a_bad_world_is_refused_with_file_key_and_what_is_allowed() {
    let file = scratch("bad.toml");
    let path = file.display().to_string();
    let cases = [
        (
            "[world]\naoi = -3",
            vec!["world.aoi: expected 1 to 262143, found -3"],
        ),
        (
            "[limits]\nidle_seconds = 0",
            vec!["limits.idle_seconds: expected 1 to 3600, found 0"],
        ),
        (
            "[world]\nsizes = [1, 2]",
            vec!["bad.toml:2:", "sizes", "expected"],
        ),
        ("[world", vec!["bad.toml:1:"]),
    ];
    for (content, expected) in cases {
        fs::write(&file, content).unwrap();
        let output = myriad(&["serve", "--listen", "127.0.0.1:0", "--world", &path]);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        for part in expected.into_iter().chain([&path[..]]) {
            assert!(text.contains(part), "{part:?} is missing in: {text}");
        }
    }
    fs::remove_file(&file).unwrap();
}

#[test]
fn errors_name_missing_files() {
    let missing = scratch("nowhere.toml").display().to_string();
    for arguments in [
        vec!["serve", "--listen", "127.0.0.1:0", "--world", &missing],
        vec!["demo", "--world", &missing],
        vec!["replay", &missing],
        vec![
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--certificate",
            &missing,
            "--key",
            &missing,
        ],
    ] {
        let output = myriad(&arguments);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
        assert!(text.contains(&missing), "{arguments:?}: {text}");
    }
}

#[test]
fn a_world_in_which_clients_see_nothing_is_refused() {
    let file = scratch("blind.toml");
    fs::write(&file, "[world]\nvisible_max = 0").unwrap();
    let path = file.display().to_string();
    let output = myriad(&["serve", "--listen", "127.0.0.1:0", "--world", &path]);
    fs::remove_file(&file).unwrap();
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("world.visible_max: 0 is not allowed"),
        "{text}"
    );
}

#[test]
fn a_server_prints_its_address_and_its_recording_replays() {
    let file = scratch("served.journal");
    let path = file.display().to_string();
    let output = myriad(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--stop-after",
        "1",
        "--record",
        &path,
    ]);
    let served = text(&output);
    assert!(output.status.success(), "{served}");
    for start in ["listening on 127.0.0.1:", "backend ", "fingerprint "] {
        assert!(served.lines().any(|l| l.starts_with(start)), "{served}");
    }
    let output = myriad(&["replay", &path]);
    fs::remove_file(&file).unwrap();
    let replayed = text(&output);
    assert!(output.status.success(), "{replayed}");
    assert!(
        replayed.contains("ticks replayed, every state hash as recorded"),
        "{replayed}"
    );
}

#[cfg(not(feature = "full"))]
#[test]
fn a_build_without_a_feature_names_it() {
    let place = scratch("no-features");
    let file = place.join("world.parquet");
    let data = place.join("data");
    for (arguments, feature) in [
        (
            vec![
                "export",
                data.to_str().unwrap(),
                "--to",
                file.to_str().unwrap(),
            ],
            "--features parquet",
        ),
        (
            vec![
                "serve",
                "--data",
                data.to_str().unwrap(),
                "--characters",
                "postgres://a@b/c#d",
            ],
            "--features postgres",
        ),
        (
            vec![
                "serve",
                "--jwt-keys",
                "keys.json",
                "--jwt-issuer",
                "a",
                "--jwt-audience",
                "b",
            ],
            "--features jwt",
        ),
    ] {
        let output = myriad(&arguments);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains(feature), "{}", text(&output));
    }
}

#[test]
fn a_port_in_use_is_refused() {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let output = myriad(&["serve", "--listen", &address]);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains(&format!("cannot listen on {address}")),
        "{text}"
    );
}

fn myriad(arguments: &[&str]) -> Output {
    Command::new(myriad_binary())
        .args(arguments)
        .output()
        .expect("the binary runs")
}
