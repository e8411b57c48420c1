"""The bytes of a baseline: what runs say, with a version and a checksum."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from timesink import __version__
from timesink.answers.comparison.baseline_stores import reference
from timesink.answers.comparison.kept_runs import run_of_tables, tables_of
from timesink.answers.comparison.runs import CycleSearch, SideRun
from timesink.answers.comparison.sides import LEFT_OUT, RunSide, SideSource
from timesink.errors import UnreadableError, UsageError
from timesink.sources.kept_answers import Tables, from_bytes, to_bytes
from timesink.sources.recordings import Recording

# A baseline as plain data.


@dataclass(frozen=True, eq=False)
class Baseline:
    """What recordings of a run say cycle by cycle, under a name; their files may be gone."""

    name: str
    runs: tuple[SideRun, ...]
    """One per recording, such as a rank; none has a trace, and their paths begin with `@NAME`."""
    finding: CycleSearch
    """How cycles were asked for."""
    saved_us: int
    """When, in Unix microseconds."""
    timesink: str
    """The version that saved it."""
    facts: Mapping[str, Any]
    """Devices and versions the recordings name."""
    notes: tuple[str, ...]
    """What was left out when it was saved."""
    size_bytes: int

    @cached_property
    def side(self) -> RunSide:
        """All of it as a side of a comparison."""
        sources = tuple(run.source for run in self.runs)
        notes = (*self.notes, *self._of_another_version())
        lost = tuple(
            f"{reference(self.name)}: {note.removeprefix(LEFT_OUT)}"
            for note in self.notes
            if note.startswith(LEFT_OUT)
        )
        return RunSide(Path(reference(self.name)), sources, notes, lost)

    def _of_another_version(self) -> tuple[str, ...]:
        if self.timesink == __version__:
            return ()
        versions = f"saved by timesink {self.timesink}, this is {__version__}"
        return (f"{reference(self.name)} was {versions}: save it again to be sure they agree",)

    def finding_for(self, asked: CycleSearch) -> CycleSearch:
        """How cycles of other recordings are found beside this one.

        What the user asks for counts, and is refused where this has other cycles; else they are
        found as those of this one were.
        """
        if asked.metric_map is not None:
            raise UsageError(
                f"{reference(self.name)}: counters were given to functions when it was saved, "
                "--map cannot change that",
                "leave out --map, or compare the recordings themselves",
            )
        if not asked.says_unit:
            return self.finding
        if asked != self.finding and not all(_is_as_asked(run, asked) for run in self.runs):
            option = "--by" if asked.marker is None else "--marker"
            raise UsageError(
                f"{reference(self.name)}: has the cycles it was saved with ({self.units_said}), "
                f"{option} finds no others",
                f"leave out {option}, or save it again with {option}",
            )
        return asked

    @property
    def units_said(self) -> str:
        """What its cycles are, in words."""
        known = {run.unit.anchor or run.unit.method or "those of a table" for run in self.runs}
        return ", ".join(sorted(known))


def _is_as_asked(run: SideRun, asked: CycleSearch) -> bool:
    by_mark = asked.marker in (None, run.unit.anchor)
    return by_mark and asked.by in (None, run.unit.method)


FORMAT = 1
"""Raised whenever what is kept of a run, or what it means, changes."""
_MARK = b"timesink baseline "
_DIGEST_BYTES = 16
_BETWEEN = "/"
_BEGIN, _END = r"(?<![\w./-])", r"(?![\w-]|[./]\w)"
"""Around a path that is not a part of another one."""
_AGAIN = "save it again from its recording, with --force"


def content_of(runs: tuple[SideRun, ...], root: Path, about: Mapping[str, Any]) -> bytes:
    """Runs of files at or below a path as bytes that name no other place.

    `about` is what else is known: the fields of a `Baseline`, of its finding `marker` and `by`.
    """
    plain: list[dict[str, Any]] = []
    tables: dict[str, pl.DataFrame] = {}
    for number, run in enumerate(runs):
        notes = tuple(_without_place(note, root) for note in run.notes)
        kept = tables_of(replace(run, notes=notes))
        plain.append({"source": _source_facts(run.source, root), "run": kept.about})
        tables |= {f"{number}{_BETWEEN}{name}": table for name, table in kept.tables.items()}
    said = {**about, "notes": [_without_place(note, root) for note in about["notes"]]}
    packed = to_bytes({**said, "runs": plain}, tables, small=True)
    return b"".join([_MARK, f"{FORMAT}\n".encode(), _digest(packed), packed])


def baseline_of(content: bytes, name: str, place: str) -> Baseline:
    """The baseline of these bytes; `place` is the store, for words about what is wrong."""
    kept = from_bytes(_checked(content, name, place))
    if kept is None:
        raise _damaged(name, place)
    try:
        about = kept.about
        return Baseline(
            name=name,
            runs=tuple(_runs(kept, name)),
            finding=CycleSearch(about["marker"], about["by"]),
            saved_us=int(about["saved_us"]),
            timesink=str(about["timesink"]),
            facts=about["facts"],
            notes=tuple(about["notes"]),
            size_bytes=len(content),
        )
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
    r"""A note that names files by their place below what was given."""
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


# What is known of the machines that made recordings.


def facts_of(runs: Sequence[SideRun]) -> dict[str, Any]:
    """Devices and versions the recordings and their recorder name, each once."""
    traces = [run.trace.metadata for run in runs if run.trace is not None]
    recorders = [run.recorded for run in runs if run.recorded is not None]
    named = [one.versions for one in traces] + [one.versions for one in recorders]
    devices = {device.name for one in traces for device in one.devices}
    devices |= {device.name for one in recorders for device in one.devices if device.name}
    sizes = [one.distributed.world_size for one in traces if one.distributed.world_size]
    return {
        "devices": sorted(devices),
        "processor": next((one.host.cpu for one in recorders if one.host.cpu), None),
        # Traces say `torch_version`, the recorder says `torch`: the same thing is named once.
        "versions": {
            str(name).removesuffix("_version"): str(value)
            for each in named
            for name, value in each.items()
        },
        "world_size": max(sizes, default=None),
    }
