//! Files that are results: what is written is on its disk, or there is an error.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Writes a whole file.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes.as_ref())?;
    sync(&file)
}

/// Writes what waits, and brings it to the disk.
pub fn finish(file: BufWriter<File>) -> io::Result<()> {
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    sync(&file)
}

/// Brings a file to its disk. Some systems say only then that there is no room.
pub fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        // Pipes and devices have no disk.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        // A file system that may only be read has nothing to bring.
        Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => Ok(()),
        synced => synced,
    }
}
