use gpu_kernels::Snapshot;
use shared::EntityId;

use super::changes::{Changes, counted};
use super::names::Names;
use super::{MigrationError, place};
use durability::roster::{Roster, RowState};

/// Clients keep their rows and tickets, and the holdings that the new world allows.
/// Their observers are set when they come back.
pub fn migrate(
    names: &Names<'_>,
    kept: &Snapshot,
    new: &mut Snapshot,
    roster: &mut Roster,
    changes: &mut Changes,
) -> Result<(), MigrationError> {
    let (old, given) = (names.kept, names.given);
    let limit = given.limits.clients;
    let mut beyond = roster.clients.keys().filter(|client| client.0 >= limit);
    let found = beyond.clone().count();
    if let Some(last) = beyond.next_back() {
        return Err(MigrationError::TooFewClients {
            limit,
            found,
            needed: last.0.saturating_add(1),
        });
    }
    let is_spectator = |state: &RowState| {
        matches!(
            state,
            RowState::Live(EntityId::NONE)
                | RowState::Lost {
                    entity: EntityId::NONE,
                    ..
                }
        )
    };
    if given.spectators.is_none() {
        let before = roster.clients.len();
        roster
            .clients
            .retain(|_, client| !is_spectator(&client.row.state));
        let gone = before - roster.clients.len();
        if gone > 0 {
            let gone = counted(gone as u64, "spectator", "spectators");
            changes.say(format!("{gone} can't come back: the new file allows none"));
        }
    }
    let edges = given.schema.world.edges();
    let mut dropped = 0;
    for (&client, saved) in &mut roster.clients {
        if let Some(point) = &mut saved.row.sight.point {
            *point = [0, 1, 2].map(|axis| point[axis].clamp(0, edges[axis]));
        }
        let before = saved.regions.len();
        let per_client = given.limits.regions_per_client;
        saved
            .regions
            .retain(|&index, region| index < per_client && region.check(given) == Ok(*region));
        dropped += before - saved.regions.len();
        for (&index, region) in &saved.regions {
            // The world has those of clients with a connection only.
            let before = place(client, index, old.limits.regions_per_client);
            if kept.regions.get(before).copied().flatten() == Some(*region) {
                new.regions[place(client, index, per_client)] = Some(*region);
            }
        }
    }
    if dropped > 0 {
        let regions = counted(
            dropped as u64,
            "region of a client is",
            "regions of clients are",
        );
        changes.say(format!(
            "{regions} dropped: the new file does not allow them"
        ));
    }
    Ok(())
}
