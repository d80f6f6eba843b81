//! Chat of players: nearby, by whisper and in channels. Without I/O and without a clock.
//!
//! | module | holds |
//! | --- | --- |
//! | [`channels`] | channels and their members |
//! | [`filter`] | a filter of texts: a hook for games, and a word list |
//! | [`rate_limit`] | the rate limit of speakers |
//! | [`mutes`] | muted players |

pub mod channels;
pub mod filter;
pub mod mutes;
pub mod rate_limit;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use accounts::names::{self, NameRule};
use durability::roster::{Roster, RosterChange};
use frontend::publication::SessionEvent;
use frontend::talk::size_of;
use frontend::talk_budget::TalkBudget;
use gpu_kernels::Frame;
use gpu_kernels::tick::frame::{Listeners, Saying};
use platform::metrics::table;
use shared::wire::control::Ticket;
use shared::wire::talk::{Talk as TalkMessage, TalkRequest};
use shared::world::talk::{SAYINGS_MAX, TextError};
use shared::{ClientRow, CommandKind, EntityId, Name, Text, Tick, WorldConfig};
use thiserror::Error;

use super::directory::{Directory, Presence};
use channels::{ChannelError, Channels};
use filter::{Speech, TalkFilter, Verdict};
use mutes::{Listener, MuteError, Mutes};
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
    tick_hz: u32,
    /// What listeners have received of late from others, by route.
    budgets: HashMap<(ClientRow, Route), TalkBudget>,
    next_cleanup: Tick,
    /// The last clients to which each client has whispered, with their first tickets, the newest
    /// last.
    partners: HashMap<ClientRow, VecDeque<(ClientRow, Ticket)>>,
    /// By shard.
    events: Vec<(usize, SessionEvent)>,
    /// By index in the frame: talk to players nearby.
    nearby: Vec<Option<Arc<TalkMessage>>>,
    /// Clients that have muted the speaker of the talk at an index in the frame.
    muted: HashSet<(ClientRow, usize)>,
}

/// How talk reaches a listener. Each route has its own budget, so that none starves another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Route {
    /// A whisper of any client.
    Whisper,
    /// A whisper of a client to which the listener has whispered lately.
    Reply,
    Channel,
}

/// The outcome of talk to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Sent,
    /// The client is not connected.
    Away,
    /// It has muted the speaker, which is not reported to the speaker.
    Muted,
    /// Its budget is used up.
    Busy,
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
            tick_hz: config.schema.world.tick_hz,
            budgets: HashMap::new(),
            next_cleanup: Tick(0),
            partners: HashMap::new(),
            events: vec![],
            nearby: vec![],
            muted: HashSet::new(),
        };
        talk.change_world(config);
        talk
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

    /// Executes the request of a connected client, in the tick of this frame.
    pub fn grant(
        &mut self,
        directory: &Directory,
        client: ClientRow,
        presence: &Presence,
        request: &TalkRequest,
        frame: &mut Frame,
    ) -> Result<(), TalkError> {
        let account = directory.people().account(client);
        let speaker = account.map_or(
            RateKey::Guest {
                client,
                ticket: presence.ticket,
                network: directory.network(client),
            },
            RateKey::Account,
        );
        let ticket_of = |client| directory.presence(client).map(|presence| presence.ticket);
        if !self.rate_limits.take(&speaker, frame.tick, ticket_of) {
            return Err(TalkError::TooMuch);
        }
        let name = directory.people().name(client);
        match request {
            TalkRequest::Say { text } => {
                let speech = Speech::Say;
                let text = self.judge(speech, name, text, frame)?;
                let entity = presence.entity.ok_or(TalkError::Dead)?;
                let index = frame.said.len();
                let muting = self.muted_by(directory, client);
                self.muted.extend(muting.into_iter().map(|to| (to, index)));
                self.say(client, entity, name.cloned(), text, frame)
            }
            TalkRequest::Whisper { to, text } => {
                let (from, to) = (name.ok_or(TalkError::Nameless)?, Name::new(to.as_str())?);
                let listener = directory.people().of_name(&to);
                let listener = listener.ok_or_else(|| TalkError::NoSuchPlayer(to.clone()))?;
                let text = self.judge(Speech::Whisper(&to), name, text, frame)?;
                let from = from.clone();
                let message = TalkMessage::Whispered {
                    from,
                    text: text.clone(),
                };
                let message = Arc::new(message);
                let muting = self.muted_by(directory, client);
                let pair = (client, listener);
                match self.send_from(directory, pair, Route::Whisper, frame, &message, &muting) {
                    Outcome::Away => return Err(TalkError::Away(to)),
                    Outcome::Busy => return Err(TalkError::Busy(to)),
                    Outcome::Sent | Outcome::Muted => {}
                }
                self.note_partner(directory, client, listener);
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
                let message = TalkMessage::Joined {
                    channel: channel.clone(),
                    name: name.clone(),
                };
                self.send_to_members(directory, client, &channel, frame, message);
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
                let message = TalkMessage::Spoken {
                    channel: channel.clone(),
                    from,
                    text: text.clone(),
                };
                self.send_to_members(directory, client, &channel, frame, message);
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
                let message = Arc::new(TalkMessage::Members { channel, names });
                self.send(directory, client, frame.said.len(), &message);
                Ok(())
            }
            TalkRequest::Mute { name } => {
                let speaker = mute_keys_of_name(directory, name)?;
                let is_present = |listener: &Listener| row_of(directory, listener).is_some();
                let listener = listener_of(directory, client, presence.ticket);
                Ok(self.mutes.mute(&listener, &speaker, is_present)?)
            }
            TalkRequest::Unmute { name } => {
                let speaker = mute_keys_of_name(directory, name)?;
                let listener = listener_of(directory, client, presence.ticket);
                Ok(self.mutes.unmute(&listener, &speaker, name)?)
            }
        }
    }

    /// Sends a text of the operator to one client, or to all. Returns the number of clients
    /// that get it.
    pub fn announce(
        &mut self,
        directory: &Directory,
        to: Option<ClientRow>,
        text: Text,
        frame: &mut Frame,
    ) -> usize {
        let message = Arc::new(TalkMessage::Announced { text: text.clone() });
        let index = frame.said.len();
        let listeners = match to {
            Some(client) => vec![client],
            None => directory.rows().collect(),
        };
        let listeners = listeners.into_iter();
        let message = listeners.filter(|&client| self.send(directory, client, index, &message));
        let count = message.count();
        frame.said.push(Saying {
            speaker: None,
            to: to.map_or(Listeners::Everybody, Listeners::One),
            text,
        });
        count
    }

    /// Removes clients that are gone from their channels. `changed` are the rows that may have
    /// other clients now.
    pub fn follow(&mut self, directory: &Directory, changed: &[ClientRow], frame: &Frame) {
        for &client in changed {
            let ticket = directory.presence(client).map(|presence| presence.ticket);
            self.mutes.follow(client, ticket);
            if ticket.is_none() {
                self.partners.remove(&client);
            }
            if self.channels.ticket(client) != ticket {
                for channel in self.channels.all_of(client) {
                    self.leave(directory, client, channel, frame);
                }
            }
        }
    }

    /// Talk for sessions: (shard, event).
    pub fn events(&mut self) -> impl Iterator<Item = (usize, SessionEvent)> {
        self.events.drain(..)
    }

    /// By index in the frame: talk to players nearby since the last call.
    pub fn take_nearby(&mut self) -> Vec<Option<Arc<TalkMessage>>> {
        std::mem::take(&mut self.nearby)
    }

    /// By index in the frame: clients that have muted the speaker, since the last call.
    pub fn take_muted(&mut self) -> HashSet<(ClientRow, usize)> {
        std::mem::take(&mut self.muted)
    }

    /// Validates and filters a text.
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

    /// Issues the command that finds the clients nearby.
    fn say(
        &mut self,
        client: ClientRow,
        speaker: EntityId,
        name: Option<Name>,
        text: Text,
        frame: &mut Frame,
    ) -> Result<(), TalkError> {
        let say = self.say.ok_or(TalkError::NoSay)?;
        let index = frame.said.len();
        let word = i32::try_from(index).map_err(|_| TalkError::Crowded)?;
        // An entity's commands run in the order of their numbers, and so is its talk.
        frame.push(speaker, word.unsigned_abs(), say, &[word]);
        frame.said.push(Saying {
            speaker: Some(client),
            to: Listeners::Near,
            text: text.clone(),
        });
        self.nearby.resize(index, None);
        self.nearby.push(Some(Arc::new(TalkMessage::Said {
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
            let message = Arc::new(TalkMessage::Left { channel, name });
            self.send_to_all(directory, client, &members, frame, &message);
        }
    }

    fn send_to_members(
        &mut self,
        directory: &Directory,
        from: ClientRow,
        channel: &Name,
        frame: &Frame,
        message: TalkMessage,
    ) {
        let members = self.channels.members(channel).to_vec();
        self.send_to_all(directory, from, &members, frame, &Arc::new(message));
    }

    fn send_to_all(
        &mut self,
        directory: &Directory,
        from: ClientRow,
        clients: &[ClientRow],
        frame: &Frame,
        message: &Arc<TalkMessage>,
    ) {
        let muting = self.muted_by(directory, from);
        for &client in clients {
            self.send_from(
                directory,
                (from, client),
                Route::Channel,
                frame,
                message,
                &muting,
            );
        }
    }

    /// Sends the talk of one client to another, unless that one is in `muting` or has used up its
    /// budget.
    fn send_from(
        &mut self,
        directory: &Directory,
        (from, to): (ClientRow, ClientRow),
        route: Route,
        frame: &Frame,
        message: &Arc<TalkMessage>,
        muting: &HashSet<ClientRow>,
    ) -> Outcome {
        if directory.session(to).is_none() {
            return Outcome::Away;
        }
        if from != to {
            let route = match route {
                Route::Whisper if self.is_partner(directory, to, from) => Route::Reply,
                route => route,
            };
            if muting.contains(&to) {
                return Outcome::Muted;
            }
            self.forget_unused_budgets(frame.tick);
            let budget = self.budgets.entry((to, route)).or_default();
            if !budget.take(size_of(message), frame.tick, self.tick_hz) {
                table::TALK_LEFT_OUT.add(1);
                return Outcome::Busy;
            }
        }
        match self.send(directory, to, frame.said.len(), message) {
            true => Outcome::Sent,
            false => Outcome::Away,
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

    fn note_partner(&mut self, directory: &Directory, client: ClientRow, to: ClientRow) {
        let Some(presence) = directory.presence(to) else {
            return;
        };
        let partners = self.partners.entry(client).or_default();
        partners.retain(|(partner, _)| *partner != to);
        partners.push_back((to, presence.ticket));
        if partners.len() > PARTNERS_MAX {
            partners.pop_front();
        }
    }

    fn is_partner(&self, directory: &Directory, of: ClientRow, client: ClientRow) -> bool {
        let ticket = directory.presence(client).map(|presence| presence.ticket);
        let partners = self.partners.get(&of);
        partners.is_some_and(|partners| {
            let mut partners = partners.iter();
            partners.any(|&(partner, own)| partner == client && Some(own) == ticket)
        })
    }

    /// Drops full budgets now and then.
    fn forget_unused_budgets(&mut self, now: Tick) {
        if now < self.next_cleanup {
            return;
        }
        self.next_cleanup = now.after(self.tick_hz);
        let tick_hz = self.tick_hz;
        self.budgets
            .retain(|_, budget| !budget.is_whole(now, tick_hz));
    }

    /// False if the client is not connected.
    fn send(
        &mut self,
        directory: &Directory,
        client: ClientRow,
        index: usize,
        message: &Arc<TalkMessage>,
    ) -> bool {
        let Some((shard, session)) = directory.session(client) else {
            return false;
        };
        let talk = message.clone();
        let event = SessionEvent::Talk {
            session,
            index,
            talk,
        };
        self.events.push((shard, event));
        true
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

fn listener_of(directory: &Directory, client: ClientRow, ticket: Ticket) -> Listener {
    match directory.people().account(client) {
        Some(account) => Listener::Account(account.clone()),
        None => Listener::Guest(client, ticket),
    }
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

/// The number of whisper partners that are kept for a client.
const PARTNERS_MAX: usize = 16;
