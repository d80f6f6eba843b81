//! What clients hold in the world beside their observer, because they asked for it:
//! who may have what, and what becomes of it when a client is away or gone. It does
//! no I/O and reads no clock.

use shared::wire::session::Body;

/// Everything that clients hold.
#[derive(Default)]
pub struct Holdings {}

impl Holdings {
    /// Grants what a client asks for, or says why not.
    pub fn ask(&mut self, body: &Body) -> Result<(), String> {
        match body {
            Body::SetRegion { .. } => Err("this world has no regions for clients".to_owned()),
            Body::Subscribe { .. } | Body::Unsubscribe { .. } => {
                Err("this world has no subscriptions".to_owned())
            }
        }
    }
}
