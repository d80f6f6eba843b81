#!/usr/bin/env python3
"""Rebuilds the prebuilt kernels: those of the library, of the tick and of the engines.

Needs Python 3.9 and a C++ compiler, and no root. Without --nvcc, NVIDIA's
compiler is installed from PyPI into a virtual environment at --toolkit.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import venv
from pathlib import Path

KERNELS = Path(__file__).resolve().parent
CRATE = KERNELS.parent
# By crate: the folders of its sources, and the file that includes all of them.
MODULES = {
    CRATE / "device": ([KERNELS / "lib"], KERNELS / "lib/all.cu"),
    CRATE: ([KERNELS / name for name in ("lib", "tick", "content")], KERNELS / "tick/all.cu"),
    CRATE / "engines": (
        [KERNELS / "lib", KERNELS / "content", CRATE / "engines/kernels"],
        CRATE / "engines/kernels/all.cu",
    ),
}
# The last two pins keep the assembler and the compiler's front end of one version.
PACKAGES = [
    "cuda-toolkit[nvcc,cccl,cudart]==13.0.2",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
]
# Machine code for common GPUs; PTX for those to come.
FLAGS = ["-std=c++17", "-O3", "--compress-mode=size", "--expt-relaxed-constexpr", "--extended-lambda"] + [
    f"-gencode=arch=compute_{cc},code=sm_{cc}" for cc in (80, 86, 89, 90, 100, 120)
] + ["-gencode=arch=compute_80,code=compute_80"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--toolkit", type=Path, default=KERNELS.parents[1] / ".cuda",
                        help="where to install the compiler [default: .cuda in the repository]")
    parser.add_argument("--nvcc", type=Path, help="a compiler that is there already")
    parser.add_argument("--check", action="store_true",
                        help="compile for one GPU and keep nothing: to find mistakes quickly")
    parser.add_argument("--only", choices=[crate.name for crate in MODULES],
                        help="build the kernels of one crate")
    arguments = parser.parse_args()
    nvcc, includes = find_compiler(arguments)
    version = subprocess.run([str(nvcc), "--version"], check=True, capture_output=True, text=True)
    compiler = version.stdout.strip().splitlines()[-1]
    for crate, (folders, source) in MODULES.items():
        if arguments.only not in (None, crate.name):
            continue
        build(crate, folders, source, [nvcc, *[f"-I{path}" for path in includes]], compiler, arguments.check)


def build(crate, folders, source, command, compiler, check):
    paths = sorted(path for folder in folders for path in folder.glob("*.cu*"))
    sources = {path.relative_to(CRATE).as_posix(): sha256(path) for path in paths}
    combined = hashlib.sha256("".join(f"{name} {digest}\n" for name, digest in sources.items()).encode())
    sources_hash = combined.hexdigest()[:16]
    prebuilt = crate / "prebuilt"
    prebuilt.mkdir(exist_ok=True)
    fatbin = prebuilt / "kernels.fatbin"
    target = Path("/dev/null") if check else fatbin
    flags = [flag for flag in FLAGS if "gencode" not in flag] + ["-arch=sm_90"] if check else FLAGS
    command = [*command, "-fatbin", *flags, f"-DSOURCES_HASH=0x{sources_hash}ull",
               f"-I{KERNELS}", f"-I{source.parent}", source, "-o", target]
    subprocess.run([str(part) for part in command], check=True)
    if check:
        return
    manifest = {"compiler": compiler, "flags": FLAGS, "sources": sources, "fatbin": sha256(fatbin)}
    (prebuilt / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    (prebuilt / "sources.hash").write_text(sources_hash + "\n")
    print(f"{fatbin.relative_to(CRATE)}: {fatbin.stat().st_size} bytes, sources {sources_hash}")


def find_compiler(arguments):
    if arguments.nvcc:
        return arguments.nvcc, []
    if not list(arguments.toolkit.glob("lib/python3*/site-packages/nvidia/cu13/bin/nvcc")):
        print(f"installing the compiler into {arguments.toolkit}", file=sys.stderr)
        venv.create(arguments.toolkit, with_pip=True)
        subprocess.run([arguments.toolkit / "bin/pip", "install", "--quiet", *PACKAGES], check=True)
    root = next(arguments.toolkit.glob("lib/python3*/site-packages/nvidia/cu13"))
    return root / "bin/nvcc", [root / "include/cccl", root / "include"]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
