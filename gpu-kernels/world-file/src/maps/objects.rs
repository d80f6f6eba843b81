//! The objects of maps, as lines of world files: where entities are born, and zones.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{MapError, error};

/// A layer of objects of a map, in cells. `y` grows upwards, as in worlds.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectLayer {
    /// As the map has it, behind the names of its level or of the groups that it is in, and `/`.
    pub name: String,
    pub objects: Vec<Object>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub(super) name: String,
    /// What kind it is of.
    pub(super) class: String,
    pub(super) form: Form,
    /// How many entities are born in it.
    pub(super) population: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Point([f64; 2]),
    /// The low corner, and the high one.
    Box([[f64; 2]; 2]),
    Disc {
        center: [f64; 2],
        radius: f64,
    },
}

/// What objects become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectsAs {
    /// `[[kind]]`: points are `places`, and an area is `spawn`, with a `population`.
    Kinds,
    /// `[[zone]]`: an area each.
    Zones,
}

#[derive(Default, Serialize)]
struct Lines {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kind: Vec<Kind>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    zone: Vec<Zone>,
}

#[derive(Serialize)]
struct Kind {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    population: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    places: Vec<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spawn: Option<Area>,
}

#[derive(Serialize)]
struct Zone {
    name: String,
    #[serde(flatten)]
    area: Area,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Area {
    Box { area: [[f64; 2]; 2] },
    Disc { center: [f64; 2], radius: f64 },
}

impl ObjectLayer {
    /// The lines of a world file in which a cell of the map is `cell` units wide.
    pub fn lines(&self, what: ObjectsAs, cell: f64) -> Result<String, MapError> {
        let lines = match what {
            ObjectsAs::Kinds => Lines {
                kind: self.kinds(cell)?,
                ..Lines::default()
            },
            ObjectsAs::Zones => Lines {
                zone: self.zones(cell)?,
                ..Lines::default()
            },
        };
        toml::to_string(&lines).map_err(|wrong| MapError {
            place: self.name.clone(),
            message: wrong.to_string(),
        })
    }

    fn kinds(&self, cell: f64) -> Result<Vec<Kind>, MapError> {
        let mut kinds: BTreeMap<&str, Kind> = BTreeMap::new();
        for object in &self.objects {
            if object.class.is_empty() {
                return self.wrong(object, "a class: the name of a kind");
            }
            let kind = kinds.entry(&object.class).or_insert_with(|| Kind {
                name: object.class.clone(),
                population: None,
                places: vec![],
                spawn: None,
            });
            match object.area(cell) {
                Err(place) => kind.places.push(place),
                Ok(_) if kind.spawn.is_some() => {
                    return self.wrong(object, "one area of a kind, and otherwise points");
                }
                Ok(area) => {
                    kind.spawn = Some(area);
                    kind.population = object.population;
                }
            }
        }
        Ok(kinds.into_values().collect())
    }

    fn zones(&self, cell: f64) -> Result<Vec<Zone>, MapError> {
        let zone = |object: &Object| {
            let name = [&object.name, &object.class].into_iter();
            let Some(name) = name.into_iter().find(|name| !name.is_empty()) else {
                return self.wrong(object, "a name");
            };
            match object.area(cell) {
                Ok(area) => Ok(Zone {
                    name: name.clone(),
                    area,
                }),
                Err(_) => self.wrong(object, "a rectangle or a circle"),
            }
        };
        self.objects.iter().map(zone).collect()
    }

    fn wrong<T>(&self, object: &Object, expected: &str) -> Result<T, MapError> {
        let [x, y] = match &object.form {
            Form::Point(place) | Form::Box([place, _]) => *place,
            Form::Disc { center, .. } => *center,
        };
        let message = format!(
            "expected {expected}, found the object {:?} of the class {:?} at [{x}, {y}]",
            object.name, object.class
        );
        error(&self.name, message)
    }
}

impl Object {
    /// The area that it covers, or the place where it is.
    fn area(&self, cell: f64) -> Result<Area, [f64; 2]> {
        let units = |cells: f64| (cells * cell * ROUNDED).round() / ROUNDED;
        match &self.form {
            Form::Point(place) => Err(place.map(units)),
            Form::Box(corners) => Ok(Area::Box {
                area: corners.map(|corner| corner.map(units)),
            }),
            Form::Disc { center, radius } => Ok(Area::Disc {
                center: center.map(units),
                radius: units(*radius),
            }),
        }
    }
}

/// Parts of a unit: a little finer than places are.
const ROUNDED: f64 = 10_000.0;
