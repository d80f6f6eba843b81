//! Signals that end a program: SIGINT (Ctrl-C), SIGTERM, and SIGHUP unless it was ignored at the
//! start, as by `nohup`. All are handled here, since process 1, which a program is in a container,
//! has no default actions.
//!
//! A signal ends the program at once, unless the program has requested [`Endings`] in order to end
//! by itself; then only the second one does.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Handles signals from now on. Programs begin with it. One that ends the program calls `flush`
/// before.
pub fn start(flush: fn()) -> io::Result<()> {
    lock().flush = Some(flush);
    imp::start()
}

/// While there is one, the first signal is its message instead of the end of the program.
pub struct Endings(Receiver<()>);

impl Endings {
    /// From now on.
    pub fn new() -> Endings {
        let (to, endings) = channel();
        lock().endings = Some(to);
        Endings(endings)
    }

    /// Whether a signal has come.
    pub fn has_come(&self) -> bool {
        self.0.try_recv().is_ok()
    }

    /// Waits for a signal; false if none came in time.
    pub fn wait(&self, patience: Duration) -> bool {
        match self.0.recv_timeout(patience) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => false,
            // Another one gets them.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                false
            }
        }
    }

    /// Waits for a signal.
    pub fn wait_long(&self) {
        while !self.wait(Duration::from_secs(3600)) {}
    }
}

impl Default for Endings {
    fn default() -> Endings {
        Endings::new()
    }
}

impl Drop for Endings {
    fn drop(&mut self) {
        lock().endings = None;
    }
}

/// From now on, a SIGHUP is a message instead of an end. `None` if it was ignored at the start,
/// and is so still; and where there is no such signal.
pub fn hangups() -> Option<Receiver<()>> {
    let mut state = lock();
    if !state.has_hangups {
        return None;
    }
    let (to, hangups) = channel();
    state.hangups = Some(to);
    Some(hangups)
}

/// Whether SIGHUP is ignored, as under `nohup`; also where the system does not say.
#[cfg(unix)]
pub fn are_hangups_ignored() -> bool {
    imp::is_ignored(imp::SIGHUP)
}

/// Which exit status a program has that a signal ends at once; without it, that of the signal.
pub fn set_exit_code(code: Option<i32>) {
    lock().exit_code = code;
}

/// Ends the process at once, without a word to any thread.
pub fn exit(code: i32) -> ! {
    imp::exit(code)
}

/// The further action at the first signal of [`Endings`].
pub fn set_hook(hook: fn()) {
    lock().hook = Some(hook);
}

struct State {
    endings: Option<Sender<()>>,
    hangups: Option<Sender<()>>,
    has_hangups: bool,
    exit_code: Option<i32>,
    hook: Option<fn()>,
    flush: Option<fn()>,
}

fn lock() -> MutexGuard<'static, State> {
    // Each change is whole, so a panic elsewhere does no harm.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

static STATE: Mutex<State> = Mutex::new(State {
    endings: None,
    hangups: None,
    has_hangups: false,
    exit_code: None,
    hook: None,
    flush: None,
});

#[cfg(unix)]
mod imp {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    pub use signal_hook::consts::SIGHUP;
    use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::{flag, low_level};

    use super::lock;

    pub fn start() -> io::Result<()> {
        // A file that may not grow is an error of its write, not the end of the program; the
        // others mean nothing here.
        for signal in [SIGXFSZ, SIGUSR1, SIGUSR2] {
            flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        if !is_ignored(SIGHUP) {
            signals.add_signal(SIGHUP)?;
            lock().has_hangups = true;
        }
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || signals.forever().for_each(take))?;
        Ok(())
    }

    pub fn exit(code: i32) -> ! {
        low_level::exit(code)
    }

    fn take(signal: i32) {
        let mut state = lock();
        if signal == SIGHUP
            && let Some(hangups) = &state.hangups
        {
            // The listener may have ended.
            let _ = hangups.send(());
            return;
        }
        if let Some(endings) = state.endings.take()
            && endings.send(()).is_ok()
        {
            let hook = state.hook;
            drop(state);
            if let Some(hook) = hook {
                hook();
            }
            return;
        }
        let (code, flush) = (state.exit_code, state.flush);
        drop(state);
        if let Some(flush) = flush {
            flush();
        }
        match code {
            Some(code) => low_level::exit(code),
            // So that a shell stops its script, too. It does not work in process 1.
            None if std::process::id() != 1 => {
                let _ = low_level::emulate_default_handler(signal);
            }
            None => {}
        }
        low_level::exit(128 + signal)
    }

    /// Whether a signal is ignored, which only Linux reports.
    pub fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
    }
}

#[cfg(not(unix))]
mod imp {
    /// The system's default actions will do.
    pub fn start() -> std::io::Result<()> {
        Ok(())
    }

    pub fn exit(code: i32) -> ! {
        std::process::exit(code)
    }
}
