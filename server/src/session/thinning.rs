//! A client that reads its stream slowly is told less before it is told nothing: values that
//! will be overtaken wait until it has caught up, and only the newest are sent then. Enters,
//! leaves, answers and talk go on.

use std::collections::BTreeMap;

use shared::Slot;

/// The lasting attributes that a client is owed, of entities that it knows.
#[derive(Debug, Default)]
pub struct Owed(BTreeMap<u32, u64>);

impl Owed {
    /// These columns of an entity have changed, and the client is told later.
    pub fn note(&mut self, slot: Slot, columns: u64) {
        *self.0.entry(slot.0).or_default() |= columns;
    }

    /// The client is told all of an entity, or forgets it.
    pub fn forget(&mut self, slot: Slot) {
        if !self.0.is_empty() {
            self.0.remove(&slot.0);
        }
    }

    /// All that is owed, ascending, once the client has caught up.
    pub fn take(&mut self) -> impl Iterator<Item = (Slot, u64)> {
        let owed = std::mem::take(&mut self.0);
        owed.into_iter()
            .map(|(slot, columns)| (Slot(slot), columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owed_is_all_columns_of_entities_that_are_still_known() {
        let mut owed = Owed::default();
        owed.note(Slot(7), 0b0100);
        owed.note(Slot(3), 0b0001);
        owed.note(Slot(7), 0b1000);
        owed.note(Slot(5), 0b1111);
        owed.forget(Slot(5));
        let taken: Vec<_> = owed.take().collect();
        assert_eq!(taken, [(Slot(3), 0b0001), (Slot(7), 0b1100)]);
        assert_eq!(owed.take().count(), 0);
    }
}
