//! How a connection ends: a code and a sentence.

use super::PROTOCOL_VERSION;

/// The most bytes of an address at which clients reach a server, as HOST:PORT.
pub const ADDRESS_BYTES_MAX: usize = 255;
/// The most bytes of the sentence of a close.
pub const CLOSE_REASON_BYTES_MAX: usize = 1024;
/// The most bytes of the address at which players get another version of a game.
pub const UPDATE_URL_BYTES_MAX: usize = 255;

/// Why a connection was closed: the application error code of the QUIC close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Close {
    /// The peer has finished.
    Bye = 0,
    /// The hello was not accepted for a reason without a code of its own; the sentence states
    /// which.
    Refused = 1,
    /// The world has no free slot or no free client row.
    Full = 2,
    /// The peer sent bytes that can't be read.
    Malformed = 3,
    /// The client did not say hello in time, or did not read its stream.
    TooSlow = 4,
    /// The session continues in another connection.
    Resumed = 5,
    /// The server is shutting down.
    Shutdown = 6,
    /// The entity was removed from the world.
    Removed = 7,
    /// The account was admitted with another connection.
    Replaced = 8,
    /// The operator has thrown the client out; the sentence may say why.
    Kicked = 9,
    /// The server is starting: try again soon.
    Starting = 10,
    /// The server follows another one, which has the players: try that one, or again soon.
    Standby = 11,
    /// The account or the network is banned; the sentence states for how long, and may have the reason.
    Banned = 12,
    /// The token is missing, wrong, expired or not valid yet.
    Unauthorized = 13,
    /// The server speaks another version of the protocol, see [`Update`].
    Outdated = 14,
    /// The client accepts only a schema that is not the world's.
    SchemaMismatch = 15,
    /// The account connects too often; the sentence states when it may again.
    TooOften = 16,
}

impl Close {
    /// By ascending code.
    pub const ALL: [Close; 17] = [
        Close::Bye,
        Close::Refused,
        Close::Full,
        Close::Malformed,
        Close::TooSlow,
        Close::Resumed,
        Close::Shutdown,
        Close::Removed,
        Close::Replaced,
        Close::Kicked,
        Close::Starting,
        Close::Standby,
        Close::Banned,
        Close::Unauthorized,
        Close::Outdated,
        Close::SchemaMismatch,
        Close::TooOften,
    ];

    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The close with this code; `None` if this version has none.
    pub fn from_code(code: u64) -> Option<Close> {
        Close::ALL
            .into_iter()
            .find(|close| u64::from(close.code()) == code)
    }
}

/// The update for a client of another version: it stands in square brackets at the end of the
/// sentence of a [`Close::Outdated`], as `[version=12 url=https://example.org]`. Every version
/// of the protocol keeps this form, since clients of all others read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The protocol version that the server speaks.
    pub server_version: u16,
    /// Where players get the version of the game that the server takes, if the operator named it.
    pub url: Option<String>,
}

impl Update {
    /// The update that this version's server sends. A URL that [`is_update_url`] rejects is left out.
    pub fn of_server(url: Option<&str>) -> Update {
        Update {
            server_version: PROTOCOL_VERSION,
            url: url.filter(|url| is_update_url(url)).map(str::to_owned),
        }
    }

    /// The sentence of the close.
    pub fn reason(&self, sentence: &str) -> String {
        let version = self.server_version;
        match &self.url {
            Some(url) => format!("{sentence} [version={version} url={url}]"),
            None => format!("{sentence} [version={version}]"),
        }
    }

    /// Splits the sentence of a close into the text for people, and the update. Without one in the
    /// form above, all is for people.
    pub fn split(reason: &str) -> (&str, Option<Update>) {
        match Update::find(reason) {
            Some((sentence, update)) => (sentence, Some(update)),
            None => (reason, None),
        }
    }

    fn find(reason: &str) -> Option<(&str, Update)> {
        if reason.len() > CLOSE_REASON_BYTES_MAX {
            return None;
        }
        let inside = reason.strip_suffix(']')?;
        let at = inside.rfind(BEGIN)?;
        let (sentence, fields) = (&inside[..at], &inside[at + BEGIN.len()..]);
        let (version, url) = match fields.split_once(URL) {
            Some((version, url)) => (version, Some(url)),
            None => (fields, None),
        };
        let is_number = !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit());
        let server_version = version.parse().ok().filter(|_| is_number)?;
        let url = match url {
            Some(url) if is_update_url(url) => Some(url.to_owned()),
            Some(_) => return None,
            None => None,
        };
        let update = Update {
            server_version,
            url,
        };
        Some((sentence.trim_end(), update))
    }
}

/// Whether a text may be the address of an [`Update`]: http or https, visible ASCII characters,
/// at most [`UPDATE_URL_BYTES_MAX`] bytes.
pub fn is_update_url(text: &str) -> bool {
    let host = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    host.is_some_and(|host| !host.is_empty())
        && text.len() <= UPDATE_URL_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The server that has room where this one is full: it stands in square brackets at the end of the
/// sentence of a [`Close::Full`], as `[server=two.example:4433]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect(pub String);

impl Redirect {
    /// The sentence of the close.
    pub fn reason(&self, sentence: &str) -> String {
        format!("{sentence} {BEGIN_SERVER}{}]", self.0)
    }

    /// Splits the sentence of a close into the text for people, and the other server. Without one
    /// in the form above, all is for people.
    pub fn split(reason: &str) -> (&str, Option<Redirect>) {
        let inside = reason.strip_suffix(']');
        match inside.and_then(|inside| inside.rsplit_once(BEGIN_SERVER)) {
            Some((sentence, address)) if is_address(address) => {
                (sentence.trim_end(), Some(Redirect(address.to_owned())))
            }
            _ => (reason, None),
        }
    }
}

/// Whether a text may be where clients reach a server, as HOST:PORT.
fn is_address(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or_default();
    !host.is_empty()
        && port.parse::<u16>().is_ok()
        && text.len() <= ADDRESS_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

const BEGIN_SERVER: &str = "[server=";
const BEGIN: &str = "[version=";
const URL: &str = " url=";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_that_of_one_close() {
        for (close, code) in Close::ALL.into_iter().zip(0..) {
            assert_eq!(u64::from(close.code()), code);
            assert_eq!(Close::from_code(code), Some(close));
        }
        assert_eq!(Close::from_code(17), None);
        assert_eq!(Close::from_code(u64::MAX), None);
    }

    #[test]
    fn an_update_is_read_from_the_end_of_a_sentence() {
        let version_only = Update {
            server_version: 12,
            url: None,
        };
        assert_eq!(version_only.reason("too old"), "too old [version=12]");
        for url in [
            None,
            Some("https://example.org/get?v=12#now"),
            Some("http://[::1]:8433/[a]"),
        ] {
            let update = Update {
                server_version: u16::MAX,
                url: url.map(str::to_owned),
            };
            let reason = update.reason("your version [old] is too old");
            let expected = ("your version [old] is too old", Some(update));
            assert_eq!(Update::split(&reason), expected);
        }
        assert_eq!(
            Update::of_server(Some("javascript:alert(1)")),
            Update {
                server_version: PROTOCOL_VERSION,
                url: None
            }
        );
    }

    #[test]
    fn nothing_else_is_an_update() {
        let long = format!("a [version=1 url=https://{}]", "x".repeat(248));
        let flood = format!("{} [version=1]", "x".repeat(CLOSE_REASON_BYTES_MAX));
        for reason in [
            "",
            "]",
            "[",
            "[]",
            "[version=]",
            "[version=-1]",
            "[version=+1]",
            "[version=65536]",
            "[version=1",
            "version=1]",
            "[version=1] and more",
            "[version=1 url=]",
            "[version=1 url=javascript:alert(1)]",
            "[version=1 url=https://]",
            "[version=1 url=https://a b]",
            "[version=1 url=https://\u{e9}.org]",
            "[version=1 url=https://a\n]",
            "[version=1 more=2]",
            &long,
            &flood,
        ] {
            assert_eq!(Update::split(reason), (reason, None));
        }
        // The longest that is allowed.
        let url = format!("https://{}", "x".repeat(247));
        assert!(
            Update::split(&format!("a [version=1 url={url}]"))
                .1
                .is_some()
        );
        assert_eq!(Update::split("[version=1]").0, "");
    }

    #[test]
    fn another_server_is_read_from_the_end_of_a_sentence() {
        for address in ["two.example:4433", "[::1]:4433", "10.0.0.2:1"] {
            let redirect = Redirect(address.to_owned());
            let reason = redirect.reason("the gateway [1] is full");
            let expected = ("the gateway [1] is full", Some(redirect));
            assert_eq!(Redirect::split(&reason), expected);
        }
        let long = format!("a [server={}:1]", "x".repeat(ADDRESS_BYTES_MAX));
        for reason in [
            "",
            "]",
            "[server=]",
            "[server=:4433]",
            "[server=two.example]",
            "[server=two.example:65536]",
            "[server=two.example:4433",
            "[server=two.example:4433] and more",
            "[server=two example:4433]",
            "[server=\u{e9}:4433]",
            &long,
        ] {
            assert_eq!(Redirect::split(reason), (reason, None));
        }
    }

    #[test]
    fn random_ends_of_sentences_never_panic() {
        let pieces = [
            "[", "]", "version=", "server=", " url=", "https://", "7", ":", "\u{e9}", " ", "x",
        ];
        let mut state = 1;
        for _ in 0..100_000 {
            let mut reason = String::new();
            for _ in 0..8 {
                state = crate::world::mix::mix(state, 1);
                reason.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            }
            let (sentence, update) = Update::split(&reason);
            assert!(reason.starts_with(sentence), "{reason}");
            if let Some(url) = update.and_then(|update| update.url) {
                assert!(is_update_url(&url), "{reason}");
            }
            let (sentence, server) = Redirect::split(&reason);
            assert!(reason.starts_with(sentence), "{reason}");
            assert!(
                server.is_none_or(|server| is_address(&server.0)),
                "{reason}"
            );
        }
    }
}
