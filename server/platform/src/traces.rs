//! Traces of single commands for OpenTelemetry: a span for each part of a command's way. They are
//! made of times that are measured anyway, after the tick is sent.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use hyper::body::Bytes;
use hyper::{Request, Response, Uri};
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider};
use tracing::warn;

use crate::request::Requester;
use crate::runtime::runtime;
use crate::trace_options::{CommandTrace, Part, TraceOptions};

/// Sends traces to a collector, from a thread of its own. What the collector does not take in time
/// is lost.
pub struct TraceExporter {
    provider: SdkTracerProvider,
    tracer: opentelemetry_sdk::trace::SdkTracer,
}

impl TraceExporter {
    /// `version` is of this program.
    pub fn start(options: &TraceOptions, version: &'static str) -> Result<TraceExporter> {
        let uri: Uri = options
            .endpoint
            .parse()
            .context("the collector's address")?;
        // As for other programs, the path is the usual one if none is given.
        let endpoint = match uri.path() {
            "" | "/" => format!("{}/v1/traces", options.endpoint.trim_end_matches('/')),
            _ => options.endpoint.clone(),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new()?)
            .with_endpoint(endpoint)
            .with_protocol(Protocol::HttpBinary)
            .build()
            .context("traces can't be sent")?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(SPANS_MAX)
            .with_scheduled_delay(SEND_EVERY)
            .build();
        let processor = BatchSpanProcessor::builder(exporter)
            .with_batch_config(batches)
            .build();
        let resource = Resource::builder()
            .with_service_name("myriad")
            .with_attribute(KeyValue::new("service.version", version))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("myriad");
        Ok(TraceExporter { provider, tracer })
    }

    /// Sends the trace of a command soon.
    pub fn export(&self, trace: &CommandTrace<'_>) {
        let clock = Clock::now();
        let attributes = vec![
            KeyValue::new("myriad.command", trace.command.to_owned()),
            KeyValue::new("myriad.tick", number(trace.tick.0)),
            KeyValue::new("myriad.shard", number(trace.shard as u64)),
            KeyValue::new("myriad.clients", number(trace.clients)),
        ];
        let root = SpanBuilder::from_name("command").with_attributes(attributes);
        let root = self.span(root, &Context::new(), trace.whole, clock);
        for part in &trace.parts {
            self.export_part(part, &root, clock);
        }
    }

    fn export_part(&self, part: &Part, parent: &SpanContext, clock: Clock) {
        let parent = Context::new().with_remote_span_context(parent.clone());
        let own = self.span(SpanBuilder::from_name(part.name), &parent, part.time, clock);
        for inner in &part.parts {
            self.export_part(inner, &own, clock);
        }
    }

    fn span(
        &self,
        builder: SpanBuilder,
        parent: &Context,
        (from, to): (Instant, Instant),
        clock: Clock,
    ) -> SpanContext {
        let builder = builder.with_start_time(clock.time_of(from));
        let mut span = self.tracer.build_with_context(builder, parent);
        let context = span.span_context().clone();
        span.end_with_timestamp(clock.time_of(to));
        context
    }
}

impl Drop for TraceExporter {
    fn drop(&mut self) {
        // The last ones, if the collector takes them.
        let _ = self.provider.shutdown_with_timeout(PATIENCE);
    }
}

/// OTLP has signed numbers only.
fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The time of day of a moment.
#[derive(Clone, Copy)]
struct Clock(Instant, SystemTime);

impl Clock {
    fn now() -> Clock {
        Clock(Instant::now(), SystemTime::now())
    }

    fn time_of(self, moment: Instant) -> SystemTime {
        self.1 - self.0.saturating_duration_since(moment)
    }
}

/// Sends from the thread that gathers spans.
struct Client {
    requester: Requester,
    /// The last request failed.
    has_failed: Arc<AtomicBool>,
}

impl Client {
    fn new() -> Result<Client> {
        Ok(Client {
            requester: Requester::new(PATIENCE, ANSWER_BYTES_MAX)?,
            has_failed: Arc::default(),
        })
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let answer = runtime()?.block_on(self.requester.send(request))?;
        let status = answer.status();
        anyhow::ensure!(status.is_success(), "the collector answers with {status}");
        Ok(answer)
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.send(request);
        let had_failed = self.has_failed.swap(answer.is_err(), Ordering::Relaxed);
        answer.map_err(|error| {
            if !had_failed {
                warn!("traces are lost: {error:#}");
            }
            error.into()
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Spans that wait to be sent.
const SPANS_MAX: usize = 4096;
const SEND_EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(3);
const ANSWER_BYTES_MAX: usize = 1 << 20;
