"""Counters checked against each other and against the trace, before one is believed.

A check looks at one suspect beside all of them, and says why that is not believed, or gives it back
with more evidence or under the name of what is behind it; `catalogue.toml` has their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps

from msgspec.structs import replace

from timesink.analyses.statistics.significance import ALPHA
from timesink.comparison.causes.counter_levels import CounterReading, chance, own_devices
from timesink.comparison.causes.environment import Suspect, counter_evidence
from timesink.comparison.causes.resource_load import Context, of_others
from timesink.model.findings import Evidence
from timesink.model.schema import HOST_DEVICE

Suspects = Sequence[Suspect]
Checked = Suspect | str | None
"""What a check gives: a suspect that is known better, why it is not believed, or nothing to say."""
Check = Callable[[Suspect, Suspects, Context], Checked]
CheckOfAll = Callable[[Suspects, Context], list[Suspect]]

_SLOWER = 1.05
"""Own kernels that take this many times as long show that a device is shared or slower."""
_LOAD = ("gpu_contention", "hbm_contention")
_COPIES = ("pcie", "link")
_FLAGS = ("power_throttle", "thermal_throttle")
_POWER_OF_LIMIT = 0.05
"""A device whose power rose by this part of its limit does more than before ..."""
_POWER_OF_BASE = 0.2
"""... or by this part of what it was, where the limit is not known."""
_SM_RISE = 10.0
_MIN_SHARE_OF_TIME = 0.5
"""Work that keeps memory busy for this part of its own time is about memory; a device that gives a
reason for this part of the time slows down for it."""
_PART = 0.2
"""Kernels grow by this part of what the clock alone would do, however much memory bounds them."""
_MIN_SLOWER = 0.02
_HOT_C = 85.0
"""Devices slow down at a temperature of their own, as tools of their makers print it: a P100 at
92 C, memory of a V100 at 85 C.  A cooler one is not slow for its heat."""
_AT_LIMIT = 0.93
"""Power regulation keeps the mean this close below the limit."""
_HALF_OF_CORES = 50.0
"""Beyond this share of all logical cores, threads share the units of a core."""
_SHORT_WAIT = 5.0
"""Waits that grew by less, in percent of the time, take nothing from a process ..."""
_MORE_WAITS = 1.5
"""... unless threads wait this many times as long in a cycle, and its host slows down."""
_TURBO = 0.35
"""Processors lower their clock by less than this part as more of their cores are busy."""
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


def about(*resources: str, again: bool = False) -> Callable[[Check], CheckOfAll]:
    """Makes a check of one suspect one of all those of some resources, or of any.

    What is not believed is left alone, unless `again` lets a later word stand for the first.
    """

    def of_all(check: Check) -> CheckOfAll:
        @wraps(check)
        def checked(suspects: Suspects, context: Context) -> list[Suspect]:
            results = []
            for suspect in suspects:
                verdict: Checked = None
                if (not resources or suspect.resource in resources) and (
                    again or not suspect.refuted
                ):
                    verdict = check(suspect, suspects, context)
                results.append(
                    replace(suspect, refuted=verdict)
                    if isinstance(verdict, str)
                    else verdict or suspect
                )
            return results

        return checked

    return of_all


def _believed_suspects(suspects: Suspects, device: str | None = None) -> list[Suspect]:
    """Suspects that nothing speaks against, of a device or of any."""
    return [
        suspect
        for suspect in suspects
        if suspect.refuted is None and device in {None, suspect.device}
    ]


def _kernels(device: str, ratio: float) -> Evidence:
    """Own kernels that take longer, though there are no more of them."""
    text = f"own kernels on {device} that are launched as often as before take {ratio:.2f} times as"
    return Evidence("kernel", f"{text} long", device=device, base=1.0, new=ratio)


# -- use of a device -------------------------------------------------------------------------------


@about()
def used_devices(suspect: Suspect, _: Suspects, context: Context) -> Checked:
    """A device the process does nothing on cannot hold it up, where it is known which it uses."""
    used = own_devices(context.pair)
    unused = used and suspect.device not in {*used, HOST_DEVICE}
    return "the process does not use this device" if unused else None


@about("device_use", "others_device_use")
def device_use(suspect: Suspect, suspects: Suspects, context: Context) -> Checked:
    """A busy device: kernels of others slow the own ones or draw power, copies of others do not.

    Believes others' use of a device only where power, multiprocessors or own kernels show it.
    """
    answers = [_power(suspect.device, context), _multiprocessors(suspect.device, context)]
    if not any(other.resource in _COPIES for other in _believed_suspects(suspects, suspect.device)):
        # Copies slow kernels as well: beside them, slower kernels prove nothing.
        ratio = context.kernel_ratio(suspect.device)
        slower = ratio is not None and ratio >= _SLOWER
        proof = [_kernels(suspect.device, ratio)] if ratio is not None and slower else []
        answers.append(None if ratio is None else proof)
    elif all(answer is None for answer in answers):
        return "others copy to or from the device, which keeps it busy"
    proof_lists = [answer for answer in answers if answer is not None]
    proofs = [proof for answer in proof_lists for proof in answer]
    if proof_lists and not proofs:
        return (
            "neither power nor the time of its kernels rose: "
            "others copy, or the device waits, and nobody computes"
        )
    return replace(suspect, evidence=(*suspect.evidence, *proofs))


def _power(device: str, context: Context) -> list[Evidence] | None:
    power = context.reading("power", device)
    if power is None:
        return None
    hardware = context.hardware(device)
    limit = hardware.power_w if hardware else None
    least = _POWER_OF_LIMIT * limit if limit else _POWER_OF_BASE * power.base_mean
    return [counter_evidence(power)] if power.rise >= least else []


def _multiprocessors(device: str, context: Context) -> list[Evidence] | None:
    reading = context.reading("sm_busy", device)
    if reading is None:
        return None
    external = of_others(reading, context)
    rose = external.rise >= _SM_RISE and chance(external.base, external.new) < ALPHA
    return [counter_evidence(reading)] if rose else []


@about("sm_busy", again=True)
def multiprocessors(suspect: Suspect, suspects: Suspects, context: Context) -> Checked:
    """Use of multiprocessors varies with what the process launches, more than its time tells.

    Believes it beside others' use of the device; where that is unknown, beside slower kernels.
    """
    if any(
        other.resource == "device_use" for other in _believed_suspects(suspects, suspect.device)
    ):
        return None
    has_device_use = context.reading("device_use", suspect.device) is not None
    is_own = has_device_use or (context.kernel_ratio(suspect.device) or 0.0) < _SLOWER
    return "others do not use the device for longer" if is_own else None


@about(again=True)
def device_memory(suspect: Suspect, suspects: Suspects, _: Context) -> Checked:
    """Memory of a device that others use tells more than that they are there, and is told first."""
    memory_suspects = [
        other
        for other in _believed_suspects(suspects, suspect.device)
        if other.cause == "hbm_contention"
    ]
    strongest = max((other.severity for other in memory_suspects), default=0.0)
    if suspect.cause == "gpu_contention" and strongest >= _MIN_SHARE_OF_TIME * suspect.severity:
        return replace(suspect, after=(*suspect.after, "hbm_contention"))
    return None


# -- clocks ----------------------------------------------------------------------------------------


@about("device_clock", "memory_clock")
def device_clock(suspect: Suspect, _: Suspects, context: Context) -> Checked:
    """A lower clock makes kernels longer; one that does not is of a device without work."""
    ratio = context.kernel_ratio(suspect.device)
    slower = suspect.reading.base_mean / max(suspect.reading.new_mean, 1e-9)
    if ratio is not None and ratio - 1 < max(_MIN_SLOWER, _PART * min(slower - 1, 1.0)):
        return "own kernels take as long as before"
    if (ratio is None or suspect.severity < 0.5) and _is_idle(suspect.device, context):
        return "the device has less to do"
    if ratio is None:
        return None
    return replace(suspect, evidence=(*suspect.evidence, _kernels(suspect.device, ratio)))


def _is_idle(device: str, context: Context) -> bool:
    """Whether a device is used far less than before: such ones lower their clock by themselves.

    By less than half, that is, while kernels run: these would not take longer otherwise.
    """
    use = context.reading("device_use", device)
    if use is not None:
        return use.new_mean < 0.5 * use.base_mean
    busy = context.busy(device)
    return busy is not None and busy[1] < 0.5 * busy[0]


@about("device_clock", "memory_clock")
def power_and_heat(suspect: Suspect, _: Suspects, context: Context) -> Checked:
    """Why a clock fell: heat, the power limit, or neither; after the load that led to it."""
    heat = context.reading("temperature", suspect.device)
    hot = heat is not None and heat.rise > 0 and heat.new_mean >= _HOT_C
    for cause, proof in (
        ("gpu_thermal", _flag("thermal_throttle", suspect.device, context)),
        ("gpu_power_cap", _flag("power_throttle", suspect.device, context)),
        ("gpu_thermal", heat if hot else None),
        ("gpu_power_cap", _at_power_limit(suspect.device, context)),
    ):
        if proof is not None:
            proofs = (*suspect.evidence, counter_evidence(proof))
            return replace(suspect, cause=cause, evidence=proofs, after=(*suspect.after, *_LOAD))
    return None


def _flag(reason: str, device: str, context: Context) -> CounterReading | None:
    """A reason the device itself gives more often than before."""
    reading = context.reading(reason, device)
    most = 100.0 if reading is not None and reading.unit == "%" else 1.0
    return reading if reading is not None and reading.rise >= 0.1 * most else None


def _at_power_limit(device: str, context: Context) -> CounterReading | None:
    """The power of a device that draws all it may."""
    power, limit = (context.reading(name, device) for name in ("power", "power_limit"))
    hardware = context.hardware(device)
    published = hardware.power_w if hardware else None
    most = limit.new_mean if limit is not None else published
    return power if power is not None and most and power.new_mean >= _AT_LIMIT * most else None


def throttling(suspects: Suspects, context: Context) -> list[Suspect]:
    """A device that says it slows down, where no counter tells its clock, which tells more."""
    candidates = [
        suspect
        for suspect in suspects
        if suspect.resource not in _FLAGS or context.reading("device_clock", suspect.device) is None
    ]
    return _check_throttle(candidates, context)


@about(*_FLAGS)
def _check_throttle(suspect: Suspect, _: Suspects, context: Context) -> Checked:
    """Believes the reason where own kernels take longer."""
    ratio = context.kernel_ratio(suspect.device)
    if suspect.severity < _MIN_SHARE_OF_TIME:
        return "the device slows down now and then only"
    if ratio is None:
        return "no kernel shows whether it does"
    if ratio < _SLOWER:
        return "own kernels take as long as before"
    proofs = (*suspect.evidence, _kernels(suspect.device, ratio))
    # What is lost is the time kernels take longer, and not the time in which it is said.
    lost = min(suspect.severity, 1.0 - 1.0 / ratio)
    return replace(suspect, severity=lost, evidence=proofs, after=(*suspect.after, *_LOAD))


@about("power_limit", again=True)
def power_limit(suspect: Suspect, suspects: Suspects, context: Context) -> Checked:
    """A lower power limit matters to a device that would draw more."""
    capped = any(
        other.resource == "device_clock" and other.cause == "gpu_power_cap"
        for other in _believed_suspects(suspects, suspect.device)
    )
    unknown = context.reading("power", suspect.device) is None
    reached = unknown or capped or _at_power_limit(suspect.device, context)
    return None if reached else "the device draws less than that"


# -- the host --------------------------------------------------------------------------------------


@about("host_cpu", again=True)
def processor(suspect: Suspect, suspects: Suspects, context: Context) -> Checked:
    """Load of others on the processor hurts where threads wait for cores.

    Where nothing tells how long they wait, it hurts where cores run out or the host slows down.
    """
    if any(other.resource in _CORE_WAITS for other in _believed_suspects(suspects)):
        return None
    measured = [
        reading for reading in context.readings if reading.resource.resource in _MEASURED_WAITS
    ]
    waits = max((reading.rise for reading in measured), default=None)
    base, new = context.part_ns(*_HOST_PARTS)
    slows = context.cycle_ratio is None or (base > 0 and new >= 1.05 * base)
    ratio = context.host_ratio("runq") or 0.0
    more = slows and ratio >= max(_MORE_WAITS, _LONGER * (context.cycle_ratio or 1.0))
    if waits is not None and waits < _SHORT_WAIT and not more:
        if ratio < _LONGER:
            return "no thread waits longer for a core"
        return f"threads wait {ratio:.1f} times as long for a core, which is little of their time"
    spare = suspect.reading.new_mean < _HALF_OF_CORES and not slows
    return "there are cores to spare, and the process does not wait for one" if spare else None


@about("host_clock", again=True)
def processor_clock(suspect: Suspect, suspects: Suspects, context: Context) -> Checked:
    """A lower clock of the processor makes the host slower; an idle one saves power.

    One that is a little lower while others keep more cores busy follows from that.
    """
    ratios = [context.cycle_ratio]
    if context.cycle_ratio is not None:
        ratios += [context.host_ratio("oncpu"), context.host_ratio(*_HOST_CALLS)]
    measured_ratios = [ratio for ratio in ratios if ratio is not None]
    # Whether anything shows it, or nothing could.
    slower = not measured_ratios or max(measured_ratios) >= 1 + _MIN_SLOWER
    if not slower:
        return "nothing on the host takes longer"
    # The same work keeps slower cores busy for longer: that much of the use proves nothing.
    busier = any(
        other.external.new_mean * (1 - suspect.severity) >= _MORE_WAITS * other.external.base_mean
        for other in _believed_suspects(suspects)
        if other.resource == "host_cpu"
    )
    follows = busier and suspect.severity < _TURBO
    return replace(suspect, after=(*suspect.after, "cpu_contention")) if follows else None


@about("disk_rate", "file_calls", again=True)
def disk(suspect: Suspect, suspects: Suspects, context: Context) -> Checked:
    """Bytes to and from disks say little about what these can do; waiting for them does.

    Calls that take longer are about disks only where the processor is not what slows them.
    """
    believed = _believed_suspects(suspects)
    if suspect.resource == "file_calls":
        slowed = any(other.cause in _HOST_CAUSES for other in believed)
        return "the processor is slower for all calls" if slowed else None
    base, new = context.part_ns("io", "data_loading")
    longer = (context.host_ratio("disk_read_and_write") or 0.0) > _LONGER or new > _LONGER * base
    waits = longer or any(other.resource in _DISK_WAITS for other in believed)
    return None if waits else "nobody waits for a disk"


@about("network_rate", again=True)
def network(suspect: Suspect, _: Suspects, context: Context) -> Checked:
    """Traffic on a network of unknown speed counts where it is much, or where the process waits."""
    base, new = context.part_ns("exposed_communication", "io", "data_loading")
    waits = suspect.severity >= _MUCH_TRAFFIC or new > _LONGER * base
    return None if waits else "the process does not wait for the network"
