"""What a source of counters gives to those who sample."""

from __future__ import annotations

import csv
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from timesink.errors import UsageError
from timesink.recorder.processes import children_by_parent, descendants

# Every counter there is, for the command line and for the page that lists them all.

_DATA = Path(__file__).with_name("counters.csv")
HOST = "Host"
"""Label of what belongs to the machine and to no device of it."""

GROUPS = {
    "gpu": "devices and their links, own and others' use of them",
    "cpu": "processors: use, clock, what a quota or another machine takes",
    "process": "the program itself: processor time, waits for a core, memory",
    "memory": "memory and swap of the host",
    "psi": "pressure: time in which something waited for a core, memory or a disk",
    "disk": "disks",
    "network": "network cards and InfiniBand",
}
"""What can be asked for at once, and what it is about."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One column of figures that a sampler writes."""

    name: str
    group: str
    """A key of `GROUPS`."""
    unit: str
    source: str
    """Where the figure comes from."""
    tells: str
    missing: str
    """When it cannot be had."""


def _read() -> tuple[Counter, ...]:
    """What `counters.csv` beside this file lists; one line is one counter."""
    with _DATA.open(encoding="utf-8", newline="") as file:
        return tuple(Counter(**row) for row in csv.DictReader(file))


COUNTERS = _read()
"""In the order of the page that lists them."""
GPU_COUNTERS = tuple(each for each in COUNTERS if each.group == "gpu")


def wanted(text: str) -> frozenset[str]:
    """The counters that a list of groups, names and globs asks for."""
    words = [word for part in text.split(",") if (word := part.strip())]
    if words == ["none"]:
        return frozenset()
    hint = f"give all, none, or a list of {', '.join(GROUPS)} and names such as gpu_power*"
    if not words:
        raise UsageError("no counters are named", hint)
    found: set[str] = set()
    for word in words:
        named = {
            each.name
            for each in COUNTERS
            if word in ("all", each.group) or fnmatchcase(each.name, word.lower())
        }
        if not named:
            raise UsageError(f"no counter is called {word!r}", hint)
        found |= named
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Missing:
    """A counter that was asked for and is not in the file, or not all of it."""

    counter: str
    why: str


def missing_in_words(missing: Iterable[Missing], most: int = 3) -> tuple[str, ...]:
    """A line for each reason, with the first counters it is the reason for."""
    counters: dict[str, list[str]] = {}
    for one in missing:
        counters.setdefault(one.why, []).append(one.counter)
    lines = []
    for why, names in counters.items():
        more = f" and {len(names) - most} more" if len(names) > most else ""
        lines.append(f"{', '.join(names[:most])}{more}: {why or 'no reason given'}")
    return tuple(lines)


# -- files of the kernel -------------------------------------------------------------------------

_MOST_BYTES = 1 << 20
_FIRST_BYTES = 4096
_PIECE_BYTES = 1 << 16


class KeptFile:
    """A file that stays open: opening it anew takes longer than reading it."""

    def __init__(self, path: Path | str) -> None:
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self._size = _FIRST_BYTES

    def read(self) -> str:
        """What it says now."""
        content = os.pread(self._file, self._size, 0)
        # What fills the room may go on: read it again at once, and not in pieces of two moments.
        while len(content) == self._size < _MOST_BYTES:
            self._size *= 4
            content = os.pread(self._file, self._size, 0)
        return content.decode("utf-8", "replace")

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # Bound early: at the end of a program modules may be gone before their objects are.
        if hasattr(self, "_file"):
            close(self._file)


def read_text(path: Path | str) -> str:
    """A file that is read now and then; a third of the time that `Path.read_text` takes."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        content = b""
        while piece := os.read(file, _PIECE_BYTES):
            content += piece
    finally:
        os.close(file)
    return content.decode("utf-8", "replace")


def try_text(path: Path | str) -> str | None:
    """A file that need not be there."""
    try:
        return read_text(path)
    except OSError:
        return None


# -- what cannot be sampled ----------------------------------------------------------------------


class UnavailableError(Exception):
    """Why a source has no counters at all; never reaches a user as an error."""


class MissingBook:
    """Counters that are not there, each once with the reason; written to from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons: dict[str, dict[str, set[str]]] = {}

    def name(self, counters: Iterable[str], why: str, device: str = "") -> None:
        """Say once that counters are missing, and for which device if not for all."""
        with self._lock:
            for counter in counters:
                devices = self._reasons.setdefault(counter, {}).setdefault(why, set())
                devices.update([device] if device else [])

    def named(self) -> tuple[Missing, ...]:
        """Every counter that is missing, each of them once."""
        with self._lock:
            return tuple(
                Missing(
                    counter,
                    "; ".join(
                        f"{', '.join(sorted(devices))}: {why}" if devices else why
                        for why, devices in reasons.items()
                    ),
                )
                for counter, reasons in sorted(self._reasons.items())
            )


def reason(error: BaseException) -> str:
    """An error as a reason that a counter is missing."""
    if isinstance(error, OSError) and error.errno is not None:
        said = error.strerror or os.strerror(error.errno)
        return f"{error.filename}: {said}" if error.filename else said
    if isinstance(error, KeyError):
        return f"the system does not tell {error.args[0]}" if error.args else "not told"
    return " ".join(str(error).split()) or type(error).__name__


# -- processes of the program --------------------------------------------------------------------

_PIDS_EVERY_S = 0.2
_CHILDREN_EVERY_S = 1.0
_SHARE = 0.01
"""Part of a core that looking for processes may take: a host may have thousands."""


class OwnProcesses:
    """Processes of the program: those its recorder knows, and what they started.

    Asked from several threads, of which one looks for them.
    """

    def __init__(self, pids: Callable[[], Collection[int]], root: Path = Path("/")) -> None:
        self._pids = pids
        self._proc = os.fspath(root / "proc")
        self._roots: tuple[int, ...] | None = None
        self._families: Mapping[int, tuple[int, ...]] = {}
        self._pids_from_s = 0.0
        self._children_from_s = 0.0

    def roots(self) -> tuple[int, ...]:
        """Processes the recorder knows, as of the last look."""
        if self._roots is None:
            self._roots = tuple(sorted(set(self._pids())))
        return self._roots

    def families(self) -> Mapping[int, tuple[int, ...]]:
        """Each of them with all it started, as of the last look."""
        known = self._families
        return {root: known.get(root, (root,)) for root in self.roots()}

    def members(self) -> frozenset[int]:
        """All processes of the program."""
        return frozenset(pid for family in self.families().values() for pid in family)

    def look(self, now_s: float) -> None:
        """Look again, if the last time is long enough ago."""
        begun_s = time.thread_time()
        if now_s >= self._pids_from_s:
            self._roots = tuple(sorted(set(self._pids())))
            self._pids_from_s = now_s + _rest_s(begun_s, _PIDS_EVERY_S)
        begun_s = time.thread_time()
        if now_s >= self._children_from_s:
            # Without the one that samples: the program may have started it.
            children = {
                parent: [pid for pid in pids if pid != os.getpid()]
                for parent, pids in children_by_parent(self._proc).items()
            }
            self._families = {root: descendants(root, children) for root in self.roots()}
            self._children_from_s = now_s + _rest_s(begun_s, _CHILDREN_EVERY_S)


def _rest_s(begun_s: float, least_s: float) -> float:
    """How long to wait after something that was begun then."""
    return max(least_s, (time.thread_time() - begun_s) / _SHARE)


def cpu_time_s(pid: int) -> float:
    """Processor time of a process with all its threads, to the nanosecond."""
    # How Linux numbers the clock of another process: clock_getcpuclockid(3).
    return time.clock_gettime((~pid << 3) | 2)


# -- probes --------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """One value of a counter."""

    counter: str
    device: str
    value: float
    at_us: int | None = None
    """When it held, where that is known better than when it was read: Unix time."""


Values = Callable[[], Sequence[float] | None]
"""Reads one value for each of some counters; None where there is nothing to say yet."""

HOST_LANE = "host"
GPU_LANE = "gpu"
SLOW_LANE = "host slow"


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """One thing to read, which gives values of one or several counters."""

    counters: tuple[str, ...]
    read: Callable[[float], Iterable[Sample]]
    """Called with seconds of a clock that never goes back; may raise, which names its counters."""
    device: str = HOST
    lane: str = HOST_LANE
    """Probes of one lane take turns: what is slow has a lane of its own."""
    least_ms: float = 0.0
    """Not more often than that."""
    otherwise: str = ""
    """Why it may never give a value, without an error."""
    looks_back: bool = False
    """It gives all that happened since it was read before, so it is read once more at the end."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbeContext:
    """Where a source looks, and for what."""

    wanted: frozenset[str]
    own: OwnProcesses
    missing: MissingBook = field(default_factory=MissingBook)
    root: Path = Path("/")
    """Above `proc` and `sys`."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cpu_time_s: Callable[[int], float] = cpu_time_s

    def wants(self, *counters: str) -> bool:
        """Whether any of the counters was asked for."""
        return not self.wanted.isdisjoint(counters)

    def miss(self, counters: Collection[str], why: str) -> None:
        """Name those of the counters that were asked for."""
        self.missing.name((counter for counter in counters if counter in self.wanted), why)


@dataclass(frozen=True, slots=True)
class CounterSource:
    """Where counters come from."""

    counters: tuple[str, ...]
    """Without any, it is opened whatever was asked for."""
    open: Callable[[ProbeContext], Iterator[Probe]]
    """May raise, which names its counters."""

    def probes(self, context: ProbeContext) -> Iterator[Probe]:
        """What can be read; what cannot is named."""
        if self.counters and not context.wants(*self.counters):
            return
        try:
            yield from self.open(context)
        except Exception as error:  # noqa: BLE001 - one that breaks is one less
            context.miss(self.counters, reason(error))


def labelled(
    names: Sequence[str], values: Values, labels: Sequence[str]
) -> Callable[[float], Iterable[Sample]]:
    """What a probe reads where one value of each counter holds for all labels of a device."""

    def read(_now_s: float) -> Iterable[Sample]:
        found = values()
        if found is None:
            return []
        pairs = zip(names, found, strict=True)
        return [Sample(name, label, value) for name, value in pairs for label in labels]

    return read


class GrowthRate:
    """How fast totals grow: the difference to the reading before, per second."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[float, float]] = {}

    def of(self, name: str, now_s: float, total: float) -> float | None:
        """None for the first reading, and where a total began anew."""
        before = self._before.get(name)
        self._before[name] = now_s, total
        if before is None or now_s <= before[0] or total < before[1]:
            return None
        return (total - before[1]) / (now_s - before[0])

    def forget(self, name: str) -> None:
        """What had this name has ended; another may have it from now on."""
        self._before.pop(name, None)

    def samples(
        self,
        now_s: float,
        totals: Mapping[str, float],
        labels: Sequence[str] = (HOST,),
        scale: float = 1.0,
    ) -> list[Sample]:
        """The rates of counters that are known, times `scale`, under all labels of a device."""
        rates = {name: self.of(name, now_s, total) for name, total in totals.items()}
        return [
            Sample(name, label, rate * scale)
            for name, rate in rates.items()
            if rate is not None
            for label in labels
        ]
