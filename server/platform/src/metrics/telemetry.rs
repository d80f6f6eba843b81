//! Figures for Prometheus.

use std::path::Path;
use std::time::Duration;

use gpu_kernels::{Stage, TickOutput};

use super::counts::{FanOutCounts, Refusals};
use super::memory::memory;
use super::stats::TickFigures;
use super::steps::Step;
use super::{machine, table};
use crate::log::queue;

/// The input of the metrics for one tick.
pub struct TickReport<'a> {
    pub figures: &'a TickFigures,
    pub output: &'a TickOutput,
    /// Subscriptions that ended by themselves.
    pub subscriptions_lost: u64,
    /// How long the tick waited for the fan-out of the one before.
    pub fan_out_wait: Duration,
    pub fan_out: &'a FanOutCounts,
    pub refusals: &'a Refusals,
    /// False if the recording has ended before the world.
    pub is_recorded: bool,
    /// How long after its scheduled time the tick began.
    pub lateness: Duration,
    /// From one scheduled tick to the next.
    pub period: Duration,
}

/// Records figures that change slowly and take a while to read, before a page is served.
pub fn record_memory() {
    let memory = memory();
    table::MEMORY.set(machine::rss_bytes());
    table::MEMORY_AVAILABLE.set(memory.available.unwrap_or(0));
    table::MEMORY_LIMIT.set(memory.total.unwrap_or(0));
}

/// Records the free space of the disk with a world's folder, which may be away.
pub fn record_disk(folder: Option<&Path>) {
    table::DATA_FREE.set(folder.and_then(machine::disk_free).unwrap_or(0));
}

/// Records one tick.
pub fn record(report: &TickReport<'_>) {
    record_times(report);
    table::record_counts(&report.output.counts);
    let figures = report.figures;
    table::TICKS_LATE.add(u64::from(!figures.late_by.is_zero()));
    table::TICKS_SKIPPED.add(figures.skipped);
    table::CLIENTS.set(figures.clients);
    record_front_end(
        report.fan_out,
        report.refusals,
        report.period,
        figures.late_by,
    );
    table::SUBSCRIPTIONS_LOST.add(report.subscriptions_lost);
    table::TICKS_UNRECORDED.add(u64::from(!report.is_recorded));
    table::LOG_LINES_LOST.reach(queue::lost());
    // Reading it takes some microseconds, and scrapes are seconds apart.
    if report.output.tick.0.is_multiple_of(UDP_ERRORS_EVERY_TICKS)
        && let Some(errors) = machine::udp_receive_buffer_errors()
    {
        table::UDP_RECEIVE_BUFFER_ERRORS.set(errors);
    }
}

/// Records what the shards of this process sent and refused in a tick, which was late by so much.
pub fn record_front_end(
    sent: &FanOutCounts,
    refusals: &Refusals,
    period: Duration,
    late_by: Duration,
) {
    table::COMMANDS.add_to("over_quota", refusals.commands_over_quota);
    table::COMMANDS.add_to("over_per_tick", refusals.commands_over_per_tick);
    table::COMMANDS.add_to("too_early", refusals.commands_too_early);
    table::COMMANDS.add_to("too_late", refusals.commands_too_late);
    table::COMMANDS.add_to("repeated", refusals.commands_repeated);
    table::TEXTS_REFUSED.add_to("given", refusals.texts_rejected);
    table::TEXTS_REFUSED.add_to("foreign", refusals.texts_foreign);
    table::MESSAGES_MALFORMED.add(refusals.malformed);
    table::REQUESTS_REFUSED.add(refusals.requests);
    table::CLIENTS_PUT_OFF.add(sent.deferred);
    table::CLIENTS_OUT_OF_TOUCH.add(sent.out_of_touch);
    table::CLIENTS_LINK_FULL.add(sent.link_full);
    table::CONNECTIONS_REFUSED.add(refusals.connections);
    table::TOKENS_WRONG.add(refusals.tokens);
    table::PACKETS.add_to("sent", sent.packets_sent);
    table::PACKETS.add_to("received", sent.packets_received);
    table::SOCKET_DROPS.add(sent.socket_drops);
    // The recorder keeps each sample by itself, so all clients would be too many.
    let clients: u32 = sent.ages.iter().map(|(_, clients)| clients).sum();
    let per_sample = clients.div_ceil(AGE_SAMPLES_MAX).max(1);
    for (ticks, clients) in sent.ages.iter() {
        let samples = clients.div_ceil(per_sample) as usize;
        // What a tick waits for, like a slow disk, makes it older.
        let age = period * ticks + late_by;
        table::AGE_AT_CLIENT.record_many(age, samples);
    }
    table::NEWS_PUT_OFF.add(sent.waiting);
    table::DATAGRAMS.add(sent.datagrams);
    table::SENT_BYTES.add_to("datagram", sent.datagram_bytes);
    table::SENT_BYTES.add_to("stream", sent.stream_bytes);
    table::NOTICES.add(sent.notices);
    table::NOTICES_FULL.add(sent.notices_full);
    table::TALK_LEFT_OUT.add(sent.talk_left_out);
    table::SESSIONS_LOST.add(sent.sessions_lost);
}

fn record_times(report: &TickReport<'_>) {
    for stage in Stage::ALL {
        let time = report.output.stages.of(stage);
        table::TICK_STAGE.record_to(stage.name(), time);
    }
    for (gpu, &time) in table::GPUS.iter().zip(&report.output.part_times) {
        table::TICK_GPU.record_to(gpu, time);
    }
    let steps = &report.figures.steps;
    for step in Step::ALL {
        table::TICK_STEP.record_to(step.name(), steps.of(step));
    }
    table::TICK_ENGINE.record(steps.total());
    table::TICK_FAN_OUT_WAIT.record(report.fan_out_wait);
    table::TICK.record(report.figures.tick);
    table::TICK_LATENESS.record(report.lateness);
}

/// About so many in each tick.
const AGE_SAMPLES_MAX: u32 = 1024;
const UDP_ERRORS_EVERY_TICKS: u64 = 16;
