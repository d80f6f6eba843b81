//! No two files of a folder import each other, also not by way of others. A module is a file with
//! the folder of its name, and imports what a path that begins with `crate` or `super` names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use crate::docs::sources::crates;

/// A folder, and modules in it that import each other.
type Circle = (String, Vec<String>);

#[test]
fn no_two_files_of_a_folder_import_each_other() {
    let mut found: BTreeMap<Circle, String> = BTreeMap::new();
    for (folder, sources) in crates() {
        let tree = Tree::new(&folder, sources);
        found.extend(tree.circles());
    }
    let mut wrong = String::new();
    for (circle, imports) in &found {
        let _ = writeln!(
            wrong,
            "{}: {:?} import each other:\n{imports}",
            circle.0, circle.1
        );
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_circle_is_found_through_groups_folders_and_what_a_parent_passes_on() {
    let circles = |sources: &[(&str, &str)]| -> Vec<Vec<String>> {
        let sources = sources
            .iter()
            .map(|&(path, text)| (path.into(), text.into()));
        let circles = Tree::new("src", sources.collect()).circles();
        circles
            .into_iter()
            .map(|((_, modules), _)| modules)
            .collect()
    };
    let none: [Vec<String>; 0] = [];
    let one = [vec!["a".to_owned(), "b".to_owned()]];
    let root = ("lib.rs", "mod a;\nmod b;\npub use b::Late;");
    let forth = ("a.rs", "use crate::{c::C, b::{self, B}};");
    assert_eq!(circles(&[root, forth, ("b.rs", "")]), none);
    assert_eq!(circles(&[root, forth, ("b.rs", "use super::a::A;")]), one);
    // A module's folder is the module.
    let inner = ("b/inner.rs", "fn f() { super::super::a::f() }");
    assert_eq!(circles(&[root, forth, ("b.rs", "mod inner;"), inner]), one);
    // `Late` is an item of `b`.
    let late = ("a.rs", "use crate::Late;");
    assert_eq!(circles(&[root, late, ("b.rs", "use crate::a::A;")]), one);
    // Comments, texts and tests import nothing.
    let quiet = "// use super::a::A;\nconst S: &str = \"crate::a::A\";\n\
                 #[cfg(test)]\nmod tests { use super::super::a::A; }\n\
                 pub(crate) struct A<'a>(&'a u8, char);";
    assert_eq!(circles(&[root, forth, ("b.rs", quiet)]), none);
    let three = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use super::b;"),
        ("b.rs", "use super::c;"),
        ("c.rs", "use super::a;"),
    ];
    assert_eq!(circles(&three), [["a", "b", "c"]]);
}

/// A path of names from a crate's root.
type Names = Vec<String>;

/// The modules of a crate.
struct Tree {
    folder: String,
    modules: BTreeMap<Names, Module>,
}

#[derive(Default)]
struct Module {
    /// Paths from the crate's root.
    imports: BTreeSet<Names>,
    /// Names that it has from elsewhere in the crate, and passes on.
    names: BTreeMap<String, Names>,
}

impl Tree {
    fn new(folder: &str, sources: Vec<(PathBuf, String)>) -> Tree {
        let mut modules = BTreeMap::new();
        let mut tests = BTreeSet::new();
        let mut read = vec![];
        for (path, text) in &sources {
            let mut names: Names = path
                .with_extension("")
                .iter()
                .map(|name| name.to_string_lossy().into_owned())
                .collect();
            if names.last().is_some_and(|last| last == "mod")
                || names.len() == 1 && ["lib", "main"].contains(&&*names[0])
            {
                names.pop();
            }
            let tokens = without_tests(tokens(text), &names, &mut tests);
            modules.entry(names.clone()).or_insert_with(Module::default);
            read.push((names, tokens));
        }
        let is_test = |names: &Names| (0..=names.len()).any(|n| tests.contains(&names[..n]));
        modules.retain(|names, _| !is_test(names));
        let children: BTreeSet<Names> = modules.keys().cloned().collect();
        for (names, tokens) in read.into_iter().filter(|(names, _)| !is_test(names)) {
            let module = modules.get_mut(&names).expect("it is there");
            read_module(&names, &tokens, &children, module);
        }
        Tree {
            folder: folder.to_owned(),
            modules,
        }
    }

    /// The module in which an item is declared, as far as `use` says it.
    fn home(&self, path: &[String]) -> Names {
        let mut path = path.to_vec();
        for _ in 0..PASSED_ON_MAX {
            let longest = (0..=path.len()).rev();
            let depth = longest
                .clone()
                .find(|&n| self.modules.contains_key(&path[..n]))
                .unwrap_or(0);
            let passed_on = path
                .get(depth)
                .and_then(|name| self.modules.get(&path[..depth])?.names.get(name));
            match passed_on {
                Some(from) => path = [from, &path[depth + 1..]].concat(),
                None => {
                    path.truncate(depth);
                    break;
                }
            }
        }
        path
    }

    /// The circles, each with the imports that make it.
    fn circles(&self) -> Vec<(Circle, String)> {
        // By folder: who imports whom, and an example.
        let mut arrows: BTreeMap<Names, BTreeMap<(String, String), String>> = BTreeMap::new();
        for (from, module) in &self.modules {
            for import in &module.imports {
                let to = self.home(import);
                let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
                    let folder = arrows.entry(from[..common].to_vec()).or_default();
                    folder
                        .entry((a.clone(), b.clone()))
                        .or_insert_with(|| format!("{}: {}", from.join("/"), import.join("::")));
                }
            }
        }
        let mut circles = vec![];
        for (folder, arrows) in &arrows {
            let place = [std::slice::from_ref(&self.folder), &folder[..]]
                .concat()
                .join("/");
            for modules in connected(arrows.keys()) {
                let mut imports = String::new();
                for ((a, b), example) in arrows {
                    if modules.contains(a) && modules.contains(b) {
                        let _ = writeln!(imports, "  {a} -> {b}, as in {example}");
                    }
                }
                circles.push(((place.clone(), modules.into_iter().collect()), imports));
            }
        }
        circles
    }
}

/// Groups of at least two that reach each other.
fn connected<'a>(
    arrows: impl Iterator<Item = &'a (String, String)> + Clone,
) -> Vec<BTreeSet<String>> {
    let reach = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from.clone()];
        while let Some(at) = next.pop() {
            let onward = arrows.clone().filter(|(a, _)| *a == at);
            next.extend(
                onward
                    .map(|(_, b)| b)
                    .filter(|&b| reached.insert(b.clone()))
                    .cloned(),
            );
        }
        reached
    };
    let all: BTreeSet<&String> = arrows.clone().map(|(a, _)| a).collect();
    let reached: BTreeMap<&String, BTreeSet<String>> = all.iter().map(|&a| (a, reach(a))).collect();
    let mut groups: Vec<BTreeSet<String>> = vec![];
    for (&a, from_a) in &reached {
        let is_mutual = |b: &&String| reached.get(b).is_some_and(|from_b| from_b.contains(a));
        let group: BTreeSet<String> = from_a.iter().filter(is_mutual).cloned().collect();
        if group.len() > 1 && !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

/// Adds the imports of a file, and the names that it has from others.
fn read_module(names: &Names, tokens: &[String], all: &BTreeSet<Names>, module: &mut Module) {
    let mut at = 0;
    while at < tokens.len() {
        let begins = match &*tokens[at] {
            "use" => at + 1,
            "crate" | "super" if tokens.get(at + 1).is_some_and(|next| next == "::") => at,
            _ => {
                at += 1;
                continue;
            }
        };
        let mut leaves = vec![];
        at = read_path(tokens, begins, &[], &mut leaves).max(at + 1);
        for (path, name) in leaves {
            let Some(path) = absolute(names, &path, all) else {
                continue;
            };
            module.imports.insert(path.clone());
            if begins > 0 && tokens[begins - 1] == "use" {
                module.names.insert(name, path);
            }
        }
    }
}

/// Reads a path with its groups; gives its paths, each with the name that it gets, and the place
/// behind it.
fn read_path(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    leaves: &mut Vec<(Names, String)>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    let next = read_path(tokens, at, &path, leaves);
                    at = next.max(at + 1);
                    if tokens.get(at).is_some_and(|token| token == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some(name) if name.starts_with(|c: char| c.is_alphanumeric() || c == '_') => {
                if name != "self" || path.is_empty() {
                    path.push(name.to_owned());
                }
                at += 1;
            }
            _ => break,
        }
        match tokens.get(at).map(String::as_str) {
            Some("::") => at += 1,
            _ => break,
        }
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if tokens.get(at).is_some_and(|token| token == "as") {
        name = tokens.get(at + 1).cloned().unwrap_or_default();
        at += 2;
    }
    leaves.push((path, name));
    at
}

/// A path from the crate's root; `None` if it leads into another crate.
fn absolute(names: &Names, path: &[String], all: &BTreeSet<Names>) -> Option<Names> {
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([names, &path[1..]].concat()),
        "super" => {
            let up = path.iter().take_while(|name| *name == "super").count();
            let base = names.len().checked_sub(up)?;
            Some([&names[..base], &path[up..]].concat())
        }
        first => {
            let child = [&names[..], &[first.to_owned()]].concat();
            all.contains(&child).then(|| [&names[..], path].concat())
        }
    }
}

/// Removes what only tests have; the modules of tests that are files of their own are added.
fn without_tests(tokens: Vec<String>, names: &Names, tests: &mut BTreeSet<Names>) -> Vec<String> {
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = vec![];
    let mut at = 0;
    while at < tokens.len() {
        let is_mark = tokens[at..]
            .iter()
            .zip(mark)
            .filter(|(a, b)| a == b)
            .count()
            == mark.len();
        if !is_mark {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += mark.len();
        let item = at;
        while at < tokens.len() && ![";", "{"].contains(&&*tokens[at]) {
            at += 1;
        }
        if let Some(m) = tokens[item..at].iter().position(|token| token == "mod")
            && let Some(name) = tokens.get(item + m + 1)
        {
            tests.insert([&names[..], std::slice::from_ref(name)].concat());
        }
        let mut depth = 0;
        while at < tokens.len() {
            match &*tokens[at] {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
    }
    kept
}

/// Words, `::` and other signs of a source, without comments and texts.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = vec![];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_text(rest) {
            length
        } else if first == '"' {
            let mut is_escaped = false;
            let mut ends = rest[1..].char_indices().filter(|&(_, c)| {
                let ends = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            });
            ends.next().map_or(rest.len(), |(end, _)| end + 2)
        } else if first == '\'' {
            let mut after = rest[1..].chars();
            match (after.next(), after.next()) {
                // A character, or the mark of a lifetime.
                (Some('\\'), _) => rest[3..].find('\'').map_or(rest.len(), |end| end + 4),
                (Some(c), Some('\'')) => c.len_utf8() + 2,
                _ => 1,
            }
        } else if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else {
            let sign = if rest.starts_with("::") {
                "::"
            } else {
                &rest[..first.len_utf8()]
            };
            if !first.is_whitespace() {
                tokens.push(sign.to_owned());
            }
            sign.len()
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of a raw text, as in `r#"…"#`.
fn raw_text(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or(rest.strip_prefix('r'))?;
    let marks = after.chars().take_while(|&c| c == '#').count();
    let inside = after[marks..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    let begun = rest.len() - inside.len();
    Some(
        inside
            .find(&end)
            .map_or(rest.len(), |at| begun + at + end.len()),
    )
}

/// How many modules may pass on an item.
const PASSED_ON_MAX: usize = 8;
