//! The cost of UDP alone: as many packets of the same size each way, in batches, without
//! QUIC. No transport over UDP can cost less.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use platform::metrics::machine;
use quic::Socket;
use quic::socket::bind;

use super::cores::{Cores, stay_on};

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    pub clients: usize,
    pub tick_hz: u32,
    /// Bytes of a packet to a client, and of one from it.
    pub out_bytes: usize,
    pub in_bytes: usize,
}

/// Processor time of the server's side for a packet each way, in microseconds.
pub fn measure(traffic: Traffic, cores: &Cores, time: Duration) -> anyhow::Result<f64> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut threads = vec![];
    let per_thread = traffic.clients.div_ceil(cores.server.len()).max(1);
    let mut ticks = vec![];
    for _ in &cores.server {
        stay_on(&cores.server)?;
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let socket = bind(address)?;
        let server = socket.local_addr()?;
        stay_on(&cores.bots)?;
        let echo = bind(address)?;
        let peer = echo.local_addr()?;
        threads.push(spawn("bots-floor", stop.clone(), move |stop| {
            run_echo(echo, server, traffic.in_bytes, stop)
        })?);
        stay_on(&cores.server)?;
        let sent = Arc::new(std::sync::atomic::AtomicU64::new(0));
        ticks.push(sent.clone());
        threads.push(spawn("floor", stop.clone(), move |stop| {
            let period = Duration::from_secs(1) / traffic.tick_hz;
            let packets = (per_thread, traffic.out_bytes);
            run_server(socket, peer, packets, period, &sent, stop)
        })?);
    }
    let packets = || -> u64 { ticks.iter().map(|sent| sent.load(Ordering::Relaxed)).sum() };
    let seconds = || machine::thread_seconds(|name| name == "floor");
    std::thread::sleep(WARM_UP);
    let before = (packets(), seconds());
    std::thread::sleep(time);
    let after = (packets(), seconds());
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        let ended = thread.join();
        ended.map_err(|_| anyhow::anyhow!("a thread of the floor has failed"))??;
    }
    let sent = (after.0 - before.0).max(1);
    Ok((after.1 - before.1) * 1e6 / sent as f64)
}

fn spawn(
    name: &str,
    stop: Arc<AtomicBool>,
    run: impl FnOnce(&AtomicBool) -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<JoinHandle<anyhow::Result<()>>> {
    let thread = Builder::new().name(name.to_owned());
    let thread = thread.spawn(move || run(&stop));
    thread.context("cannot start a thread")
}

/// Sends a packet for each client in each tick, and reads the replies.
fn run_server(
    socket: std::net::UdpSocket,
    peer: SocketAddr,
    (clients, bytes): (usize, usize),
    period: Duration,
    sent: &std::sync::atomic::AtomicU64,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut socket = Socket::new(socket)?;
    let payload = vec![7; bytes];
    let mut packets = vec![];
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now >= next {
            next = (next + period).max(now);
            for _ in 0..clients {
                socket.buffer().extend_from_slice(&payload);
                socket.commit(peer, None, now);
            }
            socket.flush();
            sent.fetch_add(clients as u64, Ordering::Relaxed);
        } else {
            std::thread::sleep((next - now).min(LOOK_PERIOD));
        }
        while socket.receive(&mut packets, now) {
            packets.clear();
        }
    }
    Ok(())
}

/// Answers each packet with one.
fn run_echo(
    socket: std::net::UdpSocket,
    server: SocketAddr,
    bytes: usize,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let mut socket = Socket::new(socket)?;
    let payload = vec![1; bytes];
    let mut packets = vec![];
    while !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        while socket.receive(&mut packets, now) {
            for _ in packets.drain(..) {
                socket.buffer().extend_from_slice(&payload);
                socket.commit(server, None, now);
            }
        }
        socket.flush();
        std::thread::sleep(LOOK_PERIOD);
    }
    Ok(())
}

const LOOK_PERIOD: Duration = Duration::from_micros(500);
const WARM_UP: Duration = Duration::from_secs(1);
