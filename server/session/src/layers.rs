//! The layers that a client has asked for, and gets part by part.

use std::collections::VecDeque;

use frontend::SessionWorld;
use shared::wire::layers::LAYER_PART_BYTES_MAX;

use super::frame::FrameWriter;

/// The layers that a client has yet to be sent. Each is sent once.
#[derive(Debug, Default)]
pub struct Layers {
    /// By the world's places of layers.
    wanted: VecDeque<usize>,
    /// Bits of those that were asked for.
    asked: u32,
    /// How much of the first one is sent.
    offset: usize,
}

impl Layers {
    /// The client asks for the layer with this hash.
    pub fn ask(&mut self, hash: u64, world: &SessionWorld) {
        let Some(place) = world.layers.place(hash) else {
            return;
        };
        if self.asked >> place & 1 == 0 {
            self.asked |= 1 << place;
            self.wanted.push_back(place);
        }
    }

    /// Writes the next part, of at most so many bytes.
    pub fn write(&mut self, world: &SessionWorld, bytes_max: usize, frame: &mut FrameWriter<'_>) {
        let Some((hash, content)) = self.wanted.front().and_then(|&at| world.layers.at(at)) else {
            return;
        };
        let even = BYTES_PER_SECOND / world.config.schema.world.tick_hz as usize;
        let stream = world.config.limits.client_stream_bytes as usize / 4;
        let most = even
            .min(stream)
            .min(bytes_max)
            .clamp(PART_BYTES_MIN, LAYER_PART_BYTES_MAX);
        let end = content.len().min(self.offset + most);
        let part = content.get(self.offset..end).unwrap_or_default();
        let offset = u32::try_from(self.offset).unwrap_or(u32::MAX);
        frame.codec.layer(frame.message(), hash, offset, part);
        self.offset = end;
        if end == content.len() {
            self.offset = 0;
            self.wanted.pop_front();
        }
    }
}

/// At most: what a tick has to say waits behind it on the same stream.
const BYTES_PER_SECOND: usize = 1 << 18;
const PART_BYTES_MIN: usize = 256;
