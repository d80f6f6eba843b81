//! What a report has of the thesis's scenarios, to be looked up.

use super::{BackendName, OutputName};
use crate::report::{Report, Row};

pub struct Results<'a> {
    pub rows: Vec<&'a Row>,
    /// What was measured, in the order in which it stands in tables.
    pub maps: Vec<u32>,
    pub aois: Vec<u32>,
    pub clients: Vec<u32>,
    pub columns: Vec<Column>,
}

/// What measured numbers stand under: a backend, and the form of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub backend: String,
    pub output: String,
}

/// A map's side and an AOI's radius, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub map: u32,
    pub aoi: u32,
}

impl<'a> Results<'a> {
    pub fn of(report: &'a Report) -> Results<'a> {
        let rows: Vec<&Row> = report
            .rows
            .iter()
            .filter(|row| row.scenario == super::NAME)
            .collect();
        let numbers = |name| distinct(rows.iter().filter_map(|row| param(row, name)));
        Results {
            maps: numbers("map"),
            aois: numbers("aoi"),
            clients: {
                let mut clients = numbers("clients");
                clients.sort_unstable();
                clients
            },
            columns: distinct(rows.iter().map(|row| Column::of(row))),
            rows,
        }
    }

    pub fn row(&self, place: Place, clients: u32, column: &Column) -> Option<&'a Row> {
        let wanted = [("map", place.map), ("aoi", place.aoi), ("clients", clients)];
        let fits = |row: &Row| {
            let mut wanted = wanted.iter();
            wanted.all(|&(name, value)| param(row, name) == Some(value))
        };
        let mut rows = self.rows.iter().copied();
        rows.find(|row| fits(row) && Column::of(row) == *column)
    }

    /// How many times as fast as the baseline, by one of a row's times.
    pub fn ratio(&self, ms: RowTime, place: Place, clients: u32, column: &Column) -> Option<f64> {
        let time = |column| ms(self.row(place, clients, column)?);
        let baseline = self.columns.iter().find(|c| c.is_baseline())?;
        Some(time(baseline)? / time(column)?)
    }

    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let aois = |map| self.aois.iter().map(move |&aoi| Place { map, aoi });
        self.maps.iter().flat_map(move |&map| aois(map))
    }

    /// Places where as many clients stand equally dense in buckets: all with the same
    /// map's side in AOI radii, where there is more than one.
    pub fn places_of_equal_density(&self) -> Vec<Vec<Place>> {
        let mut groups: Vec<Vec<Place>> = vec![];
        for place in self.places() {
            let is_equal = |group: &&mut Vec<Place>| {
                let other = group[0];
                u64::from(place.map) * u64::from(other.aoi)
                    == u64::from(other.map) * u64::from(place.aoi)
            };
            match groups.iter_mut().find(is_equal) {
                Some(group) => group.push(place),
                None => groups.push(vec![place]),
            }
        }
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// The engine's columns.
    pub fn engines(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.is_baseline())
    }
}

impl Place {
    pub fn name(&self) -> String {
        format!("map {}, AOI {}", self.map, self.aoi)
    }
}

impl Column {
    pub fn of(row: &Row) -> Column {
        let output = row.params.get("output").and_then(|output| output.as_str());
        Column {
            backend: row.backend.clone(),
            output: output.unwrap_or(PAIRS).to_owned(),
        }
    }

    pub fn is_baseline(&self) -> bool {
        self.backend == BackendName::Baseline.name()
    }

    /// The output is named where it is not the thesis's.
    pub fn name(&self) -> String {
        match self.output.as_str() {
            PAIRS => self.backend.clone(),
            output => format!("{} {output}", self.backend),
        }
    }
}

/// One of a row's times in milliseconds, if the row has it.
pub type RowTime = fn(&Row) -> Option<f64>;

/// The time of everything.
pub fn total(row: &Row) -> Option<f64> {
    Some(row.total_ms)
}

/// The time of everything but upload and download; the baseline has neither.
pub fn compute(row: &Row) -> Option<f64> {
    row.params.get("compute_ms")?.as_f64()
}

/// A parameter of the scenario.
pub fn param(row: &Row, name: &str) -> Option<u32> {
    u32::try_from(row.whole(name)?).ok()
}

/// The values in the order in which they come first.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut values = vec![];
    for value in all {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

const PAIRS: &str = OutputName::Pairs.name();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equally_dense_places_are_found() {
        let results = Results {
            rows: vec![],
            maps: vec![2500, 5000],
            aois: vec![10, 20],
            clients: vec![512],
            columns: vec![],
        };
        let place = |map, aoi| Place { map, aoi };
        assert_eq!(
            results.places_of_equal_density(),
            [[place(2500, 10), place(5000, 20)]]
        );
    }
}
