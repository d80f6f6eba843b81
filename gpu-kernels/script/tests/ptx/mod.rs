//! Commands as PTX: the assembler takes every text, and one small command's is as expected.
//!
//! `UPDATE_PTX=1` writes the expected text. The tests that need an assembler look for
//! `ptxas` in `PTXAS`, in the path, and where `kernels/build.py` installs it.

use crate::programs;
mod assembler;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod gpu;
mod state;
mod worlds;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, thread};

use script::atomic::Keys;
use script::interpreter::Interpreter;
use script::ir::{Binary, Code, Inst, NOBODY, Operand, Reg, WRITES_MAX};
use script::ptx::AtomicCommand;
use script::{Logic, ptx};
use shared::world::logic::{LogicConfig, Text as WorldText};

use assembler::Assembler;
use state::State;

const SEEDS: u64 = 150;

#[test]
fn every_command_assembles() {
    let Some(assembler) = Assembler::find() else {
        return;
    };
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= SEEDS {
                        return;
                    }
                    let layout = worlds::layout(seed);
                    let code = programs::program(seed, worlds::shape(&layout));
                    let text = ptx::module(7, &code, &layout);
                    let target = ["sm_75", "sm_90"][(seed / 2 % 2) as usize];
                    if let Err(error) = assembler.assemble(&text, target) {
                        panic!("seed {seed}, {target}: {error}\n{code}\n{text}");
                    }
                }
            });
        }
    });
}

#[test]
fn all_atomic_commands_of_a_world_assemble_together() {
    let Some(assembler) = Assembler::find() else {
        return;
    };
    for seed in 0..20 {
        let layout = worlds::layout(seed);
        let shape = programs::Shape {
            is_atomic: true,
            ..worlds::shape(&layout)
        };
        let codes = [0, 1, 2].map(|n| programs::program(3 * seed + n, shape));
        let keys = codes
            .each_ref()
            .map(|code| Keys::of(code).unwrap_or_default());
        let commands = (7..).zip(&codes).zip(&keys);
        let commands: Vec<_> = commands
            .map(|((kind, code), keys)| AtomicCommand {
                kind,
                code,
                keys,
                writes_max: WRITES_MAX as u64,
            })
            .collect();
        let text = ptx::atomic_module(&commands, &layout);
        for target in ["sm_75", "sm_90"] {
            if let Err(error) = assembler.assemble(&text, target) {
                panic!("seed {seed}, {target}: {error}\n{text}");
            }
        }
    }
}

/// Else comparing kernels with the interpreter would say little.
#[test]
fn random_commands_have_effects_of_all_kinds() {
    let mut interpreter = Interpreter::default();
    let [mut updates, mut afters, mut notifications, mut overruns] = [0; 4];
    for seed in 0..SEEDS {
        let layout = worlds::layout(seed);
        let mut numbers = layout.numbers.clone();
        numbers.capacity = 500;
        numbers.space.budget.visits = 200;
        let state = State::new(seed, numbers, 4);
        let code = programs::program(seed, worlds::shape(&layout));
        for command in &state.commands {
            match state.run(&mut interpreter, &code, command) {
                Ok(run) => {
                    updates += u64::from(!run.updates.is_empty());
                    afters += u64::from(!run.afters.is_empty());
                    notifications += u64::from(!run.notifications.is_empty());
                }
                Err(_) => overruns += 1,
            }
        }
    }
    println!(
        "of {} runs {updates} update, {afters} scheduled, {notifications} notified, {overruns} overrun",
        4 * SEEDS
    );
    for n in [updates, afters, notifications] {
        assert!(n > SEEDS / 2, "{n}");
    }
    assert!(overruns > SEEDS / 50, "{overruns}");
}

#[test]
fn a_strike_is_a_few_loads_and_an_update() {
    let text = ptx::module(3, &strike(), &worlds::layout(0));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/strike.ptx");
    if env::var_os("UPDATE_PTX").is_some() {
        fs::write(&path, &text).expect("the text can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "UPDATE_PTX=1 writes {}", path.display());
    if let Some(assembler) = Assembler::find() {
        let report = assembler.assemble(&text, "sm_90");
        println!("{}", report.expect("the text assembles"));
    }
}

/// Symbols are checked by instructions that kernels have as well: nothing is written before.
#[test]
fn a_foreign_symbol_leaves_a_kernel_before_its_update() {
    let world = "[[kind]]\nname = 'p'\nattributes = [\
        { name = 'it', type = 'symbol', symbols = ['b', 'd'], audience = 'state' },\
        { name = 'no', type = 'symbol', symbols = ['a', 'c', 'e'], audience = 'state' }]";
    let config = world_file::parse(world, "symbols").expect("a valid world");
    let command = |ty: &str| {
        let text = format!("#[command(clients)] fn t(me: Entity, it: {ty}) {{ me.it = it; }}");
        let logic = LogicConfig {
            texts: vec![WorldText::new("t.rs", text)],
            ..LogicConfig::default()
        };
        let logic = Logic::compile_with(&config.schema, &config.symbols, &logic);
        logic.expect("it compiles").commands.remove(0).code
    };
    for ty in ["Symbol<it>", "Symbol"] {
        let text = ptx::module(3, &command(ty), &worlds::layout(0));
        // The command's only word is in the first register.
        let compared = text.lines().filter_map(|line| {
            let (_, number) = line
                .trim()
                .strip_prefix("setp.eq.s32 ")?
                .split_once(", %w1, ")?;
            number.trim_end_matches(';').parse::<i32>().ok()
        });
        // In both kernels: to count, and to store.
        assert_eq!(compared.collect::<Vec<_>>(), [1, 3, 1, 3], "{text}");
        if let Some(assembler) = Assembler::find() {
            let report = assembler.assemble(&text, "sm_90");
            println!("{}", report.expect("the text assembles"));
        }
    }
}

/// Takes 10 from column 3 of an entity within 5 units.
fn strike() -> Code {
    let [actor, word, target, is] = [0, 1, 2, 3].map(Reg);
    let [ax, ay, tx, ty] = [4, 5, 6, 7].map(Reg);
    let place = |x: Reg, y: Reg| [x.into(), y.into(), Operand::ZERO];
    let end = 14;
    Code {
        insts: vec![
            Inst::Actor(actor),
            Inst::Word(word, 0),
            Inst::Resolve(target, word.into()),
            Inst::Binary(is, Binary::Eq, target.into(), Operand::Const(NOBODY)),
            Inst::JumpIf(is.into(), end),
            Inst::Binary(is, Binary::Eq, target.into(), actor.into()),
            Inst::JumpIf(is.into(), end),
            Inst::Read(ax, actor.into(), 0),
            Inst::Read(ay, actor.into(), 1),
            Inst::Read(tx, target.into(), 0),
            Inst::Read(ty, target.into(), 1),
            Inst::IsWithin(is, place(ax, ay), place(tx, ty), (5 << 12).into()),
            Inst::JumpUnless(is.into(), end),
            Inst::Update(target.into(), 3, Operand::Const(-10)),
        ],
        registers: 8,
        loops: 0,
    }
}
