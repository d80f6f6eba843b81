//! Figures for Prometheus.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use gpu_kernels::{Stage, TickOutput};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::PrometheusBuilder;

use super::counts::{FanOutCounts, Refusals};
use super::machine;
use super::stats::TickFigures;

/// One tick, as the metrics see it.
pub struct TickReport<'a> {
    pub figures: &'a TickFigures,
    pub output: &'a TickOutput,
    /// Subscriptions that ended by themselves.
    pub subscriptions_lost: u64,
    /// How long it took to find out who subscribed to what happened.
    pub listen: Duration,
    /// How long the tick waited for the fan-out of the one before.
    pub fan_out_wait: Duration,
    pub fan_out: &'a FanOutCounts,
    pub refusals: &'a Refusals,
    /// How long after its scheduled time the tick began.
    pub lateness: Duration,
}

/// Serves `http://ADDRESS/metrics` for as long as the process lives.
pub fn serve(address: SocketAddr) -> Result<()> {
    PrometheusBuilder::new()
        .with_http_listener(address)
        .install()
        .with_context(|| format!("cannot serve metrics on {address}"))?;
    describe_histogram!("tick_stage_seconds", "Time of each stage of the tick");
    describe_histogram!("tick_engine_seconds", "The tick thread's work");
    describe_histogram!("tick_seconds", "From the inbox swap to the last datagram");
    describe_histogram!(
        "tick_lateness_seconds",
        "From the scheduled start to the start"
    );
    describe_counter!(
        "ticks_late_total",
        "Ticks that ended a period after their start"
    );
    describe_counter!("ticks_skipped_total", "Ticks left out because one was late");
    describe_gauge!("clients", "Clients in the world");
    describe_gauge!("entities", "Entities in the world");
    describe_counter!("commands_total", "Commands, by what became of them");
    describe_counter!("updates_total", "Updates before merging");
    describe_counter!("updates_dropped_total", "Updates beyond the tick's limit");
    describe_counter!("changes_total", "Merged changes");
    describe_counter!("births_refused_total", "Births for which there was no slot");
    describe_gauge!("timed_commands", "Commands that wait for their tick");
    describe_counter!(
        "timed_commands_dropped_total",
        "Commands for which there was no room to wait"
    );
    describe_counter!("notifications_total", "Notifications of the world's logic");
    describe_counter!(
        "notifications_dropped_total",
        "Notifications beyond the tick's limit"
    );
    describe_histogram!(
        "tick_listen_seconds",
        "Matching what happened with the clients' subscriptions"
    );
    describe_counter!(
        "notices_total",
        "Changes and notifications that clients were told of because they subscribed or hear them"
    );
    describe_counter!(
        "notices_full_total",
        "Ticks of a client that may have brought more notices than it may be told of"
    );
    describe_counter!(
        "subscriptions_lost_total",
        "Subscriptions for which there was no room after all"
    );
    describe_gauge!("clients_behind", "Clients whose deliveries were put off");
    describe_counter!("deliveries_total", "Deliveries to clients");
    describe_counter!(
        "deliveries_dropped_total",
        "Deliveries put off: the tick was full"
    );
    describe_counter!("hearings_total", "Notifications times who hears them");
    describe_counter!("hearings_dropped_total", "Hearings beyond a client's limit");
    describe_counter!("sent_bytes_total", "Payload bytes, by carrier");
    describe_counter!("datagrams_total", "Datagrams to clients");
    describe_counter!(
        "messages_malformed_total",
        "Messages that could not be read"
    );
    describe_counter!(
        "requests_refused_total",
        "Regions and subscriptions that clients asked for in vain"
    );
    describe_counter!(
        "sessions_lost_total",
        "Sessions that ended without a goodbye"
    );
    describe_gauge!(
        "udp_receive_buffer_errors",
        "Datagrams that the kernel dropped for want of socket buffer, machine-wide"
    );
    Ok(())
}

/// Records one tick.
pub fn record(report: &TickReport<'_>) {
    let TickReport {
        figures,
        output,
        subscriptions_lost,
        listen,
        fan_out_wait,
        fan_out,
        refusals,
        lateness,
    } = report;
    for stage in Stage::ALL {
        let time = output.stages.of(stage);
        histogram!("tick_stage_seconds", "stage" => stage.name()).record(time);
    }
    histogram!("tick_engine_seconds").record(figures.engine);
    histogram!("tick_seconds").record(figures.tick);
    histogram!("tick_fan_out_wait_seconds").record(*fan_out_wait);
    histogram!("tick_lateness_seconds").record(*lateness);
    counter!("ticks_late_total").increment(u64::from(figures.late));
    counter!("ticks_skipped_total").increment(figures.skipped);
    gauge!("clients").set(figures.clients as f64);
    gauge!("entities").set(output.counts.entities as f64);
    let counts = &output.counts;
    for (fate, number) in [
        ("applied", counts.applied),
        ("stale", counts.stale),
        ("malformed", counts.malformed),
        ("dropped", counts.commands_dropped),
        ("over_quota", refusals.commands_over_quota),
        ("repeated", refusals.commands_repeated),
    ] {
        counter!("commands_total", "fate" => fate).increment(number);
    }
    counter!("updates_total").increment(counts.updates);
    counter!("updates_dropped_total").increment(counts.updates_dropped);
    counter!("changes_total").increment(counts.changes);
    counter!("births_refused_total").increment(counts.births_refused);
    gauge!("timed_commands").set(counts.timed as f64);
    counter!("timed_commands_dropped_total").increment(counts.timed_dropped);
    counter!("notifications_total").increment(counts.notifications);
    counter!("notifications_dropped_total").increment(counts.notifications_dropped);
    histogram!("tick_listen_seconds").record(*listen);
    counter!("notices_total").increment(fan_out.notices);
    counter!("notices_full_total").increment(fan_out.notices_full);
    counter!("subscriptions_lost_total").increment(*subscriptions_lost);
    gauge!("clients_behind").set(counts.clients_behind as f64);
    counter!("deliveries_total").increment(counts.deliveries);
    counter!("deliveries_dropped_total").increment(counts.deliveries_dropped);
    counter!("hearings_total").increment(counts.hearings);
    counter!("hearings_dropped_total").increment(counts.hearings_dropped);
    counter!("datagrams_total").increment(fan_out.datagrams);
    counter!("sent_bytes_total", "carrier" => "datagram").increment(fan_out.datagram_bytes);
    counter!("sent_bytes_total", "carrier" => "stream").increment(fan_out.stream_bytes);
    counter!("messages_malformed_total").increment(refusals.malformed);
    counter!("requests_refused_total").increment(refusals.requests);
    counter!("sessions_lost_total").increment(fan_out.sessions_lost);
    // Reading it costs some microseconds, and nobody scrapes more often.
    if output.tick.0.is_multiple_of(UDP_ERRORS_EVERY_TICKS)
        && let Some(errors) = machine::udp_receive_buffer_errors()
    {
        gauge!("udp_receive_buffer_errors").set(errors as f64);
    }
}

const UDP_ERRORS_EVERY_TICKS: u32 = 16;
