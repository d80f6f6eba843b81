//! The counts of shards: each number is one of the metrics.

use std::ops::AddAssign;

use shared::Refusal;

/// Input that a shard refused since the last tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Commands beyond a client's quota.
    pub commands_over_quota: u64,
    /// Commands beyond their `per_tick`.
    pub commands_over_per_tick: u64,
    /// Commands that were meant for a tick too far ahead.
    pub commands_too_early: u64,
    /// Commands that came too long after their tick.
    pub commands_too_late: u64,
    /// Commands received a second time.
    pub commands_repeated: u64,
    /// Texts of commands that their clients were not given.
    pub texts_foreign: u64,
    /// Texts that clients gave, and the world did not take.
    pub texts_rejected: u64,
    /// Messages that could not be read.
    pub malformed: u64,
    /// Rejected requests.
    pub requests: u64,
    /// Connections that were refused before the hello.
    pub connections: u64,
    /// Hellos with a wrong token.
    pub tokens: u64,
}

/// The counts of a shard in the fan-out of one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FanOutCounts {
    pub sessions: u64,
    /// Clients that were not sent the tick, since there was no time.
    pub deferred: u64,
    /// Clients that were not sent the tick, since nothing was received from them for so long.
    pub out_of_touch: u64,
    /// Clients whose links took no movement of the tick.
    pub link_full: u64,
    pub ages: Ages,
    pub packets_sent: u64,
    pub packets_received: u64,
    /// Bytes of both, without the headers of UDP and IP.
    pub packet_bytes_sent: u64,
    pub packet_bytes_received: u64,
    /// Packets that arrived when the buffer of a socket was full.
    pub socket_drops: u64,
    /// Entities whose movement was deferred for a client, as its budget was spent.
    pub waiting: u64,
    pub datagrams: u64,
    pub datagram_bytes: u64,
    pub stream_bytes: u64,
    pub notices: u64,
    /// Clients that may have missed notices, since they reached their limit.
    pub notices_full: u64,
    /// Texts of others that were left out for a client, since it had received so many of late.
    pub talk_left_out: u64,
    /// Sessions that ended since the last tick and were not closed by either side.
    pub sessions_lost: u64,
}

/// Clients by the age of their acknowledged state, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ages([u32; AGES]);

impl Ages {
    /// A client has everything up to so many ticks ago.
    pub fn note(&mut self, ticks: u32) {
        self.0[(ticks as usize).min(AGES - 1)] += 1;
    }

    /// Each age in ticks, with the number of clients. The last one stands for all above.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let ages = (0..).zip(self.0);
        ages.filter(|&(_, clients)| clients > 0)
    }
}

impl Default for Ages {
    fn default() -> Ages {
        Ages([0; AGES])
    }
}

impl AddAssign for Ages {
    fn add_assign(&mut self, other: Ages) {
        for (sum, number) in self.0.iter_mut().zip(other.0) {
            *sum += number;
        }
    }
}

const AGES: usize = 128;

impl Refusals {
    /// Counts a command that was refused before its tick.
    pub fn note(&mut self, reason: Refusal) {
        match reason {
            Refusal::TooEarly => self.commands_too_early += 1,
            Refusal::TooLate => self.commands_too_late += 1,
            Refusal::OverPerTick => self.commands_over_per_tick += 1,
            // Clients without an entity have no quota. The tick itself counts the rest.
            Refusal::Dead
            | Refusal::OverQuota
            | Refusal::Idle
            | Refusal::Resting
            | Refusal::BeyondLimits
            | Refusal::Unmet
            | Refusal::Moved => self.commands_over_quota += 1,
        }
    }
}

impl AddAssign for Refusals {
    fn add_assign(&mut self, other: Refusals) {
        self.commands_over_quota += other.commands_over_quota;
        self.commands_over_per_tick += other.commands_over_per_tick;
        self.commands_too_early += other.commands_too_early;
        self.commands_too_late += other.commands_too_late;
        self.commands_repeated += other.commands_repeated;
        self.texts_foreign += other.texts_foreign;
        self.texts_rejected += other.texts_rejected;
        self.malformed += other.malformed;
        self.requests += other.requests;
        self.connections += other.connections;
        self.tokens += other.tokens;
    }
}

impl AddAssign for FanOutCounts {
    fn add_assign(&mut self, other: FanOutCounts) {
        self.sessions += other.sessions;
        self.deferred += other.deferred;
        self.out_of_touch += other.out_of_touch;
        self.link_full += other.link_full;
        self.ages += other.ages;
        self.packets_sent += other.packets_sent;
        self.packets_received += other.packets_received;
        self.packet_bytes_sent += other.packet_bytes_sent;
        self.packet_bytes_received += other.packet_bytes_received;
        self.socket_drops += other.socket_drops;
        self.waiting += other.waiting;
        self.datagrams += other.datagrams;
        self.datagram_bytes += other.datagram_bytes;
        self.stream_bytes += other.stream_bytes;
        self.notices += other.notices;
        self.notices_full += other.notices_full;
        self.talk_left_out += other.talk_left_out;
        self.sessions_lost += other.sessions_lost;
    }
}
