//! Chat of players: nearby, by whisper and in channels. Without I/O and without a clock.
//!
//! | module | holds |
//! | --- | --- |
//! | [`channels`] | channels and their members |
//! | [`filter`] | a filter of texts: a hook for games, and a word list |
//! | `groups` | channels of groups |
//! | `outbox` | talk on its way to sessions, within the budgets of listeners |
//! | [`rate_limit`] | the rate limit of speakers |
//! | [`mutes`] | muted players |

pub mod channels;
pub mod filter;
mod groups;
pub mod mutes;
mod outbox;
pub mod rate_limit;

use std::collections::HashSet;
use std::sync::Arc;

use accounts::names::{self, NameRule};
use durability::annotations::{Recipients, Saying};
use durability::roster::{Roster, RosterChange};
use frontend::mirror::Mirror;
use frontend::publication::SessionEvent;
use gpu_kernels::Frame;
use shared::wire::talk::{Talk as TalkMessage, TalkRequest};
use shared::world::talk::{SAYINGS_MAX, TextError};
use shared::world::words::TextHandle;
use shared::{ClientRow, CommandKind, Name, Text, Tick, WorldConfig};
use thiserror::Error;

use super::directory::{Directory, Presence};
use channels::{ChannelError, Channels};
use filter::{Speech, TalkFilter, Verdict};
use groups::GroupChannel;
use mutes::{KeptMutes, Listener, MuteError, Mutes};
use outbox::{Outbox, Outcome, Route};
use rate_limit::{RateKey, RateLimits};

/// The talk of a world.
pub struct Talk {
    filter: Arc<dyn TalkFilter>,
    /// The command that finds the clients nearby; none in worlds without one.
    say: Option<CommandKind>,
    channels: Channels,
    /// Joins and leaves of channels since the last [`Talk::take_changes`].
    changes: Vec<RosterChange>,
    rate_limits: RateLimits,
    mutes: Mutes,
    outbox: Outbox,
    /// What is said in this tick.
    said: Vec<Saying>,
    /// By index in `said`: talk to players nearby.
    nearby: Vec<Option<Arc<TalkMessage>>>,
    /// Clients that have muted the speaker of the talk at an index in `said`.
    muted: HashSet<(ClientRow, usize)>,
}

/// A connected client with a request.
struct Caller<'a> {
    directory: &'a Directory,
    client: ClientRow,
    presence: &'a Presence,
    name: Option<&'a Name>,
}

/// Why talk is rejected.
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
    #[error("a dead entity can't speak")]
    Dead,
    #[error("only players with a name can do that")]
    Nameless,
    #[error("there is no player called {0}")]
    NoSuchPlayer(Name),
    #[error("{0} is not connected")]
    Away(Name),
    #[error("{0} receives too many whispers at the moment; try again")]
    Busy(Name),
    #[error(transparent)]
    Mute(#[from] MuteError),
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error("{0} is of those who belong to a group, and nobody joins or leaves it")]
    OfGroup(Name),
    #[error("the client belongs to no group {0}")]
    NoGroup(Name),
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
            rate_limits: RateLimits::new(config.schema.world.tick_hz),
            mutes: Mutes::default(),
            outbox: Outbox::new(config.schema.world.tick_hz),
            said: vec![],
            nearby: vec![],
            muted: HashSet::new(),
        };
        talk.change_world(config);
        talk
    }

    /// Continues with the mutes of an earlier server, and saves later changes.
    pub fn keep_mutes(&mut self, kept: KeptMutes) {
        self.mutes.keep(kept);
    }

    /// The last mutes are saved once this returns.
    pub fn end_keeping(&mut self) {
        self.mutes.end_keeping();
    }

    /// Compares the names of channels by this rule, before there are any.
    pub fn set_names(&mut self, rule: NameRule) {
        self.channels = Channels::new(rule);
    }

    /// Restores the members of channels from a roster.
    pub fn restore(&mut self, roster: &Roster) {
        for (&client, saved) in &roster.clients {
            let Some(name) = &saved.row.person.name else {
                continue;
            };
            for channel in &saved.channels {
                // All were members before, so there is room.
                let joined = self.channels.join(client, (saved.row.first, name), channel);
                if joined.as_ref() == Ok(channel) {
                    continue;
                }
                // By the current rule of names, the channel is the same as another one.
                self.changes.push(RosterChange::Left {
                    client,
                    channel: channel.clone(),
                });
                let joined = joined.map(|channel| RosterChange::Joined { client, channel });
                self.changes.extend(joined);
            }
        }
    }

    /// Joins and leaves of channels since the last call.
    pub fn take_changes(&mut self) -> Vec<RosterChange> {
        std::mem::take(&mut self.changes)
    }

    /// The world's commands may have changed.
    pub fn change_world(&mut self, config: &WorldConfig) {
        self.say = config.schema.say().map(|(command, _)| command);
    }

    /// Executes the request of a connected client, in the tick of this frame. The mirror is that of the
    /// tick before.
    pub fn grant(
        &mut self,
        (directory, mirror): (&Directory, &Mirror),
        client: ClientRow,
        presence: &Presence,
        request: &TalkRequest,
        frame: &mut Frame,
    ) -> Result<(), TalkError> {
        let caller = Caller {
            directory,
            client,
            presence,
            name: directory.people().name(client),
        };
        let now = frame.tick;
        self.take_rate(&caller, now)?;
        match request {
            TalkRequest::Say { text } => self.say(&caller, text, frame),
            TalkRequest::Whisper { to, text } => self.whisper(&caller, to, text, now),
            TalkRequest::Join { channel } => {
                groups::check(mirror, channel)?;
                self.join(&caller, channel, now)
            }
            TalkRequest::Leave { channel } => {
                groups::check(mirror, channel)?;
                let channel = self.channels.own(client, &Name::new(channel.as_str())?)?;
                self.leave(directory, client, channel, now);
                Ok(())
            }
            TalkRequest::Speak { channel, text } => {
                let group = GroupChannel::of(directory, mirror, presence, channel)?;
                self.speak(&caller, (channel, group), text, now)
            }
            TalkRequest::Members { channel } => {
                let group = GroupChannel::of(directory, mirror, presence, channel)?;
                let (channel, names) = match group {
                    Some(group) => (group.name.clone(), group.names(directory)),
                    None => {
                        let channel = Name::new(channel.as_str())?;
                        let channel = self.channels.own(client, &channel)?;
                        let names = self.channels.names(&channel);
                        (channel, names)
                    }
                };
                let message = Arc::new(TalkMessage::Members { channel, names });
                (self.outbox).send(directory, client, self.said.len(), &message);
                Ok(())
            }
            TalkRequest::Mute { name } => {
                let speaker = mute_keys_of_name(directory, name)?;
                let is_present = |listener: &Listener| row_of(directory, listener).is_some();
                Ok((self.mutes).mute(&caller.listener(), &speaker, is_present)?)
            }
            TalkRequest::Unmute { name } => {
                let speaker = mute_keys_of_name(directory, name)?;
                Ok(self.mutes.unmute(&caller.listener(), &speaker, name)?)
            }
        }
    }

    /// Validates and filters a text that a client gives for attributes, which counts as talk.
    pub fn judge_attribute(
        &mut self,
        directory: &Directory,
        client: ClientRow,
        presence: &Presence,
        text: &str,
        now: Tick,
    ) -> Result<Text, TalkError> {
        let name = directory.people().name(client);
        let caller = Caller {
            directory,
            client,
            presence,
            name,
        };
        self.take_rate(&caller, now)?;
        self.judge(Speech::Attribute, name, text)
    }

    /// Notes a text that a client gave for attributes.
    pub fn note_attribute(&mut self, speaker: ClientRow, handle: TextHandle, text: Text) {
        self.said.push(Saying {
            speaker: Some(speaker),
            to: Recipients::Attributes(handle),
            text,
        });
    }

    /// Takes one message from the speaker's limit.
    fn take_rate(&mut self, caller: &Caller<'_>, now: Tick) -> Result<(), TalkError> {
        let directory = caller.directory;
        let ticket_of = |client| directory.presence(client).map(|presence| presence.ticket);
        let may = (self.rate_limits).take(&caller.rate_key(), now, ticket_of);
        may.then_some(()).ok_or(TalkError::TooMuch)
    }

    /// Issues the command that finds the clients nearby.
    fn say(&mut self, caller: &Caller<'_>, text: &str, frame: &mut Frame) -> Result<(), TalkError> {
        let text = self.judge(Speech::Say, caller.name, text)?;
        let speaker = caller.presence.entity.ok_or(TalkError::Dead)?;
        let index = self.said.len();
        let muting = self.muted_by(caller.directory, caller.client);
        (self.muted).extend(muting.into_iter().map(|to| (to, index)));
        let say = self.say.ok_or(TalkError::NoSay)?;
        let word = i32::try_from(index).map_err(|_| TalkError::Crowded)?;
        // An entity's commands run in the order of their numbers, and so is its talk.
        frame.push(speaker, word.unsigned_abs(), say, &[word]);
        self.said.push(Saying {
            speaker: Some(caller.client),
            to: Recipients::Near,
            text: text.clone(),
        });
        self.nearby.resize(index, None);
        self.nearby.push(Some(Arc::new(TalkMessage::Said {
            speaker,
            name: caller.name.cloned(),
            text,
        })));
        Ok(())
    }

    fn whisper(
        &mut self,
        caller: &Caller<'_>,
        to: &str,
        text: &str,
        now: Tick,
    ) -> Result<(), TalkError> {
        let (directory, client) = (caller.directory, caller.client);
        let (from, to) = (caller.name()?, Name::new(to)?);
        let listener = directory.people().of_name(&to);
        let listener = listener.ok_or_else(|| TalkError::NoSuchPlayer(to.clone()))?;
        let text = self.judge(Speech::Whisper(&to), caller.name, text)?;
        let message = Arc::new(TalkMessage::Whispered {
            from: from.clone(),
            text: text.clone(),
        });
        let muting = self.muted_by(directory, client);
        let outbox = self.outbox.at(directory, now, self.said.len());
        match outbox.send_from((client, listener), Route::Whisper, &message, &muting) {
            Outcome::Away => return Err(TalkError::Away(to)),
            Outcome::Busy => return Err(TalkError::Busy(to)),
            Outcome::Sent | Outcome::Muted => {}
        }
        self.outbox.note_partner(directory, client, listener);
        self.said.push(Saying {
            speaker: Some(client),
            to: Recipients::One(listener),
            text,
        });
        Ok(())
    }

    fn join(&mut self, caller: &Caller<'_>, channel: &str, now: Tick) -> Result<(), TalkError> {
        let (channel, name) = (names::wished(channel)?, caller.name()?);
        let own = (caller.presence.ticket, name);
        let channel = self.channels.join(caller.client, own, &channel)?;
        self.changes.push(RosterChange::Joined {
            client: caller.client,
            channel: channel.clone(),
        });
        let members = self.channels.members(&channel).to_vec();
        let name = name.clone();
        let message = TalkMessage::Joined { channel, name };
        self.send_to_all(caller.directory, caller.client, &members, now, message);
        Ok(())
    }

    fn speak(
        &mut self,
        caller: &Caller<'_>,
        (channel, group): (&str, Option<GroupChannel>),
        text: &str,
        now: Tick,
    ) -> Result<(), TalkError> {
        let from = caller.name()?.clone();
        let (channel, members) = match group {
            Some(group) => (group.name, group.members),
            None => {
                let channel = self.channels.own(caller.client, &Name::new(channel)?)?;
                let members = self.channels.members(&channel).to_vec();
                (channel, members)
            }
        };
        let text = self.judge(Speech::Channel(&channel), caller.name, text)?;
        let message = TalkMessage::Spoken {
            channel: channel.clone(),
            from,
            text: text.clone(),
        };
        self.send_to_all(caller.directory, caller.client, &members, now, message);
        self.said.push(Saying {
            speaker: Some(caller.client),
            to: Recipients::Channel(channel),
            text,
        });
        Ok(())
    }

    fn leave(&mut self, directory: &Directory, client: ClientRow, channel: Name, now: Tick) {
        let members = self.channels.members(&channel).to_vec();
        if let Some(name) = self.channels.leave(client, &channel) {
            self.changes.push(RosterChange::Left {
                client,
                channel: channel.clone(),
            });
            let message = TalkMessage::Left { channel, name };
            self.send_to_all(directory, client, &members, now, message);
        }
    }

    /// Sends a text of the operator to one client, or to all. Returns the number of clients
    /// that get it.
    pub fn announce(&mut self, directory: &Directory, to: Option<ClientRow>, text: Text) -> usize {
        let message = Arc::new(TalkMessage::Announced { text: text.clone() });
        let index = self.said.len();
        let listeners = match to {
            Some(client) => vec![client],
            None => directory.rows().collect(),
        };
        let send = |client: &ClientRow| self.outbox.send(directory, *client, index, &message);
        let count = listeners.into_iter().filter(send).count();
        self.said.push(Saying {
            speaker: None,
            to: to.map_or(Recipients::Everybody, Recipients::One),
            text,
        });
        count
    }

    /// Removes clients that are gone from their channels. `changed` are the rows that may have
    /// other clients now.
    pub fn follow(&mut self, directory: &Directory, changed: &[ClientRow], now: Tick) {
        for &client in changed {
            let ticket = directory.presence(client).map(|presence| presence.ticket);
            self.mutes.follow(client, ticket);
            if ticket.is_none() {
                self.outbox.forget(client);
            }
            if self.channels.ticket(client) != ticket {
                for channel in self.channels.all_of(client) {
                    self.leave(directory, client, channel, now);
                }
            }
        }
    }

    /// Talk for sessions: (shard, event).
    pub fn events(&mut self) -> impl Iterator<Item = (usize, SessionEvent)> {
        self.outbox.events()
    }

    /// What was said since the last call.
    pub fn take_said(&mut self) -> Vec<Saying> {
        std::mem::take(&mut self.said)
    }

    /// By index in what was said: talk to players nearby since the last call.
    pub fn take_nearby(&mut self) -> Vec<Option<Arc<TalkMessage>>> {
        std::mem::take(&mut self.nearby)
    }

    /// By index in what was said: clients that have muted the speaker, since the last call.
    pub fn take_muted(&mut self) -> HashSet<(ClientRow, usize)> {
        std::mem::take(&mut self.muted)
    }

    /// Validates and filters a text.
    fn judge(
        &mut self,
        speech: Speech<'_>,
        speaker: Option<&Name>,
        text: &str,
    ) -> Result<Text, TalkError> {
        if self.said.len() >= SAYINGS_MAX {
            return Err(TalkError::Crowded);
        }
        let text = Text::new(text)?;
        match self.filter.judge(speech, speaker, &text) {
            Verdict::Pass => Ok(text),
            Verdict::Replace(text) => Ok(text),
            Verdict::Refuse(reason) => Err(TalkError::Filtered(reason)),
        }
    }

    fn send_to_all(
        &mut self,
        directory: &Directory,
        from: ClientRow,
        clients: &[ClientRow],
        now: Tick,
        message: TalkMessage,
    ) {
        let muting = self.muted_by(directory, from);
        let message = Arc::new(message);
        for &client in clients {
            let outbox = self.outbox.at(directory, now, self.said.len());
            outbox.send_from((from, client), Route::Channel, &message, &muting);
        }
    }

    /// The clients in the world that have muted a client.
    fn muted_by(&self, directory: &Directory, from: ClientRow) -> HashSet<ClientRow> {
        if self.mutes.is_empty() {
            return HashSet::new();
        }
        let speaker = mute_keys_of(directory, from);
        let listeners = self.mutes.listeners(&speaker);
        let rows = listeners.filter_map(|listener| row_of(directory, listener));
        rows.filter(|&to| to != from).collect()
    }
}

impl Caller<'_> {
    fn name(&self) -> Result<&Name, TalkError> {
        self.name.ok_or(TalkError::Nameless)
    }

    fn rate_key(&self) -> RateKey<'_> {
        match self.directory.people().account(self.client) {
            Some(account) => RateKey::Account(account),
            None => RateKey::Guest {
                client: self.client,
                ticket: self.presence.ticket,
                network: self.directory.network(self.client),
            },
        }
    }

    fn listener(&self) -> Listener {
        match self.directory.people().account(self.client) {
            Some(account) => Listener::Account(account.clone()),
            None => Listener::Guest(self.client, self.presence.ticket),
        }
    }
}

/// The mute keys of a client.
fn mute_keys_of(directory: &Directory, client: ClientRow) -> mutes::SpeakerKeys {
    let people = directory.people();
    let ticket = directory.presence(client).map(|presence| presence.ticket);
    mutes::SpeakerKeys::new(people.account(client), ticket, people.name(client))
}

/// The mute keys of a player of this name, whether it is in the world or not.
fn mute_keys_of_name(directory: &Directory, name: &str) -> Result<mutes::SpeakerKeys, TextError> {
    if name.is_empty() {
        return Ok(mutes::SpeakerKeys::nameless());
    }
    let name = Name::new(name)?;
    let client = directory.people().of_name(&name);
    Ok(match client {
        Some(client) => mute_keys_of(directory, client),
        None => mutes::SpeakerKeys::new(None, None, Some(&name)),
    })
}

/// The row of a listener that is in the world.
fn row_of(directory: &Directory, listener: &Listener) -> Option<ClientRow> {
    match listener {
        Listener::Account(account) => directory.people().of_account(account),
        &Listener::Guest(client, own) => {
            let presence = directory.presence(client)?;
            (presence.ticket == own).then_some(client)
        }
    }
}
