"""Reading of kernel counters (Nsight Compute CSV) beside Polars reading the same bytes.

Every figure is a whole process, imports included.  Polars only splits the rows into columns; what
timesink has at the end are launches with exact durations, without the lines around the table.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from isal import igzip

import timesink
from run import Run, hand_over, machine, markdown_table, measure, median

READ = """
import sys, timesink
timesink.open(sys.argv[1], cache=False).kernel_calls
"""
POLARS = """
import sys, polars
from isal import igzip
if sys.argv[1].endswith(".gz"):
    with igzip.open(sys.argv[1]) as file:
        source = file.read()
else:
    source = sys.argv[1]
polars.read_csv(source, skip_lines=%d)
"""
HEADER = [
    "file",
    "launches",
    "Polars",
    "read",
    "read / Polars",
    "speed",
    "peak memory (of CSV)",
    "of Polars",
]
_SAMPLE = timesink.sample(counters=True)
_LAUNCHES_OF_PROCESS = 50_000
_TICK_NS = 32


@dataclass(frozen=True)
class Row:
    """What was measured of one file."""

    name: str
    csv_mb: float
    launches: int
    polars: Run
    read: Run

    def cells(self) -> list[str]:
        return [
            self.name,
            f"{self.launches / 1e6:.2f} M",
            f"{self.polars.seconds:.2f} s",
            f"{self.read.seconds:.2f} s",
            f"**{self.read.seconds / self.polars.seconds:.2f}**",
            f"**{self.csv_mb / self.read.seconds:.0f} MB/s**",
            f"{self.read.peak_mb:.0f} MB ({self.read.peak_mb / self.csv_mb:.2f})",
            f"{self.polars.peak_mb:.0f} MB ({self.polars.peak_mb / self.csv_mb:.2f})",
        ]


def generate(source: Path, target: Path, size: int) -> tuple[int, int, int]:
    """Write a table of about `size` bytes: lines before the header, launches and bytes written.

    The kernels of a real recording come again and again, in processes of their own and with
    other durations.
    """
    before, header, launches = _split(source)
    written = launch = 0
    noise = random.Random(7)
    with target.open("wb", buffering=1 << 20) as file:
        file.write(before + header)
        for rows in _endless(launches):
            pid = 9_609 + launch // _LAUNCHES_OF_PROCESS
            number = launch % _LAUNCHES_OF_PROCESS
            duration = f'"ns","{noise.randrange(60, 90_000) * _TICK_NS:,}"\n'
            text = "".join(f'"{number}","{pid}",{row}' for row in rows).replace("\f", duration)
            file.write(text.encode())
            written += len(text)
            launch += 1
            if written >= size:
                break
    return before.count(b"\n"), launch, target.stat().st_size


def _split(source: Path) -> tuple[bytes, bytes, list[list[str]]]:
    """Lines before the header, the header, and the rows of every launch less id and process.

    A form feed marks where the duration was.
    """
    with igzip.open(source) as file:
        content: bytes = file.read()
    start = content.index(b'"ID"')
    header, _, table = content[start:].partition(b"\n")
    launches: dict[str, list[str]] = {}
    for line in table.decode().splitlines():
        number, _, rest = line.split(",", 2)
        launches.setdefault(number, []).append(re.sub(r'"ns","[^"]*"$', "\f", rest) + "\n")
    rows = [[row.replace("\f\n", "\f") for row in launch] for launch in launches.values()]
    return content[:start], header + b"\n", rows


def _endless(launches: list[list[str]]) -> Iterator[list[str]]:
    while True:
        yield from launches


def benchmark(source: Path, size: int, rounds: int, folder: Path) -> list[Row]:
    """The same table plain and packed."""
    plain = folder / "calls.csv"
    before, launches, written = generate(source, plain, size)
    packed = folder / "calls.csv.gz"
    with plain.open("rb") as plain_file, igzip.open(packed, "wb", compresslevel=1) as file:
        while block := plain_file.read(1 << 20):
            file.write(block)
    rows = []
    for path in (plain, packed):
        runs = [
            (
                measure(POLARS % before, path, dict(os.environ)),
                measure(READ, path, dict(os.environ)),
            )
            for _ in range(rounds)
        ]
        polars, read = (median(column) for column in zip(*runs, strict=True))
        name = f"{written / 1e6:.0f} MB" + (", gzipped" if path is packed else "")
        rows.append(Row(name, written / 1e6, launches, polars, read))
    return rows


def to_markdown(rows: Sequence[Row], source: Path) -> str:
    return markdown_table(machine(source), HEADER, [row.cells() for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=_SAMPLE)
    parser.add_argument("--gb", type=float, nargs="+", default=[0.1, 1], help="sizes to generate")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, help="append the table to this file")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in options.gb:
            rows += benchmark(options.source, int(size * 1e9), options.rounds, Path(folder))
    hand_over(to_markdown(rows, options.source), options.output)


if __name__ == "__main__":
    main()
