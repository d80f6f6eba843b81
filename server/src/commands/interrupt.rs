//! Ctrl-C.

use std::sync::mpsc::{Receiver, channel};

use anyhow::{Context, Result};

/// A message for each Ctrl-C.
pub fn on_interrupt() -> Result<Receiver<()>> {
    let (interrupt, interrupted) = channel();
    ctrlc::set_handler(move || {
        // The receiver lives as long as the server.
        let _ = interrupt.send(());
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(interrupted)
}
