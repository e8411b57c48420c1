"""New readers against a scan of the same file by its bare library, in seconds of processor time.

    python benchmarks/format_readers.py [FORMAT ...]

`TIMESINK_NATIVE=0` measures what is read without compiled code.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import polars as pl

import collective_logs
import memory_snapshots
import nsys_exports
import perfetto_files
import rocpd_files
import xplane_files
from timesink.formats.source_file import read_trace

STEPS, RUNS = 20_000, 3


def fastest(work: Callable[[], object]) -> float:
    """Processor time of the fastest of some runs."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def scan_packets(path: Path) -> int:
    """Visit what each event of a Perfetto trace says, with the published bindings."""
    visited = 0
    for packet in perfetto_files.pb.Trace.FromString(path.read_bytes()).packet:
        sort = packet.WhichOneof("data")
        visited += packet.timestamp & 1
        if sort == "track_event":
            event = packet.track_event
            visited += event.type + event.track_uuid + event.name_iid
            for annotation in event.debug_annotations:
                visited += bool(annotation.name) + bool(annotation.WhichOneof("value"))
                visited += sum(item.int_value for item in annotation.array_values)
        elif sort == "gpu_render_stage_event":
            stage = packet.gpu_render_stage_event
            visited += stage.duration + stage.gpu_id + stage.hw_queue_iid
            visited += sum(bool(data.name and data.value) for data in stage.extra_data)
            visited += sum(argument.uint_value for argument in stage.launch.args)
    return visited


def scan_database(path: Path) -> int:
    """Fetch every row of every table."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return sum(
            1
            for (table,) in names.fetchall()
            for _ in connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608
        )


def write_nsys(path: Path, launches: int) -> Path:
    """An export with a kernel, a call and a range for every launch."""
    names = [{"id": 10 + n, "value": f"void kernel_{n}<float, {n}>(float*)"} for n in range(200)]
    rows: dict[str, list[dict[str, object]]] = {"kernels": [], "calls": [], "ranges": []}
    for number in range(launches):
        at = 10_000 * number
        place = {"correlationId": number, "start": at, "end": at + 4_000}
        name = {"demangledName": 10 + number % 200}
        rows["kernels"].append({**nsys_exports.KERNEL, **place, **name})
        rows["calls"].append({**nsys_exports.CALL, **place})
        rows["ranges"].append({**nsys_exports.RANGE, **place, "text": f"layer {number % 50}"})
    tables = {
        **nsys_exports.START,
        "StringIds": [*nsys_exports.STRINGS["StringIds"], *names],
        "CUPTI_ACTIVITY_KIND_KERNEL": rows["kernels"],
        "CUPTI_ACTIVITY_KIND_RUNTIME": rows["calls"],
        "NVTX_EVENTS": rows["ranges"],
    }
    return nsys_exports.write_export(path, tables)


def write_counters(path: Path, samples: int) -> Path:
    """Samples of three counters of two devices, as timesink's own sampler writes them."""
    with path.open("w") as file:
        file.write("timestamp_us,counter,device,value\n")
        for number in range(samples):
            time_us = f"{1_700_000_000_000_000 + 500 * number}.{number % 1000:03}"
            counter = ("power_w", "sm_clock_mhz", "memory_used_mb")[number % 3]
            file.write(f"{time_us},{counter},GPU {number // 3 % 2},{number % 977}.5\n")
    return path


def scan_csv(path: Path) -> int:
    """Split into columns and their types, as Polars does."""
    return pl.read_csv(path).height


def scan_json(path: Path) -> int:
    """Unpack and parse the document, without looking at what it says."""
    import simdjson  # noqa: PLC0415 - not everybody has it
    from isal import igzip  # noqa: PLC0415

    with igzip.open(path) as file:
        return len(simdjson.Parser().parse(file.read()))


def scan_planes(path: Path) -> int:
    """Visit every event and its values, with what JAX has for it."""
    from jax.profiler import ProfileData  # noqa: PLC0415 - not everybody has it

    visited = 0
    for plane in ProfileData.from_file(str(path)).planes:
        for line in plane.lines:
            for event in line.events:
                visited += bool(event.name) + bool(event.start_ns) + bool(event.duration_ns)
                visited += sum(1 for _ in event.stats)
    return visited


def load_pickle(path: Path) -> int:
    """Load a pickle, which was written here."""
    with path.open("rb") as stream:
        return len(pickle.load(stream))  # noqa: S301 - written here


def load_lines(path: Path) -> int:
    """Load each line of a file as JSON."""
    with path.open() as stream:
        return sum(len(json.loads(line)) for line in stream)


def write_deep_snapshot(path: Path, steps: int) -> Path:
    """A snapshot whose events have stacks of 30 frames, each a list of its own."""
    draw, allocator = random.Random(1), memory_snapshots.train(steps)
    frame = memory_snapshots.frame
    outer = [
        [frame(f"/code/layer{k}.py", line, f"forward_{k}") for k in range(24)] for line in range(60)
    ]
    for event in allocator.events:
        event["frames"] = [*event["frames"], *draw.choice(outer)]
    return memory_snapshots.write_snapshot(path, allocator.snapshot())


def write_dump(path: Path, calls: int) -> Path:
    """A dump of the flight recorder, in which frames are shared, as PyTorch writes it."""
    frames = collective_logs.entry(0, 0)["frames"]
    entries = [collective_logs.entry(0, number, frames=[*frames]) for number in range(calls)]
    path.write_bytes(pickle.dumps(collective_logs.dump(entries), 2))
    return path


def write_inspector_log(path: Path, calls: int) -> Path:
    """A log of the NCCL Inspector."""
    lines = (json.dumps(collective_logs.inspected(0, number)) for number in range(calls))
    path.write_text("\n".join(lines) + "\n")
    return path


def main() -> None:
    """Write each file, scan it and read it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rocprof", type=Path, help="a result of rocprofv3 as JSON, gzipped")
    parser.add_argument("chosen", nargs="*", help="names of files, or parts of them; else all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        slices, stages = folder / "slices.pftrace", folder / "stages.pftrace"
        slices.write_bytes(perfetto_files.torch_slices(STEPS))
        stages.write_bytes(perfetto_files.torch_stages(STEPS))
        planes = folder / "run.xplane.pb"
        planes.write_bytes(xplane_files.tpu_profile(STEPS, with_host=True))
        nsys = write_nsys(folder / "nsys.sqlite", 5 * STEPS)
        counters = write_counters(folder / "counters.csv", 20 * STEPS)
        scans: dict[Path, Callable[[Path], object]] = {
            nsys: scan_database,
            counters: scan_csv,
            slices: scan_packets,
            stages: scan_packets,
            rocpd_files.write_rocpd(folder / "results.db", steps=2 * STEPS): scan_database,
            planes: scan_planes,
            write_deep_snapshot(folder / "snapshot.pickle", STEPS // 3): load_pickle,
            write_dump(folder / "dump_rank_0", STEPS): load_pickle,
            write_inspector_log(folder / "inspector.log", STEPS): load_lines,
        }
        if options.rocprof:
            scans[options.rocprof] = scan_json
        for path, scan in scans.items():
            if options.chosen and not any(name in path.name for name in options.chosen):
                continue
            read = fastest(lambda path=path: read_trace(path))
            try:
                bare = fastest(lambda path=path, scan=scan: scan(path))
            except ImportError as missing:
                print(f"{path.name}: timesink {read:.2f} s ({missing})")
                continue
            print(f"{path.name}: scan {bare:.2f} s, timesink {read:.2f} s, {read / bare:.1f} times")


if __name__ == "__main__":
    main()
