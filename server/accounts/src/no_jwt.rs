//! Stub for builds without the feature `jwt`: its error names the feature.

use std::convert::Infallible;
use std::path::Path;

use anyhow::{Result, bail};

use super::authenticator::{Authenticator, Credentials, Rejection, UnixTime};
use super::identity::Identity;

/// The keys of an identity provider. There are none.
pub struct JwtTokens(Infallible);

impl JwtTokens {
    pub fn load(_: &Path, _: &str, _: &str) -> Result<JwtTokens> {
        bail!("this build takes no JSON web tokens: build with `--features jwt`");
    }
}

impl Authenticator for JwtTokens {
    fn authenticate(&self, _: &Credentials<'_>, _: UnixTime) -> Result<Identity, Rejection> {
        match self.0 {}
    }

    fn description(&self) -> String {
        match self.0 {}
    }
}
