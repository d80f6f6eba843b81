use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Context;
use gpu_kernels::CpuBackend;
use gpu_kernels::logic::{Engine, Scripts};
use program::note;
use script::native::Native;
use script::{Logic, builtin};
use shared::WorldConfig;
use shared::world::logic::Constant;

use super::{COMPILING, Options};
use crate::report::Row;

/// A row for each step from texts to a world that runs them.
pub fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let config = config(true)?;
    let without = self::config(false)?;
    let mut changed = config.clone();
    let settings = changed.logic.constants.entry("strike".to_owned());
    settings
        .or_default()
        .insert("damage".to_owned(), Constant::Int(6));

    let scripts = Scripts::new(&config, Engine::Fastest)?;
    let native = scripts
        .native()
        .context("no machine code on this machine")?;
    let commands = || {
        let commands = scripts.logic().commands.iter();
        commands.map(|command| (command.schema.kind.id(), &command.code))
    };
    let strike = Logic::of(&changed).map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    let strike = &strike.command(builtin::STRIKE).context("no strike")?.code;

    let time = |step: &str, what: &mut dyn FnMut() -> anyhow::Result<()>| {
        let mut times = vec![];
        for _ in 0..options.runs {
            let begin = Instant::now();
            what()?;
            times.push(begin.elapsed());
        }
        anyhow::Ok(row(step, commands().count(), times))
    };
    let start = |config: &WorldConfig, engine: Engine| -> anyhow::Result<()> {
        black_box(CpuBackend::with_engine(config, 1, None, engine)?);
        Ok(())
    };
    Ok(vec![
        time("texts to instructions", &mut || {
            let compiled = Logic::compile(&config.schema, &config.logic);
            black_box(compiled.map_err(|problems| anyhow::anyhow!("{problems:?}"))?);
            Ok(())
        })?,
        time("instructions to machine code", &mut || {
            black_box(Native::compile(commands(), native.shape().clone())?);
            Ok(())
        })?,
        time("one command to machine code", &mut || {
            let mut native = native.clone();
            native.replace(builtin::STRIKE.id(), strike)?;
            black_box(native);
            Ok(())
        })?,
        time("all texts again, one of them changed", &mut || {
            let logic = Logic::of(&changed);
            let logic = logic.map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
            black_box(scripts.changed(&changed, logic)?);
            Ok(())
        })?,
        time("a backend's start, machine code", &mut || {
            start(&config, Engine::Fastest)
        })?,
        time("a backend's start, interpreter", &mut || {
            start(&config, Engine::Interpreter)
        })?,
        time("a backend's start, no scripts", &mut || {
            start(&without, Engine::Fastest)
        })?,
    ])
}

fn row(step: &str, commands: usize, times: Vec<Duration>) -> Row {
    let mut row = Row::new(COMPILING, "cpu", step, times);
    row.put("step", step);
    row.put("commands", commands);
    row.work = commands as u64;
    note!("logic, {step}: {:.3} ms", row.total_ms);
    row
}

/// A world that has all built-in commands, or none.
fn config(has_scripts: bool) -> anyhow::Result<WorldConfig> {
    let names: Vec<String> = builtin::names().map(|name| format!("{name:?}")).collect();
    let (names, commands) = match has_scripts {
        true => (names.join(", "), COMMANDS),
        false => (String::new(), ""),
    };
    let text = format!(
        r#"
        [logic]
        builtin = [{names}]

        {commands}

        [[kind]]
        name = "player"
        attributes = [
            {{ name = "hp", type = "i32", default = 100, min = 0, max = 100, audience = "state" }},
            {{ name = "gold", type = "i32", audience = "private" }},
            {{ name = "target", type = "entity", merge = "first", audience = "state" }},
            {{ name = "best", type = "i32", merge = "max", audience = "state" }},
            {{ name = "shield", type = "i32", audience = "state" }},
            {{ name = "wood", type = "i32", audience = "state" }},
            {{ name = "score", type = "i32", audience = "state" }},
        ]

        [[kind]]
        name = "plant"
        attributes = [
            {{ name = "owner", type = "entity", merge = "first", audience = "state" }},
            {{ name = "ripe", type = "bool", default = true, audience = "state" }},
        ]
        "#
    );
    Ok(world_file::parse(&text, "a world of all commands")?)
}

const COMMANDS: &str = "
        [commands]
        shout = { radius_max = 20 }
        blast = { ember_ticks = 5, sound = 20 }
";
