#!/usr/bin/env python3
"""Builds the packages of this version into dist/, and tries them.

    python3 server/packages/build.py                     all of them, as they are published
    python3 server/packages/build.py npm wheel           only these
    python3 server/packages/build.py test                installs each where nothing else is, and uses it
    python3 server/packages/build.py --profile dev deb   with a debug build, to work on packages

What this machine can't build or test is skipped, with the reason. It is an error if all is skipped.
"""

import argparse
import sys
from pathlib import Path

# Nothing is written beside the sources.
sys.dont_write_bytecode = True

import container
import crates
import godot
import linux
import npm
import nuget
import wheel
from common import ROOT, Missing

PACKAGES = {
    "tarball": (linux.build_tarball, linux.test_tarball),
    "deb": (linux.build_deb, linux.test_deb),
    "npm": (npm.build, npm.test),
    "wheel": (wheel.build, wheel.test),
    "nuget": (nuget.build, nuget.test),
    "godot": (godot.build, godot.test),
    "crates": (crates.build, crates.test),
    "container": (container.build, container.test),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="PACKAGE",
                        help=f"{', '.join(PACKAGES)} (all); `test` first: tests them, too")
    parser.add_argument("--profile", default="dist", help="how programs are built (dist)")
    parser.add_argument("--myriad", type=Path, help="program of the server that is built already")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the packages (dist)")
    options = parser.parse_args()
    tests = options.what[:1] == ["test"]
    names = options.what[1:] if tests else options.what
    unknown = [name for name in names if name not in PACKAGES]
    if unknown:
        parser.error(f"{', '.join(unknown)}: expected any of {', '.join(PACKAGES)}")
    if options.myriad and not options.myriad.is_file():
        parser.error(f"{options.myriad}: no such file")
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)

    done = skipped = 0
    for name in names or PACKAGES:
        build, test = PACKAGES[name]
        try:
            built = build(options)
        except Missing as reason:
            skipped += 1
            print(f"{name}: skipped, {reason}", flush=True)
            continue
        paths = built if isinstance(built, list) else [built]
        for path in paths:
            print(f"{name}: {path} ({path.stat().st_size / 1e6:.1f} MB)", flush=True)
        done += 1
        if tests:
            try:
                test(built)
                print(f"{name}: installed and used", flush=True)
            except Missing as reason:
                skipped += 1
                print(f"{name}: tested in part, {reason}", flush=True)
    print(f"{done} packages, {skipped} skipped or tested in part")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
