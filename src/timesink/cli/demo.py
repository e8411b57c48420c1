"""Show what timesink does, on a bundled recording.

Two training steps of a small U-Net on one GPU: where their time goes, what to try, and the same
as an HTML page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from timesink import sample
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
    from timesink.reports.analyzing import analyze  # noqa: PLC0415

    # A page of an earlier demo is replaced; anything else might be dear to someone.
    replaces = options.force or options.output.suffix == ".html"
    check_output(options.output, sample(), force=replaces)
    with progress_bar() as progress:
        found = analyze(sample(), cache=not options.no_cache, progress=progress)
    analysis.print_text(found, top=8)
    write_text(analysis_page.to_html(found), options.output)
    print(f"\nNext: open {options.output} in a browser, then  timesink analyze YOUR_TRACE.json.gz")
    return 0
