//! Maps of Tiled: the cells of tile layers, what tilesets say of tiles, and objects. Both of its formats are
//! read into the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::objects::Form;
use super::tiled_document::{self as document, Data, Layer, MapObject, Tileset};
use super::{Grid, Map, MapError, Object, ObjectLayer, Value, error, parsed, tmx};

/// `file` reads what is beside the map.
pub fn map(
    place: &str,
    bytes: &[u8],
    file: &dyn Fn(&str) -> Result<Vec<u8>, MapError>,
) -> Result<Map, MapError> {
    let map: document::Map = match is_xml(bytes) {
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
    let mut reading = Reading {
        place,
        values: Arc::new(values),
        cell: [map.tilewidth, map.tileheight].map(|edge| f64::from(edge.max(1))),
        rows: f64::from(map.height),
        read: Map::default(),
    };
    reading.add("", [0.0; 2], map.layers)?;
    Ok(reading.read)
}

/// Whether a file is of Tiled's own formats, `.tmx` and `.tsx`, rather than JSON.
fn is_xml(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    text.strip_prefix(BYTE_ORDER_MARK)
        .unwrap_or(text)
        .starts_with(b"<")
}

/// What is read of the layers of a map, and what they need of it.
struct Reading<'a> {
    place: &'a str,
    values: Arc<BTreeMap<u32, Value>>,
    /// The edges of a cell, in pixels.
    cell: [f64; 2],
    rows: f64,
    read: Map,
}

impl Reading<'_> {
    /// Adds the layers of a map or of a group, whose name ends with `/`, and which is `offset` pixels from
    /// where the map begins.
    fn add(&mut self, group: &str, offset: [f64; 2], layers: Vec<Layer>) -> Result<(), MapError> {
        let place = self.place;
        for layer in layers {
            let name = format!("{group}{}", layer.name);
            let offset = [offset[0] + layer.offsetx, offset[1] + layer.offsety];
            match (&*layer.ty, layer.data) {
                ("group", _) => self.add(&format!("{name}/"), offset, layer.layers)?,
                ("tilelayer", Some(Data::Numbers(mut cells))) => {
                    cells.iter_mut().for_each(|cell| *cell &= FLAGS - 1);
                    let size = [layer.width, layer.height];
                    let grid = Grid::new(name, size, cells, self.values.clone());
                    self.read
                        .grids
                        .push(grid.map_err(|wrong| wrong.within(place))?);
                }
                ("tilelayer", data) => {
                    let found = match data {
                        Some(Data::Text(text)) => format!("a text of {} bytes", text.len()),
                        _ => "nothing".to_owned(),
                    };
                    let message = format!(
                        "expected the numbers of its tiles, found {found}: set \"Tile Layer Format\" \
                         to CSV, in the properties of the map"
                    );
                    return error(format!("{place}: {name}"), message);
                }
                ("objectgroup", _) => {
                    let objects = layer.objects.into_iter();
                    let objects = objects.map(|object| {
                        let id = object.id;
                        self.object(offset, object).map_err(|expected| MapError {
                            place: format!("{place}: {name}: object {id}"),
                            message: format!("expected {expected}"),
                        })
                    });
                    let objects = objects.collect::<Result<_, _>>()?;
                    self.read.objects.push(ObjectLayer { name, objects });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// An error is what was expected.
    fn object(&self, offset: [f64; 2], object: MapObject) -> Result<Object, &'static str> {
        if object.template.is_some() {
            return Err("an object of its own: use \"Detach\" on one of a template");
        }
        if object.polygon.is_some() || object.polyline.is_some() || object.text.is_some() {
            return Err("a point, a tile, a rectangle or a circle");
        }
        let cells = |x: f64, y: f64| {
            let [x, y] = [x + offset[0], y + offset[1]];
            [x / self.cell[0], self.rows - y / self.cell[1]]
        };
        let MapObject {
            x,
            y,
            width,
            height,
            ..
        } = object;
        let form = if object.gid.is_some() {
            Form::Point(cells(x + width / 2.0, y - height / 2.0))
        } else if object.point || width == 0.0 && height == 0.0 {
            Form::Point(cells(x, y))
        } else if object.rotation != 0.0 {
            return Err("a rectangle or a circle that is not turned");
        } else if object.ellipse {
            let radius = [width / self.cell[0], height / self.cell[1]].map(|width| width / 2.0);
            if (radius[0] - radius[1]).abs() > 1e-3 * radius[0].abs() {
                return Err("a circle, as wide as high");
            }
            Form::Disc {
                center: cells(x + width / 2.0, y + height / 2.0),
                radius: radius[0],
            }
        } else {
            Form::Box([cells(x, y + height), cells(x + width, y)])
        };
        let population = object
            .properties
            .iter()
            .find(|own| own.name == "population");
        Ok(Object {
            form,
            population: population.and_then(|own| own.value.as_i64()),
            name: object.name,
            class: object.class,
        })
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// How a tile is turned is in the bits from here on.
const FLAGS: u32 = 1 << 28;
