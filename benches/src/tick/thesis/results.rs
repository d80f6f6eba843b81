//! Lookup of a report's rows by scenario and backend.

use super::options::{BackendName, OutputName};
use crate::report::{Report, Row, distinct};

pub struct Results<'a> {
    pub rows: Vec<&'a Row>,
    /// The values that were measured, in the order of the tables.
    pub maps: Vec<u32>,
    pub aois: Vec<u32>,
    pub clients: Vec<u32>,
    pub columns: Vec<Column>,
}

/// A column of measured times: a backend, and the form of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub backend: String,
    pub output: String,
}

/// A map's side and an AOI's radius, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub map: u32,
    pub aoi: u32,
}

impl<'a> Results<'a> {
    pub fn of(report: &'a Report) -> Results<'a> {
        let rows: Vec<&Row> = report.rows.iter().collect();
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

    pub fn row(&self, place: Setting, clients: u32, column: &Column) -> Option<&'a Row> {
        let wanted = [("map", place.map), ("aoi", place.aoi), ("clients", clients)];
        let fits = |row: &Row| {
            let mut wanted = wanted.iter();
            wanted.all(|&(name, value)| param(row, name) == Some(value))
        };
        let mut rows = self.rows.iter().copied();
        rows.find(|row| fits(row) && Column::of(row) == *column)
    }

    /// The baseline's time divided by this column's.
    pub fn ratio(&self, ms: RowTime, place: Setting, clients: u32, column: &Column) -> Option<f64> {
        let time = |column| ms(self.row(place, clients, column)?);
        let baseline = self.columns.iter().find(|c| c.is_baseline())?;
        Some(time(baseline)? / time(column)?)
    }

    pub fn places(&self) -> impl Iterator<Item = Setting> + '_ {
        let aois = |map| self.aois.iter().map(move |&aoi| Setting { map, aoi });
        self.maps.iter().flat_map(move |&map| aois(map))
    }

    /// Groups of places where the same number of clients fills buckets equally densely:
    /// their map's side is the same number of AOI radii. Each has at least two places.
    pub fn places_of_equal_density(&self) -> Vec<Vec<Setting>> {
        let mut groups: Vec<Vec<Setting>> = vec![];
        for place in self.places() {
            let is_equal = |group: &&mut Vec<Setting>| {
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

impl Setting {
    pub fn name(&self) -> String {
        format!("map {}, AOI {}", self.map, self.aoi)
    }
}

impl Column {
    pub fn of(row: &Row) -> Column {
        let output = row.text("output");
        Column {
            backend: row.backend.clone(),
            output: output.unwrap_or(PAIRS).to_owned(),
        }
    }

    pub fn is_baseline(&self) -> bool {
        self.backend == BackendName::Baseline.name()
    }

    /// The backend, and the output's form if it is not the thesis's.
    pub fn name(&self) -> String {
        match self.output.as_str() {
            PAIRS => self.backend.clone(),
            output => format!("{} {output}", self.backend),
        }
    }
}

/// One of a row's times in milliseconds, or none.
pub type RowTime = fn(&Row) -> Option<f64>;

/// The time of the whole tick.
pub fn total(row: &Row) -> Option<f64> {
    Some(row.total_ms)
}

/// The time without upload and download; the baseline has neither.
pub fn compute(row: &Row) -> Option<f64> {
    row.float("compute_ms")
}

/// A parameter that fits in 32 bits.
pub fn param(row: &Row, name: &str) -> Option<u32> {
    u32::try_from(row.whole(name)?).ok()
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
        let place = |map, aoi| Setting { map, aoi };
        assert_eq!(
            results.places_of_equal_density(),
            [[place(2500, 10), place(5000, 20)]]
        );
    }
}
