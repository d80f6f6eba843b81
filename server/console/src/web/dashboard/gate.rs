//! Access control of the dashboard. Without a clock.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use accounts::guesses::{Guesses, WORD_BYTES_SAFE};
use accounts::shared_word::is_one_of;
use hyper::{Method, StatusCode};
use platform::http::cross_site::{RequestOrigin, host_of};
use platform::http::{HttpRequest, Page};
use platform::metrics::web::WebRefusal;
use platform::renewal::Shared;

/// Admission to the dashboard.
pub struct Gate {
    /// Its tokens, one a line. Without any, only this machine has access.
    token: Option<Shared<str>>,
    is_loopback: bool,
    guesses: Mutex<Guesses>,
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessDenied {
    /// `None` where the request was not at fault.
    pub refusal: Option<WebRefusal>,
    pub status: StatusCode,
    pub reason: &'static str,
}

impl Gate {
    /// The gate of an address, and its tokens if it has some, one a line.
    pub fn new(address: IpAddr, token: Option<Shared<str>>) -> Gate {
        Gate {
            token,
            is_loopback: address.is_loopback(),
            guesses: Mutex::default(),
        }
    }

    /// Whether a token is required.
    pub fn wants_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether a request may be answered.
    pub fn admit(&self, request: &HttpRequest, now: Instant) -> Result<(), AccessDenied> {
        match &self.token {
            Some(token) => self.check_token(&token.get(), request, now)?,
            None if !self.is_loopback => return Err(NO_TOKEN_SET),
            // A page of any site can send requests to this machine, also under a name of its
            // own that leads here.
            None if !is_this_machine(request) => return Err(OTHER_HOST),
            None => {}
        }
        match request.body {
            Some(_) if !is_of_own_page(request, self.wants_token()) => Err(OTHER_ORIGIN),
            _ => Ok(()),
        }
    }

    fn check_token(
        &self,
        token: &str,
        request: &HttpRequest,
        now: Instant,
    ) -> Result<(), AccessDenied> {
        let shown = request.header("authorization");
        let Some(shown) = shown.and_then(|value| value.strip_prefix("Bearer ")) else {
            return Err(NO_TOKEN_SHOWN);
        };
        let mut guesses = self.guesses.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = guesses.take(request.peer, now);
        // Behind a proxy all requests have the same address: others' guesses must not keep the
        // operator out, unless the token is short enough to be guessed.
        if taken.is_err() && token.lines().any(|token| token.len() < WORD_BYTES_SAFE) {
            return Err(TOO_MANY_GUESSES);
        }
        match (is_one_of(shown, token.lines()), taken) {
            (true, taken) => {
                if taken.is_ok() {
                    guesses.give_back(request.peer, now);
                }
                Ok(())
            }
            (false, Ok(())) => Err(WRONG_TOKEN),
            (false, Err(_)) => Err(TOO_MANY_GUESSES),
        }
    }
}

/// Whether a request comes from this machine, and names it.
fn is_this_machine(request: &HttpRequest) -> bool {
    let host = request.header("host").map(host_of).unwrap_or_default();
    let is_loopback = host
        .parse()
        .is_ok_and(|address: IpAddr| address.is_loopback());
    request.peer.is_loopback() && (is_loopback || host == "localhost")
}

/// Whether a request with a body comes from the dashboard's own page, or from a program: pages
/// of other origins can't send this type without a preflight.
fn is_of_own_page(request: &HttpRequest, has_token: bool) -> bool {
    let is_json = request
        .header("content-type")
        .is_some_and(|text| text.starts_with("application/json"));
    let is_own = || RequestOrigin::of(&Method::POST, &request.headers, &[]) == RequestOrigin::Own;
    is_json && (has_token || is_own())
}

const NO_TOKEN_SET: AccessDenied = AccessDenied {
    refusal: None,
    status: StatusCode::FORBIDDEN,
    reason: "this address is not only of this machine: start the server with --dashboard-token-file",
};
const OTHER_HOST: AccessDenied = AccessDenied {
    refusal: Some(WebRefusal::Foreign),
    status: StatusCode::FORBIDDEN,
    reason: "without a token, the dashboard is shown to this machine only, under its own name",
};
const OTHER_ORIGIN: AccessDenied = AccessDenied {
    refusal: Some(WebRefusal::Foreign),
    status: StatusCode::FORBIDDEN,
    reason: "expected application/json from the dashboard's own page",
};
const TOO_MANY_GUESSES: AccessDenied = AccessDenied {
    refusal: Some(WebRefusal::Guessing),
    status: StatusCode::TOO_MANY_REQUESTS,
    reason: "this network has shown too many wrong tokens: try again in a minute",
};
const NO_TOKEN_SHOWN: AccessDenied = AccessDenied {
    refusal: None,
    status: StatusCode::UNAUTHORIZED,
    reason: "expected the dashboard's token",
};
const WRONG_TOKEN: AccessDenied = AccessDenied {
    refusal: Some(WebRefusal::Token),
    status: StatusCode::UNAUTHORIZED,
    reason: "the token is wrong",
};

impl From<&AccessDenied> for Page {
    fn from(denied: &AccessDenied) -> Page {
        Page::error(denied.status, denied.reason)
    }
}

#[cfg(test)]
mod tests {
    use accounts::guesses::{GUESS_INTERVAL, GUESSES_AT_ONCE};
    use hyper::body::Bytes;
    use hyper::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn ask(
        peer: &str,
        headers: &[(&'static str, &'static str)],
        body: Option<&'static str>,
    ) -> HttpRequest {
        let headers = headers.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        HttpRequest {
            peer: peer.parse().unwrap(),
            path: "/".to_owned(),
            query: String::new(),
            headers: headers.collect::<HeaderMap>(),
            body: body.map(|body| Bytes::from_static(body.as_bytes())),
        }
    }

    fn gate(address: &str, token: Option<&str>) -> Gate {
        Gate::new(address.parse().unwrap(), token.map(Shared::from))
    }

    #[test]
    fn each_of_several_tokens_opens_until_it_is_taken_away() {
        let tokens = Shared::from("open sesame\nopen barley");
        let gate = Gate::new([10, 0, 0, 1].into(), Some(tokens.clone()));
        let now = Instant::now();
        let come = |shown| gate.admit(&ask("10.0.0.2", &[("authorization", shown)], None), now);
        assert_eq!(come("Bearer open sesame"), Ok(()));
        assert_eq!(come("Bearer open barley"), Ok(()));
        tokens.set("open barley".into());
        assert_eq!(come("Bearer open sesame"), Err(WRONG_TOKEN));
        assert_eq!(come("Bearer open barley"), Ok(()));
    }

    #[test]
    fn without_a_token_only_this_machine_is_admitted_under_its_own_name() {
        let now = Instant::now();
        let own = gate("127.0.0.1", None);
        for host in ["127.0.0.1:8433", "localhost", "[::1]:80", "localhost:1"] {
            assert_eq!(
                own.admit(&ask("127.0.0.1", &[("host", host)], None), now),
                Ok(())
            );
        }
        for host in ["evil.example", "127.0.0.1.evil.example:80", ""] {
            let request = ask("127.0.0.1", &[("host", host)], None);
            assert_eq!(own.admit(&request, now), Err(OTHER_HOST), "{host}");
        }
        let neighbour = ask("10.0.0.9", &[("host", "localhost")], None);
        assert_eq!(own.admit(&neighbour, now), Err(OTHER_HOST));
        let open = gate("0.0.0.0", None);
        let request = ask("127.0.0.1", &[("host", "localhost")], None);
        assert_eq!(open.admit(&request, now), Err(NO_TOKEN_SET));
    }

    #[test]
    fn with_a_token_only_those_who_show_it_come_in_wherever_they_are() {
        let now = Instant::now();
        for address in ["127.0.0.1", "0.0.0.0"] {
            let gate = gate(address, Some("open sesame"));
            let come = |shown: &[_]| gate.admit(&ask("10.0.0.1", shown, None), now);
            assert_eq!(come(&[("authorization", "Bearer open sesame")]), Ok(()));
            assert_eq!(come(&[]), Err(NO_TOKEN_SHOWN));
            for wrong in ["Bearer ", "Bearer open sesam", "Bearer open sesame "] {
                assert_eq!(come(&[("authorization", wrong)]), Err(WRONG_TOKEN));
            }
            assert_eq!(
                come(&[("authorization", "open sesame")]),
                Err(NO_TOKEN_SHOWN)
            );
        }
    }

    #[test]
    fn a_network_guesses_a_few_times_and_then_waits() {
        let (gate, now) = (gate("0.0.0.0", Some("right")), Instant::now());
        let come =
            |peer, shown, now| gate.admit(&ask(peer, &[("authorization", shown)], None), now);
        for _ in 0..GUESSES_AT_ONCE {
            assert_eq!(come("10.0.0.1", "Bearer wrong", now), Err(WRONG_TOKEN));
        }
        assert_eq!(come("10.0.0.1", "Bearer right", now), Err(TOO_MANY_GUESSES));
        assert_eq!(come("10.0.0.2", "Bearer right", now), Ok(()));
        assert_eq!(
            come("10.0.0.1", "Bearer right", now + GUESS_INTERVAL),
            Ok(())
        );
    }

    #[test]
    fn a_long_token_is_accepted_behind_a_proxy_through_which_others_guess() {
        let long = "Bearer 0123456789abcdef";
        let (gate, now) = (gate("127.0.0.1", Some(&long[7..])), Instant::now());
        let come = |shown| gate.admit(&ask("127.0.0.1", &[("authorization", shown)], None), now);
        for _ in 0..GUESSES_AT_ONCE {
            assert_eq!(come("Bearer wrong"), Err(WRONG_TOKEN));
        }
        assert_eq!(come("Bearer wrong"), Err(TOO_MANY_GUESSES));
        assert_eq!(come(long), Ok(()));
    }

    #[test]
    fn pages_of_other_origins_cannot_act() {
        let (gate, now) = (gate("127.0.0.1", None), Instant::now());
        let host = ("host", "127.0.0.1:80");
        let json = ("content-type", "application/json");
        let act = |headers: &[_]| gate.admit(&ask("127.0.0.1", headers, Some("{}")), now);
        assert_eq!(
            act(&[host, json, ("origin", "http://127.0.0.1:80")]),
            Ok(())
        );
        assert_eq!(act(&[host, json]), Ok(()));
        let text = ("content-type", "text/plain");
        for headers in [
            [host, json, ("origin", "http://evil.example")],
            [host, json, ("origin", "null")],
            [host, text, ("origin", "http://127.0.0.1:80")],
        ] {
            assert_eq!(act(&headers), Err(OTHER_ORIGIN));
        }
        assert_eq!(act(&[host]), Err(OTHER_ORIGIN));
    }
}
