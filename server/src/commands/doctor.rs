//! `myriad doctor`: what this machine offers, and what to change.

use client_bot::say;
use shared::WorldConfig;

use crate::machine;
use crate::quic::SOCKET_BUFFER_BYTES;

/// One thing looked at.
pub struct Finding {
    pub name: &'static str,
    pub value: String,
    /// What to change, if anything.
    pub advice: Option<String>,
}

/// Looks at everything.
pub fn examine() -> Vec<Finding> {
    vec![
        processor(),
        memory(),
        gpu(),
        socket_buffer(
            "receive",
            "/proc/sys/net/core/rmem_max",
            "net.core.rmem_max",
        ),
        socket_buffer("send", "/proc/sys/net/core/wmem_max", "net.core.wmem_max"),
        udp_errors(),
        open_files(),
    ]
}

/// Prints what was found. True if there is nothing to change.
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
        Some(bytes) => format!("{:.1} GB", bytes as f64 / 1e9),
        None => "unknown".to_owned(),
    };
    Finding {
        name: "memory",
        value: format!(
            "{} available of {}",
            gigabytes(machine::memory_available()),
            gigabytes(machine::memory_total())
        ),
        advice: None,
    }
}

fn gpu() -> Finding {
    let value = match usable_gpu() {
        Ok(gpu) => gpu,
        Err(reason) => format!("none: {reason}; worlds run on the processor"),
    };
    Finding {
        name: "GPU",
        value,
        advice: None,
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn usable_gpu() -> Result<String, String> {
    let gpu = gpu_kernels::cuda::gpu().map_err(|reason| reason.to_string())?;
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
fn usable_gpu() -> Result<String, String> {
    Err("the cuda backend needs Linux on x86-64".to_owned())
}

/// Prints what a world's buffers need on each backend, when full.
pub fn print_plans(world: &WorldConfig) {
    print_plan("cpu", &gpu_kernels::cpu::memory_plan(world));
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    print_plan("cuda", &gpu_kernels::cuda::memory_plan(world));
}

fn print_plan(backend: &str, plan: &[(&'static str, u64)]) {
    let total = plan.iter().map(|(_, bytes)| bytes).sum::<u64>();
    say!("{backend}: {:.1} MB", total as f64 / 1e6);
    for (name, bytes) in plan {
        say!("  {name:<28} {:>12.3} MB", *bytes as f64 / 1e6);
    }
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
    let wanted = SOCKET_BUFFER_BYTES as u64;
    Finding {
        name,
        value: format!("up to {} KB a socket", max / 1024),
        advice: (max < wanted)
            .then(|| format!("bursts of many clients are lost; set: sysctl -w {setting}={wanted}")),
    }
}

fn udp_errors() -> Finding {
    let errors = machine::udp_receive_buffer_errors();
    Finding {
        name: "UDP datagrams lost",
        value: match errors {
            Some(errors) => {
                format!("{errors} for want of receive buffer, since the machine started")
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
