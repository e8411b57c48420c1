"""The compiled reader of memory snapshots under attack: sanitizers, then both readers compared.

    python benchmarks/fuzz_snapshot.py [--mutants N] [--seed S]

Mutants of small snapshots go through the compiled reader, built with the sanitizers of addresses
and of undefined behaviour, in pieces of drawn sizes; then through both readers of the package,
whose tables, health and refusals must be equal.  The exit code is 1 where anything failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from memory_snapshots import answer_of, mutants  # noqa: E402
from timesink.formats.memory_snapshot.compiled import compiled_parts  # noqa: E402
from timesink.formats.source_file import open_source  # noqa: E402
from timesink.runtime.native import native_module  # noqa: E402

FLAGS = ["-std=c++17", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
FLAGS += ["-fsanitize=address,undefined"]
_FILES_AT_ONCE = 200


def main() -> int:
    """Build, attack, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if native_module() is None:
        print("nothing was compiled")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = []
        for number, content in enumerate(mutants(options.mutants, options.seed)):
            files.append(folder / f"{number:06}.pickle")
            files[-1].write_bytes(content)
        program = folder / "attack"
        source = ROOT / "benchmarks" / "fuzz_snapshot.cpp"
        build = [os.environ.get("CXX", "c++"), *FLAGS, str(source), "-o", str(program)]
        subprocess.run(build, check=True)
        for start in range(0, len(files), _FILES_AT_ONCE):
            subprocess.run(
                [program, *files[start : start + _FILES_AT_ONCE]],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        native = readable = 0
        differing = []
        for file in files:
            by_native, by_python = (answer_of(file, is_native=way) for way in (True, False))
            readable += not isinstance(by_python, str)
            native += compiled_parts(open_source(file)) is not None
            if by_native != by_python:
                differing.append(file.name)
    print(f"{len(files)} files: sanitizers found nothing; {readable} can be read,")
    print(f"{native} of them by compiled code; {len(differing)} differ {differing[:5]}")
    return int(bool(differing))


if __name__ == "__main__":
    raise SystemExit(main())
