//! Channels of groups: `@` and the attribute that refers to a group. All of the same group are in it,
//! without joining.

use frontend::mirror::Mirror;
use shared::wire::talk::CHANNEL_MEMBERS_MAX;
use shared::{ClientRow, Name};

use super::{Directory, Presence, TalkError};

/// The channel of a client's group.
pub struct GroupChannel {
    pub name: Name,
    /// The connected and lost clients of the group, with the client, by slot: as many as a channel has.
    pub members: Vec<ClientRow>,
}

impl GroupChannel {
    /// The channel of this name of a client's own group; `None` for the name of any other channel.
    pub fn of(
        directory: &Directory,
        mirror: &Mirror,
        presence: &Presence,
        channel: &str,
    ) -> Result<Option<GroupChannel>, TalkError> {
        let Some(attribute) = attribute(mirror, channel) else {
            return Ok(None);
        };
        let name = Name::new(channel)?;
        let own = presence.entity.into_iter();
        let fellows = own.flat_map(|own| mirror.fellows(own, attribute));
        let clients = fellows.filter_map(|fellow| directory.actor(fellow));
        let clients = clients.map(|(client, _)| client);
        let members: Vec<ClientRow> = clients.take(CHANNEL_MEMBERS_MAX).collect();
        match members.is_empty() {
            true => Err(TalkError::NoGroup(name)),
            false => Ok(Some(GroupChannel { name, members })),
        }
    }

    /// The names of its members.
    pub fn names(&self, directory: &Directory) -> Vec<Name> {
        let names = self.members.iter();
        let names = names.filter_map(|&client| directory.people().name(client).cloned());
        names.collect()
    }
}

/// Nobody joins or leaves the channel of a group.
pub fn check(mirror: &Mirror, channel: &str) -> Result<(), TalkError> {
    match attribute(mirror, channel) {
        Some(_) => Err(TalkError::OfGroup(Name::new(channel)?)),
        None => Ok(()),
    }
}

/// The attribute by which clients belong to the groups of a channel of this name.
fn attribute<'a>(mirror: &Mirror, channel: &'a str) -> Option<&'a str> {
    let attribute = channel.strip_prefix('@')?;
    mirror.groups()?.named(attribute).map(|_| attribute)
}
