//! A network between clients and a server that can be cut.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Passes packets on to a server and back. It ends when it is dropped.
pub struct Relay {
    address: SocketAddr,
    is_cut: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    pub fn start(server: SocketAddr) -> Relay {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
        let wait = Some(Duration::from_millis(1));
        front.set_read_timeout(wait).expect("a time-out");
        let address = front.local_addr().expect("an address");
        let [is_cut, is_over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (cut, over) = (is_cut.clone(), is_over.clone());
        let thread = std::thread::spawn(move || {
            let mut clients: HashMap<SocketAddr, UdpSocket> = HashMap::new();
            let mut packet = [0; 2048];
            while !over.load(Ordering::Relaxed) {
                let is_cut = cut.load(Ordering::Relaxed);
                while let Ok((length, from)) = front.recv_from(&mut packet) {
                    let back = clients.entry(from).or_insert_with(|| {
                        let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
                        back.connect(server).expect("an address");
                        back.set_nonblocking(true).expect("a socket");
                        back
                    });
                    if !is_cut {
                        // A packet that does not arrive is lost, as in any network.
                        let _ = back.send(&packet[..length]);
                    }
                }
                for (&client, back) in &clients {
                    while let Ok(length) = back.recv(&mut packet) {
                        if !is_cut {
                            let _ = front.send_to(&packet[..length], client);
                        }
                    }
                }
            }
        });
        Relay {
            address,
            is_cut,
            is_over,
            thread: Some(thread),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Loses all packets from now on, or none.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the relay ends");
        }
    }
}
