//! The report of a demo.

use std::collections::BTreeMap;

use client_bot::SwarmReport;
use client_bot::report::print_lines;
use platform::metrics::stats::{Figures, counts_text};
use program::say;
use serde::Serialize;

/// The measurements of a demo: the last line of `--json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DemoReport {
    #[serde(flatten)]
    pub swarm: SwarmReport,
    pub backend: &'static str,
    pub tick_hz: u32,
    pub ticks: u64,
    pub ticks_late: u64,
    /// The work of the tick thread.
    pub engine_ms_p50: f64,
    pub engine_ms_p99: f64,
    /// From gathering commands to the last client's datagram.
    pub tick_ms_p50: f64,
    pub tick_ms_p99: f64,
    pub commands_applied: u64,
    /// The age of a client's acknowledged state when a tick is sent to it.
    pub age_at_client_ms_p50: f64,
    pub age_at_client_ms_p99: f64,
    /// Of a hundred clients in a tick: those that were not sent it, as there was no time.
    pub deferred_percent: f64,
    /// The same, as nothing was received from them for long.
    pub out_of_touch_percent: f64,
    /// Packets from and to the server.
    pub packets_out_per_client_tick: f64,
    pub packets_in_per_client_tick: f64,
    /// Packets that arrived at the server when a socket's buffer was full.
    pub socket_drops: u64,
    /// Processor time of the server's threads.
    pub server_us_per_client_tick: f64,
    /// Runs that used up their budget, by command.
    pub over_budget: BTreeMap<String, u64>,
    pub rss_bytes: u64,
}

impl DemoReport {
    /// The server's part of a report, from its figures and its processor time.
    pub fn of_server(figures: Figures, server_seconds: f64) -> DemoReport {
        let client_ticks = figures.client_ticks.max(1) as f64;
        let per_client_tick = |number| number as f64 / client_ticks;
        DemoReport {
            ticks: figures.ticks,
            ticks_late: figures.ticks_late,
            engine_ms_p50: figures.engine_ms(0.5),
            engine_ms_p99: figures.engine_ms(0.99),
            tick_ms_p50: figures.tick_ms(0.5),
            tick_ms_p99: figures.tick_ms(0.99),
            commands_applied: figures.commands_applied,
            age_at_client_ms_p50: figures.age_ms(0.5),
            age_at_client_ms_p99: figures.age_ms(0.99),
            deferred_percent: per_client_tick(100 * figures.deferred),
            out_of_touch_percent: per_client_tick(100 * figures.out_of_touch),
            packets_out_per_client_tick: per_client_tick(figures.packets_sent),
            packets_in_per_client_tick: per_client_tick(figures.packets_received),
            socket_drops: figures.socket_drops,
            server_us_per_client_tick: server_seconds * 1e6 / client_ticks,
            over_budget: figures.over_budget,
            ..DemoReport::default()
        }
    }

    /// The problems. `expected_visible` is how many others a bot should see; `None`: unknown.
    pub fn shortcomings(&self, expected_visible: Option<f64>) -> Vec<String> {
        let swarm = &self.swarm;
        let mut reasons = swarm.examples.clone();
        let mut unless = |holds: bool, reason: String| {
            if !holds {
                reasons.push(reason);
            }
        };
        unless(
            swarm.clients_connected == swarm.clients,
            format!(
                "{} bots did not connect",
                swarm.clients - swarm.clients_connected
            ),
        );
        unless(
            swarm.verify_errors == 0,
            format!(
                "{} of {} checks failed",
                swarm.verify_errors, swarm.verify_checked
            ),
        );
        unless(swarm.verify_checked > 0, "nothing was verified".to_owned());
        // With few others, chance decides.
        if let Some(expected) = expected_visible.filter(|&expected| expected >= EXPECTED_MIN) {
            let needed = VISIBLE_MIN.min(expected * 0.75);
            unless(
                swarm.visible_mean >= needed,
                format!(
                    "bots saw {:.1} others on average, where {needed:.1} are expected",
                    swarm.visible_mean
                ),
            );
        }
        reasons
    }

    /// Prints the report for people.
    pub fn print(&self, reasons: &[String]) {
        say!("");
        let mut lines = self.swarm.lines();
        let more = [
            (
                "ticks",
                format!(
                    "{} at {} Hz, {} late",
                    self.ticks, self.tick_hz, self.ticks_late
                ),
            ),
            (
                "engine",
                format!(
                    "{:.2} ms median, {:.2} ms at the 99th percentile",
                    self.engine_ms_p50, self.engine_ms_p99
                ),
            ),
            (
                "whole tick",
                format!(
                    "{:.2} ms median, {:.2} ms at the 99th percentile",
                    self.tick_ms_p50, self.tick_ms_p99
                ),
            ),
            ("commands applied", self.commands_applied.to_string()),
            (
                "age at clients",
                format!(
                    "{:.0} ms median, {:.0} ms at the 99th percentile",
                    self.age_at_client_ms_p50, self.age_at_client_ms_p99
                ),
            ),
            (
                "deferred",
                format!(
                    "{:.1} % for want of time, {:.1} % out of touch",
                    self.deferred_percent, self.out_of_touch_percent
                ),
            ),
            (
                "packets",
                format!(
                    "{:.2} out and {:.2} in per client and tick, {} dropped",
                    self.packets_out_per_client_tick,
                    self.packets_in_per_client_tick,
                    self.socket_drops
                ),
            ),
            (
                "server time",
                format!(
                    "{:.1} µs per client and tick",
                    self.server_us_per_client_tick
                ),
            ),
            (
                "memory",
                format!("{:.0} MB, server and bots", self.rss_bytes as f64 / 1e6),
            ),
        ];
        lines.extend(more.map(|(name, value)| (name.to_owned(), value)));
        if !self.over_budget.is_empty() {
            lines.push(("over budget".to_owned(), counts_text(&self.over_budget)));
        }
        print_lines(&lines);
        say!("");
        for reason in reasons {
            say!("  ! {reason}");
        }
        if reasons.is_empty() {
            say!("All data that the bots received was right.");
        }
    }
}

/// The others in view that make a crowd.
const VISIBLE_MIN: f64 = 15.0;
/// The fewest expected others for which the number is checked.
const EXPECTED_MIN: f64 = 4.0;
