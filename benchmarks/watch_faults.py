"""Faults put into a program that is watched: are they noticed, how soon, and is the cause right.

    python benchmarks/watch_faults.py run DIR --program train --faults python_stall,busy_cores
    python benchmarks/watch_faults.py healthy DIR --program decode --seconds 600
    python benchmarks/watch_faults.py score DIR... [--again]

`run` starts `timesink watch` on a program of `watch_programs.py`, waits until cycles are learned
and a healthy reference is recorded, and puts in one fault after the other, in an order drawn by the
seed.  Between faults the program is healthy, and the recorder gets its minute.  What was done when
is in DIR/truth.json, the watch folder in DIR/watch.  A fault counts as noticed by the first alarm
that was raised while it lasted; an alarm that began at no fault, or at a larger workload, is false,
from when cycles were first learned on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from timesink_lab.driver import beside, end
from timesink_lab.workloads.switches import FOLDER, STARTER
from watch_scores import ALL, FAULTS, Planted, Put, Truth, lines_of, score, tables

PROGRAM = Path(__file__).with_name("watch_programs.py")
MARKERS = {"decode": "decode_step", "serve_own": "serve_step"}
"""Functions that are one cycle; of the others the watcher knows the cycles by itself."""


def now_us() -> int:
    return time.time_ns() // 1000


def program_name(name: str) -> str:
    """The program that runs: without transformers the own server."""
    return "serve_own" if name == "serve" and find_spec("transformers") is None else name


def watch_command(folder: Path, name: str, more: Sequence[str]) -> list[str]:
    """How one of the programs is watched, up to the program itself."""
    marker = MARKERS.get(name)
    marked = ("--marker", marker, "--workload", f"{PROGRAM.stem}:workload") if marker else ()
    return [sys.executable, "-m", "timesink", "watch", "-o", str(folder), *marked, *more]


class Bench:
    """A program that is watched, and whoever puts faults into it."""

    def __init__(self, folder: Path, options: argparse.Namespace, log: IO[str]) -> None:
        self.folder, self.watch, self.log = folder, folder / "watch", log
        self.options = options
        self.control, self.truth_file = folder / "control.json", folder / "truth.json"
        self.until = time.monotonic() + options.seconds
        self.say({})
        self.truth = Truth(options.program, options.seed, self._command())
        self.process = subprocess.Popen(
            self.truth.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, text=True
        )

    def _command(self) -> list[str]:
        options, name = self.options, program_name(self.options.program)
        more = ["--learn", str(options.learn), "--most-incidents", "100"]
        anywhere, here = self._pinned
        return [
            *anywhere,
            *watch_command(self.watch, name, [*more, *shlex.split(options.watch_options)]), "--",
            *(*here, sys.executable, str(PROGRAM), name, "--seconds", str(options.seconds + 60)),
            *("--control", str(self.control), "--seed", str(options.seed)),
        ]  # fmt: skip

    @property
    def _pinned(self) -> tuple[list[str], list[str]]:
        """How the watcher and the program are started where a core was named."""
        if self.options.core is None:
            return [], []
        every = ",".join(str(core) for core in sorted(os.sched_getaffinity(0)))
        # What is put in beside the program is started from here.
        os.sched_setaffinity(0, {self.options.core})
        return ["taskset", "-c", every], ["taskset", "-c", str(self.options.core)]

    def say(self, strengths: Mapping[str, float]) -> None:
        """Tell the program which faults it has."""
        beside_it = self.control.with_suffix(".new")
        beside_it.write_text(json.dumps(strengths))
        beside_it.replace(self.control)

    @property
    def status(self) -> dict[str, Any]:
        """What the watcher says of itself."""
        with suppress(OSError, ValueError):
            return json.loads((self.watch / "status.json").read_text())
        return {}

    def keep(self) -> None:
        """Write down what was done so far."""
        self.truth_file.write_text(json.dumps(asdict(self.truth), indent=1))

    def wait(self, wanted: Callable[[], bool], at_most_s: float) -> bool:
        """Until something is so; whether it is, before the time or the program is over."""
        until = min(time.monotonic() + at_most_s, self.until)
        while not wanted():
            if time.monotonic() > until or self.process.poll() is not None:
                return False
            time.sleep(0.25)
        return True

    def is_ready(self) -> bool:
        """Whether cycles are learned, the second time from more of them, and recorded."""
        events = [entry.get("event") for entry in lines_of(self.watch / "alarms.jsonl")]
        is_there = events.count("reference") >= self.options.references
        is_there = is_there and events.count("learned") > 1
        return self.status.get("state") in {"watching", "alarm"} and is_there

    def rests(self) -> bool:
        """Whether nothing is wrong."""
        status = self.status
        is_open = any(
            incident.get("ended_us") is None for incident in status.get("incidents") or ()
        )
        is_on = (status.get("recorder") or {}).get("on")
        return status.get("state") == "watching" and not is_on and not is_open

    def may_record(self) -> bool:
        """Whether the recorder may soon record."""
        ago_us = now_us() - ((self.status.get("recorder") or {}).get("last_us") or 0)
        return self.rests() and ago_us > 1e6 * self.options.gap

    def has_incident(self, since_us: int) -> bool:
        """Whether slow cycles were recorded since then."""
        recorder = self.status.get("recorder") or {}
        return (recorder.get("last_us") or 0) > since_us and not recorder.get("on")

    def cycle_ms(self) -> float:
        """What a cycle takes by now."""
        phases = self.status.get("phases") or []
        observed_us = [phase.get("observed_us") for phase in phases if phase.get("observed_us")]
        return max(observed_us, default=10_000.0) / 1000

    def put(self, name: str) -> None:
        """One fault, for as long as it takes to be recorded."""
        planted, options = FAULTS[name], self.options
        begun_us = now_us()
        with self._present(name, planted) as strength:
            put = Put(name, begun_us, now_us(), strength=strength)
            self.truth.puts.append(put)
            self.note(f"{name} ({strength:g})")
            self.keep()
            self.wait(lambda: False, options.least)
            if planted.is_fault:
                self.wait(lambda: self.has_incident(put.begun_us), options.most - options.least)
            put.end_us = now_us()
        # A load that is being ended still runs.
        put.end_us = now_us()
        self.keep()

    @contextmanager
    def _present(self, name: str, planted: Planted) -> Iterator[float]:
        if planted.strength is not None:
            strength = round(planted.strength(self.cycle_ms()), 2)
            self.say({name: strength})
            try:
                yield strength
            finally:
                self.say({})
            return
        with ExitStack() as stack:
            load_folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="watch-faults-"))
            )
            environment = {**os.environ, FOLDER: str(load_folder), STARTER: str(os.getpid())}
            load = stack.enter_context(beside(planted.load, self.folder, environment, self.log))
            self.wait((load_folder / "load.ready").exists, 60)
            (load_folder / "load.go").touch()
            yield 1.0
            if load is not None and load.poll() is not None:
                self.note(f"{name}: the load ended early (exit {load.returncode})")

    def note(self, text: str) -> None:
        """Say where this is."""
        left = self.until - time.monotonic()
        print(f"{left:6.0f} s left  {text}", flush=True)

    def finish(self) -> None:
        """End the program and the watcher, as kindly as possible."""
        self.truth.ended_us = now_us()
        self.say({"stop": 1})
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(60)
        if self.process.poll() is None:
            self.note("the watcher does not end by itself")
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            end(self.process)
        self.truth.exit = self.process.returncode
        self.keep()


def has_gpu() -> bool:
    """Asked in a process of its own, which takes the device's memory with it."""
    ask = [sys.executable, "-c", "import torch; raise SystemExit(not torch.cuda.is_available())"]
    return not subprocess.run(ask, check=False).returncode


def run(options: argparse.Namespace, names: Sequence[str]) -> Path:
    """One watched program; returns its folder."""
    folder = options.folder.absolute()
    if (folder / "truth.json").exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    gpu = has_gpu()
    fit = [
        fault
        for fault in names
        if options.program in FAULTS[fault].programs and (gpu or FAULTS[fault].needs != "gpu")
    ]
    random.Random(options.seed).shuffle(fit)
    with (folder / "log.txt").open("w") as log:
        bench = Bench(folder, options, log)
        bench.truth.left_out = [fault for fault in names if fault not in fit]
        try:
            if not bench.wait(bench.is_ready, options.seconds):
                bench.note(f"never ready: {bench.status.get('state')}, see {folder / 'log.txt'}")
            else:
                bench.truth.watching_us = now_us()
                bench.note(f"watching; {bench.cycle_ms():.1f} ms per cycle")
            for number, name in enumerate(fit):
                bench.wait(lambda: False, options.rest)
                wanted = bench.may_record if FAULTS[name].is_fault else bench.rests
                is_free = bench.wait(wanted, options.gap + 60)
                if bench.process.poll() is not None or bench.until - time.monotonic() < (
                    options.least + 5
                ):
                    bench.truth.left_out += fit[number:]
                    break
                if not is_free:
                    status = bench.status
                    bench.note(f"not at rest: {status.get('state')}, {status.get('recorder')}")
                bench.put(name)
            # What is open may close; a healthy program runs for its whole time.
            bench.wait(lambda: False, options.rest if fit else options.seconds)
        finally:
            bench.finish()
    return folder


def main() -> None:
    """Run, or score what was run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="what", required=True)
    for name in ("run", "healthy"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=Path)
        command.add_argument("--program", choices=ALL, default="train")
        command.add_argument("--seconds", type=float, default=540.0, help="all in all")
        command.add_argument("--learn", type=int, default=1000, help="cycles")
        command.add_argument("--seed", type=int, default=0)
        command.add_argument(
            "--core", type=int, help="for the program and loads; the watcher roams"
        )
        command.add_argument("--watch-options", default="", help="more options of `timesink watch`")
        command.add_argument("--references", type=int, default=2, help="to wait for before faults")
        command.add_argument("--faults", default=",".join(FAULTS) if name == "run" else "")
        command.add_argument("--least", type=float, default=10.0, help="seconds of a fault")
        command.add_argument("--most", type=float, default=25.0, help="until it is recorded")
        command.add_argument("--rest", type=float, default=15.0, help="healthy seconds between")
        # A little less than a minute: else healthy cycles would be recorded first.
        command.add_argument("--gap", type=float, default=55.0, help="seconds from a recording on")
    scored = commands.add_parser("score")
    scored.add_argument("folders", type=Path, nargs="+")
    scored.add_argument("--again", action="store_true", help="alarms by the rules of now")
    options = parser.parse_args()
    if options.what == "score":
        print(tables([score(folder, again=options.again) for folder in options.folders]))
        return
    names = [fault for fault in options.faults.split(",") if fault]
    unknown = [fault for fault in names if fault not in FAULTS]
    if unknown:
        parser.error(f"no fault is called {unknown[0]}; known: {', '.join(FAULTS)}")
    print(tables([score(run(options, names))]))


if __name__ == "__main__":
    main()
