//! Checks of instructions, before the machine code that trusts them.

use shared::world::notification::NOTIFICATION_WORDS_MAX;

use super::Shape;
use crate::ir::{Code, Inst, Operand, TIMED_WORDS_MAX};

/// Whether all that instructions name is there.
pub fn check(code: &Code, shape: &Shape) -> Result<(), &'static str> {
    if code.insts.len() > INSTS_MAX {
        return Err("too many instructions");
    }
    if code.registers > REGISTERS_MAX {
        return Err("too many registers");
    }
    for inst in &code.insts {
        let mut is_reg = inst.sets().is_none_or(|reg| reg.0 < code.registers);
        inst.clone().each_operand(|operand| {
            is_reg &= !matches!(operand, Operand::Reg(reg) if reg.0 >= code.registers);
        });
        if !is_reg {
            return Err("a register that isn't there");
        }
        if (inst.target()).is_some_and(|target| target as usize > code.insts.len()) {
            return Err("a jump that leads nowhere");
        }
        if inst.columns().end > shape.columns {
            return Err("a column that isn't there");
        }
        match inst {
            Inst::ReadAt(_, _, _, index)
            | Inst::UpdateAt(_, _, index, _)
            | Inst::WriteAt(_, index)
                if index.len == 0 =>
            {
                return Err("an index of no columns");
            }
            Inst::Count(_, kind) | Inst::Nth(_, kind, _)
                if usize::from(*kind) >= shape.kind_columns.len() =>
            {
                return Err("a kind that isn't there");
            }
            Inst::Rank(_, _, ranking) | Inst::Ranked(_, ranking, _)
                if usize::from(*ranking) >= shape.rankings =>
            {
                return Err("a ranking that isn't there");
            }
            Inst::Past(_, _, axis, _) if usize::from(*axis) >= shape.space.dimensions => {
                return Err("an axis that isn't there");
            }
            Inst::NearOpen(number, ..) | Inst::NearNext(_, number, _) if *number >= code.loops => {
                return Err("a loop that isn't there");
            }
            Inst::After(after) if after.words.len() > TIMED_WORDS_MAX => {
                return Err("too many arguments of a scheduled command");
            }
            Inst::Notify(notify) if notify.words.len() > NOTIFICATION_WORDS_MAX => {
                return Err("too many words of a notification");
            }
            _ => {}
        }
    }
    Ok(())
}

/// By register: whether a run needs its value for anything but to set others that it
/// doesn't need either.
pub fn needed(code: &Code) -> Vec<bool> {
    let mut needed = vec![false; code.registers as usize];
    let mut changed = true;
    // Backwards, as most values are set before they are read, so that a round or two do.
    while std::mem::take(&mut changed) {
        for inst in code.insts.iter().rev() {
            if !is_needed(inst, &needed) {
                continue;
            }
            inst.clone().each_operand(|operand| {
                if let Operand::Reg(reg) = operand {
                    changed |= !std::mem::replace(&mut needed[reg.0 as usize], true);
                }
            });
        }
    }
    needed
}

/// Whether a run has to do an instruction, if it needs these registers.
pub fn is_needed(inst: &Inst, needed: &[bool]) -> bool {
    match inst {
        Inst::NearNext(..) => true,
        _ => inst.sets().is_none_or(|reg| needed[reg.0 as usize]),
    }
}

/// More than any command has, and few enough to be compiled.
const INSTS_MAX: usize = 1 << 16;
const REGISTERS_MAX: u32 = 1 << 16;
