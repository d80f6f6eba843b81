//! The report of a load test as a page: one HTML file without scripts or other files.

use std::fmt::Write as _;

use crate::report::SwarmReport;
use crate::scrape::ServerSample;
use crate::series::Sample;

/// A line of a plot: its name, and its points by time.
struct Line {
    name: &'static str,
    points: Vec<(f64, f64)>,
}

/// The page.
pub fn html(title: &str, report: &SwarmReport, failures: &[String], samples: &[Sample]) -> String {
    let mut page = String::new();
    let title = escaped(title);
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n"
    );
    for failure in failures {
        let _ = writeln!(page, "<p class=\"failed\">failed: {}</p>", escaped(failure));
    }
    page.push_str("<table>\n");
    for (name, value) in report.lines() {
        let (name, value) = (escaped(&name), escaped(&value));
        let _ = writeln!(page, "<tr><th>{name}</th><td>{value}</td></tr>");
    }
    page.push_str("</table>\n");
    for example in &report.examples {
        let _ = writeln!(page, "<p class=\"failed\">{}</p>", escaped(example));
    }
    page.push_str("<div class=\"plots\">\n");
    for (heading, unit, lines) in plots(samples) {
        plot(&mut page, heading, unit, &lines);
    }
    page.push_str("</div>\n</html>\n");
    page
}

fn plots(samples: &[Sample]) -> Vec<(&'static str, &'static str, Vec<Line>)> {
    let of = |name, value: &dyn Fn(&Sample) -> Option<f64>| Line {
        name,
        points: (samples.iter())
            .filter_map(|sample| Some((sample.seconds, value(sample)?)))
            .collect(),
    };
    let server = |name, value: &dyn Fn(&ServerSample) -> f64| {
        of(name, &|sample| sample.server.as_ref().map(value))
    };
    let all = vec![
        (
            "Clients",
            "",
            vec![
                of("bots in the world", &|sample| Some(sample.bots)),
                server("clients of the server", &|server| server.clients),
            ],
        ),
        (
            "Latency",
            "ms",
            vec![
                of("median", &|sample| Some(sample.latency_ms_p50)),
                of("99th percentile", &|sample| Some(sample.latency_ms_p99)),
            ],
        ),
        (
            "Commands a second",
            "",
            vec![
                of("sent", &|sample| Some(sample.commands_per_second)),
                server("at the server", &|server| server.commands_per_second),
            ],
        ),
        (
            "The server's tick",
            "ms",
            vec![server("mean", &|server| server.tick_ms)],
        ),
        (
            "The server's processors",
            "cores",
            vec![server("busy", &|server| server.cores)],
        ),
        (
            "The server's memory",
            "MB",
            vec![server("resident", &|server| server.memory_bytes / 1e6)],
        ),
        (
            "Sent by the server",
            "MB a second",
            vec![server("payload", &|server| {
                server.sent_bytes_per_second / 1e6
            })],
        ),
    ];
    let has_points = |lines: &Vec<Line>| lines.iter().any(|line| !line.points.is_empty());
    let filled = all.into_iter().filter(|(_, _, lines)| has_points(lines));
    filled.collect()
}

/// Draws a plot as SVG. Its lines begin at 0, so that heights can be compared.
fn plot(page: &mut String, heading: &str, unit: &str, lines: &[Line]) {
    let points = || lines.iter().flat_map(|line| &line.points);
    let last = points().map(|point| point.0).fold(1.0, f64::max);
    let top = step_above(points().map(|point| point.1).fold(0.0, f64::max));
    let x = |seconds: f64| LEFT + (WIDTH - LEFT - RIGHT) * seconds / last;
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top;
    let unit = match unit {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    let _ = writeln!(
        page,
        "<figure><figcaption>{heading}{unit}</figcaption>\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{heading}\">"
    );
    for quarter in 0..=4 {
        let value = top * f64::from(quarter) / 4.0;
        let at = y(value);
        let _ = writeln!(
            page,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            number(value)
        );
    }
    for quarter in 0..=4 {
        let seconds = last * f64::from(quarter) / 4.0;
        let _ = writeln!(
            page,
            "<text class=\"x\" x=\"{:.1}\" y=\"{:.1}\">{} s</text>",
            x(seconds),
            HEIGHT - 6.0,
            number(seconds)
        );
    }
    let drawn = lines.iter().filter(|line| !line.points.is_empty());
    for (line, color) in drawn.clone().zip(COLORS) {
        let points = line.points.iter();
        let points: Vec<String> = points
            .map(|&(seconds, value)| format!("{:.1},{:.1}", x(seconds), y(value)))
            .collect();
        let _ = writeln!(
            page,
            "<polyline stroke=\"{color}\" points=\"{}\"/>",
            points.join(" ")
        );
    }
    page.push_str("</svg><p>");
    for (line, color) in drawn.zip(COLORS) {
        let _ = write!(
            page,
            "<span style=\"color:{color}\">■</span> {} ",
            escaped(line.name)
        );
    }
    page.push_str("</p></figure>\n");
}

/// The next of 1, 2, 4, 5, 8 and 10 times a power of ten.
fn step_above(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 4.0, 5.0, 8.0, 10.0];
    let step = steps.iter().find(|step| *step * power >= value);
    step.unwrap_or(&10.0) * power
}

fn number(value: f64) -> String {
    match value {
        _ if value >= 10_000.0 => format!("{:.0}k", value / 1000.0),
        _ if value >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        _ if value >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:1100px;margin:2rem auto;\
padding:0 1rem;color:#1c2330;background:#fff}h1{font-size:1.5rem}table{border-collapse:collapse;\
width:100%}th{text-align:left;font-weight:600;padding:.3rem 1.5rem .3rem 0;vertical-align:top;\
white-space:nowrap}td{padding:.3rem 0}tr{border-top:1px solid #e3e7ee}.failed{color:#b3261e}\
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(320px,1fr));gap:1.5rem;\
margin-top:1.5rem}figure{margin:0}figcaption{font-weight:600}svg{width:100%;height:auto}\
svg text{font-size:12px;fill:#5b6577}.y{text-anchor:end}.x{text-anchor:middle}\
.grid{stroke:#e3e7ee}polyline{fill:none;stroke-width:2}figure p{margin:.2rem 0;font-size:.85rem;\
color:#5b6577}@media(prefers-color-scheme:dark){body{color:#e6eaf2;background:#12161f}\
tr{border-color:#2a3140}.grid{stroke:#2a3140}svg text,figure p{fill:#9aa5b8;color:#9aa5b8}\
.failed{color:#ff8a80}}";
/// Distinct also for people who see no red or no green.
const COLORS: [&str; 2] = ["#2f6fde", "#e08a00"];
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_what_was_measured_and_no_markup_of_others() {
        let sample = |seconds: f64, server| Sample {
            seconds,
            bots: 10.0 * seconds,
            latency_ms_p99: 12.0,
            server,
            ..Sample::default()
        };
        let report = SwarmReport {
            behaviour: "<script>alert(1)</script>".to_owned(),
            examples: vec!["a & b".to_owned()],
            ..SwarmReport::default()
        };
        let alone = [sample(1.0, None), sample(2.0, None)];
        let page = html("Load test", &report, &["latency".to_owned()], &alone);
        assert!(!page.contains("<script") && page.contains("a &amp; b"));
        assert!(page.contains("failed: latency"));
        assert!(page.contains("Latency, ms") && !page.contains("The server's tick"));
        let server = ServerSample {
            tick_ms: 5.0,
            ..ServerSample::default()
        };
        let both = [sample(1.0, Some(server)), sample(2.0, None)];
        let page = html("Load test", &report, &[], &both);
        assert!(page.contains("The server's tick"));
    }

    #[test]
    fn axes_end_at_a_round_number_above_all_values() {
        for (value, top) in [
            (0.0, 1.0),
            (0.03, 0.04),
            (1.0, 1.0),
            (99.0, 100.0),
            (6100.0, 8000.0),
        ] {
            assert!((step_above(value) - top).abs() < 1e-9, "{value}");
        }
    }
}
