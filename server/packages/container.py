"""The server as an image of a container, from server/deploy/Containerfile."""

import shutil
import subprocess

from common import ROOT, VERSION, Missing, run

TAG = f"myriad:{VERSION}"


def engine():
    for name in ("podman", "docker"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True).returncode == 0:
            return name
    raise Missing("there is no podman, and no docker that runs")


def build(options):
    name = engine()
    commit = run("git", "rev-parse", "--short", "HEAD", cwd=ROOT).strip()
    run(name, "build", "--file", "server/deploy/Containerfile", "--build-arg", f"COMMIT={commit}",
        "--tag", TAG, ".", cwd=ROOT)
    path = options.out / f"myriad-{VERSION}-container.tar"
    path.unlink(missing_ok=True)
    run(name, "save", "--output", path, TAG)
    return path


def test(path):
    name = engine()
    run(name, "load", "--input", path)
    assert run(name, "run", "--rm", TAG, "-V") == f"myriad {VERSION}\n"
    run(name, "run", "--rm", TAG, "demo", "--clients", "10", "--seconds", "1")
