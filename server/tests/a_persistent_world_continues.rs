//! A server that starts in the folder of another one continues its world, and refuses to
//! where it can't.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client_bot::BehaviourKind;
use client_bot::connect::{ClientError, hello};
use client_bot::{Client, Connector, Trust};
use script::builtin;
use server::host::{Begin, DataOptions};
use server::{Server, ServerOptions};
use shared::wire::control::Hello;
use shared::wire::request::Region;
use shared::wire::stream::Message;
use shared::wire::talk::{Talk, TalkRequest};
use tokio::time::{sleep, timeout};

use crate::common::folder::{TestFolder, refusal};
use crate::common::{
    Bots, DEADLINE, Player, go, listen_for, start_with, ticks, units, until, world,
};

const WORLD: &str = "
    [world]
    size = [200, 200]
    aoi = 20
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 48
    regions_per_client = 2
    region_edge_max = 100
    subscriptions_per_client = 4
    resume_seconds = 20

    [commands]
    move = { speed_max = 1000 }
    strike = { reach = 1000 }

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
    ]
";

/// A folder of a world, which is removed at the end.
struct Data(TestFolder);

impl Data {
    fn new(name: &str) -> Data {
        Data(TestFolder::absent(&format!("kept-{name}")))
    }

    /// The files now, as if the machine had stopped.
    fn crashed(&self, name: &str) -> Data {
        Data(self.0.crashed(&format!("kept-{name}")))
    }

    fn start(&self) -> Server {
        start_with(WORLD, |options| self.change(options))
    }

    fn change(&self, options: &mut ServerOptions) {
        options.data = Some(DataOptions {
            checkpoint_seconds: 1000,
            ..DataOptions::new(&*self.0)
        });
    }

    /// Why no server starts here with this world.
    fn refusal(&self, text: &str) -> String {
        let mut options = ServerOptions::local(world(text));
        self.change(&mut options);
        refusal(options)
    }

    fn segment(&self) -> PathBuf {
        let mut segments: Vec<PathBuf> = fs::read_dir(&*self.0)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                path.file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with("journal-")
            })
            .collect();
        segments.sort();
        segments.pop().expect("a segment")
    }
}

/// Places two players far from each other. The first sees the other by a region, and gets notices
/// of its moves by a subscription.
async fn two_players(server: &Server) -> (Player, Player) {
    let mut here = join_as(server, "Ann").await;
    let mut there = join_as(server, "Bob").await;
    go(&mut here, 10.0, 10.0).await;
    go(&mut there, 150.0, 150.0).await;
    let corner = |edge: f64| [units(edge), units(edge), 0];
    let region = Region {
        low: corner(140.0),
        high: corner(160.0),
        follows: None,
    };
    here.client.set_region(1, Some(region));
    here.client.flush();
    for player in [&mut here, &mut there] {
        let channel = "trade".to_owned();
        talk(player, TalkRequest::Join { channel }).await;
    }
    let other = there.entity();
    until(&mut [&mut here, &mut there], "the region shows it", |p| {
        p[0].sees(other)
    })
    .await;
    let subscribed = here.subscribe(3, "attribute == \"hp\"").await;
    subscribed.expect("a subscription");
    (here, there)
}

async fn join_as(server: &Server, name: &str) -> Player {
    let hello = Hello {
        name: name.to_owned(),
        ..hello("", None)
    };
    Player::join_as(server, &hello).await
}

async fn talk(player: &mut Player, request: TalkRequest) {
    let number = player.client.talk(request);
    let answer = player.client.answer(number, &mut player.log).await;
    answer.expect("an answer").expect("a yes");
}

/// Both return, and one gets notices of and sees the other as before.
async fn both_continue(server: &Server, here: &Player, there: &Player) {
    let mut here_again = Player::resume(server, here.client.ticket()).await;
    let mut there_again = Player::resume(server, there.client.ticket()).await;
    assert_eq!(here_again.entity(), here.entity());
    assert_eq!(there_again.entity(), there.entity());
    let other = there.entity();
    until(
        &mut [&mut here_again, &mut there_again],
        "the region shows it again",
        |p| p[0].sees(other) && p[1].client.view().own().is_some(),
    )
    .await;
    here_again.send(builtin::STRIKE, &[other.reference().0]);
    until(
        &mut [&mut here_again, &mut there_again],
        "the subscription matches the blow",
        |p| !p[0].notices().is_empty(),
    )
    .await;
    let (channel, text) = ("trade".to_owned(), "wool!".to_owned());
    talk(&mut there_again, TalkRequest::Speak { channel, text }).await;
    until(
        &mut [&mut here_again, &mut there_again],
        "the channel has its members",
        |p| {
            let mut messages = p[0].log.messages.iter();
            messages.any(|(_, message)| matches!(message, Message::Talk(Talk::Spoken { .. })))
        },
    )
    .await;
}

#[tokio::test]
async fn players_return_with_their_regions_and_subscriptions_after_a_stop() {
    let data = Data::new("stopped");
    let server = data.start();
    let (mut here, there) = two_players(&server).await;
    server.stop().unwrap();
    let reason = here.end().await;
    assert!(reason.contains("come back within 20 seconds"), "{reason}");
    let server = data.start();
    both_continue(&server, &here, &there).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn players_return_with_their_regions_and_subscriptions_after_a_crash() {
    let data = Data::new("crashing");
    let server = data.start();
    let (here, there) = two_players(&server).await;
    // The answer to the subscription was sent, so its record is on disk.
    let crashed = data.crashed("crashed");
    let again = crashed.start();
    both_continue(&again, &here, &there).await;
    again.stop().unwrap();
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_find_nothing_wrong_in_a_world_that_continued() {
    let data = Data::new("bots");
    let server = data.start();
    let bots = Bots::start(&server, 20, BehaviourKind::Wander).await;
    ticks(&server, 20).await;
    bots.go_home();
    let crashed = data.crashed("bots-crashed");
    let again = crashed.start();
    let bots = Bots::start(&again, 20, BehaviourKind::Wander).await;
    ticks(&again, 20).await;
    bots.verify(&again).await;
    again.stop().unwrap();
    server.stop().unwrap();
}

/// Clients of a persistent world receive its durable tick.
#[tokio::test]
async fn clients_see_up_to_which_tick_the_world_is_durable() {
    let data = Data::new("kept-tick");
    let server = data.start();
    let mut player = Player::join(&server).await;
    until(&mut [&mut player], "a tick is kept", |p| {
        let view = p[0].client.view();
        view.kept().is_some_and(|kept| kept == view.newest())
    })
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn damage_to_a_synced_record_is_refused_with_its_tick() {
    let data = Data::new("damaging");
    let server = data.start();
    ticks(&server, 30).await;
    let crashed = data.crashed("damaged");
    server.stop().unwrap();
    let segment = crashed.segment();
    let mut bytes = fs::read(&segment).unwrap();
    // In the middle of the written records, whatever is behind it.
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[used / 2] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let refusal = crashed.refusal(WORLD);
    assert!(refusal.contains("the record of tick "), "{refusal}");
    assert!(
        refusal.contains(" is damaged, and it was synced"),
        "{refusal}"
    );
    // A torn end is not damage.
    let torn = data.crashed("torn");
    let segment = torn.segment();
    let bytes = fs::read(&segment).unwrap();
    fs::write(&segment, &bytes[..bytes.len() - 7]).unwrap();
    torn.start().stop().unwrap();
}

/// As a restore that was not complete leaves it.
#[tokio::test]
async fn a_folder_without_its_newest_records_is_refused() {
    let data = Data::new("restoring");
    let server = data.start();
    ticks(&server, 30).await;
    let crashed = data.crashed("restored");
    server.stop().unwrap();
    let segment = crashed.segment();
    let bytes = fs::read(&segment).unwrap();
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    for length in [0, 10, used / 2] {
        fs::write(&segment, &bytes[..length]).unwrap();
        let refusal = crashed.refusal(WORLD);
        assert!(refusal.contains("was synced"), "{length} bytes: {refusal}");
    }
    fs::remove_file(&segment).unwrap();
    let refusal = crashed.refusal(WORLD);
    let expected = "the journal ends before tick 0, and the world came to tick ";
    assert!(refusal.contains(expected), "{refusal}");
    // Whole again, it continues.
    fs::write(&segment, &bytes).unwrap();
    crashed.start().stop().unwrap();
}

#[tokio::test]
async fn a_world_begins_only_where_none_is_missing() {
    let data = Data::new("beginning");
    let refusal = |begin: Begin| {
        let mut options = ServerOptions::local(world(WORLD));
        data.change(&mut options);
        options.data.as_mut().unwrap().begin = begin;
        refusal(options)
    };
    let empty = refusal(Begin::Continue);
    assert!(
        empty.contains("holds no world: is its disk mounted"),
        "{empty}"
    );
    let server = data.start();
    ticks(&server, 5).await;
    server.stop().unwrap();
    let there = refusal(Begin::New);
    assert!(
        there.contains("holds a world: start without --new"),
        "{there}"
    );
    for entry in fs::read_dir(&*data.0).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("checkpoint-") {
            fs::remove_file(path).unwrap();
        }
    }
    let parts = refusal(Begin::New);
    assert!(
        parts.contains(", and no checkpoint: the world in it is not complete"),
        "{parts}"
    );
}

#[test]
fn a_checkpoint_of_another_version_is_named_as_such_and_the_one_before_is_not_used() {
    let data = Data::new("another-version");
    data.start().stop().unwrap();
    let server = data.start();
    server.stop().unwrap();
    let checkpoint = |name: &str| name.starts_with("checkpoint-");
    let names = fs::read_dir(&*data.0).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let newest = names.filter(|name| checkpoint(name)).max().unwrap();
    let path = data.0.join(newest);
    let mut bytes = fs::read(&path).unwrap();
    bytes[7] = b'9';
    fs::write(&path, bytes).unwrap();
    let refusal = data.refusal(WORLD);
    let expected = "is a checkpoint of another version of Myriad: expected MYRIADC";
    assert!(
        refusal.contains(expected) && refusal.contains("found MYRIADC9"),
        "{refusal}"
    );
    assert!(!refusal.contains("no checkpoint is good"), "{refusal}");
}

#[test]
fn another_world_file_is_refused_and_what_differs_is_named() {
    let data = Data::new("other-world");
    data.start().stop().unwrap();
    let refusal = data.refusal(&WORLD.replace("default = 100", "default = 90"));
    let expected = "kinds.player.attributes.hp.default: 100, now 90";
    assert!(refusal.contains(expected), "{refusal}");
    let refusal = data.refusal(&WORLD.replace("resume_seconds = 20", "resume_seconds = 21"));
    let expected = "limits.resume_seconds: 20, now 21";
    assert!(refusal.contains(expected), "{refusal}");
    data.start().stop().unwrap();
}

#[test]
fn a_folder_is_for_one_server_at_a_time() {
    let data = Data::new("in-use");
    let server = data.start();
    let refusal = data.refusal(WORLD);
    assert!(refusal.contains("is in use"), "{refusal}");
    server.stop().unwrap();
    data.start().stop().unwrap();
}

/// A recovery that runs until this is set.
static MAY_END: AtomicBool = AtomicBool::new(false);

#[tokio::test]
async fn clients_are_closed_as_starting_while_a_world_is_recovered() {
    let data = Data::new("starting");
    let server = data.start();
    ticks(&server, 3).await;
    server.stop().unwrap();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let mut options = ServerOptions::local(world(WORLD));
    data.change(&mut options);
    options.listen = address;
    if let Some(data) = &mut options.data {
        data.progress = |_| {
            while !MAY_END.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
        };
    }
    let starting = std::thread::spawn(|| Server::start(options).unwrap());
    let reason = try_join(address).await;
    MAY_END.store(true, Ordering::Relaxed);
    assert!(reason.contains("the world is being recovered"), "{reason}");
    let server = starting.join().unwrap();
    let mut player = Player::join(&server).await;
    listen_for(&server, &mut [&mut player], 2).await;
    server.stop().unwrap();
}

/// Why clients are refused, once the port answers.
async fn try_join(address: SocketAddr) -> String {
    loop {
        let connector = Connector::new(address, "localhost", &Trust::AnyCertificate);
        let connector = connector.expect("a socket");
        let hello = hello("", None);
        let joining = Client::connect(&connector, &hello);
        match timeout(DEADLINE, joining).await.expect("an answer") {
            Ok(_) => panic!("a client is in a world that is being recovered"),
            Err(ClientError::TimedOut { .. }) => sleep(Duration::from_millis(20)).await,
            Err(error) => return error.to_string(),
        }
    }
}

#[test]
fn the_identity_of_a_server_stays_with_its_folder() {
    let data = Data::new("identity");
    let server = data.start();
    let certificate = server.certificate().clone();
    server.stop().unwrap();
    let again = data.start();
    assert_eq!(*again.certificate(), certificate);
    assert!(data.0.join("reset.key").exists());
    again.stop().unwrap();
}

#[test]
fn only_the_servers_user_can_read_the_folder() {
    let data = Data::new("private");
    data.start().stop().unwrap();
    let mut files = 0;
    for entry in fs::read_dir(&*data.0).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        // The lock is empty.
        if name != "lock" {
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{name:?}");
            files += 1;
        }
    }
    assert!(files >= 4, "{files}");
}
