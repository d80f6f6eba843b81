//! What a client can react to.

use shared::Tick;

use crate::view::View;
use crate::{Answer, Message, Movement};

/// Is called for everything that the server tells a client, as it arrives.
pub trait EventHandler {
    /// A movement datagram has taken effect on the view.
    fn datagram(&mut self, _view: &View, _summary: DatagramSummary, _movement: &Movement) {}

    /// A message of the stream, sent in this tick, is about to take effect on the view.
    fn message(&mut self, _tick: Tick, _message: &Message) {}
}

/// Ignores everything.
impl EventHandler for () {}

/// What a movement datagram tells beside the movement itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSummary {
    pub tick: Tick,
    /// The sequence number of the last command that the world has processed.
    pub processed: u32,
    /// All datagrams of this tick have arrived now.
    pub is_complete: bool,
}

/// Keeps the answer to one request, and passes all events on to another handler.
pub struct PendingRequest<'a, H> {
    request: u32,
    handler: &'a mut H,
    answer: Option<Result<(), String>>,
}

impl<'a, H: EventHandler> PendingRequest<'a, H> {
    pub fn new(request: u32, handler: &'a mut H) -> PendingRequest<'a, H> {
        PendingRequest {
            request,
            handler,
            answer: None,
        }
    }

    /// The answer once it has arrived: `Ok`, or the server's reason for a refusal.
    pub fn take_answer(&mut self) -> Option<Result<(), String>> {
        self.answer.take()
    }
}

impl<H: EventHandler> EventHandler for PendingRequest<'_, H> {
    fn datagram(&mut self, view: &View, summary: DatagramSummary, movement: &Movement) {
        self.handler.datagram(view, summary, movement);
    }

    fn message(&mut self, tick: Tick, message: &Message) {
        if let Message::Answer(Answer { request, result }) = message
            && *request == self.request
        {
            self.answer = Some(result.clone());
        }
        self.handler.message(tick, message);
    }
}
