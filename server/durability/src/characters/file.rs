//! Characters in `characters.redb`, in the folder of a persistent world. The folder's lock
//! protects it from other servers.

use std::path::Path;

use anyhow::{Context, Result};
use platform::private;
use redb::backends::FileBackend;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::{Store, Texts};

/// The file.
pub struct FileStore(Database);

impl FileStore {
    /// Opens the file of a folder, which is made if there is none.
    pub fn open(folder: &Path) -> Result<FileStore> {
        let path = folder.join(FILE);
        let mut options = private::options();
        let options = options.create(true).truncate(false).read(true).write(true);
        let opened = options.open(&path).map_err(redb::Error::from);
        let database = opened.and_then(|file| {
            let backend = FileBackend::new(file)?;
            Ok(Database::builder().create_with_backend(backend)?)
        });
        let database = database.with_context(|| format!("cannot open {}", path.display()))?;
        let store = FileStore(database);
        // So that there is a table to read.
        store.put(&Texts::new())?;
        Ok(store)
    }
}

impl Store for FileStore {
    fn claim(&self) -> Result<()> {
        Ok(())
    }

    fn all(&self) -> Result<Texts> {
        let reading = self.0.begin_read()?;
        let table = reading.open_table(TABLE)?;
        let mut all = Texts::new();
        for entry in table.iter()? {
            let (account, text) = entry?;
            all.insert(account.value().to_owned(), text.value().to_owned());
        }
        Ok(all)
    }

    fn put(&self, texts: &Texts) -> Result<()> {
        let writing = self.0.begin_write()?;
        {
            let mut table = writing.open_table(TABLE)?;
            for (account, text) in texts {
                table.insert(account.as_str(), text.as_str())?;
            }
        }
        writing.commit()?;
        Ok(())
    }
}

pub const FILE: &str = "characters.redb";
const TABLE: TableDefinition<'_, &str, &str> = TableDefinition::new("characters");
