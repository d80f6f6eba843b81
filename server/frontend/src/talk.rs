//! The size of talk on the wire.

use shared::Name;
use shared::wire::talk::Talk;

/// An upper bound of the bytes that a message of talk takes on a stream.
pub fn size_of(talk: &Talk) -> usize {
    let name = |name: &Option<Name>| name.as_ref().map_or(0, |name| name.len());
    FRAMING_BYTES
        + match talk {
            Talk::Said { name: of, text, .. } => name(of) + text.len(),
            Talk::Whispered { from, text } => from.len() + text.len(),
            Talk::Spoken {
                channel,
                from,
                text,
            } => channel.len() + from.len() + text.len(),
            Talk::Joined { channel, name } | Talk::Left { channel, name } => {
                channel.len() + name.len()
            }
            Talk::Members { channel, names } => {
                channel.len() + names.iter().map(|name| name.len() + 1).sum::<usize>()
            }
            Talk::Announced { text } => text.len(),
        }
}

/// Tags, lengths, an entity.
const FRAMING_BYTES: usize = 16;
