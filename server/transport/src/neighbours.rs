//! The shards of a port hand over packets that reach the wrong one.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use quic::{Packet, Steering, Wait};

/// All shards of a server, to hand packets over.
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
    /// The shards, numbered from 0, and the receiver of each. With a reset key they reset the
    /// connections of the previous server. By a server id balancers find the server.
    pub fn new(
        shards: u16,
        reset_key: Option<&ResetKey>,
        server_id: Option<u16>,
    ) -> (Neighbours, Vec<Receiver<Packet>>) {
        let channels = (0..shards).map(|_| sync_channel(STRAYS_MAX));
        let (senders, receivers): (Vec<_>, Vec<_>) = channels.unzip();
        let all = senders.into_iter().map(|packets| Neighbour {
            packets,
            waker: OnceLock::new(),
        });
        let neighbours = Neighbours {
            steering: Steering::new(shards, reset_key, server_id),
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

    /// Hands a packet to its shard. It is lost if that one's queue is full, as in a full socket.
    pub fn hand_over(&self, owner: u16, packet: Packet) {
        let Some(shard) = self.shards.get(usize::from(owner)) else {
            return;
        };
        if shard.packets.try_send(packet).is_ok()
            && let Some(waker) = shard.waker.get()
        {
            // A shard that cannot be woken finds the packet when it polls next.
            let _ = waker.wake();
        }
    }
}

/// The key of stateless reset tokens, the same for a server and its predecessors.
pub type ResetKey = [u8; 64];

/// Packets that wait for one shard: 2 MB.
const STRAYS_MAX: usize = 1024;
