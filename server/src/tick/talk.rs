//! What players say, and who is told. Without I/O and without a clock.
//!
//! | module | holds |
//! | --- | --- |
//! | [`channels`] | who is in which channel |
//! | [`filter`] | what may be said: a hook for games, and a list of words |
//! | [`pace`] | how often a client may speak |

pub mod channels;
pub mod filter;
pub mod pace;

use std::sync::Arc;

use gpu_kernels::Frame;
use gpu_kernels::tick::frame::{Listeners, Saying};
use shared::wire::talk::{Talk as Told, TalkRequest};
use shared::world::talk::TextError;
use shared::{ClientRow, CommandKind, EntityId, Name, Text, WorldConfig};
use thiserror::Error;

use super::directory::{Directory, Presence};
use super::publication::SessionEvent;
use crate::accounts::names::{self, NameRule};
use crate::durable::roster::{Roster, RosterChange};
use channels::{ChannelError, Channels};
use filter::{Speech, TalkFilter, Verdict};
use pace::Paces;

/// The talk of a world.
pub struct Talk {
    filter: Arc<dyn TalkFilter>,
    /// The command that tells who is near; none in worlds without one.
    say: Option<CommandKind>,
    channels: Channels,
    /// Who has joined or left a channel since the last [`Talk::take_changes`].
    changes: Vec<RosterChange>,
    paces: Paces,
    /// By shard.
    events: Vec<(usize, SessionEvent)>,
    /// By place in the frame: what is said to those near.
    near: Vec<Option<Arc<Told>>>,
}

/// Why a client may not say something.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TalkError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("too much talk at once; wait a moment")]
    TooMuch,
    #[error("too much is said by all in this tick; try again")]
    Crowded,
    #[error("this world has no command `say(text: i32)` that tells `Say {{ text }}`")]
    NoSay,
    #[error("there is nobody to speak: the entity is dead")]
    Dead,
    #[error("only players with a name can do that")]
    Nameless,
    #[error("there is no player called {0}")]
    NoSuchPlayer(Name),
    #[error("{0} is not connected")]
    Away(Name),
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error("not said: {0}")]
    Filtered(String),
}

impl Talk {
    pub fn new(config: &WorldConfig, filter: Arc<dyn TalkFilter>) -> Talk {
        let mut talk = Talk {
            filter,
            say: None,
            channels: Channels::default(),
            changes: vec![],
            paces: Paces::new(config.schema.world.tick_hz),
            events: vec![],
            near: vec![],
        };
        talk.change_world(config);
        talk
    }

    /// Compares the names of channels by this rule, before there are any.
    pub fn set_names(&mut self, rule: NameRule) {
        self.channels = Channels::new(rule);
    }

    /// Puts the clients of a world that goes on into their channels.
    pub fn restore(&mut self, roster: &Roster) {
        for (&client, saved) in &roster.clients {
            let Some(name) = &saved.row.person.name else {
                continue;
            };
            for channel in &saved.channels {
                // They were all members before, so there is room.
                let joined = self.channels.join(client, (saved.row.first, name), channel);
                if joined.as_ref() == Ok(channel) {
                    continue;
                }
                // It is the same as another one by today's rule.
                self.changes.push(RosterChange::Left {
                    client,
                    channel: channel.clone(),
                });
                let joined = joined.map(|channel| RosterChange::Joined { client, channel });
                self.changes.extend(joined);
            }
        }
    }

    /// Who has joined or left a channel since the last call.
    pub fn take_changes(&mut self) -> Vec<RosterChange> {
        std::mem::take(&mut self.changes)
    }

    /// The world's commands may have changed.
    pub fn change_world(&mut self, config: &WorldConfig) {
        self.say = config.schema.say().map(|(command, _)| command);
    }

    /// Does what a connected client asks for, in the tick of this frame.
    pub fn grant(
        &mut self,
        directory: &Directory,
        client: ClientRow,
        presence: &Presence,
        request: &TalkRequest,
        frame: &mut Frame,
    ) -> Result<(), TalkError> {
        if !self.paces.take(client, frame.tick) {
            return Err(TalkError::TooMuch);
        }
        let name = directory.people().name(client);
        match request {
            TalkRequest::Say { text } => {
                let speech = Speech::Say;
                let text = self.judge(speech, name, text, frame)?;
                let entity = presence.entity.ok_or(TalkError::Dead)?;
                self.say(client, entity, name.cloned(), text, frame)
            }
            TalkRequest::Whisper { to, text } => {
                let (from, to) = (name.ok_or(TalkError::Nameless)?, Name::new(to.as_str())?);
                let listener = directory.people().of_name(&to);
                let listener = listener.ok_or_else(|| TalkError::NoSuchPlayer(to.clone()))?;
                let text = self.judge(Speech::Whisper(&to), name, text, frame)?;
                let from = from.clone();
                let told = Told::Whispered {
                    from,
                    text: text.clone(),
                };
                let place = frame.said.len();
                if !self.tell(directory, listener, place, &Arc::new(told)) {
                    return Err(TalkError::Away(to));
                }
                frame.said.push(Saying {
                    speaker: Some(client),
                    to: Listeners::One(listener),
                    text,
                });
                Ok(())
            }
            TalkRequest::Join { channel } => {
                let (channel, name) = (names::wished(channel)?, name.ok_or(TalkError::Nameless)?);
                let own = (presence.ticket, name);
                let channel = self.channels.join(client, own, &channel)?;
                self.changes.push(RosterChange::Joined {
                    client,
                    channel: channel.clone(),
                });
                let told = Told::Joined {
                    channel: channel.clone(),
                    name: name.clone(),
                };
                self.tell_members(directory, &channel, frame, told);
                Ok(())
            }
            TalkRequest::Leave { channel } => {
                let channel = self.channels.own(client, &Name::new(channel.as_str())?)?;
                self.leave(directory, client, channel, frame);
                Ok(())
            }
            TalkRequest::Speak { channel, text } => {
                let from = name.ok_or(TalkError::Nameless)?.clone();
                let channel = self.channels.own(client, &Name::new(channel.as_str())?)?;
                let text = self.judge(Speech::Channel(&channel), name, text, frame)?;
                let told = Told::Spoken {
                    channel: channel.clone(),
                    from,
                    text: text.clone(),
                };
                self.tell_members(directory, &channel, frame, told);
                frame.said.push(Saying {
                    speaker: Some(client),
                    to: Listeners::Channel(channel),
                    text,
                });
                Ok(())
            }
            TalkRequest::Members { channel } => {
                let channel = self.channels.own(client, &Name::new(channel.as_str())?)?;
                let names = self.channels.names(&channel);
                let told = Arc::new(Told::Members { channel, names });
                self.tell(directory, client, frame.said.len(), &told);
                Ok(())
            }
        }
    }

    /// The operator says something to one client, or to all. Gives the number of clients
    /// that are told.
    pub fn announce(
        &mut self,
        directory: &Directory,
        to: Option<ClientRow>,
        text: Text,
        frame: &mut Frame,
    ) -> usize {
        let told = Arc::new(Told::Announced { text: text.clone() });
        let place = frame.said.len();
        let listeners = match to {
            Some(client) => vec![client],
            None => directory.rows().collect(),
        };
        let listeners = listeners.into_iter();
        let told = listeners.filter(|&client| self.tell(directory, client, place, &told));
        let count = told.count();
        frame.said.push(Saying {
            speaker: None,
            to: to.map_or(Listeners::Everybody, Listeners::One),
            text,
        });
        count
    }

    /// Takes clients that are gone out of their channels. `changed` are the rows that may
    /// stand for others now.
    pub fn follow(&mut self, directory: &Directory, changed: &[ClientRow], frame: &Frame) {
        for &client in changed {
            let ticket = directory.presence(client).map(|presence| presence.ticket);
            if ticket.is_none() {
                self.paces.forget(client);
            }
            if self.channels.ticket(client) != ticket {
                for channel in self.channels.all_of(client) {
                    self.leave(directory, client, channel, frame);
                }
            }
        }
    }

    /// What sessions are told.
    pub fn events(&mut self) -> impl Iterator<Item = (usize, SessionEvent)> {
        self.events.drain(..)
    }

    /// By place in the frame: what was said to those near since the last call.
    pub fn take_near(&mut self) -> Vec<Option<Arc<Told>>> {
        std::mem::take(&mut self.near)
    }

    /// A text that may be said.
    fn judge(
        &mut self,
        speech: Speech<'_>,
        speaker: Option<&Name>,
        text: &str,
        frame: &Frame,
    ) -> Result<Text, TalkError> {
        if frame.said.len() >= SAYINGS_MAX {
            return Err(TalkError::Crowded);
        }
        let text = Text::new(text)?;
        match self.filter.judge(speech, speaker, &text) {
            Verdict::Pass => Ok(text),
            Verdict::Replace(text) => Ok(text),
            Verdict::Refuse(reason) => Err(TalkError::Filtered(reason)),
        }
    }

    /// Lets the world find out who is near.
    fn say(
        &mut self,
        client: ClientRow,
        speaker: EntityId,
        name: Option<Name>,
        text: Text,
        frame: &mut Frame,
    ) -> Result<(), TalkError> {
        let say = self.say.ok_or(TalkError::NoSay)?;
        let place = frame.said.len();
        let word = i32::try_from(place).map_err(|_| TalkError::Crowded)?;
        // An entity's commands are in the order of their numbers: so are its words.
        frame.push(speaker, word.unsigned_abs(), say, &[word]);
        frame.said.push(Saying {
            speaker: Some(client),
            to: Listeners::Near,
            text: text.clone(),
        });
        self.near.resize(place, None);
        self.near.push(Some(Arc::new(Told::Said {
            speaker,
            name,
            text,
        })));
        Ok(())
    }

    fn leave(&mut self, directory: &Directory, client: ClientRow, channel: Name, frame: &Frame) {
        let members = self.channels.members(&channel).to_vec();
        if let Some(name) = self.channels.leave(client, &channel) {
            self.changes.push(RosterChange::Left {
                client,
                channel: channel.clone(),
            });
            let told = Arc::new(Told::Left { channel, name });
            self.tell_all(directory, &members, frame, &told);
        }
    }

    fn tell_members(&mut self, directory: &Directory, channel: &Name, frame: &Frame, told: Told) {
        let members = self.channels.members(channel).to_vec();
        self.tell_all(directory, &members, frame, &Arc::new(told));
    }

    fn tell_all(
        &mut self,
        directory: &Directory,
        clients: &[ClientRow],
        frame: &Frame,
        told: &Arc<Told>,
    ) {
        for &client in clients {
            self.tell(directory, client, frame.said.len(), told);
        }
    }

    /// False if the client is not connected.
    fn tell(
        &mut self,
        directory: &Directory,
        client: ClientRow,
        place: usize,
        told: &Arc<Told>,
    ) -> bool {
        let Some((shard, session)) = directory.place(client) else {
            return false;
        };
        let talk = told.clone();
        let event = SessionEvent::Talk {
            session,
            place,
            talk,
        };
        self.events.push((shard, event));
        true
    }
}

/// What all clients together may say in a tick.
pub const SAYINGS_MAX: usize = 4096;
/// What that takes in a frame: texts, and whom they are for.
pub const TALK_BYTES_MAX: usize =
    SAYINGS_MAX * (shared::world::talk::TEXT_BYTES_MAX + shared::world::talk::NAME_BYTES_MAX + 16);
