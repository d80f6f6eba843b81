//! A node that plays in a world.

use client_bot::client_core::{
    GameOptions, GivenCommand, LinkState, LossCode, Ranking, Region, RetryOptions, TalkRequest, Update, View,
};
use client_bot::connect::{addresses_of, host_of};
use client_bot::named::{NamedArgument, NamedError, kind_name, raw, reference, referenced, symbol};
use client_bot::{GameClient, Trust};
use godot::classes::{INode, Node, PackedScene};
use godot::prelude::*;
use shared::world::words::TextHandle;
use shared::AttributeType;

use crate::convert::{NO_ENTITY, entity, number, text};
use crate::shown::{Shown, from_space, to_space};

/// Plays in a world of a Myriad server.
///
/// Set the properties, call `join`, and connect to the signals. Every frame the node processes
/// what has arrived before other nodes are processed, and sends commands after them. It leaves
/// the world when it leaves the tree.
///
/// Entities are integers; -1 is none. Numbers are in the world's units: `true` is 1, symbols
/// are their numbers. In three dimensions Godot's y is the world's third axis.
#[derive(GodotClass)]
#[class(init, base = Node)]
pub struct MyriadClient {
    base: Base<Node>,
    /// The server's address, as `127.0.0.1:4433`, `[::1]:4433` or `example.com:4433`.
    #[export]
    server: GString,
    /// The name in the server's certificate, if it is not the host of `server`.
    #[export]
    server_name: GString,
    /// Trust a certificate with this SHA-256 fingerprint: 64 hexadecimal digits, as the server
    /// prints them.
    #[export]
    fingerprint: GString,
    /// Trust certificates signed by an authority in this PEM file.
    #[export]
    authority: GString,
    /// Trust any certificate: only on networks without attackers.
    #[export]
    any_certificate: bool,
    /// The server's token, if it requires one.
    #[export]
    token: GString,
    /// The player's name, if any.
    #[export]
    player_name: GString,
    /// The text of the game's generated bindings, which set it: a server whose world lacks some of
    /// what they name is left, and `lost` has the reason. Empty: the game has none.
    #[var]
    bindings: GString,
    /// To watch without an entity, where the world allows it.
    #[export]
    spectates: bool,
    /// So many attempts in a row fail before the client gives up.
    #[export]
    #[init(val = RetryOptions::default().attempts)]
    attempts: u32,
    /// The scene for an entity in view: each gets an instance as a child of this node, with
    /// the entity as the meta value `entity`. A `Node2D` or `Node3D` is moved with it.
    #[export]
    scene: Option<Gd<PackedScene>>,
    #[init(val = None)]
    game: Option<GameClient>,
    shown: Shown,
    failure: GString,
    /// Why the connection was lost last.
    #[init(val = None)]
    pub(crate) loss: Option<(LossCode, Option<Update>)>,
}

#[godot_api]
impl INode for MyriadClient {
    fn ready(&mut self) {
        self.base_mut().set_process_priority(BEFORE_OTHERS);
    }

    fn process(&mut self, _: f64) {
        let Some(game) = &mut self.game else { return };
        let events = game.poll();
        if let Some(scene) = &self.scene {
            for node in self.shown.follow(game, scene) {
                self.base_mut().add_child(&node);
            }
        }
        for event in events {
            self.emit(event);
        }
        if let Some(game) = &self.game {
            self.shown.free_others(game);
        }
        // Once all nodes are processed.
        self.base_mut().call_deferred("flush", &[]);
    }

    fn exit_tree(&mut self) {
        self.leave();
    }
}

/// Events.
#[godot_api]
impl MyriadClient {
    /// The client is in the world, as a new entity.
    #[signal]
    pub(crate) fn welcomed(entity: i64);
    /// The client is in the world again, as the same entity.
    #[signal]
    pub(crate) fn resumed(entity: i64);
    /// The client's entity had died. The client acts as this one from now on.
    #[signal]
    pub(crate) fn reborn(entity: i64);
    /// An entity is in view from now on, or a thing that the client now sees.
    #[signal]
    pub(crate) fn entered(entity: i64, kind: GString);
    /// An entity or a thing is no longer in view. The client's own one leaves when it dies.
    #[signal]
    pub(crate) fn left(entity: i64);
    /// An attribute of an entity in view has changed, other than its position: of a thing that went to
    /// somebody else, `holder`.
    #[signal]
    pub(crate) fn changed(entity: i64, attribute: GString, old: f64, new: f64);
    /// A change that the client subscribed to: the command that wanted it, and the entity that
    /// gave this.
    #[signal]
    pub(crate) fn noticed(
        entity: i64,
        kind: GString,
        attribute: GString,
        old: f64,
        new: f64,
        command: GString,
        by: i64,
    );
    /// A notification of the world that the client subscribed to, or that came by place.
    #[signal]
    pub(crate) fn notified(name: GString, source: i64, values: PackedFloat64Array);
    /// The client reached its limit of notices in a tick: the rest is left out.
    #[signal]
    pub(crate) fn notices_full();
    /// A player nearby spoke.
    #[signal]
    pub(crate) fn said(entity: i64, name: GString, text: GString);
    #[signal]
    pub(crate) fn whispered(from: GString, text: GString);
    /// A member of a channel spoke there.
    #[signal]
    pub(crate) fn spoken(channel: GString, from: GString, text: GString);
    #[signal]
    pub(crate) fn joined_channel(channel: GString, name: GString);
    #[signal]
    pub(crate) fn left_channel(channel: GString, name: GString);
    /// The members of a channel, see `ask_members`.
    #[signal]
    pub(crate) fn members(channel: GString, names: PackedStringArray);
    /// The operator made an announcement.
    #[signal]
    pub(crate) fn announced(text: GString);
    /// So many of the client's commands had no effect, from this sequence number on.
    #[signal]
    pub(crate) fn refused(first: i64, count: i64, reason: GString);
    /// The reply to a request.
    #[signal]
    pub(crate) fn answered(request: i64, is_granted: bool, reason: GString);
    /// The server had no room to keep the subscription of this id.
    #[signal]
    pub(crate) fn subscription_lost(id: i64);
    /// The world's commands or notifications have changed.
    #[signal]
    pub(crate) fn interface_changed();
    /// The connection could not be opened, or has ended. The client tries again after so many
    /// seconds; negative: it does not.
    #[signal]
    pub(crate) fn lost(reason: GString, retry_seconds: f64);
    /// The server falls silent (`is_good` is false), or sends again. A loss ends any link, and
    /// a welcome begins a good one.
    #[signal]
    pub(crate) fn link_changed(is_good: bool);

    /// Connects to `server` in the next frames, and again whenever the connection is lost. False
    /// if the properties are wrong: `failure` gives the reason. A host name is looked up here,
    /// which may take a while.
    #[func]
    fn join(&mut self) -> bool {
        self.leave();
        self.loss = None;
        let joined = self.connect();
        self.game = self.note(joined);
        self.game.is_some()
    }

    /// Leaves the world for good: the entity is removed. Waits for a second at most until the
    /// server has confirmed.
    #[func]
    fn leave(&mut self) {
        if let Some(game) = self.game.take() {
            game.leave();
        }
    }

    /// Sends what is due. The node does so by itself at the end of each frame.
    #[func]
    fn flush(&mut self) {
        if let Some(game) = &mut self.game {
            game.flush();
        }
    }

    /// Why the last call that failed did.
    #[func]
    fn failure(&self) -> GString {
        self.failure.clone()
    }

    /// Why the connection was lost last, for `lost` and later: `kicked`, `banned`, `full`,
    /// `shutdown`, `outdated`, `unauthorized`, `timed_out` and the rest; empty before any loss.
    #[func]
    fn loss_code(&self) -> GString {
        text(self.loss.as_ref().map_or("", |(code, _)| code.name()))
    }

    /// The same in a few words for players, in English.
    #[func]
    fn loss_words(&self) -> GString {
        text(self.loss.as_ref().map_or("", |(code, _)| code.words()))
    }

    /// The protocol version of a server that refused the client's as `outdated`; -1: not known.
    #[func]
    fn server_version(&self) -> i64 {
        let update = self.update();
        update.map_or(-1, |update| i64::from(update.server_version))
    }

    /// Where players get the game for such a server; empty: not known.
    #[func]
    fn update_url(&self) -> GString {
        let url = self.update().and_then(|update| update.url.as_deref());
        text(url.unwrap_or_default())
    }

    /// Whether the server sends as often as it should; false also outside the world.
    #[func]
    fn is_link_good(&self) -> bool {
        let link = self.game.as_ref().and_then(|game| game.game().link());
        link.is_some_and(|link| link.state == LinkState::Good)
    }

    /// Whether the client is in the world, as far as it knows.
    #[func]
    fn is_playing(&self) -> bool {
        self.game
            .as_ref()
            .is_some_and(|game| game.game().is_playing())
    }

    /// The client's entity; -1 before the first welcome.
    #[func]
    fn own(&self) -> i64 {
        self.view().map_or(NO_ENTITY, |view| number(view.entity()))
    }

    /// All entities in view.
    #[func]
    fn entities(&self) -> PackedInt64Array {
        let seen = self.view().into_iter().flat_map(|v| v.entities().values());
        seen.map(|seen| number(seen.id)).collect()
    }

    /// The things that the client sees: what its entity has, what the one holds that this has opened, and
    /// what others hold for all to see. They have a kind and values, and no place.
    #[func]
    fn things(&self) -> PackedInt64Array {
        let seen = self.view().into_iter().flat_map(|v| v.things().values());
        seen.map(|seen| number(seen.id)).collect()
    }

    /// The things among them that an entity, or a thing, holds itself.
    #[func]
    fn held_by(&self, holder: i64) -> PackedInt64Array {
        let held = self.view().into_iter().flat_map(|v| v.held_by(entity(holder)));
        held.map(|thing| number(thing.id)).collect()
    }

    /// Who holds a thing; -1: nobody whom the client sees.
    #[func]
    fn holder_of(&self, thing: i64) -> i64 {
        let holder = self.view().and_then(|view| {
            let (id, column) = (entity(thing), view.schema().holder_column()?);
            let seen = view.things().get(&id.slot.0).filter(|seen| seen.id == id)?;
            referenced(view, f64::from(*seen.row.get(column)?))
        });
        holder.map_or(NO_ENTITY, number)
    }

    /// Whether this is the client's own entity, or a thing that this holds, also in other things.
    #[func]
    fn is_own(&self, of: i64) -> bool {
        let id = entity(of);
        let seen = self.view().map(|view| (view, view.get(id.slot)));
        seen.is_some_and(|(view, seen)| seen.is_some_and(|seen| seen.id == id && view.is_own(seen)))
    }

    /// Where an entity is shown; null if it is not in view, and for a thing. The client's own one is ahead of the
    /// server, as its commands predict; all others are interpolated.
    #[func]
    fn place(&self, of: i64) -> Variant {
        let place = self
            .game
            .as_ref()
            .and_then(|game| game.position(entity(of)));
        place.map_or_else(Variant::nil, |place| to_space(place).to_variant())
    }

    /// The newest value of an attribute of an entity in view; null if the client may not know it.
    #[func]
    fn value(&mut self, of: i64, attribute: GString) -> Variant {
        let value = self
            .game()
            .and_then(|game| Ok(game.value(entity(of), &attribute.to_string())?));
        let value = self.note(value);
        value.map_or_else(Variant::nil, |value| value.to_variant())
    }

    /// The text of a handle, which `value` and signals have of attributes and values of type text. Empty
    /// for one that has not been received yet: one that a signal is about is there.
    #[func]
    fn text(&self, handle: f64) -> GString {
        let words = self.view().and_then(|view| view.text(TextHandle(handle as i32)));
        text(words.unwrap_or_default())
    }

    /// The name of the player of an entity in view; empty if it has none.
    #[func]
    fn name_of(&self, of: i64) -> GString {
        let name = self.view().and_then(|view| view.name(entity(of)));
        text(name.map_or("", |name| name))
    }

    /// The name of the kind of an entity in view; empty if it is not.
    #[func]
    fn kind_of(&self, of: i64) -> GString {
        let id = entity(of);
        let name = self.view().and_then(|view| {
            let seen = view.get(id.slot).filter(|seen| seen.id == id)?;
            kind_name(view, seen.kind)
        });
        text(name.unwrap_or_default())
    }

    /// The entity that has what the whole world shares: `value` reads its attributes; -1 in a world
    /// that shares nothing.
    #[func]
    fn world(&self) -> i64 {
        let world = self.view().and_then(View::world);
        world.map_or(NO_ENTITY, |world| number(world.id))
    }

    /// The number that stands for an entity in the numbers of a command.
    #[func]
    fn reference(&self, of: i64) -> f64 {
        reference(entity(of))
    }

    /// The entity in view that a value of type entity stands for; -1: none.
    #[func]
    fn referenced(&self, value: f64) -> i64 {
        let found = self.view().and_then(|view| referenced(view, value));
        found.map_or(NO_ENTITY, number)
    }

    /// The number of a symbol, in values and commands; -1 if the world has none of this name.
    #[func]
    fn symbol(&self, name: GString) -> f64 {
        let found = self.view().and_then(|view| symbol(view, &name.to_string()));
        found.unwrap_or(-1.0)
    }

    /// The name of a symbol by its number; empty if the world has none of this number.
    #[func]
    fn symbol_name(&self, number: i64) -> GString {
        let symbols = self.view().map(|view| &view.schema().symbols);
        let place = usize::try_from(number).ok();
        let name = symbols.zip(place).and_then(|(all, place)| all.get(place));
        text(name.map_or("", |name| name))
    }

    /// The instance of `scene` that stands for an entity in view.
    #[func]
    fn node_of(&self, of: i64) -> Option<Gd<Node>> {
        self.shown.node(entity(of))
    }

    /// The tick that the server runs now, for all that is known, with a fraction; negative before
    /// the first welcome.
    #[func]
    fn server_tick(&self) -> f64 {
        let tick = self.game.as_ref().and_then(GameClient::server_tick);
        tick.unwrap_or(-1.0)
    }

    /// To the server and back; negative if that is not known yet.
    #[func]
    fn round_trip_seconds(&self) -> f64 {
        let clock = self.game.as_ref().and_then(|game| game.game().clock());
        let time = clock.and_then(|clock| clock.round_trip());
        time.map_or(-1.0, |time| time.as_secs_f64())
    }

    /// The tick for which input is due, once for each; -1 if none is.
    #[func]
    fn input_due(&self) -> i64 {
        let tick = self.game.as_ref().and_then(GameClient::input_due);
        tick.map_or(-1, |tick| tick.0.cast_signed())
    }

    /// Queues a command by its name. Gives its sequence number, or -1 if it is none of the
    /// world's.
    #[func]
    fn command(&mut self, name: GString, numbers: PackedFloat64Array) -> i64 {
        let sent = self
            .game()
            .and_then(|game| Ok(game.command_named(&name.to_string(), numbers.as_slice())?));
        self.number_of(sent)
    }

    /// The same, with strings for parameters of type text. The server is asked for these first, and the
    /// command goes out once it has granted them: then it gives 0, and `answered` says why if it is
    /// refused.
    #[func]
    fn command_with(&mut self, name: GString, arguments: VarArray) -> i64 {
        let arguments: Vec<Variant> = arguments.iter_shared().collect();
        let texts: Vec<Option<String>> = arguments
            .iter()
            .map(|argument| Some(argument.try_to::<GString>().ok()?.to_string()))
            .collect();
        let numbers = arguments.iter().map(|argument| argument.try_to_relaxed::<f64>());
        let named = texts.iter().zip(numbers).map(|(text, number)| match text {
            Some(text) => NamedArgument::Text(text),
            None => NamedArgument::Number(number.unwrap_or(f64::NAN)),
        });
        let named: Vec<NamedArgument<'_>> = named.collect();
        let sent = self
            .game()
            .and_then(|game| Ok(game.command_named_with(&name.to_string(), &named)?));
        self.number_of(sent.map(|sent| match sent {
            GivenCommand::Queued(number) => number,
            GivenCommand::Waits(_) => 0,
        }))
    }

    /// In how many ticks of input a command can be used again, by the client's knowledge; 0: it
    /// runs if it is given now; -1: the world has no such command.
    #[func]
    fn ready_ticks(&mut self, name: GString) -> i64 {
        let ticks = self
            .game()
            .and_then(|game| Ok(game.ready_ticks_named(&name.to_string())?));
        self.number_of(ticks)
    }

    /// Asks for the first `length` entities of a ranking of the world, and for the place of the
    /// client's own one, from now on, also after another welcome; 0: no longer. False if the world has
    /// no such ranking for clients, or the client is not in it: `failure` gives the reason.
    #[func]
    fn ask_ranking(&mut self, name: GString, length: u32) -> bool {
        let name = name.to_string();
        let asked = self.ask(|game| game.ask_ranking(&name, length));
        let asked = asked.and_then(|is_known| match is_known {
            true => Ok(()),
            false => self.find_ranking(&name).map(|_| ()),
        });
        self.note(asked).is_some()
    }

    /// What came last of a ranking, see `ask_ranking`: `place` is that of the client's own entity, from
    /// 1 on, or 0; `entities`, `values` and `names` of players have the first ones in order, in view or
    /// not. Empty if there is no such ranking: `failure` gives the reason.
    #[func]
    fn ranking(&mut self, name: GString) -> VarDictionary {
        let found = self.find_ranking(&name.to_string()).map(|(view, found)| {
            let first = found.first.iter();
            let entities = first.clone().map(|ranked| number(ranked.entity));
            let values = found.values(view.schema());
            let names = first.map(|ranked| text(ranked.name.as_deref().unwrap_or_default()));
            vdict! {
                "place" => i64::from(found.own.unwrap_or(0)),
                "entities" => &entities.collect::<PackedInt64Array>(),
                "values" => &values.collect::<PackedFloat64Array>(),
                "names" => &names.collect::<PackedStringArray>(),
            }
        });
        self.note(found).unwrap_or_default()
    }

    /// Requests a box of the world in view too, from its low to its high corner. With `follows`, the
    /// corners are relative to that entity; -1: they are not. The number of the request, or -1.
    #[func]
    fn set_region(&mut self, index: u32, low: Vector3, high: Vector3, follows: i64) -> i64 {
        let follows = (follows != NO_ENTITY).then(|| entity(follows));
        let requested = point(low).and_then(|low| {
            let high = point(high)?;
            let region = Region { low, high, follows };
            self.ask(|game| game.set_region(index, Some(region)))
        });
        self.number_of(requested)
    }

    /// Gives a region up. The number of the request, or -1.
    #[func]
    fn clear_region(&mut self, index: u32) -> i64 {
        let requested = self.ask(|game| game.set_region(index, None));
        self.number_of(requested)
    }

    /// Limits the range of sight to this; negative: as far as the world allows. The number of the
    /// request, or -1.
    #[func]
    fn set_sight(&mut self, radius: f64) -> i64 {
        let radius = match radius < 0.0 {
            true => Ok(None),
            false => fixed(radius).map(Some),
        };
        let requested = radius.and_then(|radius| self.ask(|game| game.set_sight(radius)));
        self.number_of(requested)
    }

    /// Moves a spectator's sight. The number of the request, or -1.
    #[func]
    fn watch(&mut self, place: Vector3) -> i64 {
        let requested = point(place).and_then(|place| self.ask(|game| game.watch(place)));
        self.number_of(requested)
    }

    /// Subscribes to changes, or to notifications of the world, by a predicate. The number of the
    /// request, or -1.
    #[func]
    fn subscribe(&mut self, id: u32, predicate: GString) -> i64 {
        let requested = self.ask(|game| game.subscribe(id, &predicate.to_string()));
        let requested =
            requested.and_then(|number| number.map_err(|long| Failure(long.to_string())));
        self.number_of(requested)
    }

    #[func]
    fn unsubscribe(&mut self, id: u32) -> i64 {
        let requested = self.ask(|game| game.unsubscribe(id));
        self.number_of(requested)
    }

    /// Sends text to all players nearby. The number of the request, or -1.
    #[func]
    fn say(&mut self, text: GString) -> i64 {
        let text = text.to_string();
        self.talk(TalkRequest::Say { text })
    }

    /// Sends text to a player.
    #[func]
    fn whisper(&mut self, to: GString, text: GString) -> i64 {
        let (to, text) = (to.to_string(), text.to_string());
        self.talk(TalkRequest::Whisper { to, text })
    }

    /// Becomes a member of a channel.
    #[func]
    fn join_channel(&mut self, channel: GString) -> i64 {
        let channel = channel.to_string();
        self.talk(TalkRequest::Join { channel })
    }

    #[func]
    fn leave_channel(&mut self, channel: GString) -> i64 {
        let channel = channel.to_string();
        self.talk(TalkRequest::Leave { channel })
    }

    /// Sends text to the members of a channel.
    #[func]
    fn speak(&mut self, channel: GString, text: GString) -> i64 {
        let (channel, text) = (channel.to_string(), text.to_string());
        self.talk(TalkRequest::Speak { channel, text })
    }

    /// Requests the members of a channel: `members` has them.
    #[func]
    fn ask_members(&mut self, channel: GString) -> i64 {
        let channel = channel.to_string();
        self.talk(TalkRequest::Members { channel })
    }

    /// Receives no more talk of a player; with an empty name, of players without one.
    #[func]
    fn mute(&mut self, name: GString) -> i64 {
        let name = name.to_string();
        self.talk(TalkRequest::Mute { name })
    }

    /// Receives the talk of a player again.
    #[func]
    fn unmute(&mut self, name: GString) -> i64 {
        let name = name.to_string();
        self.talk(TalkRequest::Unmute { name })
    }
}

impl MyriadClient {
    fn update(&self) -> Option<&Update> {
        self.loss.as_ref()?.1.as_ref()
    }

    pub(crate) fn view(&self) -> Option<&View> {
        self.game.as_ref()?.view()
    }

    fn connect(&self) -> Result<GameClient, Failure> {
        let server = self.server.to_string();
        let name = match self.server_name.is_empty() {
            true => host_of(&server).to_owned(),
            false => self.server_name.to_string(),
        };
        let trust = if !self.fingerprint.is_empty() {
            Trust::with_fingerprint(&self.fingerprint.to_string())?
        } else if !self.authority.is_empty() {
            Trust::Authority(self.authority.to_string().into())
        } else if self.any_certificate {
            Trust::AnyCertificate
        } else {
            let expected = "expected `fingerprint`, `authority` or `any_certificate`";
            return Err(Failure(expected.to_owned()));
        };
        let options = GameOptions {
            token: self.token.to_string(),
            name: self.player_name.to_string(),
            bindings: self.bindings.to_string(),
            spectates: self.spectates,
            retry: RetryOptions {
                attempts: self.attempts.max(1),
                ..RetryOptions::default()
            },
            ..GameOptions::default()
        };
        Ok(GameClient::new(
            addresses_of(&server)?,
            &name,
            &trust,
            options,
        )?)
    }

    fn game(&mut self) -> Result<&mut GameClient, Failure> {
        self.game
            .as_mut()
            .ok_or(Failure::from(NamedError::NotInWorld))
    }

    /// Makes a request that needs a client in the world.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut GameClient) -> Option<T>) -> Result<T, Failure> {
        ask(self.game()?).ok_or(Failure::from(NamedError::NotInWorld))
    }

    /// A ranking for clients of the world, and the view that has it.
    fn find_ranking(&self, name: &str) -> Result<(&View, &Ranking), Failure> {
        let view = self.view().ok_or(NamedError::NotInWorld)?;
        let found = view.ranking(name).ok_or_else(|| {
            let names = view.rankings().iter().map(|own| own.info.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            Failure(format!(
                "expected a ranking for clients, of which the world has [{names}], found {name:?}"
            ))
        })?;
        Ok((view, found))
    }

    fn talk(&mut self, request: TalkRequest) -> i64 {
        let requested = self.ask(|game| game.talk(request));
        self.number_of(requested)
    }

    fn number_of(&mut self, requested: Result<u32, Failure>) -> i64 {
        self.note(requested).map_or(-1, i64::from)
    }

    /// Keeps why something failed.
    fn note<T>(&mut self, result: Result<T, Failure>) -> Option<T> {
        match result {
            Ok(found) => Some(found),
            Err(Failure(reason)) => {
                self.failure = text(&reason);
                None
            }
        }
    }
}

/// A sentence for the game's programmer.
struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

fn fixed(number: f64) -> Result<i32, Failure> {
    raw(AttributeType::Fixed, number).map_err(Failure)
}

fn point(place: Vector3) -> Result<[i32; 3], Failure> {
    let mut point = [0; 3];
    for (raw, number) in point.iter_mut().zip(from_space(place)) {
        *raw = fixed(number)?;
    }
    Ok(point)
}

/// Nodes of a lower priority are processed first; others have 0.
const BEFORE_OTHERS: i32 = -1000;
