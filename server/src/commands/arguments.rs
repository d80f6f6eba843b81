//! Parsing of arguments that several commands share.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use client_bot::connect::fingerprint;
use program::note;
use rustls::pki_types::CertificateDer;
use shared::WorldConfig;
use shared::wire::close::{UPDATE_URL_BYTES_MAX, is_update_url};
use tick::reload::WorldFile;
use world_file::ConfigError;
use world_file::Overrides;
use world_file::Reader;

/// Parses a number of seconds above 0.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number <= SECONDS_MAX => Ok(number),
        _ => Err(format!("expected a number above 0, at most {SECONDS_MAX}")),
    }
}

/// Parses a span of time: a whole number of seconds, minutes, hours or days, as in `90s`.
pub fn span(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        let seconds = number.checked_mul(*seconds)?;
        (1..=SPAN_SECONDS_MAX).contains(&seconds).then_some(seconds)
    });
    let seconds = parsed.ok_or("expected a span like 90s, 30m, 12h or 7d, at most 36500d")?;
    Ok(Duration::from_secs(seconds))
}

/// Parses a time of day in UTC, as in `2026-01-31T18:00:00Z`.
pub fn moment(text: &str) -> Option<SystemTime> {
    let text = text.strip_suffix('Z')?;
    let (date, time) = text.split_once('T')?;
    let numbers = |text: &str, by: char, lengths: [usize; 3]| {
        let parts: Vec<&str> = text.split(by).collect();
        let is_right = parts.iter().map(|part| part.len()).eq(lengths)
            && parts
                .iter()
                .all(|part| part.bytes().all(|b| b.is_ascii_digit()));
        let numbers: Option<Vec<u64>> = parts.iter().map(|part| part.parse().ok()).collect();
        is_right.then_some(numbers?)
    };
    let (date, time) = (
        numbers(date, '-', [4, 2, 2])?,
        numbers(time, ':', [2, 2, 2])?,
    );
    let (&[year, month, day], &[hour, minute, second]) = (&date[..], &time[..]) else {
        return None;
    };
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let lengths = [
        31,
        28 + u64::from(is_leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let month = usize::try_from(month.checked_sub(1)?).ok()?;
    let is_date = year >= 1970 && (1..=*lengths.get(month)?).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let years: u64 = (1970..year)
        .map(|year| 365 + u64::from(is_leap(year)))
        .sum();
    let days = years + lengths[..month].iter().sum::<u64>() + day - 1;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// The fingerprint of a server's certificate, as clients take it.
pub fn fingerprint_text(certificate: &CertificateDer<'_>) -> String {
    let digits = fingerprint(certificate).map(|byte| format!("{byte:02x}"));
    digits.concat()
}

/// Parses the address at which players get another version of the game.
pub fn update_url(text: &str) -> Result<String, String> {
    match is_update_url(text) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "expected an address of at most {UPDATE_URL_BYTES_MAX} visible ASCII characters that \
             begins with https:// or http://"
        )),
    }
}

/// A world, and where it came from.
#[derive(Debug)]
pub struct Loaded {
    pub world: WorldConfig,
    /// Its folder of scripts, if it has one.
    pub scripts: Option<PathBuf>,
    /// `None`: the world is not from a file.
    pub file: Option<WorldFile>,
}

/// The world of a file, or without one the world that `without_file` makes; at another rate of
/// ticks, if one is given.
pub fn world_at(
    path: Option<&Path>,
    tick_hz: Option<u32>,
    without_file: impl FnOnce(Overrides) -> Result<WorldConfig>,
) -> Result<Loaded> {
    let overrides = Overrides {
        tick_hz,
        ..Overrides::default()
    };
    match path {
        Some(path) => load_world(path, overrides),
        None => Ok(Loaded {
            world: without_file(overrides)?,
            scripts: None,
            file: None,
        }),
    }
}

/// The world of a file, in which some keys have other values. Prints the file's warnings to
/// standard error.
pub fn load_world(path: &Path, overrides: Overrides) -> Result<Loaded> {
    let reader = Reader {
        colours: std::io::stderr().is_terminal(),
        overrides,
        ..Reader::default()
    };
    let file = path.display().to_string();
    let text = world_file::read_file(path).with_context(|| format!("{file}: cannot be read"))?;
    let checked = with_overrides(reader.parse(&text, &file), overrides)?;
    for warning in &checked.warnings {
        note!("warning: {warning}");
    }
    let beside = path.parent().unwrap_or(Path::new(""));
    let folder = checked.config.logic.folder.as_ref();
    Ok(Loaded {
        scripts: folder.map(|folder| beside.join(folder)),
        world: checked.config,
        file: Some(WorldFile {
            path: path.to_owned(),
            text,
            overrides,
        }),
    })
}

/// The world of an empty file, in which some keys have other values.
pub fn default_world(overrides: Overrides) -> Result<WorldConfig> {
    let reader = Reader {
        overrides,
        ..Reader::default()
    };
    let checked = with_overrides(reader.parse("", "the default world"), overrides)?;
    Ok(checked.config)
}

/// Names the options with which a world was rejected, as its file alone may be fine.
fn with_overrides<T>(read: Result<T, ConfigError>, overrides: Overrides) -> Result<T> {
    match overrides.tick_hz {
        Some(tick_hz) => read.with_context(|| format!("with --tick-hz {tick_hz}")),
        None => Ok(read?),
    }
}

const SECONDS_MAX: f64 = 1e7;
/// A hundred years.
const SPAN_SECONDS_MAX: u64 = 36_500 * 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_for_updates_is_of_the_web_and_short() {
        let good = "https://example.org/get?version=12";
        assert_eq!(update_url(good).as_deref(), Ok(good));
        let long = format!("https://{}", "x".repeat(UPDATE_URL_BYTES_MAX));
        for bad in [
            "",
            "example.org",
            "javascript:alert(1)",
            "https://a b",
            &long,
        ] {
            assert!(update_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_moment_is_a_date_and_a_time_in_utc() {
        let seconds = |text| {
            let since = moment(text)?.duration_since(UNIX_EPOCH);
            Some(since.unwrap().as_secs())
        };
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        // By `date -u -d … +%s`.
        assert_eq!(seconds("2000-02-29T23:59:59Z"), Some(951_868_799));
        assert_eq!(seconds("2026-11-26T16:20:00Z"), Some(1_795_710_000));
        for bad in [
            "2026-11-26 16:20:00Z",
            "2026-11-26T16:20:00",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "26-01-01T00:00:00Z",
            "2026-01-+1T00:00:00Z",
            "1969-12-31T00:00:00Z",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn spans_have_a_number_and_a_unit() {
        let seconds = |text| span(text).ok().map(|span| span.as_secs());
        let good = [("90s", 90), ("30m", 1800), ("12h", 43_200), ("7d", 604_800)];
        for (text, expected) in good {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for bad in [
            "",
            "h",
            "0s",
            "-1s",
            "1.5h",
            "1",
            "1w",
            "99999999999999999999d",
            "36501d",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
