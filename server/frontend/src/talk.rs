//! The bytes of what players say.

use shared::Name;
use shared::wire::talk::Talk as Told;

/// The bytes that something takes on a stream, or a few more.
pub fn size_of(told: &Told) -> usize {
    let name = |name: &Option<Name>| name.as_ref().map_or(0, |name| name.len());
    FRAMING_BYTES
        + match told {
            Told::Said { name: of, text, .. } => name(of) + text.len(),
            Told::Whispered { from, text } => from.len() + text.len(),
            Told::Spoken {
                channel,
                from,
                text,
            } => channel.len() + from.len() + text.len(),
            Told::Joined { channel, name } | Told::Left { channel, name } => {
                channel.len() + name.len()
            }
            Told::Members { channel, names } => {
                channel.len() + names.iter().map(|name| name.len() + 1).sum::<usize>()
            }
            Told::Announced { text } => text.len(),
        }
}

/// Tags, lengths, an entity.
const FRAMING_BYTES: usize = 16;
