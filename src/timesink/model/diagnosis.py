"""Whether cycles changed, where the time went, and why, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from timesink.model.findings import Anomaly, Cause, Evidence, Interval, Symptom

if TYPE_CHECKING:
    import polars as pl

SIDES = ("base", "new")
"""What two runs are called that are compared."""
UNDECIDED = "undecided"
"""Outcome of several runs a side that are too few."""
RECORDED, PLAIN = "recorded cycles", "plain cycles"
CORRECTED = "steps without profiler overhead"
"""What cycle time is judged by."""
EVEN_DEVICE_TIME = 0.1
"""Of the base: device time of equal work repeats within a percent, so an interval that reaches
further does not say that device time is the same."""
VERDICTS = ("regression", "improvement", "no_change", "incomparable")


class SteadyTimes(msgspec.Struct, frozen=True):
    """What the tests look at: mean cycles without warm-up and isolated outliers."""

    base_ns: float
    new_ns: float
    interval_ns: Interval | None = None
    """95 % interval of their change; it excludes 0 only where all tests agree."""

    @property
    def change_pct(self) -> float | None:
        """None where the base takes no time."""
        return 100 * (self.new_ns - self.base_ns) / self.base_ns if self.base_ns else None

    @property
    def interval_pct(self) -> Interval | None:
        """The interval as parts of the base."""
        if self.interval_ns is None or not self.base_ns:
            return None
        low, high = self.interval_ns
        return 100 * low / self.base_ns, 100 * high / self.base_ns


class CycleTime(msgspec.Struct, frozen=True):
    """How long cycles are, and whether that changed."""

    base_ns: float
    """Mean of all cycles."""
    new_ns: float
    change_pct: float | None
    interval_pct: Interval | None
    """95 % interval of the change; None with fewer than two cycles on a side."""
    p_value: float | None
    steady: SteadyTimes | None = None
    """Means without warm-up and isolated outliers, which is what is tested; None as above."""
    by: str = RECORDED
    """`RECORDED`, or `PLAIN` where both sides have cycles without the profiler; `CORRECTED` of
    what `Diagnosis.judged_time` says where that decided."""
    runs: tuple[int, int] = (1, 1)
    """Runs of either side; of several, the interval holds what runs of one side differ by."""
    outcome: str = ""
    """Of several runs a side: `slower`, `faster`, `same` or `undecided`."""
    more_runs: int | None = None
    """Of several that do not decide: how many more of either side probably would."""
    recorded_ns: tuple[float, float] | None = None
    """Means of the recorded cycles, which parts and causes are of, where others are judged."""

    @property
    def parted_ns(self) -> tuple[float, float]:
        """Cycles that parts of a cycle add up to."""
        return self.recorded_ns or (self.base_ns, self.new_ns)

    @property
    def tested_pct(self) -> float | None:
        """The change of what is tested, where anything is."""
        return self.change_pct if self.steady is None else self.steady.change_pct

    @property
    def tested_interval_pct(self) -> Interval | None:
        """The 95 % interval of the change of what is tested; None where there is none."""
        return self.interval_pct if self.steady is None else self.steady.interval_pct


class Component(msgspec.Struct, frozen=True):
    """One part of a cycle, and what it adds to the change of the mean cycle."""

    part: str
    """One of `anatomy.PARTS`."""
    family: str | None
    """Family of kernels, for `device_compute`."""
    base_ns: float
    new_ns: float
    interval_ns: Interval | None
    """95 % interval of the change."""
    p_value: float | None
    same_launches_ns: float | None = None
    """For `device_compute`: what of the change is in kernels launched equally often on both sides;
    the rest is in more, fewer or other kernels."""

    @property
    def delta_ns(self) -> float:
        """What it adds to the change."""
        return self.new_ns - self.base_ns

    @property
    def name(self) -> str:
        """The part, with the family of kernels: `device_compute/gemm`."""
        return self.part if self.family is None else f"{self.part}/{self.family}"


class StepTimeTest(msgspec.Struct, frozen=True):
    """What became of cycle time."""

    verdict: str
    """One of `VERDICTS`."""
    reason: str
    """Why this verdict, in a sentence or two."""
    cycle_time: CycleTime
    notes: tuple[str, ...] = ()
    """Warm-up, drift, and what could not be tested."""
    expected: Expectation | None = None
    """Where somebody knows how much slower cycles are than they should be."""
    is_unfit: bool = False
    """Whether a recording cannot tell how long its steps take."""
    corrected: SteadyTimes | None = None
    """Mean steps without profiler overhead, where they tell another change than the recorded."""
    is_without_overhead: bool = False
    """Whether these decided the verdict, against what was recorded."""


class ProgramEdit(msgspec.Struct, frozen=True):
    """One thing that the new program does otherwise; amounts are changes per cycle."""

    cause: str
    sentence: str
    place: str
    """Where in the program: modules, calls around, or what stands before and after."""
    call: str
    """The call that tells it best, and how often it comes in a cycle of either side."""
    base_calls: float
    new_calls: float
    device_ns: float
    host_ns: float
    launches: float
    waits: float
    bytes: float
    evidence: tuple[Evidence, ...] = ()
    """Calls that came or went, then the places."""
    inside: str = ""
    """The innermost call around it, as recorded; empty where there is none."""
    places: int = 1
    """At how many places of a cycle."""


class CycleKinds(msgspec.Struct, frozen=True):
    """Cycles that do the same, on either side."""

    base_cycles: tuple[int, ...]
    new_cycles: tuple[int, ...]
    base_period: int | None
    new_period: int | None
    calls: float
    """Operators and ranges per cycle."""


def _no_calls() -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - start-up time: reading starts before it is loaded

    return pl.DataFrame()


class ProgramChange(msgspec.Struct, frozen=True, eq=False):
    """Whether two programs do the same: exact, where calls were recorded on both sides."""

    edits: tuple[ProgramEdit, ...]
    kinds: tuple[CycleKinds, ...]
    device_time: SteadyTimes
    """Time of all device work of a usual cycle, and how it changed."""
    device_ns: float
    """Change of the mean device time per cycle over all cycles: that of the edits, and the rest."""
    host_ns: float
    same_device_ns: float
    """What of it is in the same calls that take another time."""
    same_host_ns: float
    certain: bool
    """Whether calls of the host were recorded on both sides, and not only kernels."""
    varying: int
    """Calls that differ from cycle to cycle in a run, and are compared by how often they come."""
    uneven: str = ""
    """Of equal programs: which kernels alone take another time, in a sentence; other sizes do that,
    a slower device does not."""
    choices: tuple[ProgramEdit, ...] = ()
    """Other kernels below equal calls, where these are all that differs and take as long."""
    calls: pl.DataFrame = msgspec.field(default_factory=_no_calls)
    """Calls of both programs as one tree, rows of `compare.program.edits.CALL_TREE`."""

    @property
    def same(self) -> bool:
        """Whether both programs do the same."""
        return not self.edits

    @property
    def device_verdict(self) -> str:
        """`same`, `longer`, `shorter`, or `uneven` where it varies too much to tell."""
        low, high = self.device_time.interval_ns or (0.0, 0.0)
        if low <= 0 <= high:
            is_wide = max(-low, high) > EVEN_DEVICE_TIME * self.device_time.base_ns > 0
            return "uneven" if is_wide else "same"
        return "longer" if low > 0 else "shorter"


class EvenPace(msgspec.Struct, frozen=True):
    """A host or a device that takes longer, or less, for all of its equal work alike."""

    device: str
    """`Host` or the name of a device."""
    factor: float
    """How many times as long its work takes."""
    sentence: str
    advice: str


class Expectation(msgspec.Struct, frozen=True):
    """What somebody who knows the program expected of the cycles of the second side."""

    slower_ns: float
    """They take so much longer than that."""
    explains: tuple[str, ...] = ()
    """Causes that it accounts for already."""


class Diagnosis(msgspec.Struct, frozen=True, eq=False):
    """Whether cycles changed, where the time went, and why."""

    verdict: str
    """One of `VERDICTS`."""
    reason: str
    """Why this verdict, in a sentence."""
    cycle_time: CycleTime
    attribution: tuple[Component, ...]
    """Largest change first; the changes add up to that of the mean cycle."""
    anomalies: tuple[Anomaly, ...]
    """Resources that are less there than they were, most severe first."""
    causes: tuple[Cause, ...]
    """What explains a part of the change, most time first."""
    unexplained_ns: float
    """The change of the mean cycle less what causes explain."""
    unexplained: tuple[tuple[str, float], ...]
    """Where it sits: components and ns, largest first."""
    program: ProgramChange | None = None
    """What the program does otherwise; None where no timeline tells."""
    symptoms: tuple[Symptom, ...] = ()
    """Counters that tell of the change instead of explaining it."""
    paces: tuple[EvenPace, ...] = ()
    """What takes longer or less for everything alike, where no cause explains that."""
    notes: tuple[str, ...] = ()
    """Warm-up, drift, and what could not be tested."""
    expected: Expectation | None = None
    """Where somebody knows how much slower cycles are than they should be."""
    is_unfit: bool = False
    """Whether a recording cannot tell how long its steps take."""
    corrected: SteadyTimes | None = None
    """Mean steps without profiler overhead, where they tell another change than the recorded."""
    is_without_overhead: bool = False
    """Whether these decided the verdict, against what was recorded."""

    @property
    def judged_time(self) -> CycleTime:
        """What the verdict rests on, and limits are held against.

        Steps without profiler overhead where these decided, else `cycle_time`.
        """
        steps = self.corrected
        if steps is None or not self.is_without_overhead:
            return self.cycle_time
        return CycleTime(
            steps.base_ns, steps.new_ns, steps.change_pct, steps.interval_pct, None,
            by=CORRECTED, recorded_ns=self.cycle_time.parted_ns,
        )  # fmt: skip
