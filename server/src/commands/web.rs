//! The options of commands that let browsers play.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use client_bot::cli::{read_tokens, token};
use client_bot::connect::resolve;
use platform::renewal::{Renewals, Shared};
use program::say;

use host::{Server, WebServing};

#[derive(Debug, Args)]
pub struct WebArguments {
    /// Let browsers play: serve a page on http://ADDRESS, and take WebTransport, and WebSockets
    /// where a network has no UDP [default address: 127.0.0.1:8433]
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:8433",
        value_parser = resolve
    )]
    web: Option<SocketAddr>,
    /// Take only browsers that show a page of this origin, such as `https://example.org`;
    /// may be given several times
    #[arg(long, value_name = "ORIGIN", requires = "web", value_parser = origin)]
    web_origin: Vec<String>,
    /// Folder with a custom page: its files are served on the page's address, before
    /// those of the built-in page
    #[arg(long, value_name = "DIR", requires = "web")]
    web_root: Option<PathBuf>,
    #[command(flatten)]
    token: DashboardToken,
    #[command(flatten)]
    pub hosts: HttpHosts,
}

/// The names by which HTTP ports are reached.
#[derive(Debug, Default, Args)]
pub struct HttpHosts {
    /// Name under which the HTTP ports are reached through a proxy, such as `game.example.org`,
    /// beside this machine's own; may be given several times
    #[arg(id = "http_host", long = "http-host", value_name = "HOST", value_parser = host)]
    pub names: Vec<String>,
}

/// The token of a page for operators, of a command with the option `--web`.
#[derive(Debug, Default, Args)]
pub struct DashboardToken {
    /// Token that operators must show to see the dashboard; every user of this machine can
    /// read it here. Without one, the dashboard is for this machine only
    #[arg(long, value_name = "TOKEN", requires = "web", value_parser = token)]
    dashboard_token: Option<String>,
    /// File with the token that operators must show to see the dashboard, or with several, one a
    /// line
    #[arg(
        long,
        value_name = "FILE",
        requires = "web",
        conflicts_with = "dashboard_token"
    )]
    dashboard_token_file: Option<PathBuf>,
}

impl DashboardToken {
    /// All tokens, one a line. They may be renewed, if they are in a file.
    pub fn read(&self, renewals: &Renewals) -> Result<Option<Shared<str>>> {
        match self.dashboard_token_file.clone() {
            Some(path) => {
                let files = vec![path.clone()];
                renewals.watch(None)?;
                let read = move || Ok(Arc::from(read_tokens(&path)?.join("\n")));
                renewals
                    .load("token of the dashboard", files, read)
                    .map(Some)
            }
            None => Ok(self.dashboard_token.as_deref().map(Shared::from)),
        }
    }
}

impl WebArguments {
    pub fn is_given(&self) -> bool {
        self.web.is_some()
    }

    pub fn serving(&self, renewals: &Renewals) -> Result<Option<WebServing>> {
        let Some(page) = self.web else {
            return Ok(None);
        };
        Ok(Some(WebServing {
            page,
            tls: false,
            connect_port: None,
            origins: self.web_origin.clone(),
            dashboard_token: self.token.read(renewals)?,
            root: self.web_root.clone(),
        }))
    }
}

/// Prints the addresses of the page and the dashboard.
pub fn say_page(server: &Server) {
    if let Some(page) = server.page() {
        let scheme = server.page_scheme();
        say!("play on {scheme}://{page}, see the server on {scheme}://{page}/dashboard");
    }
}

fn origin(text: &str) -> Result<String, String> {
    let host = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    match host {
        Some(host) if !host.is_empty() && !host.contains('/') => Ok(text.to_owned()),
        _ => Err("expected an origin without a path, such as https://example.org".to_owned()),
    }
}

fn host(text: &str) -> Result<String, String> {
    let is_of_name = |c: char| !c.is_control() && !" /:?#@[]\\".contains(c);
    match !text.is_empty() && text.chars().all(is_of_name) {
        true => Ok(text.to_owned()),
        false => {
            Err("expected a name without scheme and port, such as game.example.org".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_alone() {
        assert!(host("game.example.org").is_ok());
        for text in [
            "",
            "https://game.example.org",
            "game.example.org:80",
            "a b",
            "a/",
        ] {
            assert!(host(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_origin_has_a_scheme_and_no_path() {
        assert!(origin("https://example.org").is_ok());
        assert!(origin("http://localhost:8080").is_ok());
        for text in ["example.org", "https://", "https://example.org/", "ftp://a"] {
            assert!(origin(text).is_err(), "{text}");
        }
    }
}
