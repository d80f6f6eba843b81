//! The members of the groups of the client's entity.

use std::ffi::c_char;

use client_bot::client_core::Member;
use shared::Slot;

use crate::clients::{Client, MyriadClient, with};
use crate::events::MyriadEntity;
use crate::failure::{Failure, MyriadStatus};
use crate::memory::{put, put_text, text};

/// Writes the other members of a group of the client's entity to `members`, by their slots and as many
/// as there is room for, and to `count` how many there are: of the group to which an attribute refers,
/// such as `party`, wherever they are, at most 64.
///
/// # Safety
/// `attribute` is text, `members` points to room for `room` of them, or is null with `room` 0, and
/// `count` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_members(
    client: MyriadClient,
    attribute: *const c_char,
    members: *mut MyriadEntity,
    room: usize,
    count: *mut usize,
) -> MyriadStatus {
    with(client, |client| {
        if members.is_null() && room > 0 {
            let what = format!("expected room for {room} members, found a null pointer");
            return Err(Failure::Argument(what));
        }
        let attribute = unsafe { text(attribute, "an attribute's name") }?;
        let mut found = 0;
        for member in client.view()?.members(attribute) {
            if found < room {
                unsafe { members.add(found).write(member.id.into()) };
            }
            found += 1;
        }
        unsafe { put(count, found, "a count") }
    })
}

/// Writes what the player of a member is called to `buffer`, with a zero byte behind it; nothing but
/// that for one without a name.
///
/// # Safety
/// `buffer` points to room for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_member_name(
    client: MyriadClient,
    member: MyriadEntity,
    buffer: *mut c_char,
    size: usize,
) -> MyriadStatus {
    with(client, |client| {
        let name = find(client, member)?.name.as_deref();
        unsafe { put_text(buffer, size, name.unwrap_or_default()) }
    })
}

/// Writes the newest value of an attribute that a member shares, as `myriad_value` does of an entity in
/// view.
///
/// # Safety
/// `attribute` is text, and `value` points to room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_member_value(
    client: MyriadClient,
    member: MyriadEntity,
    attribute: *const c_char,
    value: *mut f64,
) -> MyriadStatus {
    with(client, |client| {
        let name = unsafe { text(attribute, "an attribute's name") }?;
        let found = client.view()?.shared_by(find(client, member)?, name);
        let found = found.ok_or_else(|| {
            Failure::Unknown(format!(
                "expected an attribute that members share, found `{name}`"
            ))
        })?;
        unsafe { put(value, found.number(), "a number") }
    })
}

fn find(client: &Client, entity: MyriadEntity) -> Result<&Member, Failure> {
    let member = client.view()?.member(Slot(entity.slot));
    let member = member.filter(|member| MyriadEntity::from(member.id) == entity);
    member.ok_or_else(|| {
        let MyriadEntity { slot, generation } = entity;
        Failure::Unknown(format!(
            "{slot}:{generation} is a member of no group of the client's"
        ))
    })
}
