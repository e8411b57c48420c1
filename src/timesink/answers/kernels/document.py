"""How well kernels use the hardware, as a document: figures and pictures first, tables after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from timesink.analyses.kernels.usage import CLASSES, DeviceUse, of_device
from timesink.analyses.names import cut_name
from timesink.answers.info import health_section
from timesink.answers.kernels import kernel_labels
from timesink.answers.kernels.pictures import class_picture, device_pictures
from timesink.answers.kernels.report import KernelReport, headroom_sentence
from timesink.answers.kernels.roof_pictures import Subject
from timesink.answers.kernels.tables import (
    LEFT_ON,
    MAIN,
    SUMMARY,
    KernelChoice,
    column_meaning,
    groups_of_runs_table,
    groups_table,
    launches_block,
    roofline_table,
    runs_block,
    runs_tables,
)
from timesink.answers.tables import table_document
from timesink.model import units
from timesink.model.findings import KernelAdvice
from timesink.model.health import merge_entries
from timesink.output.blocks import (
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
from timesink.output.numbers import finite_or_none

_TOP, _TOP_OF_MANY = 10, 5
"""Rows of a table of text unless asked for: of one device, and of each of several."""
_ORIGINS = {"operator": ("operator",), "module": ("module-class", "module")}
"""Tables of what launched the kernels: a network repeats its layers, so their class comes first."""


def kernels_document(
    reports: Sequence[KernelReport], choice: KernelChoice | None = None, *, brief: bool = False
) -> Document:
    """The whole report on one recording, or on several side by side; `brief` for text."""
    choice = choice or KernelChoice()
    if len(reports) > 1:
        sections = _runs_briefly(reports) if brief else _runs(reports, choice)
    else:
        sections = _run(reports[0], choice, brief=brief)
    health = merge_entries([entry for report in reports for entry in report.trace.health])
    health_sections = () if brief and len(reports) > 1 else (health_section(health, brief=brief),)
    return _document(reports, (*sections, *health_sections))


def groups_document(reports: Sequence[KernelReport], by: str, choice: KernelChoice) -> Document:
    """The answer, and one table: kernels, families, operators or modules."""
    table = groups_of_runs_table(reports, by, choice)
    notes = _notes_of_runs(reports) if len(reports) > 1 else ()
    return _document(reports, (Section(by, table.title, (table,)), *notes))


def _document(reports: Sequence[KernelReport], sections: tuple[Section, ...]) -> Document:
    is_single = len(reports) == 1
    title = (
        kernel_labels.subject(reports[0]) if is_single else units.count_noun(len(reports), "runs")
    )
    return Document(
        "kernels",
        title,
        title if is_single else ", ".join(kernel_labels.run_names(reports)),
        reports[0].headline if is_single else kernel_labels.runs_headline(reports),
        sections=sections,
    )


def _runs(reports: Sequence[KernelReport], choice: KernelChoice) -> Iterator[Section]:
    """What sets runs apart, then each by itself, then what holds for all."""
    yield Section("runs", "Runs", (*class_picture(reports), runs_block(reports)))
    common = [note for note in reports[0].notes if all(note in report.notes for report in reports)]
    for place, (name, report) in enumerate(
        zip(kernel_labels.run_names(reports), reports, strict=True)
    ):
        id_ = f"run-{place + 1}"
        blocks: list[Block] = []
        for part in _run(report, choice, f"{id_}-"):
            blocks += [Text(part.lead)] if part.lead else []
            blocks += part.blocks
        run_blocks = [
            block for block in blocks if not (isinstance(block, Text) and block.text in common)
        ]
        yield Section(id_, name, tuple(run_blocks), report.headline)
    if common:
        yield _notes_section(common)


def _runs_briefly(reports: Sequence[KernelReport]) -> Iterator[Section]:
    """One row per run, and what to know of the numbers."""
    use, *classes = runs_tables(reports)
    yield Section("runs", use.title, (use,))
    for table in classes:
        yield Section("classes", table.title, (table,), kernel_labels.what_is_low(reports[0]))
    yield from _notes_of_runs(reports)


def _notes_of_runs(reports: Sequence[KernelReport]) -> Iterator[Section]:
    """What to know of the numbers, once; with the runs it holds for where these are not all."""
    names_by_note: dict[str, list[str]] = {}
    for name, report in zip(kernel_labels.run_names(reports), reports, strict=True):
        for note in report.notes:
            names_by_note.setdefault(note, []).append(name)
    notes = [
        note if len(names) == len(reports) else f"{', '.join(names)}: {note}"
        for note, names in names_by_note.items()
    ]
    if notes:
        yield _notes_section(notes)


def _run(
    report: KernelReport, choice: KernelChoice, prefix: str = "", *, brief: bool = False
) -> Iterator[Section]:
    """Device by device, then what a roofline and a timeline add, and every launch."""
    several = len(report.devices) > 1
    if brief and choice.top is None:
        choice = replace(choice, top=_TOP_OF_MANY if several else _TOP)
    for place, use in enumerate(report.devices):
        mark = f"{prefix}device-{place + 1}-" if several else prefix
        yield from _device(report, use, choice, mark, brief=brief)
    yield from _roofline(report, choice, prefix, brief=brief)
    yield from _origin_sections(report, choice, prefix, brief=brief)
    if not brief:
        yield Section(
            f"{prefix}launches", "Launches", (launches_block(report, choice, f"{prefix}calls"),)
        )
    if report.notes:
        yield _notes_section(report.notes, prefix)


def _notes_section(notes: Sequence[str], prefix: str = "") -> Section:
    return Section(f"{prefix}notes", "Notes", tuple(map(Text, notes)))


def _device(
    report: KernelReport, use: DeviceUse, choice: KernelChoice, mark: str, *, brief: bool
) -> Iterator[Section]:
    of = "" if len(report.devices) == 1 else f"{kernel_labels.device_name(report, use)}: "
    main = SUMMARY if brief else MAIN
    about, classes = (
        list(kernel_labels.device_lines(report, use)),
        list(_classes(report, use, brief=brief)),
    )
    capability = use.compute_capability and f"capability {use.compute_capability}"
    model = ", ".join(filter(None, (use.name, capability)))
    title = f"{kernel_labels.device_name(report, use)}{f' ({model})' if model else ''}"
    if brief:
        yield Section(f"{mark}use", title, tuple(map(Text, about)))
        yield from (Section(f"{mark}classes", f"{of}{block.title}", (block,)) for block in classes)
    else:
        blocks: tuple[Block, ...] = (_tiles(use), *classes, *device_pictures(Subject(report, use)))
        yield Section(f"{mark}use", title, blocks, "; ".join(about))
    section = f"{mark}kernels"
    advice = [
        finding
        for finding in report.advice
        if (finding.host, finding.device) == (use.host, use.device)
    ]
    cards = tuple(_card(finding, section, brief=brief) for finding in advice)
    if cards:
        yield Section(f"{mark}findings", f"{of}What to try", (Findings(cards, ""),))
    kernels = of_device(report.groups("name"), use)
    headroom = headroom_sentence(use) if use.headroom_ns else ""
    yield Section(
        section,
        f"{of}Kernels",
        (
            groups_table(report, kernels, "name", choice, f"{mark}names", main=main),
            *map(Text, kernel_labels.namesakes(kernels)),
        ),
        "" if brief else headroom,
    )
    if brief and headroom:
        # By what they would gain, whatever order the other tables are in.
        gain = replace(choice, sort="headroom")
        table = groups_table(
            report, kernels, "name", gain, f"{mark}headroom", main=LEFT_ON, left_of="headroom"
        )
        yield Section(f"{mark}headroom", f"{of}Headroom", (table,), headroom)
    families = of_device(report.groups("family"), use)
    table = groups_table(report, families, "family", choice, f"{mark}family", main=main)
    yield Section(f"{mark}families", f"{of}Families", (table,))


def _tiles(use: DeviceUse) -> Tiles:
    """What one sees first: time, calls, and how much of each unit was used."""
    time = Tile(
        "kernel time", use.total_ns if use.timed else None, "time_ns", column_meaning("total_ns")
    )
    left = use.headroom_ns
    share = left / use.measured_ns if left is not None and use.measured_ns else None
    return Tiles(
        (
            time,
            Tile("launches", use.launches, "count", units.count_noun(use.names, "kernels")),
            *(
                Tile(
                    title, finite_or_none(value), "percent", "Percent of peak, weighted by time.",
                    None if finite_or_none(value) is None else value / 100,
                )
                for metric, title in kernel_labels.METRICS.items()
                if (value := getattr(use, f"{metric}_pct")) is not None
            ),
            Tile("headroom", left, "time_ns",
                 "Time saved if each kernel's busiest unit ran at peak.", share),
        )
    )  # fmt: skip


def _classes(report: KernelReport, use: DeviceUse, *, brief: bool) -> Iterator[Parts]:
    """The time by class, as one bar; none without utilisation."""
    if not kernel_labels.has_utilisation(use):
        return
    parts = tuple(
        Part(
            key,
            kernel_labels.class_title(key, use.axis)
            + brief * kernel_labels.interval(use, f"{key}_share", 100),
            use.class_share[key] * use.total_ns,
            kernel_labels.MEANINGS[key],
        )
        for key in CLASSES
        if key != "unknown" or use.class_share[key]
    )
    title = f"Share of time by class ({kernel_labels.what_is_low(report)})"
    yield Parts(title, "time_ns", use.total_ns, parts)


def _card(finding: KernelAdvice, section: str, *, brief: bool) -> FindingCard:
    named = ", ".join(map(cut_name, finding.kernels))
    return FindingCard(
        finding.id,
        finding.severity,
        finding.title,
        f"{finding.sentence.removesuffix('.')} ({named})." if brief and named else finding.sentence,
        finding.advice,
        kernel_labels.gain(finding),
        (),
        tuple(Link(name, section, name) for name in finding.kernels),
    )


def _roofline(
    report: KernelReport, choice: KernelChoice, prefix: str, *, brief: bool
) -> Iterator[Section]:
    """The kernels against the roofs of their device."""
    roofs = report.roofline
    if roofs is None:
        return
    blocks: list[Block] = [Text(line) for line in roofs.notes]
    if roofs.reason:
        blocks.append(Text(f"no roofline: {roofs.reason}", "notice"))
    for use in report.devices:
        of = "" if len(report.devices) == 1 else f"{kernel_labels.device_name(report, use)}: "
        lines = kernel_labels.roof_lines(roofs.of(use), roofs.peaks, use)
        blocks += (Text(f"{of}{line}") for line in lines)
        table = roofline_table(report, roofs, use, choice, brief=brief)
        named = {"id": f"{prefix}{table.id}", "title": f"{of}{table.title}"}
        blocks.append(msgspec.structs.replace(table, **named))
    yield Section(f"{prefix}roofline", kernel_labels.roofline_title(roofs), tuple(blocks))


def _origin_sections(
    report: KernelReport, choice: KernelChoice, prefix: str, *, brief: bool
) -> Iterator[Section]:
    """What a timeline adds: the operators and modules that launched the kernels."""
    lead = ". ".join(kernel_labels.join_lines(report))
    if lead and not kernel_labels.origins(report):
        yield Section(f"{prefix}joined", "Joined with a timeline", (Text(lead),))
    main = (*SUMMARY, "headroom_ns") if brief else MAIN
    for by in kernel_labels.origins(report):
        # A network repeats its layers: in text their class says enough.
        every = [(rows, report.groups(rows)) for rows in _ORIGINS[by][: 1 if brief else None]]
        tables: list[Block] = [
            groups_table(report, frame, rows, choice, f"{prefix}{rows}", main=main)
            for rows, frame in every
            if not frame["label"].drop_nulls().is_empty()
        ]
        if brief:
            tables += map(Text, kernel_labels.instances(report, every[0][1], by))
        yield Section(f"{prefix}{by}s", f"{by.capitalize()}s", tuple(tables), lead)
        lead = ""


def one_table(reports: Sequence[KernelReport], by: str | None, choice: KernelChoice) -> Document:
    """Only a table, without a word around it; of several runs, one row per run unless `by`."""
    if by is None and len(reports) > 1:
        return table_document(runs_block(reports))
    table = groups_of_runs_table(reports, by or "name", choice)
    return table_document(msgspec.structs.replace(table, note=""))
