//! Chat. The server answers each request with an event.

use std::ffi::c_char;

use client_bot::client_core::TalkRequest;

use crate::clients::{MyriadClient, with};
use crate::failure::{Failure, MyriadStatus};
use crate::memory::{put_if_asked, text};

/// A request of chat. Beside it stand the texts of `myriad_talk` that it
/// takes; the others are ignored.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MyriadTalk {
    /// Sends `text` to all players nearby.
    Say = 0,
    /// Sends `text` to the player with the name `to`.
    Whisper = 1,
    /// Becomes a member of the channel `to`.
    Join = 2,
    /// Leaves the channel `to`.
    Leave = 3,
    /// Sends `text` to the members of the channel `to`.
    Speak = 4,
    /// Requests the members of the channel `to`.
    Members = 5,
    /// Receives no more talk of the player `to`; with an empty one, of players without a name.
    Mute = 6,
    /// Receives the talk of the player `to` again.
    Unmute = 7,
}

/// Talks. `what` is a number of `MyriadTalk`; the request's number is written to `request`,
/// which may be null.
///
/// # Safety
/// `to` and `words` are text or null, and `request` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_talk(
    client: MyriadClient,
    what: i32,
    to: *const c_char,
    words: *const c_char,
    request: *mut u32,
) -> MyriadStatus {
    let to = || unsafe { text(to, "the name of a player or a channel") }.map(str::to_owned);
    let text = || unsafe { text(words, "a text") }.map(str::to_owned);
    with(client, |client| {
        let talk = match what {
            w if w == MyriadTalk::Say as i32 => TalkRequest::Say { text: text()? },
            w if w == MyriadTalk::Whisper as i32 => TalkRequest::Whisper {
                to: to()?,
                text: text()?,
            },
            w if w == MyriadTalk::Join as i32 => TalkRequest::Join { channel: to()? },
            w if w == MyriadTalk::Leave as i32 => TalkRequest::Leave { channel: to()? },
            w if w == MyriadTalk::Speak as i32 => TalkRequest::Speak {
                channel: to()?,
                text: text()?,
            },
            w if w == MyriadTalk::Members as i32 => TalkRequest::Members { channel: to()? },
            w if w == MyriadTalk::Mute as i32 => TalkRequest::Mute { name: to()? },
            w if w == MyriadTalk::Unmute as i32 => TalkRequest::Unmute { name: to()? },
            other => {
                let what = format!("expected a number of MyriadTalk, found {other}");
                return Err(Failure::Argument(what));
            }
        };
        let number = client.game.talk(talk).ok_or(Failure::NotInWorld)?;
        unsafe { put_if_asked(request, number) };
        Ok(())
    })
}
