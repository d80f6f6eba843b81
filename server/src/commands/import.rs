//! `myriad import`: the cells of an editor's map, as the image of a layer.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use client_bot::say;
use shared::wire::layers::LayerKind;
use world_file::maps;

#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Map: of LDtk, NAME.ldtk, or of Tiled, NAME.tmx or NAME.tmj
    #[arg(value_name = "MAP")]
    map: PathBuf,
    /// Layer of the map, as in the list that is printed without this
    #[arg(long, value_name = "NAME", requires = "what", requires = "to")]
    layer: Option<String>,
    /// What its cells are
    #[arg(long = "as", value_name = "LAYER", requires = "layer")]
    what: Option<What>,
    /// PNG file to write, for the world file's `[[layer]]`
    #[arg(long, value_name = "FILE", requires = "layer")]
    to: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    Blocked,
    Height,
    Tag,
}

/// Lists the layers of a map, or writes the image of one.
pub fn run(arguments: &ImportArguments) -> Result<()> {
    let grids = maps::read(&arguments.map)?;
    let names = || grids.iter().map(|grid| &grid.name);
    let (Some(layer), Some(what), Some(to)) = (&arguments.layer, arguments.what, &arguments.to)
    else {
        if grids.is_empty() {
            bail!("{} has no layer of cells", arguments.map.display());
        }
        for grid in &grids {
            say!("{}: {} times {} cells", grid.name, grid.width, grid.height);
        }
        return Ok(());
    };
    let Some(grid) = grids.iter().find(|grid| grid.name == *layer) else {
        let known: Vec<_> = names().take(NAMES_MAX).collect();
        bail!("expected one of the map's layers, {known:?}, found {layer:?}");
    };
    let (name, kind) = match what {
        What::Blocked => ("blocked", LayerKind::Blocked),
        What::Height => ("height", LayerKind::Height),
        What::Tag => ("tag", LayerKind::Tag),
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

/// The names that a message lists.
const NAMES_MAX: usize = 32;
