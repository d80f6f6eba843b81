//! Symbols are those of their attribute: what a compiler knows of them it checks.

use script::Logic;
use script::Problem;
use shared::WorldConfig;
use shared::world::logic::{Constant, LogicConfig, Text};
use world_file::parse;

/// `rank` has other symbols for guards than for players; some of other attributes are
/// between them in the world's sorted list.
const WORLD: &str = r#"
[[kind]]
name = "player"
attributes = [
    { name = "rank", type = "symbol", symbols = ["novice", "expert", "master"], audience = "state" },
    { name = "team", type = "symbol", symbols = ["red", "blue"], audience = "state" },
    { name = "metal", type = "symbol", symbols = ["gold", "iron", "master"], audience = "state" },
    { name = "hp", type = "i32", audience = "state" },
]
[[kind]]
name = "guard"
attributes = [
    { name = "rank", type = "symbol", symbols = ["captain", "master"], audience = "state" },
]
"#;

fn world() -> WorldConfig {
    parse(WORLD, "symbols").unwrap()
}

fn compile(text: &str, constants: &[(&str, &str)]) -> Result<Logic, Vec<Problem>> {
    let config = world();
    let mut logic = LogicConfig {
        texts: vec![Text::new("test.rs", text)],
        ..LogicConfig::default()
    };
    let own = logic.constants.entry("test".to_owned()).or_default();
    for (key, value) in constants {
        own.insert((*key).to_owned(), Constant::Text((*value).to_owned()));
    }
    Logic::compile_with(&config.schema, &config.symbols, &logic)
}

/// The only problem of a command's body: its message and its label.
fn problem(body: &str) -> (String, String) {
    let text = format!(
        "const BLUE: Symbol = \"blue\";\nfn of_rank(rank: Symbol<rank>) -> bool {{ rank == \"master\" }}\n\
         #[command(clients)] fn test(me: Entity, other: Entity, any: Symbol, own: Symbol<rank>) {{ {body} }}"
    );
    let problems = compile(&text, &[]).expect_err(body);
    assert_eq!(problems.len(), 1, "{body}: {problems:?}");
    let problem = problems[0].diagnostic().expect(body);
    (problem.message.clone(), problem.label.clone())
}

const RANKS: &str = "expected one of `captain`, `expert`, `master`, `novice`";

#[test]
fn a_text_that_is_no_symbol_of_its_attribute_is_rejected_wherever_it_stands() {
    for body in [
        "me.rank = \"blue\";",
        "me.rank = BLUE;",
        "me.rank = if me.hp > 0 { \"master\" } else { \"blue\" };",
        "me.rank = match me.hp { 1 => \"blue\", _ => \"novice\" };",
        "if me.rank == \"blue\" { me.hp += 1; }",
        "if \"blue\" != me.rank { me.hp += 1; }",
        "if me.rank == BLUE { me.hp += 1; }",
        "if BLUE == me.rank { me.hp += 1; }",
        "if own == \"blue\" { me.hp += 1; }",
        "me.hp += match me.rank { \"blue\" => 1, _ => 2 };",
        "me.hp += match me.rank { BLUE => 1, _ => 2 };",
        "me.hp += match own { \"novice\" | \"blue\" => 1, _ => 2 };",
        "let rank: Symbol<rank> = \"blue\"; other.rank = rank;",
        "let mut rank = me.rank; rank = \"blue\"; other.rank = rank;",
        "if of_rank(\"blue\") { me.hp += 1; }",
        "after(1, later(me, \"blue\"));",
    ] {
        let text = match body.starts_with("after") {
            true => format!(
                "{body} }}\n#[command] fn later(me: Entity, rank: Symbol<rank>) {{ me.rank = rank;"
            ),
            false => body.to_owned(),
        };
        let (message, label) = problem(&text);
        assert_eq!(message, "\"blue\" is no `Symbol<rank>`", "{body}");
        assert_eq!(label, RANKS, "{body}");
    }
    let (message, label) = problem("me.rank = \"green\";");
    assert_eq!(message, "this world has no symbol \"green\"");
    assert_eq!(label, RANKS);
}

#[test]
fn values_of_other_attributes_are_rejected_where_they_never_fit() {
    for (body, message, label) in [
        (
            "me.rank = me.team;",
            "the types differ",
            "expected `Symbol<rank>`, found `Symbol<team>`",
        ),
        (
            "if me.rank == me.team { me.hp += 1; }",
            "these have no symbol in common",
            "found `Symbol<rank>` and `Symbol<team>`",
        ),
        (
            "if of_rank(any) { me.hp += 1; }",
            "the types differ",
            "expected `Symbol<rank>`, found `Symbol`",
        ),
        (
            "if of_rank(me.metal) { me.hp += 1; }",
            "the types differ",
            "expected `Symbol<rank>`, found `Symbol<metal>`",
        ),
    ] {
        assert_eq!(
            problem(body),
            (message.to_owned(), label.to_owned()),
            "{body}"
        );
    }
}

#[test]
fn symbols_that_may_fit_compile() {
    let text = "
const BLUE: Symbol = \"blue\";
const BEST: Symbol<rank> = \"master\";
fn better(rank: Symbol<rank>) -> Symbol<rank> {
    match rank { \"novice\" => \"expert\", _ => BEST }
}
#[command(clients)]
fn test(me: Entity, other: Entity, any: Symbol, own: Symbol<rank>) {
    me.rank = any;                  // checked by a run
    me.rank = me.metal;             // likewise: it may be \"master\"
    me.rank = better(own);
    other.rank = other.rank;
    me.team = BLUE;
    if me.rank == me.metal || any == \"gold\" || any == BLUE { me.hp += 1; }
    let any_of_two = if me.hp > 0 { me.rank } else { me.team };
    me.team = any_of_two;
    let plain = me.rank as Symbol;
    if plain == any { me.team = plain; }
    tell(Ranked { rank: me.rank }, around(me, 3.0));
}
";
    let logic = compile(text, &[]).unwrap();
    let rank = world().schema.column("rank").unwrap() as u16;
    assert_eq!(logic.commands[0].word_columns, [None, None, Some(rank)]);
}

#[test]
fn a_parameter_names_an_attribute_of_symbols() {
    for (ty, message) in [
        ("Symbol<rang>", "this world has no attribute `rang`"),
        ("Symbol<hp>", "`hp` is not of type symbol"),
        ("Symbol<>", "scripts don't have this type"),
        ("Symbol<rank, team>", "scripts don't have this type"),
        ("Entity<rank>", "scripts don't have this type"),
    ] {
        let text = format!("#[command(clients)] fn test(me: Entity, what: {ty}) {{}}");
        let problems = compile(&text, &[]).expect_err(ty);
        let found = problems[0].diagnostic().unwrap();
        assert_eq!(found.message, message, "{ty}");
    }
}

#[test]
fn a_world_file_sets_constants_to_symbols_of_their_attribute() {
    let text = "const BEST: Symbol<rank> = \"master\";\n\
                #[command(clients)] fn test(me: Entity) { me.rank = BEST; }";
    compile(text, &[("best", "novice")]).unwrap();
    let problems = compile(text, &[("best", "blue")]).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "commands.test.best: expected a value of type `Symbol<rank>`, found \"blue\""
    );
    // A constant of any symbol is checked where it is used.
    let text = text.replace("Symbol<rank>", "Symbol");
    let problems = compile(&text, &[("best", "blue")]).unwrap_err();
    assert!(
        problems[0]
            .to_string()
            .contains("\"blue\" is no `Symbol<rank>`")
    );
}
