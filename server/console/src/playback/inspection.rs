//! A command of a tick once more, with what each of its lines gave.

use anyhow::{Context, Result, bail};
use gpu_kernels::tick::still::StillWorld;
use gpu_kernels::{Snapshot, Trace};
use script::arith::Random;
use script::interpreter::{Interpreter, Invocation, World};
use script::watched::{Run, Watched};
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, WorldConfig};

/// A command that ran again.
pub struct Inspection {
    pub command: String,
    /// The texts with lines that it ran.
    pub texts: Vec<Text>,
    pub run: Run,
}

/// Runs a command of a tick again, by its place in the trace, in the world before the tick.
pub fn inspect(
    world: &WorldConfig,
    before: &Snapshot,
    trace: &Trace,
    place: usize,
) -> Result<Inspection> {
    let Some(command) = trace.commands.get(place) else {
        let commands = trace.commands.len();
        bail!("command {place} is not there: the tick has {commands} commands");
    };
    let kind = CommandKind(command.kind);
    let schema = world.schema.command(kind);
    let schema = schema.context("the command is none of the world's scripts")?;
    let watched = Watched::of(world, |other| other == kind);
    let watched = watched.map_err(|problems| anyhow::anyhow!("{}", problems[0]))?;
    if watched.is_atomic(kind) {
        bail!(
            "`{}` is atomic: it saw what the commands before it had left, which is not kept",
            schema.name
        );
    }
    let words = trace.words_of(command);
    if words.len() != schema.words.len() {
        bail!("`{}` was malformed, so it did not run", schema.name);
    }
    let still = StillWorld::new(world, before);
    let entity = command.entity;
    let lives = still.generation(entity.slot) == Some(entity.generation);
    if schema.has_actor && (entity == EntityId::NONE || !lives) {
        bail!(
            "there was no living entity to give `{}`, so it did not run",
            schema.name
        );
    }
    let invocation = Invocation {
        tick: before.tick,
        entity,
        words,
        random: Random::new(
            world.seed,
            before.tick,
            entity,
            command.kind,
            command.sequence,
        ),
    };
    let run = watched.run(
        world,
        &mut Interpreter::default(),
        &still,
        kind,
        &invocation,
    );
    let run = run.context("the command is none of the world's scripts")?;
    let is_run = |text: &&Text| run.values.iter().any(|value| value.file == text.file);
    Ok(Inspection {
        command: schema.name.clone(),
        texts: watched.texts().iter().filter(is_run).cloned().collect(),
        run,
    })
}
