//! Checks of the things that bots see: whose they are, and that there is each once.

use client_core::{Entity, Message};
use rustc_hash::FxHashMap;
use shared::{AttributeType, EntityId, EntityRef, Schema, Tick};

use super::findings::Findings;
use super::possession::{Possession, PossessionLog};
use super::{FinalView, History};

/// The things that a bot sees.
pub struct BagLog {
    schema: Schema,
    /// The column with the holders; `None` in worlds without things.
    holder: Option<u16>,
    /// By slot.
    things: FxHashMap<u32, Thing>,
    /// What the own entity refers to, by column.
    references: FxHashMap<u16, EntityRef>,
    own: EntityId,
    possessions: PossessionLog,
    checked: Tick,
}

struct Thing {
    entity: EntityId,
    kind: u16,
    holder: EntityRef,
    /// Since when the bot sees no holder of it.
    lost: Option<Tick>,
}

impl BagLog {
    pub fn new(schema: &Schema) -> BagLog {
        let holder = schema.holder_column();
        BagLog {
            holder: holder.and_then(|column| u16::try_from(column).ok()),
            schema: schema.clone(),
            things: FxHashMap::default(),
            references: FxHashMap::default(),
            own: EntityId::NONE,
            possessions: PossessionLog::default(),
            checked: Tick(0),
        }
    }

    /// Judges a message. `in_view` says whether an entity with a slot is in view, by those before.
    /// True if it is about a thing.
    pub fn message(
        &mut self,
        (findings, bot): (&Findings, usize),
        tick: Tick,
        message: &Message,
        in_view: impl Fn(u32) -> bool,
    ) -> bool {
        let Some(holder) = self.holder else {
            return false;
        };
        if tick > self.checked {
            self.check_holders((findings, bot), in_view);
            self.checked = tick;
        }
        match message {
            Message::Enter {
                entity,
                kind,
                own,
                values,
                ..
            } if self.schema.is_thing(*kind) => {
                self.possessions.enter(*entity, *own, tick);
                self.check_values((findings, bot), *kind, values);
                let of_holder = values.iter().find(|(column, _)| *column == holder);
                let thing = Thing {
                    entity: *entity,
                    kind: *kind,
                    holder: EntityRef(of_holder.map_or(-1, |own| own.1)),
                    lost: None,
                };
                let before = self.things.insert(entity.slot.0, thing);
                let is_same = before.is_none_or(|before| before.entity == *entity);
                findings.check(is_same, || {
                    format!("bot {bot}: the thing {entity} came before another had left its slot")
                });
                true
            }
            Message::Enter {
                entity,
                own: true,
                values,
                ..
            } => {
                self.own = *entity;
                self.references.clear();
                self.note_references(values);
                false
            }
            Message::State { slot, values } => {
                if let Some(thing) = self.things.get_mut(&slot.0) {
                    if let Some((_, of_holder)) = values.iter().find(|own| own.0 == holder) {
                        thing.holder = EntityRef(*of_holder);
                    }
                    let kind = thing.kind;
                    self.check_values((findings, bot), kind, values);
                    return true;
                }
                if *slot == self.own.slot {
                    self.note_references(values);
                }
                false
            }
            Message::Leave(slot) => {
                self.possessions.leave(*slot, tick);
                self.things.remove(&slot.0).is_some()
            }
            _ => false,
        }
    }

    /// When which things were the bot's.
    pub fn possessions(&self, newest: Tick) -> Vec<Possession> {
        self.possessions.finish(newest)
    }

    fn note_references(&mut self, values: &[(u16, i32)]) {
        for &(column, value) in values {
            let attribute = self.schema.attributes.get(usize::from(column));
            if attribute.is_some_and(|attribute| attribute.ty == AttributeType::Entity) {
                self.references.insert(column, EntityRef(value));
            }
        }
    }

    /// Each value is within the bounds of its kind.
    fn check_values(&self, (findings, bot): (&Findings, usize), kind: u16, values: &[(u16, i32)]) {
        let Some(of_kind) = self.schema.kinds.get(usize::from(kind)) else {
            return;
        };
        for &(column, value) in values {
            let own = of_kind.attributes.iter().find(|own| own.column == column);
            let is_half = self.schema.attributes[usize::from(column)].ty.is_half();
            let fits = own.is_some_and(|own| is_half || (own.min..=own.max).contains(&value));
            findings.check(fits, || {
                let (kind, name) = (
                    &of_kind.name,
                    &self.schema.attributes[usize::from(column)].name,
                );
                format!("bot {bot}: `{name}` of a thing of kind `{kind}` is {value}")
            });
        }
    }

    /// Each thing belongs to the own entity, to what that refers to, to another thing that the bot
    /// sees, or to an entity in view. Not all of a large bag comes at once.
    fn check_holders(
        &mut self,
        (findings, bot): (&Findings, usize),
        in_view: impl Fn(u32) -> bool,
    ) {
        let newest = self.checked;
        let refers = |reference: EntityRef, entity: EntityId| entity.reference() == reference;
        let lost: Vec<u32> = self
            .things
            .iter()
            .filter(|(_, thing)| {
                let holder = thing.holder;
                let inside = self.things.get(&holder.slot().0);
                let is_inside = inside
                    .is_some_and(|outer| refers(holder, outer.entity) && outer.kind < thing.kind);
                let is_referred = self.references.values().any(|own| *own == holder);
                let is_seen = is_inside || is_referred || in_view(holder.slot().0);
                !(refers(holder, self.own) || is_seen)
            })
            .map(|(&slot, _)| slot)
            .collect();
        for (slot, thing) in &mut self.things {
            match lost.contains(slot) {
                true => {
                    let since = *thing.lost.get_or_insert(newest);
                    let is_long = newest.since(since) > LOST_TICKS;
                    findings.check(!is_long, || {
                        format!("bot {bot}: the thing {} is of nobody in view", thing.entity)
                    });
                }
                false => thing.lost = None,
            }
        }
    }
}

/// Checks that bots see the same of the same things, and that each has one holder, once nothing
/// moves.
pub fn check_bags(history: &History, schema: &Schema, views: &[FinalView]) {
    let Some(holder) = schema.holder_column() else {
        return;
    };
    let mut seen: FxHashMap<EntityId, (usize, &Entity)> = FxHashMap::default();
    for view in views {
        let settled = view.things.values();
        for thing in settled.filter(|thing| !view.touched.contains(&thing.id.slot.0)) {
            let (bot, other) = *seen.entry(thing.id).or_insert((view.bot, thing));
            let is_same = thing.kind == other.kind && thing.row[holder] == other.row[holder];
            history.findings.check(is_same, || {
                let (own, others) = (thing.row[holder], other.row[holder]);
                format!(
                    "the holder of {} is {own:x} to bot {}, and {others:x} to bot {bot}",
                    thing.id, view.bot
                )
            });
        }
    }
}

/// A large bag comes in fewer ticks.
const LOST_TICKS: u32 = 50;
