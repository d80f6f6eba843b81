//! A client of Myriad without I/O, for any transport: a bidirectional stream and datagrams, as
//! QUIC and WebTransport offer them. The caller hands in received bytes and sends the bytes that
//! it gets. Time is always passed in.
//!
//! A game uses a [`Game`]: it is polled once a frame, interpolates others between received ticks,
//! predicts its own entity, and comes back when the connection is lost. It stands on a
//! [`Session`], one connection without a clock, which load tests use by itself:
//!
//! | the transport | calls |
//! | --- | --- |
//! | opens its stream | [`Handshake::new`], and sends [`Handshake::stream_bytes`] on it |
//! | receives stream bytes, until welcomed | [`Handshake::handle_stream`], which gives the [`Session`] |
//! | receives stream bytes, once welcomed | [`Session::handle_stream`] |
//! | receives a datagram | [`Session::handle_datagram`] |
//! | can send on its stream | sends [`Session::stream_bytes`], then [`Session::stream_sent`] |
//! | once or twice per tick | sends [`Session::datagram`] |
//!
//! The [`View`] of the session holds the world as received from the server. Single events
//! come to an [`EventHandler`]. Lost data is sent again with the next datagram, not after a
//! delay. No input makes this crate panic. After an error the session cannot continue, and the
//! connection should be closed.
//!
//! | module | holds |
//! | --- | --- |
//! | [`game`] | a client's end of a game, over any number of connections |
//! | [`clock`] | the server's clock, and when input is sent |
//! | [`scene`] | positions at any frame, between received ticks |
//! | [`prediction`] | the own entity, ahead of the server |
//! | [`link`] | whether the server has fallen silent |
//! | [`loss`] | why a connection was lost, and whether another attempt makes sense |
//! | [`retry`] | when a lost client connects again |
//! | [`route`] | where it connects then |
//! | [`handshake`] | hello and welcome |
//! | [`session`] | one client's end of a connection |
//! | [`view`] | the world as one client received it |
//! | [`event`] | events that a client can react to |
//! | [`named`] | events in a flat form, with names |
//! | [`bindings`] | whether a server's world is that of a game's generated bindings |
//! | [`layers`] | the walls, heights and tags of the world |
//! | [`command`] | commands that the server has not confirmed yet |
//! | [`request`] | requests for regions and subscriptions |
//! | [`texts`] | texts of attributes, and commands with texts |
//! | [`frame`] | messages with a length in front, cut out of a stream |
//!
//! A game before its first connection, with a transport that the caller brings:
//!
//! ```
//! use std::time::Duration;
//!
//! use client_core::{Game, GameOptions, Step};
//!
//! let mut game = Game::new(GameOptions::default());
//! let now = Duration::ZERO;
//! assert!(game.poll(now).is_empty());
//! assert_eq!(game.next_step(now), Step::Connect);
//!
//! // The transport has opened a connection: what the game has to say goes out on its stream.
//! game.opened(None);
//! let hello = game.stream_bytes().len();
//! assert!(hello > 0);
//! game.stream_sent(hello);
//! assert!(game.stream_bytes().is_empty());
//!
//! // What the server sends is handed in with the time of its arrival, in any pieces.
//! game.handle_stream(&[], now)?;
//! assert!(!game.is_playing());
//! # Ok::<(), shared::wire::DecodeError>(())
//! ```
#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod bindings;
pub mod clock;
pub mod command;
pub mod event;
pub mod frame;
pub mod game;
pub mod handshake;
pub mod layers;
pub mod link;
pub mod loss;
mod member_record;
pub mod named;
pub mod pace;
pub mod prediction;
pub mod rankings;
mod receipt;
mod record;
pub mod request;
pub mod retry;
pub mod route;
pub mod scene;
pub mod session;
pub mod texts;
mod usage;
pub mod view;

pub use bindings::{Bindings, Outline};
pub use clock::Clock;
pub use command::CommandError;
pub use event::{Change, DatagramSummary, Event, EventHandler, RefusedRun};
pub use game::{Game, GameOptions, Headless, Step};
pub use handshake::{Handshake, Welcomed, hello};
pub use layers::{LayerCache, LayerSource};
pub use link::{Link, LinkState};
pub use loss::{Ending, LossCode};
pub use named::{EventType, NamedEvent, NamedValue};
pub use prediction::Prediction;
pub use rankings::Ranking;
pub use request::PredicateTooLong;
pub use retry::RetryOptions;
pub use scene::Scene;
pub use session::Session;
pub use texts::{Argument, GivenCommand};
pub use view::{Entity, Member, View, ViewCounts};

/// Why a server closed a connection, and where to get another version of the game.
pub use shared::wire::close::{Close, Update};
/// Limits of a client.
pub use shared::wire::control::Quotas;
/// A layer of a world, and why bytes are not its content.
pub use shared::wire::layers::{LayerError, LayerInfo, LayerKind};
/// A decoded movement datagram.
pub use shared::wire::movement::Movement;
/// Events that a client is sent once, beside its view.
pub use shared::wire::notice::Notice;
/// The content of a notice.
pub use shared::wire::notice::NoticeBody;
/// An entity in a ranking; a ranking in a welcome.
pub use shared::wire::rankings::{Ranked, RankingInfo};
/// The reply to a request; a box that a client sees into.
pub use shared::wire::request::{Answer, Region};
/// A request as it is sent, and its content.
pub use shared::wire::request::{Request, RequestBody};
/// An entry of a frame of the stream.
pub use shared::wire::stream::Message;
/// Chat: requests of a client, and messages to it.
pub use shared::wire::talk::{Talk, TalkRequest};
/// What the cells of a world are.
pub use shared::world::layer::Layers;
