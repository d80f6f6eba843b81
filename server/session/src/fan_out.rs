//! What is sent to one client of one tick: the stream's frame, then the datagrams.

use gpu_kernels::Delivery;
use platform::metrics::counts::FanOutCounts;
use shared::wire::FRAME_BYTES_MAX;
use shared::wire::bits::BitWriter;
use shared::wire::movement::{MovementScratch, PackedEntity};
use shared::{Slot, Tick};

use super::acknowledgement::{Due, MergeScratch, Moved};
use super::backlog::UrgencyOrder;
use super::frame::{FrameWriter, TickView};
use super::refused::of_entity;
use super::{Player, Reply, Session, notices, talk};

/// Buffers of a fan-out; one set serves all sessions of a shard in turn.
#[derive(Default)]
pub struct Scratch {
    pub(super) frame: BitWriter,
    pub(super) datagram: MovementScratch,
    /// Entities with new movement in this tick, ascending.
    pub(super) moved: Vec<Moved>,
    /// Entities whose movement is due for a client, ascending.
    pub(super) due: Vec<Due>,
    /// The due ones by urgency, where not all can be sent.
    pub(super) order: UrgencyOrder,
    /// The movement that is sent, ascending by slot.
    pub(super) sent: Vec<(u32, PackedEntity)>,
    pub(super) sent_slots: Vec<u32>,
    pub(super) deferred: Vec<Due>,
    /// Bits of the stream in this tick.
    pub(super) stream_bits: usize,
    pub(super) merge: MergeScratch,
}

impl Session {
    /// Sends a tick to the client: answers, enters, leaves, lasting attributes and notices
    /// by the stream ([`Session::unsent`]), movement through `send`, one datagram a call.
    /// A session without an entity, or one that is ending, gets nothing.
    pub fn send_tick(
        &mut self,
        view: TickView<'_>,
        scratch: &mut Scratch,
        counts: &mut FanOutCounts,
        send: impl FnMut(Vec<u8>),
    ) {
        if self.write_stream(view, scratch, counts) {
            self.send_movement(view, scratch, counts, send);
        }
    }

    /// The client's budget of bytes in a tick: by the world's limit, and by its link. `None`: no
    /// limit.
    pub(super) fn bytes_max(&self, view: TickView<'_>) -> Option<usize> {
        let budget = match view.world.config.limits.client_bytes_per_tick as usize {
            0 => None,
            bytes => Some(bytes),
        };
        match (budget, self.link_allows) {
            (Some(budget), Some(allowed)) => Some(budget.min(allowed)),
            (budget, allowed) => budget.or(allowed),
        }
    }

    /// Whether the link's budget of this tick is used up.
    pub(super) fn is_link_full(&self) -> bool {
        self.link_allows.is_some_and(|bytes| bytes < LINK_BYTES_MIN)
    }

    /// Defers a tick for want of time: only the stream is written, and movement waits.
    pub fn defer(&mut self, view: TickView<'_>, scratch: &mut Scratch, counts: &mut FanOutCounts) {
        if self.write_stream(view, scratch, counts) {
            self.defer_movement(view, scratch);
        }
    }

    /// Writes the stream's part of a tick, and notes the age of the client's view. False if
    /// nothing is sent to the client.
    fn write_stream(
        &mut self,
        view: TickView<'_>,
        scratch: &mut Scratch,
        counts: &mut FanOutCounts,
    ) -> bool {
        let Some(player) = self.player.filter(|_| !self.is_ending) else {
            return false;
        };
        self.processed.advance(view.publication.tick, view.input);
        let tick_hz = view.world.config.schema.world.tick_hz;
        self.link_allows = self.flow.begin(view.publication.tick, tick_hz);
        if self.link_allows.is_some() && self.is_stream_late(view) {
            self.link_allows = Some(0);
        }
        // Frames may depend on it, also when movement is deferred.
        if std::mem::take(&mut self.has_old_interface) {
            self.write_interface(view, scratch);
        }
        self.write_frame(player, view, scratch, counts);
        counts.ages.note(self.age(view.publication.tick));
        true
    }

    /// How many ticks ago the client was up to date, by its acknowledgements: one if it has
    /// acknowledged the tick before.
    pub(super) fn age(&self, tick: Tick) -> u32 {
        let first_missing = [self.unacknowledged, self.movement_deferred_since]
            .into_iter()
            .flatten()
            .min();
        let complete = first_missing.unwrap_or(tick).before(1);
        tick.since(complete)
    }

    /// Whether the client should have acknowledged the stream by now. On a narrow link the stream
    /// then takes priority, as it must not be lost; a datagram probes now and then.
    fn is_stream_late(&self, view: TickView<'_>) -> bool {
        self.is_overdue(self.stream.unread(), view)
    }

    /// Whether an acknowledgement of what was sent in a tick is overdue, and no probe is due.
    pub(super) fn is_overdue(&self, since: Option<Tick>, view: TickView<'_>) -> bool {
        let tick_hz = view.world.config.schema.world.tick_hz;
        let tick = view.publication.tick;
        since.is_some_and(|since| self.flow.is_long_ago(since, tick, tick_hz))
            && tick.since(self.last_datagram) < probe_ticks(tick_hz)
    }

    /// Writes the world's commands and notifications in a frame of their own: the rest of the
    /// tick may depend on them. The frame counts as one of the tick before, since this tick is
    /// not complete with it.
    fn write_interface(&mut self, view: TickView<'_>, scratch: &mut Scratch) {
        let before = view.publication.tick.before(1);
        let codec = &view.world.stream;
        let mut frame = FrameWriter::new(codec, before, &mut scratch.frame);
        codec.interface(frame.message(), &view.world.interface());
        self.stream.push_frame(before, codec, &mut scratch.frame);
    }

    /// Writes the stream's frame, and puts the entities with new movement into
    /// `scratch.moved`. Answers and leaves are never deferred; enters and lasting attributes
    /// beyond the budget are.
    fn write_frame(
        &mut self,
        player: Player,
        view: TickView<'_>,
        scratch: &mut Scratch,
        counts: &mut FanOutCounts,
    ) {
        let tick = view.publication.tick;
        let codec = &view.world.stream;
        let mut frame = FrameWriter::new(codec, tick, &mut scratch.frame);
        for answer in self.answers.drain(..) {
            match answer {
                Reply::Answer(answer) => codec.answer(frame.message(), &answer),
                Reply::Texts(request, texts) => codec.texts(frame.message(), request, &texts),
            }
        }
        let refused = &view.publication.output.refused;
        self.refused.note_all(of_entity(refused, player.entity));
        self.refused.write(&mut frame);
        let others = &view.publication.others;
        if self.others != *others {
            self.others.clone_from(others);
            let servers = others.of(player.client);
            codec.servers(frame.message(), servers);
        }
        if std::mem::take(&mut self.is_reborn) {
            codec.reborn(frame.message(), player.entity);
        }
        scratch.moved.clear();
        let is_thin = self.stream.is_filling();
        if view.world.config.limits.edits_per_tick > 0 {
            self.edits.write(view, is_thin, &mut frame);
        }
        let bytes_max = self.bytes_max(view);
        let may_wait = is_thin || bytes_max.is_some();
        if let Some(slot) = view.mirror.shared() {
            self.write_shared(&mut frame, view, slot, may_wait);
        }
        for &delivery in view.publication.output.deliveries.of(player.client) {
            let (slot, tier) = (delivery.slot(), delivery.tier());
            let columns = match delivery.kind() {
                Delivery::UPDATE => view.mirror.columns_to_send(slot),
                Delivery::RENEW => u64::MAX,
                Delivery::LEAVE => {
                    self.in_view = self.in_view.saturating_sub(1);
                    self.write_leave(&mut frame, slot);
                    continue;
                }
                _ => {
                    self.in_view += 1;
                    self.enters.add(slot, tier, 0, tick);
                    continue;
                }
            };
            // An entity that has not entered yet is sent as it is then.
            if !self.enters.is_empty() && self.enters.holds(slot, tier) {
                continue;
            }
            if columns & view.mirror.masks(slot).movement != 0 {
                let slot = slot.0;
                scratch.moved.push(Moved { slot, tier });
            }
            match lasting_columns(view, player, slot, columns) {
                0 => {}
                columns if may_wait => self.values.add(slot, tier, columns, tick),
                columns => write_values(&mut frame, view, slot, columns),
            }
        }
        match is_thin {
            true => notices::leave_out(player.client, view, &mut frame, counts),
            false => notices::write(player.client, view, &mut frame, counts),
        }
        let (own, near) = (&mut self.talk, &mut self.near);
        talk::write(player.client, view, own, near, &mut frame, counts);
        self.write_enters(&mut frame, view, player, &mut scratch.order);
        let may_write = !is_thin && !self.is_link_full();
        if let Some(things) = &mut self.things {
            let bits_max = bytes_max.map_or(usize::MAX, |bytes| bytes * 8 / 4);
            let bits_max = may_write.then_some(bits_max);
            things.write(player.entity, view.mirror, &mut frame, bits_max);
        }
        if let Some(members) = &mut self.members {
            // An eighth of the budget.
            let bits_max = may_write.then_some(bytes_max.unwrap_or(usize::MAX));
            members.write(player.entity, view.mirror, &mut frame, bits_max);
        }
        // A client that reads its stream slowly is sent less before it is closed: values that
        // will be overtaken wait until it has caught up, and only the newest are sent then.
        if !is_thin && !self.is_link_full() {
            self.write_waiting_values(&mut frame, view, &mut scratch.order);
        }
        self.rankings.want(view);
        if !is_thin && !self.is_link_full() {
            self.rankings.write(player.entity, view, &mut frame);
            let budget = bytes_max.map_or(usize::MAX, |bytes| bytes / 4);
            self.layers.write(view.world, budget, &mut frame);
        }
        scratch.stream_bits = frame.bit_len();
        if frame.bit_len() > 0 {
            self.stream.push_frame(tick, codec, &mut scratch.frame);
        }
    }

    /// Writes what the whole world shares, which never leaves the client's view.
    fn write_shared(
        &mut self,
        frame: &mut FrameWriter<'_>,
        view: TickView<'_>,
        slot: Slot,
        may_wait: bool,
    ) {
        let mirror = view.mirror;
        if !std::mem::replace(&mut self.has_shared, true) {
            let (entity, kind) = (mirror.id(slot), mirror.kind(slot));
            let (codec, course) = (frame.codec, mirror.course(slot));
            if let Some(things) = &mut self.things {
                things.come(slot, mirror);
            }
            codec.enter(
                frame.message(),
                entity,
                kind,
                false,
                &course,
                mirror.row(slot),
            );
            return;
        }
        let columns = mirror.columns_to_send(slot) & mirror.masks(slot).state;
        match columns {
            0 => {}
            columns if may_wait => self.values.add(slot, 0, columns, view.publication.tick),
            columns => write_values(frame, view, slot, columns),
        }
    }

    fn write_leave(&mut self, frame: &mut FrameWriter<'_>, slot: Slot) {
        // An entity that has not entered yet need not leave.
        if self.enters.remove(slot) {
            return;
        }
        frame.codec.leave(frame.message(), slot);
        self.movement.leave(slot.0);
        if let Some(things) = &mut self.things {
            things.leave(slot);
        }
        self.values.remove(slot);
    }

    /// Writes the most urgent enters, at least one of those that are ready: as many as half of
    /// the budget, and a frame, allow.
    fn write_enters(
        &mut self,
        frame: &mut FrameWriter<'_>,
        view: TickView<'_>,
        player: Player,
        order: &mut UrgencyOrder,
    ) {
        let mirror = view.mirror;
        let bits_max = match self.bytes_max(view) {
            None => FRAME_BYTES_MAX * 8 / 4,
            Some(bytes) => (bytes * 8 / 2).min(FRAME_BYTES_MAX * 8 / 4),
        };
        let is_link_full = self.is_link_full();
        let end = frame.bit_len() + bits_max;
        let (tick, movement) = (view.publication.tick, &mut self.movement);
        let things = &mut self.things;
        let most = bits_max / ENTER_BITS_MIN;
        let mut write = |frame: &mut FrameWriter<'_>, slot: Slot| {
            let (entity, kind) = (mirror.id(slot), mirror.kind(slot));
            let is_own = entity == player.entity;
            let row = mirror.row(slot);
            let (codec, course) = (frame.codec, mirror.course(slot));
            codec.enter(frame.message(), entity, kind, is_own, &course, row);
            if let Some(name) = mirror.name(slot) {
                codec.name(frame.message(), slot, name);
            }
            movement.enter(slot.0, tick);
            if let Some(things) = &mut *things {
                things.come(slot, mirror);
            }
        };
        // The client's own entity comes before all others.
        let own = player.entity.slot;
        if !self.enters.is_empty() && mirror.is_ready(own) && self.enters.remove(own) {
            write(frame, own);
        }
        if is_link_full {
            return;
        }
        let is_ready = |slot| mirror.is_ready(slot);
        self.enters
            .drain_urgent(order, tick, most, is_ready, |slot, _| {
                write(frame, slot);
                frame.bit_len() < end
            });
    }

    /// Writes the most urgent lasting attributes, at least those of one entity: a quarter of
    /// the budget, or all.
    fn write_waiting_values(
        &mut self,
        frame: &mut FrameWriter<'_>,
        view: TickView<'_>,
        order: &mut UrgencyOrder,
    ) {
        let bits_max = match self.bytes_max(view) {
            None => usize::MAX,
            Some(bytes) => bytes * 8 / 4,
        };
        let end = frame.bit_len().saturating_add(bits_max);
        let most = bits_max / VALUES_BITS_MIN;
        let tick = view.publication.tick;
        self.values.drain_urgent(
            order,
            tick,
            most,
            |_| true,
            |slot, columns| {
                write_values(frame, view, slot, columns);
                frame.bit_len() < end
            },
        );
    }
}

/// The lasting attributes among these columns that the client may receive.
fn lasting_columns(view: TickView<'_>, player: Player, slot: Slot, columns: u64) -> u64 {
    let own = view.mirror.masks(slot);
    let private = match view.mirror.id(slot) == player.entity {
        true => own.private,
        false => 0,
    };
    columns & (own.state | private)
}

fn write_values(frame: &mut FrameWriter<'_>, view: TickView<'_>, slot: Slot, columns: u64) {
    let values = view.mirror.values(slot, columns);
    frame.codec.state(frame.message(), slot, values);
}

/// No enter takes fewer.
const ENTER_BITS_MIN: usize = 8;
/// Nor do the attributes of an entity.
const VALUES_BITS_MIN: usize = 8;

const PROBES_PER_SECOND: u32 = 4;
/// With less, nothing is sent in a tick.
const LINK_BYTES_MIN: usize = 24;

pub(super) fn probe_ticks(tick_hz: u32) -> u32 {
    (tick_hz / PROBES_PER_SECOND).max(1)
}
