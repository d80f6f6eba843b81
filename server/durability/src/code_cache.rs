//! A cache of compiled scripts between starts: compiling for a GPU takes up to a second.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gpu_kernels::tick::cuda::CodeCache;
use platform::private;
use tracing::debug;

/// A folder with a file for each piece of code. Only its owner can write to it, since its
/// contents are executed.
#[derive(Debug)]
pub struct FolderCache(PathBuf);

impl FolderCache {
    /// The user's folder for such things: `myriad` in `$XDG_CACHE_HOME`, or in `.cache` of
    /// the home folder. `None` if there is no such place, or no right to write to it.
    pub fn of_user() -> Option<FolderCache> {
        let named = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty());
        let base = match named {
            Some(path) => PathBuf::from(path),
            None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
        };
        FolderCache::at(base.join("myriad"))
    }

    /// A cache in a folder, which is made if it isn't there.
    pub fn at(folder: PathBuf) -> Option<FolderCache> {
        match private::create_folder(&folder) {
            Ok(()) => Some(FolderCache(folder)),
            Err(error) => {
                debug!(%error, "compiled scripts are not cached");
                None
            }
        }
    }

    /// Writes a file atomically, so that no reader sees half of it.
    fn write(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let new = self.0.join(format!("{key}.{}.new", std::process::id()));
        private::create(&new)?.write_all(bytes)?;
        fs::rename(&new, self.0.join(key))?;
        self.remove_oldest()
    }

    fn remove_oldest(&self) -> io::Result<()> {
        let mut files = vec![];
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let written = entry
                .metadata()?
                .modified()
                .unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((written, entry.path()));
        }
        files.sort();
        let surplus = files.len().saturating_sub(FILES_MAX);
        let remove = |(_, path): &(SystemTime, PathBuf)| fs::remove_file(path);
        files[..surplus].iter().try_for_each(remove)
    }
}

impl CodeCache for FolderCache {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        fs::read(self.0.join(Path::new(key).file_name()?)).ok()
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        // A full disk, or another server that tidies up, costs only time.
        if let Err(error) = self.write(key, bytes) {
            debug!(%error, "compiled scripts are not cached");
        }
    }
}

const FILES_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_comes_back() {
        let folder = std::env::temp_dir().join(format!("myriad-cache-{}", std::process::id()));
        let cache = FolderCache::at(folder.clone()).unwrap();
        assert_eq!(cache.get("ab12"), None);
        cache.put("ab12", b"code");
        cache.put("ab12", b"other");
        assert_eq!(cache.get("ab12").as_deref(), Some(&b"other"[..]));
        fs::remove_dir_all(folder).unwrap();
    }
}
