//! Channels and their members. A channel exists from its first member to its last.

use std::collections::HashMap;

use accounts::names::NameRule;
use shared::wire::control::Ticket;
use shared::wire::talk::CHANNEL_MEMBERS_MAX;
use shared::{ClientRow, Name};
use thiserror::Error;

/// The channels of a world.
#[derive(Default)]
pub struct Channels {
    rule: NameRule,
    /// By [`NameRule::key`]: equal names are one channel.
    channels: HashMap<String, Channel>,
    members: HashMap<ClientRow, Member>,
}

struct Channel {
    /// As the first member wrote it.
    name: Name,
    /// In the order of their joins.
    members: Vec<ClientRow>,
}

/// A client that is in some channel.
struct Member {
    /// Distinguishes this client from the next one with the same row.
    ticket: Ticket,
    name: Name,
    /// The keys of its channels, in the order of its joins.
    keys: Vec<String>,
}

/// Why a join, leave or message is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChannelError {
    #[error("the client is in the channel {0} already")]
    Member(Name),
    #[error("the client is not in the channel {0}")]
    NoMember(Name),
    #[error("the client is in {CHANNELS_PER_CLIENT_MAX} channels already")]
    TooMany,
    #[error("the channel {0} has {CHANNEL_MEMBERS_MAX} members already")]
    Full(Name),
}

impl Channels {
    /// No channels; names are compared by this rule.
    pub fn new(rule: NameRule) -> Channels {
        Channels {
            rule,
            ..Channels::default()
        }
    }

    /// Adds a client with this first ticket and name to a channel, and returns the channel's
    /// name.
    pub fn join(
        &mut self,
        client: ClientRow,
        (ticket, own_name): (Ticket, &Name),
        name: &Name,
    ) -> Result<Name, ChannelError> {
        let key = self.rule.key(name);
        let keys = self
            .members
            .get(&client)
            .map_or(&[][..], |member| &member.keys);
        if keys.contains(&key) {
            return Err(ChannelError::Member(name.clone()));
        }
        if keys.len() >= CHANNELS_PER_CLIENT_MAX {
            return Err(ChannelError::TooMany);
        }
        let channel = self.channels.entry(key.clone()).or_insert_with(|| Channel {
            name: name.clone(),
            members: vec![],
        });
        if channel.members.len() >= CHANNEL_MEMBERS_MAX {
            return Err(ChannelError::Full(name.clone()));
        }
        channel.members.push(client);
        let member = self.members.entry(client).or_insert_with(|| Member {
            ticket,
            name: own_name.clone(),
            keys: vec![],
        });
        member.keys.push(key);
        Ok(channel.name.clone())
    }

    /// The name of a channel that a client is in.
    pub fn own(&self, client: ClientRow, name: &Name) -> Result<Name, ChannelError> {
        let key = self.rule.key(name);
        let member = self.members.get(&client);
        let is_member = member.is_some_and(|member| member.keys.contains(&key));
        let channel = self.channels.get(&key).filter(|_| is_member);
        let channel = channel.map(|channel| channel.name.clone());
        channel.ok_or_else(|| ChannelError::NoMember(name.clone()))
    }

    /// The channels that a client is in.
    pub fn all_of(&self, client: ClientRow) -> Vec<Name> {
        let keys = self
            .members
            .get(&client)
            .map_or(&[][..], |member| &member.keys);
        let channels = keys.iter().filter_map(|key| self.channels.get(key));
        channels.map(|channel| channel.name.clone()).collect()
    }

    /// The first ticket of a client that is in some channel.
    pub fn ticket(&self, client: ClientRow) -> Option<Ticket> {
        self.members.get(&client).map(|member| member.ticket)
    }

    pub fn members(&self, name: &Name) -> &[ClientRow] {
        let channel = self.channels.get(&self.rule.key(name));
        channel.map_or(&[], |channel| &channel.members)
    }

    /// The names of a channel's members.
    pub fn names(&self, name: &Name) -> Vec<Name> {
        let members = self.members(name).iter();
        let members = members.filter_map(|client| self.members.get(client));
        members.map(|member| member.name.clone()).collect()
    }

    /// Removes a client from a channel, and returns the client's name. `None` if it was no
    /// member.
    pub fn leave(&mut self, client: ClientRow, name: &Name) -> Option<Name> {
        let key = self.rule.key(name);
        let member = self.members.get_mut(&client)?;
        let own_name = member.name.clone();
        member.keys.retain(|own| *own != key);
        if member.keys.is_empty() {
            self.members.remove(&client);
        }
        let channel = self.channels.get_mut(&key)?;
        channel.members.retain(|member| *member != client);
        if channel.members.is_empty() {
            self.channels.remove(&key);
        }
        Some(own_name)
    }
}

pub const CHANNELS_PER_CLIENT_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    fn join(channels: &mut Channels, client: u32, to: &str) -> Result<Name, ChannelError> {
        let own = name(&format!("player {client}"));
        channels.join(ClientRow(client), ([1; 16], &own), &name(to))
    }

    #[test]
    fn a_channel_lasts_from_its_first_member_to_its_last() {
        let mut channels = Channels::default();
        let (a, b) = (ClientRow(1), ClientRow(2));
        assert_eq!(join(&mut channels, 1, "Trade"), Ok(name("Trade")));
        assert_eq!(join(&mut channels, 2, "trade"), Ok(name("Trade")));
        for form in ["TRADE", "\u{ff34}rade", "Tra\u{34f}de"] {
            let again = join(&mut channels, 2, form);
            assert_eq!(again, Err(ChannelError::Member(name(form))));
        }
        assert_eq!(channels.members(&name("trade")), [a, b]);
        let names = [name("player 1"), name("player 2")];
        assert_eq!(channels.names(&name("trade")), names);
        assert_eq!(channels.leave(a, &name("Trade")), Some(name("player 1")));
        assert_eq!(channels.members(&name("trade")), [b]);
        let gone = channels.own(a, &name("trade"));
        assert_eq!(gone, Err(ChannelError::NoMember(name("trade"))));
        channels.leave(b, &name("Trade"));
        assert!(channels.channels.is_empty() && channels.members.is_empty());
    }

    #[test]
    fn channels_and_their_members_are_limited() {
        let mut channels = Channels::default();
        for i in 0..CHANNELS_PER_CLIENT_MAX {
            join(&mut channels, 0, &format!("c{i}")).unwrap();
        }
        let one_more = join(&mut channels, 0, "more");
        assert_eq!(one_more, Err(ChannelError::TooMany));
        for i in 1..CHANNEL_MEMBERS_MAX as u32 {
            join(&mut channels, i, "c0").unwrap();
        }
        let one_more = join(&mut channels, 9999, "c0");
        assert_eq!(one_more, Err(ChannelError::Full(name("c0"))));
    }
}
