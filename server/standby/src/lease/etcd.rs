//! etcd as the third party, by its JSON gateway.
//!
//! A world has two keys: `NAME` is bound to the lease of the primary and names it;
//! `NAME/epoch` stays, and is the highest epoch that ever had it. `NAME/alone` is there while only
//! the server that it names has all ticks that clients were sent.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use durability::epoch::Epoch;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use platform::reach;
use platform::renewal::Shared;
use platform::tls::trust_the_system;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Servers of one etcd, and the world's key there.
#[derive(Clone, Debug)]
pub struct Etcd {
    servers: Vec<Endpoint>,
    /// The one that answered last.
    last: Arc<AtomicUsize>,
    name: String,
    patience: Duration,
    user: Option<Shared<User>>,
    /// What shows the user, once it has shown its password.
    token: Arc<Mutex<Option<String>>>,
}

/// How a server authenticates itself at etcd. Both may be renewed.
#[derive(Clone, Debug, Default)]
pub struct Access {
    pub user: Option<Shared<User>>,
    /// The settings with its certificate.
    pub tls: Option<Shared<ClientConfig>>,
}

/// A user of etcd.
#[derive(Clone)]
pub struct User {
    pub name: String,
    pub password: String,
}

/// Without the password.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The address of a server of etcd.
#[derive(Clone)]
struct Endpoint {
    /// HOST:PORT.
    address: String,
    tls: Option<(Shared<ClientConfig>, ServerName<'static>)>,
}

/// The keys of a world there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The holder's own description.
    pub holder: Option<String>,
    /// The highest that ever held the key.
    pub epoch: Option<Epoch>,
    pub epoch_revision: i64,
    /// The server that alone has all ticks that clients were sent.
    pub alone: Option<String>,
    pub alone_revision: i64,
}

impl Etcd {
    /// `urls` are `http://HOST:PORT` or `https://HOST:PORT`.
    pub fn new(urls: &[String], name: &str, patience: Duration, access: &Access) -> Result<Etcd> {
        let servers = urls.iter().map(|url| Endpoint::parse(url, access));
        let servers = servers.collect::<Result<Vec<_>>>()?;
        if servers.is_empty() || name.is_empty() {
            bail!("a lease needs the URL of a third party, and a name");
        }
        Ok(Etcd {
            servers,
            last: Arc::default(),
            name: name.to_owned(),
            patience,
            user: access.user.clone(),
            token: Arc::default(),
        })
    }

    /// Reads both keys as they are in one moment.
    pub async fn look(&self) -> Result<Known> {
        let end = format!("{}/epoch\0", self.name);
        let body = json!({"key": code(&self.name), "range_end": code(&end)});
        let answer = self.request("/v3/kv/range", &body).await?;
        let mut known = Known::default();
        let kvs = answer["kvs"].as_array().map_or(&[][..], Vec::as_slice);
        for kv in kvs {
            let key = decode(&kv["key"])?;
            let value = decode(&kv["value"])?;
            if key == self.name {
                known.holder = Some(value);
            } else if key == self.epoch_key() {
                let epoch = value.parse();
                known.epoch = Some(Epoch(epoch.with_context(|| {
                    format!("the key {key} has {value:?}; expected the number of an epoch")
                })?));
                known.epoch_revision = number(&kv["mod_revision"])?;
            } else if key == self.alone_key() {
                known.alone = Some(value);
                known.alone_revision = number(&kv["mod_revision"])?;
            }
        }
        Ok(known)
    }

    /// A lease that nothing is bound to.
    pub async fn grant(&self, lease: Duration) -> Result<i64> {
        let body = json!({"TTL": lease.as_secs()});
        let answer = self.request("/v3/lease/grant", &body).await?;
        number(&answer["ID"])
    }

    /// Binds the key to a lease, if there is no such key, and the others are as they were seen.
    /// False if that is not so.
    pub async fn take(&self, lease: i64, seen: &Known, epoch: Epoch, holder: &str) -> Result<bool> {
        let (key, epoch_key) = (code(&self.name), code(&self.epoch_key()));
        let alone_key = code(&self.alone_key());
        let body = json!({
            "compare": [
                {"key": key, "target": "CREATE", "result": "EQUAL", "create_revision": "0"},
                {"key": epoch_key, "target": "MOD", "result": "EQUAL",
                 "mod_revision": seen.epoch_revision.to_string()},
                {"key": alone_key, "target": "MOD", "result": "EQUAL",
                 "mod_revision": seen.alone_revision.to_string()},
            ],
            "success": [
                {"request_put": {"key": key, "value": code(holder), "lease": lease.to_string()}},
                {"request_put": {"key": epoch_key, "value": code(&epoch.0.to_string())}},
            ],
        });
        let answer = self.request("/v3/kv/txn", &body).await?;
        Ok(answer["succeeded"].as_bool() == Some(true))
    }

    /// Notes that a server alone has all ticks that clients were sent, if the key is bound to its
    /// lease. Returns the note's revision; `None` if it is not.
    pub async fn note_alone(&self, lease: i64, id: &str) -> Result<Option<i64>> {
        let body = json!({
            "compare": [self.is_of(lease)],
            "success": [{"request_put": {"key": code(&self.alone_key()), "value": code(id)}}],
        });
        let answer = self.request("/v3/kv/txn", &body).await?;
        match answer["succeeded"].as_bool() == Some(true) {
            true => number(&answer["header"]["revision"]).map(Some),
            false => Ok(None),
        }
    }

    /// Removes a note of this revision. A later one stays, however late this arrives.
    pub async fn clear_alone(&self, lease: i64, revision: i64) -> Result<()> {
        let key = code(&self.alone_key());
        let body = json!({
            "compare": [
                self.is_of(lease),
                {"key": key, "target": "MOD", "result": "EQUAL",
                 "mod_revision": revision.to_string()},
            ],
            "success": [{"request_delete_range": {"key": key}}],
        });
        self.request("/v3/kv/txn", &body).await.map(drop)
    }

    /// The condition that the key is bound to a lease.
    fn is_of(&self, lease: i64) -> Value {
        let key = code(&self.name);
        json!({"key": key, "target": "LEASE", "result": "EQUAL", "lease": lease.to_string()})
    }

    /// How long the lease holds from now on; `None`: there is none.
    pub async fn renew(&self, lease: i64) -> Result<Option<Duration>> {
        let body = json!({"ID": lease.to_string()});
        let answer = self.request("/v3/lease/keepalive", &body).await?;
        // A lease that has ended has no time to live, which the gateway leaves out.
        let Some(seconds) = answer["result"].get("TTL") else {
            if answer["result"].is_object() {
                return Ok(None);
            }
            bail!("the answer to a renewal is {answer}; expected a result");
        };
        let seconds = u64::try_from(number(seconds)?).unwrap_or(0);
        Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
    }

    /// Ends a lease, and removes the keys that are bound to it.
    pub async fn revoke(&self, lease: i64) -> Result<()> {
        let body = json!({"ID": lease.to_string()});
        self.request("/v3/lease/revoke", &body).await.map(drop)
    }

    fn epoch_key(&self) -> String {
        format!("{}/epoch", self.name)
    }

    fn alone_key(&self) -> String {
        format!("{}/alone", self.name)
    }

    /// Sends a request to one server after the other, until one answers: first to the one that
    /// answered last, since one that hangs takes time that a lease does not have.
    async fn request(&self, path: &str, body: &Value) -> Result<Value> {
        let mut failure = None;
        let (first, count) = (self.last.load(Ordering::Relaxed), self.servers.len());
        for number in (first..first + count).map(|number| number % count) {
            let server = &self.servers[number];
            let answer = timeout(self.patience, self.ask(server, path, body)).await;
            match answer
                .context("no answer in time")
                .and_then(|answer| answer)
            {
                Ok(answer) => {
                    self.last.store(number, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(error) => failure = Some(error.context(format!("etcd at {}", server.address))),
            }
        }
        Err(failure.unwrap_or_else(|| anyhow::anyhow!("there is no etcd")))
    }
}

impl Etcd {
    /// Sends a request to a server, as the user if there is one.
    async fn ask(&self, server: &Endpoint, path: &str, body: &Value) -> Result<Value> {
        let Some(user) = &self.user else {
            return send_to(server, path, body, None).await;
        };
        let known = self.token().clone();
        if let Some(token) = known {
            // It ends some time after its last use.
            match send_to(server, path, body, Some(&token)).await {
                Err(error) if is_unknown_token(&error) => {}
                answer => return answer,
            }
        }
        let user = user.get();
        let shown = json!({"name": user.name, "password": user.password});
        let answer = send_to(server, "/v3/auth/authenticate", &shown, None).await;
        let answer = answer.with_context(|| format!("the user {user:?}"))?;
        let token = answer["token"].as_str().context("etcd sent no token")?;
        *self.token() = Some(token.to_owned());
        send_to(server, path, body, Some(token)).await
    }

    fn token(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_unknown_token(error: &anyhow::Error) -> bool {
    error.to_string().contains("invalid auth token")
}

impl Endpoint {
    fn parse(url: &str, access: &Access) -> Result<Endpoint> {
        let plain = url.strip_prefix("http://");
        let rest = plain.or_else(|| url.strip_prefix("https://"));
        let address = rest.map(|rest| rest.trim_end_matches('/'));
        let host = address.and_then(|address| Some(address.rsplit_once(':')?.0));
        let (Some(address), Some(host)) = (address.filter(|a| !a.contains('/')), host) else {
            bail!("found {url:?}; expected http://HOST:PORT or https://HOST:PORT");
        };
        let tls = match plain {
            Some(_) => None,
            None => {
                let host = host.trim_matches(['[', ']']).to_owned();
                let name = ServerName::try_from(host)?;
                let config = match &access.tls {
                    Some(config) => config.clone(),
                    None => Shared::new(Arc::new(trust_the_system()?)),
                };
                Some((config, name))
            }
        };
        Ok(Endpoint {
            address: address.to_owned(),
            tls,
        })
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

async fn send_to(
    server: &Endpoint,
    path: &str,
    body: &Value,
    token: Option<&str>,
) -> Result<Value> {
    let stream = reach::connect(&server.address).await?;
    match &server.tls {
        Some((config, name)) => {
            let connector = TlsConnector::from(config.get());
            let stream = connector.connect(name.clone(), stream).await?;
            ask_over(stream, server, (path, body), token).await
        }
        None => ask_over(stream, server, (path, body), token).await,
    }
}

async fn ask_over<S>(
    stream: S,
    server: &Endpoint,
    (path, body): (&str, &Value),
    token: Option<&str>,
) -> Result<Value>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    let mut request = Request::post(path);
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, token);
    }
    let request = request
        .header(HOST, &server.address)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body.to_string())))?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
        let body = body
            .collect()
            .await
            .map_err(|error| anyhow::anyhow!(error))?;
        anyhow::Ok((status, body.to_bytes()))
    };
    tokio::pin!(connection, exchange);
    let (status, bytes) = tokio::select! {
        exchanged = &mut exchange => exchanged?,
        ended = &mut connection => {
            ended?;
            // Data that came before the end is still to be read.
            exchange.await?
        }
    };
    if status != StatusCode::OK {
        bail!("{path}: {status}: {}", String::from_utf8_lossy(&bytes));
    }
    serde_json::from_slice(&bytes).with_context(|| format!("{path}: the answer is no JSON"))
}

fn code(text: &str) -> String {
    STANDARD.encode(text)
}

fn decode(value: &Value) -> Result<String> {
    let text = value.as_str().unwrap_or_default();
    Ok(String::from_utf8(STANDARD.decode(text)?)?)
}

/// The gateway writes numbers of 64 bits as strings.
fn number(value: &Value) -> Result<i64> {
    let text = value.as_str();
    let number = match text {
        Some(text) => text.parse().ok(),
        None => value.as_i64(),
    };
    number.with_context(|| format!("etcd sent {value}; expected a number"))
}

const ANSWER_BYTES_MAX: usize = 64 << 10;
