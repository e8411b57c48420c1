"""The compiled reader of memory snapshots under attack: sanitizers, then both readers compared.

    python benchmarks/fuzz_snapshot.py [--mutants N] [--seed S]

Mutants of small snapshots go through the compiled reader, built with the sanitizers of addresses
and of undefined behaviour, in pieces of drawn sizes; then through both readers of the package,
whose tables, health and refusals must be equal.  The exit code is 1 where anything failed.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

import polars as pl  # noqa: E402

from memory_snapshots import train  # noqa: E402
from timesink.errors import TimesinkError  # noqa: E402
from timesink.formats.memory_snapshot.compiled import compiled_parts  # noqa: E402
from timesink.formats.readers import read_trace  # noqa: E402
from timesink.formats.source_file import open_source  # noqa: E402
from timesink.runtime.native import NATIVE_VARIABLE, native_module  # noqa: E402

FLAGS = ["-std=c++17", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
FLAGS += ["-fsanitize=address,undefined"]
TABLES = ("memory", "memory_blocks", "memory_segments")
_INSTRUCTIONS = b"h}](\x94uesaNKMJ\x8aG\x8c\x85\x86\x87t)jX."
_FILES_AT_ONCE = 200


def snapshots() -> list[bytes]:
    """Small snapshots, of all sorts that there are."""
    named = train(3).snapshot()
    for number, event in enumerate(named["device_traces"][0]):
        event["frames"] = [
            *event["frames"],
            {"name": "\u00fcn\u00ef" * 200, "filename": "\u65e5.py", "line": number % 3},
        ]
        if not number % 5:
            event["user_metadata"] = f"note {number % 3}"
    mark = {"name": "ProfilerStep#1", "device": 0, "time_us": 5, "stage": "START"}
    named["external_annotations"] = [mark]
    plain = train(4).snapshot()
    values = [plain, train(4, fails=True).snapshot(), train(3, leak=5000).snapshot(keep=50)]
    values += [train(2).snapshot(old=True), named]
    return [*(pickle.dumps(value, 4) for value in values), pickle.dumps(plain, 5)]


def mutants(count: int, seed: int) -> Iterator[bytes]:
    """Snapshots as they are, then with bytes changed, lost and added."""
    draw, bases = random.Random(seed), snapshots()  # noqa: S311 - nothing secret
    yield from bases
    for number in range(count - len(bases)):
        data = bytearray(bases[number % len(bases)])
        for _ in range(draw.randint(1, 4)):
            place, sort = draw.randrange(len(data)), draw.random()
            if sort < 0.6:
                data[place] = draw.choice([draw.randrange(256), *_INSTRUCTIONS])
            elif sort < 0.75:
                del data[place : place + draw.randint(1, 4)]
            elif sort < 0.95:
                data[place:place] = data[place : place + draw.randint(1, 6)]
            else:
                del data[max(place, 2) :]
        yield bytes(data)


def answer_of(path: Path, *, is_native: bool) -> Any:
    """What one of the readers makes of a file."""
    os.environ[NATIVE_VARIABLE] = "1" if is_native else "0"
    try:
        trace = read_trace(path)
    except TimesinkError as error:
        return str(error)
    texts = pl.col(pl.Categorical).cast(pl.String)
    tables = [trace.lazy(name).with_columns(texts).collect().to_dicts() for name in TABLES]
    return tables, trace.metadata, sorted(map(str, trace.health))


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
        subprocess.run(build, check=True)  # noqa: S603 - the compiler of this machine
        for start in range(0, len(files), _FILES_AT_ONCE):
            subprocess.run(
                [program, *files[start : start + _FILES_AT_ONCE]],
                check=True,
                stdout=subprocess.DEVNULL,
            )  # noqa: S603
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
