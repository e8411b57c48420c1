"""What a recorder says about the run it recorded: the contents of `run.json`, as frozen records.

None stands for what the recorder did not know.  `docs/recording_folder.md` describes every field.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

SCHEMA = "timesink/run/1"

WHOLE_PROGRAM = "whole program"
"""What `cycles.by` says where no cycle was looked for."""


class RunCycles(msgspec.Struct, frozen=True):
    """What a cycle of the recording is, and how many there are."""

    by: str | None = None
    """`optimizer step`, `function`, `annotation`, `step()` or `whole program`."""
    name: str | None = None
    """The optimizer, function or annotation."""
    asked: int | None = None
    skipped: int | None = None
    recorded: int | None = None
    plain: int | None = None
    """The last so many of `overhead.plain_cycles_us` are settled; None in older recordings."""


class RunOptions(msgspec.Struct, frozen=True):
    """What the timeline was asked to hold beside calls and times; each has its price."""

    stack: bool | None = None
    shapes: bool | None = None
    memory: bool | None = None
    modules: bool | None = None
    flops: bool | None = None
    where: bool | None = None
    """Ranges of the recorder around modules and lines of the program."""


class RunProcess(msgspec.Struct, frozen=True):
    """One process that was recorded, and where its trace is."""

    pid: int | None = None
    rank: int | None = None
    world_size: int | None = None
    trace: str | None = None
    """Name of the file beside `run.json`; None where none could be written."""
    cycles: int | None = None
    complete: bool | None = None
    why_partial: str | None = None
    devices: tuple[str, ...] = ()
    """UUIDs of the devices it sees, in the order in which it numbers them."""


class MissingCounter(msgspec.Struct, frozen=True):
    """A counter, or several by a pattern, that could not be had."""

    counter: str = ""
    why: str = ""


class RunCounters(msgspec.Struct, frozen=True):
    """What was sampled beside the traces."""

    file: str | None = None
    interval_ms: float | None = None
    samples: int | None = None
    recorded: tuple[str, ...] = ()
    missing: tuple[MissingCounter, ...] = ()


class RunClock(msgspec.Struct, frozen=True):
    """How far the clock of the traces was from that of the counters, and how sure that is."""

    offset_us: float | None = None
    spread_us: float | None = None


OVERHEAD_TOLD = 1.1
"""Profiled cycles longer than plain ones by this factor are told, and savings scaled."""


class RunOverhead(msgspec.Struct, frozen=True):
    """What recording cost."""

    cycle_us: float | None = None
    """A cycle without the profiler (median of those right before it)."""
    cycle_profiled_us: float | None = None
    profiler_pct: float | None = None
    sampler_cpu_pct: float | None = None
    plain_cycles_us: tuple[float, ...] = ()
    """Every cycle before the profiler was made ready, in order; the first are seldom settled."""
    plain_probe_us: tuple[float | None, ...] = ()
    """A fixed piece of work of the host, timed after each of these: how fast the host was."""
    plain_device_us: tuple[float | None, ...] = ()
    """Time of the device between the borders of each, where events of it were asked for."""
    plain_started_us: int | None = None
    """Unix time at which the first settled one began."""
    profiled_cycles_us: tuple[float, ...] = ()

    @property
    def ratio(self) -> float | None:
        """How many times as long as plain cycles profiled ones were; None where not measured."""
        if self.cycle_us and self.cycle_profiled_us:
            return self.cycle_profiled_us / self.cycle_us
        return None if self.profiler_pct is None else 1 + self.profiler_pct / 100


class RunHost(msgspec.Struct, frozen=True):
    """The machine the run was recorded on."""

    cores: float | None = None
    """Processor cores the program may use: fewer than the machine has in many a container, and
    not always a whole number."""
    machine_cores: int | None = None
    """All cores of the machine, of which counters of the whole host speak."""
    cpu: str | None = None
    memory_bytes: int | None = None
    system: str | None = None


class RunDevice(msgspec.Struct, frozen=True):
    """One accelerator, as the counters call it."""

    device: str | None = None
    name: str | None = None
    memory_bytes: int | None = None
    driver: str | None = None
    uuid: str | None = None


class RunExit(msgspec.Struct, frozen=True):
    """How the program ended."""

    code: int | None = None
    signal: str | None = None


class RecordedRun(msgspec.Struct, frozen=True):
    """Everything a recorder says about a run."""

    schema: str = SCHEMA
    timesink: str | None = None
    command: tuple[str, ...] = ()
    started_us: int | None = None
    ended_us: int | None = None
    complete: bool | None = None
    why_partial: str | None = None
    notes: tuple[str, ...] = ()
    """What else the recorder has to say, in sentences."""
    cycles: RunCycles = RunCycles()
    options: RunOptions = RunOptions()
    processes: tuple[RunProcess, ...] = ()
    counters: RunCounters = RunCounters()
    clock: RunClock = RunClock()
    overhead: RunOverhead = RunOverhead()
    host: RunHost = RunHost()
    devices: tuple[RunDevice, ...] = ()
    versions: Mapping[str, str] = msgspec.field(default_factory=dict)
    exit: RunExit = RunExit()

    @property
    def plain_ns(self) -> tuple[int, ...]:
        """Settled cycles without the profiler: those to judge the speed of the program by.

        >>> overhead = RunOverhead(plain_cycles_us=(900.0, 50.0, 51.5))
        >>> RecordedRun(cycles=RunCycles(plain=2), overhead=overhead).plain_ns
        (50000, 51500)
        """
        every, settled = self.overhead.plain_cycles_us, self.cycles.plain
        # Older recordings do not say: the twenty before the recording, less two of the program.
        steady = every[2:][-20:] if settled is None else every[max(0, len(every) - settled) :]
        return tuple(round(1000 * time_us) for time_us in steady)

    @property
    def own_plain_ns(self) -> tuple[int, ...]:
        """The same where they are all of the run: those of one of several ranks are not."""
        return self.plain_ns if len(self.processes) <= 1 else ()

    @property
    def why_no_calls(self) -> str:
        """Why a recording may have counters alone."""
        if self.asked_plain:
            return "unprofiled steps were timed, without a timeline"
        if self.why_partial:
            return self.why_partial
        if self.uses_torch:
            return "the recorder left no trace"
        return "the program did not use PyTorch"

    @property
    def asked_plain(self) -> bool:
        """Whether unprofiled steps are all that was asked for."""
        return self.cycles.asked == 0 and bool(self.cycles.plain)

    @property
    def uses_torch(self) -> bool:
        """Whether the program loaded PyTorch, as far as the recorder knows."""
        return "torch" in self.versions

    @property
    def device_numbers(self) -> Mapping[int, tuple[int, ...]]:
        """For processes whose devices are known: the number the counters have for each of them.

        A process that was shown some of the devices counts these from zero.
        """
        places = {device.uuid: device.device for device in self.devices if device.uuid}
        if len(places) < len(self.devices):
            return {}  # parts of one device, or some that nobody knows
        numbers = {
            uuid: int(label.split()[-1])
            for uuid, label in places.items()
            if label and label.split()[-1].isdigit()
        }
        return {
            device.pid: tuple(numbers[uuid] for uuid in device.devices)
            for device in self.processes
            if device.pid is not None and device.devices and set(device.devices) <= set(numbers)
        }

    def process_of(self, trace: str) -> RunProcess | None:
        """The process whose trace has this file name, packed or not."""
        fitting = (
            process
            for process in self.processes
            if process.trace and process.trace.removesuffix(".gz") == trace.removesuffix(".gz")
        )
        return next(fitting, None)


# From plain data to a recorded run, leniently: what does not fit is not known, and is named.

_LONGEST_SHOWN = 40
Section = TypeVar("Section")


def recorded_run(values: Mapping[str, Any]) -> tuple[RecordedRun, list[str]]:
    """The run that plain data describes, and which of its fields could not be used.

    Fields that nobody knows here are left alone: a later version may have more.
    """
    unused: list[str] = []
    return _section(RecordedRun, values, "", unused), unused


_types_of = cache(get_type_hints)
"""Types of fields, which stand in the code as text, are worked out once."""


def _section(
    kind: type[Section], values: Mapping[str, Any], where: str, unused: list[str]
) -> Section:
    section_values = {
        name: _value(hint, values[name], f"{where}.{name}".lstrip("."), unused)
        for name, hint in _types_of(cast("Any", kind)).items()
        if values.get(name) is not None
    }
    return kind(**{name: value for name, value in section_values.items() if value is not None})


def _value(hint: Any, value: Any, where: str, unused: list[str]) -> Any:
    """What a field holds, as far as it is of the right type; what is not is told as unused."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        if isinstance(value, Mapping):
            return _section(hint, value, where, unused)
        if value is not None:
            _tell(where, value, unused)
        return hint()
    if get_origin(hint) is tuple and isinstance(value, (list, tuple)):
        item = get_args(hint)[0]
        items = [_value(item, element, f"{where}[{n}]", unused) for n, element in enumerate(value)]
        may_lack = type(None) in get_args(item)
        return tuple(element for element in items if may_lack or element is not None)
    if get_origin(hint) is Mapping and isinstance(value, Mapping):
        texts = {}
        for name, entry in value.items():
            if isinstance(entry, (list, tuple, Mapping)):
                _tell(f"{where}.{name}", entry, unused)
            elif entry is not None:
                texts[str(name)] = str(entry)
        return texts
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError:
        _tell(where, value, unused)
        return None


def _tell(where: str, value: Any, unused: list[str]) -> None:
    text = repr(value)
    shown_text = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."
    unused.append(f"{where}: {shown_text}")
