//! Messages to designers about mistakes between texts, or between texts and a world file.

use script::Problem;
use script::logic::with_logic;
use shared::WorldConfig;
use shared::world::logic::{Constant, Constants, LogicConfig, Text};

use crate::common;

fn problems(texts: &[(&str, &str)]) -> Vec<String> {
    let texts: Vec<Text> = texts
        .iter()
        .map(|(name, text)| Text::new(*name, *text))
        .collect();
    let problems = common::compile_all(&texts, &Constants::default()).expect_err("problems");
    problems.iter().map(Problem::to_string).collect()
}

#[test]
fn what_another_text_keeps_to_itself_is_named_with_that_text() {
    let other = "const REACH: Fixed = 3.0;\nfn heal(who: Entity) { who.hp += 1; }";
    let text = "#[command(clients)] fn aid(me: Entity, whom: Entity) {
        require(is_within(me, whom, REACH));
        heal(whom);
    }";
    assert_eq!(
        problems(&[("a.rs", text), ("b.rs", other)]),
        [
            "a.rs:2:37: there is no `REACH` here: b.rs has one, which it keeps to itself (write \
             `pub const REACH` in b.rs)",
            "a.rs:3:9: there is no function `heal`: b.rs has one, which it keeps to itself (write \
             `pub fn heal` in b.rs)",
        ]
    );
}

#[test]
fn a_text_that_cannot_be_read_does_not_hide_the_problems_of_texts_that_use_nothing_of_it() {
    let broken = "pub const REACH: Fixed = ;";
    let user = "fn reach() -> Fixed { REACH * 2 }\nfn wrong(n: i32) -> Fixed { n }";
    let other = "fn other(n: i32) -> Fixed { n }";
    let found = problems(&[("a.rs", broken), ("b.rs", user), ("c.rs", other)]);
    let [first, second] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(
        first.starts_with("a.rs:1:26: this is not Rust's syntax"),
        "{first}"
    );
    assert!(
        second.starts_with("c.rs:1:29: the types differ"),
        "{second}"
    );
}

#[test]
fn constants_that_no_text_has_are_named_without_an_empty_list() {
    let text = Text::new(
        "hum.rs",
        "#[command(rules)] fn buzz(me: Entity) { me.gold += 1; }",
    );
    let problem = |stem: &str, texts: &[Text]| {
        let set = [("loud".to_owned(), Constant::Int(1))].into();
        let constants = Constants::from([(stem.to_owned(), set)]);
        common::compile_all(texts, &constants).unwrap_err()[0].to_string()
    };
    assert_eq!(
        problem("hum", std::slice::from_ref(&text)),
        "commands.hum.loud: there is no such constant: hum.rs declares none"
    );
    assert_eq!(
        problem("buzz", std::slice::from_ref(&text)),
        "commands.buzz.loud: there is no such constant; expected one of [\"per_tick\", \
         \"cooldown\"]"
    );
    assert_eq!(
        problem("hum", &[]),
        "commands.hum: there is no such text, as the world has no scripts"
    );
}

const WOLVES: &str = "
    [logic]
    builtin = ['move', 'roam', 'blast']
    [[kind]]
    name = 'wolf'
    population = 1
    born = 'wake'
    attributes = [{ name = 'hp', type = 'i32', audience = 'state' }]
    [[every]]
    kind = 'wolf'
    ticks = 10
    command = 'howl'
    words = [3]
";

const HOWL: &str = "#[command(rules)] fn howl(me: Entity, n: i32) { me.hp += n; }
    #[command(clients)] fn bark(me: Entity) { me.hp += 1; }
    #[command] fn wake(me: Entity) { me.hp += 1; }";

/// A world with a text of its own.
fn read(name: &str, world: &str, text: &str) -> Result<WorldConfig, String> {
    let folder = std::env::temp_dir().join(format!("myriad-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.rs")), text).unwrap();
    let reader = world_file::Reader {
        folder: Some(folder.clone()),
        ..Default::default()
    };
    let checked = reader.parse(world, "w.toml");
    std::fs::remove_dir_all(folder).unwrap();
    let config = checked.map(|checked| checked.config);
    config.map_err(|error| error.to_string())
}

#[test]
fn a_limit_of_the_past_names_the_script_that_needs_it() {
    let shoot = "#[command(clients)] fn shoot(me: Entity, at: Entity) {
        require(was_within(at, 3.0, tick() - 2));
        me.hp += 1;
    }";
    let rejected = read("shoot", "", shoot).unwrap_err();
    assert_eq!(
        rejected,
        "w.toml: limits.rewind_ticks: `shoot` of shoot.rs uses `was_within`, which needs this \
         limit: expected 1 to 64, found 0"
    );
    let seen = "#[command(clients)] fn aim(me: Entity, seen: i32) { me.hp += seen; }";
    let rejected = read("aim", "", seen).unwrap_err();
    assert!(
        rejected.contains("`aim` of aim.rs has a parameter `seen`"),
        "{rejected}"
    );
    assert!(read("shoot", "[limits]\nrewind_ticks = 4", shoot).is_ok());
}

#[test]
fn a_reload_that_a_rule_forbids_names_the_rule_the_command_and_what_differs() {
    let config = read("howl", WOLVES, HOWL).unwrap();
    let reload = |from: &str, to: &str| {
        assert!(HOWL.contains(from), "{from}");
        let mut texts = config.logic.texts.clone();
        texts.retain(|text| text.is_builtin);
        texts.push(Text::new("howl.rs", HOWL.replace(from, to)));
        let logic = LogicConfig {
            texts,
            ..config.logic.clone()
        };
        let problems = with_logic(&config, &logic).expect_err("problems");
        problems.iter().map(Problem::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        reload("fn howl", "fn yowl"),
        [
            "every[0]: the rule for `wolf` gives `howl`, which is gone: declare it with \
          `#[command(rules)]`"
        ]
    );
    assert_eq!(
        reload("n: i32)", "n: i32, m: i32)"),
        ["every[0]: the rule for `wolf` gives `howl` 1 numbers, and it takes 2 now"]
    );
    assert_eq!(
        reload("#[command(rules)]", "#[command(clients)]"),
        [
            "every[0]: the rule for `wolf` gives `howl`, which is not for rules any more: declare it \
          with `#[command(rules)]`"
        ]
    );
    assert_eq!(
        reload("fn wake", "fn rise"),
        ["kind.wolf.born: `wake`, which newborns give, is gone: declare it again"]
    );
    assert_eq!(
        reload("fn wake(me: Entity)", "fn wake(me: Entity, n: i32)"),
        ["kind.wolf.born: `wake`, which newborns give, has to take `me` and nothing else"]
    );
}
