//! Limits of one subscription, of one client and of one tick.

use gpu_kernels::Frame;
use gpu_kernels::listen::SubscribeError;
use shared::{EntityId, Tick};

use crate::listen::direct::Value;
use crate::listen::game::Game;
use crate::listen::{GUILD, world};

#[test]
fn subscriptions_beyond_the_limits_are_refused_with_a_reason() {
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
    // Another client has its own limit.
    game.subscribe_text(1, 7, "true").unwrap();
}

#[test]
fn a_client_gets_its_first_notices_and_does_not_delay_others() {
    let limits = "subscriptions_per_client = 2\nclient_notices_per_tick = 3\nclients = 3000";
    let text = format!(
        "[world]\nsize = [100, 100]\ncapacity = 700\n[limits]\n{limits}\n\
         [[kind]]\nname = \"sheep\"\npopulation = 700\n\
         [[every]]\nkind = \"sheep\"\nticks = 1\ncommand = \"roam\"\n"
    );
    let config = world_file::parse(&text, "test").unwrap();
    let mut game = Game::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    game.tick(&frame);
    // So many clients want everything that matching it all for them would take long.
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
    // A subscription to everything uses up the limit of the client's other one.
    assert!(game.subscribe(0, 1, modest));
    for tick in 1..3 {
        let (output, notices) = game.tick(&Frame::new(Tick(tick)));
        assert!(output.counts.changes > 1000);
        assert_eq!(notices.len(), 1501);
        assert_eq!(game.full, 1500);
        assert!((1..=2).contains(&notices[&2999].len()));
        assert!(notices[&0].iter().all(|(_, ids)| ids == &[0]));
    }
    // A subscription that was left out of a tick is as any other after it.
    game.forget(0);
    assert!(game.subscribe(0, 5, vec![vec![]]));
    let notices = game.tick(&Frame::new(Tick(3))).1;
    assert!(notices[&0].iter().all(|(_, ids)| ids == &[5]));
}
