//! Stub for builds without the feature `postgres`: its error names the feature.

use std::convert::Infallible;
use std::str::FromStr;

use anyhow::{Result, bail};

use super::{Store, Texts};

/// A world's place in a database. There is none.
#[derive(Clone, Debug)]
pub struct Database {
    pub world: String,
    none: Infallible,
}

impl FromStr for Database {
    type Err = anyhow::Error;

    fn from_str(_: &str) -> Result<Database> {
        bail!("this build keeps characters in files only: build with `--features postgres`");
    }
}

/// The characters of a world in a database. There are none.
pub struct PostgresStore(Infallible);

impl PostgresStore {
    pub fn open(database: &Database) -> Result<PostgresStore> {
        match database.none {}
    }
}

impl Store for PostgresStore {
    fn claim(&self) -> Result<()> {
        match self.0 {}
    }

    fn all(&self) -> Result<Texts> {
        match self.0 {}
    }

    fn put(&self, _: &Texts, _: u64) -> Result<()> {
        match self.0 {}
    }

    fn tick(&self) -> Result<u64> {
        match self.0 {}
    }

    fn restart(&self, _: u64) -> Result<()> {
        match self.0 {}
    }

    fn remove(&self, _: &str) -> Result<bool> {
        match self.0 {}
    }
}
