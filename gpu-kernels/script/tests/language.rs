//! What scripts mean.

use crate::common;
use crate::common::{TestWorld, builtins, compile};
use script::builtin;
use shared::world::logic::{Constant, Constants, Text};
use shared::{EntityId, EntityRef};

/// Runs `body` as a command of a player at (10, 10) and returns what `me.gold` is changed by.
fn result(body: &str) -> i32 {
    results(body)[0]
}

fn results(body: &str) -> Vec<i32> {
    let text = format!("#[command(clients)] fn test(me: Entity, n: i32) {{ {body} }}");
    let logic = compile(&text).unwrap_or_else(|problems| panic!("{body}: {problems:?}"));
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    world.add("item", 12, 10);
    world.add("player", 10, 14);
    let done = world.run(&logic.commands[0], me, &[5]).unwrap();
    done.updates.iter().map(|&(_, _, value)| value).collect()
}

#[test]
fn numbers_behave_as_written() {
    for (expression, expected) in [
        ("2147483647 + n", i32::MIN + 4),
        ("n / 0", 0),
        ("n % 0", 0),
        ("(-2147483648) / -1", i32::MIN),
        ("n << 33", 10),
        ("-n >> 1", -3),
        ("(1.5 * 2.25) as i32", 3),
        ("((n as Fixed) / 2.0 * 2.0) as i32", 5),
        ("-n / 2", -2),
        ("(-2.5) as i32", -2),
        ("min(n, 3) + max(n, 3)", 8),
        ("clamp(n, 1, 3)", 3),
        ("abs(-n)", 5),
        ("sqrt(n * n)", 5),
        ("sqrt(6.25) as i32", 2),
        ("!n", -6),
        ("n & 4 | 2 ^ 8", 14),
        ("if n > 3 { 1 } else { 2 }", 1),
        ("match n { 1 | 2 => 10, 5 => 20, _ => 30 }", 20),
        ("match n > 3 { true => 1, _ => 0 }", 1),
        ("tick()", 7),
        ("me.hp", 100),
        ("(me.speed * 2.0) as i32", 3),
        ("distance(me, point(13.0, 14.0)) as i32", 5),
        (
            "distance(me, towards(me, point(13.0, 14.0), 5.0)) as i32",
            5,
        ),
        (
            "(towards(point(0.0, 0.0), point(90.0, 0.0), 0.01) == point(0.01, 0.0)) as i32",
            1,
        ),
        (
            "(towards(point(0.0, 0.3), point(0.7, 0.2), 9.0) == point(0.7, 0.2)) as i32",
            1,
        ),
        (
            "(towards(me, point(13.0, 14.0), -1.0) == me.position) as i32",
            1,
        ),
        ("(towards(me, me, 1.0) == me.position) as i32", 1),
        ("count_near(me, 3.0)", 2),
        ("count_near(me, 10.0, \"player\")", 2),
    ] {
        let body = format!("me.gold += {expression};");
        assert_eq!(result(&body), expected, "{expression}");
    }
}

#[test]
fn statements_run_in_order() {
    for (body, expected) in [
        (
            "let mut a = 1; for i in 0..4 { a += i; } me.gold += a;",
            vec![7],
        ),
        (
            "let mut a = 0; for i in 1..=n { if i == 3 { continue; } a += i; } me.gold += a;",
            vec![12],
        ),
        (
            "let mut a = 0; for i in 0..100 { if i == 3 { break; } a = i; } me.gold += a;",
            vec![2],
        ),
        (
            "for i in 2147483646..=2147483647 { me.gold += i; }",
            vec![i32::MAX - 1, i32::MAX],
        ),
        ("for _ in 5..=4 { me.gold += 1; } me.gold += 2;", vec![2]),
        ("let a = 1; let a = a + 1; me.gold += a;", vec![2]),
        (
            "let mut a = n; let b = a; a += 1; me.gold += b * 10 + a;",
            vec![56],
        ),
        ("if n > 9 { return; } me.gold += 1;", vec![1]),
        ("me.gold += 1; require(n > 9); me.gold += 2;", vec![1]),
        (
            "let mut p = point(1.0, 2.0); p.x += 3.0; me.gold += (p.x * p.y) as i32;",
            vec![8],
        ),
        (
            "let p = (point(1.0, 2.0) - point(0.0, 1.0)) * 2; me.gold += p.x as i32;",
            vec![2],
        ),
        (
            "for other in near(me, 10.0) { if other != me { other.gold += 1; } }",
            vec![1],
        ),
        (
            "for it in near(me, 10.0, \"item\") { me.gold += 7; }",
            vec![7],
        ),
        (
            "for it in near(me, 10.0, me.kind) { if it == me { continue; } it.gold += 1; }",
            vec![1],
        ),
        (
            "for it in near(me, 10.0, \"player\") { me.gold += 1; break; } me.gold += 2;",
            vec![1, 2],
        ),
        (
            "let it = nearest(me, 10.0); if it.kind == \"item\" { me.gold += 1; }",
            vec![1],
        ),
        ("if n > 1 || 1 / n > 0 { me.gold += 1; }", vec![1]),
        (
            "if me.team == \"red\" { me.gold += 1; } else if me.team == \"blue\" { me.gold += 2; }",
            vec![1],
        ),
        (
            "match me.team { \"red\" => me.gold += 1, _ => {} }",
            vec![1],
        ),
        ("me.best.max(n); me.least.min(n);", vec![5, 5]),
        (
            "me.alert = true; me.speed = 2; me.gold += if me.alert { 1 } else { 3 };",
            vec![1, 8192, 3],
        ),
    ] {
        assert_eq!(results(body), expected, "{body}");
    }
}

#[test]
fn helpers_and_constants_are_shared_within_a_text() {
    let text = "
        const A: i32 = B * 2;
        const B: i32 = 3;
        fn twice(x: i32) -> i32 { if x > 100 { return 0; } x * 2 }
        fn sum(x: i32, y: i32) -> i32 { twice(x) + twice(y) }
        #[command(clients)]
        fn test(me: Entity, n: i32) { me.gold += sum(n, A); }
    ";
    let logic = compile(text).unwrap();
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let run = |n| world.run(&logic.commands[0], me, &[n]).unwrap().updates[0].2;
    assert_eq!(run(5), 22);
    assert_eq!(run(101), 12);
}

#[test]
fn the_dead_and_the_invented_are_nobody() {
    let text = "
        #[command(clients)]
        fn test(me: Entity, other: Entity) {
            me.gold += if exists(other) { 1 } else { 2 };
            me.gold += if other == none { 10 } else { 20 };
            me.gold += other.hp;
            other.hp -= 1;
            me.target = other;
            me.gold += if is_within(me, other, 1000.0) { 100 } else { 200 };
            if exists(me.target) { me.gold += 1000; }
            after(1, test(other, me));
        }
    ";
    let logic = compile(text).unwrap();
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let item = world.add("item", 2, 2);
    let dead = EntityId::new(1, 2);
    for word in [dead.reference().0, -1, i32::MIN, i32::MAX, 77] {
        let done = world.run(&logic.commands[0], me, &[word]).unwrap();
        let values: Vec<i32> = done.updates.iter().map(|&(_, _, value)| value).collect();
        assert_eq!(values, [2, 10, 0, EntityRef::NONE.0, 200], "{word}");
        assert!(done.afters.is_empty());
    }
    // It lives, and lacks hit points: a read gives 0, a write emits nothing.
    let done = world
        .run(&logic.commands[0], me, &[item.reference().0])
        .unwrap();
    let values: Vec<i32> = done.updates.iter().map(|&(_, _, value)| value).collect();
    assert_eq!(values, [1, 20, 0, item.reference().0, 100]);
    assert_eq!(done.afters, [(1, item, 2, vec![me.reference().0])]);
}

#[test]
fn a_run_beyond_its_budget_has_no_effect() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let text = "#[command(clients)] fn test(me: Entity, n: i32) {
        me.gold += 1;
        for i in 0..n { me.gold += i; }
    }";
    let logic = compile(text).unwrap();
    assert!(world.run(&logic.commands[0], me, &[4096]).is_ok());
    assert!(world.run(&logic.commands[0], me, &[4097]).is_err());
}

#[test]
fn what_a_command_tells_and_puts_off() {
    let text = "
        #[command(clients)]
        fn test(me: Entity, at: Point) {
            tell(TakeAll { who: me, at }, around(at, 2.5));
            tell(Quiet { n: 3 });
            after(5, later(at, 1));
            spawn(\"item\", at);
            spawn(Item { ripe: true, owner: me }, at);
            despawn(me);
        }
        #[command]
        fn later(at: Point, n: i32) { for e in near(at, 1.0) { e.hp -= n; } }
    ";
    let logic = compile(text).unwrap();
    let names: Vec<_> = logic
        .notifications
        .iter()
        .map(|n| n.name.as_str())
        .collect();
    assert_eq!(names, ["take_all", "quiet"]);
    let fields: Vec<_> = logic.notifications[0]
        .fields
        .iter()
        .map(|f| f.name.as_str())
        .collect();
    assert_eq!(fields, ["who", "x", "y"]);
    let command = logic
        .commands
        .iter()
        .find(|c| c.schema.name == "test")
        .unwrap();
    assert!(command.schema.senders.clients && command.schema.has_actor);
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let done = world.run(command, me, &[-5, 8192]).unwrap();
    let area = Some(([0, 8192, 0], 10_240));
    let words = vec![me.reference().0, -5, 8192];
    assert_eq!(
        done.notifications,
        [(2, me, area, words), (3, me, None, vec![3])]
    );
    let later = logic
        .commands
        .iter()
        .find(|c| c.schema.name == "later")
        .unwrap();
    assert_eq!(
        done.afters,
        [
            (5, EntityId::NONE, later.schema.kind.0, vec![-5, 8192, 1]),
            (1, EntityId::NONE, 0, vec![1, -1, -5, 8192]),
            // Two of four columns, `ripe` and `owner`, then the birth that they belong to.
            (
                1,
                EntityId::NONE,
                0,
                vec![
                    i32::MIN | 16 | 15 << 7 | 127 << 14 | 127 << 21,
                    1,
                    me.reference().0,
                    0,
                    0,
                ],
            ),
            (1, EntityId::NONE, 0, vec![1 | 1 << 16, -1, -5, 8192]),
            (1, me, 1, vec![]),
        ]
    );
}

#[test]
fn the_built_in_set_is_complete_in_a_world_that_has_all_attributes() {
    let constants = Constants::from([
        (
            "shout".to_owned(),
            [("radius_max".to_owned(), Constant::Int(5))].into(),
        ),
        (
            "blast".to_owned(),
            [
                ("ember_ticks".to_owned(), Constant::Int(5)),
                ("sound".to_owned(), Constant::Float(2.5)),
            ]
            .into(),
        ),
    ]);
    let logic = builtins(&constants);
    let names: Vec<&str> = logic
        .commands
        .iter()
        .map(|c| c.schema.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "move", "strike", "heal", "blast", "pick", "roam", "burn", "shout", "poison", "sicken",
            "shield", "unshield", "follow", "teleport", "harvest", "regrow", "trade", "taunt",
            "score", "steer", "drift", "say",
        ]
    );
    let numbers: Vec<u16> = logic.commands.iter().map(|c| c.schema.kind.0).collect();
    assert_eq!(numbers, (2..24).collect::<Vec<u16>>());
    let declared: Vec<_> = logic
        .notifications
        .iter()
        .map(|n| (n.kind.0, n.name.as_str()))
        .collect();
    assert_eq!(declared, [(2, "blast"), (3, "shout"), (4, "say")]);
    // Without settings, blasts and shouts are not heard, and there are no shouts.
    let logic = builtins(&Constants::default());
    let declared = logic.notifications.iter().map(|n| n.name.as_str());
    assert!(declared.eq(["say"]));
    assert!(logic.commands.iter().all(|c| c.schema.name != "shout"));
}

#[test]
fn scores_keep_the_best() {
    let logic = builtins(&Constants::default());
    let score = logic
        .commands
        .iter()
        .find(|c| c.schema.name == "score")
        .unwrap();
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    world.set(me, "score", 7);
    world.set(me, "best", 10);
    // The merge rule `max` replaces the value before the tick.
    let best = |points| world.run(score, me, &[points]).unwrap().updates[0].2;
    assert_eq!((best(2), best(3), best(5)), (10, 10, 12));
}

#[test]
fn the_lowest_numbers_can_be_written() {
    assert_eq!(result("me.gold += -2147483648;"), i32::MIN);
    assert_eq!(result("me.speed = -524288.0;"), i32::MIN);
    assert_eq!(result("me.gold += match -n { -5 => 1, _ => 2 };"), 1);
    assert_eq!(result("me.speed = if n > 3 { 1 } else { 2 };"), 4096);
    assert_eq!(
        result("me.gold += ((n as Fixed) << if n > 3 { 1 } else { 2 }) as i32;"),
        10
    );
}

#[test]
fn settings_of_a_world_file_are_checked() {
    let set = |key: &str, value| {
        let constants = Constants::from([("strike".to_owned(), [(key.to_owned(), value)].into())]);
        let text = builtin::text("strike").unwrap();
        common::compile_all(&[text], &constants).map_err(|p| p[0].to_string())
    };
    assert!(set("damage", Constant::Int(7)).is_ok());
    assert!(set("reach", Constant::Int(7)).is_ok());
    for (key, value, expected) in [
        (
            "damage",
            Constant::Float(7.5),
            "commands.strike.damage: expected a value of type `i32`, found 7.5",
        ),
        (
            "damage",
            Constant::Int(-1),
            "commands.strike.damage: expected 0 to 2147483647, found -1",
        ),
        (
            "reach",
            Constant::Int(1 << 40),
            "commands.strike.reach: expected a value of type `Fixed`, found 1099511627776",
        ),
        (
            "radius",
            Constant::Int(1),
            "commands.strike.radius: there is no such constant; expected one of [\"damage\", \"reach\"]",
        ),
        (
            "per_tick",
            Constant::Int(256),
            "commands.strike.per_tick: expected 0 to 255, found 256",
        ),
        (
            "cooldown",
            Constant::Int(-1),
            "commands.strike.cooldown: expected 0 to 1000000, found -1",
        ),
        (
            "cooldown",
            Constant::Float(1.5),
            "commands.strike.cooldown: expected a whole number, found 1.5",
        ),
    ] {
        assert_eq!(set(key, value).unwrap_err(), expected);
    }
}

#[test]
fn a_world_file_says_how_often_clients_use_commands() {
    let text = Text::new(
        "fire.rs",
        "const COOLDOWN: i32 = 3;
        #[command(clients)] fn fire(me: Entity) { me.hp -= COOLDOWN; }
        #[command(clients)] fn aim(me: Entity) { me.hp += 1; }
        #[command(rules)] fn burn(me: Entity) { me.hp -= 1; }",
    );
    let usage = |name: &str, key: &str, number| {
        let set = [(key.to_owned(), Constant::Int(number))];
        let constants = Constants::from([(name.to_owned(), set.into())]);
        let compiled = common::compile_all(std::slice::from_ref(&text), &constants);
        let logic = compiled.map_err(|problems| problems[0].to_string())?;
        let usages = logic.commands.into_iter().map(|command| command.schema);
        let usages = usages.map(|c| (c.name, c.per_tick, c.cooldown));
        Ok::<_, String>(usages.collect::<Vec<_>>())
    };
    let as_set = |fire: (u8, u32), aim: (u8, u32)| {
        let all = [("fire", fire), ("aim", aim), ("burn", (0, 0))];
        all.map(|(name, (per_tick, cooldown))| (name.to_owned(), per_tick, cooldown))
    };
    let sorted = |mut usages: Vec<(String, u8, u32)>| {
        usages.sort();
        usages
    };
    for (name, key, number, fire, aim) in [
        ("aim", "per_tick", 0, (1, 0), (0, 0)),
        ("aim", "cooldown", 7, (1, 0), (1, 7)),
        ("fire", "per_tick", 255, (255, 0), (1, 0)),
        // The constant of the script.
        ("fire", "cooldown", 9, (1, 0), (1, 0)),
    ] {
        let found = sorted(usage(name, key, number).unwrap());
        assert_eq!(found, sorted(as_set(fire, aim).to_vec()), "{name}.{key}");
    }
    let problem = usage("burn", "cooldown", 2).unwrap_err();
    assert_eq!(
        problem,
        "commands.burn.cooldown: no client can give this command"
    );
    let nobody = usage("nobody", "per_tick", 2).unwrap_err();
    assert!(
        nobody.starts_with("commands.nobody: there is no such text"),
        "{nobody}"
    );
}
