//! Maps and tilesets of Tiled in its own format, XML.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::tiled_document::{Data, Layer, Map, Property, Tile, Tileset};
use super::{MapError, error};

/// Reads a `.tmx` file.
pub fn map(place: &str, bytes: &[u8]) -> Result<Map, MapError> {
    let read = read(place, bytes)?;
    match read.root.as_str() {
        "map" => Ok(read.map),
        _ => error(
            place,
            format!("expected the element `map`, found {:?}", read.root),
        ),
    }
}

/// Reads a `.tsx` file.
pub fn tileset(place: &str, bytes: &[u8]) -> Result<Tileset, MapError> {
    let mut read = read(place, bytes)?;
    match (read.root.as_str(), read.map.tilesets.pop()) {
        ("tileset", Some(tileset)) => Ok(tileset),
        _ => error(
            place,
            format!("expected the element `tileset`, found {:?}", read.root),
        ),
    }
}

/// What has been read of a file.
#[derive(Default)]
struct Content {
    map: Map,
    root: String,
    /// The names of the elements that are open.
    open: Vec<String>,
    /// The groups that are open, with the layers in them.
    groups: Vec<Layer>,
    layer: Option<Layer>,
    /// The text of the element `data`, and its encoding.
    data: Option<(String, String)>,
}

fn read(place: &str, bytes: &[u8]) -> Result<Content, MapError> {
    let wrong = |at: u64, message: String| {
        let before = bytes
            .get(..usize::try_from(at).unwrap_or(usize::MAX))
            .unwrap_or(bytes);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        MapError {
            place: place.to_owned(),
            message: format!("{message} at line {line}"),
        }
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(end) => return Err(wrong(end.valid_up_to() as u64, "expected UTF-8".to_owned())),
    };
    let mut reader = Reader::from_str(text);
    let mut content = Content::default();
    loop {
        let event = reader.read_event();
        let event = event.map_err(|error| wrong(reader.error_position(), error.to_string()))?;
        let at = reader.buffer_position();
        let taken = match &event {
            Event::Start(element) => content.begin(element),
            Event::Empty(element) => content.begin(element).and_then(|()| content.end()),
            Event::End(_) => content.end(),
            Event::Text(text) => {
                content.take_text(
                    &text
                        .decode()
                        .map_err(|error| wrong(at, error.to_string()))?,
                );
                Ok(())
            }
            Event::Eof if content.open.is_empty() && !content.root.is_empty() => {
                return Ok(content);
            }
            Event::Eof => Err("expected the end of the element `map`".to_owned()),
            _ => Ok(()),
        };
        taken.map_err(|message| wrong(at, message))?;
    }
}

impl Content {
    fn begin(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        if self.open.len() == DEPTH_MAX {
            return Err(format!(
                "expected at most {DEPTH_MAX} elements within each other"
            ));
        }
        let name = String::from_utf8_lossy(element.name().as_ref()).into_owned();
        let within = self.open.last().map_or("", String::as_str);
        let text = |key: &str| attribute(element, key);
        match (within, &*name) {
            ("", "map") => {
                self.map.orientation = text("orientation")?.unwrap_or_default();
                self.map.infinite = text("infinite")?.is_some_and(|infinite| infinite != "0");
            }
            ("" | "map", "tileset") => self.map.tilesets.push(Tileset {
                firstgid: whole(element, "firstgid")?.unwrap_or(0),
                source: text("source")?,
                tiles: vec![],
            }),
            ("tileset", "tile") => {
                let class = match text("type")? {
                    None => text("class")?,
                    class => class,
                };
                let tile = Tile {
                    id: whole(element, "id")?.ok_or("expected the `id` of a tile")?,
                    class: class.unwrap_or_default(),
                    properties: vec![],
                };
                if let Some(tileset) = self.map.tilesets.last_mut() {
                    tileset.tiles.push(tile);
                }
            }
            ("properties", "property") if self.is_of_tile() => {
                let value = text("value")?.unwrap_or_default();
                let property = Property {
                    name: text("name")?.unwrap_or_default(),
                    value: value.parse::<i64>().map_or(value.into(), Into::into),
                };
                let tileset = self.map.tilesets.last_mut();
                if let Some(tile) = tileset.and_then(|tileset| tileset.tiles.last_mut()) {
                    tile.properties.push(property);
                }
            }
            ("map" | "group", "layer") => self.layer = Some(layer(element, "tilelayer")?),
            ("map" | "group", "group") => self.groups.push(layer(element, "group")?),
            ("layer", "data") => {
                let encoding = text("encoding")?.unwrap_or_else(|| "xml".to_owned());
                self.data = Some((encoding, String::new()));
            }
            _ => {}
        }
        self.opened(name)
    }

    fn opened(&mut self, name: String) -> Result<(), String> {
        if self.root.is_empty() {
            self.root.clone_from(&name);
        }
        self.open.push(name);
        Ok(())
    }

    /// Whether the open properties are those of a tile, not of something in it.
    fn is_of_tile(&self) -> bool {
        let above = self.open.iter().rev().nth(1);
        above.is_some_and(|name| name == "tile")
    }

    fn take_text(&mut self, text: &str) {
        if let Some((_, data)) = &mut self.data {
            data.push_str(text);
        }
    }

    fn end(&mut self) -> Result<(), String> {
        let name = self.open.pop().unwrap_or_default();
        let within = self.open.last().map_or("", String::as_str);
        let finished = match (within, &*name) {
            ("layer", "data") => {
                let data = self.data.take().map(|(encoding, text)| match &*encoding {
                    "csv" => numbers(&text).map(Data::Numbers),
                    _ => Ok(Data::Text(text)),
                });
                if let Some(layer) = &mut self.layer {
                    layer.data = data.transpose()?;
                }
                None
            }
            ("map" | "group", "layer") => self.layer.take(),
            ("map" | "group", "group") => self.groups.pop(),
            _ => None,
        };
        if let Some(layer) = finished {
            match self.groups.last_mut() {
                Some(group) => group.layers.push(layer),
                None => self.map.layers.push(layer),
            }
        }
        Ok(())
    }
}

fn layer(element: &BytesStart<'_>, ty: &str) -> Result<Layer, String> {
    Ok(Layer {
        name: attribute(element, "name")?.unwrap_or_default(),
        ty: ty.to_owned(),
        width: whole(element, "width")?.unwrap_or(0),
        height: whole(element, "height")?.unwrap_or(0),
        ..Layer::default()
    })
}

fn attribute(element: &BytesStart<'_>, key: &str) -> Result<Option<String>, String> {
    let found = element
        .try_get_attribute(key)
        .map_err(|wrong| wrong.to_string())?;
    let Some(found) = found else { return Ok(None) };
    let value = found.normalized_value(XmlVersion::Implicit1_0);
    value
        .map(|value| Some(value.into_owned()))
        .map_err(|wrong| wrong.to_string())
}

fn whole(element: &BytesStart<'_>, key: &str) -> Result<Option<u32>, String> {
    let Some(text) = attribute(element, key)? else {
        return Ok(None);
    };
    let wrong = |_| format!("expected a whole number as `{key}`, found {text:?}");
    text.parse().map(Some).map_err(wrong)
}

/// Numbers of tiles, with commas between them.
fn numbers(text: &str) -> Result<Vec<u32>, String> {
    let number = |word: &str| {
        let wrong = |_| format!("expected the number of a tile, found {word:?}");
        word.parse().map_err(wrong)
    };
    let words = text.split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(number).collect()
}

/// Groups within groups, for example.
const DEPTH_MAX: usize = 64;
