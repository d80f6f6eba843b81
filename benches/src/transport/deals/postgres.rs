//! The same transfers in PostgreSQL: a procedure of the database, and clients that keep as many
//! calls of it in flight, each a transaction that is on disk once it is confirmed.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getuid};
use tokio::task::{LocalSet, spawn_local};
use tokio_postgres::{Client, Config, NoTls};

use super::world::{GOLD, Pairs};
use super::{Latencies, Options, WARM_UP};

/// The result.
pub struct Measured {
    pub confirmed: u64,
    pub seconds: f64,
    pub latencies: Latencies,
}

/// Measures transfers in a new database; `None` where PostgreSQL is not installed.
pub fn measure(options: &Options, zipf: f64, folder: &Path) -> anyhow::Result<Option<Measured>> {
    let Some(programs) = programs() else {
        return Ok(None);
    };
    let server = Postgres::start(&programs, folder, options.connections)?;
    let run = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
    };
    let runtime = run()?;
    runtime.block_on(server.prepare(options.accounts))?;
    let shared = Arc::new(Shared::default());
    let pairs = Pairs::new(options, zipf);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let connections = options.connections as usize;
    let threads: Vec<_> = (0..threads.min(connections))
        .map(|thread| {
            let own = (thread..connections).step_by(threads);
            let dealer = |number: usize| Dealer {
                config: server.config(),
                first: number as u64 * STRIDE,
                pipelined: options.pipelined,
                pairs: pairs.clone(),
                shared: shared.clone(),
            };
            let dealers: Vec<Dealer> = own.map(dealer).collect();
            std::thread::spawn(move || {
                let all = async {
                    let tasks: Vec<_> = dealers.into_iter().map(|d| spawn_local(d.run())).collect();
                    let mut latencies = Latencies::default();
                    for task in tasks {
                        latencies.0.extend(task.await??.0);
                    }
                    anyhow::Ok(latencies)
                };
                LocalSet::new().block_on(&run()?, all)
            })
        })
        .collect();
    std::thread::sleep(WARM_UP);
    let begun = (Instant::now(), shared.confirmed.load(Relaxed));
    std::thread::sleep(Duration::from_secs(options.seconds.into()));
    let seconds = begun.0.elapsed().as_secs_f64();
    let confirmed = shared.confirmed.load(Relaxed) - begun.1;
    shared.is_ending.store(true, Relaxed);
    let mut latencies = Latencies::default();
    for thread in threads {
        match thread.join() {
            Ok(own) => latencies.0.extend(own?.0),
            Err(_) => bail!("a thread of clients has failed"),
        }
    }
    let sum = runtime.block_on(server.sum())?;
    let expected = i64::from(GOLD) * i64::from(options.accounts);
    ensure!(
        sum == expected,
        "the sum of all accounts is {sum}, not {expected}"
    );
    Ok(Some(Measured {
        confirmed,
        seconds,
        latencies,
    }))
}

#[derive(Default)]
struct Shared {
    is_ending: AtomicBool,
    confirmed: AtomicU64,
}

/// A connection, and the calls that it has in flight.
struct Dealer {
    config: Config,
    first: u64,
    pipelined: u32,
    pairs: Pairs,
    shared: Arc<Shared>,
}

impl Dealer {
    async fn run(self) -> anyhow::Result<Latencies> {
        let client = Rc::new(connect(&self.config).await?);
        let call = client.prepare("SELECT transfer($1, $2, $3)").await?;
        let (step, shared) = (u64::from(self.pipelined), &self.shared);
        let calls: Vec<_> = (0..step)
            .map(|place| {
                let (client, call, shared) = (client.clone(), call.clone(), shared.clone());
                let pairs = self.pairs.clone();
                let mut number = self.first + place;
                spawn_local(async move {
                    let mut latencies = vec![];
                    while !shared.is_ending.load(Relaxed) {
                        let (from, to, amount) = pairs.of(number);
                        let [from, to] = [from, to].map(u32::cast_signed);
                        number += step;
                        let begun = Instant::now();
                        client.query_one(&call, &[&from, &to, &amount]).await?;
                        latencies.push((begun.elapsed(), 1));
                        shared.confirmed.fetch_add(1, Relaxed);
                    }
                    anyhow::Ok(latencies)
                })
            })
            .collect();
        let mut all = Latencies::default();
        for call in calls {
            all.0.extend(call.await??);
        }
        Ok(all)
    }
}

async fn connect(config: &Config) -> anyhow::Result<Client> {
    let (client, connection) = config.connect(NoTls).await?;
    // An error is also that of each call.
    spawn_local(connection);
    Ok(client)
}

/// A server with a folder and a socket of its own. Dropping it ends it.
struct Postgres {
    child: Child,
    folder: PathBuf,
}

impl Postgres {
    fn start(programs: &Path, folder: &Path, connections: u32) -> anyhow::Result<Postgres> {
        let folder = std::path::absolute(folder)?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))?;
        // It refuses to run as root.
        let owner = getuid().is_root().then_some(NOBODY);
        chown(&folder, owner, owner)?;
        let program = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir(&folder).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            if let Some(owner) = owner {
                command.uid(owner).gid(owner);
            }
            command
        };
        let data = folder.join("data");
        let made = program("initdb")
            .args(["--auth=trust", "--username=myriad", "--encoding=UTF8"])
            .arg("--pgdata")
            .arg(&data)
            .status()
            .context("cannot run initdb")?;
        ensure!(made.success(), "initdb fails in {}", folder.display());
        let connections = connections + 8;
        let child = program("postgres")
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(&folder)
            .args(["-c", "listen_addresses=", "-c", "synchronous_commit=on"])
            .args(["-c", "shared_buffers=512MB"])
            .args(["-c", &format!("max_connections={connections}")])
            .spawn()
            .context("cannot run postgres")?;
        Ok(Postgres { child, folder })
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.host_path(&self.folder);
        config.user("myriad").dbname("postgres");
        config
    }

    /// Creates the accounts, and the procedure.
    async fn prepare(&self, accounts: u32) -> anyhow::Result<()> {
        let begun = Instant::now();
        let connect = || async { LocalSet::new().run_until(self.run(accounts)).await };
        while let Err(error) = connect().await {
            if begun.elapsed() > PATIENCE {
                return Err(error.context("the database does not start"));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    async fn run(&self, accounts: u32) -> anyhow::Result<()> {
        let client = connect(&self.config()).await?;
        let created = format!(
            "DROP TABLE IF EXISTS account;
             CREATE TABLE account (id int PRIMARY KEY, gold int NOT NULL) WITH (fillfactor = 50);
             INSERT INTO account SELECT id, {GOLD} FROM generate_series(0, {accounts} - 1) id;
             {PROCEDURE}"
        );
        client.batch_execute(&created).await?;
        client.batch_execute("VACUUM ANALYZE account").await?;
        Ok(())
    }

    async fn sum(&self) -> anyhow::Result<i64> {
        let sum = async {
            let client = connect(&self.config()).await?;
            let row = client.query_one("SELECT sum(gold)::bigint FROM account", &[]);
            anyhow::Ok(row.await?.get(0))
        };
        LocalSet::new().run_until(sum).await
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A fast shutdown.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGINT);
        let _ = self.child.wait();
    }
}

/// The folder of the server's programs: on the path, or where Debian has them.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path);
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let versions = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    let has_all = |bin: &PathBuf| {
        ["initdb", "postgres"]
            .iter()
            .all(|name| bin.join(name).is_file())
    };
    on_path.chain(versions).find(has_all)
}

/// Locks in one order, so that transfers never wait for each other in a circle.
const PROCEDURE: &str = "
    CREATE OR REPLACE FUNCTION transfer(sender int, receiver int, amount int) RETURNS bool AS $$
    BEGIN
        PERFORM FROM account WHERE id IN (sender, receiver) ORDER BY id FOR UPDATE;
        UPDATE account SET gold = gold - amount WHERE id = sender AND gold >= amount;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        UPDATE account SET gold = gold + amount WHERE id = receiver;
        RETURN true;
    END $$ LANGUAGE plpgsql;";
/// The user without rights.
const NOBODY: u32 = 65534;
/// How far apart clients begin in what was drawn.
const STRIDE: u64 = 17_389;
const PATIENCE: Duration = Duration::from_secs(30);
