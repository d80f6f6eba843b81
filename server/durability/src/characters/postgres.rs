//! Characters in a PostgreSQL database, which worlds share: each has its name there.
//!
//! `myriad_worlds` has for each world the number of claims so far. A claim raises
//! it, and each write checks it in its own transaction. So of two servers of a world only the
//! last one that started writes, however late the statements of the other arrive.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use platform::reach;
use platform::runtime::{Runtime, runtime};
use platform::tls::trust_the_system;
use platform::waits::Wait;
use quic::Addresses;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Connection, NoTls, Transaction};
use tokio_postgres_rustls::MakeRustlsConnect;
use tracing::debug;

use super::{Store, Superseded, Texts};

/// A world's place in a database: `postgres://USER:PASSWORD@HOST/DATABASE#WORLD`.
#[derive(Clone)]
pub struct Database {
    config: Config,
    pub world: String,
}

impl FromStr for Database {
    type Err = anyhow::Error;

    /// Its errors don't quote the text, which may have a password.
    fn from_str(text: &str) -> Result<Database> {
        let named = text.rsplit_once('#').filter(|(_, world)| !world.is_empty());
        let is_url = ["postgres://", "postgresql://"]
            .iter()
            .any(|s| text.starts_with(s));
        let (Some((url, world)), true) = (named, is_url) else {
            bail!(
                "expected postgres://USER:PASSWORD@HOST/DATABASE#WORLD as the place of characters"
            );
        };
        ensure!(
            !world.chars().any(char::is_control),
            "the name of a world has no control characters"
        );
        let mut config: Config = url.parse().context("the database of characters")?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        // A machine that is gone never answers.
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(PATIENCE);
        }
        Ok(Database {
            config,
            world: world.to_owned(),
        })
    }
}

/// Without the password.
impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database")
            .field("world", &self.world)
            .finish_non_exhaustive()
    }
}

/// The characters of a world in a database.
pub struct PostgresStore {
    database: Database,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// None before the first use, and after an error.
    session: Option<Session>,
    /// The number of this server's claim of the world.
    claim: Option<i64>,
}

/// A connection, which is served while its runtime runs.
struct Session {
    client: Client,
    runtime: Runtime,
}

impl PostgresStore {
    /// Connects, and makes the tables if there are none.
    pub fn open(database: &Database) -> Result<PostgresStore> {
        let store = PostgresStore {
            database: database.clone(),
            state: Mutex::default(),
        };
        store.run(async |transaction, _| {
            let lock = "SELECT pg_advisory_xact_lock($1)";
            transaction.execute(lock, &[&TABLES_LOCK]).await?;
            Ok(transaction.batch_execute(TABLES).await?)
        })?;
        Ok(store)
    }

    /// Runs a transaction with a time limit: a database may accept a connection and never answer.
    fn run<T: Send>(
        &self,
        work: impl AsyncFnOnce(&Transaction<'_>, &mut Option<i64>) -> Result<T> + Send,
    ) -> Result<T> {
        let _wait = Wait::new("the database of characters", STOP_PATIENCE);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        // A runtime can't be entered within another one.
        let done = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let mut session = match state.session.take() {
                    Some(session) if !session.client.is_closed() => session,
                    _ => connect(&self.database.config)?,
                };
                let mut claim = state.claim;
                let Session { client, runtime } = &mut session;
                let transact = async {
                    let transaction = client.transaction().await?;
                    let result = work(&transaction, &mut claim).await?;
                    transaction.commit().await?;
                    anyhow::Ok(result)
                };
                let result = runtime.block_on(in_time(TRANSACTION_PATIENCE, transact))?;
                (state.session, state.claim) = (Some(session), claim);
                anyhow::Ok(result)
            });
            thread.join()
        });
        match done {
            Ok(done) => done.context("the database of characters"),
            Err(_) => bail!("the thread of the database has failed"),
        }
    }
}

impl Store for PostgresStore {
    fn claim(&self) -> Result<()> {
        let world = &self.database.world;
        self.run(async |transaction, claim| {
            *claim = Some(raise_claim(transaction, world).await?);
            Ok(())
        })
    }

    fn all(&self) -> Result<Texts> {
        let world = &self.database.world;
        let rows =
            self.run(async |transaction, _| Ok(transaction.query(SELECT, &[world]).await?))?;
        let pair = |row: &tokio_postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
        rows.iter().map(pair).collect()
    }

    fn put(&self, texts: &Texts, tick: u64) -> Result<()> {
        if texts.is_empty() {
            return Ok(());
        }
        let world = &self.database.world;
        let (accounts, texts): (Vec<&String>, Vec<&String>) = texts.iter().unzip();
        let tick = tick.cast_signed();
        self.run(async |transaction, claim| {
            check_claim(transaction, claim, world).await?;
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
                [world, &accounts, &texts];
            transaction.execute(UPSERT, &values).await?;
            transaction.execute(NOTE_TICK, &[world, &tick]).await?;
            Ok(())
        })
    }

    fn tick(&self) -> Result<u64> {
        let world = &self.database.world;
        self.run(async |transaction, _| {
            let row = transaction.query_opt(TICK, &[world]).await?;
            let tick: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
            Ok(tick.map_or(0, i64::cast_unsigned))
        })
    }

    fn restart(&self, tick: u64) -> Result<()> {
        let world = &self.database.world;
        let tick = tick.cast_signed();
        self.run(async |transaction, claim| {
            check_claim(transaction, claim, world).await?;
            transaction.execute(SET_TICK, &[world, &tick]).await?;
            Ok(())
        })
    }

    fn remove(&self, account: &str) -> Result<bool> {
        let world = &self.database.world;
        self.run(async |transaction, claim| {
            check_claim(transaction, claim, world).await?;
            Ok(transaction.execute(REMOVE, &[world, &account]).await? > 0)
        })
    }
}

/// Fails if another server has claimed the world since this one has.
async fn check_claim(
    transaction: &Transaction<'_>,
    claim: &mut Option<i64>,
    world: &String,
) -> Result<()> {
    let own = match *claim {
        Some(own) => own,
        None => raise_claim(transaction, world).await?,
    };
    *claim = Some(own);
    // Held until the commit, so that a claim comes before this or after.
    let row = transaction.query_opt(CLAIM, &[world]).await?;
    let last: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
    if last != Some(own) {
        bail!(Superseded(world.clone()));
    }
    Ok(())
}

fn connect(config: &Config) -> Result<Session> {
    let runtime = runtime()?;
    let connecting = async {
        let config = &at_reached(config).await?;
        let client = match needs_tls(config) {
            true => {
                let tls = MakeRustlsConnect::new(trust_the_system()?);
                let (client, connection) = config.connect(tls).await?;
                serve(connection);
                client
            }
            false => {
                let (client, connection) = config.connect(NoTls).await?;
                serve(connection);
                client
            }
        };
        let limit = format!("SET statement_timeout = {}", PATIENCE.as_millis());
        client.batch_execute(&limit).await?;
        anyhow::Ok(client)
    };
    let client = runtime.block_on(in_time(PATIENCE, connecting))?;
    Ok(Session { client, runtime })
}

/// Drives a connection. Its errors are also returned to its client.
fn serve<S, T>(connection: Connection<S, T>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            debug!("the connection to the database has ended: {error}");
        }
    });
}

async fn in_time<T>(patience: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    let done = timeout(patience, work).await;
    done.with_context(|| format!("no answer in {} seconds", patience.as_secs()))?
}

/// The same with the address of its host that answers, if there are several: the client would wait
/// for each of them as long as it may.
async fn at_reached(config: &Config) -> Result<Config> {
    let mut config = config.clone();
    let ([Host::Tcp(name)], []) = (config.get_hosts(), config.get_hostaddrs()) else {
        return Ok(config);
    };
    let port = config.get_ports().first().copied().unwrap_or(PORT);
    let found = tokio::net::lookup_host((name.as_str(), port)).await;
    let found = found.with_context(|| format!("cannot look up {name}"))?;
    let several = Addresses::new(found).filter(|found| found.iter().nth(1).is_some());
    if let Some(addresses) = several {
        config.hostaddr(reach::first_of(&addresses).await?.ip());
    }
    Ok(config)
}

/// Sockets of this machine have no name that a certificate could prove.
fn needs_tls(config: &Config) -> bool {
    let is_socket = |host: &Host| matches!(host, Host::Unix(_));
    config.get_ssl_mode() != SslMode::Disable && !config.get_hosts().iter().all(is_socket)
}

async fn raise_claim(transaction: &Transaction<'_>, world: &String) -> Result<i64> {
    Ok(transaction.query_one(RAISE, &[world]).await?.try_get(0)?)
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS myriad_worlds (
        world text PRIMARY KEY,
        claims bigint NOT NULL
    );
    ALTER TABLE myriad_worlds ADD COLUMN IF NOT EXISTS tick bigint NOT NULL DEFAULT 0;
    CREATE TABLE IF NOT EXISTS myriad_characters (
        world text,
        account text,
        character jsonb NOT NULL,
        PRIMARY KEY (world, account)
    )";
const RAISE: &str = "
    INSERT INTO myriad_worlds VALUES ($1, 1)
    ON CONFLICT (world) DO UPDATE SET claims = myriad_worlds.claims + 1
    RETURNING claims";
const CLAIM: &str = "SELECT claims FROM myriad_worlds WHERE world = $1 FOR UPDATE";
const NOTE_TICK: &str = "UPDATE myriad_worlds SET tick = greatest(tick, $2) WHERE world = $1";
const SET_TICK: &str = "UPDATE myriad_worlds SET tick = $2 WHERE world = $1";
const TICK: &str = "SELECT tick FROM myriad_worlds WHERE world = $1";
const SELECT: &str = "SELECT account, character::text FROM myriad_characters WHERE world = $1";
const UPSERT: &str = "
    INSERT INTO myriad_characters
    SELECT $1, own.account, own.character::jsonb
    FROM unnest($2::text[], $3::text[]) AS own (account, character)
    ON CONFLICT (world, account) DO UPDATE SET character = excluded.character";
const REMOVE: &str = "DELETE FROM myriad_characters WHERE world = $1 AND account = $2";
/// Serializes servers that make the tables at the same time.
const TABLES_LOCK: i64 = 0x006d_7972_6961_6421;
/// The port of a database whose URL has none.
const PORT: u16 = 5432;
/// For a connection, a statement, and unacknowledged data.
const PATIENCE: Duration = Duration::from_secs(30);
/// For all statements of a transaction, also of a database that does not keep its own limits.
const TRANSACTION_PATIENCE: Duration = Duration::from_secs(60);
/// Once the server stops.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
