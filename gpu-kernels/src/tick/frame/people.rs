//! Who stands behind the clients, and what they say. A tick reads none of it: it is in the
//! frame so that a recording has it.

use serde::{Deserialize, Serialize};
use shared::{ClientRow, Name, Text};

/// A client row stands for another client from this tick on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonChange {
    pub client: ClientRow,
    pub person: Person,
}

/// What is known of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The account; `None` where the server proves none.
    pub account: Option<String>,
    /// What others see; no two clients have the same.
    pub name: Option<Name>,
}

/// Something that was said in a tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saying {
    /// `None`: the operator.
    pub speaker: Option<ClientRow>,
    pub to: Listeners,
    pub text: Text,
}

/// Who hears what is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Listeners {
    /// Who is near: the tick finds them by the notification of a command, whose word is the
    /// saying's place in the frame.
    Near,
    /// Members of a channel.
    Channel(Name),
    One(ClientRow),
    Everybody,
}
