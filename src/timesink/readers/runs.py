"""The one run at a place, each rank once; several runs, or two files of a rank, are refused."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from timesink.errors import AmbiguousError
from timesink.model.ordering import natural
from timesink.model.units import listed
from timesink.readers.discover import sayable, stated_rank
from timesink.readers.local_files import traces_left_out
from timesink.readers.names import stem_of
from timesink.readers.places import Place, shown
from timesink.readers.recording import Recording

_MOST_SHOWN = 4
_FEWEST_RANKS = 2
"""Fewer are no set of ranks."""


def runs_among(recordings: Iterable[Recording]) -> dict[str, list[Recording]]:
    """Recordings by the run they are of, as `find_recordings` told them apart."""
    runs: defaultdict[str, list[Recording]] = defaultdict(list)
    for recording in recordings:
        runs[recording.run].append(recording)
    return dict(runs)


def one_run(found: Sequence[Recording], place: Place) -> tuple[list[Recording], list[str]]:
    """The recordings of the first span of the only run, and what to know about them."""
    runs = runs_among(found)
    if len(runs) > 1:
        raise _several_runs(runs, place)
    first, notes = _first_spans(found)
    kept, copies = _without_copies(first)
    ranks, others = _without_strays(kept)
    _check_ranks(ranks, place)
    return ranks, [*notes, *copies, *others, *_beside(place)]


def _first_spans(found: Sequence[Recording]) -> tuple[list[Recording], list[str]]:
    """The first span of each worker; a file without a number comes before all that have one."""
    of_worker: defaultdict[str, list[int]] = defaultdict(list)
    for recording in found:
        of_worker[recording.worker].append(recording.span or 0)
    first = [one for one in found if (one.span or 0) == min(of_worker[one.worker])]
    most = max(len(set(spans)) for spans in of_worker.values())
    if most == 1:
        return first, []
    shown_as = min(one.span or 1 for one in first)
    return first, [f"{most} spans: this is span {shown_as}, choose with --span"]


def _several_runs(runs: dict[str, list[Recording]], place: Place) -> AmbiguousError:
    names = sorted(runs, key=natural)
    more = ", ..." if len(names) > _MOST_SHOWN else ""
    first = sorted(Path(one.source).parent.as_posix() for one in runs[names[0]])
    if runs[names[0]][0].remote is not None:
        first = sorted(one.source.rpartition("/")[0] for one in runs[names[0]])
    return AmbiguousError(
        f"{shown(place)}: holds {len(names)} runs ({', '.join(names[:_MOST_SHOWN])}{more})",
        f"name one run folder, e.g. {first[0]}, or a pattern of its files in quotes",
    )


def _beside(place: Place) -> list[str]:
    """What is told of traces in a folder that were not taken for those of the run."""
    left_out = traces_left_out(place) if isinstance(place, Path) and place.is_dir() else []
    if not left_out:
        return []
    names = listed([sayable(file.name) for file in left_out], most=_MOST_SHOWN)
    return [f"left out, because others are named as a profiler names them: {names}"]


def _without_copies(recordings: Sequence[Recording]) -> tuple[list[Recording], list[str]]:
    """Recordings without those that are another one in another form, as `a.json.gz`."""
    kept: dict[tuple[Path, str], Recording] = {}
    notes = []
    for recording in recordings:
        known = kept.setdefault((recording.path.parent, stem_of(recording.path.name)), recording)
        if known is not recording:
            notes.append(
                f"{recording.path.name} is named as {known.path.name}, in another form: "
                "only the latter is read"
            )
    return list(kept.values()), notes


def _without_strays(recordings: list[Recording]) -> tuple[list[Recording], list[str]]:
    """Recordings without those that are of no rank, where others are: a server, a merged trace."""
    unnamed = [one for one in recordings if one.rank is None]
    if len(recordings) - len(unnamed) < _FEWEST_RANKS:
        return recordings, []
    strays = {one for one in unnamed if stated_rank(one) is None}
    notes = [f"{one.path.name} states no rank, as the others do: left out" for one in strays]
    return [one for one in recordings if one not in strays], sorted(notes)


def _check_ranks(recordings: Sequence[Recording], place: Place) -> None:
    """Refuse two files of one rank: nobody could tell which of them goes with the others."""
    of_rank: defaultdict[int, list[str]] = defaultdict(list)
    for recording in recordings:
        if recording.rank is not None:
            of_rank[recording.rank].append(recording.path.name)
    for rank, names in of_rank.items():
        if len(names) > 1:
            raise AmbiguousError(
                f"{shown(place)}: two files are of rank {rank} ({names[0]}, {names[1]}), "
                "as if of two runs",
                "choose the files of one run by a pattern in quotes, e.g. "
                f"'{_pattern(names[0])}', or name one of them",
            )


def _pattern(name: str) -> str:
    """A pattern for the files of other ranks that are named like this one."""
    return re.sub(r"(rank[-_. =]?)[0-9]+", r"\1*", name, count=1, flags=re.IGNORECASE)
