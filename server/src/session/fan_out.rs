//! What one client is told of one tick.

use gpu_kernels::Delivery;
use shared::wire::bits::BitWriter;
use shared::wire::movement::{Header, MovementScratch};
use shared::{Slot, Tick};

use super::acknowledgement::{Due, MergeScratch, Now};
use super::frame::{FrameWriter, TickView};
use super::{Player, Session, SessionWorld, notices};
use crate::metrics::counts::FanOutCounts;

/// Buffers of a fan-out; one set serves all sessions of a shard in turn.
#[derive(Default)]
pub struct Scratch {
    frame: BitWriter,
    datagram: MovementScratch,
    /// Entities whose movement is told in this tick, ascending.
    slots: Vec<u32>,
    /// Entities whose movement a client is sent, ascending.
    due: Vec<Due>,
    /// The slots of these.
    due_slots: Vec<u32>,
    merge: MergeScratch,
}

impl Session {
    /// Tells the client of a tick: answers, enters, leaves, lasting attributes and
    /// notices go to the stream ([`Session::unsent`]), movement goes to `send`, one
    /// datagram a call. A session without an entity, or one that is ending, is told
    /// nothing.
    pub fn tell(
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

    /// Takes in a tick of which there is no time to tell the client: only the stream is
    /// written, and movement waits.
    pub fn put_off(
        &mut self,
        view: TickView<'_>,
        scratch: &mut Scratch,
        counts: &mut FanOutCounts,
    ) {
        if self.write_stream(view, scratch, counts) {
            self.put_off_movement(view, scratch);
        }
    }

    /// Writes what the stream carries of a tick, and notes how old the client's world is.
    /// False if the client is told nothing.
    fn write_stream(
        &mut self,
        view: TickView<'_>,
        scratch: &mut Scratch,
        counts: &mut FanOutCounts,
    ) -> bool {
        let Some(player) = self.player.filter(|_| !self.is_ending) else {
            return false;
        };
        self.processed.advance(view.publication.tick);
        // What a frame says may depend on it, also when movement is put off.
        if std::mem::take(&mut self.has_old_interface) {
            self.write_interface(view, scratch);
        }
        self.write_frame(player, view, scratch, counts);
        counts.ages.note(self.age(view.publication.tick));
        true
    }

    fn put_off_movement(&mut self, view: TickView<'_>, scratch: &mut Scratch) {
        self.untold.get_or_insert(view.publication.tick);
        self.merge_movement(view, scratch);
        self.movement.put_off(&scratch.due);
    }

    /// Leaves the entities whose movement must be sent in `scratch.due`. Returns the tick on
    /// which differences build.
    fn merge_movement(&mut self, view: TickView<'_>, scratch: &mut Scratch) -> Tick {
        let (tick, newest) = (view.publication.tick, self.acknowledgement.newest);
        // Who was sent nothing since, knows that nothing was to be told.
        let base = match self.last_datagram <= newest {
            true => tick.before(1),
            false => newest,
        };
        let now = Now {
            tick,
            base,
            acknowledgement: self.acknowledgement,
        };
        let Scratch {
            slots, due, merge, ..
        } = scratch;
        self.movement.merge(&now, slots, due, merge);
        base
    }

    /// How many ticks ago the client was up to date, for all that is known: one if it has
    /// acknowledged the tick before.
    fn age(&self, tick: Tick) -> u32 {
        let first_missing = [self.unacknowledged, self.untold]
            .into_iter()
            .flatten()
            .min();
        let known = first_missing.unwrap_or(tick).before(1);
        tick.since(known)
    }

    /// Whether nothing is known for long of what the client was sent. Then words wait in
    /// some queue on the way, where more would only make them older. Now and then one goes
    /// out all the same: its acknowledgement shows that the way is open again.
    fn is_out_of_touch(&self, view: TickView<'_>) -> bool {
        let tick_hz = view.world.config.schema.world.tick_hz;
        let tick = view.publication.tick;
        let Some(since) = self.unacknowledged else {
            return false;
        };
        let silence = tick.since(since);
        let probe_ticks = (tick_hz / PROBES_PER_SECOND).max(1);
        silence > (tick_hz / 2).max(OUT_OF_TOUCH_TICKS_MIN)
            && tick.since(self.last_datagram) < probe_ticks
    }

    /// Writes what commands and notifications there are, in a frame of its own: the rest of
    /// the tick may depend on it. It counts as one of the tick before, since the client has
    /// not taken in this one when it has read it.
    fn write_interface(&mut self, view: TickView<'_>, scratch: &mut Scratch) {
        let before = view.publication.tick.before(1);
        let codec = &view.world.stream;
        let mut frame = FrameWriter::new(codec, before, &mut scratch.frame);
        codec.interface(frame.begun(), &view.world.interface());
        self.stream.push_frame(before, codec, &mut scratch.frame);
    }

    /// Writes the stream's frame, and leaves the slots whose movement must be sent in
    /// `scratch.slots`.
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
            codec.answer(frame.begun(), &answer);
        }
        if std::mem::take(&mut self.is_reborn) {
            codec.reborn(frame.begun(), player.entity);
        }
        scratch.slots.clear();
        for &delivery in view.publication.output.deliveries.of(player.client) {
            let slot = delivery.slot();
            let columns = match delivery.kind() {
                Delivery::UPDATE => view.mirror.told_columns(slot),
                Delivery::RENEW => u64::MAX,
                _ => {
                    self.write_enter_or_leave(&mut frame, view, player, delivery);
                    continue;
                }
            };
            write_update(
                &mut frame,
                view,
                player,
                (slot, columns),
                &mut scratch.slots,
            );
        }
        notices::write(player.client, view, &mut frame, counts);
        if frame.bit_len() > 0 {
            self.stream.push_frame(tick, codec, &mut scratch.frame);
        }
    }

    fn write_enter_or_leave(
        &mut self,
        frame: &mut FrameWriter<'_>,
        view: TickView<'_>,
        player: Player,
        delivery: Delivery,
    ) {
        let (slot, mirror) = (delivery.slot(), view.mirror);
        if delivery.kind() == Delivery::LEAVE {
            frame.codec.leave(frame.begun(), slot);
            self.movement.leave(slot.0);
        } else {
            let (entity, kind) = (mirror.id(slot), mirror.kind(slot));
            let is_own = entity == player.entity;
            let row = mirror.row(slot);
            let (codec, course) = (frame.codec, mirror.course(slot));
            codec.enter(frame.begun(), entity, kind, is_own, &course, row);
            self.movement.enter(slot.0, view.publication.tick);
        }
    }

    /// Sends the movement of this tick, and again what seems lost.
    fn send_movement(
        &mut self,
        view: TickView<'_>,
        scratch: &mut Scratch,
        counts: &mut FanOutCounts,
        mut send: impl FnMut(Vec<u8>),
    ) {
        if self.is_out_of_touch(view) {
            counts.out_of_touch += 1;
            return self.put_off_movement(view, scratch);
        }
        let tick = view.publication.tick;
        let base = self.merge_movement(view, scratch);
        let due = &scratch.due;
        let silence = tick.since(self.last_datagram);
        let may_be_silent = silence < silence_ticks_max(view.world);
        if due.is_empty() && !self.processed.has_news() && may_be_silent {
            return;
        }
        let header = Header {
            tick,
            base: Some(base),
            processed: self.processed.sequence(),
        };
        let told_from = header.base_ticks().map(|_| base);
        let mirror = view.mirror;
        scratch.due_slots.clear();
        scratch.due_slots.extend(due.iter().map(|due| due.slot));
        let entity = |i: usize| {
            let Due { slot, is_known } = due[i];
            mirror.told(Slot(slot), told_from.filter(|_| is_known))
        };
        let count_and_send = |bytes: Vec<u8>| {
            counts.datagrams += 1;
            counts.datagram_bytes += bytes.len() as u64;
            send(bytes);
        };
        let codec = mirror.movement_codec();
        let (slots, buffers) = (&scratch.due_slots, &mut scratch.datagram);
        let left_over = codec.encode(header, slots, entity, buffers, count_and_send);
        self.movement.put_off(&due[due.len() - left_over..]);
        self.last_datagram = tick;
        self.unacknowledged.get_or_insert(tick);
        self.untold = None;
        self.processed.tell();
    }
}

/// Writes the lasting attributes among these columns, and adds the slot to `slots` if
/// movement is among them too.
fn write_update(
    frame: &mut FrameWriter<'_>,
    view: TickView<'_>,
    player: Player,
    (slot, columns): (Slot, u64),
    slots: &mut Vec<u32>,
) {
    let mirror = view.mirror;
    if columns & mirror.masks.movement != 0 {
        slots.push(slot.0);
    }
    let private = match mirror.id(slot) == player.entity {
        true => mirror.masks.private,
        false => 0,
    };
    let lasting = columns & (mirror.masks.state | private) & mirror.kind_columns(slot);
    if lasting != 0 {
        let values = Columns {
            bits: lasting,
            row: mirror.row(slot),
        };
        frame.codec.state(frame.begun(), slot, values);
    }
}

/// Fewer ticks than a round trip to the other side of the world say nothing.
const OUT_OF_TOUCH_TICKS_MIN: u32 = 4;
const PROBES_PER_SECOND: u32 = 4;

/// One datagram a second keeps a connection alive; where the idle time-out is short,
/// three within it.
fn silence_ticks_max(world: &SessionWorld) -> u32 {
    let tick_hz = world.config.schema.world.tick_hz;
    tick_hz.min(world.config.limits.idle_seconds * tick_hz / 3)
}

/// The values of the columns whose bits are set.
struct Columns<'a> {
    bits: u64,
    row: &'a [i32],
}

impl Iterator for Columns<'_> {
    type Item = (u16, i32);

    fn next(&mut self) -> Option<(u16, i32)> {
        if self.bits == 0 {
            return None;
        }
        let column = self.bits.trailing_zeros() & 63;
        self.bits &= self.bits - 1;
        Some((column as u16, self.row[column as usize]))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = self.bits.count_ones() as usize;
        (n, Some(n))
    }
}

impl ExactSizeIterator for Columns<'_> {}
