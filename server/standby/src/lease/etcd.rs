//! etcd as the third party, by its JSON gateway.
//!
//! A world has two keys: `NAME` is bound to the lease of the primary and names it;
//! `NAME/epoch` stays, and is the highest epoch that ever had it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use durability::epoch::Epoch;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use platform::reach;
use platform::tls::trust_the_system;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Servers of one etcd, and the world's key there.
#[derive(Clone, Debug)]
pub struct Etcd {
    servers: Vec<Endpoint>,
    name: String,
    patience: Duration,
}

/// The address of a server of etcd.
#[derive(Clone)]
struct Endpoint {
    /// HOST:PORT.
    address: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// The keys of a world there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The holder's own description.
    pub holder: Option<String>,
    /// The highest that ever held the key.
    pub epoch: Option<Epoch>,
    epoch_revision: i64,
}

impl Etcd {
    /// `urls` are `http://HOST:PORT` or `https://HOST:PORT`.
    pub fn new(urls: &[String], name: &str, patience: Duration) -> Result<Etcd> {
        let servers = urls.iter().map(|url| Endpoint::parse(url));
        let servers = servers.collect::<Result<Vec<_>>>()?;
        if servers.is_empty() || name.is_empty() {
            bail!("a lease needs the URL of a third party, and a name");
        }
        Ok(Etcd {
            servers,
            name: name.to_owned(),
            patience,
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

    /// Binds the key to a lease, if there is no such key, and the epoch is the one that was
    /// seen. False if that is not so.
    pub async fn take(&self, lease: i64, seen: &Known, epoch: Epoch, holder: &str) -> Result<bool> {
        let (key, epoch_key) = (code(&self.name), code(&self.epoch_key()));
        let body = json!({
            "compare": [
                {"key": key, "target": "CREATE", "result": "EQUAL", "create_revision": "0"},
                {"key": epoch_key, "target": "MOD", "result": "EQUAL",
                 "mod_revision": seen.epoch_revision.to_string()},
            ],
            "success": [
                {"request_put": {"key": key, "value": code(holder), "lease": lease.to_string()}},
                {"request_put": {"key": epoch_key, "value": code(&epoch.0.to_string())}},
            ],
        });
        let answer = self.request("/v3/kv/txn", &body).await?;
        Ok(answer["succeeded"].as_bool() == Some(true))
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

    /// Sends a request to one server after the other, until one answers.
    async fn request(&self, path: &str, body: &Value) -> Result<Value> {
        let mut failure = None;
        for server in &self.servers {
            let answer = timeout(self.patience, send_to(server, path, body)).await;
            match answer
                .context("no answer in time")
                .and_then(|answer| answer)
            {
                Ok(answer) => return Ok(answer),
                Err(error) => failure = Some(error.context(format!("etcd at {}", server.address))),
            }
        }
        Err(failure.unwrap_or_else(|| anyhow::anyhow!("there is no etcd")))
    }
}

impl Endpoint {
    fn parse(url: &str) -> Result<Endpoint> {
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
                Some((TlsConnector::from(Arc::new(trust_the_system()?)), name))
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

async fn send_to(server: &Endpoint, path: &str, body: &Value) -> Result<Value> {
    let stream = reach::connect(&server.address).await?;
    match &server.tls {
        Some((connector, name)) => {
            let stream = connector.connect(name.clone(), stream).await?;
            ask_over(stream, server, path, body).await
        }
        None => ask_over(stream, server, path, body).await,
    }
}

async fn ask_over<S>(stream: S, server: &Endpoint, path: &str, body: &Value) -> Result<Value>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    let request = Request::post(path)
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
