"""What a server keeps in memory while every page of many large runs is looked at, one by one."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

import timesink
from generate import repeat
from run import hand_over, machine, markdown_table
from timeline import Client, serve_folder

PAGES = ("overview", "operators", "kernels", "memory", "modules", "distributed")
HEADER = ["runs looked at", "events of each", "resident", "at most so far"]
_PIXELS = 1600


def benchmark(source: Path, events: int, runs: int, folder: Path) -> Iterator[list[str]]:
    """The memory of the server after each run, and at last after comparing the last two."""
    written = prepare(source, events, runs, folder / "runs")
    environment = os.environ | {"TIMESINK_CACHE_DIR": str(folder / "cache")}
    with serve_folder(folder / "runs", environment) as (address, process):
        listed = json.loads(Client(address, {}).ask("runs"))["runs"]
        for seen, run in enumerate(listed, 1):
            look_at(address, run)
            yield [str(seen), f"{written / 1e6:.2f} M", *memory_of(process)]
        if runs > 1:
            base, new = (run["name"] for run in listed[-2:])
            Client(address, {}).ask("compare", base=base, new=new)
            yield ["two compared", f"{written / 1e6:.2f} M", *memory_of(process)]


def prepare(source: Path, events: int, runs: int, folder: Path) -> int:
    """Runs with the same recording, under names of their own."""
    first = folder / "run01" / "worker0.1.pt.trace.json.gz"
    first.parent.mkdir(parents=True)
    written, _ = repeat(source, first, events)
    for number in range(2, runs + 1):
        place = folder / f"run{number:02d}"
        place.mkdir()
        (place / first.name).hardlink_to(first)
    return written


def look_at(address: str, run: dict[str, object]) -> None:
    """Every page of a run and its timeline, as somebody who clicks through the app."""
    client = Client(address, {"run": str(run["name"]), "worker": "worker0", "span": "1"})
    for page in PAGES:
        client.ask("document", page=page)
    client.ask("timeline/tracks")
    client.ask("timeline/slices", pixels=_PIXELS)
    client.ask("timeline/search", q="conv")
    client.ask("timeline/aggregate")


def memory_of(process: psutil.Process) -> tuple[str, str]:
    """What is resident now, and the most there was."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    most = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return f"**{process.memory_info().rss / 1e9:.2f} GB**", f"{most * 1024 / 1e9:.2f} GB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=timesink.sample())
    parser.add_argument("--events", type=float, default=1.0, help="millions")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        events = int(options.events * 1e6)
        for row in benchmark(options.source, events, options.runs, Path(folder)):
            print(" | ".join(row), flush=True)
            rows.append(row)
    hand_over(markdown_table(machine(options.source), HEADER, rows), options.output)


if __name__ == "__main__":
    main()
