//! A runtime for the connections of one thread.

use std::io;
use std::ops::Deref;

use tokio::runtime::Builder;

/// Dropping it does not wait, also not for a name that is being looked up.
pub struct Runtime(Option<tokio::runtime::Runtime>);

/// A runtime for one thread.
pub fn runtime() -> io::Result<Runtime> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    Ok(Runtime(Some(runtime)))
}

impl Deref for Runtime {
    type Target = tokio::runtime::Runtime;

    fn deref(&self) -> &tokio::runtime::Runtime {
        match &self.0 {
            Some(runtime) => runtime,
            // Only its drop takes it.
            None => unreachable!("a runtime that has ended is used"),
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
