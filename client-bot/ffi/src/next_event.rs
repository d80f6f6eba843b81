//! The next event.

use crate::clients::{MyriadClient, with};
use crate::events::MyriadEvent;
use crate::failure::MyriadStatus;
use crate::memory::put;

/// Writes the next event to `event`, or that there is none.
///
/// # Safety
/// `event` points to room for an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_next_event(
    client: MyriadClient,
    event: *mut MyriadEvent,
) -> MyriadStatus {
    with(client, |client| {
        client.current = client.events.pop_front();
        let current = client.current.get_or_insert_default();
        unsafe { put(event, current.event(), "an event") }
    })
}
