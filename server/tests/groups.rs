//! Members of a group see what the others share, wherever they are: at a server and at a gateway, again
//! after they come back, and where datagrams are lost. They talk by their group's channel.

use std::sync::Arc;

use client_bot::BehaviourKind;
use server::host::DataOptions;
use shared::wire::stream::Message;
use shared::wire::talk::{Talk, TalkRequest};
use shared::{EntityId, Name};

use crate::common::folder::TestFolder;
use crate::common::gateways::{Host, stop};
use crate::common::names::{ByName, join_named, named};
use crate::common::{
    Bots, Player, go, leave, listen_for, losing, scratch, start, start_with, ticks, until,
};

const SCRIPT: &str = "
#[command(clients)]
fn gather(me: Entity) {
    let party = spawn(Party { size: 0 });
    after(1, enter(me, party));
}

#[command(atomic)]
fn enter(me: Entity, party: Entity) { party.size += 1; me.party = party; }

#[command(clients)]
fn invite(me: Entity, who: Entity) { who.party = me.party; }

#[command(clients)]
fn draft(me: Entity) { for other in all(\"player\") { other.party = me.party; } }

#[command(clients)]
fn kick(me: Entity, who: Entity) { if who.party == me.party { who.party = none; } }

#[command(clients)]
fn disband(me: Entity) { despawn(me.party); }

#[command(clients)]
fn break_up(me: Entity) { despawn(me.guild); }

#[command(clients)]
fn swear(me: Entity, who: Entity) { me.guild = who.party; who.guild = who.party; }

#[on(join)]
fn greet(me: Entity) { if me.guild.kind == \"party\" { me.hp -= 1; } }

#[command(clients)]
fn hurt(me: Entity, damage: i32) { me.hp -= damage; me.secret += 1; }
";

fn world(name: &str) -> String {
    let folder = scratch(&format!("groups-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("all.rs"), SCRIPT).unwrap();
    format!(
        "
        [world]
        size = [1000, 1000]
        aoi = 20
        capacity = 1000
        tick_hz = 20

        [limits]
        clients = 90
        resume_seconds = 30
        timed_commands = 1000
        atomic_per_tick = 100

        [logic]
        folder = {folder:?}
        builtin = ['move']

        [commands]
        move = {{ speed_max = 1000 }}

        [[kind]]
        name = 'player'
        attributes = [
            {{ name = 'party', type = 'entity', group = true, audience = 'private' }},
            {{ name = 'guild', type = 'entity', group = true, audience = 'private', persist = true }},
            {{ name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state', shared_with = ['party'] }},
            {{ name = 'oath', type = 'i64', default = 5000000000, audience = 'private', shared_with = ['guild'] }},
            {{ name = 'secret', type = 'i32', audience = 'private' }},
        ]

        [[kind]]
        name = 'party'
        place = 'none'
        shown = 'none'
        attributes = [{{ name = 'size', type = 'i32', merge = 'last', audience = 'state' }}]
        "
    )
}

fn give(player: &mut Player, command: &str, words: &[i32]) {
    let command = player.client.view().schema().command_named(command);
    let command = command.expect("a command").kind;
    player.send(command, words);
}

/// The other members of a player's group, with a value that they share.
fn members(player: &Player, group: &str, attribute: &str) -> Vec<(EntityId, f64)> {
    let view = player.client.view();
    let members = view.members(group);
    let value = |member| {
        view.shared_by(member, attribute)
            .map(|value| value.number())
    };
    let members = members.map(|member| (member.id, value(member).unwrap_or(-1.0)));
    members.collect()
}

fn names(player: &Player) -> Vec<String> {
    let members = player.client.view().members("party");
    let names = members.filter_map(|member| member.name.as_ref());
    names.map(ToString::to_string).collect()
}

fn speak(channel: &str, text: &str) -> TalkRequest {
    let (channel, text) = (channel.to_owned(), text.to_owned());
    TalkRequest::Speak { channel, text }
}

/// Who has spoken in which channel, to a player, and what.
fn spoken(player: &Player) -> Vec<(String, String, String)> {
    let messages = player.log.messages.iter();
    let spoken = messages.filter_map(|(_, message)| match message {
        Message::Talk(Talk::Spoken {
            channel,
            from,
            text,
        }) => Some((channel.to_string(), from.to_string(), text.to_string())),
        _ => None,
    });
    spoken.collect()
}

/// Puts a player far from all others, each at its own place.
async fn part(player: &mut Player, x: f64) {
    go(player, x, 500.0).await;
}

/// Lets the second player into the first one's new party.
async fn gather(ann: &mut Player, bob: &mut Player) {
    let who = bob.entity().reference().0;
    give(ann, "gather", &[]);
    until(&mut [ann, bob], "there is a party", |p| {
        p[0].value(p[0].entity(), "party") != -1
    })
    .await;
    give(ann, "invite", &[who]);
    until(&mut [ann, bob], "they are members", |p| {
        p.iter()
            .all(|p| p.client.view().members("party").count() == 1)
    })
    .await;
}

#[tokio::test]
async fn members_see_what_they_share_out_of_sight_until_one_is_kicked() {
    let host = Host::start(&world("seen"), "groups", |_| ());
    let gateway = host.gateway().await;
    let mut ann = host.join(gateway.address(), &named("Ann")).await;
    let mut bob = host.join(host.server.address(), &named("Bob")).await;
    part(&mut ann, 100.0).await;
    part(&mut bob, 900.0).await;
    let own = [ann.entity(), bob.entity()];
    gather(&mut ann, &mut bob).await;
    assert!(!ann.sees(own[1]) && !bob.sees(own[0]));
    assert_eq!(members(&ann, "party", "hp"), [(own[1], 100.0)]);
    assert_eq!(members(&bob, "party", "hp"), [(own[0], 100.0)]);
    assert_eq!([names(&ann), names(&bob)], [["Bob"], ["Ann"]]);
    assert_eq!(
        members(&ann, "party", "secret"),
        [(own[1], -1.0)],
        "it is not shared"
    );
    assert!(members(&ann, "guild", "hp").is_empty());

    give(&mut bob, "hurt", &[30]);
    until(&mut [&mut ann, &mut bob], "its wounds are seen", |p| {
        members(p[0], "party", "hp") == [(own[1], 70.0)]
    })
    .await;
    give(&mut bob, "swear", &[own[0].reference().0]);
    until(&mut [&mut ann, &mut bob], "they have a guild, too", |p| {
        members(p[0], "guild", "oath") == [(own[1], 5e9)]
            && members(p[1], "guild", "oath") == [(own[0], 5e9)]
    })
    .await;

    give(&mut ann, "kick", &[own[1].reference().0]);
    until(&mut [&mut ann, &mut bob], "one is kicked", |p| {
        p.iter().all(|p| members(p, "party", "hp").is_empty())
    })
    .await;
    assert_eq!(
        members(&ann, "guild", "hp"),
        [(own[1], -1.0)],
        "what the party shared is gone"
    );
    give(&mut bob, "hurt", &[1]);
    // Groups that end have no members.
    give(&mut ann, "disband", &[]);
    until(&mut [&mut ann, &mut bob], "the guild has ended", |p| {
        p.iter().all(|p| p.client.view().all_members().count() == 0)
    })
    .await;
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_member_in_view_is_seen_and_a_member_by_itself() {
    let server = start(&world("view"));
    let mut ann = join_named(&server, "Ann").await;
    let mut bob = join_named(&server, "Bob").await;
    part(&mut ann, 100.0).await;
    part(&mut bob, 105.0).await;
    let other = bob.entity();
    gather(&mut ann, &mut bob).await;
    until(&mut [&mut ann, &mut bob], "it is in view", |p| {
        p[0].sees(other)
    })
    .await;
    part(&mut bob, 900.0).await;
    until(&mut [&mut ann, &mut bob], "it is out of sight", |p| {
        !p[0].sees(other)
    })
    .await;
    assert_eq!(members(&ann, "party", "hp"), [(other, 100.0)]);
    part(&mut bob, 105.0).await;
    give(&mut bob, "hurt", &[1]);
    until(&mut [&mut ann, &mut bob], "it is in view again", |p| {
        p[0].sees(other) && p[0].value(other, "hp") == 99
    })
    .await;
    give(&mut ann, "kick", &[other.reference().0]);
    until(&mut [&mut ann, &mut bob], "it is no member", |p| {
        members(p[0], "party", "hp").is_empty()
    })
    .await;
    assert!(ann.sees(other), "but in view");
    server.stop().unwrap();
}

#[tokio::test]
async fn members_are_there_again_when_a_client_comes_back_and_one_that_leaves_is_gone() {
    let host = Host::start(&world("again"), "groups-again", |_| ());
    let gateway = host.gateway().await;
    let mut ann = host.join(gateway.address(), &named("Ann")).await;
    let mut bob = host.join(host.server.address(), &named("Bob")).await;
    part(&mut ann, 100.0).await;
    part(&mut bob, 900.0).await;
    let own = [ann.entity(), bob.entity()];
    gather(&mut ann, &mut bob).await;
    let mut again = Player::resume(&host.server, ann.client.ticket()).await;
    assert!(again.client.is_resumed());
    until(&mut [&mut again, &mut bob], "the party is there", |p| {
        members(p[0], "party", "hp") == [(own[1], 100.0)] && names(p[0]) == ["Bob"]
    })
    .await;
    drop(ann);
    leave(&host.server, bob).await;
    until(&mut [&mut again], "the other one has left", |p| {
        members(p[0], "party", "hp").is_empty()
    })
    .await;
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_client_is_sent_the_first_64_members_of_its_group() {
    // Those without a client are members, too.
    let many = world("many").replace("name = 'player'", "name = 'player'\npopulation = 69");
    let server = start(&many);
    let mut ann = join_named(&server, "Ann").await;
    let own = ann.entity();
    give(&mut ann, "gather", &[]);
    until(&mut [&mut ann], "there is a party", |p| {
        p[0].value(own, "party") != -1
    })
    .await;
    give(&mut ann, "draft", &[]);
    // The population is in the first slots.
    let first: Vec<(EntityId, f64)> = (0..64)
        .map(|slot| (EntityId::new(slot, 1), 100.0))
        .collect();
    until(&mut [&mut ann], "they are members", |p| {
        members(p[0], "party", "hp") == first
    })
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn a_group_has_a_channel_for_its_members_alone() {
    let host = Host::start(&world("talk"), "groups-talk", |_| ());
    let gateway = host.gateway().await;
    let mut ann = host.join(gateway.address(), &named("Ann")).await;
    let mut bob = host.join(host.server.address(), &named("Bob")).await;
    let mut cid = host.join(host.server.address(), &named("Cid")).await;
    let asked = ann.client.talk(speak("@party", "hello"));
    let refused = ann.answer(asked).await.unwrap_err();
    assert!(refused.contains("no group @party"), "{refused}");
    gather(&mut ann, &mut bob).await;
    let asked = ann.client.talk(speak("@party", "over here"));
    ann.answer(asked).await.unwrap();
    let said = ("@party", "Ann", "over here");
    let said = [(said.0.to_owned(), said.1.to_owned(), said.2.to_owned())];
    until(&mut [&mut ann, &mut bob, &mut cid], "both hear it", |p| {
        spoken(p[0]) == said && spoken(p[1]) == said
    })
    .await;
    let asked = cid.client.talk(speak("@party", "me too"));
    assert!(cid.answer(asked).await.is_err());
    let asked = cid.client.talk(TalkRequest::Join {
        channel: "@party".to_owned(),
    });
    let refused = cid.answer(asked).await.unwrap_err();
    assert!(refused.contains("nobody joins"), "{refused}");
    let asked = bob.client.talk(TalkRequest::Members {
        channel: "@party".to_owned(),
    });
    bob.answer(asked).await.unwrap();
    until(&mut [&mut ann, &mut bob, &mut cid], "all are named", |p| {
        let named = p[1].log.messages.iter().any(|(_, message)| {
            let both = ["Ann", "Bob"].map(|name| Name::new(name).unwrap());
            matches!(message, Message::Talk(Talk::Members { names, .. }) if *names == both)
        });
        named && spoken(p[2]).is_empty()
    })
    .await;
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn an_account_comes_back_to_its_group_as_long_as_that_lives() {
    let folder = TestFolder::absent("groups-kept");
    let start = || {
        start_with(&world("kept"), |options| {
            options.authenticator = Arc::new(ByName);
            options.data = Some(DataOptions {
                checkpoint_seconds: 1000,
                ..DataOptions::new(&*folder)
            });
        })
    };
    let server = start();
    let mut ann = join_named(&server, "ann").await;
    let mut bob = join_named(&server, "bob").await;
    gather(&mut ann, &mut bob).await;
    give(&mut bob, "swear", &[ann.entity().reference().0]);
    let guild = |player: &Player| player.value(player.entity(), "guild");
    until(&mut [&mut ann, &mut bob], "they have a guild", |p| {
        p.iter().all(|p| guild(p) != -1)
    })
    .await;
    let owls = guild(&bob);
    leave(&server, bob).await;
    until(&mut [&mut ann], "one has left", |p| {
        p[0].client.view().all_members().count() == 0
    })
    .await;
    leave(&server, ann).await;
    server.stop().unwrap();

    // The guild is an entity of the world, which goes on.
    let server = start();
    let mut bob = join_named(&server, "bob").await;
    let mut ann = join_named(&server, "ann").await;
    let own = [ann.entity(), bob.entity()];
    until(&mut [&mut ann, &mut bob], "they are in their guild", |p| {
        p.iter()
            .all(|p| guild(p) == owls && p.value(p.entity(), "hp") == 99)
            && members(p[0], "guild", "oath") == [(own[1], 5e9)]
    })
    .await;
    leave(&server, bob).await;
    give(&mut ann, "break_up", &[]);
    until(&mut [&mut ann], "it has ended", |p| guild(p[0]) == -1).await;
    let mut bob = join_named(&server, "bob").await;
    listen_for(&server, &mut [&mut ann, &mut bob], 4).await;
    assert_eq!((guild(&bob), bob.value(bob.entity(), "hp")), (-1, 100));
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_that_lose_a_tenth_have_the_right_members() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/guild.toml");
    let server = start_with("[world]\ncapacity = 1", |options| {
        options.world = world_file::load(&file).unwrap();
    });
    let bots = Bots::start_with(&server, 24, BehaviourKind::Any, |options| {
        options.network = losing(0.10);
        options.seed = 7;
    })
    .await;
    ticks(&server, 80).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
