use std::f64::consts::TAU;

use client_core::View;
use shared::world::attribute::{AttributeType, Content};
use shared::{CommandKind, EntityRef, Fixed, Schema};

use super::{Behaviour, Dice, Input, Word};

/// Sends random commands of the world's schema, right and wrong ones. Wrong are entities
/// that are dead or were never born, and numbers that make no sense; all of them fit the
/// wire, so that no session ends. Gives texts of its own. Asks for the world's rankings.
pub struct Any {
    commands: Vec<(CommandKind, Vec<AttributeType>)>,
    symbols: usize,
    text_bytes_max: usize,
    has_asked: bool,
}

impl Any {
    pub fn new(schema: &Schema) -> Any {
        let sent = schema.commands.iter().filter(|c| c.senders.clients);
        let types = |c: &shared::CommandSchema| c.words.iter().map(|word| word.ty).collect();
        Any {
            commands: sent.map(|c| (c.kind, types(c))).collect(),
            symbols: schema.symbols.len(),
            text_bytes_max: schema.text_bytes_max() as usize,
            has_asked: false,
        }
    }

    fn word(&self, ty: AttributeType, number: &mut Numbers<'_>) -> Option<i32> {
        Some(match ty {
            AttributeType::I32 | AttributeType::I64 | AttributeType::High => number.whole(),
            AttributeType::Fixed => number.fraction(),
            AttributeType::Bool => number.dice.below(2) as i32,
            AttributeType::Entity => number.entity(),
            // None, or one that the server has not given.
            AttributeType::Text if number.dice.below(4) > 0 => 0,
            AttributeType::Text => number.wild(),
            // Others than the world's can't be read.
            AttributeType::Symbol if self.symbols == 0 => return None,
            AttributeType::Symbol => number.dice.below(self.symbols) as i32,
        })
    }
}

impl Behaviour for Any {
    fn act(&mut self, view: &View, dice: &mut Dice, input: &mut Input) {
        if !std::mem::replace(&mut self.has_asked, true) {
            for ranking in view.rankings() {
                let length = 1 + dice.below(usize::from(ranking.info.length));
                input
                    .rankings
                    .push((ranking.info.name.clone(), length as u32));
            }
        }
        if self.commands.is_empty() {
            return;
        }
        for _ in 0..1 + dice.below(2) {
            let (kind, types) = &self.commands[dice.below(self.commands.len())];
            let mut numbers = Numbers {
                style: STYLES[dice.below(STYLES.len())],
                axis: 0,
                view,
                dice,
            };
            let words = types.iter().map(|&ty| self.word(ty, &mut numbers));
            let Some(words) = words.collect::<Option<Vec<i32>>>() else {
                continue;
            };
            // A server takes few texts of a client.
            if types.contains(&AttributeType::Text) && dice.below(TEXTS_PERIOD) == 0 {
                let words = types
                    .iter()
                    .zip(words)
                    .map(|(ty, word)| match ty.content() {
                        Content::Text => Word::Text(text(dice, self.text_bytes_max)),
                        Content::Value | Content::Entity => Word::Number(word),
                    });
                input.texts.push((*kind, words.collect()));
            } else {
                input.command(*kind, &words);
            }
        }
    }
}

/// A text of at most so many bytes: often a few letters, now and then as long as may be.
fn text(dice: &mut Dice, bytes_max: usize) -> String {
    let letters = match dice.below(4) {
        0 => bytes_max,
        _ => dice.below(12),
    };
    let mut text = String::new();
    for _ in 0..letters {
        let letter = LETTERS[dice.below(LETTERS.len())];
        if text.len() + letter.len_utf8() <= bytes_max {
            text.push(letter);
        }
    }
    text
}

/// The types and bounds of a command's numbers.
#[derive(Clone, Copy)]
enum Style {
    /// Fractions are places around the bot, axis by axis.
    Near,
    /// Fractions are short steps, whole numbers small.
    Small,
    /// Any number of 32 bits, or the largest or smallest there is.
    Wild,
}

/// Most commands make some sense.
const STYLES: [Style; 5] = [
    Style::Near,
    Style::Near,
    Style::Small,
    Style::Small,
    Style::Wild,
];

/// Draws the words of one command.
struct Numbers<'a> {
    style: Style,
    /// The axis of the next place.
    axis: usize,
    view: &'a View,
    dice: &'a mut Dice,
}

impl Numbers<'_> {
    fn whole(&mut self) -> i32 {
        match self.style {
            Style::Near | Style::Small => self.dice.below(SMALL) as i32 - 2,
            Style::Wild => self.wild(),
        }
    }

    fn fraction(&mut self) -> i32 {
        match self.style {
            Style::Near => {
                let world = &self.view.schema().world;
                let axis = self.axis % world.size.len();
                self.axis += 1;
                let own = self.view.own().map_or(0, |own| own.row[axis]);
                let away = (self.dice.unit() * TAU).sin() * world.aoi.to_f64();
                own.saturating_add(Fixed::from_f64(away).unwrap_or_default().raw())
            }
            Style::Small => {
                let step = (self.dice.unit() - 0.5) * 2.0 * STEP;
                Fixed::from_f64(step).unwrap_or_default().raw()
            }
            Style::Wild => self.wild(),
        }
    }

    fn entity(&mut self) -> i32 {
        let (entities, things) = (self.view.entities(), self.view.things());
        // Where there are things, half of what is named are some: in a crowd they are few.
        let all = match !things.is_empty() && self.dice.below(2) == 0 {
            true => things,
            false => entities,
        };
        let seen = all.values().nth(self.dice.below(all.len()));
        let seen = seen.map(|entity| entity.id);
        match (self.dice.below(8), seen) {
            (0, _) | (_, None) => self.wild(),
            (1, _) => EntityRef::NONE.0,
            // The entity before it in its slot, which is dead.
            (2, Some(mut seen)) => {
                seen.generation = seen.generation.wrapping_sub(1);
                seen.reference().0
            }
            (_, Some(seen)) => seen.reference().0,
        }
    }

    fn wild(&mut self) -> i32 {
        match self.dice.below(6) {
            0 => i32::MIN,
            1 => i32::MAX,
            2 => 0,
            3 => -1,
            _ => (self.dice.unit() * f64::from(u32::MAX)) as u32 as i32,
        }
    }
}

/// One in so many commands that take texts gives some.
const TEXTS_PERIOD: usize = 4;
/// Of one to four bytes in UTF-8.
const LETTERS: [char; 12] = ['a', 'e', 'n', 'T', '7', '!', 'ü', 'ß', 'ж', 'λ', '語', '🌲'];

/// Whole numbers go from -2 to a few above 0.
const SMALL: usize = 12;
/// The longest step along an axis, in units.
const STEP: f64 = 2.0;
