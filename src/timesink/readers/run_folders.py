"""Which folders are one run: those that differ only in the number of a rank or a host."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from timesink.model.ordering import natural
from timesink.readers.folder_names import Folder, folder_of, host_of, number_of
from timesink.readers.recording import Recording

RankOf = Callable[[Recording], int | None]
"""The rank a trace states in its first bytes, else the one of its name."""
_Ranks = Mapping[str, Sequence[int | None]]
"""Of the recordings of every folder."""


def told_runs(recordings: Sequence[Recording], rank_of: RankOf) -> list[Recording]:
    """Recordings with the run each is of, and the rank and host that folders of a run state.

    Folders are one run when their names differ only in the number of a rank or host: by words
    that say so, else where the ranks in them are known and none is there twice.
    """
    parents = sorted({one.path.parent for one in recordings}, key=lambda path: natural(str(path)))
    if len(parents) == 1:
        return list(recordings)
    above = Path(os.path.commonpath(parents))
    alike: defaultdict[str, list[Folder]] = defaultdict(list)
    for parent in parents:
        folder = folder_of(parent.relative_to(above).as_posix())
        alike[folder.alike].append(folder)
    inside: defaultdict[str, list[Recording]] = defaultdict(list)
    for recording in recordings:
        inside[recording.path.parent.relative_to(above).as_posix()].append(recording)
    told = []
    for name, folders in alike.items():
        own = {folder.name: inside[folder.name] for folder in folders}
        if len(folders) > 1 and _is_one_run(folders, own, rank_of):
            told += _one_run_of_folders(name, folders, own)
        else:
            told += [replace(one, run=folder) for folder, files in own.items() for one in files]
    return told


def _is_one_run(
    folders: Sequence[Folder], inside: dict[str, list[Recording]], rank_of: RankOf
) -> bool:
    """Whether folders of like names hold the ranks of one run."""
    named = {name: [one.rank for one in files] for name, files in inside.items()}
    says_so = all(folder.says_so for folder in folders)
    if _is_known(named):
        if _is_disjoint(named):
            return True
    elif says_so and _is_disjoint(named):
        return True
    stated = {name: [rank_of(one) for one in files] for name, files in inside.items()}
    if _is_disjoint(stated) and (_is_known(stated) or says_so):
        return True
    if all(folder.is_host for folder in folders):
        # Ranks of their host, then, not of the run.
        return stated == named
    return not any(map(_any_known, stated.values())) and _are_counted_from_zero(folders)


def _any_known(ranks: Sequence[int | None]) -> bool:
    return any(rank is not None for rank in ranks)


def _is_known(ranks: _Ranks) -> bool:
    return all(rank is not None for of_folder in ranks.values() for rank in of_folder)


def _is_disjoint(ranks: _Ranks) -> bool:
    """Whether no rank is in two folders; a folder may have several spans of one."""
    sets = [{rank for rank in of_folder if rank is not None} for of_folder in ranks.values()]
    return sum(map(len, sets)) == len(set().union(*sets))


def _are_counted_from_zero(folders: Sequence[Folder]) -> bool:
    """Whether folders are called 0, 1, 2, ... as ranks are, and steps are not."""
    numbers = [int(folder.name) for folder in folders if folder.name.isdecimal()]
    return len(numbers) == len(folders) > max(numbers, default=0) // 2 and 0 in numbers


def _one_run_of_folders(
    run: str, folders: Sequence[Folder], inside: Mapping[str, Sequence[Recording]]
) -> list[Recording]:
    """The recordings of one run, with names, ranks and hosts that tell them apart."""
    workers = Counter(worker for files in inside.values() for worker in {f.worker for f in files})
    are_ranks = _is_disjoint({name: [one.rank for one in files] for name, files in inside.items()})
    are_numbers = _tells(folders)
    told = []
    for folder in folders:
        files = inside[folder.name]
        alone = len({one.worker for one in files}) == 1
        number = number_of(folder) if alone and are_numbers else None
        for one in files:
            own_name = folder.name if alone else f"{folder.name}/{one.worker}"
            rank = one.rank if are_ranks else None
            told.append(
                replace(
                    one,
                    run=run,
                    worker=own_name if workers[one.worker] > 1 else one.worker,
                    rank=number if rank is None else rank,
                    host=one.host or host_of(folder),
                )
            )
    return told


def _tells(folders: Sequence[Folder]) -> bool:
    """Whether the numbers of folders are ranks: none is there twice."""
    numbers = [number_of(folder) for folder in folders]
    return None not in numbers and len(set(numbers)) == len(numbers)
