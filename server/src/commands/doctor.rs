//! `myriad doctor`: checks this machine and suggests fixes.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use platform::metrics::{machine, memory};
use program::say;
use quic::socket::BUFFER_BYTES;
use shared::WorldConfig;
use testkit::parity::RandomWorlds;

use super::parity;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use tick::backend::DIVIDED_CLIENTS_MIN;

#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// World file: print the memory that the world needs on each backend, and the GPUs that it uses
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// Run random worlds on the processor and on the GPU, and compare every tick
    #[arg(long)]
    parity: bool,
    /// Number of random worlds
    #[arg(long, default_value_t = 12, requires = "parity", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    worlds: u32,
    /// Ticks of each world
    #[arg(long, default_value_t = 60, requires = "parity", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    ticks: u32,
    /// Seed of the random worlds
    #[arg(long, default_value_t = 1, requires = "parity")]
    seed: u64,
    /// Number of the GPU, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpu: u32,
}

/// Runs the command. False if something should be changed.
pub fn run(arguments: &DoctorArguments) -> Result<bool> {
    if arguments.parity {
        let first = arguments.seed;
        let worlds = RandomWorlds {
            seeds: first..first.saturating_add(u64::from(arguments.worlds)),
            ticks: arguments.ticks,
        };
        say!(
            "{}",
            parity::check(&worlds, machine::cores(), arguments.gpu)?
        );
        return Ok(true);
    }
    if let Some(path) = &arguments.world {
        return Ok(print_plans(
            &world_file::load(path)?,
            memory::memory().available,
        ));
    }
    Ok(print(&examine(arguments.gpu)))
}

/// The result of one check.
pub struct Finding {
    pub name: &'static str,
    pub value: String,
    /// A fix, if one is needed.
    pub advice: Option<String>,
}

/// Checks everything.
pub fn examine(ordinal: u32) -> Vec<Finding> {
    let mut findings = vec![processor(), memory()];
    findings.extend(gpus(ordinal));
    findings.extend([
        socket_buffer(
            "receive",
            "/proc/sys/net/core/rmem_max",
            "net.core.rmem_max",
        ),
        socket_buffer("send", "/proc/sys/net/core/wmem_max", "net.core.wmem_max"),
        udp_errors(),
        open_files(),
    ]);
    findings
}

/// Prints the results. True if no fix is needed.
pub fn print(findings: &[Finding]) -> bool {
    let width = findings.iter().map(|f| f.name.len()).max().unwrap_or(0);
    for finding in findings {
        say!("{:<width$}  {}", finding.name, finding.value);
        if let Some(advice) = &finding.advice {
            say!("{:<width$}  → {advice}", "");
        }
    }
    findings.iter().all(|f| f.advice.is_none())
}

fn processor() -> Finding {
    let cores = machine::cores();
    let name = machine::processor().unwrap_or_else(|| "an unknown processor".to_owned());
    Finding {
        name: "cores",
        value: format!("{cores} of {name}"),
        advice: (cores == 1).then(|| {
            "tick, I/O and backend share one core; give the server at least two".to_owned()
        }),
    }
}

fn memory() -> Finding {
    let gigabytes = |bytes: Option<u64>| match bytes {
        Some(bytes) if bytes < 1_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        Some(bytes) => format!("{:.1} GB", bytes as f64 / 1e9),
        None => "unknown".to_owned(),
    };
    let memory = memory::memory();
    let limit = memory
        .limit
        .as_ref()
        .map(|limit| format!(", by {}", limit.file.display()));
    Finding {
        name: "memory",
        value: format!(
            "{} available of {}{}",
            gigabytes(memory.available),
            gigabytes(memory.total),
            limit.unwrap_or_default()
        ),
        advice: None,
    }
}

/// All GPUs, or why the one with this number can't be used.
fn gpus(ordinal: u32) -> Vec<Finding> {
    match gpu_count() {
        0 | 1 => vec![gpu(ordinal)],
        count => (0..count).map(gpu).collect(),
    }
}

fn gpu(ordinal: u32) -> Finding {
    let value = match usable_gpu(ordinal) {
        Ok(gpu) => format!("{ordinal}: {gpu}"),
        Err(reason) => format!("none: {reason}; worlds run on the processor"),
    };
    Finding {
        name: "GPU",
        value,
        advice: None,
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn usable_gpu(ordinal: u32) -> Result<String, String> {
    let gpu = gpu_kernels::tick::cuda::gpu(ordinal).map_err(|reason| reason.to_string())?;
    let driver = machine::nvidia_driver().unwrap_or_else(|| "of unknown version".to_owned());
    Ok(format!(
        "{}, {:.1} GB free of {:.1} GB, driver {driver}, CUDA {}.{}",
        gpu.name,
        gpu.memory_free as f64 / 1e9,
        gpu.memory_total as f64 / 1e9,
        gpu.cuda.0,
        gpu.cuda.1,
    ))
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn usable_gpu(_: u32) -> Result<String, String> {
    Err("the cuda backend needs Linux on x86-64".to_owned())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn gpu_count() -> u32 {
    gpu_kernels::tick::cuda::gpu_count()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn gpu_count() -> u32 {
    0
}

/// Prints the memory of a world's full buffers on each backend. False if the processor's don't fit
/// into the available memory.
pub fn print_plans(world: &WorldConfig, available: Option<u64>) -> bool {
    say!("{}", super::columns::shown(&world.schema));
    let needed = print_plan("cpu", &gpu_kernels::tick::cpu::memory_plan(world));
    let missing = available.filter(|&available| available < needed);
    if let Some(available) = missing {
        let available = available as f64 / 1e6;
        say!("  → only {available:.1} MB are available here: the server would not start");
    }
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    {
        let needed = print_plan("cuda", &gpu_kernels::tick::cuda::memory_plan(world));
        let free = |number| {
            let gpu = gpu_kernels::tick::cuda::gpu(number).ok()?;
            Some((number, gpu.memory_free))
        };
        let gpus: Vec<(u32, u64)> = (0..gpu_count()).filter_map(free).collect();
        for line in use_of_gpus(world.limits.clients, needed, &gpus) {
            say!("  → {line}");
        }
    }
    missing.is_none()
}

/// Which of the GPUs a world uses, and where it does not fit. `gpus` are the numbers of those
/// that work, each with its free memory.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn use_of_gpus(clients: u32, needed: u64, gpus: &[(u32, u64)]) -> Vec<String> {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let count = gpus.len();
    let mut lines = vec![match (count, clients < DIVIDED_CLIENTS_MIN) {
        (0, _) => "no GPU here".to_owned(),
        (1, _) => "the only GPU would run it".to_owned(),
        (_, true) => format!(
            "GPU 0 of {count} would run it: all do from {DIVIDED_CLIENTS_MIN} clients on, \
             it has {clients}; `--gpus` chooses others"
        ),
        (_, false) => format!(
            "all {count} GPUs would run it, with {} on each; `--gpus` chooses others",
            megabytes(needed)
        ),
    }];
    let short = gpus.iter().filter(|&&(_, free)| free < needed);
    lines.extend(short.map(|&(number, free)| {
        format!(
            "GPU {number} has only {} free: it does not fit there",
            megabytes(free)
        )
    }));
    lines
}

/// Gives the sum.
fn print_plan<N: std::fmt::Display>(backend: &str, plan: &[(N, u64)]) -> u64 {
    let total = plan.iter().map(|(_, bytes)| bytes).sum::<u64>();
    say!("{backend}: {:.1} MB", total as f64 / 1e6);
    for (name, bytes) in plan {
        say!("  {name:<28} {:>12.3} MB", *bytes as f64 / 1e6);
    }
    total
}

fn socket_buffer(what: &'static str, path: &str, setting: &str) -> Finding {
    let name = match what {
        "receive" => "UDP receive buffer",
        _ => "UDP send buffer",
    };
    let Some(max) = machine::setting(path) else {
        return Finding {
            name,
            value: format!("unknown: {path} cannot be read"),
            advice: None,
        };
    };
    let wanted = BUFFER_BYTES as u64;
    Finding {
        name,
        value: format!("up to {} KB a socket", max / 1024),
        advice: (max < wanted).then(|| {
            format!("bursts from many clients are lost; set: sysctl -w {setting}={wanted}")
        }),
    }
}

fn udp_errors() -> Finding {
    let errors = machine::udp_receive_buffer_errors();
    Finding {
        name: "UDP datagrams lost",
        value: match errors {
            Some(errors) => {
                format!("{errors} because a receive buffer was full, since the machine started")
            }
            None => "unknown".to_owned(),
        },
        advice: None,
    }
}

fn open_files() -> Finding {
    let max = machine::open_files_max();
    Finding {
        name: "open files",
        value: match max {
            Some(u64::MAX) => "no limit".to_owned(),
            Some(max) => format!("at most {max}"),
            None => "unknown".to_owned(),
        },
        // Clients share a socket for each shard, so few are needed.
        advice: max
            .filter(|&max| max < OPEN_FILES_MIN)
            .map(|_| format!("a many-core server needs more; set: ulimit -n {OPEN_FILES_MIN}")),
    }
}

const OPEN_FILES_MIN: u64 = 1024;

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_world_of_many_clients_uses_all_gpus_and_says_where_it_does_not_fit() {
        let lines = |clients, gpus: &[(u32, u64)]| use_of_gpus(clients, 2_500_000, gpus);
        assert_eq!(lines(1000, &[]), ["no GPU here"]);
        assert_eq!(
            lines(500_000, &[(0, 9_000_000)]),
            ["the only GPU would run it"]
        );
        let gpus = [(0, 9_000_000), (1, 1_000_000)];
        let does_not_fit = "GPU 1 has only 1.0 MB free: it does not fit there";
        assert_eq!(
            lines(500_000, &gpus),
            [
                "all 2 GPUs would run it, with 2.5 MB on each; `--gpus` chooses others",
                does_not_fit
            ]
        );
        let few = "GPU 0 of 2 would run it: all do from 200000 clients on, it has 1000; \
                   `--gpus` chooses others";
        assert_eq!(lines(1000, &gpus), [few, does_not_fit]);
    }
}
