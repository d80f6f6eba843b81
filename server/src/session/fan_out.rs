//! What one client is told of one tick.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use gpu_kernels::Delivery;
use shared::wire::control::Close;
use shared::wire::movement::Header;
use shared::{Slot, Tick};

use super::session::{Pending, Player, Session};
use super::{Scratch, ShardWorld, close, notices};
use crate::mirror::Mirror;
use crate::publication::{FanOutDone, Publication};

impl Session {
    /// Sends a client its deliveries: answers, enters, leaves, lasting attributes and
    /// notices on the stream, movement in datagrams.
    pub fn tell(
        &mut self,
        publication: &Publication,
        world: &ShardWorld,
        scratch: &mut Scratch,
        report: &mut FanOutDone,
    ) {
        if let Some(player) = self.player.filter(|_| !self.is_ending) {
            self.processed.advance(publication.tick);
            self.write_items(player, publication, world, scratch, report);
            self.send_movement(publication, world, scratch, report);
        }
        self.flush(report);
        if let Some(&oldest) = self.stream.frames.front() {
            report.taken_in = report.taken_in.min(Tick(oldest.0.saturating_sub(1)));
        }
        self.check_pace(publication.tick, world);
    }

    /// Writes the stream's frame, and leaves the slots whose movement has to be
    /// sent in `scratch.slots`.
    fn write_items(
        &mut self,
        player: Player,
        publication: &Publication,
        world: &ShardWorld,
        scratch: &mut Scratch,
        report: &mut FanOutDone,
    ) {
        let Publication {
            tick,
            output,
            mirror,
            ..
        } = publication;
        let writer = &mut scratch.stream;
        let begun = writer.bit_len();
        for answer in self.answers.drain(..) {
            if writer.bit_len() == begun {
                world.stream.begin(writer, *tick);
            }
            world.stream.answer(writer, &answer);
        }
        scratch.slots.clear();
        if std::mem::take(&mut self.is_reborn) {
            if writer.bit_len() == begun {
                world.stream.begin(writer, *tick);
            }
            world.stream.reborn(writer, player.entity);
        }
        for delivery in output.deliveries.of(player.client) {
            let slot = delivery.slot();
            let own = mirror.id(slot) == player.entity;
            if delivery.kind() == Delivery::UPDATE {
                let columns = mirror.changed_columns(slot, *tick);
                if columns & mirror.masks.movement != 0 {
                    scratch.slots.push(slot.0);
                }
                let private = if own { mirror.masks.private } else { 0 };
                let lasting = columns & (mirror.masks.state | private);
                let lasting = lasting & mirror.kind_columns(slot);
                if lasting != 0 {
                    if writer.bit_len() == begun {
                        world.stream.begin(writer, *tick);
                    }
                    world
                        .stream
                        .state(writer, slot, Columns::new(lasting, mirror.row(slot)));
                }
                continue;
            }
            if writer.bit_len() == begun {
                world.stream.begin(writer, *tick);
            }
            if delivery.kind() == Delivery::LEAVE {
                world.stream.leave(writer, slot);
            } else {
                let row = mirror.row(slot);
                world
                    .stream
                    .enter(writer, mirror.id(slot), mirror.kind(slot), own, row);
            }
            // What was in flight belongs to what the client has forgotten, or
            // is older than what it is told now.
            if let Ok(i) = self.pending.binary_search_by_key(&slot.0, |p| p.slot) {
                self.pending.remove(i);
            }
        }
        notices::write(player.client, publication, world, writer, report);
        if writer.bit_len() > begun {
            world.stream.finish(writer, &mut self.stream.waiting);
            self.stream.frames.push_back(*tick);
        }
    }

    /// Sends the movement of this tick, and once more what seems lost.
    fn send_movement(
        &mut self,
        publication: &Publication,
        world: &ShardWorld,
        scratch: &mut Scratch,
        report: &mut FanOutDone,
    ) {
        let tick = publication.tick;
        self.merge_pending(tick, scratch);
        let quiet = tick.0.saturating_sub(self.told.0) < silence_ticks_max(world);
        if scratch.slots.is_empty() && self.processed.sequence == self.processed.told && quiet {
            return;
        }
        let header = Header {
            epoch: world.epoch,
            tick,
            processed: self.processed.sequence,
        };
        let mirror: &Mirror = &publication.mirror;
        let entity = |slot: u32| {
            let slot = Slot(slot);
            (mirror.kind(slot), mirror.row(slot), mirror.packed(slot))
        };
        let left_over = mirror.movement_codec().encode(
            header,
            &scratch.slots,
            entity,
            &mut scratch.datagram,
            |bytes| {
                report.datagrams += 1;
                report.datagram_bytes += bytes.len() as u64;
                // An error is a connection that is ending: its task hears of it.
                let _ = self.connection.send_datagram(bytes.into());
            },
        );
        if left_over > 0 {
            let placed = scratch.slots.len() - left_over;
            for slot in &scratch.slots[placed..] {
                if let Ok(i) = self.pending.binary_search_by_key(slot, |p| p.slot) {
                    self.pending[i].sent = None;
                }
            }
        }
        self.told = tick;
        self.processed.told = self.processed.sequence;
    }

    /// Joins this tick's movement, in `scratch.slots`, with what was sent before
    /// and seems lost; what is on its way stays pending. All ascend by slot.
    fn merge_pending(&mut self, tick: Tick, scratch: &mut Scratch) {
        scratch.merged.clear();
        scratch.pending.clear();
        let mut old = self.pending.iter().copied().peekable();
        let mut new = scratch.slots.iter().copied().peekable();
        loop {
            let next_new = new.peek().copied().unwrap_or(u32::MAX);
            let next_old = old.peek().map_or(u32::MAX, |p| p.slot);
            if next_new == u32::MAX && next_old == u32::MAX {
                break;
            }
            let is_new = next_new <= next_old;
            let waiting = old.next_if(|p| p.slot <= next_new);
            if is_new {
                new.next();
            }
            let slot = next_new.min(next_old);
            let again = waiting.is_some_and(|p| self.seems_lost(p, tick));
            if is_new || again {
                scratch.merged.push(slot);
                scratch.pending.push(Pending {
                    slot,
                    sent: Some(tick),
                });
            } else if let Some(waiting) = waiting {
                scratch.pending.push(waiting);
            }
        }
        std::mem::swap(&mut self.pending, &mut scratch.pending);
        std::mem::swap(&mut scratch.slots, &mut scratch.merged);
    }

    /// A datagram seems lost when a later one arrived, or when it should have
    /// arrived long ago.
    fn seems_lost(&self, pending: Pending, tick: Tick) -> bool {
        match pending.sent {
            None => true,
            Some(sent) => self.acknowledgement.newest > sent || tick.0 - sent.0 >= RESEND_TICKS,
        }
    }

    /// Gives the transport what it takes now; the rest waits for the next tick.
    fn flush(&mut self, report: &mut FanOutDone) {
        let mut context = Context::from_waker(Waker::noop());
        let mut written = 0;
        while written < self.stream.waiting.len() {
            let stream = Pin::new(&mut self.stream.send);
            match stream.poll_write(&mut context, &self.stream.waiting[written..]) {
                Poll::Ready(Ok(n)) => written += n,
                Poll::Ready(Err(_)) | Poll::Pending => break,
            }
        }
        report.stream_bytes += written as u64;
        self.stream.waiting.drain(..written);
        if self.stream.waiting.is_empty() {
            // A burst of enters should not cost memory for ever.
            self.stream.waiting.shrink_to(1024);
        }
    }

    /// Gives up on a client that doesn't read.
    fn check_pace(&mut self, tick: Tick, world: &ShardWorld) {
        let patience = world.config.limits.idle_seconds * world.config.schema.world.tick_hz;
        let oldest = self.stream.frames.front();
        let behind = oldest.is_some_and(|t| tick.0.saturating_sub(t.0) > patience);
        if self.is_ending || self.stream.waiting.len() <= self.stream.waiting_max && !behind {
            return;
        }
        self.stream.waiting = vec![];
        close(
            &self.connection,
            Close::TooSlow,
            "the client does not read what it is sent",
        );
    }
}

/// A word each second keeps a connection alive; where the idle time-out is short,
/// three within it.
fn silence_ticks_max(world: &ShardWorld) -> u32 {
    let tick_hz = world.config.schema.world.tick_hz;
    tick_hz.min(world.config.limits.idle_seconds * tick_hz / 3)
}

/// The values of the columns whose bits are set.
struct Columns<'a> {
    bits: u64,
    row: &'a [i32],
}

impl Columns<'_> {
    fn new(bits: u64, row: &[i32]) -> Columns<'_> {
        Columns { bits, row }
    }
}

impl Iterator for Columns<'_> {
    type Item = (u16, i32);

    fn next(&mut self) -> Option<(u16, i32)> {
        if self.bits == 0 {
            return None;
        }
        let column = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some((column as u16, self.row[column as usize]))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = self.bits.count_ones() as usize;
        (n, Some(n))
    }
}

impl ExactSizeIterator for Columns<'_> {}

/// Without any word from the client, what was sent this long ago is sent again.
const RESEND_TICKS: u32 = 8;
