//! What Tiled's formats say of a map, as its JSON has it.

use serde::Deserialize;
use serde_json::Value as Json;

#[derive(Default, Deserialize)]
pub(super) struct Map {
    #[serde(default)]
    pub(super) infinite: bool,
    pub(super) orientation: String,
    /// In cells, and of a cell in pixels.
    #[serde(default)]
    pub(super) height: u32,
    #[serde(default)]
    pub(super) tilewidth: u32,
    #[serde(default)]
    pub(super) tileheight: u32,
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
    /// In pixels, from the group that it is in.
    #[serde(default)]
    pub(super) offsetx: f64,
    #[serde(default)]
    pub(super) offsety: f64,
    /// Of a layer of objects.
    #[serde(default)]
    pub(super) objects: Vec<MapObject>,
}

/// In pixels, from the left and from the top.
#[derive(Default, Deserialize)]
pub(super) struct MapObject {
    #[serde(default)]
    pub(super) id: u32,
    #[serde(default)]
    pub(super) name: String,
    #[serde(rename = "type", alias = "class", default)]
    pub(super) class: String,
    #[serde(default)]
    pub(super) x: f64,
    #[serde(default)]
    pub(super) y: f64,
    #[serde(default)]
    pub(super) width: f64,
    #[serde(default)]
    pub(super) height: f64,
    #[serde(default)]
    pub(super) rotation: f64,
    #[serde(default)]
    pub(super) point: bool,
    #[serde(default)]
    pub(super) ellipse: bool,
    /// A tile, whose place is that of its lower left corner.
    #[serde(default)]
    pub(super) gid: Option<u32>,
    #[serde(default)]
    pub(super) polygon: Option<Json>,
    #[serde(default)]
    pub(super) polyline: Option<Json>,
    #[serde(default)]
    pub(super) text: Option<Json>,
    /// The file that has the rest.
    #[serde(default)]
    pub(super) template: Option<String>,
    #[serde(default)]
    pub(super) properties: Vec<Property>,
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
