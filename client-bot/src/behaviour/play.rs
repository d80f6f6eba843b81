use std::sync::Arc;

use client_core::View;
use script::arith::is_within;
use script::diagnostic::draw;
use script::interpreter::{Interpreter, World};
use script::{Play, Problem};
use shared::world::logic::Text;
use shared::{Schema, Slot, Tick};

use super::{Behaviour, Dice, Input};

/// Compiles a script for the clients of a world. The error is all that is wrong with it.
pub fn compile(schema: &Schema, text: &Text) -> Result<Play, String> {
    Play::compile(schema, text).map_err(|problems| {
        let mut others = problems.iter().filter(|p| p.diagnostic().is_none());
        if let Some(other) = others.next() {
            return other.to_string();
        }
        let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
        let drawn = draw(&diagnostics, std::slice::from_ref(text), false);
        format!(
            "{} is not a play of this world\n\n{}",
            text.file,
            drawn.trim_end()
        )
    })
}

/// Runs a script, once in each tick that the bot receives.
pub struct Scripted {
    play: Arc<Play>,
    interpreter: Interpreter,
    seed: u64,
    /// What the last run left to the next one.
    memory: Vec<i32>,
    /// The tick of the last run, and for how many ticks from it on the bot pauses.
    paused: (Tick, u32),
    /// Whether a run has used up its budget.
    has_overrun: bool,
}

impl Scripted {
    pub fn new(play: Arc<Play>, dice: &mut Dice) -> Scripted {
        Scripted {
            memory: play.memory(),
            play,
            paused: (Tick(0), 0),
            interpreter: Interpreter::default(),
            seed: dice.below(usize::MAX) as u64,
            has_overrun: false,
        }
    }
}

impl Behaviour for Scripted {
    fn act(&mut self, view: &View, _dice: &mut Dice, input: &mut Input) {
        let Some(own) = view.own() else { return };
        let (now, seen) = ((view.newest(), own.id), Seen(view));
        let (from, ticks) = self.paused;
        // The ticks of a world that began anew are smaller.
        if now.0.0.wrapping_sub(from.0) < u64::from(ticks) {
            return;
        }
        let (interpreter, memory) = (&mut self.interpreter, &mut self.memory);
        match self.play.act(interpreter, &seen, now, self.seed, memory) {
            Ok(turn) => {
                self.paused = (now.0, turn.pause);
                for sent in turn.sent {
                    input.command(sent.command, &sent.words);
                }
            }
            Err(_) if self.has_overrun => {}
            Err(_) => {
                self.has_overrun = true;
                input.complaint = Some("the play does more in a tick than it may".to_owned());
            }
        }
    }

    fn acts_each_tick(&self) -> bool {
        true
    }
}

/// The world as a script sees it: entities in view, with the values that the client received.
struct Seen<'a>(&'a View);

impl Seen<'_> {
    fn entity(&self, slot: Slot) -> Option<&client_core::Entity> {
        self.0.get(slot)
    }
}

impl World for Seen<'_> {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.entity(slot).map_or(0, |entity| entity.row[column])
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        self.entity(slot).map(|entity| entity.id.generation)
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.entity(slot).map_or(0, |entity| entity.kind)
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        let kind = usize::from(self.kind(slot));
        let kind = self.0.schema().kinds.get(kind);
        kind.is_some_and(|kind| {
            let mut own = kind.attributes.iter();
            own.any(|a| usize::from(a.column) == column)
        })
    }

    fn layer(&self, place: i32) -> i32 {
        self.0.schema().layers.word(place)
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        let dimensions = self.0.schema().dimensions();
        let edge = self.0.schema().world.aoi.raw().max(1);
        let mut found = vec![];
        for (&slot, entity) in self.0.entities() {
            let mut place = [0; 3];
            place[..dimensions].copy_from_slice(&entity.row[..dimensions]);
            if is_within(place, center, radius) {
                // As worlds are sorted: row by row of squares.
                let [x, y, z] = place.map(|axis| axis / edge);
                found.push(([z, y, x], slot));
            }
        }
        found.sort_unstable();
        slots.extend(found.into_iter().map(|(_, slot)| slot));
    }
}
