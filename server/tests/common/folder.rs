//! Folders of tests.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use server::{Server, ServerOptions};

use super::scratch;

/// A folder that is removed after its test, unless that fails.
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// An empty folder.
    pub fn new(name: &str) -> TestFolder {
        let folder = TestFolder::absent(name);
        fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    /// A folder that is still to be made.
    pub fn absent(name: &str) -> TestFolder {
        let path = scratch(name);
        let _ = fs::remove_dir_all(&path);
        TestFolder(path)
    }

    /// The files of a persistent world now, as if the machine had stopped.
    pub fn crashed(&self, name: &str) -> TestFolder {
        let copy = TestFolder::absent(name);
        copy_folder(self, &copy);
        copy
    }
}

/// Makes a folder with the files of a persistent world now.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let mut names = vec![];
    for entry in fs::read_dir(from).unwrap() {
        names.push(entry.unwrap().file_name());
    }
    // How far the journal is synced comes before the journal, which goes on meanwhile.
    names.sort_by_key(|name| name != "synced");
    for name in names {
        if name != "lock" && name != "spare" && !name.to_string_lossy().starts_with("new-") {
            fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
    }
}

impl Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Why no server starts with these options.
pub fn refusal(options: ServerOptions) -> String {
    match Server::start(options) {
        Ok(_) => panic!("a server starts"),
        Err(error) => format!("{error:#}"),
    }
}
