//! Threads that give way to the world where cores are few.

use tracing::warn;

/// Lowers the priority of this thread, and of those that it starts.
pub fn give_way() {
    // Elsewhere this would be the priority of the whole process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        warn!(%error, name, "a thread has the priority of the others");
    }
}

/// A tenth of the processor's time, if others want all of it: 10 of 19.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;
