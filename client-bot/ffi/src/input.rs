//! Commands.

use std::ffi::c_char;

use client_bot::client_core::GivenCommand;
use client_bot::named::NamedArgument;

use crate::clients::{MyriadClient, with};
use crate::failure::MyriadStatus;
use crate::memory::{list, optional_text, put, put_if_asked, text};

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

/// An argument of a command.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MyriadArgument {
    /// For a parameter of type text; null for others.
    pub text: *const c_char,
    /// For other parameters, as `myriad_command` has it.
    pub number: f64,
}

/// The same as `myriad_command`, with texts among the arguments. The server is asked for these first,
/// and the command goes out once it has granted them: then `request` is the number of the request
/// that its answer names (`MYRIAD_EVENT_TYPE_ANSWERED`), which says why where it is refused, and
/// `sequence` 0. Where all texts are empty, `request` is 0 and `sequence` the command's number. Both may
/// be null.
///
/// # Safety
/// `name` and all texts are text, `arguments` points to `count` of them, and `sequence` and `request`
/// are null or point to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_command_with(
    client: MyriadClient,
    name: *const c_char,
    arguments: *const MyriadArgument,
    count: usize,
    sequence: *mut u32,
    request: *mut u32,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(name, "a command's name") }?;
        let arguments = unsafe { list(arguments, count, "arguments") }?;
        let mut named = vec![];
        for argument in arguments {
            let words = unsafe { optional_text(argument.text, "an argument") }?;
            named.push(match words {
                Some(words) => NamedArgument::Text(words),
                None => NamedArgument::Number(argument.number),
            });
        }
        let (own, asked) = match client.game.command_named_with(name, &named)? {
            GivenCommand::Queued(number) => (number, 0),
            GivenCommand::Waits(number) => (0, number),
        };
        unsafe { put_if_asked(sequence, own) };
        unsafe { put_if_asked(request, asked) };
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
