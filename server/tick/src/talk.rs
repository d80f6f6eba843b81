//! What players say, and who is told. Without I/O and without a clock.
//!
//! | module | holds |
//! | --- | --- |
//! | [`channels`] | who is in which channel |
//! | [`filter`] | what may be said: a hook for games, and a list of words |
//! | [`pace`] | how often a player may speak |
//! | [`mutes`] | whose talk a player does not want to receive |

pub mod channels;
pub mod filter;
pub mod mutes;
pub mod pace;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use accounts::names::{self, NameRule};
use durability::roster::{Roster, RosterChange};
use frontend::publication::SessionEvent;
use frontend::talk::size_of;
use frontend::talk_budget::TalkBudget;
use gpu_kernels::Frame;
use gpu_kernels::tick::frame::{Recipients, Saying};
use platform::metrics::table;
use shared::wire::control::Ticket;
use shared::wire::talk::{Talk as Told, TalkRequest};
use shared::world::talk::{SAYINGS_MAX, TextError};
use shared::{ClientRow, CommandKind, EntityId, Name, Text, Tick, WorldConfig};
use thiserror::Error;

use super::directory::{Directory, Presence};
use channels::{ChannelError, Channels};
use filter::{Speech, TalkFilter, Verdict};
use mutes::{KeptMutes, Listener, MuteError, Mutes};
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
    mutes: Mutes,
    tick_hz: u32,
    /// What listeners have heard of late from others, each way by itself.
    heard: HashMap<(ClientRow, Way), TalkBudget>,
    next_look: Tick,
    /// To whom each client has whispered last, with their first tickets, the newest last.
    partners: HashMap<ClientRow, VecDeque<(ClientRow, Ticket)>>,
    /// By shard.
    events: Vec<(usize, SessionEvent)>,
    /// By place in the frame: what is said to those near.
    near: Vec<Option<Arc<Told>>>,
    /// Those who have muted the speaker at a place in the frame.
    hushed: HashSet<(ClientRow, usize)>,
}

/// How talk reaches a listener. Each way has a budget of its own, so that none silences another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    /// A whisper of anybody.
    Whisper,
    /// One of somebody to whom the listener has whispered lately.
    Reply,
    Channel,
}

/// What becomes of something that is said to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Told,
    /// The client is not connected.
    Away,
    /// It does not want to hear the speaker, who is not told so.
    Muted,
    /// It has heard too much of late.
    Busy,
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
            paces: Paces::new(config.schema.world.tick_hz),
            mutes: Mutes::default(),
            tick_hz: config.schema.world.tick_hz,
            heard: HashMap::new(),
            next_look: Tick(0),
            partners: HashMap::new(),
            events: vec![],
            near: vec![],
            hushed: HashSet::new(),
        };
        talk.change_world(config);
        talk
    }

    /// Goes on with the mutes of an earlier server, and keeps what becomes of them.
    pub fn keep_mutes(&mut self, kept: KeptMutes) {
        self.mutes.keep(kept);
    }

    /// The last mutes are kept once this returns.
    pub fn end_keeping(&mut self) {
        self.mutes.end_keeping();
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
        let account = directory.people().account(client);
        let speaker = account.map_or(
            pace::Speaker::Guest {
                client,
                ticket: presence.ticket,
                network: directory.network(client),
            },
            pace::Speaker::Account,
        );
        let ticket_of = |client| directory.presence(client).map(|presence| presence.ticket);
        if !self.paces.take(&speaker, frame.tick, ticket_of) {
            return Err(TalkError::TooMuch);
        }
        let name = directory.people().name(client);
        match request {
            TalkRequest::Say { text } => {
                let speech = Speech::Say;
                let text = self.judge(speech, name, text, frame)?;
                let entity = presence.entity.ok_or(TalkError::Dead)?;
                let place = frame.said.len();
                let deaf = self.deaf_to(directory, client);
                self.hushed.extend(deaf.into_iter().map(|to| (to, place)));
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
                let told = Arc::new(told);
                let deaf = self.deaf_to(directory, client);
                let pair = (client, listener);
                match self.tell_of(directory, pair, Way::Whisper, frame, &told, &deaf) {
                    Fate::Away => return Err(TalkError::Away(to)),
                    Fate::Busy => return Err(TalkError::Busy(to)),
                    Fate::Told | Fate::Muted => {}
                }
                self.note_partner(directory, client, listener);
                frame.said.push(Saying {
                    speaker: Some(client),
                    to: Recipients::One(listener),
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
                self.tell_members(directory, client, &channel, frame, told);
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
                self.tell_members(directory, client, &channel, frame, told);
                frame.said.push(Saying {
                    speaker: Some(client),
                    to: Recipients::Channel(channel),
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
            TalkRequest::Mute { name } => {
                let speaker = speaker_called(directory, name)?;
                let is_here = |listener: &Listener| row_of(directory, listener).is_some();
                let listener = listener_of(directory, client, presence.ticket);
                Ok(self.mutes.mute(&listener, &speaker, is_here)?)
            }
            TalkRequest::Unmute { name } => {
                let speaker = speaker_called(directory, name)?;
                let listener = listener_of(directory, client, presence.ticket);
                Ok(self.mutes.unmute(&listener, &speaker, name)?)
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
            to: to.map_or(Recipients::Everybody, Recipients::One),
            text,
        });
        count
    }

    /// Takes clients that are gone out of their channels. `changed` are the rows that may
    /// stand for others now.
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

    /// What sessions are told.
    pub fn events(&mut self) -> impl Iterator<Item = (usize, SessionEvent)> {
        self.events.drain(..)
    }

    /// By place in the frame: what was said to those near since the last call.
    pub fn take_near(&mut self) -> Vec<Option<Arc<Told>>> {
        std::mem::take(&mut self.near)
    }

    /// By place in the frame: those near who have muted the speaker, since the last call.
    pub fn take_hushed(&mut self) -> HashSet<(ClientRow, usize)> {
        std::mem::take(&mut self.hushed)
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
            to: Recipients::Near,
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
            self.tell_all(directory, client, &members, frame, &told);
        }
    }

    fn tell_members(
        &mut self,
        directory: &Directory,
        from: ClientRow,
        channel: &Name,
        frame: &Frame,
        told: Told,
    ) {
        let members = self.channels.members(channel).to_vec();
        self.tell_all(directory, from, &members, frame, &Arc::new(told));
    }

    fn tell_all(
        &mut self,
        directory: &Directory,
        from: ClientRow,
        clients: &[ClientRow],
        frame: &Frame,
        told: &Arc<Told>,
    ) {
        let deaf = self.deaf_to(directory, from);
        for &client in clients {
            self.tell_of(directory, (from, client), Way::Channel, frame, told, &deaf);
        }
    }

    /// Tells a listener what another client says, if it is none of those that do not want to hear
    /// that one, and is not told too much by others.
    fn tell_of(
        &mut self,
        directory: &Directory,
        (from, to): (ClientRow, ClientRow),
        way: Way,
        frame: &Frame,
        told: &Arc<Told>,
        deaf: &HashSet<ClientRow>,
    ) -> Fate {
        if directory.place(to).is_none() {
            return Fate::Away;
        }
        if from != to {
            let way = match way {
                Way::Whisper if self.is_partner(directory, to, from) => Way::Reply,
                way => way,
            };
            if deaf.contains(&to) {
                return Fate::Muted;
            }
            self.forget_quiet(frame.tick);
            let budget = self.heard.entry((to, way)).or_default();
            if !budget.take(size_of(told), frame.tick, self.tick_hz) {
                table::TALK_LEFT_OUT.add(1);
                return Fate::Busy;
            }
        }
        match self.tell(directory, to, frame.said.len(), told) {
            true => Fate::Told,
            false => Fate::Away,
        }
    }

    /// Those in the world who do not want to hear a client.
    fn deaf_to(&self, directory: &Directory, from: ClientRow) -> HashSet<ClientRow> {
        if self.mutes.is_empty() {
            return HashSet::new();
        }
        let speaker = speaker_of(directory, from);
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

    /// Forgets the budgets of those who have heard little, now and then.
    fn forget_quiet(&mut self, now: Tick) {
        if now < self.next_look {
            return;
        }
        self.next_look = now.after(self.tick_hz);
        let tick_hz = self.tick_hz;
        self.heard
            .retain(|_, budget| !budget.is_whole(now, tick_hz));
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

/// By what a client is known that speaks.
fn speaker_of(directory: &Directory, client: ClientRow) -> mutes::Speaker {
    let people = directory.people();
    let ticket = directory.presence(client).map(|presence| presence.ticket);
    mutes::Speaker::new(people.account(client), ticket, people.name(client))
}

/// By what a player of this name is known, whether it is in the world or not.
fn speaker_called(directory: &Directory, name: &str) -> Result<mutes::Speaker, TextError> {
    if name.is_empty() {
        return Ok(mutes::Speaker::nameless());
    }
    let name = Name::new(name)?;
    let client = directory.people().of_name(&name);
    Ok(match client {
        Some(client) => speaker_of(directory, client),
        None => mutes::Speaker::new(None, None, Some(&name)),
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

/// To so many others a client has whispered last.
const PARTNERS_MAX: usize = 16;
