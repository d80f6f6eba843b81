"""Shared parts of the packages: the project's facts, its programs, and archives whose bytes depend
only on what is in them."""

import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ABOUT = tomllib.loads((HERE / "about.toml").read_text())
PACKAGE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
VERSION, LICENSE = PACKAGE["version"], PACKAGE["license"]
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


class Missing(Exception):
    """What a package or its test needs, and this machine lacks: it is skipped."""


def run(*words, **options):
    """Runs a program, and gives what it prints. Its errors end this one."""
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def tool(name):
    """The path of a program."""
    path = shutil.which(name)
    if path is None:
        raise Missing(f"there is no {name}")
    return path


def machine():
    """The processor's name as Rust has it."""
    return os.uname().machine


def built(profile, package, file, features=()):
    """A file that cargo builds of a package, with a profile."""
    words = ["cargo", "build", "--locked", "--profile", profile, "--package", package]
    if features:
        words += ["--features", ",".join(features)]
    done = subprocess.run(words, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed")
    folder = "debug" if profile == "dev" else profile
    return TARGET / folder / file


def myriad(options):
    """The server's program: the given one, or one that cargo builds with all its features."""
    return options.myriad or built(options.profile, "server", "myriad", ["full"])


def epoch():
    """The time of all files in archives: that of the newest commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or run("git", "log", "-1", "--format=%ct", cwd=ROOT))


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write(path, content, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)


def copy(source, path, mode=0o644):
    write(path, source.read_bytes(), mode)


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def write_tar(folder, path, prefix):
    """A folder as a .tar.gz, below a prefix."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in files(folder):
            entry = tar.gettarinfo(file, f"{prefix}/{file.relative_to(folder)}")
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = epoch()
            with file.open("rb") as content:
                tar.addfile(entry, content)
    path.write_bytes(zipped(packed.getvalue()))


def zipped(content):
    """Bytes in gzip, without a name and a time."""
    return gzip.compress(content, 9, mtime=0)


def write_zip(folder, path):
    when = time.gmtime(max(epoch(), 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files(folder):
            entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), when)
            entry.external_attr = file.stat().st_mode << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())


def python_with(packages, name):
    """A Python of its own with these packages."""
    folder = TARGET / "packages-python" / name
    python = folder / "bin/python"
    noted = folder / "packages.txt"
    wanted = "\n".join(packages)
    if not noted.exists() or noted.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", folder)
        words = [python, "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "20", *packages]
        if packages and subprocess.run(words).returncode != 0:
            raise Missing(f"cannot install {wanted}")
        noted.write_text(wanted)
    return python


def glibc(binary):
    """The lowest version of glibc that has all that a binary uses."""
    found = re.findall(rb"GLIBC_(\d+)\.(\d+)", binary.read_bytes())
    return max((int(major), int(minor)) for major, minor in found)
