"""What the process that asks about many ranks has to do, by their number: time, memory, summaries.

Summaries are made from generated tables without files, as those of files would be.  A process of
its own then loads them, analyses the set and writes what `timesink analyze` says about it; every
figure is processor time, which other work on the machine changes least.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from run import hand_over, machine, markdown_table
from timesink.analyses.ranks.rank_set import RankSet
from timesink.analyses.ranks.reading import read_ranks, summary_of
from timesink.analyses.ranks.summary import to_parquet
from timesink.answers.analysis.sections import distributed_values
from timesink.runtime.engine import Call, Done, LocalEngine
from timesink.runtime.workers import usable_cores
from timesink.sources.recordings import Recording
from timesink_lab.ranks.generated import tables_of
from timesink_lab.ranks.plan import Plan, Straggler
from timesink_lab.ranks.simulate import SimulatedRun as Run
from timesink_lab.ranks.simulate import carry_out

HEADER = [
    "ranks",
    "a summary",
    "load",
    "per rank",
    "analyse",
    "per rank",
    "the rest of the JSON",
    "per rank",
    "memory: empty",
    "loaded",
    "analysed",
    "told",
    "JSON",
]
REDUCE = """
import json, pathlib, sys, ranks_scale
print(json.dumps(ranks_scale.reduce(pathlib.Path(sys.argv[1]), int(sys.argv[2]))))
"""
_SHARES = 8
"""Pieces of a run for each core, so that none delays the others."""


def plan_of(ranks: int) -> Plan:
    """The run of `benchmarks/ranks.py`."""
    put_in = (Straggler("slow_clock", rank=ranks // 2 + 5),)
    return Plan(ranks=ranks, tensor=8, layers=11, steps=8, stragglers=put_in)


def summaries(share: tuple[int, ...], *, ranks: int) -> bytes:
    """The summaries of some ranks, in a process of an engine."""
    run = _run_of(ranks)
    return pickle.dumps(
        [(rank, to_parquet(summary_of(tables))) for rank, tables in tables_of(run, share)]
    )


@lru_cache(1)  # a process gets one share after the other
def _run_of(ranks: int) -> Run:
    return carry_out(plan_of(ranks))


def write_summaries(ranks: int, file: Path) -> int:
    """Summaries of a whole run into one file; gives their bytes."""
    pieces = min(_SHARES * usable_cores(), ranks // 8)
    shares = [tuple(range(first, ranks, pieces)) for first in range(pieces)]
    call = Call("ranks_scale", "summaries", {"ranks": ranks})
    summaries: dict[int, bytes] = {}
    for done in LocalEngine().run(call, shares):
        if done.value is None:
            sys.exit(f"no summaries: {done.error}")
        summaries.update(pickle.loads(done.value))  # noqa: S301 - our own
    with file.open("wb") as stream:
        for rank in range(ranks):
            pickle.dump(summaries[rank], stream)
    return sum(map(len, summaries.values()))


class Summarised:
    """An engine that has nothing left to do: the summaries lie in a file."""

    name = "summarised"

    def __init__(self, file: Path) -> None:
        self._file = file

    def run(self, call: Call, items: Sequence[object]) -> Iterator[Done]:
        """Hand out one summary after the other."""
        del call
        with self._file.open("rb") as stream:
            for place in range(len(items)):
                yield Done(place, pickle.load(stream))  # noqa: S301 - our own


def reduce(file: Path, ranks: int) -> dict[str, float]:
    """Load, analyse and tell; run in a process of its own."""
    seconds, megabytes = [time.process_time()], [peak_mb()]

    def done() -> None:
        seconds.append(time.process_time())
        megabytes.append(peak_mb())

    recordings = [Recording(Path(f"rank{rank}.json"), f"rank{rank}") for rank in range(ranks)]
    rank_set = read_ranks(recordings, engine=Summarised(file), cache=False)
    done()
    check(rank_set, ranks)
    done()
    json_bytes = len(json.dumps(distributed_values(None, rank_set), default=str))  # type: ignore[arg-type]
    done()
    parts = [after - before for before, after in itertools.pairwise(seconds)]
    return {
        **dict(zip(("load", "analyse", "tell"), parts, strict=True)),
        **dict(zip(("empty_mb", "load_mb", "analyse_mb", "tell_mb"), megabytes, strict=True)),
        "json": json_bytes,
    }


def peak_mb() -> float:
    """The most memory this process ever had, without that of its parent before it began."""
    status = Path("/proc/self/status").read_text()
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak) / 1024


def check(rank_set: RankSet, ranks: int) -> None:
    """A wrong answer is of no use, however soon it comes."""
    named = [(straggler.rank, straggler.id) for straggler in rank_set.analysis.stragglers]
    if named != [(ranks // 2 + 5, "gpu_clock")]:
        sys.exit(f"stragglers are said to be {named}")


def benchmark(ranks: int, folder: Path) -> list[str]:
    """One line of the table."""
    file = folder / f"{ranks}.pickle"
    size = write_summaries(ranks, file)
    process = subprocess.run(
        [sys.executable, "-c", REDUCE, str(file), str(ranks)],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        check=True,
    )
    figures = json.loads(process.stdout)
    cells = [f"{ranks}", f"{size / ranks / 1e3:.0f} KB"]
    for part in ("load", "analyse", "tell"):
        cells += [f"{figures[part]:.2f} s", f"{1e3 * figures[part] / ranks:.2f} ms"]
    cells += [f"{figures[f'{part}_mb']:.0f} MB" for part in ("empty", "load", "analyse", "tell")]
    return [*cells, f"{figures['json'] / 1e6:.1f} MB"]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[248, 1000, 4000])
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for ranks in options.ranks:
            rows.append(benchmark(ranks, Path(folder)))
            print(" | ".join(rows[-1]), flush=True)
    above = machine(Path("generated")).replace("recording repeated", "recordings")
    hand_over(markdown_table(above, HEADER, rows), options.output)


if __name__ == "__main__":
    main()
