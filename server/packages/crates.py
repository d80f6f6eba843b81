"""The crates of clients for crates.io. In the repository they have short names, which are others'
there: what is packaged is a copy, whose packages have the names below. Libraries keep theirs, so
code and examples stay as they are. Left out are tests and examples, which need the server."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from common import ABOUT, LICENSES, PACKAGE, ROOT, TARGET, VERSION, copy, fresh, run, write

# Each after those that it uses: the order of publication.
CRATES = {
    "shared": ("myriad-shared", "shared"),
    "program": ("myriad-program", "shared/program"),
    "quic": ("myriad-quic", "shared/quic"),
    "tokens": ("myriad-tokens", "shared/tokens"),
    "script": ("myriad-script", "gpu-kernels/script"),
    "client-core": ("myriad-client-core", "client-bot/core"),
    "client-bot": ("myriad-client", "client-bot"),
    "bevy-myriad": ("bevy-myriad", "client-bot/bevy"),
}
# What they use of the workspace, beside each other.
LEFT_OUT = re.compile(r"tests/|examples/|fuzz/|target/|Cargo\.lock")


def build(options):
    folder = fresh(TARGET / "packages" / "crates")
    staged(folder)
    words = ["cargo", "package", "--workspace", "--no-verify", "--allow-dirty", "--target-dir", TARGET / "crates"]
    run(*words, cwd=folder)
    paths = []
    for name, _ in CRATES.values():
        path = options.out / f"{name}-{VERSION}.crate"
        shutil.copyfile(TARGET / "crates/package" / path.name, path)
        paths.append(path)
    return paths


def staged(folder):
    """A workspace of the copies."""
    others = [path for _, path in CRATES.values()]
    for crate, (_, path) in CRATES.items():
        inner = [other for other in others if other.startswith(f"{path}/")]
        for file in run("git", "ls-files", "--cached", "--others", "--exclude-standard", path, cwd=ROOT).split():
            below = file[len(path) + 1:]
            is_inner = any(file.startswith(f"{other}/") for other in inner)
            is_other = path == "client-bot" and below.split("/")[0] in ("ffi", "godot", "python", "web")
            if not (is_inner or is_other or LEFT_OUT.match(below)):
                copy(ROOT / file, folder / crate / below)
        manifest = folder / crate / "Cargo.toml"
        write(manifest, changed(crate, manifest.read_text()))
        for license in LICENSES:
            copy(ROOT / license, folder / crate / license)
        if not (folder / crate / "README.md").exists():
            write(folder / crate / "README.md", readme(crate, folder / crate / "src/lib.rs"))
    write(folder / "Cargo.toml", workspace())


def changed(crate, text):
    """A manifest under its name of the registry, without its tests."""
    name, _ = CRATES[crate]
    library = crate.replace("-", "_")
    kept = []
    for table in re.split(r"^(?=\[)", text, flags=re.M):
        heading = table.split("\n")[0]
        if heading in ("[[test]]", "[[example]]", "[dev-dependencies]", "[workspace]"):
            continue
        if heading == "[package]":
            table = re.sub(r'^name = ".*"', f'name = "{name}"', table, flags=re.M)
            table = re.sub(r"^(# One program of tests.*|autotests = .*|readme = .*)\n", "", table, flags=re.M)
            table = re.sub(r"^publish.*\n", "", table, flags=re.M)
            table = re.sub(r"^((?:version|edition|rust-version|license)) = .*$", r"\1.workspace = true", table, flags=re.M)
            homepage = f'repository = "{ABOUT["homepage"]}"\n' if ABOUT["homepage"] else ""
            table = table.rstrip() + f'\n{homepage}readme = "README.md"\n\n[lib]\nname = "{library}"\n\n'
        kept.append(table)
    text = "".join(kept)
    # Those of the plugin for Bevy, which is a workspace of its own.
    for other, (published, _) in CRATES.items():
        source = f'path = "../{other}", package = "{published}", version = "{VERSION}"'
        text = re.sub(rf'^({other} = {{ )path = "[^"]*"', rf"\g<1>{source}", text, flags=re.M)
    return text


def workspace():
    root = (ROOT / "Cargo.toml").read_text()
    dependencies = re.search(r"^\[workspace\.dependencies\]\n(.*?)^\[", root, re.M | re.S)[1]
    lines = []
    for line in dependencies.split("\n"):
        name = line.split(" = ")[0]
        if name in CRATES:
            published = CRATES[name][0]
            line = re.sub(r'path = "[^"]*"', f'path = "{name}", package = "{published}", version = "{VERSION}"', line)
        elif 'path = "' in line:
            continue
        lines.append(line)
    members = ", ".join(f'"{crate}"' for crate in CRATES)
    package = "\n".join(f'{key} = "{PACKAGE[key]}"' for key in ("version", "edition", "rust-version", "license"))
    return "\n".join([
        f'[workspace]\nresolver = "3"\nmembers = [{members}]\n',
        f"[workspace.package]\n{package}\n",
        "[workspace.dependencies]", *lines])


def readme(crate, library):
    """Where a crate has no page: what its documentation begins with."""
    lines = []
    for line in library.read_text().split("\n"):
        if not line.startswith("//!"):
            break
        lines.append(line[4:])
    first = "\n".join(lines).split("\n\n")[0]
    return f"# {CRATES[crate][0]}\n\n{first}\n\nA part of the game-server engine Myriad.\n"


def test(paths):
    """The packages, and nothing else of this project, are a workspace that resolves."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        names = []
        for path in paths:
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
            names.append(path.name[:-len(".crate")])
            inside = {file.name for file in (folder / names[-1]).iterdir()}
            assert {"Cargo.toml", "README.md", "src", *LICENSES} <= inside, inside
        patches = "\n".join(f'{name[:-len(VERSION) - 1]} = {{ path = "../{name}" }}' for name in names)
        write(folder / "game/Cargo.toml", f"""\
[package]
name = "game"
version = "0.0.0"
edition = "2024"

[dependencies]
client-bot = {{ package = "myriad-client", version = "{VERSION}", default-features = false }}

[patch.crates-io]
{patches}
""")
        write(folder / "game/src/main.rs", GAME)
        environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET / "crates-test")}
        words = ["cargo", "check", "--quiet"]
        done = subprocess.run(words, cwd=folder / "game", env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


GAME = """\
use client_bot::client_core::GameOptions;
use client_bot::{GameClient, Trust};

fn main() {
    let address: std::net::SocketAddr = ([127, 0, 0, 1], 4433).into();
    let game = GameClient::new(address, "localhost", &Trust::AnyCertificate, GameOptions::default());
    assert!(game.is_ok());
}
"""
