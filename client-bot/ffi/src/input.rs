//! Commands.

use std::ffi::c_char;

use crate::clients::{MyriadClient, with};
use crate::failure::MyriadStatus;
use crate::memory::{list, put, put_if_asked, text};

/// Writes to `tick` the tick for which input is due, once for each tick: commands that are given
/// now arrive just in time for it. Writes -1 if input was given already, or there is nothing to
/// give it to.
///
/// # Safety
/// `tick` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_input_due(client: MyriadClient, tick: *mut i64) -> MyriadStatus {
    with(client, |client| {
        let due = client.game.input_due();
        let due = due.and_then(|tick| i64::try_from(tick.0).ok());
        unsafe { put(tick, due.unwrap_or(-1), "a tick") }
    })
}

/// Queues a command by its name, with its numbers: fixed-point ones in units, booleans as 0 and
/// 1, symbols by their number (see `myriad_symbol`), entities by their reference
/// (see `myriad_reference`). It goes out with a `myriad_flush`, in time for a
/// tick. `sequence` may be null; else the command's number is written there, which counts up
/// from 1.
///
/// # Safety
/// `name` is text, `numbers` points to `count` numbers, and `sequence` is null or points to room
/// for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_command(
    client: MyriadClient,
    name: *const c_char,
    numbers: *const f64,
    count: usize,
    sequence: *mut u32,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(name, "a command's name") }?;
        let numbers = unsafe { list(numbers, count, "numbers") }?;
        let number = client.game.command_named(name, numbers)?;
        unsafe { put_if_asked(sequence, number) };
        Ok(())
    })
}

/// Writes to `ticks` in how many ticks of input a command can be used again, as far as is known:
/// 0 if that which is given now runs. One that was used may rest, and each can be given only so
/// often in a tick.
///
/// # Safety
/// `name` is text, and `ticks` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_ready_ticks(
    client: MyriadClient,
    name: *const c_char,
    ticks: *mut u32,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(name, "a command's name") }?;
        let ready = client.game.ready_ticks_named(name)?;
        unsafe { put(ticks, ready, "ticks") }
    })
}

/// Sends what is due: at most one datagram in a tick, however often this is called.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_flush(client: MyriadClient) -> MyriadStatus {
    with(client, |client| {
        client.game.flush();
        Ok(())
    })
}
