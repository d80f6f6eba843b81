//! The tick on the device, as the list of its stages.

use std::mem::{offset_of, swap};

use device::{Device, DriverError, Lane};

use super::download::Chunks;
use super::launcher::Launcher;
use super::layout::{Tick, World};
use super::links::{Link, Shared};
use super::upload::{FrameCounts, Outlook, Staging, UploadError};
use super::{OutputForm, Part, reach};
use crate::tick::counts::Counters;
use crate::tick::output::Stage;
use crate::tick::parts::Cuts;

impl Part {
    /// Starts the next tick; `stage` is set to the stage that it has reached. When this
    /// returns, the caller may reuse the frame, even after an error.
    pub(super) fn start(&mut self, shared: &Shared, stage: &mut Stage) -> Result<(), UploadError> {
        let parity = self.tick.0 as usize % 2;
        let link = Link::new(self.links.clone(), self.number, parity, shared.round);
        self.device.enter()?;
        let device = self.device.clone();
        let mut staging = std::mem::take(&mut self.staging[parity]);
        let staged = staging.get_or_insert_with(|| Box::new(Staging::new(&self.sizes)));
        let started = device.copies(|copies| {
            reach(self.fault, Stage::Upload, self.tick)?;
            let mut tick = self.begin_tick(parity)?;
            let mut outlook = Outlook {
                config: &self.config,
                scripts: &self.scripts,
                waiting: &mut self.waiting,
            };
            self.flights[parity].beyond = shared.frame.beyond(&self.config);
            let marks = &self.flights[parity].upload;
            let counts = staged.upload(shared, &link, &mut outlook, copies, marks, &mut tick)?;
            self.note_clients(&mut tick, &counts, shared.cuts);
            Ok(self.launch(tick, &counts, &link, stage)?)
        });
        self.staging[parity] = staging;
        started
    }

    fn begin_tick(&mut self, parity: usize) -> Result<Tick, DriverError> {
        if self.stamp == u32::MAX {
            self.forget_stamps()?;
            self.stamp = 0;
        }
        self.stamp += 1;
        self.flights[parity].logic_hash = self.logic_hash;
        Ok(Tick {
            number: self.tick.0,
            stamp: self.stamp,
            rewind_ticks: self.sizes.rewind_ticks as u32,
            past_next: (self.tick.0 % self.sizes.rewind_ticks.max(1)) as u32,
            ..self.buffers.tick(self.base, parity)
        })
    }

    /// Fills what has stamps as at the start, before they come again.
    fn forget_stamps(&self) -> Result<(), DriverError> {
        let (device, sizes, world) = (&self.device, &self.sizes, &self.world);
        let bytes = sizes.capacity * size_of::<u32>() as u64;
        device.fill(world.changed.cast::<u8>(), bytes, 0)?;
        device.fill(world.died.cast::<u8>(), bytes, 0)?;
        device.fill(world.left.cast::<u8>(), bytes * sizes.kept, 0)?;
        device.fill(world.kept.cast::<u8>(), bytes * sizes.kept, 0)?;
        device.fill(world.several.cast::<u8>(), bytes * sizes.walled, 0)?;
        let updates = sizes.capacity * sizes.columns * sizes.causes;
        let bytes = updates * size_of::<u64>() as u64;
        device.fill(world.first_updates.cast::<u8>(), bytes, u8::MAX)
    }

    fn note_clients(&mut self, tick: &mut Tick, counts: &FrameCounts, cuts: &Cuts) {
        self.clients_used = self.clients_used.max(counts.clients);
        // No client is sent a quiet tick.
        let served = if self.is_quiet { 0 } else { self.clients_used };
        let own = cuts.ranges(served).nth(self.number).unwrap_or_default();
        let flight = &mut self.flights[tick.number as usize % 2];
        flight.totals = counts.totals;
        flight.given = tick.frame_commands;
        tick.part = self.number as u32;
        (tick.own_first, tick.own_end) = (own.start, own.end);
        flight.chunks = Chunks::of(own);
        tick.chunk_clients = flight.chunks.clients;
    }

    fn launch(
        &mut self,
        tick: Tick,
        counts: &FrameCounts,
        link: &Link,
        stage: &mut Stage,
    ) -> Result<(), DriverError> {
        let device = &self.device;
        let flight = &mut self.flights[tick.number as usize % 2];
        clear_counters(device, &tick)?;
        device.follow(Lane::Work, &flight.upload[1])?;
        device.record(Lane::Work, &flight.marks[0])?;
        let mut run = Launcher {
            device,
            sorter: &self.sorter,
            sizes: &self.sizes,
            world: self.world,
            regions: self.regions,
            tick,
        };
        let fault = self.fault;
        let mut begin = |next: Stage| {
            device.record(Lane::Work, &flight.marks[*stage as usize + 1])?;
            *stage = next;
            match next {
                // It fails where its output is awaited.
                Stage::Download => Ok(()),
                stage => reach(fault, stage, self.tick),
            }
        };
        let kernels = &self.kernels;
        kernels.due.apply_frame(&run, &kernels.regions)?;
        begin(Stage::Due)?;
        kernels.due.run(&run)?;
        begin(Stage::Logic)?;
        if self.scripts.ask() {
            kernels.census.run(&run)?;
            let asked = self.scripts.asked_rankings();
            kernels.standings.run(&mut run, &self.config, asked)?;
        }
        let asked = self.scripts.asked_relations();
        kernels.held.run(&mut run, &self.config, asked)?;
        kernels.doors.run(&run)?;
        (kernels.fields).run(&mut run, &self.config, &mut self.fields)?;
        kernels.logic.run(&mut run, &self.scripts, counts)?;
        begin(Stage::Merge)?;
        let atomic = (self.may_defer || self.scripts.atomic().is_some())
            .then(|| (&kernels.atomic, self.scripts.atomic()));
        kernels.merge.run(&mut run, counts, atomic)?;
        self.may_defer = self.scripts.atomic().is_some();
        kernels.motion.run(&run)?;
        begin(Stage::Lifecycle)?;
        kernels.lifecycle.run(&run, &kernels.regions, counts)?;
        flight.after_lifecycle.start(Lane::Work, tick.counters)?;
        begin(Stage::Index)?;
        kernels.index.run(&run, &kernels.regions)?;
        kernels.zones.run(&mut run, &mut self.are_zones_placed)?;
        begin(Stage::Interest)?;
        kernels.interest.count(&mut run, self.form)?;
        let own = run.counter(offset_of!(Counters, deliveries_total));
        device.record(Lane::Work, &flight.exchange[0])?;
        link.exchange(own, tick.part_deliveries)?;
        device.record(Lane::Work, &flight.exchange[1])?;
        if self.form == OutputForm::Pairs {
            kernels.interest.offsets(&run)?;
        }
        kernels.hearings.run(&mut run)?;
        flight.after_counting.start(Lane::Work, tick.counters)?;
        let chunks = match self.form {
            OutputForm::Pairs => flight.chunks.clone(),
            OutputForm::Ranges => Chunks::of(0..0),
        };
        for (range, served) in chunks.ranges().zip(&flight.served) {
            kernels.interest.store(&mut run, range)?;
            device.record(Lane::Work, served)?;
        }
        kernels.edits.run(&run)?;
        begin(Stage::Download)?;
        end_tick(&mut run.world, self.is_quiet, atomic.is_some());
        kernels.hash.run(&run)?;
        if run.sizes.fields > 0 && run.tick.part == 0 {
            kernels.fields.hash(&run)?;
        }
        flight.counters.start(Lane::Work, tick.counters)?;
        device.record(Lane::Work, &flight.marks[Stage::ALL.len()])?;
        let is_followed = self.links.is_some() && Cuts::follow_after(self.tick);
        // What clients saw is what they know now.
        let views = run.world.known_counts;
        flight.views = (is_followed && run.world.visible_max > 0).then_some(views);
        (self.world, self.regions) = (run.world, run.regions);
        Ok(())
    }

    /// Rebuilds the index of a restored state.
    pub(super) fn rebuild_index(&mut self) -> Result<(), DriverError> {
        let tick = self.begin_tick(0)?;
        clear_counters(&self.device, &tick)?;
        let mut run = Launcher {
            device: &self.device,
            sorter: &self.sorter,
            sizes: &self.sizes,
            world: self.world,
            regions: self.regions,
            tick,
        };
        self.kernels.index.run(&run, &self.kernels.regions)?;
        self.kernels
            .zones
            .begin(&mut run, &mut self.are_zones_placed)?;
        self.regions = run.regions;
        self.device.synchronize(Lane::Work)
    }
}

/// Swaps buffers: what clients saw is now what they know, unless the tick was quiet. The
/// commands that still wait were copied to the next tick's buffer, together with the new
/// ones.
fn end_tick(world: &mut World, is_quiet: bool, has_deferred: bool) {
    if world.visible_max > 0 && !is_quiet {
        swap(&mut world.known, &mut world.visible);
        swap(&mut world.known_counts, &mut world.visible_counts);
    }
    swap(&mut world.timed, &mut world.timed_next);
    if has_deferred {
        swap(&mut world.deferred, &mut world.deferred_next);
        swap(&mut world.deferred_words, &mut world.deferred_words_next);
        swap(&mut world.deferred_flags, &mut world.deferred_flags_next);
    }
}

/// Clears the counters and the sums of scans, which are stored behind them.
fn clear_counters(device: &Device, tick: &Tick) -> Result<(), DriverError> {
    let end = tick.births.0;
    let bytes = end - tick.counters.0;
    debug_assert!(bytes >= size_of::<Counters>() as u64);
    device.fill(tick.counters.cast::<u8>(), bytes, 0)
}
