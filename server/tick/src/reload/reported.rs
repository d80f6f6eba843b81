//! Problems that were logged: each is logged once, not with every save of another script.

use std::collections::BTreeSet;

/// The logged problems of the current scripts.
#[derive(Default)]
pub struct Reported {
    problems: BTreeSet<String>,
    skipped: BTreeSet<String>,
    warnings: BTreeSet<String>,
}

impl Reported {
    /// The new ones among all current problems.
    pub fn new_problems(&mut self, problems: Vec<String>) -> Vec<String> {
        only_new(&mut self.problems, problems)
    }

    /// The same for files with the name of a script that are none.
    pub fn skipped(&mut self, skipped: &[String]) -> Vec<String> {
        only_new(&mut self.skipped, skipped.to_vec())
    }

    /// The same for warnings.
    pub fn warnings(&mut self, warnings: Vec<String>) -> Vec<String> {
        only_new(&mut self.warnings, warnings)
    }

    /// Forgets all problems; whether there were any.
    pub fn fixed(&mut self) -> bool {
        !std::mem::take(&mut self.problems).is_empty()
    }
}

fn only_new(known: &mut BTreeSet<String>, now: Vec<String>) -> Vec<String> {
    let before = std::mem::replace(known, now.iter().cloned().collect());
    let is_new = |problem: &String| !before.contains(problem);
    now.into_iter().filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_reported_once_until_it_is_fixed() {
        let mut reported = Reported::default();
        let texts = |texts: &[&str]| texts.iter().map(|t| t.to_string()).collect::<Vec<_>>();
        assert_eq!(reported.new_problems(texts(&["a", "b"])), ["a", "b"]);
        assert_eq!(reported.new_problems(texts(&["a", "b"])), [""; 0]);
        assert_eq!(reported.new_problems(texts(&["b", "c"])), ["c"]);
        assert_eq!(
            reported.new_problems(texts(&["a", "b"])),
            ["a"],
            "it was fixed meanwhile"
        );
        assert!(reported.fixed() && !reported.fixed());
        assert_eq!(reported.new_problems(texts(&["b"])), ["b"]);
    }
}
