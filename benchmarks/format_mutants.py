"""Mutants of each format: no traceback, no hang, nothing lost silently.

    python benchmarks/format_mutants.py [--mutants N] [--seed S] [FORMAT ...]

Small files of each format are damaged by the generator of the tests: bits flipped, bytes lost,
added and repeated, the end cut.  Each mutant is read and, every few, analysed and described; beyond
a time limit it counts as hanging.  A mutant that is read with fewer rows than the clean file has to
say so under health.  The exit code is 1 where anything failed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

import polars as pl  # noqa: E402

import collective_logs  # noqa: E402
import memory_snapshots  # noqa: E402
import nsys_exports  # noqa: E402
import rocpd_files  # noqa: E402
import timesink  # noqa: E402
import xplane_files  # noqa: E402
from damaged_files import damage  # noqa: E402
from timesink.answers.analysis.document import analysis_document  # noqa: E402
from timesink.errors import TimesinkError  # noqa: E402
from timesink.formats.source_file import read_trace  # noqa: E402
from timesink.model.trace import Trace  # noqa: E402
from timesink.output.terminal import to_text  # noqa: E402

LIMIT_S = 30
_ANALYSED = 5
"""Every so many mutants that can be read are analysed as well."""
_FIRST = 4
"""Bytes that stay: without them a file is of no format."""


def _packets(folder: Path) -> list[Path]:
    import perfetto_files  # noqa: PLC0415 - not everybody has the bindings

    files = []
    for name in ("torch_slices", "torch_stages", "sdk_trace"):
        files.append(folder / f"{name}.pftrace")
        files[-1].write_bytes(getattr(perfetto_files, name)())
    return files


def _planes(folder: Path) -> list[Path]:
    built, recorded = folder / "tpu.xplane.pb", folder / "gpu.xplane.pb"
    built.write_bytes(xplane_files.tpu_profile(with_host=True))
    packed = ROOT / "tests" / "data" / "xplane" / "h200_jax.xplane.pb.gz"
    recorded.write_bytes(gzip.decompress(packed.read_bytes()))
    return [built, recorded]


def _rocpd(folder: Path) -> list[Path]:
    versions = ("3.0.0", "4.0.0", "4.1.0")
    return [rocpd_files.write_rocpd(folder / f"r{v[2]}{v[0]}.db", v) for v in versions]


def _nsys_tables(many: int = 20) -> Any:
    kernels = [
        {**nsys_exports.KERNEL, "start": 1000 * n, "end": 1000 * n + 500, "correlationId": n}
        for n in range(1, many)
    ]
    calls = [
        {**nsys_exports.CALL, "start": 1000 * n - 90, "end": 1000 * n - 50, "correlationId": n}
        for n in range(1, many)
    ]
    return {
        **nsys_exports.START,
        **nsys_exports.STRINGS,
        "CUPTI_ACTIVITY_KIND_KERNEL": kernels,
        "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
        "NVTX_EVENTS": [nsys_exports.RANGE],
    }


def _nsys(folder: Path) -> list[Path]:
    return [nsys_exports.write_export(folder / "run.sqlite", _nsys_tables())]


def _parquet(folder: Path) -> list[Path]:
    """A folder, of which the mutants are those of its table of kernels."""
    place = folder / "run_pqtdir"
    place.mkdir()
    with closing(sqlite3.connect(_nsys(folder)[0])) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in names.fetchall():
            cursor = connection.execute(f"SELECT * FROM {table}")  # noqa: S608
            columns = [column[0] for column in cursor.description]
            frame = pl.DataFrame(cursor.fetchall(), schema=columns, orient="row")
            frame.write_parquet(place / f"{table}.parquet")
    return [place / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"]


def _snapshots(folder: Path) -> list[Path]:
    files = []
    for number, content in enumerate(memory_snapshots.snapshots()):
        files.append(folder / f"{number}.pickle")
        files[-1].write_bytes(content)
    return files


def _dumps(folder: Path) -> list[Path]:
    calls = [collective_logs.entry(0, number) for number in range(40)]
    calls.append(collective_logs.entry(0, 40, "started"))
    packed, plain = folder / "dump_rank_0", folder / "dump_1.json"
    packed.write_bytes(pickle.dumps(collective_logs.dump(calls), 2))
    plain.write_text(json.dumps(collective_logs.dump(calls)))
    return [packed, plain]


def _inspected(folder: Path) -> list[Path]:
    lines = {0: [collective_logs.inspected(0, number) for number in range(40)]}
    return list(collective_logs.write_inspected(folder, lines).iterdir())


BASES: dict[str, Callable[[Path], list[Path]]] = {
    "pftrace": _packets,
    "xplane": _planes,
    "rocpd": _rocpd,
    "nsys": _nsys,
    "parquet": _parquet,
    "snapshot": _snapshots,
    "flight-recorder": _dumps,
    "inspector": _inspected,
}


class HangingError(Exception):
    """A file took longer than the limit."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Interrupt what takes longer."""

    def stop(*_: object) -> None:
        raise HangingError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def rows_of(trace: Trace) -> int:
    """Rows of all tables that events fill."""
    tables = ("host", "device", "memory_blocks", "counters", "collective_calls")
    return sum(trace.lazy(name).select(pl.len()).collect().item() for name in tables)


def losses_of(trace: Trace) -> Counter[str]:
    """What health counts, by its code."""
    return Counter({entry.code: entry.count for entry in trace.health})


def outcome_of(mutant: Path, clean: tuple[int, Counter[str]], *, is_analysed: bool) -> str:
    """What becomes of a mutant: `read`, `refused`, `lost silently`, `hang` or `traceback`."""
    try:
        with within(LIMIT_S):
            trace = read_trace(mutant)
            rows, said = rows_of(trace), losses_of(trace)
            if is_analysed:
                to_text(analysis_document(timesink.analyze(trace), brief=True))
    except TimesinkError as error:
        is_one_line = "\n" not in error.message and error.hint is not None
        return "refused" if is_one_line else "refused badly"
    except HangingError:
        return "hang"
    except Exception:  # noqa: BLE001 - it is what is looked for
        traceback.print_exc()
        return "traceback"
    return "lost silently" if rows < clean[0] and not said - clean[1] else "read"


def attack(form: str, mutants: int, seed: int, keep: Path | None) -> Counter[str]:
    """Outcomes of the mutants of a format."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = BASES[form](folder)
        contents = [file.read_bytes() for file in files]
        traces = [read_trace(file) for file in files]
        clean = [(rows_of(trace), losses_of(trace)) for trace in traces]
        for number in range(mutants):
            which = number % len(files)
            mutant = damage(contents[which], f"{form} {seed} {number}", first=_FIRST)
            files[which].write_bytes(mutant)
            is_analysed = not number // len(files) % _ANALYSED
            outcome = outcome_of(files[which], clean[which], is_analysed=is_analysed)
            outcomes[outcome] += 1
            if keep is not None and outcome not in {"read", "refused"}:
                keep.mkdir(exist_ok=True)
                shutil.copy(files[which], keep / f"{number}-{outcome[:4]}-{files[which].name}")
    return outcomes


def main() -> int:
    """Attack, print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("formats", nargs="*", default=list(BASES))
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for mutants that fail")
    options = parser.parse_args()
    has_failed = False
    print(f"{'format':<16} {'read':>5} {'refused':>8} {'lost silently':>14} {'failed':>7}  seconds")
    for form in options.formats:
        begun = time.process_time()
        outcomes = attack(form, options.mutants, options.seed, options.keep)
        failed = outcomes.total() - sum(
            outcomes[key] for key in ("read", "refused", "lost silently")
        )
        has_failed |= failed > 0
        print(
            f"{form:<16} {outcomes['read']:>5} {outcomes['refused']:>8} "
            f"{outcomes['lost silently']:>14} {failed:>7}  {time.process_time() - begun:.0f}",
            flush=True,
        )
    return int(has_failed)


if __name__ == "__main__":
    raise SystemExit(main())
