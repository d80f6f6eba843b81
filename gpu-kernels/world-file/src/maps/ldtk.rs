//! Projects of LDtk: the cells of the layers of type IntGrid, of each level.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::{Grid, MapError, Value, error, parsed};

#[derive(Deserialize)]
struct Project {
    defs: Definitions,
    levels: Vec<Level>,
}

#[derive(Deserialize)]
struct Definitions {
    layers: Vec<Definition>,
}

#[derive(Deserialize)]
struct Definition {
    identifier: String,
    #[serde(rename = "intGridValues", default)]
    values: Vec<Defined>,
}

#[derive(Deserialize)]
struct Defined {
    value: u32,
    identifier: Option<String>,
}

#[derive(Deserialize)]
struct Level {
    identifier: String,
    /// `None`: they are in a file of their own.
    #[serde(rename = "layerInstances")]
    layers: Option<Vec<Layer>>,
}

#[derive(Deserialize)]
struct Layer {
    #[serde(rename = "__identifier")]
    identifier: String,
    #[serde(rename = "__type")]
    ty: String,
    #[serde(rename = "__cWid")]
    width: u32,
    #[serde(rename = "__cHei")]
    height: u32,
    #[serde(rename = "intGridCsv", default)]
    cells: Vec<u32>,
}

pub fn grids(place: &str, bytes: &[u8]) -> Result<Vec<Grid>, MapError> {
    let project: Project = parsed(place, bytes)?;
    let defined = project.defs.layers.into_iter().map(|defined| {
        let values = defined.values.into_iter().map(|defined| {
            let value = Value {
                name: defined.identifier.filter(|name| !name.is_empty()),
                height: None,
            };
            (defined.value, value)
        });
        (
            defined.identifier,
            Arc::new(values.collect::<BTreeMap<_, _>>()),
        )
    });
    let defined: BTreeMap<String, Arc<BTreeMap<u32, Value>>> = defined.collect();
    let mut grids = vec![];
    for level in project.levels {
        let Some(layers) = level.layers else {
            let message = "expected a level that is saved in the project: switch \"Save levels to \
                           separate files\" off";
            return error(format!("{place}: {}", level.identifier), message);
        };
        for layer in layers.into_iter().filter(|layer| layer.ty == "IntGrid") {
            let values = defined.get(&layer.identifier).cloned().unwrap_or_default();
            let name = format!("{}/{}", level.identifier, layer.identifier);
            let grid = Grid::new(name, [layer.width, layer.height], layer.cells, values);
            grids.push(grid.map_err(|wrong| wrong.within(place))?);
        }
    }
    Ok(grids)
}
