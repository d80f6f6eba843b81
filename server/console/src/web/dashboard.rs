//! The dashboard: the server's health over the last hour, its world from above, its clients,
//! and the actions of an operator. Without a database: all of it is in memory, and bounded.
//!
//! | module | holds |
//! | --- | --- |
//! | [`gate`] | access control |
//! | [`viewers`] | open dashboards: limits of their number and their requests |
//! | [`series`], [`history`] | samples of each second of the last hour |
//! | [`commands`] | the most frequent commands, and the costs of their scripts |
//! | [`survey`] | the world from above |
//! | [`watch`] | the thread that takes samples, and surveys the world while a dashboard shows it |
//! | [`query`] | requests, parsed |
//! | [`data`] | answers, as JSON |
//! | [`files`] | the files of the page |

pub mod commands;
pub mod data;
pub mod files;
pub mod gate;
pub mod history;
pub mod query;
pub mod series;
pub mod survey;
pub mod viewers;
pub mod watch;

use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::Result;
use hyper::StatusCode;
use platform::http::{HttpRequest, Page};
use platform::log::script_lines::ScriptLines;
use platform::metrics::table;
use platform::metrics::web::{WebRefusal, WebRefusals};
use platform::renewal::Shared;
use tokio::sync::Semaphore;
use tracing::info;

use crate::admin::desk::Desk;
use data::{Data, Source};
use gate::Gate;
use query::{Query, QueryError};
use viewers::{Viewer, Viewers};
use watch::Watched;

/// The dashboard of a server.
pub struct Dashboard {
    gate: Gate,
    viewers: Arc<Mutex<Viewers>>,
    refusals: Arc<WebRefusals>,
    source: Arc<Source>,
    /// Room for requests at work: those that wait for the world, and all others.
    waiting: Arc<Semaphore>,
    reading: Arc<Semaphore>,
}

/// The parts of a dashboard.
pub struct Parts {
    /// The address of its port.
    pub address: IpAddr,
    pub token: Option<Shared<str>>,
    pub facts: data::Facts,
    pub watch: watch::Parts,
    pub script_lines: ScriptLines,
    pub desk: Desk,
    pub stop: Arc<AtomicBool>,
}

impl Dashboard {
    /// Where an operator's actions are posted to.
    pub const ACTS: &str = "/dashboard/do";

    /// Starts the thread that takes samples, until `stop` is true.
    pub fn start(parts: Parts) -> Result<Dashboard> {
        let viewers = Arc::new(Mutex::new(Viewers::default()));
        let mirror = parts.watch.mirror.clone();
        let watched = Arc::new(Watched::new(&parts.watch));
        watch::start(parts.watch, watched.clone(), viewers.clone(), parts.stop)?;
        let refusals = Arc::new(WebRefusals::default());
        Ok(Dashboard {
            gate: Gate::new(parts.address, parts.token),
            viewers: viewers.clone(),
            refusals: refusals.clone(),
            source: Arc::new(Source {
                facts: parts.facts,
                watched,
                viewers,
                refusals,
                mirror,
                script_lines: parts.script_lines,
                desk: parts.desk,
                reading: Mutex::default(),
            }),
            waiting: Arc::new(Semaphore::new(AT_WORK_MAX)),
            reading: Arc::new(Semaphore::new(AT_WORK_MAX)),
        })
    }

    /// Whether it requires a token.
    pub fn wants_token(&self) -> bool {
        self.gate.wants_token()
    }

    /// The number of dashboards that are open.
    pub fn open(&self) -> usize {
        self.viewers().count(Instant::now())
    }

    /// Counts a refusal.
    pub fn note(&self, refusal: WebRefusal) {
        self.refusals.note(refusal);
        table::WEB_REFUSED.add_to(refusal.name(), 1);
    }

    /// Answers a request below `/dashboard`. Files are for all: they hold nothing of the
    /// server.
    pub async fn answer(&self, request: HttpRequest) -> Page {
        let page = match files::at(&request.path) {
            Some(file) => file,
            None => self.answer_query(request).await,
        };
        Page {
            may_be_framed: false,
            ..page
        }
    }

    async fn answer_query(&self, request: HttpRequest) -> Page {
        let now = Instant::now();
        if let Err(no_entry) = self.gate.admit(&request, now) {
            no_entry.refusal.iter().for_each(|why| self.note(*why));
            return Page::from(&no_entry);
        }
        let (viewer, query) = match query::parse(&request) {
            Ok(query) => query,
            Err(QueryError::Unknown) => return Page::not_found("the dashboard is /dashboard\n"),
            Err(QueryError::Wrong(reason)) => {
                self.note(WebRefusal::Malformed);
                return Page::error(StatusCode::BAD_REQUEST, reason);
            }
        };
        if let Err(page) = self.let_in(viewer, request.peer, now) {
            return page;
        }
        self.work(viewer, query, request.peer).await
    }

    fn let_in(&self, viewer: Viewer, peer: IpAddr, now: Instant) -> Result<(), Page> {
        let (came, is_new) = {
            let mut viewers = self.viewers();
            let before = viewers.count(now);
            let came = viewers.come(viewer, now);
            (came, viewers.count(now) > before)
        };
        if is_new {
            info!(target: "audit", %peer, "a dashboard is open");
        }
        came.map_err(|refusal| {
            self.note(refusal);
            let reason = match refusal {
                WebRefusal::Viewers => "too many dashboards are open",
                _ => "too many requests of this dashboard",
            };
            Page::error(StatusCode::TOO_MANY_REQUESTS, reason)
        })
    }

    /// Answers requests that may take a while. A world that does not answer delays only the
    /// requests that need it.
    async fn work(&self, viewer: Viewer, query: Query, peer: IpAddr) -> Page {
        let busy = || {
            self.note(WebRefusal::Busy);
            Page::error(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once")
        };
        let room = match query.waits_for_the_world() {
            true => &self.waiting,
            false => &self.reading,
        };
        let Ok(place) = room.clone().try_acquire_owned() else {
            return busy();
        };
        let source = self.source.clone();
        let answer = tokio::task::spawn_blocking(move || {
            let data = source.data(viewer, query, peer);
            drop(place);
            page_of(data)
        });
        // The answer to a request of an ended server.
        let ended = |_| Page::error(StatusCode::INTERNAL_SERVER_ERROR, "the dashboard failed");
        answer.await.unwrap_or_else(ended)
    }

    fn viewers(&self) -> MutexGuard<'_, Viewers> {
        self.viewers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn page_of(data: Result<Data, String>) -> Page {
    match data {
        // Numbers and text are always written.
        Ok(data) => Page::new(JSON, serde_json::to_vec(&data).unwrap_or_default()),
        Err(reason) => Page::error(StatusCode::CONFLICT, reason),
    }
}

pub const JSON: &str = "application/json";
/// Requests of a sort at work, each on a thread.
const AT_WORK_MAX: usize = 32;
