"""The run written down call by call, to be played without those who are late."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from timesink.analyses.communication_calls import PAIRS
from timesink.analyses.ranks.clocks import correct_times
from timesink.analyses.ranks.collectives import queued_behind, so_far, time_without_lateness
from timesink.analyses.thresholds import ReplayLimits
from timesink.model.intervals import Flags, Floats, Ints

# What ranks of a run do, in order, and how long that takes when some of it is otherwise.
#
# Between its calls a rank takes the time it took by itself; in a call it waits until all have come
# and the data is moved.  Nothing else is assumed, so that slack of a pipeline, groups that wait in
# parallel and stragglers that hide one another come out as they are.


@dataclass(frozen=True, eq=False)
class Score:
    """What ranks do, in order: they come to a call, or go on when one is over."""

    calls: pl.DataFrame
    """Collectives with waits, by rank and start."""
    ranks: Ints
    first: Ints
    """Where the rows of each rank begin, and behind them the number of all rows."""
    match: Ints
    """By row: the number of the collective."""
    comes: Flags
    """By row: whether the rank comes to the collective; else it needs it to be over."""
    after: Ints
    """By row: the collective that has to be over before this one can start; -1 for none."""
    taken: Floats
    """By row: what the rank had taken by itself so far."""
    begins: Floats
    """By rank: when it began, on the common clock."""
    moving: Floats
    """By collective: how long it moves data once all are there."""
    times: float
    """How often the steps that are played are in the run."""
    recorded: float
    """From where the first rank began to where the last collective was over."""

    def costs_of(self, ranks: Ints, *, late: Ints) -> Floats:
        """What each of some ranks costs, were it the only one of those that are late; in ns."""
        nobody = self._own_without(late)
        least = self._length(nobody)
        costs = []
        for rank in ranks.tolist():
            rows = self._rows(rank)
            single_late = nobody.copy()
            single_late[rows] = self.taken[rows]
            costs.append((self._length(single_late) - least) * self.times)
        return np.array(costs)

    def cost_together(self, late: Ints) -> float:
        """What ranks cost that are all late; in ns."""
        return (self._as_it_was - self._length(self._own_without(late))) * self.times

    def cost_of_transfers(self, matches: pl.Series, usual: pl.Series) -> float:
        """What collectives cost that could move their data in the usual time; in ns."""
        numbers = np.unique(self.calls["match"].to_numpy())
        played = np.isin(matches.to_numpy(), numbers)
        place = np.searchsorted(numbers, matches.to_numpy()[played])
        moving = self.moving.copy()
        moving[place] = np.minimum(moving[place], usual.to_numpy()[played])
        return (self._as_it_was - self._length(self.taken, moving)) * self.times

    def cost_of_share(self, ranks: Ints, share: float) -> float:
        """What ranks cost that could do without a share of their own time; in ns."""
        faster = self.taken.copy()
        for rank in ranks.tolist():
            faster[self._rows(rank)] *= 1 - share
        return (self._as_it_was - self._length(faster)) * self.times

    @property
    def is_like_the_run(self) -> bool:
        """Whether the run takes as long when it is played as it took."""
        return abs(self._as_it_was / max(self.recorded, 1.0) - 1) < ReplayLimits.like

    @cached_property
    def _as_it_was(self) -> float:
        return self._length(self.taken)

    def _rows(self, rank: int) -> slice:
        place = int(np.searchsorted(self.ranks, rank))
        return slice(int(self.first[place]), int(self.first[place + 1]))

    def _own_without(self, late: Ints) -> Floats:
        """What ranks had taken so far at each row, had nobody been late."""
        better, before, taken = (
            time_without_lateness(self.calls, late),
            so_far(self.calls),
            self.taken.copy(),
        )
        rank_of_call = self.calls["rank"].to_numpy()
        for rank in late.tolist():
            rows, calls = self._rows(rank), rank_of_call == rank
            taken[rows] = np.interp(taken[rows], before[calls], better[calls])
        return taken

    def _length(self, taken: Floats, moving: Floats | None = None) -> float:
        return _play_calls(
            self, taken.tolist(), (self.moving if moving is None else moving).tolist()
        )


def _play_calls(score: Score, taken: list[float], moving: list[float]) -> float:
    """When the last rank is done."""
    first, match, comes = score.first.tolist(), score.match.tolist(), score.comes.tolist()
    after, late = score.after.tolist(), score.begins.tolist()
    missing = np.bincount(score.match[score.comes], minlength=len(moving)).tolist()
    over = [float("-inf")] * len(moving)
    waiting: dict[int, list[int]] = {}
    place, done = first[:-1], 0.0
    able = list(range(len(place)))
    while able:
        rank = able.pop()
        row, behind, end = place[rank], late[rank], first[rank + 1]
        while row < end:
            number = match[row]
            if comes[row]:
                came, needed = taken[row] + behind, after[row]
                if needed >= 0:
                    if missing[needed] > 0:
                        waiting.setdefault(needed, []).append(rank)
                        break
                    came = min(came, over[needed])
                over[number] = max(over[number], came)
                missing[number] -= 1
                if missing[number] == 0:
                    over[number] += moving[number]
                    able += waiting.pop(number, [])
            elif missing[number] > 0:
                waiting.setdefault(number, []).append(rank)
                break
            else:
                behind = max(behind, over[number] - taken[row])
            row += 1
        place[rank], late[rank] = row, behind
        if row == end and end > first[rank]:
            done = max(done, taken[end - 1] + behind)
        if not able and waiting:
            # Recordings that lack calls: whoever did not come is not waited for.
            number = next(iter(waiting))
            missing[number] = 0
            able += waiting.pop(number)
    return done


_MAX_CALLS = 60_000
"""Of longer runs as many steps are played as have so many calls: they tell as much as all."""


@dataclass(eq=False)
class WithoutRank:
    """The score of a run, written when somebody asks for it; `calls` are collectives with waits."""

    calls: pl.DataFrame
    clocks: pl.DataFrame

    @cached_property
    def score(self) -> Score | None:
        """None where playing it does not give the run as it was."""
        score = None if self.calls.is_empty() else _score_of_calls(self.calls, self.clocks)
        return score if score is not None and score.is_like_the_run else None


def _score_of_calls(calls: pl.DataFrame, clocks: pl.DataFrame) -> Score:
    played = calls
    if calls.height > _MAX_CALLS:
        steps = calls.group_by("step").agg(pl.len(), pl.col("start_ns").min()).sort("start_ns")
        fits = (pl.col("len").cum_sum() <= _MAX_CALLS) | (pl.int_range(pl.len()) == 0)
        chosen = steps.filter(fits).select("step")
        played = calls.join(chosen, on="step", how="semi", nulls_equal=True)
    played = played.sort("rank", "start_ns", maintain_order=True)
    number = played["match"].rank("dense").cast(pl.Int64) - 1
    call_rows = played.with_columns(
        number=number,
        own=pl.Series(so_far(played)),
        after=number.gather(queued_behind(played)).fill_null(-1),
    )
    comes = call_rows.select(
        "rank", "number", "after", "own", at="start_ns", comes=pl.lit(value=True)
    )
    over = _waits_over(call_rows)
    rows = pl.concat([comes, over]).sort("rank", "at", "comes", maintain_order=True)
    by_rank = rows.group_by("rank", maintain_order=True).agg(pl.len())
    begins = call_rows.group_by("rank", maintain_order=True).agg(
        (correct_times(pl.col("start_ns"), clocks) - pl.col("own")).first().alias("at")
    )["at"]
    ends = call_rows.select(correct_times(pl.col("end_ns"), clocks).max()).item()
    # By collective, how long it moves data. Where ranks are missing nobody knows how long the
    # others waited for them: of that counts what the same takes where everybody is there.
    kind = ["collective", "size_bytes", "group_size"]
    pair = pl.col("collective").is_in(PAIRS).fill_null(value=False)
    wanted = pl.when(pair).then(2).otherwise(pl.col("group_size").fill_null(0))
    collectives = call_rows.group_by("number").agg(
        pl.col("transfer_ns").min(), pl.col(kind).first(), there=pl.col("rank").n_unique()
    )
    is_complete, time = pl.col("there") >= wanted, pl.col("transfer_ns")
    usual = pl.when(is_complete).then(time).median().over(kind)
    moving = pl.when(is_complete).then(time).otherwise(pl.min_horizontal(time, usual))
    return Score(
        calls=played,
        ranks=by_rank["rank"].to_numpy(),
        first=np.concatenate([[0], by_rank["len"].cum_sum().to_numpy()]).astype(np.int64),
        match=rows["number"].to_numpy(),
        comes=rows["comes"].to_numpy(),
        after=rows["after"].to_numpy(),
        taken=rows["own"].to_numpy().copy(),
        begins=(begins - begins.min()).to_numpy().astype(np.float64),
        moving=collectives.sort("number").select(moving.cast(pl.Float64)).to_series().to_numpy(),
        times=max(calls["step"].n_unique(), 1) / max(played["step"].n_unique(), 1),
        recorded=float(ends - begins.min()),
    )


def _waits_over(calls: pl.DataFrame) -> pl.DataFrame:
    """Rows for the collectives that ranks waited for: how far they were when these were over."""
    starts = calls.select("rank", "own", at="start_ns", start=pl.col("start_ns")).sort("at")
    waited = (
        calls.filter(pl.col("exposed_ns") > 0)
        .select("rank", "number", "exposed_ns", at="end_ns")
        .sort("at")
        .join_asof(starts, on="at", by="rank", strategy="backward", check_sortedness=False)
    )
    # Of what went by since the rank came to its last call, it waited for those that are over now.
    of_call = ["rank", "start"]
    idle = pl.col("exposed_ns").cum_sum().over(of_call)
    taken = pl.col("own") + (pl.col("at") - pl.col("start") - idle).clip(lower_bound=0)
    return waited.select(
        "rank", "number", after=pl.lit(-1, pl.Int64), own=taken.cast(pl.Float64), at="at",
        comes=pl.lit(value=False),
    )  # fmt: skip


# Which ranks decide how long a run takes: from the last collective back, the last to come to each.

PATH_SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("rank",), pl.Int64()),
    "share_pct": pl.Float64(),
    **dict.fromkeys(("path_ns", "own_ns", "communication_ns"), pl.Int64()),
    **dict.fromkeys(("collectives", "longest_ns"), pl.Int64()),
    "longest_before": pl.String(),
}
"""One row per rank: its part of the critical path across all ranks, of that its own time and the
collectives it came last to, and its longest stretch of own time with the collective after it."""


def decisive_ranks(calls: pl.DataFrame, clocks: pl.DataFrame) -> pl.DataFrame:
    """Who is on the critical path of a run of several ranks, and for how long.

    A collective is over when the last rank has come and the data is moved; that rank was busy by
    itself since the collective before, which was over when its own last rank had come, and so on.
    """
    if calls.is_empty():
        return pl.DataFrame(schema=PATH_SCHEMA)
    times = calls.select(
        "rank", "match", "name",
        start=correct_times(pl.col("start_ns"), clocks),
        end=correct_times(pl.col("end_ns"), clocks),
    ).sort("rank", "start", maintain_order=True)  # fmt: skip
    rank, match = times["rank"].to_numpy(), times["match"].to_numpy()
    start, end = times["start"].to_numpy(), times["end"].to_numpy()
    by_start = np.lexsort((start, match))
    last_of = np.append(np.diff(match[by_start]) != 0, True)
    latest = dict(zip(match[by_start][last_of].tolist(), by_start[last_of].tolist(), strict=True))
    entries: list[tuple[int, int, int, int]] = []
    row, until = latest[int(match[end.argmax()])], int(end.max())
    for _ in range(len(rank)):
        came = min(int(start[row]), until)
        before = row - 1
        while before >= 0 and rank[before] == rank[row] and end[before] > came:
            before -= 1  # still on its way when the rank came to this one
        follows = before >= 0 and rank[before] == rank[row]
        since = int(end[before]) if follows else came
        entries.append((int(rank[row]), came - since, until - came, row))
        if not follows:
            break
        row, until = latest[int(match[before])], since
    path = pl.DataFrame(entries, schema=["rank", "own_ns", "communication_ns", "row"], orient="row")
    total = pl.col("own_ns").sum() + pl.col("communication_ns").sum()
    return (
        path.with_columns(name=times["name"].cast(pl.String).gather(path["row"]))
        .group_by("rank")
        .agg(
            path_ns=total,
            own_ns=pl.col("own_ns").sum(),
            communication_ns=pl.col("communication_ns").sum(),
            collectives=pl.len(),
            longest_ns=pl.col("own_ns").max(),
            longest_before=pl.col("name").sort_by("own_ns").last(),
        )
        .with_columns(share_pct=100 * pl.col("path_ns") / pl.col("path_ns").sum())
        .sort("path_ns", "rank", descending=[True, False])
        .select(PATH_SCHEMA.keys())
        .cast(pl.Schema(PATH_SCHEMA))
    )
