"""What must hold of any recording, checked on every recording below a folder.

  python benchmarks/strangers.py ../shared/data            every recording, a line each; exit code 1
                                                           if an invariant is violated anywhere
  python benchmarks/strangers.py FOLDER --only path,busy   some invariants
  python benchmarks/strangers.py FOLDER --largest 30       recordings of at most 30 MB

A recording that cannot be read is listed as refused, with the reason; that is no violation.  Any
other error is one.  The invariants need no known answer, so any recording serves: one that a
stranger sent is as good as one whose numbers are known.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import math
import multiprocessing
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

import timesink
from timesink.answers.analysis.document import analysis_document
from timesink.answers.analysis.report import Analysis
from timesink.model import units
from timesink.output.blocks import Findings
from timesink.output.html import report_html
from timesink.output.json import to_json
from timesink.output.terminal import to_text

TOLERANCE_NS = 2.0
"""Times in JSON have three digits of a microsecond; sums of a few of them may be off by so much."""
TOLERANCE_SHARE = 1e-6
SUFFIXES = (".json", ".json.gz", ".gz", ".sqlite", ".sqlite.gz")
LARGEST_MB = 40.0


@dataclass
class Subject:
    """One recording, and the answers that several invariants ask about."""

    path: Path

    @cached_property
    def analysis(self) -> Analysis:
        return timesink.analyze(self.path, cache=False)

    @cached_property
    def answer(self) -> dict[str, Any]:
        return dict(json.loads(self.analysis.to_json()))

    @cached_property
    def text(self) -> str:
        return to_text(analysis_document(self.analysis, brief=True), width=100)

    @property
    def has_device_work(self) -> bool:
        device = self.analysis.trace.device
        return bool(device["kind"].is_in(BUSY).any())


Invariant: TypeAlias = Callable[[Subject], Iterator[str]]
BUSY = ("kernel", "memcpy", "memset", "collective")


def near(left: float, right: float, count: int = 1) -> bool:
    """Whether two times in nanoseconds, or sums of `count` rounded ones, are the same."""
    return abs(left - right) <= TOLERANCE_NS * (count + 1) + TOLERANCE_SHARE * abs(right)


# -- invariants ------------------------------------------------------------------------------------


def answers(subject: Subject) -> Iterator[str]:
    """Text, JSON and page are made, and no number in them is no number."""
    if not subject.text.strip():
        yield "the text is empty"
    document = analysis_document(subject.analysis)
    json.loads(to_json(document))
    if "</html>" not in report_html(document):
        yield "the page is cut"
    strange = [
        key
        for key, value in leaves(subject.answer)
        if isinstance(value, float) and not math.isfinite(value)
    ]
    if strange:
        yield f"no number at {strange[0]}"


def sleeping_thread(subject: Subject) -> Iterator[str]:
    """A thread that only waits changes no conclusion, whether it is dropped or added."""
    trace = subject.analysis.trace
    host = trace.host
    if host.is_empty() or not trace.has_timeline:
        return
    usual = conclusions(subject.analysis)
    start, end = int(host["ts_ns"].min()), int((host["ts_ns"] + host["dur_ns"].fill_null(0)).max())
    # Inside of what was recorded: a longer recording is another one, and so is one with stacks.
    kind = "python_function" if (host["kind"] == "python_function").any() else "other"
    sleeper = host.head(1).with_columns(
        pl.lit("threading.py(359): wait").cast(host.schema["name"]).alias("name"),
        pl.lit(kind).cast(host.schema["kind"]).alias("kind"),
        pl.lit("tid of a sleeper").cast(host.schema["tid"]).alias("tid"),
        pl.lit(start).cast(host.schema["ts_ns"]).alias("ts_ns"),
        pl.lit(end - start).cast(host.schema["dur_ns"]).alias("dur_ns"),
        (pl.lit(host["index"].max()) + 1).cast(host.schema["index"]).alias("index"),
        *(
            pl.lit(None).cast(host.schema[name]).alias(name)
            for name in ("external_id", "correlation", "step", "sequence_number")
            if name in host.columns
        ),
    )
    names = host["name"].cast(pl.String)
    waits = names.str.contains(_WAITS)
    is_active = (
        host.select("pid", "tid")
        .with_columns(active=~waits)
        .group_by("pid", "tid")
        .agg(pl.col("active").any())
    )
    monitors = (
        host.with_columns(names.alias("text"))
        .group_by("pid", "tid")
        .agg(pl.col("text").str.contains("_monitor.py").any())
    )
    sleeping = is_active.filter(~pl.col("active")).select("pid", "tid")
    sleeping = pl.concat([sleeping, monitors.filter("text").select("pid", "tid")]).unique()
    variants = {"added": pl.concat([host, sleeper])}
    if sleeping.height and sleeping.height < is_active.height:
        variants["dropped"] = host.join(
            sleeping, on=["pid", "tid"], how="anti", nulls_equal=True, maintain_order="left"
        )
    for word, rows in variants.items():
        changed = replace(trace, frames={**trace.frames, "host": rows.lazy()})
        other = conclusions(replace(subject.analysis, trace=changed))
        for key, value in usual.items():
            if other[key] != value:
                yield f"{key} differs with a sleeping thread {word}: {value!r} -> {other[key]!r}"


_WAITS = (
    r"threading\.py\(\d+\): (?:wait|_bootstrap|run)|queue\.py\(\d+\): get"
    r"|^<built-in method (?:acquire|sleep|select)"
)


def conclusions(analysis: Analysis) -> dict[str, Any]:
    """What a reader takes away: headline, parts, path, findings."""
    answer = json.loads(replace(analysis, keeps_answer=False).to_json())
    return {
        "headline": answer["headline"],
        "findings": [(finding["rule"], finding["severity"]) for finding in answer["findings"]],
        "breakdown": {
            part["part"]: round(part["mean_us"], 1) for part in answer["breakdown"]["parts"]
        },
        "path": {
            piece["kind"]: round(piece["time_us"], 1) for piece in answer["critical_path"]["kinds"]
        },
        "steps": [row["total_us"] for row in answer["steps"]["rows"]],
    }


def what_if(subject: Subject) -> Iterator[str]:
    """Removing never costs, doubling never saves: remove <= as it is <= twice."""
    trace = subject.analysis.trace
    if not trace.has_timeline or not subject.answer["steps"]["count"]:
        return
    whats = ["kernel:*", "copy:*", "communication", "loading", "sync:*", "call:*", "cycle"]
    whats += [f"op:{row['name']}" for row in subject.answer["operators"]["rows"][:2]]
    for what in whats:
        lengths = []
        removed = "scale cycle=0.01" if what == "cycle" else f"remove {what}"
        for change in (removed, f"scale {what}=1", f"scale {what}=2"):
            try:
                result = timesink.whatif(trace, [change])
            except timesink.TimesinkError:
                lengths = []
                break
            lengths.append(result.cycle_ns)
            bounds = result.interval_ns
            if bounds and not bounds[0] - 1 <= result.cycle_ns <= bounds[1] + 1:
                low, high = bounds
                yield f"{change}: {result.cycle_ns:.0f} ns is not within {low:.0f} to {high:.0f}"
            if result.today_ns and not result.cycle_ns > 0 and change != removed:
                yield f"{change}: a step of {result.cycle_ns:.0f} ns"
        slack = 1 + 1e-4 * max(lengths, default=0.0)
        if any(after < before - slack for before, after in pairwise(lengths)):
            none, now, twice = lengths
            yield f"{what}: removed {none:.0f}, as it is {now:.0f}, twice {twice:.0f} ns"


def parts(subject: Subject) -> Iterator[str]:
    """Parts of the breakdown, the path and the waterfall add up to the step."""
    answer = subject.answer
    sections: list[tuple[str, Mapping[str, Any]]] = [("breakdown", answer["breakdown"])]
    if answer["own"]:
        sections.append(("own breakdown", answer["own"]["breakdown"]))
    for name, section in sections:
        if section.get("parts") and section.get("step_us"):
            total = sum(part["mean_us"] for part in section["parts"])
            if not near(1000 * total, 1000 * section["step_us"], len(section["parts"])):
                yield f"{name}: parts are {total:.3f} us of a step of {section['step_us']:.3f} us"
    path = answer["critical_path"]
    if path.get("cycle_us"):
        total = sum(piece["time_us"] for piece in path["kinds"])
        if not near(1000 * total, 1000 * path["cycle_us"], 40 * len(path["kinds"])):
            yield f"path: pieces are {total:.3f} us of {path['cycle_us']:.3f} us"
    efficiency = answer["efficiency"] or {}
    for name, step in (
        ("", efficiency.get("step")),
        ("own ", (answer["own"] or {}).get("efficiency", {}).get("step")),
    ):
        if step and step.get("waterfall"):
            total = sum(part["time_us"] for part in step["waterfall"])
            if not near(1000 * total, 1000 * step["step_us"], 4 * len(step["waterfall"])):
                yield f"{name}waterfall: parts are {total:.3f} us of {step['step_us']:.3f} us"


def busy(subject: Subject) -> Iterator[str]:
    """Busy, exposed and overlapped time are those of a union of the events of the file."""
    events = raw_device_events(subject.path)
    for row in subject.answer["device"] if events is not None else ():
        time, mine = row["time"], events.get(str(row["device"]))
        if mine is None or time is None:
            continue
        kernels, who = {"busy_us": union(mine)}, f"device {row['device']}"
        for key, wanted in kernels.items():
            if not near(1000 * time[key], wanted, 50):
                of_events = wanted / 1000
                yield f"{who}: {key} is {time[key]:.3f}, the union of events {of_events:.3f}"
        covered = time["busy_us"] + time["idle_us"]
        if not near(1000 * covered, 1000 * time["span_us"]):
            yield f"{who}: busy and idle are {covered:.3f} of {time['span_us']:.3f} us"
        exposed = (
            time["compute_only_us"] + time["exposed_communication_us"] + time["exposed_memory_us"]
        )
        if exposed > time["busy_us"] + 1e-3:
            yield f"{who}: exposed parts are {exposed:.3f} of {time['busy_us']:.3f} us"


def one_step(subject: Subject) -> Iterator[str]:
    """The step of `analyze` is that of `compare FILE FILE`, or the answer says how they differ."""
    steps = subject.answer["steps"]
    if not subject.analysis.trace.has_timeline or not steps["marked"]:
        return
    try:
        same = timesink.compare(subject.path, subject.path, cache=False)
        cycle_time = json.loads(same.to_json())["cycle_time"]
    except timesink.TimesinkError:
        return
    lengths = {
        cycle_time["base_us"],
        (cycle_time.get("steady") or {}).get("base_us"),
        cycle_time.get("recorded_us"),
    }
    mine = {steps["mean_us"], steps["median_us"]}
    if cycle_time["base_us"] is not None and not any(
        near(1000 * left, 1000 * right, 20) for left in mine for right in lengths if left and right
    ):
        yield (
            f"a step is {steps['mean_us']:.3f} us in analyze, {cycle_time['base_us']:.3f} us "
            "in compare"
        )
    if json.loads(same.to_json())["verdict"] not in (
        "no_change",
        "undecided",
        "not_judged",
        "incomparable",
        None,
        "",
    ):
        yield f"compared with itself: {json.loads(same.to_json())['verdict']}"


def estimates(subject: Subject) -> Iterator[str]:
    """A low bound is not above the estimate, nor that above the high one."""
    clock = subject.answer["clock"]
    interval, length = clock.get("ci95_us"), clock.get("own_cycle_us")
    if interval and length and not interval[0] - 1e-3 <= length <= interval[1] + 1e-3:
        yield f"the step without profiler overhead, {length} us, is not within {interval}"


def savings(subject: Subject) -> Iterator[str]:
    """No finding is high without a saving, and none saves more than a step takes."""
    answer = subject.answer
    length = ((answer["own"] or answer)["steps"] or {}).get("mean_us") or 0.0
    for finding in answer["findings"]:
        gain = finding["gain_us_per_step"] + finding["gain_us_between_steps"]
        if finding["severity"] == "high" and gain <= 0:
            yield f"{finding['rule']} is high and saves nothing"
        if length and finding["gain_us_per_step"] > length * (1 + 1e-4) + 0.01:
            yield f"{finding['rule']} saves {finding['gain_us_per_step']:.1f} of {length:.1f} us"


def agreement(subject: Subject) -> Iterator[str]:
    """Times of the headline stand in the answer; text, JSON and page have one first finding."""
    answer = subject.answer
    lengths = list(durations(answer["headline"]))
    values = [
        1000 * value
        for key, value in leaves(answer)
        if (key.endswith("_us") or "_us_" in key) and isinstance(value, (int, float))
    ]
    values += [
        float(value)
        for key, value in leaves(answer)
        if key.endswith("_ns") and isinstance(value, (int, float))
    ]
    clock = answer["clock"]
    if clock.get("ci95_us") and clock.get("own_cycle_us"):
        mean = ((answer["own"] or answer)["steps"] or {}).get("mean_us") or 0.0
        values += [1000 * mean * bound / clock["own_cycle_us"] for bound in clock["ci95_us"]]
    # Parts that no table has alone: gaps between steps, and what one operator takes.
    forms = {form for value in values for form in (units.duration_ns(value), units.brief_ns(value))}
    forms |= {form for finding in answer["findings"] for form in durations(finding["sentence"])}
    for length in lengths:
        if length not in forms:
            yield f"headline: {length} is not in the answer"
    in_json = answer["findings"][0]["rule"] if answer["findings"] else None
    document = analysis_document(subject.analysis)
    cards = [
        block.items[0].rule
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Findings) and block.items
    ]
    if cards and cards[0] != in_json and cards[0] != "stragglers":
        yield f"the first finding is {in_json} in JSON, {cards[0]} on the page"
    # A long title goes on in a second line.
    named = re.findall(r"^(?:high|medium|low)\s[^\[]*\[([\w-]+)\]$", subject.text, re.MULTILINE)
    if named and named[0] != in_json:
        yield f"the first finding is {in_json} in JSON, {named[0]} in the text"


def verdict(subject: Subject) -> Iterator[str]:
    """An answer says what its recording cannot carry, and does not conclude it all the same."""
    recording = subject.answer.get("recording")
    if recording is None:
        yield "the answer has no verdict on the recording"
        return
    if recording["fit"] != ("yes" if not recording["reasons"] else recording["fit"]):
        yield f"fit is {recording['fit']} without a reason"
    denied = {question for reason in recording["reasons"] for question in reason["denies"]}
    if "idle" in denied:
        for finding in subject.answer["findings"]:
            if "utilisation" in finding["rule"] or finding["rule"] in ("between-steps", "idle-gap"):
                yield f"{finding['rule']} although idle time cannot be told"


INVARIANTS: Mapping[str, Invariant] = {
    "answers": answers,
    "sleeping": sleeping_thread,
    "whatif": what_if,
    "parts": parts,
    "busy": busy,
    "one-step": one_step,
    "estimates": estimates,
    "savings": savings,
    "agreement": agreement,
    "verdict": verdict,
}


# -- the same from the file itself, without the package --------------------------------------------


_DEVICE_CATEGORIES = {
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "Kernel",
    "Memcpy",
    "Memset",
    "mlu_memcpy",
    "mlu_memset",
    "mtia_ccp_events",
}


def raw_device_events(path: Path) -> dict[str, list[tuple[int, int]]] | None:
    """Start and end of device work by device, in nanoseconds; None for all but Chrome JSON."""
    if ".json" not in path.name:
        return None
    opened = gzip.open if path.name.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8") as stream:
            content = json.load(stream, parse_float=str)
    except (ValueError, OSError, EOFError, RecursionError):
        return None
    events = content.get("traceEvents", []) if isinstance(content, dict) else content
    if not isinstance(events, list):
        return None
    by_device: dict[str, list[tuple[int, int]]] = {}
    for event in events:
        if (
            not isinstance(event, dict)
            or event.get("ph") != "X"
            or event.get("cat") not in _DEVICE_CATEGORIES
        ):
            continue
        device = (event.get("args") or {}).get("device", event.get("pid"))
        start, length = nanoseconds(event.get("ts")), nanoseconds(event.get("dur"))
        by_device.setdefault(str(device), []).append((start, start + length))
    return by_device


def nanoseconds(text: Any) -> int:
    """A time in microseconds, as written, exactly."""
    integer, _, rest = str(text or 0).partition(".")
    if not re.fullmatch(r"-?\d+", integer) or not re.fullmatch(r"\d*", rest):
        return round(1000 * float(text))
    return int(integer) * 1000 + int((rest + "000")[:3])


def union(events: Sequence[tuple[int, int]]) -> int:
    """How much time events cover together."""
    total, reached = 0, None
    for start, end in sorted(events):
        if reached is None or start > reached:
            total, reached = total + end - start, end
        elif end > reached:
            total, reached = total + end - reached, end
    return total


_DURATION = re.compile(r"(?<![\w.])\d[\d ,]*(?:\.\d+)? (?:ns|us|ms|s)\b")


def durations(text: str) -> Iterator[str]:
    """The times a sentence names, as it writes them."""
    for match in _DURATION.finditer(text):
        yield match[0]


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of an answer with the last key above it."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, key)
    else:
        yield key, value


# -- the run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What was seen of one recording."""

    path: Path
    seconds: float
    refused: str = ""
    violations: tuple[tuple[str, str], ...] = ()


def check(path: Path, wanted: Sequence[str]) -> Outcome:
    """Every wanted invariant of one recording."""
    began, violations, subject = time.monotonic(), [], Subject(path)
    try:
        _ = subject.analysis.headline
    except timesink.TimesinkError as error:
        return Outcome(path, time.monotonic() - began, error.message)
    except Exception as error:  # noqa: BLE001 - a crash is what is looked for
        return Outcome(path, time.monotonic() - began, "", (("answers", crash(error)),))
    for name in wanted:
        try:
            violations += [(name, text) for text in INVARIANTS[name](subject)]
        except Exception as error:  # noqa: BLE001, PERF203 - a crash is what is looked for
            violations.append((name, crash(error)))
    gc.collect()
    return Outcome(path, time.monotonic() - began, "", tuple(violations))


def crash(error: BaseException) -> str:
    """An error in a line, and where it came from."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"[:300]


def recordings(folder: Path, largest_mb: float) -> list[Path]:
    """Files that may be recordings, small ones first."""
    files = [folder] if folder.is_file() else [p for p in folder.rglob("*") if p.is_file()]
    chosen = [
        p for p in files if p.name.endswith(SUFFIXES) and p.stat().st_size <= 1e6 * largest_mb
    ]
    return sorted(chosen, key=lambda path: (path.stat().st_size, path))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--only", default=",".join(INVARIANTS), help="names of invariants")
    parser.add_argument(
        "--largest", type=float, default=LARGEST_MB, help="in MB (default %(default)g)"
    )
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    wanted = options.only.split(",")
    unknown = set(wanted) - set(INVARIANTS)
    if unknown:
        parser.error(
            f"no invariant {', '.join(sorted(unknown))}; there are {', '.join(INVARIANTS)}"
        )
    paths = [path for folder in options.folder for path in recordings(folder, options.largest)]
    os.environ.setdefault("TIMESINK_CACHE_DIR", tempfile.mkdtemp(prefix="timesink-strangers-"))
    counts = dict.fromkeys(wanted, 0)
    read = refused = bad = 0
    # Fresh processes now and then: what one recording took is given back.
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.jobs, maxtasksperchild=8) as pool:
        for outcome in pool.imap_unordered(partial(check, wanted=wanted), paths):
            if outcome.refused:
                refused += 1
                print(f"refused  {outcome.path}: {outcome.refused}", flush=True)
                continue
            read += 1
            bad += bool(outcome.violations)
            word = "VIOLATED" if outcome.violations else "holds"
            print(f"{word:8} {outcome.path} ({outcome.seconds:.1f} s)", flush=True)
            for name, text in outcome.violations:
                counts[name] += 1
                print(f"         {name}: {text}", flush=True)
    print(f"\n{read} recordings, {refused} files that are none; {bad} violate an invariant")
    for name, count in counts.items():
        print(f"  {name:10} {count:4}  {(INVARIANTS[name].__doc__ or '').partition(chr(10))[0]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
