//! What a run shows to people: what is logged, and the values of each line. What a world runs has
//! nothing of it.

use script::arith::Random;
use script::interpreter::{Interpreter, Invocation};
use script::watched::{LineValue, Run, Watched};
use shared::CommandKind;

use crate::common::{self, SEED, TestWorld};

/// A run of the command `act` of a player with 7 gold, for people.
fn run(text: &str, words: &[i32]) -> (Watched, Run) {
    let config = common::world_of(text);
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    world.add("item", 12, 10);
    world.set(me, "gold", 7);
    let command = config.schema.command_named("act").unwrap();
    let watched = Watched::of(&config, |kind| kind == command.kind).unwrap();
    let invocation = Invocation {
        tick: world.tick,
        entity: me,
        words,
        random: Random::new(SEED, world.tick, me, command.kind.0, 0),
    };
    let interpreter = &mut Interpreter::default();
    let run = watched.run(&config, interpreter, &world, command.kind, &invocation);
    (watched, run.unwrap())
}

fn of_line(run: &Run, line: usize) -> Vec<(&str, Vec<&str>)> {
    let own = run.values.iter().filter(|value| value.line == line);
    let shown = |value: &'_ LineValue| value.values.clone();
    own.map(|value| (value.name.as_str(), shown(value)))
        .map(|(name, _)| {
            let value = run.values.iter().find(|v| v.line == line && v.name == name);
            (
                name,
                value.unwrap().values.iter().map(String::as_str).collect(),
            )
        })
        .collect()
}

const ACT: &str = "#[command(clients)]
fn act(me: Entity, n: i32) {
    let half = me.gold / 2;
    for i in 0..n {
        require(double(i) < 100);
    }
    log(\"{} of {}\", half, me.gold, me, me.team, me.position, n > 2);
    if me.gold > n {
        me.gold -= half;
    }
    me.hp += random(1, 6);
}

fn double(n: i32) -> i32 {
    n * 2
}
";

#[test]
fn each_line_has_the_values_of_its_run() {
    let (_, run) = run(ACT, &[3]);
    assert!(!run.is_over_budget);
    assert_eq!(
        of_line(&run, 3),
        [("me.gold", vec!["7"]), ("half", vec!["3"])]
    );
    assert_eq!(of_line(&run, 4), [("i", vec!["0", "1", "2"])]);
    let conditions = of_line(&run, 5);
    assert_eq!(conditions[0], ("double(i)", vec!["0", "2", "4"]));
    assert_eq!(conditions[1], ("require", vec!["true"; 3]));
    assert_eq!(of_line(&run, 9), [("me.gold -=", vec!["3"])]);
    assert_eq!(
        run.logged,
        ["3 of 7 entity 0 (player) \"red\" (10, 10) true"]
    );
    let shown: i32 = of_line(&run, 11)[0].1[0].parse().unwrap();
    assert!((1..=6).contains(&shown), "the same number as in the world");
}

#[test]
fn a_run_for_people_gives_what_the_world_got() {
    let logic = common::compile(ACT).unwrap();
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    world.set(me, "gold", 7);
    let [act] = &logic.commands[..] else {
        panic!("one command");
    };
    let hp = world.schema.column("hp").unwrap() as u16;
    let done = world.run(act, me, &[3]).unwrap();
    let given = done.updates.iter().find(|update| update.1 == hp).unwrap().2;
    let (_, run) = run(ACT, &[3]);
    assert_eq!(of_line(&run, 11)[0].1, [given.to_string()]);
}

#[test]
fn what_is_logged_costs_a_world_no_instruction_and_no_step() {
    let start = ACT.find("    log(").unwrap();
    let end = start + ACT[start..].find('\n').unwrap() + 1;
    let without = format!("{}{}", &ACT[..start], &ACT[end..]);
    let code = |text: &str| common::compile(text).unwrap().commands[0].code.clone();
    assert_eq!(code(ACT), code(&without));
    // Nor a step of the budget, with the helper function that it calls.
    let steps = "#[command(clients)]
    fn act(me: Entity) {
        for i in 0..4096 { log(\"i\", double(i)); me.gold += 1; }
    }
    fn double(n: i32) -> i32 { n * 2 }";
    assert!(!run(steps, &[]).1.is_over_budget);
}

#[test]
fn a_run_says_which_condition_ended_it_and_why() {
    let text = "#[command(clients)]
fn act(me: Entity, n: i32) {
    require(n > 0);
    pay(me, n);
    require(n < 5, \"too many\");
}

fn pay(who: Entity, n: i32) {
    require(
        who.gold >= n,
        \"there is too little gold\",
    );
}
";
    let unmet = |n| run(text, &[n]).1.unmet.map(|unmet| unmet.to_string());
    assert_eq!(unmet(3), None);
    assert_eq!(unmet(0).unwrap(), "`n > 0` does not hold (test.rs, line 3)");
    assert_eq!(
        unmet(8).unwrap(),
        "`who.gold >= n` does not hold (test.rs, line 10): there is too little gold"
    );
    assert_eq!(
        unmet(7).unwrap(),
        "`n < 5` does not hold (test.rs, line 5): too many"
    );
}

#[test]
fn a_reason_costs_no_instruction_where_no_client_gives_the_command() {
    let code = |senders: &str, text: &str| {
        let text =
            format!("#[command{senders}] fn act(me: Entity, n: i32) {{ {text} me.hp += 1; }}");
        common::compile(&text).unwrap().commands[0].code.clone()
    };
    let (with, without) = ("require(n > 0, \"too few\");", "require(n > 0);");
    assert_eq!(code("", with), code("", without));
    assert!(code("(clients)", with).has_reasons() && !code("(clients)", without).has_reasons());
}

#[test]
fn only_commands_that_log_or_give_reasons_are_watched_for_it() {
    let config = common::world_of(
        "#[command(clients)] fn loud(me: Entity) { cry(me); }
         #[command(clients)] fn quiet(me: Entity) { me.hp += 1; }
         #[command(clients)] fn picky(me: Entity) { require(me.hp > 0, \"you are dead\"); }
         fn cry(who: Entity) { log(\"hp\", who.hp); }",
    );
    let logging = Watched::logging(&config).unwrap();
    let has = |name| {
        let kind: CommandKind = config.schema.command_named(name).unwrap().kind;
        logging.has(kind)
    };
    assert!(has("loud") && has("picky") && !has("quiet"));
    let picky = config.schema.command_named("picky").unwrap().kind;
    assert!(!logging.logs(picky));
    let none = common::world_of("#[command(clients)] fn quiet(me: Entity) { me.hp += 1; }");
    assert!(Watched::logging(&none).unwrap().is_empty());
}
