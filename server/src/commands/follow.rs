//! `myriad serve --follow`: a standby, until it is promoted. And the options of both sides.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use client_bot::connect::resolve;
use console::admin::desk;
use console::admin::port::{self, Handler};
use console::admin::request::{Request, Response};
use host::following::{Follow, Standby};
use host::{Server, ServerOptions, StandbyOptions};
use peer::trust::LinkKey;
use platform::audit::Audit;
use platform::metrics::machine;
use platform::renewal::Renewals;
use program::say;
use program::signals::Endings;
use shared::wire::control::ADDRESS_BYTES_MAX;
use standby::feed::FeedOptions;
use tracing::info;

use super::arguments::seconds;
use super::lease::Watch;

#[derive(Debug, Args)]
pub struct StandbyArguments {
    /// Follow the primary that has this port for a standby, as HOST:PORT
    #[arg(long, value_name = "HOST:PORT", requires_all = ["data", "link_key"])]
    follow: Option<String>,
    /// Let a standby follow, at this address
    #[arg(long, value_name = "ADDRESS", requires_all = ["data", "link_key"],
          value_parser = resolve)]
    followers: Option<SocketAddr>,
    /// Be the primary or its standby, as the lease decides; both servers have the same options
    #[arg(long, requires_all = ["lease", "followers"], conflicts_with = "follow")]
    pair: bool,
    /// Where the other server of a pair reaches this one's port for a standby, as HOST:PORT
    /// [default: the address of --followers, or this machine's name]
    #[arg(long, value_name = "HOST:PORT", requires = "pair", value_parser = host_and_port)]
    followers_at: Option<String>,
    /// File with which the servers of a world authenticate each other: a primary and its standby, a
    /// tick host and its gateways; see `myriad link-key`
    #[arg(long, value_name = "FILE")]
    link_key: Option<PathBuf>,
    /// At level `standby`: end the world rather than run without a standby
    #[arg(long, requires = "followers")]
    standby_required: bool,
    /// At level `standby`: how long a tick waits for the standby
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "followers",
          default_value = "5")]
    standby_wait: f64,
    /// Where clients reach this standby, as HOST:PORT [default: the address from which it
    /// follows, and its port]
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    clients_at: Option<String>,
}

/// A server of a pair.
#[derive(Clone, Debug)]
pub struct PairOptions {
    /// Where the other one can follow this one, as HOST:PORT.
    pub followers_at: String,
    pub key: Arc<LinkKey>,
    pub clients_at: Option<String>,
}

impl StandbyArguments {
    /// Options of the standby.
    pub fn follow(&self, renewals: &Renewals) -> Result<Option<Follow>> {
        let Some(primary) = &self.follow else {
            return Ok(None);
        };
        Ok(Some(Follow {
            primary: primary.clone(),
            key: self.key(renewals)?,
            clients_at: self.clients_at.clone(),
            notifies: true,
        }))
    }

    /// Options of a server of a pair.
    pub fn pair(&self, renewals: &Renewals) -> Result<Option<PairOptions>> {
        let Some(listen) = self.followers.filter(|_| self.pair) else {
            return Ok(None);
        };
        Ok(Some(PairOptions {
            followers_at: reached_at(self.followers_at.as_ref(), listen)?,
            key: self.key(renewals)?,
            clients_at: self.clients_at.clone(),
        }))
    }

    /// Options of the primary.
    pub fn primary(&self, renewals: &Renewals) -> Result<Option<StandbyOptions>> {
        let Some(listen) = self.followers else {
            return Ok(None);
        };
        Ok(Some(StandbyOptions {
            listen,
            key: self.key(renewals)?,
            feed: FeedOptions {
                is_required: self.standby_required,
                patience: Duration::from_secs_f64(self.standby_wait),
                ..FeedOptions::default()
            },
        }))
    }

    /// The key of all links to other servers, if there is one.
    pub fn link_key(&self, renewals: &Renewals) -> Result<Option<Arc<LinkKey>>> {
        self.link_key
            .as_ref()
            .map(|_| self.key(renewals))
            .transpose()
    }

    fn key(&self, renewals: &Renewals) -> Result<Arc<LinkKey>> {
        let path = self.link_key.as_ref().context("--link-key is missing")?;
        Ok(Arc::new(LinkKey::watched(renewals, path)?))
    }
}

/// Follows, until the operator makes this server the primary: then returns it, and the signals
/// from there on. `None`: it was stopped.
pub fn follow_until_promoted(
    options: ServerOptions,
    follow: Follow,
    run_time: Option<Duration>,
) -> Result<Option<(Server, Endings)>> {
    let folder = options.data.as_ref().map(|data| data.folder.clone());
    let folder = folder.context("a standby needs a folder")?;
    let primary = follow.primary.clone();
    let was_held = !follow.notifies;
    let audit = options.audit.clone();
    let standby = Standby::start(options, follow)?;
    let watch = standby.lease().cloned();
    let watch = watch.map(|lease| Watch::new(lease, was_held));
    let mut watch = watch.transpose()?;
    let (to, promotions) = channel();
    let control = port::open(&folder.join(CONTROL), StandbyDesk { to, audit })?;
    // Dropped before the socket, whose end waits for the response to its request.
    let promotions = promotions;
    let endings = Endings::new();
    say!("following {primary}");
    say!("refusing clients at {}", standby.address());
    if let Some(address) = standby.metrics() {
        say!("metrics on http://{address}/metrics");
    }
    let end = run_time.map(|run_time| Instant::now() + run_time);
    loop {
        if endings.has_come() || end.is_some_and(|end| Instant::now() >= end) {
            return Ok(None);
        }
        if let Some(reason) = standby.progress().failure {
            bail!("the standby can't follow any more: {reason}");
        }
        let promotion = match promotions.recv_timeout(LOOK_PERIOD) {
            Ok(promotion) => promotion,
            Err(RecvTimeoutError::Timeout) => {
                let watch = watch.as_mut();
                let Some(lease) = watch.and_then(|watch| watch.look(&standby)) else {
                    continue;
                };
                drop(control);
                let promoted = standby.promote_with(Some(lease))?;
                return Ok(Some((promoted, endings)));
            }
            Err(RecvTimeoutError::Disconnected) => bail!("the control socket has failed"),
        };
        if let Err(reason) = standby.check(promotion.is_forced) {
            // The requester may have gone.
            let _ = promotion.done.send(Err(format!("{reason:#}")));
            continue;
        }
        let lease = match standby.take_lease(promotion.is_forced) {
            Ok(lease) => lease,
            Err(reason) => {
                let _ = promotion.done.send(Err(format!("{reason:#}")));
                continue;
            }
        };
        let promoted = standby.promote_with(lease);
        let result = promoted.as_ref().map(|_| ());
        let _ = promotion
            .done
            .send(result.map_err(|error| format!("{error:#}")));
        drop(control);
        return Ok(Some((promoted?, endings)));
    }
}

/// Where another machine reaches a port for followers.
fn reached_at(given: Option<&String>, listen: SocketAddr) -> Result<String> {
    if let Some(given) = given {
        return Ok(given.clone());
    }
    if !listen.ip().is_unspecified() {
        return Ok(listen.to_string());
    }
    match &*machine::name() {
        "" => bail!("this machine has no name: give --followers-at HOST:PORT"),
        name => Ok(format!("{name}:{}", listen.port())),
    }
}

/// Parses an address for clients. This machine need not resolve the name.
pub fn host_and_port(text: &str) -> Result<String, String> {
    let parts = text.rsplit_once(':');
    let is_address =
        parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<NonZeroU16>().is_ok());
    match is_address && text.len() <= ADDRESS_BYTES_MAX {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "expected HOST:PORT of at most {ADDRESS_BYTES_MAX} bytes"
        )),
    }
}

/// Handles an operator's requests to a standby.
struct StandbyDesk {
    to: Sender<Promotion>,
    audit: Audit,
}

struct Promotion {
    is_forced: bool,
    done: Sender<Result<(), String>>,
}

impl Handler for StandbyDesk {
    fn answer(&self, request: &Request, by: &str) -> Response {
        info!(target: "audit", by, ?request, "the operator's request to the standby");
        let answer = self.act(request);
        let result = match &answer {
            Response::Error(reason) => format!("failed: {reason}"),
            _ => "done".to_owned(),
        };
        desk::note(&self.audit, by, request, &result);
        answer
    }
}

impl StandbyDesk {
    fn act(&self, request: &Request) -> Response {
        let &Request::Promote { is_forced } = request else {
            return Response::Error("this server is a standby: it can be promoted".to_owned());
        };
        let (done, is_done) = channel();
        let sent = self.to.send(Promotion { is_forced, done });
        let answer = sent.ok().and_then(|()| is_done.recv().ok());
        match answer {
            Some(Ok(())) => Response::Done { clients: 0 },
            Some(Err(reason)) => Response::Error(reason),
            None => Response::Error("the standby is stopping".to_owned()),
        }
    }
}

/// The control socket of a standby, in its folder.
pub const CONTROL: &str = "control";
const LOOK_PERIOD: Duration = Duration::from_millis(50);
