//! World files: TOML text in, with its scripts, and a checked [`WorldConfig`](shared::WorldConfig)
//! out.
//!
//! Every size that the server allocates follows from the result. A bad file is rejected with
//! all its problems: each with file, line, key, what was expected and what was found.
//!
//! | module | part of the file |
//! | --- | --- |
//! | `reader` | reads a file and its scripts |
//! | `error` | why a file is rejected |
//! | [`folder`] | folders of scripts |
//! | `parse` | from the text to a checked world |
//! | `raw` | the keys and their TOML types, before any check |
//! | `syntax` | what is wrong with a file before it has keys |
//! | `overrides` | what a command line sets in place of a file |
//! | `read` | reads the keys, part by part |
//! | `lines` | where the file has its keys |
//! | `shape` | what is wrong with the type of a value, without the names of Rust's |
//! | `mend` | reads behind keys that have problems |
//! | `build` | the order of the checks; `[world]` |
//! | `kinds` | `[[kind]]`: kinds and attributes |
//! | `names` | names of attributes |
//! | `logic` | `[logic]`, `[commands]`: scripts, and what the file sets for them |
//! | `compile` | what scripts declare |
//! | `initial` | `default` of an attribute that is a choice of several values |
//! | `commands` | `[[every]]`, and the engine's own notifications |
//! | `engine` | the keys by which the engine itself uses attributes: falls and owners |
//! | `regions` | the regions of `[[kind]]`, and their limits |
//! | `interest` | what clients see, with an entity and without |
//! | `visibility` | `[visibility]` |
//! | `motion`, `wire_step` | the keys of `[world]` that say how movement is sent |
//! | `spawn` | `spawn` of `[[kind]]` |
//! | `doors` | `blocks` of `[[kind]]` |
//! | `groups` | `group` and `shared_with` of attributes |
//! | `things` | `place` and `on_holder_end` of `[[kind]]` |
//! | `fields` | `[[field]]` |
//! | `planes` | `[[plane]]` |
//! | `layers`, `image`, `cells` | `[[layer]]`: drawings and images |
//! | [`maps`] | maps of editors: images of layers, and lines of world files |
//! | `ranges` | the keys of `[limits]` and their ranges |
//! | `limits` | what of these follows from the rest of the world |
//! | `remarks` | what is allowed, but hardly meant |
//! | `check` | checks that several keys share |
//! | `stored` | worlds in checkpoints and recordings |

// A number that does not fit is a problem of the file, and not another number.
#![deny(clippy::cast_possible_truncation)]
#![deny(unsafe_code)]

mod build;
mod cells;
mod check;
mod collections;
mod commands;
mod compile;
mod doors;
mod engine;
mod error;
mod fields;
pub mod folder;
mod groups;
mod image;
mod initial;
mod interest;
mod kinds;
mod layers;
mod limits;
mod lines;
mod logic;
pub mod maps;
mod mend;
mod motion;
mod names;
mod overrides;
mod parse;
mod planes;
mod ranges;
mod rankings;
mod raw;
mod read;
mod reader;
mod regions;
mod remarks;
mod shape;
mod spawn;
mod stored;
mod syntax;
mod things;
mod visibility;
mod wire_step;
mod zones;

pub use error::{ConfigError, Remark};
pub use parse::Checked;
pub use reader::{Reader, default, load, parse, read_file};
pub use shape::{Format, plain};
pub use shared::world::source::Overrides;
pub use stored::{StoredWorld, at_rate};
