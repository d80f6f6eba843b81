#!/usr/bin/env python3
"""Rebuilds prebuilt/kernels.fatbin and its manifest from the kernels beside this.

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
PREBUILT = KERNELS.parent / "prebuilt"
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
    arguments = parser.parse_args()
    nvcc, includes = find_compiler(arguments)
    sources = {p.name: sha256(p) for p in sorted(KERNELS.glob("*.cu*"))}
    combined = hashlib.sha256("".join(f"{n} {h}\n" for n, h in sources.items()).encode())
    sources_hash = combined.hexdigest()[:16]
    fatbin = PREBUILT / "kernels.fatbin"
    PREBUILT.mkdir(exist_ok=True)
    command = [nvcc, "-fatbin", *FLAGS, f"-DSOURCES_HASH=0x{sources_hash}ull",
               *[f"-I{path}" for path in includes], KERNELS / "all.cu", "-o", fatbin]
    subprocess.run([str(part) for part in command], check=True)
    version = subprocess.run([str(nvcc), "--version"], check=True, capture_output=True, text=True)
    manifest = {
        "compiler": version.stdout.strip().splitlines()[-1],
        "flags": FLAGS,
        "sources": sources,
        "sources_hash": sources_hash,
        "fatbin": sha256(fatbin),
    }
    (PREBUILT / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    print(f"{fatbin.stat().st_size} bytes, sources {sources_hash}")


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
