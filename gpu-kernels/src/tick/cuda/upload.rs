//! Stage: uploading a frame. The frame is checked and freed of repetitions. Page-locked
//! memory is copied directly, other memory through a page-locked buffer.

use std::ops::Range;

use device::tuning::LOCKED_BYTES_MIN;
use device::{Copies, DriverError, Event, HostVec, Lane, Plain, Pointer};
use rayon::prelude::*;
use shared::world::command::{COMMAND_WORDS_MAX, COMMANDS_MAX};
use shared::{CommandKind, Hook, Occasion, WorldConfig};

use super::layout::{ObserverSet, Tick};
use super::links::{Link, Shared};
use super::regions::RegionStaging;
use super::scripts::{Kinds, Scripts};
use super::sizes::Sizes;
use super::snapshot::device_observer;
use crate::tick::counts::FrameTotals;
use crate::tick::error::TickError;
use crate::tick::frame::{After, Command, Frame, Observer, Survey, Target};

/// Why a frame was not run.
pub enum UploadError {
    /// The frame was rejected; the state is unchanged.
    Frame(TickError),
    Device(DriverError),
}

impl From<DriverError> for UploadError {
    fn from(error: DriverError) -> UploadError {
        UploadError::Device(error)
    }
}

/// Buffers for one of the two frames that may be uploaded at a time.
pub struct Staging {
    commands: HostVec<Command>,
    words: HostVec<i32>,
    after: Vec<After>,
    clients: ClientStaging,
    regions: RegionStaging,
}

/// A frame's changes of observers, clients and slots, each named once.
struct ClientStaging {
    sets: Vec<ObserverSet>,
    forget: Vec<u32>,
    release: Vec<u32>,
    /// By (client, index), client, slot: the number of the last frame that named it.
    seen_places: Vec<u32>,
    seen_clients: Vec<u32>,
    seen_slots: Vec<u32>,
    frames: u32,
}

/// What the host knows of the commands that a tick may have besides the frame's.
pub struct Outlook<'a> {
    pub config: &'a WorldConfig,
    pub scripts: &'a Scripts,
    /// Kinds of which commands may wait for their tick.
    pub waiting: &'a mut Kinds,
}

/// Counts that the host knows before the device has run a frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameCounts {
    pub totals: FrameTotals,
    /// Upper bound of the number of commands, including those that fall due.
    pub commands_max: u64,
    /// By number of a command, likewise.
    kinds: [u64; COMMANDS_MAX],
    /// Upper bound of the number of updates.
    pub updates_max: u64,
    pub births: bool,
    /// Commands that name newborns.
    pub follow_ups: bool,
    pub deaths: bool,
    /// One more than the highest client row named, or 0.
    pub clients: u32,
}

impl Staging {
    pub fn new(sizes: &Sizes) -> Staging {
        Staging {
            commands: HostVec::locked(sizes.commands as usize),
            words: HostVec::locked(sizes.words as usize),
            after: vec![],
            clients: ClientStaging {
                sets: vec![],
                forget: vec![],
                release: vec![],
                seen_places: vec![0; sizes.observers as usize],
                seen_clients: vec![0; sizes.clients as usize],
                seen_slots: vec![0; sizes.capacity as usize],
                frames: 0,
            },
            regions: RegionStaging::default(),
        }
    }

    /// Starts a frame's upload, and returns its counts. `tick` has the buffers that the
    /// frame goes to, and gets the length of each part.
    pub fn upload<'scope>(
        &'scope mut self,
        shared: &Shared<'scope>,
        link: &Link,
        outlook: &mut Outlook,
        copies: &'scope Copies<'scope, '_>,
        marks: &[Event; 2],
        tick: &mut Tick,
    ) -> Result<FrameCounts, UploadError> {
        let Staging {
            commands,
            words,
            after,
            clients,
            regions,
        } = self;
        let (frame, config) = (shared.frame, outlook.config);
        let device = copies.device();
        device.record(Lane::Uploads, &marks[0])?;
        let kept = frame
            .commands
            .len()
            .min(config.limits.commands_per_tick as usize);
        let mut unsent = None;
        if frame.words.len() <= words.capacity() {
            // The upload starts before the checks: nothing on the device reads it before
            // the frame has passed them.
            let (items, all) = (frame.commands.memory(), frame.words.len());
            send(copies, tick.frame, items, link.share(kept), commands)?;
            send(copies, tick.words, &frame.words, link.share(all), words)?;
            link.uploaded(device)?;
            link.gather(copies, tick.frame, kept)?;
            link.gather(copies, tick.words, all)?;
        } else {
            unsent = Some((commands, words));
        }
        let survey = shared.survey(config).map_err(UploadError::Frame)?;
        // Timed commands beyond the limit are dropped, even if the tick fails later.
        let room = frame.after.len().min(config.limits.timed_commands as usize);
        after.clear();
        after.extend_from_slice(&frame.after[..room]);
        if let Some((commands, words)) = unsent {
            compact(frame, kept, config, commands, words, after);
            copies.upload(Lane::Uploads, tick.frame, commands)?;
            copies.upload(Lane::Uploads, tick.words, words)?;
        }
        let mut counts = FrameCounts::expect(frame, &survey, kept, outlook);
        clients.take(frame, config, &mut counts);
        let region_counts = regions.take(frame, config);
        counts.totals.ignored += region_counts.ignored;
        counts.clients = counts.clients.max(region_counts.clients);
        tick.frame_commands = kept as u32;
        tick.observer_sets = clients.sets.len() as u32;
        tick.forgets = clients.forget.len() as u32;
        tick.releases = clients.release.len() as u32;
        tick.afters = after.len() as u32;
        tick.afters_asked = frame.after.len() as u32;
        tick.region_sets = regions.sets.len() as u32;
        copies.upload(Lane::Uploads, tick.sets, &clients.sets)?;
        copies.upload(Lane::Uploads, tick.forget, &clients.forget)?;
        copies.upload(Lane::Uploads, tick.release, &clients.release)?;
        copies.upload(Lane::Uploads, tick.after, after)?;
        copies.upload(Lane::Uploads, tick.region_set, &regions.sets)?;
        device.record(Lane::Uploads, &marks[1])?;
        Ok(counts)
    }
}

impl ClientStaging {
    /// Keeps the last of several changes of the same thing. The device applies changes in
    /// parallel, so only the last one is sent.
    fn take(&mut self, frame: &Frame, config: &WorldConfig, counts: &mut FrameCounts) {
        self.frames += 1;
        self.take_observers(frame, config, counts);
        let ignored = &mut counts.totals.ignored;
        self.forget.clear();
        for client in &frame.forget {
            match self.seen_clients.get_mut(client.index()) {
                None => *ignored += 1,
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
                None => *ignored += 1,
                // The first release frees the slot, so the second has no effect.
                Some(seen) if *seen == self.frames => *ignored += 1,
                Some(seen) => {
                    *seen = self.frames;
                    self.release.push(slot.0);
                }
            }
        }
    }

    fn take_observers(&mut self, frame: &Frame, config: &WorldConfig, counts: &mut FrameCounts) {
        let limits = &config.limits;
        self.sets.clear();
        for change in frame.observers.iter().rev() {
            if change.client.0 >= limits.clients || change.index >= limits.observers_per_client {
                counts.totals.ignored += 1;
                continue;
            }
            counts.clients = counts.clients.max(change.client.0 + 1);
            let place = change.client.0 * limits.observers_per_client + change.index;
            let seen = &mut self.seen_places[place as usize];
            if std::mem::replace(seen, self.frames) == self.frames {
                continue;
            }
            let observer = change.observer.map(|observer| inside(observer, config));
            self.sets.push(ObserverSet {
                place,
                observer: device_observer(&observer),
            });
        }
    }
}

/// The observer, clamped to the world's limits.
fn inside(mut observer: Observer, config: &WorldConfig) -> Observer {
    observer.radius = observer.radius.clamp(0, config.schema.world.aoi.raw());
    if let Target::Point(point) = &mut observer.target {
        for (axis, size) in point.iter_mut().zip(config.size_raw()) {
            *axis = (*axis).clamp(0, size - 1);
        }
    }
    observer
}

/// Copies a frame without the words that no command uses. A command with too many words is
/// malformed; only enough words are sent to show that.
fn compact(
    frame: &Frame,
    kept: usize,
    config: &WorldConfig,
    commands: &mut HostVec<Command>,
    words: &mut HostVec<i32>,
    afters: &mut [After],
) {
    commands.clear();
    words.clear();
    for command in &frame.commands[..kept] {
        let own = frame.words_of(command);
        commands.push(Command {
            word_start: words.len() as u32,
            ..*command
        });
        let most = match Frame::is_whole_birth(command, config) {
            true => own.len(),
            false => own.len().min(COMMAND_WORDS_MAX),
        };
        words.extend_from_slice(&own[..most]);
    }
    for after in afters {
        let own = frame.words_of(&after.command);
        after.command.word_start = words.len() as u32;
        words.extend_from_slice(own);
    }
}

impl FrameCounts {
    /// Upper bounds for a frame's commands, those that wait, and those of the world's rules.
    fn expect(frame: &Frame, survey: &Survey, kept: usize, outlook: &mut Outlook) -> FrameCounts {
        let config = outlook.config;
        let limits = &config.limits;
        let mut kinds = survey.kinds;
        let mut commands_max = kept as u64;
        for rule in &config.every {
            let turns = u64::from(config.schema.world.capacity).div_ceil(u64::from(rule.ticks)) + 1;
            kinds[usize::from(rule.command.id())] += turns;
            commands_max += turns;
        }
        if outlook.waiting.any {
            // The host doesn't know how many are due, nor of which kind.
            let timed = u64::from(limits.timed_commands);
            outlook.waiting.iter().for_each(|kind| kinds[kind] += timed);
            commands_max += timed;
        }
        let mut counts = FrameCounts {
            totals: FrameTotals {
                commands: frame.commands.len() as u64,
                timed_dropped: match limits.timed_commands {
                    0 => frame.after.len() as u64,
                    _ => 0,
                },
                notifications_max: u64::from(limits.notifications_per_tick),
                ignored: 0,
            },
            commands_max: commands_max.min(u64::from(limits.commands_per_tick)),
            kinds,
            updates_max: 0,
            births: kinds[usize::from(CommandKind::SPAWN.id())] > 0,
            follow_ups: outlook.waiting.follow_ups,
            deaths: kinds[usize::from(CommandKind::DESPAWN.id())] > 0 || config.has_falls(),
            clients: 0,
        };
        let commands = outlook.scripts.commands();
        for command in commands.filter(|command| !command.form.is_atomic) {
            let updates = counts
                .of_kind(command.form.kind)
                .saturating_mul(command.form.updates_max);
            counts.updates_max = counts.updates_max.saturating_add(updates);
        }
        counts.updates_max = counts.updates_max.min(u64::from(limits.updates_per_tick));
        counts.note_waiting(frame, outlook);
        counts
    }

    /// Upper bound of the number of births by commands.
    pub fn births_max(&self) -> u64 {
        self.of_kind(CommandKind::SPAWN.id())
    }

    /// Upper bound of the number of commands of a kind.
    pub fn of_kind(&self, kind: u16) -> u64 {
        self.kinds[usize::from(kind)].min(self.commands_max)
    }

    /// Adds the kinds of commands that may wait after this tick.
    fn note_waiting(&self, frame: &Frame, outlook: &mut Outlook) {
        let Outlook {
            config,
            scripts,
            waiting,
        } = outlook;
        for after in &frame.after {
            waiting.add_waiting(after.command.kind, frame.words_of(&after.command));
        }
        let run = scripts
            .commands()
            // Atomic ones may have waited.
            .filter(|command| command.form.is_atomic || self.of_kind(command.form.kind) > 0);
        for command in run {
            waiting.follow_ups |= command.form.follow_ups;
            for &kind in &command.form.schedules {
                waiting.add(kind);
            }
        }
        // The server gives the others, in frames.
        let may_wait = |hook: &&Hook| match hook.occasion {
            Occasion::Birth | Occasion::Join => self.births || config.has_falls(),
            Occasion::Fall => config.has_falls(),
            Occasion::Enter(_) | Occasion::Exit(_) => true,
            Occasion::Leave | Occasion::Reload => false,
        };
        for hook in config.hooks.iter().filter(may_wait) {
            waiting.add(hook.command.id());
        }
    }
}

/// Starts the upload of some items to their places: directly, or through `staging`.
fn send<'scope, T: Plain>(
    copies: &'scope Copies<'scope, '_>,
    to: Pointer<T>,
    items: &'scope HostVec<T>,
    share: Range<usize>,
    staging: &'scope mut HostVec<T>,
) -> Result<(), DriverError> {
    let to = to.at(share.start as u64);
    if items.is_sendable(share.len(), LOCKED_BYTES_MIN) {
        return copies.upload(Lane::Uploads, to, &items[share]);
    }
    copy_to(staging, &items[share]);
    copies.upload(Lane::Uploads, to, staging)
}

/// Copies with as many threads as are worth it.
fn copy_to<T: Plain>(to: &mut HostVec<T>, from: &[T]) {
    if from.len() < 4 * GRAIN {
        to.clear();
        to.extend_from_slice(from);
        return;
    }
    to.truncate(from.len());
    to.resize(from.len(), from[0]);
    to.par_chunks_mut(GRAIN)
        .zip(from.par_chunks(GRAIN))
        .for_each(|(to, from)| to.copy_from_slice(from));
}

/// The number of items that take a thread about 20 µs.
const GRAIN: usize = 16 * 1024;
