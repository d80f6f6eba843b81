//! Every metric, declared once: name, kind, label and meaning. Registration, recording
//! and the table in the documentation follow from it.

mod tick_counts;

use std::time::Duration;

use gpu_kernels::Stage;
use gpu_kernels::tick::parts::PARTS_MAX;
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

use super::steps::Step;
use super::web::WebRefusal;

pub use tick_counts::record_counts;

/// A metric as Prometheus sees it.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    pub label: Option<Label>,
    /// For people; `code` in backticks.
    pub help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A label and all its values; none are listed where the world names them.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    pub name: &'static str,
    pub values: &'static [&'static str],
}

/// A sum that only grows.
pub struct Counter(Metric);

/// A number that goes up and down.
pub struct Gauge(Metric);

/// Times. They come as summaries with quantiles, in seconds.
pub struct Histogram(Metric);

impl Counter {
    pub fn add(&self, number: u64) {
        counter!(self.0.name).increment(number);
    }

    /// The sum so far, where others count.
    pub fn reach(&self, number: u64) {
        counter!(self.0.name).absolute(number);
    }

    /// For labels whose values come from the world.
    pub fn add_to_named(&self, value: &str, number: u64) {
        counter!(self.0.name, self.0.label_name() => value.to_owned()).increment(number);
    }

    /// `value` is one of the label's values.
    pub fn add_to(&self, value: &'static str, number: u64) {
        counter!(self.0.name, self.0.label_name() => value).increment(number);
    }
}

impl Gauge {
    pub fn set(&self, number: u64) {
        gauge!(self.0.name).set(number as f64);
    }

    /// `value` is one of the label's values.
    pub fn set_to(&self, value: &'static str, number: u64) {
        gauge!(self.0.name, self.0.label_name() => value).set(number as f64);
    }

    /// For a gauge that is always 1 and says something by its labels.
    pub fn say(&self, labels: &[(&'static str, String)]) {
        gauge!(self.0.name, labels).set(1.0);
    }
}

impl Histogram {
    pub fn record(&self, time: Duration) {
        histogram!(self.0.name).record(time);
    }

    /// The same time so many times.
    pub fn record_many(&self, time: Duration, count: usize) {
        histogram!(self.0.name).record_many(time, count);
    }

    /// `value` is one of the label's values.
    pub fn record_to(&self, value: &'static str, time: Duration) {
        histogram!(self.0.name, self.0.label_name() => value).record(time);
    }
}

impl Metric {
    fn label_name(&self) -> &'static str {
        self.label.map_or("", |label| label.name)
    }

    fn describe(&self) {
        match self.kind {
            Kind::Counter => describe_counter!(self.name, self.help),
            Kind::Gauge => describe_gauge!(self.name, self.help),
            Kind::Histogram => describe_histogram!(self.name, self.help),
        }
    }

    fn show(&self) {
        match (self.kind, self.label) {
            (Kind::Counter, None) => counter!(self.name).increment(0),
            (Kind::Counter, Some(label)) => {
                for &value in label.values {
                    counter!(self.name, label.name => value).increment(0);
                }
            }
            (Kind::Gauge, None) => gauge!(self.name).set(0.0),
            (Kind::Gauge, Some(_)) => {}
            (Kind::Histogram, _) => {}
        }
    }

    /// A row of the documentation's table.
    fn markdown_row(&self) -> String {
        let (name, help) = (self.name, sentence(self.help));
        let kind = match self.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        match self.label {
            Some(label) => format!("| `{name}{{{}}}` | {kind} | {help} |\n", label.name),
            None => format!("| `{name}` | {kind} | {help} |\n"),
        }
    }
}

/// The text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}.", first.to_uppercase())
}

/// All metrics: those of the server, then those of the tick's own counts.
pub fn all() -> impl Iterator<Item = Metric> {
    METRICS.iter().copied().chain(tick_counts::metrics())
}

/// Registers all metrics with the recorder, and shows counters from the start, also those that
/// stay 0 in most worlds.
pub fn describe() {
    for metric in all() {
        metric.describe();
        metric.show();
    }
}

/// The table of the documentation.
pub fn markdown() -> String {
    let rows = all().map(|metric| metric.markdown_row());
    "| metric | type | meaning |\n| --- | --- | --- |\n".to_owned() + &rows.collect::<String>()
}

macro_rules! table {
    ($($constant:ident: $kind:ident = $name:literal $([$label:literal: $values:expr])?, $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $constant: $kind = $kind(Metric {
                name: $name,
                kind: Kind::$kind,
                label: table!(@label $($label, $values)?),
                help: $help,
            });
        )*
        /// The server's own metrics, in the order of the documentation.
        const METRICS: &[Metric] = &[$($constant.0),*];
    };
    (@label) => { None };
    (@label $label:literal, $values:expr) => { Some(Label { name: $label, values: $values }) };
}

table! {
    TICK_STAGE: Histogram = "myriad_tick_stage_seconds" ["stage": &STAGES],
        "time of each stage: `upload`, `due`, `logic`, `merge`, `lifecycle`, `index`, `interest`, `download`";
    GPU_MEMORY: Gauge = "myriad_gpu_memory_bytes" ["gpu": &[]],
        "memory of each GPU that the world takes; by its place in `--gpus`";
    TICK_GPU: Histogram = "myriad_tick_gpu_seconds" ["gpu": &[]],
        "time that each GPU was busy with a tick, without the download and waits for others; by its place in `--gpus`";
    TICK_STEP: Histogram = "myriad_tick_step_seconds" ["step": &STEPS],
        "work of the tick thread by step: `gather`, `order` (of commands), `backend`, `record`, `listen` (matching with subscriptions), `apply`, `keep` (the journal), `publish`";
    TICK_ENGINE: Histogram = "myriad_tick_engine_seconds",
        "work of the tick thread";
    TICK_FAN_OUT_WAIT: Histogram = "myriad_tick_fan_out_wait_seconds",
        "how long a computed tick waited for the fan-out of the tick before; part of `myriad_tick_seconds`";
    TICK: Histogram = "myriad_tick_seconds",
        "from gathering commands to the last client's datagram";
    TICK_LATENESS: Histogram = "myriad_tick_lateness_seconds",
        "how long after its scheduled start a tick began";
    TICKS_LATE: Counter = "myriad_ticks_late_total",
        "ticks that ended more than a period after their scheduled start";
    TICKS_SKIPPED: Counter = "myriad_ticks_skipped_total",
        "scheduled ticks that were left out because one was late";
    TICKS_UNRECORDED: Counter = "myriad_ticks_unrecorded_total",
        "ticks that are missing at the end of a recording, because the disk is full, fails or is too slow";
    JOURNAL_SYNC_SECONDS: Histogram = "myriad_journal_sync_seconds",
        "how long the disk took to make records of the journal safe";
    CHECKPOINTS: Counter = "myriad_checkpoints_total" ["result": &CHECKPOINT_RESULTS],
        "checkpoints of a persistent world: `written`, `failed`";
    STANDBYS: Gauge = "myriad_standbys",
        "standbys that follow: 0 or 1";
    STANDBY_LAG: Gauge = "myriad_standby_lag_ticks",
        "ticks that the standby has not acknowledged";
    STANDBY_ACKNOWLEDGED: Gauge = "myriad_standby_acknowledged_tick",
        "the newest tick that the standby has on disk";
    STANDBY_WAIT: Histogram = "myriad_standby_wait_seconds",
        "at level `standby`: how long a tick that was synced here waited for the standby";
    STANDBY_IN_FORCE: Gauge = "myriad_standby_in_force",
        "1 while level `standby` holds, 0 while only `synced` does for want of a standby";
    STANDBY_FALLBACKS: Counter = "myriad_standby_fallbacks_total",
        "how often level `standby` fell back to `synced`";
    STANDBYS_DIFFER: Counter = "myriad_standbys_differ_total",
        "standbys that have stopped because their state differed";
    FOLLOWERS_REFUSED: Counter = "myriad_followers_refused_total" ["reason": &FOLLOWER_REFUSALS],
        "connections that the port for a standby refused: `certificate` (an unknown one, or none), `silent`, `malformed`, `crowded`, `second` (another one follows), `epoch` (this server is deposed)";
    GATEWAYS: Gauge = "myriad_gateways",
        "gateways that are connected to this tick host";
    GATEWAY_CLIENTS: Gauge = "myriad_gateway_clients",
        "sessions of clients at gateways";
    GATEWAYS_LOST: Counter = "myriad_gateways_lost_total" ["reason": &GATEWAY_LOSSES],
        "gateways whose clients were lost at once: `closed`, `silent` (it sent nothing to its clients), `unread` (its clients acknowledged nothing), `malformed`";
    GATEWAYS_REFUSED: Counter = "myriad_gateways_refused_total" ["reason": &GATEWAY_REFUSALS],
        "connections that the port for gateways refused: `certificate` (an unknown one, or none), `silent`, `malformed`, `crowded` (no place is free)";
    GATEWAY_INPUT_REFUSED: Counter = "myriad_gateway_input_refused_total" ["what": &GATEWAY_INPUT],
        "input of gateways that was not of their own clients, or too much: `commands`, `requests`, `sessions`";
    GATEWAY_BYTES: Counter = "myriad_gateway_bytes_total" ["direction": &GATEWAY_DIRECTIONS],
        "bytes of messages to gateways and from them: `down`, `up`";
    GATEWAY_SERVES: Gauge = "myriad_gateway_serves",
        "1 while this gateway has the world of a tick host, 0 while its clients wait for one; of a gateway only";
    FOLLOWING: Gauge = "myriad_following",
        "1 while this server follows a primary, 0 while it has no connection to it; of a standby only";
    FOLLOWING_TICK: Gauge = "myriad_following_tick",
        "the newest tick that this standby has on disk";
    FOLLOWING_WAITING: Gauge = "myriad_following_waiting_ticks",
        "ticks that this standby has on disk and was not able to run yet";
    LEASE_HELD: Gauge = "myriad_lease_held",
        "1 while this server holds the lease that makes it the primary";
    LEASE_RENEWALS: Counter = "myriad_lease_renewals_total",
        "renewals of the lease";
    LEASE_FAILURES: Counter = "myriad_lease_failures_total",
        "renewals of the lease that failed: etcd gave no answer, or a wrong one";
    CLIENTS: Gauge = "myriad_clients",
        "clients in the world";
    AGE_AT_CLIENT: Histogram = "myriad_age_at_client_seconds",
        "age of a client's acknowledged state when a tick is sent to it; a tick's time if it has acknowledged the tick before, and as much more as the tick is late; a sample of the clients of each tick";
    CLIENTS_PUT_OFF: Counter = "myriad_clients_put_off_total",
        "how often a client was not sent a tick because its shard had no time";
    CLIENTS_OUT_OF_TOUCH: Counter = "myriad_clients_out_of_touch_total",
        "how often a client was not sent a tick because nothing was received from it for long";
    CLIENTS_LINK_FULL: Counter = "myriad_clients_link_full_total",
        "how often a client was sent no movement of a tick because its link was full";
    CONNECTIONS_REFUSED: Counter = "myriad_connections_refused_total",
        "connections that were refused because too many were pending before their hello, their network had shown too many wrong tokens, or their page is of an origin that is not allowed";
    TOKENS_WRONG: Counter = "myriad_tokens_wrong_total",
        "hellos with a wrong token";
    PACKETS: Counter = "myriad_packets_total" ["direction": &DIRECTIONS],
        "packets of all shards: `sent`, `received`";
    SOCKET_DROPS: Counter = "myriad_socket_drops_total",
        "packets that arrived when a shard's socket buffer was full";
    COMMANDS: Counter = "myriad_commands_total" ["fate": &FATES],
        "commands: `applied`, `stale` (the entity is dead), `malformed`, `over_budget` (the run took too long), `over_per_tick`, `resting` (after a use), `refused` (atomic: a condition does not hold, or a value does not fit), `moved` (atomic: references changed twice), `dropped` (beyond `commands_per_tick`), `over_quota`, `too_early`, `too_late`, `repeated`";
    COMMANDS_OVER_BUDGET: Counter = "myriad_commands_over_budget_total" ["command": &[]],
        "commands of `myriad_commands_total{fate=\"over_budget\"}` by name; a world has at most 254 names";
    COMMANDS_OUT_OF_RANGE: Counter = "myriad_commands_out_of_range_total" ["command": &[]],
        "runs of commands, by name, that met an index which their array lacks, or a key which is none of their map's";
    RELOADS: Counter = "myriad_reloads_total" ["result": &RESULTS],
        "saved scripts: `compiled`, `rejected` (the world keeps those that it has)";
    RENEWALS: Counter = "myriad_renewals_total" ["result": &RENEWAL_RESULTS],
        "certificates, keys, tokens and lists of words that were read again: `renewed`, `rejected` (the previous contents stay)";
    NEWS_PUT_OFF: Counter = "myriad_news_put_off_total",
        "how often an entity's movement was deferred for a client, because the client's share of a tick was spent";
    DATAGRAMS: Counter = "myriad_datagrams_total",
        "datagrams to clients";
    SENT_BYTES: Counter = "myriad_sent_bytes_total" ["carrier": &CARRIERS],
        "payload bytes to clients, by `datagram` and `stream`";
    NOTICES: Counter = "myriad_notices_total",
        "notices to clients";
    NOTICES_FULL: Counter = "myriad_notices_full_total",
        "how often a client reached its limit of notices in a tick, by number or by time";
    TALK_LEFT_OUT: Counter = "myriad_talk_left_out_total",
        "texts of others that were left out for a client, since it had received its limit of late";
    TEXTS: Gauge = "myriad_texts",
        "texts of attributes that the world has";
    TEXT_BYTES: Gauge = "myriad_text_bytes",
        "bytes of the texts of attributes";
    TEXTS_REFUSED: Counter = "myriad_texts_refused_total" ["why": &TEXT_REFUSALS],
        "texts for attributes that were refused: `given` (by the rules of talk, or beyond a limit), `foreign` (in a command, and not given by its client)";
    SUBSCRIPTIONS_LOST: Counter = "myriad_subscriptions_lost_total",
        "subscriptions that ended because there was no room for them";
    REQUESTS_REFUSED: Counter = "myriad_requests_refused_total",
        "rejected requests for regions and subscriptions";
    MESSAGES_MALFORMED: Counter = "myriad_messages_malformed_total",
        "messages of clients that could not be read";
    SESSIONS_LOST: Counter = "myriad_sessions_lost_total",
        "sessions that ended without a goodbye";
    WEB_REFUSED: Counter = "myriad_web_refused_total" ["reason": &WEB_REFUSALS],
        "requests and connections that the web port refused: `crowded` (evicted by others), `slow`, `malformed`, `large`, `foreign` (a page of another origin, or another host's name), `token` (a wrong one), `guessing` (after too many wrong ones), `viewers` (too many dashboards), `often` (too many requests of a dashboard), `busy`";
    DASHBOARDS: Gauge = "myriad_dashboards",
        "open dashboards";
    WEB_SOCKETS: Gauge = "myriad_web_sockets",
        "connections of browsers over WebSocket, those without a hello included";
    BUILD_INFO: Gauge = "myriad_build_info" ["version": &[]],
        "always 1; further labels are `commit`, `protocol`, `tick`, `journal`, `checkpoint` and `recording`: the lines of `myriad --version`";
    BACKUP_TIME: Gauge = "myriad_backup_time_seconds",
        "when the backup was last up to date, in seconds since 1970; of `myriad backup` only, else 0";
    BACKUP_BYTES: Counter = "myriad_backup_bytes_total",
        "bytes that `myriad backup` has written";
    BACKUP_FAILURES: Counter = "myriad_backup_failures_total",
        "attempts of `myriad backup` that failed";
    DATA_FREE: Gauge = "myriad_data_free_bytes",
        "free bytes of the disk with the folder of the persistent world; 0 without one";
    MEMORY: Gauge = "myriad_memory_bytes",
        "memory of this process";
    MEMORY_AVAILABLE: Gauge = "myriad_memory_available_bytes",
        "memory that it could still take: of the machine, or of a control group with less";
    MEMORY_LIMIT: Gauge = "myriad_memory_limit_bytes",
        "all memory of the machine, or the lowest limit of the control groups that the process is in";
    LOG_LINES_LOST: Counter = "myriad_log_lines_lost_total",
        "lines of the log that could not be written, or came faster than they could be";
    AUDIT_WAITING: Gauge = "myriad_audit_waiting_bytes",
        "lines of the audit log that are not on disk yet; beyond 4 MiB no client is admitted";
    AUDIT_FAILURES: Counter = "myriad_audit_failures_total",
        "how often the audit log could not be written; until it can, no client is admitted";
    UDP_RECEIVE_BUFFER_ERRORS: Gauge = "myriad_udp_receive_buffer_errors",
        "datagrams that the kernel dropped because a socket's buffer was full, machine-wide";
}

/// The places of GPUs in `--gpus`.
pub const GPUS: [&str; PARTS_MAX] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
];
const STAGES: [&str; Stage::ALL.len()] = {
    let mut names = [""; Stage::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Stage::ALL[i].name();
        i += 1;
    }
    names
};
const STEPS: [&str; Step::ALL.len()] = {
    let mut names = [""; Step::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Step::ALL[i].name();
        i += 1;
    }
    names
};
const WEB_REFUSALS: [&str; WebRefusal::ALL.len()] = {
    let mut names = [""; WebRefusal::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = WebRefusal::ALL[i].name();
        i += 1;
    }
    names
};
const FATES: [&str; 13] = [
    "applied",
    "stale",
    "malformed",
    "over_budget",
    "over_per_tick",
    "resting",
    "refused",
    "moved",
    "dropped",
    "over_quota",
    "too_early",
    "too_late",
    "repeated",
];
const TEXT_REFUSALS: [&str; 2] = ["given", "foreign"];
const DIRECTIONS: [&str; 2] = ["sent", "received"];
const RESULTS: [&str; 2] = ["compiled", "rejected"];
const RENEWAL_RESULTS: [&str; 2] = ["renewed", "rejected"];
const CHECKPOINT_RESULTS: [&str; 2] = ["written", "failed"];
const FOLLOWER_REFUSALS: [&str; 6] = [
    "certificate",
    "silent",
    "malformed",
    "crowded",
    "second",
    "epoch",
];
const GATEWAY_LOSSES: [&str; 4] = ["closed", "silent", "unread", "malformed"];
const GATEWAY_REFUSALS: [&str; 4] = ["certificate", "silent", "malformed", "crowded"];
const GATEWAY_INPUT: [&str; 3] = ["commands", "requests", "sessions"];
const GATEWAY_DIRECTIONS: [&str; 2] = ["down", "up"];
const CARRIERS: [&str; 2] = ["datagram", "stream"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_the_table_of_metrics() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../operations.md");
        let text = std::fs::read_to_string(file).unwrap();
        let table = markdown();
        assert!(
            text.contains(&table),
            "put this table into server/operations.md:\n\n{table}"
        );
    }

    #[test]
    fn a_label_of_a_tick_count_is_one_of_its_metric() {
        let counts = gpu_kernels::Counts::METRICS.iter();
        for (count, (label, value)) in counts.filter_map(|count| Some((count, count.label?))) {
            let metric = METRICS.iter().find(|metric| metric.name == count.name);
            let labels = metric.and_then(|metric| metric.label).unwrap();
            assert_eq!(labels.name, label);
            assert!(labels.values.contains(&value), "{value}");
        }
    }

    #[test]
    fn help_texts_name_every_value_of_a_label() {
        for metric in all() {
            for value in metric.label.map_or(&[][..], |label| label.values) {
                let text = format!("`{value}`");
                assert!(metric.help.contains(&text), "{}: {value}", metric.name);
            }
        }
    }
}
