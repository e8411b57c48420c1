"""Analyze a recording that comes with timesink.

  timesink demo
  timesink demo -o pages/demo.html

The first recording has two training steps of a small U-Net on one GPU: where time goes, how well
kernels use the hardware and what to try.  Two runs of a decode loop are compared after it.  The
results are also written as HTML pages, which need no network.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from timesink import sample, sample_runs
from timesink.cli.options import add_force, add_option, file_only, progress_bar
from timesink.cli.outputs import check_output, check_page, give


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink demo`."""
    place, what = Path("timesink-demo.html"), "HTML page to write (default: %(default)s)"
    add_option(parser, "-o --output FILE", what, type=file_only, default=place)
    add_force(parser)
    add_option(parser, "--no-cache", "read the files and store nothing in the cache")


def run(options: argparse.Namespace) -> int:
    """Analyse the bundled recordings, print the answers and write the reports."""
    from timesink.answers.analysis.document import analysis_document, analysis_report  # noqa: PLC0415 - --help should not wait for it
    from timesink.answers.analysis.report import analyze  # noqa: PLC0415
    from timesink.answers.comparison.document import comparison_document  # noqa: PLC0415
    from timesink.answers.comparison.report import compare  # noqa: PLC0415
    from timesink.answers.kernels.document import kernels_document  # noqa: PLC0415
    from timesink.answers.kernels.reading import kernels  # noqa: PLC0415
    from timesink.output.html import report_html  # noqa: PLC0415
    from timesink.output.terminal import print_text  # noqa: PLC0415

    check_page("html")
    page = options.output
    beside = [page.with_name(f"{page.stem}-{what}{page.suffix}") for what in ("kernels", "compare")]
    for output in (page, *beside):
        check_output(output, sample(), force=options.force)
    keep = not options.no_cache
    with progress_bar() as progress:
        analysis = analyze(sample(), cache=keep, progress=progress)
    counted = kernels(sample(counters=True), trace=sample(), cache=keep)
    compared = compare(*sample_runs())
    print_text(analysis_document(analysis, rows=8, brief=True))
    print(f"\nOne step, kernel by kernel: {counted.headline}")
    print(f"\nA decode loop, and the same with a lower GPU clock: {compared.headline}\n")
    give(analysis_report(analysis), page)
    give(report_html(kernels_document([counted])), beside[0])
    give(report_html(comparison_document(compared)), beside[1])
    print(
        f"\nNext: open {page}, {beside[0]} and {beside[1]} in a browser, then\n"
        "  timesink analyze YOUR_TRACE.json.gz -o report.html\n"
        "  timesink record -- python YOUR_PROGRAM.py\n"
        "  timesink ncu -- python YOUR_PROGRAM.py\n"
        "  timesink compare BEFORE.json.gz AFTER.json.gz -o report.html\n"
        "  timesink serve FOLDER"
    )
    return 0
