//! What a Myriad server and its clients must agree on.
//!
//! | module | content |
//! | --- | --- |
//! | [`world`] | ids, numbers, attributes, commands and notifications; the checked [`WorldConfig`] |
//! | [`predicate`] | predicates by which clients subscribe to changes and notifications |
//! | [`wire`] | handshake, datagrams and the reliable stream, all bounded |
//!
//! Each module uses only those above it. Nothing does I/O.
//!
//! Numbers are fixed-point, so that each machine computes the same bits:
//!
//! ```
//! use shared::{EntityId, EntityRef, Fixed, Slot};
//!
//! let reach = Fixed::from_f64(2.5).expect("in range");
//! assert_eq!(reach.raw(), 10_240);
//! assert_eq!(reach.to_f64(), 2.5);
//!
//! // An entity is its slot, and how often that was used. Commands name it by one number.
//! let wolf = EntityId::new(7, 1);
//! assert_eq!(wolf.slot, Slot(7));
//! assert_eq!(wolf.reference(), EntityRef(0x0100_0007));
//! ```
#![forbid(unsafe_code)]

pub mod predicate;
pub mod wire;
pub mod world;

pub use world::attribute::{Attribute, AttributeType, Audience, Content, MergeRule};
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
