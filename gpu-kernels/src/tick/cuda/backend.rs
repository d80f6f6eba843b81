//! All parts of a world together.

use std::sync::Arc;

use device::cpu::Crew;
use device::{Device, DriverError, GpuInfo, HostVec, NoDevice};
use script::Logic;
use script::logic::compile_with;
use shared::world::logic::LogicConfig;
use shared::{CommandKind, InterestMode, WorldConfig};

use super::download::{Failure, Finished, Share};
use super::due::DueBuffer;
use super::edits::EditedLayers;
use super::links::{Links, Shared};
use super::scripts::{Code, Compiler, Scripts};
use super::sizes::Sizes;
use super::upload::UploadError;
use super::world::Buffers;
use super::{CudaOptions, Opened, OutputForm, Part, Start};
use crate::logic::{CompiledLogic, LogicCompiler, ScriptError};
use crate::tick::backend::{Backend, DueCommands, SubmittedTick};
use crate::tick::counts::Counts;
use crate::tick::error::{RestoreError, StartError, TickError};
use crate::tick::fault::Fault;
use crate::tick::frame::Frame;
use crate::tick::output::{
    BucketRanges, Changes, Courses, Deliveries, Hearings, Segment, Stage, TickOutput,
};
use crate::tick::parts::{Cuts, PARTS_MAX, Views};
use crate::tick::state::{Snapshot, StateHash, part};

/// A world on one or more GPUs.
pub struct CudaBackend {
    /// At least one.
    parts: Vec<Part>,
    /// A thread for each part but the first.
    crew: Crew,
    compiler: Compiler,
    /// Scripts that were compiled beside the world, until a frame brings them into force.
    staged: Option<CompiledLogic>,
    /// How the clients of the next tick are divided.
    cuts: Cuts,
    /// Where what clients know is: how those of the last tick were divided.
    placed: Cuts,
    outputs: [Output; 2],
    in_flight: Vec<shared::Tick>,
    submissions: u64,
    edited: EditedLayers,
    /// The error of a failed tick, after which the state on the devices is undefined.
    failed: Option<TickError>,
}

/// One tick's output on the host.
#[derive(Default)]
struct Output {
    output: Arc<TickOutput>,
    /// Whether its buffers have room for any tick, and are page-locked.
    is_locked: bool,
}

impl CudaBackend {
    /// Creates an empty world.
    pub fn new(config: &WorldConfig, options: &CudaOptions) -> Result<CudaBackend, StartError> {
        let has_buckets_only = config.schema.world.visible_max == 0
            && config.interest == InterestMode::Buckets
            && config.limits.observers_per_client == 1;
        if options.form == OutputForm::Ranges && !has_buckets_only {
            return Err(StartError::Unsupported(
                "ranges form of the cuda",
                "a world with visible_max = 0, whole buckets in sight and one observer a client",
            ));
        }
        if options.form == OutputForm::Ranges && options.gpus.len() > 1 {
            return Err(StartError::Unsupported(
                "ranges form of the cuda",
                "a single GPU",
            ));
        }
        if !(1..=PARTS_MAX).contains(&options.gpus.len()) {
            return Err(StartError::Unsupported("cuda", "1 to 16 GPUs"));
        }
        let sizes = Sizes::new(config, options.form);
        let needed = Buffers::new(&sizes).plan.bytes();
        let open = |&ordinal: &u32| Part::open(ordinal, needed, options);
        let opened: Vec<Opened> = options.gpus.iter().map(open).collect::<Result<_, _>>()?;
        let devices: Vec<Arc<Device>> = opened.iter().map(|o| o.device.clone()).collect();
        let links = match devices.len() {
            1 => None,
            _ => {
                let bases = opened.iter().map(|opened| opened.base).collect();
                Some(Arc::new(
                    Links::new(&devices, bases).map_err(NoDevice::from)?,
                ))
            }
        };
        let compiler = Compiler::new(devices[0].clone(), sizes, options.cache.clone());
        let mut compiler = compiler.map_err(NoDevice::from)?;
        for device in &devices {
            if !compiler.is_for(device).map_err(NoDevice::from)? {
                return Err(StartError::Unsupported("cuda", "GPUs of one architecture"));
            }
        }
        let logic = Logic::of(config).map_err(ScriptError::Problems)?;
        let code = compiler.code(config, &logic)?;
        let start = Start {
            config,
            sizes,
            form: options.form,
            links,
        };
        let mut parts = vec![];
        for (number, opened) in opened.into_iter().enumerate() {
            let scripts = Scripts::default().load(&code, &opened.device)?;
            let part = start.part(number, opened, scripts);
            parts.push(part.map_err(NoDevice::from)?);
        }
        let cuts = Cuts::even(config.limits.clients, parts.len());
        Ok(CudaBackend {
            crew: Crew::new(parts.len() - 1)?,
            parts,
            compiler,
            staged: None,
            placed: cuts.clone(),
            cuts,
            outputs: Default::default(),
            in_flight: Vec::with_capacity(2),
            submissions: 0,
            edited: EditedLayers::new(config),
            failed: None,
        })
    }

    /// The GPUs that it runs on, with their properties before its start.
    pub fn gpus(&self) -> impl Iterator<Item = &GpuInfo> {
        self.parts.iter().map(|part| &part.gpu)
    }

    /// Bytes of the world's buffers on each GPU.
    pub fn memory_bytes(&self) -> u64 {
        self.parts[0].buffers.plan.bytes()
    }

    /// Lets a part fail in a stage of a tick, for a test of what follows. Parts that are not
    /// there never fail.
    pub fn fail_at(&mut self, fault: Fault) {
        if let Some(part) = self.parts.get_mut(fault.part) {
            part.fault = Some(fault);
        }
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn logic_compiler(&self) -> Box<dyn LogicCompiler> {
        Box::new(self.compiler.clone())
    }

    fn stage(&mut self, logic: CompiledLogic) {
        self.staged = Some(logic);
    }

    fn submit(&mut self, frame: &Frame) -> Result<SubmittedTick, TickError> {
        self.check_failed()?;
        if self.in_flight.len() == 2 {
            return Err(TickError::TooManyInFlight);
        }
        let tick = self.parts[0].tick;
        frame.check_tick(tick)?;
        if let Some(logic) = &frame.logic {
            frame.check(tick)?;
            self.take_logic(logic)
                .map_err(|error| TickError::Scripts(error.to_string()))?;
        }
        self.move_clients()
            .map_err(|error| self.fail(0, Stage::Upload, error))?;
        let parity = tick.0 as usize % 2;
        self.outputs[parity].prepare(&self.parts[0].sizes, self.parts.len());
        self.submissions += 1;
        let shared = Shared::new(frame, &self.cuts, self.submissions);
        let parts = self.parts.iter_mut().collect();
        let started = self.crew.run(parts, |part: &mut Part| {
            let mut stage = Stage::Upload;
            let started = part.start(&shared, &mut stage);
            started.map_err(|refusal| (stage, refusal))
        });
        let (mut refused, mut failures) = (None, vec![]);
        for (part, started) in started.into_iter().enumerate() {
            match started {
                Ok(()) => {}
                Err((_, UploadError::Frame(error))) => refused = Some(error),
                Err((stage, UploadError::Device(error))) => failures.push((part, stage, error)),
            }
        }
        // Where one part fails, those that need something of it do, too.
        let cause = |(_, _, error): &(usize, Stage, DriverError)| error.is_of_another();
        if let Some((part, stage, error)) = failures.into_iter().min_by_key(cause) {
            return Err(self.fail(part, stage, error));
        }
        // All parts refuse a frame, or none.
        if let Some(error) = refused {
            return Err(error);
        }
        for part in &mut self.parts {
            part.tick = tick.next();
        }
        self.in_flight.push(tick);
        Ok(SubmittedTick(tick))
    }

    fn collect(&mut self, ticket: SubmittedTick) -> Result<Arc<TickOutput>, TickError> {
        self.check_failed()?;
        let Some(i) = self.in_flight.iter().position(|&t| t == ticket.0) else {
            return Err(TickError::NotInFlight(ticket.0));
        };
        self.in_flight.remove(i);
        let finished = self.finish(ticket.0);
        for part in &mut self.parts {
            part.retire(ticket.0);
        }
        finished.map_err(|(part, Failure(stage, error))| self.fail(part, stage, error))
    }

    fn due(&mut self, wants: &dyn Fn(CommandKind) -> bool) -> Result<DueCommands<'_>, TickError> {
        self.check_failed()?;
        // The next tick's commands take the place of the last one's.
        if self.in_flight.is_empty() {
            let fetched = self.parts[0].fetch_due(wants);
            fetched.map_err(|error| self.fail(0, Stage::Download, error))?;
            return Ok(self.parts[0].due.commands());
        }
        Ok(DueCommands::default())
    }

    fn set_quiet(&mut self, is_quiet: bool) {
        for part in &mut self.parts {
            part.is_quiet = is_quiet;
        }
    }

    fn start_copy(&mut self) -> Result<(), TickError> {
        self.check_failed()?;
        let begun = self.parts[0].begin_copy();
        begun.map_err(|error| self.fail(0, Stage::Download, error))
    }

    fn continue_copy(&mut self) -> Result<Option<Snapshot>, TickError> {
        self.check_failed()?;
        let advanced = self.parts[0].advance_copy();
        advanced.map_err(|error| self.fail(0, Stage::Download, error))
    }

    fn snapshot(&mut self) -> Result<Snapshot, TickError> {
        self.check_failed()?;
        self.fetch_snapshot()
            .map_err(|error| self.fail(0, Stage::Download, error))
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        if !self.in_flight.is_empty() {
            return Err(RestoreError::InFlight);
        }
        snapshot.check(&self.parts[0].config)?;
        if snapshot.logic != self.parts[0].config.logic {
            self.take_logic(&snapshot.logic)
                .map_err(|error| RestoreError::Scripts(error.to_string()))?;
        }
        for part in &mut self.parts {
            part.put_snapshot(snapshot)
                .map_err(|error| RestoreError::Device(error.to_string()))?;
            part.due = DueBuffer::default();
        }
        self.edited.restore(&self.parts[0].config, &snapshot.edits);
        // Every part has what all clients know.
        self.placed = self.cuts.clone();
        Ok(())
    }

    fn state_hash(&mut self) -> Result<StateHash, TickError> {
        let snapshot = self.snapshot()?;
        let part = &self.parts[0];
        let per_client = part.config.limits.observers_per_client as usize;
        Ok(StateHash::of(
            &snapshot,
            part.sizes.columns as usize,
            per_client,
        ))
    }
}

impl CudaBackend {
    /// Brings scripts into force, for the next tick: on all parts, or on none.
    fn take_logic(&mut self, logic: &LogicConfig) -> Result<(), ScriptError> {
        let staged = self.staged.take();
        let (config, code) = match staged.and_then(|staged| staged.into_code(logic)) {
            Some(staged) => staged,
            None => {
                let compiled = compile_with(&self.parts[0].config, logic);
                let (config, logic) = compiled.map_err(ScriptError::Problems)?;
                let code: Arc<Code> = self.compiler.code(&config, &logic)?;
                (config, code)
            }
        };
        let load = |part: &Part| part.scripts.load(&code, &part.device);
        let loaded: Vec<Scripts> = self.parts.iter().map(load).collect::<Result<_, _>>()?;
        for (part, scripts) in self.parts.iter_mut().zip(loaded) {
            part.take_scripts(scripts, &config, &self.in_flight)
                .map_err(|error| ScriptError::Kernels(error.into()))?;
        }
        Ok(())
    }

    /// Gives each part what the clients know that it is to serve next.
    fn move_clients(&mut self) -> Result<(), DriverError> {
        if self.cuts == self.placed {
            return Ok(());
        }
        let used = self.parts[0].clients_used;
        for (from, before) in self.placed.ranges(used).enumerate() {
            for (to, after) in self.cuts.ranges(used).enumerate() {
                let start = before.start.max(after.start);
                let end = before.end.min(after.end);
                if from != to && start < end {
                    self.parts[to].take_clients(&self.parts[from], start..end)?;
                }
            }
        }
        self.placed = self.cuts.clone();
        Ok(())
    }

    /// Waits for a tick, and downloads its output.
    fn finish(&mut self, tick: shared::Tick) -> Result<Arc<TickOutput>, (usize, Failure)> {
        let parity = tick.0 as usize % 2;
        let mut output = std::mem::take(&mut self.outputs[parity].output);
        // Nothing else holds the output before it is returned.
        let finished = match Arc::get_mut(&mut output) {
            Some(out) => {
                let mut deliveries = std::mem::take(&mut out.deliveries);
                let mut hearings = std::mem::take(&mut out.hearings);
                let parts = &mut self.parts;
                let (delivered, heard) = (&mut deliveries, &mut hearings);
                let finished = finish_parts(&mut self.crew, parts, tick, out, delivered, heard);
                let added = self.edited.apply(out);
                let hash = out.hash.parts.get_mut(part::TRACKS);
                if let (Ok(_), Some(hash)) = (&finished, hash) {
                    *hash = hash.wrapping_add(added);
                }
                out.deliveries = deliveries;
                out.hearings = hearings;
                finished.map(|views| {
                    if !self.parts[0].is_quiet && Cuts::follow_after(tick) {
                        self.cuts.follow(&out.deliveries, &views);
                    }
                })
            }
            None => Ok(()),
        };
        self.outputs[parity].output = output.clone();
        finished.map(|()| output)
    }

    fn fetch_snapshot(&self) -> Result<Snapshot, DriverError> {
        let clients = self.parts[0].config.limits.clients;
        let (mut known, mut behind) = (vec![], vec![]);
        for (part, clients) in self.parts.iter().zip(self.placed.ranges(clients)) {
            part.fetch_known(clients, &mut known, &mut behind)?;
        }
        Ok(Snapshot {
            known,
            behind,
            ..self.parts[0].fetch_state()?
        })
    }

    fn check_failed(&self) -> Result<(), TickError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Notes the error that a part has come upon. GPUs that wait for a failed one, or copy from
    /// it, have errors too: the one to name is that on which nothing works any more.
    fn fail(&mut self, part: usize, stage: Stage, error: DriverError) -> TickError {
        let broken = |part: &&Part| part.device.check().is_err();
        let part = self.parts.iter().find(broken).unwrap_or(&self.parts[part]);
        let mut left: Vec<u32> = (self.parts.iter())
            .filter(|other| other.ordinal != part.ordinal && !broken(other))
            .map(|other| other.ordinal)
            .collect();
        left.sort_unstable();
        left.dedup();
        let error = TickError::Device {
            gpu: part.ordinal,
            stage: stage.name(),
            message: error.to_string(),
            left,
        };
        self.failed = Some(error.clone());
        error
    }
}

/// Downloads what each part gives back, and puts it together. Returns what the clients of each
/// part see; an error comes with the number of its part.
fn finish_parts(
    crew: &mut Crew,
    parts: &mut [Part],
    tick: shared::Tick,
    out: &mut TickOutput,
    deliveries: &mut Deliveries,
    hearings: &mut Hearings,
) -> Result<Vec<Views>, (usize, Failure)> {
    let parity = tick.0 as usize % 2;
    let firsts: Vec<u32> = (parts.iter())
        .map(|part| part.flights[parity].chunks.all.start)
        .collect();
    deliveries.cut(firsts.iter().copied());
    hearings.cut(firsts.iter().copied());
    let mut common = Some(&mut *out);
    let segments = deliveries.segments.iter_mut().zip(&mut hearings.segments);
    let shares = segments.map(|(deliveries, hearings)| Share {
        deliveries,
        hearings,
        common: common.take(),
    });
    let tasks = parts.iter_mut().zip(shares).collect();
    let finished = crew.run(tasks, |(part, share): (&mut Part, Share)| {
        let number = part.number;
        part.finish(tick, share)
            .map_err(|failure| (number, failure))
    });
    let finished: Vec<Finished> = finished.into_iter().collect::<Result<_, _>>()?;
    let Some((first, others)) = finished.split_first() else {
        return Ok(vec![]);
    };
    let mut counters = first.counters;
    let mut stages = first.stages;
    for other in others {
        counters.add_part(&other.counters);
        for stage in Stage::ALL {
            stages.set(stage, stages.of(stage).max(other.stages.of(stage)));
        }
    }
    let part = &parts[0];
    let flight = &part.flights[parity];
    out.tick = tick;
    out.stages = stages;
    out.part_times.clear();
    out.part_times.extend(finished.iter().map(|part| part.busy));
    out.counts = Counts::of(&counters, &flight.totals);
    for (list, counted) in [
        (&mut out.over_budget, counters.over_budget_of),
        (&mut out.out_of_range, counters.out_of_range_of),
    ] {
        list.clear();
        let of_kinds = (0..).map(CommandKind).zip(counted);
        let some = of_kinds.filter(|&(_, runs)| runs > 0);
        list.extend(some.map(|(kind, runs)| (kind, u64::from(runs))));
    }
    out.hash = super::state_hash(&counters, &part.sizes, tick.next(), flight.logic_hash);
    Ok(finished.into_iter().filter_map(|f| f.views).collect())
}

impl Output {
    /// Makes a new output if the last one is still held elsewhere.
    fn prepare(&mut self, sizes: &Sizes, parts: usize) {
        let is_ours = Arc::get_mut(&mut self.output).is_some();
        if is_ours && self.is_locked {
            return;
        }
        let room = |n: u64| n as usize;
        let segments = (0..parts).map(|_| Segment {
            first: 0,
            offsets: HostVec::locked(room(sizes.clients + 1)),
            items: HostVec::locked(room(share_of(sizes.deliveries, parts))),
        });
        self.output = Arc::new(TickOutput {
            changes: Changes {
                slots: HostVec::locked(room(sizes.changes())),
                offsets: HostVec::locked(room(sizes.changes() + 1)),
                columns: HostVec::locked(room(sizes.changes())),
                values: HostVec::locked(room(sizes.changes())),
                causes: HostVec::locked(room(sizes.changes() * sizes.causes)),
                actors: HostVec::locked(room(sizes.changes() * sizes.causes)),
            },
            courses: Courses {
                slots: HostVec::locked(room(sizes.capacity * sizes.motion)),
                velocities: HostVec::locked(room(3 * sizes.capacity * sizes.motion)),
            },
            deliveries: Deliveries {
                segments: segments.collect(),
            },
            bucket_ranges: (sizes.by_buckets > 0).then(|| BucketRanges {
                order: HostVec::locked(room(sizes.capacity)),
                ranges: HostVec::locked(room(sizes.clients * sizes.rows)),
                rows: room(sizes.rows),
            }),
            ..TickOutput::default()
        });
        self.is_locked = true;
    }
}

/// Deliveries for which a part has page-locked room: somewhat more than its share, since cuts
/// follow the deliveries of earlier ticks. What is beyond takes longer to download.
fn share_of(deliveries: u64, parts: usize) -> u64 {
    match parts as u64 {
        1 => deliveries,
        parts => deliveries.min(deliveries.div_ceil(parts) * 5 / 4),
    }
}
