//! Names of a world as names of a language.

use std::collections::HashMap;

use thiserror::Error;

/// Two names of a world that a language would write alike.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the {first_what} `{first}` and the {second_what} `{second}` would both be `{name}` in \
     {language}: rename one of them"
)]
pub struct Collision {
    pub language: &'static str,
    pub name: String,
    pub first_what: &'static str,
    pub first: String,
    pub second_what: &'static str,
    pub second: String,
}

/// How a language writes names of several words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `ready_at`
    Snake,
    /// `readyAt`
    Camel,
    /// `ReadyAt`
    Pascal,
    /// `READY_AT`
    Screaming,
}

/// The names of one scope of a language: no two are alike.
pub struct Scope {
    language: &'static str,
    case: Case,
    /// The language's words, and what the scope holds besides names of the world.
    reserved: Vec<String>,
    /// What a name of the world, with what it is, is called.
    taken: HashMap<String, (&'static str, String)>,
}

impl Scope {
    pub fn new(language: &'static str, case: Case, reserved: &[&[&'static str]]) -> Scope {
        Scope {
            language,
            case,
            reserved: reserved.concat().into_iter().map(str::to_owned).collect(),
            taken: HashMap::new(),
        }
    }

    /// A name that no part of the world can have here.
    pub fn reserve(&mut self, name: &str) {
        self.reserved.push(name.to_owned());
    }

    /// The name in this language of a part of the world. One that the language or its client needs
    /// gets a `_` at its end.
    pub fn name(&mut self, what: &'static str, name: &str) -> Result<String, Collision> {
        self.name_as(what, name, name)
    }

    /// The same, of a part that is called otherwise here, as its plural.
    pub fn name_as(
        &mut self,
        what: &'static str,
        name: &str,
        called: &str,
    ) -> Result<String, Collision> {
        let mut ident = ident(called, self.case);
        if self.reserved.contains(&ident) {
            ident.push('_');
        }
        let own = (what, name.to_owned());
        match self.taken.insert(ident.clone(), own.clone()) {
            Some((first_what, first)) if (first_what, &first) != (what, &own.1) => Err(Collision {
                language: self.language,
                name: ident,
                first_what,
                first,
                second_what: what,
                second: own.1,
            }),
            _ => Ok(ident),
        }
    }
}

/// A name in a case, with letters, digits and `_` only, and no digit first.
pub fn ident(name: &str, case: Case) -> String {
    let words = words(name);
    let mut ident = String::new();
    for (i, word) in words.iter().enumerate() {
        match case {
            Case::Snake | Case::Screaming if i > 0 => ident.push('_'),
            _ => {}
        }
        ident += &match case {
            Case::Snake => word.clone(),
            Case::Screaming => word.to_uppercase(),
            Case::Camel if i == 0 => word.clone(),
            Case::Camel | Case::Pascal => capitalized(word),
        };
    }
    match ident.chars().next() {
        Some(first) if !first.is_ascii_digit() => ident,
        _ => format!("_{ident}"),
    }
}

/// The words of a name in small letters: they end at capital letters and at what is neither letter
/// nor digit. Letters beyond ASCII, which C lacks, are their numbers.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut was_small = false;
    let mut is_new = true;
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            (is_new, was_small) = (true, false);
            continue;
        }
        if is_new || letter.is_uppercase() && was_small {
            words.push(String::new());
        }
        let word = words.last_mut();
        let small: String = match letter.is_ascii() {
            true => letter.to_ascii_lowercase().to_string(),
            false => format!("u{:x}", u32::from(letter)),
        };
        word.expect("a word was begun").push_str(&small);
        (is_new, was_small) = (false, !letter.is_uppercase());
    }
    words
}

/// The plural of an English noun, for lists of a kind's entities.
pub fn plural(name: &str) -> String {
    let small = name.to_lowercase();
    let but_last = |count: usize| name[..name.len() - count].to_owned();
    let irregular = IRREGULAR.iter().find(|(one, _)| small.ends_with(one));
    if let Some((one, many)) = irregular {
        return but_last(one.len()) + many;
    }
    let hisses = ["s", "x", "z", "ch", "sh"];
    let before_y = small.strip_suffix('y').and_then(|rest| rest.chars().last());
    match before_y {
        Some(letter) if !"aeiou".contains(letter) => but_last(1) + "ies",
        _ if hisses.iter().any(|end| small.ends_with(end)) => format!("{name}es"),
        _ => format!("{name}s"),
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Ends of nouns, and of their plurals.
const IRREGULAR: [(&str, &str); 9] = [
    ("wolf", "wolves"),
    ("elf", "elves"),
    ("calf", "calves"),
    ("leaf", "leaves"),
    ("thief", "thieves"),
    ("knife", "knives"),
    ("person", "people"),
    ("child", "children"),
    ("mouse", "mice"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_languages_write_them() {
        for (name, snake, pascal) in [
            ("hp", "hp", "Hp"),
            ("ready_at", "ready_at", "ReadyAt"),
            ("readyAt", "ready_at", "ReadyAt"),
            ("very angry", "very_angry", "VeryAngry"),
            ("1st", "_1st", "_1st"),
            ("müd", "mufcd", "Mufcd"),
            ("", "_", "_"),
        ] {
            assert_eq!(ident(name, Case::Snake), snake);
            assert_eq!(ident(name, Case::Pascal), pascal);
        }
        assert_eq!(ident("ready_at", Case::Camel), "readyAt");
        assert_eq!(ident("ready_at", Case::Screaming), "READY_AT");
    }

    #[test]
    fn plurals_are_those_of_english() {
        let pairs = [
            ("wolf", "wolves"),
            ("herb", "herbs"),
            ("fox", "foxes"),
            ("fly", "flies"),
            ("key", "keys"),
            ("werewolf", "werewolves"),
            ("self", "selves"),
            ("torch", "torches"),
        ];
        for (one, many) in pairs {
            assert_eq!(plural(one), many);
        }
    }

    #[test]
    fn names_that_would_be_alike_are_an_error_that_names_both() {
        let mut scope = Scope::new("Python", Case::Snake, &[&["class"]]);
        assert_eq!(scope.name("attribute", "class").unwrap(), "class_");
        assert_eq!(scope.name("attribute", "ready_at").unwrap(), "ready_at");
        let error = scope.name("attribute", "readyAt").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the attribute `ready_at` and the attribute `readyAt` would both be `ready_at` in \
             Python: rename one of them"
        );
    }
}
