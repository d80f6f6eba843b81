//! One thread's bots, with sockets of their own.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::{LocalSet, spawn_local};

use super::bot::{BotPlace, run_bot};
use super::latency::Latencies;
use super::options::SwarmOptions;
use super::state::SwarmState;
use crate::connect::{ClientError, Connector};

/// Starts a thread that runs its share of the bots from first to last.
pub fn spawn(
    thread: usize,
    options: SwarmOptions,
    state: Arc<SwarmState>,
) -> std::io::Result<std::thread::JoinHandle<Result<(), ClientError>>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name(format!("bots-{thread}"))
        .spawn(move || LocalSet::new().block_on(&runtime, run(thread, options, state)))
}

async fn run(
    thread: usize,
    options: SwarmOptions,
    state: Arc<SwarmState>,
) -> Result<(), ClientError> {
    let threads = options.threads.max(1);
    let connectors = connectors(thread, &options)?;
    let handshakes = Rc::new(Semaphore::new(HANDSHAKES_MAX));
    let latencies = Rc::new(RefCell::new(Latencies::new(state.clone())));
    let bots: Vec<_> = (thread..options.clients)
        .step_by(threads)
        .enumerate()
        .map(|(i, number)| {
            spawn_local(run_bot(BotPlace {
                number,
                connector: connectors[i % connectors.len()].clone(),
                handshakes: handshakes.clone(),
                options: options.clone(),
                state: state.clone(),
                latencies: latencies.clone(),
            }))
        })
        .collect();
    for bot in bots {
        // A bot that fails has counted itself.
        let _ = bot.await;
    }
    latencies.borrow_mut().hand_in();
    for connector in &connectors {
        connector.wait_idle().await;
    }
    Ok(())
}

/// This thread's share of the sockets, at least one.
fn connectors(thread: usize, options: &SwarmOptions) -> Result<Vec<Rc<Connector>>, ClientError> {
    let sockets = options.sockets.max(1).div_ceil(options.threads.max(1));
    let connector = |socket| {
        let seed = options.seed ^ ((thread * sockets + socket) as u64) << 32;
        let loss = (options.loss > 0.0).then_some((options.loss, seed));
        Connector::new(options.server, &options.name, &options.trust, loss).map(Rc::new)
    };
    (0..sockets).map(connector).collect()
}

/// Handshakes take one core of the server each; more at once would only time out.
const HANDSHAKES_MAX: usize = 64;
