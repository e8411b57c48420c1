"""What names of files and folders, and the first bytes of a file, say: worker, span, rank, host."""

from __future__ import annotations

import re

import msgspec

from timesink.model.vendors import DEVICE_WORDS
from timesink.patterns import regex

_WORKER_NAME = regex(r"^(?P<worker>.*?)(?:\.(?P<span>\d+))?\.pt\.trace\.json(?:\.gz|\.zip)?$")
_PROFILER_NAME = regex(r"\.pt\.trace\.json(?:\.gz|\.zip)?$", re.IGNORECASE)
_RANK_IN_HEAD = regex(rb'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*"?(\d{1,6})(?!\d)')
_TABLE_NAME = regex(
    r"(?:_perf_data\.csv(?:\.gz)?|behaviour.*\.(?:csv|csv\.gz|parquet))$", re.IGNORECASE
)
# A number of more than six digits is no rank: it is a date, a time or a process.
_RANK = regex(
    r"(?:^|(?<=[^a-z]))(?:(?P<part>[dtpce]p|local|node|group)[-_. ]?)?rank"
    r"[-_. =]?(?P<rank>[0-9]{1,6})(?![0-9])",
    re.IGNORECASE,
)
_RANK_OF_ALL = regex(r"(?<![0-9.])([0-9]{1,6})[-_]of[-_]([0-9]{1,6})(?![0-9])", re.IGNORECASE)
_TENSOR_RANK = regex(r"(?<![A-Za-z])TP-([0-9]{1,6})(?![0-9])")
_OTHER_PARTS = regex(r"(?<![A-Za-z])[DPEC]P-[0-9]")
_HOST_AND_PROCESS = regex(r"^(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)_[0-9]{1,10}")
_NO_HOSTS = regex(
    rf"^(?:worker|rank|{DEVICE_WORDS}|device|node|host|process|proc|pid|task|train(?:er)?|trace|profile[rd]?"
    r"|run|job|exp(?:eriment)?|step|iter(?:ation)?|epoch|test|eval|val|model|local|global|localhost(?:\..*)?)s?[0-9]*$",
    re.IGNORECASE,
)
_ENDING = regex(
    r"\.(?:gz|zip|json|sqlite|csv|parquet|trace|pt|nsys-rep|pftrace|perfetto-trace|xplane|pb|db)$",
    re.IGNORECASE,
)


def rank_in_name(name: str) -> int | None:
    """Rank that a name states.

    A rank among all goes before one of a part, such as `tp_rank1`; several of those state none.
    """
    matches = list(_RANK.finditer(name))
    global_ranks = [match["rank"] for match in matches if match["part"] is None]
    parts = [match["rank"] for match in matches if match["part"] is not None]
    if global_ranks:
        return int(global_ranks[0])
    if parts:
        return int(parts[0]) if len(parts) == 1 else None
    of_all = _RANK_OF_ALL.search(name)
    if of_all is not None and int(of_all[1]) < int(of_all[2]):
        return int(of_all[1])
    tensor = _TENSOR_RANK.search(name)
    return int(tensor[1]) if tensor is not None and not _OTHER_PARTS.search(name) else None


def without_rank(name: str) -> str:
    """A name without the rank it states and without its endings."""
    stem = stem_of(name)
    for pattern in (_RANK, _TENSOR_RANK, _RANK_OF_ALL):
        stem = pattern.sub(lambda match: re.sub("[0-9]", "", match[0]), stem)
    return stem


def stem_of(name: str) -> str:
    """A name without what says only how the file is packed and written."""
    while (shorter := _ENDING.sub("", name)) not in ("", name):
        name = shorter
    return name


def host_in_name(name: str) -> str | None:
    """Host in a file name of PyTorch's profiler, which calls a worker by host and process."""
    worker, _ = worker_and_span(name)
    if worker is None or rank_in_name(worker) is not None:
        return None
    match = _HOST_AND_PROCESS.match(worker)
    # After the process others add what part of the program it is.
    if match is None or worker[match.end() :][:1] not in ("", "."):
        return None
    return None if _NO_HOSTS.match(match["host"]) else match["host"]


def is_profiler_name(name: str) -> bool:
    """Whether a file has the name PyTorch's profiler gives its traces."""
    return _PROFILER_NAME.search(name) is not None


def worker_and_span(name: str) -> tuple[str | None, int | None]:
    """Worker and span timestamp in the file names the PyTorch profiler writes."""
    match = _WORKER_NAME.match(name)
    if not match:
        return None, None
    span = match.group("span")
    return match.group("worker"), int(span) if span else None


def rank_in_head(head: bytes) -> int | None:
    """Rank that the first bytes of a trace state."""
    match = _RANK_IN_HEAD.search(head)
    return int(match.group(1)) if match else None


def is_named_as_table(name: str) -> bool:
    """Whether the name of a file says that it is a behaviour table."""
    return _TABLE_NAME.search(name) is not None


# What the names of folders say: a rank, a host, or that they are runs of their own.

_HOSTS = "host|hostname|node|machine|server|pod|instance"
_RANKS = f"rank|worker|device|{DEVICE_WORDS}|process|proc|task|replica|trainer|actor"
_ROLE = regex(
    rf"^(?:(?P<host>{_HOSTS})|(?:global|world|local)?[-_. ]?(?:{_RANKS}))[-_. ]?[0-9]{{1,6}}$",
    re.IGNORECASE,
)
_RANK_AT_END = regex(r"(?:^|[^a-z])rank[-_. ]?([0-9]{1,6})$", re.IGNORECASE)
_RUN = regex(
    r"(?:^|[^a-z])(?:step|iter|iteration|epoch|run|exp|experiment|trial|version|ver|v|job|attempt"
    r"|case|test|seed|ckpt|checkpoint|span|window|bs|batch|profile|trace|config|cfg|sweep)s?"
    r"[-_. ]?[0-9]",
    re.IGNORECASE,
)
_NUMBER = regex(r"[0-9]+")
_LONGEST_NUMBER = 6
"""Digits of a number that may be a rank; longer ones are dates and times."""


class Folder(msgspec.Struct, frozen=True):
    """A folder below what all recordings lie in."""

    name: str
    pattern: str
    """Its name with * for what may be the number of a rank or a host."""
    says_so: bool
    """Whether words say that these are such numbers."""
    is_host: bool
    host: str | None
    """The host it is of: by a word that says so, or its name where no word says anything."""
    number: int | None
    """The rank it states: the last number that is not of a host."""


def folder_of(name: str) -> Folder:
    """What the name of a folder says."""
    parts = name.split("/")
    numbered = [part for part in parts if _number_pattern(part) != part]
    rank_parts = [part for part in parts if _ROLE.match(part) or _RANK_AT_END.search(part)]
    hosts = [part for part in parts if (match := _ROLE.match(part)) and match["host"]]
    unlabelled_parts = [
        part for part in numbered if part not in rank_parts and not part.isdecimal()
    ]
    of_rank = set(rank_parts) - set(hosts)
    ranks = [part for part in parts if _NUMBER.fullmatch(part) or part in of_rank]
    return Folder(
        name,
        "/".join(map(_number_pattern, parts)),
        says_so=bool(numbered) and set(numbered) <= set(rank_parts),
        is_host=bool(hosts),
        host=next(iter([*hosts, *unlabelled_parts]), None),
        number=int(_NUMBER.findall(ranks[-1])[-1]) if ranks else None,
    )


def _number_pattern(part: str) -> str:
    rank = _RANK_AT_END.search(part)
    if rank is not None:
        return f"{part[: rank.start(1)]}*"
    digits = _NUMBER.findall(part)
    if _RUN.search(part) or any(len(number) > _LONGEST_NUMBER for number in digits):
        return part
    return _NUMBER.sub("*", part)


def rank_of_folder(name: str) -> int | None:
    """Rank of which a folder is, where its whole name says nothing else."""
    match = _ROLE.match(name)
    rank = _RANK_AT_END.search(name)
    return int(rank[1]) if match is not None and rank is not None else None
