//! Characters in a PostgreSQL database, which worlds share: each has its name there.
//!
//! `myriad_worlds` has for each world the number of claims so far. Who claims a world raises
//! it, and each write checks it in its own transaction. So of two servers of a world only the
//! last one that started writes, however late the words of the other arrive.

use std::fmt;
use std::net::ToSocketAddrs;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ::postgres::config::{Host, SslMode};
use ::postgres::{Client, Config, NoTls, Transaction};
use anyhow::{Context, Result, bail, ensure};
use client_bot::Addresses;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Store, Superseded, Texts};
use crate::reach;
use crate::tls::trust_the_system;

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
        // A machine that is gone says nothing.
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
    client: Option<Client>,
    /// Which claim of the world this one's is.
    claim: Option<i64>,
}

impl PostgresStore {
    /// Connects, and makes the tables if there are none.
    pub fn open(database: &Database) -> Result<PostgresStore> {
        let store = PostgresStore {
            database: database.clone(),
            state: Mutex::default(),
        };
        store.run(|transaction, _| {
            transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&TABLES_LOCK])?;
            Ok(transaction.batch_execute(TABLES)?)
        })?;
        Ok(store)
    }

    /// Does something in a transaction.
    fn run<T: Send>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>, &mut Option<i64>) -> Result<T> + Send,
    ) -> Result<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        // The client waits in a runtime of its own, and can't do so within another one.
        let done = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let mut client = match state.client.take() {
                    Some(client) if !client.is_closed() => client,
                    _ => connect(&self.database.config)?,
                };
                let mut claim = state.claim;
                let mut transaction = client.transaction()?;
                let result = work(&mut transaction, &mut claim)?;
                transaction.commit()?;
                (state.client, state.claim) = (Some(client), claim);
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
        self.run(|transaction, claim| {
            *claim = Some(raise_claim(transaction, world)?);
            Ok(())
        })
    }

    fn all(&self) -> Result<Texts> {
        let world = &self.database.world;
        let rows = self.run(|transaction, _| Ok(transaction.query(SELECT, &[world])?))?;
        let pair = |row: &::postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
        rows.iter().map(pair).collect()
    }

    fn put(&self, texts: &Texts) -> Result<()> {
        let world = &self.database.world;
        let (accounts, texts): (Vec<&String>, Vec<&String>) = texts.iter().unzip();
        self.run(|transaction, claim| {
            let own = match *claim {
                Some(own) => own,
                None => raise_claim(transaction, world)?,
            };
            *claim = Some(own);
            // Held until the commit, so that a claim comes before this or after.
            let row = transaction.query_opt(CLAIM, &[world])?;
            let last: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
            if last != Some(own) {
                bail!(Superseded(world.clone()));
            }
            transaction.execute(UPSERT, &[world, &accounts, &texts])?;
            Ok(())
        })
    }
}

fn connect(config: &Config) -> Result<Client> {
    let config = &at_reached(config)?;
    let mut client = match needs_tls(config) {
        true => config.connect(MakeRustlsConnect::new(trust_the_system()?))?,
        false => config.connect(NoTls)?,
    };
    client.batch_execute(&format!("SET statement_timeout = {}", PATIENCE.as_millis()))?;
    Ok(client)
}

/// The same with the address of its host that answers, if there are several: the client would wait
/// for each of them as long as it may.
fn at_reached(config: &Config) -> Result<Config> {
    let mut config = config.clone();
    let ([Host::Tcp(name)], []) = (config.get_hosts(), config.get_hostaddrs()) else {
        return Ok(config);
    };
    let port = config.get_ports().first().copied().unwrap_or(PORT);
    let found = (name.as_str(), port).to_socket_addrs();
    let found = found.with_context(|| format!("cannot look up {name}"))?;
    let several = Addresses::new(found).filter(|found| found.iter().nth(1).is_some());
    if let Some(addresses) = several {
        config.hostaddr(reach::first_of(&addresses, PATIENCE)?.ip());
    }
    Ok(config)
}

/// Sockets of this machine have no name that a certificate could prove.
fn needs_tls(config: &Config) -> bool {
    let is_socket = |host: &Host| matches!(host, Host::Unix(_));
    config.get_ssl_mode() != SslMode::Disable && !config.get_hosts().iter().all(is_socket)
}

fn raise_claim(transaction: &mut Transaction<'_>, world: &String) -> Result<i64> {
    Ok(transaction.query_one(RAISE, &[world])?.try_get(0)?)
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS myriad_worlds (
        world text PRIMARY KEY,
        claims bigint NOT NULL
    );
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
const CLAIM: &str = "SELECT claims FROM myriad_worlds WHERE world = $1 FOR SHARE";
const SELECT: &str = "SELECT account, character::text FROM myriad_characters WHERE world = $1";
const UPSERT: &str = "
    INSERT INTO myriad_characters
    SELECT $1, own.account, own.character::jsonb
    FROM unnest($2::text[], $3::text[]) AS own (account, character)
    ON CONFLICT (world, account) DO UPDATE SET character = excluded.character";
/// Two that make the tables at once would be in each other's way.
const TABLES_LOCK: i64 = 0x006d_7972_6961_6421;
/// Where a database listens that says nothing else.
const PORT: u16 = 5432;
/// For a connection, a statement, and words that nobody acknowledges.
const PATIENCE: Duration = Duration::from_secs(30);
