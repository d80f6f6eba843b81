//! A client that sends more commands than its quota gets its quota.

use crate::common::{Bots, Player, listen_for, start, units};
use client_bot::BehaviourKind;
use script::builtin;
use shared::wire::commands::COMMANDS_MAX;

#[tokio::test]
async fn a_flood_of_commands_moves_no_player_faster_and_disturbs_no_other_client() {
    let server = start(
        "
        [world]
        size = [2000, 2000]
        aoi = 600
        capacity = 64
        tick_hz = 20

        [limits]
        client_commands_per_tick = 2
        client_commands_burst = 10

        [commands.move]
        speed_max = 2
    ",
    );
    let bots = Bots::start(&server, 20, BehaviourKind::Wander).await;
    let mut flooder = Player::join(&server).await;
    let x = |player: &Player| player.client.view().own().unwrap().row[0];
    let begun = (x(&flooder), flooder.client.view().newest());
    // Away from the nearer edge: the quota does not reach the other one.
    let step = units(if begun.0 < units(1000.0) { 2.0 } else { -2.0 });
    while server.stats().figures().commands_over_quota < 10_000 {
        for _ in 0..10 {
            for _ in 0..COMMANDS_MAX {
                flooder.client.command(builtin::MOVE, &[step, 0]);
            }
            flooder.client.flush();
        }
        flooder.listen().await.expect("a flood is no reason to end");
    }
    listen_for(&server, &mut [&mut flooder], 10).await;

    let last = flooder.client.view().own().unwrap().course.tick;
    let steps = 10 + 2 * (last.since(begun.1) + 1);
    let moved = (x(&flooder) - begun.0).unsigned_abs();
    assert!(moved > 0, "the quota can be used");
    assert!(
        moved <= steps * units(2.0) as u32,
        "{moved} in raw units, where its quota allows {steps} steps"
    );
    flooder.client.leave();
    bots.verify(&server).await;
    assert_eq!(server.stats().figures().malformed, 0);
    server.stop().unwrap();
}
