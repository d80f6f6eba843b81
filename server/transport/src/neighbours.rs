//! The shards of a port: packets that reach the wrong one are handed over.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use quic::{Packet, Steering, Wait};

/// All shards of a server, as each of them knows the others.
#[derive(Clone)]
pub struct Neighbours {
    pub steering: Steering,
    shards: Arc<Vec<Neighbour>>,
}

struct Neighbour {
    packets: SyncSender<Packet>,
    /// Set once the shard runs.
    waker: OnceLock<Wait>,
}

impl Neighbours {
    /// Shards that are numbered from 0, and what each of them is handed. With a reset key they
    /// know the connections of the server before.
    pub fn new(shards: u16, reset_key: Option<&ResetKey>) -> (Neighbours, Vec<Receiver<Packet>>) {
        let channels = (0..shards).map(|_| sync_channel(STRAYS_MAX));
        let (senders, receivers): (Vec<_>, Vec<_>) = channels.unzip();
        let all = senders.into_iter().map(|packets| Neighbour {
            packets,
            waker: OnceLock::new(),
        });
        let neighbours = Neighbours {
            steering: Steering::new(shards, reset_key),
            shards: Arc::new(all.collect()),
        };
        (neighbours, receivers)
    }

    /// A shard runs, and can be woken.
    pub fn arrive(&self, number: u16, waker: Wait) {
        if let Some(shard) = self.shards.get(usize::from(number)) {
            // A shard arrives once.
            let _ = shard.waker.set(waker);
        }
    }

    /// Hands a packet to the shard that it is for. It is lost if that one has too many, as
    /// in a socket that is full.
    pub fn hand_over(&self, owner: u16, packet: Packet) {
        let Some(shard) = self.shards.get(usize::from(owner)) else {
            return;
        };
        if shard.packets.try_send(packet).is_ok()
            && let Some(waker) = shard.waker.get()
        {
            // A shard that cannot be woken finds the packet at its next look.
            let _ = waker.wake();
        }
    }
}

/// What the reset tokens of connections are made from, the same for a server and those before it.
pub type ResetKey = [u8; 64];

/// Packets that wait for one shard: 2 MB.
const STRAYS_MAX: usize = 1024;
