//! Disks that fill up or fail beneath a whole server.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A file system in memory that has little room. It ends when it is dropped.
pub struct SmallDisk {
    /// A process in whose view of the files it is mounted. It ends with its input.
    holder: Child,
    path: PathBuf,
}

impl SmallDisk {
    /// A disk of so many KiB, seen through an empty folder. `None`, and a line that says so,
    /// where users may not mount one.
    pub fn mount(folder: &Path, kib: u32) -> Option<SmallDisk> {
        let script = "mount -t tmpfs -o size=\"$2\"k tmpfs \"$1\" && echo mounted && read -r _";
        let holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount"])
            .args(["sh", "-c", script, "sh"])
            .arg(folder)
            .arg(kib.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut printed = String::new();
        let mut disk = match holder {
            Ok(holder) => {
                let path = format!("/proc/{}/root{}", holder.id(), folder.display());
                let path = PathBuf::from(path);
                SmallDisk { holder, path }
            }
            Err(error) => {
                println!("skipped: no disk can be mounted: {error}");
                return None;
            }
        };
        let output = disk.holder.stdout.take().expect("its output");
        let _ = BufReader::new(output).read_line(&mut printed);
        if printed.trim() != "mounted" || !disk.path.is_dir() {
            println!("skipped: this system lets users mount nothing");
            return None;
        }
        Some(disk)
    }

    /// Where it is, for all processes of this user.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes all room that is left.
    pub fn fill(&self) {
        let mut ballast = File::create(self.ballast()).unwrap();
        loop {
            match ballast.write(&[1; 4096]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Gives it back.
    pub fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// Lets syncs of journals fail in other processes. A sync that fails loses what was written
/// since the one before, as a disk and its system do.
pub struct FailingSyncs {
    library: PathBuf,
    /// While it is there, the next sync fails, and removes it.
    order: PathBuf,
    /// While it is there, syncs don't return.
    hang: PathBuf,
}

impl FailingSyncs {
    /// `None`, and a line that says so, where there is no C compiler.
    pub fn new(folder: &Path) -> Option<FailingSyncs> {
        let (source, library) = (folder.join("syncs.c"), folder.join("syncs.so"));
        fs::write(&source, include_str!("failing_syncs.c")).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]);
        let compiled = compiler.arg(&library).arg(&source).arg("-ldl").output();
        let Ok(compiled) = compiled else {
            println!("skipped: there is no C compiler");
            return None;
        };
        let printed = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{printed}");
        let order = folder.join("fail-a-sync");
        let hang = folder.join("hang-syncs");
        Some(FailingSyncs {
            library,
            order,
            hang,
        })
    }

    /// Puts it beneath a program.
    pub fn beneath(&self, program: &mut Command) {
        program.env("LD_PRELOAD", &self.library);
        program.env("FAIL_A_SYNC", &self.order);
        program.env("HANG_SYNCS", &self.hang);
    }

    /// Lets syncs hang.
    pub fn hang(&self) {
        File::create(&self.hang).unwrap();
    }

    /// Lets the next sync fail.
    pub fn fail(&self) {
        File::create(&self.order).unwrap();
    }
}
