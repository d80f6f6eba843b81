//! All accounts, compared with what a loop over the journal leaves there.

use std::path::Path;

use anyhow::{Context, ensure};
use durability::disk::Folder;
use durability::log::Log as Journal;
use durability::{checkpoint, recovery};
use shared::{EntityRef, WorldConfig};

use super::world::{GOLD, TRANSFER};

/// What a world has on disk.
pub struct Audit {
    pub transfers: u64,
}

/// Checks a world that has stopped.
pub fn audit(folder: &Path, config: &WorldConfig) -> anyhow::Result<Audit> {
    let disk = Folder::new(folder);
    let ticks = checkpoint::ticks(&disk)?;
    let [Some(&first), Some(&last)] = [ticks.first(), ticks.last()] else {
        anyhow::bail!("the world has no checkpoint");
    };
    ensure!(first == 0, "the journal does not begin with the world");
    let schema = &config.schema;
    let transfer = schema.command_named(TRANSFER).context("a command")?.kind;
    let kind = schema.kinds.iter().position(|kind| kind.name == "account");
    let kind = kind.context("a kind")?;
    let mut held = vec![i64::from(GOLD); config.populations[kind] as usize];
    let previous = recovery::read(&disk, first)?.head.previous;
    let capacity = schema.world.capacity;
    let mut journal = Journal::open(&disk, capacity, first, Some(previous))?;
    let mut transfers = 0;
    while journal.next_tick() < last {
        let Ok(record) = journal.read()? else {
            break;
        };
        let frame = &record.entry.frame;
        for command in frame.commands.iter().filter(|c| c.kind == transfer.id()) {
            let &[from, to, amount] = frame.words_of(command) else {
                continue;
            };
            let [from, to] = [from, to].map(|word| EntityRef(word).slot().index());
            transfers += 1;
            if held[from] >= i64::from(amount) {
                held[from] -= i64::from(amount);
                held[to] += i64::from(amount);
            }
        }
    }
    let state = recovery::read(&disk, last)?.body.snapshot;
    let gold = schema.column("gold").context("an attribute")?;
    let rows = state.rows.chunks_exact(schema.attributes.len());
    let accounts = rows
        .zip(&state.kinds)
        .filter(|row| usize::from(*row.1) == kind);
    let found: Vec<i64> = accounts.map(|(row, _)| i64::from(row[gold])).collect();
    ensure!(
        found == held,
        "an account differs from what the journal leaves there"
    );
    let sum: i64 = found.iter().sum();
    ensure!(
        sum == i64::from(GOLD) * found.len() as i64,
        "the sum of all accounts is not kept"
    );
    Ok(Audit { transfers })
}
