//! A recording or a persistent world in the browser: a time line, the world at any tick, its
//! changes with the commands that caused them, and the view of one client.
//!
//! | module | holds |
//! | --- | --- |
//! | [`query`] | requests, parsed |
//! | [`data`] | answers, as JSON |
//! | [`files`] | the files of the page |

pub mod data;
pub mod files;
pub mod query;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use hyper::StatusCode;
use platform::http::cross_site::RequestOrigin;
use platform::http::{self, HttpPort, HttpRequest, Page, Site};
use platform::metrics::web::WebRefusal;
use platform::renewal::Shared;
use tokio::sync::Semaphore;

use super::dashboard::gate::Gate;
use super::dashboard::query::QueryError;
use super::dashboard::viewers::{Viewer, Viewers};
use super::site;
use crate::playback::Player;
use crate::playback::surveyor::{self, SharedProgress};
use data::Source;

/// A recording or a persistent world that is served until this is dropped.
pub struct ReplaySite {
    address: SocketAddr,
    progress: SharedProgress,
    /// Closes with this.
    _port: HttpPort,
}

impl ReplaySite {
    /// Opens a recording or a folder and shows it at an address, with the access rules of the
    /// dashboard. `names` are those of the port beside the machine's own.
    pub fn start(
        recording: &Path,
        address: SocketAddr,
        token: Option<Shared<str>>,
        threads: usize,
        names: Vec<String>,
    ) -> Result<ReplaySite> {
        let (listener, address) = http::bind(address)
            .with_context(|| format!("cannot serve the recording on {address}"))?;
        let (player, survey) = Player::open(recording, threads)?;
        let name = recording.file_name().unwrap_or_default();
        let progress = player.progress();
        survey.start()?;
        let answers = ReplayHandler {
            gate: Gate::new(address.ip(), token),
            viewers: Mutex::default(),
            source: Arc::new(Source::new(name.to_string_lossy().into_owned(), player)),
            room: Arc::new(Semaphore::new(AT_WORK_MAX)),
            names,
        };
        let port = (listener, None);
        let port = http::serve_at(port, "replay", Arc::new(answers), site::LIMITS, || {})?;
        Ok(ReplaySite {
            address,
            progress,
            _port: port,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The last position that can be seen.
    pub fn ticks(&self) -> u64 {
        surveyor::read(&self.progress).ticks
    }

    /// Why the recording ends early, if it does.
    pub fn ends_early(&self) -> Option<String> {
        surveyor::read(&self.progress).ends_early
    }
}

struct ReplayHandler {
    gate: Gate,
    viewers: Mutex<Viewers>,
    source: Arc<Source>,
    /// For requests at work, each on a thread.
    room: Arc<Semaphore>,
    names: Vec<String>,
}

impl Site for ReplayHandler {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn wants_token(&self, _path: &str) -> bool {
        self.gate.wants_token()
    }

    fn allows(&self, origin: RequestOrigin<'_>, path: &str) -> bool {
        origin == RequestOrigin::Link && site::is_page(path, "/replay")
    }

    async fn answer(&self, request: HttpRequest) -> Page {
        let page = match files::at(&request.path) {
            Some(file) => file,
            None => match self.answer_query(&request).await {
                Ok(page) | Err(page) => page,
            },
        };
        Page {
            may_be_framed: false,
            ..page
        }
    }
}

impl ReplayHandler {
    /// An error is the answer, too.
    async fn answer_query(&self, request: &HttpRequest) -> Result<Page, Page> {
        let now = Instant::now();
        (self.gate.admit(request, now)).map_err(|no_entry| Page::from(&no_entry))?;
        let (viewer, query) = query::parse(request).map_err(|error| match error {
            QueryError::Unknown => Page::not_found("the recording is at /replay\n"),
            QueryError::Wrong(reason) => Page::error(StatusCode::BAD_REQUEST, reason),
        })?;
        self.let_in(viewer, now)?;
        let busy = |_| Page::error(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once");
        let place = self.room.clone().try_acquire_owned().map_err(busy)?;
        let source = self.source.clone();
        let answer = tokio::task::spawn_blocking(move || {
            let answer = source.answer(&query);
            drop(place);
            answer
        });
        let ended = |_| Page::error(StatusCode::INTERNAL_SERVER_ERROR, "the replay failed");
        answer.await.map_err(ended)
    }

    fn let_in(&self, viewer: Viewer, now: Instant) -> Result<(), Page> {
        let mut viewers = self.viewers.lock().unwrap_or_else(PoisonError::into_inner);
        viewers.come(viewer, now).map_err(|refusal| {
            let reason = match refusal {
                WebRefusal::Viewers => "too many pages are open",
                _ => "too many requests of this page",
            };
            Page::error(StatusCode::TOO_MANY_REQUESTS, reason)
        })
    }
}

const AT_WORK_MAX: usize = 16;
