//! What must hold: when a tick host starts again, and at the end, once everything has been at rest
//! for a while.

use std::collections::BTreeMap;

use anyhow::Result;
use durability::log::Log;
use shared::{Audience, EntityId, Schema, Tick};

use crate::plan::Plan;
use crate::player::{Player, number_in};
use crate::simulation::{Checked, Simulation};
use crate::tick_host::{Placed, TickHost, check_replay};

impl Simulation {
    /// A tick host continues behind all that players knew to be kept.
    pub(crate) fn check_recovered(&self, host: &TickHost) -> Checked {
        if let Some(kept) = self.kept
            && host.first <= kept
        {
            return Err(format!(
                "the world continues before tick {}, and players knew that {kept} is kept",
                host.first
            ));
        }
        Simulation::check_things(&self.plan, host)?;
        self.check_floors(&host.world())
    }

    /// Each thing of a market is in the world or in one character, whoever has died and come back.
    pub(crate) fn check_things(plan: &Plan, host: &TickHost) -> Checked {
        // The first tick bears them.
        if !plan.is_market || !host.has_begun() {
            return Ok(());
        }
        for (name, expected) in THINGS {
            let kind = plan
                .config
                .schema
                .kind(name)
                .and_then(|kind| u16::try_from(kind).ok());
            let (in_world, kept) = kind.map_or((0, 0), |kind| host.things(kind));
            if in_world + kept != expected {
                return Err(format!(
                    "after tick {} there are {in_world} of {name} in the world and {kept} in characters: \
                     expected {expected}",
                    host.newest()
                ));
            }
        }
        Ok(())
    }

    /// What players saw in ticks that are kept is still there.
    fn check_floors(&self, world: &[Placed]) -> Checked {
        let Some(column) = self.plan.config.schema.column("marks") else {
            return Ok(());
        };
        for placed in world {
            let floor = self.floors.get(&placed.entity).copied().unwrap_or_default();
            if placed.row[column] < floor {
                return Err(format!(
                    "{} has {} marks, and a player saw {floor} in a tick that is kept",
                    placed.entity, placed.row[column]
                ));
            }
        }
        Ok(())
    }

    /// Everything has been at rest for a while.
    pub(crate) fn check_end(&mut self) -> Checked {
        let Some(host) = &self.host.running else {
            return Err("there is no tick host at the end".to_owned());
        };
        self.check_floors(&host.world())?;
        let expected: Vec<usize> = (0..self.players.len())
            .filter(|&player| self.players[player].is_expected)
            .collect();
        for &player in &expected {
            self.check_view(player)?;
            let open = self.players[player].unprocessed();
            if open > 0 {
                return Err(format!("{open} commands of player {player} have no result"));
            }
        }
        self.outcome.sent_again = self.players.iter().map(|player| player.sent_again).sum();
        self.check_slots(expected.len())?;
        self.check_coins()?;
        for player in &mut self.players {
            player.end_session();
        }
        let Some(host) = self.host.running.take() else {
            return Ok(());
        };
        let stopped = host.stop();
        stopped.map_err(|error| format!("the tick host can't stop: {error:#}"))?;
        check_replay(&self.plan, &self.disk).map_err(|error| format!("{error:#}"))?;
        self.check_journal()
    }

    /// The slots and sessions of players that are gone are free.
    fn check_slots(&self, expected: usize) -> Checked {
        let Some(host) = &self.host.running else {
            return Ok(());
        };
        let mut players = host.players();
        players.sort_unstable();
        let own = |player: &Player| player.game.view().map(|view| view.entity());
        let is_expected = |player: &&Player| player.is_expected;
        let mut entities: Vec<EntityId> =
            (self.players.iter().filter(is_expected).filter_map(own)).collect();
        entities.sort_unstable();
        if players != entities {
            return Err(format!(
                "the tick host has clients with {players:?}, and players have {entities:?}"
            ));
        }
        let kind = self.plan.config.player_kind;
        let living = host
            .world()
            .iter()
            .filter(|placed| placed.kind == kind)
            .count();
        if living != expected {
            return Err(format!(
                "{living} entities of players live, and {expected} play"
            ));
        }
        let direct = host.shard.lock().connections().count();
        let at_gateways = self.gateways.iter().map(|gateway| {
            let shard = gateway.running.as_ref().and_then(|gateway| gateway.shard());
            shard.map_or(0, |shard| shard.lock().connections().count())
        });
        let at_gateways: usize = at_gateways.sum();
        let sessions = host.sessions_of_gateways();
        if direct + at_gateways != expected || sessions != at_gateways {
            return Err(format!(
                "{expected} players have {direct} connections to the tick host, {at_gateways} to \
                 gateways, and {sessions} sessions of gateways"
            ));
        }
        Ok(())
    }

    /// A player sees what there is to see from its entity, as it is, and nothing else; where the world
    /// hides entities, maybe not all of it.
    fn check_view(&self, number: usize) -> Checked {
        let player = &self.players[number];
        if !player.game.is_playing() {
            return Err(format!("player {number} is not in the world at the end"));
        }
        let Some(view) = player.game.view() else {
            return Err(format!("player {number} has no view"));
        };
        let schema = &self.plan.config.schema;
        let newest = view.newest();
        let world = self.history.iter().find(|(tick, _)| *tick == newest);
        let last = self.history.back().map_or(Tick(0), |last| last.0);
        let late_max = LATE_TICKS + schema.world.tick_hz / 2;
        let Some((_, world)) = world.filter(|_| last.since(newest) <= late_max) else {
            return Err(format!(
                "player {number} has tick {newest}, and the world {last}"
            ));
        };
        let own = world.iter().find(|placed| placed.entity == view.entity());
        let Some(own) = own else {
            return Err(format!(
                "player {number} has {}, which is dead",
                view.entity()
            ));
        };
        let mut expected: Vec<Placed> = (world.iter())
            .filter(|placed| !schema.is_thing(placed.kind))
            .filter(|placed| is_in_sight(schema, own, placed))
            .map(|placed| as_seen(schema, placed, placed.entity == own.entity))
            .collect();
        let mut seen: Vec<Placed> = (view.entities().values())
            .map(|entity| {
                let placed = Placed {
                    entity: entity.id,
                    kind: entity.kind,
                    position: view.position(entity, newest),
                    row: entity.row.clone(),
                };
                as_seen(schema, &placed, entity.id == own.entity)
            })
            .collect();
        // Bits and walls may hide any other; what is seen is as it is all the same.
        if !schema.visibility.is_plain() {
            let is_seen = |entity| seen.iter().any(|seen: &Placed| seen.entity == entity);
            expected.retain(|placed| placed.entity == own.entity || is_seen(placed.entity));
        }
        expected.sort_unstable_by_key(|placed| placed.entity);
        seen.sort_unstable_by_key(|placed| placed.entity);
        if expected == seen {
            return Ok(());
        }
        let missing = expected.iter().find(|placed| !seen.contains(placed));
        let surplus = seen.iter().find(|placed| !expected.contains(placed));
        Err(format!(
            "player {number} as {} in tick {newest} should see {missing:?}, and sees {surplus:?}",
            own.entity
        ))
    }

    /// No coins are lost or made, whoever took them or left with them.
    fn check_coins(&self) -> Checked {
        let (Some(host), true) = (&self.host.running, self.plan.is_yard) else {
            return Ok(());
        };
        let schema = &self.plan.config.schema;
        let sum = |name: &str| -> i64 {
            let column = schema.column(name);
            let world = host.world();
            let values = world
                .iter()
                .map(|placed| column.map_or(0, |c| placed.row[c]));
            values.map(i64::from).sum()
        };
        let found = i64::from(host.found());
        let all = sum("coins") + sum("filled") + found;
        match all == COINS {
            true => Ok(()),
            false => Err(format!(
                "there are {all} coins, {found} of them lost: expected {COINS}"
            )),
        }
    }

    /// Each numbered command is in the journal at most once, and those that were confirmed are.
    fn check_journal(&mut self) -> Checked {
        let numbers = self.read_journal().map_err(|error| format!("{error:#}"))?;
        if let Some((number, runs)) = numbers.iter().find(|(_, runs)| runs.len() > 1) {
            return Err(format!(
                "command {number} has run {} times, in (tick, under its number) {runs:?}",
                runs.len()
            ));
        }
        for player in &self.players {
            for (number, tick) in &player.kept {
                if !numbers.contains_key(number) {
                    return Err(format!(
                        "command {number} was confirmed by tick {tick}, which is kept, and is not \
                         in the journal"
                    ));
                }
                self.outcome.kept += 1;
            }
        }
        Ok(())
    }

    /// For each numbered command: the ticks in which it has run, and its numbers as a command there.
    fn read_journal(&self) -> Result<BTreeMap<i32, Vec<(u64, u32)>>> {
        let schema = &self.plan.config.schema;
        let mut log = Log::open(&self.disk, schema.world.capacity, 0, None)?;
        let mut numbers: BTreeMap<i32, Vec<(u64, u32)>> = BTreeMap::new();
        while let Ok(record) = log.read()? {
            let frame = &record.entry.frame;
            for command in &frame.commands {
                let named = (schema.commands.iter()).find(|one| one.kind.id() == command.kind);
                let words = frame.words_of(command);
                let number = named.and_then(|named| number_in(&named.name, words));
                // Entities of no client move, too.
                if let Some(number) = number.filter(|_| command.entity != EntityId::NONE) {
                    let runs = numbers.entry(number).or_default();
                    runs.push((frame.tick.0, command.sequence));
                }
            }
        }
        Ok(numbers)
    }
}

fn is_in_sight(schema: &Schema, own: &Placed, other: &Placed) -> bool {
    let along = own.position.iter().zip(&other.position);
    let square: i64 = along
        .map(|(a, b)| (i64::from(*a) - i64::from(*b)).pow(2))
        .sum();
    square <= i64::from(schema.world.aoi.raw()).pow(2)
}

/// With 0 for what a client is not sent.
fn as_seen(schema: &Schema, placed: &Placed, is_own: bool) -> Placed {
    let mut seen = placed.clone();
    let dimensions = schema.dimensions();
    for (column, value) in seen.row.iter_mut().enumerate() {
        let is_sent = match schema.attributes[column].audience {
            Audience::Movement => column >= dimensions,
            Audience::State => true,
            Audience::Private => is_own,
            Audience::Hidden => false,
        };
        if !is_sent {
            *value = 0;
        }
    }
    seen
}

/// Of a market.
const THINGS: [(&str, usize); 2] = [("pouch", 4), ("gem", 12)];
/// Of all chests at the start.
const COINS: i64 = 400;
/// A tick takes some time to a player, beside the half second after which a server sends a datagram
/// to a client that has no news.
const LATE_TICKS: u32 = 5;
