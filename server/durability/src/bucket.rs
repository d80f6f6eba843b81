//! A folder in an S3-compatible store: the files are objects below a prefix. Each is written as a
//! whole.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Request;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use platform::request::Requester;
use platform::runtime::runtime;

use super::disk::{Disk, DiskFile};

/// A prefix of a bucket.
#[derive(Clone)]
pub struct Bucket {
    store: Arc<AmazonS3>,
    /// Without slashes around it; may be empty.
    prefix: String,
}

impl Bucket {
    /// Of `s3://BUCKET/PREFIX`. Credentials and the region are those of the usual variables of
    /// the environment, like `AWS_ACCESS_KEY_ID`. Without an endpoint, `AWS_ENDPOINT_URL` or that
    /// of the region.
    pub fn open(url: &str, endpoint: Option<&str>) -> Result<Bucket> {
        let rest = url.strip_prefix("s3://").unwrap_or_default();
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            bail!("found {url:?}; expected s3://BUCKET or s3://BUCKET/PREFIX");
        }
        let retries = RetryConfig {
            max_retries: 4,
            retry_timeout: RETRIES,
            ..RetryConfig::default()
        };
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_retry(retries)
            .with_http_connector(Connector);
        if let Some(endpoint) = endpoint {
            // Stores in one's own network often have no certificate.
            let is_plain = endpoint.starts_with("http://");
            builder = builder.with_endpoint(endpoint).with_allow_http(is_plain);
        }
        let store = builder
            .build()
            .with_context(|| format!("cannot use {url}"))?;
        Ok(Bucket {
            store: Arc::new(store),
            prefix: prefix.trim_matches('/').to_owned(),
        })
    }

    fn at(&self, name: &str) -> Path {
        match self.prefix.as_str() {
            "" => Path::from(name),
            prefix => Path::from(format!("{prefix}/{name}")),
        }
    }

    /// Runs requests on a thread of their own: a runtime can't be entered within another one.
    fn run<T: Send>(
        &self,
        work: impl AsyncFnOnce(&AmazonS3) -> object_store::Result<T> + Send,
    ) -> io::Result<T> {
        let done = std::thread::scope(|scope| {
            let thread = scope.spawn(|| Ok(runtime()?.block_on(work(&self.store))));
            thread.join()
        });
        match done {
            Ok(done) => done.and_then(|done: object_store::Result<T>| done.map_err(in_words)),
            Err(_) => Err(io::Error::other("the thread of the store has failed")),
        }
    }

    fn move_object(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.at(from), self.at(to));
        self.run(async |store| {
            store.copy(&from, &to).await?;
            store.delete(&from).await
        })
    }
}

impl Disk for Bucket {
    type File = ObjectFile;

    fn names(&self) -> io::Result<Vec<String>> {
        let prefix = (!self.prefix.is_empty()).then(|| Path::from(self.prefix.as_str()));
        let listed = self.run(async |store| store.list_with_delimiter(prefix.as_ref()).await)?;
        let names = listed.objects.iter();
        let names = names.filter_map(|object| object.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<ObjectFile> {
        let length = usize::try_from(bytes).map_err(io::Error::other)?;
        match self.length(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ObjectFile {
                bucket: self.clone(),
                name: name.to_owned(),
                bytes: vec![0; length],
            }),
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.at(name);
        let read = self.run(async |store| store.get(&path).await?.bytes().await)?;
        Ok(read.to_vec())
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        let path = self.at(name);
        Ok(self.run(async |store| store.head(&path).await)?.size)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.move_object(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.at(name);
        self.run(async |store| store.delete(&path).await)
    }

    fn cut(&self, name: &str, bytes: u64) -> io::Result<()> {
        let mut whole = self.read(name)?;
        whole.resize(usize::try_from(bytes).map_err(io::Error::other)?, 0);
        self.put(name, &whole)
    }

    /// Objects are safe once they are written.
    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (path, bytes) = (self.at(name), Bytes::copy_from_slice(bytes));
        self.run(async |store| store.put(&path, bytes.into()).await.map(drop))
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.store, self.prefix)
    }
}

/// An object that is written once it is synced.
pub struct ObjectFile {
    bucket: Bucket,
    name: String,
    bytes: Vec<u8>,
}

impl DiskFile for ObjectFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        let to = from + bytes.len();
        if self.bytes.len() < to {
            self.bytes.resize(to, 0);
        }
        self.bytes[from..to].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.bucket.put(&self.name, &self.bytes)
    }
}

/// The text of an error has those of its causes already.
fn in_words(error: object_store::Error) -> io::Error {
    let kind = match error {
        object_store::Error::NotFound { .. } => io::ErrorKind::NotFound,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}

/// Requests go the same way as others of this program.
#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let requester = Requester::new(PATIENCE, OBJECT_BYTES_MAX);
        let requester = requester.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: error.into(),
        })?;
        Ok(HttpClient::new(Service(requester)))
    }
}

#[derive(Debug)]
struct Service(Requester);

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let sent = self.0.send(Request::from_parts(head, body)).await;
        let answer = sent.map_err(|error| {
            // In one line: an error of the store shows only its first cause.
            let error = io::Error::other(format!("{error:#}"));
            HttpError::new(HttpErrorKind::Connect, error)
        })?;
        Ok(answer.map(HttpResponseBody::from))
    }
}

/// For a request with its answer: an object may be large, and the way slow.
const PATIENCE: Duration = Duration::from_secs(600);
/// Signatures hold for five minutes.
const RETRIES: Duration = Duration::from_secs(120);
/// The most bytes of an object that is read.
const OBJECT_BYTES_MAX: usize = 16 << 30;
