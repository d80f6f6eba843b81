//! Unix sockets at paths of any length: their addresses have room for 107 bytes, so longer paths
//! are named by an open descriptor of their folder.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RenameFlags, renameat_with};

/// Listens at a path where there is nothing yet. From the beginning only this user can open the
/// socket.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    if fits(path) {
        return bind_private(path);
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("expected the path of a file"));
    };
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let folder = open(folder, OFlags::DIRECTORY)?;
    let near = of(&folder).join(name);
    if fits(&near) {
        return bind_private(&near);
    }
    // It listens under whichever name.
    let short = format!(".socket-{}", std::process::id());
    let listener = bind_private(&of(&folder).join(&short))?;
    let renamed = renameat_with(&folder, &short, &folder, name, RenameFlags::NOREPLACE);
    if let Err(error) = renamed {
        // Nothing of it stays.
        let _ = fs::remove_file(of(&folder).join(&short));
        return Err(error.into());
    }
    Ok(listener)
}

/// Connects to the socket at a path.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    if fits(path) {
        return UnixStream::connect(path);
    }
    let socket = open(path, OFlags::empty())?;
    UnixStream::connect(of(&socket))
}

fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener = UnixListener::bind(path);
    rustix::process::umask(before);
    listener
}

/// As a place, not to read or write.
fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// The name of an open descriptor.
fn of(opened: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}

fn fits(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= ADDRESS_BYTES_MAX
}

/// The length of a Unix socket's address on Linux (`sun_path`), before the zero at its
/// end.
const ADDRESS_BYTES_MAX: usize = 107;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;

    use platform::private;

    use super::*;

    #[test]
    fn sockets_listen_in_long_folders_and_under_long_names() {
        let top = std::env::temp_dir().join(format!("myriad-socket-{}", std::process::id()));
        let long = top.join("f".repeat(200)).join("g".repeat(200));
        private::create_folder(&long).expect("a folder");
        let around = |bytes: usize| {
            let name = bytes - top.as_os_str().len() - 1;
            top.join("n".repeat(name))
        };
        let paths = [
            around(ADDRESS_BYTES_MAX),
            around(ADDRESS_BYTES_MAX + 1),
            long.join("control"),
            long.join("n".repeat(255)),
        ];
        for path in paths {
            let listener = bind(&path).expect("a socket");
            let mode = fs::metadata(&path).expect("a socket").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            connect(&path)
                .and_then(|mut near| near.write_all(b"hello"))
                .expect("a connection");
            let (mut far, _) = listener.accept().expect("a connection");
            let mut received = vec![];
            far.read_to_end(&mut received).expect("the sent bytes");
            assert_eq!(received, b"hello");
            assert!(bind(&path).is_err(), "there is one already");
        }
        let left = fs::read_dir(&long).expect("a folder").count();
        assert_eq!(left, 2, "nothing else is there");
        fs::remove_dir_all(&top).expect("to remove the folder");
    }
}
