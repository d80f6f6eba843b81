//! The entities that a client's subscriptions add to those that its observers perceive.

use super::cover::{Cover, NumberSet};
use super::eyes::Eyes;
use super::gather::{Candidates, Viewpoint};
use super::{Input, Interest};
use crate::space::Aabb;
use crate::tick::cpu::State;
use crate::tick::frame::Target;
use shared::Slot;

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

    /// Whether a client has any subscription.
    #[inline]
    pub(super) fn subscribes(&self, client: usize, state: &State) -> bool {
        self.with_regions && self.subscriptions(client, state).next().is_some()
    }

    /// Adds the entities that are published in a client's subscriptions. They rank by the
    /// distance from the nearest observer, however far. Without an observer, all rank the
    /// same. Each is looked at once, however many subscriptions show it.
    pub(super) fn gather_subscribed(
        &self,
        client: usize,
        input: Input<'_>,
        eyes: Option<&Eyes<'_>>,
        cover: &mut Cover,
        scratch: &mut Candidates,
    ) {
        let (state, index) = (input.state, input.index);
        cover.set(self.subscriptions(client, state));
        if cover.boxes().is_empty() {
            return;
        }
        cover.simplify();
        scratch.begin();
        let mut add = |slot: u32, position: [i32; 3]| {
            if !eyes.is_some_and(|eyes| eyes.miss(slot)) {
                scratch.add_subscribed(slot, position);
            }
        };
        cover.in_any(index, |at| add(index.slots()[at], index.position(at)));
        cover.overlapping_outside(
            input.published,
            state.slots.used(),
            |slot| state.position(Slot(slot), self.dimensions),
            add,
        );
        scratch.end();
    }

    /// Passes on the changed entities that a client sees only through its subscriptions,
    /// each once, in the order of the subscriptions. For worlds in which clients remember
    /// nothing.
    pub(super) fn changed_subscribed(
        &self,
        client: usize,
        input: Input<'_>,
        (cover, seen): (&mut Cover, &mut NumberSet),
        mut visit: impl FnMut(u32),
    ) {
        let (state, index) = (input.state, input.index);
        cover.set(self.subscriptions(client, state));
        seen.begin(state.slots.used());
        for aabb in cover.boxes() {
            let mut is_fresh = |slot: u32, position: [i32; 3]| {
                let perceived = |place: Viewpoint| place.reaches(position);
                input.merge.has_changed(slot)
                    && seen.is_new(slot)
                    && !self.places(client, state).any(perceived)
            };
            index.in_box(aabb, |at| {
                let slot = index.slots()[at];
                if is_fresh(slot, index.position(at)) {
                    visit(slot);
                }
            });
            input.published.each_overlapping(aabb, |slot| {
                let position = state.position(Slot(slot), self.dimensions);
                if is_fresh(slot, position) {
                    visit(slot);
                }
            });
        }
    }
}
