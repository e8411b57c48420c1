"""The bytes of a baseline: what runs say, with a version and a checksum."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from timesink.errors import UnreadableError
from timesink.readers.discover import Recording
from timesink.reports.baselines.baseline import Baseline
from timesink.reports.baselines.names import reference
from timesink.reports.comparison.run_tables import run_of_tables, tables_of
from timesink.reports.comparison.runs import CycleSearch, SideRun
from timesink.reports.comparison.sides import SideSource
from timesink.store.tables import Tables, from_bytes, to_bytes

FORMAT = 1
"""Raised whenever what is kept of a run, or what it means, changes."""
_MARK = b"timesink baseline "
_DIGEST_BYTES = 16
_BETWEEN = "/"
_BEGIN, _END = r"(?<![\w./-])", r"(?![\w-]|[./]\w)"
"""Around a path that is not a part of another one."""
_AGAIN = "save it again from its recording, with --force"


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """What is known of a baseline beside its runs."""

    timesink: str
    saved_us: int
    marker: str | None
    by: str | None
    facts: Mapping[str, Any]
    notes: tuple[str, ...]


def content_of(runs: tuple[SideRun, ...], root: Path, about: About) -> bytes:
    """Runs of files at or below a path as bytes that name no other place."""
    plain: list[dict[str, Any]] = []
    tables: dict[str, pl.DataFrame] = {}
    for number, run in enumerate(runs):
        notes = tuple(_without_place(note, root) for note in run.notes)
        kept = tables_of(replace(run, notes=notes))
        plain.append({"source": _source_facts(run.source, root), "run": kept.about})
        tables |= {f"{number}{_BETWEEN}{name}": table for name, table in kept.tables.items()}
    said = {**asdict(about), "notes": [_without_place(note, root) for note in about.notes]}
    packed = to_bytes({**said, "runs": plain}, tables, small=True)
    return b"".join([_MARK, f"{FORMAT}\n".encode(), _digest(packed), packed])


def baseline_of(content: bytes, name: str, place: str) -> Baseline:
    """The baseline of these bytes; `place` is the store, for words about what is wrong."""
    kept = from_bytes(_checked(content, name, place))
    if kept is None:
        raise _damaged(name, place)
    try:
        return _baseline(kept, name, len(content))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Whole, but not what this version writes: a field more, or less.
        raise _of_another_version(name, place, kept.about.get("timesink")) from error


def _checked(content: bytes, name: str, place: str) -> bytes:
    """The bytes behind version and checksum, where these are right."""
    head, _, rest = content.partition(b"\n")
    version = head.removeprefix(_MARK)
    if not head.startswith(_MARK) or not version.isdigit():
        raise _damaged(name, place)
    if int(version[:9]) != FORMAT:
        raise UnreadableError(
            f"{_named(name, place)}: baseline of format {int(version[:9])}, "
            f"this timesink has {FORMAT}",
            _AGAIN,
        )
    if rest[:_DIGEST_BYTES] != _digest(rest[_DIGEST_BYTES:]):
        raise _damaged(name, place)
    return rest[_DIGEST_BYTES:]


def _digest(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_DIGEST_BYTES).digest()


def _damaged(name: str, place: str) -> UnreadableError:
    return UnreadableError(f"{_named(name, place)}: damaged, or no baseline at all", _AGAIN)


def _of_another_version(name: str, place: str, version: object) -> UnreadableError:
    said = f"{_named(name, place)}: saved by timesink {version}, which this one cannot read"
    return UnreadableError(said, _AGAIN)


def _named(name: str, place: str) -> str:
    return f"{reference(name)} in {place}"


# -- runs ------------------------------------------------------------------------------------------


def _without_place(note: str, root: Path) -> str:
    r"""A note that names files by their place below what was given.

    >>> _without_place("/a/b/c.json: cut; /a/b/c.json2 and x/a/b/y are others", Path("/a/b/c.json"))
    'c.json: cut; c.json2 and x/a/b/y are others'
    """
    folder = root if root.is_dir() else root.parent
    below = re.sub(rf"{_BEGIN}{re.escape(str(folder))}/", "", note)
    return re.sub(rf"{_BEGIN}{re.escape(str(root))}{_END}", lambda _: root.name or ".", below)


def _source_facts(source: SideSource, root: Path) -> dict[str, Any]:
    """A file by its place below what was given; where that is, is nobody's business."""
    path = source.path
    below = path.relative_to(root) if root != path and path.is_relative_to(root) else path.name
    return {
        "file": Path(below).as_posix(),
        "worker": source.recording.worker,
        "span": source.recording.span,
        "rank": source.recording.rank,
        "is_table": source.is_table,
        "job": source.job,
        "suffix": source.suffix,
    }


def _baseline(kept: Tables, name: str, size_bytes: int) -> Baseline:
    about = kept.about
    return Baseline(
        name=name,
        runs=tuple(_runs(kept, name)),
        finding=CycleSearch(about["marker"], about["by"]),
        saved_us=int(about["saved_us"]),
        timesink=str(about["timesink"]),
        facts=about["facts"],
        notes=tuple(about["notes"]),
        size_bytes=size_bytes,
    )


def _runs(kept: Tables, name: str) -> Iterator[SideRun]:
    for number, plain in enumerate(kept.about["runs"]):
        start = f"{number}{_BETWEEN}"
        own = {
            table.removeprefix(start): rows
            for table, rows in kept.tables.items()
            if table.startswith(start)
        }
        yield run_of_tables(Tables(plain["run"], own), _source(plain["source"], name))


def _source(facts: Mapping[str, Any], name: str) -> SideSource:
    path = Path(reference(name)) / facts["file"]
    return SideSource(
        Recording(path, facts["worker"], facts["span"], facts["rank"]),
        is_table=facts["is_table"],
        job=facts["job"],
        suffix=facts["suffix"],
    )
