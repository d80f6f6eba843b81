//! What comes with the frame of a tick, which the tick does not read: the players behind the clients,
//! and their chat.

use serde::{Deserialize, Serialize};
use shared::world::words::TextHandle;
use shared::{ClientRow, Name, Text};

/// What comes with the frame of a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// Clients that were admitted.
    pub people: Vec<PersonChange>,
    /// Chat.
    pub said: Vec<Saying>,
}

impl Annotations {
    /// The texts of attributes that clients gave, by their handles.
    pub fn texts(&self) -> Vec<(TextHandle, Text)> {
        let said = self.said.iter();
        let texts = said.filter_map(|saying| match saying.to {
            Recipients::Attributes(handle) => Some((handle, saying.text.clone())),
            Recipients::Near
            | Recipients::Channel(_)
            | Recipients::One(_)
            | Recipients::Everybody => None,
        });
        texts.collect()
    }
}

/// A client row stands for another client from this tick on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonChange {
    pub client: ClientRow,
    pub person: Person,
}

/// A client's identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The account; `None` where the server proves none.
    pub account: Option<String>,
    /// The name that others see; no two clients have the same.
    pub name: Option<Name>,
}

/// A chat message of a tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saying {
    /// `None`: the operator.
    pub speaker: Option<ClientRow>,
    pub to: Recipients,
    pub text: Text,
}

/// The recipients of a chat message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recipients {
    /// Players nearby: the tick finds them by the notification of a command, whose argument is
    /// the message's place in [`Annotations::said`].
    Near,
    /// Members of a channel.
    Channel(Name),
    One(ClientRow),
    Everybody,
    /// Nobody yet: attributes that are written with this handle have the text.
    Attributes(TextHandle),
}
