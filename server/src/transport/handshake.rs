//! The hello of a client, and why a client may not come in.

use std::time::Duration;

use quinn::{Connection, RecvStream, SendStream};
use shared::wire::codec;
use shared::wire::control::{Close, HELLO_BYTES_MAX, Hello};
use shared::wire::{DecodeError, PROTOCOL_VERSION};

/// What a hello must carry.
pub struct Admission {
    pub schema_hash: u64,
    /// Empty where anyone may come in.
    pub token: String,
}

/// Why a client may not come in.
pub struct Refusal {
    pub close: Close,
    pub reason: String,
}

/// Waits for a client's hello and checks it. Gives both halves of the client's stream, too.
pub async fn receive_hello(
    connection: &Connection,
    admission: &Admission,
) -> Result<(SendStream, RecvStream, Hello), Refusal> {
    let (send, receive, hello) = tokio::time::timeout(HELLO_WAIT, read_hello(connection))
        .await
        .map_err(|_| refused(format!("no hello within {} seconds", HELLO_WAIT.as_secs())))??;
    check(&hello, admission)?;
    Ok((send, receive, hello))
}

async fn read_hello(connection: &Connection) -> Result<(SendStream, RecvStream, Hello), Refusal> {
    let lost = |error: &dyn std::fmt::Display| refused(format!("no hello: {error}"));
    let (send, mut receive) = connection.accept_bi().await.map_err(|e| lost(&e))?;
    let mut length = [0; 4];
    receive
        .read_exact(&mut length)
        .await
        .map_err(|e| lost(&e))?;
    let length = u32::from_le_bytes(length) as usize;
    if length > HELLO_BYTES_MAX {
        return Err(malformed(&DecodeError::TooLong {
            found: length,
            limit: HELLO_BYTES_MAX,
        }));
    }
    let mut bytes = vec![0; length];
    receive.read_exact(&mut bytes).await.map_err(|e| lost(&e))?;
    let hello = codec::from_bytes::<HELLO_BYTES_MAX, _>(&bytes).map_err(|e| malformed(&e))?;
    Ok((send, receive, hello))
}

fn check(hello: &Hello, admission: &Admission) -> Result<(), Refusal> {
    if hello.version != PROTOCOL_VERSION {
        return Err(refused(format!(
            "the client speaks protocol version {}, the server {PROTOCOL_VERSION}",
            hello.version
        )));
    }
    if hello.token != admission.token {
        return Err(refused("the token is not the server's".to_owned()));
    }
    match hello.schema_hash {
        Some(hash) if hash != admission.schema_hash => Err(refused(format!(
            "the client needs schema {hash:016x}, the server has {:016x}",
            admission.schema_hash
        ))),
        _ => Ok(()),
    }
}

fn refused(reason: String) -> Refusal {
    Refusal {
        close: Close::Refused,
        reason,
    }
}

fn malformed(error: &DecodeError) -> Refusal {
    Refusal {
        close: Close::Malformed,
        reason: error.to_string(),
    }
}

const HELLO_WAIT: Duration = Duration::from_secs(10);
