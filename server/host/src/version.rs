//! What this program is: its version, its commit, and the versions of what it reads and writes.

use std::sync::LazyLock;

use durability::{checkpoint, recording, segment};
use gpu_kernels::tick;
use shared::wire::PROTOCOL_VERSION;

/// The version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that it was built from, or `unknown`.
pub const COMMIT: &str = env!("MYRIAD_COMMIT");

/// For `--version`: a version a line.
pub fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let lines = versions().map(|(name, version)| format!("\n{name}: {version}"));
        format!("{VERSION}{}", lines.concat())
    });
    &TEXT
}

/// Name and version of each, for programs as well. Two builds whose lines from `protocol` on are
/// the same can follow each other at a world's folder, its standby and its clients.
pub fn versions() -> [(&'static str, String); 6] {
    [
        ("commit", COMMIT.to_owned()),
        ("protocol", PROTOCOL_VERSION.to_string()),
        ("tick", tick::VERSION.to_string()),
        ("journal", text(segment::MAGIC)),
        ("checkpoint", text(checkpoint::MAGIC)),
        ("recording", text(recording::MAGIC)),
    ]
}

/// The labels of `myriad_build_info`.
pub fn labels() -> Vec<(&'static str, String)> {
    let mut labels = vec![("version", VERSION.to_owned())];
    labels.extend(versions());
    labels
}

fn text(magic: &[u8]) -> String {
    String::from_utf8_lossy(magic).into_owned()
}
