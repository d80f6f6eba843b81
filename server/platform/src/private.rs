//! Files and folders that only the server's user may read, from the moment they are made: they
//! hold keys, tickets, accounts, and texts of players.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// How to open a file: one that is made by it is this user's only.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE);
    options
}

/// Creates a file, or empties the one that is there, which others may not read any more.
pub fn create(path: &Path) -> io::Result<File> {
    // Not emptied before it is ours: the old contents must not be lost if that fails.
    let file = options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    let found = file.metadata()?;
    // Not for pipes and devices, which may be the output of a command.
    if found.is_file() {
        if found.permissions().mode() & OTHERS != 0 {
            file.set_permissions(Permissions::from_mode(FILE))?;
        }
        file.set_len(0)?;
    }
    Ok(file)
}

/// Writes a new file; there must be none yet.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = options().create_new(true).write(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes a folder and those above it, if there is none yet.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;
/// The rights of others than the owner.
const OTHERS: u32 = 0o077;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn mode(path: &Path) -> u32 {
        let found = fs::metadata(path).expect("a file");
        found.permissions().mode() & 0o777
    }

    #[test]
    fn a_file_that_others_could_read_is_closed_to_them_and_emptied() {
        let folder = std::env::temp_dir().join(format!("myriad-private-{}", std::process::id()));
        create_folder(&folder).expect("a folder");
        assert_eq!(mode(&folder), 0o700);
        let file = folder.join("file");
        fs::write(&file, "long ago").expect("a file");
        fs::set_permissions(&file, Permissions::from_mode(0o666)).expect("rights");
        create(&file)
            .and_then(|mut file| file.write_all(b"now"))
            .expect("a file");
        assert_eq!(fs::read(&file).expect("a file"), b"now");
        assert_eq!(mode(&file), 0o600);
        assert!(write_new(&file, b"never").is_err());
        let new = folder.join("new");
        write_new(&new, b"key").expect("a file");
        assert_eq!(mode(&new), 0o600);
        // A device is neither changed nor emptied.
        create(Path::new("/dev/null")).expect("a device");
        fs::remove_dir_all(&folder).expect("to remove the folder");
    }
}
