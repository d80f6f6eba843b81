//! Parsing of requests.

use platform::http::HttpRequest;
use shared::{ClientRow, Slot};

use crate::web::dashboard::query::{Fields, QueryError, area};
use crate::web::dashboard::survey::Area;
use crate::web::dashboard::viewers::Viewer;

#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// The world, and how long the recording is.
    World,
    Moment(Look),
    /// A command of a tick once more, with the values of its lines.
    Run {
        tick: u64,
        /// Its place among the tick's commands.
        command: usize,
    },
}

/// A look at the world at a position of the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub tick: u64,
    /// The area whose entities to list.
    pub area: Option<Area>,
    /// The entity whose attributes to list.
    pub slot: Option<Slot>,
    /// The client whose known set to show; `None`: all entities.
    pub client: Option<ClientRow>,
}

/// Parses a request below `/replay`, and its viewer.
pub fn parse(request: &HttpRequest) -> Result<(Viewer, Query), QueryError> {
    let fields = Fields(&request.query);
    let query = match request.path.as_str() {
        "/replay/data/world" => Query::World,
        "/replay/data/moment" => Query::Moment(Look {
            tick: fields.required("tick")?,
            area: area(&fields)?,
            slot: fields.number("slot")?.map(Slot),
            client: fields.number("client")?.map(ClientRow),
        }),
        "/replay/data/run" => Query::Run {
            tick: fields.required("tick")?,
            command: fields.required("command")?,
        },
        _ => return Err(QueryError::Unknown),
    };
    Ok((Viewer(fields.required("viewer")?), query))
}
