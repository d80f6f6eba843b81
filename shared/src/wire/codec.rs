//! Bounded serialisation of whole messages, by bincode.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::DecodeError;

/// The bytes of a message.
pub fn to_bytes<T: Serialize>(message: &T) -> Vec<u8> {
    bincode::serde::encode_to_vec(message, bincode::config::standard())
        .expect("messages have known lengths and only supported types")
}

/// Reads a message of at most `LIMIT` bytes, on the wire and in memory. A short message
/// that claims a long list is an error; nothing is allocated for the list.
pub fn from_bytes<const LIMIT: usize, T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    if bytes.len() > LIMIT {
        return Err(DecodeError::TooLong {
            found: bytes.len(),
            limit: LIMIT,
        });
    }
    let config = bincode::config::standard().with_limit::<LIMIT>();
    let (message, used) = bincode::serde::decode_from_slice(bytes, config)
        .map_err(|error| DecodeError::Malformed(reason(error)))?;
    match bytes.len() - used {
        0 => Ok(message),
        left => Err(DecodeError::TrailingBytes(left)),
    }
}

/// The number that a message begins with, whatever follows.
pub fn first_number(bytes: &[u8]) -> Result<u16, DecodeError> {
    let config = bincode::config::standard().with_limit::<FIRST_BYTES_MAX>();
    bincode::serde::decode_from_slice(bytes, config)
        .map(|(number, _)| number)
        .map_err(|error| DecodeError::Malformed(reason(error)))
}

const FIRST_BYTES_MAX: usize = 8;

fn reason(error: bincode::error::DecodeError) -> String {
    match error {
        // What a type says of a value that it does not take.
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
}
