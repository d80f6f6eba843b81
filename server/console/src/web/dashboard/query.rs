//! Parsing of requests.

use platform::http::HttpRequest;
use shared::ClientRow;
use thiserror::Error;
use world_file::{Format, plain};

use super::survey::Area;
use super::viewers::Viewer;
use crate::admin::request::{Client, Request};

/// A request of a dashboard.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// Facts that do not change while the server runs.
    World,
    /// The samples from a number on, and the figures of now.
    Health { since: u64 },
    /// What scripts have logged, from the line with a number on.
    Log { since: u64 },
    /// The density, and the entities of an area.
    Map { area: Option<Area> },
    /// The entity that lives in a slot.
    Entity { slot: u32 },
    /// Clients, from a row on.
    Clients { first: ClientRow },
    /// A client, and its view.
    Client { whom: Client },
    /// An action of an operator.
    Act(Request),
}

impl Query {
    /// Whether the tick thread has to answer.
    pub fn waits_for_the_world(&self) -> bool {
        matches!(
            self,
            Query::Clients { .. } | Query::Client { .. } | Query::Act(_)
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QueryError {
    #[error("there is nothing at this path")]
    Unknown,
    #[error("{0}")]
    Wrong(String),
}

/// Parses a request below `/dashboard`, and its viewer.
pub fn parse(request: &HttpRequest) -> Result<(Viewer, Query), QueryError> {
    let fields = Fields(&request.query);
    let path = request.path.strip_prefix("/dashboard/");
    let query = match (path.unwrap_or_default(), &request.body) {
        ("do", Some(body)) => Query::Act(act(body)?),
        ("data/world", None) => Query::World,
        ("data/health", None) => Query::Health {
            since: fields.number("since")?.unwrap_or(0),
        },
        ("data/log", None) => Query::Log {
            since: fields.number("since")?.unwrap_or(0),
        },
        ("data/map", None) => Query::Map {
            area: area(&fields)?,
        },
        ("data/entity", None) => Query::Entity {
            slot: fields.required("slot")?,
        },
        ("data/clients", None) => Query::Clients {
            first: ClientRow(fields.number("first")?.unwrap_or(0)),
        },
        ("data/client", None) => Query::Client {
            whom: client(&fields)?,
        },
        _ => return Err(QueryError::Unknown),
    };
    Ok((Viewer(fields.required("viewer")?), query))
}

/// Only the actions of the dashboard's buttons.
fn act(body: &[u8]) -> Result<Request, QueryError> {
    match serde_json::from_slice(body) {
        Ok(request @ (Request::Kick { .. } | Request::Tell { .. })) => Ok(request),
        Ok(_) => Err(wrong("expected `kick` or `tell`")),
        Err(error) => {
            let error = plain(&error.to_string(), Format::Json);
            Err(wrong(format!("the request can't be read: {error}")))
        }
    }
}

/// The area of the fields `x`, `y` and `edge`.
pub fn area(fields: &Fields<'_>) -> Result<Option<Area>, QueryError> {
    let [x, y, edge] = ["x", "y", "edge"].map(|name| fields.number::<f64>(name));
    match (x?, y?, edge?) {
        (None, None, None) => Ok(None),
        (Some(x), Some(y), Some(edge)) if [x, y, edge].iter().all(|n| n.is_finite()) => {
            Ok(Some(Area {
                centre: [x, y],
                edge,
            }))
        }
        _ => Err(wrong("expected `x`, `y` and `edge` as numbers, or none")),
    }
}

fn client(fields: &Fields<'_>) -> Result<Client, QueryError> {
    if let Some(number) = fields.number("number")? {
        return Ok(Client::Number(number));
    }
    let name = fields.text("name").map(Client::Name);
    let account = || fields.text("account").map(Client::Account);
    name.or_else(account)
        .ok_or_else(|| wrong("expected `number`, `name` or `account`"))
}

fn wrong(reason: impl Into<String>) -> QueryError {
    QueryError::Wrong(reason.into())
}

/// The fields of `a=1&b=2`.
pub struct Fields<'a>(pub &'a str);

impl<'a> Fields<'a> {
    fn raw(&self, name: &str) -> Option<&'a str> {
        let fields = self.0.split('&').filter_map(|field| field.split_once('='));
        fields
            .into_iter()
            .find(|field| field.0 == name)
            .map(|f| f.1)
    }

    /// A text, whose bytes may be written as `%20`.
    fn text(&self, name: &str) -> Option<String> {
        unescape(self.raw(name)?)
    }

    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, QueryError> {
        let parse = |text: &str| {
            let number = text.parse();
            number.map_err(|_| wrong(format!("`{name}`: expected a number, found {text:.20}")))
        };
        self.raw(name).map(parse).transpose()
    }

    pub fn required<T: std::str::FromStr>(&self, name: &str) -> Result<T, QueryError> {
        let missing = || wrong(format!("`{name}` is missing"));
        self.number(name)?.ok_or_else(missing)
    }
}

/// `None` if it is not text then.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = vec![];
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                // Two digits are below 256.
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use hyper::body::Bytes;
    use hyper::header::HeaderMap;

    use super::*;

    fn ask(address: &str, body: Option<&'static str>) -> Result<(Viewer, Query), QueryError> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        parse(&HttpRequest {
            peer: [127, 0, 0, 1].into(),
            path: format!("/dashboard/{path}"),
            query: query.to_owned(),
            headers: HeaderMap::new(),
            body: body.map(|body| Bytes::from_static(body.as_bytes())),
        })
    }

    fn read(address: &str) -> Query {
        let address = format!("{address}&viewer=7");
        let (viewer, query) = ask(&address, None).unwrap();
        assert_eq!(viewer, Viewer(7));
        query
    }

    #[test]
    fn each_address_asks_for_one_thing() {
        assert_eq!(read("data/world?"), Query::World);
        assert_eq!(read("data/health?since=12"), Query::Health { since: 12 });
        assert_eq!(read("data/log?"), Query::Log { since: 0 });
        assert_eq!(read("data/map?"), Query::Map { area: None });
        let area = Area {
            centre: [1.5, -2.0],
            edge: 30.0,
        };
        let area = Some(area);
        assert_eq!(read("data/map?x=1.5&y=-2&edge=30"), Query::Map { area });
        assert_eq!(read("data/entity?slot=3"), Query::Entity { slot: 3 });
        let first = ClientRow(100);
        assert_eq!(read("data/clients?first=100"), Query::Clients { first });
        let whom = Client::Name("Zoë B".to_owned());
        assert_eq!(
            read("data/client?name=Zo%C3%AB%20B"),
            Query::Client { whom }
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_sentence() {
        for address in ["", "data", "data/worlds?viewer=1", "do?viewer=1", "../etc"] {
            assert_eq!(ask(address, None), Err(QueryError::Unknown), "{address}");
        }
        for address in [
            "data/world",
            "data/world?viewer=",
            "data/world?viewer=-1",
            "data/health?viewer=1&since=a",
            "data/log?viewer=1&since=-1",
            "data/map?viewer=1&x=1",
            "data/map?viewer=1&x=nan&y=1&edge=1",
            "data/entity?viewer=1",
            "data/entity?viewer=1&slot=99999999999",
            "data/client?viewer=1",
            "data/client?viewer=1&name=%zz",
        ] {
            let refused = ask(address, None);
            assert!(matches!(refused, Err(QueryError::Wrong(_))), "{address}");
        }
    }

    #[test]
    fn only_what_has_a_button_can_be_done() {
        let act = |body| ask("do?viewer=1", Some(body)).map(|(_, query)| query);
        let kick = r#"{"do":"kick","whom":{"number":3},"reason":"too loud"}"#;
        assert!(matches!(act(kick), Ok(Query::Act(Request::Kick { .. }))));
        let tell = r#"{"do":"tell","whom":null,"text":"hello"}"#;
        assert!(matches!(act(tell), Ok(Query::Act(Request::Tell { .. }))));
        for body in [r#"{"do":"list"}"#, r#"{"do":"bans"}"#, "", "[[[[", "{}"] {
            assert!(matches!(act(body), Err(QueryError::Wrong(_))), "{body}");
        }
    }
}
