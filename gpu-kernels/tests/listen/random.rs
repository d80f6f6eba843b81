//! Random worlds and predicates against the oracle.

use gpu_kernels::listen::Notice;
use shared::world::attribute::AttributeType;
use shared::{Audience, WorldConfig};

use crate::listen::direct::{Constraint, Predicate, Value};
use crate::listen::game::Game;
use testkit::dice::{Dice, Seed};
use testkit::oracle::Oracle;
use testkit::world::Play;

#[test]
fn random_worlds_give_the_notices_of_a_direct_evaluation() {
    let (mut total, mut private, mut full) = (0, 0, 0);
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
                total += all.len();
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
        total > 10_000 && private > 30 && full > 1000,
        "{total} {private} {full}"
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
    let subscriptions: Vec<_> = game.direct.subscriptions.keys().copied().collect();
    for (client, id) in subscriptions {
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
            game.set_entity(dice.below(clients) as u32, dice.pick(&alive));
        }
    }
}

pub fn predicate(dice: &mut Dice, config: &WorldConfig, oracle: &Oracle) -> Predicate {
    let filters = dice.pick(&[0, 1, 1, 1, 2, 3]);
    (0..filters)
        .map(|_| {
            let constraints = dice.pick(&[0, 1, 1, 2, 3]);
            let constraint = |dice: &mut Dice| constraint(dice, config, oracle);
            (0..constraints).map(|_| constraint(dice)).collect()
        })
        .collect()
}

/// On a name that predicates may use, with a value that may occur.
fn constraint(dice: &mut Dice, config: &WorldConfig, oracle: &Oracle) -> Constraint {
    let schema = &config.schema;
    let texts = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>();
    let mut events = texts(schema.notifications.iter().map(|n| &n.name).collect());
    events.push("change".to_owned());
    // Changes of numbers of 64 bits are no events.
    let changing = schema.attributes.iter().filter(|a| !a.ty.is_half());
    let attributes = texts(changing.map(|a| &a.name).collect());
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
        ("by".to_owned(), None),
    ];
    for notification in &schema.notifications {
        let fields = notification.fields.iter();
        named.extend(fields.map(|f| (format!("{}.{}", notification.name, f.name), None)));
    }
    for attribute in &schema.attributes {
        let is_symbol = attribute.ty == AttributeType::Symbol;
        if attribute.audience != Audience::Hidden && attribute.ty != AttributeType::High {
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
