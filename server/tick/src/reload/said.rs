//! Problems that are reported once: not again with every save of another script.

use std::collections::BTreeSet;

/// What was said of the scripts as they are now.
#[derive(Default)]
pub struct Said {
    problems: BTreeSet<String>,
    skipped: BTreeSet<String>,
}

impl Said {
    /// Those of all problems that there are now which are new.
    pub fn news(&mut self, problems: Vec<String>) -> Vec<String> {
        news(&mut self.problems, problems)
    }

    /// The same for what has the name of a script and is none.
    pub fn skipped(&mut self, skipped: &[String]) -> Vec<String> {
        news(&mut self.skipped, skipped.to_vec())
    }

    /// Forgets all problems; whether there were any.
    pub fn mended(&mut self) -> bool {
        !std::mem::take(&mut self.problems).is_empty()
    }
}

fn news(known: &mut BTreeSet<String>, now: Vec<String>) -> Vec<String> {
    let before = std::mem::replace(known, now.iter().cloned().collect());
    let is_new = |problem: &String| !before.contains(problem);
    now.into_iter().filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_said_once_until_it_is_mended() {
        let mut said = Said::default();
        let texts = |texts: &[&str]| texts.iter().map(|t| t.to_string()).collect::<Vec<_>>();
        assert_eq!(said.news(texts(&["a", "b"])), ["a", "b"]);
        assert_eq!(said.news(texts(&["a", "b"])), [""; 0]);
        assert_eq!(said.news(texts(&["b", "c"])), ["c"]);
        assert_eq!(
            said.news(texts(&["a", "b"])),
            ["a"],
            "it was mended meanwhile"
        );
        assert!(said.mended() && !said.mended());
        assert_eq!(said.news(texts(&["b"])), ["b"]);
    }
}
