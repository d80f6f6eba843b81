//! Reads the metrics of a server, in the text form of Prometheus.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// Reads metrics once a second, on a thread of its own.
pub struct Scraper(Receiver<ServerSample>);

/// A second of the server, by its metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerSample {
    pub clients: f64,
    /// The mean time of a tick.
    pub tick_ms: f64,
    /// Processors that it kept busy.
    pub cores: f64,
    pub memory_bytes: f64,
    pub sent_bytes_per_second: f64,
    pub commands_per_second: f64,
}

/// Where metrics are: `http://HOST:PORT/metrics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    host: String,
    path: String,
}

/// The sums of metrics over their labels.
type Sums = HashMap<String, f64>;

impl std::str::FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Source, String> {
        let rest = text.strip_prefix("http://");
        let rest = rest.filter(|rest| !rest.is_empty() && !rest.contains([' ', '\r', '\n']));
        let rest = rest.ok_or_else(|| {
            format!("{text:?}: expected an address such as http://127.0.0.1:9464/metrics")
        })?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, "metrics"));
        let host = match host.contains(':') {
            true => host.to_owned(),
            false => format!("{host}:80"),
        };
        Ok(Source {
            host,
            path: format!("/{path}"),
        })
    }
}

impl Scraper {
    /// Fails if the metrics can't be read now.
    pub fn start(source: Source) -> Result<Scraper> {
        let mut before = (Instant::now(), source.sums()?);
        let (to, samples) = channel();
        let scrape = move || {
            loop {
                std::thread::sleep(PERIOD);
                // A server that is away for a moment leaves a gap.
                let Ok(sums) = source.sums() else { continue };
                let now = (Instant::now(), sums);
                let sample = sample(&before, &now);
                before = now;
                if to.send(sample).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(scrape)?;
        Ok(Scraper(samples))
    }

    /// The newest sample since the last call.
    pub fn take(&mut self) -> Option<ServerSample> {
        self.0.try_iter().last()
    }
}

impl Source {
    fn sums(&self) -> Result<Sums> {
        let text = self
            .get()
            .with_context(|| format!("cannot read http://{}{}", self.host, self.path))?;
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).unwrap_or("nothing");
        if status != "200" {
            bail!(
                "http://{}{} answers {status}, expected 200 and metrics of Prometheus",
                self.host,
                self.path
            );
        }
        Ok(sums_of(body))
    }

    fn get(&self) -> io::Result<String> {
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        let address = self.host.to_socket_addrs()?.next().ok_or_else(unknown)?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // Of HTTP/1.0: the answer ends with the connection, and has no chunks.
        let (path, host) = (&self.path, &self.host);
        let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut bytes = vec![];
        stream.take(BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What a server did between two readings.
fn sample((then, before): &(Instant, Sums), (now, sums): &(Instant, Sums)) -> ServerSample {
    let seconds = (*now - *then).as_secs_f64().max(1e-3);
    let value = |name: &str| sums.get(name).copied().unwrap_or(0.0);
    // A server that has begun again counts from 0.
    let more = |name: &str| (value(name) - before.get(name).copied().unwrap_or(0.0)).max(0.0);
    ServerSample {
        clients: value("myriad_clients"),
        tick_ms: 1e3 * more("myriad_tick_seconds_sum") / more("myriad_tick_seconds_count").max(1.0),
        cores: more("process_cpu_seconds_total") / seconds,
        memory_bytes: value("process_resident_memory_bytes"),
        sent_bytes_per_second: more("myriad_sent_bytes_total") / seconds,
        commands_per_second: more("myriad_commands_total") / seconds,
    }
}

/// The metrics of a text, summed over labels. Lines that are none are left out.
fn sums_of(text: &str) -> Sums {
    let mut sums = Sums::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, value)) = line.rsplit_once(' ') else {
            continue;
        };
        let name = series.split('{').next().unwrap_or(series).trim_end();
        if let Ok(value) = value.parse::<f64>() {
            *sums.entry(name.to_owned()).or_default() += value;
        }
    }
    sums
}

const PERIOD: Duration = Duration::from_secs(1);
/// For a server under load.
const PATIENCE: Duration = Duration::from_secs(5);
/// All metrics of a server have far less.
const BYTES_MAX: u64 = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_summed_over_their_labels() {
        let text = "# HELP x y\nmyriad_sent_bytes_total{carrier=\"stream\"} 5\n\
                    myriad_sent_bytes_total{carrier=\"datagram\"} 7e1\nmyriad_clients 3\n\
                    \nnonsense\nmyriad_tick_seconds_sum 1\nmyriad_tick_seconds_count 10\n";
        let sums = sums_of(text);
        assert_eq!(sums["myriad_sent_bytes_total"], 75.0);
        let then = Instant::now();
        let now = then + Duration::from_secs(2);
        let later = sums_of(
            &text
                .replace("} 5", "} 25")
                .replace("sum 1", "sum 1.2")
                .replace("count 10", "count 20"),
        );
        let sample = sample(&(then, sums), &(now, later));
        assert_eq!(sample.clients, 3.0);
        assert_eq!(sample.sent_bytes_per_second, 10.0);
        assert!((sample.tick_ms - 20.0).abs() < 1e-9, "{sample:?}");
    }

    #[test]
    fn an_address_of_metrics_is_of_http() {
        let source = |text: &str| text.parse::<Source>();
        let all = source("http://[::1]:9464/metrics?x=1").unwrap();
        assert_eq!((&*all.host, &*all.path), ("[::1]:9464", "/metrics?x=1"));
        let short = source("http://example.org").unwrap();
        assert_eq!((&*short.host, &*short.path), ("example.org:80", "/metrics"));
        for wrong in [
            "",
            "https://x/metrics",
            "127.0.0.1:9464",
            "http://",
            "http://x/\r\nHost: y",
        ] {
            assert!(source(wrong).is_err(), "{wrong}");
        }
    }
}
