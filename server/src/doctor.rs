//! `myriad doctor`: what this machine offers, and what to change.

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
        println!("{:<width$}  {}", finding.name, finding.value);
        if let Some(advice) = &finding.advice {
            println!("{:<width$}  → {advice}", "");
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
    let gpus = machine::nvidia_gpus();
    let value = match machine::nvidia_driver() {
        None => "none: no NVIDIA driver is loaded; worlds run on the processor".to_owned(),
        Some(driver) if gpus.is_empty() => {
            format!("none, though NVIDIA driver {driver} is loaded; worlds run on the processor")
        }
        Some(driver) => format!(
            "{} with driver {driver}; this build has the cpu backend only",
            gpus.join(", ")
        ),
    };
    Finding {
        name: "GPU",
        value,
        advice: None,
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
