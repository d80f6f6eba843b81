//! A report's notes on the machine, the sources and the day.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::cuda;

/// The CPU's model and the number of cores.
pub fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown CPU", |(_, model)| model.trim());
    let cores = text.lines().filter(|l| l.starts_with("processor")).count();
    format!("{model}, {cores} cores")
}

/// The GPU that the cuda backend would use.
pub fn gpu() -> Option<String> {
    cuda::gpu_name()
}

/// The NVIDIA driver's version.
pub fn driver() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut words = text.lines().next()?.split_whitespace();
    Some(words.find(is_version)?.to_owned())
}

/// The commit that is checked out, or `"unknown"`.
pub fn commit() -> String {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).output();
    output
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or("unknown".to_owned(), |text| text.trim().to_owned())
}

/// YYYY-MM-DD in UTC.
pub fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    date(now.map_or(0, |now| now.as_secs() / 86_400))
}

/// A day of the Gregorian calendar. An era is 400 years and begins on 1 March, so
/// that the leap day is the last day of a year.
fn date(days_since_1970: u64) -> String {
    let days = days_since_1970 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day + 2) / 153;
    let day = day - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12 + 1;
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        // As `date -u -d @$((days * 86400)) +%F` prints them.
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(11_017), "2000-03-01");
        assert_eq!(date(19_722), "2023-12-31");
        assert_eq!(date(19_723), "2024-01-01");
    }
}
