//! Projects of LDtk: the cells of the layers of type IntGrid, and the entities of those of type Entities, of
//! each level.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

use super::objects::Form;
use super::{Grid, Map, MapError, Object, ObjectLayer, Value, error, parsed};

#[derive(Deserialize)]
struct Project {
    defs: Definitions,
    levels: Vec<Level>,
}

#[derive(Deserialize)]
struct Definitions {
    layers: Vec<Definition>,
    #[serde(default)]
    entities: Vec<EntityDefinition>,
}

/// Those that can be resized are areas, and others places.
#[derive(Deserialize)]
struct EntityDefinition {
    identifier: String,
    #[serde(rename = "resizableX", default)]
    resizable_x: bool,
    #[serde(rename = "resizableY", default)]
    resizable_y: bool,
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
    /// Edge of a cell, in pixels.
    #[serde(rename = "__gridSize", default)]
    grid_size: u32,
    #[serde(rename = "entityInstances", default)]
    entities: Vec<Instance>,
}

/// In pixels, from the left and from the top.
#[derive(Deserialize)]
struct Instance {
    #[serde(rename = "__identifier")]
    identifier: String,
    px: [f64; 2],
    width: f64,
    height: f64,
    /// Where in it `px` is: 0 is left or top, and 1 right or bottom.
    #[serde(rename = "__pivot", default)]
    pivot: [f64; 2],
    #[serde(rename = "fieldInstances", default)]
    fields: Vec<Field>,
}

#[derive(Deserialize)]
struct Field {
    #[serde(rename = "__identifier")]
    identifier: String,
    #[serde(rename = "__value", default)]
    value: Json,
}

pub fn map(place: &str, bytes: &[u8]) -> Result<Map, MapError> {
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
    let areas = project.defs.entities.into_iter();
    let areas = areas.filter(|defined| defined.resizable_x || defined.resizable_y);
    let areas: BTreeSet<String> = areas.map(|defined| defined.identifier).collect();
    let mut map = Map::default();
    for level in project.levels {
        let Some(layers) = level.layers else {
            let message = "expected a level that is saved in the project: switch \"Save levels to \
                           separate files\" off";
            return error(format!("{place}: {}", level.identifier), message);
        };
        for layer in layers {
            let name = format!("{}/{}", level.identifier, layer.identifier);
            if layer.ty == "Entities" {
                let objects = layer.entities.iter();
                let objects = objects
                    .map(|entity| object(&layer, entity, &areas))
                    .collect();
                map.objects.push(ObjectLayer { name, objects });
            } else if layer.ty == "IntGrid" {
                let values = defined.get(&layer.identifier).cloned().unwrap_or_default();
                let grid = Grid::new(name, [layer.width, layer.height], layer.cells, values);
                map.grids.push(grid.map_err(|wrong| wrong.within(place))?);
            }
        }
    }
    Ok(map)
}

fn object(layer: &Layer, entity: &Instance, areas: &BTreeSet<String>) -> Object {
    let edge = f64::from(layer.grid_size.max(1));
    let size = [entity.width, entity.height];
    let low = |axis: usize| (entity.px[axis] - entity.pivot[axis] * size[axis]) / edge;
    let (left, top) = (low(0), f64::from(layer.height) - low(1));
    let [width, height] = size.map(|size| size / edge);
    let field = |name: &str| {
        let own = |field: &&Field| field.identifier.eq_ignore_ascii_case(name);
        entity.fields.iter().find(own).map(|field| &field.value)
    };
    Object {
        name: field("name")
            .and_then(Json::as_str)
            .unwrap_or_default()
            .to_owned(),
        class: entity.identifier.clone(),
        form: match areas.contains(&entity.identifier) {
            true => Form::Box([[left, top - height], [left + width, top]]),
            false => Form::Point([left + width / 2.0, top - height / 2.0]),
        },
        population: field("population").and_then(Json::as_i64),
    }
}
