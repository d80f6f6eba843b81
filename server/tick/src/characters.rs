//! Characters of accounts without an entity: saved at a death, and given to newborns with their births,
//! so that frames alone determine the world. Without I/O and without a clock.
//!
//! | module | holds |
//! | --- | --- |
//! | `things` | births of the things that accounts keep |

mod things;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc::Sender;

use accounts::identity::Account;
use durability::characters::ByAccount;
use durability::characters::character::{Character, KeptThing};
use durability::characters::settlement::{EndOfTick, Settlement};
use durability::recovered::Recovered;
use durability::roster::RosterChange;
use frontend::mirror::Mirror;
use gpu_kernels::tick::frame::POPULATION_TOKEN;
use gpu_kernels::{Frame, TickOutput};
use shared::world::attribute::{halves, joined};
use shared::world::initial::Initial;
use shared::world::limits::persist_command;
use shared::world::mix::{Random, mix};
use shared::world::value::words_at;
use shared::{
    AttributeType, ClientRow, CommandKind, EntityId, EntityRef, MergeRule, Slot, Tick, WorldConfig,
};

use super::directory::Directory;
use super::texts::Texts;
use things::Waiting;

/// The characters of all accounts, and the entities of those that have one.
pub struct Characters {
    attributes: Vec<PersistentAttribute>,
    /// The bounds of numbers of 64 bits among them, by the column of the low half.
    wide: Vec<(usize, (i64, i64))>,
    newborns: Newborns,
    world: WorldConfig,
    kept: ByAccount,
    /// Clients with an entity whose accounts have more things than found room in the world, and when to
    /// try again.
    waiting: Waiting,
    accounts: HashMap<EntityId, Account>,
    /// Accounts whose characters are to be forgotten once they have no entity, and the answers.
    forgetting: Vec<Forgetting>,
    /// Players of the last tick, before their saved attributes are checked.
    newborn: Vec<EntityId>,
    /// The groups to which any character may refer. Their ends are noted, since other entities may have
    /// the same references some births later.
    groups: HashSet<EntityRef>,
}

/// A character that is to be forgotten.
struct Forgetting {
    account: Account,
    /// It had a client.
    has_kicked: bool,
    /// How many clients were kicked; `None`: there was no such character.
    done: Sender<Option<usize>>,
}

/// The rule of players' births, as backends apply it to births without a row.
struct Newborns {
    kind: u16,
    seed: u64,
    size: Vec<i32>,
    default_row: Vec<i32>,
    initials: Vec<Initial>,
}

/// A persistent attribute, and the command that sets it.
struct PersistentAttribute {
    column: usize,
    /// `None`: it is half of a number or a text, which are set with births only.
    command: Option<CommandKind>,
    adds: bool,
    /// Whether it refers to a group.
    is_group: bool,
    min: i32,
    max: i32,
    /// The symbols that it can have; empty for other types.
    symbols: Vec<i32>,
}

impl Characters {
    /// The characters of a world; `None` if its accounts keep nothing.
    pub fn new(config: &WorldConfig, kept: ByAccount) -> Option<Characters> {
        let player = usize::from(config.player_kind);
        let bounds = config.schema.bounds(player);
        let persistent = |&column: &u16| {
            let attribute = config.schema.attributes.get(usize::from(column))?;
            let name = persist_command(&attribute.name);
            let mut own = config.schema.kinds[player].attributes.iter();
            own.find(|own| own.column == column)?;
            let fall = config.falls[player].filter(|fall| fall.column == column);
            Some(PersistentAttribute {
                column: usize::from(column),
                command: match attribute.ty.is_half() || attribute.ty == AttributeType::Text {
                    true => None,
                    false => Some(config.schema.command_named(&name)?.kind),
                },
                adds: attribute.merge == MergeRule::Sum,
                is_group: attribute.ty == AttributeType::Entity,
                // A fallen player begins with the default.
                min: fall.map_or(bounds[usize::from(column)].0, |fall| {
                    fall.at.saturating_add(1)
                }),
                max: bounds[usize::from(column)].1,
                symbols: config.symbols.of(config.player_kind, column).to_vec(),
            })
        };
        let attributes: Vec<PersistentAttribute> =
            config.persists.iter().filter_map(persistent).collect();
        let wide = config.schema.wide_bounds().into_iter().enumerate();
        let is_kept = |column: usize| {
            let is_low = config.schema.attributes[column].ty == AttributeType::I64;
            is_low && attributes.iter().any(|own| own.column == column)
        };
        let wide = wide.filter(|(column, _)| is_kept(*column)).collect();
        let mut characters = config.has_characters().then(|| Characters {
            attributes,
            wide,
            newborns: Newborns::of(config),
            world: config.clone(),
            kept: ByAccount::new(),
            waiting: Waiting::default(),
            accounts: HashMap::new(),
            forgetting: vec![],
            newborn: vec![],
            groups: HashSet::new(),
        })?;
        for (account, character) in kept {
            characters.keep(account, character);
        }
        Some(characters)
    }

    /// Restores the characters of a recovered world, with what its last tick has done to them. Returns the
    /// changes that no record has.
    pub fn restore(&mut self, recovered: &Recovered, directory: &Directory) -> Vec<RosterChange> {
        for (account, character) in &recovered.roster.characters {
            if let Ok(account) = Account::new(account) {
                self.keep(account, character.clone());
            }
        }
        for client in recovered.roster.clients.values() {
            let account = client.row.person.account.clone().map(Account::new);
            if let (Some(entity), Some(Ok(account))) = (client.row.entity(), account) {
                self.accounts.insert(entity, account);
            }
        }
        self.note_players(&recovered.last, directory);
        for entity in &recovered.last.deaths {
            self.accounts.remove(entity);
        }
        let mut changes = self.apply(recovered.settlement.clone());
        changes.extend(self.leave_ended(&recovered.last.deaths));
        self.find_waiting(directory);
        changes
    }

    fn keep(&mut self, account: Account, character: Character) {
        if character.is_nothing() {
            self.kept.remove(&account);
            return;
        }
        self.groups.extend(groups(&self.attributes, &character));
        self.kept.insert(account, character);
    }

    fn apply(&mut self, settlement: Settlement) -> Vec<RosterChange> {
        let kept = &mut self.kept;
        let changed = settlement.apply(&self.world, |account, change| {
            if let Ok(account) = Account::new(account) {
                change(kept.entry(account).or_default());
            }
        });
        let mut changes = vec![];
        for account in changed {
            let own = Account::new(&account).ok();
            if let Some(character) = own.and_then(|own| self.kept.get(&own)) {
                self.groups.extend(groups(&self.attributes, character));
                changes.push(RosterChange::of_character(account, character.clone()));
            }
        }
        changes
    }

    /// Characters of groups that have ended belong to none. Returns the changes, by account.
    fn leave_ended(&mut self, deaths: &[EntityId]) -> Vec<RosterChange> {
        let ended = deaths.iter().map(|entity| entity.reference());
        let ended: Vec<i32> = ended
            .filter(|group| self.groups.remove(group))
            .map(|group| group.0)
            .collect();
        let mut left = BTreeMap::new();
        for (account, character) in self.kept.iter_mut().filter(|_| !ended.is_empty()) {
            let saved = self.attributes.iter().zip(&mut character.row);
            let of_ended = saved
                .filter(|(attribute, saved)| attribute.is_group && ended.contains(saved))
                .map(|(_, saved)| *saved = EntityRef::NONE.0);
            if of_ended.count() > 0 {
                left.insert(account.as_str().to_owned(), character.clone());
            }
        }
        let change = |(account, character)| RosterChange::of_character(account, character);
        left.into_iter().map(change).collect()
    }

    /// The things of a kind that accounts keep.
    pub fn things(&self, kind: u16) -> impl Iterator<Item = &KeptThing> {
        let things = self.kept.values().flat_map(|character| &character.things);
        things.filter(move |thing| thing.kind == kind)
    }

    /// Forgets a character as soon as its account has no entity, whose death would save it again.
    pub fn forget(&mut self, account: Account, done: Sender<Option<usize>>) {
        self.forgetting.push(Forgetting {
            account,
            has_kicked: false,
            done,
        });
    }

    /// Throws out the clients of characters that are to be forgotten, also those that come back
    /// meanwhile, and forgets the others. Returns the changes.
    pub fn forget_due(
        &mut self,
        directory: &mut Directory,
        frame: &mut Frame,
    ) -> Vec<RosterChange> {
        let mut changes = vec![];
        for mut forgetting in std::mem::take(&mut self.forgetting) {
            let account = &forgetting.account;
            if let Some(client) = directory.people().of_account(account) {
                directory.kick(client, "its character is deleted", false, frame);
                forgetting.has_kicked = true;
                self.forgetting.push(forgetting);
                continue;
            }
            if self.accounts.values().any(|own| own == account) {
                self.forgetting.push(forgetting);
                continue;
            }
            let had_some = self.kept.remove(account).is_some() || forgetting.has_kicked;
            changes.push(RosterChange::of_character(
                account.as_str().to_owned(),
                Character::default(),
            ));
            let clients = usize::from(forgetting.has_kicked);
            // An operator that has gone away needs no answer.
            let _ = forgetting.done.send(had_some.then_some(clients));
        }
        changes
    }

    /// Applies a tick's births and deaths, after the directory and the mirror. Returns the characters that
    /// have changed.
    pub fn settle(
        &mut self,
        output: &TickOutput,
        directory: &Directory,
        (mirror, texts): (&Mirror, &Texts),
    ) -> Vec<RosterChange> {
        self.note_players(output, directory);
        let end = EndOfTick {
            world: &self.world,
            output,
            row: &|slot| mirror.row(slot).to_vec(),
            kind: &|slot| mirror.kind(slot),
            text: &|handle| texts.get(handle).cloned(),
        };
        let client = |client| Some(directory.people().account(client)?.as_str().to_owned());
        let accounts = &mut self.accounts;
        let player = |entity| Some(accounts.remove(&entity)?.as_str().to_owned());
        let settlement = Settlement::of(&end, client, player);
        let mut changes = self.apply(settlement);
        changes.extend(self.leave_ended(&output.deaths));
        self.waiting.note(output);
        if !changes.is_empty() || !self.newborn.is_empty() {
            self.find_waiting(directory);
        }
        changes
    }

    /// Notes the accounts of newborn players.
    fn note_players(&mut self, output: &TickOutput, directory: &Directory) {
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
    }

    /// Completes the frame's births with characters, so that no command sees newborns without them. The
    /// mirror is that of the last tick. Returns how many texts found no room.
    pub fn complete_births(
        &mut self,
        directory: &Directory,
        (mirror, texts): (&Mirror, &mut Texts),
        frame: &mut Frame,
    ) -> u64 {
        let tick = frame.tick;
        let mut refused = 0;
        frame.complete_births(|kind, token, place| {
            let account = directory.people().account(ClientRow(token))?;
            let saved = self
                .kept
                .get(account)
                .filter(|_| kind == self.newborns.kind)?;
            let mut row = self.newborns.row(tick, token, place);
            for (attribute, saved) in self.attributes.iter().zip(&saved.row) {
                let own = &mut row[attribute.column];
                *own = attribute.of(*saved, mirror).unwrap_or(*own);
            }
            for &(column, (min, max)) in &self.wide {
                let number = joined(words_at(&row, column)).clamp(min, max);
                row[column..column + 2].copy_from_slice(&halves(number));
            }
            for (&column, text) in &saved.texts {
                match texts.give_back(text, tick) {
                    Ok(handle) => row[usize::from(column)] = handle.0,
                    Err(_) => refused += 1,
                }
            }
            Some(row)
        });
        refused + self.bear_things(directory, texts, frame)
    }

    /// The newborns of the last tick without their saved attributes: those of births that waited
    /// since a version which did not complete births.
    pub fn unready(&self, mirror: &Mirror) -> Vec<Slot> {
        let newborn = self.newborn.iter();
        let unready = newborn.filter(|&&entity| self.of(entity, mirror).next().is_some());
        unready.map(|entity| entity.slot).collect()
    }

    /// Sets the saved attributes of newborns by commands. The mirror is that of the last tick.
    pub fn give(&mut self, mirror: &Mirror, frame: &mut Frame) {
        for entity in std::mem::take(&mut self.newborn) {
            for (attribute, own, saved) in self.of(entity, mirror) {
                attribute.give(entity, own, saved, frame);
            }
        }
    }

    /// The attributes that differ between an entity and its account: the attribute, the entity's
    /// value, and the saved one.
    fn of<'a>(
        &'a self,
        entity: EntityId,
        mirror: &'a Mirror,
    ) -> impl Iterator<Item = (&'a PersistentAttribute, i32, i32)> {
        let account = self.accounts.get(&entity);
        let character = account.and_then(|account| self.kept.get(account));
        let row = character.map(|character| &character.row);
        let has = mirror.row(entity.slot);
        let attributes = self.attributes.iter().zip(row.into_iter().flatten());
        let attributes = attributes.filter(|(attribute, _)| attribute.command.is_some());
        attributes.filter_map(move |(attribute, &saved)| {
            let (own, saved) = (has[attribute.column], attribute.of(saved, mirror)?);
            (saved != own).then_some((attribute, own, saved))
        })
    }
}

impl Newborns {
    fn of(config: &WorldConfig) -> Newborns {
        let kind = config.player_kind;
        Newborns {
            kind,
            // Other random numbers than those of the birth's position.
            seed: mix(config.seed, SALT),
            size: config.size_raw()[..config.dimensions()].to_vec(),
            default_row: config.schema.default_row(usize::from(kind)),
            initials: config.initials[usize::from(kind)].clone(),
        }
    }

    /// All columns of a client's newborn, whose position is given or drawn.
    fn row(&self, tick: Tick, client: u32, place: &[i32]) -> Vec<i32> {
        let birth = EntityId::new(client, u32::from(self.kind));
        let mut random = Random::new(self.seed, tick, birth);
        let mut row = self.default_row.clone();
        for (axis, &size) in self.size.iter().enumerate() {
            let drawn = || random.below(size.cast_unsigned()).cast_signed();
            row[axis] = place.get(axis).copied().unwrap_or_else(drawn);
        }
        for initial in &self.initials {
            row[usize::from(initial.column)] = initial.choice.draw(client, &mut random);
        }
        row
    }
}

impl PersistentAttribute {
    /// A newborn's value for a saved one; `None`: the default. A group is one that lives.
    fn of(&self, saved: i32, mirror: &Mirror) -> Option<i32> {
        if self.is_group {
            let group = mirror.referred(EntityRef(saved));
            return group.map(|group| group.reference().0);
        }
        let saved = saved.min(self.max);
        let is_foreign = !self.symbols.is_empty() && !self.symbols.contains(&saved);
        (saved >= self.min && !is_foreign).then_some(saved)
    }

    fn give(&self, entity: EntityId, own: i32, saved: i32, frame: &mut Frame) {
        let Some(command) = self.command else { return };
        if !self.adds {
            return frame.push(entity, 0, command, &[saved]);
        }
        // A difference may exceed the range of an argument.
        let mut left = i64::from(saved) - i64::from(own);
        while left != 0 {
            let step = left.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
            left -= step;
            let word = i32::try_from(step).unwrap_or_default();
            frame.push(entity, 0, command, &[word]);
        }
    }
}

/// The groups to which a character refers.
fn groups<'a>(
    attributes: &'a [PersistentAttribute],
    character: &'a Character,
) -> impl Iterator<Item = EntityRef> + 'a {
    let saved = attributes.iter().zip(&character.row);
    let groups = saved.filter(|(attribute, _)| attribute.is_group);
    let groups = groups.map(|(_, &saved)| EntityRef(saved));
    groups.filter(|group| *group != EntityRef::NONE)
}

const SALT: u64 = 0x6b65_7074;

#[cfg(test)]
mod tests;
