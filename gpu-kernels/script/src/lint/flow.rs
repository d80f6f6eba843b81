//! What a command reads after it has written it, and what it takes after it has looked whether it
//! is there. Both are found in its instructions, helper functions included.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use shared::world::attribute::MergeRule;
use shared::{CommandSchema, WorldConfig};

use super::{DOUBLE_SPENDS, Found, STALE_READS};
use crate::ir::{Binary, Index, Inst, Operand, Reg};
use crate::lower::Lower;
use crate::lower::sites::{Form, Site, Sited, What};

/// An attribute of an entity: the number of the value that is its slot, the column, and the number
/// of the value that is its index, if it has one.
type Key = (u32, u16, Option<u32>);

pub fn check(found: &mut Found<'_>, config: &WorldConfig) {
    let unit = found.unit;
    let mut takes = vec![];
    for signature in unit.commands.values() {
        // An atomic command reads what it wrote, and what others left.
        if unit.files[signature.file].text.is_builtin || signature.function.is_atomic {
            continue;
        }
        let Some(schema) = config.schema.command(signature.kind) else {
            continue;
        };
        let Ok(sited) = Lower::with_sites(unit, signature.file, signature.function) else {
            continue;
        };
        let flow = Flow::new(&sited);
        stale_reads(found, &flow);
        takes.extend(flow.takes(config).into_iter().map(|take| (schema, take)));
    }
    double_spends(found, &takes);
}

fn stale_reads(found: &mut Found<'_>, flow: &Flow<'_>) {
    for site in flow.stale_reads() {
        let source = &found.unit.files[site.file].text.text[site.span.clone()];
        let message = format!("`{source}` is read after it was written");
        let label = "this is its value before the tick";
        let help = "changes count at the end of the tick: read it into a variable before the \
                    change, if that is meant";
        let place = (site.file, site.span.clone());
        found.warn(STALE_READS, place, message, label, help);
    }
}

/// What a command takes.
struct Take {
    column: u16,
    /// Whether it is taken from who gives the command.
    is_own: bool,
    /// Whether the command has looked whether it is there.
    is_guarded: bool,
    form: Form,
    place: (usize, Range<usize>),
}

fn double_spends(found: &mut Found<'_>, takes: &[(&CommandSchema, Take)]) {
    for (schema, take) in takes.iter().filter(|(_, take)| take.is_guarded) {
        let is_other = |(other, of): &&(&CommandSchema, Take)| {
            of.column == take.column && of.form == Form::Take && other.kind != schema.kind
        };
        let is_often = schema.senders.clients && schema.per_tick != 1;
        let other = takes.iter().find(is_other);
        let how = match (take.is_own, other) {
            (false, _) => "two commands of a tick can".to_owned(),
            (true, _) if is_often => "two of an entity's commands of a tick can".to_owned(),
            (true, Some((other, _))) if take.form == Form::Take => {
                format!("`{}` of the same tick can", other.name)
            }
            _ => continue,
        };
        let name = found.unit.attribute_name(take.column);
        let message = format!("`{name}` can be taken twice");
        let label = format!("{how} both find it there, and take it");
        let help = "all ordinary commands of a tick see the same world: make it `atomic`, or let \
                    one command take it, which its entity gives once a tick";
        found.warn(DOUBLE_SPENDS, take.place.clone(), message, label, help);
    }
}

/// A command's instructions, with what is known of their values.
struct Flow<'a> {
    sited: &'a Sited,
    sites: BTreeMap<u32, &'a Site>,
    /// By register: the instructions that set it.
    setters: HashMap<Reg, Vec<usize>>,
    /// By register: the number of its value, where that is always the same.
    numbers: HashMap<Reg, u32>,
    /// By number: the registers on which it depends that are set again.
    roots: Vec<BTreeSet<Reg>>,
    actor: Option<u32>,
}

impl<'a> Flow<'a> {
    fn new(sited: &'a Sited) -> Flow<'a> {
        let mut setters: HashMap<Reg, Vec<usize>> = HashMap::new();
        for (i, inst) in sited.code.insts.iter().enumerate() {
            if let Some(reg) = inst.sets() {
                setters.entry(reg).or_default().push(i);
            }
        }
        let mut flow = Flow {
            sited,
            sites: sited.sites.iter().map(|(at, site)| (*at, site)).collect(),
            setters,
            numbers: HashMap::new(),
            roots: vec![],
            actor: None,
        };
        flow.number();
        flow
    }

    /// Gives values that are always equal one number.
    fn number(&mut self) {
        let mut known: HashMap<String, u32> = HashMap::new();
        for inst in &self.sited.code.insts {
            let Some(reg) = inst.sets() else { continue };
            let is_single = self.setters[&reg].len() == 1 && inst.is_pure();
            let mut roots = BTreeSet::new();
            let mut form = inst.clone();
            if let Some(set) = form.sets_mut() {
                *set = Reg(if is_single { 0 } else { reg.0 });
            }
            let mut is_known = is_single;
            form.each_operand(|operand| {
                if let Operand::Reg(from) = *operand {
                    match self.numbers.get(&from) {
                        Some(&number) => {
                            roots.extend(&self.roots[number as usize]);
                            // Numbers of values don't collide with those of registers.
                            *operand = Operand::Reg(Reg(number));
                        }
                        None => is_known = false,
                    }
                }
            });
            let key = match is_known {
                true => format!("{form:?}"),
                false => {
                    roots = BTreeSet::from([reg]);
                    format!("register {}", reg.0)
                }
            };
            let next = self.roots.len() as u32;
            let number = *known.entry(key).or_insert(next);
            if number == next {
                self.roots.push(roots);
            }
            self.numbers.insert(reg, number);
            if matches!(inst, Inst::Actor(_)) {
                self.actor = Some(number);
            }
        }
    }

    fn key(&self, slot: Operand, column: u16, index: Option<Index>) -> Option<Key> {
        let number = |operand: Operand| match operand {
            Operand::Reg(reg) => self.numbers.get(&reg).copied(),
            Operand::Const(_) => None,
        };
        let index = match index {
            Some(index) => Some(number(index.place)?),
            None => None,
        };
        Some((number(slot)?, column, index))
    }

    /// The reads of what some way through the command has written before.
    fn stale_reads(&self) -> Vec<&'a Site> {
        let insts = &self.sited.code.insts;
        let mut before: Vec<Option<BTreeSet<Key>>> = vec![None; insts.len()];
        let mut open = vec![(0, BTreeSet::new())];
        let mut stale = BTreeSet::new();
        while let Some((at, written)) = open.pop() {
            let Some(seen) = before.get_mut(at) else {
                continue;
            };
            let mut now = match seen {
                Some(seen) if written.is_subset(seen) => continue,
                Some(seen) => seen.union(&written).copied().collect(),
                None => written,
            };
            *seen = Some(now.clone());
            let inst = &insts[at];
            match self.sites.get(&(at as u32)).map(|site| &site.what) {
                Some(&What::Read {
                    slot,
                    column,
                    index,
                    ..
                }) if self
                    .key(slot, column, index)
                    .is_some_and(|key| now.contains(&key)) =>
                {
                    stale.insert(at as u32);
                }
                Some(&What::Update {
                    slot,
                    column,
                    index,
                    ..
                }) => now.extend(self.key(slot, column, index)),
                _ => {}
            }
            if let Some(reg) = inst.sets() {
                // The entity of this name is another one from here on.
                let is_set = |number: u32| self.roots[number as usize].contains(&reg);
                now.retain(|&(slot, _, index)| !is_set(slot) && !index.is_some_and(is_set));
            }
            if let Some(target) = inst.target() {
                open.push((target as usize, now.clone()));
            }
            if !inst.ends_block() {
                open.push((at + 1, now));
            }
        }
        stale.into_iter().map(|at| self.sites[&at]).collect()
    }

    /// What the command takes.
    fn takes(&self, config: &WorldConfig) -> Vec<Take> {
        let mut takes = vec![];
        let guards = self.guards();
        let updates = || {
            let sites = self.sited.sites.iter();
            sites.filter(|(_, site)| matches!(site.what, What::Update { .. }))
        };
        let adds = updates().any(|(_, site)| {
            matches!(
                site.what,
                What::Update {
                    form: Form::Add,
                    ..
                }
            )
        });
        for &(at, ref site) in updates() {
            let What::Update {
                slot,
                column,
                index,
                form,
                value,
            } = site.what
            else {
                continue;
            };
            let merge = config.schema.attributes[usize::from(column)].merge;
            let Some(key) = self.key(slot, column, index) else {
                continue;
            };
            let is_number = value.ty.is_number();
            let is_own = Some(key.0) == self.actor;
            let is_taken = match form {
                Form::Take => is_number && merge == MergeRule::Sum,
                // A mark that it is gone, while something else is given for it.
                Form::Set => !is_own && adds && matches!(merge, MergeRule::First | MergeRule::Last),
                Form::Add => false,
            };
            if !is_taken {
                continue;
            }
            let is_bounded = self.is_bounded_by(value.operand(), key);
            let is_guarded = guards
                .iter()
                .any(|guard| guard.reads.contains(&key) && guard.decides[at as usize]);
            takes.push(Take {
                column,
                is_own,
                is_guarded: is_guarded || form == Form::Take && is_bounded,
                form,
                place: (site.file, site.span.clone()),
            });
        }
        takes
    }

    /// The branches, with what they look at, and the sites that only one of their ways reaches.
    fn guards(&self) -> Vec<Guard> {
        let insts = self.sited.code.insts.iter().enumerate();
        let branches = insts.filter_map(|(at, inst)| match inst {
            Inst::JumpIf(condition, target) | Inst::JumpUnless(condition, target) => {
                Some((at, *condition, *target))
            }
            _ => None,
        });
        let guards = branches.filter_map(|(at, condition, target)| {
            let mut reads = BTreeSet::new();
            self.slice(condition, &mut |inst| {
                reads.extend(self.read(inst));
            });
            if reads.is_empty() {
                return None;
            }
            let ways = [at + 1, target as usize].map(|start| self.reached(start));
            let [next, there] = &ways;
            Some(Guard {
                reads,
                decides: next.iter().zip(there).map(|(a, b)| a != b).collect(),
            })
        });
        guards.collect()
    }

    /// By instruction: whether a way from one leads to it.
    fn reached(&self, start: usize) -> Vec<bool> {
        let insts = &self.sited.code.insts;
        let (mut reached, mut open) = (vec![false; insts.len()], vec![start]);
        while let Some(at) = open.pop() {
            if at >= insts.len() || std::mem::replace(&mut reached[at], true) {
                continue;
            }
            open.extend(insts[at].target().map(|target| target as usize));
            if !insts[at].ends_block() {
                open.push(at + 1);
            }
        }
        reached
    }

    /// Whether a value is at most what an attribute holds, as by `min(n, me.gold)`.
    fn is_bounded_by(&self, value: Operand, key: Key) -> bool {
        let mut is = false;
        self.slice(value, &mut |inst| {
            if let Inst::Binary(_, Binary::Min, a, b) = *inst {
                for side in [a, b] {
                    self.slice(side, &mut |inst| {
                        is |= self.read(inst) == Some(key);
                    });
                }
            }
        });
        is
    }

    /// What an instruction reads of an entity.
    fn read(&self, inst: &Inst) -> Option<Key> {
        match *inst {
            Inst::Read(_, slot, column) => self.key(slot, column, None),
            Inst::ReadAt(_, slot, column, index) => self.key(slot, column, Some(index)),
            _ => None,
        }
    }

    /// Visits the instructions on which a value depends.
    fn slice(&self, value: Operand, visit: &mut dyn FnMut(&Inst)) {
        let (mut seen, mut open) = (BTreeSet::new(), vec![value]);
        while let Some(operand) = open.pop() {
            let Operand::Reg(reg) = operand else { continue };
            if !seen.insert(reg) {
                continue;
            }
            for &at in self.setters.get(&reg).into_iter().flatten() {
                let mut inst = self.sited.code.insts[at].clone();
                visit(&inst);
                // The entity whose attribute is read is not looked at.
                if !matches!(inst, Inst::Read(..) | Inst::ReadAt(..)) {
                    inst.each_operand(|operand| open.push(*operand));
                }
            }
        }
    }
}

/// A branch.
struct Guard {
    reads: BTreeSet<Key>,
    /// By instruction: whether the branch decides if it is reached.
    decides: Vec<bool>,
}
