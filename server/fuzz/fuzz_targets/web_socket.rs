//! Messages of a browser's WebSocket, in any order: they are read or rejected, and what waits stays
//! within the window.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use transport::sockets::message::{FromClient, WINDOW_BYTES};
use transport::sockets::queues::Queues;

fuzz_target!(|steps: Vec<(&[u8], u16)>| {
    let mut queues = Queues::default();
    let (mut arrived, mut read) = (0, 0);
    for (message, count) in steps {
        match FromClient::decode(Bytes::copy_from_slice(message)) {
            Ok(FromClient::Stream(bytes)) => {
                arrived += bytes.len() as u64;
                let is_allowed = arrived <= read + WINDOW_BYTES;
                assert_eq!(queues.arrive(&bytes).is_ok(), is_allowed);
                if !is_allowed {
                    return;
                }
            }
            Ok(FromClient::Datagram(bytes)) => queues.push_datagram(u64::from(count), bytes),
            Err(_) => return,
        }
        read += queues.read(usize::from(count), |_| ()) as u64;
        queues.write(message);
        if count % 3 == 0 {
            let _ = queues.next_message();
        }
    }
});
