"""Devices of NVIDIA, as NVML tells them: nvidia-ml-py, or a small binding of our own."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from timesink.recorder import nvml_binding
from timesink.recorder.counter_probes import (
    GPU_LANE,
    KB_PER_KIB,
    NotToldError,
    Probe,
    ProbeContext,
    Sample,
    UnavailableError,
    Values,
    describe_device,
    growth_reader,
    if_told,
    labelled_reader,
    plain_probe,
    reason,
    seen_by_cuda,
    sharing_probe,
)

_NOT_FOUND = 6
"""What NVML says where there is nothing new."""


@dataclass(frozen=True, slots=True, eq=False)
class NvidiaDevice:
    """A device and what the program calls it."""

    index: int
    """Its number in the management library."""
    handle: Any
    uuid: str
    labels: tuple[str, ...]
    """Several where the program sees several instances of it."""


def probes(context: ProbeContext) -> Iterator[Probe]:
    """Counters of every device the program can see."""
    library = load_nvml()
    devices = _devices(library, context.environment)
    noted = _kept_notes(library, [device.handle for device in devices], context)
    for device, notes in zip(devices, noted, strict=True):
        label = device.labels[0]
        for name, driver_notes in notes.items():
            read = driver_notes.reader(name, device.labels)
            yield Probe((name,), read, label, f"notes of {label}", _MIN_NOTES_MS, looks_back=True)
        yield from _gauges(library, device, context, noted=notes.keys())
        for names, used, most in (
            (("process_gpu_usage", "gpu_others_usage"), _use_of_processes, 100.0),
            (("process_gpu_mem_bytes", "gpu_mem_of_others_bytes"), _memory_of_processes, 1e30),
        ):
            of_process = used(library, device.handle)
            yield from sharing_probe(
                context, names, of_process, device.labels, least_ms=_MIN_PROCESSES_MS, most=most
            )


def describe(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """What is known about the devices the program can see."""
    library = load_nvml()

    def of(device: NvidiaDevice, label: str) -> dict[str, Any]:
        description = describe_device(
            label,
            name=lambda: _text(library.nvmlDeviceGetName(device.handle)),
            memory_bytes=lambda: int(library.nvmlDeviceGetMemoryInfo(device.handle).total),
            driver=lambda: _text(library.nvmlSystemGetDriverVersion()),
        )
        return {**description, "uuid": device.uuid, "index": device.index}

    devices = _devices(library, environment)
    return [of(device, label) for device in devices for label in device.labels]


def load_nvml() -> Any:
    """The library, started; `UnavailableError` says why there is none."""
    try:
        with warnings.catch_warnings():
            # A package of the same name by others warns when it is imported.
            warnings.simplefilter("ignore")
            library: Any = importlib.import_module("pynvml")
    except Exception:  # noqa: BLE001 - a broken package is as good as none
        try:
            library = nvml_binding.load()
        except OSError as error:
            raise UnavailableError("no NVIDIA driver (libnvidia-ml.so.1 is not there)") from error
    try:
        library.nvmlInit()
    except Exception as error:  # whatever a binding raises, there is no library
        raise UnavailableError(f"NVML does not start ({reason(error)})") from error
    return library


def _devices(library: Any, environment: Mapping[str, str]) -> list[NvidiaDevice]:
    try:
        handles = [
            library.nvmlDeviceGetHandleByIndex(index)
            for index in range(library.nvmlDeviceGetCount())
        ]
        uuids = [_text(library.nvmlDeviceGetUUID(handle)) for handle in handles]
    except Exception as error:  # bindings raise errors of their own
        raise UnavailableError(f"NVML lists no devices ({reason(error)})") from error
    if not handles:
        raise UnavailableError("NVML knows no device")

    def whole_of(instance: str) -> str:
        handle = library.nvmlDeviceGetHandleByUUID(instance)
        parent = library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
        return _text(library.nvmlDeviceGetUUID(parent))

    # Old libraries know no instances.
    seen = seen_by_cuda(environment, uuids, lambda instance: if_told(lambda: whole_of(instance)))
    if not seen:
        raise UnavailableError("CUDA_VISIBLE_DEVICES hides all devices")
    return [
        NvidiaDevice(
            index,
            handles[index],
            uuids[index],
            tuple(f"GPU {number}" for number, place in enumerate(seen) if place == index),
        )
        for index in dict.fromkeys(seen)
    ]


def _text(value: Any) -> str:
    """Old bindings return bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


# -- what it is now: clocks, power, heat, load, memory, links ------------------------------------

_GRAPHICS, _SM, _MEMORY = 0, 1, 2
_DIE = 0
_TRANSMIT, _RECEIVE = 0, 1
_POWER_INSTANT = 186
_LINK_DATA = {"gpu_link_transmit_kbps": 138, "gpu_link_receive_kbps": 139}
_ALL_LINKS = 2**32 - 1
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal")
"""Where a field's value is, by the type it says it has."""
_MIN_PCIE_MS = 100.0
_FIELD_ERRORS = {3: "not supported by this device", 4: "no permission", 15: "the GPU is lost"}


def _gauges(
    library: Any, device: NvidiaDevice, context: ProbeContext, *, noted: Iterable[str]
) -> Iterator[Probe]:
    """Each counter by itself: what one device does not tell says nothing about the others.

    Those that the driver notes down need not be asked for.
    """
    handle, labels = device.handle, device.labels
    for names, read in _plain_values(library, handle).items():
        if context.wants(*names) and not set(names) <= set(noted):
            yield plain_probe(names, read, labels)
    for way, name in ((_TRANSMIT, "gpu_pcie_transmit_kbps"), (_RECEIVE, "gpu_pcie_receive_kbps")):
        if context.wants(name):
            ask = lambda way=way: (library.nvmlDeviceGetPcieThroughput(handle, way),)  # noqa: E731
            read_pcie = labelled_reader((name,), ask, labels)
            yield Probe((name,), read_pcie, labels[0], f"pcie of {labels[0]}", _MIN_PCIE_MS)
    for name, field in _LINK_DATA.items():
        if context.wants(name):
            totals = partial(_link_total, library, handle, name, field)
            yield Probe((name,), growth_reader(totals, labels, KB_PER_KIB), labels[0], GPU_LANE)


def _plain_values(library: Any, handle: Any) -> Mapping[tuple[str, ...], Values]:
    """Counters that are there at once, by their names."""

    def utilisation() -> tuple[float, float]:
        rates = library.nvmlDeviceGetUtilizationRates(handle)
        return rates.gpu, rates.memory

    def reasons() -> tuple[float]:
        # Newer bindings call events what older ones call throttling.
        ask = getattr(library, "nvmlDeviceGetCurrentClocksEventReasons", None)
        return ((ask or library.nvmlDeviceGetCurrentClocksThrottleReasons)(handle),)

    return {
        ("gpu_sm_frequency",): lambda: (library.nvmlDeviceGetClockInfo(handle, _SM),),
        ("gpu_frequency",): lambda: (library.nvmlDeviceGetClockInfo(handle, _GRAPHICS),),
        ("gpu_mem_frequency",): lambda: (library.nvmlDeviceGetClockInfo(handle, _MEMORY),),
        ("gpu_power_mw",): lambda: (library.nvmlDeviceGetPowerUsage(handle),),
        ("gpu_power_instant_mw",): lambda: (_field_value(library, handle, _POWER_INSTANT),),
        ("gpu_power_limit_mw",): lambda: (library.nvmlDeviceGetEnforcedPowerLimit(handle),),
        ("gpu_temp",): lambda: (library.nvmlDeviceGetTemperature(handle, _DIE),),
        ("gpu_usage", "gpu_mem_util"): utilisation,
        ("gpu_mem_used",): lambda: (library.nvmlDeviceGetMemoryInfo(handle).used,),
        ("gpu_throttle_reasons",): reasons,
    }


def _link_total(library: Any, handle: Any, name: str, field: int) -> Mapping[str, float]:
    """What went over all links of a device so far."""
    return {name: _field_value(library, handle, field, _ALL_LINKS)}


def _field_value(library: Any, handle: Any, field: int, scope: int = 0) -> float:
    """A value that NVML tells by the number of its field."""
    answer = library.nvmlDeviceGetFieldValues(handle, [(field, scope)])[0]
    if answer.nvmlReturn:
        problem = _FIELD_ERRORS.get(answer.nvmlReturn, f"error {answer.nvmlReturn} of NVML")
        raise NotToldError(problem)
    kind = answer.valueType
    return float(getattr(answer.value, _MEMBERS[kind] if kind < len(_MEMBERS) else "ullVal"))


# -- who uses it ---------------------------------------------------------------------------------

_MIN_PROCESSES_MS = 200.0
"""The driver keeps a sample every sixth of a second or so, and takes its time to tell it."""


def _memory_of_processes(library: Any, handle: Any) -> Callable[[], Mapping[int, float]]:
    return lambda: {
        process.pid: int(process.usedGpuMemory or 0)
        for processes in (
            library.nvmlDeviceGetGraphicsRunningProcesses(handle),
            library.nvmlDeviceGetComputeRunningProcesses(handle),
        )
        for process in processes
    }


def _use_of_processes(library: Any, handle: Any) -> Callable[[], Mapping[int, float]]:
    """Mean share of each process since the last reading."""
    seen_us = 0

    def used() -> Mapping[int, float]:
        nonlocal seen_us
        samples = _new_of(library, lambda: library.nvmlDeviceGetProcessUtilization(handle, seen_us))
        shares: dict[int, list[float]] = {}
        for sample in samples:
            if sample.timeStamp > seen_us and sample.smUtil <= 100:
                shares.setdefault(sample.pid, []).append(float(sample.smUtil))
        seen_us = max([seen_us, *(sample.timeStamp for sample in samples)])
        return {
            pid: sum(process_shares) / len(process_shares) for pid, process_shares in shares.items()
        }

    return used


def _new_of(library: Any, ask: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """What the driver has noted since; NVML says that nothing is new by an error."""
    try:
        return ask()
    except library.NVMLError as error:
        if getattr(error, "value", None) != _NOT_FOUND:
            raise
        return ()


# -- what the driver has noted down by itself ----------------------------------------------------

_POWER, _LOAD, _MEMORY_LOAD = 0, 1, 2
_KINDS = (
    ("gpu_power_instant_mw", _POWER, False),
    ("gpu_usage", _LOAD, True),
    ("gpu_mem_util", _MEMORY_LOAD, True),
)
"""Counters, which notes they come from, and whether these are means over time.

Power every 20 ms, load every 200 ms (an H200): finer, or truer in time, than asking what it is now.
"""
_MIN_NOTES_MS = 500.0
"""Asking for them costs the driver a millisecond or two; it keeps the last two seconds at least."""
_PATIENCE_S = 0.5
"""A driver that was asleep has no notes yet; all of all devices together are waited for so long."""
_SAME_CLOCK_US = 60_000_000
"""Latest notes older or newer than that have times of another clock."""
_LONGEST_SPAN_US = 2_000_000
"""Notes further apart than that do not belong together: the driver had stopped in between."""


def _kept_notes(
    library: Any, handles: Sequence[Any], context: ProbeContext
) -> list[Mapping[str, DriverNotes]]:
    """What the driver notes down of each device, by counter; nothing where it keeps no notes."""
    candidates = [
        {
            name: DriverNotes(library, handle, kind, is_mean=is_mean)
            for name, kind, is_mean in _KINDS
            if context.wants(name)
        }
        for handle in handles
    ]
    # Those count that the driver keeps, on the clock of the counters.
    usable: set[DriverNotes] = set()
    waiting = [notes for by_counter in candidates for notes in by_counter.values()]
    until_s = time.monotonic() + _PATIENCE_S
    while waiting:
        latest = {notes: notes.latest_us() for notes in waiting}
        now_us = time.time_ns() // 1000
        usable |= {
            notes
            for notes, ts_us in latest.items()
            if ts_us is not None and abs(now_us - ts_us) < _SAME_CLOCK_US
        }
        waiting = [notes for notes, ts_us in latest.items() if ts_us is None]
        if time.monotonic() >= until_s:
            break
        if waiting:
            time.sleep(_PATIENCE_S / 10)
    return [
        {name: notes for name, notes in by_counter.items() if notes in usable}
        for by_counter in candidates
    ]


class DriverNotes:
    """One kind of notes, from when it was first asked for."""

    def __init__(self, library: Any, handle: Any, kind: int, *, is_mean: bool) -> None:
        self._library = library
        self._handle = handle
        self._kind = kind
        self._is_mean = is_mean
        self._seen_us = time.time_ns() // 1000

    def latest_us(self) -> int | None:
        """When the last of them was taken; None where there is none yet, 0 where none will come."""
        try:
            return max((ts_us for ts_us, _ in self._since(0)), default=None)
        except Exception:  # noqa: BLE001 - bindings and drivers without them say so in many ways
            return 0

    def reader(self, name: str, labels: Sequence[str]) -> Callable[[float], Iterable[Sample]]:
        """What a probe reads: all that is new."""

        def read(_now_s: float) -> Iterator[Sample]:
            for ts_us, value in sorted(self._since(self._seen_us)):
                span_us = ts_us - self._seen_us
                if span_us > 0:
                    # A mean holds for the middle of the time since the note before.
                    in_middle = self._is_mean and span_us < _LONGEST_SPAN_US
                    at_us = ts_us - span_us // 2 if in_middle else ts_us
                    yield from (Sample(name, label, value, at_us) for label in labels)
                    self._seen_us = ts_us

        return read

    def _since(self, seen_us: int) -> list[tuple[int, float]]:
        ask = self._library.nvmlDeviceGetSamples
        notes = _new_of(self._library, lambda: ask(self._handle, self._kind, seen_us)[1])
        return [(int(note.timeStamp), float(note.sampleValue.uiVal)) for note in notes]
