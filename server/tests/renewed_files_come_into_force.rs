//! Certificates, keys, tokens and lists of words change while a server runs.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use accounts::authenticator::UnixTime;
use accounts::identity::Account;
use accounts::signed::{Claims, SignedTokens};
use client_bot::client_core::LossCode;
use client_bot::connect::{ClientError, hello};
use client_bot::pki_types::CertificateDer;
use client_bot::pki_types::pem::PemObject;
use client_bot::{Client, Connector, Trust};
use peer::trust::LinkKey;
use platform::renewal::Renewals;
use program::signals::are_hangups_ignored;
use shared::wire::control::Close;
use standby::closed_port::ClosedPort;
use tokio::time::{sleep, timeout};
use transport::quic::self_signed_pem;

use crate::common::folder::TestFolder;
use crate::common::pair::{Pair, complete};
use crate::common::process::Process;
use crate::common::{DEADLINE, Log, Player, ROOM, eventually, leave, start_with};

/// Writes a new certificate and its key, and gives the trust in it.
fn certify(folder: &Path) -> Trust {
    fs::create_dir_all(folder).expect("a folder");
    let (certificate, key) = self_signed_pem().expect("a certificate");
    fs::write(folder.join("tls.crt"), &certificate).expect("a file");
    fs::write(folder.join("tls.key"), key).expect("a file");
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes());
    Trust::Certificates(vec![certificate.expect("a certificate")])
}

/// A folder with a certificate as Kubernetes mounts secrets: its files are links into a folder
/// that is a link itself, and is replaced as a whole.
struct Secret(TestFolder);

impl Secret {
    fn new(name: &str) -> (Secret, Trust) {
        let secret = Secret(TestFolder::new(name));
        let trust = secret.renew();
        for file in ["tls.crt", "tls.key"] {
            symlink(format!("..data/{file}"), secret.0.join(file)).expect("a link");
        }
        (secret, trust)
    }

    /// Puts another certificate in place of the one there.
    fn renew(&self) -> Trust {
        let number = fs::read_dir(&*self.0).expect("a folder").count();
        let version = format!("..version-{number}");
        let trust = certify(&self.0.join(&version));
        symlink(&version, self.0.join("..new")).expect("a link");
        fs::rename(self.0.join("..new"), self.0.join("..data")).expect("a link");
        trust
    }

    fn files(&self) -> (std::path::PathBuf, std::path::PathBuf) {
        (self.0.join("tls.crt"), self.0.join("tls.key"))
    }
}

/// Why a client is not admitted; `None` if it is.
async fn refusal(address: SocketAddr, trust: &Trust, token: &str) -> Option<LossCode> {
    let connector = Connector::new(address, "localhost", trust).expect("a socket");
    let joined = timeout(DEADLINE, Client::connect(&connector, &hello(token, None))).await;
    joined
        .expect("an answer")
        .err()
        .map(|error: ClientError| error.code())
}

/// Waits until a client is answered in a way.
async fn until_answered(address: SocketAddr, trust: &Trust, token: &str, as_: Option<LossCode>) {
    let started = Instant::now();
    loop {
        let found = refusal(address, trust, token).await;
        if found == as_ {
            return;
        }
        assert!(started.elapsed() < DEADLINE, "{found:?} instead of {as_:?}");
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_to_those_who_come_then() {
    let (secret, old) = Secret::new("renewed-certificate");
    let server = start_with(ROOM, |options| options.identity = Some(secret.files()));
    let mut early = Player::join(&server).await;
    let new = secret.renew();
    until_answered(server.address(), &new, "", None).await;
    let refused = refusal(server.address(), &old, "").await;
    assert_eq!(refused, Some(LossCode::Untrusted));
    early.listen().await.expect("an early client stays");
    // A key of another certificate is no identity: the previous one stays.
    let (certificate, _) = secret.files();
    fs::remove_file(&certificate).expect("a link");
    fs::write(&certificate, "no certificate").expect("a file");
    sleep(Duration::from_millis(2500)).await;
    assert_eq!(refusal(server.address(), &new, "").await, None);
    leave(&server, early).await;
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_standby_shows_clients_a_renewed_certificate() {
    let (secret, old) = Secret::new("renewed-at-the-standby");
    let renewals = Renewals::default();
    renewals.watch(None).expect("a thread");
    let port = SocketAddr::from(([127, 0, 0, 1], 0));
    let port = ClosedPort::open(port, secret.files(), renewals.clone()).expect("a port");
    let standby = Some(LossCode::Closed(Close::Standby));
    until_answered(port.address(), &old, "", standby).await;
    let new = secret.renew();
    until_answered(port.address(), &new, "", standby).await;
    let refused = refusal(port.address(), &old, "").await;
    assert_eq!(refused, Some(LossCode::Untrusted));
}

#[tokio::test]
async fn a_primary_and_its_standby_go_over_to_another_link_key() {
    let pair = Pair::new(ROOM, "renewed-link-key");
    let file = pair.folder.join("link.pem");
    let renewals = Renewals::default();
    let shared = std::sync::Arc::new(LinkKey::watched(&renewals, &file).expect("a key"));
    let primary = pair.primary(|options| {
        options.standby.as_mut().expect("a port").key = shared.clone();
    });
    fs::remove_file(&file).expect("a file");
    LinkKey::create(&file).expect("a new key");
    // Only the standby has read it.
    let standby = pair.standby(&primary);
    sleep(Duration::from_millis(500)).await;
    assert!(!standby.progress().is_connected);
    renewals.renew();
    complete(&standby).await;
    drop(standby);
    primary.stop().expect("the primary stops");
}

/// Writes a key of accounts into a file, and gives a token of it.
fn account_key(files: &Path, name: &str, account: &str) -> (String, String) {
    let key = format!("{name:x<64}");
    let file = files.join(name);
    fs::write(&file, &key).expect("a file");
    let UnixTime(now) = UnixTime::of(SystemTime::now());
    let token = SignedTokens::load(&file).expect("a key").issue(&Claims {
        account: Account::new(account).expect("an account"),
        name: shared::Name::new(account).expect("a name"),
        from: now - 10,
        until: now + 3600,
    });
    (key, token)
}

#[tokio::test]
async fn an_account_key_is_rotated_with_both_in_force_and_its_sessions_stay() {
    let folder = TestFolder::new("renewed-account-key");
    let (file, data) = (folder.join("keys"), folder.join("data"));
    let (old, early) = account_key(&folder, "old", "alice");
    // A second session would replace the first.
    let (_, other) = account_key(&folder, "old", "carol");
    let (new, late) = account_key(&folder, "new", "bob");
    fs::write(&file, &old).expect("a file");
    let options = ["--account-key", file.to_str().expect("a path in UTF-8")];
    let mut process = Process::spawn(&data, "127.0.0.1:0", 1, &options);
    process.listens();
    let (address, any) = (process.address, Trust::AnyCertificate);
    let wrong = Some(LossCode::Closed(Close::Unauthorized));
    let connector = Connector::new(address, "localhost", &any).expect("a socket");
    let joined = Client::connect(&connector, &hello(&early, None)).await;
    let mut alice = joined.expect("a good token");
    let playing = tokio::spawn(async move {
        let mut log = Log::default();
        while alice.receive(&mut log).await.is_ok() {
            alice.flush();
        }
    });
    assert_eq!(refusal(address, &any, &late).await, wrong);
    fs::write(&file, format!("{new}\n{old}\n")).expect("a file");
    let renewals = |process: &Process| process.log().matches("renewed what=").count();
    eventually("both are in force", || renewals(&process) == 1).await;
    for token in [&late, &other] {
        assert_eq!(refusal(address, &any, token).await, None);
    }
    fs::write(&file, &new).expect("a file");
    eventually("the new one is", || renewals(&process) == 2).await;
    assert_eq!(refusal(address, &any, &late).await, None);
    assert_eq!(refusal(address, &any, &other).await, wrong);
    // A session is checked when it begins.
    sleep(Duration::from_secs(1)).await;
    assert!(!playing.is_finished());
    process.stop();
}

#[tokio::test]
async fn a_revoked_token_stops_working_and_its_session_ends() {
    let folder = TestFolder::new("revoked-token");
    let (list, data) = (folder.join("revoked"), folder.join("data"));
    let (_, alice) = account_key(&folder, "key", "alice");
    let (_, bob) = account_key(&folder, "key", "bob");
    fs::write(&list, "# none\n").expect("a file");
    let path = |file: &Path| file.display().to_string();
    let (key, list_path) = (path(&folder.join("key")), path(&list));
    let options = ["--account-key", &key, "--revoked", &list_path];
    let mut process = Process::spawn(&data, "127.0.0.1:0", 1, &options);
    process.listens();
    let (address, any) = (process.address, Trust::AnyCertificate);
    let connector = Connector::new(address, "localhost", &any).expect("a socket");
    let joined = Client::connect(&connector, &hello(&alice, None)).await;
    let mut session = joined.expect("a good token");
    let UnixTime(now) = UnixTime::of(SystemTime::now());
    fs::write(&list, format!("before {now} alice\n")).expect("a file");
    let mut log = Log::default();
    let end = timeout(DEADLINE, async {
        loop {
            match session.receive(&mut log).await {
                Ok(_) => session.flush(),
                Err(error) => return error,
            }
        }
    });
    let end = end.await.expect("its session ends");
    let unauthorized = LossCode::Closed(Close::Unauthorized);
    assert_eq!(end.code(), unauthorized, "{end}");
    assert!(end.to_string().contains("has been revoked"), "{end}");
    // Nor does its ticket bring it back.
    let ticket = hello(&alice, Some(session.ticket()));
    let refused = Client::connect(&connector, &ticket).await;
    assert_eq!(refused.err().map(|error| error.code()), Some(unauthorized));
    assert_eq!(refusal(address, &any, &bob).await, None);
    // A list that can't be read leaves the one before.
    fs::write(&list, "alice\n").expect("a file");
    process.logs("not renewed").await;
    assert_eq!(refusal(address, &any, &alice).await, Some(unauthorized));
    process.stop();
}

#[tokio::test]
async fn a_hangup_lets_a_server_read_its_token_again_and_ends_nothing() {
    if are_hangups_ignored() {
        println!("skipped: SIGHUP is ignored here, as by nohup, and so by all servers");
        return;
    }
    let folder = TestFolder::new("renewed-token");
    let (token, data) = (folder.join("token"), folder.join("data"));
    fs::write(&token, "old").expect("a file");
    let options = ["--token-file", token.to_str().expect("a path in UTF-8")];
    let mut process = Process::spawn(&data, "127.0.0.1:0", 1, &options);
    process.listens();
    let any = Trust::AnyCertificate;
    assert_eq!(refusal(process.address, &any, "old").await, None);
    fs::write(&token, "new").expect("a file");
    process.signal("-HUP");
    process.logs("SIGHUP").await;
    let wrong = Some(LossCode::Closed(Close::Unauthorized));
    until_answered(process.address, &any, "new", None).await;
    assert_eq!(refusal(process.address, &any, "old").await, wrong);
    // An empty file would let everybody in.
    fs::write(&token, "\n").expect("a file");
    process.signal("-HUP");
    process.logs("holds no token").await;
    assert_eq!(refusal(process.address, &any, "").await, wrong);
    assert_eq!(refusal(process.address, &any, "new").await, None);
    // It is watched, too.
    fs::write(&token, "newest").expect("a file");
    until_answered(process.address, &any, "newest", None).await;
    process.stop();
}
