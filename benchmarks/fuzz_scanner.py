"""The compiled part under attack: a fuzzer that follows coverage, then both readers compared.

`python benchmarks/fuzz_scanner.py` builds the scanner with the sanitizers of addresses and of
undefined behaviour, and runs it for `--seconds` on pieces of the tests' traces and what grows from
them.  Then it reads these inputs with the scanner and without: tables, health and metadata must be
equal.  It needs clang, with libFuzzer; the exit code is 1 where anything failed.

`--seconds 0 --mutants 10000` reads so many damaged and rearranged traces in both ways instead,
and needs no clang.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from builders import DIALECTS, to_bytes  # noqa: E402
from mutations import BASES, BYTE_MUTATIONS, NEUTRAL_MUTATIONS, VALUE_MUTATIONS, corpus  # noqa: E402
from timesink.errors import TimesinkError  # noqa: E402
from timesink.formats.chrome import decode  # noqa: E402
from timesink.formats.read_options import ReadOptions  # noqa: E402
from timesink.formats.source_file import read_trace  # noqa: E402
from timesink.runtime.native import NATIVE_VARIABLE, native_module  # noqa: E402
from timesink.runtime.workers import usable_cores  # noqa: E402

FLAGS = ["-std=c++17", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
SANITIZERS = "-fsanitize=fuzzer,address,undefined,float-cast-overflow"
MAX_INPUT = 4096
_EVENTS_OF_A_SEED = 6
_NO_SUCH_PLACE = (LookupError, TypeError, ValueError, AttributeError)
"""What a mutation raises where the ones before it left nothing for it."""


def plan_header() -> str:
    """The plan that the package gives its scanner, as C++."""
    taken: list[object] = []

    class Recorder:
        def __init__(self, *arguments: object) -> None:
            taken.extend(arguments)

    genuine, decode.PieceScanner = decode.PieceScanner, Recorder  # type: ignore[misc, assignment]
    try:
        decode.piece_scanner(brief=False)
    finally:
        decode.PieceScanner = genuine  # type: ignore[misc]
    groups, categories, phases, special, memory_name = taken
    lines = ["#pragma once", "inline void fill_plan(timesink::Scanner& s) {"]
    for name, has_arguments, keys, columns, kept, untimed, from_text in groups:  # type: ignore[attr-defined]
        lines.append(f"{{ timesink::GroupPlan plan; plan.name = {json.dumps(name)};")
        lines.append(f"plan.has_arguments = {int(has_arguments)}; plan.keys.emplace_back();")
        lines.append(f"plan.kept = {kept}; plan.is_untimed = {int(untimed)};")
        lines.append(f"plan.needs_text = {int(from_text)};")
        for text, kind, column, rank in keys:
            value = f"timesink::ValueType({kind})"
            lines.append(
                f"plan.keys.push_back({{{json.dumps(text)}, {value}, {column}, {rank}, 0, {{}}}});"
            )
        lines += [f"plan.columns.push_back(timesink::ValueType({kind}));" for kind in columns]
        lines.append("s.groups.push_back(plan); }")
    for field, places in (("categories", categories), ("phases", phases)):
        lines += [f"s.{field}.emplace_back({json.dumps(text)}, {group});" for text, group in places]  # type: ignore[attr-defined]
    names = ("other_category", "no_category", "dropped", "instant", "memory", "flow")
    lines += [f"s.{name} = {number};" for name, number in zip(names, special, strict=True)]  # type: ignore[call-overload]
    lines.append(f's.memory_name = {json.dumps(memory_name)}; s.slice_phase = "X"; }}')
    return "\n".join(lines)


def write_dictionary(path: Path) -> None:
    """Words that the fuzzer puts in: every key, category and phase, and odd values."""
    words = {
        *[
            "ph",
            "cat",
            "name",
            "pid",
            "tid",
            "ts",
            "dur",
            "id",
            "args",
            "X",
            "M",
            "C",
            "s",
            "[memory]",
        ]
    }
    plans = [decode._plan_of(name, brief=False) for name in decode.GROUPS]  # noqa: SLF001
    words |= {text for _, _, keys, *_ in plans for text, *_ in keys}
    words |= {str(category) for category in decode._CATEGORIES}  # noqa: SLF001
    texts = [f'"{word}"' for word in sorted(words)]
    texts += ["null", "true", "{}", "[]", '{"a":[', "\u00e9", "\u2028", r"\ud83d\ude00", r"\u0000"]
    texts += ["-0", "1e400", "1.0005", "8796093022208", "9000000000000000", "9223372036854775807"]
    escaped = ("".join(f"\\x{byte:02x}" for byte in text.encode()) for text in texts)
    path.write_text("\n".join(f'"{text}"' for text in escaped))


def write_seeds(folder: Path) -> int:
    """A few events of each kind from every trace of the tests, clean and damaged."""
    rng = random.Random(11)
    texts = [to_bytes(make()) for make in DIALECTS.values()] + [make() for make in BASES.values()]
    seeds: set[bytes] = set()
    for text in texts:
        document = json.loads(text)
        events = document if isinstance(document, list) else document["traceEvents"]
        for _ in range(12):
            some = rng.sample(events, min(len(events), _EVENTS_OF_A_SEED))
            seeds.add(json.dumps(some, indent=rng.choice([None, None, 1])).encode())
    for mutant in corpus():
        start = mutant.content.find(b"[")
        if mutant.ending == ".json" and start >= 0:
            seeds.add(mutant.content[start : start + MAX_INPUT // 2])
    for number, seed in enumerate(sorted(seeds)):
        (folder / f"seed{number:05}").write_bytes(seed[:MAX_INPUT])
    return len(seeds)


def fuzz(work: Path, seconds: int, compiler: str) -> tuple[int, int]:
    """Runs of the fuzzer and its exit status."""
    corpus_folder = work / "corpus"
    corpus_folder.mkdir(exist_ok=True)
    (work / "scanner_plan.hpp").write_text(plan_header())
    write_dictionary(work / "words.dict")
    print(f"{write_seeds(corpus_folder)} seeds", flush=True)
    program = work / "fuzz_scanner"
    source = ROOT / "benchmarks" / "fuzz_scanner.cpp"
    subprocess.run(
        [compiler, *FLAGS, SANITIZERS, f"-I{work}", str(source), "-o", str(program)], check=True
    )
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={MAX_INPUT}",
        f"-dict={work / 'words.dict'}",
        f"-artifact_prefix={work}/",
        "-print_final_stats=1",
        "-rss_limit_mb=1024",
    ]
    ended = subprocess.run(
        [str(program), *options, str(corpus_folder)], capture_output=True, text=True, check=False
    )
    runs = re.search(r"number_of_executed_units: (\d+)", ended.stderr)
    covered = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", ended.stderr)
    if covered:
        print("edges {}, features {}, inputs {}".format(*covered[-1]), flush=True)
    if ended.returncode:
        print(ended.stderr[-4000:])
    return int(runs.group(1)) if runs else 0, ended.returncode


def answer_of(path: Path) -> tuple[Any, ...]:
    """All that reading gives, or why it refuses."""
    try:
        trace = read_trace(path, ReadOptions(jobs=1))
    except TimesinkError as error:
        return error.message, error.hint
    frames = {name: frame.collect() for name, frame in trace.frames.items()}
    return frames, trace.health, trace.metadata


def is_same(answer: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two readings gave the same tables, health and metadata, or one refusal."""
    frames, others = answer[0], other[0]
    if isinstance(frames, str) or isinstance(others, str):
        return answer == other
    return (
        answer[1:] == other[1:]
        and frames.keys() == others.keys()
        and all(
            frame.schema == others[name].schema and frame.equals(others[name])
            for name, frame in frames.items()
        )
    )


def compare_readers(work: Path, seconds: float) -> tuple[int, list[Path]]:
    """How many inputs of the fuzzer were read in both ways, and those that differ."""
    inputs = sorted((work / "corpus").iterdir())
    random.Random(3).shuffle(inputs)
    differing, until, count = [], time.monotonic() + seconds, 0
    for path in inputs:
        if time.monotonic() > until:
            break
        count += 1
        text = b'{"schemaVersion": 1, "traceEvents": ' + path.read_bytes() + b"}"
        if not is_read_alike(text, work / "trace.json"):
            differing.append(path)
    return count, differing


def is_read_alike(text: bytes, trace: Path) -> bool:
    """Whether a trace is read in both ways with one result."""
    trace.write_bytes(text)
    os.environ[NATIVE_VARIABLE] = "1"
    scanned = answer_of(trace)
    os.environ[NATIVE_VARIABLE] = "0"
    return is_same(scanned, answer_of(trace))


@contextmanager
def small_pieces(size: int) -> Iterator[None]:
    """Cut traces into pieces of about this size, instead of 2 MB: so that there are many."""
    genuine = decode.cut_pieces

    def chunks(stream: Iterable[bytes]) -> Iterator[bytes]:
        for block in stream:
            for start in range(0, len(block), size // 3):
                yield block[start : start + size // 3]

    decode.cut_pieces = lambda stream, **how: genuine(chunks(stream), size=size, **how)
    try:
        yield
    finally:
        decode.cut_pieces = genuine


def mutant_of(number: int) -> bytes:
    """A trace of the tests, damaged or rearranged up to three times; the same in every run."""
    rng = random.Random(number)
    makers = [*BASES.values(), *(lambda make=make: to_bytes(make()) for make in DIALECTS.values())]
    text = rng.choice(makers)()
    if rng.random() < 0.5:
        document = json.loads(text)
        for change in rng.choices(VALUE_MUTATIONS, k=rng.randint(1, 3)):
            with suppress(*_NO_SUCH_PLACE):
                change(document, rng)
        text = to_bytes(document, indent=rng.choice([None, None, 1]))
    if rng.random() < 0.3:
        with suppress(*_NO_SUCH_PLACE):
            text = rng.choice(NEUTRAL_MUTATIONS)(text, rng)
    for change in rng.choices(BYTE_MUTATIONS, k=rng.randint(0, 3)):
        with suppress(*_NO_SUCH_PLACE):
            text = change(text, rng)
    return text


def compare_mutants(work: Path, count: int) -> list[int]:
    """Numbers of the mutants that are not read alike; they are kept in the folder."""
    shares = [range(share, count, usable_cores()) for share in range(usable_cores())]
    with ProcessPoolExecutor(len(shares), get_context("spawn")) as pool:
        differing = pool.map(partial(compare_share, work), shares)
        return sorted(number for numbers in differing for number in numbers)


def compare_share(work: Path, numbers: range) -> list[int]:
    """Those of some mutants that are not read alike."""
    differing = []
    for done, number in enumerate(numbers, 1):
        text = mutant_of(number)
        # Three of four in many pieces: what is damaged ends a run of clean ones.
        with small_pieces((1 << 30, 600, 1500, 4000)[done % 4]):
            is_alike = is_read_alike(text, work / f"trace{numbers.start}.json")
        if not is_alike:
            differing.append(number)
            (work / f"mutant{number}.json").write_bytes(text)
        if done % 500 == 0:
            print(f"{done} mutants of {len(numbers)}, {len(differing)} differ", flush=True)
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=480, help="of the fuzzer")
    parser.add_argument(
        "--compare-seconds", type=float, default=180, help="of reading in both ways"
    )
    parser.add_argument("--mutants", type=int, default=0, help="so many are read in both ways")
    parser.add_argument("--work", type=Path, help="keep the corpus in this folder")
    parser.add_argument("--compiler", default="clang++")
    asked = parser.parse_args()
    compiler = shutil.which(asked.compiler)
    if (compiler is None and asked.seconds) or native_module() is None:
        print("clang++ and the compiled scanner are needed", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        work = asked.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        if asked.mutants:
            differing_mutants = compare_mutants(work, asked.mutants)
            print(f"{asked.mutants} mutants read in both ways, {len(differing_mutants)} differ")
            if differing_mutants or not asked.seconds:
                print(*differing_mutants[:20])
                return int(bool(differing_mutants))
        runs, status = fuzz(work, asked.seconds, compiler or asked.compiler)
        print(f"{runs} runs with the sanitizers, exit status {status}", flush=True)
        count, differing = compare_readers(work, asked.compare_seconds)
        print(f"{count} inputs read in both ways, {len(differing)} differ")
        for path in differing[:20]:
            print(f"  {path}")
    return int(bool(status or differing))


if __name__ == "__main__":
    sys.exit(main())
