//! The only place that knows bincode: bounded serialisation of whole messages.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::DecodeError;

/// The bytes of a message of our own.
pub fn to_bytes<T: Serialize>(message: &T) -> Vec<u8> {
    bincode::serde::encode_to_vec(message, bincode::config::standard())
        .expect("our own messages have lengths and no unsupported types")
}

/// Reads a message of at most `LIMIT` bytes, in memory as on the wire: a short
/// message that claims a long list is an error, not an allocation.
pub fn from_bytes<const LIMIT: usize, T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    if bytes.len() > LIMIT {
        return Err(DecodeError::TooLong {
            found: bytes.len(),
            limit: LIMIT,
        });
    }
    let config = bincode::config::standard().with_limit::<LIMIT>();
    let (message, used) = bincode::serde::decode_from_slice(bytes, config)
        .map_err(|error| DecodeError::Malformed(error.to_string()))?;
    match bytes.len() - used {
        0 => Ok(message),
        left => Err(DecodeError::TrailingBytes(left)),
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
