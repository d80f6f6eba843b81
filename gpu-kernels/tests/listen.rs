//! Content subscriptions in the tick: who is told of what, who never is, and what
//! happens while subscriptions come and go.

mod common;
#[path = "listen/direct.rs"]
mod direct;
#[path = "listen/game.rs"]
mod game;
#[path = "listen/mirror.rs"]
mod mirror;
#[path = "listen/secrets.rs"]
mod secrets;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use gpu_kernels::content::listen::{Listeners, Notice, SubscribeError};
use gpu_kernels::{Backend, CpuBackend, Frame};
use shared::schema::AttributeType;
use shared::{Audience, ClientRow, CommandKind, EntityId, Tick, WorldConfig};

use common::dice::{Dice, Seed};
use common::oracle::Oracle;
use common::world::Play;
use direct::{Constraint, Predicate, Value};
use game::{Game, Told};
use mirror::Mirror;

const UNIT: i32 = 4096;

#[test]
fn random_worlds_tell_what_a_direct_evaluation_tells() {
    let (mut told, mut private, mut full) = (0, 0, 0);
    for seed in 0..600 {
        let _seed = Seed(seed);
        let mut dice = Dice::new(seed);
        let play = Play::new(&mut dice);
        let mut config = play.config.clone();
        if config.limits.subscriptions_per_client == 0 {
            continue;
        }
        if let Some(hp) = config.schema.column("hp").filter(|_| dice.once_in(2)) {
            config.schema.attributes[hp].audience = Audience::Private;
        }
        config.limits.client_notices_per_tick = dice.pick(&[1, 5, 64]);
        let mut oracle = Oracle::new(&config);
        let mut game = Game::new(&config);
        for _ in 0..12 {
            churn(&mut dice, &mut game, &oracle);
            let frame = play.frame(&mut dice, &oracle);
            oracle.tick(&frame);
            let (_, notices) = game.tick(&frame);
            full += game.full;
            for (_, all) in notices {
                told += all.len();
                let is_private = |(notice, _): &&(Notice, _)| match notice {
                    Notice::Notification(_) => false,
                    Notice::Change { column, .. } => {
                        let attribute = &config.schema.attributes[usize::from(*column)];
                        attribute.audience == Audience::Private
                    }
                };
                private += all.iter().filter(is_private).count();
            }
        }
    }
    assert!(
        told > 10_000 && private > 30 && full > 1000,
        "{told} {private} {full}"
    );
}

/// Some subscriptions come, some go; clients take over entities and are forgotten.
fn churn(dice: &mut Dice, game: &mut Game, oracle: &Oracle) {
    let clients = game.config.limits.clients as usize;
    for _ in 0..dice.below(20) {
        let client = dice.below(clients) as u32;
        let id = dice.pick(&[0, 1, 2, 7, u32::MAX]);
        let predicate = predicate(dice, &game.config, oracle);
        game.subscribe(client, id, predicate);
    }
    let held: Vec<_> = game.direct.subscriptions.keys().copied().collect();
    for (client, id) in held {
        if dice.once_in(6) {
            game.unsubscribe(client, id);
        }
    }
    if dice.once_in(4) {
        game.forget(dice.below(clients) as u32);
    }
    for _ in 0..dice.below(6) {
        let alive = oracle.alive();
        if !alive.is_empty() {
            game.embody(dice.below(clients) as u32, dice.pick(&alive));
        }
    }
}

fn predicate(dice: &mut Dice, config: &WorldConfig, oracle: &Oracle) -> Predicate {
    let filters = dice.pick(&[0, 1, 1, 1, 2, 3]);
    (0..filters)
        .map(|_| {
            let constraints = dice.pick(&[0, 1, 1, 2, 3]);
            let constraint = |dice: &mut Dice| constraint(dice, config, oracle);
            (0..constraints).map(|_| constraint(dice)).collect()
        })
        .collect()
}

/// On a name that may be asked for, with a value that may be there.
fn constraint(dice: &mut Dice, config: &WorldConfig, oracle: &Oracle) -> Constraint {
    let schema = &config.schema;
    let texts = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>();
    let mut events = texts(schema.notifications.iter().map(|n| &n.name).collect());
    events.push("change".to_owned());
    let attributes = texts(schema.attributes.iter().map(|a| &a.name).collect());
    let kinds = texts(schema.kinds.iter().map(|k| &k.name).collect());
    let commands = texts(schema.commands.iter().map(|c| &c.name).collect());
    let symbols = schema.symbols.clone();
    let any = "any".to_owned();
    let mut named: Vec<(String, Option<Vec<String>>)> = vec![
        ("event".to_owned(), Some(events.clone())),
        ("event".to_owned(), Some(events)),
        ("attribute".to_owned(), Some(attributes)),
        ("kind".to_owned(), Some(kinds)),
        ("command".to_owned(), Some(commands)),
        ("old_symbol".to_owned(), Some(vec![any.clone()])),
        ("new_symbol".to_owned(), Some(vec![any])),
        ("old".to_owned(), None),
        ("new".to_owned(), None),
        ("entity".to_owned(), None),
    ];
    for notification in &schema.notifications {
        let fields = notification.fields.iter();
        named.extend(fields.map(|f| (format!("{}.{}", notification.name, f.name), None)));
    }
    for attribute in &schema.attributes {
        let is_symbol = attribute.ty == AttributeType::Symbol;
        if attribute.audience != Audience::Hidden {
            let values = is_symbol.then(|| symbols.clone());
            named.push((attribute.name.clone(), values));
        }
    }
    let (name, texts) = named.swap_remove(dice.below(named.len()));
    match texts {
        Some(mut texts) => {
            let operator = dice.pick(&["==", "==", "!=", "prefix", "suffix", "contains"]);
            let mut text = texts.swap_remove(dice.below(texts.len()));
            if dice.once_in(4) {
                text.truncate(dice.below(text.len() + 1));
            }
            (name, operator, Value::Text(text))
        }
        None => {
            let operator = dice.pick(&["==", "!=", "<", "<=", ">", ">="]);
            let alive = oracle.alive();
            let number = match dice.below(4) {
                0 if !alive.is_empty() => f64::from(dice.pick(&alive).reference().0),
                1 => f64::from(dice.within(-3..=120)) + 0.5,
                2 => f64::from(dice.within(0..=1000)) / 4.0,
                _ => f64::from(dice.within(-3..=120)),
            };
            (name, operator, Value::Number(number))
        }
    }
}

const GUILD: &str = "[[kind]]\nname = \"player\"\nattributes = [\n\
    { name = \"hp\", type = \"i32\", min = 0, max = 100, default = 50, audience = \"private\" },\n\
    { name = \"rank\", type = \"i32\", default = 3, audience = \"state\" },\n\
    { name = \"luck\", type = \"i32\", default = 7, audience = \"hidden\" },\n]\n\
    [[every]]\nkind = \"player\"\nticks = 1\ncommand = \"roam\"\nwords = []\n";

/// Two players, each some client's own; client 2 is nobody.
fn guild() -> Game {
    let mut game = Game::new(&world("subscriptions_per_client = 3", GUILD));
    let mut frame = Frame::new(Tick(0));
    for token in 0..2 {
        frame.spawn_at(0, token, &[50 * UNIT, 50 * UNIT]);
    }
    game.tick(&frame);
    for slot in 0..2 {
        game.embody(slot, EntityId::new(slot, 1));
    }
    game
}

/// Player 0 strikes player 1, whose hit points are private.
fn strike(game: &mut Game, tick: u32) -> Told {
    let mut frame = Frame::new(Tick(tick));
    let words = [EntityId::new(1, 1).reference().0];
    frame.push(EntityId::new(0, 1), 0, CommandKind::Strike, &words);
    game.tick(&frame).1
}

#[test]
fn a_private_change_reaches_its_own_client_whatever_others_ask_for() {
    let mut game = guild();
    let number = |name: &str, operator, n| (name.to_owned(), operator, Value::Number(n));
    let is = |name: &str, text: &str| (name.to_owned(), "==", Value::Text(text.to_owned()));
    for client in 0..3 {
        // By what changed, by its values, by who changed, and by nothing at all.
        let wide = vec![
            vec![is("attribute", "hp")],
            vec![is("command", "strike")],
            vec![number("old", "==", 50.0)],
            vec![
                number("new", "<", 50.0),
                is("event", "change"),
                is("kind", "player"),
            ],
        ];
        assert!(game.subscribe(client, 0, wide));
        assert!(game.subscribe(client, 1, vec![vec![number("hp", "<", 50.0)]]));
        assert!(game.subscribe(client, 2, vec![vec![]]));
    }
    let told = strike(&mut game, 1);
    let hears_of_hp = |client: u32| {
        let mut all = told.get(&client).into_iter().flatten();
        all.any(|(notice, _)| matches!(notice, Notice::Change { column: 2, .. }))
    };
    assert_eq!([0, 1, 2].map(hears_of_hp), [false, true, false]);
    // Its own steps satisfy `hp < 50`, as its private hit points do: for it alone.
    for (client, expected) in [(0, false), (1, true), (2, false)] {
        let all = &told[&client];
        assert_eq!(all.iter().any(|(_, ids)| ids.contains(&1)), expected);
    }
}

#[test]
fn what_was_private_to_one_client_is_not_to_the_next_in_its_row() {
    let mut game = guild();
    let hurt = vec![vec![("hp".to_owned(), "<", Value::Number(50.0))]];
    assert!(game.subscribe(1, 0, hurt.clone()));
    assert_eq!(strike(&mut game, 1).keys().collect::<Vec<_>>(), [&1]);
    game.forget(1);
    assert!(game.subscribe(1, 0, hurt));
    assert_eq!(strike(&mut game, 2), Told::new());
    game.embody(1, EntityId::new(0, 1));
    assert_eq!(strike(&mut game, 3), Told::new(), "that one was not hurt");
    game.embody(1, EntityId::new(1, 1));
    assert_eq!(strike(&mut game, 4).len(), 1);
}

#[test]
fn a_hidden_attribute_has_no_name_and_no_notice() {
    let mut game = guild();
    for text in [
        "luck > 3",
        "event == \"change\" && luck != 0",
        "kind == \"x\" || luck < 9",
    ] {
        let refused = game.subscribe_text(0, 0, text).unwrap_err();
        assert!(refused.to_string().contains("luck"), "{refused}");
    }
    // No built-in command changes it, so the hit points are hidden here.
    let hidden = GUILD.replace("private", "hidden");
    let mut game = Game::new(&world("subscriptions_per_client = 3", &hidden));
    let mut frame = Frame::new(Tick(0));
    for token in 0..2 {
        frame.spawn_at(0, token, &[50 * UNIT, 50 * UNIT]);
    }
    game.tick(&frame);
    game.embody(1, EntityId::new(1, 1));
    assert!(game.subscribe(1, 0, vec![vec![]]));
    let is_hit = vec![("command".to_owned(), "==", Value::Text("strike".to_owned()))];
    assert!(game.subscribe(1, 1, vec![is_hit]));
    let told = strike(&mut game, 1);
    assert!(told[&1].iter().all(|(_, ids)| ids == &[0]));
    assert!(
        told[&1]
            .iter()
            .all(|(notice, _)| { matches!(notice, Notice::Change { column: 0..2, .. }) })
    );
}

#[test]
fn a_client_is_told_once_with_all_of_its_subscriptions() {
    let mut game = guild();
    let is = |name: &str, text: &str| (name.to_owned(), "==", Value::Text(text.to_owned()));
    assert!(game.subscribe(
        2,
        9,
        vec![vec![is("attribute", "x")], vec![is("event", "change")]]
    ));
    assert!(game.subscribe(2, 4, vec![vec![is("kind", "player")]]));
    assert!(game.subscribe(2, 5, vec![vec![is("attribute", "y")]]));
    let (output, told) = game.tick(&Frame::new(Tick(1)));
    assert_eq!(told[&2].len(), output.counts.changes as usize);
    for (notice, ids) in &told[&2] {
        match notice {
            Notice::Change {
                column: 0, command, ..
            } => {
                assert_eq!((&ids[..], *command), (&[4, 9][..], Some(CommandKind::Roam)));
            }
            _ => assert_eq!(ids, &[4, 5, 9]),
        }
    }
}

#[test]
fn who_dies_is_told_of_as_it_was_and_no_death_by_itself() {
    let wolves = "[commands]\nstrike.damage = 60\n[[kind]]\nname = \"player\"\n\
        [[kind]]\nname = \"wolf\"\nrespawn_ticks = 5\nattributes = [{ name = \"hp\", \
        type = \"i32\", min = 0, default = 50, audience = \"state\" }]\n";
    let mut game = Game::new(&world("subscriptions_per_client = 3", wolves));
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[50 * UNIT, 50 * UNIT]);
    frame.spawn_at(1, 1, &[51 * UNIT, 50 * UNIT]);
    frame.spawn_at(1, 2, &[52 * UNIT, 50 * UNIT]);
    game.tick(&frame);
    let fall = ("event".to_owned(), "==", Value::Text("fall".to_owned()));
    let place = ("x".to_owned(), "==", Value::Number(51.0));
    let kind = ("fall.kind".to_owned(), "==", Value::Number(1.0));
    assert!(game.subscribe(0, 0, vec![vec![fall, place, kind]]));
    assert!(game.subscribe(
        1,
        0,
        vec![vec![("hp".to_owned(), "<=", Value::Number(0.0))]]
    ));
    assert!(game.subscribe(2, 0, vec![vec![]]));
    let mut frame = Frame::new(Tick(1));
    let words = [EntityId::new(1, 1).reference().0];
    frame.push(EntityId::new(0, 1), 0, CommandKind::Strike, &words);
    // Nobody is told that this one is gone.
    frame.push(EntityId::new(2, 1), 0, CommandKind::Despawn, &[]);
    let (output, told) = game.tick(&frame);
    assert_eq!(output.deaths.len(), 2);
    let change = Notice::Change {
        entity: EntityId::new(1, 1),
        kind: 1,
        column: 2,
        old: 50,
        new: 0,
        command: Some(CommandKind::Strike),
    };
    let ids = vec![0];
    assert_eq!(told[&0], [(Notice::Notification(0), ids.clone())]);
    let both = [(Notice::Notification(0), ids.clone()), (change, ids)];
    assert_eq!(told[&1], both);
    assert_eq!(told[&2], both);
}

#[test]
fn what_is_too_much_is_refused_with_a_reason() {
    let config = world(
        "subscriptions_per_client = 2\npredicate_filters = 4\npredicate_bytes = 60",
        GUILD,
    );
    let mut game = Game::new(&config);
    let mut refused = |client, id, text: &str| {
        let refused = game.subscribe_text(client, id, text);
        refused.unwrap_err().to_string()
    };
    assert_eq!(
        refused(0, 0, &format!("kind == \"{}\"", "x".repeat(60))),
        "a text of 70 bytes, where at most 60 are allowed"
    );
    assert_eq!(
        refused(0, 0, "x<1||x<2||x<3||x<4||x<5"),
        "column 19: 5 filters, where at most 4 are allowed"
    );
    assert_eq!(
        refused(0, 0, "(x<1||x<2||x<3) && (y<1||y<2)"),
        "column 17: 6 filters, where at most 4 are allowed"
    );
    let many = ["x<1"; 17].join("&&");
    let wide = Game::new(&world("subscriptions_per_client = 2", GUILD)).subscribe_text(0, 0, &many);
    assert!(matches!(wide, Err(SubscribeError::Text(_))), "{wide:?}");
    assert_eq!(refused(40, 0, "true"), "client row 40 does not exist");
    assert!(refused(0, 0, "hp <").contains("column 5"));
    game.subscribe_text(0, 7, "true").unwrap();
    assert_eq!(
        game.subscribe_text(0, 7, "false"),
        Err(SubscribeError::Exists(7))
    );
    game.subscribe_text(0, 8, "false").unwrap();
    let limit = 2;
    assert_eq!(
        game.subscribe_text(0, 9, "true"),
        Err(SubscribeError::TooMany { limit })
    );
    // Another's limits are its own.
    game.subscribe_text(1, 7, "true").unwrap();
}

#[test]
fn a_client_gets_the_first_of_too_many_and_others_get_theirs() {
    let limits = "subscriptions_per_client = 2\nclient_notices_per_tick = 3\nclients = 3000";
    let text = format!(
        "[world]\nsize = [100, 100]\ncapacity = 700\n[limits]\n{limits}\n\
         [[kind]]\nname = \"sheep\"\npopulation = 700\n\
         [[every]]\nkind = \"sheep\"\nticks = 1\ncommand = \"roam\"\n"
    );
    let config = WorldConfig::parse(&text, "test").unwrap();
    let mut game = Game::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    game.tick(&frame);
    // So many who want everything that matching it all for them would take long.
    for client in 0..1500 {
        assert!(game.subscribe(client, 0, vec![vec![]]));
    }
    let last = EntityId::new(699, 1).reference().0;
    let modest = vec![vec![(
        "entity".to_owned(),
        "==",
        Value::Number(f64::from(last)),
    )]];
    assert!(game.subscribe(2999, 1, modest.clone()));
    // Who is greedy in one subscription loses for the other.
    assert!(game.subscribe(0, 1, modest));
    for tick in 1..3 {
        let (output, told) = game.tick(&Frame::new(Tick(tick)));
        assert!(output.counts.changes > 1000);
        assert_eq!(told.len(), 1501);
        assert_eq!(game.full, 1500);
        assert!((1..=2).contains(&told[&2999].len()));
        assert!(told[&0].iter().all(|(_, ids)| ids == &[0]));
    }
    // What was left out of a tick is as any other after it.
    game.forget(0);
    assert!(game.subscribe(0, 5, vec![vec![]]));
    let told = game.tick(&Frame::new(Tick(3))).1;
    assert!(told[&0].iter().all(|(_, ids)| ids == &[5]));
}

/// Ranges are found by the cells that they lie in: also those that end where a cell does,
/// of one value, of none, without one end, and beyond all values.
#[test]
fn who_asks_for_a_range_is_told_of_all_in_it() {
    let text = "[world]\nsize = [64, 40]\ncapacity = 300\n\
        [limits]\nsubscriptions_per_client = 4\nclients = 250\nclient_notices_per_tick = 2000\n\
        [[kind]]\nname = \"sheep\"\npopulation = 200\nattributes = [\
        { name = \"hp\", type = \"i32\", min = -40, max = 600, default = 599, \
        audience = \"private\" }]\n\
        [[kind]]\nname = \"goat\"\npopulation = 60\n\
        [[every]]\nkind = \"sheep\"\nticks = 1\ncommand = \"roam\"\n\
        [[every]]\nkind = \"goat\"\nticks = 1\ncommand = \"roam\"\n";
    let config = WorldConfig::parse(text, "test").unwrap();
    let mut game = Game::new(&config);
    let mut dice = Dice::new(5);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    game.tick(&frame);
    for client in 0..250 {
        for id in 0..4 {
            let name = dice.pick(&["x", "y", "x", "y", "hp"]);
            // Ends of cells, and just beside them.
            let at = f64::from(dice.within(-2..=66)) + dice.pick(&[0.0, 0.25, -1.0 / 4096.0]);
            let width = dice.pick(&[0.0, 1.0 / 4096.0, 0.25, 1.0, 3.0, 16.0, -1.0]);
            let constraint =
                |name: &str, operator, n| (name.to_owned(), operator, Value::Number(n));
            let low = constraint(name, dice.pick(&[">", ">="]), at);
            let high = constraint(name, dice.pick(&["<", "<="]), at + width);
            let mut filter = match dice.below(5) {
                0 => vec![low],
                1 => vec![high],
                2 => vec![constraint(name, dice.pick(&["==", "!="]), at)],
                _ => vec![low, high],
            };
            if dice.once_in(3) {
                filter.push(constraint("y", ">", f64::from(dice.within(-5..=50))));
                filter.push(constraint("y", "<=", f64::from(dice.within(-5..=50))));
            }
            assert!(game.subscribe(client, id, vec![filter]));
        }
        game.embody(client, EntityId::new(client, 1));
    }
    let mut told = 0;
    for tick in 1..12 {
        let (_, all) = game.tick(&Frame::new(Tick(tick)));
        told += all.values().map(Vec::len).sum::<usize>();
    }
    assert!(told > 100_000, "{told}");
}

/// What is accepted before a tick's matching begins is told in it; nobody waits.
#[test]
fn clients_subscribe_while_ticks_are_matched() {
    let text = "[world]\nsize = [100, 100]\ncapacity = 300\n\
        [limits]\nsubscriptions_per_client = 4\nclients = 4000\n\
        [[kind]]\nname = \"sheep\"\npopulation = 300\n\
        [[every]]\nkind = \"sheep\"\nticks = 1\ncommand = \"roam\"\n";
    let config = WorldConfig::parse(text, "test").unwrap();
    let mut backend = CpuBackend::new(&config, 1, None).unwrap();
    let mut mirror = Mirror::new(&config);
    let mut listeners = Listeners::new(&config, 2, false).unwrap().unwrap();
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    let output = backend.tick(&frame).unwrap();
    mirror.apply(&config, &output);
    let sheep = |slot: u32| format!("entity == {}", EntityId::new(slot, 1).reference().0);
    // Others, among whom nobody should have to wait.
    let desk = listeners.desk();
    for client in 1000..4000 {
        for id in 0..4 {
            desk.subscribe(ClientRow(client), id, &sheep(client % 300))
                .unwrap();
        }
    }
    let is_over = AtomicBool::new(false);
    // By client: accepted in which round, counted by the ticks begun.
    let begun = AtomicU32::new(0);
    let rounds = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let (desk, is_over, begun, sheep) = (listeners.desk(), &is_over, &begun, &sheep);
                scope.spawn(move || {
                    let mut accepted = vec![];
                    let mut rounds = 0u32;
                    for client in (thread * 500..).take(500) {
                        // Comes and goes, and comes to stay.
                        for id in 0..3 {
                            desk.subscribe(ClientRow(client), id, "true").unwrap();
                        }
                        desk.unsubscribe(ClientRow(client), 1).unwrap();
                        desk.forget(ClientRow(client));
                        let text = sheep(client % 300);
                        desk.subscribe(ClientRow(client), 3, &text).unwrap();
                        accepted.push((client, begun.load(Ordering::SeqCst)));
                        rounds += 1;
                        if is_over.load(Ordering::SeqCst) {
                            break;
                        }
                        std::thread::yield_now();
                    }
                    (accepted, rounds)
                })
            })
            .collect();
        let mut told_in: Vec<(u32, Vec<ClientRow>)> = vec![];
        for tick in 1..30 {
            let output = backend.tick(&Frame::new(Tick(tick))).unwrap();
            begun.store(tick, Ordering::SeqCst);
            let notices = listeners.listen(&output, &mirror);
            for client in (1000..4000).map(ClientRow) {
                let all = notices
                    .of(client)
                    .all(|told| told.subscriptions == [0, 1, 2, 3]);
                assert!(all, "{client:?}");
            }
            told_in.push((tick, notices.clients().collect()));
            mirror.apply(&config, &output);
        }
        is_over.store(true, Ordering::SeqCst);
        let all: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        for (accepted, _) in &all {
            for &(client, tick) in accepted {
                // Sheep hardly ever stand still: a step of nothing along both axes.
                let later = told_in.iter().filter(|(number, _)| *number > tick);
                let missed = later.filter(|(_, clients)| !clients.contains(&ClientRow(client)));
                assert!(missed.count() <= 1, "client {client}, accepted in {tick}");
            }
        }
        all.iter().map(|(_, rounds)| rounds).sum::<u32>()
    });
    assert!(rounds >= 2);
    assert_eq!(listeners.desk().subscriptions(), 12_000 + rounds as usize);
}

#[test]
fn nobody_listens_in_a_world_without_subscriptions() {
    let config = world("", GUILD);
    assert!(Listeners::new(&config, 1, false).unwrap().is_none());
}

/// A world of 100 × 100 units.
fn world(limits: &str, rest: &str) -> WorldConfig {
    let text = format!(
        "[world]\nsize = [100, 100]\ncapacity = 40\nvisible_max = 8\n[limits]\n{limits}\n{rest}\n"
    );
    WorldConfig::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"))
}
