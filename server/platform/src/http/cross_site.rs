//! Detects requests that a browser sends for pages of other sites, and hosts that are not the
//! port's.
//!
//! A page of any site can make a browser send requests to this machine or its network, with
//! images, forms, frames or scripts. Browsers mark them in `Sec-Fetch-Site` (where they trust the
//! connection: TLS, and this machine's own addresses), and in `Origin` or `Referer` elsewhere. A
//! page can also be of a name that its owner lets lead to this machine (DNS rebinding): then all
//! seems to be of one site, but `Host` has that name. Programs send none of these headers.
//!
//! | a request | is answered |
//! | --- | --- |
//! | of the port's own pages, typed in or bookmarked, or of a program | yes |
//! | for a document, by a link of another site | if the [site](super::Site) has it as a page |
//! | for a document in a frame of another site | if that page may be framed |
//! | anything else of another site | if its origin is one that the operator has allowed |

use std::net::IpAddr;

use hyper::Method;
use hyper::header::{HOST, HeaderMap, ORIGIN, REFERER};

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOrigin<'a> {
    /// A page of the port itself, a user's own navigation, or a program.
    Own,
    /// A page of another site that leads to a document by a link.
    Link,
    /// The same, within a frame.
    Frame,
    /// Another page of this origin; empty if the browser does not name it.
    Other(&'a str),
}

impl RequestOrigin<'_> {
    /// `names` are those of the port beside the one that the request names: a proxy may show one
    /// to browsers and another one to the port.
    pub fn of<'a>(method: &Method, headers: &'a HeaderMap, names: &[String]) -> RequestOrigin<'a> {
        let text = |name: &str| {
            let value = headers.get(name)?;
            // An unreadable origin is no known one.
            Some(value.to_str().unwrap_or_default())
        };
        let origin = text(ORIGIN.as_str());
        let other = RequestOrigin::Other(origin.unwrap_or_default());
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let host = text(HOST.as_str());
        let is_own = |address: &str| {
            let Some(authority) = authority(address) else {
                return false;
            };
            let mut names = names.iter();
            let is_named = names.any(|name| name.eq_ignore_ascii_case(host_of(authority)));
            is_named || Some(authority) == host
        };
        match text("sec-fetch-site") {
            Some("same-origin" | "none") => RequestOrigin::Own,
            Some(_) if reads && text("sec-fetch-mode") == Some("navigate") => {
                match text("sec-fetch-dest") {
                    Some("document") => RequestOrigin::Link,
                    Some("iframe" | "frame") => RequestOrigin::Frame,
                    _ => other,
                }
            }
            Some(_) => other,
            None => match (origin, text(REFERER.as_str())) {
                (Some(origin), _) if !is_own(origin) => other,
                (None, Some(page)) if !is_own(page) && reads => RequestOrigin::Link,
                (None, Some(page)) if !is_own(page) => other,
                _ => RequestOrigin::Own,
            },
        }
    }
}

/// `HOST:PORT` of an origin or an address.
fn authority(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    Some(rest.split(['/', '?', '#']).next().unwrap_or(rest))
}

/// Whether a request that has reached an address of this machine may name this host. Names that
/// an owner of a domain could let lead here are refused at this machine's own addresses, and
/// everywhere once there is a list of `names`; an address, or a name without a point, is no
/// domain.
pub fn is_host_allowed(headers: &HeaderMap, at: IpAddr, names: &[String]) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        // Browsers name exactly one.
        return headers.get(HOST).is_none();
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    let host = host_of(host);
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_no_domain = !host.contains('.') || host.parse::<IpAddr>().is_ok();
    let is_localhost = host.to_ascii_lowercase().ends_with(".localhost");
    let is_named = names.iter().any(|name| name.eq_ignore_ascii_case(host));
    let takes_all = names.is_empty() && !at.to_canonical().is_loopback();
    is_no_domain || is_localhost || is_named || takes_all
}

/// The host of `HOST:PORT`, without the brackets of IPv6.
pub fn host_of(text: &str) -> &str {
    if let Some((host, _)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return host;
    }
    text.split_once(':').map_or(text, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        pairs.collect()
    }

    fn origin_of<'a>(method: &Method, headers: &'a HeaderMap) -> RequestOrigin<'a> {
        RequestOrigin::of(method, headers, &["game.example".to_owned()])
    }

    const HOME: (&str, &str) = ("host", "127.0.0.1:80");

    #[test]
    fn programs_own_pages_and_people_ask_for_themselves() {
        for of_itself in [
            headers(&[]),
            headers(&[HOME]),
            headers(&[HOME, ("user-agent", "curl/8"), ("accept", "*/*")]),
            headers(&[
                HOME,
                ("sec-fetch-site", "none"),
                ("sec-fetch-mode", "navigate"),
            ]),
            headers(&[HOME, ("sec-fetch-site", "same-origin")]),
            headers(&[HOME, ("origin", "http://127.0.0.1:80")]),
            headers(&[HOME, ("referer", "http://127.0.0.1:80/dashboard?a")]),
            // A proxy with TLS, which names itself to browsers.
            headers(&[
                HOME,
                ("sec-fetch-site", "same-origin"),
                ("origin", "https://other.example"),
            ]),
            // One without, whose name is configured.
            headers(&[HOME, ("origin", "http://game.example")]),
            headers(&[HOME, ("referer", "http://Game.example:81/dashboard")]),
        ] {
            for method in [Method::GET, Method::POST] {
                assert_eq!(
                    origin_of(&method, &of_itself),
                    RequestOrigin::Own,
                    "{of_itself:?}"
                );
            }
        }
    }

    #[test]
    fn requests_of_pages_of_other_sites_are_distinguished_from_links() {
        let cross = ("sec-fetch-site", "cross-site");
        let same_site = ("sec-fetch-site", "same-site");
        let navigate = ("sec-fetch-mode", "navigate");
        let document = ("sec-fetch-dest", "document");
        for site in [cross, same_site] {
            let link = headers(&[HOME, site, navigate, document]);
            assert_eq!(origin_of(&Method::GET, &link), RequestOrigin::Link);
            assert_eq!(origin_of(&Method::POST, &link), RequestOrigin::Other(""));
            let frame = headers(&[HOME, site, navigate, ("sec-fetch-dest", "iframe")]);
            assert_eq!(origin_of(&Method::GET, &frame), RequestOrigin::Frame);
            for other in [
                headers(&[HOME, site]),
                headers(&[
                    HOME,
                    site,
                    ("sec-fetch-mode", "no-cors"),
                    ("sec-fetch-dest", "image"),
                ]),
                headers(&[HOME, site, navigate, ("sec-fetch-dest", "object")]),
                headers(&[HOME, site, ("sec-fetch-mode", "websocket")]),
            ] {
                assert_eq!(
                    origin_of(&Method::GET, &other),
                    RequestOrigin::Other(""),
                    "{other:?}"
                );
            }
        }
        let evil = ("origin", "https://evil.example");
        let of_evil = RequestOrigin::Other("https://evil.example");
        for headers in [
            headers(&[HOME, cross, evil]),
            headers(&[HOME, evil]),
            headers(&[evil]),
        ] {
            assert_eq!(origin_of(&Method::GET, &headers), of_evil);
        }
        for origin in [
            "null",
            "",
            "http://127.0.0.1",
            "http://127.0.0.1:80.evil.example",
        ] {
            let headers = headers(&[HOME, ("origin", origin)]);
            assert_eq!(
                origin_of(&Method::GET, &headers),
                RequestOrigin::Other(origin)
            );
        }
        // Where browsers don't trust the connection, they send fewer headers.
        let page = headers(&[HOME, ("referer", "http://evil.example/page")]);
        assert_eq!(origin_of(&Method::GET, &page), RequestOrigin::Link);
        assert_eq!(origin_of(&Method::POST, &page), RequestOrigin::Other(""));
    }

    #[test]
    fn a_domain_that_leads_to_this_machine_is_not_its_name() {
        let [here, wide]: [IpAddr; 2] = ["127.0.0.1", "192.168.1.7"].map(|at| at.parse().unwrap());
        let own = ["game.example.org".to_owned()];
        for host in [
            "localhost:80",
            "LOCALHOST",
            "a.localhost",
            "127.0.0.1:80",
            "[::1]:80",
            "10.0.0.1",
            "0.0.0.0:80",
            "myriad:9000",
            "Game.Example.org",
            "game.example.org.:443",
        ] {
            let request = headers(&[("host", host)]);
            for at in [here, wide] {
                assert!(is_host_allowed(&request, at, &own), "{host}");
            }
        }
        assert!(is_host_allowed(&headers(&[]), here, &[]), "HTTP/1.0");
        for host in [
            "evil.example",
            "evil.example:80",
            "127.0.0.1.evil.example",
            "localhost.evil.example:1",
        ] {
            let request = headers(&[("host", host)]);
            for (at, names, expected) in [
                (here, &[][..], false),
                (here, &own, false),
                (wide, &own, false),
                // A server for others may have any name.
                (wide, &[], true),
            ] {
                assert_eq!(
                    is_host_allowed(&request, at, names),
                    expected,
                    "{host} at {at}"
                );
            }
        }
        let mapped = "::ffff:127.0.0.1".parse().unwrap();
        assert!(!is_host_allowed(
            &headers(&[("host", "evil.example")]),
            mapped,
            &[]
        ));
        let mut twice = headers(&[HOME]);
        twice.append(HOST, HeaderValue::from_static("localhost"));
        assert!(!is_host_allowed(&twice, here, &[]));
    }
}
