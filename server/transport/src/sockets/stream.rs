//! A TCP connection that never blocks, with TLS or without.

use std::io::{self, ErrorKind, Read, Write};

use mio::event::Source;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use platform::http::taken::Taken;
use rustls::ServerConnection;
use socket2::SockRef;

/// The bytes of a connection.
pub enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

/// TLS after its handshake. Reading does not wait until what is written is gone.
pub struct TlsStream {
    tcp: TcpStream,
    tls: ServerConnection,
}

impl Stream {
    pub fn new(taken: Taken) -> io::Result<Stream> {
        let (tcp, tls) = match taken {
            Taken::Plain(tcp) => (tcp, None),
            Taken::Tls(tcp, tls) => (tcp, Some(tls)),
        };
        tcp.set_nonblocking(true)?;
        tcp.set_nodelay(true)?;
        let socket = SockRef::from(&tcp);
        // The system takes no more than the network does: what waits here can still be replaced.
        socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
        // A client gets little and often: it need not wait ever longer after lost packets.
        socket.set_tcp_thin_linear_timeouts(true)?;
        let tcp = TcpStream::from_std(tcp);
        Ok(match tls {
            None => Stream::Plain(tcp),
            Some(mut tls) => {
                tls.set_buffer_limit(Some(TLS_BUFFER_BYTES));
                Stream::Tls(Box::new(TlsStream { tcp, tls: *tls }))
            }
        })
    }

    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.tcp().register(registry, token, interest)
    }

    pub fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.tcp().deregister(registry)
    }

    fn tcp(&mut self) -> &mut TcpStream {
        match self {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(tls) => &mut tls.tcp,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(tcp) => tcp.read(buffer),
            Stream::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(tcp) => tcp.write(bytes),
            Stream::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(tls) => tls.flush(),
        }
    }
}

impl Read for TlsStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Also an end without a last word, which no WebSocket has.
                read => return read,
            }
            if self.tls.read_tls(&mut self.tcp)? == 0 {
                return Ok(0);
            }
            if let Err(error) = self.tls.process_new_packets() {
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
        }
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let taken = self.tls.writer().write(bytes)?;
        match self.flush() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.tcp)?;
        }
        Ok(())
    }
}

/// Bytes that wait in the system: few enough to be sent soon on a slow link.
const UNSENT_BYTES: u32 = 4096;
const TLS_BUFFER_BYTES: usize = 16 * 1024;
