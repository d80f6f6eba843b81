use crate::content::batch::{Attribute, Batch, Matches, ResolvedString, ResolvedStrings};
use crate::content::counting::{Counted, CountedFilter, Order, Table};
use crate::content::subscriptions::Subscriptions;
use crate::cuda::KERNELS;
use crate::cuda::device::{Device, DriverError, Grid, HostBuffer, Kernel, Lane, NoDevice};
use crate::cuda::layout::Pointer;

use super::lists::list_bits;
use super::{MatchError, argument, reserve};

/// How counters become zero again (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// The kernel clears the other of two sets.
    InKernel,
    /// A memset before each notification.
    Memset,
}

/// The paper's CCM, as it describes it: one launch a notification. Its tables are
/// those of the subscriptions as they were when it was made.
pub struct CudaCountingMatcher {
    table: Table,
    reset: Reset,
    row_offsets: Pointer,
    constraints: Pointer,
    filters: Pointer,
    counters: [Pointer; 2],
    input: [Pointer; 3],
    bits: Pointer,
    words: usize,
    /// How many notifications a wave takes.
    wave: usize,
    count: Kernel,
    resolved: ResolvedStrings,
    bits_out: HostBuffer<u32>,
    taken: u64,
    device: Device,
}

impl CudaCountingMatcher {
    pub fn new(
        subscriptions: &Subscriptions,
        order: Order,
        reset: Reset,
    ) -> Result<CudaCountingMatcher, NoDevice> {
        let table = Table::build(subscriptions, order);
        let words = subscriptions.limits().interfaces.div_ceil(32).max(1);
        let wave = (BITS_BYTES / (words * 4)).clamp(1, WAVE_MAX);
        let place = |base: Pointer, end: &mut u64| {
            [
                table.row_offsets.len() * 4,
                table.constraints.len() * size_of::<Counted>(),
                table.filters.len() * size_of::<CountedFilter>(),
                table.filters.len() * 4,
                table.filters.len() * 4,
                ATTRIBUTES * size_of::<Attribute>(),
                STRINGS * size_of::<ResolvedString>(),
                PATTERNS * 4,
                wave * words * 4,
            ]
            .map(|bytes| reserve(base, end, bytes as u64))
        };
        let mut device = Device::open(KERNELS)?;
        let mut taken = 0;
        place(0, &mut taken);
        let base = device.allocate(taken)?;
        let [
            row_offsets,
            constraints,
            filters,
            c1,
            c2,
            attributes,
            strings,
            patterns,
            bits,
        ] = place(base, &mut 0);
        device.upload(Lane::Work, row_offsets, &table.row_offsets)?;
        device.upload(Lane::Work, constraints, &table.constraints)?;
        device.upload(Lane::Work, filters, &table.filters)?;
        device.synchronize(Lane::Work)?;
        Ok(CudaCountingMatcher {
            table,
            reset,
            row_offsets,
            constraints,
            filters,
            counters: [c1, c2],
            input: [attributes, strings, patterns],
            bits,
            words,
            wave,
            count: device.kernel("content_count")?,
            resolved: ResolvedStrings::default(),
            bits_out: HostBuffer::new(&device, wave * words)?,
            taken,
            device,
        })
    }

    pub fn bytes(&self) -> u64 {
        self.taken
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
        if strings.len() > STRINGS || patterns.len() > PATTERNS {
            return Err(MatchError::Strings {
                needed: size_of_val(&strings[..]) + size_of_val(&patterns[..]),
                limit: STRINGS * size_of::<ResolvedString>() + PATTERNS * 4,
            });
        }
        self.device.upload(Lane::Work, self.input[1], strings)?;
        self.device.upload(Lane::Work, self.input[2], patterns)?;
        for counters in self.counters {
            self.device
                .fill(counters, self.table.filters.len() as u64 * 4, 0)?;
        }
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
        let offsets = &batch.offsets()[start..=end];
        let before = offsets[0];
        let attributes = &batch.attributes()[before as usize..offsets[end - start] as usize];
        self.device.upload(Lane::Work, self.input[0], attributes)?;
        let bytes = ((end - start) * self.words * 4) as u64;
        self.device.fill(self.bits, bytes, 0)?;
        for (i, &first) in offsets[..end - start].iter().enumerate() {
            let attributes = batch.attributes_of(start + i);
            self.launch(i, first - before, attributes)?;
        }
        let out = &mut self.bits_out[..(end - start) * self.words];
        self.device.download(Lane::Work, out, self.bits)?;
        self.device.synchronize(Lane::Work)?;
        for bits in out.chunks_mut(self.words) {
            for &interface in &self.table.always {
                bits[interface as usize / 32] |= 1 << (interface % 32);
            }
            list_bits(bits, matches);
        }
        Ok(())
    }

    /// As many threads as the longest row needs, for each attribute.
    fn launch(
        &mut self,
        place: usize,
        mut first: u32,
        attributes: &[Attribute],
    ) -> Result<(), DriverError> {
        let rows = &self.table.row_offsets;
        let row = |a: &Attribute| {
            let name = a.name as usize;
            rows.get(name + 1).map_or(0, |end| end - rows[name])
        };
        let longest = attributes.iter().map(row).max().unwrap_or(0);
        let mut row_blocks = longest.div_ceil(256).max(1);
        let mut n = attributes.len() as u32;
        let [mut counters, mut next] = self.counters;
        let filter_bytes = self.table.filters.len() as u64 * 4;
        match self.reset {
            Reset::InKernel => self.counters.swap(0, 1),
            Reset::Memset => {
                next = 0;
                self.device.fill(counters, filter_bytes, 0)?;
            }
        }
        let (mut row_offsets, mut constraints) = (self.row_offsets, self.constraints);
        let (mut filters, [mut input, mut strings, mut patterns]) = (self.filters, self.input);
        let mut bits = self.bits + (place * self.words * 4) as u64;
        let mut names = (rows.len() - 1) as u32;
        let mut filter_count = self.table.filters.len() as u32;
        let mut arguments = [
            argument(&mut row_offsets),
            argument(&mut constraints),
            argument(&mut filters),
            argument(&mut input),
            argument(&mut strings),
            argument(&mut patterns),
            argument(&mut counters),
            argument(&mut next),
            argument(&mut bits),
            argument(&mut names),
            argument(&mut filter_count),
            argument(&mut first),
            argument(&mut n),
            argument(&mut row_blocks),
        ];
        let grid = Grid {
            blocks: row_blocks * n.max(1),
            threads: 256,
            shared_bytes: 0,
        };
        self.device.launch(self.count, grid, &mut arguments)
    }
}

const WAVE_MAX: usize = 1_024;
const ATTRIBUTES: usize = WAVE_MAX * crate::content::ATTRIBUTES_MAX;
const STRINGS: usize = 1 << 16;
const PATTERNS: usize = 1 << 20;
const BITS_BYTES: usize = 128 << 20;
