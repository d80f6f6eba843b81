//! Keys, a map of letters, and the command line.

use std::time::{Duration, Instant};

use clap::Parser;
use client_bot::GameClient;
use client_bot::network::NetworkArguments;
use crossterm::event::{Event, KeyCode, poll, read};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

#[derive(Parser)]
pub struct Arguments {
    #[arg(default_value = "127.0.0.1:4433")]
    pub server: String,
    /// Leave after so many seconds
    #[arg(long, default_value_t = f64::MAX)]
    pub seconds: f64,
    /// Walk in squares, without keys and pictures
    #[arg(long)]
    pub script: bool,
    #[command(flatten)]
    pub network: NetworkArguments,
}

/// The player's terminal, or a script in its place.
pub struct Terminal {
    is_script: bool,
    started: Instant,
    direction: [f64; 2],
}

impl Terminal {
    pub fn new(is_script: bool) -> std::io::Result<Terminal> {
        if !is_script {
            enable_raw_mode()?;
        }
        Ok(Terminal {
            is_script,
            started: Instant::now(),
            direction: [0.0; 2],
        })
    }

    /// Where the player walks; `None`: the player leaves.
    pub fn direction(&mut self) -> std::io::Result<Option<[f64; 2]>> {
        if self.is_script {
            let sides = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
            let side = self.started.elapsed().as_secs() as usize % sides.len();
            return Ok(Some(sides[side]));
        }
        while poll(Duration::ZERO)? {
            let Event::Key(key) = read()? else { continue };
            self.direction = match key.code {
                KeyCode::Char('w') => [0.0, -1.0],
                KeyCode::Char('s') => [0.0, 1.0],
                KeyCode::Char('a') => [-1.0, 0.0],
                KeyCode::Char('d') => [1.0, 0.0],
                KeyCode::Char('x') => [0.0, 0.0],
                KeyCode::Char('q') | KeyCode::Esc => return Ok(None),
                _ => self.direction,
            };
        }
        Ok(Some(self.direction))
    }

    /// Draws entities in view by the first letter of their kinds, and `@` in the middle.
    pub fn draw(&self, client: &GameClient) {
        if self.is_script {
            return;
        }
        let Some(view) = client.view() else {
            print!("\x1b[H\x1b[Jconnecting\r\n");
            return;
        };
        let Some(middle) = client.position(view.entity()) else {
            return;
        };
        let mut map = [[b' '; WIDTH]; HEIGHT];
        for entity in view.entities().values() {
            let Some(place) = client.position(entity.id) else {
                continue;
            };
            // A character is twice as high as it is wide.
            let column = (place[0] - middle[0]) * 2.0 + WIDTH as f64 / 2.0;
            let row = place[1] - middle[1] + HEIGHT as f64 / 2.0;
            let is_on_map = column >= 0.0 && row >= 0.0;
            let line = map.get_mut(row as usize).filter(|_| is_on_map);
            if let Some(sign) = line.and_then(|line| line.get_mut(column as usize)) {
                let name = &view.schema().kinds[usize::from(entity.kind)].name;
                let is_own = entity.id == view.entity();
                let letter = name.bytes().next().unwrap_or(b'?');
                *sign = if is_own { b'@' } else { letter };
            }
        }
        let lines = map.each_ref().map(|line| String::from_utf8_lossy(line));
        let keys = "w, a, s, d: walk; x: stop; q: leave";
        print!("\x1b[H\x1b[J{}\r\n{keys}\r\n", lines.join("\r\n"));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if !self.is_script {
            // The program ends in any case.
            let _ = disable_raw_mode();
        }
    }
}

const WIDTH: usize = 78;
const HEIGHT: usize = 22;
