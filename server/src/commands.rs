//! The commands of the binary `myriad`.
//!
//! | module | holds |
//! | --- | --- |
//! | [`cli`] | the command line |
//! | [`arguments`] | shared parsing of arguments |
//! | [`web`] | the options of commands that let browsers play |
//! | [`serve`] | `myriad serve` |
//! | [`accounts`] | its options for authentication |
//! | [`admin`] | `myriad admin` |
//! | [`follow`] | `myriad serve --follow`, and its options |
//! | [`gateway`] | `myriad gateway`, and the options of its tick host |
//! | [`lease`] | `myriad serve --lease`: its options, and how a standby waits |
//! | [`promote`] | `myriad promote` |
//! | [`link_key`] | `myriad link-key` |
//! | [`token`] | `myriad token` |
//! | [`demo`] | `myriad demo` |
//! | [`new`] | `myriad new` |
//! | [`game`] | the folder of a game |
//! | [`dev`] | `myriad dev` |
//! | [`mod@test`] | `myriad test` |
//! | [`replay`] | `myriad replay` |
//! | [`init`] | `myriad init` |
//! | [`inspect`] | `myriad inspect` |
//! | [`verify`] | `myriad verify` |
//! | [`fork`] | `myriad fork` |
//! | [`export`] | `myriad export` |
//! | [`backup`] | `myriad backup`, `myriad restore` |
//! | [`characters`] | `myriad characters` |
//! | [`database`] | the option for a database of characters |
//! | [`migrate`] | `myriad migrate` |
//! | [`pair`] | `myriad serve --pair` |
//! | [`persistent`] | shared parts of the commands for persistent worlds |
//! | [`check`] | `myriad check` |
//! | [`columns`] | what the attributes of a world cost |
//! | [`bindings`] | `myriad bindings` |
//! | [`import`] | `myriad import` |
//! | [`logic`] | `myriad logic` |
//! | [`doctor`] | `myriad doctor` |
//! | [`traces`] | the options for traces of commands |
//! | [`warnings`] | what both checks print |
//! | [`shell`] | `myriad completions`, `myriad man` |
//! | [`parity`] | `myriad doctor --parity` |

pub mod accounts;
pub mod admin;
pub mod arguments;
pub mod backup;
pub mod bindings;
pub mod characters;
pub mod check;
pub mod cli;
pub mod columns;
pub mod database;
pub mod demo;
pub mod dev;
pub mod doctor;
pub mod export;
pub mod follow;
pub mod fork;
pub mod game;
pub mod gateway;
pub mod import;
pub mod init;
pub mod inspect;
pub mod lease;
pub mod link_key;
pub mod logic;
pub mod migrate;
pub mod new;
pub mod pair;
pub mod parity;
pub mod persistent;
pub mod promote;
pub mod replay;
pub mod serve;
pub mod shell;
pub mod test;
pub mod token;
pub mod traces;
pub mod verify;
pub mod warnings;
pub mod web;
