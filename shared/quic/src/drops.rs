//! Packets that the system dropped because a socket's buffer was full. Nobody else hears of
//! them: to QUIC they are lost on the way.

use std::fs;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::endpoint::Endpoint;
use crate::socket::Socket;

/// Counts the drops of an endpoint's sockets.
#[derive(Debug, Default)]
pub struct Drops {
    counted: u64,
    looked: Option<Instant>,
}

impl Drops {
    /// The drops since the last call. They are looked up once a second.
    pub fn take<S>(&mut self, endpoint: &Endpoint<S>) -> u64 {
        let now = Instant::now();
        if self.looked.is_some_and(|looked| now < looked + PERIOD) {
            return 0;
        }
        self.looked = Some(now);
        let Some(all) = of(endpoint.sockets()) else {
            return 0;
        };
        all.saturating_sub(std::mem::replace(&mut self.counted, all))
    }
}

/// All drops of some sockets; none where the system does not tell.
pub fn of(sockets: &[Socket]) -> Option<u64> {
    let inodes: Vec<String> = sockets.iter().filter_map(inode).collect();
    let tables = ["/proc/net/udp", "/proc/net/udp6"];
    let tables: Vec<String> = tables
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    (!tables.is_empty()).then(|| tables.iter().map(|table| drops(table, &inodes)).sum())
}

/// The sum of a table's last column over some sockets.
fn drops(table: &str, inodes: &[String]) -> u64 {
    let rows = table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let inode = fields.nth(INODE_FIELD)?;
        let is_ours = inodes.iter().any(|own| own == inode);
        let drops: u64 = fields.next_back()?.parse().ok()?;
        is_ours.then_some(drops)
    });
    rows.sum()
}

fn inode(socket: &Socket) -> Option<String> {
    let descriptor = socket.as_udp().as_raw_fd();
    let link = fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    let text = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
    Some(text.to_owned())
}

const PERIOD: Duration = Duration::from_secs(1);
const INODE_FIELD: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_is_summed_over_own_sockets() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
            14: 0100007F:1151 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 0000000000000000 17\n\
            15: 0100007F:1151 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4712 2 0000000000000000 4\n\
            16: 0100007F:1152 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4713 2 0000000000000000 2\n";
        let own = ["4711".to_owned(), "4713".to_owned()];
        assert_eq!(drops(table, &own), 19);
        assert_eq!(drops(table, &[]), 0);
    }
}
