//! Figures of the operating system (Linux) for this machine and this process.

use std::fs;
use std::path::Path;

use super::memory::memory;

/// The name of this machine; empty if it has none.
pub fn name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// Memory of this process that is in RAM.
pub fn rss_bytes() -> u64 {
    status_kilobytes("/proc/self/status", "VmRSS:").unwrap_or(0) * 1024
}

/// Processor time of this process's threads by their names, in seconds since they began.
pub fn thread_seconds(is_counted: impl FnMut(&str) -> bool) -> f64 {
    thread_seconds_of(std::process::id(), is_counted)
}

/// As [`thread_seconds`], of another process.
pub fn thread_seconds_of(process: u32, mut is_counted: impl FnMut(&str) -> bool) -> f64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return 0.0;
    };
    let times = threads.flatten().filter_map(|thread| {
        let path = thread.path();
        let name = fs::read_to_string(path.join("comm")).ok()?;
        if !is_counted(name.trim_end()) {
            return None;
        }
        // In nanoseconds: time on a processor, time waiting for one, time slices.
        let text = fs::read_to_string(path.join("schedstat")).ok()?;
        let nanoseconds: u64 = text.split_whitespace().next()?.parse().ok()?;
        Some(nanoseconds as f64 / 1e9)
    });
    times.sum()
}

/// Memory that this process could still take.
pub fn memory_available() -> Option<u64> {
    memory().available
}

/// Bytes that users without privileges can still write to the disk with a folder.
pub fn disk_free(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Threads that can run at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Datagrams that the kernel dropped because a socket's buffer was full.
pub fn udp_receive_buffer_errors() -> Option<u64> {
    let text = fs::read_to_string("/proc/net/snmp").ok()?;
    let mut udp = text.lines().filter(|line| line.starts_with("Udp:"));
    let (names, values) = (udp.next()?, udp.next()?);
    let place = names.split_whitespace().position(|n| n == "RcvbufErrors")?;
    values.split_whitespace().nth(place)?.parse().ok()
}

/// A number in a file of its own, as under `/proc/sys`.
pub fn setting(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The most files this process may have open.
pub fn open_files_max() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find(|l| l.starts_with("Max open files"))?;
    match line.split_whitespace().nth(3)? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

/// The NVIDIA driver's version, if one is loaded.
pub fn nvidia_driver() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let module = text.lines().next()?;
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    Some(module.split_whitespace().find(is_version)?.to_owned())
}

/// The processor's name.
pub fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn status_kilobytes(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|l| l.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
