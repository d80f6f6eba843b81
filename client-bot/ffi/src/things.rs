//! Things: what entities hold.

use crate::clients::{MyriadClient, with};
use crate::events::MyriadEntity;
use crate::failure::{Failure, MyriadStatus};
use crate::memory::put;

/// A thing that the client sees. It is nowhere; `myriad_value` has its attributes, and events say
/// that it has entered, changed or left, as of any entity.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MyriadThing {
    pub entity: MyriadEntity,
    /// The number of its kind, see `myriad_kind_name`.
    pub kind: u16,
    /// Whether the client's own entity holds it, directly or in another thing.
    pub is_own: bool,
}

/// Writes the things that an entity, or a thing, holds itself to `shown`, by their slots and as many
/// as there is room for, and to `count` how many there are. A client sees those of its own entity, of
/// the one that this has opened, and of others what is for all.
///
/// # Safety
/// `shown` points to room for `room` of them, or is null with `room` 0; `count` points to room
/// for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_things(
    client: MyriadClient,
    holder: MyriadEntity,
    shown: *mut MyriadThing,
    room: usize,
    count: *mut usize,
) -> MyriadStatus {
    with(client, |client| {
        if shown.is_null() && room > 0 {
            let what = format!("expected room for {room} things, found a null pointer");
            return Err(Failure::Argument(what));
        }
        let view = client.view()?;
        let mut found = 0;
        for thing in view.held_by(holder.into()) {
            if found < room {
                let one = MyriadThing {
                    entity: thing.id.into(),
                    kind: thing.kind,
                    is_own: view.is_own(thing),
                };
                unsafe { shown.add(found).write(one) };
            }
            found += 1;
        }
        unsafe { put(count, found, "a count") }
    })
}
