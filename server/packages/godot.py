"""The extension for Godot as an addon: a zip to unpack into a project."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from common import LICENSES, ROOT, TARGET, VERSION, Missing, copy, fresh, machine, run, write, write_zip

GODOT = ROOT / "client-bot/godot"
LIBRARY = "libgodot_myriad.so"
PLATFORMS = {"x86_64": "linux.x86_64", "aarch64": "linux.arm64"}


def build(options):
    # A workspace of its own, with the profiles that cargo has.
    profile = options.profile if options.profile == "dev" else "release"
    target = TARGET / "godot"
    words = ["cargo", "build", "--locked", "--profile", profile]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    if subprocess.run(words, cwd=GODOT, env=environment).returncode != 0:
        sys.exit(f"{' '.join(words)} failed in {GODOT}")
    library = target / ("debug" if profile == "dev" else "release") / LIBRARY
    folder = fresh(TARGET / "packages" / "godot")
    addon = folder / "addons/myriad"
    file = "myriad.gdextension"
    text = (GODOT / "project/addons/myriad" / file).read_text()
    # An export warns of platforms whose library is not there.
    own = PLATFORMS[machine()]
    listed = re.sub(rf"^(?!{re.escape(own)} )\S+ = \"bin/.*\n", "", text, flags=re.M)
    write(addon / file, listed)
    name = re.search(rf"^{re.escape(own)} = \"bin/(.*)\"$", text, re.M)[1]
    copy(library, addon / "bin" / name)
    copy(GODOT / "README.md", addon / "README.md")
    for license in LICENSES:
        copy(ROOT / license, addon / license)
    path = options.out / f"myriad-godot-{VERSION}-{own}.zip"
    write_zip(folder, path)
    return path


def test(path):
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        addon = Path(folder) / "addons/myriad"
        text = (addon / "myriad.gdextension").read_text()
        libraries = re.findall(r"= \"(bin/.*)\"", text)
        entry = re.search(r"entry_symbol = \"(.*)\"", text)[1]
        assert libraries, text
        for library in libraries:
            assert hasattr(ctypes.CDLL(addon / library), entry), library
        godot = os.environ.get("GODOT") or shutil.which("godot")
        if godot is None:
            raise Missing("it is not loaded by Godot: there is no godot, and GODOT names none")
        write(Path(folder) / "project.godot", 'config_version=5\n[application]\nconfig/name="use"\n')
        run(godot, "--headless", "--import", "--path", folder)
        write(Path(folder) / "use.gd", "extends SceneTree\nfunc _init():\n\tprint(MyriadClient.new().join())\n\tquit()\n")
        assert "false" in run(godot, "--headless", "--path", folder, "--script", "use.gd")
