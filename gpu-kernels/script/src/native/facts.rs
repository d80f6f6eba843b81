//! Which registers surely hold the slot of an entity, at each instruction: those reads need
//! no check.
//!
//! Machine code reads memory by these facts, so what isn't sure counts as unknown.

use crate::ir::{Binary, Code, Inst, NOBODY, Operand, Reg, Unary};

/// What is known of a register; of two paths to an instruction, the less counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Nothing,
    /// It is a slot below the number of slots, or [`NOBODY`].
    MaybeSlot,
    /// It is a slot below the number of slots.
    Slot,
}

/// What is known before an instruction.
#[derive(Clone, Debug)]
pub struct State {
    known: Vec<Known>,
    /// By register: it is not 0 exactly if the other register's answer to "is it a slot" is
    /// the `bool`. Within a basic block.
    tests: Vec<Option<(Reg, bool)>>,
}

/// What is known before each basic block; `None` for instructions that begin none, and for
/// blocks that nothing leads to.
pub fn blocks(code: &Code) -> Vec<Option<State>> {
    let leaders = leaders(code);
    let mut states = vec![None; code.insts.len() + 1];
    states[0] = Some(State::start(code.registers as usize));
    let mut waiting = vec![0];
    while let Some(start) = waiting.pop() {
        let mut state: State = states[start].clone().expect("what waits has a state");
        let mut lead = |to: usize, state: State| {
            let changed = match &mut states[to] {
                Some(known) => known.meet(&state),
                none => {
                    *none = Some(state.at_block());
                    true
                }
            };
            if changed && !waiting.contains(&to) {
                waiting.push(to);
            }
        };
        for at in start..code.insts.len() {
            let inst = &code.insts[at];
            let next = at + 1;
            if let Some(target) = inst.target() {
                lead(target as usize, state.jumping(inst, true));
            }
            if inst.ends_block() {
                break;
            }
            if inst.target().is_some() {
                state = state.jumping(inst, false);
            }
            state.step(inst);
            if leaders[next] {
                lead(next, state);
                break;
            }
        }
    }
    states
}

/// By instruction: whether it begins a basic block.
fn leaders(code: &Code) -> Vec<bool> {
    let mut leaders = code.jump_targets();
    for (at, inst) in code.insts.iter().enumerate() {
        leaders[at + 1] |= inst.target().is_some() || inst.ends_block();
    }
    // The end has nothing to run.
    leaders[0] = true;
    leaders[code.insts.len()] = true;
    leaders
}

impl State {
    fn start(registers: usize) -> State {
        State {
            known: vec![Known::Nothing; registers],
            tests: vec![None; registers],
        }
    }

    /// Whether an operand surely is the slot of an entity.
    pub fn is_slot(&self, operand: Operand) -> bool {
        matches!(operand, Operand::Reg(reg) if self.known[reg.0 as usize] == Known::Slot)
    }

    /// Records what an instruction sets.
    pub fn step(&mut self, inst: &Inst) {
        let Some(reg) = inst.sets() else { return };
        let known = match *inst {
            Inst::Actor(_) | Inst::NearNext(..) => Known::Slot,
            Inst::Resolve(..) => Known::MaybeSlot,
            Inst::Copy(_, Operand::Const(NOBODY)) => Known::MaybeSlot,
            Inst::Copy(_, Operand::Reg(from)) => self.known[from.0 as usize],
            _ => Known::Nothing,
        };
        let test = match *inst {
            Inst::Binary(_, op @ (Binary::Eq | Binary::Ne), a, b) => match (a, b) {
                (Operand::Reg(of), Operand::Const(NOBODY))
                | (Operand::Const(NOBODY), Operand::Reg(of)) => Some((of, op == Binary::Ne)),
                _ => None,
            },
            Inst::Unary(_, Unary::Not, Operand::Reg(from)) => {
                self.tests[from.0 as usize].map(|(of, answer)| (of, !answer))
            }
            Inst::Copy(_, Operand::Reg(from)) => self.tests[from.0 as usize],
            _ => None,
        };
        for test in &mut self.tests {
            if test.is_some_and(|(of, _)| of == reg) {
                *test = None;
            }
        }
        self.known[reg.0 as usize] = known;
        // Of a register that is itself the answer, nothing is known.
        self.tests[reg.0 as usize] = test.filter(|&(of, _)| of != reg);
    }

    /// What is known after an instruction that jumped or did not, before it sets anything.
    fn jumping(&self, inst: &Inst, jumped: bool) -> State {
        let mut state = self.clone();
        let (operand, is_true) = match *inst {
            Inst::JumpIf(operand, _) => (operand, jumped),
            Inst::JumpUnless(operand, _) => (operand, !jumped),
            _ => return state,
        };
        if let Operand::Reg(reg) = operand
            && let Some((of, answer)) = self.tests[reg.0 as usize]
            && answer == is_true
        {
            let known = &mut state.known[of.0 as usize];
            if *known == Known::MaybeSlot {
                *known = Known::Slot;
            }
        }
        state
    }

    /// Only what holds in both; whether that is less than before.
    fn meet(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (known, &other) in self.known.iter_mut().zip(&other.known) {
            changed |= other < *known;
            *known = other.min(*known);
        }
        changed
    }

    fn at_block(mut self) -> State {
        self.tests.fill(None);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Reg = Reg(0);
    const TEST: Reg = Reg(1);

    #[test]
    fn a_test_for_nobody_tells_on_both_paths() {
        let code = Code {
            insts: vec![
                Inst::Resolve(TARGET, 5.into()),
                Inst::Binary(TEST, Binary::Eq, TARGET.into(), NOBODY.into()),
                Inst::JumpIf(TEST.into(), 4),
                Inst::End,
                Inst::End,
            ],
            registers: 2,
            loops: 0,
        };
        let states = blocks(&code);
        assert!(states[3].as_ref().unwrap().is_slot(TARGET.into()));
        assert!(!states[4].as_ref().unwrap().is_slot(TARGET.into()));
    }

    #[test]
    fn no_test_makes_a_slot_of_a_number() {
        let code = Code {
            insts: vec![
                Inst::Word(TARGET, 0),
                Inst::Binary(TEST, Binary::Ne, TARGET.into(), NOBODY.into()),
                Inst::JumpUnless(TEST.into(), 4),
                Inst::End,
            ],
            registers: 2,
            loops: 0,
        };
        let states = blocks(&code);
        assert!(!states[3].as_ref().unwrap().is_slot(TARGET.into()));
    }

    #[test]
    fn a_test_does_not_outlive_what_it_tested() {
        let code = Code {
            insts: vec![
                Inst::Actor(TARGET),
                Inst::Binary(TEST, Binary::Ne, TARGET.into(), NOBODY.into()),
                Inst::Resolve(TARGET, 5.into()),
                Inst::JumpUnless(TEST.into(), 5),
                Inst::End,
            ],
            registers: 2,
            loops: 0,
        };
        let states = blocks(&code);
        assert!(!states[4].as_ref().unwrap().is_slot(TARGET.into()));
    }

    #[test]
    fn a_loop_forgets_what_its_body_changes() {
        let code = Code {
            insts: vec![
                Inst::Actor(TARGET),
                Inst::Update(TARGET.into(), 0, 1.into()),
                Inst::Binary(TARGET, Binary::Add, TARGET.into(), 1.into()),
                Inst::Jump(1),
            ],
            registers: 2,
            loops: 0,
        };
        let states = blocks(&code);
        assert!(!states[1].as_ref().unwrap().is_slot(TARGET.into()));
    }
}
