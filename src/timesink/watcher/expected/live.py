"""Cycles of a running program as they come: what each should take, and alarms.

Learned once, never while judging.  What is kept of a stream is bounded, and rows may come one by
one or many at once: what is said of them is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.statistics.sequential import running_sums, several
from timesink.model.intervals import Flags, Floats, Ints
from timesink.watcher.expected.limits import groups_of
from timesink.watcher.expected.live_limits import FEW, some_for_a_moment, steps_of, too_high
from timesink.watcher.expected.model import (
    LiveModel,
    in_order,
    near,
    outside_of,
)
from timesink.watcher.expected.trees import AskedForest
from timesink.watcher.expected.workload import (
    DURATION,
    FIRST,
    JOB,
    MODE,
    OUTPUT,
    PHASES,
    SEEN_BEFORE,
    START,
    CycleWorkload,
    workload_of,
)
from timesink.watcher.thresholds import LiveAlarmLimits, LiveRuleLimits

CALM_CYCLES, CALM_S = 20, 5.0
"""An alarm ends after so many cycles, or seconds, back within limits."""
_MAX_ENTRIES = 1 << 16
_MAX_STREAMS = 1024
_MAX_WORKLOADS = 512
_STRETCH = 1024


@dataclass(frozen=True)
class LiveAlarm:
    """Cycles of a stream that take too long, from where it began to where it is known."""

    number: int
    stream: str
    phase: str
    rule: str
    """`spike`: several of the last few cycles; `lasting`: a shift."""
    since_s: float
    raised_s: float
    ended_s: float | None
    cycles: int
    expected_us: float
    """What a cycle should take on average, and what it took."""
    observed_us: float
    lost_us: float
    workload: dict[str, float]
    """Medians over its first cycles."""


class JudgedCycles(msgspec.Struct, frozen=True):
    """Cycles beside what was expected, and what changed with them.

    The table has `job_name`, `start_ts`, `duration_us`, `expected_us` and `limit_us` (beyond which
    several are an alarm at once; null where a cycle is not judged), `phase`, `outside`, `alarm`.
    """

    table: pl.DataFrame
    raised: tuple[LiveAlarm, ...]
    ended: tuple[LiveAlarm, ...]
    brief: int
    """How often cycles were too slow, but as usual again before that was an alarm."""


class _Mark(msgspec.Struct, frozen=True):
    """Where a stream was before a cycle."""

    start_s: float
    cycles: int
    expected_us: float
    observed_us: float


class _OpenAlarm(msgspec.Struct):
    alarm: LiveAlarm
    since: _Mark
    last: _Mark
    """Before the first cycle that was back within limits."""
    workloads: list[list[float]]
    """The phase and what is told of the workload, of its first cycles."""
    is_told: bool = False
    """Whether it has lasted for long enough."""
    calm: int = 0
    calm_since_s: float = 0.0
    calm_distance: float = 0.0

    @property
    def expected_us(self) -> float:
        return self.last.expected_us - self.since.expected_us

    @property
    def observed_us(self) -> float:
        return self.last.observed_us - self.since.observed_us

    @property
    def shift(self) -> float:
        """How much slower, as ln(observed / expected)."""
        expected, observed = self.expected_us, self.observed_us
        return float(np.log(observed / expected)) if expected > 0 < observed else 0.0

    def to_alarm(self, columns: list[str], names: tuple[str, ...]) -> LiveAlarm:
        """As it is now."""
        count = max(self.last.cycles - self.since.cycles, 1)
        phases, *values = np.array(self.workloads).T
        samples = [
            (name, column[np.isfinite(column)])
            for name, column in zip(columns, values, strict=True)
        ]
        return replace(
            self.alarm,
            phase=names[int(np.bincount(phases.astype(np.int64)).argmax())],
            cycles=count,
            expected_us=self.expected_us / count,
            observed_us=self.observed_us / count,
            lost_us=self.observed_us - self.expected_us,
            workload={
                name: float(np.median(finite))
                for name, finite in samples
                if len(finite) and name != FIRST
            },
        )


class _Stream(msgspec.Struct):
    """What is kept of a stream."""

    name: str
    sums: list[float]
    onsets: list[_Mark | None]
    """Where each sum was last nothing."""
    recent: list[tuple[_Mark, bool, bool]] = msgspec.field(default_factory=list)
    """The last few cycles, whether they were spikes, and whether beyond the level."""
    moments: Floats = msgspec.field(default_factory=lambda: np.zeros((2, FEW - 1)))
    """When the very last began, and whether they were far beyond."""
    workload: Floats | None = None
    end: _Mark = msgspec.field(default_factory=lambda: _Mark(0.0, 0, 0.0, 0.0))
    open: _OpenAlarm | None = None

    def begin_anew(self) -> None:
        """What was seen until now is over."""
        rules = len(self.sums)
        self.sums, self.onsets = [0.0] * rules, [None] * rules
        self.recent, self.moments = [], np.zeros((2, FEW - 1))


class _Part(msgspec.Struct, frozen=True):
    """Cycles of a stream that are judged."""

    start_s: Floats
    expected_us: Floats
    observed_us: Floats
    group: Ints
    workload: Floats
    """The phase, and what they tell of the workload."""

    def stretch(self, first: int, behind: int) -> _Part:
        """Some of them."""
        where = slice(first, behind)
        return _Part(
            self.start_s[where], self.expected_us[where], self.observed_us[where],
            self.group[where], self.workload[where],
        )  # fmt: skip


class _Marks:
    """Where a stream is before and after each of its cycles."""

    def __init__(self, end: _Mark, part: _Part) -> None:
        self._start_s, self._before = part.start_s, end.cycles
        self._expected = np.cumsum(np.concatenate([[end.expected_us], part.expected_us]))
        self._observed = np.cumsum(np.concatenate([[end.observed_us], part.observed_us]))

    def __getitem__(self, at: int) -> _Mark:
        return self._mark(at, at)

    def after(self, at: int) -> _Mark:
        return self._mark(at, at + 1)

    def _mark(self, at: int, passed: int) -> _Mark:
        return _Mark(
            float(self._start_s[at]), self._before + passed,
            float(self._expected[passed]), float(self._observed[passed]),
        )  # fmt: skip


class _Seen(msgspec.Struct):
    """What the rules say of cycles of a stream."""

    part: _Part
    marks: _Marks
    distance: Floats
    beyond: Flags
    spiky: Flags
    slower: Flags
    """Each cycle, beyond the level; and where nearly all of the last few were."""
    slow: Flags
    telling: Flags
    """Cycles that these rules go by: where cycles scatter, those that are slow alone."""
    moments: Floats
    """When they began and whether they were far beyond, and that of the few before."""
    sums: list[Floats]
    high: list[Flags]
    holds: Flags
    has_ended: bool = False

    def recent(self, stream: _Stream, behind: int) -> list[tuple[_Mark, bool, bool]]:
        """The last few cycles before a place here."""
        places = np.flatnonzero(self.telling[:behind])[-LiveRuleLimits.recent_cycles :]
        marks = (self.marks[at] for at in places.tolist())
        flags = self.beyond[places].tolist(), self.slower[places].tolist()
        return [*stream.recent, *zip(marks, *flags, strict=True)][-LiveRuleLimits.recent_cycles :]

    def recent_workload(self, stream: _Stream, count: int) -> Floats:
        """What the last of so many cycles tell, and those before."""
        before = self.part.workload[:0] if stream.workload is None else stream.workload
        return np.asarray(np.concatenate([before, self.part.workload[:count]])[-SEEN_BEFORE:])


class LiveJudge:
    """Judges cycles as they come.

    >>> rows = pl.DataFrame({"job_name": "1.0", "start_ts": np.arange(300) / 100,
    ...                      "duration_us": 9000.0 + np.arange(300) % 7})
    >>> judge = LiveJudge(learn_live(rows))
    >>> slow = rows.head(150).with_columns(pl.col("duration_us") * 1.5)
    >>> [(one.stream, one.phase) for one in judge.judge(slow).raised]
    [('1.0', 'cycle')]
    """

    def __init__(self, model: LiveModel, alarms: int = 0) -> None:
        self._model, self._limits = model.model, model.limits
        self._columns = self._model.columns
        self._forest = AskedForest(self._model.forest)
        self._near = near(self._model.cells)
        self._weights = [self._limits.weights(rule) for rule in self._limits.sums]
        self._points = np.array([group.point for group in self._limits.groups])
        self._spreads = np.array([group.spread for group in self._limits.groups])
        self._levels = np.array(self._limits.levels)
        self._telling = self._limits.telling
        phase_columns = {MODE, OUTPUT} & {*self._columns}
        self._phase_names = PHASES if phase_columns else ("cycle",) * len(PHASES)
        self._known: dict[bytes, int] = {}
        self._answers = np.zeros((3, 0))
        """Of the workloads that are known, by their place: see `_expected`."""
        self._streams: dict[str, _Stream] = {}
        self._before: pl.DataFrame | None = None
        self.alarms, self._brief = alarms, 0

    @property
    def open_alarms(self) -> tuple[LiveAlarm, ...]:
        """Alarms that have not ended, as they are now."""
        every = (stream.open for stream in self._streams.values())
        names = self._columns, self._phase_names
        return tuple(alarm.to_alarm(*names) for alarm in every if alarm and alarm.is_told)

    @property
    def is_slow(self) -> bool:
        """Whether cycles are too slow, however short that is."""
        return any(stream.open is not None for stream in self._streams.values())

    def end_silent(self, since_s: float) -> tuple[LiveAlarm, ...]:
        """End alarms of streams that made no cycle since then: threads and processes go."""
        ended: list[LiveAlarm] = []
        for stream in self._streams.values():
            if stream.open is not None and stream.end.start_s < since_s:
                self._end(stream, max(stream.open.alarm.raised_s, stream.end.start_s), ended)
                stream.begin_anew()
        return tuple(ended)

    def judge(self, rows: pl.DataFrame) -> JudgedCycles:
        """What is to be said of new cycles, in the order they came."""
        rows, brief = in_order(rows), self._brief
        cycles, when = self._workload(rows)
        expected, outside, group = self._expected(cycles)
        duration = cycles.duration_us
        usable = np.isfinite(duration) & (duration > 0)
        worked = usable & ~(np.nan_to_num(duration) < self._model.empty_below_us)
        judged = worked & ~outside
        columns = [cycles.features[:, cycles.names.index(name)] for name in self._columns]
        workload = np.stack([cycles.phases.astype(np.float64), *columns], axis=1)
        alarm = np.zeros(len(cycles), dtype=bool)
        raised: list[LiveAlarm] = []
        ended: list[LiveAlarm] = []
        for run, name in enumerate(cycles.run_names):
            mine = np.flatnonzero((cycles.runs == run) & judged)
            stream = self._stream(name)
            if len(mine):
                part = _Part(
                    when[mine], expected[mine], duration[mine], group[mine], workload[mine]
                )
                alarm[mine] = self._judged(stream, part, raised, ended)
        limit = expected * np.exp(self._limits.soonest[group])
        table = pl.DataFrame(
            {
                "row": cycles.rows,
                "expected_us": expected,
                "limit_us": limit,
                "phase": np.array(self._phase_names, dtype=object)[cycles.phases].tolist(),
                "outside": outside & worked,
                "alarm": alarm,
                "judged": judged,
            },
            schema_overrides={"phase": pl.String},
        )
        judged_limits = pl.when("judged").then(pl.col("expected_us", "limit_us"))
        table = table.with_columns(judged_limits).sort("row").drop("row", "judged")
        names = rows.select(JOB, pl.col("told_ts").alias(START), DURATION)
        table = pl.concat([names, table], how="horizontal")
        return JudgedCycles(table, tuple(raised), tuple(ended), self._brief - brief)

    # -- what is expected ----------------------------------------------------------------------

    def _workload(self, rows: pl.DataFrame) -> tuple[CycleWorkload, Floats]:
        """The features of new cycles, which look back at those before in their stream."""
        missing = [name for name in self._columns if name not in rows.columns]
        rows = rows.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in missing)
        rows = rows.select(JOB, "told_ts", START, DURATION, *self._columns)
        before = rows.clear() if self._before is None else self._before
        history = pl.concat([before.with_columns(pl.col(START) - before.height), rows])
        if self._columns:
            recent = history.group_by(JOB, maintain_order=True).tail(SEEN_BEFORE)
            if recent.height > _MAX_STREAMS * SEEN_BEFORE // 4:
                recent = recent.filter(pl.col(JOB).is_in([*self._streams]))
            order = pl.int_range(pl.len()).cast(pl.Float64).alias(START)
            self._before = recent.sort(START).with_columns(order)
        every = workload_of(history.drop("told_ts"), self._columns)
        new = every.rows >= before.height
        cycles = every.part(new)
        cycles = replace(cycles, rows=cycles.rows - before.height)
        when = rows["told_ts"].to_numpy().astype(np.float64)[cycles.rows]
        return cycles, when

    def _expected(self, cycles: CycleWorkload) -> tuple[Floats, Flags, Ints]:
        """What each should take, whether it is outside, its group: asked once per workload."""
        features = np.ascontiguousarray(cycles.features)
        width, content = features.shape[1] * 8, features.tobytes()
        # Whether a group is of another phase is told by the features as well.
        keys = [content[at * width : (at + 1) * width] for at in range(len(cycles))]
        places = [*map(self._known.get, keys)]
        if None in places:
            self._ask(cycles, keys)
            places = [self._known[key] for key in keys]
        expected, outside, group = self._answers[:, np.array(places, dtype=np.int64)]
        return expected, outside > 0, group.astype(np.int64)

    def _ask(self, cycles: CycleWorkload, keys: list[bytes]) -> None:
        """Have an answer for each of these workloads; earlier ones go where they are too many."""
        new = {key: place for place, key in enumerate(keys) if key not in self._known}
        if len(self._known) + len(new) > _MAX_ENTRIES:
            self._known, self._answers = {}, self._answers[:, :0]
            new = {key: place for place, key in enumerate(keys)}
        part = cycles.part(np.array([*new.values()], dtype=np.int64))
        expected = np.exp(np.clip(self._forest.predict(part.features), -50, 50))
        outside = outside_of(self._model.ranges, self._near, part)
        answers = np.stack([expected, outside, groups_of(part, self._limits.busy_edges)])
        self._known |= zip(new, range(len(self._known), len(self._known) + len(new)), strict=True)
        self._answers = np.concatenate([self._answers, answers], axis=1)

    # -- alarms --------------------------------------------------------------------------------

    def _stream(self, name: str) -> _Stream:
        """The state of a stream; of very many, those not seen for longest are forgotten."""
        stream = self._streams.pop(name, None)
        if stream is None:
            rules = len(self._limits.sums)
            stream = _Stream(name, [0.0] * rules, [None] * rules)
        self._streams[name] = stream
        if len(self._streams) > _MAX_STREAMS:
            closed = (
                other_name for other_name, other in self._streams.items() if other.open is None
            )
            del self._streams[next(closed, next(iter(self._streams)))]
        return stream

    def _judged(
        self, stream: _Stream, part: _Part, raised: list[LiveAlarm], ended: list[LiveAlarm]
    ) -> Flags:
        """Where a rule holds, stretch by stretch: sums begin anew where an alarm ended."""
        holds = np.zeros(len(part.start_s), dtype=bool)
        at = 0
        while at < len(holds):
            seen = self._seen(stream, part.stretch(at, at + _STRETCH))
            count = len(seen.holds)
            if stream.open or seen.holds.any():
                count = self._follow(stream, seen, raised, ended)
            holds[at : at + count] = seen.holds[:count]
            self._keep(stream, seen, count)
            at += count
        return holds

    def _seen(self, stream: _Stream, part: _Part) -> _Seen:
        distance = np.log(part.observed_us / part.expected_us)
        beyond = distance > self._points[part.group]
        slower = distance > self._levels[part.group]
        telling = self._telling[part.group] | beyond | slower
        before = np.array(
            [(False, False)] * LiveRuleLimits.recent_cycles
            + [entry[1:] for entry in stream.recent],
            dtype=bool,
        )
        spiky, slow = np.zeros((2, len(distance)), dtype=bool)
        many, last = self._limits.spikes
        spikes = np.concatenate([before[1 - last :, 0], beyond[telling]])
        spiky[telling] = several(spikes, many, last) & beyond[telling]
        far = (distance > self._limits.moment * self._points[part.group])[telling]
        start_s = part.start_s[telling]
        moments = np.concatenate([stream.moments, np.stack([start_s, far])], axis=1)
        if far.any():
            end_s = np.concatenate([stream.moments[0], start_s + 1e-6 * part.observed_us[telling]])
            spiky[telling] |= some_for_a_moment(moments[1] > 0, moments[0], end_s)
        many, last = self._limits.slower
        levels = np.concatenate([before[1 - last :, 1], slower[telling]])
        slow[telling] = several(levels, many, last) & slower[telling]
        sums, high = [], []
        rules = zip(self._limits.sums, self._weights, stream.sums, stream.onsets, strict=True)
        place, spread = stream.end.cycles + np.arange(len(distance)), self._spreads[part.group]
        for rule, weights, total, onset in rules:
            added = steps_of(rule, distance, weights[part.group])
            sums.append(running_sums(added, total, rule.most))
            since = None if onset is None else (onset.cycles, onset.start_s)
            high.append(too_high(rule, sums[-1], (place, part.start_s), since, spread))
        holds = spiky | slow | np.logical_or.reduce(high)
        marks = _Marks(stream.end, part)
        return _Seen(
            part, marks, distance, beyond, spiky, slower, slow, telling, moments, sums, high, holds
        )

    def _keep(self, stream: _Stream, seen: _Seen, count: int) -> None:
        """Remember what later cycles need."""
        for place, sums in enumerate(seen.sums):
            zeros = np.flatnonzero(sums[:count] <= 0)
            if len(zeros):
                last = int(zeros[-1]) + 1
                stream.onsets[place] = seen.marks[last] if last < count else None
            elif stream.onsets[place] is None:
                stream.onsets[place] = seen.marks[0]
            stream.sums[place] = float(sums[count - 1])
        stream.recent = seen.recent(stream, count)[1 - LiveRuleLimits.recent_cycles :]
        passed = FEW - 1 + int(seen.telling[:count].sum())
        stream.moments = seen.moments[:, passed - FEW + 1 : passed]
        stream.workload = seen.recent_workload(stream, count)
        stream.end = seen.marks.after(count - 1)
        if count < len(seen.holds) or seen.has_ended:
            stream.begin_anew()

    def _follow(
        self, stream: _Stream, seen: _Seen, raised: list[LiveAlarm], ended: list[LiveAlarm]
    ) -> int:
        """Raise and end alarms, up to the first that ends; how many cycles that were."""
        rules = zip(self._limits.sums, seen.high, strict=True)
        quick = [high for rule, high in rules if rule.steps <= 2 * CALM_CYCLES]
        holds, short = seen.holds, np.logical_or.reduce([seen.spiky, seen.slow, *quick])
        for at in range(len(holds)):
            mine = stream.open
            if mine is None:
                if holds[at]:
                    stream.open = self._raised(stream, seen, at)
                    self._tell(stream.open, seen.part, at, raised)
                continue
            if len(mine.workloads) < _MAX_WORKLOADS:
                mine.workloads.append(seen.part.workload[at].tolist())
            if mine.alarm.rule == "spike" and (
                seen.slow[at] or any(flags[at] for flags in seen.high)
            ):
                mine.alarm = replace(mine.alarm, rule="lasting")
            if short[at]:
                mine.calm, mine.last = 0, seen.marks.after(at)
                self._tell(mine, seen.part, at, raised)
                continue
            now = float(seen.part.start_s[at])
            if not mine.calm or now < mine.calm_since_s:
                mine.calm_since_s = now
                mine.calm_distance = mine.calm_distance if mine.calm else 0.0
            mine.calm += 1
            mine.calm_distance += float(seen.distance[at])
            enough = mine.calm > 1 and now - mine.calm_since_s >= CALM_S
            if mine.calm < CALM_CYCLES and not enough:
                continue
            slower_by = mine.calm_distance / mine.calm
            is_far = holds[at] or slower_by >= self._spreads[seen.part.group[at]]
            if is_far and slower_by >= mine.shift / 2:
                # Still slower, as a longer sum says, or all of these cycles do.
                mine.calm, mine.last = 0, seen.marks.after(at)
                self._tell(mine, seen.part, at, raised)
                continue
            self._end(stream, mine.calm_since_s, ended)
            seen.has_ended = True
            return at + 1
        return len(holds)

    def _tell(self, mine: _OpenAlarm, part: _Part, at: int, raised: list[LiveAlarm]) -> None:
        """Make it an alarm, once cycles have been slow for long enough."""
        lasts_s = part.start_s[at] + 1e-6 * part.observed_us[at] - mine.since.start_s
        if not mine.is_told and lasts_s >= LiveAlarmLimits.lasts_s:
            self.alarms += 1
            mine.is_told, mine.alarm = True, replace(mine.alarm, number=self.alarms)
            raised.append(mine.to_alarm(self._columns, self._phase_names))

    def _end(self, stream: _Stream, ended_s: float, ended: list[LiveAlarm]) -> None:
        """Make it an alarm that is over, or one that never was."""
        mine, stream.open = stream.open, None
        if mine is not None and mine.is_told:
            ended.append(replace(mine.to_alarm(self._columns, self._phase_names), ended_s=ended_s))
        else:
            self._brief += 1

    def _raised(self, stream: _Stream, seen: _Seen, at: int) -> _OpenAlarm:
        fired = next((place for place, high in enumerate(seen.high) if high[at]), None)
        if fired is None:
            recent, slow = seen.recent(stream, at + 1), bool(seen.slow[at])
            last = recent[-(self._limits.slower if slow else self._limits.spikes)[1] :]
            since = next(entry[0] for entry in last if entry[2 if slow else 1])
        else:
            zeros = np.flatnonzero(seen.sums[fired][: at + 1] <= 0)
            carried = stream.onsets[fired] or seen.marks[0]
            since = seen.marks[int(zeros[-1]) + 1] if len(zeros) else carried
        workload = seen.recent_workload(stream, at + 1)[
            -(seen.marks[at].cycles + 1 - since.cycles) :
        ]
        rule = "spike" if fired is None and not seen.slow[at] else "lasting"
        alarm = LiveAlarm(
            0, stream.name, "", rule,
            since.start_s, float(seen.part.start_s[at]), None, 0, 0.0, 0.0, 0.0, {},
        )  # fmt: skip
        return _OpenAlarm(alarm, since, seen.marks.after(at), workload.tolist())
