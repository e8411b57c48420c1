"""Which counters belong to which device and process of a trace."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from timesink.analyses.behaviour.calls import HOST, NO_NUMBER
from timesink.analyses.behaviour.places import HOST as HOST_PLACE
from timesink.analyses.behaviour.places import (
    CounterBook,
    device_place,
    on_machine,
    process_place,
)
from timesink.analyses.names import device_word
from timesink.model.processes import host_and_pid
from timesink.model.schema import HOST_DEVICE
from timesink.model.trace import Trace

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, eq=False)
class Devices:
    """What devices are called, and where their counters and those of processes are."""

    word: str
    """What an accelerator of this maker is called."""
    numbers: Mapping[str, Sequence[int]]
    """Of processes that say so: the machine's number of each device they see."""
    process_places: Mapping[str, str]
    only: tuple[str, str] | None = None
    """Label and place of the only device there is, where both sides have one."""
    notes: tuple[str, ...] = ()

    def label(self, process: str, device: int) -> str:
        """What a device of a process is called."""
        if device == HOST:
            return HOST_DEVICE
        if self.only is not None:
            return self.only[0]
        return self.word if device == NO_NUMBER else f"{self.word} {self._number(process, device)}"

    def places(self, process: str, device: int) -> tuple[str, ...]:
        """Where to look for a counter of work on a device, nearest first."""
        machine = host_and_pid(process)[0]
        shared = [HOST_PLACE]
        if device != HOST:
            own = device_place(self._number(process, device))
            shared = [own if self.only is None else self.only[1], HOST_PLACE]
        near = [on_machine(place, machine) for place in shared]
        return (self.process_places[process], *dict.fromkeys([*near, *shared]))

    def _number(self, process: str, device: int) -> int:
        known = self.numbers.get(host_and_pid(process)[1], ())
        return known[device] if 0 <= device < len(known) else device


def match_devices(
    trace: Trace, book: CounterBook, devices: Sequence[int], processes: Sequence[str]
) -> Devices:
    """Match devices by number and processes by id; where each has one, these two belong together.

    Processes that were shown one device count it from zero, and those in a container count
    themselves otherwise than the machine does.
    """
    word, numbers = device_word(trace), _numbers_of_processes(trace)
    places, process_notes = _match_processes(book, processes, _recorded_pids(trace))
    plain = Devices(word, numbers, places, notes=process_notes)
    sampled = book.places("device")
    if len(devices) != 1 or not sampled or numbers:
        return plain
    label = plain.label("", devices[0])
    if len(sampled) > 1:
        note = (
            f"counters of {len(sampled)} devices, but the trace names one, {label}: where a "
            "process was shown only some of them, its counters may be those of another"
        )
        return Devices(word, numbers, places, notes=(note, *process_notes))
    if device_place(devices[0]) == sampled[0]:
        return plain
    named = book.labels.get(sampled[0], sampled[0])
    note = f"{label} of the trace is taken for {named} of the counters"
    return Devices(word, numbers, places, (named, sampled[0]), (note, *process_notes))


def _numbers_of_processes(trace: Trace) -> dict[str, list[int]]:
    """What a description of the machine, or of the run, says about the devices of each process."""
    recorded = None if trace.metadata.run is None else trace.metadata.run.device_numbers
    if recorded:
        return {str(pid): list(numbers) for pid, numbers in recorded.items()}
    topology = trace.metadata.extra.get("topology")
    found = topology.get("gpus_of_process") if isinstance(topology, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    return {str(pid): _whole_numbers(value) for pid, value in found.items()}


def _whole_numbers(value: Any) -> list[int]:
    """Numbers of devices, written as 7, "6,7" or [6, 7]."""
    return [int(number) for number in _NUMBER.findall(str(value))]


def _recorded_pids(trace: Trace) -> frozenset[str]:
    """Processes as their recorder saw them, which it would have sampled under these numbers."""
    run = trace.metadata.run
    return frozenset() if run is None else frozenset(str(one.pid) for one in run.processes)


def _match_processes(
    book: CounterBook, processes: Sequence[str], recorded: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    places = {pid: process_place(pid) for pid in processes}
    sampled = book.places("pid")
    if len(processes) != 1 or len(sampled) != 1 or places[processes[0]] == sampled[0]:
        return places, ()
    pid = host_and_pid(processes[0])[1]
    if pid in recorded:
        return places, ()  # the one that was sampled is another, such as a launcher
    note = f"process {pid} of the trace is taken for {sampled[0]} of the counters"
    return {processes[0]: sampled[0]}, (note,)
