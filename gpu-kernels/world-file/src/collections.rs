//! Arrays and maps: `type = { array = "i32", length = 20 }` of an attribute. Each of its values
//! becomes an attribute with a name of its own, so that the other checks know no others.

use std::collections::BTreeMap;

use shared::world::attribute::AttributeType;
use shared::world::collection::{Member, member};
use shared::world::columns::KIND_ATTRIBUTES_MAX;

use super::check::{Problem, Problems, one_of, problem, unexpected};
use super::{names, raw};

/// What the values of an attribute go by.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    One,
    Array(u16),
    /// The keys, sorted, as symbols are: so a key that only a run knows is found at once.
    Map(Vec<String>),
}

/// Replaces each array and map by its attributes.
pub(super) fn expand(kinds: &mut [raw::Kind], problems: &mut Problems) {
    let mut known: BTreeMap<String, Form> = BTreeMap::new();
    for kind in kinds {
        let key = kind.key();
        let mut attributes = vec![];
        for attribute in std::mem::take(&mut kind.attributes) {
            let key = format!("{key}.attributes.{}", attribute.name);
            let checked = form(&key, &attribute)
                .and_then(|form| same_in_all(&key, &attribute.name, form, &mut known))
                .and_then(|form| values(&key, &attribute, &form));
            match problems.take(checked) {
                Some(values) => attributes.extend(values),
                // It can't be distinguished from a value of an array or a map.
                None if member(&attribute.name).is_some() => {}
                // As one value, its other keys are checked, too.
                None => {
                    let is_one = attribute.ty.many.is_none();
                    attributes.push(raw::Attribute {
                        ty: attribute.ty.of.into(),
                        default: None,
                        falls_at: attribute.falls_at.clone().filter(|_| is_one),
                        tells_owner: attribute.tells_owner.filter(|_| is_one),
                        ..attribute
                    });
                }
            }
        }
        kind.attributes = attributes;
    }
}

/// Says of an array or a map as a whole what is wrong with each of its values, once.
pub(super) fn join(problems: &mut Vec<Problem>, kinds: &[raw::Kind]) {
    let mut wholes: Vec<(String, String)> = vec![];
    for kind in kinds {
        for attribute in &kind.attributes {
            if let Some((whole, _)) = member(&attribute.name) {
                let key = |name: &str| format!("{}.attributes.{name}", kind.key());
                wholes.push((key(&attribute.name), key(whole)));
            }
        }
    }
    for problem in problems.iter_mut() {
        let whole = wholes.iter().find_map(|(one, whole)| {
            let rest = problem.key.strip_prefix(one)?;
            let is_it = rest.is_empty() || rest.starts_with('.');
            is_it.then(|| format!("{whole}{rest}"))
        });
        problem.key = whole.unwrap_or_else(|| std::mem::take(&mut problem.key));
    }
    let mut seen = vec![];
    problems.retain(|problem| {
        let own = (problem.key.clone(), problem.message.clone(), problem.place);
        let is_new = !seen.contains(&own);
        seen.push(own);
        is_new
    });
}

fn form(key: &str, attribute: &raw::Attribute) -> Result<Form, Problem> {
    let only_one = |what: &str| {
        let message = format!("only an attribute of one value has this, not {what}");
        let key = match (attribute.falls_at.is_some(), attribute.tells_owner) {
            (true, _) => format!("{key}.falls_at"),
            (_, Some(true)) => format!("{key}.tells_owner"),
            _ => return Ok(()),
        };
        problem(key, message)
    };
    let Some(many) = &attribute.ty.many else {
        // The names of values are not for others.
        if member(&attribute.name).is_some() {
            names::check(key, &attribute.name)?;
        }
        return Ok(Form::One);
    };
    names::check(key, &attribute.name)?;
    if attribute.ty.of.is_half() {
        let message = "an array or a map can't have values of type i64; declare them one by one";
        return problem(format!("{key}.type"), message);
    }
    if attribute.ty.of == AttributeType::Text {
        let message = "an array or a map can't have texts; declare them one by one";
        return problem(format!("{key}.type"), message);
    }
    match many {
        raw::Many::Array { length } => {
            only_one("an array")?;
            let length = match length {
                Some(length) => *length,
                None => return problem(format!("{key}.type"), "the key `length` is missing"),
            };
            let is_few = |few: &u16| (1..=KIND_ATTRIBUTES_MAX).contains(&usize::from(*few));
            match u16::try_from(length).ok().filter(is_few) {
                Some(length) => Ok(Form::Array(length)),
                None => {
                    let key = format!("{key}.type.length");
                    let expected = format!("1 to {KIND_ATTRIBUTES_MAX}, as each value is a column");
                    unexpected(key, length, expected)
                }
            }
        }
        raw::Many::Map { keys } => {
            only_one("a map")?;
            let key = format!("{key}.type.keys");
            let mut sorted = keys.clone();
            sorted.sort();
            if !(1..=KIND_ATTRIBUTES_MAX).contains(&sorted.len()) {
                let expected =
                    format!("1 to {KIND_ATTRIBUTES_MAX} keys, as each value is a column");
                return unexpected(key, sorted.len(), expected);
            }
            if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return problem(key, format!("{:?} is there twice", twice[0]));
            }
            for name in &sorted {
                names::check_key(&key, name)?;
            }
            Ok(Form::Map(sorted))
        }
    }
}

/// Kinds that use one name share its columns.
fn same_in_all(
    key: &str,
    name: &str,
    form: Form,
    known: &mut BTreeMap<String, Form>,
) -> Result<Form, Problem> {
    let of = known.entry(name.to_owned()).or_insert_with(|| form.clone());
    if *of == form {
        return Ok(form);
    }
    let expected = match of {
        Form::One => "one value".to_owned(),
        Form::Array(length) => format!("an array of length {length}"),
        Form::Map(keys) => format!("a map with the keys {keys:?}"),
    };
    let message = format!("expected {expected}, as in other kinds");
    problem(format!("{key}.type"), message)
}

/// The attributes of one, each with its default.
fn values(
    key: &str,
    attribute: &raw::Attribute,
    form: &Form,
) -> Result<Vec<raw::Attribute>, Problem> {
    let one = |member: Member<'_>, default: Option<toml::Value>| raw::Attribute {
        name: member.name(&attribute.name),
        ty: attribute.ty.of.into(),
        default,
        ..attribute.clone()
    };
    let default = &attribute.default;
    match (form, default) {
        (Form::One, _) => Ok(vec![raw::Attribute {
            ty: attribute.ty.of.into(),
            ..attribute.clone()
        }]),
        (Form::Array(length), Some(toml::Value::Array(defaults))) => {
            if defaults.len() != usize::from(*length) {
                let expected = format!("a value, or a list of {length}");
                let found = format!("a list of {}", defaults.len());
                return unexpected(format!("{key}.default"), found, expected);
            }
            let values = (0..).zip(defaults);
            let values = values.map(|(i, own)| one(Member::Index(i), Some(own.clone())));
            Ok(values.collect())
        }
        (Form::Array(length), default) => {
            let values = 0..*length;
            let values = values.map(|i| one(Member::Index(i), default.clone()));
            Ok(values.collect())
        }
        (Form::Map(keys), Some(toml::Value::Table(defaults)))
            if !CHOICES.iter().any(|choice| defaults.contains_key(*choice)) =>
        {
            if let Some(other) = defaults.keys().find(|own| !keys.contains(own)) {
                let key = format!("{key}.default");
                return unexpected(key, format!("{other:?}"), one_of(keys));
            }
            let values = keys.iter();
            let values = values.map(|own| one(Member::Key(own), defaults.get(own).cloned()));
            Ok(values.collect())
        }
        (Form::Map(keys), default) => {
            let values = keys.iter();
            let values = values.map(|own| one(Member::Key(own), default.clone()));
            Ok(values.collect())
        }
    }
}

/// The keys of a `default` that is a choice of several values.
const CHOICES: [&str; 4] = ["from", "to", "one_of", "in_turn"];
