//! Requests for regions and subscriptions.

use shared::wire::request::REQUEST_BYTES_MAX;
use shared::world::words::TextHandle;
use thiserror::Error;

use crate::{Region, Request, RequestBody, TalkRequest};

/// A predicate longer than a request may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a predicate of {found} bytes, at most {PREDICATE_BYTES_MAX} are allowed")]
pub struct PredicateTooLong {
    /// Its bytes.
    pub found: usize,
}

/// Requests as bytes that the transport has not taken yet. Requests are numbered from 1,
/// and answered in that order.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    bytes: Vec<u8>,
    next_number: u32,
}

impl RequestQueue {
    pub fn new() -> RequestQueue {
        RequestQueue {
            bytes: vec![],
            next_number: 1,
        }
    }

    pub fn set_region(&mut self, index: u32, region: Option<Region>) -> u32 {
        self.push(RequestBody::SetRegion { index, region })
    }

    pub fn subscribe(&mut self, id: u32, predicate: &str) -> Result<u32, PredicateTooLong> {
        let found = predicate.len();
        if found > PREDICATE_BYTES_MAX {
            return Err(PredicateTooLong { found });
        }
        let predicate = predicate.to_owned();
        Ok(self.push(RequestBody::Subscribe { id, predicate }))
    }

    pub fn unsubscribe(&mut self, id: u32) -> u32 {
        self.push(RequestBody::Unsubscribe { id })
    }

    pub fn set_sight(&mut self, radius: Option<i32>) -> u32 {
        self.push(RequestBody::SetSight { radius })
    }

    pub fn watch(&mut self, point: [i32; 3]) -> u32 {
        self.push(RequestBody::Watch { point })
    }

    pub fn talk(&mut self, request: TalkRequest) -> u32 {
        self.push(RequestBody::Talk(request))
    }

    pub fn fetch_layer(&mut self, hash: u64) {
        self.push(RequestBody::Layer { hash });
    }

    pub fn ask_ranking(&mut self, number: u32, length: u32) {
        self.push(RequestBody::Ranking { number, length });
    }

    pub fn text(&mut self, text: &str) -> u32 {
        let text = text.to_owned();
        self.push(RequestBody::Text { text })
    }

    pub fn texts_of(&mut self, handles: Vec<TextHandle>) -> u32 {
        self.push(RequestBody::TextsOf { handles })
    }

    fn push(&mut self, body: RequestBody) -> u32 {
        let request = self.next_number;
        self.next_number = request.wrapping_add(1);
        Request {
            number: request,
            body,
        }
        .encode(&mut self.bytes);
        request
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Drops the first bytes, which the transport has taken.
    pub fn sent(&mut self, count: usize) {
        self.bytes.drain(..count.min(self.bytes.len()));
    }
}

/// A request's numbers take at most five bytes each; this leaves room for them.
const PREDICATE_BYTES_MAX: usize = REQUEST_BYTES_MAX - 64;
