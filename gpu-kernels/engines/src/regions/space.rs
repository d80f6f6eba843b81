use thiserror::Error;

/// A named range of coordinates, `low..high`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    pub name: String,
    pub low: i32,
    pub high: i32,
}

impl Dimension {
    pub fn new(name: &str, low: i32, high: i32) -> Dimension {
        Dimension {
            name: name.to_owned(),
            low,
            high,
        }
    }
}

/// One to three dimensions. Coordinates are integers; in a world, raw fixed-point
/// numbers (`shared::Fixed`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    dimensions: Vec<Dimension>,
}

/// A box in a space: `low[axis]..high[axis]`, never empty. Axes beyond the space's
/// are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub low: [i32; 3],
    pub high: [i32; 3],
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpaceError {
    #[error("a space has 1 to 3 dimensions, not {0}")]
    Dimensions(usize),
    #[error("dimension {0:?} is named twice")]
    NamedTwice(String),
    #[error("dimension {name:?} must run from a lower to a higher number, not {low}..{high}")]
    Empty { name: String, low: i32, high: i32 },
}

/// Why a box is not one of a space.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BoundsError {
    #[error("there is no dimension {0:?}")]
    NoDimension(String),
    #[error("dimension {0:?} is given twice")]
    GivenTwice(String),
    #[error("{low}..{high} on dimension {dimension:?} is empty or inverted")]
    Empty {
        dimension: String,
        low: i32,
        high: i32,
    },
    #[error("{low}..{high} leaves dimension {dimension:?}, which is {from}..{to}")]
    Outside {
        dimension: String,
        low: i32,
        high: i32,
        from: i32,
        to: i32,
    },
}

impl Space {
    pub fn new(dimensions: Vec<Dimension>) -> Result<Space, SpaceError> {
        if !(1..=3).contains(&dimensions.len()) {
            return Err(SpaceError::Dimensions(dimensions.len()));
        }
        for (i, dimension) in dimensions.iter().enumerate() {
            let Dimension { name, low, high } = dimension.clone();
            if dimensions[..i].iter().any(|d| d.name == name) {
                return Err(SpaceError::NamedTwice(name));
            }
            if low >= high {
                return Err(SpaceError::Empty { name, low, high });
            }
        }
        Ok(Space { dimensions })
    }

    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The box with these ranges, (dimension, low, high); a dimension that isn't named
    /// is used in its whole range.
    pub fn bounds(&self, ranges: &[(&str, i32, i32)]) -> Result<Bounds, BoundsError> {
        let mut bounds = Bounds {
            low: [0; 3],
            high: [0; 3],
        };
        for (axis, dimension) in self.dimensions.iter().enumerate() {
            bounds.low[axis] = dimension.low;
            bounds.high[axis] = dimension.high;
        }
        for (i, &(name, low, high)) in ranges.iter().enumerate() {
            let Some(axis) = self.dimensions.iter().position(|d| d.name == name) else {
                return Err(BoundsError::NoDimension(name.to_owned()));
            };
            if ranges[..i].iter().any(|earlier| earlier.0 == name) {
                return Err(BoundsError::GivenTwice(name.to_owned()));
            }
            bounds.low[axis] = low;
            bounds.high[axis] = high;
        }
        self.check(&bounds)?;
        Ok(bounds)
    }

    /// Checks that a box is not empty and lies in the space.
    pub fn check(&self, bounds: &Bounds) -> Result<(), BoundsError> {
        for (axis, dimension) in self.dimensions.iter().enumerate() {
            let (low, high) = (bounds.low[axis], bounds.high[axis]);
            if low < dimension.low || high > dimension.high || low >= high {
                return Err(refusal(dimension, low, high));
            }
        }
        Ok(())
    }
}

#[cold]
fn refusal(dimension: &Dimension, low: i32, high: i32) -> BoundsError {
    let name = dimension.name.clone();
    if low >= high {
        return BoundsError::Empty {
            dimension: name,
            low,
            high,
        };
    }
    BoundsError::Outside {
        dimension: name,
        low,
        high,
        from: dimension.low,
        to: dimension.high,
    }
}
