//! What a Myriad server and its clients must agree on.
//!
//! | module | holds |
//! | --- | --- |
//! | [`fixed`] | fixed-point numbers, the only fractions in the world |
//! | [`id`] | ticks, slots, entity and client identities |
//! | [`config`] | the world file, parsed once into a [`WorldConfig`] |
//! | [`schema`] | attributes, kinds and commands of a world, as clients see them |
//! | [`command`] | the built-in commands and what each takes |
//! | [`content`] | what a client may ask to hear of, wherever it happens |
//! | [`notification`] | the built-in notifications and what each tells |
//! | [`mix`] | the one hash and the one random generator |
//! | [`wire`] | handshake, datagrams and the reliable stream, all bounded |
#![forbid(unsafe_code)]

pub mod command;
pub mod config;
pub mod content;
pub mod fixed;
pub mod id;
pub mod mix;
pub mod notification;
pub mod schema;
pub mod wire;

pub use command::{CommandKind, Rules};
pub use config::{ConfigError, Every, InterestMode, Limits, WorldConfig};
pub use fixed::Fixed;
pub use id::{ClientRow, EntityId, EntityRef, Slot, Tick};
pub use notification::NotificationKind;
pub use schema::{Attribute, AttributeType, Audience, Kind, MergeRule, Schema, WorldInfo};
