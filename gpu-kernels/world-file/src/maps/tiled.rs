//! Maps of Tiled: the cells of tile layers, and what tilesets say of tiles. Both of its formats are read
//! into the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tiled_document::{Data, Layer, Map, Tileset};
use super::{Grid, MapError, Value, error, parsed, tmx};

/// `file` reads what is beside the map.
pub fn grids(
    place: &str,
    bytes: &[u8],
    file: &dyn Fn(&str) -> Result<Vec<u8>, MapError>,
) -> Result<Vec<Grid>, MapError> {
    let map: Map = match is_xml(bytes) {
        true => tmx::map(place, bytes)?,
        false => parsed(place, bytes)?,
    };
    if map.infinite || map.orientation != "orthogonal" {
        let message = "expected a map of a fixed size, with the orientation `orthogonal`";
        return error(place, message);
    }
    let mut values = BTreeMap::new();
    for tileset in map.tilesets {
        let tiles = match &tileset.source {
            None => tileset.tiles,
            Some(source) => {
                let bytes = file(source)?;
                match is_xml(&bytes) {
                    true => tmx::tileset(source, &bytes)?.tiles,
                    false => parsed::<Tileset>(source, &bytes)?.tiles,
                }
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

/// Whether a file is of Tiled's own formats, `.tmx` and `.tsx`, rather than JSON.
fn is_xml(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    text.strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(text)
        .starts_with(b"<")
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

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How a tile is turned is in the bits from here on.
const FLAGS: u32 = 1 << 28;
