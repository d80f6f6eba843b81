//! Chat of players: requests of a client, and messages to it.

use serde::{Deserialize, Serialize};

use crate::world::id::EntityId;
use crate::world::talk::{Name, Text};

/// The most bytes of a [`Talk`]: a list of all members of a channel.
pub const TALK_BYTES_MAX: usize = 32 * 1024;
/// The most members of a channel: their names fit a [`Talk`].
pub const CHANNEL_MEMBERS_MAX: usize = 800;

/// A client's message, or its wish to join or leave a channel. Texts and names are checked by
/// the server, which answers with the error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TalkRequest {
    /// To all that are near.
    Say {
        text: String,
    },
    /// To one player.
    Whisper {
        to: String,
        text: String,
    },
    /// Become a member of a channel, which there need not be yet.
    Join {
        channel: String,
    },
    Leave {
        channel: String,
    },
    /// To the members of a channel of one's own.
    Speak {
        channel: String,
        text: String,
    },
    /// The members of a channel that the client is in.
    Members {
        channel: String,
    },
    /// Receive no more talk of a player of this name; with an empty one, of all players without
    /// a name.
    Mute {
        name: String,
    },
    /// Receive its talk again.
    Unmute {
        name: String,
    },
}

/// A message of chat to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Talk {
    /// An entity near the client spoke, perhaps its own.
    Said {
        speaker: EntityId,
        /// `None` if its player has none.
        name: Option<Name>,
        text: Text,
    },
    /// To this client only.
    Whispered { from: Name, text: Text },
    /// In a channel of the client, perhaps by itself.
    Spoken {
        channel: Name,
        from: Name,
        text: Text,
    },
    /// A player, perhaps the client, is a member from now on.
    Joined { channel: Name, name: Name },
    /// A player is no member any more.
    Left { channel: Name, name: Name },
    /// All members of a channel, as requested.
    Members { channel: Name, names: Vec<Name> },
    /// By the server's operator.
    Announced { text: Text },
}
