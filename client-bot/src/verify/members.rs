//! Checks of the members of bots' groups: that those who refer to a group have each other, with the
//! values that each has itself.

use client_core::Member;
use rustc_hash::FxHashMap;
use shared::EntityId;
use shared::world::group::MEMBERS_SENT_MAX;

use super::{FinalView, History};

/// Checks that members have what each of them has itself, and that nobody lacks one, once nothing
/// moves.
pub fn check_members(history: &History, views: &[FinalView]) {
    let of = |view: &FinalView| {
        view.entities
            .get(&view.entity.slot.0)
            .map(|own| own.row.clone())
    };
    let settled = views
        .iter()
        .filter(|view| !view.is_dead && is_at_rest(view, view.entity));
    let bots: Vec<(&FinalView, Vec<i32>)> =
        settled.filter_map(|view| Some((view, of(view)?))).collect();
    let by_entity: FxHashMap<EntityId, &(&FinalView, Vec<i32>)> =
        bots.iter().map(|bot| (bot.0.entity, bot)).collect();
    for (view, own) in &bots {
        for member in view
            .members
            .iter()
            .filter(|member| is_at_rest(view, member.id))
        {
            if let Some((other, row)) = by_entity.get(&member.id) {
                check(history, (view.bot, own), (other.bot, row), member);
            }
        }
    }
    let groups = views.iter().flat_map(|view| &view.members);
    let mut groups: Vec<u16> = groups.flat_map(|member| &member.groups).copied().collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        check_all_are_there(history, &bots, group);
    }
}

/// No message has named an entity to a bot for a while.
fn is_at_rest(view: &FinalView, entity: EntityId) -> bool {
    !view.touched.contains(&entity.slot.0)
}

/// What a bot has of a member is what that has itself, and both belong to the same groups.
fn check(
    history: &History,
    (bot, own): (usize, &[i32]),
    (other, row): (usize, &[i32]),
    member: &Member,
) {
    for &group in &member.groups {
        let group = usize::from(group);
        history.findings.check(own[group] == row[group], || {
            let (own, others) = (own[group], row[group]);
            format!("bot {other} is a member of {others:x}, and bot {bot}, to which it is one, of {own:x}")
        });
    }
    for &column in &member.columns {
        let column = usize::from(column);
        history
            .findings
            .check(member.row[column] == row[column], || {
                let (seen, has) = (member.row[column], row[column]);
                format!(
                    "column {column} of bot {other} is {has}, and {seen} to its fellow, bot {bot}"
                )
            });
    }
}

/// All bots of the same group have each other, unless they are too many.
fn check_all_are_there(history: &History, bots: &[(&FinalView, Vec<i32>)], group: u16) {
    let mut members: FxHashMap<i32, Vec<&FinalView>> = FxHashMap::default();
    for (view, row) in bots {
        let reference = row[usize::from(group)];
        if reference != shared::EntityRef::NONE.0 {
            members.entry(reference).or_default().push(view);
        }
    }
    for members in members
        .values()
        .filter(|members| members.len() <= MEMBERS_SENT_MAX)
    {
        for view in members {
            for other in members.iter().filter(|other| other.bot != view.bot) {
                let has =
                    |member: &&Member| member.id == other.entity && member.groups.contains(&group);
                history
                    .findings
                    .check(view.members.iter().any(|member| has(&member)), || {
                        format!("bot {} lacks its fellow, bot {}", view.bot, other.bot)
                    });
            }
        }
    }
}
