//! Matching by counting on a GPU.

pub mod layout;

use std::ops::Range;
use std::sync::Arc;

use device::gpu::Layout;
use device::{Copies, Device, DriverError, Event, Grid, HostBuffer, Kernel, Lane, NoDevice, Plan};
use gpu_kernels::content::batch::{Attribute, ResolvedString, ResolvedStrings};
use gpu_kernels::content::cuda::MatchError;
use gpu_kernels::content::cuda::lists::list_bits;
use gpu_kernels::content::{Batch, Matches, Subscriptions};

use super::table::{Order, Table};
use crate::module::KERNELS;
use layout::{CountJob, CountSizes, PATTERNS_MAX, STRINGS_MAX};

/// How counters become zero again (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// The kernel clears the other of two sets.
    InKernel,
    /// A memset before each wave.
    Memset,
}

/// The paper's CCM, with as many notifications a launch as its counters have room
/// for: one at a time it is the paper's. Its tables are those of the subscriptions as
/// they were when it was made.
pub struct CudaCountingMatcher {
    table: Table,
    reset: Reset,
    /// With all buffers placed; the rest is filled in for each launch.
    job: CountJob,
    /// How many notifications a wave takes.
    wave: usize,
    count: Kernel,
    resolved: ResolvedStrings,
    bits_out: HostBuffer<u32>,
    /// Before the upload, and after each stage.
    marks: [Event; 4],
    stages: Stages,
    bytes: u64,
    device: Arc<Device>,
}

/// How long the last wave took on the GPU, in milliseconds: the parts of figure 5.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    /// Copying the input, and the memset where there is one.
    pub upload_ms: f32,
    pub kernel_ms: f32,
    pub download_ms: f32,
}

impl CudaCountingMatcher {
    /// On the GPU with this number.
    pub fn new(
        ordinal: u32,
        subscriptions: &Subscriptions,
        order: Order,
        reset: Reset,
    ) -> Result<CudaCountingMatcher, NoDevice> {
        let table = Table::build(subscriptions, order);
        let sizes = sizes(&table, subscriptions.limits().subscribers);
        let mut plan = Plan::default();
        let group = plan.add(CountJob::buffers(&sizes));
        let mut device = Device::open(ordinal, &KERNELS, &LAYOUTS)?;
        let base = device.allocate(plan.bytes())?;
        let device = Arc::new(device);
        let mut job = CountJob {
            counter_words: sizes.counter_words as u32,
            bit_words: sizes.bit_words as u32,
            names: sizes.names as u32,
            ..CountJob::default()
        };
        job.place(plan.places(base, &group));
        device.copies(|copies| {
            copies.upload(Lane::Work, job.row_offsets.writable(), &table.row_offsets)?;
            copies.upload(Lane::Work, job.constraints.writable(), &table.constraints)?;
            copies.upload(Lane::Work, job.filters.writable(), &table.filters)?;
            for counters in [job.counters, job.next_counters] {
                device.fill(counters, sizes.wave * sizes.counter_words, 0)?;
            }
            Ok::<(), DriverError>(())
        })?;
        let mark = || device.event();
        Ok(CudaCountingMatcher {
            table,
            reset,
            job,
            wave: sizes.wave as usize,
            count: device.kernel("counting_count")?,
            resolved: ResolvedStrings::default(),
            bits_out: HostBuffer::new(&device, (sizes.wave * sizes.bit_words) as usize)?,
            marks: [mark()?, mark()?, mark()?, mark()?],
            stages: Stages::default(),
            bytes: plan.bytes(),
            device,
        })
    }

    /// Device memory in all.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How long the parts of the last wave took.
    pub fn stages(&self) -> Stages {
        self.stages
    }

    /// Finds all matches of a batch.
    pub fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) -> Result<(), MatchError> {
        self.device.enter()?;
        subscriptions.resolve(batch, &mut self.resolved);
        matches.clear();
        let (strings, patterns) = (&self.resolved.strings, &self.resolved.patterns);
        if strings.len() > STRINGS_MAX || patterns.len() > PATTERNS_MAX {
            return Err(MatchError::Strings {
                needed: size_of_val(&strings[..]) + size_of_val(&patterns[..]),
                limit: STRINGS_MAX * size_of::<ResolvedString>() + PATTERNS_MAX * 4,
            });
        }
        // A batch that comes again is copied from where it is.
        let attributes = batch.sendable_attributes();
        for start in (0..batch.len()).step_by(self.wave) {
            let end = (start + self.wave).min(batch.len());
            self.match_wave(batch.offsets(), attributes, start..end, matches)?;
        }
        Ok(())
    }

    /// Appends the matches of some notifications.
    fn match_wave(
        &mut self,
        offsets: &[u32],
        attributes: &[Attribute],
        range: Range<usize>,
        matches: &mut Matches,
    ) -> Result<(), DriverError> {
        let (is_first, n) = (range.start == 0, range.len());
        let offsets = &offsets[range.start..=range.end];
        let attributes = &attributes[offsets[0] as usize..offsets[n] as usize];
        let grid = self.prepare(n, offsets[0], attributes);
        let (device, job, marks) = (self.device.clone(), self.job, &self.marks);
        let (reset, count, resolved) = (self.reset, self.count, &self.resolved);
        let bit_words = job.bit_words as usize;
        let out = &mut self.bits_out[..n * bit_words];
        device.copies(|copies| {
            let device = copies.device();
            device.record(Lane::Work, &marks[0])?;
            if is_first {
                copies.upload(Lane::Work, job.strings.writable(), &resolved.strings)?;
                copies.upload(Lane::Work, job.patterns.writable(), &resolved.patterns)?;
            }
            copies.upload(Lane::Work, job.offsets.writable(), offsets)?;
            copies.upload(Lane::Work, job.attributes.writable(), attributes)?;
            device.fill(job.bits, (n * bit_words) as u64, 0)?;
            if reset == Reset::Memset {
                let words = n as u64 * u64::from(job.counter_words);
                device.fill(job.counters, words, 0)?;
            }
            device.record(Lane::Work, &marks[1])?;
            launch(copies, count, grid, &job)?;
            device.record(Lane::Work, &marks[2])?;
            copies.download(Lane::Work, out, job.bits)?;
            device.record(Lane::Work, &marks[3])
        })?;
        if reset == Reset::InKernel {
            std::mem::swap(&mut self.job.counters, &mut self.job.next_counters);
            self.job.words_to_clear = n as u64 * u64::from(job.counter_words);
        }
        let between = |i: usize| device.elapsed_ms(&self.marks[i], &self.marks[i + 1]);
        self.stages = Stages {
            upload_ms: between(0)?,
            kernel_ms: between(1)?,
            download_ms: between(2)?,
        };
        for bits in self.bits_out[..n * bit_words].chunks_mut(bit_words) {
            for &subscriber in &self.table.always {
                bits[subscriber as usize / 32] |= 1 << (subscriber % 32);
            }
            list_bits(bits, matches);
        }
        Ok(())
    }

    /// Notes what a launch is about. There are as many threads for each attribute as
    /// the longest row needs, until there are enough of them for any GPU.
    fn prepare(&mut self, n: usize, first: u32, attributes: &[Attribute]) -> Grid {
        let rows = &self.table.row_offsets;
        let row = |a: &Attribute| {
            let name = a.name as usize;
            rows.get(name + 1).map_or(0, |end| end - rows[name])
        };
        let longest = attributes.iter().map(row).max().unwrap_or(0);
        let attributes = (attributes.len() as u32).max(1);
        let enough = (BLOCKS_WANTED / attributes).max(1);
        self.job.notifications = n as u32;
        self.job.first = first;
        self.job.row_blocks = longest.div_ceil(THREADS).clamp(1, enough);
        Grid::blocks(self.job.row_blocks * attributes, THREADS)
    }
}

/// How many notifications a wave takes, so that their counters and bits fit.
fn sizes(table: &Table, subscribers: usize) -> CountSizes {
    let bit_words = subscribers.div_ceil(32).max(1);
    let counter_words = table.filters.len().div_ceil(2).max(1);
    let wave = (BITS_BYTES / (bit_words * 4)).min(COUNTERS_BYTES / (counter_words * 4));
    CountSizes {
        names: table.names() as u64,
        constraints: table.constraints.len() as u64,
        filters: table.filters.len() as u64,
        wave: wave.clamp(1, WAVE_MAX) as u64,
        counter_words: counter_words as u64,
        bit_words: bit_words as u64,
    }
}

#[allow(unsafe_code)]
fn launch(
    copies: &Copies<'_, '_>,
    kernel: Kernel,
    grid: Grid,
    job: &CountJob,
) -> Result<(), DriverError> {
    // SAFETY: the parameter of `counting_count`. It reads the tables and the wave, whose
    // lengths are in the job, and writes to counters and bits of at most `wave`
    // notifications, for which `CountJob::buffers` made room.
    unsafe { copies.device().launch(kernel, grid, &(*job,)) }
}

const LAYOUTS: [Layout; 2] = [
    ("counting_layout_hash", layout::hash),
    (
        "content_layout_hash",
        gpu_kernels::content::cuda::layout::hash,
    ),
];

const WAVE_MAX: usize = 4_096;
const THREADS: u32 = 256;
/// Enough for any GPU.
const BLOCKS_WANTED: u32 = 1 << 17;
const BITS_BYTES: usize = 256 << 20;
const COUNTERS_BYTES: usize = 1 << 30;
