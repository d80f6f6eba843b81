//! A standby that takes over has the characters of its primary's accounts, away or not.

use std::process::Command;
use std::sync::Arc;

use script::builtin;
use server::host::following::Standby;
use server::{Server, ServerOptions};

use crate::common::names::{ByName, join_named};
use crate::common::pair::{Pair, complete, has_all};
use crate::common::{Player, eventually, leave, listen_for, myriad_binary, text, ticks, until};

/// Accounts keep their hit points.
const WORLD: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 16
    resume_seconds = 0

    [commands]
    strike = { reach = 1000, damage = 5 }

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, persist = true, audience = 'state' },
    ]
";

fn by_name(options: &mut ServerOptions) {
    options.authenticator = Arc::new(ByName);
}

/// An account comes, is struck so many times, and leaves.
async fn leave_wounded(server: &Server, account: &str, strikes: i32) {
    let mut striker = Player::join(server).await;
    let mut player = join_named(server, account).await;
    // Its character may be given first.
    listen_for(server, &mut [&mut striker, &mut player], 4).await;
    for _ in 0..strikes {
        strike(&mut striker, &mut player).await;
    }
    leave(server, player).await;
    leave(server, striker).await;
}

async fn strike(striker: &mut Player, player: &mut Player) {
    let target = player.entity();
    until(&mut [striker], "they see each other", |p| p[0].sees(target)).await;
    let hp = player.value(target, "hp");
    striker.send(builtin::STRIKE, &[target.reference().0]);
    until(&mut [striker, player], "the blow is seen", |p| {
        p[1].value(target, "hp") == hp - 5
    })
    .await;
}

async fn have(server: &Server, expected: &[(&str, i32)]) {
    for &(account, hp) in expected {
        let mut player = join_named(server, account).await;
        let entity = player.entity();
        until(&mut [&mut player], account, |p| {
            p[0].value(entity, "hp") == hp
        })
        .await;
        leave(server, player).await;
    }
}

#[tokio::test]
async fn accounts_have_their_characters_at_the_promoted_standby() {
    let pair = Pair::new(WORLD, "characters");
    let primary = pair.primary(by_name);
    leave_wounded(&primary, "bob", 1).await;
    // By now only the primary's file has it, and no record that the standby gets.
    ticks(&primary, 50).await;
    let standby = pair.standby_with(&primary, by_name);
    complete(&standby).await;
    leave_wounded(&primary, "carl", 2).await;
    // The standby writes checkpoints of its own, and begins with one of them.
    ticks(&primary, 50).await;
    drop(standby);
    leave_wounded(&primary, "bob", 3).await;
    let standby = pair.standby_with(&primary, by_name);
    complete(&standby).await;
    leave_wounded(&primary, "dora", 4).await;
    has_all(&primary).await;
    // The primary says nothing more.
    let promoted = pair.promote(standby);
    drop(primary);
    let expected = [("bob", 80), ("carl", 90), ("dora", 80), ("eve", 100)];
    have(&promoted, &expected).await;
    // The next one gets all of it, too, in the folder of the first server.
    let back = Standby::start(pair.options("primary", by_name), pair.follow(&promoted)).unwrap();
    complete(&back).await;
    leave_wounded(&promoted, "carl", 1).await;
    has_all(&promoted).await;
    drop(promoted);
    let again = back.promote().expect("back again");
    have(&again, &[("bob", 80), ("carl", 85), ("dora", 80)]).await;
    again.stop().unwrap();
}

#[tokio::test]
async fn who_leaves_in_the_last_tick_that_the_standby_has_keeps_what_it_had() {
    let pair = Pair::new(WORLD, "characters-last");
    let primary = pair.primary(by_name);
    let standby = pair.standby_with(&primary, by_name);
    complete(&standby).await;
    let mut striker = Player::join(&primary).await;
    let mut players = vec![];
    for number in 0..8 {
        players.push(join_named(&primary, &format!("player-{number}")).await);
    }
    for player in &mut players {
        strike(&mut striker, player).await;
    }
    // Some die before the promotion, some after it: all keep their characters.
    let leaving = tokio::spawn(async move {
        for player in players {
            drop(player);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    tokio::time::sleep(std::time::Duration::from_millis(90)).await;
    let promoted = standby.promote().expect("a promotion");
    leaving.await.unwrap();
    drop(primary);
    // Entities that the world still has go with the first tick, since no client may resume here.
    ticks(&promoted, 5).await;
    let all: Vec<String> = (0..8).map(|number| format!("player-{number}")).collect();
    let expected: Vec<(&str, i32)> = all.iter().map(|name| (name.as_str(), 95)).collect();
    have(&promoted, &expected).await;
    promoted.stop().unwrap();
}

#[tokio::test]
async fn what_an_operator_changes_reaches_the_standby() {
    let pair = Pair::new(WORLD, "characters-changed");
    let primary = pair.primary(by_name);
    let standby = pair.standby_with(&primary, by_name);
    complete(&standby).await;
    leave_wounded(&primary, "bob", 1).await;
    has_all(&primary).await;
    primary.stop().unwrap();
    drop(standby);
    let set = |folder: &str| {
        let mut command = Command::new(myriad_binary());
        let folder = pair.folder.join(folder);
        let command = command.args(["characters", "set"]).arg(folder);
        text(&command.args(["bob", "hp=40"]).output().unwrap())
    };
    assert_eq!(set("primary"), "{\"hp\":40}\n");
    // A copy is not where to change it.
    assert!(
        set("standby").contains("is a standby's"),
        "{}",
        set("standby")
    );
    let primary = pair.primary(by_name);
    let standby = pair.standby_with(&primary, by_name);
    complete(&standby).await;
    drop(primary);
    let promoted = standby.promote().expect("a promotion");
    have(&promoted, &[("bob", 40)]).await;
    promoted.stop().unwrap();
}

#[cfg(feature = "postgres")]
mod in_a_database {
    use durability::characters::CharacterStore;

    use super::*;
    use crate::common::folder::refusal;
    use crate::common::postgres::Postgres;

    /// The same with characters in a database.
    fn in_database(place: &str) -> impl Fn(&mut ServerOptions) {
        move |options| {
            by_name(options);
            let data = options.data.as_mut().unwrap();
            data.characters = Some(place.parse().unwrap());
        }
    }

    #[tokio::test]
    async fn a_promoted_standby_takes_the_database_over() {
        let Some(postgres) = Postgres::start("standby") else {
            return;
        };
        let place = postgres.place_of("glade");
        let pair = Pair::new(WORLD, "characters-database");
        let primary = pair.primary(in_database(&place));
        leave_wounded(&primary, "bob", 1).await;
        ticks(&primary, 50).await;
        let standby = pair.standby_with(&primary, in_database(&place));
        complete(&standby).await;
        leave_wounded(&primary, "carl", 2).await;
        has_all(&primary).await;
        // Later changes of the database, or missing ones, do not matter.
        postgres.sql("DELETE FROM myriad_characters WHERE account = 'carl'");
        let row = "SELECT string_agg(account || ' ' || (character->>'hp'), ', ' ORDER BY account) \
                   FROM myriad_characters";
        let promoted = pair.promote(standby);
        have(&promoted, &[("bob", 95), ("carl", 90)]).await;
        // The primary is notified, by the link or by the database, and writes nothing any more.
        eventually("the old primary stops", || !primary.is_running()).await;
        drop(primary);
        ticks(&promoted, 30).await;
        assert_eq!(postgres.sql(row), "bob 95, carl 90");
        // And back: the folder that had its characters in the database gets a file of its own.
        let back = Standby::start(
            pair.options("primary", in_database(&place)),
            pair.follow(&promoted),
        )
        .unwrap();
        complete(&back).await;
        let store = CharacterStore::open(&pair.folder.join("primary"), None, 0);
        assert_eq!(store.unwrap().all().unwrap()["bob"]["hp"], 95);
        leave_wounded(&promoted, "bob", 1).await;
        has_all(&promoted).await;
        drop(promoted);
        let again = back.promote().expect("back again");
        have(&again, &[("bob", 90), ("carl", 90)]).await;
        again.stop().unwrap();
        assert_eq!(postgres.sql(row), "bob 90, carl 90");
        let elsewhere = refusal(pair.options("primary", by_name));
        assert!(elsewhere.contains("are in a database"), "{elsewhere}");
    }
}
