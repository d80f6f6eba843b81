//! Signals: Ctrl-C and SIGTERM, which end a command, and SIGHUP.

use std::fs;
use std::sync::mpsc::{Receiver, channel};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// A message for each Ctrl-C.
pub fn on_interrupt() -> Result<Receiver<()>> {
    listen(&[SIGINT, SIGTERM]).context("cannot listen for Ctrl-C")
}

/// A message for each SIGHUP. `None` if that was ignored at the start, as by `nohup`, and is so
/// still.
pub fn hangups() -> Result<Option<Receiver<()>>> {
    if is_ignored(SIGHUP) {
        return Ok(None);
    }
    listen(&[SIGHUP])
        .context("cannot listen for SIGHUP")
        .map(Some)
}

fn listen(signals: &[i32]) -> Result<Receiver<()>> {
    let (to, messages) = channel();
    let mut signals = Signals::new(signals)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            // Who listened may have ended: the signals have no effect then.
            for _ in signals.forever() {
                let _ = to.send(());
            }
        })?;
    Ok(messages)
}

fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
