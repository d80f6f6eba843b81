//! The file operations of the journal. Tests replace them by a disk that fails.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use platform::private;
use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use rustix::io::Errno;

/// A folder of files.
pub trait Disk: Send + Sync {
    type File: DiskFile;

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Creates a file with room for this many bytes, which are 0. Fails if it exists.
    fn create(&self, name: &str, bytes: u64) -> io::Result<Self::File>;

    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// The same into the memory of another file.
    fn read_into(&self, name: &str, bytes: &mut Vec<u8>) -> io::Result<()> {
        *bytes = self.read(name)?;
        Ok(())
    }

    /// A hint that a file will be read soon. The disk may read ahead, or do nothing.
    fn expect(&self, _name: &str) {}

    /// The length of a file in bytes.
    fn length(&self, name: &str) -> io::Result<u64>;

    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    fn remove(&self, name: &str) -> io::Result<()>;

    /// Cuts a file to its first `bytes`. That can't be lost once this returns.
    fn cut(&self, name: &str, bytes: u64) -> io::Result<()>;

    /// Returns once no name can be lost, and none comes back that was removed.
    fn sync_names(&self) -> io::Result<()>;

    /// Writes a file as a whole or not at all, in place of one that may be there. It can't be lost
    /// once this returns.
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = format!("{name}.new");
        match self.remove(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = self.create(&new, bytes.len() as u64)?;
        file.write_at(bytes, 0)?;
        file.sync()?;
        self.rename(&new, name)?;
        self.sync_names()
    }
}

/// A file that is open for writing.
pub trait DiskFile: Send {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns once nothing that was written can be lost.
    fn sync(&mut self) -> io::Result<()>;
}

/// A folder of the file system.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(path: impl Into<PathBuf>) -> Folder {
        Folder(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Disk for Folder {
    type File = File;

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = vec![];
        for entry in fs::read_dir(&self.0)? {
            // Ours are plain text; other files are not the journal's.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<File> {
        let path = self.at(name);
        let mut options = private::options();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        if let Err(error) = set_aside(&file, bytes) {
            // A part of a file would be in the way of the next attempt.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok(file)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.at(name))
    }

    fn read_into(&self, name: &str, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.clear();
        File::open(self.at(name))?.read_to_end(bytes)?;
        Ok(())
    }

    fn expect(&self, name: &str) {
        if let Ok(file) = File::open(self.at(name)) {
            // Without read-ahead, the file is read later.
            let _ = fadvise(&file, 0, None, Advice::WillNeed);
        }
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        Ok(fs::metadata(self.at(name))?.len())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.at(from), self.at(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.at(name))
    }

    fn cut(&self, name: &str, bytes: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.at(name))?;
        file.set_len(bytes)?;
        file.sync_all()
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }
}

impl DiskFile for File {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Preallocates room, so that a full disk is met here and not at a later write.
fn set_aside(file: &File, bytes: u64) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, bytes)?,
        Err(error) => return Err(error.into()),
    }
    file.sync_all()
}

fn write_zeros(file: &File, bytes: u64) -> io::Result<()> {
    let zeros = [0; ZEROS];
    let mut offset = 0;
    while offset < bytes {
        let length = usize::try_from(bytes - offset).map_or(ZEROS, |left| left.min(ZEROS));
        file.write_all_at(&zeros[..length], offset)?;
        offset += length as u64;
    }
    Ok(())
}

const ZEROS: usize = 64 << 10;
