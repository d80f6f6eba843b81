//! The changed scripts that take effect: all, or else those without problems that use nothing of the
//! others. Scripts that depend on each other take effect together.

use std::collections::BTreeSet;

use script::logic::compile_with;
use script::uses::Uses;
use script::{Logic, Problem};
use shared::WorldConfig;
use shared::world::logic::{LogicConfig, Text};

/// The outcome of changed scripts.
pub struct Admitted {
    /// The world with those that take effect, if any.
    pub compiled: Option<(WorldConfig, Logic)>,
    /// The problems of the others, rendered.
    pub problems: Vec<String>,
}

/// Compiles a world with other texts, or with as many of them as can be used.
pub fn admit(config: &WorldConfig, wanted: Vec<Text>) -> Admitted {
    let all = match compile(config, wanted.clone()) {
        Ok(compiled) => {
            return Admitted {
                compiled: Some(compiled),
                problems: vec![],
            };
        }
        Err(problems) => draw(&problems, &wanted),
    };
    let before = &config.logic.texts;
    let is_changed = |text: &&Text| !before.contains(text) || !wanted.contains(text);
    let changed = before.iter().chain(&wanted).filter(is_changed);
    let changed: BTreeSet<&str> = changed.map(|text| text.file.as_str()).collect();
    let groups = Uses::of(before.iter().chain(&wanted)).groups(&changed);
    if groups.len() == 1 {
        return Admitted {
            compiled: None,
            problems: all,
        };
    }
    let mut admitted = Admitted {
        compiled: None,
        problems: vec![],
    };
    for group in groups {
        let config = match &admitted.compiled {
            Some((config, _)) => config,
            None => config,
        };
        let texts = with_group(&config.logic.texts, &wanted, &group);
        match compile(config, texts.clone()) {
            Ok(compiled) => admitted.compiled = Some(compiled),
            Err(problems) => admitted.problems.extend(draw(&problems, &texts)),
        }
    }
    admitted
}

fn compile(config: &WorldConfig, texts: Vec<Text>) -> Result<(WorldConfig, Logic), Vec<Problem>> {
    let logic = LogicConfig {
        texts,
        ..config.logic.clone()
    };
    compile_with(config, &logic)
}

/// The texts, with those of a group from `wanted`.
fn with_group(texts: &[Text], wanted: &[Text], group: &BTreeSet<&str>) -> Vec<Text> {
    let is_of_group = |text: &&Text| group.contains(text.file.as_str());
    let others = texts.iter().filter(|text| !is_of_group(text));
    let mut texts: Vec<Text> = others
        .chain(wanted.iter().filter(is_of_group))
        .cloned()
        .collect();
    // In the order of a folder, so that it does not depend on the order of changes.
    texts.sort_by(|a, b| {
        (!a.is_builtin)
            .cmp(&!b.is_builtin)
            .then_with(|| match a.is_builtin {
                true => std::cmp::Ordering::Equal,
                false => a.file.cmp(&b.file),
            })
    });
    texts
}

fn draw(problems: &[Problem], texts: &[Text]) -> Vec<String> {
    let drawn = problems.iter().map(|problem| match problem.diagnostic() {
        Some(diagnostic) => script::diagnostic::draw(&[diagnostic], texts, false),
        None => format!("{problem}\n"),
    });
    drawn.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLD: &str = "
        [[kind]]
        name = 'player'
        attributes = [{ name = 'gold', type = 'i32', audience = 'state' }]
        [logic]
        builtin = ['move']
    ";

    fn text(file: &str, body: &str) -> Text {
        let name = file.trim_end_matches(".rs");
        let text = format!("#[command(clients)] fn {name}(me: Entity) {{ {body} }}");
        Text::new(file, text)
    }

    fn world(own: &[Text]) -> WorldConfig {
        let config = world_file::parse(WORLD, "a test's world").unwrap();
        let mut texts = config.logic.texts.clone();
        texts.extend(own.iter().cloned());
        compile(&config, texts).unwrap().0
    }

    fn wanted(config: &WorldConfig, own: &[Text]) -> Vec<Text> {
        let builtin = config.logic.texts.iter().filter(|text| text.is_builtin);
        builtin.chain(own).cloned().collect()
    }

    fn names(admitted: &Admitted) -> Vec<&str> {
        let Some((config, _)) = &admitted.compiled else {
            return vec![];
        };
        let commands = config.schema.commands.iter();
        commands.map(|command| command.name.as_str()).collect()
    }

    #[test]
    fn one_script_with_problems_does_not_block_those_that_use_nothing_of_it() {
        let before = [
            text("dig.rs", "me.gold += 1;"),
            text("sing.rs", "me.gold += 2;"),
        ];
        let config = world(&before);
        let now = [
            text("dig.rs", "me.silver += 1;"),
            text("hum.rs", "me.gold += 4;"),
            text("sing.rs", "me.gold += 3;"),
        ];
        let admitted = admit(&config, wanted(&config, &now));
        let (config, _) = admitted.compiled.as_ref().unwrap();
        let expected = [&before[0], &now[1], &now[2]];
        let own: Vec<&Text> = config
            .logic
            .texts
            .iter()
            .filter(|t| !t.is_builtin)
            .collect();
        assert_eq!(own, expected, "the world keeps the script that it has");
        assert!(names(&admitted).contains(&"hum"));
        let [problem] = &admitted.problems[..] else {
            panic!("{:?}", admitted.problems);
        };
        assert!(problem.contains("dig.rs") && problem.contains("no attribute `silver`"));
    }

    #[test]
    fn scripts_that_use_something_of_one_with_problems_wait_for_it() {
        let pay = |n: i32| format!("pub fn pay(who: Entity) {{ who.gold += {n}; }}");
        let before = [Text::new("pay.rs", pay(1)), text("dig.rs", "pay(me);")];
        let config = world(&before);
        let broken = Text::new("pay.rs", format!("{} fn", pay(2)));
        let now = [broken, text("dig.rs", "pay(me); pay(me);")];
        let admitted = admit(&config, wanted(&config, &now));
        assert!(admitted.compiled.is_none());
        assert_eq!(admitted.problems.len(), 1, "{:?}", admitted.problems);
        // Another one takes effect nevertheless.
        let now = [
            now[0].clone(),
            now[1].clone(),
            text("hum.rs", "me.gold += 4;"),
        ];
        let admitted = admit(&config, wanted(&config, &now));
        assert!(names(&admitted).contains(&"hum"));
        let (config, _) = admitted.compiled.unwrap();
        assert!(before.iter().all(|text| config.logic.texts.contains(text)));
    }

    #[test]
    fn a_script_that_is_gone_goes_although_another_one_has_problems() {
        let config = world(&[
            text("dig.rs", "me.gold += 1;"),
            text("hum.rs", "me.gold += 2;"),
        ]);
        let now = [text("hum.rs", "me.gold +=")];
        let admitted = admit(&config, wanted(&config, &now));
        assert!(names(&admitted).contains(&"hum") && !names(&admitted).contains(&"dig"));
        assert_eq!(admitted.problems.len(), 1);
    }
}
