"""How well kernels use the hardware, as a document: figures and pictures first, tables after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from timesink import __version__
from timesink.analyses.kernel_calls.usage import DeviceUse, of_device
from timesink.model import units
from timesink.model.findings import Finding
from timesink.model.health import merge_entries
from timesink.render.document.blocks import (
    Block,
    Document,
    FindingCard,
    Findings,
    Link,
    Part,
    Parts,
    Section,
    Text,
    Tile,
    Tiles,
)
from timesink.render.document.health import health_section
from timesink.render.document.kernels_launches import launches_block, runs_block
from timesink.render.document.kernels_tables import HELP, groups_table, roofline_table
from timesink.render.document.packing import known
from timesink.render.document.pictures import class_picture, device_pictures
from timesink.render.kernels import runs, words
from timesink.render.kernels.groups import Choice
from timesink.render.kernels.pictures.subject import subjects
from timesink.render.kernels.sections import roofline_groups, roofline_lines
from timesink.reports.kernels import KernelReport
from timesink.reports.kernels.headline import headroom_sentence

_ORIGINS = {"operator": ("operator",), "module": ("module-class", "module")}
"""Tables of what launched the kernels: a network repeats its layers, so their class comes first."""


def kernels_document(reports: Sequence[KernelReport], choice: Choice | None = None) -> Document:
    """The whole report on one recording, or on several side by side.

    >>> import timesink
    >>> report = timesink.kernels(timesink.sample(counters=True))
    >>> [section.id for section in kernels_document([report]).sections][:3]
    ['use', 'findings', 'kernels']
    """
    choice = choice or Choice()
    one = len(reports) == 1
    title = words.subject(reports[0]) if one else units.counted(len(reports), "runs")
    sections = _run(reports[0], choice) if one else _runs(reports, choice)
    health = merge_entries([entry for report in reports for entry in report.trace.health])
    return Document(
        "kernels",
        title,
        title if one else ", ".join(words.run_names(reports)),
        reports[0].headline if one else runs.headline(reports),
        __version__,
        (*sections, health_section(health)),
    )


# -- several runs ----------------------------------------------------------------------------------


def _runs(reports: Sequence[KernelReport], choice: Choice) -> Iterator[Section]:
    """What sets runs apart, then each by itself, then what holds for all."""
    yield Section("runs", "Runs side by side", (*class_picture(reports), runs_block(reports)))
    common = [note for note in reports[0].notes if all(note in one.notes for one in reports)]
    for place, (name, report) in enumerate(zip(words.run_names(reports), reports, strict=True)):
        id_ = f"run-{place + 1}"
        parts = list(_run(report, choice, f"{id_}-"))
        blocks = [block for part in parts for block in _with_lead(part)]
        own = [block for block in blocks if not _is_note(block, common)]
        yield Section(id_, name, tuple(own), report.headline)
    if common:
        yield _notes_section(common)


def _with_lead(section: Section) -> Iterator[Block]:
    if section.lead:
        yield Text(section.lead)
    yield from section.blocks


def _is_note(block: Block, notes: Sequence[str]) -> bool:
    return isinstance(block, Text) and block.text in notes


# -- one run ---------------------------------------------------------------------------------------


def _run(report: KernelReport, choice: Choice, prefix: str = "") -> Iterator[Section]:
    """Device by device, then what a roofline and a timeline add, and every launch."""
    several = len(report.devices) > 1
    for place, use in enumerate(report.devices):
        mark = f"{prefix}device-{place + 1}-" if several else prefix
        yield from _device(report, use, choice, mark)
    yield from _roofline(report, choice, prefix)
    yield from _joined(report, choice, prefix)
    yield Section(
        f"{prefix}launches", "Launches", (launches_block(report, choice, f"{prefix}calls"),)
    )
    if report.notes:
        yield _notes_section(report.notes, prefix)


def _notes_section(notes: Sequence[str], prefix: str = "") -> Section:
    return Section(f"{prefix}notes", "Notes", tuple(map(Text, notes)))


def _device(report: KernelReport, use: DeviceUse, choice: Choice, mark: str) -> Iterator[Section]:
    of = "" if len(report.devices) == 1 else f"{words.device_name(report, use)}: "
    pictures = [
        picture
        for subject in subjects(report)
        if subject.use is use
        for picture in device_pictures(subject)
    ]
    yield Section(
        f"{mark}use",
        words.device_title(report, use),
        (_tiles(use), *_classes(report, use), *pictures),
        "; ".join(words.device_lines(report, use)),
    )
    section = f"{mark}kernels"
    cards = tuple(_card(one, section) for one in words.advice_of(report, use))
    if cards:
        yield Section(f"{mark}findings", f"{of}What to try", (Findings(cards, ""),))
    kernels = of_device(report.groups("name"), use)
    yield Section(
        section,
        f"{of}Kernels",
        (
            groups_table(report, kernels, "name", choice, f"{mark}names"),
            *map(Text, words.namesakes(kernels)),
        ),
        headroom_sentence(use) if use.headroom_ns else "",
    )
    families = of_device(report.groups("family"), use)
    table = groups_table(report, families, "family", choice, f"{mark}family")
    yield Section(f"{mark}families", f"{of}Families", (table,))


def _tiles(use: DeviceUse) -> Tiles:
    """What one sees first: time, calls, and how much of each unit was used."""
    time = Tile("kernel time", use.total_ns if use.timed else None, "time_ns", HELP["total_ns"])
    left = use.headroom_ns
    share = left / use.measured_ns if left is not None and use.measured_ns else None
    return Tiles(
        (
            time,
            Tile("launches", use.launches, "count", f"{units.count(use.names)} kernels"),
            *(
                Tile(
                    words.METRICS[metric], known(value), "percent",
                    "Of peak, weighted by time.", _part(value),
                )
                for metric, value in words.utilisations(use)
                if value is not None
            ),
            Tile("headroom", left, "time_ns",
                 "What would vanish if every kernel ran at its nearest roof.", share),
        )
    )  # fmt: skip


def _part(percent: float | None) -> float | None:
    return None if known(percent) is None else (percent or 0) / 100


def _classes(report: KernelReport, use: DeviceUse) -> Iterator[Parts]:
    """The time by class, as one bar."""
    shares = words.class_shares(use)
    if shares:
        parts = tuple(
            Part(one.key, one.name, one.fraction * use.total_ns, one.meaning) for one in shares
        )
        yield Parts(words.classes_title(report), "time_ns", use.total_ns, parts)


def _card(one: Finding, section: str) -> FindingCard:
    title = one.rule.replace("-", " ").capitalize()
    return FindingCard(
        one.rule,
        one.severity,
        title,
        one.sentence,
        one.advice,
        words.gain(one),
        (),
        tuple(Link(name, section, name) for name in one.kernels),
    )


def _roofline(report: KernelReport, choice: Choice, prefix: str) -> Iterator[Section]:
    """The kernels against the roofs of their device."""
    roofs = report.roofline
    if roofs is None:
        return
    blocks: list[Block] = [Text(line) for line in roofs.notes]
    if roofs.reason:
        blocks.append(Text(f"no roofs: {roofs.reason}", "notice"))
    for place, use in enumerate(report.devices):
        blocks += map(Text, roofline_lines(roofs, use))
        groups = roofline_groups(report, roofs, use)
        blocks.append(roofline_table(report, groups, choice, f"{prefix}roofs-{place + 1}"))
    yield Section(f"{prefix}roofline", words.roofline_title(roofs), tuple(blocks))


def _joined(report: KernelReport, choice: Choice, prefix: str) -> Iterator[Section]:
    """What a timeline adds: the operators and modules that launched the kernels."""
    lead = " ".join(words.join_lines(report))
    for by in words.origins(report):
        groups = [(rows, report.groups(rows)) for rows in _ORIGINS[by]]
        tables = [
            groups_table(report, frame, rows, choice, f"{prefix}{rows}")
            for rows, frame in groups
            if not _says_nothing(frame)
        ]
        yield Section(f"{prefix}{by}s", f"{by.capitalize()}s", tuple(tables), lead)
        lead = ""


def _says_nothing(groups: pl.DataFrame) -> bool:
    return groups["label"].drop_nulls().is_empty()
