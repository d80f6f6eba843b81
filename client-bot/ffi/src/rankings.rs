//! Rankings of the world.

use std::ffi::c_char;

use client_bot::client_core::Ranking;

use crate::clients::{Client, MyriadClient, with};
use crate::events::MyriadEntity;
use crate::failure::{Failure, MyriadStatus};
use crate::memory::{put, put_text, text};

/// An entity in a ranking.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MyriadRanked {
    /// In view or not.
    pub entity: MyriadEntity,
    /// The attribute that decides, in units.
    pub value: f64,
}

/// Asks for the first `length` entities of a ranking of the world, and for the place of the client's
/// own one, from now on, also after another welcome; 0: no longer.
///
/// # Safety
/// `ranking` is text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_ask_ranking(
    client: MyriadClient,
    ranking: *const c_char,
    length: u32,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(ranking, "a ranking's name") }?;
        let is_known = client.game.ask_ranking(name, length);
        match is_known.ok_or(Failure::NotInWorld)? {
            true => Ok(()),
            false => find(client, name).map(|_| ()),
        }
    })
}

/// Writes the place of the client's own entity in a ranking to `place`, from 1 on; 0: it has none, or
/// nothing has come yet. Writes the first entities in order to `shown`, as many as there is room for,
/// and to `count` how many there are.
///
/// # Safety
/// `ranking` is text, `place` and `count` point to room for a number, and `shown` to room for `room`
/// entities, or is null with `room` 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_ranking(
    client: MyriadClient,
    ranking: *const c_char,
    place: *mut u32,
    shown: *mut MyriadRanked,
    room: usize,
    count: *mut usize,
) -> MyriadStatus {
    with(client, |client| {
        if shown.is_null() && room > 0 {
            let what = format!("expected room for {room} entities, found a null pointer");
            return Err(Failure::Argument(what));
        }
        let found = find(client, unsafe { text(ranking, "a ranking's name") }?)?;
        let values = found.values(client.view()?.schema());
        for (at, (ranked, value)) in found.first.iter().zip(values).take(room).enumerate() {
            let one = MyriadRanked {
                entity: ranked.entity.into(),
                value,
            };
            unsafe { shown.add(at).write(one) };
        }
        unsafe {
            put(place, found.own.unwrap_or(0), "a place")?;
            put(count, found.first.len(), "a count")
        }
    })
}

/// Writes what the player of the entity at a place of a ranking, from 1 on, is called to `buffer`, with
/// a zero byte behind it; nothing but that for entities without a player, players without a name, and
/// places that are not among the first.
///
/// # Safety
/// `ranking` is text, and `buffer` points to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_ranked_name(
    client: MyriadClient,
    ranking: *const c_char,
    place: u32,
    buffer: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let found = find(client, unsafe { text(ranking, "a ranking's name") }?)?;
        let at = (place as usize).checked_sub(1);
        let ranked = at.and_then(|at| found.first.get(at));
        let name = ranked.and_then(|ranked| ranked.name.as_deref());
        unsafe { put_text(buffer, size, name.unwrap_or_default()) }
    })
}

fn find<'c>(client: &'c Client, name: &str) -> Result<&'c Ranking, Failure> {
    let view = client.view()?;
    view.ranking(name).ok_or_else(|| {
        let names = view.rankings().iter().map(|own| own.info.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        Failure::Unknown(format!(
            "expected a ranking for clients, of which the world has [{names}], found {name:?}"
        ))
    })
}
