//! One frame of a client's stream, and the tick that it is about.

use frontend::SessionWorld;
use frontend::mirror::Mirror;
use frontend::publication::Publication;
use shared::Tick;
use shared::wire::bits::BitWriter;
use shared::wire::stream::StreamCodec;

/// One tick, as the sessions of a shard read it.
#[derive(Clone, Copy)]
pub struct TickView<'a> {
    pub publication: &'a Publication,
    /// The world after the tick.
    pub mirror: &'a Mirror,
    pub world: &'a SessionWorld,
    /// The shard's newest message with input that the tick has.
    pub input: u64,
    /// Ticks between sends to each client: 1, or more while the shard is busy.
    pub send_every: u32,
}

/// A frame of the stream that begins with its first message.
pub struct FrameWriter<'a> {
    pub codec: &'a StreamCodec,
    tick: Tick,
    writer: &'a mut BitWriter,
}

impl<'a> FrameWriter<'a> {
    pub fn new(codec: &'a StreamCodec, tick: Tick, writer: &'a mut BitWriter) -> FrameWriter<'a> {
        FrameWriter {
            codec,
            tick,
            writer,
        }
    }

    /// The writer of the next message; begins the frame before the first.
    pub fn message(&mut self) -> &mut BitWriter {
        if self.writer.bit_len() == 0 {
            self.codec.begin(self.writer, self.tick);
        }
        self.writer
    }

    pub fn bit_len(&self) -> usize {
        self.writer.bit_len()
    }
}
