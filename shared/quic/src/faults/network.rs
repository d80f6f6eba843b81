//! Both ways of a network, by a name or a file.

use std::path::PathBuf;

use thiserror::Error;

use super::{Faults, Path, TraceError};

/// Both ways of a network, as a client sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    pub up: Path,
    pub down: Path,
}

/// Why there is no such network.
#[derive(Debug, Error)]
pub enum NetworkError {
    #[error("cannot read {path}: {error} (the built-in networks are {names})", names = names())]
    Unreadable {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{name}: {error}")]
    Trace { name: String, error: TraceError },
}

impl Network {
    pub fn is_none(&self) -> bool {
        self.up.is_none() && self.down.is_none()
    }

    /// A network by the name of a built-in one, or the path of a file with a trace, see
    /// [`Path::parse`]. A file may have two traces, up and down, with a line `down` between them;
    /// a single one holds for both ways.
    pub fn named(name: &str) -> Result<Network, NetworkError> {
        let built_in = BUILT_IN.iter().find(|built_in| built_in.0 == name);
        let text = match built_in {
            Some((_, text)) => (*text).to_owned(),
            None => std::fs::read_to_string(name).map_err(|error| NetworkError::Unreadable {
                path: name.into(),
                error,
            })?,
        };
        Network::parse(&text).map_err(|error| NetworkError::Trace {
            name: name.to_owned(),
            error,
        })
    }

    /// Reads one or two traces, as [`Network::named`] does.
    pub fn parse(text: &str) -> Result<Network, TraceError> {
        let is_border = |line: &&str| line.trim() == "down";
        let Some(border) = text.lines().position(|line| is_border(&line)) else {
            return Path::parse(text).map(Network::from);
        };
        let lines = |some: &mut dyn Iterator<Item = &str>| {
            // Lines keep their numbers.
            some.collect::<Vec<_>>().join("\n")
        };
        let up = lines(&mut text.lines().take(border));
        let blank = std::iter::repeat_n("", border + 1);
        let down = lines(&mut blank.chain(text.lines().skip(border + 1)));
        Ok(Network {
            up: Path::parse(&up)?,
            down: Path::parse(&down)?,
        })
    }
}

impl Default for Network {
    /// A network without faults.
    fn default() -> Network {
        Network::from(Faults::default())
    }
}

impl From<Path> for Network {
    /// The same both ways.
    fn from(path: Path) -> Network {
        Network {
            up: path.clone(),
            down: path,
        }
    }
}

impl From<Faults> for Network {
    /// The same both ways, at any time.
    fn from(faults: Faults) -> Network {
        Network::from(Path::from(faults))
    }
}

/// Networks that come with the program: name and text. Each file names the source of its figures.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("lte", include_str!("networks/lte.txt")),
    ("5g-handover", include_str!("networks/5g-handover.txt")),
    (
        "wifi-microwave",
        include_str!("networks/wifi-microwave.txt"),
    ),
    ("satellite", include_str!("networks/satellite.txt")),
    ("geostationary", include_str!("networks/geostationary.txt")),
];

fn names() -> String {
    let names: Vec<&str> = BUILT_IN.iter().map(|built_in| built_in.0).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_built_in_network_can_be_read_and_says_where_it_is_from() {
        for (name, text) in BUILT_IN {
            let network = Network::named(name).unwrap();
            assert!(!network.is_none(), "{name}");
            assert!(text.starts_with("# "), "{name}");
            assert!(text.contains("Source:"), "{name}");
        }
    }

    #[test]
    fn a_file_may_have_a_trace_each_way() {
        let network = Network::parse("0 20 0 0 0\ndown\n0 50 0 0 0").unwrap();
        let delay = |path: &Path| path.at(Duration::ZERO).delay.as_millis();
        assert_eq!((delay(&network.up), delay(&network.down)), (20, 50));
        let both = Network::parse("0 20 0 0 0").unwrap();
        assert_eq!(both.up, both.down);
        let error = Network::parse("0 20 0 0 0\ndown\nx").unwrap_err();
        assert_eq!(error.to_string(), "line 3: expected seconds, found \"x\"");
    }

    #[test]
    fn a_network_that_is_not_there_is_named_with_those_that_are() {
        let error = Network::named("no-such-network").unwrap_err().to_string();
        assert!(
            error.contains("lte, 5g-handover, wifi-microwave, satellite"),
            "{error}"
        );
    }
}
