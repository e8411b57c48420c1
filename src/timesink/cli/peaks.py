"""Say what devices can do at most, or measure it on the one at hand.

Without a name all devices are listed; with one, every figure and its source.  `measure` times
products of matrices and a copy with PyTorch on this machine; later commands take what it found for
this device before what is published, unless they are told  --peaks published.  It is kept in
TIMESINK_DATA_DIR (default: ~/.local/share/timesink), or in the file of -o, for  --peaks FILE.

  timesink peaks
  timesink peaks H200
  timesink peaks measure
  timesink peaks measure --precisions bf16,fp8 --seconds 5 -o mine.csv
"""

from __future__ import annotations

import argparse
import json
import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.cli import outputs, say
from timesink.cli.options import add_option, add_output, not_empty, refused
from timesink.errors import TimesinkError, UsageError
from timesink.recorder.peak_rates import ARITHMETIC

if TYPE_CHECKING:
    from timesink.analyses.kernels.peaks import DevicePeaks

MEASURE = "measure"
_FORMATS = ("text", "json", "csv", "md")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink peaks`."""
    what = "a device, as H200; or measure, for the one at hand"
    add_option(parser, "name NAME", what, nargs="?", type=not_empty)
    group = parser.add_argument_group("with measure")
    about = "about how long it may take (default: 10)"
    add_option(group, "--seconds N", about, type=_seconds)
    types = f"types of the operands, of {', '.join(ARITHMETIC)} (default: all)"
    add_option(group, "--precisions LIST", types, type=_precisions)
    add_option(group, "--device NAME", "device of PyTorch, e.g. cuda:1, cpu", type=not_empty)
    add_output(parser, "write to a file; .json, .csv and .md choose the format", _FORMATS)


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise refused(text, "a number of seconds above 0")


def _precisions(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
    strange = [one for one in names if one not in ARITHMETIC]
    if strange or not names:
        raise refused(strange[0] if strange else text, f"one of {', '.join(ARITHMETIC)}")
    return names


def run(options: argparse.Namespace) -> int:
    """List devices, or measure one."""
    if options.name == MEASURE:
        return _measure(options)
    lost = next((one for one in ("seconds", "precisions", "device") if getattr(options, one)), None)
    if lost:
        raise UsageError(f"--{lost} is for measuring", f"add it: timesink peaks {MEASURE} --{lost}")
    form = outputs.format_of(options, _FORMATS)
    if options.output is not None:
        outputs.check_output(options.output, "", force=options.force)
    # --help should not wait for these.
    from timesink.analyses.kernels import peak_rows  # noqa: PLC0415
    from timesink.answers import peaks  # noqa: PLC0415

    rows = peaks.known_peaks() if options.name is None else peaks.peaks_called(options.name)
    if form == "csv":
        outputs.give(peak_rows.peaks_csv(rows), options.output)
    elif form == "json":
        outputs.give(json.dumps(peaks.peaks_dict(rows), indent=2), options.output)
    else:
        outputs.give_document(peaks.peaks_document(rows), form, options)
    return 0


def _measure(options: argparse.Namespace) -> int:
    if options.format in {"csv", "md"}:
        raise UsageError(
            f"--format {options.format} is for the table",
            "leave it out: the file of -o is a CSV of peaks; --format json tells a program",
        )
    if options.output is not None:
        outputs.check_output(options.output, "", force=options.force)
    # --help should not wait for these.
    from datetime import date  # noqa: PLC0415

    from timesink.analyses.kernels.peak_rows import measured_row, peaks_csv  # noqa: PLC0415
    from timesink.analyses.kernels.peaks import measured_file  # noqa: PLC0415
    from timesink.recorder.peak_rates import measure_rates  # noqa: PLC0415

    path = options.output or measured_file()
    # A file that cannot be read is found before the time is spent.
    others = _kept(options) if options.output is None else ()
    found = measure_rates(options.device, options.seconds or 10.0, options.precisions or (), say)
    row = measured_row(found, date.today().isoformat())  # noqa: DTZ011 - the user's day
    _keep(path, peaks_csv([row, *(one for one in others if one.device != row.device)]))
    try:
        from timesink.answers.peaks import measured_document, peaks_dict  # noqa: PLC0415
    except ModuleNotFoundError:
        # Beside PyTorch alone there is nothing to lay out a table with.
        print(peaks_csv([row]))
        say(f"Wrote {path}")
        return 0
    options.output = None
    if options.format == "json":
        told = {**peaks_dict([row]), "skipped": dict(found.skipped), "stored": str(path)}
        outputs.give(json.dumps(told, indent=2), None)
    else:
        outputs.give_document(measured_document(found, row, str(path)), "text", options)
    return 0


def _kept(options: argparse.Namespace) -> tuple[DevicePeaks, ...]:
    """What was measured before, on other devices; a broken file is replaced by `--force` alone."""
    from timesink.analyses.kernels.peaks import measured_peaks  # noqa: PLC0415

    try:
        return measured_peaks()
    except TimesinkError:
        if not options.force:
            raise
        return ()


def _keep(path: Path, text: str) -> None:
    from timesink.formats.written_files import written_aside  # noqa: PLC0415

    if outputs.is_stream(path):
        outputs.save(outputs.as_bytes(text), path)
        return
    with written_aside(path) as aside:
        aside.write_bytes(outputs.as_bytes(text))
    outputs.remember(path)
