#!/usr/bin/env python3
"""Rebuilds the page's client, prebuilt/game.wasm, from its sources.

Needs Python 3.9, Rust with the target wasm32-unknown-unknown, and npx of Node.js, which fetches
wasm-opt: `rustup target add wasm32-unknown-unknown`.
"""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

CRATE = Path(__file__).resolve().parent
ROOT = CRATE.parents[1]
# What is compiled into it.
FOLDERS = ["client-bot/web/src", "client-bot/core/src", "shared/src", "gpu-kernels/script/src"]
TARGET = "wasm32-unknown-unknown"
# Another version may give other bytes.
BINARYEN = "binaryen@132.0.0"
# What Rust's target uses, and all browsers with WebTransport have.
FEATURES = ["bulk-memory", "multivalue", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext"]


def main():
    cargo = os.environ.get("CARGO", "cargo")
    # Nothing of the machine is in the file.
    flags = f"--remap-path-prefix={ROOT}=. --remap-path-prefix={Path.home()}=~"
    # Of 20 to 150 this gives the smallest file; what `opt-level` stands for, 15 KB more.
    flags += " -Cllvm-args=-inline-threshold=100"
    environment = {**os.environ, "RUSTFLAGS": flags}
    command = [cargo, "build", "--locked", "--profile", "web", "--target", TARGET, "-p", "client-web"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    wasm = optimized(target / TARGET / "web/client_web.wasm")
    prebuilt = CRATE / "prebuilt"
    prebuilt.mkdir(exist_ok=True)
    (prebuilt / "game.wasm").write_bytes(wasm)
    hashes = f"sources {sources_hash()}\nwasm {hashlib.sha256(wasm).hexdigest()}\n"
    (prebuilt / "hashes.txt").write_text(hashes)
    print(f"prebuilt/game.wasm: {len(wasm)} bytes\n{hashes}", end="")


def optimized(wasm):
    """The bytes of a file of WebAssembly without what Rust's compiler leaves: a sixth. Generic functions
    that differ in a call or a number are one, before the others are made smaller: 6 KB."""
    with tempfile.TemporaryDirectory() as folder:
        smaller = Path(folder) / "game.wasm"
        command = ["npx", "--yes", "--package", BINARYEN, "wasm-opt", "--merge-similar-functions", "-Oz", wasm, "-o", smaller]
        command += [f"--enable-{feature}" for feature in FEATURES]
        subprocess.run(command, cwd=folder, check=True)
        return smaller.read_bytes()


def sources_hash():
    """The hash of a list of all sources with their hashes, sorted by path."""
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.rs"))
    lines = [f"{path.relative_to(ROOT).as_posix()} {sha256(path)}\n" for path in paths]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
