"""What is different in the environment of two runs, each resource of each device once.

Anomalies are resources that are less there than they were, and causes of a change by the time that
what they act on gained: kernels, copies, parts of the host.  Asked with the sides changed over,
the same rules tell of what is there again.  Checks hold counters against each other and against the
trace before one is believed; `catalogue.toml` has their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from timesink.analyses.behaviour.anatomy import Anatomy
from timesink.analyses.thresholds import SignificanceLimits
from timesink.comparison.causes.case import (
    Claim,
    Demand,
    DiagnosisCase,
    both_ways,
    by_change,
    change,
    is_certain,
    slowdown,
)
from timesink.comparison.causes.conditions import on_host, text_is, waits
from timesink.comparison.causes.device import only_swapped
from timesink.comparison.causes.resources import (
    Context,
    CounterReading,
    adjust_p_values,
    capacity,
    chance,
    chances,
    derived_readings,
    ground,
    harmful_chances,
    of_others,
    own_devices,
    readings,
    severity,
    without_impossible,
)
from timesink.comparison.results import Pair
from timesink.comparison.thresholds import MachineLimits
from timesink.model import units
from timesink.model.findings import Anomaly, Cause, Evidence, Symptom
from timesink.model.intervals import Floats
from timesink.model.schema import HOST_DEVICE
from timesink.model.vendors import is_gpu
from timesink.rules.counter_names import resource_of
from timesink.rules.register import catalogue, rules_for

_MIN_CHANGE = {"%": 5.0, "% of a core": 20.0, "C": 10.0, "B/s": 1e9}
"""... and by this much, in units that have a scale."""
_SYMPTOM_ROLES = ("symptom", "context", "exogenous")


class Suspect(msgspec.Struct, frozen=True, eq=False):
    """A counter that moved in its harmful direction, before it is believed."""

    cause: str
    reading: CounterReading
    """As counted."""
    external: CounterReading
    """Without the load of the process itself."""
    severity: float
    q_value: float
    capacity: float | None = None
    evidence: tuple[Evidence, ...] = ()
    """What else speaks for it."""
    refuted: str | None = None
    """Why it is not believed, as the end of a sentence; None while nothing speaks against it."""
    after: tuple[str, ...] = ()
    """Causes on the same device that it follows from, and after which it is told."""

    @property
    def device(self) -> str:
        return self.reading.device

    @property
    def resource(self) -> str:
        return self.reading.resource.resource


def find_anomalies(
    pair: Pair, base: Anatomy, new: Anatomy
) -> tuple[tuple[Anomaly, ...], tuple[Symptom, ...]]:
    """Resources that are less there for the process than they were, most severe first.

    Counters of what the process itself does, and those that another one or the trace speaks
    against, are symptoms.  Values that cannot be are left out: `impossible_levels` tells of them.
    """
    base, new = without_impossible(base), without_impossible(new)
    counter_readings = readings(pair, base, new)
    counter_readings += derived_readings(pair, counter_readings)
    context = Context(pair, base, new, counter_readings)
    suspects = _suspects(context)
    for check in rules_for("environment"):
        suspects = check(suspects, context)
    believed = [suspect for suspect in suspects if suspect.refuted is None]
    anomalies = tuple(_anomaly(group, context) for group in _rank_suspects(believed))
    refuted = [suspect for suspect in suspects if suspect.refuted is not None]
    return anomalies, _symptoms(counter_readings, refuted, believed)


def _suspects(context: Context) -> list[Suspect]:
    """Counters of shared resources that moved in their harmful direction, by enough to matter."""
    counted = [reading for reading in context.readings if reading.resource.role == "exogenous"]
    external_readings = [of_others(reading, context) for reading in counted]
    grounds = [ground(reading, context) for reading in external_readings]
    q_values = adjust_p_values(harmful_chances(external_readings, grounds)).tolist()
    suspects = []
    for reading, rest, q in zip(counted, external_readings, q_values, strict=True):
        lost, least = severity(rest, context), reading.resource.hurts_from
        high = least is None or reading.new_mean >= least
        if high and q < SignificanceLimits.alpha and lost >= reading.resource.floor:
            suspects.append(
                Suspect(reading.resource.cause, reading, rest, lost, q, capacity(reading, context))
            )
    return suspects


def _rank_suspects(suspects: Iterable[Suspect]) -> list[list[Suspect]]:
    """Suspects of one cause on one device together; most severe first, and effects after causes."""
    groups: dict[tuple[str, str], list[Suspect]] = {}
    for suspect in sorted(
        suspects,
        key=lambda suspect: (
            -suspect.severity,
            suspect.cause,
            suspect.device,
            suspect.reading.metric,
        ),
    ):
        groups.setdefault((suspect.cause, suspect.device), []).append(suspect)
    done: list[list[Suspect]] = []
    while groups:
        # What follows from another one waits for it, unless both wait for each other.
        ready = next(iter(groups))
        for key, group in groups.items():
            behind = {(cause, key[1]) for suspect in group for cause in suspect.after} - {key}
            if behind.isdisjoint(groups):
                ready = key
                break
        done.append(groups.pop(ready))
    return done


def _anomaly(group: Sequence[Suspect], context: Context) -> Anomaly:
    """The strongest of several counters that tell the same, with the others as evidence."""
    first = group[0]
    reading, texts = first.reading, catalogue()["causes"][first.cause]
    base, new, unit = reading.base_mean, reading.new_mean, reading.unit
    external_mean = first.external.new_mean
    # What others have of it, where that is another number.
    is_partial = new > 0 and new - external_mean >= MachineLimits.notable * new
    limit = first.capacity
    proofs = [counter_evidence(suspect.reading, context) for suspect in group]
    proofs += [proof for suspect in group for proof in suspect.evidence]
    proof_by_text: dict[str, Evidence] = {}
    for proof in proofs:
        proof_by_text.setdefault(proof.text, proof)
    return Anomaly(
        first.cause,
        texts["sentence"].format(
            device=first.device,
            metric=reading.metric,
            amounts=units.amounts(base, new, unit),
            change=units.change(base, new),
            own=f", {units.amount(external_mean, unit)} of it by others" if is_partial else "",
            capacity="" if limit is None else f", of {units.amount(limit, unit)} it can carry",
        ),
        texts["advice" if is_gpu(first.device) or "plain" not in texts else "plain"],
        share=first.severity,
        evidence=tuple(proof_by_text.values()),
        q_value=first.q_value,
        **reading.levels,
    )


def counter_evidence(reading: CounterReading, context: Context | None = None) -> Evidence:
    """A counter on both sides; with a context, also the cycle that shows it best."""
    when: dict[str, Any] = {}
    if context is not None and len(reading.cycles) and len(reading.cycles) == len(reading.new):
        # The cycle of NEW in which it is farthest in the harmful direction.
        farthest = np.argmin if reading.resource.harm == "down" else np.argmax
        cycle = int(reading.cycles[int(farthest(reading.new))])
        start, end = context.new.span(cycle)
        when = {"side": "new", "cycle": cycle, "start_ns": start, "end_ns": end}
    text = f"{reading.metric} of {reading.device}: {reading.change}"
    return Evidence("counter", text, **reading.levels, **when)


def _symptoms(
    counter_readings: Sequence[CounterReading],
    refuted: Sequence[Suspect],
    believed: Sequence[Suspect],
) -> tuple[Symptom, ...]:
    """Counters that changed and explain nothing: the process's own use, and what was not believed.

    Those that were suspected first, then the others by how much they changed.
    """
    suspected = {_key(suspect.reading) for suspect in (*refuted, *believed)}
    candidates = [
        reading
        for reading in counter_readings
        if reading.resource.role in _SYMPTOM_ROLES and _key(reading) not in suspected
    ]
    moved = []
    for reading, q in zip(candidates, adjust_p_values(chances(candidates)), strict=True):
        largest = max(abs(reading.base_mean), abs(reading.new_mean))
        part = abs(reading.rise) / largest if largest else 0.0
        is_large = part >= MachineLimits.min_part and abs(reading.rise) >= _MIN_CHANGE.get(
            reading.unit, 0.0
        )
        if q < SignificanceLimits.alpha and is_large:
            moved.append((-part, _key(reading), reading))
    moved.sort(key=lambda entry: entry[:2])
    first = (_symptom(suspect.reading, suspect.refuted) for suspect in refuted)
    return (*first, *(_symptom(reading) for _, _, reading in moved))


def _key(reading: CounterReading) -> tuple[str, str]:
    return reading.device, reading.metric


def _symptom(reading: CounterReading, refuted: str | None = None) -> Symptom:
    """That a counter changed, and why that is no reason."""
    because = f"; no anomaly: {refuted}." if refuted else "."
    sentence = f"{reading.metric} of {reading.device} changed {reading.change}{because}"
    return Symptom(sentence=sentence, why=refuted, **reading.levels)


# -- causes: what a resource explains that is less there, or there again ---------------------------


_CLOCKS = frozenset({"device_clock", "memory_clock", "host_clock"})
_COMPUTING = frozenset(
    {"gpu_clock", "gpu_power_cap", "gpu_thermal", "gpu_contention", "hbm_contention"}
)
_SHARED = frozenset({"gpu_contention", "hbm_contention", "pcie_contention"})
_HOST_PARTS = {
    "cpu_contention": ("run_queue", "host_cpu", "launch_gap", "idle", "data_loading"),
    "cpu_clock": ("host_cpu", "launch_gap", "idle", "data_loading"),
    "host_memory": ("io", "data_loading", "host_cpu", "idle"),
    "disk_io": ("io", "data_loading", "idle"),
}
_LINKS, _TALKING = frozenset({"nvlink_contention", "network"}), "exposed_communication"
_MAX_LISTED = 3


class _Growth(msgspec.Struct, frozen=True, eq=False):
    """Time that an anomaly may explain."""

    base: Floats
    """Per cycle; what it would be had only the pace of its neighbours changed."""
    new: Floats
    component: str
    columns: tuple[int, ...] = ()
    """Functions behind it."""

    @property
    def rise_ns(self) -> float:
        """What it gained on average."""
        has_both = len(self.base) and len(self.new)
        return float(self.new.mean() - self.base.mean()) if has_both else 0.0


@both_ways
def device_environment(case: DiagnosisCase) -> Iterator[Claim]:
    """Anomalies of devices and links: kernels, copies and waits that grew for equal calls."""
    for anomaly in case.anomalies:
        if anomaly.id in _HOST_PARTS:
            continue
        growths = list(_device_growths(case, anomaly))
        limit = _limit(anomaly, growths)
        if anomaly.id in _LINKS:
            # It may as well be waiting for others; waiting that only moved from one process to
            # another leaves the cycle as long as it was.
            limit = min(limit, max(0.0, sum(part.delta_ns for part in case.attribution)))
        is_unlimited = not np.isfinite(limit)
        columns = (
            tuple(column for growth in growths for column in growth.columns) if is_unlimited else ()
        )
        yield from _claims(case, anomaly, growths, limit, columns)


@both_ways
def host_environment(case: DiagnosisCase) -> Iterator[Claim]:
    """Anomalies of the host: parts in which it works, waits its turn or reads."""
    for anomaly in case.anomalies:
        parts = _HOST_PARTS.get(anomaly.id, ())
        growths = [_Growth(*case.both(part), part) for part in parts]
        growths = [growth for growth in growths if growth.rise_ns > 0]
        yield from _claims(case, anomaly, growths, _limit(anomaly, growths))


def _device_growths(case: DiagnosisCase, anomaly: Anomaly) -> Iterator[_Growth]:
    """What the anomaly acts on, without functions that another one explains already."""
    functions, device = case.functions, text_is("device", anomaly.device)
    taken = {column for claim in case.settled for column in claim.columns}
    free = ~np.isin(np.arange(functions.table.height), list(taken))
    equal = functions.called_equally
    if anomaly.id in _COMPUTING:
        # Kernels launched equally often, or for which others were chosen, family by family.
        kernels = free & functions.where(text_is("part", "device_compute"), device)
        kernels &= only_swapped(functions) | equal
        for family in functions.table["family"].drop_nulls().unique().sort():
            which = kernels & functions.where(text_is("family", family))
            yield from _growth(case, which, f"device_compute/{family}")
    if anomaly.id in _SHARED:
        # Copies, and calls of the host that wait for them or the device beyond the host's pace.
        copies = free & equal & functions.where(text_is("part", "copies"), device)
        yield from _growth(case, copies, "copies")
        host = equal & functions.where(on_host())
        pace = max(1.0, slowdown(functions.base, functions.new, host & functions.where(~waits())))
        copying, waiting = (
            free & host & functions.where(text_is("function_class", kind))
            for kind in ("cpu_copy", "cpu_sync")
        )
        yield from _growth(case, copying, "launch_gap", pace)
        # The rest of the time in these calls is that of the work they wait for.
        if waiting.any():
            columns = tuple(by_change(functions, waiting))
            yield _Growth(*case.both("synchronisation"), "synchronisation", columns)
    if anomaly.id in _LINKS:
        yield _Growth(*case.both(_TALKING), _TALKING)


def _growth(
    case: DiagnosisCase, which: np.ndarray, component: str, pace: float = 1.0
) -> Iterator[_Growth]:
    if which.any():
        functions = case.functions
        base, new = (side[:, which].sum(axis=1) for side in (functions.base, functions.new))
        yield _Growth(pace * base, new, component, tuple(by_change(functions, which)))


def _limit(anomaly: Anomaly, growths: list[_Growth]) -> float:
    """The most that a resource can have cost: work takes longer as the clock goes down."""
    base = float(sum(growth.base.mean() for growth in growths if len(growth.base)))
    if resource_of(anomaly.metric).resource in _CLOCKS and anomaly.new > 0:
        return base * max(0.0, anomaly.base / anomaly.new - 1)
    return np.inf


def _claims(
    case: DiagnosisCase,
    anomaly: Anomaly,
    growths: list[_Growth],
    limit: float,
    columns: tuple[int, ...] = (),
) -> Iterator[Claim]:
    """That the anomaly explains what rose, if anything did."""
    rising = [growth for growth in growths if growth.rise_ns > 0]
    if not rising:
        return
    if not is_certain(change(*_together(rising))[1]):
        # Only what rises beyond noise: how the pace of a host wanders must not hide that its
        # threads wait for a core.
        sure = [growth for growth in rising if is_certain(change(growth.base, growth.new)[1])]
        rising = sure or rising
    base, new = _together(rising)
    rise, interval = change(base, new)
    share = min(1.0, limit / rise)
    if interval is not None:
        interval = interval[0] * share, interval[1] * share
    before, after = case.functions.times
    rising_columns = [column for growth in rising for column in growth.columns]
    rising_columns.sort(key=lambda column: -(after[column] - before[column]))
    sentence, advice, levels = anomaly.sentence, anomaly.advice, (anomaly.base, anomaly.new)
    if case.backwards:
        sentence, levels = relief_sentence(anomaly), levels[::-1]
        advice = catalogue()["causes"]["relieved"]["advice"]
    # In the order in which the runs were given.
    level_text = units.amounts(*levels, anomaly.unit)
    seen = {name: getattr(anomaly, name) for name in ("device", "metric", "unit", "base", "new")}
    counter = Evidence("counter", f"{anomaly.metric} of {anomaly.device}: {level_text}", **seen)
    order = sorted(rising, key=lambda growth: -growth.rise_ns)
    parts = list(dict.fromkeys(growth.component.partition("/")[0] for growth in order))[
        :_MAX_LISTED
    ]
    *most, last = (catalogue()["parts"][part]["longer"] for part in parts)
    what = f"{', '.join(most)} and {last}" if most else last
    took = case.times(float(base.mean()), float(new.mean()))
    cause = Cause(
        anomaly.id,
        f"{sentence} Meanwhile {what} took {took} per step.",
        advice,
        interval_ns=interval,
        evidence=(counter, *case.evidence(rising_columns[:_MAX_LISTED], new)),
        device=anomaly.device,
    )
    demands = tuple(Demand(share * growth.rise_ns, (growth.component,)) for growth in rising)
    yield Claim(cause, demands, columns=columns)


def _together(growths: list[_Growth]) -> tuple[Floats, Floats]:
    base, new = (
        np.sum(side, axis=0) for side in zip(*((g.base, g.new) for g in growths), strict=True)
    )
    return base, new


def relief_sentence(anomaly: Anomaly) -> str:
    """What became of an anomaly of the first run, which is told as seen from the second."""
    relief = catalogue()["causes"][anomaly.id]["relief"].format(device=anomaly.device)
    amount = units.amounts(anomaly.new, anomaly.base, anomaly.unit)
    return f"{relief}: {anomaly.metric} {amount}."


# -- checks: what is not believed, or goes by the name of what is behind it ------------------------

Suspects = Sequence[Suspect]
Checked = Suspect | str | None
"""What a check gives: a suspect that is known better, why it is not believed, or nothing to say."""
Check = Callable[[Suspect, Suspects, Context], Checked]
CheckOfAll = Callable[[Suspects, Context], list[Suspect]]

_LOAD = ("gpu_contention", "hbm_contention")
_COPIES = ("pcie", "link")
_FLAGS = ("power_throttle", "thermal_throttle")
_MEASURED_WAITS = ("run_queue", "cpu_pressure")
_CORE_WAITS = (*_MEASURED_WAITS, "steal")
_DISK_WAITS = ("io_wait", "io_pressure", "disk_busy")
_HOST_CAUSES = ("cpu_contention", "cpu_clock")
_PARTS_ON_HOST = (
    *("host_cpu", "launch_gap", "run_queue", "idle", "synchronisation", "io", "data_loading"),
)
_HOST_CALLS = ("cpu_operator", "cpu_launch", "cpu_python", "cpu_annotation", "cpu_other")


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
                    structs.replace(suspect, refuted=verdict)
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
        slower = ratio is not None and ratio >= MachineLimits.slower
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
    return structs.replace(suspect, evidence=(*suspect.evidence, *proofs))


def _power(device: str, context: Context) -> list[Evidence] | None:
    power = context.reading("power", device)
    if power is None:
        return None
    hardware = context.hardware(device)
    limit = hardware.power_w if hardware else None
    least = (
        MachineLimits.power_of_limit * limit
        if limit
        else MachineLimits.power_of_base * power.base_mean
    )
    return [counter_evidence(power)] if power.rise >= least else []


def _multiprocessors(device: str, context: Context) -> list[Evidence] | None:
    reading = context.reading("sm_busy", device)
    if reading is None:
        return None
    external = of_others(reading, context)
    rose = (
        external.rise >= MachineLimits.sm_rise
        and chance(external.base, external.new) < SignificanceLimits.alpha
    )
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
    is_own = has_device_use or (context.kernel_ratio(suspect.device) or 0.0) < MachineLimits.slower
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
    if (
        suspect.cause == "gpu_contention"
        and strongest >= MachineLimits.min_share_of_time * suspect.severity
    ):
        return structs.replace(suspect, after=(*suspect.after, "hbm_contention"))
    return None


# -- clocks ----------------------------------------------------------------------------------------


@about("device_clock", "memory_clock")
def device_clock(suspect: Suspect, _: Suspects, context: Context) -> Checked:
    """A lower clock makes kernels longer; one that does not is of a device without work."""
    ratio = context.kernel_ratio(suspect.device)
    slower = suspect.reading.base_mean / max(suspect.reading.new_mean, 1e-9)
    if ratio is not None and ratio - 1 < max(
        MachineLimits.min_slower, MachineLimits.part * min(slower - 1, 1.0)
    ):
        return "own kernels take as long as before"
    if (ratio is None or suspect.severity < 0.5) and _is_idle(suspect.device, context):
        return "the device has less to do"
    if ratio is None:
        return None
    return structs.replace(suspect, evidence=(*suspect.evidence, _kernels(suspect.device, ratio)))


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
    hot = heat is not None and heat.rise > 0 and heat.new_mean >= MachineLimits.hot_c
    for cause, proof in (
        ("gpu_thermal", _flag("thermal_throttle", suspect.device, context)),
        ("gpu_power_cap", _flag("power_throttle", suspect.device, context)),
        ("gpu_thermal", heat if hot else None),
        ("gpu_power_cap", _at_power_limit(suspect.device, context)),
    ):
        if proof is not None:
            proofs = (*suspect.evidence, counter_evidence(proof))
            return structs.replace(
                suspect, cause=cause, evidence=proofs, after=(*suspect.after, *_LOAD)
            )
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
    return (
        power
        if power is not None and most and power.new_mean >= MachineLimits.at_limit * most
        else None
    )


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
    if suspect.severity < MachineLimits.min_share_of_time:
        return "the device slows down now and then only"
    if ratio is None:
        return "no kernel shows whether it does"
    if ratio < MachineLimits.slower:
        return "own kernels take as long as before"
    proofs = (*suspect.evidence, _kernels(suspect.device, ratio))
    # What is lost is the time kernels take longer, and not the time in which it is said.
    lost = min(suspect.severity, 1.0 - 1.0 / ratio)
    return structs.replace(suspect, severity=lost, evidence=proofs, after=(*suspect.after, *_LOAD))


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


@about("run_queue", "cpu_pressure")
def own_threads(suspect: Suspect, _: Suspects, context: Context) -> Checked:
    """Threads of the process wait for one another as well: others are to blame if they use more."""
    use = context.reading("host_cpu", suspect.device)
    if use is None or context.reading("own_cpu_use", suspect.device) is None or use.rise <= 0:
        return None
    by_others = of_others(use, context).rise
    if by_others >= MachineLimits.by_others * use.rise:
        return None
    return "the process itself keeps more cores busy, and others keep hardly more than before"


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
    base, new = context.part_ns(*_PARTS_ON_HOST)
    slows = context.cycle_ratio is None or (base > 0 and new >= 1.05 * base)
    ratio = context.host_ratio("runq") or 0.0
    more = slows and ratio >= max(
        MachineLimits.more_waits, MachineLimits.longer * (context.cycle_ratio or 1.0)
    )
    if waits is not None and waits < MachineLimits.short_wait and not more:
        if ratio < MachineLimits.longer:
            return "no thread waits longer for a core"
        return f"threads wait {ratio:.1f} times as long for a core, which is little of their time"
    spare = suspect.reading.new_mean < MachineLimits.half_of_cores and not slows
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
    slower = not measured_ratios or max(measured_ratios) >= 1 + MachineLimits.min_slower
    if not slower:
        return "nothing on the host takes longer"
    # The same work keeps slower cores busy for longer: that much of the use proves nothing.
    busier = any(
        other.external.new_mean * (1 - suspect.severity)
        >= MachineLimits.more_waits * other.external.base_mean
        for other in _believed_suspects(suspects)
        if other.resource == "host_cpu"
    )
    follows = busier and suspect.severity < MachineLimits.turbo
    return structs.replace(suspect, after=(*suspect.after, "cpu_contention")) if follows else None


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
    longer = (
        context.host_ratio("disk_read_and_write") or 0.0
    ) > MachineLimits.longer or new > MachineLimits.longer * base
    waits = longer or any(other.resource in _DISK_WAITS for other in believed)
    return None if waits else "nobody waits for a disk"


@about("network_rate", again=True)
def network(suspect: Suspect, _: Suspects, context: Context) -> Checked:
    """Traffic on a network of unknown speed counts where it is much, or where the process waits."""
    base, new = context.part_ns("exposed_communication", "io", "data_loading")
    waits = suspect.severity >= MachineLimits.much_traffic or new > MachineLimits.longer * base
    return None if waits else "the process does not wait for the network"
