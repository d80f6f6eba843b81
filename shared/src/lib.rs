//! What a Myriad server and its clients must agree on.
//!
//! | module | content |
//! | --- | --- |
//! | [`world`] | ids, numbers, attributes, commands and notifications; the checked [`WorldConfig`] |
//! | [`predicate`] | predicates by which clients subscribe to changes and notifications |
//! | [`wire`] | handshake, datagrams and the reliable stream, all bounded |
//!
//! Each module uses only those above it. Nothing does I/O.
#![forbid(unsafe_code)]

pub mod predicate;
pub mod wire;
pub mod world;

pub use world::attribute::{Attribute, AttributeType, Audience, MergeRule};
pub use world::command::{CommandKind, CommandSchema, CommandWord, Refusal, Senders};
pub use world::config::{Every, Fall, InterestMode, Motion, WorldConfig};
pub use world::course::Course;
pub use world::fixed::Fixed;
pub use world::hook::{Hook, Occasion, Zone};
pub use world::id::{ClientRow, EntityId, EntityRef, Slot, Tick};
pub use world::limits::Limits;
pub use world::notification::{NotificationField, NotificationKind, NotificationSchema};
pub use world::schema::{Kind, Schema, WorldConstant, WorldInfo};
pub use world::talk::{Name, Text};
pub use world::value::{AttributeValue, Plain, Symbol};
