//! Finds what other languages write differently, near the place where a text stops being Rust.

use std::ops::Range;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// What is written, and what scripts write in its place.
pub struct Foreign {
    pub place: Range<usize>,
    pub message: String,
    pub label: String,
    pub help: String,
}

/// What explains a problem at `at`: the last of its line before the place, else the first
/// after it, else the last of the line before. `range` gives the bytes of a place.
pub fn near(
    tokens: TokenStream,
    text: &str,
    at: usize,
    range: &dyn Fn(Span) -> Range<usize>,
) -> Option<Foreign> {
    let mut words = vec![];
    flatten(tokens, range, &mut words);
    let line_of = |at: usize| {
        let before = text.as_bytes()[..at.min(text.len())].iter();
        before.filter(|&&byte| byte == b'\n').count()
    };
    let line = line_of(at);
    let found: Vec<Foreign> = (0..words.len())
        .filter(|&i| (line.saturating_sub(1)..=line).contains(&line_of(words[i].place.start)))
        .filter_map(|i| foreign(&words, i, text))
        .collect();
    let is_on_line = |found: &&Foreign| line_of(found.place.start) == line;
    let is_before = |found: &&Foreign| found.place.start <= at;
    let before = found.iter().rev().find(|f| is_on_line(f) && is_before(f));
    let chosen = before.or_else(|| found.iter().find(is_on_line));
    let chosen = chosen.or(found.last())?.place.clone();
    found.into_iter().find(|found| found.place == chosen)
}

/// A word, a sign or a bracket.
struct Word {
    text: String,
    place: Range<usize>,
}

fn flatten(tokens: TokenStream, range: &dyn Fn(Span) -> Range<usize>, words: &mut Vec<Word>) {
    for token in tokens {
        let mut add = |text: String, span: Span| {
            words.push(Word {
                text,
                place: range(span),
            });
        };
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                add(open.to_owned(), group.span_open());
                flatten(group.stream(), range, words);
                let place = range(group.span_close());
                words.push(Word {
                    text: close.to_owned(),
                    place,
                });
            }
            TokenTree::Ident(ident) => add(ident.to_string(), ident.span()),
            TokenTree::Punct(sign) => add(sign.as_char().to_string(), sign.span()),
            TokenTree::Literal(literal) => add(literal.to_string(), literal.span()),
        }
    }
}

/// What stands at a word, if scripts write it differently.
fn foreign(words: &[Word], i: usize, text: &str) -> Option<Foreign> {
    let at = |n: usize| words.get(n).map_or("", |word| word.text.as_str());
    let here = at(i);
    let before = i.checked_sub(1).map_or("", at);
    let found = |last: usize, expected: &str, help: &str| {
        let place = words[i].place.start..words[last].place.end;
        let source = text.get(place.clone()).unwrap_or(here);
        Some(Foreign {
            message: format!("scripts don't write `{source}`"),
            label: format!("expected {expected}"),
            help: help.to_owned(),
            place,
        })
    };
    // Signs that stand together without a blank.
    let joined = |signs: &str| {
        let mut signs = signs.chars().enumerate();
        let start = words[i].place.start;
        signs.all(|(n, sign)| {
            let word = words.get(i + n);
            word.is_some_and(|word| word.text.chars().eq([sign]) && word.place.start == start + n)
        })
    };
    let starts_statement = matches!(before, "" | ";" | "{" | "}");
    let is_operand_before = is_word(before) || matches!(before, ")" | "]") || is_literal(before);
    let is_operand_after = is_word(at(i + 1)) || at(i + 1) == "(" || is_literal(at(i + 1));
    match here {
        "and" | "or" | "xor" | "mod" | "div" | "is" if is_operand_before && !is_keyword(before) => {
            let (expected, help) = match here {
                "and" => ("`&&`", "write `a && b`"),
                "or" => ("`||`", "write `a || b`"),
                "xor" => ("`!=`", "of two `bool`, one is true if `a != b`"),
                "mod" => ("`%`", "write `a % b`"),
                "div" => ("`/`", "`a / b` of two `i32` is a whole number"),
                _ => ("`==`", "write `a == b`"),
            };
            return found(i, expected, help);
        }
        "not" if is_operand_after || at(i + 1) == "!" => {
            return found(i, "`!`", "write `!a`, or `!(a && b)`");
        }
        "elif" | "elsif" | "elseif" | "elsewhen" if before == "}" || starts_statement => {
            return found(
                i,
                "`else if`",
                "write `if a { … } else if b { … } else { … }`",
            );
        }
        "unless" | "until" if starts_statement => {
            return found(i, "`if !(…)`", "write `if !(a) { … }`");
        }
        "then" | "do" | "begin" if is_operand_before => {
            return found(i, "`{`", "blocks stand in braces: `if a { … }`");
        }
        "endif" | "end" | "fi" | "done" if starts_statement || before == "}" => {
            return found(i, "`}`", "blocks stand in braces: `if a { … }`");
        }
        "switch" | "case" | "when" | "default" if starts_statement || at(i + 1) == ":" => {
            let help = "write `match value { 1 => …, \"red\" => …, _ => … }`";
            return found(i, "`match`", help);
        }
        "foreach" | "each" if starts_statement || before == "for" => {
            return found(i, "`for`", "write `for it in near(me, 10.0) { … }`");
        }
        "for" if at(i + 1) == "(" && starts_statement => {
            return found(
                i + 1,
                "`for i in 0..10 {`",
                "a loop goes over a range or over what is near",
            );
        }
        "function" | "def" | "func" | "fun" | "void" | "sub" | "proc"
            if is_word(at(i + 1)) && at(i + 2) == "(" =>
        {
            return found(i, "`fn`", "write `fn name(me: Entity, n: i32) { … }`");
        }
        "import" | "include" | "require_once" | "using"
            if starts_statement && is_word(at(i + 1)) =>
        {
            return found(i, "an item", "texts see what is `pub` in other texts");
        }
        "null" | "nil" | "undefined" => {
            return found(i, "`none`", "an entity that isn't there is `none`");
        }
        "let" => return foreign_let(words, i, &found),
        "mut" if before != "let" && is_word(at(i + 1)) && at(i + 2) == "=" => {
            return found(i, "`let mut`", "write `let mut name = value;`");
        }
        "const" if is_word(at(i + 1)) && at(i + 2) == "=" => {
            let help = "a constant says its type: `const REACH: Fixed = 3.0;`";
            return found(i + 1, "`const NAME: Type`", help);
        }
        _ if is_declaring(here) && is_word(at(i + 1)) && !is_keyword(at(i + 1)) => {
            if starts_statement && matches!(at(i + 2), "=" | ";") {
                return found(
                    i,
                    "`let`",
                    "write `let name = value;`, or `let mut` if it changes",
                );
            }
            if matches!(before, "(" | ",") && matches!(at(i + 2), "," | ")") {
                return found(i + 1, "`name: Type`", "the type follows the name: `n: i32`");
            }
        }
        _ => {}
    }
    let signs: [(&str, bool, &str, &str); 13] = [
        ("++", true, "`+= 1`", "write `n += 1`"),
        (
            "--",
            !is_operand_after || is_operand_before,
            "`-= 1`",
            "write `n -= 1`",
        ),
        ("===", true, "`==`", "write `a == b`"),
        ("!==", true, "`!=`", "write `a != b`"),
        ("<>", true, "`!=`", "write `a != b`"),
        ("~=", is_operand_before, "`!=`", "write `a != b`"),
        (
            ":=",
            true,
            "`=`",
            "write `let name = value;`, or `name = value;` to change it",
        ),
        ("=<", true, "`<=`", "write `a <= b`"),
        ("=+", true, "`+=`", "write `n += 1`"),
        (
            "**",
            is_operand_before,
            "a product",
            "there is no power: write `a * a`",
        ),
        (
            "->",
            is_operand_before && before != ")",
            "`.`",
            "write `me.hp`",
        ),
        ("::", is_operand_before, "`.`", "write `me.hp`"),
        ("??", true, "`if`", "write `if exists(a) { a } else { b }`"),
    ];
    for (sign, fits, expected, help) in signs {
        if fits && joined(sign) {
            return found(i + sign.len() - 1, expected, help);
        }
    }
    match here {
        "?" if is_operand_before => found(i, "`if`", "write `if a { b } else { c }`"),
        "~" => found(i, "`!`", "write `!a`"),
        "$" | "@" => found(i, "a name alone", "names have no sign before them"),
        "#" if !matches!(at(i + 1), "[" | "!") => found(i, "`//`", "a comment begins with `//`"),
        ":" if ends_line(words, i, text) && heads_block(words, i, text) => {
            found(i, "`{`", "blocks stand in braces: `if a { … }`")
        }
        _ => None,
    }
}

/// `let x == 5`, `let x += 1`, `let me.hp = 5`, `let int x = 5`.
fn foreign_let(
    words: &[Word],
    i: usize,
    found: &dyn Fn(usize, &str, &str) -> Option<Foreign>,
) -> Option<Foreign> {
    let at = |n: usize| words.get(n).map_or("", |word| word.text.as_str());
    let name = if at(i + 1) == "mut" { i + 2 } else { i + 1 };
    if !is_word(at(name)) {
        return None;
    }
    match (at(name + 1), at(name + 2)) {
        ("=", "=") => found(
            name + 2,
            "`let name = value`",
            "`=` gives a value, `==` compares",
        ),
        ("+" | "-" | "*" | "/" | "%", "=") => {
            let help = "`let mut name = value;` declares it once, `name += 1;` changes it";
            found(name + 2, "the change alone", help)
        }
        (".", _) => found(
            name + 2,
            "the change alone",
            "attributes are not declared: write `me.hp += 1;`",
        ),
        ("mut", _) => found(name + 1, "`let mut name`", "write `let mut name = value;`"),
        _ if is_declaring(at(name)) && is_word(at(name + 1)) => found(
            name,
            "`let name`",
            "write `let name = value;`, or `let name: i32 = value;`",
        ),
        _ => None,
    }
}

/// Whether nothing follows on the line.
fn ends_line(words: &[Word], i: usize, text: &str) -> bool {
    let end = words[i].place.end;
    let next = words.get(i + 1).map_or(text.len(), |word| word.place.start);
    text.get(end..next)
        .is_some_and(|between| between.contains('\n'))
}

/// Whether a line begins with what a block follows.
fn heads_block(words: &[Word], i: usize, text: &str) -> bool {
    let start = text[..words[i].place.start]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let mut of_line = words[..i].iter().filter(|word| word.place.start >= start);
    let first = of_line.next().map(|word| word.text.as_str());
    first.is_some_and(|first| ["if", "else", "for", "while", "fn", "match"].contains(&first))
}

fn is_word(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

fn is_literal(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '"')
}

/// Words of Rust after which a value begins.
fn is_keyword(text: &str) -> bool {
    [
        "if", "else", "let", "mut", "in", "for", "match", "return", "as", "fn", "const",
    ]
    .contains(&text)
}

/// What other languages write where scripts write `let`.
fn is_declaring(text: &str) -> bool {
    let known = [
        "var", "val", "auto", "local", "dim", "int", "integer", "long", "float", "double",
        "number", "bool", "boolean", "string", "String", "i32", "Fixed", "Entity", "Point",
        "Symbol",
    ];
    known.contains(&text)
}

/// The type that scripts have for one of another language.
pub fn type_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "int" | "integer" | "Integer" | "Int" | "long" | "short" | "byte" | "i8" | "i16"
        | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "uint" => "i32",
        "float" | "double" | "f32" | "f64" | "Float" | "Double" | "fixed" | "real" | "decimal" => {
            "Fixed"
        }
        "number" | "Number" => "i32` or `Fixed",
        "boolean" | "Boolean" | "Bool" => "bool",
        "string" | "String" | "str" | "text" => "Text` or `Symbol",
        "symbol" | "char" => "Symbol",
        "Vec2" | "Vec3" | "Vector" | "Vector2" | "Vector3" | "Position" | "point" | "vec" => {
            "Point"
        }
        "entity" | "Player" | "Actor" | "Object" | "GameObject" | "Node" | "Unit" | "Self" => {
            "Entity"
        }
        _ => return None,
    })
}

/// The value that scripts have for one of another language.
pub fn value_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "null" | "nil" | "None" | "NULL" | "undefined" | "nullptr" | "nobody" => "none",
        "True" | "TRUE" | "yes" => "true",
        "False" | "FALSE" | "no" => "false",
        "this" | "self" | "Self" | "player" => "me",
        _ => return None,
    })
}

/// What scripts write for a function of another language.
pub fn call_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "print" | "println" | "printf" | "log" | "debug" | "echo" => {
            "clients learn what happens by `tell(Name { … }, around(me, 20.0))`"
        }
        "rand" | "rnd" | "randint" | "randrange" | "random_range" | "RandomRange" => {
            "write `random(1, 6)`, which is 1 to 6"
        }
        "sleep" | "wait" | "delay" | "setTimeout" | "invoke" | "schedule" => {
            "write `after(ticks, command(…))`"
        }
        "int" | "i32" | "Int" | "floor" | "trunc" | "parseInt" => {
            "write `n as i32`, which drops the fraction"
        }
        "float" | "double" | "Fixed" | "f32" | "f64" => "write `n as Fixed`",
        "not" => "write `!a`",
        "pow" | "square" => "write `a * a`",
        "dist" | "distance_to" => "write `distance(me, other)`",
        "vec" | "vec2" | "vec3" | "Vec2" | "Vec3" | "Vector2" | "Vector3" => "write `point(x, y)`",
        "assert" | "ensure" | "guard" => "write `require(condition, \"reason\")`",
        "destroy" | "kill" | "delete" | "remove" | "free" => "write `despawn(other)`",
        "create" | "instantiate" | "Instantiate" | "new" => "write `spawn(\"item\", me)`",
        "emit" | "notify" | "send" | "broadcast" | "fire" => {
            "write `tell(Name { … }, around(me, 20.0))`"
        }
        "sin" => "write `sine(degrees)`",
        "cos" => "write `cosine(degrees)`",
        "atan" | "atan2" | "heading" | "bearing" | "direction" | "look_at" => {
            "write `angle(me, other)`, which is -180.0 to 180.0 degrees"
        }
        "rotate" | "rotated" => "write `turn(offset, degrees)`",
        "clip" | "lerp" => "there are `clamp(n, low, high)` and `towards(from, to, most)`",
        _ => return None,
    })
}
