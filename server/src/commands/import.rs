//! `myriad import`: the cells of an editor's map as the image of a layer, and its objects as lines of a world
//! file.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use program::say;
use shared::wire::layers::LayerKind;
use world_file::maps::{self, Map, ObjectsAs};

#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Map: of LDtk, NAME.ldtk, or of Tiled, NAME.tmx or NAME.tmj
    #[arg(value_name = "MAP")]
    map: PathBuf,
    /// Layer of the map, as in the list that is printed without this
    #[arg(long, value_name = "NAME", requires = "what")]
    layer: Option<String>,
    /// What its cells or objects are
    #[arg(long = "as", value_name = "WHAT", requires = "layer")]
    what: Option<What>,
    /// PNG file to write, for the world file's `[[layer]]`: for cells
    #[arg(long, value_name = "FILE", requires = "layer")]
    to: Option<PathBuf>,
    /// Edge of a cell of the map in the world, in units: for objects
    #[arg(long, value_name = "UNITS", default_value = "1", value_parser = edge)]
    cell: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Cells: walls
    Blocked,
    /// Cells: heights
    Height,
    /// Cells: tags
    Tag,
    /// Objects: where entities are born
    Kinds,
    /// Objects: zones
    Zones,
}

fn edge(text: &str) -> Result<f64, String> {
    let edge = text.parse().ok();
    let edge = edge.filter(|edge| (1.0 / 16.0..=1024.0).contains(edge));
    edge.ok_or_else(|| "expected 1/16 to 1024 units".to_owned())
}

/// Lists the layers of a map, or imports one.
pub fn run(arguments: &ImportArguments) -> Result<()> {
    let map = maps::read(&arguments.map)?;
    let (Some(layer), Some(what)) = (&arguments.layer, arguments.what) else {
        if map.grids.is_empty() && map.objects.is_empty() {
            bail!(
                "{} has no layer of cells or objects",
                arguments.map.display()
            );
        }
        for grid in &map.grids {
            say!("{}: {} times {} cells", grid.name, grid.width, grid.height);
        }
        for layer in &map.objects {
            say!("{}: {} objects", layer.name, layer.objects.len());
        }
        return Ok(());
    };
    match what {
        What::Blocked => image(arguments, &map, layer, "blocked", LayerKind::Blocked),
        What::Height => image(arguments, &map, layer, "height", LayerKind::Height),
        What::Tag => image(arguments, &map, layer, "tag", LayerKind::Tag),
        What::Kinds => objects(arguments, &map, layer, ObjectsAs::Kinds),
        What::Zones => objects(arguments, &map, layer, ObjectsAs::Zones),
    }
}

fn image(
    arguments: &ImportArguments,
    map: &Map,
    layer: &str,
    name: &str,
    kind: LayerKind,
) -> Result<()> {
    let Some(to) = &arguments.to else {
        bail!("expected the image to write, `--to FILE`");
    };
    let Some(grid) = map.grids.iter().find(|grid| grid.name == layer) else {
        return unknown("of cells", map.grids.iter().map(|grid| &*grid.name), layer);
    };
    let image = grid
        .image(kind)
        .with_context(|| arguments.map.display().to_string())?;
    std::fs::write(to, image.png).with_context(|| format!("cannot write {}", to.display()))?;
    say!("# {} times {} cells", grid.width, grid.height);
    say!("[[layer]]\nname = {name:?}");
    say!("image = {:?}", to.file_name().unwrap_or_default());
    if !image.tags.is_empty() {
        say!("tags = {:?}", image.tags);
    }
    Ok(())
}

fn objects(arguments: &ImportArguments, map: &Map, layer: &str, what: ObjectsAs) -> Result<()> {
    if arguments.to.is_some() {
        bail!("expected no `--to FILE`: the lines of objects are printed");
    }
    let Some(objects) = map.objects.iter().find(|objects| objects.name == layer) else {
        let names = map.objects.iter().map(|objects| &*objects.name);
        return unknown("of objects", names, layer);
    };
    let lines = objects
        .lines(what, arguments.cell)
        .with_context(|| arguments.map.display().to_string())?;
    say!("{}", lines.trim_end());
    Ok(())
}

fn unknown<'a>(of: &str, known: impl Iterator<Item = &'a str>, found: &str) -> Result<()> {
    let known: Vec<_> = known.take(NAMES_MAX).collect();
    bail!("expected one of the map's layers {of}, {known:?}, found {found:?}");
}

/// The names that a message lists.
const NAMES_MAX: usize = 32;
