//! `myriad serve --lease`: the options, and how a standby waits for the lease.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use client_bot::cli::read_token;
use platform::renewal::Renewals;
use platform::tls::trust_the_system_as;
use standby::lease::etcd::{Access, User};
use standby::lease::renewal::{Contender, HeldLease, LeaseOptions};
use tracing::{info, warn};

use host::following::Standby;

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
    /// User of etcd
    #[arg(long, value_name = "NAME", requires_all = ["lease", "lease_password_file"])]
    lease_user: Option<String>,
    /// File with its password
    #[arg(long, value_name = "FILE", requires = "lease_user")]
    lease_password_file: Option<PathBuf>,
    /// PEM file of the certificate that this server shows to etcd
    #[arg(long, value_name = "FILE", requires_all = ["lease", "lease_key"])]
    lease_certificate: Option<PathBuf>,
    /// PEM file of the certificate's private key
    #[arg(long, value_name = "FILE", requires = "lease_certificate")]
    lease_key: Option<PathBuf>,
}

impl LeaseArguments {
    /// `listen` describes the server at etcd.
    pub fn options(&self, listen: SocketAddr, renewals: &Renewals) -> Result<Option<LeaseOptions>> {
        if self.lease.is_empty() {
            return Ok(None);
        }
        let user = match (self.lease_user.clone(), self.lease_password_file.clone()) {
            (Some(name), Some(file)) => {
                let files = vec![file.clone()];
                Some(renewals.load("password at etcd", files, move || {
                    Ok(Arc::new(User {
                        name: name.clone(),
                        password: read_token(&file)?,
                    }))
                })?)
            }
            _ => None,
        };
        let files = self.lease_certificate.clone().zip(self.lease_key.clone());
        if files.is_some() && self.lease.iter().any(|url| !url.starts_with("https://")) {
            bail!("--lease-certificate needs https: etcd must ask for a certificate");
        }
        let tls = match files {
            Some((certificate, key)) => {
                let files = vec![certificate.clone(), key.clone()];
                Some(renewals.load("certificate for etcd", files, move || {
                    Ok(Arc::new(trust_the_system_as(&certificate, &key)?))
                })?)
            }
            None => None,
        };
        Ok(Some(LeaseOptions {
            urls: self.lease.clone(),
            name: self.lease_name.clone(),
            lease: Duration::from_secs(self.lease_seconds),
            holder: holder(&listen.to_string()),
            // Its folder has it.
            id: String::new(),
            access: Access { user, tls },
        }))
    }
}

/// A server's description at etcd, with the address at which it is reached.
pub fn holder(address: &str) -> String {
    format!("{address}, process {}", std::process::id())
}

/// The address in a description.
pub fn address_of(holder: &str) -> &str {
    holder
        .split_once(", process ")
        .map_or(holder, |(address, _)| address)
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
    /// `was_held`: its primary was seen to have it.
    pub fn new(options: LeaseOptions, was_held: bool) -> Result<Watch> {
        Ok(Watch {
            period: options.lease / LOOKS,
            etcd: Contender::new(options)?,
            next: Instant::now(),
            was_held,
            has_refused: false,
        })
    }

    /// Takes the lease if it has ended, and the standby may take over.
    pub fn look(&mut self, standby: &Standby) -> Option<HeldLease> {
        if Instant::now() < self.next {
            return None;
        }
        self.next = Instant::now() + self.period;
        let known = match self.etcd.known() {
            Ok(known) => known,
            Err(error) => {
                warn!("the lease can't be read: {error:#}");
                return None;
            }
        };
        if known.holder.is_some() {
            self.was_held = true;
            self.has_refused = false;
            return None;
        }
        if !self.was_held {
            return None;
        }
        if let Err(reason) = standby.check_takeover(&self.etcd, &known) {
            if !std::mem::replace(&mut self.has_refused, true) {
                warn!("the lease has ended, and this standby does not take it: {reason:#}");
            }
            return None;
        }
        info!("the lease of the primary has ended");
        standby.take_lease(false).unwrap_or_else(|error| {
            warn!("the lease was not acquired: {error:#}");
            None
        })
    }
}

/// Checks in the time of a lease.
const LOOKS: u32 = 5;
