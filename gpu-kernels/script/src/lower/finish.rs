//! The end of lowering: labels become places, and what has no use is removed.

use std::collections::HashMap;

use super::sites::{Site, Sited};
use super::{Line, Lower};
use crate::ir::{Binary, Code, Inst, Operand, Reg};

impl Lower<'_> {
    /// The instructions; and by register, its number before they were numbered anew.
    pub(super) fn finish(&mut self) -> (Code, HashMap<Reg, Reg>) {
        self.count_steps();
        let Sited { mut code, .. } = self.resolve();
        let names = simplify(&mut code);
        (code, names)
    }

    /// The instructions as they stand in the text, each site before a jump that does nothing.
    pub(super) fn finish_with_sites(mut self) -> Sited {
        self.count_steps();
        self.resolve()
    }

    /// Counts the steps at run time, where they can be more than the budget.
    fn count_steps(&mut self) {
        let steps = self.lines.iter().filter_map(|line| match line {
            Line::Step { in_loop } => Some(*in_loop),
            _ => None,
        });
        let (any_in_loop, n) =
            steps.fold((false, 0u32), |(any, n), in_loop| (any | in_loop, n + 1));
        let budget = self.unit.budget.steps;
        let counts = any_in_loop || n > budget;
        let lines = std::mem::take(&mut self.lines);
        let (steps, overrun) = (self.register(), self.label());
        if counts {
            self.emit(Inst::Copy(steps, Operand::ZERO));
        }
        for line in lines {
            match line {
                Line::Step { .. } if !counts => {}
                Line::Step { .. } => {
                    self.emit(Inst::Binary(steps, Binary::Add, steps.into(), 1.into()));
                    let over = self.binary(Binary::Lt, (budget as i32).into(), steps.into());
                    self.emit(Inst::JumpIf(over, overrun));
                }
                line => self.lines.push(line),
            }
        }
        self.place(overrun);
        self.emit(Inst::Overrun);
    }

    /// Replaces labels by places.
    fn resolve(&mut self) -> Sited {
        let mut places = vec![0; self.labels as usize];
        let mut insts = vec![];
        let mut sites: Vec<(u32, Site)> = vec![];
        for line in std::mem::take(&mut self.lines) {
            match line {
                Line::Inst(inst) => insts.push(inst),
                Line::Label(label) => places[label as usize] = insts.len() as u32,
                Line::Step { .. } => {}
                Line::Site(site) => {
                    sites.push((insts.len() as u32, *site));
                    insts.push(Inst::End);
                }
            }
        }
        for inst in &mut insts {
            if let Some(target) = inst.target_mut() {
                *target = places[*target as usize];
            }
        }
        for &(place, _) in &sites {
            insts[place as usize] = Inst::Jump(place + 1);
        }
        let code = Code {
            insts,
            registers: self.registers,
            loops: self.near_max,
        };
        Sited { code, sites }
    }
}

/// The most rounds of simplification. Most commands need three; only texts that are made
/// for it need more, and would take long.
const ROUNDS_MAX: usize = 32;

/// Removes what can't be reached and what has no use.
fn simplify(code: &mut Code) -> HashMap<Reg, Reg> {
    for _ in 0..ROUNDS_MAX {
        let changed = shorten_jumps(code)
            | remove_unreachable(code)
            | forward_copies(code)
            | remove_unused(code);
        if !changed {
            break;
        }
    }
    // Backends only see what can run.
    remove_unreachable(code);
    number_registers(code)
}

/// Jumps to jumps go on to where those lead, and jumps to the next instruction go.
fn shorten_jumps(code: &mut Code) -> bool {
    let mut changed = false;
    for i in 0..code.insts.len() {
        let Some(first) = code.insts[i].target() else {
            continue;
        };
        let mut target = first;
        // A jump to itself ends this.
        for _ in 0..16 {
            match code.insts.get(target as usize) {
                Some(&Inst::Jump(next)) if next != target => target = next,
                _ => break,
            }
        }
        if target != first
            && let Some(place) = code.insts[i].target_mut()
        {
            *place = target;
            changed = true;
        }
    }
    let is_idle = |(i, inst): (usize, &Inst)| {
        let next = i as u32 + 1;
        matches!(*inst, Inst::Jump(t) | Inst::JumpIf(_, t) | Inst::JumpUnless(_, t) if t == next)
    };
    let keep: Vec<bool> = code
        .insts
        .iter()
        .enumerate()
        .map(|pair| !is_idle(pair))
        .collect();
    retain(code, &keep) | changed
}

fn remove_unreachable(code: &mut Code) -> bool {
    let mut reached = vec![false; code.insts.len()];
    let mut open = vec![0];
    while let Some(i) = open.pop() {
        if i >= code.insts.len() || std::mem::replace(&mut reached[i], true) {
            continue;
        }
        let inst = &code.insts[i];
        open.extend(inst.target().map(|target| target as usize));
        if !inst.ends_block() {
            open.push(i + 1);
        }
    }
    retain(code, &reached)
}

/// Uses what a register was copied from, where both are set once.
fn forward_copies(code: &mut Code) -> bool {
    let mut sets = vec![0u32; code.registers as usize];
    for inst in &code.insts {
        if let Some(Reg(reg)) = inst.sets() {
            sets[reg as usize] += 1;
        }
    }
    let once = |operand: Operand| match operand {
        Operand::Const(_) => true,
        Operand::Reg(Reg(reg)) => sets[reg as usize] == 1,
    };
    let mut sources = HashMap::new();
    for inst in &code.insts {
        if let &Inst::Copy(reg, from) = inst
            && once(reg.into())
            && once(from)
        {
            // Most sources come before their copies, so that chains are short.
            let first = match from {
                Operand::Reg(from) => sources.get(&from).copied(),
                Operand::Const(_) => None,
            };
            sources.insert(reg, first.unwrap_or(from));
        }
    }
    let mut changed = false;
    for inst in &mut code.insts {
        inst.each_operand(|operand| {
            while let Operand::Reg(reg) = *operand
                && let Some(&from) = sources.get(&reg)
            {
                *operand = from;
                changed = true;
            }
        });
    }
    changed
}

/// Removes instructions that only set registers which nobody reads, and those that only they
/// needed.
fn remove_unused(code: &mut Code) -> bool {
    let mut reads = vec![0u32; code.registers as usize];
    let mut setters = vec![vec![]; code.registers as usize];
    for (i, inst) in code.insts.iter_mut().enumerate() {
        if let Some(Reg(reg)) = inst.sets().filter(|_| inst.is_pure()) {
            setters[reg as usize].push(i);
        }
        inst.each_operand(|operand| {
            if let Operand::Reg(Reg(reg)) = *operand {
                reads[reg as usize] += 1;
            }
        });
    }
    let mut keep = vec![true; code.insts.len()];
    let mut unread: Vec<usize> = (0..reads.len()).filter(|&reg| reads[reg] == 0).collect();
    while let Some(reg) = unread.pop() {
        for i in std::mem::take(&mut setters[reg]) {
            keep[i] = false;
            code.insts[i].each_operand(|operand| {
                if let Operand::Reg(Reg(from)) = *operand {
                    let left = &mut reads[from as usize];
                    *left -= 1;
                    if *left == 0 {
                        unread.push(from as usize);
                    }
                }
            });
        }
    }
    retain(code, &keep)
}

/// Keeps some of the instructions.
fn retain(code: &mut Code, keep: &[bool]) -> bool {
    if keep.iter().all(|&keep| keep) {
        return false;
    }
    let mut places = Vec::with_capacity(keep.len() + 1);
    let mut kept = 0;
    for &keep in keep {
        places.push(kept);
        kept += u32::from(keep);
    }
    places.push(kept);
    let mut i = 0;
    code.insts.retain(|_| {
        i += 1;
        keep[i - 1]
    });
    for inst in &mut code.insts {
        if let Some(target) = inst.target_mut() {
            *target = places[*target as usize];
        }
    }
    true
}

/// Numbers the registers that are left without gaps, and returns their numbers before.
fn number_registers(code: &mut Code) -> HashMap<Reg, Reg> {
    let mut numbers = HashMap::new();
    let mut number = |reg: Reg| {
        let next = Reg(numbers.len() as u32);
        *numbers.entry(reg).or_insert(next)
    };
    for inst in &mut code.insts {
        if let Some(reg) = inst.sets_mut() {
            *reg = number(*reg);
        }
        inst.each_operand(|operand| {
            if let Operand::Reg(reg) = operand {
                *reg = number(*reg);
            }
        });
    }
    code.registers = numbers.len() as u32;
    numbers
        .into_iter()
        .map(|(before, now)| (now, before))
        .collect()
}
