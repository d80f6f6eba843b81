//! What a request asks for.

use platform::http::Asked;
use shared::{ClientRow, Slot};

use crate::web::dashboard::query::{Fields, QueryError, area};
use crate::web::dashboard::survey::Area;
use crate::web::dashboard::viewers::Viewer;

#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// The world, and how long the recording is.
    World,
    Moment(Look),
}

/// A look at the world at a position of the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub tick: u64,
    /// What to list one by one.
    pub area: Option<Area>,
    /// Whose attributes to list.
    pub slot: Option<Slot>,
    /// By whose eyes to look: only what it has been told of is there.
    pub client: Option<ClientRow>,
}

/// Reads a request below `/replay`, and who asks.
pub fn parse(asked: &Asked) -> Result<(Viewer, Query), QueryError> {
    let fields = Fields(&asked.query);
    let query = match asked.path.as_str() {
        "/replay/data/world" => Query::World,
        "/replay/data/moment" => Query::Moment(Look {
            tick: fields.required("tick")?,
            area: area(&fields)?,
            slot: fields.number("slot")?.map(Slot),
            client: fields.number("client")?.map(ClientRow),
        }),
        _ => return Err(QueryError::Unknown),
    };
    Ok((Viewer(fields.required("viewer")?), query))
}
