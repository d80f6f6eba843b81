//! Starting and stopping a gateway: a server that holds clients of a world elsewhere.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use device::cpu::Workers;
use frontend::servers::OtherServers;
use frontend::shard_channels::ShardChannels;
use gateway::gateway_loop::{FirstWorld, GatewayLoop, Parts, first_world};
use gateway::host_link::{HostLink, HostOptions};
use platform::http::HttpPort;
use platform::renewal::Renewals;
use rustls::pki_types::CertificateDer;

use super::serving::Frontend;
use super::{ServerOptions, show_metrics, start_guard, web};

/// A running gateway. Dropping it stops it.
pub struct Gateway {
    address: SocketAddr,
    page: Option<(SocketAddr, bool)>,
    page_port: Option<HttpPort>,
    metrics: Option<SocketAddr>,
    certificate: CertificateDer<'static>,
    is_open: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
    shards: Vec<JoinHandle<()>>,
    /// Watched while this lives.
    _renewals: Renewals,
}

impl Gateway {
    /// Starts a gateway, once its tick host has sent the world; clients are admitted when this
    /// returns. Of the options, those of the world are the tick host's: `options` makes the others
    /// for it. `None`: `stop` has become true before.
    pub fn start(
        host: HostOptions,
        options: impl FnOnce(&FirstWorld) -> ServerOptions,
        stop: Arc<AtomicBool>,
    ) -> Result<Option<Gateway>> {
        let link = HostLink::start(host)?;
        let Some(first) = first_world(&link, &stop)? else {
            return Ok(None);
        };
        let mut options = options(&first);
        options.world = first.config.clone();
        options.shared_identity = first.identity.clone();
        let is_open: Arc<AtomicBool> = Arc::default();
        let (_, metrics) = show_metrics(&options, is_open.clone(), stop.clone())?;
        let guard = start_guard(&options, None)?;
        let gateways = OtherServers::default();
        let frontend = Frontend::start(&options, None, &guard, &is_open, &gateways)?;
        let Frontend {
            address,
            page,
            certificate,
            session,
            shards,
            ..
        } = frontend;
        let page_address = page.as_ref().map(|page| (page.address, page.tls.is_some()));
        let page_port = page.map(|page| web::serve_site(&options, page, address.port(), None));
        let page_port = page_port.transpose()?;
        let gateway = GatewayLoop::new(Parts {
            first,
            workers: Workers::new(options.threads)?,
            inboxes: shards.inboxes,
            channels: ShardChannels::new(shards.senders, shards.reports),
            session,
            is_open: is_open.clone(),
            gateways,
            stop: stop.clone(),
        })?;
        let thread = std::thread::Builder::new()
            .name("gateway".to_owned())
            .spawn(move || gateway.run(&link))
            .context("cannot start the thread of the gateway")?;
        Ok(Some(Gateway {
            address,
            page: page_address,
            page_port,
            metrics,
            certificate,
            is_open,
            stop,
            thread: Some(thread),
            shards: shards.threads,
            _renewals: options.renewals,
        }))
    }

    /// The address at which it listens for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the page for browsers is, if there is one.
    pub fn page(&self) -> Option<SocketAddr> {
        self.page.map(|(address, _)| address)
    }

    /// How the page is reached: by `http` or by `https`.
    pub fn page_scheme(&self) -> &'static str {
        match self.page {
            Some((_, true)) => "https",
            _ => "http",
        }
    }

    /// Where the metrics are, if they are shown.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// The certificate of its start, which clients must trust if it is self-signed.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// Whether it has a tick host, and admits clients.
    pub fn serves(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Whether it still runs. Only an error ends it before [`Gateway::stop`].
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|t| !t.is_finished())
    }

    /// Closes all connections, and ends all threads. The clients come back by another gateway.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.page_port.take();
        let ended = match self.thread.take() {
            Some(thread) => match thread.join() {
                Ok(result) => result,
                Err(_) => Err(anyhow!("the gateway's thread has failed")),
            },
            None => Ok(()),
        };
        let mut have_ended = true;
        for shard in self.shards.drain(..) {
            have_ended &= shard.join().is_ok();
        }
        match have_ended {
            true => ended,
            false => ended.and(Err(anyhow!("a shard's thread has failed"))),
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // `Gateway::stop` returns the result.
        let _ = self.end();
    }
}
