//! The options of commands that let browsers play.

use std::net::SocketAddr;

use clap::Args;
use client_bot::say;

use crate::server::{Server, WebServing};

#[derive(Debug, Args)]
pub struct WebArguments {
    /// Let browsers play: serve a page on http://ADDRESS, and take WebTransport
    /// [default address: 127.0.0.1:8433]
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:8433"
    )]
    web: Option<SocketAddr>,
    /// Take only browsers that show a page of this origin, such as `https://example.org`;
    /// may be given several times
    #[arg(long, value_name = "ORIGIN", requires = "web", value_parser = origin)]
    web_origin: Vec<String>,
}

impl WebArguments {
    pub fn is_given(&self) -> bool {
        self.web.is_some()
    }

    pub fn serving(&self) -> Option<WebServing> {
        Some(WebServing {
            page: self.web?,
            origins: self.web_origin.clone(),
        })
    }
}

/// Says where to play.
pub fn say_page(server: &Server) {
    if let Some(page) = server.page() {
        say!("play on http://{page}");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_a_scheme_and_no_path() {
        assert!(origin("https://example.org").is_ok());
        assert!(origin("http://localhost:8080").is_ok());
        for text in ["example.org", "https://", "https://example.org/", "ftp://a"] {
            assert!(origin(text).is_err(), "{text}");
        }
    }
}
