//! The tick, as the list of its stages.

use std::time::Instant;

use shared::Slot;
use shared::world::edit::{Edit, LayerKind};

use super::logic::Rules;
use super::{CpuBackend, Updates, lifecycle};
use crate::notification::Notification;
use crate::slot::SlotState;
use crate::tick::counts::Counts;
use crate::tick::edits;
use crate::tick::frame::{Frame, Holder, ObserverChange, RegionChange, Target, region_changes_max};
use crate::tick::output::{Stage, StageTimes, TickOutput};
use crate::tick::state::{self, part};

impl CpuBackend {
    pub(super) fn run(&mut self, frame: &Frame, out: &mut TickOutput) {
        out.reset(self.state.tick);
        let mut clock = StageClock::start();
        self.apply_frame(frame, &mut out.counts);
        out.stages.set(Stage::Upload, clock.lap());

        let rows = (&self.state.rows[..], self.state.columns);
        (self.state.held).update(&self.workers, &self.state.slots, rows);
        self.due.gather(frame, &mut self.state, &mut out.counts);
        let commands = self.due.after(frame);
        out.stages.set(Stage::Due, clock.lap());

        let rules = Rules {
            catalog: &self.catalog,
            scripts: &self.scripts,
        };
        self.state
            .count_and_rank(&self.workers, rules.scripts, commands);
        self.state.close_doors(&self.workers, &self.config);
        self.state.refresh_fields(&self.workers, &self.config);
        self.updates.emit(
            &self.workers,
            rules,
            &mut self.state,
            &self.index,
            commands,
            self.trace.is_some(),
            out,
        );
        if let Some(trace) = &mut self.trace {
            self.updates.trace(&self.config, commands, trace);
        }
        out.stages.set(Stage::Logic, clock.lap());

        self.merge.merge(
            &self.workers,
            &mut self.state,
            &self.updates,
            &mut out.changes,
            &mut out.counts,
        );
        self.atomic.run(
            rules,
            &mut self.state,
            (commands, self.updates.atomic()),
            &mut self.merge,
            out,
        );
        if let Some(trace) = &mut self.trace {
            self.atomic.trace(&self.config, &self.state, trace);
        }
        self.updates.note_atomic(self.atomic.left());
        out.refused.extend(frame.beyond(&self.config));
        out.refused.sort_unstable();
        if let Some(walls) = &mut self.walls {
            walls.hold(
                &self.workers,
                &mut self.state,
                &self.merge,
                &mut out.changes,
            );
        }
        self.updates.write_causes(
            &self.workers,
            rules.catalog,
            commands,
            self.state.columns,
            &mut out.changes,
        );
        if let Some(motion) = &mut self.motion {
            motion.tell(
                &self.workers,
                &mut self.state,
                &mut self.merge,
                &mut out.courses,
            );
            out.counts.courses = out.courses.slots.len() as u64;
        }
        Updates::notify_of_picks(rules, &self.state, &self.index, out);
        out.stages.set(Stage::Merge, clock.lap());

        lifecycle::run(
            &self.workers,
            &mut self.state,
            &self.catalog,
            self.updates.lives(commands),
            &mut self.merge,
            (self.motion.as_mut(), self.walls.as_mut()),
            |key| self.updates.actor_of(&self.catalog, commands, key),
            out,
        );
        if let Some(zones) = &mut self.zones {
            zones.watch(
                &self.workers,
                &self.catalog,
                &mut self.state,
                &mut out.counts,
            );
        }
        self.state.keep_past(&self.workers);
        out.stages.set(Stage::Lifecycle, clock.lap());

        self.state.held.note(&out.changes);
        self.index.update(&self.workers, &self.state, &out.changes);
        if self.is_quiet {
            out.deliveries.clear();
            out.hearings.clear();
            out.stages.set(Stage::Index, clock.lap());
        } else {
            self.tell(&mut clock, out);
        }
        // What clients see of the tick, they see past the walls that were there at its start.
        if self.config.limits.edits_per_tick > 0 {
            let added = edits::apply(&mut self.state.layers, &self.config.limits, out);
            self.state.add(part::TRACKS, added);
            let is_wall = |edit: &Edit| edit.layer == LayerKind::Blocked;
            self.state.walls_edited = out.edits.iter().any(is_wall);
        }

        self.state.tick = self.state.tick.next();
        self.state.hash.parts[part::TICK] = state::tick(self.state.tick, self.logic_hash);
        out.hash.parts.clone_from(&self.state.hash.parts);
    }

    /// Finds the clients that are sent something of the tick.
    fn tell(&mut self, clock: &mut StageClock, out: &mut TickOutput) {
        let dimensions = self.config.dimensions();
        let published = self.state.publications(dimensions);
        self.published.build(&self.workers, published);
        out.stages.set(Stage::Index, clock.lap());

        self.interest.deliver(
            &self.workers,
            &mut self.state,
            &self.index,
            &self.published,
            &self.merge,
            out,
        );
        self.interest
            .hear(&self.workers, &self.state, &self.index, out);
        out.stages.set(Stage::Interest, clock.lap());
    }

    /// Applies the frame's changes of observers, clients and slots.
    fn apply_frame(&mut self, frame: &Frame, counts: &mut Counts) {
        for change in &frame.observers {
            counts.ignored += u64::from(!self.set_observer(change));
        }
        let most = region_changes_max(&self.config).min(frame.regions.len());
        counts.ignored += (frame.regions.len() - most) as u64;
        for change in &frame.regions[..most] {
            counts.ignored += u64::from(!self.set_region(change));
        }
        for &client in &frame.forget {
            counts.ignored += u64::from(!self.interest.forget(client, &mut self.state));
        }
        for &slot in &frame.release {
            counts.ignored += u64::from(!self.release(slot));
        }
    }

    fn set_observer(&mut self, change: &ObserverChange) -> bool {
        let limits = &self.config.limits;
        if change.client.0 >= limits.clients || change.index >= limits.observers_per_client {
            return false;
        }
        let place =
            change.client.index() * limits.observers_per_client as usize + change.index as usize;
        let observer = change.observer.map(|mut observer| {
            observer.radius = observer.radius.clamp(0, self.config.schema.world.aoi.raw());
            if let Target::Point(point) = &mut observer.target {
                for (axis, size) in point.iter_mut().zip(self.config.size_raw()) {
                    *axis = (*axis).clamp(0, size - 1);
                }
            }
            observer
        });
        let before = std::mem::replace(&mut self.state.observers[place], observer);
        let element = |o| state::observer(change.client, change.index, o);
        self.state.subtract(part::OBSERVERS, element(&before));
        self.state.add(part::OBSERVERS, element(&observer));
        self.interest.use_client(change.client);
        true
    }

    fn set_region(&mut self, change: &RegionChange) -> bool {
        let Some(change) = change.check(&self.config) else {
            return false;
        };
        if !self.state.has_holder(change.holder) {
            return false;
        }
        if let Holder::Client { client, .. } = change.holder {
            self.interest.use_client(client);
        }
        self.state.set_region(change.holder, change.region);
        true
    }

    fn release(&mut self, slot: Slot) -> bool {
        let i = slot.index();
        let released = match self.state.slots.states().get(i) {
            Some(SlotState::Resting) => SlotState::Free,
            Some(SlotState::Fallen) => SlotState::Reserved,
            _ => return false,
        };
        let kind = self.state.slots.kinds()[i];
        let generation = self.state.slots.generations()[i];
        self.state.change_slot(slot, released, kind, generation);
        true
    }
}

impl TickOutput {
    fn reset(&mut self, tick: shared::Tick) {
        self.tick = tick;
        self.births.clear();
        self.birth_rows.clear();
        self.deaths.clear();
        self.kept.clear();
        self.notifications.clear();
        self.edits.clear();
        self.refused.clear();
        self.over_budget.clear();
        self.out_of_range.clear();
        self.counts = Counts::default();
        self.stages = StageTimes::default();
    }

    /// Adds a notification, if there is room.
    pub(super) fn notify(&mut self, notification: Notification, notifications_max: usize) {
        if self.notifications.len() == notifications_max {
            self.counts.notifications_dropped += 1;
            return;
        }
        self.notifications.push(notification);
        self.counts.notifications += 1;
    }
}

/// Measures how long stages take; nothing in the world depends on it.
struct StageClock(Instant);

impl StageClock {
    fn start() -> StageClock {
        StageClock(Instant::now())
    }

    fn lap(&mut self) -> std::time::Duration {
        let now = Instant::now();
        let lap = now - self.0;
        self.0 = now;
        lap
    }
}
