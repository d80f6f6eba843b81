//! A PostgreSQL server with a folder and a socket of its own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::DEADLINE;

/// It ends when it is dropped.
pub struct Postgres {
    programs: PathBuf,
    /// In the system's folder for such, since others may not look into those of tests.
    folder: PathBuf,
    owner: Option<u32>,
    server: Option<Child>,
}

impl Postgres {
    /// A new server. `None`, and a line that says so, where there is none.
    pub fn start(name: &str) -> Option<Postgres> {
        let Some(programs) = programs() else {
            println!("skipped: there is no PostgreSQL (apt-get install postgresql)");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("myriad-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        // It refuses to run as root.
        let owner = rustix::process::getuid().is_root().then_some(NOBODY);
        chown(&folder, owner, owner).unwrap();
        let mut server = Postgres {
            programs,
            folder,
            owner,
            server: None,
        };
        let data = server.data();
        let made = server
            .program("initdb")
            .args([
                "--no-sync",
                "--auth=trust",
                "--username=myriad",
                "--encoding=UTF8",
            ])
            .args(["--pgdata", &data])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        server.resume();
        Some(server)
    }

    /// Starts it where it was stopped.
    pub fn resume(&mut self) {
        let (data, socket) = (self.data(), self.folder.display().to_string());
        let child = self
            .program("postgres")
            .args(["-D", &data, "-k", &socket, "-c", "listen_addresses="])
            .args(["-c", "fsync=off"])
            .spawn()
            .unwrap();
        self.server = Some(child);
        let begun = Instant::now();
        while self.run_sql("SELECT 1").is_none() {
            assert!(begun.elapsed() < DEADLINE, "the database does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it, and its connections.
    pub fn stop(&mut self) {
        let Some(mut child) = self.server.take() else {
            return;
        };
        let own = rustix::process::Pid::from_child(&child);
        // A fast shutdown.
        let _ = rustix::process::kill_process(own, rustix::process::Signal::INT);
        let _ = child.wait();
    }

    /// Where a world has its characters.
    pub fn place_of(&self, world: &str) -> String {
        let socket = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://myriad:secret-word@{socket}/postgres#{world}")
    }

    /// The result of a statement, as text.
    pub fn sql(&self, statement: &str) -> String {
        self.run_sql(statement).expect("a database that answers")
    }

    fn run_sql(&self, statement: &str) -> Option<String> {
        let socket = self.folder.display().to_string();
        let mut psql = self.program("psql");
        psql.args(["-h", &socket, "-U", "myriad", "-d", "postgres", "-At", "-c"]);
        let output = psql.arg(statement).stdout(Stdio::piped()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        output.status.success().then(|| text.trim().to_owned())
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(&self.folder);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command.stdout(Stdio::null());
        if let Some(owner) = self.owner {
            command.uid(owner).gid(owner);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folder of the newest version.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    folders.filter(|bin: &PathBuf| has_server(bin)).max()
}

fn has_server(bin: &Path) -> bool {
    bin.join("postgres").is_file() && bin.join("initdb").is_file()
}

/// The user without rights.
const NOBODY: u32 = 65534;
