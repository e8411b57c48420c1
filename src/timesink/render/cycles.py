"""The answer of `timesink cycles` for the terminal, as Markdown, CSV and JSON."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.padding import Padding

from timesink.analyses.cycles.cycles import Candidate
from timesink.analyses.kernel_names.display import short_kernel_name
from timesink.model import units
from timesink.output.csv import frame_csv
from timesink.output.names import cut_end
from timesink.output.tables import GAP, markdown_table, natural_width, text_table
from timesink.output.terminal import show, terminal_width, text, to_plain
from timesink.reports.cycles import CycleReport, Run

FILE_WIDTH = 100
_WIDEST = 140
_NAME = 72
"""Characters of a name in a sentence; kernels have names of hundreds."""
_LEVELS = "▁▂▃▄▅▆▇█"
_STRIP = 60
_COLUMNS = (
    "process",
    "type",
    "cycles",
    "period",
    "median",
    "mean",
    "IQR",
    "CV",
    "shortest",
    "longest",
)
_NUMERIC = (False, False, *(True,) * 8)
_FIRST_TO_GO = ("mean", "IQR")
_OVERVIEW = ("recording", "unit", "type", "cycles", "period", "length", "CV", "confidence")
_OVERVIEW_NUMERIC = (False, False, False, *(True,) * 5)
_METHODS = {
    "marker": "the mark",
    "python": "the Python call",
    "layer": "the layer",
    "kernels": "the kernel sequence from",
    "table": "the behaviour table, which names",
}


# -- words -----------------------------------------------------------------------------------------


def unit(run: Run) -> str:
    """What marks a cycle, as people say it."""
    cycles = run.cycles
    return cut_end(short_kernel_name(cycles.anchor) if cycles.on_device else cycles.anchor, _NAME)


def headline(run: Run) -> str:
    """The answer in a sentence."""
    cycles, summary = run.cycles, run.summary
    count = units.counted(cycles.table.height, "cycles")
    processes = summary["pid"].n_unique()
    where = f" in {units.counted(processes, 'processes')}" if processes > 1 else ""
    lengths = (cycles.table["end_ns"] - cycles.table["start_ns"]).to_numpy()
    said = f"{count}{where} of about {units.brief_ns(float(np.median(lengths)))}"
    return f"{said}, by {_means(run)} (confidence {cycles.confidence:.2f})"


def _means(run: Run) -> str:
    if run.cycles.method == "step":
        return "profiler steps"
    return f"{_METHODS[run.cycles.method]} {unit(run)}"


def overview_headline(report: CycleReport) -> str:
    """What several recordings have in common."""
    found = {(run.cycles.method, run.cycles.anchor) for run in report.runs}
    count = units.counted(len(report.runs), "recordings")
    cycles = units.counted(sum(run.cycles.table.height for run in report.runs), "cycles")
    if len(found) == 1:
        return f"{cycles} in {count}, all by {_means(report.runs[0])}"
    return f"{cycles} in {count}, found in {len(found)} ways: compare them only with --marker"


def _rows(run: Run) -> list[list[str]]:
    return [
        [
            row["pid"] or "-",
            row["type"],
            units.count(row["cycles"]),
            *(
                _time(row[name])
                for name in ("period_ns", "length_median_ns", "length_mean_ns", "length_iqr_ns")
            ),
            _percent(row["length_cv"]),
            _time(row["shortest_ns"]),
            _time(row["longest_ns"]),
        ]
        for row in run.summary.to_dicts()
    ]


def _overview_rows(report: CycleReport) -> list[list[str]]:
    """One row per recording and type; processes of one recording together."""
    return [
        [
            run.label,
            unit(run),
            row["type"],
            units.count(row["cycles"]),
            _time(row["period_ns"]),
            _time(row["length_median_ns"]),
            _percent(row["length_cv"]),
            f"{run.cycles.confidence:.2f}",
        ]
        for run in report.runs
        for row in run.summary.to_dicts()
    ]


def _time(value: int | None) -> str:
    return "-" if value is None else units.duration_ns(value)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _why(run: Run) -> list[str]:
    cycles = run.cycles
    lines = [short_sentence(cycles.reason)]
    if cycles.method != "table":
        lines.append(
            f"{100 * cycles.coverage:.1f} % of the recorded work began in a cycle; amounts of work "
            f"are {100 * cycles.likeness:.1f} % alike"
        )
    return lines


def short_sentence(sentence: str) -> str:
    """A sentence in which the quoted name is not longer than fits."""
    first, quote, rest = sentence.partition("'")
    name, end, last = rest.rpartition("'")
    return f"{first}{quote}{cut_end(name, _NAME)}{end}{last}" if end else sentence


def _other(other: Candidate) -> str:
    count = units.counted(other.count, "cycles")
    choice = f"; choose it with --marker {shlex.quote(other.marker)}" if other.marker else ""
    period = units.duration_ns(other.period_ns)
    return f"{count} of {period}: {short_sentence(other.reason)}{choice}"


def _strips(run: Run) -> list[str]:
    """How long the cycles of each process were, one after the other."""
    lines = []
    for (pid,), part in run.cycles.table.partition_by("pid", as_dict=True).items():
        lengths = (part["end_ns"] - part["start_ns"]).to_numpy().astype(np.float64)
        lines.append(f"{pid or '-'}  {_strip(lengths)}")
    return lines


def _strip(lengths: NDArray[np.float64]) -> str:
    groups = np.array_split(lengths, min(_STRIP, len(lengths)))
    longest = np.array([group.max() for group in groups])
    top = max(float(longest.max()), 1.0)
    places = np.minimum((longest / top * len(_LEVELS)).astype(int), len(_LEVELS) - 1)
    return "".join(_LEVELS[place] for place in places)


# -- on the screen and in a file -------------------------------------------------------------------


def print_text(report: CycleReport) -> None:
    """Show the answer on the terminal."""
    width = min(terminal_width(), _WIDEST)
    show(_content(report, width), width)


def to_text(report: CycleReport) -> str:
    """The answer as plain text."""
    return to_plain(_content(report, FILE_WIDTH), FILE_WIDTH)


def _content(report: CycleReport, width: int) -> RenderableType:
    blocks: list[RenderableType] = []
    if len(report.runs) == 1:
        blocks += _run_lines(report.runs[0], width)
    else:
        blocks += _overview_lines(report, width)
    for why in report.refused:
        blocks += ["", text(why.message, "yellow"), text(f"hint: {why.hint}", "dim")]
    return Group(*blocks)


def _overview_lines(report: CycleReport, width: int) -> Iterable[RenderableType]:
    yield text(overview_headline(report), "bold")
    yield ""
    yield text_table(_OVERVIEW, _overview_rows(report), _OVERVIEW_NUMERIC, width)
    notes = [f"{run.label}: {short_sentence(n)}" for run in report.runs for n in run.cycles.notes]
    yield from _list("Notes", notes, "dim")


def _run_lines(run: Run, width: int) -> Iterable[RenderableType]:
    yield text(run.label, "dim")
    yield text(headline(run), "bold")
    yield ""
    yield _summary_table(run, width)
    yield from _list("Length, cycle by cycle (longest = full)", _strips(run), "")
    yield from _list("Why", _why(run), "")
    yield from _list("Also considered", [_other(other) for other in run.cycles.others], "dim")
    yield from _list("Notes", [short_sentence(note) for note in run.cycles.notes], "dim")


def _summary_table(run: Run, width: int) -> RenderableType:
    """All columns, or those that say most where not all fit."""
    rows = _rows(run)
    places = range(len(_COLUMNS))
    wide = sum(natural_width(_COLUMNS[n], [row[n] for row in rows]) + GAP for n in places) - GAP
    kept = [n for n in places if wide <= width or _COLUMNS[n] not in _FIRST_TO_GO]
    cells = [[row[n] for n in kept] for row in rows]
    return text_table([_COLUMNS[n] for n in kept], cells, [_NUMERIC[n] for n in kept], width)


def _list(title: str, lines: list[str], style: str) -> Iterable[RenderableType]:
    if lines:
        yield ""
        yield text(title, "bold")
    for line in lines:
        yield Padding(text(line, style), (0, 0, 0, 2))


# -- documents and data ----------------------------------------------------------------------------


def to_markdown(report: CycleReport) -> str:
    """The answer for a comment or a document."""
    blocks: list[str] = []
    if len(report.runs) > 1:
        blocks.append(f"**{overview_headline(report)}**")
        blocks.append(markdown_table(_OVERVIEW, _overview_rows(report), _OVERVIEW_NUMERIC))
    for run in report.runs:
        blocks += [f"# {run.label}", f"**{headline(run)}**"]
        blocks.append(markdown_table(_COLUMNS, _rows(run), _NUMERIC))
        for title, lines in (
            ("Why", _why(run)),
            ("Also considered", [_other(other) for other in run.cycles.others]),
            ("Notes", list(run.cycles.notes)),
        ):
            if lines:
                blocks += [f"## {title}", "\n".join(f"- {line}" for line in lines)]
    blocks += [f"No cycles: {why.message}" for why in report.refused]
    return "\n\n".join(blocks)


def to_csv(report: CycleReport) -> str:
    """Every cycle, one row each."""
    return frame_csv(report.table)


def to_json(report: CycleReport) -> str:
    """The whole answer for programs."""
    return msgspec.json.format(report.to_json(), indent=2).decode()


RENDERERS: dict[str, Callable[[CycleReport], str]] = {
    "text": to_text,
    "csv": to_csv,
    "md": to_markdown,
    "json": to_json,
}
