//! A real server for tests of workspaces beside the main one: the program `myriad`, found by
//! `MYRIAD_SERVER` or as the main workspace's debug build.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct Server {
    child: Child,
    pub address: String,
    pub fingerprint: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves the world of a file on a free port of this machine.
pub fn serve(world: &str) -> Server {
    let program = program();
    let mut child = Command::new(&program)
        .args(["serve", "--listen", "127.0.0.1:0", "--world"])
        .arg(world)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
    let output = child.stdout.take().expect("piped");
    let mut server = Server {
        child,
        address: String::new(),
        fingerprint: String::new(),
    };
    for line in BufReader::new(output).lines() {
        let line = line.expect("text");
        if let Some(address) = line.strip_prefix("listening on ") {
            server.address = address.to_owned();
        } else if let Some(fingerprint) = line.strip_prefix("fingerprint ") {
            server.fingerprint = fingerprint.to_owned();
            return server;
        }
    }
    panic!("the server ended before it printed its fingerprint");
}

fn program() -> PathBuf {
    if let Some(path) = env::var_os("MYRIAD_SERVER") {
        return path.into();
    }
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    target.unwrap_or(root).join("debug/myriad")
}
