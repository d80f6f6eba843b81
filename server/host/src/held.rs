//! A server without a world, whose clients stay connected until another world takes its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use accounts::guard::Guard;
use anyhow::{Result, bail};
use tick::tick_loop::HeldShards;

use super::serving::{Bound, Frontend, RunningShards};
use super::{Server, ServerOptions};

/// A server whose world has ended. Dropping it loses its clients.
pub struct HeldServer {
    pub(super) frontend: Frontend,
    pub(super) guard: Arc<Guard>,
    pub(super) is_open: Arc<AtomicBool>,
}

/// Where clients reach a server, and who may.
pub(super) struct Access {
    /// The page for browsers, if there is one.
    pub page: Option<Bound>,
    pub guard: Arc<Guard>,
    pub is_open: Arc<AtomicBool>,
}

impl Server {
    /// Ends the world of a server without an audit log, and keeps its connections, over which
    /// nothing is sent meanwhile. New clients are refused with `Starting`.
    pub fn hold(mut self) -> Result<HeldServer> {
        self.access.is_open.store(false, Ordering::Relaxed);
        self.holds.store(true, Ordering::Relaxed);
        let Some(shards) = self.end_world()? else {
            bail!("the world has ended by itself");
        };
        let HeldShards {
            inboxes,
            senders,
            reports,
            session,
        } = shards;
        let Access { guard, is_open, .. } = &self.access;
        let (guard, is_open) = (guard.clone(), is_open.clone());
        Ok(HeldServer {
            frontend: Frontend {
                address: self.address(),
                page: self.access.page.take(),
                certificate: self.certificate().clone(),
                session,
                is_held: true,
                gateways: self.gateways.take(),
                shards: RunningShards {
                    inboxes,
                    senders,
                    reports,
                    threads: std::mem::take(&mut self.shards),
                },
            },
            guard,
            is_open,
        })
    }

    /// Starts a server in the place of one that is held: its clients begin their sessions anew over
    /// the connections that they have, and come back with their tickets. Addresses, certificates,
    /// admission and `limits.idle_seconds` of connections stay those of the server before.
    pub fn resume(held: HeldServer, options: ServerOptions) -> Result<Server> {
        Server::start_at(options, None, Some(held))
    }
}
