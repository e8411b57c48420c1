"""What cycles should take for their workload, and which took longer; as values and a document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from timesink.answers.views import listed_table
from timesink.errors import UnreadableError
from timesink.formats.cycle_rows import read_cycle_rows
from timesink.formats.small_files import encode_json, plain_values, small_content
from timesink.model import units
from timesink.output.blocks import Document, Facts, Section, Table, Text
from timesink.watcher.expected.judged import Accuracy, Episode, Judged, judge_rows
from timesink.watcher.expected.limits import GroupLimit
from timesink.watcher.expected.model import (
    HELD_RUNS,
    HOUR_US,
    LIVE_SCHEMA,
    DurationModel,
    learn_model,
    live_model_from,
    model_from,
)
from timesink.watcher.expected.trees import has_boosting

SCHEMA = "timesink/watch-judged/1"
_MAX_BYTES = 64 << 20
_SCHEMA_BYTES = 200
"""Models say first what they are."""
_MAX_EPISODES = 20


def learn_durations(
    path: str | Path, *, rate: float = 0.02, per_hour: bool = False, seed: int = 0
) -> DurationModel:
    """Learn from a table of normal cycles what cycles of each workload take."""
    return learn_model(read_cycle_rows(str(path)), rate=rate, per_hour=per_hour, seed=seed)


def load_model(path: str | Path) -> DurationModel:
    """A model that `timesink watch learn` wrote, or a watcher; anything else is refused."""
    content = model_content(path)
    if LIVE_SCHEMA.encode() in content[:_SCHEMA_BYTES]:
        return live_model_from(content, str(path)).model
    return model_from(content, str(path))


def model_content(path: str | Path) -> bytes:
    """The bytes of a file that may be a model."""
    file, hint = Path(path), "make one with  timesink watch learn ROWS.csv -o model.json"
    if file.is_dir():
        raise UnreadableError(f"{path}: is a folder", "name the model in it: model.json")
    try:
        return small_content(file, hint, most_bytes=_MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise UnreadableError.missing(file) from None


def judge_durations(model: str | Path | DurationModel, path: str | Path) -> WatchAnswer:
    """Which cycles of a table took longer than a model expects."""
    duration_model = model if isinstance(model, DurationModel) else load_model(model)
    rows = read_cycle_rows(str(path))
    return WatchAnswer(str(path), judge_rows(duration_model, rows))


class WatchAnswer(msgspec.Struct, frozen=True):
    """Cycles of a table beside what was expected of them."""

    path: str
    judged: Judged

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        accuracy, total = self.judged.accuracy, len(self.judged.expected.cycles)
        cycles = units.count_noun(total, "steps")
        if not accuracy.rows:
            return f"None of {cycles} can be compared with the model."
        most = self.judged.episodes[:1]
        if not most:
            alone = accuracy.rows == 1
            compared = "The step" if alone else f"All {units.count(accuracy.rows)} steps"
            return f"{compared} took as long as expected."
        [worst] = most
        lost = units.brief_ns(
            1000 * sum(max(0, episode.lost_us) for episode in self.judged.episodes)
        )
        where = f" of {worst.run}" if worst.run else ""
        change = units.change(worst.expected_us, worst.observed_us)
        every = self.judged.episodes
        slow = units.count_noun(sum(episode.cycles for episode in every), "steps")
        return (
            f"{slow} of {units.count(accuracy.rows)} took longer than expected and lost {lost}, in "
            f"{units.count_noun(len(every), 'episodes')}. The worst: "
            f"{units.count_noun(worst.cycles, 'steps')}{where} "
            f"from row {units.count(worst.first_row)} on ({change})."
        )

    def to_dict(self) -> dict[str, Any]:
        """The values of the answer; `docs/watch.md` describes every key."""
        return plain_values(JudgedJson.of(self))

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(JudgedJson.of(self))


class LeftOutJson(msgspec.Struct, frozen=True):
    """Steps that were not judged, and why."""

    outside: int
    """Their workload was not learned."""
    empty: int
    unusable: int
    """They have no usable duration."""


class ErrorPctJson(msgspec.Struct, frozen=True):
    """How far steps that were not learned from are from what was expected, in percent."""

    median_ape_pct: float
    mape_pct: float
    within_10pct: float


class LimitsJson(msgspec.Struct, frozen=True):
    """Beyond which distance something is an alarm, in logarithms."""

    lasting: float
    run_level: float
    spikes: list[GroupLimit]


class ModelJson(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned."""

    kind: str
    cycles: int
    runs: int
    error_pct: ErrorPctJson
    empty_below_us: float
    false_alarms_per_cycle: float
    false_alarms_per_hour: float
    extrapolated: bool
    limits: LimitsJson

    @classmethod
    def of(cls, model: DurationModel) -> ModelJson:
        limits = model.limits
        spikes = [group for group in limits.groups if group.rows]
        return cls(
            kind=model.kind,
            cycles=model.cycles,
            runs=model.runs,
            error_pct=ErrorPctJson(*model.error_pct),
            empty_below_us=model.empty_below_us,
            false_alarms_per_cycle=limits.rate,
            false_alarms_per_hour=limits.rate * HOUR_US / model.cycle_us,
            extrapolated=limits.extrapolated,
            limits=LimitsJson(limits.allowance, limits.level, spikes),
        )


class JudgedJson(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `timesink watch judge`."""

    schema: str
    headline: str
    rows: int
    judged: int
    in_range_share: float | None
    mape_pct: float | None
    median_ape_pct: float | None
    within_10pct: float | None
    alarms: int
    alarm_rate: float | None
    episode_cycles: int
    left_out: LeftOutJson
    of_all: Accuracy
    phases: dict[str, Accuracy]
    slow_runs: dict[str, float]
    """Runs that were slow from their first steps on, in percent."""
    episodes: list[Episode]
    model: ModelJson

    @classmethod
    def of(cls, answer: WatchAnswer) -> JudgedJson:
        mine, expected = answer.judged, answer.judged.expected
        accuracy, total = mine.accuracy, len(expected.cycles)
        outside, empty, unusable = (
            int(flags.sum()) for flags in (expected.outside, expected.empty, expected.unusable)
        )
        worked = total - empty - unusable
        return cls(
            schema=SCHEMA,
            headline=answer.headline,
            rows=total,
            judged=accuracy.rows,
            in_range_share=accuracy.rows / worked if worked else None,
            mape_pct=accuracy.mape_pct,
            median_ape_pct=accuracy.median_ape_pct,
            within_10pct=accuracy.within_10pct,
            alarms=accuracy.alarms,
            alarm_rate=accuracy.alarms / accuracy.rows if accuracy.rows else None,
            episode_cycles=sum(episode.cycles for episode in mine.episodes),
            left_out=LeftOutJson(outside, empty, unusable),
            of_all=mine.accuracy_of_all,
            phases=dict(mine.by_phase()),
            slow_runs=dict(mine.slow_runs),
            episodes=list(mine.episodes),
            model=ModelJson.of(mine.model),
        )


def learned_sentences(model: DurationModel) -> Iterator[str]:
    """What was learned, for people."""
    median, mean, close = model.error_pct
    yield (
        f"Learned from {units.count_noun(model.cycles, 'steps')} of "
        f"{units.count_noun(model.runs, 'runs')}: {model.kind}."
    )
    unseen = "runs" if model.runs >= HELD_RUNS else "stretches of time"
    yield (
        f"Error on {unseen} not learned from: median {units.percent(median)}, "
        f"mean {units.percent(mean)}; {units.percent(close)} of the steps are within 10 %."
    )
    if model.empty or model.unusable:
        yield (
            f"Left out: {units.count(model.empty)} empty steps, "
            f"{units.count(model.unusable)} without a usable duration."
        )
    if not model.features:
        yield "No column describes the workload: all steps are expected to take the same time."
    elif model.kind != "boosted trees" and not has_boosting():
        yield "For a better model: pip install 'timesink[watch]', then learn again."
    if model.limits.extrapolated:
        yield "Too few steps for such a low rate of false alarms: limits are extrapolated."


def watch_document(answer: WatchAnswer) -> Document:
    """The answer as blocks that every writer serves."""
    values = answer.to_dict()
    left, model = values["left_out"], answer.judged.model
    accuracy = answer.judged.accuracy
    facts = [
        ("steps", units.count(values["rows"])),
        ("compared", units.count(accuracy.rows)),
        ("workload not learned", units.count(left["outside"])),
        ("empty", units.count(left["empty"])),
        ("without a usable duration", units.count(left["unusable"])),
    ]
    if accuracy.rows:
        facts += [
            ("median error", f"{accuracy.median_ape_pct:.2f} %"),
            ("mean error", f"{accuracy.mape_pct:.2f} %"),
            ("within 10 %", f"{accuracy.within_10pct:.1f} %"),
            (
                "steps beyond a limit",
                f"{units.count(accuracy.alarms)} ({100 * values['alarm_rate']:.2g} %)",
            ),
        ]
    facts += [
        ("model", f"{model.kind}, {units.count_noun(model.cycles, 'steps')}"),
        ("accepted false alarms", f"{100 * model.limits.rate:.2g} % of steps"),
    ]
    slow = tuple(
        Text(f"{name or 'The run'} is {value:.0f} % slower from its first step on.")
        for name, value in answer.judged.slow_runs.items()
    )
    sections = [
        Section("episodes", "Steps that took longer than expected", (_episodes(answer), *slow)),
        Section("expected", "Accuracy of expected times", (Facts(tuple(facts)), _phases(answer))),
    ]
    return Document(
        "watch", f"timesink: {Path(answer.path).name}", answer.path, answer.headline,
        sections=tuple(sections), tone="bad" if answer.judged.episodes else "plain",
    )  # fmt: skip


def _episodes(answer: WatchAnswer) -> Table:
    every = answer.judged.episodes
    rows = every[:_MAX_EPISODES]
    change = [100 * (episode.observed_us / episode.expected_us - 1) for episode in rows]
    values = {
        "run": [episode.run or None for episode in rows],
        "expected": [1e3 * episode.expected_us for episode in rows],
        "observed": [1e3 * episode.observed_us for episode in rows],
        "change": change,
        "lost": [1e3 * episode.lost_us for episode in rows],
    }
    return listed_table(
        "slow-episodes",
        "episodes",
        "",
        rows,
        values,
        total_rows=len(every),
        note="" if every else "No step took longer than expected.",
    )


def _phases(answer: WatchAnswer) -> Table:
    every = answer.judged.by_phase()
    values = {
        "phase": list(every),
        "median": [o.median_ape_pct for o in every.values()],
        "mape": [o.mape_pct for o in every.values()],
        "within": [o.within_10pct for o in every.values()],
    }
    return listed_table(
        "judged-phases",
        "phases",
        "",
        [*every.values()],
        values,
        note="" if every else "No step could be judged.",
    )
