"""Counters checked against each other and against the trace, before one is believed.

A check gets all suspects and returns them, some with a word against them, some under the name of
what is behind them, some with more evidence; `registry.py` has their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from timesink.analyses.statistics.ranks import ALPHA
from timesink.model.findings import Evidence
from timesink.model.schema import HOST_DEVICE
from timesink.rules.counter_levels import CounterReading, chance
from timesink.rules.environment import Suspect, counter_evidence
from timesink.rules.resource_load import Context, of_others

Suspects = Sequence[Suspect]

_SLOWER = 1.05
"""Own kernels that take this many times as long show that a device is shared or slower."""
_LOAD = ("gpu_contention", "hbm_contention")
_COPIES = ("pcie", "link")
_USES = ("device_use", "others_device_use")
_CLOCKS = ("device_clock", "memory_clock")
_FLAGS = ("power_throttle", "thermal_throttle")
_POWER_OF_LIMIT = 0.05
"""A device whose power rose by this part of its limit does more than before ..."""
_POWER_OF_BASE = 0.2
"""... or by this part of what it was, where the limit is not known."""
_SM_RISE = 10.0
_MOSTLY = 0.5
"""Work that keeps memory busy for this part of its own time is about memory; a device that gives a
reason for this part of the time slows down for it."""
_PART = 0.2
"""Kernels grow by this part of what the clock alone would do, however much memory bounds them."""
_LEAST_SLOWER = 0.02
_HOT_C = 85.0
"""Devices slow down at a temperature of their own, as tools of their makers print it: a P100 at
92 C, memory of a V100 at 85 C.  A cooler one is not slow for its heat."""
_AT_LIMIT = 0.93
"""Power regulation keeps the mean this close below the limit."""
_HALF_OF_CORES = 50.0
"""Beyond this share of all logical cores, threads share the units of a core."""
_SHORT_WAIT = 5.0
"""Waits that grew by less, in percent of the time, take nothing from a process."""
_MEASURED_WAITS = ("run_queue", "cpu_pressure")
_CORE_WAITS = (*_MEASURED_WAITS, "steal")
_DISK_WAITS = ("io_wait", "io_pressure", "disk_busy")
_HOST_CAUSES = ("cpu_contention", "cpu_clock")
_HOST_PARTS = (
    *("host_cpu", "launch_gap", "run_queue", "idle", "synchronisation", "io", "data_loading"),
)
_HOST_CALLS = ("cpu_operator", "cpu_launch", "cpu_python", "cpu_annotation", "cpu_other")
_LONGER = 1.1
_MUCH_TRAFFIC = 0.15
"""A network this full holds others up now and then, whoever they are."""


def _refuted(suspects: Suspects, why: str, which: Callable[[Suspect], bool]) -> list[Suspect]:
    """The suspects, those chosen with a word against them."""
    return [replace(one, refuted=why) if which(one) else one for one in suspects]


def _checked(
    suspects: Suspects, resources: Sequence[str], check: Callable[[Suspect], Suspect]
) -> list[Suspect]:
    """The suspects, those of some resources that are still believed after a check."""
    return [
        check(one) if one.resource in resources and one.refuted is None else one for one in suspects
    ]


def _kernels(device: str, ratio: float) -> Evidence:
    """Own kernels that take longer, though there are no more of them."""
    return Evidence(
        "kernel",
        f"own kernels on {device} that are launched as often as before take {ratio:.2f} times as"
        " long",
        device=device,
        base=1.0,
        new=ratio,
    )


# -- use of a device -------------------------------------------------------------------------------


def used_devices(suspects: Suspects, context: Context) -> list[Suspect]:
    """A device the process does nothing on cannot hold it up, where it is known which it uses."""
    used = context.own_devices | {HOST_DEVICE}
    if len(used) == 1:
        return list(suspects)
    why = "the process does not use this device"
    return _refuted(suspects, why, lambda one: one.device not in used)


def device_use(suspects: Suspects, context: Context) -> list[Suspect]:
    """A busy device: kernels of others slow the own ones or draw power, copies of others do not.

    Believes others' use of a device only where power, multiprocessors or own kernels show it.
    """
    copied = {one.device for one in suspects if one.resource in _COPIES and one.refuted is None}

    def check(one: Suspect) -> Suspect:
        answers = [_power(one.device, context), _multiprocessors(one.device, context)]
        if one.device not in copied:
            # Copies slow kernels as well: beside them, slower kernels prove nothing.
            ratio = context.kernel_ratio(one.device)
            slower = ratio is not None and ratio >= _SLOWER
            proof = [_kernels(one.device, ratio)] if ratio is not None and slower else []
            answers.append(None if ratio is None else proof)
        elif all(answer is None for answer in answers):
            return replace(one, refuted="others copy to or from the device, which keeps it busy")
        asked = [answer for answer in answers if answer is not None]
        proofs = [proof for answer in asked for proof in answer]
        if asked and not proofs:
            return replace(
                one,
                refuted="neither power nor the time of own kernels rose: "
                "others copy, or the device waits, and nobody computes",
            )
        return replace(one, evidence=(*one.evidence, *proofs))

    return _checked(suspects, _USES, check)


def _power(device: str, context: Context) -> list[Evidence] | None:
    power = context.reading("power", device)
    if power is None:
        return None
    hardware = context.hardware(device)
    limit = hardware.power_w if hardware else None
    least = _POWER_OF_LIMIT * limit if limit else _POWER_OF_BASE * power.base_mean
    return [counter_evidence(power)] if power.rise >= least else []


def _multiprocessors(device: str, context: Context) -> list[Evidence] | None:
    found = context.reading("sm_busy", device)
    if found is None:
        return None
    others = of_others(found, context)
    rose = others.rise >= _SM_RISE and chance(others.base, others.new) < ALPHA
    return [counter_evidence(found)] if rose else []


def multiprocessors(suspects: Suspects, context: Context) -> list[Suspect]:
    """Use of multiprocessors varies with what the process launches, more than its time tells.

    Believes it beside others' use of the device; where that is unknown, beside slower kernels.
    """
    shared = {one.device for one in suspects if one.resource == "device_use" and not one.refuted}

    def is_own(one: Suspect) -> bool:
        if one.resource != "sm_busy" or one.device in shared:
            return False
        known = context.reading("device_use", one.device) is not None
        return known or (context.kernel_ratio(one.device) or 0.0) < _SLOWER

    return _refuted(suspects, "others do not use the device for longer", is_own)


def device_memory(suspects: Suspects, _: Context) -> list[Suspect]:
    """Memory of a device that others use tells more than that they are there, and is told first."""
    strongest: dict[str, float] = {}
    for one in suspects:
        if one.cause == "hbm_contention" and one.refuted is None:
            strongest[one.device] = max(one.severity, strongest.get(one.device, 0.0))
    return [
        replace(one, after=(*one.after, "hbm_contention"))
        if one.cause == "gpu_contention"
        and strongest.get(one.device, 0.0) >= _MOSTLY * one.severity
        else one
        for one in suspects
    ]


# -- clocks ----------------------------------------------------------------------------------------


def device_clock(suspects: Suspects, context: Context) -> list[Suspect]:
    """A lower clock makes kernels longer; one that does not is of a device without work."""

    def check(one: Suspect) -> Suspect:
        ratio = context.kernel_ratio(one.device)
        slower = one.reading.base_mean / max(one.reading.new_mean, 1e-9)
        if ratio is not None and ratio - 1 < max(_LEAST_SLOWER, _PART * min(slower - 1, 1.0)):
            return replace(one, refuted="own kernels take as long as before")
        if (ratio is None or one.severity < 0.5) and _is_idle(one.device, context):
            return replace(one, refuted="the device has less to do")
        if ratio is None:
            return one
        return replace(one, evidence=(*one.evidence, _kernels(one.device, ratio)))

    return _checked(suspects, _CLOCKS, check)


def _is_idle(device: str, context: Context) -> bool:
    """Whether a device is used far less than before: such ones lower their clock by themselves.

    By less than half, that is, while kernels run: these would not take longer otherwise.
    """
    use = context.reading("device_use", device)
    if use is not None:
        return use.new_mean < 0.5 * use.base_mean
    busy = context.busy(device)
    return busy is not None and busy[1] < 0.5 * busy[0]


def power_and_heat(suspects: Suspects, context: Context) -> list[Suspect]:
    """Why a clock fell: heat, the power limit, or neither; after the load that led to it."""

    def named(one: Suspect) -> Suspect:
        heat = context.reading("temperature", one.device)
        hot = heat is not None and heat.rise > 0 and heat.new_mean >= _HOT_C
        for cause, proof in (
            ("gpu_thermal", _flag("thermal_throttle", one.device, context)),
            ("gpu_power_cap", _flag("power_throttle", one.device, context)),
            ("gpu_thermal", heat if hot else None),
            ("gpu_power_cap", _at_power_limit(one.device, context)),
        ):
            if proof is not None:
                proofs = (*one.evidence, counter_evidence(proof))
                return replace(one, cause=cause, evidence=proofs, after=(*one.after, *_LOAD))
        return one

    return _checked(suspects, _CLOCKS, named)


def _flag(reason: str, device: str, context: Context) -> CounterReading | None:
    """A reason the device itself gives more often than before."""
    found = context.reading(reason, device)
    most = 100.0 if found is not None and found.unit == "%" else 1.0
    return found if found is not None and found.rise >= 0.1 * most else None


def _at_power_limit(device: str, context: Context) -> CounterReading | None:
    """The power of a device that draws all it may."""
    power, limit = (context.reading(name, device) for name in ("power", "power_limit"))
    hardware = context.hardware(device)
    published = hardware.power_w if hardware else None
    most = limit.new_mean if limit is not None else published
    return power if power is not None and most and power.new_mean >= _AT_LIMIT * most else None


def throttling(suspects: Suspects, context: Context) -> list[Suspect]:
    """A device that says it slows down, where no counter tells its clock, which tells more.

    Believes the reason where own kernels take longer.
    """

    def check(one: Suspect) -> Suspect:
        ratio = context.kernel_ratio(one.device)
        if one.severity < _MOSTLY:
            return replace(one, refuted="the device slows down now and then only")
        if ratio is None:
            return replace(one, refuted="no kernel shows whether it does")
        if ratio < _SLOWER:
            return replace(one, refuted="own kernels take as long as before")
        proofs = (*one.evidence, _kernels(one.device, ratio))
        # What is lost is the time kernels take longer, and not the time in which it is said.
        lost = min(one.severity, 1.0 - 1.0 / ratio)
        return replace(one, severity=lost, evidence=proofs, after=(*one.after, *_LOAD))

    told = [
        one
        for one in suspects
        if one.resource not in _FLAGS or context.reading("device_clock", one.device) is None
    ]
    return _checked(told, _FLAGS, check)


def power_limit(suspects: Suspects, context: Context) -> list[Suspect]:
    """A lower power limit matters to a device that would draw more."""
    capped = {
        one.device
        for one in suspects
        if one.resource == "device_clock" and one.cause == "gpu_power_cap" and not one.refuted
    }

    def is_spare(one: Suspect) -> bool:
        unknown = context.reading("power", one.device) is None
        reached = unknown or one.device in capped or _at_power_limit(one.device, context)
        return one.resource == "power_limit" and not reached

    return _refuted(suspects, "the device draws less than that", is_spare)


# -- the host --------------------------------------------------------------------------------------


def processor(suspects: Suspects, context: Context) -> list[Suspect]:
    """Load of others on the processor hurts where threads wait for cores.

    Where nothing tells how long they wait, it hurts where cores run out or the host slows down.
    """
    if any(one.resource in _CORE_WAITS and one.refuted is None for one in suspects):
        return list(suspects)
    measured = [one for one in context.readings if one.resource.resource in _MEASURED_WAITS]
    waits = max((one.rise for one in measured), default=None)
    if waits is not None and waits < _SHORT_WAIT:
        why = "no thread waits longer for a core"
        return _refuted(suspects, why, lambda one: one.resource == "host_cpu")
    base, new = context.part_ns(*_HOST_PARTS)
    slows = context.cycle_ratio is None or (base > 0 and new >= 1.05 * base)
    return _refuted(
        suspects,
        "there are cores to spare, and the process does not wait for one",
        lambda one: (
            one.resource == "host_cpu" and one.reading.new_mean < _HALF_OF_CORES and not slows
        ),
    )


def processor_clock(suspects: Suspects, context: Context) -> list[Suspect]:
    """A lower clock of the processor makes the host slower; an idle one saves power."""
    ratios = [context.cycle_ratio]
    if context.cycle_ratio is not None:
        ratios += [context.host_ratio("oncpu"), context.host_ratio(*_HOST_CALLS)]
    known = [ratio for ratio in ratios if ratio is not None]
    # Whether anything shows it, or nothing could.
    slower = not known or max(known) >= 1 + _LEAST_SLOWER
    return _refuted(
        suspects,
        "nothing on the host takes longer",
        lambda one: one.resource == "host_clock" and not slower,
    )


def disk(suspects: Suspects, context: Context) -> list[Suspect]:
    """Bytes to and from disks say little about what these can do; waiting for them does.

    Calls that take longer are about disks only where the processor is not what slows them.
    """
    believed = [one for one in suspects if one.refuted is None]
    base, new = context.part_ns("io", "data_loading")
    longer = (context.host_ratio("disk_read_and_write") or 0.0) > _LONGER or new > _LONGER * base
    if not longer and not any(one.resource in _DISK_WAITS for one in believed):
        why = "nobody waits for a disk"
        suspects = _refuted(suspects, why, lambda one: one.resource == "disk_rate")
    if any(one.cause in _HOST_CAUSES for one in believed):
        why = "the processor is slower for all calls"
        suspects = _refuted(suspects, why, lambda one: one.resource == "file_calls")
    return list(suspects)


def network(suspects: Suspects, context: Context) -> list[Suspect]:
    """Traffic on a network of unknown speed counts where it is much, or where the process waits."""
    base, new = context.part_ns("exposed_communication", "io", "data_loading")
    waits = new > _LONGER * base
    return _refuted(
        suspects,
        "the process does not wait for the network",
        lambda one: one.resource == "network_rate" and one.severity < _MUCH_TRAFFIC and not waits,
    )
