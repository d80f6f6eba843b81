//! Worlds: ids, numbers, attributes, commands and notifications, and the checked
//! definition of a world.
//!
//! | module | content |
//! | --- | --- |
//! | [`fixed`] | fixed-point numbers, the only fractions in the world |
//! | [`id`] | ticks, slots, entities, references to entities, client rows |
//! | [`mix`] | the one hash and the one random generator |
//! | [`attribute`] | attributes: their types, merge rules and audiences |
//! | [`value`] | values: decoded, shown, parsed |
//! | [`course`] | what clients are sent of an entity's movement |
//! | [`command`] | commands: their numbers, senders and words; `[commands]` of the world file |
//! | [`notification`] | notifications: their numbers and fields |
//! | [`layer`] | layers: what cells of the world are, such as walls |
//! | [`edit`] | what scripts change of them |
//! | [`door`] | doors: entities that block cells |
//! | [`plane`] | planes: worlds within the world, and where they are in its space |
//! | [`field`] | flow fields: ways through cells to the nearest goal |
//! | [`logic`] | the texts of a world's scripts, and what the world file sets for them |
//! | [`collection`] | arrays and maps: attributes that scripts use as one |
//! | [`visibility`] | what hides entities from clients within reach |
//! | [`group`] | groups: things of which players are members |
//! | [`ranking`] | rankings: the entities of a kind, ordered by an attribute |
//! | [`columns`] | how many columns there can be, and sets of them |
//! | [`schema`] | attributes, kinds, commands and notifications of a world, as clients see them |
//! | [`shown`] | which things clients see |
//! | [`spawn`] | where entities are born |
//! | [`initial`] | the values that entities are born with |
//! | [`given`] | the values that a birth is given by its command |
//! | [`symbols`] | the symbols that each attribute can have |
//! | [`talk`] | names of players, and what they say |
//! | [`words`] | handles of texts that attributes have |
//! | [`source`] | what a world was made from |
//! | [`limits`] | sizes and quotas, each declared once |
//! | [`config`] | everything that defines a world, checked |
//! | [`birthplace`] | where the entities of one kind are born |

pub mod attribute;
pub mod birthplace;
pub mod collection;
pub mod columns;
pub mod command;
pub mod config;
pub mod course;
pub mod door;
pub mod edit;
pub mod field;
pub mod fixed;
pub mod given;
pub mod group;
pub mod hook;
pub mod id;
pub mod initial;
pub mod layer;
pub mod limits;
pub mod logic;
pub mod mix;
pub mod notification;
pub mod plane;
pub mod ranking;
pub mod schema;
pub mod shown;
pub mod source;
pub mod spawn;
pub mod symbols;
pub mod talk;
pub mod value;
pub mod visibility;
pub mod words;
