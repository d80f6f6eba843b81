//! Commands run in the tick that they are meant for, and those that don't run are named.

use client_bot::View;
use client_bot::client_core::{DatagramSummary, EventHandler, Movement, RefusedRun};
use script::builtin;
use script::logic::with_logic;
use server::Server;
use shared::world::logic::{Constant, Text};
use shared::{Refusal, Tick};
use tokio::time::{Duration, Instant, timeout};

use crate::common::{DEADLINE, Player, start, start_with, units, world};

const WORLD: &str = "
    [world]
    size = [400, 400]
    capacity = 16
    tick_hz = 20

    [[kind]]
    name = 'player'
    spawn = { area = [[100, 100], [300, 300]] }

    [limits]
    client_commands_per_tick = 2
    client_commands_burst = 6
    input_ticks_max = 60
    late_ticks_max = 60

    [commands]
    move.per_tick = 0
";

/// The reports that a player gets of its input.
#[derive(Default)]
struct InputLog {
    /// Where it is along the first axis, by tick.
    places: Vec<(Tick, i32)>,
    /// By how many ticks its commands came too early, by the tick that says so.
    margins: Vec<(Tick, i32)>,
    refused: Vec<RefusedRun>,
}

impl EventHandler for InputLog {
    fn datagram(&mut self, view: &View, summary: DatagramSummary, _: &Movement) {
        if let Some(own) = view.own() {
            let place = view.position(own, summary.tick)[0];
            self.places.push((summary.tick, place));
        }
        let margin = summary.margin.map(|margin| (summary.tick, margin));
        self.margins.extend(margin);
    }

    fn refused(&mut self, _: Tick, commands: RefusedRun) {
        self.refused.push(commands);
    }
}

impl InputLog {
    /// The ticks in which the player went on, with how far it went, in units.
    fn steps(&self) -> Vec<(Tick, i32)> {
        let pairs = self.places.windows(2);
        let steps = pairs.map(|pair| (pair[1].0, (pair[1].1 - pair[0].1) / units(1.0)));
        steps.filter(|step| step.1 != 0).collect()
    }
}

/// Listens until the server is through with a command.
async fn until_processed(player: &mut Player, log: &mut InputLog, sequence: u32) {
    let started = Instant::now();
    while player.client.view().processed() < sequence {
        assert!(started.elapsed() < DEADLINE, "{sequence} is not processed");
        let soon = Duration::from_millis(5);
        if let Ok(received) = timeout(soon, player.client.receive(log)).await {
            received.expect("it stays connected");
        }
        player.client.flush();
    }
}

/// A player, the newest tick that it has received, and its log.
async fn joined(server: &Server) -> (Player, Tick, InputLog) {
    let player = Player::join(server).await;
    let view = player.client.view();
    let newest = view.newest();
    let place = view.position(view.own().expect("it sees itself"), newest)[0];
    let log = InputLog {
        places: vec![(newest, place)],
        ..InputLog::default()
    };
    (player, newest, log)
}

fn step(player: &mut Player, far: f64) -> u32 {
    let words = [units(far), 0];
    let sent = player.client.command(builtin::MOVE, &words);
    sent.expect("this world has it")
}

#[tokio::test]
async fn commands_run_in_the_tick_that_they_are_meant_for_and_the_client_learns_their_margin() {
    let server = start(WORLD);
    let (mut player, now, mut log) = joined(&server).await;
    let ticks = [now.after(20), now.after(20), now.after(23)];
    for (i, tick) in ticks.into_iter().enumerate() {
        step(&mut player, [1.0, 0.5, 2.0][i]);
        player.client.flush_for(tick);
    }
    until_processed(&mut player, &mut log, 3).await;
    let after = step(&mut player, -1.0);
    player.client.flush();
    until_processed(&mut player, &mut log, after).await;
    let steps = log.steps();
    assert_eq!(steps[..2], [(ticks[0], 1), (ticks[2], 2)]);
    assert_eq!(steps.len(), 3, "{steps:?}");
    // Each margin comes with its tick; the commands arrived at about the same time.
    let [(first, early), (last, earlier)] = log.margins[..] else {
        panic!("{:?}", log.margins);
    };
    assert_eq!([first, last], [ticks[0], ticks[2]]);
    assert!(
        (0..=20).contains(&early) && earlier >= early,
        "{early}, {earlier}"
    );
    assert_eq!(log.refused, []);
    player.client.leave();
    server.stop().unwrap();
}

#[tokio::test]
async fn a_command_that_comes_late_runs_in_the_next_tick_and_before_later_ones() {
    let server = start(WORLD);
    let (mut player, now, mut log) = joined(&server).await;
    step(&mut player, 1.0);
    player.client.flush_for(now.before(2));
    step(&mut player, 2.0);
    player.client.flush_for(now.after(20));
    // A clock that was put back: commands run in the order in which they were given.
    step(&mut player, 1.0);
    player.client.flush_for(now.before(1));
    until_processed(&mut player, &mut log, 3).await;
    let steps = log.steps();
    let far: Vec<i32> = steps.iter().map(|step| step.1).collect();
    assert_eq!(far, [1, 3]);
    assert!(steps[0].0 > now && steps[0].0 < steps[1].0, "{steps:?}");
    assert_eq!(steps[1].0, now.after(20));
    assert!(log.margins[0].1 < 0, "{:?}", log.margins);
    player.client.leave();
    server.stop().unwrap();
}

#[tokio::test]
async fn commands_that_do_not_run_are_named_with_the_reason() {
    let server = start(&WORLD.replace("late_ticks_max = 60", "late_ticks_max = 0"));
    let (mut player, now, mut log) = joined(&server).await;
    step(&mut player, 1.0);
    player.client.flush_for(Tick(0));
    until_processed(&mut player, &mut log, 1).await;
    // Six at once are allowed.
    for _ in 0..10 {
        step(&mut player, 1.0);
    }
    player.client.flush();
    until_processed(&mut player, &mut log, 11).await;
    step(&mut player, 1.0);
    player.client.flush_for(now.after(10_000));
    until_processed(&mut player, &mut log, 12).await;
    let expected = [
        run(1, 1, Refusal::TooLate),
        run(8, 4, Refusal::OverQuota),
        run(12, 1, Refusal::TooEarly),
    ];
    let started = Instant::now();
    while log.refused.len() < expected.len() {
        assert!(started.elapsed() < DEADLINE, "{:?}", log.refused);
        player.client.receive(&mut log).await.unwrap();
        player.client.flush();
    }
    assert_eq!(log.refused, expected);
    assert_eq!(log.steps().iter().map(|step| step.1).sum::<i32>(), 6);
    player.client.leave();
    server.stop().unwrap();
}

/// All that was refused: numbers of commands and reasons.
async fn until_refused(player: &mut Player, log: &mut InputLog, count: u32) -> Vec<RefusedRun> {
    let started = Instant::now();
    while log.refused.iter().map(|run| run.count).sum::<u32>() < count {
        assert!(started.elapsed() < DEADLINE, "{:?}", log.refused);
        player.client.receive(log).await.unwrap();
        player.client.flush();
    }
    std::mem::take(&mut log.refused)
}

fn run(first: u32, count: u32, reason: Refusal) -> RefusedRun {
    RefusedRun {
        first,
        count,
        reason,
        because: None,
    }
}

#[tokio::test]
async fn fifteen_moves_in_a_datagram_go_one_step_and_the_rest_are_named() {
    let world = WORLD.replace("move.per_tick = 0", "");
    let server = start(&world.replace("burst = 6", "burst = 20"));
    let (mut player, now, mut log) = joined(&server).await;
    for _ in 0..15 {
        step(&mut player, 2.0);
    }
    player.client.flush_for(now.after(20));
    until_processed(&mut player, &mut log, 15).await;
    let refused = until_refused(&mut player, &mut log, 14).await;
    assert_eq!(refused, [run(2, 14, Refusal::OverPerTick)]);
    step(&mut player, 1.0);
    player.client.flush();
    until_processed(&mut player, &mut log, 16).await;
    let steps: Vec<i32> = log.steps().iter().map(|step| step.1).collect();
    assert_eq!(steps, [2, 1]);
    player.client.leave();
    server.stop().unwrap();
}

#[tokio::test]
async fn moves_that_wait_are_played_out_over_the_next_ticks() {
    let world = WORLD.replace("move.per_tick = 0", "move.per_tick = 2");
    let world = world.replace("input_ticks_max = 60", "input_ticks_max = 22");
    let world = world.replace("burst = 6", "burst = 20\n    surplus_waits = true");
    let server = start(&world);
    let (mut player, now, mut log) = joined(&server).await;
    for _ in 0..5 {
        step(&mut player, 1.0);
    }
    let tick = now.after(10);
    player.client.flush_for(tick);
    until_processed(&mut player, &mut log, 5).await;
    assert_eq!(log.refused, []);
    step(&mut player, -1.0);
    player.client.flush();
    until_processed(&mut player, &mut log, 6).await;
    let expected = [(tick, 2), (tick.next(), 2), (tick.after(2), 1)];
    assert_eq!(log.steps()[..3], expected);
    player.client.leave();
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_learns_that_a_command_rests_and_that_one_changed_nothing() {
    let world = WORLD.replace("move.per_tick = 0", "move.cooldown = 1000");
    let world = world.replace(
        "[limits]",
        "attributes = [{ name = 'hp', type = 'i32', audience = 'state' }]\n[limits]",
    );
    let server = start(&world);
    let (mut player, now, mut log) = joined(&server).await;
    step(&mut player, 1.0);
    player.client.flush_for(now.after(10));
    step(&mut player, 1.0);
    // There is no entity to strike.
    player.client.command(builtin::STRIKE, &[-1]).unwrap();
    player.client.flush_for(now.after(11));
    until_processed(&mut player, &mut log, 3).await;
    let refused = until_refused(&mut player, &mut log, 2).await;
    assert_eq!(
        refused,
        [run(2, 1, Refusal::Resting), run(3, 1, Refusal::Idle)]
    );
    assert_eq!(log.steps().len(), 1);
    player.client.leave();
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_learns_in_the_words_of_the_script_what_a_command_lacked() {
    let script = "
        #[command(clients)] fn pay(me: Entity, n: i32) {
            require(n > 0, \"nothing to pay\");
            require(me.gold >= n, \"too little gold\");
            me.gold -= n;
        }
        #[command(clients, atomic)] fn deal(me: Entity, n: i32) {
            require(me.gold >= n, \"you can't afford this\");
            me.gold -= n;
        }";
    let text = WORLD.replace(
        "spawn =",
        "attributes = [{ name = 'gold', type = 'i32', default = 5, audience = 'state' }]\nspawn =",
    );
    let text = text.replace("[limits]", "[limits]\natomic_per_tick = 8");
    let config = world(&text);
    let mut logic = config.logic.clone();
    logic.texts.push(Text::new("pay.rs", script));
    let usage = [("per_tick".to_owned(), Constant::Int(0))];
    logic.constants.insert("pay".to_owned(), usage.into());
    let config = with_logic(&config, &logic).expect("valid scripts");
    let server = start_with("", |options| options.world = config);
    let (mut player, _, mut log) = joined(&server).await;
    for (command, n) in [("pay", 0), ("pay", 6), ("deal", 6), ("pay", 2)] {
        let schema = player.client.view().schema();
        let kind = schema.command_named(command).expect("it is there").kind;
        player.client.command(kind, &[n]).unwrap();
    }
    player.client.flush();
    let refused = until_refused(&mut player, &mut log, 3).await;
    let said: Vec<(Refusal, String)> = refused
        .iter()
        .map(|run| (run.reason, run.to_string()))
        .collect();
    let expected = [
        (Refusal::Idle, "nothing to pay"),
        (Refusal::Idle, "too little gold"),
        (Refusal::Unmet, "you can't afford this"),
    ];
    assert_eq!(said, expected.map(|(why, text)| (why, text.to_owned())));
    player.client.leave();
    server.stop().unwrap();
}
