//! Folders of scripts: regular files that end in `.rs`, bounded in number and size. What editors
//! and systems leave beside them is no script, and nothing in a folder can hold up its reader.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use script::logic::TEXTS_MAX;
use script::parse::TEXT_BYTES_MAX;
use shared::world::logic::Text;

/// What a folder of scripts holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scripts {
    /// By name.
    pub texts: Vec<Text>,
    /// Scripts that can't be read, by name, and why.
    pub unreadable: BTreeMap<String, String>,
    /// What has the name of a script and is none, and why.
    pub skipped: Vec<String>,
}

/// Reads a folder; an error if it is none, or has too much in it.
pub fn read(folder: &Path) -> Result<Scripts, String> {
    let mut scripts = Scripts::default();
    for name in names(folder)? {
        let path = folder.join(&name);
        let show = path.display();
        match read_text(&path) {
            Ok(Found::Text(text)) => scripts.texts.push(Text::new(name, text)),
            Ok(Found::Other(what)) => scripts
                .skipped
                .push(format!("{show} is {what} and no script: it is skipped")),
            Err(error) => {
                let message = format!("cannot read {show}: {error}");
                scripts.unreadable.insert(name, message);
            }
        }
    }
    Ok(scripts)
}

/// Reads a folder; an error, also if one of its scripts can't be read.
pub fn read_all(folder: &Path) -> Result<Scripts, String> {
    let scripts = read(folder)?;
    match scripts.unreadable.is_empty() {
        true => Ok(scripts),
        false => {
            let messages: Vec<String> = scripts.unreadable.into_values().collect();
            Err(messages.join("; "))
        }
    }
}

/// What can be seen of a folder without reading its scripts. It is another one after every
/// change of a script, and of what the folder's path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    folder: Mark,
    scripts: Vec<(String, Option<Mark>)>,
}

impl Look {
    /// Looks at a folder; an error if there is none.
    pub fn at(folder: &Path) -> Result<Look, String> {
        let of_folder = std::fs::metadata(folder).map_err(|error| unreadable(folder, &error))?;
        let mark = |name: String| {
            let metadata = std::fs::metadata(folder.join(&name));
            (name, metadata.ok().as_ref().map(Mark::of))
        };
        Ok(Look {
            folder: Mark::of_folder(&of_folder),
            scripts: names(folder)?.into_iter().map(mark).collect(),
        })
    }

    /// Whether the path means the same folder, whatever is in it.
    pub fn is_same_folder(&self, other: &Look) -> bool {
        self.folder == other.folder
    }
}

/// What changes with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Device and number, where the system has them.
    file: (u64, u64),
    bytes: u64,
    written: Option<SystemTime>,
    /// When anything of it changed last, in seconds and nanoseconds.
    changed: (i64, i64),
}

impl Mark {
    /// Of the file that a path leads to.
    pub fn of(metadata: &Metadata) -> Mark {
        let (file, changed) = system(metadata);
        Mark {
            file,
            bytes: metadata.len(),
            written: metadata.modified().ok(),
            changed,
        }
    }

    /// Of a folder itself. A new one may have the number of the one before.
    fn of_folder(metadata: &Metadata) -> Mark {
        Mark {
            file: system(metadata).0,
            bytes: 0,
            written: metadata.created().ok(),
            changed: (0, 0),
        }
    }
}

#[cfg(unix)]
fn system(metadata: &Metadata) -> ((u64, u64), (i64, i64)) {
    use std::os::unix::fs::MetadataExt;
    let file = (metadata.dev(), metadata.ino());
    (file, (metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(not(unix))]
fn system(_: &Metadata) -> ((u64, u64), (i64, i64)) {
    ((0, 0), (0, 0))
}

/// The names that scripts have, in order.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let (mut names, mut count) = (vec![], 0);
    for entry in entries {
        count += 1;
        if count > ENTRIES_MAX {
            let show = folder.display();
            return Err(format!("{show} has more than {ENTRIES_MAX} entries"));
        }
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        if let Some(name) = script_name(&entry.file_name()) {
            names.push(name);
        }
    }
    if names.len() > TEXTS_MAX {
        return Err(format!(
            "{} has {} scripts; at most {TEXTS_MAX} are allowed",
            folder.display(),
            names.len()
        ));
    }
    names.sort();
    Ok(names)
}

/// The name, if it is that of a script. Editors and systems hide what they leave beside files:
/// `.#x.rs`, `._x.rs`, `#x.rs#`, `~$x.rs`, `x.rs~`.
fn script_name(name: &OsStr) -> Option<String> {
    let name = name.to_str()?;
    let is_hidden = name.starts_with(['.', '#', '~']);
    let is_script = name
        .strip_suffix(".rs")
        .is_some_and(|stem| !stem.is_empty());
    (is_script && !is_hidden).then(|| name.to_owned())
}

enum Found {
    Text(String),
    /// Something that is no regular file.
    Other(&'static str),
}

fn read_text(path: &Path) -> io::Result<Found> {
    // Opening some devices does something.
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Ok(Found::Other(what(&metadata)));
    }
    let file = open(path)?;
    // It may be another one than a moment ago.
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Found::Other(what(&metadata)));
    }
    read_bounded(file, TEXT_BYTES_MAX).map(Found::Text)
}

/// Reads a text of at most so many bytes, wherever it comes from.
pub(crate) fn read_bounded(from: impl Read, bytes_max: usize) -> io::Result<String> {
    let bytes = read_bounded_bytes(from, bytes_max)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("it is not UTF-8 from byte {at} on");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Reads at most so many bytes, wherever they come from.
pub(crate) fn read_bounded_bytes(from: impl Read, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    let limit = bytes_max as u64 + 1;
    from.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        let message = format!("it has more than {bytes_max} bytes, which are allowed");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Opens a file without waiting: a pipe without a writer would hold up the reader.
#[cfg(unix)]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

fn what(metadata: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return "a pipe";
        } else if kind.is_socket() {
            return "a socket";
        } else if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    match metadata.is_dir() {
        true => "a folder",
        false => "no regular file",
    }
}

fn unreadable(folder: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", folder.display())
}

/// The most entries of a folder, scripts or not.
const ENTRIES_MAX: usize = 16_384;

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("myriad-folder-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir(&path).unwrap();
            Folder(path)
        }

        fn write(&self, name: &str, text: &[u8]) {
            std::fs::write(self.0.join(name), text).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn names_of(scripts: &Scripts) -> Vec<&str> {
        let texts = scripts.texts.iter();
        texts.map(|text| text.file.as_str()).collect()
    }

    #[test]
    fn what_editors_and_systems_leave_beside_scripts_is_no_script() {
        let folder = Folder::new("locks");
        folder.write("a.rs", b"// a");
        for name in [
            ".hidden.rs",
            "._a.rs",
            "#a.rs#",
            "#a.rs",
            "a.rs~",
            "~$a.rs",
            ".a.rs.swp",
            ".rs",
        ] {
            folder.write(name, b"\xff no script");
        }
        // Emacs' lock: a link to nowhere.
        symlink("me@host.1234:5678", folder.0.join(".#a.rs")).unwrap();
        let scripts = read(&folder.0).unwrap();
        assert_eq!(names_of(&scripts), ["a.rs"]);
        assert!(scripts.unreadable.is_empty() && scripts.skipped.is_empty());
    }

    #[test]
    fn what_is_no_regular_file_is_skipped_without_waiting_for_it() {
        let folder = Folder::new("kinds");
        folder.write("a.rs", b"// a");
        std::fs::create_dir(folder.0.join("folder.rs")).unwrap();
        symlink("/dev/zero", folder.0.join("device.rs")).unwrap();
        symlink("fifo.rs", folder.0.join("linked.rs")).unwrap();
        symlink("a.rs", folder.0.join("b.rs")).unwrap();
        let _socket = UnixListener::bind(folder.0.join("socket.rs")).unwrap();
        let made = Command::new("mkfifo")
            .arg(folder.0.join("fifo.rs"))
            .status();
        assert!(made.unwrap().success());
        let scripts = read(&folder.0).unwrap();
        assert_eq!(names_of(&scripts), ["a.rs", "b.rs"]);
        let skipped = scripts.skipped.join("\n");
        for expected in [
            "device.rs is a device and no script",
            "fifo.rs is a pipe and no script",
            "folder.rs is a folder and no script",
            "linked.rs is a pipe and no script",
            "socket.rs is a socket and no script",
        ] {
            assert!(skipped.contains(expected), "{skipped}");
        }
        // Also one that takes the place of a file while it is read.
        let opened = open(&folder.0.join("fifo.rs")).unwrap();
        assert!(!opened.metadata().unwrap().is_file());
    }

    #[test]
    fn a_script_that_cannot_be_read_does_not_hide_the_others() {
        let folder = Folder::new("unreadable");
        folder.write("a.rs", b"// a");
        folder.write("latin.rs", b"// \xe9");
        folder.write("long.rs", &vec![b' '; TEXT_BYTES_MAX + 1]);
        symlink("nowhere", folder.0.join("gone.rs")).unwrap();
        let scripts = read(&folder.0).unwrap();
        assert_eq!(names_of(&scripts), ["a.rs"]);
        let unreadable: Vec<&String> = scripts.unreadable.keys().collect();
        assert_eq!(unreadable, ["gone.rs", "latin.rs", "long.rs"]);
        assert!(scripts.unreadable["latin.rs"].contains("not UTF-8 from byte 3 on"));
        assert!(scripts.unreadable["long.rs"].contains("more than 65536 bytes"));
    }

    #[test]
    fn too_many_scripts_are_an_error_of_the_folder() {
        let folder = Folder::new("many");
        for i in 0..=TEXTS_MAX {
            folder.write(&format!("s{i}.rs"), b"");
        }
        assert!(
            read(&folder.0)
                .unwrap_err()
                .contains("257 scripts; at most 256")
        );
    }

    #[test]
    fn a_look_differs_after_each_change_of_a_script_and_of_what_the_path_means() {
        let folder = Folder::new("look");
        let (one, two, path) = (
            folder.0.join("one"),
            folder.0.join("two"),
            folder.0.join("path"),
        );
        for each in [&one, &two] {
            std::fs::create_dir(each).unwrap();
            std::fs::write(each.join("a.rs"), "// a").unwrap();
        }
        symlink("one", &path).unwrap();
        let first = Look::at(&path).unwrap();
        assert_eq!(first, Look::at(&path).unwrap());
        std::fs::write(one.join("b.rs"), "").unwrap();
        let second = Look::at(&path).unwrap();
        assert!(first != second && first.is_same_folder(&second));
        std::fs::remove_file(&path).unwrap();
        symlink("two", &path).unwrap();
        let third = Look::at(&path).unwrap();
        assert!(!second.is_same_folder(&third));
        std::fs::remove_dir_all(&two).unwrap();
        assert!(Look::at(&path).is_err());
    }
}
