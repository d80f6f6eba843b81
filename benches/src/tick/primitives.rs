//! The tick's sort and scan against CUB's device-wide calls, on the same numbers.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::Args;
use gpu_kernels::cuda::primitives::{Pairs, Primitives};
use shared::mix::mix;

use crate::report::markdown::{NOTHING, grouped, head, line, rounded, title};
use crate::report::{Report, Row, Sample};
use crate::tick::backends::at_least_one;

/// The tick's sort and scan against CUB's device-wide calls
///
/// Needs an NVIDIA GPU. CUB is compiled on the spot where nvcc is found, runs on the
/// same numbers, and must come to the same results.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many items
    #[arg(long, default_value = "4096,65536,524288,1048576,4194304", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    pub items: Vec<u32>,
    /// Bits of the keys that are sorted by
    #[arg(long, default_value = "16,32", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub key_bits: Vec<u32>,
    /// Timed runs of each
    #[arg(long, default_value = "50", value_name = "N", value_parser = at_least_one)]
    pub runs: usize,
    /// The CUDA compiler [default: the one in PATH, or in /usr/local/cuda/bin]
    #[arg(long, value_name = "FILE")]
    pub nvcc: Option<PathBuf>,
    #[arg(long, default_value = "1", value_name = "N")]
    pub seed: u64,
    /// Writes the measurements to this file as well
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Measures, writes the table to `out` and returns the report. Fails where the two
/// come to different results.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let cub = match compiler(options) {
        Some(nvcc) => Some(Cub::build(&nvcc)?),
        None => {
            eprintln!("no nvcc is found: CUB is left out");
            None
        }
    };
    let mut report = Report::new();
    for &n in &options.items {
        let n = n as usize;
        let mut primitives = Primitives::new(n)?;
        let items: Vec<u32> = (0..n as u64)
            .map(|i| (mix(options.seed, i) >> 32) as u32)
            .collect();
        for (i, &bits) in options.key_bits.iter().enumerate() {
            let theirs = cub.as_ref().map(|cub| cub.run(&items, bits, options.runs));
            let theirs = theirs.transpose()?;
            let ours = sort(&mut primitives, &items, bits, options.runs)?;
            let name = format!("sort of pairs by {bits} bits");
            put(
                &mut report,
                &name,
                n,
                ours,
                theirs.as_ref().map(|t| &t.sort),
            )?;
            if i == 0 {
                let ours = scan(&mut primitives, &items, options.runs)?;
                let theirs = theirs.as_ref().map(|t| &t.scan);
                put(&mut report, "exclusive scan", n, ours, theirs)?;
            }
        }
    }
    if let Some(path) = &options.json {
        report.write(path)?;
    }
    show(&report, out)?;
    Ok(report)
}

/// Writes the table of a report to `out`.
pub fn show(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let rows: Vec<&Row> = report.rows.iter().filter(|r| r.scenario == NAME).collect();
    if rows.is_empty() {
        return Ok(());
    }
    title(
        out,
        "The tick's primitives, in milliseconds on the device (medians)",
    )?;
    head(out, &["primitive", "items", "ours", "CUB", "ours / CUB"])?;
    let is_same = |a: &&Row, b: &&Row| {
        a.work == b.work && a.params.get("primitive") == b.params.get("primitive")
    };
    for pair in rows.chunk_by(is_same) {
        let of = |backend: &str| {
            pair.iter()
                .find(|r| r.backend == backend)
                .map(|r| r.total_ms)
        };
        let primitive = pair[0].params.get("primitive").and_then(|p| p.as_str());
        let ms = |n: Option<f64>| n.map_or(NOTHING.to_owned(), |n| format!("{n:.4}"));
        let ratio = of(OURS).zip(of(CUB)).map(|(ours, cub)| ours / cub);
        let cells = [
            primitive.unwrap_or(NOTHING).to_owned(),
            grouped(pair[0].work),
            ms(of(OURS)),
            ms(of(CUB)),
            rounded(ratio),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

/// How long something took, and what it came to.
struct Measured {
    times: Vec<Duration>,
    checksum: u64,
}

fn put(
    report: &mut Report,
    primitive: &str,
    n: usize,
    ours: Measured,
    theirs: Option<&Measured>,
) -> anyhow::Result<()> {
    let mut add = |backend: &str, approach: &str, measured: &Measured| {
        let samples: Vec<Sample> = measured
            .times
            .iter()
            .map(|&total| Sample {
                total,
                stages: vec![],
            })
            .collect();
        let mut row = Row::of(NAME, backend, approach, &samples);
        row.put("primitive", primitive);
        row.work = n as u64;
        row.checksum = format!("{:016x}", measured.checksum);
        report.rows.push(row);
    };
    add(OURS, "the tick's kernels", &ours);
    let Some(theirs) = theirs else { return Ok(()) };
    add(CUB, "CUB's device-wide call", theirs);
    ensure!(
        ours.checksum == theirs.checksum,
        "{primitive} of {n}: ours came to {:x}, CUB to {:x}",
        ours.checksum,
        theirs.checksum
    );
    Ok(())
}

fn sort(
    primitives: &mut Primitives,
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

fn scan(primitives: &mut Primitives, items: &[u32], runs: usize) -> anyhow::Result<Measured> {
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

/// As `cub.cu` has it.
fn checksum(sum: u64, items: &[u32]) -> u64 {
    let fold = |sum: u64, &item: &u32| (sum ^ u64::from(item)).wrapping_mul(0x100_0000_01b3);
    items.iter().fold(sum, fold)
}

fn compiler(options: &Options) -> Option<PathBuf> {
    let works = |nvcc: &PathBuf| {
        let output = Command::new(nvcc).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    };
    let usual = ["nvcc", "/usr/local/cuda/bin/nvcc"].map(PathBuf::from);
    let candidates = match &options.nvcc {
        Some(nvcc) => vec![nvcc.clone()],
        None => usual.to_vec(),
    };
    candidates.into_iter().find(works)
}

/// A program around CUB's calls, in a folder of its own.
struct Cub {
    folder: PathBuf,
}

/// What it says.
struct CubTimes {
    sort: Measured,
    scan: Measured,
}

impl Cub {
    fn build(nvcc: &Path) -> anyhow::Result<Cub> {
        let name = format!("myriad-cub-{}", std::process::id());
        let cub = Cub {
            folder: std::env::temp_dir().join(name),
        };
        std::fs::create_dir_all(&cub.folder)?;
        let source = cub.folder.join("cub.cu");
        std::fs::write(&source, include_str!("primitives/cub.cu"))?;
        let mut command = Command::new(nvcc);
        command.args(["-O3", "-std=c++17", "-arch=native", "-o"]);
        let output = command.arg(cub.program()).arg(&source).output()?;
        ensure!(
            output.status.success(),
            "{} fails: {}",
            nvcc.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(cub)
    }

    fn program(&self) -> PathBuf {
        self.folder.join("cub")
    }

    fn run(&self, items: &[u32], bits: u32, runs: usize) -> anyhow::Result<CubTimes> {
        let file = self.folder.join("items");
        let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
        std::fs::write(&file, bytes)?;
        let numbers = [items.len(), bits as usize, runs].map(|n| n.to_string());
        let output = Command::new(self.program())
            .arg(&file)
            .args(numbers)
            .output()?;
        ensure!(
            output.status.success(),
            "CUB fails: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8_lossy(&output.stdout);
        let measured = |name: &str| {
            let mut words = text
                .lines()
                .find_map(|l| l.strip_prefix(name))?
                .split_whitespace();
            let ms: f64 = words.next()?.parse().ok()?;
            Some(Measured {
                times: vec![Duration::from_secs_f64(ms / 1000.0)],
                checksum: u64::from_str_radix(words.next()?, 16).ok()?,
            })
        };
        match (measured("sort "), measured("scan ")) {
            (Some(sort), Some(scan)) => Ok(CubTimes { sort, scan }),
            _ => bail!("CUB's program printed {text:?}"),
        }
    }
}

impl Drop for Cub {
    fn drop(&mut self) {
        // What can't be removed is a temporary file that stays.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What rows of this bench are called.
pub const NAME: &str = "primitives";
const OURS: &str = "cuda";
const CUB: &str = "cub";
/// FNV-1a's, over words.
const SEED: u64 = 0xcbf2_9ce4_8422_2325;
