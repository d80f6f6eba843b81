//! The datagrams of one tick: movement within the budget, the most urgent first.

use platform::metrics::counts::FanOutCounts;
use shared::wire::DATAGRAM_BYTES_MAX;
use shared::wire::movement::{BASE_TICKS_MAX, Header, PARTS_MAX};
use shared::{Slot, Tick};

use super::Session;
use super::acknowledgement::{Due, Now};
use super::backlog::keep_first;
use super::fan_out::{Scratch, probe_ticks};
use super::frame::TickView;

impl Session {
    /// Sends the movement of this tick, and lost movement again.
    pub(super) fn send_movement(
        &mut self,
        view: TickView<'_>,
        scratch: &mut Scratch,
        counts: &mut FanOutCounts,
        mut send: impl FnMut(Vec<u8>),
    ) {
        if self.is_out_of_touch(view) {
            counts.out_of_touch += 1;
            return self.defer_movement(view, scratch);
        }
        let tick = view.publication.tick;
        if self.is_link_full() {
            counts.link_full += 1;
            let has_more = !scratch.moved.is_empty() || self.is_behind;
            self.flow.send(scratch.stream_bits / 8, 0, has_more);
            return self.defer_movement(view, scratch);
        }
        let base = self.merge_movement(view, scratch);
        let has_news = !scratch.due.is_empty() || self.processed.has_news();
        // A client whose last datagram said that movement is deferred must learn when none is.
        if !has_news
            && !self.is_behind
            && tick.since(self.last_datagram) < self.silence_ticks_max(view)
        {
            return self.flow.send(scratch.stream_bits / 8, 0, false);
        }
        let bytes_max = self.movement_bytes_max(view, scratch.stream_bits);
        let stream_bytes = scratch.stream_bits / 8;
        choose(view, base, bytes_max, scratch);
        let Scratch {
            sent,
            sent_slots,
            deferred,
            datagram,
            ..
        } = scratch;
        let is_complete = deferred.is_empty() && self.enters.is_empty() && self.values.is_empty();
        let may_miss = sent.is_empty() && self.movement.has_in_flight();
        let header = Header {
            tick,
            base: Some(base),
            processed: self.processed.sequence(),
            kept: view.publication.durable_through,
            margin: self.processed.margin(),
            send_every: view.send_every,
            is_whole: is_complete && !may_miss,
        };
        let (mut bytes_sent, mut packets) = (0, 0);
        let count_and_send = |bytes: Vec<u8>| {
            bytes_sent += bytes.len();
            packets += 1;
            counts.datagrams += 1;
            counts.datagram_bytes += bytes.len() as u64;
            send(bytes);
        };
        let codec = view.mirror.movement_codec();
        let movement = |i: usize| sent[i].1;
        let left_over = codec.encode(
            header,
            sent_slots,
            bytes_max,
            movement,
            datagram,
            count_and_send,
        );
        let late = &sent_slots[sent_slots.len() - left_over..];
        self.is_behind = !is_complete || left_over > 0;
        counts.waiting += (deferred.len() + left_over) as u64;
        self.movement.defer(deferred.iter().map(|due| due.slot));
        self.movement.defer(late.iter().copied());
        self.flow
            .send(stream_bytes + bytes_sent, packets, self.is_behind);
        self.last_datagram = tick;
        self.unacknowledged.get_or_insert(tick);
        self.movement_deferred_since = None;
        self.processed.mark_sent();
    }

    pub(super) fn defer_movement(&mut self, view: TickView<'_>, scratch: &mut Scratch) {
        let tick = view.publication.tick;
        self.movement_deferred_since.get_or_insert(tick);
        self.is_behind |= !scratch.moved.is_empty();
        if scratch.moved.len() <= FEW_MOVED {
            return self.movement.wait(tick, &scratch.moved);
        }
        self.merge_movement(view, scratch);
        self.movement.defer(scratch.due.iter().map(|due| due.slot));
    }

    /// Puts the entities whose movement must be sent into `scratch.due`. Returns the tick on
    /// which deltas build.
    fn merge_movement(&mut self, view: TickView<'_>, scratch: &mut Scratch) -> Tick {
        let (tick, newest) = (view.publication.tick, self.acknowledgement.newest);
        // If nothing was sent since the last acknowledged datagram, the client is up to date.
        let base = match self.last_datagram <= newest {
            true => tick.before(1),
            false => newest,
        };
        let now = Now {
            tick,
            base,
            acknowledgement: self.acknowledgement,
            resend_ticks: self
                .flow
                .resend_ticks(view.world.config.schema.world.tick_hz),
        };
        let Scratch {
            moved, due, merge, ..
        } = scratch;
        self.movement.merge(&now, moved, due, merge);
        base
    }

    /// The budget for movement in a tick: what the stream has left, but at least a quarter.
    fn movement_bytes_max(&self, view: TickView<'_>, stream_bits: usize) -> usize {
        match self.bytes_max(view) {
            None => usize::MAX,
            Some(budget) => budget.saturating_sub(stream_bits / 8).max(budget / 4),
        }
    }

    /// Whether acknowledgements of datagrams are long overdue. Then packets wait in some queue on
    /// the way, and more would only make them older. A probe is sent now and then: its
    /// acknowledgement shows that the path is open again.
    fn is_out_of_touch(&self, view: TickView<'_>) -> bool {
        self.is_overdue(self.unacknowledged, view)
    }

    /// Maximum ticks between keep-alives. They are more frequent while acknowledgements are
    /// overdue: one may be lost, and the client sends the next one only with the next datagram.
    fn silence_ticks_max(&self, view: TickView<'_>) -> u32 {
        let config = &view.world.config;
        let tick_hz = config.schema.world.tick_hz;
        let unacked = [self.unacknowledged, self.stream.unread()];
        match unacked.into_iter().flatten().min() {
            Some(since) if self.flow.is_long_ago(since, view.publication.tick, tick_hz) => {
                probe_ticks(tick_hz)
            }
            // Two datagrams a second show that the server is alive; where the idle time-out is
            // short, three within it.
            _ => (tick_hz / 2)
                .min(config.limits.idle_seconds * tick_hz / 3)
                .max(1),
        }
    }
}

/// Chooses what is sent of `scratch.due`: the most urgent, up to about `bytes_max`. Puts it into
/// `sent` and `sent_slots`, and the rest into `deferred`.
fn choose(view: TickView<'_>, base: Tick, bytes_max: usize, scratch: &mut Scratch) {
    let Scratch {
        due,
        order,
        sent,
        sent_slots,
        deferred,
        ..
    } = scratch;
    let (tick, mirror) = (view.publication.tick, view.mirror);
    let codec = mirror.movement_codec();
    let ticks = tick.since(base);
    let base = (1..=BASE_TICKS_MAX).contains(&ticks).then_some(base);
    let movement = |due: &Due| mirror.movement(Slot(due.slot), base.filter(|_| due.is_known));
    sent.clear();
    deferred.clear();
    let bits_max = bytes_max
        .min(PARTS_MAX * DATAGRAM_BYTES_MAX)
        .saturating_mul(8);
    if due.len() * MOVEMENT_BITS_ABOUT_MAX <= bits_max {
        sent.extend(due.iter().map(|due| (due.slot, movement(due))));
    } else {
        order.clear();
        let all = (0..).zip(due.iter());
        order.extend(all.map(|(index, due)| (std::cmp::Reverse(due.urgency), index)));
        keep_first(order, bits_max / MOVEMENT_BITS_MIN);
        let mut bits = HEADER_BITS_ABOUT;
        for &(_, index) in order.iter() {
            let due = &mut due[index as usize];
            let movement = movement(due);
            bits += codec.bits_about(&movement) as usize;
            if bits > bits_max && !sent.is_empty() {
                break;
            }
            sent.push((due.slot, movement));
            due.urgency = SENT;
        }
        sent.sort_unstable_by_key(|sent| sent.0);
        deferred.extend(due.iter().filter(|due| due.urgency != SENT));
    }
    sent_slots.clear();
    sent_slots.extend(sent.iter().map(|sent| sent.0));
}

/// Most entities take fewer in a datagram. If this many fit for each, none is left out.
const MOVEMENT_BITS_ABOUT_MAX: usize = 256;
/// Hardly any entity takes fewer: more of them need not be sorted.
const MOVEMENT_BITS_MIN: usize = 12;
const HEADER_BITS_ABOUT: usize = 160;
/// Marks a chosen entity: no deferred one has this urgency.
const SENT: u32 = 0;
/// Up to this many are inserted one by one; more are merged with the pending ones.
const FEW_MOVED: usize = 16;
