//! The tick's sort and scan against CUB's device-wide calls, on the same numbers.

mod cub;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use device::gpu::primitives::{self as kernels, Pairs};
use program::note;
use shared::world::mix::mix;

use crate::bench::Bench;
use crate::options::{SeedOption, at_least_one};
use crate::report::markdown::{NOTHING, grouped, head, line, rounded, title};
use crate::report::{Recorder, Report, Row, Sample};
use cub::Cub;

/// The primitives of the tick on a GPU. Fails where ours and CUB's have different
/// results.
pub struct Primitives;

/// The tick's sort and scan against CUB's device-wide calls
///
/// Needs an NVIDIA GPU. If nvcc is found, CUB is compiled and runs on the same numbers.
/// The bench fails if the results differ.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of items
    #[arg(long, default_value = "4096,65536,524288,1048576,4194304", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    items: Vec<u32>,
    /// Numbers of key bits to sort by
    #[arg(long, default_value = "16,32", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=32))]
    key_bits: Vec<u32>,
    /// Timed runs of each
    #[arg(long, default_value = "50", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    /// The CUDA compiler [default: nvcc in PATH or in /usr/local/cuda/bin]
    #[arg(long, value_name = "FILE")]
    nvcc: Option<PathBuf>,
    #[command(flatten)]
    random: SeedOption,
}

impl Bench for Primitives {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        let cub = Cub::find(options.nvcc.as_deref())?;
        if cub.is_none() {
            note!("no nvcc is found: CUB is left out");
        }
        for &n in &options.items {
            recorder.add(measure(n as usize, cub.as_ref(), options)?)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(write(report, out)?)
    }
}

/// Rows of sorts and of a scan of `n` items.
fn measure(n: usize, cub: Option<&Cub>, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut primitives = kernels::Primitives::new(crate::cuda::GPU, n)?;
    let seed = options.random.seed;
    let items = (0..n as u64).map(|i| (mix(seed, i) >> 32) as u32);
    let items: Vec<u32> = items.collect();
    let mut rows = vec![];
    for (i, &bits) in options.key_bits.iter().enumerate() {
        let theirs = cub.map(|cub| cub.run(&items, bits, options.runs));
        let theirs = theirs.transpose()?;
        let ours = sort(&mut primitives, &items, bits, options.runs)?;
        let name = format!("sort of pairs by {bits} bits");
        rows.extend(pair(&name, n, &ours, theirs.as_ref().map(|t| &t.sort))?);
        if i == 0 {
            let ours = scan(&mut primitives, &items, options.runs)?;
            let theirs = theirs.as_ref().map(|t| &t.scan);
            rows.extend(pair("exclusive scan", n, &ours, theirs)?);
        }
    }
    Ok(rows)
}

fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    title(
        out,
        "The tick's primitives, in milliseconds on the device (medians)",
    )?;
    head(out, &["primitive", "items", "ours", "CUB", "ours / CUB"])?;
    let is_same = |a: &Row, b: &Row| a.work == b.work && a.has_same(b, &["primitive"]);
    for pair in report.rows.chunk_by(is_same) {
        let of = |backend: &str| {
            pair.iter()
                .find(|r| r.backend == backend)
                .map(|r| r.total_ms)
        };
        let ms = |n: Option<f64>| n.map_or(NOTHING.to_owned(), |n| format!("{n:.4}"));
        let ratio = of(OURS).zip(of(CUB)).map(|(ours, cub)| ours / cub);
        let cells = [
            pair[0].text("primitive").unwrap_or(NOTHING).to_owned(),
            grouped(pair[0].work),
            ms(of(OURS)),
            ms(of(CUB)),
            rounded(ratio),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

/// Times and result of a primitive.
struct Measured {
    times: Vec<Duration>,
    checksum: u64,
}

/// The rows of one primitive: ours, and CUB's if it was run.
fn pair(
    primitive: &str,
    n: usize,
    ours: &Measured,
    theirs: Option<&Measured>,
) -> anyhow::Result<Vec<Row>> {
    let row = |backend: &str, approach: &str, measured: &Measured| {
        let samples = measured.times.iter().map(|&total| Sample {
            total,
            stages: vec![],
        });
        let samples: Vec<Sample> = samples.collect();
        let mut row = Row::of(NAME, backend, approach, &samples);
        row.put("primitive", primitive);
        row.work = n as u64;
        row.checksum = format!("{:016x}", measured.checksum);
        row
    };
    let mut rows = vec![row(OURS, "the tick's kernels", ours)];
    if let Some(theirs) = theirs {
        rows.push(row(CUB, "CUB's device-wide call", theirs));
        ensure!(
            ours.checksum == theirs.checksum,
            "{primitive} of {n}: the checksum is {:x}, CUB's is {:x}",
            ours.checksum,
            theirs.checksum
        );
    }
    Ok(rows)
}

fn sort(
    primitives: &mut kernels::Primitives,
    items: &[u32],
    bits: u32,
    runs: usize,
) -> anyhow::Result<Measured> {
    let mut measured = Measured {
        times: vec![],
        checksum: 0,
    };
    for _ in 0..runs {
        let mut pairs = Pairs {
            keys: items.to_vec(),
            values: (0..items.len() as u32).collect(),
        };
        measured.times.push(primitives.sort(&mut pairs, bits)?);
        measured.checksum = checksum(checksum(SEED, &pairs.keys), &pairs.values);
    }
    Ok(measured)
}

fn scan(
    primitives: &mut kernels::Primitives,
    items: &[u32],
    runs: usize,
) -> anyhow::Result<Measured> {
    let mut measured = Measured {
        times: vec![],
        checksum: 0,
    };
    for _ in 0..runs {
        let mut items = items.to_vec();
        measured.times.push(primitives.scan(&mut items)?);
        measured.checksum = checksum(SEED, &items);
    }
    Ok(measured)
}

/// The same function as in `cub.cu`.
fn checksum(sum: u64, items: &[u32]) -> u64 {
    let fold = |sum: u64, &item: &u32| (sum ^ u64::from(item)).wrapping_mul(0x100_0000_01b3);
    items.iter().fold(sum, fold)
}

const NAME: &str = "primitives";
const OURS: &str = "cuda";
const CUB: &str = "cub";
/// The offset basis of FNV-1a, here over words.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;
