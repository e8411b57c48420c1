r"""Say how well kernels use the hardware.

FILE is what Nsight Compute printed (CSV or text), a file of `timesink ncu`, a kernel table, or a
timeline, which has times but no hardware counters.  The answer comes first, in a sentence; then
how much of the time leaves SM or DRAM unused, the kernels that take most, and what is left to gain.
`--trace` names the timeline of the same program: utilisation per operator and module.

  timesink kernels kernels.csv
  timesink kernels kernels.csv --trace trace.json.gz --by module
  timesink kernels kernels.csv --calls > table.txt
  timesink kernels before.csv after.csv -o compare.html
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from timesink.cli.options import (
    add_choice,
    add_output,
    add_reading,
    fraction,
    fraction_or_all,
    not_empty,
    percentage,
    progress_bar,
    reading_of,
    row_count,
    whole_number,
)
from timesink.cli.outputs import (
    check_output,
    check_page,
    format_of,
    give,
    give_document,
    write_bytes,
)
from timesink.errors import TimesinkError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from timesink.answers.kernels.report import KernelReport

BY = ("name", "full-name", "family", "operator", "module", "module-class")
SORTS = ("time", "calls", "mean", "headroom", "tensor", "dram", "sm", "name")
_SORTS_OF_CALLS = tuple(sort for sort in SORTS if sort != "calls")
PICTURES = ("density", "strip", "classes", "roofline")
_FILES = ("text", "csv", "json", "md", "html", "svg", "png")
_FORMATS = (*_FILES, "table")
_DRAWN = ("svg", "png")
_DATA = ("csv", "json")
_WIDEST = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink kernels`."""
    _add_file(parser, "paths", metavar="FILE", nargs="+", help="what was recorded; several compare")
    _add_file(parser, "--trace", metavar="TRACE", help="timeline of the same program")
    what = parser.add_argument_group("what to show")
    shown = what.add_mutually_exclusive_group()
    shown.add_argument("--by", choices=BY, help="print one table: what its rows are")
    shown.add_argument("--calls", action="store_true", help="print every call, in launch order")
    what.add_argument("--sort", choices=SORTS, help="order of the rows")
    what.add_argument("--top", metavar="N", type=row_count, help="rows to show of a table")
    what.add_argument(
        "--min-share",
        metavar="PCT",
        type=percentage,
        default=0.0,
        help="leave out rows with less of the time, in percent",
    )
    how = parser.add_argument_group("how to count")
    how.add_argument(
        "--low", metavar="X", type=fraction, default=1 / 3, help="below this is low, e.g. 1/3, 25%%"
    )
    _add_file(how, "--families", metavar="FILE", help="own rules for families, asked first")
    how.add_argument(
        "--every",
        metavar="N",
        type=lambda text: whole_number(text, "launches"),
        help="the file holds every N-th launch only",
    )
    how.add_argument(
        "--min-aligned",
        metavar="SHARE",
        type=fraction_or_all,
        default=0.8,
        help="share of the calls the timeline must match, e.g. 80%%",
    )
    how.add_argument(
        "--device", metavar="NAME", type=_device_name, help="device for the roofline, e.g. H200"
    )
    how.add_argument(
        "--peaks", metavar="SPEC", help="its peaks: a CSV, or dram=4.0TB/s,fp16_tensor=790TFLOP/s"
    )
    add_choice(parser)
    add_reading(parser)
    parser.add_argument("--format", choices=_FORMATS, help="how to say it")
    parser.add_argument("--picture", choices=PICTURES, help="which picture svg and png hold")
    add_output(
        parser, "write to a file; .txt, .csv, .json, .md, .html, .svg, .png choose the format"
    )


def _device_name(text: str) -> str:
    if not text.strip():
        msg = "the name of the device is empty"
        raise argparse.ArgumentTypeError(msg)
    return text


def _add_file(parser: argparse._ActionsContainer, *names: str, **options: object) -> None:
    action = parser.add_argument(*names, type=not_empty, **options)  # type: ignore[arg-type]
    action.complete = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # type: ignore[attr-defined]


def run(options: argparse.Namespace) -> int:
    """Report on what the options name, as they ask."""
    form = format_of(options, _FILES)
    _check(options, form)
    reports = [_report(path, options) for path in options.paths]
    refused = _refusal(reports[0])
    whole = options.by is None and not options.calls
    if refused is not None and not (whole and form == "json"):
        raise refused
    if options.device or options.peaks:
        _mention_missing_roofs(reports)
    if form in _DATA:
        _give_data(reports, options, form)
    elif form in _DRAWN:
        _give_picture(reports, options, form)
    else:
        _give_words(reports, options, form)
    if refused is not None:
        # Programs get the document and the exit code.
        raise refused
    return 0


# -- what goes together ----------------------------------------------------------------------------


def _check(options: argparse.Namespace, form: str) -> None:
    """Refuse what cannot work before the long work starts."""
    several = len(options.paths) > 1
    if several and options.trace is not None:
        raise UsageError("--trace belongs to one file", "give the files one by one")
    if form in {"html", *_DRAWN} and (options.by or options.calls):
        raise UsageError(
            "a page or picture shows the whole report",
            f"leave out {'--by' if options.by else '--calls'}, or try --format md, csv or json",
        )
    if options.picture is not None and form not in _DRAWN:
        raise UsageError("--picture is for svg and png", "add -o FILE.svg or -o FILE.png")
    if form == "png" and options.output is None:
        raise UsageError("a PNG is no text", "name a file with -o FILE.png")
    if several and options.calls and form not in _DATA:
        raise UsageError(
            "the calls of several files do not go in one such table",
            "give the files one by one, or add --format csv, which names the run of each call",
        )
    if options.calls and options.sort not in {None, *_SORTS_OF_CALLS}:
        raise UsageError(
            f"every call is one call: --sort {options.sort} does not order them",
            f"choose from {', '.join(_SORTS_OF_CALLS)}",
        )
    check_page(form)
    if options.output is not None:
        for source in (*options.paths, options.trace, options.families, options.peaks):
            if source is not None:
                check_output(options.output, source, force=options.force)


def _report(path: str, options: argparse.Namespace) -> KernelReport:
    from timesink.answers.kernels.reading import kernels  # noqa: PLC0415 - --help should not wait for it

    with progress_bar() as progress:
        return kernels(
            path,
            trace=options.trace,
            families=options.families,
            low=options.low,
            every=options.every,
            peaks=options.peaks,
            device=options.device,
            min_aligned=options.min_aligned,
            **reading_of(options),
            progress=progress,
        )


def _refusal(report: KernelReport) -> TimesinkError | None:
    """Why the timeline is taken for one of another program; None where it is not."""
    if report.join is None or not report.join.refused:
        return None
    return TimesinkError(
        f"{report.source} and {report.timeline or 'the timeline'}: {report.join.reason}",
        "check that both were recorded with the same program, batch size and software"
        f"{report.join_remedy}",
    )


def _mention_missing_roofs(reports: Sequence[KernelReport]) -> None:
    """Who names a device or its peaks waits for a roofline."""
    from timesink.analyses.kernels.roofline import why_no_roofline  # noqa: PLC0415

    for report in reports:
        if report.roofline is None:
            why = why_no_roofline(report.trace)
            print(f"{report.source}: no roofline: {why}", file=sys.stderr)


# -- answers ---------------------------------------------------------------------------------------


def _give_data(reports: Sequence[KernelReport], options: argparse.Namespace, form: str) -> None:
    """For programs: the whole answer as JSON, or a table with every column."""
    import msgspec  # noqa: PLC0415

    from timesink.answers.kernels.report import runs_dict  # noqa: PLC0415
    from timesink.output.json import frame_csv, frame_json, indented  # noqa: PLC0415

    if form == "json" and options.by is None and not options.calls:
        whole = reports[0].to_dict() if len(reports) == 1 else runs_dict(reports)
        give(indented(msgspec.json.encode(whole)), options.output)
        return
    frame = _table(reports, options)
    give(frame_json(frame) if form == "json" else frame_csv(frame), options.output)


def _table(reports: Sequence[KernelReport], options: argparse.Namespace) -> pl.DataFrame:
    """Calls or groups that were asked for; of several runs without `--by`, one row per run."""
    from timesink.answers.kernels import rows as kernel_rows  # noqa: PLC0415
    from timesink.answers.kernels.report import without_noise  # noqa: PLC0415
    from timesink.answers.kernels.rows import all_columns  # noqa: PLC0415

    choice = kernel_rows.KernelChoice(options.sort or "time", options.top, options.min_share)
    if options.calls:
        return all_columns(reports, options.sort, choice)
    if options.by is None and len(reports) > 1:
        return without_noise(kernel_rows.runs_frame(reports))
    return without_noise(kernel_rows.choose_of_runs(reports, options.by or "name", choice).rows)


def _give_words(reports: Sequence[KernelReport], options: argparse.Namespace, form: str) -> None:
    """For people: as text, Markdown or a page; tables and calls also alone."""
    from timesink.answers.kernels import rows as kernel_calls  # noqa: PLC0415
    from timesink.answers.kernels.document import groups_document, kernels_document, one_table  # noqa: PLC0415
    from timesink.answers.kernels.rows import KernelChoice  # noqa: PLC0415
    from timesink.answers.tables import frame_document  # noqa: PLC0415
    from timesink.output.terminal import to_text  # noqa: PLC0415

    choice = KernelChoice(options.sort or "time", options.top, options.min_share)
    if options.calls and form == "md":
        give_document(frame_document(_table(reports, options)), form, options)
    elif options.calls:
        calls = kernel_calls.chosen_calls(reports[0].calls, options.sort, choice)
        give(kernel_calls.to_lines(calls).removesuffix("\n"), options.output)
    elif form == "table":
        # As wide as it is: nothing is cut.
        give(to_text(one_table(reports, options.by, choice), _WIDEST), options.output)
    elif options.by is not None:
        give_document(groups_document(reports, options.by, choice), form, options)
    else:
        document = kernels_document(reports, choice, brief=form != "html")
        give_document(document, form, options)


def _give_picture(reports: Sequence[KernelReport], options: argparse.Namespace, form: str) -> None:
    from timesink.answers.kernels.pictures import draw  # noqa: PLC0415
    from timesink.output.pictures import to_png, to_svg  # noqa: PLC0415

    drawing = draw(reports, options.picture)
    if form == "png":
        write_bytes(to_png(drawing), options.output)
    else:
        give(to_svg(drawing).removesuffix("\n"), options.output)
