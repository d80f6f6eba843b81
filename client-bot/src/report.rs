//! Figures of a swarm, for people and as JSON.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use program::say;
use serde::{Deserialize, Serialize};

/// What swarms counted, and how long things took: those of several machines add up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    pub behaviour: String,
    pub tick_hz: u32,
    pub clients: u64,
    pub connected: u64,
    pub failed: u64,
    pub left: u64,
    pub lost: u64,
    pub joins_repeated: u64,
    /// The longest time that a swarm played.
    pub seconds: f64,
    pub commands_sent: u64,
    #[serde(default)]
    pub commands_refused: BTreeMap<String, u64>,
    pub updates_delivered: u64,
    pub payload_bytes: u64,
    pub notices: u64,
    pub notices_full: u64,
    /// Others in view, summed over views, and how many views these were.
    pub visible_sum: u64,
    pub views_seen: u64,
    pub latency_us: Spread,
    pub lateness_us: Spread,
    pub socket_drops: u64,
    pub send_errors: u64,
    pub is_verified: bool,
    pub verify_checked: u64,
    pub verify_errors: u64,
    pub verify_late: u64,
    pub verify_open: u64,
    pub examples: Vec<String>,
}

/// How often each value was found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Spread(Vec<(u64, u64)>);

impl Spread {
    pub fn of(histogram: &Histogram<u64>) -> Spread {
        let recorded = histogram.iter_recorded();
        let pairs = recorded.map(|found| (found.value_iterated_to(), found.count_at_value()));
        Spread(pairs.collect())
    }

    fn add(&mut self, other: &Spread) {
        self.0.extend(&other.0);
        self.0.sort_unstable();
    }

    /// The value that so large a part of all is at most, in thousands; 0 of none.
    fn thousands_at(&self, quantile: f64) -> f64 {
        let all: u64 = self.0.iter().map(|(_, count)| count).sum();
        let rank = (all as f64 * quantile).ceil() as u64;
        let mut seen = 0;
        let found = self.0.iter().find(|(_, count)| {
            seen += count;
            seen >= rank.max(1)
        });
        found.map_or(0.0, |(value, _)| *value as f64 / 1000.0)
    }
}

impl Figures {
    /// Adds those of a swarm on another machine.
    pub fn add(&mut self, other: &Figures) {
        self.clients += other.clients;
        self.connected += other.connected;
        self.failed += other.failed;
        self.left += other.left;
        self.lost += other.lost;
        self.joins_repeated += other.joins_repeated;
        self.seconds = self.seconds.max(other.seconds);
        self.tick_hz = self.tick_hz.max(other.tick_hz);
        self.commands_sent += other.commands_sent;
        for (why, count) in &other.commands_refused {
            *self.commands_refused.entry(why.clone()).or_default() += count;
        }
        self.updates_delivered += other.updates_delivered;
        self.payload_bytes += other.payload_bytes;
        self.notices += other.notices;
        self.notices_full += other.notices_full;
        self.visible_sum += other.visible_sum;
        self.views_seen += other.views_seen;
        self.latency_us.add(&other.latency_us);
        self.lateness_us.add(&other.lateness_us);
        self.socket_drops += other.socket_drops;
        self.send_errors += other.send_errors;
        self.verify_checked += other.verify_checked;
        self.verify_errors += other.verify_errors;
        self.verify_late += other.verify_late;
        self.verify_open += other.verify_open;
        self.examples.extend(other.examples.iter().cloned());
    }

    pub fn report(self) -> SwarmReport {
        let bytes = self.payload_bytes as f64;
        // Those that leave and join again count once.
        let connected = self.connected.min(self.clients);
        let visible_mean = self.visible_sum as f64 / self.views_seen.max(1) as f64;
        let per_client = bytes / (connected.max(1) as f64 * self.seconds.max(1e-9));
        let [latency_ms_p50, latency_ms_p99, latency_ms_p999] =
            [0.5, 0.99, 0.999].map(|quantile| self.latency_us.thousands_at(quantile));
        SwarmReport {
            clients: self.clients,
            clients_connected: connected,
            joins: self.connected,
            joins_failed: self.failed,
            joins_repeated: self.joins_repeated,
            leaves: self.left,
            seconds: self.seconds,
            commands_sent: self.commands_sent,
            commands_refused: self.commands_refused,
            updates_delivered: self.updates_delivered,
            notices: self.notices,
            notices_full: self.notices_full,
            visible_mean,
            latency_ms_p50,
            latency_ms_p99,
            latency_ms_p999,
            bots_late_ms_p99: self.lateness_us.thousands_at(0.99),
            bots_socket_drops: self.socket_drops,
            bots_send_errors: self.send_errors,
            bytes_per_client_per_second: per_client,
            bytes_per_update: bytes / self.updates_delivered.max(1) as f64,
            // A client's own entity is in view too, and updated like the others.
            bytes_per_visible_per_tick: per_client
                / (f64::from(self.tick_hz.max(1)) * (visible_mean + 1.0)),
            is_verified: self.is_verified,
            verify_checked: self.verify_checked,
            verify_errors: self.verify_errors,
            verify_late: self.verify_late,
            verify_open: self.verify_open,
            sessions_lost: self.lost,
            behaviour: self.behaviour,
            examples: self.examples,
        }
    }
}

/// What a swarm did and received.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SwarmReport {
    pub behaviour: String,
    pub clients: u64,
    pub clients_connected: u64,
    /// How often bots came into the world: more than once, where stages let them leave.
    pub joins: u64,
    /// Bots that could not connect.
    pub joins_failed: u64,
    /// Attempts to join that bots made again, since no answer came.
    pub joins_repeated: u64,
    /// How often bots left, as a stage wanted fewer.
    pub leaves: u64,
    /// The time that the bots played.
    pub seconds: f64,
    pub commands_sent: u64,
    /// Commands without effect, by why they had none: what a world's `require` says, or one of the
    /// engine's reasons.
    #[serde(default)]
    pub commands_refused: BTreeMap<String, u64>,
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
        if self.leaves > 0 {
            clients += &format!(", {} joins and {} leaves", self.joins, self.leaves);
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
        ];
        if !self.commands_refused.is_empty() {
            lines.push(("without effect", self.refused_text()));
        }
        lines.push(("updates delivered", updates));
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

    /// The most frequent reasons.
    fn refused_text(&self) -> String {
        let mut reasons: Vec<_> = self.commands_refused.iter().collect();
        reasons.sort_by_key(|&(why, &count)| (Reverse(count), why));
        let all: u64 = self.commands_refused.values().sum();
        let listed = reasons.iter().take(REASONS_SHOWN);
        let mut text: Vec<String> = listed
            .map(|(why, count)| format!("{count} {why}"))
            .collect();
        if reasons.len() > REASONS_SHOWN {
            text.push(format!("{} other reasons", reasons.len() - REASONS_SHOWN));
        }
        format!("{all}: {}", text.join("; "))
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

/// So many reasons of commands without effect are listed for people; the JSON has all.
const REASONS_SHOWN: usize = 6;
/// Bots that are later than this measure themselves.
const BOTS_LATE_MS: f64 = 20.0;

/// Prints aligned lines of name and value.
pub fn print_lines(lines: &[(String, String)]) {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in lines {
        say!("  {name:<width$}  {}", program::printable::OneLine(value));
    }
}
