//! `[[layer]]`: what the cells of the world are, from a drawing in the file or from an image.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use shared::wire::layers::TAGS_MAX;
use shared::world::edit::LayerKind;
use shared::world::fixed::Fixed;
use shared::world::layer::{CELLS_MAX, Layers, Sheet, Sheets, cells_of};
use shared::world::logic::Text;
use shared::world::plane::{Atlas, Rectangle};
use shared::world::schema::{Schema, WorldInfo};

use super::cells::{BLOCKED, edge_bits};
use super::check::{Problem, Problems, one_of, problem, unexpected};
use super::folder;
use super::image::{self, Pixels};
use super::logic::add_note;
use super::{planes, raw};

/// The layers of a file, before their tags are symbols.
#[derive(Default)]
pub(super) struct Read {
    pub sheets: Sheets,
    pub tags: Vec<String>,
    /// Images by where the file names them: as they stand in what the world is made from.
    pub inlined: Vec<(Range<usize>, String)>,
}

/// Reads all layers, those of planes into each of their copies. Images are beside the world file, unless
/// they stand in it. `world` has the size of the world without its planes.
pub(super) fn read(
    world: &WorldInfo,
    atlas: &Atlas,
    raw: &raw::World,
    beside: Option<&Path>,
    problems: &mut Problems,
) -> Read {
    let mut read = Read::default();
    let mut seen: Vec<(&str, &Option<String>)> = vec![];
    for layer in &raw.layer {
        let key = format!("layer.{}", layer.name);
        if ![BLOCKED, HEIGHT, TAG].contains(&&*layer.name) {
            let expected = one_of([BLOCKED, HEIGHT, TAG]);
            let found = format!("{:?}", layer.name);
            problems.take::<()>(unexpected(format!("{key}.name"), found, expected));
            continue;
        }
        if seen.contains(&(&layer.name, &layer.plane)) {
            problems.take::<()>(problem(key, "expected one layer of this name"));
            continue;
        }
        seen.push((&layer.name, &layer.plane));
        let added = match atlas.is_empty() && layer.plane.is_none() {
            true => add(&key, world, layer, beside, &mut read),
            false => add_in_planes(&key, world, atlas, layer, beside, &mut read),
        };
        problems.take(added);
    }
    problems.take(set_editable(raw, &mut read.sheets));
    if !atlas.is_empty() {
        let free = problems.take(wall_between(atlas, raw, &seen, &mut read.sheets));
        read.sheets.home = free.map_or([0; 2], |()| atlas.size);
    }
    read
}

/// Notes which layers scripts can change: those of one name are one layer.
fn set_editable(raw: &raw::World, sheets: &mut Sheets) -> Result<(), Problem> {
    for kind in LayerKind::ALL {
        let mut own = raw.layer.iter().filter(|layer| layer.name == kind.name());
        let Some(first) = own.next() else { continue };
        if own.any(|layer| layer.editable != first.editable) {
            let key = format!("layer.{}.editable", kind.name());
            return problem(
                key,
                "expected the same in all planes, as their cells are one grid",
            );
        }
        sheets.editable[kind as usize] = first.editable;
    }
    Ok(())
}

/// Adds a layer of the world itself, or one of a plane to all of its copies.
fn add_in_planes(
    key: &str,
    world: &WorldInfo,
    atlas: &Atlas,
    raw: &raw::Layer,
    beside: Option<&Path>,
    read: &mut Read,
) -> Result<(), Problem> {
    let (first, copies) = match &raw.plane {
        None => (0, 1),
        Some(name) => planes::named(atlas, &format!("{key}.plane"), name)?,
    };
    let mut own = world.clone();
    for (edge, size) in own.size.iter_mut().zip(atlas.rectangle(first).size) {
        *edge = Fixed::from_raw(size);
    }
    let mut drawn = Read::default();
    add(key, &own, raw, beside, &mut drawn)?;
    read.inlined.append(&mut drawn.inlined);
    let lows = (first..first + copies).map(|plane| atlas.rectangle(plane).low);
    let lay = Laying {
        key,
        width: own.size[0].raw(),
        lows: lows.collect(),
        extent: atlas.extent(),
    };
    if let Some(sheet) = drawn.sheets.blocked {
        lay.lay(&mut read.sheets.blocked, &sheet, true)?;
    }
    if let Some(sheet) = drawn.sheets.height {
        lay.lay(&mut read.sheets.height, &sheet, 0)?;
    }
    if let Some(mut sheet) = drawn.sheets.tag {
        let mut numbers = vec![0];
        for tag in drawn.tags {
            let known = read.tags.iter().position(|known| *known == tag);
            let at = known.unwrap_or_else(|| {
                read.tags.push(tag);
                read.tags.len() - 1
            });
            let Ok(number) = u8::try_from(at + 1) else {
                let expected = format!("at most {TAGS_MAX} tags in all planes");
                return unexpected(format!("{key}.tags"), at + 1, expected);
            };
            numbers.push(number);
        }
        for cell in &mut sheet.cells {
            *cell = numbers.get(usize::from(*cell)).copied().unwrap_or(0);
        }
        lay.lay(&mut read.sheets.tag, &sheet, 0)?;
    }
    Ok(())
}

/// Where the cells of a drawing go.
struct Laying<'a> {
    key: &'a str,
    /// Of the drawing, in raw units.
    width: i32,
    /// The low corner of each copy.
    lows: Vec<[i32; 2]>,
    /// Of the whole space.
    extent: [i32; 2],
}

impl Laying<'_> {
    /// Lays cells into those of the whole space, which are `ground` elsewhere.
    fn lay<T: Copy>(
        &self,
        into: &mut Option<Sheet<T>>,
        drawn: &Sheet<T>,
        ground: T,
    ) -> Result<(), Problem> {
        let edge_bits = drawn.edge_bits;
        let cells = self.extent.map(|size| cells_of(size, edge_bits));
        check_cells(&format!("{}.cell", self.key), cells)?;
        let row = cells[0] as usize;
        let sheet = into.get_or_insert_with(|| Sheet {
            edge_bits,
            cells: vec![ground; row * cells[1] as usize],
        });
        if sheet.edge_bits != edge_bits {
            let message = "expected the same in all planes, as their cells are one grid";
            return problem(format!("{}.cell", self.key), message);
        }
        let width = cells_of(self.width, edge_bits) as usize;
        for low in &self.lows {
            let [x, y] = low.map(|axis| (axis >> edge_bits) as usize);
            for (above, own) in (y..).zip(drawn.cells.chunks(width)) {
                let start = above * row + x;
                sheet.cells[start..start + width].copy_from_slice(own);
            }
        }
        Ok(())
    }
}

/// Blocks what lies between planes, and leaves those free of which the file says no walls.
fn wall_between(
    atlas: &Atlas,
    raw: &raw::World,
    seen: &[(&str, &Option<String>)],
    sheets: &mut Sheets,
) -> Result<(), Problem> {
    let edge_bits = planes::walls_edge(raw, atlas.size);
    let cells = atlas.extent().map(|size| cells_of(size, edge_bits));
    check_cells("plane", cells)?;
    let row = cells[0] as usize;
    let walls = sheets.blocked.get_or_insert_with(|| Sheet {
        edge_bits,
        cells: vec![true; row * cells[1] as usize],
    });
    for (plane, Rectangle { low, size }) in (0..).zip(atlas.rectangles()) {
        let name = atlas.name_of(plane).map(|(name, _)| name);
        let is_drawn =
            |(layer, of): &(&str, &Option<String>)| *layer == BLOCKED && of.as_deref() == name;
        if seen.iter().any(is_drawn) {
            continue;
        }
        let [x, y] = low.map(|axis| (axis >> edge_bits) as usize);
        let [width, height] = size.map(|edge| (edge >> edge_bits) as usize);
        for above in y..y + height {
            walls.cells[above * row + x..][..width].fill(false);
        }
    }
    Ok(())
}

/// The cells that cover a world must not be too many.
fn check_cells(key: &str, cells: [i32; 2]) -> Result<(), Problem> {
    if cells.iter().all(|&cells| cells <= CELLS_MAX) {
        return Ok(());
    }
    let found = format!("{} times {}", cells[0], cells[1]);
    let expected =
        format!("cells so large that {CELLS_MAX} along an axis cover the world and its planes");
    unexpected(key, found, expected)
}

/// The layers of a world whose symbols have their numbers.
pub(super) fn finish(mut read: Read, schema: &Schema) -> Layers {
    let number = |tag: &String| {
        let place = schema.symbols.iter().position(|symbol| symbol == tag);
        place
            .and_then(|place| i32::try_from(place).ok())
            .unwrap_or(-1)
    };
    let numbers = read.tags.iter().map(number);
    read.sheets.tag_symbols = numbers.collect();
    Layers::new(schema.world.size_raw(), &read.sheets)
}

/// Adds a text to those of a world with layers that says which they are: so whatever depends on the
/// scripts, such as the state hash, depends on the layers. A stored world has it already.
pub(super) fn add_text(layers: &Layers, texts: &mut Vec<Text>) -> Result<(), Problem> {
    let text = Text {
        file: TEXT_FILE.to_owned(),
        text: format!("// The layers have the hash {:016x}.\n", layers.hash()),
        is_builtin: true,
    };
    add_note(texts, text, "layer", "layers")
}

/// Where a layer comes from.
struct Source<'a> {
    key: &'a str,
    /// The cells of the world.
    width: usize,
    height: usize,
}

fn add(
    key: &str,
    world: &WorldInfo,
    raw: &raw::Layer,
    beside: Option<&Path>,
    read: &mut Read,
) -> Result<(), Problem> {
    let edge_bits = edge_bits(key, raw.cell)?;
    let size = world.size_raw();
    let cells = [size[0], size[1]].map(|size| cells_of(size, edge_bits));
    if cells.iter().any(|&cells| cells > CELLS_MAX) {
        let found = format!("{} times {}", cells[0], cells[1]);
        let expected = format!("cells so large that {CELLS_MAX} along an axis cover the world");
        return unexpected(format!("{key}.cell"), found, expected);
    }
    let source = Source {
        key,
        width: cells[0] as usize,
        height: cells[1] as usize,
    };
    if raw.name != TAG && !raw.tags.is_empty() {
        return problem(format!("{key}.tags"), "only the layer `tag` has tags");
    }
    if raw.name == BLOCKED && !raw.legend.is_empty() {
        return problem(
            format!("{key}.legend"),
            "in walls `#` is blocked and `.` is free",
        );
    }
    if raw.image.is_some() && !raw.legend.is_empty() {
        return problem(format!("{key}.legend"), "only a drawing has a legend");
    }
    let pixels = match (&raw.drawing, &raw.image) {
        (Some(_), None) => None,
        (None, Some(image)) => Some(source.image(image, beside, &mut read.inlined)?),
        _ => return problem(key, "expected either `drawing` or `image`"),
    };
    let drawing = raw.drawing.as_deref().unwrap_or_default();
    match raw.name.as_str() {
        BLOCKED => {
            let cells = match pixels {
                Some(pixels) => source.check(pixels.dark())?,
                None => source.drawn(drawing, "`#` or `.`", |char| match char {
                    '#' => Some(true),
                    '.' | ' ' => Some(false),
                    _ => None,
                })?,
            };
            if cells.iter().all(|&is_blocked| is_blocked) {
                return problem(key, "expected at least one cell that is free");
            }
            read.sheets.blocked = Some(Sheet { edge_bits, cells });
        }
        HEIGHT => {
            let cells = match pixels {
                Some(pixels) => source.check(pixels.heights())?,
                None => {
                    let legend = heights(key, &raw.legend)?;
                    source.drawn(drawing, "a digit, `.` or a key of `legend`", |char| {
                        let digit = char
                            .to_digit(10)
                            .and_then(|digit| i16::try_from(digit).ok());
                        let plain = if matches!(char, '.' | ' ') {
                            Some(0)
                        } else {
                            digit
                        };
                        legend.get(&char).copied().or(plain)
                    })?
                }
            };
            read.sheets.height = Some(Sheet { edge_bits, cells });
        }
        _ => {
            let (cells, tags) = match pixels {
                Some(pixels) => {
                    let tags = checked_tags(&format!("{key}.tags"), raw.tags.clone())?;
                    (source.check(pixels.numbers(tags.len()))?, tags)
                }
                None => {
                    let (legend, tags) = tags(key, &raw.legend, &raw.tags)?;
                    let cells = source.drawn(drawing, "`.` or a key of `legend`", |char| {
                        let plain = matches!(char, '.' | ' ').then_some(0);
                        legend.get(&char).copied().or(plain)
                    })?;
                    (cells, tags)
                }
            };
            read.sheets.tag = Some(Sheet { edge_bits, cells });
            read.tags = tags;
        }
    }
    Ok(())
}

impl Source<'_> {
    /// The cells of a drawing, whose first line is the row of the highest `y`.
    fn drawn<T>(
        &self,
        drawing: &str,
        expected: &str,
        cell: impl Fn(char) -> Option<T>,
    ) -> Result<Vec<T>, Problem> {
        let key = format!("{}.drawing", self.key);
        let lines: Vec<&str> = drawing.lines().collect();
        if lines.len() != self.height {
            let found = format!("{} lines", lines.len());
            let expected = format!("{} lines, one for each row of cells", self.height);
            return unexpected(key, found, expected);
        }
        let mut cells = Vec::with_capacity(self.width * self.height);
        for (number, line) in lines.iter().enumerate().rev() {
            let number = number + 1;
            let before = cells.len();
            for (column, char) in (1..).zip(line.chars()) {
                match cell(char) {
                    Some(cell) if column <= self.width => cells.push(cell),
                    Some(_) => {}
                    None => {
                        let found = format!("{char:?} in line {number}, column {column}");
                        return unexpected(key, found, expected);
                    }
                }
            }
            let found = line.chars().count();
            if cells.len() - before != self.width || found != self.width {
                let expected = format!("{} cells in line {number}", self.width);
                return unexpected(key, found, expected);
            }
        }
        Ok(cells)
    }

    /// The pixels of an image.
    fn image(
        &self,
        image: &toml::Spanned<String>,
        beside: Option<&Path>,
        inlined: &mut Vec<(Range<usize>, String)>,
    ) -> Result<Pixels, Problem> {
        let key = format!("{}.image", self.key);
        let name = image.get_ref();
        let bytes = match name.strip_prefix(INLINE) {
            Some(text) => match BASE64_STANDARD.decode(text) {
                Ok(bytes) => bytes,
                Err(error) => return problem(key, format!("this is no base64: {error}")),
            },
            None => {
                let Some(beside) = beside else {
                    return problem(key, "a stored world has its images in its file");
                };
                let path = beside.join(name);
                let file = folder::open(&path);
                let bytes = file.and_then(image::read_file);
                match bytes {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        let path = path.display();
                        return problem(key, format!("{path}: cannot be read: {error}"));
                    }
                }
            }
        };
        let found = image::decode(&bytes, [self.width, self.height]);
        let pixels = found.map_err(|message| {
            let file = if name.starts_with(INLINE) {
                "the image"
            } else {
                name
            };
            Problem::new(key, format!("{file}: {message}"))
        })?;
        if !name.starts_with(INLINE) {
            let text = format!("\"{INLINE}{}\"", BASE64_STANDARD.encode(&bytes));
            inlined.push((image.span(), text));
        }
        Ok(pixels)
    }

    fn check<T>(&self, cells: Result<Vec<T>, String>) -> Result<Vec<T>, Problem> {
        cells.map_err(|message| Problem::new(format!("{}.image", self.key), message))
    }
}

type Legend = BTreeMap<String, toml::Value>;

fn key_char(key: &str, text: &str) -> Result<char, Problem> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(char), None) if !char.is_control() => Ok(char),
        _ => unexpected(
            format!("{key}.legend"),
            format!("{text:?}"),
            "a single character",
        ),
    }
}

fn heights(key: &str, legend: &Legend) -> Result<BTreeMap<char, i16>, Problem> {
    let mut heights = BTreeMap::new();
    for (text, value) in legend {
        let char = key_char(key, text)?;
        let height = value
            .as_integer()
            .and_then(|height| i16::try_from(height).ok());
        let Some(height) = height else {
            let key = format!("{key}.legend");
            return unexpected(
                key,
                value,
                format!("a whole number from {} to {}", i16::MIN, i16::MAX),
            );
        };
        heights.insert(char, height);
    }
    Ok(heights)
}

/// By character: the number of a tag; and the tags.
fn tags(
    key: &str,
    legend: &Legend,
    given: &[String],
) -> Result<(BTreeMap<char, u8>, Vec<String>), Problem> {
    if !given.is_empty() {
        return problem(
            format!("{key}.tags"),
            "the tags of a drawing are those of its `legend`",
        );
    }
    let key_of_legend = format!("{key}.legend");
    let mut names: Vec<String> = vec![];
    let mut chars = BTreeMap::new();
    for (text, value) in legend {
        let char = key_char(key, text)?;
        let Some(name) = value.as_str() else {
            return unexpected(key_of_legend, value, "the name of a tag");
        };
        let at = names.iter().position(|known| known == name);
        let at = at.unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        let Ok(number) = u8::try_from(at + 1) else {
            return unexpected(key_of_legend, "more", format!("at most {TAGS_MAX} tags"));
        };
        chars.insert(char, number);
    }
    Ok((chars, checked_tags(&key_of_legend, names)?))
}

fn checked_tags(key: &str, tags: Vec<String>) -> Result<Vec<String>, Problem> {
    if !(1..=TAGS_MAX).contains(&tags.len()) {
        return unexpected(key, tags.len(), format!("1 to {TAGS_MAX} tags"));
    }
    for (i, tag) in tags.iter().enumerate() {
        if tag.is_empty() || tags[..i].contains(tag) {
            return unexpected(key, format!("{tag:?}"), "names that differ");
        }
    }
    Ok(tags)
}

/// The text of a world file with its images in it.
pub(super) fn inline(text: &str, mut images: Vec<(Range<usize>, String)>) -> String {
    let mut text = text.to_owned();
    images.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    for (span, image) in images {
        text.replace_range(span, &image);
    }
    text
}

const HEIGHT: &str = "height";
const TAG: &str = "tag";
const INLINE: &str = "data:image/png;base64,";
const TEXT_FILE: &str = "world-layers.rs";
