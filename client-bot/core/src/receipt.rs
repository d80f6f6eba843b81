//! Which ticks have arrived, for the server to know.

use rustc_hash::FxHashMap;
use shared::Tick;
use shared::wire::commands::Acknowledgement;

use crate::Movement;

/// The datagrams and frames that have arrived.
#[derive(Debug)]
pub(crate) struct Receipt {
    acknowledgement: Acknowledgement,
    /// Ticks of which some datagrams have arrived and some are missing.
    parts: FxHashMap<Tick, Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    /// One bit per part.
    arrived: u16,
    /// The number of parts, once the last one has arrived.
    total: Option<u8>,
    /// The last part had the bit that nothing is left to send.
    is_whole: bool,
}

impl Receipt {
    /// Nothing later than `welcomed` has arrived.
    pub fn new(welcomed: Tick) -> Receipt {
        Receipt {
            acknowledgement: Acknowledgement {
                newest: welcomed,
                mask: 0,
                stream: welcomed.before(1),
            },
            parts: FxHashMap::default(),
        }
    }

    pub fn acknowledgement(&self) -> Acknowledgement {
        self.acknowledgement
    }

    /// Notes a frame of the stream.
    pub fn frame(&mut self, tick: Tick) {
        self.acknowledgement.stream = tick;
    }

    /// Notes a datagram of a tick; `newest` is the newest tick known. `None` until all
    /// datagrams of that tick have arrived; then, whether nothing was left to send.
    pub fn datagram(&mut self, tick: Tick, movement: &Movement, newest: Tick) -> Option<bool> {
        if movement.part == 0 && movement.is_last_part {
            self.acknowledgement.note(tick);
            return Some(movement.is_whole);
        }
        let parts = self.parts.entry(tick).or_default();
        parts.arrived |= 1 << movement.part;
        if movement.is_last_part {
            parts.total = Some(movement.part + 1);
            parts.is_whole = movement.is_whole;
        }
        let is_complete = parts
            .total
            .is_some_and(|total| parts.arrived.count_ones() == u32::from(total));
        let arrived = is_complete.then_some(parts.is_whole);
        if is_complete {
            self.parts.remove(&tick);
            self.acknowledgement.note(tick);
        }
        self.parts.retain(|t, _| newest.since(*t) < PARTS_TICKS);
        arrived
    }
}

/// An acknowledgement reaches back 32 ticks, so older parts don't matter.
const PARTS_TICKS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn part(part: u8, is_last_part: bool) -> Movement {
        Movement {
            part,
            is_last_part,
            is_whole: true,
            ..Movement::default()
        }
    }

    #[test]
    fn a_tick_is_acknowledged_once_all_its_datagrams_have_arrived() {
        let mut receipt = Receipt::new(Tick(10));
        let newest = Tick(12);
        let mut take = |part| receipt.datagram(Tick(12), &part, newest);
        assert_eq!(take(part(2, true)), None);
        assert_eq!(take(part(0, false)), None);
        assert_eq!(take(part(0, false)), None);
        assert!(!receipt.acknowledgement().has(Tick(12)));
        let last = receipt.datagram(Tick(12), &part(1, false), newest);
        assert_eq!(last, Some(true));
        assert!(receipt.acknowledgement().has(Tick(12)));
        assert!(receipt.parts.is_empty());
    }

    #[test]
    fn incomplete_ticks_are_forgotten_after_a_while() {
        let mut receipt = Receipt::new(Tick(10));
        for tick in 11..1000 {
            receipt.datagram(Tick(tick), &part(0, false), Tick(tick));
        }
        assert_eq!(receipt.parts.len(), PARTS_TICKS as usize);
    }
}
