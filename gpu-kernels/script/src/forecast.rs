//! What clients are sent of a world's logic, to predict their own entity: instructions, not
//! texts. A client needs no compiler, always has the logic that is in force, and learns no
//! more of it than what it could find out by playing.
//!
//! A command is left out if it draws random numbers or names an attribute that is hidden
//! from clients, or asks for the steps of fields: they could not tell what it does; and if it has to do with numbers of 64 bits, which
//! clients of before don't know. What finds an element of an array or a map by an
//! index is sent as a choice of instructions with one column each: clients of before know no others.

use serde::{Deserialize, Serialize};
use shared::wire::control::FORECAST_BYTES_MAX;
use shared::wire::{DecodeError, codec};
use shared::world::command::COMMAND_WORDS_MAX;
use shared::{CommandKind, Schema};

use crate::ir::{Budget, Code, Inst, Operand, Reg};

/// The commands and rules that a client can predict for its own entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forecast {
    /// By number.
    pub commands: Vec<Foreseen>,
    /// The rules of the players' kind.
    pub rules: Vec<ForeseenRule>,
    pub budget: Budget,
}

/// A command that a client can predict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreseen {
    pub kind: CommandKind,
    pub word_count: u16,
    /// Without what it sends and schedules, and its reasons.
    pub code: Code,
}

/// A command that each player's entity gives every so many ticks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeseenRule {
    pub ticks: u32,
    pub command: CommandKind,
    pub words: Vec<i32>,
    /// From which of its words on the entity's own position stands.
    pub own_place: Option<u16>,
}

impl Forecast {
    /// The command of a number, if it can be predicted.
    pub fn command(&self, kind: CommandKind) -> Option<&Foreseen> {
        let at = self.commands.binary_search_by_key(&kind, |c| c.kind);
        at.ok().map(|at| &self.commands[at])
    }

    /// Reads what [`Forecast::to_bytes`] wrote, from anybody: what it returns can be run in a
    /// world of this schema. Nothing is the empty forecast.
    pub fn from_bytes(bytes: &[u8], schema: &Schema) -> Result<Forecast, DecodeError> {
        if bytes.is_empty() {
            return Ok(Forecast::default());
        }
        let mut forecast: Forecast = codec::from_bytes::<MEMORY_MAX, _>(bytes)?;
        match forecast.check(schema) {
            Ok(()) => Ok(forecast),
            Err(what) => Err(DecodeError::Malformed(format!("the forecast's {what}"))),
        }
    }

    /// For [`Forecast::from_bytes`]. Nothing if it is longer than clients read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = codec::to_bytes(self);
        // Their reader counts lists at their full width, too.
        let is_read = codec::from_bytes::<MEMORY_MAX, Forecast>(&bytes).is_ok();
        if bytes.len() > FORECAST_BYTES_MAX || !is_read {
            return vec![];
        }
        bytes
    }

    fn check(&mut self, schema: &Schema) -> Result<(), &'static str> {
        let require = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
        require(
            self.commands.is_sorted_by(|a, b| a.kind < b.kind),
            "commands are not in order",
        )?;
        for command in &mut self.commands {
            require(
                usize::from(command.word_count) <= COMMAND_WORDS_MAX,
                "command has too many words",
            )?;
            check_code(&mut command.code, command.word_count, schema)?;
        }
        for rule in &self.rules {
            let words = self.command(rule.command).map(|c| c.word_count);
            let place = rule.own_place.map_or(0, usize::from);
            let end = place + rule.own_place.map_or(0, |_| schema.dimensions());
            let fits = words.map(usize::from) == Some(rule.words.len());
            require(
                fits && rule.ticks > 0 && end <= rule.words.len(),
                "rule gives a command that is not there",
            )?;
        }
        Ok(())
    }
}

fn check_code(code: &mut Code, words: u16, schema: &Schema) -> Result<(), &'static str> {
    let (registers, loops) = (code.registers, code.loops);
    let columns = schema.attributes.len();
    if registers > REGISTERS_MAX {
        return Err("command has too many registers");
    }
    for inst in &mut code.insts {
        let is_register = |reg: Reg| reg.0 < registers;
        let mut is_sound = inst.sets().is_none_or(is_register);
        inst.each_operand(|operand| {
            is_sound &= !matches!(operand, Operand::Reg(reg) if !is_register(*reg));
        });
        is_sound &= match inst {
            Inst::Word(_, word) => *word < words,
            Inst::Past(_, _, axis, _) => usize::from(*axis) < schema.dimensions(),
            Inst::NearOpen(number, ..) | Inst::NearNext(_, number, _) => *number < loops,
            Inst::Random(..) | Inst::After(_) | Inst::Notify(_) | Inst::Reason(_) => false,
            Inst::ReadAt(..) | Inst::UpdateAt(..) | Inst::WriteAt(..) | Inst::Miss(_) => false,
            Inst::Count(..) | Inst::Nth(..) | Inst::Rank(..) | Inst::Ranked(..) => false,
            Inst::Wide(..) | Inst::Field(..) | Inst::Held(..) => false,
            _ => true,
        };
        is_sound &= inst.columns().end <= columns;
        if !is_sound {
            return Err("command has an instruction that can't be run");
        }
    }
    Ok(())
}

#[cfg(feature = "compile")]
mod foresee {
    use shared::{Audience, WorldConfig};

    use super::{Forecast, Foreseen, ForeseenRule};
    use crate::ir::{Binary, Code, Index, Inst, Reg, Target, Write};
    use crate::logic::Logic;

    impl Forecast {
        /// What clients of a world can predict, of the logic that it has.
        pub fn of(config: &WorldConfig, logic: &Logic) -> Forecast {
            let all = Forecast::with(config, logic, |_| true);
            // Choices between many columns are long.
            match all.to_bytes().is_empty() {
                true => Forecast::with(config, logic, |code| !code.is_indexed()),
                false => all,
            }
        }

        fn with(config: &WorldConfig, logic: &Logic, is_sent: impl Fn(&Code) -> bool) -> Forecast {
            let own_rules = config.every.iter().filter(|r| r.kind == config.player_kind);
            let is_own_rule = |kind| own_rules.clone().any(|rule| rule.command == kind);
            let attributes = &config.schema.attributes;
            let is_hidden = |column: usize| {
                let attribute = &attributes[column];
                attribute.audience == Audience::Hidden || attribute.ty.is_half()
            };
            let given = logic.commands.iter().filter(|command| {
                let senders = command.schema.senders;
                command.schema.has_actor && (senders.clients || is_own_rule(command.schema.kind))
            });
            let foreseen = given.filter(|c| is_foreseeable(&c.code, is_hidden) && is_sent(&c.code));
            let commands: Vec<Foreseen> = foreseen
                .map(|command| Foreseen {
                    kind: command.schema.kind,
                    word_count: command.schema.words.len() as u16,
                    code: own_part(&command.code),
                })
                .collect();
            let rules = own_rules.clone().map(|rule| ForeseenRule {
                ticks: rule.ticks,
                command: rule.command,
                words: rule.words.clone(),
                own_place: rule.own_place,
            });
            let is_foreseen = |rule: &ForeseenRule| commands.iter().any(|c| c.kind == rule.command);
            Forecast {
                rules: rules.filter(is_foreseen).collect(),
                commands,
                budget: logic.budget,
            }
        }
    }

    fn is_foreseeable(code: &Code, is_hidden: impl Fn(usize) -> bool) -> bool {
        let mut columns = code.insts.iter().flat_map(Inst::columns);
        let names_hidden = columns.any(is_hidden);
        // Clients do not have what is out of view.
        let is_shown = !names_hidden && !code.asks() && !code.reads_fields() && !code.is_wide();
        code.has_updates() && !code.draws() && is_shown
    }

    /// What it sends and schedules is not for clients, nor what it says of itself.
    fn own_part(code: &Code) -> Code {
        let mut code = without_indexes(code);
        for (inst, next) in code.insts.iter_mut().zip(1..) {
            let is_left_out = matches!(
                inst,
                Inst::After(_) | Inst::Notify(_) | Inst::Miss(_) | Inst::Reason(_)
            );
            if is_left_out {
                *inst = Inst::Jump(next);
            }
        }
        code
    }

    /// The same, with a choice in place of each index.
    fn without_indexes(code: &Code) -> Code {
        if !code.is_indexed() {
            return code.clone();
        }
        let is_beyond = Reg(code.registers);
        // Those of choices know their places already.
        let (mut places, mut insts): (Vec<Target>, Vec<(Inst, bool)>) = (vec![], vec![]);
        for inst in &code.insts {
            places.push(insts.len() as Target);
            let Some((index, one)) = choice(inst) else {
                insts.push((inst.clone(), false));
                continue;
            };
            let len = Target::from(index.len);
            let end = insts.len() as Target + 4 * len - 2;
            for place in 0..len - 1 {
                let here = insts.len() as Target;
                let more = Inst::Binary(
                    is_beyond,
                    Binary::Le,
                    (place as i32 + 1).into(),
                    index.place,
                );
                insts.push((more, true));
                insts.push((Inst::JumpIf(is_beyond.into(), here + 4), true));
                insts.push((one(place as u16), true));
                insts.push((Inst::Jump(end), true));
            }
            insts.push((one(index.len - 1), true));
            insts.push((Inst::Jump(end), true));
        }
        places.push(insts.len() as Target);
        let insts = insts.into_iter().map(|(mut inst, is_placed)| {
            if let Some(target) = inst.target_mut().filter(|_| !is_placed) {
                *target = places[*target as usize];
            }
            inst
        });
        Code {
            insts: insts.collect(),
            registers: code.registers + 1,
            loops: code.loops,
        }
    }

    /// An instruction with the column at a place.
    type OneColumn = Box<dyn Fn(u16) -> Inst>;

    /// The instruction with each of its columns, if it has an index.
    fn choice(inst: &Inst) -> Option<(Index, OneColumn)> {
        Some(match *inst {
            Inst::ReadAt(to, slot, first, index) => {
                let one = move |place| Inst::Read(to, slot, first + place);
                (index, Box::new(one))
            }
            Inst::UpdateAt(slot, first, index, value) => {
                let one = move |place| Inst::Update(slot, first + place, value);
                (index, Box::new(one))
            }
            Inst::WriteAt(write, index) => {
                let one = move |place| {
                    let column = write.column + place;
                    Inst::Write(Write { column, ..write })
                };
                (index, Box::new(one))
            }
            _ => return None,
        })
    }
}

/// More than a command that a compiler accepts has.
const REGISTERS_MAX: u32 = 1 << 16;
/// An instruction in memory is some times as large as on the wire.
const MEMORY_MAX: usize = 16 * FORECAST_BYTES_MAX;
