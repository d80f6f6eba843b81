//! Private and hidden attributes: which notices tell of them, and which predicates may name
//! them.

use gpu_kernels::Frame;
use gpu_kernels::listen::Notice;
use shared::{EntityId, Tick};

use crate::listen::direct::Value;
use crate::listen::game::{ByClient, Game};
use crate::listen::{GUILD, UNIT, guild, strike, world};

#[test]
fn a_private_change_reaches_only_its_own_client() {
    let mut game = guild();
    let number = |name: &str, operator, n| (name.to_owned(), operator, Value::Number(n));
    let is = |name: &str, text: &str| (name.to_owned(), "==", Value::Text(text.to_owned()));
    for client in 0..3 {
        // By attribute, by command, by values and kind, and by nothing at all.
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
    let notices = strike(&mut game, 1);
    let gets_hp = |client: u32| {
        let mut all = notices.get(&client).into_iter().flatten();
        all.any(|(notice, _)| matches!(notice, Notice::Change { column: 2, .. }))
    };
    assert_eq!([0, 1, 2].map(gets_hp), [false, true, false]);
    // Its own steps satisfy `hp < 50`, since its private hit points do; for this client only.
    for (client, expected) in [(0, false), (1, true), (2, false)] {
        let all = &notices[&client];
        assert_eq!(all.iter().any(|(_, ids)| ids.contains(&1)), expected);
    }
}

#[test]
fn a_client_does_not_inherit_the_entity_of_the_client_before_it_in_its_row() {
    let mut game = guild();
    let hurt = vec![vec![("hp".to_owned(), "<", Value::Number(50.0))]];
    assert!(game.subscribe(1, 0, hurt.clone()));
    assert_eq!(strike(&mut game, 1).keys().collect::<Vec<_>>(), [&1]);
    game.forget(1);
    assert!(game.subscribe(1, 0, hurt));
    assert_eq!(strike(&mut game, 2), ByClient::new());
    game.set_entity(1, EntityId::new(0, 1));
    assert_eq!(
        strike(&mut game, 3),
        ByClient::new(),
        "that one was not hurt"
    );
    game.set_entity(1, EntityId::new(1, 1));
    assert_eq!(strike(&mut game, 4).len(), 1);
}

#[test]
fn a_hidden_attribute_has_no_name_and_no_notice() {
    let mut game = guild();
    for text in [
        "luck > 3",
        "event == \"change\" && luck != 0",
        "kind == \"player\" || luck < 9",
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
    game.set_entity(1, EntityId::new(1, 1));
    assert!(game.subscribe(1, 0, vec![vec![]]));
    let is_hit = vec![("command".to_owned(), "==", Value::Text("strike".to_owned()))];
    assert!(game.subscribe(1, 1, vec![is_hit]));
    let notices = strike(&mut game, 1);
    assert!(notices[&1].iter().all(|(_, ids)| ids == &[0]));
    assert!(
        notices[&1]
            .iter()
            .all(|(notice, _)| { matches!(notice, Notice::Change { column: 0..2, .. }) })
    );
}
