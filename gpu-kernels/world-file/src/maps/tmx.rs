//! Maps and tilesets of Tiled in its own format, XML.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::tiled_document::{Data, Layer, Map, MapObject, Property, Tile, Tileset};
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
                self.map.height = number(element, "height")?.unwrap_or(0);
                self.map.tilewidth = number(element, "tilewidth")?.unwrap_or(0);
                self.map.tileheight = number(element, "tileheight")?.unwrap_or(0);
            }
            ("" | "map", "tileset") => self.map.tilesets.push(Tileset {
                firstgid: number(element, "firstgid")?.unwrap_or(0),
                source: text("source")?,
                tiles: vec![],
            }),
            ("tileset", "tile") => {
                let tile = Tile {
                    id: number(element, "id")?.ok_or("expected the `id` of a tile")?,
                    class: class(element)?,
                    properties: vec![],
                };
                if let Some(tileset) = self.map.tilesets.last_mut() {
                    tileset.tiles.push(tile);
                }
            }
            ("properties", "property") => {
                let value = text("value")?.unwrap_or_default();
                let property = Property {
                    name: text("name")?.unwrap_or_default(),
                    value: value.parse::<i64>().map_or(value.into(), Into::into),
                };
                if let Some(properties) = self.properties() {
                    properties.push(property);
                }
            }
            ("map" | "group", "objectgroup") => self.layer = Some(layer(element, "objectgroup")?),
            ("objectgroup", "object") => {
                if let Some(layer) = &mut self.layer {
                    layer.objects.push(object(element)?);
                }
            }
            ("object", shape) => {
                if let Some(object) = self.object() {
                    match shape {
                        "point" => object.point = true,
                        "ellipse" => object.ellipse = true,
                        "polygon" => object.polygon = Some(true.into()),
                        "polyline" => object.polyline = Some(true.into()),
                        "text" => object.text = Some(true.into()),
                        _ => {}
                    }
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

    /// Those of a tile or of an object of a layer, not of something in them.
    fn properties(&mut self) -> Option<&mut Vec<Property>> {
        match self.open.iter().rev().nth(1)?.as_str() {
            "tile" => {
                let tileset = self.map.tilesets.last_mut()?;
                Some(&mut tileset.tiles.last_mut()?.properties)
            }
            "object" => Some(&mut self.object()?.properties),
            _ => None,
        }
    }

    /// The newest object of the open layer. Those of tiles are in no layer.
    fn object(&mut self) -> Option<&mut MapObject> {
        self.layer.as_mut()?.objects.last_mut()
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
            ("map" | "group", "layer" | "objectgroup") => self.layer.take(),
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
        width: number(element, "width")?.unwrap_or(0),
        height: number(element, "height")?.unwrap_or(0),
        offsetx: number(element, "offsetx")?.unwrap_or(0.0),
        offsety: number(element, "offsety")?.unwrap_or(0.0),
        ..Layer::default()
    })
}

fn object(element: &BytesStart<'_>) -> Result<MapObject, String> {
    Ok(MapObject {
        id: number(element, "id")?.unwrap_or(0),
        name: attribute(element, "name")?.unwrap_or_default(),
        class: class(element)?,
        x: number(element, "x")?.unwrap_or(0.0),
        y: number(element, "y")?.unwrap_or(0.0),
        width: number(element, "width")?.unwrap_or(0.0),
        height: number(element, "height")?.unwrap_or(0.0),
        rotation: number(element, "rotation")?.unwrap_or(0.0),
        gid: number(element, "gid")?,
        template: attribute(element, "template")?,
        ..MapObject::default()
    })
}

/// Of a tile or of an object. Versions of Tiled differ in its name.
fn class(element: &BytesStart<'_>) -> Result<String, String> {
    let class = match attribute(element, "type")? {
        None => attribute(element, "class")?,
        class => class,
    };
    Ok(class.unwrap_or_default())
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

fn number<N: Number>(element: &BytesStart<'_>, key: &str) -> Result<Option<N>, String> {
    let Some(text) = attribute(element, key)? else {
        return Ok(None);
    };
    let read = N::read(&text)
        .ok_or_else(|| format!("expected {} as `{key}`, found {text:?}", N::EXPECTED));
    read.map(Some)
}

trait Number: Sized {
    const EXPECTED: &str;

    fn read(text: &str) -> Option<Self>;
}

impl Number for u32 {
    const EXPECTED: &str = "a whole number";

    fn read(text: &str) -> Option<u32> {
        text.parse().ok()
    }
}

impl Number for f64 {
    const EXPECTED: &str = "a number";

    fn read(text: &str) -> Option<f64> {
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
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
