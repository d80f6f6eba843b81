"""The server for Linux: a tarball, and a package for Debian and its relatives."""

import os
import subprocess
import tempfile
from pathlib import Path

from common import (ABOUT, LICENSE, LICENSES, ROOT, TARGET, VERSION, copy, epoch, files, fresh, glibc,
                    machine, myriad, run, tool, write, write_tar, zipped)

COMPLETIONS = {
    "bash": "share/bash-completion/completions/myriad",
    "zsh": "share/zsh/site-functions/_myriad",
    "fish": "share/fish/vendor_completions.d/myriad.fish",
}
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
EXAMPLES = "server/worlds"


def name():
    return f"myriad-{VERSION}-{machine()}-linux"


def build_tarball(options):
    folder = fresh(TARGET / "packages" / "tarball")
    tree(folder, myriad(options))
    for file in LICENSES:
        copy(ROOT / file, folder / file)
    write(folder / "README", README)
    path = options.out / f"{name()}.tar.gz"
    write_tar(folder, path, name())
    return path


def build_deb(options):
    dpkg_deb = tool("dpkg-deb")
    folder = fresh(TARGET / "packages" / "deb")
    binary = myriad(options)
    tree(folder / "usr", binary, "share/doc/myriad/examples")
    unit = (ROOT / "server/deploy/myriad.service").read_text()
    unit = unit.replace("/usr/local/bin/", "/usr/bin/")
    write(folder / "usr/lib/systemd/system/myriad.service", unit)
    write(folder / "usr/share/doc/myriad/copyright", copyright_text())
    write(folder / "usr/share/doc/myriad/changelog.gz", zipped(changelog().encode()))
    for page in (folder / "usr/share/man/man1").iterdir():
        write(page.with_name(f"{page.name}.gz"), zipped(page.read_bytes()))
        page.unlink()
    size = sum(file.stat().st_size for file in files(folder)) // 1024
    write(folder / "DEBIAN/control", control(glibc(binary), size))
    for each in folder.rglob("*"):
        if each.is_dir():
            each.chmod(0o755)
    path = options.out / f"myriad_{VERSION}-1_{DEBIAN[machine()]}.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch())}
    run(dpkg_deb, "--build", "--root-owner-group", "-Zxz", folder, path, env=environment)
    return path


def tree(folder, binary, examples="share/myriad/examples"):
    """What belongs below /usr or /usr/local."""
    copy(binary, folder / "bin/myriad", 0o755)
    pages = folder / "share/man/man1"
    run(binary, "man", pages)
    for page in pages.iterdir():
        page.chmod(0o644)
    for shell, path in COMPLETIONS.items():
        write(folder / path, run(binary, "completions", shell))
    listed = run("git", "ls-files", EXAMPLES, cwd=ROOT).split("\n")
    for file in filter(lambda file: file.endswith((".toml", ".rs")), listed):
        copy(ROOT / file, folder / examples / Path(file).relative_to(EXAMPLES))


def control(libc, size):
    homepage = f"Homepage: {ABOUT['homepage']}\n" if ABOUT["homepage"] else ""
    return f"""\
Package: myriad
Version: {VERSION}-1
Architecture: {DEBIAN[machine()]}
Maintainer: {ABOUT["authors"]} <{ABOUT["email"]}>
Installed-Size: {size}
Depends: libc6 (>= {libc[0]}.{libc[1]}), libgcc-s1
Recommends: ca-certificates
Section: games
Priority: optional
{homepage}Description: {ABOUT["summary"]}
 Clients send commands over QUIC, and at a fixed rate the server runs one tick
 of the whole world, on a CPU or on an NVIDIA GPU. Game logic is scripts, which
 are changed while the world runs.
"""


def copyright_text():
    mit = "\n".join(f" {line}" if line else " ." for line in (ROOT / "LICENSE-MIT").read_text().splitlines())
    return f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: myriad

Files: *
Copyright: {ABOUT["authors"]}
License: {LICENSE.replace("MIT OR", "MIT or")}

License: MIT
{mit}

License: Apache-2.0
 On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.
"""


def changelog():
    when = run("date", "--utc", "--rfc-email", f"--date=@{epoch()}").strip()
    author = f"{ABOUT['authors']} <{ABOUT['email']}>"
    return f"myriad ({VERSION}-1) unstable; urgency=medium\n\n  * Version {VERSION}.\n\n -- {author}  {when}\n"


def test_tarball(path):
    with tempfile.TemporaryDirectory() as folder:
        run("tar", "--extract", "--gzip", "--file", path, "--directory", folder)
        try_tree(Path(folder) / name(), "share/myriad/examples")


def test_deb(path):
    with tempfile.TemporaryDirectory() as folder:
        root, admin = Path(folder) / "root", Path(folder) / "admin"
        for each in (root, admin / "info", admin / "updates"):
            each.mkdir(parents=True)
        (admin / "status").touch()
        # The folder has no other package, so nothing that this one depends on.
        run(tool("dpkg"), f"--instdir={root}", f"--admindir={admin}", "--force-not-root",
            "--force-script-chrootless", "--force-depends", "--install", path)
        status = (admin / "status").read_text()
        assert "Status: install ok installed" in status, status
        unit = (root / "usr/lib/systemd/system/myriad.service").read_text()
        assert "ExecStart=/usr/bin/myriad serve" in unit, unit
        assert (root / "usr/share/man/man1/myriad-serve.1.gz").exists()
        try_tree(root / "usr", "share/doc/myriad/examples")
        run("dpkg", f"--instdir={root}", f"--admindir={admin}", "--force-not-root",
            "--force-script-chrootless", "--purge", "myriad")
        left = files(root)
        assert not left, left


def try_tree(folder, examples):
    """The program of an unpacked tree runs with nothing but what is there."""
    binary = folder / "bin/myriad"
    plain = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    assert run(binary, "-V", env=plain) == f"myriad {VERSION}\n"
    world = folder / examples / "hollow.toml"
    assert "is valid" in run(binary, "check", world, env=plain)
    for path in COMPLETIONS.values():
        assert "serve" in (folder / path).read_text(), path
    assert list((folder / "share/man/man1").glob("myriad.1*"))
    run("bash", "-c", f"source {folder / COMPLETIONS['bash']} && complete -p myriad")
    # A whole game of bots, over the network of this machine.
    words = [binary, "demo", "--clients", "10", "--seconds", "1", "--world", world]
    done = subprocess.run(words, env=plain, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


README = f"""\
Myriad {VERSION} for Linux

    bin/myriad demo          a server and 200 bots, in one process
    bin/myriad new mygame    a small game of your own
    bin/myriad doctor        what this machine lacks, if anything

Copy bin and share below /usr/local to have the manual pages (man myriad) and the completions of
bash, zsh and fish. The folder share/myriad/examples holds example worlds.
"""
