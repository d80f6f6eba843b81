//! Crowds of clients whose budgets are smaller than their updates.

use std::num::NonZeroUsize;

use client_bot::{BehaviourKind, Swarm, SwarmOptions};

use crate::common::{Bots, start, swarm_options, ticks};

/// A world in which all players see each other, and are sent so many bytes a tick.
fn crowd(limits: &str) -> String {
    format!(
        "[world]\nsize = [110, 110]\naoi = 160\naoi_leave = 170\ncapacity = 200\ntick_hz = 20\n\
         [limits]\nclients = 200\n{limits}\n\
         [[kind]]\nname = \"player\"\nattributes = [\
         {{ name = \"hp\", type = \"i32\", default = 100, min = 0, max = 100, \
         audience = \"state\" }}]\n"
    )
}

#[tokio::test]
async fn a_crowd_is_sent_as_much_as_its_budget_allows_and_no_client_waits_too_long() {
    let server = start(&crowd("client_bytes_per_tick = 256"));
    let bots = Bots::start(&server, 60, BehaviourKind::Crowd).await;
    ticks(&server, 200).await;
    let before = server.stats().figures();
    ticks(&server, 100).await;
    let after = server.stats().figures();
    assert!(after.movement_deferred > before.movement_deferred + 1000);
    bots.verify(&server).await;
}

#[tokio::test]
async fn hits_in_a_crowd_are_sent_in_the_end() {
    let server = start(&crowd("client_bytes_per_tick = 300"));
    let bots = Bots::start(&server, 40, BehaviourKind::Fight).await;
    ticks(&server, 150).await;
    bots.verify(&server).await;
}

#[tokio::test]
async fn of_a_crowd_some_are_verified_and_the_others_play_all_the_same() {
    let server = start(&crowd(""));
    let bots = Bots::start_with(&server, 40, BehaviourKind::Wander, |options| {
        options.view_every = NonZeroUsize::new(4).expect("4 is not 0");
    });
    let bots = bots.await;
    ticks(&server, 150).await;
    let report = bots.verify(&server).await;
    // All of them, once a tick.
    assert!(report.commands_sent > 40 * 100, "{}", report.commands_sent);
}

#[tokio::test]
async fn bots_that_look_for_others_need_to_see_them() {
    let server = start(&crowd(""));
    let options = SwarmOptions {
        view_every: NonZeroUsize::new(2).expect("2 is not 0"),
        ..swarm_options(&server, 4, BehaviourKind::Fight)
    };
    let refused = Swarm::start(options).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|why| why.contains("fight look at others")));
}
