"""Heavy work beside the watcher: each task is a process of its own, told and answered by files."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any

from timesink.errors import TimesinkError
from timesink.formats.small_files import DamagedError, read_small_json
from timesink.recorder.folder import RecordingFolder, RecordPlan, read_notes, write_plan
from timesink.recorder.places import write_whole
from timesink.recorder.processes import is_alive
from timesink.recorder.recording import conclude, start_beside
from timesink.recorder.run_file import ProgramRun
from timesink.recorder.watch import Watch

if TYPE_CHECKING:
    from timesink.answers.comparison.report import ComparisonAnswer

_START = "from timesink.watcher.tasks import main; main()"
NICE, NICEST = 10, 15
"""What is waited for, and what may take its time where all processors are busy."""


class WatchTask:
    """A task that runs; `answer` is there when it has ended."""

    def __init__(self, kind: str, folder: Path, limit_s: float, **facts: Any) -> None:
        """`OSError` where it cannot be started."""
        self.kind = kind
        self.begun_s = time.monotonic()
        self._limit_s = limit_s
        self._file = folder / f"{kind}-{time.time_ns()}.json"
        self._file.write_text(json.dumps({"kind": kind, **facts}))
        with self._beside("log").open("wb") as log:
            self._process = start_beside(
                _START, str(self._file), stdin=DEVNULL, stdout=log, stderr=log
            )

    def _beside(self, ending: str) -> Path:
        return self._file.with_suffix(f".{ending}")

    @property
    def is_ready(self) -> bool:
        """Whether it waits for what it was started for."""
        return self._beside("ready").exists()

    def end_soon(self) -> None:
        """Ask it to come to an end with what there is."""
        with suppress(OSError):
            self._beside("stop").touch()

    def answer(self) -> dict[str, Any] | None:
        """What came of it; None as long as it works."""
        code = self._process.poll()
        if code is None:
            if time.monotonic() - self.begun_s <= self._limit_s:
                return None
            self._process.kill()
            self._process.wait()
        answer: dict[str, Any] = {"error": f"{self.kind}: ended with code {code}"}
        if code is None:
            answer = {"error": f"{self.kind}: given up after {self._limit_s:.0f} s"}
        with suppress(OSError, DamagedError):
            answer = read_small_json(self._beside("answer"))
        for ending in ("json", "ready", "stop", "answer"):
            self._beside(ending).unlink(missing_ok=True)
        log = self._beside("log")
        with suppress(OSError):
            # What the last task of a kind that failed has said is kept.
            if "error" in answer and log.stat().st_size:
                log.replace(log.with_name(f"{self.kind}.log"))
            else:
                log.unlink()
        return answer

    def kill(self) -> None:
        """Break it off."""
        self._process.kill()
        self._process.wait()


class TaskFiles:
    """The side of the task: how it tells the watcher something."""

    def __init__(self, file: Path) -> None:
        self.facts: dict[str, Any] = read_small_json(file)
        self._file = file
        self._parent = os.getppid()

    def say_ready(self) -> None:
        self._file.with_suffix(".ready").touch()

    def is_to_end(self) -> bool:
        """Whether the watcher asks for an end, or is no more."""
        return self._file.with_suffix(".stop").exists() or os.getppid() != self._parent

    def give(self, answer: dict[str, Any]) -> None:
        write_whole(self._file.with_suffix(".answer"), json.dumps(answer).encode())


def be_nice(by: int = NICE) -> None:
    """The program comes first."""
    with suppress(OSError, AttributeError):
        os.nice(by)
    # Linux shares processors among sessions first, and this is one of its own.  The same number
    # counts for more there: beside busy ones 6 got 6 % of a processor, 8 got 3 %, 10 got 0.3 %.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(by // 2 + 1))


# The process of a task: it does one thing, importing no tables where it needs none, and says what
# came of it.


def main() -> None:
    """Do the task whose file is the only argument."""
    files = TaskFiles(Path(sys.argv[1]))
    try:
        files.give(_done(files))
    except TimesinkError as error:
        files.give({"error": error.message})


def _done(files: TaskFiles) -> dict[str, Any]:
    facts = files.facts
    if facts["kind"] == "record":
        return record_cycles(files)
    if facts["kind"] == "learn":
        be_nice()
        return _learn_rows(**facts["learn"])
    be_nice(NICEST)
    return compare_recordings(**facts["compare"])


def _learn_rows(
    rows: Sequence[str], *, last: int, until_s: float, to: str, earlier: str, source: str,
    alarms_per_hour: float, at_least: float,
) -> dict[str, Any]:  # fmt: skip
    """Learn from the last rows of some tables until then; the model goes to a file.

    Later ones are beside this process, which may begin late and takes processors.  Rows that are
    slower than an earlier model expects are refused: nobody has said that they may.
    """
    import polars as pl  # noqa: PLC0415 - start-up time

    from timesink.formats.cycle_rows import START, read_cycle_rows  # noqa: PLC0415
    from timesink.watcher.durations import model_content  # noqa: PLC0415
    from timesink.watcher.expected.live import LiveJudge  # noqa: PLC0415
    from timesink.watcher.expected.model import learn_live, live_model_from  # noqa: PLC0415

    tables = [read_cycle_rows(path) for path in rows if Path(path).exists()]
    table = pl.concat(tables, how="diagonal").filter(pl.col(START) < until_s).tail(last)
    if earlier:
        judged_rows = LiveJudge(live_model_from(model_content(earlier), earlier)).judge(table).table
        slower = judged_rows.select((pl.col("duration_us") / pl.col("expected_us")).median()).item()
        if slower is None:
            raise TimesinkError("no step has a workload that was learned")
        if slower > 1 + at_least / 2:
            longer = f"{100 * (slower - 1):.0f} %"
            raise TimesinkError(f"they take {longer} longer (timesink watch accept)")
    model = learn_live(table, alarms_per_hour=alarms_per_hour, at_least=at_least, source=source)
    Path(to).write_bytes(model.to_json())
    return {"cycles": model.cycles}


# A recording of some cycles of a program that runs on: it samples counters, waits until the agents
# have written their timelines, and packs them.

_TICK_S = 0.05
_INTERVAL_MS = 50.0
_MIN_S = 60.0
_ENDS = ("exported", "failed", "left")
_WRITES_S = 10.0
"""A program that ends gets so long to write what it has."""


def patience_s(cycles: int, cycle_us: float) -> float:
    """How long so many cycles may take to be recorded; the profiler makes them longer."""
    return max(_MIN_S, 30.0 + 5e-6 * cycles * cycle_us)


def record_cycles(files: TaskFiles) -> dict[str, Any]:
    """Make room, wait for the agents, pack; what came of it."""
    facts = files.facts["record"]
    if facts["is_healthy"]:
        be_nice()
    place = RecordingFolder(Path(facts["folder"]))
    plan = RecordPlan(
        cycles=facts["cycles"], skip=0, plain=facts["plain"], marker=facts["marker"],
        extras=tuple(facts["extras"]),
    )  # fmt: skip
    place.prepare()
    write_plan(plan, place.control)
    started_us = time.time_ns() // 1000
    watch = Watch(
        place.control,
        place.counters,
        facts["pids"][0],
        wanted=frozenset(facts["counters"]),
        interval_ms=_INTERVAL_MS,
    )
    files.say_ready()
    why = _wait_for_timelines(files, watch, place.control, facts["pids"], facts["patience_s"])
    watched = watch.watched()
    if not facts["is_healthy"]:
        be_nice()
    notes = read_notes(place.control)
    if not any(process_notes.last("window") for process_notes in notes):
        place.discard()
        failures = (
            str(failed["why"])
            for process_notes in notes
            if (failed := process_notes.last("failed"))
        )
        return {"error": why or next(failures, "no step was recorded")}
    program = ProgramRun(
        facts["timesink"], tuple(facts["command"]), plan, started_us, time.time_ns() // 1000, None
    )
    run, _ = conclude(program, watched, place)
    recorded = run["cycles"]["recorded"]
    if not any(process["trace"] for process in run["processes"]):
        return {"error": run["why_partial"] or why or "no timeline was written"}
    return {
        "cycles": recorded, "plain": run["cycles"]["plain"], "complete": run["complete"],
        "why_partial": run["why_partial"], "started_us": started_us,
        "ended_us": program.ended_us, "processes": len(run["processes"]),
        "profiler_pct": run["overhead"]["profiler_pct"],
    }  # fmt: skip


def _wait_for_timelines(
    files: TaskFiles, watch: Watch, control: Path, pids: Iterable[int], patience: float
) -> str:
    """Until every process has written its timeline; why not, where one did not."""
    until, asked_at = time.monotonic() + patience, None
    while True:
        watch.look()
        notes = {process_notes.pid: process_notes for process_notes in read_notes(control)}
        waiting = [
            pid
            for pid in pids
            if is_alive(pid)
            and not (pid in notes and any(notes[pid].last(event) for event in _ENDS))
        ]
        if not waiting:
            return ""
        now = time.monotonic()
        if asked_at is None and files.is_to_end():
            asked_at = now
        if asked_at is not None and now - asked_at > _WRITES_S:
            return "the watcher ended"
        if now > until:
            return f"not finished after {patience:.0f} s"
        time.sleep(_TICK_S)


# What a recording of slow cycles says beside one of healthy ones.

_KEY_FIELDS = ("verdict", "reason", "headline", "cycle_time", "causes", "anomalies")
_MAX_TASKS = 10
_SLOW_STATES = ("new", "worse", "same")


def compare_recordings(
    base: str, new: str, to: str, slower_us: float, explains: Sequence[str]
) -> dict[str, Any]:
    """Compare two recordings; pages and comments go to a folder, the facts are given back.

    Cycles of the second one take so much longer than was expected, which explains some causes.
    """
    from timesink.answers.comparison.document import (  # noqa: PLC0415 - start-up time
        comparison_document,
        indented_json,
    )
    from timesink.answers.comparison.gate import comment_md  # noqa: PLC0415
    from timesink.answers.comparison.report import compare  # noqa: PLC0415
    from timesink.model.diagnosis import Expectation  # noqa: PLC0415
    from timesink.output.html import report_html  # noqa: PLC0415

    folder = Path(to)
    comparison = compare(base, new).beyond(Expectation(1000 * slower_us, tuple(explains)))
    command = ("timesink", "compare", base, new)
    files = {
        "report.html": report_html(comparison_document(comparison)),
        "comment.md": comment_md(comparison, None, command),
        "comparison.json": indented_json(comparison),
    }
    for name, text in files.items():
        write_whole(folder / name, f"{text.rstrip()}\n".encode(errors="backslashreplace"))
    return {"files": list(files), **comparison_facts(comparison)}


def comparison_facts(comparison: ComparisonAnswer) -> dict[str, Any]:
    """What an incident keeps of a comparison; comparison.json has all of it."""
    values = comparison.to_dict()
    facts = {name: values.get(name) for name in _KEY_FIELDS}
    facts["causes"] = values["causes"][:_MAX_TASKS]
    facts["anomalies"] = values["anomalies"][:_MAX_TASKS]
    facts["edits"] = (values["program"] or {}).get("edits", [])[:_MAX_TASKS]
    facts["notes"] = [*values["notes"], *values["diagnosis_notes"]]
    facts["remarks"] = [
        "The recordings do not do the same work per step. "
        f"{' '.join(process_pair.workload.reasons)}"
        for process_pair in comparison.all_pairs[:1]
        if not process_pair.workload.comparable
    ]
    stragglers = (values.get("ranks") or {}).get("stragglers") or ()
    slow = next((straggler for straggler in stragglers if straggler["state"] in _SLOW_STATES), None)
    facts["slow_rank"] = None if slow is None else slow["rank"]
    first = (*values["causes"], *values["anomalies"])[:1]
    facts["cause"] = first[0]["sentence"] if first else ""
    return facts
