"""The client in Python as a wheel and a source distribution for PyPI."""

import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path

from common import LICENSES, ROOT, TARGET, VERSION, Missing, copy, fresh, python_with, run

SOURCE = ROOT / "client-bot/python"
HATCHLING = "hatchling==1.27.0"


def build(options):
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION, f"pyproject.toml has version {project['version']}, not {VERSION}"
    folder = fresh(TARGET / "packages" / "wheel")
    shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("__pycache__", "venv"))
    for file in LICENSES:
        copy(ROOT / file, folder / "source" / file)
    python = python_with([HATCHLING], "hatchling")
    run(python, "-m", "hatchling", "build", "--directory", options.out.resolve(), cwd=folder / "source")
    return options.out / f"myriad_client-{VERSION}-py3-none-any.whl"


def test(path):
    # With its dependencies, as pip finds them.
    python = python_with([], "wheel-test")
    with tempfile.TemporaryDirectory() as folder:
        # Neither the repository nor the current folder is where it imports from.
        pip = [python, "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "20"]
        run(*pip, "--no-deps", "--force-reinstall", path, cwd=folder)
        # What it depends on, which a registry has.
        if subprocess.run([*pip, path], cwd=folder, capture_output=True).returncode != 0:
            raise Missing("it is not used: its dependencies cannot be installed")
        assert run(python, "-I", "-c", USE, cwd=folder).strip() == VERSION
        golden = ROOT / "shared/tests/protocol/golden.json"
        check = SOURCE / "check_golden.py"
        copy(check, Path(folder) / check.name)
        assert " 0 read otherwise" in run(python, "-B", check.name, golden, cwd=folder)


USE = """
import importlib.metadata, inspect, myriad
assert "site-packages" in myriad.__file__, myriad.__file__
assert inspect.iscoroutinefunction(myriad.Client.tick)
print(importlib.metadata.version("myriad-client"))
"""
