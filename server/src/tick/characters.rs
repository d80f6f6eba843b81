//! What accounts keep while they have no entity: taken from who dies, and given to newborns
//! by commands in the frame, so that frames alone determine the world. Without I/O and without
//! a clock.

use std::collections::HashMap;

use gpu_kernels::tick::frame::POPULATION_TOKEN;
use gpu_kernels::{Frame, TickOutput};
use shared::world::config::PERSIST_PREFIX;
use shared::{ClientRow, CommandKind, EntityId, MergeRule, Slot, WorldConfig};

use super::directory::Directory;
use super::mirror::Mirror;
use crate::accounts::identity::Account;
use crate::durable::characters::Rows;
use crate::durable::roster::{Roster, RosterChange};

/// The characters of all accounts, and the entities of those that have one.
pub struct Characters {
    gifts: Vec<Gift>,
    rows: Rows,
    accounts: HashMap<EntityId, Account>,
    /// Players of the last tick, to be given what their accounts keep.
    newborn: Vec<EntityId>,
}

/// How newborns are given one of the attributes.
struct Gift {
    column: usize,
    command: CommandKind,
    adds: bool,
    min: i32,
    max: i32,
}

impl Characters {
    /// Those of a world; `None` if accounts keep nothing there.
    pub fn new(config: &WorldConfig, rows: Rows) -> Option<Characters> {
        let player = usize::from(config.player_kind);
        let gift = |&column: &u16| {
            let attribute = config.schema.attributes.get(usize::from(column))?;
            let name = format!("{PERSIST_PREFIX}{}", attribute.name);
            let mut own = config.schema.kinds[player].attributes.iter();
            let own = own.find(|own| own.column == column)?;
            let fall = config.falls[player].filter(|fall| fall.column == column);
            Some(Gift {
                column: usize::from(column),
                command: config.schema.command_named(&name)?.kind,
                adds: attribute.merge == MergeRule::Sum,
                // Who has fallen begins with the default.
                min: fall.map_or(own.min, |fall| fall.at.saturating_add(1)),
                max: own.max,
            })
        };
        let gifts: Vec<Gift> = config.persists.iter().filter_map(gift).collect();
        (!gifts.is_empty()).then(|| Characters {
            gifts,
            rows,
            accounts: HashMap::new(),
            newborn: vec![],
        })
    }

    /// A world goes on with the clients of a roster.
    pub fn restore(&mut self, roster: &Roster) {
        for (account, row) in &roster.characters {
            if let Ok(account) = Account::new(account) {
                self.rows.insert(account, row.clone());
            }
        }
        for client in roster.clients.values() {
            let account = client.row.person.account.clone().map(Account::new);
            if let (Some(entity), Some(Ok(account))) = (client.row.entity(), account) {
                self.accounts.insert(entity, account);
            }
        }
    }

    /// Takes in a tick's births and deaths, after the directory has. Gives what accounts keep
    /// from now on; nothing without a mirror, where that is known already.
    pub fn settle(
        &mut self,
        output: &TickOutput,
        directory: &Directory,
        mirror: Option<&Mirror>,
    ) -> Vec<RosterChange> {
        for birth in output
            .births
            .iter()
            .filter(|birth| birth.token != POPULATION_TOKEN)
        {
            let client = ClientRow(birth.token);
            let own = directory
                .presence(client)
                .and_then(|presence| presence.entity);
            let account = directory.people().account(client);
            if let (Some(entity), Some(account)) = (birth.entity, account)
                && own == Some(entity)
            {
                self.accounts.insert(entity, account.clone());
                self.newborn.push(entity);
            }
        }
        let mut changes = vec![];
        for entity in &output.deaths {
            let Some(account) = self.accounts.remove(entity) else {
                continue;
            };
            let Some(mirror) = mirror else { continue };
            let row = mirror.row(entity.slot);
            let row: Vec<i32> = self.gifts.iter().map(|gift| row[gift.column]).collect();
            changes.push(RosterChange::Character {
                account: account.as_str().to_owned(),
                row: row.clone(),
            });
            self.rows.insert(account, row);
        }
        changes
    }

    /// The newborns of the last tick that are not yet as their accounts know them.
    pub fn unready(&self, mirror: &Mirror) -> Vec<Slot> {
        let newborn = self.newborn.iter();
        let unready = newborn.filter(|&&entity| self.of(entity, mirror).next().is_some());
        unready.map(|entity| entity.slot).collect()
    }

    /// Gives newborns what their accounts keep. The mirror is that of the last tick.
    pub fn give(&mut self, mirror: &Mirror, frame: &mut Frame) {
        for entity in std::mem::take(&mut self.newborn) {
            for (gift, own, kept) in self.of(entity, mirror) {
                gift.give(entity, own, kept, frame);
            }
        }
    }

    /// What an entity has otherwise than its account: how it is given that, what it has, and
    /// what it is to have.
    fn of<'a>(
        &'a self,
        entity: EntityId,
        mirror: &'a Mirror,
    ) -> impl Iterator<Item = (&'a Gift, i32, i32)> {
        let account = self.accounts.get(&entity);
        let row = account.and_then(|account| self.rows.get(account));
        let has = mirror.row(entity.slot);
        let gifts = self.gifts.iter().zip(row.into_iter().flatten());
        gifts.filter_map(move |(gift, &kept)| {
            let (own, kept) = (has[gift.column], kept.min(gift.max));
            (kept != own && kept >= gift.min).then_some((gift, own, kept))
        })
    }
}

impl Gift {
    fn give(&self, entity: EntityId, own: i32, kept: i32, frame: &mut Frame) {
        if !self.adds {
            return frame.push(entity, 0, self.command, &[kept]);
        }
        // A step may be longer than a word is.
        let mut left = i64::from(kept) - i64::from(own);
        while left != 0 {
            let step = left.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
            left -= step;
            let word = i32::try_from(step).unwrap_or_default();
            frame.push(entity, 0, self.command, &[word]);
        }
    }
}
