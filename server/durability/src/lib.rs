//! State that outlives the process.
//!
//! A persistent world (`myriad serve --data DIR`) lives in a folder, which one server at a
//! time may use:
//!
//! | file | holds |
//! | --- | --- |
//! | `lock` | nothing; the server locks it |
//! | `certificate.pem`, `key.pem`, `reset.key` | the server's identity towards clients |
//! | `journal-<tick>` | a segment: records from this tick on, in order |
//! | `checkpoint-<tick>` | the state before this tick, and the clients of the world |
//! | `untold` | the address of a deposed server that has not confirmed it |
//! | `role` | whether players are in this world, or it is a copy |
//! | `characters` | the characters of accounts, in worlds with characters |
//! | `characters.world` | the name of the world in the database that has them instead |
//! | `synced` | a tick that the journal has come to, known apart from it |
//! | `spare` | preallocated room for the next segment |
//!
//! A record holds the tick's frame and the changes of clients. It is written while the
//! engine runs the tick, so the hash of the state stands in the record after it. The state
//! follows from a checkpoint and the frames since then, to the bit. Known sets are not saved:
//! after a restart, all clients are sent their views again.
//!
//! | module | holds |
//! | --- | --- |
//! | [`epoch`] | which server wrote a record |
//! | [`role`] | whether a folder's world is the one that players are in |
//! | [`level`] | durability levels: when a tick is sent to clients |
//! | [`disk`] | the file operations of the journal |
//! | [`code`] | numbers as bytes |
//! | [`annotations`] | what comes with a frame beside the tick's input: clients' names, chat |
//! | [`frame_code`] | frames as bytes |
//! | [`record`] | records, each bound to the one before |
//! | [`roster`] | the clients of a world, as records change them |
//! | [`elsewhere`] | conditions beside the disk for sending a tick to clients |
//! | [`segment`] | segments: names and heads
//! | [`mark`] | a tick that the journal has come to |
//! | [`journal`] | segments: appending, syncing, failures of the disk |
//! | [`log`] | segments: reading, torn ends and damage |
//! | [`checkpoint`] | the state of a world in a file |
//! | [`characters`] | the characters of accounts |
//! | [`worker`] | the threads that write journal and checkpoints |
//! | [`ahead`] | reading a journal ahead of the world that runs it again, on several threads |
//! | [`rerun`] | the ticks of records, run again |
//! | [`recovered`] | a world as its last server left it |
//! | [`recovery`] | from a folder to a running world |
//! | [`differences`] | differences between a world file and a persistent world |
//! | [`backup`] | copies of a world from which it can be restored |
//! | `bucket` | a folder in an S3-compatible store, where the feature `s3` is on |
//! | [`folder`] | the folder, its lock and its identity |
//! | [`values`] | values of attributes as people write them |
//! | [`recording`] | recordings |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod ahead;
pub mod annotations;
pub mod backup;
#[cfg(feature = "s3")]
pub mod bucket;
pub mod characters;
pub mod checkpoint;
pub mod code;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod code_cache;
pub mod differences;
pub mod disk;
pub mod elsewhere;
pub mod epoch;
pub mod folder;
pub mod frame_code;
pub mod journal;
pub mod level;
pub mod log;
pub mod mark;
pub mod record;
pub mod recording;
pub mod recovered;
pub mod recovery;
pub mod rerun;
pub mod role;
pub mod roster;
pub mod segment;
pub mod values;
pub mod worker;

/// Random numbers below a bound.
#[cfg(test)]
pub(crate) fn test_dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = shared::world::mix::mix(seed, 0x9e37);
    move |bound| {
        state = shared::world::mix::mix(state, 1);
        state % bound.max(1)
    }
}
