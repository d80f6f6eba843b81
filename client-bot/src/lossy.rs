//! A socket that loses datagrams on purpose. Which ones depends on a seed.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Loses a share of the datagrams that are sent and received.
pub struct LossySocket {
    inner: Arc<dyn AsyncUdpSocket>,
    /// The share to lose, times 2^32.
    threshold: u64,
    random: Mutex<Xoshiro256PlusPlus>,
}

impl LossySocket {
    /// `share` is from 0 (nothing is lost) to 1 (everything).
    pub fn wrap(inner: Arc<dyn AsyncUdpSocket>, share: f64, seed: u64) -> Arc<dyn AsyncUdpSocket> {
        Arc::new(LossySocket {
            inner,
            threshold: (share.clamp(0.0, 1.0) * f64::from(u32::MAX)) as u64,
            random: Mutex::new(Xoshiro256PlusPlus::seed_from_u64(seed)),
        })
    }

    fn loses_one(&self) -> bool {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        random.next_u64() >> 32 < self.threshold
    }
}

impl AsyncUdpSocket for LossySocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.inner.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        if self.loses_one() {
            return Ok(());
        }
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let received = ready!(self.inner.poll_recv(context, buffers, meta))?;
        for meta in &mut meta[..received] {
            if self.loses_one() {
                // An empty buffer holds no datagram.
                meta.len = 0;
            }
        }
        Poll::Ready(Ok(received))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }

    // One datagram per call, so that datagrams are lost one by one.
    fn max_transmit_segments(&self) -> usize {
        1
    }

    fn max_receive_segments(&self) -> usize {
        1
    }
}

impl fmt::Debug for LossySocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LossySocket").finish_non_exhaustive()
    }
}
