//! Files that a person gives to a program: keys, tokens, lists. A wrong one may have no end, as
//! `/dev/zero` has none.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a file of at most [`BYTES_MAX`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    let mut file = File::open(path)?.take(BYTES_MAX + 1);
    file.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        let message = format!("it has more than {BYTES_MAX} bytes, which are allowed");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The same of a text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("it is not UTF-8 from byte {at} on");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Lists of words and of authorities have far less.
pub const BYTES_MAX: u64 = 16 << 20;

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_an_error() {
        let error = read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(Path::new("/dev/null")).unwrap(), b"");
    }
}
