"""What to watch, and how much the watcher may do about it."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from timesink.errors import CollectError, UsageError
from timesink.recorder.agent.watched_marks import preset_names
from timesink.recorder.counter_probes import wanted_counters
from timesink.recorder.folder import RecordingFolder, RecordPlan
from timesink.recorder.processes import check_program, mask_secrets

DEFAULT_PLACE = Path("timesink-watch")
SAME, OTHER = "same", "other"
_LEARNED_WITH = ("marker", "preset", "span", "extractor", "alarms_per_hour", "at_least")
"""With other ones, what was learned does not hold."""
REFERENCES = 4
"""So many workloads get a recording of healthy cycles."""


@dataclass(frozen=True)
class WatchPlan:
    """What `timesink watch` was asked for."""

    folder: Path
    command: tuple[str, ...] = ()
    timesink: str = ""
    learn: int = 1000
    learn_s: float = 30.0
    skip: int = 20
    """Cycles of each process to let pass first."""
    model: Path | None = None
    alarms_per_hour: float = 0.1
    at_least: float = 0.1
    """Shifts below this share never are an alarm."""
    marker: str = ""
    preset: str = ""
    span: str = ""
    extractor: str = ""
    cycles: int = 20
    plain: int = 10
    extras: tuple[str, ...] = ()
    gap_s: float = 60.0
    """No two recordings begin within this time."""
    most_incidents: int = 6
    quota_bytes: int = 2 << 30
    counters: frozenset[str] = frozenset()
    on_alarm: tuple[str, ...] = ()
    metrics: tuple[str, int] | None = None
    otel: bool = False
    summary: str = ""
    """A URL or a folder; the status of every watcher is put there."""
    is_recording: bool = True
    """Whether alarms and references may switch the profiler on."""
    before: str = ""
    """What lies in the folder: nothing, or a watch of the SAME program and options, or of OTHER."""

    @property
    def agent(self) -> RecordPlan:
        """What the agent in the program is told."""
        return RecordPlan(
            watch=True, marker=self.marker, preset=self.preset, span=self.span,
            extractor=self.extractor, extras=self.extras,
        )  # fmt: skip

    def options(self) -> dict[str, Any]:
        """What watch.json says of it."""
        names = (
            "learn", "learn_s", "skip", "alarms_per_hour", "at_least", "marker", "preset", "span",
            "extractor", "cycles", "plain", "gap_s", "most_incidents", "quota_bytes",
        )  # fmt: skip
        model = None if self.model is None else str(self.model)
        return {**{name: getattr(self, name) for name in names}, "model": model}


# A plan from options by the names they have on the command line, each of which is checked.

_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_bytes(value: object) -> int:
    """A size as 500M or 2G, or a number of bytes.

    >>> size_bytes("2K")
    2048
    """
    match = re.fullmatch(r"(\d{1,18}) *([KMGT]?)(?:i?B)?", str(value).strip(), re.IGNORECASE)
    if not match or not int(match[1]):
        raise ValueError
    return int(match[1]) * _SIZES[match[2].upper()]


def metrics_address(value: object) -> tuple[str, int]:
    """Where to serve: a port, or HOST:PORT.

    >>> metrics_address(9400), metrics_address("[::1]:9400")
    (('127.0.0.1', 9400), ('::1', 9400))
    """
    if isinstance(value, tuple):
        value = ":".join(str(part) for part in value)
    host, _, port = str(value).rpartition(":")
    if not re.fullmatch(r"\d{1,5}", port) or int(port) > 65535:
        raise ValueError
    return host.strip("[]") or "127.0.0.1", int(port)


def command_words(value: object) -> tuple[str, ...]:
    """The words of a command, given as a text or one by one."""
    words = shlex.split(value) if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise TypeError
    return tuple(words)


def _count(least: int) -> Callable[[object], int]:
    def count(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError
        return value

    return count


def _number(low: float, high: float) -> Callable[[object], float]:
    def number(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TypeError
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError
        return float(value)

    return number


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _path(value: object) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str | Path):
        raise TypeError
    return Path(value).absolute()


def _extractor(value: object) -> str:
    if value and not re.fullmatch(r"[\w.]+:[\w.]+", _text(value)):
        raise ValueError
    return _text(value)


def _span(value: object) -> str:
    if value not in ("", "loop", "call"):
        raise ValueError
    return str(value)


def _preset(value: object) -> str:
    if value and value not in preset_names():
        raise ValueError
    return _text(value)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


_cycles, _seconds = "a number of steps", "a number of seconds"
_OPTIONS: Mapping[str, tuple[str, Callable[[Any], Any], str]] = {
    "learn": ("learn", _count(1), f"{_cycles}, 1 or more"),
    "learn_seconds": ("learn_s", _number(0, 1e7), _seconds),
    "skip": ("skip", _count(0), _cycles),
    "model": ("model", _path, "a path"),
    "false_alarms": ("alarms_per_hour", _number(1e-9, 1e9), "a number of alarms per hour, as 0.1"),
    "at_least": ("at_least", _number(1e-9, 1 - 1e-9), "a share between 0 and 1"),
    "marker": ("marker", _text, "a name"),
    "preset": ("preset", _preset, f"one of {', '.join(preset_names())}"),
    "span": ("span", _span, "loop or call"),
    "workload": ("extractor", _extractor, "a function as package.module:function"),
    "cycles": ("cycles", _count(1), f"{_cycles}, 1 or more"),
    "plain": ("plain", _count(0), _cycles),
    "gap": ("gap_s", _number(0, 1e7), _seconds),
    "most_incidents": ("most_incidents", _count(1), "a number of incidents, 1 or more"),
    "quota": ("quota_bytes", size_bytes, "a size such as 500M or 2G"),
    "counters": ("counters", lambda value: wanted_counters(_text(value)), "names of counters"),
    "no_record": ("is_recording", lambda value: not _switch(value), "True or False"),
    "on_alarm": ("on_alarm", command_words, "a command"),
    "metrics": ("metrics", metrics_address, "a port, or HOST:PORT"),
    "otel": ("otel", _switch, "True or False"),
    "summary": ("summary", str, "a folder or URL"),
}
"""The field of each option, what checks it, and what it has to be."""
OPTION_NAMES = tuple(_OPTIONS)


def plan_of(folder: Path, options: Mapping[str, Any], **facts: Any) -> WatchPlan:
    """What to do, of options by the names of the command line; others are refused.

    >>> plan_of(Path("w"), {"learn_seconds": 5, "quota": "1K"}).quota_bytes
    1024
    """
    fields = {}
    for name, value in options.items():
        if name not in _OPTIONS:
            raise UsageError(f"watch has no option {name!r}", f"there are {', '.join(_OPTIONS)}")
        place, check, what = _OPTIONS[name]
        if value is None:
            continue
        try:
            fields[place] = check(value)
        except (ValueError, TypeError, OverflowError):
            raise UsageError(
                f"{name}: {value!r} is not {what}", "see  timesink watch run --help"
            ) from None
    plan = WatchPlan(folder, **facts, **fields)
    if plan.preset and plan.marker:
        raise UsageError("preset and marker cannot go together", "leave out one of them")
    if plan.on_alarm:
        try:
            check_program(plan.on_alarm)
        except CollectError as error:
            raise UsageError(f"on_alarm: {error.message}", error.hint) from None
    return plan


def plan_in_place(plan: WatchPlan, *, force: bool) -> WatchPlan:
    """Refuse a folder that cannot be used; that of an ended watch is gone on with.

    A program that is started again learns once.  With `force` all begins anew.
    """
    before = "" if force else _before(plan)
    RecordingFolder(plan.folder).check(force=force or before != "")
    model = plan.folder / "model.json"
    if before == SAME and plan.model is None and model.is_file():
        plan = replace(plan, model=model)
    return replace(plan, before=before)


def _before(plan: WatchPlan) -> str:
    damage = (ValueError, RecursionError, TypeError, AttributeError, KeyError)
    with suppress(OSError, *damage):
        document = json.loads((plan.folder / "watch.json").read_bytes())
        if str(document["schema"]).startswith("timesink/watch/"):
            options = plan.options()
            is_same = mask_secrets(document["command"]) == mask_secrets(plan.command) and all(
                document["options"][name] == options[name] for name in _LEARNED_WITH
            )
            # Of a process that ran already no command is known.
            return SAME if is_same and plan.command else OTHER
    return ""
