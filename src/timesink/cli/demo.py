"""Show what timesink does, on a bundled recording.

Two training steps of a small U-Net on one GPU: where their time goes, how well its kernels use
the hardware, what to try, and the same as HTML pages.  Then two runs of a decode loop, and what
changed between them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from timesink import sample, sample_runs
from timesink.cli.common import add_force, check_output, file_only, progress_bar, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink demo`."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=file_only, default=Path("timesink-demo.html"),
        help="where the page goes (default: %(default)s)",
    )  # fmt: skip
    add_force(parser)
    parser.add_argument("--no-cache", action="store_true", help="read the file, keep nothing")


def run(options: argparse.Namespace) -> int:
    """Analyse the bundled recording, print the answer and write the page."""
    from timesink.render import analysis, analysis_page  # noqa: PLC0415 - --help need not wait
    from timesink.render.kernels import page as kernels_page  # noqa: PLC0415
    from timesink.reports.analyzing import analyze  # noqa: PLC0415
    from timesink.reports.comparison import compare  # noqa: PLC0415
    from timesink.reports.kernels import kernels  # noqa: PLC0415

    page = options.output
    other = page.with_name(f"{page.stem}-kernels{page.suffix}")
    # A page of an earlier demo is replaced; anything else might be dear to someone.
    replaces = options.force or page.suffix == ".html"
    for output in (page, other):
        check_output(output, sample(), force=replaces)
    keep = not options.no_cache
    with progress_bar() as progress:
        found = analyze(sample(), cache=keep, progress=progress)
    counted = kernels(sample(counters=True), trace=sample(), cache=keep)
    analysis.print_text(found, top=8)
    print(f"\nOne step, kernel by kernel: {counted.headline}")
    print(
        f"\nA decode loop, and again with the clock lowered: {compare(*sample_runs()).headline}\n"
    )
    write_text(analysis_page.to_html(found), page)
    write_text(kernels_page.to_html([counted]), other)
    print(
        f"\nNext: open {page} and {other} in a browser, then\n"
        "  timesink analyze YOUR_TRACE.json.gz\n"
        "  timesink record -- python YOUR_PROGRAM.py\n"
        "  timesink ncu -- python YOUR_PROGRAM.py\n"
        "  timesink compare BEFORE.json.gz AFTER.json.gz"
    )
    return 0
