//! The files of a custom page: a read-only folder.
//!
//! A request names a file by its path below the folder. Names are taken as they are: nothing
//! leads out of the folder, no name begins with a dot, and no symbolic link is followed, also
//! where the folder changes meanwhile. Files are bounded, and so is the memory of all answers.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Bytes;
use platform::http::Page;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::debug;

/// A folder whose files are served.
#[derive(Debug)]
pub struct WebRoot {
    folder: PathBuf,
    /// Room for the answers in memory, in KiB.
    room: Arc<Semaphore>,
}

impl WebRoot {
    /// A folder that is there.
    pub fn open(folder: &Path) -> io::Result<WebRoot> {
        let folder = folder.canonicalize()?;
        if !folder.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        Ok(WebRoot {
            folder,
            room: Arc::new(Semaphore::new(ANSWERS_KIB_MAX)),
        })
    }

    /// The file at a path of a request; `None` if there is none.
    pub async fn at(self: &Arc<Self>, path: &str) -> Option<Page> {
        let parts = parts(path)?;
        let root = self.clone();
        let read = tokio::task::spawn_blocking(move || root.read(&parts));
        // It fails only as the server ends.
        read.await.ok().flatten()
    }

    fn read(&self, parts: &[String]) -> Option<Page> {
        let file = match self.find(parts) {
            Ok(file) => file,
            Err(error) => {
                debug!(path = parts.join("/"), %error, "a file of the page can't be opened");
                return None;
            }
        };
        let metadata = file.metadata().ok().filter(|file| file.is_file())?;
        if metadata.len() > FILE_BYTES_MAX {
            return Some(Page::not_found(
                "files of more than 16 MiB are not served\n",
            ));
        }
        let name = parts.last()?;
        Some(match self.room_for(metadata.len()) {
            Some(room) => Page::new(
                content_type(name),
                read_all(file, metadata.len(), room).ok()?,
            ),
            None => Page::error(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many files are being sent at once\n",
            ),
        })
    }

    /// Opens a file, one name after the other, so that no link is followed.
    fn find(&self, parts: &[String]) -> rustix::io::Result<File> {
        let (name, folders) = parts.split_last().ok_or(Errno::NOENT)?;
        let plain = OFlags::RDONLY | OFlags::CLOEXEC;
        let of_folder = plain | OFlags::DIRECTORY;
        let mut folder = openat(CWD, &self.folder, of_folder, Mode::empty())?;
        for part in folders {
            let flags = of_folder | OFlags::NOFOLLOW;
            folder = openat(&folder, part.as_str(), flags, Mode::empty())?;
        }
        // Without waiting: a pipe without a writer would hold up a thread.
        let flags = plain | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(&folder, name.as_str(), flags, Mode::empty())?;
        Ok(File::from(file))
    }

    fn room_for(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes.div_ceil(1024)).ok()?;
        self.room.clone().try_acquire_many_owned(kib).ok()
    }
}

/// The content of a file, which gives its room back once it was sent.
struct Content {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A file that grows meanwhile is read up to its first length, for which room is reserved.
fn read_all(file: File, length: u64, room: OwnedSemaphorePermit) -> io::Result<Bytes> {
    let mut bytes = vec![];
    file.take(length).read_to_end(&mut bytes)?;
    Ok(Bytes::from_owner(Content { bytes, _room: room }))
}

/// The names of a path: of folders, and last of a file. `None` if one is not a plain name.
fn parts(path: &str) -> Option<Vec<String>> {
    let path = decoded(path.strip_prefix('/')?)?;
    let path = match path.is_empty() || path.ends_with('/') {
        true => path + "index.html",
        false => path,
    };
    let is_plain = |name: &str| {
        let is_hidden = name.is_empty() || name.starts_with('.');
        !is_hidden && !name.chars().any(|c| c.is_control() || c == '\\')
    };
    let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
    let is_short = parts.len() <= PARTS_MAX;
    (is_short && parts.iter().all(|name| is_plain(name))).then_some(parts)
}

/// A path without its percent signs; `None` if it is no text then.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        let value = u8::try_from(high << 4 | low).ok()?;
        // A slash in a name is no name.
        if value == b'/' {
            return None;
        }
        bytes.push(value);
    }
    String::from_utf8(bytes).ok()
}

/// The type of a file, by the end of its name. Browsers don't guess: the header `nosniff` is set.
fn content_type(name: &str) -> &'static str {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let end = end.to_ascii_lowercase();
    let known = TYPES.iter().find(|(ends, _)| ends.contains(&&*end));
    known.map_or("application/octet-stream", |(_, content_type)| content_type)
}

const TYPES: [(&[&str], &str); 17] = [
    (&["html", "htm"], "text/html; charset=utf-8"),
    (&["js", "mjs"], "text/javascript; charset=utf-8"),
    (&["css"], "text/css; charset=utf-8"),
    (&["wasm"], "application/wasm"),
    (&["json", "map"], "application/json"),
    (&["txt", "md"], "text/plain; charset=utf-8"),
    (&["png"], "image/png"),
    (&["jpg", "jpeg"], "image/jpeg"),
    (&["gif"], "image/gif"),
    (&["webp"], "image/webp"),
    (&["svg"], "image/svg+xml"),
    (&["ico"], "image/x-icon"),
    (&["woff2"], "font/woff2"),
    (&["woff"], "font/woff"),
    (&["mp3"], "audio/mpeg"),
    (&["ogg"], "audio/ogg"),
    (&["glb"], "model/gltf-binary"),
];

/// The largest file that is served.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The limit of all answers in memory.
const ANSWERS_KIB_MAX: usize = 64 << 10;
/// Folders and the file in them.
const PARTS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_only_plain_names() {
        let found = |path| parts(path).map(|parts| parts.join(" "));
        assert_eq!(found("/"), Some("index.html".to_owned()));
        assert_eq!(found("/a/b.js"), Some("a b.js".to_owned()));
        assert_eq!(found("/a/"), Some("a index.html".to_owned()));
        assert_eq!(found("/two%20words.png"), Some("two words.png".to_owned()));
        assert_eq!(found("/%C3%A9.png"), Some("é.png".to_owned()));
        let deep = "/a".repeat(PARTS_MAX + 1);
        for path in [
            "",
            "a",
            "//",
            "//a",
            "/a//b",
            "/.",
            "/..",
            "/../a",
            "/a/../b",
            "/a/..",
            "/.env",
            "/.git/config",
            "/a/.b/c",
            "/%2e%2e/a",
            "/%2E%2e%2Fa",
            "/a%2fb",
            "/..%2f..%2fa",
            "/%2e",
            "/a%00",
            "/a%0a",
            "/a\\b",
            "/..\\a",
            "/%5c..%5ca",
            "/%",
            "/%2",
            "/%zz",
            "/%ff",
            "/%c0%ae%c0%ae/a",
            &deep,
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }

    #[test]
    fn files_have_types_by_the_ends_of_their_names() {
        for (name, expected) in [
            ("a.html", "text/html; charset=utf-8"),
            ("a.min.js", "text/javascript; charset=utf-8"),
            ("A.PNG", "image/png"),
            ("a.js.map", "application/json"),
            ("a.woff2", "font/woff2"),
            ("a", "application/octet-stream"),
            ("a.exe", "application/octet-stream"),
        ] {
            assert_eq!(content_type(name), expected, "{name}");
        }
    }
}
