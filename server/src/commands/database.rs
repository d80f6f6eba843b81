//! The option for characters in a database.

use anyhow::Result;
use clap::Args;
use durability::characters::postgres::Database;

#[derive(Debug, Args)]
pub struct DatabaseArguments {
    /// Keep characters in PostgreSQL: postgres://USER:PASSWORD@HOST/DATABASE#WORLD
    // A text, since an error of the command line would quote the password.
    #[arg(long, value_name = "URL", global = true)]
    characters: Option<String>,
}

impl DatabaseArguments {
    pub fn database(&self) -> Result<Option<Database>> {
        self.characters.as_deref().map(str::parse).transpose()
    }
}
