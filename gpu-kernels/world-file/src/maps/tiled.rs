//! Maps of Tiled, saved as JSON: the cells of tile layers, and what tilesets say of tiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use super::{Grid, MapError, Value, error, parsed};

#[derive(Deserialize)]
struct Map {
    #[serde(default)]
    infinite: bool,
    orientation: String,
    layers: Vec<Layer>,
    #[serde(default)]
    tilesets: Vec<Tileset>,
}

#[derive(Deserialize)]
struct Layer {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    #[serde(default)]
    width: u32,
    #[serde(default)]
    height: u32,
    /// Of a tile layer: numbers of tiles, or a text with these.
    #[serde(default)]
    data: Option<Data>,
    /// Of a group.
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Data {
    Numbers(Vec<u32>),
    Text(String),
}

#[derive(Deserialize)]
struct Tileset {
    #[serde(default)]
    firstgid: u32,
    /// The file that has the rest.
    source: Option<String>,
    #[serde(default)]
    tiles: Vec<Tile>,
}

#[derive(Deserialize)]
struct Tile {
    id: u32,
    #[serde(rename = "type", alias = "class", default)]
    class: String,
    #[serde(default)]
    properties: Vec<Property>,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    value: Json,
}

/// `file` reads what is beside the map.
pub fn grids(
    place: &str,
    bytes: &[u8],
    file: &dyn Fn(&str) -> Result<Vec<u8>, MapError>,
) -> Result<Vec<Grid>, MapError> {
    let map: Map = parsed(place, bytes)?;
    if map.infinite || map.orientation != "orthogonal" {
        let message = "expected a map of a fixed size, with the orientation `orthogonal`";
        return error(place, message);
    }
    let mut values = BTreeMap::new();
    for tileset in map.tilesets {
        let tiles = match &tileset.source {
            None => tileset.tiles,
            Some(source) => {
                if !source.ends_with(".tsj") && !source.ends_with(".json") {
                    let message = format!(
                        "expected a tileset that is embedded, or saved as `.tsj`, found {source:?}"
                    );
                    return error(place, message);
                }
                let bytes = file(source)?;
                parsed::<Tileset>(source, &bytes)?.tiles
            }
        };
        for tile in tiles {
            let Some(number) = tileset.firstgid.checked_add(tile.id) else {
                let message = format!("expected tiles below {FLAGS}, found {}", tile.id);
                return error(place, message);
            };
            let of = |name: &str| tile.properties.iter().find(|own| own.name == name);
            let value = Value {
                height: of("height").and_then(|own| own.value.as_i64()),
                name: Some(tile.class.clone()).filter(|name| !name.is_empty()),
            };
            values.insert(number, value);
        }
    }
    let mut grids = vec![];
    add(place, "", map.layers, &Arc::new(values), &mut grids)?;
    Ok(grids)
}

/// Adds the tile layers of a map or of a group, whose name ends with `/`.
fn add(
    place: &str,
    group: &str,
    layers: Vec<Layer>,
    values: &Arc<BTreeMap<u32, Value>>,
    grids: &mut Vec<Grid>,
) -> Result<(), MapError> {
    for layer in layers {
        let name = format!("{group}{}", layer.name);
        match (&*layer.ty, layer.data) {
            ("group", _) => add(place, &format!("{name}/"), layer.layers, values, grids)?,
            ("tilelayer", Some(Data::Numbers(mut cells))) => {
                cells.iter_mut().for_each(|cell| *cell &= FLAGS - 1);
                let size = [layer.width, layer.height];
                let grid = Grid::new(name, size, cells, values.clone());
                grids.push(grid.map_err(|wrong| wrong.within(place))?);
            }
            ("tilelayer", data) => {
                let found = match data {
                    Some(Data::Text(text)) => format!("a text of {} bytes", text.len()),
                    _ => "nothing".to_owned(),
                };
                let message = format!(
                    "expected the numbers of its tiles, found {found}: set \"Tile Layer Format\" to \
                     CSV, in the properties of the map"
                );
                return error(format!("{place}: {name}"), message);
            }
            _ => {}
        }
    }
    Ok(())
}

/// How a tile is turned is in the bits from here on.
const FLAGS: u32 = 1 << 28;
