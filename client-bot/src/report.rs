//! Figures of a swarm, for people and as JSON.

use serde::Serialize;

use crate::say;

/// What a swarm did and was told.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SwarmReport {
    pub behaviour: &'static str,
    pub clients: u64,
    pub clients_connected: u64,
    /// From when all were connected until they stopped.
    pub seconds: f64,
    pub commands_sent: u64,
    /// Entities' movements, enters, leaves and changes of lasting attributes.
    pub updates_delivered: u64,
    /// Changes and notifications that bots were told of beside their views.
    pub notices: u64,
    /// How often a bot was told of as many in a tick as it may be.
    pub notices_full: u64,
    /// Others in view, on average over clients and time.
    pub visible_mean: f64,
    /// From sending a command to seeing its effect.
    pub latency_ms_p50: f64,
    pub latency_ms_p99: f64,
    /// Payload of datagrams and stream to each client.
    pub bytes_per_client_per_second: f64,
    pub bytes_per_update: f64,
    /// Payload bytes for each entity in view and tick.
    pub bytes_per_visible_per_tick: f64,
    /// Whether what the bots were told was compared.
    #[serde(skip)]
    pub is_verified: bool,
    pub verify_checked: u64,
    pub verify_errors: u64,
    /// What could not be judged, as no bot was told enough.
    pub verify_open: u64,
    pub sessions_lost: u64,
    /// What went wrong, the first few.
    #[serde(skip)]
    pub examples: Vec<String>,
}

impl SwarmReport {
    /// For people.
    pub fn lines(&self) -> Vec<(String, String)> {
        let line = |name: &str, value: String| (name.to_owned(), value);
        let checks = format!(
            "{} checks, {} errors",
            self.verify_checked, self.verify_errors
        );
        let mut lines = vec![
            line(
                "clients",
                format!(
                    "{} of {} connected, {} lost",
                    self.clients_connected, self.clients, self.sessions_lost
                ),
            ),
            line(
                "play",
                format!("{:.1} s of {}", self.seconds, self.behaviour),
            ),
            line("commands sent", self.commands_sent.to_string()),
            line(
                "updates delivered",
                format!(
                    "{} ({:.0} a second)",
                    self.updates_delivered,
                    self.updates_delivered as f64 / self.seconds.max(1e-9)
                ),
            ),
            line(
                "others in view",
                format!("{:.1} on average", self.visible_mean),
            ),
            line(
                "latency",
                format!(
                    "{:.1} ms median, {:.1} ms at the 99th percentile",
                    self.latency_ms_p50, self.latency_ms_p99
                ),
            ),
            line(
                "bandwidth",
                format!(
                    "{:.0} B/s a client, {:.2} B an update, {:.2} B per entity in view and tick",
                    self.bytes_per_client_per_second,
                    self.bytes_per_update,
                    self.bytes_per_visible_per_tick
                ),
            ),
            line(
                "verification",
                match (self.is_verified, self.verify_open) {
                    (false, _) => "off".to_owned(),
                    (true, 0) => checks,
                    (true, open) => format!("{checks}, {open} left open"),
                },
            ),
        ];
        if self.notices > 0 {
            let told = match self.notices_full {
                0 => self.notices.to_string(),
                full => format!(
                    "{}; a bot had its fill of a tick {full} times",
                    self.notices
                ),
            };
            lines.insert(UPDATES_LINE + 1, line("notices", told));
        }
        lines
    }
}

/// Where the line of updates is.
const UPDATES_LINE: usize = 3;

/// Aligned lines of "name  value".
pub fn print_lines(lines: &[(String, String)]) {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in lines {
        say!("  {name:<width$}  {value}");
    }
}
