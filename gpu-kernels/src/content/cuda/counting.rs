use crate::content::batch::{Attribute, Batch, Matches, ResolvedString, ResolvedStrings};
use crate::content::counting::{Counted, CountedFilter, Order, Table};
use crate::content::subscriptions::Subscriptions;
use crate::cuda::KERNELS;
use crate::cuda::device::{Device, DriverError, Event, Grid, HostBuffer, Kernel, Lane, NoDevice};
use crate::cuda::layout::Pointer;

use super::lists::list_bits;
use super::{MatchError, argument, reserve};

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
    places: Places,
    /// Words of a notification's counters, and of its bits.
    counter_words: usize,
    bit_words: usize,
    /// How many notifications a wave takes.
    wave: usize,
    /// Words of the other set that are still to be cleared.
    used: usize,
    count: Kernel,
    resolved: ResolvedStrings,
    bits_out: HostBuffer<u32>,
    marks: [Event; 4],
    stages: Stages,
    taken: u64,
    device: Device,
}

/// What the last wave took on the GPU, in milliseconds: the parts of figure 5.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    /// Copying the input, and the memset where there is one.
    pub upload_ms: f32,
    pub kernel_ms: f32,
    pub download_ms: f32,
}

#[derive(Clone, Copy)]
struct Places {
    row_offsets: Pointer,
    constraints: Pointer,
    filters: Pointer,
    counters: [Pointer; 2],
    offsets: Pointer,
    attributes: Pointer,
    strings: Pointer,
    patterns: Pointer,
    bits: Pointer,
}

impl CudaCountingMatcher {
    pub fn new(
        subscriptions: &Subscriptions,
        order: Order,
        reset: Reset,
    ) -> Result<CudaCountingMatcher, NoDevice> {
        let table = Table::build(subscriptions, order);
        let bit_words = subscriptions.limits().interfaces.div_ceil(32).max(1);
        let counter_words = table.filters.len().div_ceil(2).max(1);
        let wave = (BITS_BYTES / (bit_words * 4)).min(COUNTERS_BYTES / (counter_words * 4));
        let wave = wave.clamp(1, WAVE_MAX);
        let mut device = Device::open(KERNELS)?;
        let mut taken = 0;
        Places::new(0, &mut taken, &table, wave, counter_words, bit_words);
        let base = device.allocate(taken)?;
        let places = Places::new(base, &mut 0, &table, wave, counter_words, bit_words);
        device.upload(Lane::Work, places.row_offsets, &table.row_offsets)?;
        device.upload(Lane::Work, places.constraints, &table.constraints)?;
        device.upload(Lane::Work, places.filters, &table.filters)?;
        for counters in places.counters {
            device.fill(counters, (wave * counter_words * 4) as u64, 0)?;
        }
        device.synchronize(Lane::Work)?;
        let mark = || device.event();
        Ok(CudaCountingMatcher {
            table,
            reset,
            places,
            counter_words,
            bit_words,
            wave,
            used: 0,
            count: device.kernel("content_count")?,
            resolved: ResolvedStrings::default(),
            bits_out: HostBuffer::new(&device, wave * bit_words)?,
            marks: [mark()?, mark()?, mark()?, mark()?],
            stages: Stages::default(),
            taken,
            device,
        })
    }

    pub fn bytes(&self) -> u64 {
        self.taken
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
        batch.lock();
        subscriptions.resolve(batch, &mut self.resolved);
        matches.clear();
        let (strings, patterns) = (&self.resolved.strings, &self.resolved.patterns);
        if strings.len() > STRINGS || patterns.len() > PATTERNS {
            return Err(MatchError::Strings {
                needed: size_of_val(&strings[..]) + size_of_val(&patterns[..]),
                limit: STRINGS * size_of::<ResolvedString>() + PATTERNS * 4,
            });
        }
        self.device.record(Lane::Work, &self.marks[0])?;
        self.device
            .upload(Lane::Work, self.places.strings, strings)?;
        self.device
            .upload(Lane::Work, self.places.patterns, patterns)?;
        for start in (0..batch.len()).step_by(self.wave) {
            let end = (start + self.wave).min(batch.len());
            self.match_wave(batch, start, end, matches)?;
        }
        Ok(())
    }

    fn match_wave(
        &mut self,
        batch: &Batch,
        start: usize,
        end: usize,
        matches: &mut Matches,
    ) -> Result<(), DriverError> {
        let n = end - start;
        let (device, places) = (&self.device, &self.places);
        if start > 0 {
            device.record(Lane::Work, &self.marks[0])?;
        }
        let offsets = &batch.offsets()[start..=end];
        let attributes = &batch.attributes()[offsets[0] as usize..offsets[n] as usize];
        device.upload(Lane::Work, places.offsets, offsets)?;
        device.upload(Lane::Work, places.attributes, attributes)?;
        device.fill(places.bits, (n * self.bit_words * 4) as u64, 0)?;
        if self.reset == Reset::Memset {
            let words = n * self.counter_words;
            device.fill(places.counters[0], words as u64 * 4, 0)?;
        }
        device.record(Lane::Work, &self.marks[1])?;
        self.launch(n, offsets[0], attributes)?;
        self.device.record(Lane::Work, &self.marks[2])?;
        let out = &mut self.bits_out[..n * self.bit_words];
        self.device.download(Lane::Work, out, self.places.bits)?;
        self.device.record(Lane::Work, &self.marks[3])?;
        self.device.synchronize(Lane::Work)?;
        let [m0, m1, m2, m3] = &self.marks;
        self.stages = Stages {
            upload_ms: self.device.elapsed_ms(m0, m1)?,
            kernel_ms: self.device.elapsed_ms(m1, m2)?,
            download_ms: self.device.elapsed_ms(m2, m3)?,
        };
        for bits in out.chunks_mut(self.bit_words) {
            for &interface in &self.table.always {
                bits[interface as usize / 32] |= 1 << (interface % 32);
            }
            list_bits(bits, matches);
        }
        Ok(())
    }

    /// As many threads for each attribute as the longest row needs, until there are
    /// enough of them for any GPU.
    fn launch(
        &mut self,
        n: usize,
        first: u32,
        attributes: &[Attribute],
    ) -> Result<(), DriverError> {
        let rows = &self.table.row_offsets;
        let row = |a: &Attribute| {
            let name = a.name as usize;
            rows.get(name + 1).map_or(0, |end| end - rows[name])
        };
        let longest = attributes.iter().map(row).max().unwrap_or(0);
        let attributes = (attributes.len() as u32).max(1);
        let enough = (BLOCKS_WANTED / attributes).max(1);
        let row_blocks = longest.div_ceil(THREADS).clamp(1, enough);
        let places = self.places;
        let mut job = CountJob {
            row_offsets: places.row_offsets,
            constraints: places.constraints,
            filters: places.filters,
            offsets: places.offsets,
            attributes: places.attributes,
            strings: places.strings,
            patterns: places.patterns,
            counters: places.counters[0],
            next_counters: places.counters[1],
            bits: places.bits,
            words_to_clear: self.used as u64,
            counter_words: self.counter_words as u32,
            bit_words: self.bit_words as u32,
            names: (rows.len() - 1) as u32,
            notifications: n as u32,
            first,
            row_blocks,
        };
        if self.reset == Reset::InKernel {
            self.places.counters.swap(0, 1);
            self.used = n * self.counter_words;
        }
        let grid = Grid {
            blocks: row_blocks * attributes,
            threads: THREADS,
            shared_bytes: 0,
        };
        self.device
            .launch(self.count, grid, &mut [argument(&mut job)])
    }
}

impl Places {
    fn new(
        base: Pointer,
        end: &mut u64,
        table: &Table,
        wave: usize,
        counter_words: usize,
        bit_words: usize,
    ) -> Places {
        let mut next = |bytes: usize| reserve(base, end, bytes as u64);
        Places {
            row_offsets: next(table.row_offsets.len() * 4),
            constraints: next(table.constraints.len() * size_of::<Counted>()),
            filters: next(table.filters.len() * size_of::<CountedFilter>()),
            counters: [0; 2].map(|_| next(wave * counter_words * 4)),
            offsets: next((wave + 1) * 4),
            attributes: next(wave * crate::content::ATTRIBUTES_MAX * size_of::<Attribute>()),
            strings: next(STRINGS * size_of::<ResolvedString>()),
            patterns: next(PATTERNS * 4),
            bits: next(wave * bit_words * 4),
        }
    }
}

/// As `kernels/content.cu` has it.
#[repr(C)]
struct CountJob {
    row_offsets: Pointer,
    constraints: Pointer,
    filters: Pointer,
    offsets: Pointer,
    attributes: Pointer,
    strings: Pointer,
    patterns: Pointer,
    counters: Pointer,
    next_counters: Pointer,
    bits: Pointer,
    words_to_clear: u64,
    counter_words: u32,
    bit_words: u32,
    names: u32,
    notifications: u32,
    first: u32,
    row_blocks: u32,
}

const _: () = assert!(size_of::<CountJob>() == 112);

const WAVE_MAX: usize = 4_096;
const THREADS: u32 = 256;
const BLOCKS_WANTED: u32 = 1 << 17;
const STRINGS: usize = 1 << 16;
const PATTERNS: usize = 1 << 20;
const BITS_BYTES: usize = 256 << 20;
const COUNTERS_BYTES: usize = 1 << 30;
