//! Traces of commands: options of `myriad serve`.

use clap::Args;
use platform::trace_options::TraceOptions;

#[derive(Debug, Args)]
pub struct TraceArguments {
    /// Send traces of commands to the collector at this address, as OTLP over HTTP
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    otlp_endpoint: Option<String>,
    /// The most commands a second that are traced
    #[arg(long, value_name = "N", requires = "otlp_endpoint", default_value_t = 1.0,
          value_parser = rate)]
    trace_sample: f64,
}

impl TraceArguments {
    /// None if no commands are traced.
    pub fn options(&self) -> Option<TraceOptions> {
        let endpoint = self.otlp_endpoint.clone()?;
        Some(TraceOptions {
            endpoint,
            per_second: self.trace_sample,
        })
    }
}

fn endpoint(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split('/').next());
    match host.is_some_and(|host| !host.is_empty()) && text.bytes().all(|b| b.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err("expected an address like http://HOST:4318".to_owned()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number <= 1000.0 => Ok(number),
        _ => Err("expected a number above 0, at most 1000".to_owned()),
    }
}
