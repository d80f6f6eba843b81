//! Which connection.

/// A connection's number in its endpoint. It is used again after the connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub(crate) usize);

impl Handle {
    /// The handle of a connection in a transport beside QUIC, by its number there.
    pub fn new(index: usize) -> Handle {
        Handle(index)
    }

    pub fn index(self) -> usize {
        self.0
    }
}
