"""How well kernels use the hardware, and what it can do at most: `kernels` and `peaks`."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli import outputs
from timesink.cli.command_line import print_stderr
from timesink.cli.options import (
    add_choice,
    add_format,
    add_option,
    add_output,
    add_reading,
    add_top,
    argument_error,
    fraction,
    fraction_or_all,
    input_from,
    not_empty,
    percentage,
    read_options,
    value_parser,
    whole_number,
)
from timesink.errors import TimesinkError, UsageError
from timesink.formats.small_files import encode_json
from timesink.recorder.peak_rates import ARITHMETIC
from timesink.recorder.processes import sayable_values

if TYPE_CHECKING:
    import polars as pl

    from timesink.analyses.kernels.peaks import DevicePeaks
    from timesink.answers.kernels.report import KernelReport

# -- timesink kernels ------------------------------------------------------------------------------

KERNELS = r"""Show how well kernels use the hardware.

  timesink kernels kernels.csv
  timesink kernels kernels.csv --trace trace.json.gz --by module
  timesink kernels kernels.csv --calls > table.txt
  timesink kernels before.csv after.csv -o compare.html

FILE is output of Nsight Compute (CSV or text), a file of `timesink ncu`, a kernel table, or a
trace, which has times but no hardware counters.  --trace adds the recording of the same program,
and so utilisation per operator and module.
"""

BY = ("name", "full-name", "family", "operator", "module", "module-class")
SORTS = ("time", "calls", "mean", "headroom", "tensor", "dram", "sm", "name")
_SORTS_OF_CALLS = tuple(sort for sort in SORTS if sort != "calls")
PICTURES = ("density", "strip", "classes", "roofline")
_FILES = ("text", "csv", "json", "md", "html", "svg", "png")
_FORMATS = (*_FILES, "table")
_DRAWN = ("svg", "png")
_DATA = ("csv", "json")
_WIDEST = 10_000


def add_kernels_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink kernels`."""
    recorded = "measured kernels; several files are compared"
    add_option(parser, "paths FILE", recorded, completed="file", nargs="+")
    add_option(parser, "--trace TRACE", "recording of the same program", completed="file")
    what = parser.add_argument_group("what to show")
    table_group = what.add_mutually_exclusive_group()
    add_option(table_group, "--by", "print one table with a row for each of these", choices=BY)
    add_option(table_group, "--calls", "print every call, in launch order")
    add_option(what, "--sort", "order of the rows (default: time)", choices=SORTS)
    add_top(what)
    least = "leave out rows below this share of the time, in percent (default: 0)"
    add_option(what, "--min-share PCT", least, type=percentage, default=0.0)
    how = parser.add_argument_group("how to evaluate")
    low = "utilisation below this share counts as low, e.g. 25%% (default: 1/3)"
    add_option(how, "--low X", low, type=fraction, default=1 / 3)
    add_option(
        how, "--families FILE", "your rules for kernel families, applied first", completed="file"
    )
    launches = partial(whole_number, things="launches")
    add_option(how, "--every N", "the file has every N-th launch only", type=launches)
    matched = "share of launches that --trace must match (default: 80%%)"
    add_option(how, "--min-aligned SHARE", matched, type=fraction_or_all, default=0.8)
    add_option(
        how,
        "--device NAME",
        "device of the roofline, e.g. H200 (default: as measured)",
        type=_device_name,
    )
    peaks = "peaks of the device: a CSV file, dram=4.0TB/s,fp16_tensor=790TFLOP/s, or published"
    add_option(how, "--peaks SPEC", peaks)
    add_choice(parser)
    add_reading(parser)
    add_format(parser, _FORMATS)
    add_option(parser, "--picture", "picture to draw as svg or png", choices=PICTURES)
    files = "write to a file; .txt, .csv, .json, .md, .html, .svg, .png choose the format"
    add_output(parser, files)


def _device_name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of the device is empty")
    return text


def run_kernels(options: argparse.Namespace) -> int:
    """Report on what the options name, as they ask."""
    form = outputs.format_of(options, _FILES)
    _refuse_mixed(options, form)
    from timesink.sources.discovery import input_of  # noqa: PLC0415 - --help should not wait for it

    # Worker, span and rank choose among timelines.
    timeline = None if options.trace is None else input_from(options, options.trace)
    sources = [
        input_from(options, path) if timeline is None else input_of(path) for path in options.paths
    ]
    outputs.check_answer(options, form, *sources, timeline, options.families, options.peaks)
    from timesink.answers.kernels.reading import kernels  # noqa: PLC0415 - --help should not wait for it

    names = ("families", "low", "every", "peaks", "device", "min_aligned")
    reports = []
    for source in sources:
        with read_options(options, *names) as reading:
            reports.append(kernels(source, trace=timeline, **reading))
    refused = _refusal(reports[0])
    is_full_answer = options.by is None and not options.calls
    if refused is not None and not (is_full_answer and form == "json"):
        raise refused
    if options.device or options.peaks:
        # Who names a device or its peaks waits for a roofline.
        from timesink.analyses.kernels.roofline import why_no_roofline  # noqa: PLC0415

        for report in reports:
            if report.roofline is None:
                why = why_no_roofline(report.trace)
                print_stderr(f"{report.source}: no roofline: {why}")
    if form in _DATA:
        _give_data(reports, options, form)
    elif form in _DRAWN:
        from timesink.answers.kernels.pictures import draw  # noqa: PLC0415 - start-up time
        from timesink.output.pictures import to_svg  # noqa: PLC0415

        drawing = draw(reports, options.picture)
        if form == "png":
            from timesink.output.png import to_png  # noqa: PLC0415 - start-up time

            outputs.write_bytes(to_png(drawing), options.output)
        else:
            outputs.give(to_svg(drawing).removesuffix("\n"), options.output)
    else:
        _give_words(reports, options, form)
    if refused is not None:
        # Programs get the document and the exit code.
        raise refused
    return 0


def _refuse_mixed(options: argparse.Namespace, form: str) -> None:
    """Refuse what cannot work before the long work starts."""
    several = len(options.paths) > 1
    if several and options.trace is not None:
        raise UsageError("--trace goes with one file", "give the files one by one")
    if form in {"html", *_DRAWN} and (options.by or options.calls):
        raise UsageError(
            "a page or picture shows the whole report",
            f"leave out {'--by' if options.by else '--calls'}, or try --format md, csv or json",
        )
    if options.picture is not None and form not in _DRAWN:
        raise UsageError("--picture is for svg and png", "add -o FILE.svg or -o FILE.png")
    if form == "png" and options.output is None:
        raise UsageError("a PNG cannot be printed", "name a file with -o FILE.png")
    if several and options.calls and form not in _DATA:
        raise UsageError(
            "a table of calls is of one file",
            "give the files one by one, or add --format csv, which names the run of each call",
        )
    if options.calls and options.sort not in {None, *_SORTS_OF_CALLS}:
        raise UsageError(
            f"every call is one call: --sort {options.sort} does not order them",
            f"choose from {', '.join(_SORTS_OF_CALLS)}",
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


def _give_data(reports: Sequence[KernelReport], options: argparse.Namespace, form: str) -> None:
    """For programs: the whole answer as JSON, or a table with every column."""
    from timesink.answers.kernels.kernels_json import KernelRunsJson  # noqa: PLC0415 - start-up time

    if form == "json" and options.by is None and not options.calls:
        answers = [report.json for report in reports]
        answer = answers[0] if len(answers) == 1 else KernelRunsJson.of(answers)
        outputs.give_json(encode_json(answer), options.output)
    else:
        outputs.give_frame(_table(reports, options), form, options.output)


def _table(reports: Sequence[KernelReport], options: argparse.Namespace) -> pl.DataFrame:
    """Calls or groups that were asked for; of several runs without `--by`, one row per run."""
    from timesink.answers.kernels import tables  # noqa: PLC0415 - start-up time
    from timesink.answers.tables import without_noise  # noqa: PLC0415

    choice = tables.KernelChoice(options.sort or "time", options.top, options.min_share)
    if options.calls:
        return tables.all_columns(reports, options.sort, choice)
    if options.by is None and len(reports) > 1:
        return without_noise(tables.runs_frame(reports))
    return tables.groups_view(reports, options.by or "name", choice).rows()


def _give_words(reports: Sequence[KernelReport], options: argparse.Namespace, form: str) -> None:
    """For people: as text, Markdown or a page; tables and calls also alone."""
    from timesink.answers.kernels import tables  # noqa: PLC0415 - start-up time
    from timesink.answers.kernels.document import groups_document, kernels_document, one_table  # noqa: PLC0415
    from timesink.answers.tables import frame_document  # noqa: PLC0415
    from timesink.output.terminal import to_text  # noqa: PLC0415

    choice = tables.KernelChoice(options.sort or "time", options.top, options.min_share)
    if options.calls and form != "md":
        calls = tables.chosen_calls(reports[0].calls, options.sort, choice)
        outputs.give(tables.to_lines(calls).removesuffix("\n"), options.output)
    elif form == "table":
        # As wide as it is: nothing is cut.
        outputs.give(to_text(one_table(reports, options.by, choice), _WIDEST), options.output)
    else:
        if options.calls:
            document = frame_document(_table(reports, options))
        elif options.by is not None:
            document = groups_document(reports, options.by, choice)
        else:
            document = kernels_document(reports, choice, brief=form != "html")
        outputs.give_document(document, form, options.output)


# -- timesink peaks --------------------------------------------------------------------------------

PEAKS = """List or measure the peaks of devices.

  timesink peaks
  timesink peaks H200
  timesink peaks measure
  timesink peaks measure --precisions bf16,fp8 --seconds 5 -o mine.csv

A device name shows each figure with its source.  `measure` times matrix products and a copy with
PyTorch.  Later commands use the measured peaks for this device, unless they have --peaks published.
They are stored in TIMESINK_DATA_DIR (default: ~/.local/share/timesink), or in the file of -o.
"""

MEASURE = "measure"
_PEAKS_FORMATS = ("text", "json", "csv", "md")


def add_peaks_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink peaks`."""
    what = "device, e.g. H200; or measure, for the device of this machine"
    add_option(parser, "name NAME", what, nargs="?", type=not_empty)
    group = parser.add_argument_group("options of measure")
    about = "seconds to measure, about (default: 10)"
    seconds = value_parser(float, "a number of seconds above 0", lambda value: 0 < value < math.inf)
    add_option(group, "--seconds N", about, type=seconds)
    types = f"precisions to measure, of {', '.join(ARITHMETIC)} (default: all)"
    add_option(group, "--precisions LIST", types, type=_peak_precisions)
    add_option(
        group,
        "--device NAME",
        "PyTorch device, e.g. cuda:1 or cpu (default: the current one)",
        type=not_empty,
    )
    add_output(parser, "write to a file; .json, .csv and .md choose the format", _PEAKS_FORMATS)


def _peak_precisions(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    strange = [name for name in names if name not in ARITHMETIC]
    if strange or not names:
        raise argument_error(strange[0] if strange else text, f"one of {', '.join(ARITHMETIC)}")
    return names


def run_peaks(options: argparse.Namespace) -> int:
    """List devices, or measure one."""
    if options.name == MEASURE:
        return _measure_peaks(options)
    lost = next(
        (option for option in ("seconds", "precisions", "device") if getattr(options, option)), None
    )
    if lost:
        raise UsageError(
            f"--{lost} goes with {MEASURE} only", f"add it: timesink peaks {MEASURE} --{lost}"
        )
    form = outputs.format_of(options, _PEAKS_FORMATS)
    if options.output is not None:
        outputs.check_output(options.output, None, force=options.force)
    # --help should not wait for these.
    from timesink.analyses.kernels.peaks import peaks_csv  # noqa: PLC0415
    from timesink.answers import peaks  # noqa: PLC0415

    rows = peaks.known_peaks() if options.name is None else peaks.peaks_called(options.name)
    if form == "csv":
        outputs.give(peaks_csv(rows), options.output)
    elif form == "json":
        outputs.give(json.dumps(sayable_values(peaks.peaks_dict(rows)), indent=2), options.output)
    else:
        outputs.give_document(peaks.peaks_document(rows), form, options.output)
    return 0


def _measure_peaks(options: argparse.Namespace) -> int:
    if options.format in {"csv", "md"}:
        raise UsageError(
            f"--format {options.format} does not go with {MEASURE}",
            "leave it out: -o writes a CSV file; --format json prints JSON",
        )
    if options.output is not None:
        outputs.check_output(options.output, None, force=options.force)
    # --help should not wait for these.
    from datetime import date  # noqa: PLC0415

    from timesink.analyses.kernels.peaks import (  # noqa: PLC0415
        measured_file,
        measured_row,
        peaks_csv,
    )
    from timesink.recorder.peak_rates import measure_rates  # noqa: PLC0415

    path = options.output or measured_file()
    # A file that cannot be read is found before the time is spent.
    stored_rows = _kept_peaks(options) if options.output is None else ()
    rates = measure_rates(
        options.device, options.seconds or 10.0, options.precisions or (), print_stderr
    )
    row = measured_row(rates, date.today().isoformat())  # noqa: DTZ011 - the user's day
    _keep_peaks(
        path,
        peaks_csv(
            [row, *(stored_row for stored_row in stored_rows if stored_row.device != row.device)]
        ),
    )
    try:
        from timesink.answers.peaks import measured_document, peaks_dict  # noqa: PLC0415 - start-up time
    except ModuleNotFoundError:
        # Beside PyTorch alone there is nothing to lay out a table with.
        print(peaks_csv([row]))
        print_stderr(f"Wrote {path}")
        return 0
    if options.format == "json":
        answer = peaks_dict([row], skipped=dict(rates.skipped), stored=str(path))
        outputs.give(json.dumps(sayable_values(answer), indent=2), None)
    else:
        outputs.give_document(measured_document(rates, row, str(path)), "text", None)
    return 0


def _kept_peaks(options: argparse.Namespace) -> tuple[DevicePeaks, ...]:
    """What was measured before, on other devices; a broken file is replaced by `--force` alone."""
    from timesink.analyses.kernels.peaks import measured_peaks  # noqa: PLC0415 - start-up time

    try:
        return measured_peaks()
    except TimesinkError:
        if not options.force:
            raise
        return ()


def _keep_peaks(path: Path, text: str) -> None:
    from timesink.formats.written_files import written_aside  # noqa: PLC0415 - start-up time

    if outputs.is_stream(path):
        outputs.save(outputs.as_bytes(text), path)
        return
    with written_aside(path) as aside:
        aside.write_bytes(outputs.as_bytes(text))
    outputs.remember_folder(path)


PARTS = {
    "kernels": (KERNELS, add_kernels_arguments, run_kernels),
    "peaks": (PEAKS, add_peaks_arguments, run_peaks),
}
