//! A client of Myriad for any engine and language: a C library over
//! [`client_bot::GameClient`]. `include/myriad.h` declares it; a test compares that with what
//! is here.
//!
//! A game calls, for each client:
//!
//! | when | function |
//! | --- | --- |
//! | once | [`connection::myriad_connect`] |
//! | once a frame | [`connection::myriad_poll`], then [`next_event::myriad_next_event`] until there is none |
//! | once a frame, to draw | [`world::myriad_entities`] |
//! | if [`input::myriad_input_due`] names a tick | [`input::myriad_command`] |
//! | at the end of a frame | [`input::myriad_flush`] |
//! | at the end | [`connection::myriad_leave`] |
//!
//! All functions give a [`MyriadStatus`]; what was wrong is in
//! [`failure::myriad_error`]. A client is a number that is never used again, so a client that
//! is gone is an error and not a wrong access. Functions may be called from any thread: those
//! for one client wait for each other, those for different clients don't. No panic leaves
//! this library.
//!
//! | module | holds |
//! | --- | --- |
//! | [`failure`] | what a function gives, and the sentence behind it |
//! | [`clients`] | the clients behind the numbers |
//! | [`memory`], `text` | text and lists of the caller; text that the library gives |
//! | [`connection`] | connecting, polling, leaving |
//! | [`events`], [`next_event`] | what has happened |
//! | [`world`] | what is around, and the connection's quality |
//! | [`schema`] | what a world is made of |
//! | [`input`] | commands |
//! | [`interest`] | regions, subscriptions, sight |
//! | [`rankings`] | rankings of the world |
//! | [`things`] | what entities hold |
//! | [`talk`] | what players say |

pub mod clients;
pub mod connection;
pub mod events;
pub mod failure;
pub mod input;
pub mod interest;
pub mod members;
pub mod memory;
pub mod next_event;
pub mod rankings;
pub mod schema;
pub mod talk;
mod text;
pub mod things;
pub mod world;

pub use clients::MyriadClient;
pub use failure::MyriadStatus;
