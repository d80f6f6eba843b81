use std::collections::BTreeMap;

use gpu_kernels::{Region, SlotState, Snapshot};
use shared::world::attribute::{halves, joined};
use shared::world::schema::{KindAttribute, KindRegions};
use shared::{AttributeType, EntityId, Kind, Tick, WorldConfig};

use super::changes::{Changes, counted};
use super::names::Names;
use super::{MigrationError, MigrationOptions};
use durability::values::value_text;

/// Fills the slots of the new state. Returns the entities that are removed, by slot.
pub fn migrate(
    names: &Names<'_>,
    kept: &Snapshot,
    new: &mut Snapshot,
    options: &MigrationOptions,
    changes: &mut Changes,
) -> Result<Vec<EntityId>, MigrationError> {
    check_room(names, kept)?;
    let mut filler = Filler {
        names,
        kinds: names
            .given
            .schema
            .kinds
            .iter()
            .enumerate()
            .map(|(i, _)| bounds(names.given, i))
            .collect(),
        resting: names.resting(),
        keeps_tracks: keeps_tracks(names.kept, names.given),
        tally: Tally::default(),
    };
    let mut removed = vec![];
    let slots = new.states.len().min(kept.states.len());
    let [old_shared, shared] = [names.kept, names.given].map(shared_slot);
    if let (Some((from, old_kind)), Some((to, kind))) = (old_shared, shared)
        && names.kind(old_kind) == Some(kind)
    {
        filler.fill((from, to), kind, kept, new);
    } else if let Some((to, kind)) = shared {
        let row = names.given.schema.default_row(usize::from(kind));
        new.rows[to * row.len()..][..row.len()].copy_from_slice(&row);
    }
    if let Some((to, kind)) = shared {
        (new.states[to], new.kinds[to], new.generations[to]) = (SlotState::Live, kind, 1);
    }
    let is_shared = |slot: &usize| [old_shared, shared].iter().flatten().any(|s| s.0 == *slot);
    for slot in (0..slots).filter(|slot| !is_shared(slot)) {
        new.generations[slot] = kept.generations[slot];
        let state = kept.states[slot];
        let has_entity = state == SlotState::Live || state.is_taken();
        let kind = names.kind(kept.kinds[slot]);
        match (state, kind) {
            (SlotState::Live, Some(kind)) => {
                filler.fill((slot, slot), kind, kept, new);
                // One that fell and waits for its hooks.
                if names.given.falls[usize::from(kind)].is_some() {
                    new.due[slot] = kept.due[slot];
                }
            }
            (taken, Some(kind)) if taken.is_taken() && respawns(names.given, kind) => {
                new.states[slot] = taken;
                new.kinds[slot] = kind;
                new.due[slot] = kept.due[slot];
            }
            (state, kind) => {
                // Slots of the dead are free once no known set has them.
                new.states[slot] = match has_entity {
                    true => SlotState::Resting,
                    false => state,
                };
                let old = usize::from(kept.kinds[slot]);
                if has_entity && kind.is_none() {
                    *filler.tally.removed.entry(old).or_default() += 1;
                } else if has_entity {
                    *filler.tally.not_reborn.entry(old).or_default() += 1;
                }
                if state == SlotState::Live {
                    let id = u32::try_from(slot).unwrap_or(u32::MAX);
                    removed.push(EntityId::new(id, kept.generations[slot]));
                }
            }
        }
    }
    let tally = filler.tally;
    if !tally.removed.is_empty() && !options.removes_entities {
        return Err(MigrationError::KindsGone(tally.removed_text(names)));
    }
    tally.describe(names, changes);
    Ok(removed)
}

/// The slot and the kind of what a whole world shares.
fn shared_slot(world: &WorldConfig) -> Option<(usize, u16)> {
    let entity = world.schema.world_entity()?;
    Some((entity.slot.index(), world.schema.world_kind?))
}

/// Fails if entities live beyond the new capacity.
fn check_room(names: &Names<'_>, kept: &Snapshot) -> Result<(), MigrationError> {
    let mut capacity = names.given.schema.world.capacity;
    capacity -= u32::from(names.given.schema.world_kind.is_some());
    let shared = names.kept.schema.world_entity().map(|entity| entity.slot.0);
    let beyond = (0u32..).zip(&kept.states).skip(capacity as usize);
    let beyond = beyond.filter(|(slot, _)| Some(*slot) != shared);
    let has_entity =
        |(_, state): &(u32, &SlotState)| **state == SlotState::Live || state.is_taken();
    let beyond: Vec<u32> = beyond.filter(has_entity).map(|(slot, _)| slot).collect();
    match beyond.last() {
        None => Ok(()),
        Some(last) => Err(MigrationError::CapacityTooSmall {
            capacity,
            entities: beyond.len(),
            needed: last + 1,
        }),
    }
}

/// Courses stay valid unless the rules for them have changed. Then every entity rests where it
/// is until its next change.
fn keeps_tracks(kept: &WorldConfig, given: &WorldConfig) -> bool {
    let tolerance = |world: &WorldConfig| world.motion.as_ref().map(|motion| motion.tolerance);
    tolerance(kept).is_some()
        && tolerance(kept) == tolerance(given)
        && kept.size_raw() == given.size_raw()
        && kept.schema.atlas == given.schema.atlas
}

/// Where something of the old world is in the new one, whose planes may be elsewhere: as far from the
/// corner of the same copy, or else of the world itself.
fn in_same_plane(names: &Names<'_>, place: [i32; 2]) -> [i32; 2] {
    let [kept, given] = [&names.kept.schema, &names.given.schema];
    if kept.atlas == given.atlas {
        return place;
    }
    let (plane, local) = (kept.atlas.plane_of(place), kept.atlas.local(place));
    let copy = kept.atlas.name_of(plane).and_then(|(name, copy)| {
        let (first, copies) = given.atlas.named(name)?;
        (copy < copies).then_some(first + copy)
    });
    let place = match given.atlas.is_empty() {
        true => local,
        false => given.atlas.place_in(copy.unwrap_or(0), local),
    };
    if plane == 0 || copy.is_some() {
        return place;
    }
    let [x, y, _] = given.layers.free_place([place[0], place[1], 0]);
    [x, y]
}

/// Whether the fallen of a kind are born again in their slots.
fn respawns(given: &WorldConfig, kind: u16) -> bool {
    let fall = given.falls.get(usize::from(kind)).copied().flatten();
    fall.is_some() && kind != given.player_kind
}

/// The bounds of a kind's own attributes. No living entity has fallen but those that die in the next
/// tick, so the attribute that decides is above the value of the fall.
fn bounds(given: &WorldConfig, kind: usize) -> Vec<KindAttribute> {
    let mut own = given.schema.kinds[kind].attributes.clone();
    if let Some(fall) = given.falls[kind] {
        for attribute in own.iter_mut().filter(|own| own.column == fall.column) {
            attribute.min = attribute.min.max(fall.at.saturating_add(1));
        }
    }
    own
}

struct Filler<'a> {
    names: &'a Names<'a>,
    /// By kind of the new world.
    kinds: Vec<Vec<KindAttribute>>,
    /// See [`Names::resting`].
    resting: Vec<(Option<usize>, u32)>,
    keeps_tracks: bool,
    tally: Tally,
}

impl Filler<'_> {
    /// Fills the slot of an entity that stays, and was in the slot `from`.
    fn fill(
        &mut self,
        (from, slot): (usize, usize),
        kind: u16,
        kept: &Snapshot,
        new: &mut Snapshot,
    ) {
        new.states[slot] = SlotState::Live;
        new.kinds[slot] = kind;
        let old_kind = usize::from(kept.kinds[from]);
        let old_columns = self.names.kept.schema.attributes.len();
        let mut old_row = kept.rows[from * old_columns..][..old_columns].to_vec();
        let place = in_same_plane(self.names, [old_row[0], old_row[1]]);
        old_row[..2].copy_from_slice(&place);
        let kept_resting = kept.ready.len() / kept.states.len().max(1);
        for (place, &(source, rest)) in self.resting.iter().enumerate() {
            if let Some(source) = source {
                // The latest use was in the tick before; a rest may be shorter now.
                let ready = kept.ready[from * kept_resting + source].0;
                let latest = kept.tick.0.saturating_sub(1).saturating_add(rest.into());
                new.ready[slot * self.resting.len() + place] = Tick(ready.min(latest));
            }
        }
        let columns = self.names.given.schema.attributes.len();
        let row = &mut new.rows[slot * columns..][..columns];
        let wide = self.names.given.schema.wide_bounds();
        let (own, names) = (&self.kinds[usize::from(kind)], self.names);
        let kept_own = &names.kept.schema.kinds[old_kind].attributes;
        for own in own {
            let column = usize::from(own.column);
            let source = names.source(column);
            let has_it = |column| kept_own.iter().any(|old| usize::from(old.column) == column);
            let place = (usize::from(kind), column);
            let ty = names.given.schema.attributes[column].ty;
            if ty.is_half() {
                let kept = source.filter(|source| has_it(source.column));
                let value = kept.and_then(|source| names.value(source, old_row[source.column]));
                row[column] = value.unwrap_or(own.default);
                if ty == AttributeType::I64 {
                    *self.tally.new.entry(place).or_default() += u64::from(value.is_none());
                    continue;
                }
                // Both halves are there.
                let number = joined([row[column - 1], row[column]]);
                let (min, max) = wide[column - 1];
                let clamped = number.clamp(min, max);
                if clamped != number {
                    let place = (usize::from(kind), column - 1);
                    *self.tally.clamped.entry(place).or_default() += 1;
                }
                row[column - 1..=column].copy_from_slice(&halves(clamped));
                continue;
            }
            row[column] = match source.filter(|source| has_it(source.column)) {
                None => {
                    *self.tally.new.entry(place).or_default() += 1;
                    own.default.clamp(own.min, own.max)
                }
                Some(source) => {
                    let value = names.value(source, old_row[source.column]);
                    // A symbol near the one that is meant is another one.
                    let is_symbol = ty.has_symbols();
                    let symbols = &names.given.symbols;
                    let is_one = |&value: &i32| !is_symbol || symbols.has(kind, own.column, value);
                    match value.filter(is_one) {
                        None => {
                            *self.tally.symbols.entry(place).or_default() += 1;
                            own.default
                        }
                        // So is a text near the one that is too long.
                        Some(value) if ty == AttributeType::Text && value > own.max => {
                            *self.tally.texts.entry(place).or_default() += 1;
                            own.default
                        }
                        Some(value) => {
                            let clamped = value.clamp(own.min, own.max);
                            if clamped != value {
                                *self.tally.clamped.entry(place).or_default() += 1;
                            }
                            clamped
                        }
                    }
                }
            };
        }
        if self.keeps_tracks {
            new.tracks[slot] = kept.tracks[from];
        }
        if from == slot {
            self.carry(slot, old_kind, kind, kept, new);
        }
    }

    /// The regions of an entity: as they were, or those that its kind has now.
    fn carry(&self, slot: usize, old_kind: usize, kind: u16, kept: &Snapshot, new: &mut Snapshot) {
        let (old, given) = (self.names.kept, self.names.given);
        if !given.limits.entity_regions {
            return;
        }
        let id = u32::try_from(slot).unwrap_or(u32::MAX);
        let entity = EntityId::new(id, kept.generations[slot]);
        let before = old.schema.kinds[old_kind].regions;
        let now = given.schema.kinds[usize::from(kind)].regions;
        let of_kind = |edges: Option<[i32; 3]>| edges.map(|edges| Region::around(entity, edges));
        let is_kept = old.limits.entity_regions && before == now;
        let KindRegions {
            publishes,
            subscribes,
        } = now;
        let (published, subscribed) = match is_kept {
            true => (kept.publications[slot], kept.subscriptions[slot]),
            false => (of_kind(publishes), of_kind(subscribes)),
        };
        let allowed = |region: Option<Region>| region.and_then(|region| region.check(given).ok());
        new.publications[slot] = allowed(published);
        new.subscriptions[slot] = allowed(subscribed);
    }
}

/// How many values changed, by (kind, column) of the new world, and entities by kind of the
/// kept one.
#[derive(Default)]
struct Tally {
    new: BTreeMap<(usize, usize), u64>,
    clamped: BTreeMap<(usize, usize), u64>,
    symbols: BTreeMap<(usize, usize), u64>,
    texts: BTreeMap<(usize, usize), u64>,
    removed: BTreeMap<usize, u64>,
    not_reborn: BTreeMap<usize, u64>,
}

impl Tally {
    fn removed_text(&self, names: &Names<'_>) -> String {
        let kinds = &names.kept.schema.kinds;
        let texts = self
            .removed
            .iter()
            .map(|(&kind, count)| format!("{count} of {}", kinds[kind].name));
        texts.collect::<Vec<_>>().join(", ")
    }

    fn describe(&self, names: &Names<'_>, changes: &mut Changes) {
        let (kept, given) = (&names.kept.schema, names.given);
        for kind in kept
            .kinds
            .iter()
            .enumerate()
            .filter(|(_, kind)| given.schema.kind(&kind.name).is_none())
        {
            let (number, kind) = kind;
            let gone = counted(
                self.removed.get(&number).copied().unwrap_or(0),
                "entity is",
                "entities are",
            );
            changes.say(format!("kind {} is gone: {gone} removed", kind.name));
        }
        for (&kind, &count) in &self.not_reborn {
            let fallen = counted(count, "entity that fell is", "entities that fell are");
            changes.say(format!(
                "kind {}: {fallen} not born again",
                kept.kinds[kind].name
            ));
        }
        let name = |(kind, column): (usize, usize)| {
            let (kind, attribute) = (&given.schema.kinds[kind], &given.schema.attributes[column]);
            let default = kind.words(column, |own| own.default);
            (
                format!("{}.{}", kind.name, attribute.name),
                attribute.ty,
                default,
            )
        };
        for (&place, &count) in self.new.iter().filter(|(_, count)| **count > 0) {
            let (name, ty, default) = name(place);
            let default = value_text(given, ty, default);
            let entities = counted(count, "entity has", "entities have");
            changes.say(format!("{name} is new: {entities} the default, {default}"));
        }
        for (&place, &count) in &self.clamped {
            let (name, ty, _) = name(place);
            let (kind, column) = place;
            let own = Kind {
                name: String::new(),
                attributes: bounds(given, kind),
                regions: KindRegions::default(),
            };
            let min = own.words(column, |own| own.min);
            let max = own.words(column, |own| own.max);
            let range = [min, max].map(|bound| value_text(given, ty, bound));
            let values = counted(count, "value is", "values are");
            changes.say(format!(
                "{name}: {values} clamped to {} to {}",
                range[0], range[1]
            ));
        }
        for (&place, &count) in &self.symbols {
            let (name, ty, default) = name(place);
            let default = value_text(given, ty, default);
            let values = counted(
                count,
                "value is a symbol that is",
                "values are symbols that are",
            );
            changes.say(format!("{name}: {values} gone, now the default, {default}"));
        }
        for (&place, &count) in &self.texts {
            let (name, ..) = name(place);
            let texts = counted(count, "text is", "texts are");
            changes.say(format!("{name}: {texts} too long, now empty"));
        }
    }
}
