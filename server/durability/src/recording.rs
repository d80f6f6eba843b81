//! Recordings: a world's configuration, then each tick's frame and state hash.
//!
//! The file is a magic number, then records: length (4 bytes, little-endian), CRC-32 of
//! the payload (4 bytes), payload. A recording that breaks off inside a record, as after a
//! crash, can be read up to there. A recording is not trusted: its world passes through the
//! checks of a world file, and each length is compared with a limit before anything is read.
//!
//! | module | holds |
//! | --- | --- |
//! | [`writer`] | a recording while the world runs |
//! | [`reader`] | a recording, tick by tick |

pub mod reader;
pub mod writer;

use accounts::identity::ACCOUNT_BYTES_MAX;
use gpu_kernels::tick::frame::whole_births_max;
use gpu_kernels::{Frame, StateHash};
use serde::{Deserialize, Serialize};
use shared::WorldConfig;
use shared::world::given::KEPT_COMMANDS;
use shared::world::talk::NAME_BYTES_MAX;
use shared::world::talk::TALK_BYTES_MAX;

use super::annotations::Annotations;

pub use reader::{NextTick, RecordingReader};
pub use writer::{RecordingWriter, Sink};

/// One record. `W` is a [`StoredWorld`](world_file::StoredWorld).
#[derive(Debug, Serialize, Deserialize)]
pub enum Record<W> {
    /// The first record.
    Start(Box<W>),
    Tick(RecordedTick),
}

/// A tick of a recording.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RecordedTick {
    pub frame: Box<Frame>,
    pub annotations: Annotations,
    /// The state after it.
    pub hash: StateHash,
}

/// The most bytes of a tick's record: what clients may do at once, births and deaths of
/// everybody, and other scripts. Ticks with more can't be recorded.
pub fn tick_bytes_max(config: &WorldConfig) -> usize {
    let limits = &config.limits;
    let clients = limits.clients as usize;
    // Giving a character to an entity takes two commands at most.
    let given = COMMANDS_OF_SERVER + 2 * config.persists.len();
    let commands = clients * (limits.client_commands_burst as usize + given);
    let regions = clients * limits.regions_per_client as usize;
    let people = clients * PERSON_BYTES + TALK_BYTES_MAX;
    let slots = config.schema.world.capacity as usize;
    // Players are born with their characters: a word for each attribute.
    let whole = whole_births_max(config) as usize;
    let rows = whole * config.schema.attributes.len() * WORD_BYTES;
    let things = (whole - clients) * KEPT_COMMANDS as usize * COMMAND_BYTES;
    LOGIC_BYTES_MAX
        + commands * COMMAND_BYTES
        + regions * REGION_BYTES
        + slots * SLOT_BYTES
        + rows
        + things
        + people
}

/// Every recording begins with this.
pub const MAGIC: &[u8; 8] = b"MYRIADK1";
/// The most bytes of a world: the text of its file, and its scripts twice.
const WORLD_BYTES_MAX: usize = 20 << 20;
/// The most bytes of other scripts, and what else comes once in a tick.
const LOGIC_BYTES_MAX: usize = 4 << 20;
/// Births, deaths, and what else the server does for a client in a tick.
const COMMANDS_OF_SERVER: usize = 4;
/// A command with its words, which each take at most five bytes.
const COMMAND_BYTES: usize = 64;
const WORD_BYTES: usize = 5;
const REGION_BYTES: usize = 64;
/// A client's row, account and name.
const PERSON_BYTES: usize = ACCOUNT_BYTES_MAX + NAME_BYTES_MAX + 16;
/// The birth in a slot, and its release.
const SLOT_BYTES: usize = COMMAND_BYTES + 8;
