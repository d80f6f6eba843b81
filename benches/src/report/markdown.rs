//! Tables as Markdown.

use std::io::{self, Write};

pub fn title(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n### {text}\n")
}

/// A table's head. Columns are aligned to the right, since most hold numbers.
pub fn head<S: AsRef<str>>(out: &mut dyn Write, cells: &[S]) -> io::Result<()> {
    line(out, cells)?;
    writeln!(out, "|{}", " ---: |".repeat(cells.len()))
}

pub fn line<S: AsRef<str>>(out: &mut dyn Write, cells: &[S]) -> io::Result<()> {
    write!(out, "|")?;
    for cell in cells {
        write!(out, " {} |", cell.as_ref())?;
    }
    writeln!(out)
}

/// The cell of a time in milliseconds or of a ratio: three decimals.
pub fn number(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), |value| format!("{value:.3}"))
}

/// The same for people: three digits, or more before the point.
pub fn rounded(value: Option<f64>) -> String {
    match value {
        None => NOTHING.to_owned(),
        Some(value) if value >= 99.95 => grouped(value.round() as u64),
        Some(value) if value >= 9.995 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// A whole number with grouped thousands.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The cell of a value that was not measured or does not exist.
pub const NOTHING: &str = "-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_more_before_the_point() {
        let cases = [
            (0.0, "0.00"),
            (5.878, "5.88"),
            (9.996, "10.0"),
            (15.94, "15.9"),
            (99.96, "100"),
            (11_562.311, "11,562"),
        ];
        for (value, text) in cases {
            assert_eq!(rounded(Some(value)), text);
        }
        assert_eq!(rounded(None), "-");
    }

    #[test]
    fn thousands_are_grouped() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (157_156_824, "157,156,824"),
        ];
        for (value, text) in cases {
            assert_eq!(grouped(value), text);
        }
    }
}
