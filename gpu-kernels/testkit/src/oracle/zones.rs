//! The commands of hooks; who crosses the borders of zones: all entities are compared with all
//! zones.

use gpu_kernels::Counts;
use shared::{EntityId, EntityRef, Occasion, Zone};

use super::Oracle;
use super::commands::Command;

/// A living entity, its kind and its place.
#[derive(Clone, Copy)]
pub(super) struct Body {
    entity: EntityId,
    kind: u16,
    place: [i32; 3],
}

impl Oracle {
    /// Lets an entity give the commands of an occasion in the next tick.
    pub(super) fn give_hooks(
        &mut self,
        occasion: Occasion,
        entity: EntityId,
        kind: u16,
        other: EntityId,
        counts: &mut Counts,
    ) {
        let hooks: Vec<_> = self.config.hooks_of(occasion, kind).copied().collect();
        for hook in hooks {
            let other = match other == EntityId::NONE {
                true => EntityRef::NONE.0,
                false => other.reference().0,
            };
            let command = Command {
                entity,
                kind: hook.command.id(),
                sequence: 0,
                words: if hook.has_other { vec![other] } else { vec![] },
                place: None,
            };
            self.schedule((1, command), counts);
        }
    }

    /// The entity whose slot this is; none if it has none.
    pub(super) fn id_of(&self, slot: u32) -> EntityId {
        match self.slots.get(slot as usize) {
            Some(own) => EntityId::new(slot, own.generation),
            None => EntityId::NONE,
        }
    }

    /// All living entities.
    pub(super) fn bodies(&self) -> Vec<Body> {
        let body = |entity: EntityId| Body {
            entity,
            kind: self.slots[entity.slot.index()].kind,
            place: self.position(entity.slot.0),
        };
        self.alive().into_iter().map(body).collect()
    }

    /// Schedules the hooks of all that crossed a border since `before`.
    pub(super) fn watch_zones(&mut self, before: &[Body], counts: &mut Counts) {
        let now = self.bodies();
        let zones = self.config.schema.zones.clone();
        for own in &now {
            let was = before.iter().find(|body| body.entity == own.entity);
            for enters in [false, true] {
                let Some(was) = was.or(enters.then_some(own)) else {
                    continue;
                };
                let is_newborn = !before.iter().any(|body| body.entity == own.entity);
                let (here, there) = if enters {
                    (&now[..], before)
                } else {
                    (before, &now[..])
                };
                let (here_place, there_place) = match enters {
                    true => (own.place, was.place),
                    false => (was.place, own.place),
                };
                for (number, zone) in (0..).zip(&zones) {
                    for carrier in carriers(zone, here) {
                        if carrier.is_some_and(|carrier| carrier.entity == own.entity) {
                            continue;
                        }
                        let same = match carrier {
                            None => Some(None),
                            Some(carrier) => {
                                let same = there.iter().find(|b| b.entity == carrier.entity);
                                same.map(Some)
                            }
                        };
                        let is_here = contains(zone, carrier, here_place);
                        let is_there = same.is_some_and(|same| contains(zone, same, there_place));
                        if !is_here || is_there && !is_newborn {
                            continue;
                        }
                        let occasion = match enters {
                            true => Occasion::Enter(number),
                            false => Occasion::Exit(number),
                        };
                        let other = carrier.map_or(EntityId::NONE, |carrier| carrier.entity);
                        self.give_hooks(occasion, own.entity, own.kind, other, counts);
                    }
                }
            }
        }
    }
}

/// Those that carry a zone; nobody, once, if it stays where it is.
fn carriers<'a>(zone: &Zone, bodies: &'a [Body]) -> Vec<Option<&'a Body>> {
    match zone.carrier {
        None => vec![None],
        Some(kind) => {
            let carriers = bodies.iter().filter(|body| body.kind == kind);
            carriers.map(Some).collect()
        }
    }
}

fn contains(zone: &Zone, carrier: Option<&Body>, place: [i32; 3]) -> bool {
    let origin = carrier.map_or([0; 3], |carrier| carrier.place);
    zone.contains([0, 1, 2].map(|axis| place[axis] - origin[axis]))
}
