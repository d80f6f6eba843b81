//! Bounded serialisation of whole messages, by bincode.

use serde::Serialize;
use serde::de::DeserializeOwned;

use bincode::enc::write::SizeWriter;

use super::DecodeError;

/// The bytes of a message.
pub fn to_bytes<T: Serialize>(message: &T) -> Vec<u8> {
    bincode::serde::encode_to_vec(message, bincode::config::standard())
        .expect("messages have known lengths and only supported types")
}

/// Reads a message of at most `LIMIT` bytes, on the wire and in memory. A short message
/// that claims a long list is an error; nothing is allocated for the list.
pub fn from_bytes<const LIMIT: usize, T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (message, rest) = split_first::<LIMIT, T>(bytes)?;
    match rest.len() {
        0 => Ok(message),
        left => Err(DecodeError::TrailingBytes(left)),
    }
}

/// Reads the message with which these bytes begin, in the same way, and gives what follows it.
pub fn split_first<const LIMIT: usize, T: DeserializeOwned>(
    bytes: &[u8],
) -> Result<(T, &[u8]), DecodeError> {
    if bytes.len() > LIMIT {
        return Err(DecodeError::TooLong {
            found: bytes.len(),
            limit: LIMIT,
        });
    }
    let config = bincode::config::standard().with_limit::<LIMIT>();
    let (message, used) = bincode::serde::decode_from_slice(bytes, config)
        .map_err(|error| DecodeError::Malformed(reason(error)))?;
    Ok((message, bytes.get(used..).unwrap_or_default()))
}

/// Reads a message from the network, as [`from_bytes`] does. One with an integer that is not in
/// its shortest form is an error: each message has one form only.
pub fn from_wire<const LIMIT: usize, T>(bytes: &[u8]) -> Result<T, DecodeError>
where
    T: Serialize + DeserializeOwned,
{
    let message = from_bytes::<LIMIT, T>(bytes)?;
    // Each integer in a longer form makes the message longer; nothing makes it shorter.
    match size(&message) == bytes.len() {
        true => Ok(message),
        false => Err(DecodeError::NotShortest("an integer")),
    }
}

/// The number that a message begins with, whatever follows.
pub fn first_number(bytes: &[u8]) -> Result<u16, DecodeError> {
    let config = bincode::config::standard().with_limit::<FIRST_BYTES_MAX>();
    let (number, used) = bincode::serde::decode_from_slice(bytes, config)
        .map_err(|error| DecodeError::Malformed(reason(error)))?;
    match size(&number) == used {
        true => Ok(number),
        false => Err(DecodeError::NotShortest("an integer")),
    }
}

/// The number of bytes of a message, without writing it.
fn size<T: Serialize>(message: &T) -> usize {
    let mut writer = SizeWriter::default();
    bincode::serde::encode_into_writer(message, &mut writer, bincode::config::standard())
        .expect("messages have known lengths and only supported types");
    writer.bytes_written
}

const FIRST_BYTES_MAX: usize = 8;

fn reason(error: bincode::error::DecodeError) -> String {
    match error {
        // A type's message about a value that it rejects.
        bincode::error::DecodeError::OtherString(reason) => reason,
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_length_beyond_the_limit_is_an_error() {
        // 2^43 entries, in nine bytes.
        let bytes = [253, 0, 0, 0, 0, 0, 8, 0, 0];
        assert!(from_bytes::<1024, Vec<u64>>(&bytes).is_err());
    }

    #[test]
    fn an_integer_in_a_longer_form_than_it_needs_is_an_error() {
        let longer = Err(DecodeError::NotShortest("an integer"));
        for bytes in [
            &[251, 250, 0][..],
            &[252, 255, 255, 0, 0],
            &[253, 0, 0, 0, 0, 0, 0, 0, 0],
        ] {
            assert_eq!(from_wire::<64, u64>(bytes), longer, "{bytes:?}");
        }
        assert_eq!(from_wire::<64, u64>(&[251, 251, 0]), Ok(251));
        // The length of a list; an entry; a version in front of anything.
        assert!(from_wire::<64, Vec<u64>>(&[251, 1, 0, 7]).is_err());
        assert!(from_wire::<64, Vec<u64>>(&[1, 251, 7, 0]).is_err());
        assert_eq!(
            first_number(&[251, 12, 0, 1]),
            Err(DecodeError::NotShortest("an integer"))
        );
        assert_eq!(first_number(&[12, 1]), Ok(12));
    }
}
