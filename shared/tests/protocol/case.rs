//! One golden case, and the file that holds all of them.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

/// Bytes with a name, and what they say.
pub struct Case {
    pub name: &'static str,
    /// For people.
    text: &'static str,
    /// What its reader knows beforehand, as JSON; empty: nothing.
    given: String,
    pub bytes: Vec<u8>,
    /// What is read of the bytes, as JSON; `null` if they are refused.
    value: String,
}

impl Case {
    /// Bytes that can be read without knowing anything.
    pub fn new(
        name: &'static str,
        text: &'static str,
        bytes: Vec<u8>,
        value: &impl Serialize,
    ) -> Case {
        Case {
            name,
            text,
            given: String::new(),
            bytes,
            value: json(value),
        }
    }

    /// The same bytes, for a reader who knows this.
    pub fn given(self, given: &impl Serialize) -> Case {
        Case {
            given: json(given),
            ..self
        }
    }

    /// As an object of JSON, a line for each part.
    fn to_json(&self) -> String {
        let mut hex = String::new();
        for byte in &self.bytes {
            write!(hex, "{byte:02x}").expect("text grows");
        }
        let mut object = format!(
            "{{\"name\": \"{}\",\n \"text\": \"{}\"",
            self.name, self.text
        );
        if !self.given.is_empty() {
            write!(object, ",\n \"given\": {}", self.given).expect("text grows");
        }
        write!(
            object,
            ",\n \"bytes\": \"{hex}\",\n \"value\": {}}}",
            self.value
        )
        .expect("text grows");
        object
    }
}

/// The file of all cases.
pub fn file_of(cases: &[Case]) -> String {
    let objects: Vec<String> = cases.iter().map(Case::to_json).collect();
    let text = format!("[\n{}\n]\n", objects.join(",\n"));
    let read: Value = serde_json::from_str(&text).expect("a list in JSON");
    assert_eq!(read.as_array().map(Vec::len), Some(cases.len()));
    text
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers, texts and lists")
}
