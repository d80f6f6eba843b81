//! The keys of a world file and their TOML types, before any check.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use shared::world::attribute::{AttributeType, Audience, MergeRule};
use shared::world::logic::Budget;
use shared::world::shown::Shown;

use super::ranges;

/// A whole file, which `read` reads part by part.
#[derive(Default)]
pub struct World {
    pub world: Section,
    pub limits: ranges::Limits,
    pub logic: Logic,
    pub commands: Commands,
    pub spectators: Spectators,
    pub visibility: Visibility,
    pub kind: Option<Vec<Kind>>,
    pub every: Vec<Every>,
    pub zone: Vec<Zone>,
    pub ranking: Vec<Ranking>,
    pub layer: Vec<Layer>,
    pub field: Vec<Field>,
    pub plane: Vec<Plane>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Section {
    pub name: String,
    pub size: Vec<f64>,
    pub aoi: f64,
    pub aoi_leave: Option<f64>,
    pub capacity: u32,
    pub tick_hz: u32,
    pub seed: u64,
    pub visible_max: u32,
    /// Of files from before there was one form only.
    pub interest: Option<Interest>,
    pub player_kind: Option<String>,
    pub motion: Option<bool>,
    pub wire_tolerance: f64,
    pub wire_step: Option<f64>,
    pub velocity: Option<Vec<String>>,
    pub attributes: Vec<Attribute>,
    pub constants: Vec<String>,
    pub gap: Option<f64>,
}

/// By distance.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interest {
    Exact,
}

impl Default for Section {
    fn default() -> Section {
        Section {
            name: "world".to_owned(),
            size: vec![1000.0, 1000.0],
            aoi: 50.0,
            aoi_leave: None,
            capacity: 4096,
            tick_hz: 10,
            seed: 1,
            visible_max: 256,
            interest: None,
            player_kind: None,
            motion: None,
            wire_tolerance: 0.0,
            wire_step: None,
            velocity: None,
            attributes: vec![],
            constants: vec![],
            gap: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub name: String,
    #[serde(default)]
    pub population: u32,
    #[serde(default)]
    pub places: Vec<Vec<f64>>,
    /// The plane each of whose copies has its population and its places.
    pub plane: Option<String>,
    pub respawn_ticks: Option<u32>,
    pub born: Option<String>,
    pub publishes: Option<Vec<f64>>,
    pub subscribes: Option<Vec<f64>>,
    pub spawn: Option<Spawn>,
    /// How many cells of the layer `blocked` its entities block, along `x` and `y`.
    pub blocks: Option<Vec<u32>>,
    /// Of things: they have no place, and belong to a holder.
    pub place: Option<Place>,
    pub on_holder_end: Option<HolderEnd>,
    /// Who sees things.
    pub shown: Option<Shown>,
    /// Whether accounts keep things that their players hold.
    #[serde(default)]
    pub persist: bool,
    #[serde(default)]
    pub attributes: Vec<Attribute>,
    /// Whether it has what the whole world shares.
    #[serde(skip)]
    pub is_shared: bool,
}

/// Where the entities of a kind are; of others the positions say it.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    None,
}

/// What becomes of things whose holder has ended.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HolderEnd {
    /// They belong to the world.
    #[default]
    Drop,
    Despawn,
}

impl Kind {
    /// Whether its entities are things.
    pub fn is_thing(&self) -> bool {
        self.place == Some(Place::None)
    }

    /// Its key in the file.
    pub fn key(&self) -> String {
        match self.is_shared {
            true => "world".to_owned(),
            false => format!("kind.{}", self.name),
        }
    }

    /// The kind with what the whole world shares.
    pub fn shared(attributes: Vec<Attribute>) -> Kind {
        Kind {
            name: SHARED_KIND.to_owned(),
            population: 0,
            places: vec![],
            plane: None,
            respawn_ticks: None,
            born: None,
            publishes: None,
            subscribes: None,
            spawn: None,
            blocks: None,
            place: None,
            on_holder_end: None,
            shown: None,
            persist: false,
            attributes,
            is_shared: true,
        }
    }
}

/// The name of the kind with what the whole world shares.
pub const SHARED_KIND: &str = "world";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    pub center: Option<Vec<f64>>,
    pub radius: Option<f64>,
    pub area: Option<Vec<Vec<f64>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    pub name: String,
    pub center: Option<Vec<f64>>,
    pub radius: Option<f64>,
    pub area: Option<Vec<Vec<f64>>>,
    pub carrier: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    pub name: String,
    /// `None`: of the world itself.
    pub plane: Option<String>,
    /// The edge of a cell, in units.
    #[serde(default = "one")]
    pub cell: f64,
    pub drawing: Option<String>,
    pub image: Option<toml::Spanned<String>>,
    #[serde(default)]
    pub legend: BTreeMap<String, toml::Value>,
    #[serde(default)]
    pub tags: Vec<String>,
    /// Whether scripts can change its cells.
    #[serde(default)]
    pub editable: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plane {
    pub name: String,
    pub size: Vec<f64>,
    #[serde(default = "one_copy")]
    pub copies: u32,
}

fn one_copy() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    pub name: String,
    pub kind: Option<String>,
    pub zone: Option<String>,
    pub places: Option<Vec<Vec<f64>>>,
    pub refresh_ticks: u32,
    /// By tag.
    #[serde(default)]
    pub costs: BTreeMap<String, i64>,
}

fn one() -> f64 {
    1.0
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: Declared,
    pub default: Option<toml::Value>,
    pub min: Option<toml::Value>,
    pub max: Option<toml::Value>,
    pub merge: Option<MergeRule>,
    pub audience: Audience,
    #[serde(default)]
    pub symbols: Vec<String>,
    pub length: Option<u32>,
    pub falls_at: Option<toml::Value>,
    pub tells_owner: Option<bool>,
    /// Whether a client sees what the entity holds to which it refers.
    #[serde(default)]
    pub shows_held: bool,
    /// Whether it refers to a group, whose members are those that refer to it.
    #[serde(default)]
    pub group: bool,
    /// The attributes that refer to those groups whose members are sent this one of each other.
    #[serde(default)]
    pub shared_with: Vec<String>,
    #[serde(default)]
    pub persist: bool,
    pub overflow: Option<Overflow>,
    pub wire_step: Option<f64>,
    #[serde(default)]
    pub allow: Vec<Allow>,
}

/// The type of an attribute, as the file has it.
#[derive(Clone)]
pub struct Declared {
    /// Of each value.
    pub of: AttributeType,
    /// `None`: there is one value.
    pub many: Option<Many>,
}

/// What several values go by.
#[derive(Clone)]
pub enum Many {
    Array { length: Option<u32> },
    Map { keys: Vec<String> },
}

/// The types that files name.
const TYPES: &[&str] = &["i32", "fixed", "bool", "entity", "symbol", "i64", "text"];

impl Attribute {
    /// One with the usual bounds and merge rule, of which clients are sent each value.
    pub fn plain(name: &str, ty: AttributeType) -> Attribute {
        Attribute {
            name: name.to_owned(),
            ty: ty.into(),
            default: None,
            min: None,
            max: None,
            merge: None,
            audience: Audience::State,
            symbols: vec![],
            length: None,
            falls_at: None,
            tells_owner: None,
            shows_held: false,
            group: false,
            shared_with: vec![],
            persist: false,
            overflow: None,
            wire_step: None,
            allow: vec![],
        }
    }
}

impl From<AttributeType> for Declared {
    fn from(of: AttributeType) -> Declared {
        Declared { of, many: None }
    }
}

impl<'de> Deserialize<'de> for Declared {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Declared, D::Error> {
        struct Type;

        impl<'de> Visitor<'de> for Type {
            type Value = Declared;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a type, as \"i32\", or a table with `array` or `map`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Declared, E> {
                // No file has half of a number.
                if !TYPES.contains(&name) {
                    return Err(de::Error::unknown_variant(name, TYPES));
                }
                AttributeType::deserialize(name.into_deserializer()).map(Declared::from)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Declared, A::Error> {
                let written = Collection::deserialize(MapAccessDeserializer::new(map))?;
                let (of, many) = match written {
                    Collection {
                        array: Some(of),
                        length,
                        map: None,
                        keys: None,
                    } => (of, Many::Array { length }),
                    Collection {
                        map: Some(of),
                        keys: Some(keys),
                        array: None,
                        length: None,
                    } => (of, Many::Map { keys }),
                    _ => {
                        let message = "expected `{ array = …, length = … }` or \
                                       `{ map = …, keys = […] }`";
                        return Err(de::Error::custom(message));
                    }
                };
                Ok(Declared {
                    of,
                    many: Some(many),
                })
            }
        }

        deserializer.deserialize_any(Type)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Collection {
    array: Option<AttributeType>,
    length: Option<u32>,
    map: Option<AttributeType>,
    keys: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    pub name: Option<String>,
    pub kind: String,
    pub by: String,
    #[serde(default)]
    pub first: First,
    #[serde(default = "ranking_length")]
    pub length: u16,
    #[serde(default)]
    pub clients: bool,
}

/// Which value comes first in a ranking.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum First {
    #[default]
    Greatest,
    Least,
}

fn ranking_length() -> u16 {
    10
}

/// A warning that an attribute does not get.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allow {
    UnusedAttributes,
}

/// What becomes of a write of an atomic command that is beyond an attribute's bounds.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    Clamp,
    Refuse,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Every {
    pub kind: String,
    pub ticks: u32,
    pub command: String,
    #[serde(default)]
    pub words: Vec<toml::Value>,
    pub at: Option<RulePoint>,
}

/// Where the point of a rule's command is.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RulePoint {
    /// Where the entity is.
    Own,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spectators {
    pub allowed: bool,
    pub speed_max: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Visibility {
    pub hides: Option<String>,
    pub reveals: Option<String>,
    pub line_of_sight: bool,
}

/// What the file sets for constants of scripts, by script and constant.
pub type Commands = BTreeMap<String, BTreeMap<String, toml::Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Logic {
    pub folder: Option<String>,
    pub builtin: Option<Vec<String>>,
    pub steps: u32,
    pub visits: u32,
}

impl Default for Logic {
    fn default() -> Logic {
        let Budget { steps, visits } = Budget::default();
        Logic {
            folder: None,
            builtin: None,
            steps,
            visits,
        }
    }
}

/// The kinds of a file without any `[[kind]]`: players with hit points.
pub fn default_kinds() -> Vec<Kind> {
    vec![Kind {
        name: "player".to_owned(),
        population: 0,
        places: vec![],
        plane: None,
        respawn_ticks: None,
        born: None,
        publishes: None,
        subscribes: None,
        spawn: None,
        blocks: None,
        place: None,
        on_holder_end: None,
        shown: None,
        persist: false,
        attributes: vec![Attribute {
            default: Some(toml::Value::Integer(100)),
            min: Some(toml::Value::Integer(0)),
            max: Some(toml::Value::Integer(100)),
            merge: Some(MergeRule::Sum),
            ..Attribute::plain("hp", AttributeType::I32)
        }],
        is_shared: false,
    }]
}
