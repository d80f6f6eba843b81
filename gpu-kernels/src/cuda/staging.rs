//! A frame on its way to the device: checked, made free of repetitions, and copied
//! from where it is if its memory is page-locked, else by way of memory that is.

use rayon::prelude::*;
use shared::{CommandKind, WorldConfig};

use super::device::{Device, DriverError, Event, Lane, Pinned};
use super::held::RegionStaging;
use super::held::layout::RegionSet;
use super::layout::{ObserverSet, Pointer, Tick};
use super::plan::{Plan, Sizes};
use crate::backend::TickError;
use crate::frame::{After, Command, Frame, Survey, Target};
use crate::host_vec::HostVec;
use crate::logic;
use crate::output::MemoryLock;
use crate::timed::TIMED_WORDS_MAX;

/// Why a frame was not run.
pub enum Refusal {
    /// The state is as it was.
    Frame(TickError),
    Device(DriverError),
}

impl From<DriverError> for Refusal {
    fn from(error: DriverError) -> Refusal {
        Refusal::Device(error)
    }
}

/// One of the two frames that may be on their way.
pub struct Staging {
    // Unlocked before the buffers are freed.
    _locks: [Option<Pinned>; 2],
    commands: Vec<Command>,
    words: Vec<i32>,
    sets: Vec<ObserverSet>,
    forget: Vec<u32>,
    release: Vec<u32>,
    after: Vec<After>,
    regions: RegionStaging,
    /// By (client, index), client, slot: the last frame that named it.
    seen_places: Vec<u32>,
    seen_clients: Vec<u32>,
    seen_slots: Vec<u32>,
    frames: u32,
    device: DeviceFrame,
}

/// Where the frame goes.
#[derive(Clone, Copy)]
struct DeviceFrame {
    commands: Pointer,
    words: Pointer,
    sets: Pointer,
    forget: Pointer,
    release: Pointer,
    after: Pointer,
    regions: Pointer,
}

/// What the host knows of a frame before the device has run it.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameCounts {
    /// All of the frame's commands, those beyond the limit included.
    pub commands: u64,
    pub ignored: u64,
    /// What is put off where there is room for nothing.
    pub timed_dropped: u64,
    /// At least as many commands as there will be, those due included.
    pub commands_max: u64,
    /// At least as many updates as there will be.
    pub updates_max: u64,
    pub births: bool,
    pub deaths: bool,
    /// One more than the highest client row named, or 0.
    pub clients: u32,
    /// Where the changes of regions stand, and how many.
    pub region_sets: (Pointer, u32),
}

impl Staging {
    pub fn new(
        config: &WorldConfig,
        sizes: &Sizes,
        plan: &Plan,
        base: Pointer,
        parity: u64,
    ) -> Staging {
        let at = |name: &str, bytes: u64| plan.place(base, name) + parity * bytes;
        let commands = Vec::with_capacity(sizes.commands as usize);
        let words = Vec::with_capacity(sizes.words as usize);
        Staging {
            _locks: [Pinned::lock(&commands), Pinned::lock(&words)],
            commands,
            words,
            sets: vec![],
            forget: vec![],
            release: vec![],
            after: vec![],
            regions: RegionStaging::default(),
            seen_places: vec![0; sizes.observers as usize],
            seen_clients: vec![0; sizes.clients as usize],
            seen_slots: vec![0; config.schema.world.capacity as usize],
            frames: 0,
            device: DeviceFrame {
                commands: at(
                    "frame commands",
                    sizes.commands * size_of::<Command>() as u64,
                ),
                words: at("frame words", sizes.words * 4),
                sets: at(
                    "frame observers",
                    sizes.observers * size_of::<ObserverSet>() as u64,
                ),
                forget: at("frame forget", sizes.clients * 4),
                release: at("frame release", sizes.capacity * 4),
                after: at("frame after", sizes.timed * size_of::<After>() as u64),
                regions: at(
                    "frame regions",
                    sizes.region_changes() * size_of::<RegionSet>() as u64,
                ),
            },
        }
    }

    /// Takes in a frame, uploads it, and says what is known of it. The frame's own
    /// memory is read until the second mark has passed.
    pub fn upload(
        &mut self,
        frame: &Frame,
        config: &WorldConfig,
        device: &Device,
        marks: &[Event; 2],
        tick: &mut Tick,
    ) -> Result<FrameCounts, Refusal> {
        self.frames += 1;
        device.record(Lane::Uploads, &marks[0])?;
        let kept = frame
            .commands
            .len()
            .min(config.limits.commands_per_tick as usize);
        let fits = frame.words.len() <= self.words.capacity();
        if fits {
            // On its way while it is looked at: nothing on the device reads it
            // before it is found to be good.
            self.commands.clear();
            self.words.clear();
            let to = self.device;
            start(
                device,
                to.commands,
                frame.commands.memory(),
                kept,
                &mut self.commands,
            )?;
            start(
                device,
                to.words,
                &frame.words,
                frame.words.len(),
                &mut self.words,
            )?;
        }
        let survey = frame.commands.survey();
        if let Err(error) = frame
            .check_words(&survey)
            .and_then(|()| frame.check_after())
        {
            device.synchronize(Lane::Uploads)?;
            return Err(Refusal::Frame(error));
        }
        // What is beyond the room was dropped, whatever else becomes of the tick.
        let room = frame.after.len().min(config.limits.timed_commands as usize);
        self.after.clear();
        self.after.extend_from_slice(&frame.after[..room]);
        if !fits {
            self.compact(frame, kept);
            device.upload(Lane::Uploads, self.device.commands, &self.commands)?;
            device.upload(Lane::Uploads, self.device.words, &self.words)?;
        }
        let mut counts = FrameCounts {
            commands: frame.commands.len() as u64,
            ..FrameCounts::default()
        };
        counts.expect(&survey, kept, config);
        if config.limits.timed_commands == 0 {
            counts.timed_dropped = frame.after.len() as u64;
        }
        self.take_clients(frame, config, &mut counts);
        let regions = self.regions.take(frame, config);
        counts.ignored += regions.ignored;
        counts.clients = counts.clients.max(regions.clients);
        counts.region_sets = (self.device.regions, self.regions.sets.len() as u32);
        tick.frame_commands = kept as u32;
        tick.observer_sets = self.sets.len() as u32;
        tick.forgets = self.forget.len() as u32;
        tick.releases = self.release.len() as u32;
        tick.frame = self.device.commands;
        tick.words = self.device.words;
        tick.sets = self.device.sets;
        tick.forget = self.device.forget;
        tick.release = self.device.release;
        tick.afters = self.after.len() as u32;
        tick.afters_asked = frame.after.len() as u32;
        tick.after = self.device.after;
        device.upload(Lane::Uploads, self.device.sets, &self.sets)?;
        device.upload(Lane::Uploads, self.device.forget, &self.forget)?;
        device.upload(Lane::Uploads, self.device.release, &self.release)?;
        device.upload(Lane::Uploads, self.device.after, &self.after)?;
        device.upload(Lane::Uploads, self.device.regions, &self.regions.sets)?;
        device.record(Lane::Uploads, &marks[1])?;
        Ok(counts)
    }

    /// Of several changes of one thing the last one counts; the device applies
    /// them side by side, so only that one goes there.
    fn take_clients(&mut self, frame: &Frame, config: &WorldConfig, counts: &mut FrameCounts) {
        let limits = &config.limits;
        self.sets.clear();
        for change in frame.observers.iter().rev() {
            if change.client.0 >= limits.clients || change.index >= limits.observers_per_client {
                counts.ignored += 1;
                continue;
            }
            counts.clients = counts.clients.max(change.client.0 + 1);
            let place = change.client.0 * limits.observers_per_client + change.index;
            if std::mem::replace(&mut self.seen_places[place as usize], self.frames) == self.frames
            {
                continue;
            }
            let observer = change.observer.map(|mut observer| {
                observer.radius = observer.radius.clamp(0, config.schema.world.aoi.raw());
                if let Target::Point(point) = &mut observer.target {
                    for (axis, size) in point.iter_mut().zip(config.size_raw()) {
                        *axis = (*axis).clamp(0, size - 1);
                    }
                }
                observer
            });
            self.sets.push(ObserverSet {
                place,
                observer: super::device_observer(&observer),
            });
        }
        self.forget.clear();
        for client in &frame.forget {
            match self.seen_clients.get_mut(client.index()) {
                None => counts.ignored += 1,
                Some(seen) if *seen == self.frames => {}
                Some(seen) => {
                    *seen = self.frames;
                    self.forget.push(client.0);
                }
            }
        }
        self.release.clear();
        for slot in &frame.release {
            match self.seen_slots.get_mut(slot.index()) {
                None => counts.ignored += 1,
                // Free by the first, so the second finds nothing to release.
                Some(seen) if *seen == self.frames => counts.ignored += 1,
                Some(seen) => {
                    *seen = self.frames;
                    self.release.push(slot.0);
                }
            }
        }
    }

    /// A frame with words that no command uses: only the others go along, and of
    /// a command with too many, which is malformed, only as many as show that.
    fn compact(&mut self, frame: &Frame, kept: usize) {
        self.commands.clear();
        self.words.clear();
        let each = TIMED_WORDS_MAX;
        for command in &frame.commands[..kept] {
            let words = frame.words_of(command);
            let some = words.len().min(each);
            self.commands.push(Command {
                word_start: self.words.len() as u32,
                ..*command
            });
            self.words.extend_from_slice(&words[..some]);
        }
        for after in &mut self.after {
            let words = frame.words_of(&after.command);
            after.command.word_start = self.words.len() as u32;
            self.words.extend_from_slice(words);
        }
    }
}

impl FrameCounts {
    /// What such commands, and the world's rules, can come to.
    fn expect(&mut self, survey: &Survey, kept: usize, config: &WorldConfig) {
        let each = |kind: u16| {
            let kind = CommandKind::from_id(kind);
            kind.map_or(0, |kind| logic::updates_max(kind, config))
        };
        self.births = survey.kinds[usize::from(CommandKind::Spawn.id())] > 0;
        self.deaths = survey.kinds[usize::from(CommandKind::Despawn.id())] > 0;
        self.commands_max = kept as u64;
        for (kind, &n) in survey.kinds.iter().enumerate() {
            self.updates_max = self
                .updates_max
                .saturating_add(n.saturating_mul(each(kind as u16)));
        }
        for rule in &config.every {
            let turns = u64::from(config.schema.world.capacity).div_ceil(u64::from(rule.ticks)) + 1;
            self.commands_max += turns;
            self.updates_max = self
                .updates_max
                .saturating_add(turns.saturating_mul(each(rule.command.id())));
            self.deaths |= rule.command == CommandKind::Despawn;
        }
        let limits = &config.limits;
        if limits.timed_commands > 0 {
            // Of any kind, and the host doesn't know how many.
            self.commands_max += u64::from(limits.timed_commands);
            self.updates_max = u64::MAX;
            self.births = true;
            self.deaths = true;
        }
        self.deaths |= config.respawn_ticks.iter().any(|&ticks| ticks > 0);
        self.commands_max = self.commands_max.min(u64::from(limits.commands_per_tick));
        self.updates_max = self.updates_max.min(u64::from(limits.updates_per_tick));
    }
}

/// Starts the upload of the first `n` items: from where they are, or by way of
/// `copies`.
fn start<T: Copy + Send + Sync>(
    device: &Device,
    to: Pointer,
    items: &HostVec<T>,
    n: usize,
    copies: &mut Vec<T>,
) -> Result<(), DriverError> {
    let lock = |items: &Vec<T>| Some(MemoryLock(Box::new(Pinned::lock(items)?)));
    // Small ones share their pages with other things, and are soon copied.
    if size_of_val(&items[..n]) >= LOCKED_BYTES_MIN && items.is_locked(lock) {
        return device.upload(Lane::Uploads, to, &items[..n]);
    }
    copy_to(copies, &items[..n]);
    device.upload(Lane::Uploads, to, copies)
}

/// Copies by as many threads as are worth it.
fn copy_to<T: Copy + Send + Sync>(to: &mut Vec<T>, from: &[T]) {
    if from.len() < 4 * GRAIN {
        to.clear();
        to.extend_from_slice(from);
        return;
    }
    to.resize(from.len(), from[0]);
    to.par_chunks_mut(GRAIN)
        .zip(from.par_chunks(GRAIN))
        .for_each(|(to, from)| to.copy_from_slice(from));
}

/// Items that take a thread some 20 µs.
const GRAIN: usize = 16 * 1024;
const LOCKED_BYTES_MIN: usize = 256 * 1024;
