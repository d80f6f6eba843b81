//! Entities in view, and the connection's quality.

use std::ffi::c_char;
use std::time::Duration;

use client_bot::View;
use client_bot::named::{NamedError, whole};
use shared::world::words::TextHandle;
use shared::{EntityId, EntityRef, Fixed, Slot};

use crate::clients::{Client, MyriadClient, with};
use crate::events::{MyriadEntity, MyriadLink};
use crate::failure::{Failure, MyriadStatus};
use crate::memory::{put, put_text, text};

/// An entity in view as it is shown now.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MyriadShown {
    pub entity: MyriadEntity,
    /// The number of its kind, see `myriad_kind_name`.
    pub kind: u16,
    pub is_own: bool,
    /// In units; 0 on axes that the world lacks. The client's own entity is ahead of the
    /// server, as its commands predict; all others are interpolated.
    pub position: [f64; 3],
}

/// What the world is at a place.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MyriadCell {
    /// Whether the world's layers have come. Before that, and in a world without layers, the others
    /// are false, 0 and -1.
    pub is_known: bool,
    /// Whether a wall is there.
    pub is_blocked: bool,
    pub height: i32,
    /// The symbol of its tag, see `myriad_symbol_name`; -1: none.
    pub tag: i32,
}

/// A plane: a world within the world.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MyriadPlane {
    /// 0 is the world itself.
    pub number: u32,
    /// Which one it is of those that have its name, see `myriad_plane_name`, from 0 on.
    pub copy: u32,
    /// Its low corner, in units: what a place is in the plane is the place less this.
    pub low_x: f64,
    pub low_y: f64,
    pub size_x: f64,
    pub size_y: f64,
}

/// The client and its connection.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MyriadState {
    /// Whether the client is in the world, as far as it knows.
    pub is_playing: bool,
    /// Whether the client has given up connecting.
    pub is_over: bool,
    /// Whether the client's entity is dead, and not born again yet.
    pub is_dead: bool,
    /// The client's entity; none before the first welcome.
    pub entity: MyriadEntity,
    /// The newest tick that was received.
    pub tick: u64,
    /// The tick that the server runs now, for all that is known, with a fraction.
    pub server_tick: f64,
    /// The length of a tick.
    pub tick_seconds: f64,
    /// To the server and back; negative if it is not known yet.
    pub round_trip_seconds: f64,
    pub jitter_seconds: f64,
    /// By how much others are shown later than they were received.
    pub delay_seconds: f64,
    /// The number of the last command that the world has processed.
    pub processed: u32,
    pub in_view: usize,
    /// Predictions of the own entity that the server has answered, and those that it
    /// corrected.
    pub compared: u64,
    pub corrected: u64,
    /// Whether the server is silent, as of the last `myriad_poll`.
    pub link: MyriadLink,
}

/// Writes how the client is to `state`.
///
/// # Safety
/// `state` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_state(
    client: MyriadClient,
    state: *mut MyriadState,
) -> MyriadStatus {
    with(client, |client| unsafe {
        put(state, client.state(), "the client's state")
    })
}

/// Writes the entities in view to `shown`, as many as there is room for, and to `count` how many
/// there are.
///
/// # Safety
/// `shown` points to room for `room` of them, or is null with `room` 0; `count` points to room
/// for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_entities(
    client: MyriadClient,
    shown: *mut MyriadShown,
    room: usize,
    count: *mut usize,
) -> MyriadStatus {
    with(client, |client| {
        if shown.is_null() && room > 0 {
            let what = format!("expected room for {room} entities, found a null pointer");
            return Err(Failure::Argument(what));
        }
        let mut found = 0;
        for entity in client.view()?.entities().values() {
            let Some(position) = client.game.position(entity.id) else {
                continue;
            };
            if found < room {
                let one = MyriadShown {
                    entity: entity.id.into(),
                    kind: entity.kind,
                    is_own: entity.id == client.view()?.entity(),
                    position,
                };
                unsafe { shown.add(found).write(one) };
            }
            found += 1;
        }
        unsafe { put(count, found, "a count") }
    })
}

/// Writes where an entity in view is shown now, in units, to the three numbers of `position`.
///
/// # Safety
/// `position` points to room for three numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_position(
    client: MyriadClient,
    entity: MyriadEntity,
    position: *mut f64,
) -> MyriadStatus {
    with(client, |client| {
        let place = client.game.position(entity.into());
        let place = place.ok_or_else(|| not_in_view(entity))?;
        unsafe { put(position.cast(), place, "three numbers") }
    })
}

/// Writes what the world's layers say of a place, in units, to `cell`. A place outside of the world
/// counts as the nearest inside.
///
/// # Safety
/// `cell` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_cell(
    client: MyriadClient,
    x: f64,
    y: f64,
    cell: *mut MyriadCell,
) -> MyriadStatus {
    with(client, |client| {
        let layers = client.game.layers();
        // A number beyond all worlds becomes the largest, and what is none becomes 0.
        let place = [x, y, 0.0].map(|axis| (axis * f64::from(Fixed::ONE.raw())).floor() as i32);
        let found = MyriadCell {
            is_known: layers.is_some(),
            is_blocked: layers.is_some_and(|layers| layers.is_blocked(place)),
            height: layers
                .and_then(|layers| layers.height_at(place))
                .unwrap_or(0),
            tag: layers.and_then(|layers| layers.tag_at(place)).unwrap_or(-1),
        };
        unsafe { put(cell, found, "a cell") }
    })
}

/// Writes which plane a place is in, in units, to `plane`; between planes, it is one of those beside it.
///
/// # Safety
/// `plane` points to room for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_plane(
    client: MyriadClient,
    x: f64,
    y: f64,
    plane: *mut MyriadPlane,
) -> MyriadStatus {
    with(client, |client| {
        let schema = client.view()?.schema();
        let one = f64::from(Fixed::ONE.raw());
        let place = [x, y].map(|axis| (axis * one).floor() as i32);
        let number = schema.atlas.plane_of(place);
        let mut found = schema.atlas.rectangle(number);
        if schema.atlas.is_empty() {
            let [width, height, _] = schema.world.size_raw();
            found.size = [width, height];
        }
        let units = |raw: i32| f64::from(raw) / one;
        let found = MyriadPlane {
            number,
            copy: schema.atlas.name_of(number).map_or(0, |(_, copy)| copy),
            low_x: units(found.low[0]),
            low_y: units(found.low[1]),
            size_x: units(found.size[0]),
            size_y: units(found.size[1]),
        };
        unsafe { put(plane, found, "a plane") }
    })
}

/// Writes the name of a plane to `buffer`, with a zero byte behind it; nothing but that for the world
/// itself, and for a number that is no plane's.
///
/// # Safety
/// `buffer` points to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_plane_name(
    client: MyriadClient,
    plane: u32,
    buffer: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let atlas = &client.view()?.schema().atlas;
        let name = atlas.name_of(plane).map_or("", |(name, _)| name);
        unsafe { put_text(buffer, size, name) }
    })
}

/// Writes the newest value of an entity's attribute: fixed-point numbers in units, booleans as 0
/// and 1, symbols by their number (see `myriad_symbol_name`), entities by their reference (see
/// `myriad_referenced`).
///
/// # Safety
/// `attribute` is text, and `value` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_value(
    client: MyriadClient,
    entity: MyriadEntity,
    attribute: *const c_char,
    value: *mut f64,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(attribute, "an attribute's name") }?;
        let number = client.game.value(entity.into(), name)?;
        unsafe { put(value, number, "a number") }
    })
}

/// Writes the newest value of an entity's attribute as a whole number, which is exact for all of
/// 64 bits: of fixed-point numbers the raw one, in steps of 1/4096.
///
/// # Safety
/// `attribute` is text, and `value` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_whole(
    client: MyriadClient,
    entity: MyriadEntity,
    attribute: *const c_char,
    value: *mut i64,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(attribute, "an attribute's name") }?;
        let number = whole(client.game.game(), entity.into(), name)?;
        unsafe { put(value, number, "a number") }
    })
}

/// Writes the text of a handle, which `myriad_value` and events have of attributes and values of type
/// text, to `buffer`, with a zero byte behind it; 256 bytes are enough for any. Nothing but that for a
/// text that has not been received yet, or that the world has no more: one that an event is about is
/// there.
///
/// # Safety
/// `buffer` points to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_text(
    client: MyriadClient,
    handle: f64,
    buffer: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let words = client.view()?.text(TextHandle(handle as i32));
        unsafe { put_text(buffer, size, words.unwrap_or_default()) }
    })
}

/// Writes what the player of an entity in view is called to `buffer`, with a zero byte
/// behind it; nothing but that for entities without a player, and players without a name.
///
/// # Safety
/// `buffer` points to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_player_name(
    client: MyriadClient,
    entity: MyriadEntity,
    buffer: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let view = client.view()?;
        let seen = view.get(Slot(entity.slot));
        seen.filter(|seen| MyriadEntity::from(seen.id) == entity)
            .ok_or_else(|| not_in_view(entity))?;
        let name = view.name(entity.into()).map_or("", |name| name);
        unsafe { put_text(buffer, size, name) }
    })
}

/// Writes the entity that has what the whole world shares to `entity`: its attributes are read as
/// those of any. It has no place, and is not among those that are shown. It is no entity in a world
/// that shares nothing, and before the first tick has arrived.
///
/// # Safety
/// `entity` points to room for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_world(
    client: MyriadClient,
    entity: *mut MyriadEntity,
) -> MyriadStatus {
    with(client, |client| {
        let world = client.view()?.world();
        let found = world.map_or(EntityId::NONE, |world| world.id).into();
        unsafe { put(entity, found, "an entity") }
    })
}

/// Writes the name of a kind to `buffer`, with a zero byte behind it.
///
/// # Safety
/// `buffer` points to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_kind_name(
    client: MyriadClient,
    kind: u16,
    buffer: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let kinds = &client.view()?.schema().kinds;
        let form = kinds.get(usize::from(kind)).ok_or_else(|| {
            Failure::Unknown(format!(
                "expected a kind below {}, found {kind}",
                kinds.len()
            ))
        })?;
        unsafe { put_text(buffer, size, &form.name) }
    })
}

/// Writes the name of a symbol to `buffer`, with a zero byte behind it.
///
/// # Safety
/// `buffer` points to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_symbol_name(
    client: MyriadClient,
    symbol: u32,
    buffer: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let symbols = &client.view()?.schema().symbols;
        let name = symbols.get(symbol as usize).ok_or_else(|| {
            let count = symbols.len();
            Failure::Unknown(format!("expected a symbol below {count}, found {symbol}"))
        })?;
        unsafe { put_text(buffer, size, name) }
    })
}

/// Writes the number of a symbol to `symbol`.
///
/// # Safety
/// `name` is text, and `symbol` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_symbol(
    client: MyriadClient,
    name: *const c_char,
    symbol: *mut u32,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(name, "a symbol's name") }?;
        let symbols = &client.view()?.schema().symbols;
        let number = (0u32..).zip(symbols).find(|(_, known)| *known == name);
        let number = number
            .ok_or_else(|| Failure::Unknown(format!("the world has no symbol `{name}`")))?
            .0;
        unsafe { put(symbol, number, "a number") }
    })
}

/// Writes the entity in view that a reference stands for, as attributes and commands have it.
///
/// # Safety
/// `entity` points to room for an entity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_referenced(
    client: MyriadClient,
    reference: f64,
    entity: *mut MyriadEntity,
) -> MyriadStatus {
    with(client, |client| {
        let reference = EntityRef(reference as i32);
        let seen = client.view()?.get(reference.slot());
        let seen = seen.filter(|seen| reference.is_generation(seen.id.generation));
        let id = seen.map(|seen| seen.id).ok_or_else(|| {
            Failure::Unknown(format!(
                "no entity in view has the reference {}",
                reference.0
            ))
        })?;
        unsafe { put(entity, id.into(), "an entity") }
    })
}

/// The reference that stands for an entity in a command's numbers.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_reference(entity: MyriadEntity) -> f64 {
    f64::from(shared::EntityId::from(entity).reference().0)
}

impl Client {
    fn state(&self) -> MyriadState {
        let game = self.game.game();
        let (view, clock) = (game.view(), game.clock());
        let period = clock.map_or(0.0, |clock| clock.period().as_secs_f64());
        let corrections = game.prediction().map(|p| p.corrections());
        let corrections = corrections.unwrap_or_default();
        let round_trip = clock.and_then(|clock| clock.round_trip());
        MyriadState {
            is_playing: game.is_playing(),
            is_over: game.is_over(),
            is_dead: view.is_some_and(View::is_dead),
            entity: view.map_or(shared::EntityId::NONE, View::entity).into(),
            tick: view.map_or(0, |view| view.newest().0),
            server_tick: self.game.server_tick().unwrap_or_default(),
            tick_seconds: period,
            round_trip_seconds: round_trip.as_ref().map_or(-1.0, Duration::as_secs_f64),
            jitter_seconds: clock.map_or(0.0, |clock| clock.jitter().as_secs_f64()),
            delay_seconds: game
                .scene()
                .map_or(0.0, |scene| scene.delay_ticks() * period),
            processed: view.map_or(0, View::processed),
            in_view: view.map_or(0, |view| view.entities().len()),
            compared: corrections.compared,
            corrected: corrections.corrected,
            link: game
                .link()
                .map_or(MyriadLink::None, |link| link.state.into()),
        }
    }
}

fn not_in_view(entity: MyriadEntity) -> Failure {
    NamedError::NotInView(entity.into()).into()
}
