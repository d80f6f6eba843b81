//! Figures of a swarm, for people and as JSON.

use serde::{Deserialize, Serialize};

use crate::say;

/// What a swarm did and received.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SwarmReport {
    pub behaviour: String,
    pub clients: u64,
    pub clients_connected: u64,
    /// Attempts to join that bots made again, since no answer came.
    pub joins_repeated: u64,
    /// The time that the bots played.
    pub seconds: f64,
    pub commands_sent: u64,
    /// Movements, enters, leaves and changes of lasting attributes, summed over bots.
    pub updates_delivered: u64,
    /// Notices of changes and notifications, summed over bots.
    pub notices: u64,
    /// Ticks in which a bot reached the limit of notices, summed over bots.
    pub notices_full: u64,
    /// Other entities in view, on average over bots and time.
    pub visible_mean: f64,
    /// From sending a command to the datagram that confirms it.
    pub latency_ms_p50: f64,
    pub latency_ms_p99: f64,
    pub latency_ms_p999: f64,
    /// How late the bots' threads looked for packets, 99th percentile. Much of the latency
    /// is the bots' own if this is long.
    pub bots_late_ms_p99: f64,
    /// Packets for bots that arrived when the buffer of their socket was full.
    pub bots_socket_drops: u64,
    /// Packets of bots that the system did not take.
    pub bots_send_errors: u64,
    /// Payload of datagrams and stream to each client.
    pub bytes_per_client_per_second: f64,
    pub bytes_per_update: f64,
    /// Payload bytes per entity in view and tick.
    pub bytes_per_visible_per_tick: f64,
    /// Whether the checks were made.
    #[serde(skip)]
    pub is_verified: bool,
    pub verify_checked: u64,
    pub verify_errors: u64,
    /// Checks that hold, but only since a stream has caught up with its datagrams.
    pub verify_late: u64,
    /// Cases that no bot can judge.
    pub verify_open: u64,
    pub sessions_lost: u64,
    /// The first few errors as sentences.
    #[serde(skip)]
    pub examples: Vec<String>,
}

impl SwarmReport {
    /// The report for people: lines of name and value.
    pub fn lines(&self) -> Vec<(String, String)> {
        let mut clients = format!(
            "{} of {} connected, {} lost",
            self.clients_connected, self.clients, self.sessions_lost
        );
        if self.joins_repeated > 0 {
            clients += &format!(", {} joins repeated", self.joins_repeated);
        }
        let updates = format!(
            "{} ({:.0} a second)",
            self.updates_delivered,
            self.updates_delivered as f64 / self.seconds.max(1e-9)
        );
        let latency = format!(
            "{:.1} ms median, {:.1} ms at the 99th percentile, {:.1} ms at 99.9 %",
            self.latency_ms_p50, self.latency_ms_p99, self.latency_ms_p999
        );
        let bandwidth = format!(
            "{:.0} B/s a client, {:.2} B an update, {:.2} B per entity in view and tick",
            self.bytes_per_client_per_second,
            self.bytes_per_update,
            self.bytes_per_visible_per_tick
        );
        let mut lines = vec![
            ("clients", clients),
            (
                "play",
                format!("{:.1} s of {}", self.seconds, self.behaviour),
            ),
            ("commands sent", self.commands_sent.to_string()),
            ("updates delivered", updates),
        ];
        let lost = self.bots_socket_drops + self.bots_send_errors;
        if self.bots_late_ms_p99 > BOTS_LATE_MS || lost > 0 {
            let text = format!(
                "{:.1} ms late at the 99th percentile, {lost} packets lost in their sockets: \
                 give them more cores",
                self.bots_late_ms_p99
            );
            lines.push(("the bots themselves", text));
        }
        if self.notices > 0 {
            lines.push(("notices", self.notices_text()));
        }
        lines.extend([
            (
                "others in view",
                format!("{:.1} on average", self.visible_mean),
            ),
            ("latency", latency),
            ("bandwidth", bandwidth),
            ("verification", self.verification_text()),
        ]);
        let own = |(name, value): (&str, String)| (name.to_owned(), value);
        lines.into_iter().map(own).collect()
    }

    fn notices_text(&self) -> String {
        match self.notices_full {
            0 => self.notices.to_string(),
            full => format!(
                "{}; a bot reached its limit of a tick {full} times",
                self.notices
            ),
        }
    }

    fn verification_text(&self) -> String {
        let mut checks = format!(
            "{} checks, {} errors",
            self.verify_checked, self.verify_errors
        );
        if self.verify_late > 0 {
            checks += &format!(", {} late", self.verify_late);
        }
        match (self.is_verified, self.verify_open) {
            (false, _) => "off".to_owned(),
            (true, 0) => checks,
            (true, open) => format!("{checks}, {open} left open"),
        }
    }
}

/// Bots that are later than this measure themselves.
const BOTS_LATE_MS: f64 = 20.0;

/// Prints aligned lines of name and value.
pub fn print_lines(lines: &[(String, String)]) {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in lines {
        say!("  {name:<width$}  {}", crate::printable::OneLine(value));
    }
}
