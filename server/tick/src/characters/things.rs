//! Births of the things that accounts keep: with their player in its tick, as far as there is room, and
//! otherwise in later ticks.

use std::collections::HashMap;

use durability::characters::character::{KeptThing, THE_PLAYER, kept_attributes};
use gpu_kernels::tick::frame::{POPULATION_TOKEN, kept_client, kept_token};
use gpu_kernels::tick::timed::token_of;
use gpu_kernels::{Frame, TickOutput};
use shared::world::given::KEPT_COMMANDS;
use shared::world::limits::KEPT_BIRTHS_MAX;
use shared::{ClientRow, CommandKind, Content, EntityRef, Tick, WorldConfig};

use super::{Characters, Directory};
use crate::texts::{Texts, TextsError};

/// Clients with an entity whose accounts have more things than found room in the world.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Each with its entity, ascending.
    clients: Vec<(ClientRow, EntityRef)>,
    /// None of their things are born before this tick.
    until: Tick,
    /// How many ticks to wait once there was no room.
    patience: u32,
}

/// The births of things in a frame.
struct Births<'a> {
    world: &'a WorldConfig,
    texts: &'a mut Texts,
    frame: &'a mut Frame,
    /// How many births of players come before them, and how many things there are already.
    before: u32,
    count: u32,
    refused: u64,
}

/// Who is to hold things.
enum Player {
    /// The n-th birth of the frame.
    Newborn(u32),
    Living(EntityRef),
}

impl Waiting {
    /// Notes whether there was room for all in a tick.
    pub fn note(&mut self, output: &TickOutput) {
        let is_refused = output
            .births
            .iter()
            .any(|birth| birth.entity.is_none() && kept_client(birth.token).is_some());
        if is_refused {
            self.until = output.tick.after(self.patience);
        }
    }
}

impl Characters {
    /// Finds the clients whose accounts have things that are not in the world.
    pub(super) fn find_waiting(&mut self, directory: &Directory) {
        if self.world.kept_kinds.is_empty() {
            return;
        }
        let waits = |client| {
            let character = self.kept.get(directory.people().account(client)?)?;
            let entity = directory.presence(client)?.entity?;
            let waits = !character.things.is_empty();
            waits.then_some((client, entity.reference()))
        };
        self.waiting.clients = directory.rows().filter_map(waits).collect();
        self.waiting.patience = self.world.schema.world.tick_hz;
    }

    /// Adds births of things to a frame that has those of players: at most [`KEPT_BIRTHS_MAX`], those of
    /// newborns first. Returns how many texts found no room.
    pub(super) fn bear_things(
        &mut self,
        directory: &Directory,
        texts: &mut Texts,
        frame: &mut Frame,
    ) -> u64 {
        if self.world.kept_kinds.is_empty() {
            return 0;
        }
        let newborn = newborn(&self.world, frame);
        let mut births = Births {
            world: &self.world,
            texts,
            before: u32::try_from(newborn.len()).unwrap_or(u32::MAX),
            frame: &mut *frame,
            count: 0,
            refused: 0,
        };
        let newborn = (0..).zip(newborn);
        let newborn = newborn.filter_map(|(place, client)| Some((client?, Player::Newborn(place))));
        let is_due = self.waiting.until <= births.frame.tick;
        let waiting = self.waiting.clients.iter().filter(|_| is_due);
        let is_there = |(client, entity): &&(ClientRow, EntityRef)| {
            let own = directory.presence(*client).and_then(|own| own.entity);
            own.is_some_and(|own| own.reference() == *entity)
        };
        let waiting = waiting.filter(is_there);
        let waiting = waiting.map(|&(client, entity)| (client, Player::Living(entity)));
        for (client, player) in newborn.chain(waiting) {
            let account = directory.people().account(client);
            if let Some(character) = account.and_then(|account| self.kept.get(account)) {
                births.add(client, &player, &character.things);
            }
        }
        let refused = births.refused;
        if refused > 0 {
            self.waiting.until = frame.tick.after(self.waiting.patience);
        }
        refused
    }
}

/// The clients to which a frame bears players, in the order of the births; `None` of another birth.
fn newborn(world: &WorldConfig, frame: &Frame) -> Vec<Option<ClientRow>> {
    if frame.commands.by_number()[usize::from(CommandKind::SPAWN.id())] == 0 {
        // Most ticks bear nobody, and may have many commands.
        return vec![];
    }
    let births = frame.commands.iter();
    let births = births.filter(|command| {
        // Those of the world come after things.
        command.kind == CommandKind::SPAWN.id() && command.sequence < SEQUENCE
    });
    let client = |words: &[i32]| match *words {
        [kind, token, ..] if kind == i32::from(world.player_kind) => {
            let (token, _) = token_of(token.cast_unsigned());
            (token != POPULATION_TOKEN).then_some(ClientRow(token))
        }
        _ => None,
    };
    let births = births.map(|command| (command.sequence, client(frame.words_of(command))));
    let mut births: Vec<(u32, Option<ClientRow>)> = births.collect();
    births.sort_by_key(|(sequence, _)| *sequence);
    births.into_iter().map(|(_, client)| client).collect()
}

impl Births<'_> {
    /// Adds as many of an account's things as have room, the first ones.
    fn add(&mut self, client: ClientRow, player: &Player, things: &[KeptThing]) {
        // By number of what the account keeps: the place of its birth.
        let mut places = HashMap::new();
        if let Player::Newborn(place) = player {
            places.insert(THE_PLAYER, *place);
        }
        for (number, thing) in (1..).zip(things) {
            if self.count >= KEPT_BIRTHS_MAX {
                return;
            }
            let place = self.before + self.count;
            if self.add_one(client, thing, player, &places).is_err() {
                self.refused += 1;
                return;
            }
            places.insert(number, place);
            self.count += 1;
        }
    }

    fn add_one(
        &mut self,
        client: ClientRow,
        thing: &KeptThing,
        player: &Player,
        places: &HashMap<u32, u32>,
    ) -> Result<(), TextsError> {
        let schema = &self.world.schema;
        let place = self.before + self.count;
        let mut row = schema.default_row(usize::from(thing.kind));
        let mut names = vec![];
        let mut refer = |row: &mut [i32], column: u16, number: Option<u32>| {
            let born = number.and_then(|number| places.get(&number));
            row[usize::from(column)] = match (player, number) {
                (Player::Living(player), Some(THE_PLAYER)) => player.0,
                _ => EntityRef::NONE.0,
            };
            names.extend(born.map(|born| (column, place - born)));
        };
        let holder = schema.holder_column();
        if let Some(holder) = holder.and_then(|holder| u16::try_from(holder).ok()) {
            refer(&mut row, holder, Some(thing.holder));
        }
        for ((attribute, own), &value) in kept_attributes(self.world, thing.kind).zip(&thing.values)
        {
            let column = usize::from(own.column);
            match attribute.ty.content() {
                Content::Entity => refer(&mut row, own.column, u32::try_from(value).ok()),
                Content::Text => {
                    row[column] = match thing.texts.get(&own.column) {
                        Some(text) => self.texts.give_back(text, self.frame.tick)?.0,
                        None => 0,
                    };
                }
                Content::Value => row[column] = value,
            }
        }
        let order = (kept_token(client), SEQUENCE + self.count * KEPT_COMMANDS);
        self.frame.spawn_kept(thing.kind, order, &row, &names);
        Ok(())
    }
}

/// Behind the births of players.
const SEQUENCE: u32 = 3 << 30;
