"""What a source of counters gives to those who sample, and what devices of all makers share."""

from __future__ import annotations

import csv
import math
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, TypeVar

from timesink.errors import UsageError
from timesink.recorder.processes import OwnProcesses

# Every counter there is, for the command line and for the page that lists them all.

_DATA = Path(__file__).with_name("counters.csv")
HOST = "Host"
"""Label of what belongs to the machine and to no device of it."""

GROUPS = {
    "gpu": "devices and their links, with the use by this and other programs",
    "cpu": "processors: use, clock, time lost to a quota or to other virtual machines",
    "process": "the program itself: processor time, waits for a core, memory",
    "memory": "memory and swap of the host",
    "psi": "pressure: time in which a task waited for a core, memory or a disk",
    "disk": "disks",
    "network": "network cards and InfiniBand",
}
"""Groups of counters that can be chosen together, and what each holds."""


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
GPU_COUNTERS = tuple(counter for counter in COUNTERS if counter.group == "gpu")


def wanted_counters(text: str) -> frozenset[str]:
    """The counters that a list of groups, names and globs asks for."""
    words = [word for part in text.split(",") if (word := part.strip())]
    if words == ["none"]:
        return frozenset()
    hint = f"give all, none, or a list of {', '.join(GROUPS)} and names such as gpu_power*"
    if not words:
        raise UsageError("no counters are named", hint)
    names: set[str] = set()
    for word in words:
        named = {
            counter.name
            for counter in COUNTERS
            if word in ("all", counter.group) or fnmatchcase(counter.name, word.lower())
        }
        if not named:
            raise UsageError(f"no counter is called {word!r}", hint)
        names |= named
    return frozenset(names)


@dataclass(frozen=True, slots=True)
class Missing:
    """A counter that was asked for and is not in the file, or not all of it."""

    counter: str
    why: str


def missing_in_words(missing: Iterable[Missing], most: int = 3) -> tuple[str, ...]:
    """A line for each reason, with the first counters it is the reason for."""
    counters: dict[str, list[str]] = {}
    for entry in missing:
        counters.setdefault(entry.why, []).append(entry.counter)
    lines = []
    for why, names in counters.items():
        more = f" and {len(names) - most} more" if len(names) > most else ""
        lines.append(f"{', '.join(names[:most])}{more}: {why or 'no reason given'}")
    return tuple(lines)


# -- files of the kernel -------------------------------------------------------------------------

_MAX_BYTES = 1 << 20
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
        while len(content) == self._size < _MAX_BYTES:
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
        text = error.strerror or os.strerror(error.errno)
        return f"{error.filename}: {text}" if error.filename else text
    if isinstance(error, KeyError):
        return f"the system does not tell {error.args[0]}" if error.args else "not told"
    return " ".join(str(error).split()) or type(error).__name__


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
    processes: OwnProcesses
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


def labelled_reader(
    names: Sequence[str], values: Values, labels: Sequence[str]
) -> Callable[[float], Iterable[Sample]]:
    """What a probe reads where one value of each counter holds for all labels of a device."""

    def read(_now_s: float) -> Iterable[Sample]:
        readings = values()
        if readings is None:
            return []
        pairs = zip(names, readings, strict=True)
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


def growth_reader(
    totals: Callable[[], Mapping[str, float]],
    labels: Sequence[str] = (HOST,),
    scale: float = 1.0,
    most: float = math.inf,
) -> Callable[[float], list[Sample]]:
    """What a probe reads where counters tell how fast totals grow, times `scale`."""
    rate = GrowthRate()

    def read(now_s: float) -> list[Sample]:
        per_s = {name: rate.of(name, now_s, total) for name, total in totals().items()}
        # The clock and the totals are not read at once.
        return [
            Sample(name, label, min(growth * scale, most))
            for name, growth in per_s.items()
            if growth is not None
            for label in labels
        ]

    return read


# -- devices: which of them a program sees, and who uses them ------------------------------------

KB_PER_KIB = 1.024
"""Libraries count KiB where counters have kB."""
_FIRST_NAMESPACE = "pid:[4026531836]"
"""What Linux calls the numbering of processes that all others are inside of."""
_FOREIGN = (
    "the driver numbers processes as the host does, and this container has numbers of its own: own "
    "processes are not among them"
)
_NVIDIA = "CUDA_VISIBLE_DEVICES"
_AMD = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")

Parent = Callable[[str], str | None]
"""The UUID of the device a MIG instance is part of."""
_Value = TypeVar("_Value")


class NotToldError(Exception):
    """A value that the device does not tell."""


def if_told(ask: Callable[[], _Value]) -> _Value | None:
    """What a library answers; None where it does not."""
    try:
        return ask()
    except Exception:  # noqa: BLE001 - libraries raise errors of their own
        return None


def describe_device(label: str, **asks: Callable[[], object]) -> dict[str, object]:
    """A device and what its library answers about it."""
    return {"device": label, **{what: if_told(ask) for what, ask in asks.items()}}


def plain_probe(names: tuple[str, ...], values: Values, labels: Sequence[str]) -> Probe:
    """Counters that are there at once; a limit that hardly changes is read once a second."""
    least_ms = 1000.0 if "gpu_power_limit_mw" in names else 0.0
    return Probe(names, labelled_reader(names, values, labels), labels[0], GPU_LANE, least_ms)


# -- processes on a device -----------------------------------------------------------------------


def has_own_numbers(root: Path) -> bool:
    """Whether processes here have other numbers than those the driver knows them by."""
    try:
        return str((root / "proc/self/ns/pid").readlink()) != _FIRST_NAMESPACE
    except OSError:
        return True


def sharing_probe(
    context: ProbeContext,
    names: tuple[str, str],
    used: Callable[[], Mapping[int, float]],
    labels: Sequence[str],
    *,
    least_ms: float,
    most: float = float("inf"),
) -> Iterator[Probe]:
    """What processes of the program use of a device, and what others do.

    Own processes can be told from others where one was ever seen: in a container a list without
    them may be one in other numbers, or one that hides them.
    """
    if not context.wants(*names):
        return
    nested = has_own_numbers(context.root)
    is_known = not nested

    def own_and_others() -> tuple[float, float] | None:
        nonlocal is_known
        uses, members = used(), context.processes.members()
        is_known = is_known or not members.isdisjoint(uses)
        if not is_known:
            return None
        mine = sum(use for pid, use in uses.items() if pid in members)
        return min(mine, most), min(sum(uses.values()) - mine, most)

    read = labelled_reader(names, own_and_others, labels)
    otherwise = _FOREIGN if nested else ""
    yield Probe(names, read, labels[0], "gpu processes", least_ms, otherwise)


# -- devices a program sees, and how it numbers them ---------------------------------------------


def seen_by_cuda(
    environment: Mapping[str, str], uuids: Sequence[str], parent: Parent = lambda _instance: None
) -> tuple[int, ...]:
    """For each device of the program, in its order: the place of the device in `uuids`.

    Names of devices may be cut short as long as they are unique.  As in CUDA, the list ends before
    the first entry that names nothing.  An instance of a device stands for the device.
    """
    return _chosen(environment.get(_NVIDIA), tuple(range(len(uuids))), uuids, parent)


def seen_by_hip(environment: Mapping[str, str], uuids: Sequence[str]) -> tuple[int, ...]:
    """The same for AMD devices: what ROCR leaves, of which HIP chooses again."""
    left = _chosen(environment.get(_AMD[0]), tuple(range(len(uuids))), uuids)
    return _chosen(environment.get(_AMD[1], environment.get(_NVIDIA)), left, uuids)


def _chosen(
    text: str | None,
    left: tuple[int, ...],
    uuids: Sequence[str],
    parent: Parent = lambda _instance: None,
) -> tuple[int, ...]:
    if text is None:
        return left
    places: list[int] = []
    for entry in map(str.strip, text.split(",")):
        if entry.isdigit():
            matching = list(left[int(entry) : int(entry) + 1])
        else:
            uuid = entry
            if entry.startswith("MIG-GPU-"):
                uuid = entry.removeprefix("MIG-").partition("/")[0]
            elif entry.startswith("MIG-"):
                uuid = parent(entry) or ""
            matching = [place for place in left if uuid and uuids[place].startswith(uuid)]
        if len(matching) != 1:
            break
        places += matching
    return tuple(places)
