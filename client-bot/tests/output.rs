//! `myriad-bot` where its output is not read, and where a signal ends it.

use std::fs::File;
use std::io::Read;
use std::net::UdpSocket;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

fn bots(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_myriad-bot"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn full() -> File {
    File::options()
        .write(true)
        .open("/dev/full")
        .expect("a full device")
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    for arguments in [["--help"], ["--version"]] {
        let output = bots(&arguments).stdout(full()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains("cannot write to standard output"),
            "{stderr}"
        );
    }
    // Where errors can't be written either, the status is left.
    let status = bots(&["--help"]).stdout(full()).stderr(full()).status();
    assert_eq!(status.unwrap().code(), Some(1));
    let status = bots(&["--clients", "0"]).stderr(full()).status();
    assert_eq!(status.unwrap().code(), Some(2));
}

#[test]
fn a_signal_ends_bots_that_nobody_answers() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = silent.local_addr().unwrap().to_string();
    let mut child = bots(&[&server, "--insecure", "--clients", "2"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = [0; 10];
    let mut errors = child.stderr.take().unwrap();
    errors.read_exact(&mut stderr).expect("a line of progress");
    assert_eq!(&stderr, b"connecting");
    let pid = child.id().to_string();
    let status = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(status.unwrap().success());
    // As a shell expects it.
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}
