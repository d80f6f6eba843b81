//! The entities that a client's subscriptions add to those that its observers perceive.

use super::gather::{Candidates, Place};
use super::{Input, Interest};
use crate::space::Aabb;
use crate::tick::cpu::State;
use crate::tick::frame::Target;

impl Interest {
    /// The boxes of a client's subscriptions: its own regions by index, then those of the
    /// living entities that its observers follow, by observer.
    pub(super) fn subscriptions<'a>(
        &'a self,
        client: usize,
        state: &'a State,
    ) -> impl Iterator<Item = Aabb<3>> + Clone + 'a {
        let own = state.regions.of_client(client);
        let observers = self.observers(client, state).iter().flatten();
        let carried = observers.filter_map(move |observer| match observer.target {
            Target::Entity(entity) if state.slots.has(entity) => {
                state.regions.subscription(entity.slot.0)
            }
            _ => None,
        });
        own.chain(carried)
            .filter_map(move |region| state.box_of(region, self.dimensions))
    }

    /// Adds the entities that are published in a client's subscriptions. They rank by the
    /// distance from the nearest observer, however far. Without an observer, all rank the
    /// same.
    pub(super) fn gather_subscribed(
        &self,
        client: usize,
        input: Input<'_>,
        scratch: &mut Candidates,
    ) {
        for aabb in self.subscriptions(client, input.state) {
            scratch.begin();
            input.index.in_box(&aabb, |at| {
                scratch.add_subscribed(input.index.slots()[at], input.index.position(at));
            });
            input.published.each_overlapping(&aabb, |slot| {
                let position = input.state.position(shared::Slot(slot), self.dimensions);
                // Otherwise it was already found by its position.
                if !aabb.contains(position) {
                    scratch.add_subscribed(slot, position);
                }
            });
            scratch.end();
        }
    }

    /// Passes on the changed entities that a client sees only through its subscriptions,
    /// each once. For worlds in which clients remember nothing.
    pub(super) fn changed_subscribed(
        &self,
        client: usize,
        input: Input<'_>,
        mut visit: impl FnMut(u32),
    ) {
        let (state, index) = (input.state, input.index);
        let subscriptions = self.subscriptions(client, state);
        for (i, aabb) in subscriptions.clone().enumerate() {
            let is_fresh = |slot: u32, position: [i32; 3]| {
                let perceived = |place: Place| place.reaches(position);
                let publication = state.publication(slot, self.dimensions);
                let mut earlier = subscriptions.clone().take(i);
                input.merge.has_changed(slot)
                    && !self.places(client, state).any(perceived)
                    && !earlier.any(|earlier| {
                        earlier.contains(position)
                            || publication.is_some_and(|box_| box_.overlaps(&earlier))
                    })
            };
            index.in_box(&aabb, |at| {
                let slot = index.slots()[at];
                if is_fresh(slot, index.position(at)) {
                    visit(slot);
                }
            });
            input.published.each_overlapping(&aabb, |slot| {
                let position = state.position(shared::Slot(slot), self.dimensions);
                if !aabb.contains(position) && is_fresh(slot, position) {
                    visit(slot);
                }
            });
        }
    }
}
