//! Bytes of a connection's streams.

use bytes::Bytes;
use quinn_proto::{Connection, Dir, ReadError, Side, StreamId};

/// Why a stream gives no more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// As many were read as were wanted.
    Enough,
    /// Nothing more has arrived yet.
    Waiting,
    /// Nothing more will arrive.
    Finished,
}

/// Passes up to `bytes_max` of a stream's next bytes to `take`, in chunks.
pub(crate) fn read(
    connection: &mut Connection,
    stream: StreamId,
    bytes_max: usize,
    mut take: impl FnMut(&Bytes),
) -> StreamEnd {
    let mut stream = connection.recv_stream(stream);
    let Ok(mut chunks) = stream.read(true) else {
        return StreamEnd::Finished;
    };
    let mut left = bytes_max;
    let end = loop {
        if left == 0 {
            break StreamEnd::Enough;
        }
        match chunks.next(left) {
            Ok(Some(chunk)) => {
                take(&chunk.bytes);
                left -= chunk.bytes.len();
            }
            Err(ReadError::Blocked) => break StreamEnd::Waiting,
            Ok(None) | Err(ReadError::Reset(_)) => break StreamEnd::Finished,
        }
    };
    // A larger window goes out with the next packet.
    let _ = chunks.finalize();
    end
}

/// The first stream that a client opens.
pub(crate) fn first() -> StreamId {
    StreamId::new(Side::Client, Dir::Bi, 0)
}
