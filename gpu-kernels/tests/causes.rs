//! The cause of a change: the first command that wanted it, and who gave this; on every backend and in the
//! oracle.

use gpu_kernels::Frame;
use script::builtin;
use shared::{EntityId, Tick, WorldConfig};
use testkit::parity::Parity;
use testkit::scripts::without_limits;

const HP: u16 = 2;

fn world(subscriptions: u32) -> WorldConfig {
    let text = format!(
        "[world]\nsize = [100, 100]\ncapacity = 40\n\
         [limits]\nsubscriptions_per_client = {subscriptions}\nupdates_per_tick = 9\n\
         [[every]]\nkind = \"player\"\nticks = 1\ncommand = \"roam\"\n"
    );
    // Some give many commands in a tick.
    without_limits(&world_file::parse(&text, "test").expect("the world file is valid"))
}

fn two_players(parity: &mut Parity) -> [EntityId; 2] {
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[5000, 5000]);
    frame.spawn_at(0, 1, &[5000, 5000]);
    parity.tick(&frame);
    [EntityId::new(0, 1), EntityId::new(1, 1)]
}

#[test]
fn the_first_command_in_order_that_wants_a_change_is_its_cause() {
    let mut parity = Parity::new(&world(1));
    let [a, b] = two_players(&mut parity);
    let target = [b.reference().0];
    let orders = [
        (builtin::STRIKE, builtin::HEAL),
        (builtin::HEAL, builtin::STRIKE),
    ];
    for (tick, (first, second)) in (1..).zip(orders) {
        let mut frame = Frame::new(Tick(tick));
        // A strike without a target updates nothing.
        frame.push(a, 0, builtin::STRIKE, &[-1]);
        frame.push(a, 1, first, &target);
        frame.push(b, 2, second, &target);
        frame.push(b, 3, builtin::MOVE, &[4096, 0]);
        let causes = parity.tick(&frame).causes;
        assert_eq!(causes[&(1, HP)], (first.id(), a.slot.0));
        assert_eq!(causes[&(1, 0)], (builtin::MOVE.id(), b.slot.0));
        // The step along the second axis, of length 0, came before the rule's.
        assert_eq!(causes[&(1, 1)], (builtin::MOVE.id(), b.slot.0));
        assert_eq!(causes[&(0, 0)], (builtin::ROAM.id(), a.slot.0));
        parity.restart(tick == 1);
    }
}

#[test]
fn a_command_whose_updates_were_dropped_is_no_cause() {
    let mut parity = Parity::new(&world(1));
    let [a, b] = two_players(&mut parity);
    let mut frame = Frame::new(Tick(1));
    for _ in 0..9 {
        frame.push(a, 0, builtin::STRIKE, &[b.reference().0]);
    }
    // There is no room for the rule's updates.
    let causes = parity.tick(&frame).causes;
    assert_eq!(
        causes.into_iter().collect::<Vec<_>>(),
        [((1, HP), (builtin::STRIKE.id(), 0))]
    );
}

#[test]
fn worlds_without_content_subscriptions_have_no_causes() {
    let mut parity = Parity::new(&world(0));
    let [a, _] = two_players(&mut parity);
    let mut frame = Frame::new(Tick(1));
    frame.push(a, 0, builtin::MOVE, &[4096, 0]);
    let output = parity.tick(&frame);
    assert!(output.counts.changes > 0 && output.causes.is_empty());
}
