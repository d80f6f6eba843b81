//! Walk through a world in a terminal: entities in view move at 60 frames a second, whatever the
//! server's tick rate, and you move at once. Keys: w, a, s, d; x to stop, q to leave.
//!
//! ```sh
//! cargo run -p client-bot --example walk -- 127.0.0.1:4433 --loss 5 --delay 80 --jitter 40
//! ```

mod terminal;
// Written by `myriad bindings --lang rs client-bot/bindings/walk.toml`.
#[rustfmt::skip]
mod world;

use std::time::{Duration, Instant};

use clap::Parser;
use client_bot::client_core::Event;
use client_bot::connect::addresses_of;
use client_bot::{GameClient, Trust};
use terminal::{Arguments, Terminal};

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let (options, trust) = (world::options(), Trust::AnyCertificate);
    let server = addresses_of(&arguments.server)?;
    let mut client = GameClient::new(server, "localhost", &trust, options)?;
    client.set_network(&arguments.network.network()?, 1);
    let mut terminal = Terminal::new(arguments.script)?;
    let (started, mut frames) = (Instant::now(), 0u32);
    while started.elapsed().as_secs_f64() < arguments.seconds {
        // The events, and the scene.
        for event in client.poll() {
            if let Event::Lost {
                code,
                reason,
                retry_in: None,
                ..
            } = event
            {
                anyhow::bail!("{}: {reason}", code.words());
            }
        }
        let Some(direction) = terminal.direction()? else {
            break;
        };
        // Once for each tick of the server.
        while client.input_due().is_some() {
            world::give(&mut client).move_(direction[0], direction[1])?;
            client.flush();
        }
        client.flush();
        terminal.draw(&client);
        frames += 1;
        std::thread::sleep(Duration::from_millis(16));
    }
    let others = world::view(&client)
        .players()
        .filter(|player| !player.is_own());
    let others = others.count();
    let prediction = client.game().prediction();
    let corrections = prediction.map(|p| p.corrections()).unwrap_or_default();
    client.leave();
    drop(terminal);
    println!(
        "{frames} frames, {others} other players in view, {} of {} predictions corrected",
        corrections.corrected, corrections.compared
    );
    Ok(())
}
