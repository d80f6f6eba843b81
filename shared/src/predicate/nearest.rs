//! The declared name nearest to a misspelt one.

/// The nearest of these names, if it is near: most letters are the same. Clients, which read
/// no predicates, are built without it.
#[cfg(feature = "nearest")]
pub fn nearest<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    // Names are short; a long text is none of them, and would take long to compare.
    if found.len() > super::vocabulary::NAME_BYTES_MAX {
        return None;
    }
    let names = names.filter(|name| !name.is_empty());
    let distances = names.map(|name| (strsim::osa_distance(found, name), name));
    let (distance, name) = distances.min()?;
    let letters = found.chars().count().min(name.chars().count());
    (distance <= 1 + letters / 4 && distance < letters).then(|| name.to_owned())
}

#[cfg(not(feature = "nearest"))]
pub fn nearest<'a>(_: &str, _: impl Iterator<Item = &'a str>) -> Option<String> {
    None
}

/// A question behind an error.
pub fn question(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean \"{name}\"?"),
        None => String::new(),
    }
}

#[cfg(all(test, feature = "nearest"))]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_one_with_most_letters_the_same() {
        let names = ["hp", "gold", "team", "team_leader", ""];
        let near = |found| nearest(found, names.into_iter());
        assert_eq!(near("hpp").as_deref(), Some("hp"));
        assert_eq!(near("ph").as_deref(), Some("hp"));
        assert_eq!(near("gould").as_deref(), Some("gold"));
        assert_eq!(near("team_laeder").as_deref(), Some("team_leader"));
        assert_eq!(near("mana"), None);
        assert_eq!(nearest("z", ["x", "y"].into_iter()), None);
        assert_eq!(near(&"x".repeat(100)), None);
        assert_eq!(nearest("x", [].into_iter()), None);
    }
}
