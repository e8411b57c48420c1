"""The trace view on large recordings: how soon it is there, and how fast it follows.

A server of its own answers over HTTP, as `timesink serve` does.  The recording is in the cache.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import psutil

import timesink
from generate import repeat
from run import hand_over, machine, markdown_table

OPEN = """
import sys, time
import timesink
from timesink.answers.plugin.query import Query
from timesink.answers.timeline.routes import ROUTES
from timesink.answers.timeline.opening import open_timeline
start = time.perf_counter()
timeline = open_timeline(timesink.open(sys.argv[1]))
ROUTES["tracks"](timeline, Query())
ROUTES["slices"](timeline, Query({"pixels": "1600"}))
print(time.perf_counter() - start)
"""
_ZOOMS = 200
_ROUNDS = 5
_PIXELS = 1600
_WAIT_SECONDS = 0.02
_SEED = 7
HEADER = [
    "events",
    "laid out, from the cache",
    "kept: opened and drawn",
    "first picture over HTTP",
    "window: median",
    "95 %",
    "longest",
    "largest answer",
    "search",
    "range by name",
    "memory of the server",
]
LIMITS = ["at most", "1.00 s", "0.70 s", "1.00 s", "", "50 ms", "", "", "300 ms", "300 ms", ""]


@dataclass(frozen=True)
class Row:
    events: int
    laid_out_s: float
    kept_s: float
    first_s: float
    windows_s: Sequence[float]
    largest: int
    search_s: float
    aggregate_s: float
    server_mb: float

    def cells(self) -> list[str]:
        ordered = sorted(self.windows_s)
        return [
            f"{self.events / 1e6:.2f} M",
            f"{self.laid_out_s:.2f} s",
            f"**{self.kept_s:.2f} s**",
            f"**{self.first_s:.2f} s**",
            f"{1e3 * statistics.median(ordered):.1f} ms",
            f"**{1e3 * ordered[int(0.95 * len(ordered))]:.1f} ms**",
            f"{1e3 * ordered[-1]:.1f} ms",
            f"{self.largest / 1e6:.2f} MB",
            f"{1e3 * self.search_s:.0f} ms",
            f"{1e3 * self.aggregate_s:.0f} ms",
            f"{self.server_mb:.0f} MB",
        ]


class Client:
    """Asks a server the way the page does: again while it says that it is working."""

    def __init__(self, address: str, chosen: Mapping[str, str]) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc)
        self._chosen = dict(chosen)

    def ask(self, path: str, **params: object) -> bytes:
        query = urlencode({**self._chosen, **params})
        while True:
            self._connection.request("GET", f"/api/{path}?{query}")
            response = self._connection.getresponse()
            content = response.read()
            if response.status == http.HTTPStatus.OK:
                return content
            if response.status != http.HTTPStatus.ACCEPTED:
                sys.exit(f"{path}: {response.status} {content[:300]!r}")
            time.sleep(_WAIT_SECONDS)

    def timed(self, path: str, **params: object) -> tuple[float, bytes]:
        start = time.perf_counter()
        content = self.ask(path, **params)
        return time.perf_counter() - start, content


@contextmanager
def serve_folder(folder: Path, environment: dict[str, str]) -> Iterator[tuple[str, psutil.Process]]:
    """A server for a folder: its address and its process."""
    program = "import sys; from timesink.cli import main; sys.exit(main())"
    command = [sys.executable, "-u", "-c", program, "serve", str(folder), "--port", "0"]
    with subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            yield _address(process), psutil.Process(process.pid)
        finally:
            process.terminate()


def _address(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        for word in line.split():
            if word.startswith("http://"):
                return word
    sys.exit("the server did not start")


def benchmark(source: Path, events: int, folder: Path) -> Row:
    name = f"{events}.pt.trace.json.gz"
    runs = folder / "runs" / "run"
    runs.mkdir(parents=True)
    written, _ = repeat(source, runs / name, events)
    environment = os.environ | {"TIMESINK_CACHE_DIR": str(folder / "cache")}
    _in_process("import sys, timesink; timesink.open(sys.argv[1]); print(0)", runs, environment)
    laid_out = _in_process(OPEN, runs, environment)
    reopen_s = statistics.median(_in_process(OPEN, runs, environment) for _ in range(_ROUNDS))
    with serve_folder(folder / "runs", environment) as (address, process):
        return Row(written, laid_out, reopen_s, *_over_http(address, process))


def _in_process(program: str, path: Path, environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", program, str(path)]
    return float(subprocess.check_output(command, env=environment, text=True))


def _over_http(
    address: str, process: psutil.Process
) -> tuple[float, list[float], int, float, float, float]:
    listed = json.loads(Client(address, {}).ask("runs"))["runs"][0]
    worker = listed["workers"][0]
    chosen = {"run": listed["name"], "worker": worker["name"], "span": worker["spans"][0]}
    client = Client(address, chosen)
    start = time.perf_counter()
    length = json.loads(client.ask("timeline/tracks"))["length_ns"]
    client.ask("timeline/slices", pixels=_PIXELS)
    first = time.perf_counter() - start
    answers = [
        client.timed("timeline/slices", **window, pixels=_PIXELS) for window in _windows(length)
    ]
    usual = {
        route: statistics.median(
            client.timed(f"timeline/{route}", **params)[0] for _ in range(_ROUNDS)
        )
        for route, params in (("search", {"q": "conv"}), ("aggregate", {}))
    }
    memory = process.memory_info().rss / 1e6
    sizes = [len(content) for _, content in answers]
    seconds = [taken for taken, _ in answers]
    return first, seconds, max(sizes), usual["search"], usual["aggregate"], memory


def _windows(length: int) -> Iterator[dict[str, int]]:
    """Anywhere, and from all of the recording down to ten microseconds of it."""
    chance = random.Random(_SEED)
    for _ in range(_ZOOMS):
        width = length * (10_000 / length) ** chance.random()
        start = chance.uniform(0, length - width)
        yield {"from": int(start), "to": int(start + width)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=timesink.sample())
    parser.add_argument("--events", type=float, nargs="+", default=[1, 5], help="millions")
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    rows = []
    for millions in options.events:
        with tempfile.TemporaryDirectory() as folder:
            row = benchmark(options.source, int(millions * 1e6), Path(folder))
        print(" | ".join(row.cells()), flush=True)
        rows.append(row)
    table = markdown_table(
        machine(options.source), HEADER, [*(row.cells() for row in rows), LIMITS]
    )
    hand_over(table, options.output)


if __name__ == "__main__":
    main()
