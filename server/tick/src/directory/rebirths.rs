//! Rebirths of players: in their own slots, or in others that are free.

use gpu_kernels::Frame;
use shared::wire::control::Ticket;
use shared::{ClientRow, Slot, Tick};

use super::rows::Row;
use super::{AFTER_RESERVED, Directory};

/// A pending rebirth of a player.
pub(super) struct Rebirth {
    /// The first tick in which it may happen.
    pub(super) due: Tick,
    pub(super) client: ClientRow,
    /// The row's ticket.
    pub(super) ticket: Ticket,
    /// The slot of the entity that died, which is reserved until then; none if only the previous
    /// server had it.
    pub(super) slot: Option<Slot>,
    pub(super) reservation: Reservation,
}

/// Whether there is room for a rebirth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reservation {
    /// Not in its own slot yet; perhaps in another.
    Unknown,
    /// No other slot is free: it waits for its own.
    None,
    /// Its own slot can be reused: all clients have received the leave.
    Own,
}

impl Directory {
    /// Adds a rebirth that is due from the tick `due` on.
    pub(super) fn await_rebirth(
        &mut self,
        client: ClientRow,
        row: Row,
        due: Tick,
        slot: Option<Slot>,
    ) {
        if let Row::Fallen(_, ticket) | Row::Joining(_, ticket) = row {
            self.rebirths.push(Rebirth {
                due,
                client,
                ticket,
                slot,
                reservation: Reservation::Unknown,
            });
        }
    }

    /// Respawns the players that are due and may find room. Those with their own slot released
    /// come first among the tick's births, so each of them gets one.
    pub(super) fn respawn_due(&mut self, frame: &mut Frame) {
        let all = std::mem::take(&mut self.rebirths).into_iter();
        let (due, later): (Vec<Rebirth>, _) = all.partition(|r| r.due <= frame.tick);
        self.rebirths = later;
        for mut rebirth in due {
            let is_there = match self.rows.get(rebirth.client) {
                // Its account may also have joined anew, after its client had left for good.
                Row::Fallen(_, own) | Row::Joining(Some(_), own) => own == rebirth.ticket,
                row => {
                    if row == Row::Joining(None, rebirth.ticket) {
                        self.free_row(rebirth.client);
                    }
                    false
                }
            };
            if rebirth.reservation == Reservation::Own {
                frame.release.extend(rebirth.slot.take());
            }
            if !is_there {
                continue;
            }
            match rebirth.reservation {
                Reservation::Own => self.spawn(rebirth.client, 0, false, frame),
                Reservation::Unknown => self.spawn(rebirth.client, AFTER_RESERVED, false, frame),
                Reservation::None => {}
            }
            self.rebirths.push(rebirth);
        }
    }

    pub(super) fn awaits_rebirth(&self, client: ClientRow, ticket: Ticket) -> bool {
        let mut rebirths = self.rebirths.iter();
        rebirths.any(|rebirth| rebirth.client == client && rebirth.ticket == ticket)
    }

    /// Drops the rebirths that have happened in the tick. Those without room wait for their own
    /// slot.
    pub(super) fn settle_rebirths(&mut self, tick: Tick) {
        let rows = &self.rows;
        self.rebirths.retain_mut(|rebirth| {
            if rebirth.due > tick {
                return true;
            }
            if rebirth.reservation == Reservation::Unknown && rebirth.slot.is_some() {
                rebirth.reservation = Reservation::None;
            }
            matches!(rows.get(rebirth.client), Row::Fallen(_, own) | Row::Joining(_, own)
                if own == rebirth.ticket)
        });
    }

    /// Binds a pending rebirth to the row's new first ticket.
    pub(super) fn rebind_rebirth(&mut self, client: ClientRow, ticket: Ticket) {
        for rebirth in self.rebirths.iter_mut().filter(|r| r.client == client) {
            rebirth.ticket = ticket;
        }
    }
}
