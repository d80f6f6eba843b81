//! Threads that each serve a connection or a port in a runtime of their own.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use platform::runtime::Runtime;
use platform::taken;
use quinn::{Endpoint, EndpointConfig, ServerConfig};
use tokio::sync::Notify;

/// A thread that works until it is done. Dropping this ends it.
pub struct Background {
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts work that ends once it is notified.
    pub fn start<W: Future<Output = ()>>(
        name: &str,
        runtime: Runtime,
        work: impl FnOnce(Arc<Notify>) -> W + Send + 'static,
    ) -> Result<Background> {
        let stop = Arc::new(Notify::new());
        let is_over = stop.clone();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || runtime.block_on(work(is_over)))
            .with_context(|| format!("cannot start the thread {name}"))?;
        Ok(Background {
            stop,
            thread: Some(thread),
        })
    }

    /// The same for work that may be cut off at any `await`.
    pub fn start_abortable<W: Future<Output = ()> + Send + 'static>(
        name: &str,
        runtime: Runtime,
        work: W,
    ) -> Result<Background> {
        Background::start(name, runtime, |stop| async move {
            tokio::select! {
                () = stop.notified() => {}
                () = work => {}
            }
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // It has nothing left that could fail.
            let _ = thread.join();
        }
    }
}

/// Opens a port of a runtime at an address; port 0 picks a free one. Without `config` it admits
/// no connection yet.
pub fn open_port(
    runtime: &Runtime,
    address: SocketAddr,
    config: Option<ServerConfig>,
) -> Result<(Endpoint, SocketAddr)> {
    let _within = runtime.enter();
    let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AddrInUse;
    let socket = taken::retry(|| UdpSocket::bind(address), is_taken)
        .with_context(|| format!("cannot listen on {address}"))?;
    let address = socket.local_addr()?;
    let transport = Arc::new(quinn::TokioRuntime);
    let endpoint = Endpoint::new(EndpointConfig::default(), config, socket, transport)?;
    Ok((endpoint, address))
}
