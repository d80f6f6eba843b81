//! Traces of commands reach a collector.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use client_bot::BehaviourKind;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use platform::trace_options::TraceOptions;
use prost::Message;
use server::Server;

use crate::common::{Bots, eventually, start_with, ticks};

const WORLD: &str = "
    [world]
    size = [60, 60]
    aoi = 30
    tick_hz = 20
";

/// A program that takes spans.
struct Collector {
    endpoint: String,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let spans = Arc::<Mutex<Vec<Span>>>::default();
        let taken = spans.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let request = read(stream);
                let mut spans = taken.lock().unwrap();
                for resource in request.resource_spans {
                    let scopes = resource.scope_spans.into_iter();
                    spans.extend(scopes.flat_map(|scope| scope.spans));
                }
            }
        });
        Collector { endpoint, spans }
    }

    fn serve(&self, per_second: f64) -> Server {
        start_with(WORLD, |options| {
            options.traces = Some(TraceOptions {
                endpoint: self.endpoint.clone(),
                per_second,
            });
        })
    }

    fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }

    fn roots(&self) -> Vec<Span> {
        let spans = self.spans().into_iter();
        spans
            .filter(|span| span.parent_span_id.is_empty())
            .collect()
    }
}

/// Reads a request, and answers it.
fn read(stream: TcpStream) -> ExportTraceServiceRequest {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "POST /v1/traces HTTP/1.1\r\n");
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "content-type" => assert_eq!(value.trim(), "application/x-protobuf"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    reader.into_inner().write_all(answer.as_bytes()).unwrap();
    ExportTraceServiceRequest::decode(&*body).unwrap()
}

#[tokio::test]
async fn the_way_of_a_command_is_a_trace_from_its_datagram_to_the_packets_of_its_tick() {
    let collector = Collector::start();
    let server = collector.serve(1000.0);
    let bots = Bots::start(&server, 5, BehaviourKind::Wander).await;
    eventually("traces", || collector.roots().len() >= 5).await;
    bots.go_home();
    server.stop().unwrap();
    let spans = collector.spans();
    let mut inner: HashMap<&[u8], Vec<&Span>> = HashMap::new();
    for span in &spans {
        inner.entry(&span.parent_span_id).or_default().push(span);
    }
    let parts = |span: &Span| {
        let mut parts = inner.get(&*span.span_id).cloned().unwrap_or_default();
        parts.sort_by_key(|part| (part.start_time_unix_nano, part.end_time_unix_nano));
        for part in &parts {
            assert_eq!(part.trace_id, span.trace_id);
            assert!(
                part.start_time_unix_nano >= span.start_time_unix_nano,
                "{part:?}"
            );
            assert!(
                part.start_time_unix_nano <= part.end_time_unix_nano,
                "{part:?}"
            );
        }
        parts
    };
    let names = |parts: &[&Span]| {
        parts
            .iter()
            .map(|part| part.name.clone())
            .collect::<Vec<_>>()
    };
    let roots = collector.roots();
    let mut traced_ticks = vec![];
    for root in &roots {
        assert_eq!(root.name, "command");
        let attribute = |name: &str| {
            let found = root.attributes.iter().find(|own| own.key == name);
            found.and_then(|own| own.value.clone()?.value).expect(name)
        };
        assert_eq!(
            attribute("myriad.command"),
            Value::StringValue("move".to_owned())
        );
        let Value::IntValue(tick) = attribute("myriad.tick") else {
            panic!("a number");
        };
        traced_ticks.push(tick);
        let main = parts(root);
        assert_eq!(names(&main), ["inbox", "tick", "fan_out"]);
        // Without gaps, from the first moment to the last.
        assert_eq!(main[0].start_time_unix_nano, root.start_time_unix_nano);
        assert_eq!(main[0].end_time_unix_nano, main[1].start_time_unix_nano);
        assert_eq!(main[1].end_time_unix_nano, main[2].start_time_unix_nano);
        assert_eq!(main[2].end_time_unix_nano, root.end_time_unix_nano);
        let steps = parts(main[1]);
        let expected = [
            "gather", "order", "keep", "backend", "record", "listen", "apply", "keep", "publish",
        ];
        assert_eq!(names(&steps), expected);
        let stages = parts(steps[3]);
        let expected = [
            "upload",
            "due",
            "logic",
            "merge",
            "lifecycle",
            "index",
            "interest",
            "download",
        ];
        assert_eq!(names(&stages), expected);
        let last = stages.last().unwrap();
        assert!(
            last.end_time_unix_nano <= steps[3].end_time_unix_nano,
            "{last:?}"
        );
    }
    // One a tick at most.
    traced_ticks.sort_unstable();
    traced_ticks.dedup();
    assert_eq!(traced_ticks.len(), roots.len());
}

#[tokio::test]
async fn so_many_commands_are_traced_as_were_asked_for() {
    let collector = Collector::start();
    let server = collector.serve(0.001);
    let bots = Bots::start(&server, 5, BehaviourKind::Wander).await;
    ticks(&server, 60).await;
    bots.go_home();
    // The last ones are sent at the end.
    server.stop().unwrap();
    assert_eq!(collector.roots().len(), 1, "{:?}", collector.roots());
}
