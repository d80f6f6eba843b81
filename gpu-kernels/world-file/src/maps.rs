//! Maps of editors, LDtk's and Tiled's: cells as images of layers, objects as lines of world files.
//!
//! | module | |
//! | --- | --- |
//! | `ldtk` | reads `.ldtk`: the levels of a project |
//! | `objects` | the objects of either |
//! | `tiled` | reads a map of Tiled, with its tilesets: `.tmj` and `.tsj` by itself |
//! | `tiled_document` | what both of its formats are read into |
//! | `tmx` | reads `.tmx` and `.tsx`: the same as XML |

mod ldtk;
mod objects;
mod tiled;
mod tiled_document;
mod tmx;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use png::{BitDepth, ColorType, Encoder};
use serde::de::DeserializeOwned;
use shared::wire::layers::{LayerKind, TAGS_MAX};
use shared::world::layer::CELLS_MAX;
use thiserror::Error;

use super::folder;

pub use objects::{Object, ObjectLayer, ObjectsAs};

/// What a map has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    pub grids: Vec<Grid>,
    pub objects: Vec<ObjectLayer>,
}

/// A grid of cells of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// As the map has it, behind the names of its level or of the groups that it is in, and `/`.
    pub name: String,
    pub width: u32,
    pub height: u32,
    /// Row by row, the highest first, as editors show them; 0 is nothing.
    cells: Vec<u32>,
    /// What the map says of the numbers of cells.
    values: Arc<BTreeMap<u32, Value>>,
}

/// What a map says of a number of its cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Value {
    /// A tag.
    name: Option<String>,
    height: Option<i64>,
}

/// An image for `[[layer]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerImage {
    pub png: Vec<u8>,
    /// Of the layer `tag`: its key `tags`.
    pub tags: Vec<String>,
}

/// Why a file is no map that can be a layer: where, and what was expected.
#[derive(Debug, Error)]
#[error("{place}: {message}")]
pub struct MapError {
    place: String,
    message: String,
}

/// Reads a map: a file that ends with `.ldtk`, or with `.tmx`, `.tmj` or `.json` of Tiled.
pub fn read(path: &Path) -> Result<Map, MapError> {
    let place = path.display().to_string();
    let end = path.extension().unwrap_or_default().to_string_lossy();
    match &*end {
        "ldtk" => ldtk::map(&place, &bytes_of(path)?),
        "tmx" | "tmj" | "json" => tiled::map(&place, &bytes_of(path)?, &|name| {
            bytes_of(&path.with_file_name(name))
        }),
        _ => error(
            place,
            "expected a file of LDtk, `.ldtk`, or of Tiled, `.tmx` or `.tmj`",
        ),
    }
}

/// Reads a project of LDtk.
pub fn ldtk(place: &str, bytes: &[u8]) -> Result<Map, MapError> {
    ldtk::map(place, bytes)
}

/// Reads a map of Tiled, XML or JSON, whose tilesets stand in it.
pub fn tiled(place: &str, bytes: &[u8]) -> Result<Map, MapError> {
    tiled::map(place, bytes, &|name| {
        error(name, "expected a tileset that is embedded in the map")
    })
}

impl Grid {
    fn new(
        name: String,
        [width, height]: [u32; 2],
        cells: Vec<u32>,
        values: Arc<BTreeMap<u32, Value>>,
    ) -> Result<Grid, MapError> {
        let most = CELLS_MAX.cast_unsigned();
        if !(1..=most).contains(&width) || !(1..=most).contains(&height) {
            let message =
                format!("expected 1 to {most} cells along an axis, found {width} times {height}");
            return error(name, message);
        }
        let all = width as usize * height as usize;
        if cells.len() != all {
            let message = format!(
                "expected {all} cells, {width} times {height}, found {}",
                cells.len()
            );
            return error(name, message);
        }
        Ok(Grid {
            name,
            width,
            height,
            cells,
            values,
        })
    }

    /// The image of a layer. Walls are where cells are something; the others have what the map says
    /// of their cells.
    pub fn image(&self, kind: LayerKind) -> Result<LayerImage, MapError> {
        let mut tags: Vec<String> = vec![];
        let bytes = match kind {
            LayerKind::Blocked => {
                let rows = self.cells.chunks(self.width as usize);
                let bits = |row: &[u32]| {
                    let byte = |eight: &[u32]| {
                        let free = eight.iter().enumerate().filter(|(_, cell)| **cell == 0);
                        free.fold(0, |byte, (i, _)| byte | 0x80 >> i)
                    };
                    row.chunks(8).map(byte).collect::<Vec<u8>>()
                };
                rows.flat_map(bits).collect()
            }
            LayerKind::Height => {
                let has_numbers = self.values.values().all(|value| value.height.is_none());
                let mut bytes = Vec::with_capacity(2 * self.cells.len());
                for (at, &cell) in self.cells.iter().enumerate() {
                    let height = match self.values.get(&cell) {
                        _ if cell == 0 => 0,
                        Some(Value {
                            height: Some(height),
                            ..
                        }) => *height,
                        // Maps that say nothing of heights have them as numbers.
                        _ if has_numbers => i64::from(cell),
                        _ => return self.wrong(at, "a tile with a height"),
                    };
                    let Ok(height) = i16::try_from(height) else {
                        let expected = format!("heights from {} to {}", i16::MIN, i16::MAX);
                        return self.wrong(at, &expected);
                    };
                    bytes.extend((height.cast_unsigned() ^ 0x8000).to_be_bytes());
                }
                bytes
            }
            LayerKind::Tag => {
                let used: BTreeSet<u32> = self.cells.iter().copied().collect();
                let name = |cell: &u32| self.values.get(cell)?.name.as_ref();
                let named: BTreeSet<&String> = used.iter().filter_map(name).collect();
                if !(1..=TAGS_MAX).contains(&named.len()) {
                    let message = format!("expected 1 to {TAGS_MAX} tags, found {}", named.len());
                    return error(&self.name, message);
                }
                tags.extend(named.into_iter().cloned());
                let number = |cell: u32| {
                    let tag = name(&cell).and_then(|name| tags.binary_search(name).ok());
                    tag.map_or(0, |tag| u8::try_from(tag + 1).unwrap_or(0))
                };
                self.cells.iter().map(|&cell| number(cell)).collect()
            }
        };
        let depth = match kind {
            LayerKind::Blocked => BitDepth::One,
            LayerKind::Height => BitDepth::Sixteen,
            LayerKind::Tag => BitDepth::Eight,
        };
        let png = self.encoded(depth, &bytes);
        let png = png.map_err(|wrong| MapError {
            place: self.name.clone(),
            message: wrong.to_string(),
        })?;
        Ok(LayerImage { png, tags })
    }

    fn encoded(&self, depth: BitDepth, bytes: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
        let mut png = vec![];
        let mut encoder = Encoder::new(&mut png, self.width, self.height);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(depth);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(bytes)?;
        writer.finish()?;
        Ok(png)
    }

    fn wrong<T>(&self, at: usize, expected: &str) -> Result<T, MapError> {
        let width = self.width as usize;
        let (column, row) = (at % width + 1, at / width + 1);
        let found = self.cells[at];
        let message = format!("expected {expected}, found {found} in row {row}, column {column}");
        error(&self.name, message)
    }
}

impl MapError {
    /// The same, of something in a file.
    fn within(self, file: &str) -> MapError {
        MapError {
            place: format!("{file}: {}", self.place),
            ..self
        }
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, MapError> {
    let file = folder::open(path);
    let bytes = file.and_then(|file| folder::read_bounded_bytes(file, FILE_BYTES_MAX));
    bytes.map_err(|wrong| MapError {
        place: path.display().to_string(),
        message: format!("cannot be read: {wrong}"),
    })
}

/// Reads a file's text; an error has the line and the column.
fn parsed<T: DeserializeOwned>(place: &str, bytes: &[u8]) -> Result<T, MapError> {
    serde_json::from_slice(bytes).map_err(|wrong| MapError {
        place: place.to_owned(),
        message: wrong.to_string(),
    })
}

fn error<T>(place: impl Into<String>, message: impl Into<String>) -> Result<T, MapError> {
    Err(MapError {
        place: place.into(),
        message: message.into(),
    })
}

/// The most bytes of a file.
const FILE_BYTES_MAX: usize = 64 << 20;
