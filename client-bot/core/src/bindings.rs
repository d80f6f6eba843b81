//! The interface of a world that a game's generated bindings were made from, as text, and how it
//! differs from a server's.
//!
//! ```text
//! bindings of hollow for rs, hash 0123456789abcdef
//! axes 2
//! kind player
//! attribute player.hp i32
//! attribute player.gold i32 private
//! command offer(to: entity, herbs: i32, price: i32)
//! notification deal(buyer: entity, herbs: i32, price: i32)
//! symbol oak
//! ```
//!
//! A server may have more than its clients' bindings: that is no difference.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use shared::{AttributeType, Audience, Schema};

/// The parts of a world that bindings name, as lines, in the order of its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline(Vec<Line>);

/// A part of a world: what it is, its name, and all that must stay as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    what: String,
    name: String,
    form: String,
}

/// The bindings of a game: the text that `myriad bindings` writes into them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bindings {
    world: String,
    language: String,
    outline: Outline,
}

impl Outline {
    /// That of a world, as its clients know it.
    pub fn of(schema: &Schema) -> Outline {
        let mut lines = vec![Line::new("axes", &schema.dimensions().to_string(), "")];
        for kind in &schema.kinds {
            lines.push(Line::new("kind", &kind.name, ""));
            for own in kind.attributes.iter() {
                let column = usize::from(own.column);
                let Some(attribute) = schema.attributes.get(column) else {
                    continue;
                };
                let is_half = attribute.ty == AttributeType::High;
                let is_position = column < schema.dimensions();
                if is_position || is_half || attribute.audience == Audience::Hidden {
                    continue;
                }
                let name = format!("{}.{}", kind.name, attribute.name);
                let private = match attribute.audience {
                    Audience::Private => " private",
                    _ => "",
                };
                let form = format!(" {}{private}", attribute.ty.name());
                lines.push(Line::new("attribute", &name, &form));
            }
        }
        for command in schema.commands.iter().filter(|c| c.senders.clients) {
            let words = command.words.iter().map(|word| (&*word.name, word.ty));
            lines.push(Line::new("command", &command.name, &listed(words)));
        }
        for notification in &schema.notifications {
            let fields = notification.fields.iter();
            let form = listed(fields.map(|field| (&*field.name, field.ty)));
            lines.push(Line::new("notification", &notification.name, &form));
        }
        for symbol in &schema.symbols {
            lines.push(Line::new("symbol", symbol, ""));
        }
        Outline(lines)
    }

    /// The text of bindings for a language: what [`GameOptions::bindings`] takes.
    ///
    /// [`GameOptions::bindings`]: crate::GameOptions::bindings
    pub fn bindings(&self, world: &str, language: &str) -> String {
        let text = self.to_string();
        format!(
            "bindings of {} for {language}, hash {:016x}\n{text}",
            one_line(world),
            hash(&text)
        )
    }

    /// A number that other outlines most likely have not.
    pub fn hash(&self) -> u64 {
        hash(&self.to_string())
    }

    /// What a world lacks or has otherwise that this one has, as parts of a sentence.
    fn differences(&self, found: &Outline) -> Vec<String> {
        let lacks = |of: &Outline, line: &Line| of.named(line).is_none();
        let missing: Vec<&Line> = self.0.iter().filter(|line| lacks(found, line)).collect();
        let kinds: BTreeSet<&str> = (missing.iter())
            .filter(|line| line.what == "kind")
            .map(|line| &*line.name)
            .collect();
        let mut differences = vec![];
        for line in &self.0 {
            // Of a kind that is gone, all attributes are.
            if line.what == "attribute" && kinds.contains(line.owner()) {
                continue;
            }
            match found.named(line) {
                Some(other) if other.form != line.form => {
                    let (own, other) = (line.form.trim(), other.form.trim());
                    differences.push(format!("{line} is `{other}` now, and was `{own}`"));
                }
                Some(_) => {}
                None => {
                    // A new part of the same form in place of a missing one, if it is the only one.
                    let is_like = |other: &&Line| other.is_like(line);
                    let mut new = (found.0.iter()).filter(|other| lacks(self, other));
                    let mut others = missing.iter().copied().filter(is_like);
                    let (renamed, _) = (new.find(is_like), others.next());
                    let is_only = others.next().is_none() && !new.any(|other| other.is_like(line));
                    differences.push(match renamed.filter(|_| is_only) {
                        Some(other) => format!("{line} is now called `{}`", other.name),
                        None => format!("{line} is missing"),
                    });
                }
            }
        }
        differences
    }

    fn named(&self, line: &Line) -> Option<&Line> {
        let is_it = |other: &&Line| other.what == line.what && other.name == line.name;
        self.0.iter().find(is_it)
    }
}

impl Bindings {
    /// Reads the text of bindings, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Bindings, String> {
        let expected = || {
            "the bindings can't be read: expected the text that `myriad bindings` has written"
                .to_owned()
        };
        let (head, rest) = text.split_once('\n').ok_or_else(expected)?;
        let head = head.strip_prefix("bindings of ").ok_or_else(expected)?;
        let (head, digits) = head.rsplit_once(", hash ").ok_or_else(expected)?;
        let (world, language) = head.rsplit_once(" for ").ok_or_else(expected)?;
        let lines = rest
            .lines()
            .map(|line| Line::parse(line).ok_or_else(expected));
        let outline = Outline(lines.collect::<Result<_, _>>()?);
        if digits != format!("{:016x}", outline.hash()) {
            return Err(expected());
        }
        Ok(Bindings {
            world: world.to_owned(),
            language: language.to_owned(),
            outline,
        })
    }

    /// Whether a server's world has all that these bindings name; otherwise a sentence with what
    /// differs.
    pub fn check(&self, schema: &Schema) -> Result<(), String> {
        let found = Outline::of(schema);
        if found.hash() == self.outline.hash() {
            return Ok(());
        }
        let differences = self.outline.differences(&found);
        if differences.is_empty() {
            return Ok(());
        }
        let more = differences.len().saturating_sub(NAMED_MAX);
        let mut text = differences[..differences.len() - more].join("; ");
        if more > 0 {
            let _ = write!(text, "; and {more} more");
        }
        Err(format!(
            "the world is not that of the game's bindings of `{}`: {text}. Generate the bindings \
             again with `myriad bindings --lang {}`",
            self.world, self.language,
        ))
    }
}

impl Line {
    fn new(what: &str, name: &str, form: &str) -> Line {
        Line {
            what: what.to_owned(),
            name: one_line(name),
            form: form.to_owned(),
        }
    }

    fn parse(line: &str) -> Option<Line> {
        let (what, rest) = line.split_once(' ')?;
        let (name, form) = match what {
            "attribute" => rest.split_at(rest.find(' ')?),
            "command" | "notification" => rest.split_at(rest.find('(')?),
            "axes" | "kind" | "symbol" => (rest, ""),
            _ => return None,
        };
        Some(Line::new(what, name, form))
    }

    /// The kind of an attribute.
    fn owner(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(kind, _)| kind)
    }

    fn is_like(&self, other: &Line) -> bool {
        self.what == other.what && self.form == other.form && self.owner() == other.owner()
    }
}

/// The subject of a sentence.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.what {
            "axes" => write!(f, "a world of {} axes", self.name),
            what => write!(f, "{what} `{}`", self.name),
        }
    }
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Line { what, name, form } in &self.0 {
            writeln!(f, "{what} {name}{form}")?;
        }
        Ok(())
    }
}

/// A name, which may be any text, as a part of a line.
fn one_line(name: &str) -> String {
    name.replace(char::is_control, " ")
}

fn listed<'a>(words: impl Iterator<Item = (&'a str, AttributeType)>) -> String {
    let words = words.map(|(name, ty)| format!("{name}: {}", ty.name()));
    format!("({})", words.collect::<Vec<_>>().join(", "))
}

/// FNV-1a, which other languages have in three lines.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// So many differences are named.
const NAMED_MAX: usize = 5;
