//! The control socket: a Unix socket that only the server's user can open.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use platform::waits::Wait;
use program::within::within;
use tracing::warn;
use world_file::{Format, plain};

use super::request::{Request, Response};
use super::socket;

/// Handles the requests of a control socket.
pub trait Handler: Send + 'static {
    /// `by` names the sender, for the log.
    fn answer(&self, request: &Request, by: &str) -> Response;
}

/// An open control socket. Dropping it closes it, and removes its file.
pub struct AdminPort {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Opens a control socket at a path, where there may be one that an earlier server left.
pub fn open(path: &Path, desk: impl Handler) -> Result<AdminPort> {
    let listener = listen(path)
        .with_context(|| format!("cannot open the control socket {}", path.display()))?;
    let stop = Arc::new(AtomicBool::new(false));
    let is_over = stop.clone();
    let thread = std::thread::Builder::new()
        .name("admin".to_owned())
        .spawn(move || serve(&listener, &desk, &is_over))
        .context("cannot start the thread of the control socket")?;
    Ok(AdminPort {
        path: path.to_owned(),
        stop,
        thread: Some(thread),
    })
}

/// Sends a request to the server behind a control socket.
pub fn ask(path: &Path, request: &Request) -> Result<Response> {
    let no_server = || format!("no server answers at {}", path.display());
    let _wait = Wait::new(format!("the server behind {}", path.display()), PATIENCE);
    let mut stream = connect(path).with_context(no_server)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line).with_context(no_server)?;
    let mut answer = String::new();
    BufReader::new(stream)
        .read_line(&mut answer)
        .with_context(no_server)?;
    serde_json::from_str(&answer).with_context(|| format!("{}: `{answer}`", no_server()))
}

/// Connects to a socket whose server may have stopped to take connections.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let path = path.to_owned();
    within(CONNECT_PATIENCE, move || socket::connect(&path))?
}

fn listen(path: &Path) -> Result<UnixListener> {
    if let Ok(found) = fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            bail!("there is something else already");
        }
        match connect(path) {
            Ok(_) => bail!("another server listens there"),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                bail!("another server listens there, and does not answer")
            }
            Err(_) => {}
        }
        fs::remove_file(path)?;
    }
    let listener = socket::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn serve(listener: &UnixListener, desk: &impl Handler, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Err(error) = converse(stream, desk) {
                    warn!(%error, "a request at the control socket could not be answered");
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(LOOK_PERIOD);
            }
            Err(error) => {
                warn!(%error, "the control socket can't be used");
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    }
}

/// Answers one request.
fn converse(mut stream: UnixStream, desk: &impl Handler) -> Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(REQUEST_WAIT))?;
    stream.set_write_timeout(Some(REQUEST_WAIT))?;
    let peer = rustix::net::sockopt::socket_peercred(&stream)?;
    let by = format!(
        "user {}, process {}",
        peer.uid.as_raw(),
        peer.pid.as_raw_nonzero()
    );
    let mut line = vec![];
    let mut reader = BufReader::new(&stream).take(REQUEST_BYTES_MAX);
    reader.read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Err(anyhow!(
            "expected a line of at most {REQUEST_BYTES_MAX} bytes"
        ));
    }
    let answer = match serde_json::from_slice::<Request>(&line) {
        Ok(request) => desk.answer(&request, &by),
        Err(error) => {
            let error = plain(&error.to_string(), Format::Json);
            Response::Error(format!("the request can't be read: {error}"))
        }
    };
    let mut bytes = serde_json::to_vec(&answer)?;
    bytes.push(b'\n');
    stream.write_all(&bytes)?;
    Ok(())
}

impl Drop for AdminPort {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing left that could fail.
            let _ = thread.join();
        }
        // It may be gone already.
        let _ = fs::remove_file(&self.path);
    }
}

const REQUEST_BYTES_MAX: u64 = 64 * 1024;
/// A request waits no longer for the rest of its line.
const REQUEST_WAIT: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_PERIOD: Duration = Duration::from_millis(50);
