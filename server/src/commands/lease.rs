//! `myriad serve --lease`: the options, and how a standby waits for the lease.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use standby::lease::renewal::{Contender, HeldLease, LeaseOptions};
use tracing::{info, warn};

use crate::server::following::Standby;

#[derive(Debug, Args)]
pub struct LeaseArguments {
    /// Be the primary only with a lease at this etcd, as http://HOST:PORT; a standby takes
    /// over by itself once the lease ends
    #[arg(long, value_name = "URL", value_delimiter = ',', requires = "data")]
    lease: Vec<String>,
    /// Key of the world there
    #[arg(
        long,
        value_name = "NAME",
        requires = "lease",
        default_value = "myriad"
    )]
    lease_name: String,
    /// How long the lease lasts if it is not renewed
    #[arg(long, value_name = "SECONDS", requires = "lease", default_value = "5",
          value_parser = clap::value_parser!(u64).range(2..=600))]
    lease_seconds: u64,
}

impl LeaseArguments {
    /// `listen` describes the server at etcd.
    pub fn options(&self, listen: SocketAddr) -> Option<LeaseOptions> {
        (!self.lease.is_empty()).then(|| LeaseOptions {
            urls: self.lease.clone(),
            name: self.lease_name.clone(),
            lease: Duration::from_secs(self.lease_seconds),
            holder: format!("{listen}, process {}", std::process::id()),
        })
    }
}

/// A standby's watch of the lease.
pub struct Watch {
    etcd: Contender,
    period: Duration,
    next: Instant,
    /// Its primary was seen to have it: only then its end means something.
    was_held: bool,
    has_refused: bool,
}

impl Watch {
    pub fn new(options: LeaseOptions) -> Result<Watch> {
        Ok(Watch {
            period: options.lease / LOOKS,
            etcd: Contender::new(options)?,
            next: Instant::now(),
            was_held: false,
            has_refused: false,
        })
    }

    /// Takes the lease if it has ended, and the standby may take over.
    pub fn look(&mut self, standby: &Standby) -> Option<HeldLease> {
        if Instant::now() < self.next {
            return None;
        }
        self.next = Instant::now() + self.period;
        match self.etcd.holder() {
            Ok(Some(_)) => {
                self.was_held = true;
                self.has_refused = false;
                return None;
            }
            Ok(None) if !self.was_held => return None,
            Ok(None) => {}
            Err(error) => {
                warn!("the lease can't be read: {error:#}");
                return None;
            }
        }
        if let Err(reason) = standby.check(false) {
            if !std::mem::replace(&mut self.has_refused, true) {
                warn!("the lease has ended, and this standby does not take it: {reason:#}");
            }
            return None;
        }
        info!("the lease of the primary has ended");
        standby.take_lease().unwrap_or_else(|error| {
            warn!("the lease is not taken: {error:#}");
            None
        })
    }
}

/// Checks in the time of a lease.
const LOOKS: u32 = 5;
