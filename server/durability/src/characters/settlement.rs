//! What a tick does to characters: players and their things are born, and die.

use std::collections::{BTreeMap, HashMap};

use gpu_kernels::tick::frame::kept_client;
use gpu_kernels::{Birth, TickOutput};
use shared::world::words::TextHandle;
use shared::{AttributeType, ClientRow, Content, EntityId, EntityRef, Slot, Text, WorldConfig};

use super::character::{
    Character, KeptThing, NOTHING, Own, THE_PLAYER, kept_attributes, persisted,
};

/// What a tick does to characters, before its records say so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settlement {
    /// By account: what of it is in the world from now on.
    pub born: BTreeMap<String, Born>,
    /// By account: what its player leaves to it.
    pub died: Vec<(String, Character)>,
}

/// What of a character is in the world from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Born {
    /// The columns of the texts that the player has.
    pub texts: Vec<u16>,
    /// How many of its first things.
    pub things: usize,
}

/// A world at the end of a tick, with rows of those who died in it.
pub struct EndOfTick<'a> {
    pub world: &'a WorldConfig,
    pub output: &'a TickOutput,
    pub row: &'a dyn Fn(Slot) -> Vec<i32>,
    pub kind: &'a dyn Fn(Slot) -> u16,
    pub text: &'a dyn Fn(TextHandle) -> Option<Text>,
}

impl Settlement {
    /// Of a tick. `client` gives the account of a client to which the tick bears entities, and `player`
    /// that of an entity that died.
    pub fn of(
        end: &EndOfTick<'_>,
        client: impl Fn(ClientRow) -> Option<String>,
        mut player: impl FnMut(EntityId) -> Option<String>,
    ) -> Settlement {
        let mut settlement = Settlement::default();
        let mut row = 0;
        for birth in &end.output.births {
            if birth.entity.is_none() {
                continue;
            }
            row += 1;
            let (of, is_thing) = client_of(birth);
            let Some(account) = of.and_then(&client) else {
                continue;
            };
            if is_thing {
                settlement.born.entry(account).or_default().things += 1;
            } else if birth.kind == end.world.player_kind {
                let texts = end.texts_at_birth(row - 1);
                if !texts.is_empty() {
                    settlement.born.entry(account).or_default().texts = texts;
                }
            }
        }
        for &entity in &end.output.deaths {
            if let Some(account) = player(entity) {
                settlement.died.push((account, end.character(entity)));
            }
        }
        settlement
    }

    /// Applies it to characters. Returns the accounts of those that have changed, each once.
    pub fn apply(
        self,
        world: &WorldConfig,
        mut change: impl FnMut(&str, &mut dyn FnMut(&mut Character)),
    ) -> Vec<String> {
        let mut changed = vec![];
        for (account, born) in self.born {
            change(&account, &mut |own| {
                own.texts.retain(|column, _| !born.texts.contains(column));
                own.take_things(world, born.things);
            });
            changed.push(account);
        }
        for (account, left) in self.died {
            change(&account, &mut |own| {
                let mut left = left.clone();
                // What found no room in the world is still there.
                let waiting = std::mem::take(own);
                for (column, text) in &waiting.texts {
                    let text = || text.clone();
                    left.texts.entry(*column).or_insert_with(text);
                }
                left.add_things(world, waiting);
                *own = left;
            });
            changed.push(account);
        }
        changed.sort_unstable();
        changed.dedup();
        changed
    }
}

/// The client to which an entity is born, and whether it is a thing of its account.
fn client_of(birth: &Birth) -> (Option<ClientRow>, bool) {
    match kept_client(birth.token) {
        Some(client) => (Some(client), true),
        None => (Some(ClientRow(birth.token)), false),
    }
}

impl EndOfTick<'_> {
    /// The columns of the persistent texts that the n-th newborn has.
    fn texts_at_birth(&self, n: usize) -> Vec<u16> {
        let columns = self.world.schema.attributes.len();
        let row = self.output.birth_rows.get(n * columns..(n + 1) * columns);
        let texts = persisted(self.world).filter(|(own, _)| own.ty == AttributeType::Text);
        let texts = texts.map(|(_, own)| own.column);
        let is_given = |column: &u16| row.is_some_and(|row| row[usize::from(*column)] != 0);
        texts.filter(is_given).collect()
    }

    /// What a player that died leaves to its account.
    fn character(&self, player: EntityId) -> Character {
        let row = (self.row)(player.slot);
        let own: Vec<Own<'_>> = persisted(self.world).collect();
        let mut character = Character {
            row: vec![],
            texts: self.texts(&own, &row),
            things: vec![],
        };
        let values = own.iter().map(|own| match own.0.ty.content() {
            Content::Text => 0,
            Content::Value | Content::Entity => row[usize::from(own.1.column)],
        });
        character.row = values.collect();
        let Some(holder) = self.world.schema.holder_column() else {
            return character;
        };
        // Things by their holders, each list by slot.
        let mut held: HashMap<EntityRef, Vec<EntityId>> = HashMap::new();
        for &thing in &self.output.kept {
            let reference = EntityRef((self.row)(thing.slot)[holder]);
            held.entry(reference).or_default().push(thing);
        }
        let mut numbers = HashMap::from([(player.reference(), THE_PLAYER)]);
        let mut rows = vec![];
        let mut held_by = |entity: EntityId, number: u32| {
            let things = held.remove(&entity.reference()).unwrap_or_default();
            things.into_iter().rev().map(move |thing| (thing, number))
        };
        // What a thing holds comes behind it, before the next one.
        let mut open: Vec<(EntityId, u32)> = held_by(player, THE_PLAYER).collect();
        while let Some((thing, holder)) = open.pop() {
            let row = (self.row)(thing.slot);
            let kind = (self.kind)(thing.slot);
            let own: Vec<Own<'_>> = kept_attributes(self.world, kind).collect();
            character.things.push(KeptThing {
                kind,
                holder,
                values: vec![],
                texts: self.texts(&own, &row),
            });
            let number = u32::try_from(character.things.len()).unwrap_or(u32::MAX);
            numbers.insert(thing.reference(), number);
            rows.push((own, row));
            open.extend(held_by(thing, number));
        }
        for (thing, (own, row)) in character.things.iter_mut().zip(rows) {
            let value = |(attribute, own): &Own<'_>| {
                let value = row[usize::from(own.column)];
                match attribute.ty.content() {
                    Content::Text => 0,
                    Content::Entity => {
                        let number = numbers.get(&EntityRef(value));
                        number.map_or(NOTHING, |number| number.cast_signed())
                    }
                    Content::Value => value,
                }
            };
            thing.values = own.iter().map(value).collect();
        }
        character
    }

    /// The texts of attributes.
    fn texts(&self, attributes: &[Own<'_>], row: &[i32]) -> BTreeMap<u16, Text> {
        let texts = attributes.iter();
        let texts = texts.filter(|(attribute, _)| attribute.ty == AttributeType::Text);
        let text = |(_, own): &Own<'_>| {
            let handle = TextHandle(row[usize::from(own.column)]);
            Some((own.column, (self.text)(handle)?))
        };
        texts.filter_map(text).collect()
    }
}
