//! Regions, subscriptions, sight. The server answers each request with an event.

use std::ffi::c_char;

use client_bot::client_core::Region;
use client_bot::named::raw;
use shared::{AttributeType, EntityId};

use crate::clients::{MyriadClient, with};
use crate::events::MyriadEntity;
use crate::failure::{Failure, MyriadStatus};
use crate::memory::{list, put_if_asked, text};

/// Sees a box as well, in units, from `low` up to `high`: one number an axis each. The box goes
/// with the entity `follows`, and is then relative to it; null: it is fixed. `index` counts from
/// 0; a later call with the same one moves the region. `low` null: the region goes.
///
/// # Safety
/// `low` and `high` are null or point to three numbers, `follows` is null or points to an
/// entity, and `request` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_set_region(
    client: MyriadClient,
    index: u32,
    low: *const f64,
    high: *const f64,
    follows: *const MyriadEntity,
    request: *mut u32,
) -> MyriadStatus {
    with(client, |client| {
        let region = match low.is_null() {
            true => None,
            false => Some(Region {
                low: unsafe { point(low) }?,
                high: unsafe { point(high) }?,
                follows: unsafe { follows.as_ref() }.map(|entity| EntityId::from(*entity)),
            }),
        };
        let number = client.game.set_region(index, region);
        unsafe { put_if_asked(request, number.ok_or(Failure::NotInWorld)?) };
        Ok(())
    })
}

/// Sees no farther than `radius` units; negative: as far as the world lets it.
///
/// # Safety
/// `request` is null, or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_set_sight(
    client: MyriadClient,
    radius: f64,
    request: *mut u32,
) -> MyriadStatus {
    with(client, |client| {
        let radius = match radius < 0.0 {
            true => None,
            false => Some(fixed(radius)?),
        };
        let number = client.game.set_sight(radius);
        unsafe { put_if_asked(request, number.ok_or(Failure::NotInWorld)?) };
        Ok(())
    })
}

/// A spectator watches this point, in units: three numbers.
///
/// # Safety
/// `place` points to three numbers, and `request` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_watch(
    client: MyriadClient,
    place: *const f64,
    request: *mut u32,
) -> MyriadStatus {
    with(client, |client| {
        let number = client.game.watch(unsafe { point(place) }?);
        unsafe { put_if_asked(request, number.ok_or(Failure::NotInWorld)?) };
        Ok(())
    })
}

/// Subscribes to notices by a predicate, such as `attribute == "hp" && new < 20`. `id` is
/// the caller's own number for the subscription.
///
/// # Safety
/// `predicate` is text, and `request` is null or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_subscribe(
    client: MyriadClient,
    id: u32,
    predicate: *const c_char,
    request: *mut u32,
) -> MyriadStatus {
    with(client, |client| {
        let predicate = unsafe { text(predicate, "a predicate") }?;
        let number = client.game.subscribe(id, predicate);
        let number = number.ok_or(Failure::NotInWorld)?;
        let number = number.map_err(|long| Failure::Argument(long.to_string()))?;
        unsafe { put_if_asked(request, number) };
        Ok(())
    })
}

/// Ends a subscription.
///
/// # Safety
/// `request` is null, or points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_unsubscribe(
    client: MyriadClient,
    id: u32,
    request: *mut u32,
) -> MyriadStatus {
    with(client, |client| {
        let number = client.game.unsubscribe(id);
        unsafe { put_if_asked(request, number.ok_or(Failure::NotInWorld)?) };
        Ok(())
    })
}

/// # Safety
/// `numbers` is null, or points to three numbers.
unsafe fn point(numbers: *const f64) -> Result<[i32; 3], Failure> {
    let mut point = [0; 3];
    for (raw, &number) in point
        .iter_mut()
        .zip(unsafe { list(numbers, 3, "numbers") }?)
    {
        *raw = fixed(number)?;
    }
    Ok(point)
}

fn fixed(number: f64) -> Result<i32, Failure> {
    raw(AttributeType::Fixed, number).map_err(Failure::Argument)
}
