use crate::tick::cpu::left::Left;
use crate::tick::output::Changes;

/// Adds what atomic commands left to the merged changes: of an attribute in both, theirs counts.
/// `joined` is a buffer.
pub fn join(changes: &mut Changes, left: &[Left], columns: usize, joined: &mut Changes) {
    for list in [&mut joined.slots, &mut joined.offsets] {
        list.clear();
    }
    joined.columns.clear();
    joined.values.clear();
    let mut push = |key: u32, value: i32| {
        let (slot, column) = (key / columns as u32, key % columns as u32);
        if joined.slots.last() != Some(&slot) {
            joined.slots.push(slot);
            joined.offsets.push(joined.values.len() as u32);
        }
        joined.columns.push(column as u16);
        joined.values.push(value);
    };
    let mut left = left.iter().peekable();
    for (slot, of_slot, values) in changes.iter() {
        for (&column, &value) in of_slot.iter().zip(values) {
            let key = slot.0 * columns as u32 + u32::from(column);
            while let Some(before) = left.next_if(|left| left.key < key) {
                push(before.key, before.now);
            }
            let own = left.next_if(|left| left.key == key);
            push(key, own.map_or(value, |own| own.now));
        }
    }
    left.for_each(|left| push(left.key, left.now));
    joined.offsets.push(joined.values.len() as u32);
    std::mem::swap(changes, joined);
}
