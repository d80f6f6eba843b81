//! Rankings that clients ask for.
//!
//! A ranking in a frame is
//!
//! | field | bits |
//! | --- | --- |
//! | its number in the welcome | 3 |
//! | the place of the client's entity, from 1 on; 0: none | small |
//! | whether its first entities have changed | 1 |
//! | if so, how many there are | 9 |
//! | of each: entity, value, whether its player has a name | as in frames, signed, 1 |
//! | if so, its bytes | 6, each 8 |

use serde::{Deserialize, Serialize};

use super::DecodeError;
use super::bits::{BitReader, BitWriter};
use super::fields::{FieldCodec, put_name, read_name};
use crate::world::id::EntityId;
use crate::world::ranking::{RANKING_LENGTH_MAX, RANKINGS_MAX, Ranking};
use crate::world::schema::Schema;
use crate::world::talk::Name;

/// A ranking that clients may ask for, in a welcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankingInfo {
    pub name: String,
    /// Of its entities: an index into the schema's kinds.
    pub kind: u16,
    /// The attribute that decides: an index into the schema's.
    pub column: u16,
    /// Whether the least value comes first, not the greatest.
    pub is_least_first: bool,
    /// At most so many of the first are sent.
    pub length: u16,
}

impl RankingInfo {
    /// Those of a world that clients may ask for.
    pub fn all(schema: &Schema) -> Vec<RankingInfo> {
        sent(schema).map(RankingInfo::of).collect()
    }

    fn of(ranking: &Ranking) -> RankingInfo {
        RankingInfo {
            name: ranking.name.clone(),
            kind: ranking.kind,
            column: ranking.column,
            is_least_first: ranking.is_least_first,
            length: ranking.length,
        }
    }
}

/// The rankings of a world that clients may ask for, in the order of their numbers.
pub fn sent(schema: &Schema) -> impl Iterator<Item = &Ranking> {
    schema.rankings.iter().filter(|ranking| ranking.is_sent)
}

/// An entity in a ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// In view or not.
    pub entity: EntityId,
    /// The attribute that decides.
    pub value: i32,
    /// What its player is called, if it has one with a name.
    pub name: Option<Name>,
}

/// How a ranking stands for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// An index into the welcome's rankings.
    pub ranking: u8,
    /// The place of the client's entity, from 1 on; 0: it has none.
    pub own: u32,
    /// The first entities, in order; none: as before.
    pub first: Option<Vec<Ranked>>,
}

impl Standing {
    pub(super) fn read(
        fields: &FieldCodec,
        reader: &mut BitReader<'_>,
    ) -> Result<Standing, DecodeError> {
        let (ranking, own) = (reader.get_as(NUMBER_BITS)?, reader.get_small()?);
        let first = match reader.get_bool()? {
            false => None,
            true => {
                let count = reader.get(COUNT_BITS)?;
                let first = (0..count).map(|_| {
                    Ok(Ranked {
                        entity: fields.entity(reader)?,
                        value: reader.get_signed()?,
                        name: reader.get_bool()?.then(|| read_name(reader)).transpose()?,
                    })
                });
                Some(first.collect::<Result<_, DecodeError>>()?)
            }
        };
        Ok(Standing {
            ranking,
            own,
            first,
        })
    }
}

/// Writes a [`Standing`].
pub(super) fn put(
    fields: &FieldCodec,
    writer: &mut BitWriter,
    (ranking, own): (u8, u32),
    first: Option<&[Ranked]>,
) {
    writer.put(ranking.into(), NUMBER_BITS);
    writer.put_small(own);
    writer.put(first.is_some().into(), 1);
    let Some(first) = first else { return };
    let first = &first[..first.len().min(RANKING_LENGTH_MAX.into())];
    writer.put(first.len() as u64, COUNT_BITS);
    for ranked in first {
        fields.put_entity(writer, ranked.entity);
        writer.put_signed(ranked.value);
        writer.put(ranked.name.is_some().into(), 1);
        if let Some(name) = &ranked.name {
            put_name(writer, name);
        }
    }
}

const NUMBER_BITS: u32 = 3;
const _: () = assert!(RANKINGS_MAX <= 1 << NUMBER_BITS);
const COUNT_BITS: u32 = 9;
const _: () = assert!((RANKING_LENGTH_MAX as u64) < 1 << COUNT_BITS);
