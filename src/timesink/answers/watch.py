"""What cycles should take for their workload, and which took longer; as values and a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from timesink.analyses.expected.judged import Judged, judge_rows
from timesink.analyses.expected.model import (
    HELD_RUNS,
    HOUR_US,
    LIVE_SCHEMA,
    DurationModel,
    learn_model,
    live_model_from,
    model_from,
)
from timesink.analyses.expected.trees import has_boosting
from timesink.answers.views import listed_table
from timesink.errors import UnreadableError
from timesink.formats.cycle_rows import read_cycle_rows
from timesink.formats.small_files import encode_json, small_content
from timesink.model import units
from timesink.output.blocks import Document, Facts, Section, Table, Text

SCHEMA = "timesink/watch-judged/1"
_MOST_BYTES = 64 << 20
_SCHEMA_BYTES = 200
"""Models say first what they are."""
_MOST_EPISODES = 20


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
        return small_content(file, hint, most_bytes=_MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise UnreadableError.missing(file) from None


def judge_durations(model: str | Path | DurationModel, path: str | Path) -> WatchAnswer:
    """Which cycles of a table took longer than a model expects."""
    known = model if isinstance(model, DurationModel) else load_model(model)
    rows = read_cycle_rows(str(path))
    return WatchAnswer(str(path), judge_rows(known, rows))


@dataclass(frozen=True)
class WatchAnswer:
    """Cycles of a table beside what was expected of them."""

    path: str
    judged: Judged

    @property
    def headline(self) -> str:
        """The answer in a sentence."""
        told, total = self.judged.accuracy, len(self.judged.expected.cycles)
        cycles = units.counted(total, "steps")
        if not told.rows:
            return f"None of {cycles} can be judged."
        most = self.judged.episodes[:1]
        if not most:
            return f"No step of {units.count(told.rows)} took longer than expected."
        [worst] = most
        lost = units.duration_ns(1000 * sum(max(0, one.lost_us) for one in self.judged.episodes))
        where = f" of {worst.run}" if worst.run else ""
        change = units.change(worst.expected_us, worst.observed_us)
        every = self.judged.episodes
        slow = units.counted(sum(one.cycles for one in every), "steps")
        return (
            f"{slow} of {units.count(told.rows)}, in {units.counted(len(every), 'episodes')}, took "
            f"longer than expected and lost {lost}; most in "
            f"{units.counted(worst.cycles, 'steps')}{where} "
            f"from row {units.count(worst.first_row)} on ({change})."
        )

    def to_dict(self) -> dict[str, Any]:
        """The values of the answer; `docs/watch.md` describes every key."""
        mine, model = self.judged, self.judged.model
        expected, told = mine.expected, mine.accuracy
        total = len(expected.cycles)
        worked = total - int(expected.empty.sum()) - int(expected.unusable.sum())
        alarm_rate = told.alarms / told.rows if told.rows else None
        return {
            "schema": SCHEMA,
            "headline": self.headline,
            "rows": total,
            "judged": told.rows,
            "in_range_share": told.rows / worked if worked else None,
            "mape_pct": told.mape_pct,
            "median_ape_pct": told.median_ape_pct,
            "within_10pct": told.within_10pct,
            "alarms": told.alarms,
            "alarm_rate": alarm_rate,
            "episode_cycles": sum(one.cycles for one in mine.episodes),
            "left_out": {
                "outside": int(expected.outside.sum()),
                "empty": int(expected.empty.sum()),
                "unusable": int(expected.unusable.sum()),
            },
            "of_all": asdict(mine.accuracy_of_all),
            "phases": {name: asdict(one) for name, one in mine.by_phase().items()},
            "slow_runs": mine.slow_runs,
            "episodes": [asdict(one) for one in mine.episodes],
            "model": _model_values(model),
        }

    def to_json(self) -> bytes:
        """The whole answer as JSON, on one line."""
        return encode_json(self.to_dict())


def _model_values(model: DurationModel) -> dict[str, Any]:
    limits = model.limits
    return {
        "kind": model.kind,
        "cycles": model.cycles,
        "runs": model.runs,
        "error_pct": dict(
            zip(("median_ape_pct", "mape_pct", "within_10pct"), model.error_pct, strict=True)
        ),
        "empty_below_us": model.empty_below_us,
        "false_alarms_per_cycle": limits.rate,
        "false_alarms_per_hour": limits.rate * HOUR_US / model.cycle_us,
        "extrapolated": limits.extrapolated,
        "limits": {
            "lasting": limits.allowance,
            "run_level": limits.level,
            "spikes": [msgspec.structs.asdict(one) for one in limits.groups if one.rows],
        },
    }


def learned_sentences(model: DurationModel) -> Iterator[str]:
    """What was learned, for people."""
    median, mean, close = model.error_pct
    yield (
        f"Learned from {units.counted(model.cycles, 'steps')} of "
        f"{units.counted(model.runs, 'runs')}: {model.kind}."
    )
    unseen = "runs" if model.runs >= HELD_RUNS else "stretches of time"
    yield (
        f"On {unseen} it did not see, half of the steps are within {median:.2f} %, "
        f"{close:.1f} % within 10 %; the mean error is {mean:.1f} %."
    )
    if model.empty or model.unusable:
        yield (
            f"Left out: {units.count(model.empty)} that did nothing, "
            f"{units.count(model.unusable)} without a usable duration."
        )
    if not model.features:
        yield "No column describes the workload: all steps are expected to take the same time."
    elif model.kind != "boosted trees" and not has_boosting():
        yield "For a better model: pip install 'timesink[watch]', then learn again."
    if model.limits.extrapolated:
        yield "These steps are too few for so rare false alarms: limits are extrapolated."


def watch_document(found: WatchAnswer) -> Document:
    """The answer as blocks that every writer serves."""
    values = found.to_dict()
    left, model = values["left_out"], found.judged.model
    told = found.judged.accuracy
    facts = [
        ("steps", units.count(values["rows"])),
        ("judged", units.count(told.rows)),
        ("unlike what was learned", units.count(left["outside"])),
        ("did nothing", units.count(left["empty"])),
        ("without a usable duration", units.count(left["unusable"])),
    ]
    if told.rows:
        facts += [
            ("median error", f"{told.median_ape_pct:.2f} %"),
            ("mean error", f"{told.mape_pct:.2f} %"),
            ("within 10 %", f"{told.within_10pct:.1f} %"),
            (
                "steps beyond a limit",
                f"{units.count(told.alarms)} ({100 * values['alarm_rate']:.2g} %)",
            ),
        ]
    facts += [
        ("model", f"{model.kind}, {units.counted(model.cycles, 'steps')}"),
        ("accepted false alarms", f"{100 * model.limits.rate:.2g} % of steps"),
    ]
    slow = tuple(
        Text(f"{name or 'The run'} is slower from its first step on, by {value:.0f} %.")
        for name, value in found.judged.slow_runs.items()
    )
    sections = [
        Section("episodes", "Steps that took longer than expected", (_episodes(found), *slow)),
        Section("expected", "Accuracy of expected times", (Facts(tuple(facts)), _phases(found))),
    ]
    return Document(
        "watch", f"timesink: {Path(found.path).name}", found.path, found.headline,
        sections=tuple(sections), tone="bad" if found.judged.episodes else "plain",
    )  # fmt: skip


def _episodes(found: WatchAnswer) -> Table:
    every = found.judged.episodes
    rows = every[:_MOST_EPISODES]
    change = [100 * (one.observed_us / one.expected_us - 1) for one in rows]
    values = {
        "run": [one.run or None for one in rows],
        "expected": [1e3 * one.expected_us for one in rows],
        "observed": [1e3 * one.observed_us for one in rows],
        "change": change,
        "lost": [1e3 * one.lost_us for one in rows],
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


def _phases(found: WatchAnswer) -> Table:
    every = found.judged.by_phase()
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
