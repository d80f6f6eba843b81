//! The entities of which an atomic command reads or writes attributes, as its instructions name
//! them: its keys. They are found before a stage's first command runs, so that commands without a
//! key in common don't depend on each other.
//!
//! Whether an entity lives, and of which kind it is, does not change within the stage: a command
//! may ask that of any.

use crate::ir::{Binary, Code, Inst, NOBODY, Operand, Reg};

/// The most keys of a command.
pub const KEYS_MAX: usize = 8;

/// How the keys of an atomic command are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// At most [`KEYS_MAX`]; each comes after those that it depends on.
    paths: Vec<Key>,
}

/// How an entity is found from the command and the state at the start of the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The entity that gives the command.
    Actor,
    /// The living entity to which a word of the command refers.
    Word(u16),
    /// The living entity of a reference that never changes: what the whole world shares.
    Shared(i32),
    /// The first living entity of a kind, in the order of slots.
    First(u16),
    /// The living entity to which an attribute of another key refers, by the place of that; nobody
    /// without that entity, or where its kind lacks the attribute.
    Of(u8, u16),
}

/// A register that may hold an entity which is no key: one that an instruction at this place
/// resolves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unbounded {
    pub inst: usize,
    /// Whether there are more than [`KEYS_MAX`]; otherwise a reference is computed.
    pub is_too_many: bool,
}

impl Keys {
    pub fn paths(&self) -> &[Key] {
        &self.paths
    }

    /// The keys of a command's instructions.
    pub fn of(code: &Code) -> Result<Keys, Unbounded> {
        let mut search = Search {
            code,
            sets: vec![0; code.registers as usize],
            is_used: used(code),
            keys: Keys::default(),
        };
        search.run()?;
        Ok(search.keys)
    }

    /// The slots of the keys, in their order, or [`NOBODY`]. `first` is given a kind; `read` a slot
    /// and a column, and gives the reference there, or that to no entity; `resolve` a reference.
    pub fn slots(
        &self,
        actor: i32,
        words: &[i32],
        first: impl Fn(u16) -> i32,
        read: impl Fn(i32, u16) -> i32,
        resolve: impl Fn(i32) -> i32,
    ) -> [i32; KEYS_MAX] {
        let mut slots = [NOBODY; KEYS_MAX];
        for (i, path) in self.paths.iter().enumerate() {
            slots[i] = match *path {
                Key::Actor => actor,
                Key::Word(word) => resolve(words[usize::from(word)]),
                Key::Shared(reference) => resolve(reference),
                Key::First(kind) => first(kind),
                Key::Of(of, column) => match slots[usize::from(of)] {
                    NOBODY => NOBODY,
                    slot => resolve(read(slot, column)),
                },
            };
        }
        slots
    }

    /// The place of a key, which is added if it isn't there; `None` if there is no room.
    fn place(&mut self, key: Key) -> Option<usize> {
        let known = self.paths.iter().position(|&path| path == key);
        known.or_else(|| {
            (self.paths.len() < KEYS_MAX).then(|| self.paths.push(key))?;
            Some(self.paths.len() - 1)
        })
    }
}

/// By register: the places of the keys of which it may be the entity, as bits. Grows until nothing
/// changes, which it does at last, as there are few keys.
struct Search<'a> {
    code: &'a Code,
    sets: Vec<u8>,
    /// By register: whether attributes of its entity are read or written.
    is_used: Vec<bool>,
    keys: Keys,
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Unbounded> {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (at, inst) in self.code.insts.iter().enumerate() {
                if inst.sets().is_none_or(|to| !self.is_used[to.0 as usize]) {
                    continue;
                }
                let (to, found) = match *inst {
                    Inst::Actor(to) => (to, self.one(Key::Actor, at)?),
                    Inst::Resolve(to, reference) => (to, self.referred(reference, at)?),
                    Inst::Nth(to, kind, Operand::Const(0)) => (to, self.one(Key::First(kind), at)?),
                    Inst::Nth(..) | Inst::Ranked(..) | Inst::Held(..) => {
                        return Err(Unbounded {
                            inst: at,
                            is_too_many: false,
                        });
                    }
                    Inst::Copy(to, Operand::Reg(Reg(from))) => (to, self.sets[from as usize]),
                    _ => continue,
                };
                let set = &mut self.sets[to.0 as usize];
                changed |= found & !*set != 0;
                *set |= found;
            }
        }
        Ok(())
    }

    fn one(&mut self, key: Key, at: usize) -> Result<u8, Unbounded> {
        let place = self.keys.place(key).ok_or(Unbounded {
            inst: at,
            is_too_many: true,
        })?;
        Ok(1 << place)
    }

    /// The keys to which an operand may refer, which the instruction at `at` resolves.
    fn referred(&mut self, reference: Operand, at: usize) -> Result<u8, Unbounded> {
        let mut found = 0;
        for source in self.sources(reference, at)? {
            found |= match source {
                Source::Nobody => 0,
                Source::Word(word) => self.one(Key::Word(word), at)?,
                Source::Shared(reference) => self.one(Key::Shared(reference), at)?,
                Source::Entity(Reg(of)) => self.sets[of as usize],
                Source::Read(Reg(of), column) => {
                    let set = self.sets[of as usize];
                    let own = (0..KEYS_MAX as u8).filter(|place| set >> place & 1 == 1);
                    own.map(|place| self.one(Key::Of(place, column), at))
                        .try_fold(0, |all, one| Ok(all | one?))?
                }
            };
        }
        Ok(found)
    }

    fn sources(&self, reference: Operand, at: usize) -> Result<Vec<Source>, Unbounded> {
        sources(self.code, reference).ok_or(Unbounded {
            inst: at,
            is_too_many: false,
        })
    }
}

/// Where a reference comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Nobody,
    Word(u16),
    /// It never changes.
    Shared(i32),
    /// It is that to the entity in a register's slot.
    Entity(Reg),
    /// An attribute of the entity in a register's slot.
    Read(Reg, u16),
}

/// All that an operand may have been set to; `None` if one of these is computed.
fn sources(code: &Code, operand: Operand) -> Option<Vec<Source>> {
    let (mut found, mut seen, mut open) = (vec![], vec![], vec![operand]);
    while let Some(operand) = open.pop() {
        let reg = match operand {
            Operand::Const(NOBODY) => {
                found.push(Source::Nobody);
                continue;
            }
            Operand::Const(reference) => {
                found.push(Source::Shared(reference));
                continue;
            }
            Operand::Reg(reg) if seen.contains(&reg) => continue,
            Operand::Reg(reg) => reg,
        };
        seen.push(reg);
        for inst in code.insts.iter().filter(|inst| inst.sets() == Some(reg)) {
            match *inst {
                Inst::Copy(_, from) => open.push(from),
                Inst::Word(_, word) => found.push(Source::Word(word)),
                Inst::Reference(_, Operand::Const(NOBODY))
                | Inst::Read(_, Operand::Const(NOBODY), _)
                | Inst::ReadAt(_, Operand::Const(NOBODY), ..) => found.push(Source::Nobody),
                Inst::Reference(_, Operand::Reg(of)) => found.push(Source::Entity(of)),
                Inst::Read(_, Operand::Reg(of), column) => found.push(Source::Read(of, column)),
                // Any of them may be the one.
                Inst::ReadAt(_, Operand::Reg(of), first, index) => {
                    let columns = first..first + index.len;
                    found.extend(columns.map(|column| Source::Read(of, column)));
                }
                // -1 where the kind lacks the attribute.
                Inst::Binary(_, Binary::Or, value, Operand::Reg(lacks)) if is_lack(code, lacks) => {
                    open.push(value);
                }
                _ => return None,
            }
        }
    }
    Some(found)
}

/// Whether a register is only set to -1 where a kind lacks an attribute or an index is none, and to 0
/// elsewhere.
fn is_lack(code: &Code, reg: Reg) -> bool {
    all_set(
        code,
        reg,
        |inst| matches!(*inst, Inst::Binary(_, Binary::Sub, Operand::Reg(has), Operand::Const(1)) if is_truth(code, has, &mut { TRUTHS_MAX })),
    )
}

/// Whether a register is only set to 0 and 1, by comparisons and what joins them: so many at most.
fn is_truth(code: &Code, reg: Reg, left: &mut u32) -> bool {
    *left = left.saturating_sub(1);
    let mut is = *left > 0;
    for inst in code.insts.iter().filter(|inst| inst.sets() == Some(reg)) {
        is = is
            && match *inst {
                Inst::Has(..) => true,
                Inst::Binary(_, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le, ..) => true,
                Inst::Binary(_, Binary::And | Binary::Or, Operand::Reg(a), Operand::Reg(b)) => {
                    is_truth(code, a, left) && is_truth(code, b, left)
                }
                _ => false,
            };
    }
    is
}

/// Enough for a map with as many keys as there are columns.
const TRUTHS_MAX: u32 = 512;

fn all_set(code: &Code, reg: Reg, is: impl Fn(&Inst) -> bool) -> bool {
    let mut setters = code.insts.iter().filter(|inst| inst.sets() == Some(reg));
    setters.all(is)
}

/// By register: whether attributes of the entity in its slot are read or written, or of one whose
/// slot is copied from it.
fn used(code: &Code) -> Vec<bool> {
    let mut is_used = vec![false; code.registers as usize];
    for inst in &code.insts {
        if let Some(Reg(slot)) = touched(inst) {
            is_used[slot as usize] = true;
        }
        // Its reference may lead back to it.
        if let Inst::Reference(_, Operand::Reg(Reg(slot))) = *inst {
            is_used[slot as usize] = true;
        }
    }
    spread(code, &mut is_used, |to, from| (to, from));
    is_used
}

/// The register of the entity of which an instruction reads or writes an attribute.
fn touched(inst: &Inst) -> Option<Reg> {
    let slot = match inst {
        Inst::Read(_, slot, _) | Inst::ReadAt(_, slot, ..) => *slot,
        Inst::Write(write) | Inst::WriteAt(write, _) => write.slot,
        _ => return None,
    };
    match slot {
        Operand::Reg(reg) => Some(reg),
        Operand::Const(_) => None,
    }
}

/// Marks registers over copies: `way` gives which one marks the other.
fn spread(code: &Code, marks: &mut [bool], way: impl Fn(Reg, Reg) -> (Reg, Reg)) {
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for inst in &code.insts {
            if let Inst::Copy(to, Operand::Reg(from)) = *inst {
                let (of, other) = way(to, from);
                if marks[of.0 as usize] && !marks[other.0 as usize] {
                    marks[other.0 as usize] = true;
                    changed = true;
                }
            }
        }
    }
}

/// Guards each read and write of an entity to which an attribute refers: by its turn, commands
/// before may have changed that.
pub fn guard(code: &mut Code) {
    let mut is_guarded = vec![false; code.registers as usize];
    for inst in &code.insts {
        if let Inst::Resolve(Reg(to), reference) = *inst {
            let sources = sources(code, reference).unwrap_or_default();
            is_guarded[to as usize] |= sources.iter().any(|s| matches!(s, Source::Read(..)));
        }
    }
    spread(code, &mut is_guarded, |to, from| (from, to));
    let leaders = code.jump_targets();
    let (mut places, mut insts) = (vec![], vec![]);
    // Those that are kept in the block already.
    let mut kept: Vec<Reg> = vec![];
    for (inst, is_leader) in code.insts.drain(..).zip(leaders) {
        places.push(insts.len() as u32);
        if is_leader {
            kept.clear();
        }
        let slot = touched(&inst).filter(|slot| is_guarded[slot.0 as usize]);
        if let Some(slot) = slot.filter(|slot| !kept.contains(slot)) {
            insts.push(Inst::Keep(slot.into()));
            kept.push(slot);
        }
        if let Some(set) = inst.sets() {
            kept.retain(|&slot| slot != set);
        }
        insts.push(inst);
    }
    places.push(insts.len() as u32);
    for inst in &mut insts {
        if let Some(target) = inst.target_mut() {
            *target = places[*target as usize];
        }
    }
    code.insts = insts;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Write, WriteOp};

    const ME: Reg = Reg(0);
    const NEXT: Reg = Reg(1);
    const READ: Reg = Reg(2);

    fn code(insts: Vec<Inst>) -> Code {
        Code {
            insts,
            registers: 3,
            loops: 0,
        }
    }

    #[test]
    fn a_chain_of_references_gives_a_key_for_each_link() {
        let keys = Keys::of(&code(vec![
            Inst::Actor(ME),
            Inst::Read(READ, ME.into(), 4),
            Inst::Resolve(NEXT, READ.into()),
            Inst::Write(Write {
                slot: NEXT.into(),
                column: 5,
                op: WriteOp::Add,
                value: 1.into(),
                fits: false,
            }),
            Inst::End,
        ]));
        assert_eq!(keys.unwrap().paths(), [Key::Actor, Key::Of(0, 4)]);
    }

    #[test]
    fn a_loop_that_walks_a_chain_has_no_bounded_keys() {
        let walk = code(vec![
            Inst::Actor(ME),
            Inst::Read(READ, ME.into(), 4),
            Inst::Resolve(NEXT, READ.into()),
            Inst::Copy(ME, NEXT.into()),
            Inst::Jump(1),
        ]);
        let expected = Unbounded {
            inst: 2,
            is_too_many: true,
        };
        assert_eq!(Keys::of(&walk), Err(expected));
    }

    #[test]
    fn a_computed_reference_has_no_key() {
        let computed = code(vec![
            Inst::Word(READ, 0),
            Inst::Binary(READ, Binary::Add, READ.into(), 1.into()),
            Inst::Resolve(NEXT, READ.into()),
            Inst::Read(READ, NEXT.into(), 0),
            Inst::End,
        ]);
        let expected = Unbounded {
            inst: 2,
            is_too_many: false,
        };
        assert_eq!(Keys::of(&computed), Err(expected));
    }

    #[test]
    fn an_entity_that_is_only_compared_is_no_key_and_is_not_guarded() {
        let mut compared = code(vec![
            Inst::Actor(ME),
            Inst::Read(READ, ME.into(), 4),
            Inst::Resolve(NEXT, READ.into()),
            Inst::Binary(READ, Binary::Eq, NEXT.into(), NOBODY.into()),
            Inst::JumpIf(READ.into(), 5),
            Inst::End,
        ]);
        assert_eq!(Keys::of(&compared).unwrap().paths(), [Key::Actor]);
        let before = compared.clone();
        guard(&mut compared);
        assert_eq!(compared, before);
    }

    #[test]
    fn a_guard_stands_before_the_first_use_in_each_block() {
        let mut used = code(vec![
            Inst::Actor(ME),
            Inst::Read(READ, ME.into(), 4),
            Inst::Resolve(NEXT, READ.into()),
            Inst::Read(READ, NEXT.into(), 0),
            Inst::Read(READ, NEXT.into(), 1),
            Inst::JumpIf(READ.into(), 4),
            Inst::End,
        ]);
        guard(&mut used);
        let keeps = |inst: &Inst| *inst == Inst::Keep(NEXT.into());
        let places: Vec<usize> = (0..used.insts.len())
            .filter(|&at| keeps(&used.insts[at]))
            .collect();
        assert_eq!(places, [3, 5]);
        assert_eq!(used.insts[7], Inst::JumpIf(READ.into(), 5));
    }

    #[test]
    fn keys_follow_the_references_that_are_there() {
        let keys = Keys {
            paths: vec![
                Key::Actor,
                Key::Of(0, 4),
                Key::Of(1, 4),
                Key::Word(0),
                Key::First(3),
            ],
        };
        let read = |slot: i32, _| if slot == 7 { 70 } else { NOBODY };
        let resolve = |reference: i32| match reference {
            NOBODY => NOBODY,
            reference => reference / 10,
        };
        let first = |kind| 100 + i32::from(kind);
        let slots = keys.slots(7, &[90], first, read, resolve);
        assert_eq!(slots[..6], [7, 7, 7, 9, 103, NOBODY]);
    }
}
