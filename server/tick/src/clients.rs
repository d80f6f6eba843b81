//! The clients of a world: everything that the tick keeps of them, besides their entities. Without
//! I/O and without a clock.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use accounts::names::NameRule;
use device::cpu::Workers;
use durability::annotations::Annotations;
use durability::characters::ByAccount;
use durability::characters::character::Character;
use durability::recovered::Recovered;
use durability::roster::RosterChange;
use frontend::inbox::SessionKey;
use frontend::mirror::{Mirror, Newborns};
use frontend::publication::{SessionEvent, ShardLinks};
use gpu_kernels::listen::SubscriptionRegistry;
use gpu_kernels::{Frame, TickOutput};
use platform::metrics::counts::Refusals;
use shared::wire::request::RequestBody;
use shared::wire::talk::Talk as TalkMessage;
use shared::{ClientRow, EntityId, Text, Tick, WorldConfig};
use tracing::warn;

use super::characters::Characters;
use super::directory::{Directory, Presence};
use super::holdings::{Holdings, RequestError};
use super::intake::{Intake, random_numbers};
use super::operator::{self, OperatorRequest};
use super::requests::{Granted, RequestQueue};
use super::talk::Talk;
use super::talk::filter::TalkFilter;
use super::talk::mutes::KeptMutes;
use super::texts::Texts;

/// All clients. Each tick they complete its frame, from [`Clients::receive`] to
/// [`Clients::complete`], and [`Clients::apply`] its output.
pub struct Clients {
    directory: Directory,
    holdings: Holdings,
    talk: Talk,
    /// Saved attributes of accounts; none in worlds without persistent attributes.
    characters: Option<Characters>,
    texts: Texts,
    requests: RequestQueue,
    /// The answers of this tick, by shard.
    answers: Vec<(usize, SessionEvent)>,
    /// Changes since the last [`Clients::save`]; none for a world in memory.
    changes: Option<Vec<RosterChange>>,
}

/// What decides on requests, talk and names.
pub struct Rules {
    /// The subscription registry; none in worlds without subscriptions.
    pub registry: Option<SubscriptionRegistry>,
    /// Judges what players say.
    pub talk_filter: Arc<dyn TalkFilter>,
    /// Which names count as the same one.
    pub names: NameRule,
}

/// The clients of an earlier server.
pub struct SavedClients<'a> {
    pub recovered: &'a Recovered,
    /// Saved attributes of accounts, without those in the roster.
    pub characters: ByAccount,
    /// The mutes of accounts.
    pub mutes: Option<KeptMutes>,
}

/// Talk in a tick, by index in [`Annotations::said`].
pub struct SaidNearby {
    /// Talk to players nearby.
    pub nearby: Vec<Option<Arc<TalkMessage>>>,
    /// Clients that have muted the speaker.
    pub muted: HashSet<(ClientRow, usize)>,
}

impl Clients {
    /// A world without clients.
    pub fn new(config: &WorldConfig, rules: Rules) -> Clients {
        let mut talk = Talk::new(config, rules.talk_filter);
        talk.set_names(rules.names);
        let mut directory = Directory::new(config);
        directory.set_names(rules.names);
        Clients {
            directory,
            holdings: Holdings::new(config, rules.registry),
            talk,
            characters: None,
            texts: Texts::new(config, random_numbers()),
            requests: RequestQueue::new(config),
            answers: vec![],
            changes: None,
        }
    }

    /// The clients of a recovered world, whose sessions have ended. Completes the first frame.
    pub fn restore(
        config: &WorldConfig,
        rules: Rules,
        saved: SavedClients<'_>,
        frame: &mut Frame,
    ) -> Clients {
        let names = rules.names;
        let mut clients = Clients::new(config, rules);
        let Recovered {
            roster,
            snapshot,
            last,
            ..
        } = saved.recovered;
        let left_out = clients.holdings.restore(roster);
        if left_out > 0 {
            warn!(
                left_out,
                "subscriptions that the world's scripts don't allow any more"
            );
        }
        clients.holdings.record_changes();
        clients.directory = Directory::restore(config, roster, snapshot.tick);
        // No client watches the position of a death: all sessions have ended.
        clients.directory.settle(last, |_| [0; 3]);
        clients.characters = Characters::new(config, saved.characters);
        let mut changes = vec![];
        if let Some(characters) = &mut clients.characters {
            // The journal lacks these, if it ended with the births or deaths.
            changes = characters.restore(saved.recovered, &clients.directory);
        }
        clients.changes = Some(changes);
        clients.directory.lose_sessions(snapshot, frame);
        clients.directory.set_names(names);
        clients.talk.restore(roster);
        clients.texts.restore(&roster.texts, snapshot);
        clients.texts.record_changes();
        if let Some(mutes) = saved.mutes {
            clients.talk.keep_mutes(mutes);
        }
        clients
    }

    /// The changes since the last call, for the journal.
    pub fn save(&mut self) -> Vec<RosterChange> {
        self.changes
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The characters among the changes that [`Clients::save`] will return.
    pub fn unsaved_characters(&self) -> impl Iterator<Item = (String, Character)> {
        let changes = self.changes.iter().flatten();
        let characters = changes.filter_map(RosterChange::character);
        characters.map(|(account, character)| (account.clone(), character))
    }

    /// The last mutes are saved once this returns.
    pub fn end(&mut self) {
        self.talk.end_keeping();
    }

    /// The world with other scripts.
    pub fn change_world(&mut self, config: &WorldConfig) {
        self.directory.change_world(config);
        self.talk.change_world(config);
        self.texts.change_world(config);
    }

    /// Takes joins, leaves, requests and commands from the inboxes of the shards, and returns the
    /// shards' refusals.
    pub fn receive(
        &mut self,
        intake: &mut Intake,
        workers: &Workers,
        frame: &mut Frame,
    ) -> Refusals {
        let is_there = |client, ticket| {
            let presence = self.directory.presence(client);
            presence.is_some_and(|presence| presence.ticket == ticket)
        };
        self.texts.forget(frame.tick, is_there);
        let requests = (&mut self.requests, &mut self.texts);
        intake.gather(workers, &mut self.directory, requests, frame)
    }

    /// Executes the operator's requests. `inspect` asks the shards about all connections or some,
    /// and gives the number of shards that will answer.
    pub fn execute(
        &mut self,
        requests: &Receiver<OperatorRequest>,
        frame: &mut Frame,
        inspect: impl Fn(Option<&[SessionKey]>, &Sender<ShardLinks>) -> usize,
    ) {
        let mut characters = self.characters.as_mut();
        operator::take(
            requests,
            &mut self.directory,
            &mut self.talk,
            characters.as_deref_mut(),
            frame,
            inspect,
        );
        if let Some(characters) = characters {
            let forgotten = characters.forget_due(&mut self.directory, frame);
            self.note(forgotten);
        }
    }

    /// Sends a text to all.
    pub fn announce(&mut self, text: Text) {
        self.talk.announce(&self.directory, None, text);
    }

    /// Grants or rejects requests, as many as one tick can afford, and counts the rejected ones. The
    /// mirror is that of the tick before.
    pub fn answer(&mut self, mirror: &Mirror, frame: &mut Frame, refusals: &mut Refusals) {
        let (talk, texts, holdings) = (&mut self.talk, &mut self.texts, &mut self.holdings);
        let mut texts_rejected = 0;
        let grant = |directory: &mut Directory,
                     client,
                     presence: &Presence,
                     body: &RequestBody|
         -> Result<Granted, RequestError> {
            let own = (client, presence.ticket);
            match body {
                RequestBody::Talk(request) => {
                    talk.grant((directory, mirror), client, presence, request, frame)?;
                }
                RequestBody::Text { text } => {
                    let given = talk
                        .judge_attribute(directory, client, presence, text, frame.tick)
                        .map_err(RequestError::from)
                        .and_then(|text| Ok(texts.give(own, &text, frame.tick)?));
                    texts_rejected += u64::from(given.is_err());
                    let given = given?;
                    if let Some(text) = &given.text {
                        talk.note_attribute(client, given.handle, text.clone());
                    }
                    return Ok(Granted::Texts(vec![given]));
                }
                RequestBody::TextsOf { handles } => {
                    return Ok(Granted::Texts(texts.read(own, handles, frame.tick)?));
                }
                RequestBody::SetSight { radius } => directory.set_sight(client, *radius)?,
                RequestBody::Watch { point } => directory.watch(client, *point)?,
                body => holdings.grant(client, presence, body)?,
            }
            Ok(Granted::Plainly)
        };
        let (directory, answers) = (&mut self.directory, &mut self.answers);
        refusals.requests = self.requests.answer(directory, grant, answers);
        refusals.texts_rejected = texts_rejected;
    }

    /// Completes a frame: with observers and regions, with births of clients and the characters of
    /// accounts. `acked_through` is the tick up to which all clients have acknowledged their
    /// streams; the mirror is that of the tick before. Returns how many texts of characters found no
    /// room.
    pub fn complete(&mut self, mirror: &Mirror, acked_through: Tick, frame: &mut Frame) -> u64 {
        self.directory.prepare(frame, acked_through);
        let mut refused = 0;
        if let Some(characters) = &mut self.characters {
            characters.give(mirror, frame);
            refused = characters.complete_births(&self.directory, (mirror, &mut self.texts), frame);
        }
        let mut changed = self.directory.take_changed();
        self.talk.follow(&self.directory, &changed, frame.tick);
        let presence = |client| self.directory.presence(client);
        self.holdings
            .follow(changed.iter().copied(), presence, frame);
        let channels = self.talk.take_changes();
        if let Some(changes) = &mut self.changes {
            changed.sort_unstable();
            changed.dedup();
            let saved = |client| RosterChange::Row(client, self.directory.saved(client));
            changes.extend(changed.into_iter().map(saved));
            changes.extend(self.holdings.take_changes());
            changes.extend(channels);
            changes.extend(self.texts.take_changes());
        }
        refused
    }

    /// What the frame since the last call does not say of clients.
    pub fn take_annotations(&mut self) -> Annotations {
        Annotations {
            people: self.directory.take_admitted(),
            said: self.talk.take_said(),
        }
    }

    /// Brings the mirror and the clients up to date.
    pub fn apply(
        &mut self,
        workers: &Workers,
        output: &TickOutput,
        mirror: &mut Mirror,
    ) -> Newborns {
        let texts = self.texts.before(output, mirror);
        mirror.apply(workers, output);
        self.texts.after_tick(&texts, mirror);
        let mut newborns = Newborns::default();
        self.directory.settle(output, |slot| mirror.position(slot));
        if let Some(characters) = &mut self.characters {
            let saved = characters.settle(output, &self.directory, (mirror, &self.texts));
            newborns.unready = characters.unready(mirror);
            self.note(saved);
        }
        newborns.named.extend(self.directory.take_named());
        mirror.note_newborns(&newborns, &output.deaths);
        newborns
    }

    /// The decisions of the tick about sessions, by shard.
    pub fn take_events(&mut self, shards: usize) -> Vec<Vec<SessionEvent>> {
        let mut events = vec![vec![]; shards];
        let decided = self.directory.events().chain(self.answers.drain(..));
        for (shard, event) in decided.chain(self.talk.events()) {
            events[shard].push(event);
        }
        events
    }

    /// What was said to players nearby since the last call.
    pub fn take_said_nearby(&mut self) -> SaidNearby {
        SaidNearby {
            nearby: self.talk.take_nearby(),
            muted: self.talk.take_muted(),
        }
    }

    fn note(&mut self, new: Vec<RosterChange>) {
        if let Some(changes) = &mut self.changes {
            changes.extend(new);
        }
    }

    /// How many texts the world has, and their bytes.
    pub fn texts(&self) -> (usize, u64) {
        self.texts.size()
    }

    /// How many things of a kind accounts keep, which are not in the world.
    pub fn kept_things(&self, kind: u16) -> usize {
        let characters = self.characters.as_ref();
        characters.map_or(0, |characters| characters.things(kind).count())
    }

    /// The number of clients in the world.
    pub fn live(&self) -> usize {
        self.directory.live()
    }

    /// By shard: the entities of its clients, by client row.
    pub fn players(&self, shards: usize) -> Vec<Vec<EntityId>> {
        let mut players = vec![vec![]; shards];
        for (shard, entity) in self.directory.players() {
            players[shard].push(entity);
        }
        players
    }
}
