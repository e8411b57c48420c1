"""Show what timesink does, on a bundled recording.

Two training steps of a small U-Net on one GPU: what is in the trace, the kernels that take the
time, and the same as an HTML page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from timesink import sample
from timesink.cli.common import check_output, progress_bar, write_text

_TOP_KERNELS = """
    select name as kernel, count(*) as calls, sum(dur_ns) / 1e6 as total_ms,
           round(100.0 * sum(dur_ns) / (select sum(dur_ns) from device where kind = 'kernel'), 1)
               as share_pct
    from device where kind = 'kernel' group by name order by total_ms desc limit 8
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, default=Path("timesink-demo.html"),
        help="where the page goes (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--no-cache", action="store_true", help="read the file, keep nothing")


def run(options: argparse.Namespace) -> int:
    from timesink.render import info as render  # noqa: PLC0415 - --help should not wait for it
    from timesink.render import page, table  # noqa: PLC0415
    from timesink.reports.info import Info, describe_trace  # noqa: PLC0415
    from timesink.reports.query import run_query  # noqa: PLC0415
    from timesink.store.opening import open_trace  # noqa: PLC0415

    check_output(options.output, force=True)
    with progress_bar() as progress:
        trace = open_trace(sample(), cache=not options.no_cache, progress=progress)
    described = Info(str(sample()), (describe_trace(trace),))
    top_kernels = run_query(trace, _TOP_KERNELS)
    render.print_text(described)
    print("\nThe kernels that take the time:\n")
    table.print_text(top_kernels)
    html = page.to_html(described, {"The kernels that take the time": top_kernels})
    write_text(html, options.output)
    print(f"\nNext: open {options.output} in a browser, then try  timesink info YOUR_TRACE.json.gz")
    return 0
