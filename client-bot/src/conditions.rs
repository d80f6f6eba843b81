//! Conditions under which a load test fails, such as `latency_ms_p99 > 150`.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::report::SwarmReport;

/// A figure of the report in JSON, compared with a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    figure: String,
    comparison: Comparison,
    bound: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Condition {
    /// The figure in a report, if the condition holds for it. A figure that is not a number, as
    /// a latency without a single answer, makes any condition hold.
    pub fn found(&self, report: &SwarmReport) -> Option<f64> {
        let figures = figures(report);
        let found = figures.iter().find(|(name, _)| *name == self.figure);
        let found = found.map_or(f64::NAN, |(_, value)| *value);
        let holds = match self.comparison {
            Comparison::Above => found > self.bound,
            Comparison::AtLeast => found >= self.bound,
            Comparison::Below => found < self.bound,
            Comparison::AtMost => found <= self.bound,
        };
        (holds || found.is_nan()).then_some(found)
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let form = || {
            format!(
                "{text:?} is no condition: expected one such as `latency_ms_p99 > 150`, with >, >=, < or <="
            )
        };
        let at = text.find(['<', '>']).ok_or_else(form)?;
        let (figure, rest) = text.split_at(at);
        let comparisons = [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            (">", Comparison::Above),
            ("<", Comparison::Below),
        ];
        let mut fitting = comparisons.iter();
        let (bound, comparison) = fitting
            .find_map(|(sign, comparison)| Some((rest.strip_prefix(sign)?, *comparison)))
            .ok_or_else(form)?;
        let bound: f64 = bound.trim().parse().map_err(|_| form())?;
        let figure = figure.trim();
        let names = figures(&SwarmReport::default());
        if !names.iter().any(|(name, _)| name == figure) {
            let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
            return Err(format!(
                "the report has no figure {figure:?}; expected one of {}",
                names.join(", ")
            ));
        }
        match bound.is_finite() {
            true => Ok(Condition {
                figure: figure.to_owned(),
                comparison,
                bound,
            }),
            false => Err(form()),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.comparison {
            Comparison::Above => ">",
            Comparison::AtLeast => ">=",
            Comparison::Below => "<",
            Comparison::AtMost => "<=",
        };
        write!(f, "{} {sign} {}", self.figure, self.bound)
    }
}

/// The numbers of a report, by their names in JSON.
fn figures(report: &SwarmReport) -> Vec<(String, f64)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(report) else {
        return vec![];
    };
    let fields = fields.into_iter();
    fields
        .filter_map(|(name, value)| match value {
            // As JSON has no other form for what is no number.
            Value::Null => Some((name, f64::NAN)),
            value => Some((name, value.as_f64()?)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(text: &str) -> Condition {
        text.parse().expect("a condition")
    }

    #[test]
    fn a_report_meets_a_condition_by_its_figures() {
        let report = SwarmReport {
            latency_ms_p99: 150.0,
            sessions_lost: 2,
            ..SwarmReport::default()
        };
        assert_eq!(condition("latency_ms_p99 > 150").found(&report), None);
        assert_eq!(condition("latency_ms_p99>=150").found(&report), Some(150.0));
        assert_eq!(condition("sessions_lost < 3").found(&report), Some(2.0));
        assert_eq!(condition(" sessions_lost <= 1.5").found(&report), None);
    }

    #[test]
    fn a_figure_that_is_no_number_meets_any() {
        let report = SwarmReport {
            latency_ms_p99: f64::NAN,
            ..SwarmReport::default()
        };
        let found = condition("latency_ms_p99 > 150").found(&report);
        assert!(found.is_some_and(f64::is_nan));
    }

    #[test]
    fn what_is_no_condition_is_rejected_with_what_was_expected() {
        let problem = |text: &str| text.parse::<Condition>().expect_err(text);
        for text in [
            "",
            "latency_ms_p99",
            "latency_ms_p99 > much",
            "latency_ms_p99 = 3",
            "seconds > inf",
        ] {
            assert!(problem(text).contains("expected one such as"), "{text}");
        }
        let unknown = problem("latency > 3");
        assert!(unknown.contains("no figure \"latency\"") && unknown.contains("latency_ms_p99"));
        assert!(problem("behaviour > 3").contains("no figure"));
    }

    #[test]
    fn a_condition_is_shown_as_it_is_written() {
        for text in ["sessions_lost > 0", "seconds <= 1.5"] {
            assert_eq!(condition(text).to_string(), text);
        }
    }
}
