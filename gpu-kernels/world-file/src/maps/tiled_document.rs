//! What Tiled's formats say of a map, as its JSON has it.

use serde::Deserialize;
use serde_json::Value as Json;

#[derive(Default, Deserialize)]
pub(super) struct Map {
    #[serde(default)]
    pub(super) infinite: bool,
    pub(super) orientation: String,
    pub(super) layers: Vec<Layer>,
    #[serde(default)]
    pub(super) tilesets: Vec<Tileset>,
}

#[derive(Default, Deserialize)]
pub(super) struct Layer {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) ty: String,
    #[serde(default)]
    pub(super) width: u32,
    #[serde(default)]
    pub(super) height: u32,
    /// Of a tile layer: numbers of tiles, or a text with these.
    #[serde(default)]
    pub(super) data: Option<Data>,
    /// Of a group.
    #[serde(default)]
    pub(super) layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Data {
    Numbers(Vec<u32>),
    Text(String),
}

#[derive(Default, Deserialize)]
pub(super) struct Tileset {
    #[serde(default)]
    pub(super) firstgid: u32,
    /// The file that has the rest.
    pub(super) source: Option<String>,
    #[serde(default)]
    pub(super) tiles: Vec<Tile>,
}

#[derive(Default, Deserialize)]
pub(super) struct Tile {
    pub(super) id: u32,
    #[serde(rename = "type", alias = "class", default)]
    pub(super) class: String,
    #[serde(default)]
    pub(super) properties: Vec<Property>,
}

#[derive(Default, Deserialize)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) value: Json,
}
