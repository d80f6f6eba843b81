//! The figures of ticks, for metrics and the dashboard.

use std::time::{Duration, Instant};

use frontend::shard_channels::FannedOut;
use gpu_kernels::TickOutput;
use platform::metrics::counts::Refusals;
use platform::metrics::stats::TickFigures;
use platform::metrics::steps::StepTimes;
use platform::metrics::table;
use platform::metrics::telemetry::{self, TickReport};
use shared::world::command::COMMANDS_MAX;
use shared::{CommandKind, WorldConfig};
use tracing::debug;

use super::traces::TracedTick;
use super::{Start, TickLoop};

/// A tick on the tick thread, for the figures.
pub struct TickRecord {
    pub(super) start: Start,
    pub(super) begun: Instant,
    /// Its command that is traced.
    pub(super) traced: Option<Box<TracedTick>>,
    /// The thread's work, without `fan_out_wait`.
    pub(super) steps: StepTimes,
    /// How long the tick waited for the fan-out of the one before.
    pub(super) fan_out_wait: Duration,
    pub(super) refusals: Refusals,
    pub(super) clients: u64,
    /// False if the recording has ended before the world.
    pub(super) is_recorded: bool,
    /// By number: the frame's commands.
    pub(super) commands: [u64; COMMANDS_MAX],
}

impl TickLoop {
    /// Counts a tick by the shards' reports.
    pub(super) fn conclude(&mut self, fanned_out: FannedOut<TickRecord>) {
        let FannedOut {
            publication,
            report,
            finished,
            record,
        } = fanned_out;
        self.acked_through = report.acked_through;
        let period = Duration::from_secs(1) / self.config.schema.world.tick_hz;
        let late_by = finished.saturating_duration_since(record.start.scheduled + period);
        let counts = &publication.output.counts;
        let figures = TickFigures {
            clients: record.clients,
            late_by,
            skipped: record.start.skipped,
            steps: record.steps,
            tick: finished.saturating_duration_since(record.begun),
            commands_applied: counts.applied,
            deliveries: counts.deliveries,
            notices: report.counts.notices,
            sessions_lost: report.counts.sessions_lost,
            ages: report.counts.ages,
            deferred: report.counts.deferred,
            out_of_touch: report.counts.out_of_touch,
            movement_deferred: report.counts.waiting,
            socket_drops: report.counts.socket_drops,
            packets_sent: report.counts.packets_sent,
            packets_received: report.counts.packets_received,
            packet_bytes_sent: report.counts.packet_bytes_sent,
            packet_bytes_received: report.counts.packet_bytes_received,
            period,
            malformed: record.refusals.malformed,
            commands_over_quota: record.refusals.commands_over_quota,
        };
        if let (Some(traces), Some(traced)) = (&self.traces, &record.traced) {
            let world = (&self.config, report.counts.sessions);
            traces.export(traced, &publication.output, finished, world);
        }
        if !late_by.is_zero() {
            debug!(tick = %publication.tick, ?late_by, "a late tick");
        }
        self.stats.add(&figures);
        let (texts, bytes) = self.clients.texts();
        table::TEXTS.set(texts as u64);
        table::TEXT_BYTES.set(bytes);
        self.count_by_command(&publication.output);
        let report = TickReport {
            figures: &figures,
            output: &publication.output,
            subscriptions_lost: publication.subscribed.lost().len() as u64,
            fan_out_wait: record.fan_out_wait,
            fan_out: &report.counts,
            refusals: &record.refusals,
            period,
            is_recorded: record.is_recorded,
            lateness: (record.begun).saturating_duration_since(record.start.scheduled),
        };
        telemetry::record(&report);
        if let Some(window) = &self.window {
            window.lock().note(&report, &record.commands);
        }
        self.spare = publication.subscribed;
    }

    fn count_by_command(&self, output: &TickOutput) {
        for &(kind, runs) in &output.over_budget {
            // A name keeps its number, even if a reload has removed its command since.
            if let Some(name) = self.config.logic.numbers.command_name(kind) {
                self.stats.add_over_budget(name, runs);
                table::COMMANDS_OVER_BUDGET.add_to_named(name, runs);
            }
        }
        for &(kind, runs) in &output.out_of_range {
            if let Some(name) = self.config.logic.numbers.command_name(kind) {
                table::COMMANDS_OUT_OF_RANGE.add_to_named(name, runs);
            }
        }
    }
}

/// Adds every command to the metric from the start, though most never exceed their budget.
pub(super) fn show_commands(config: &WorldConfig) {
    let scripts = config.schema.commands.iter();
    for command in scripts.filter(|c| c.kind > CommandKind::DESPAWN) {
        table::COMMANDS_OVER_BUDGET.add_to_named(&command.name, 0);
        table::COMMANDS_OUT_OF_RANGE.add_to_named(&command.name, 0);
    }
}
