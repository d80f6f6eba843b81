//! The clients of a world, as records change them: the state that a server needs to resume them
//! after a restart.

use std::collections::BTreeMap;

use gpu_kernels::Region;
use serde::{Deserialize, Serialize};
use shared::wire::control::Ticket;
use shared::world::words::TextHandle;
use shared::{ClientRow, EntityId, Name, Text, Tick};

use super::annotations::Person;
use super::characters::character::Character;

/// All clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    pub clients: BTreeMap<ClientRow, Client>,
    /// Characters that have changed since the last checkpoint; the others are in a file of their
    /// own.
    #[serde(skip)]
    pub characters: BTreeMap<String, Character>,
    /// The texts of the world. A checkpoint has them at its end.
    #[serde(skip)]
    pub texts: BTreeMap<TextHandle, Text>,
}

/// A client, with its grants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    pub row: SavedRow,
    /// By index.
    pub regions: BTreeMap<u32, Region>,
    /// Predicates, by the client's own numbers.
    pub subscriptions: BTreeMap<u32, String>,
    /// The channels that it is in, in the order of its joins.
    pub channels: Vec<Name>,
}

/// The state of a client row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedRow {
    /// The first ticket that the client was given. It distinguishes the client from those that had
    /// the row before.
    pub first: Ticket,
    /// `None`: no ticket is good any more.
    pub newest: Option<Ticket>,
    /// The ticket that it resumed with, until it has acknowledged the newest.
    pub before: Option<Ticket>,
    pub state: RowState,
    pub person: Person,
    pub sight: Sight,
}

/// The sight of a client, beside the area of interest around its entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// How far, in raw units; `None`: as far as the world allows.
    pub radius: Option<i32>,
    /// The point that a spectator watches, or where it goes to.
    pub point: Option<[i32; 3]>,
}

/// Where the client is. Deadlines are those of clients without a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowState {
    /// It waits for its birth.
    Joining {
        is_connected: bool,
    },
    /// A spectator has no entity: [`EntityId::NONE`].
    Live(EntityId),
    Lost {
        entity: EntityId,
        deadline: Tick,
    },
    /// Its entity died, and it waits for another one.
    Fallen {
        deadline: Option<Tick>,
    },
}

/// One change of the roster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RosterChange {
    /// `None`: the row is free.
    Row(ClientRow, Option<SavedRow>),
    Region {
        client: ClientRow,
        index: u32,
        region: Option<Region>,
    },
    Subscribed {
        client: ClientRow,
        id: u32,
        predicate: String,
    },
    Unsubscribed {
        client: ClientRow,
        id: u32,
    },
    Joined {
        client: ClientRow,
        channel: Name,
    },
    Left {
        client: ClientRow,
        channel: Name,
    },
    /// The character of an account from now on: the values of the world's `persists`, and nothing else.
    Character {
        account: String,
        row: Vec<i32>,
    },
    /// A text of the world from now on; `None`: it has it no more.
    Text {
        handle: TextHandle,
        text: Option<Text>,
    },
    /// The character of an account from now on, with texts and things.
    WholeCharacter {
        account: String,
        character: Character,
    },
}

impl RosterChange {
    /// The character of an account from now on; one that has nothing is forgotten.
    pub fn of_character(account: String, character: Character) -> RosterChange {
        match character.texts.is_empty() && character.things.is_empty() {
            true => RosterChange::Character {
                account,
                row: character.row,
            },
            false => RosterChange::WholeCharacter { account, character },
        }
    }

    /// The account whose character it changes, and that.
    pub fn character(&self) -> Option<(&String, Character)> {
        match self {
            RosterChange::Character { account, row } => {
                Some((account, Character::of_row(row.clone())))
            }
            RosterChange::WholeCharacter { account, character } => {
                Some((account, character.clone()))
            }
            _ => None,
        }
    }
}

impl Roster {
    pub fn apply(&mut self, change: &RosterChange) {
        match change {
            RosterChange::Row(client, None) => {
                self.clients.remove(client);
            }
            RosterChange::Row(client, Some(row)) => self.set_row(*client, row),
            &RosterChange::Region {
                client,
                index,
                region,
            } => {
                if let Some(client) = self.clients.get_mut(&client) {
                    match region {
                        Some(region) => client.regions.insert(index, region),
                        None => client.regions.remove(&index),
                    };
                }
            }
            RosterChange::Subscribed {
                client,
                id,
                predicate,
            } => {
                if let Some(client) = self.clients.get_mut(client) {
                    client.subscriptions.insert(*id, predicate.clone());
                }
            }
            RosterChange::Unsubscribed { client, id } => {
                if let Some(client) = self.clients.get_mut(client) {
                    client.subscriptions.remove(id);
                }
            }
            RosterChange::Joined { client, channel } => {
                if let Some(client) = self.clients.get_mut(client) {
                    client.channels.push(channel.clone());
                }
            }
            RosterChange::Character { .. } | RosterChange::WholeCharacter { .. } => {
                if let Some((account, character)) = change.character() {
                    self.characters.insert(account.clone(), character);
                }
            }
            RosterChange::Text { handle, text } => {
                match text {
                    Some(text) => self.texts.insert(*handle, text.clone()),
                    None => self.texts.remove(handle),
                };
            }
            RosterChange::Left { client, channel } => {
                if let Some(client) = self.clients.get_mut(client) {
                    client.channels.retain(|own| own != channel);
                }
            }
        }
    }

    fn set_row(&mut self, client: ClientRow, row: &SavedRow) {
        match self.clients.get_mut(&client) {
            Some(known) if known.row.first == row.first => known.row = row.clone(),
            // The grants of the client before it end with it.
            _ => {
                let new = Client {
                    row: row.clone(),
                    regions: BTreeMap::new(),
                    subscriptions: BTreeMap::new(),
                    channels: vec![],
                };
                self.clients.insert(client, new);
            }
        }
    }
}

impl SavedRow {
    /// Whether the client has a connection.
    pub fn is_connected(&self) -> bool {
        match self.state {
            RowState::Joining { is_connected } => is_connected,
            RowState::Live(_) => true,
            RowState::Lost { .. } => false,
            RowState::Fallen { deadline } => deadline.is_none(),
        }
    }

    pub fn entity(&self) -> Option<EntityId> {
        match self.state {
            RowState::Live(entity) | RowState::Lost { entity, .. } => {
                Some(entity).filter(|&entity| entity != EntityId::NONE)
            }
            RowState::Joining { .. } | RowState::Fallen { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: ClientRow = ClientRow(3);

    fn row(first: u8, state: RowState) -> RosterChange {
        let saved = SavedRow {
            first: [first; 16],
            newest: Some([first; 16]),
            before: None,
            state,
            person: Person::default(),
            sight: Sight::default(),
        };
        RosterChange::Row(CLIENT, Some(saved))
    }

    #[test]
    fn what_a_client_was_granted_ends_with_it_and_not_before() {
        let mut roster = Roster::default();
        let live = RowState::Live(EntityId::new(1, 1));
        let is_connected = true;
        roster.apply(&row(1, RowState::Joining { is_connected }));
        roster.apply(&RosterChange::Subscribed {
            client: CLIENT,
            id: 7,
            predicate: "hp < 5".to_owned(),
        });
        roster.apply(&row(1, live));
        let granted = |roster: &Roster| {
            let client = roster.clients.get(&CLIENT);
            client.map(|client| client.subscriptions.len())
        };
        assert_eq!(granted(&roster), Some(1));
        roster.apply(&row(2, live));
        assert_eq!(granted(&roster), Some(0));
        roster.apply(&RosterChange::Row(CLIENT, None));
        assert_eq!(granted(&roster), None);
    }
}
