//! The time of day may jump: nothing waits, paces or expires by it.

use std::fs;
use std::path::Path;

use crate::docs::markdown::root;

/// Where it is read, and for which dates.
const DATES: &[(&str, &str)] = &[
    (
        "benches/src/report/machine.rs",
        "when something was measured",
    ),
    (
        "gpu-kernels/world-file/src/folder.rs",
        "dates of files, which say whether they have changed",
    ),
    (
        "server/accounts/src/authenticator.rs",
        "a date as seconds since 1970",
    ),
    (
        "server/accounts/src/moment.rs",
        "dates of tokens and of bans, as they are shown and kept",
    ),
    (
        "server/console/src/web/dashboard/watch.rs",
        "the time under a chart",
    ),
    (
        "server/console/src/web/page.rs",
        "dates of the certificate for browsers",
    ),
    (
        "server/durability/src/backup.rs",
        "dates of ticks, and of what is kept",
    ),
    ("server/durability/src/code_cache.rs", "dates of files"),
    (
        "server/host/src/serving.rs",
        "dates of the certificate for browsers",
    ),
    ("server/platform/src/log/queue.rs", "dates of lines"),
    ("server/platform/src/traces.rs", "dates of spans"),
    (
        "server/src/commands/arguments.rs",
        "dates as people write them",
    ),
    ("server/src/commands/backup.rs", "dates of backups"),
    ("server/src/commands/token.rs", "dates of a token"),
    (
        "server/transport/src/browsers.rs",
        "dates of the certificate for browsers",
    ),
    (
        "server/transport/src/steady.rs",
        "a type of the transport, without the time of day",
    ),
    ("shared/tokens/src/lib.rs", "when the tokens of bots end"),
];

#[test]
fn the_time_of_day_is_for_dates_only() {
    let mut found = vec![];
    for folder in ["benches", "client-bot", "gpu-kernels", "server", "shared"] {
        look_into(&root().join(folder), &mut found);
    }
    found.sort();
    let allowed: Vec<&str> = DATES.iter().map(|(path, _)| *path).collect();
    assert_eq!(found, allowed);
}

/// Collects the sources that read the time of day, but for tests.
fn look_into(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !["target", "tests", "venv"].contains(&&*name) && !name.starts_with('.') {
                look_into(&path, found);
            }
            continue;
        }
        let words: &[&str] = match path.extension().and_then(|end| end.to_str()) {
            Some("rs") => &["SystemTime", "chrono::", "OffsetDateTime"],
            Some("js") if !name.contains(".min.") => {
                &["Date.now() +", "Date.now() >", "Date.now() -"]
            }
            Some("py") => &["time.time()", "datetime.now"],
            _ => continue,
        };
        let text = fs::read_to_string(&path).expect("a source");
        if words.iter().any(|word| text.contains(word)) {
            let path = path.strip_prefix(root()).expect("a path below the root");
            found.push(path.to_string_lossy().into_owned());
        }
    }
}
