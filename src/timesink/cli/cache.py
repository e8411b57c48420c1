"""Show or clear the cache of recordings.

  timesink cache info
  timesink cache clear

The cache is in TIMESINK_CACHE_DIR (default: ~/.cache/timesink) and takes at most
TIMESINK_CACHE_MAX_GB gigabytes (default: 20).  The least recently used entries go first.
"""

from __future__ import annotations

import argparse
import json

from timesink.cli.options import add_screen_format
from timesink.recorder.processes import sayable_values


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink cache`."""
    parser.add_argument("action", choices=("info", "clear"), help="show it or empty it")
    add_screen_format(parser)


def run(options: argparse.Namespace) -> int:
    """Show or clear it, as the action says."""
    from timesink.model.units import brief_bytes, count_noun  # noqa: PLC0415 - start-up time
    from timesink.sources.cache import Cache  # noqa: PLC0415

    cache = Cache.default()
    traces, ranks = cache.entries(), cache.summary_entries()
    stored = sum(entry.bytes for entry in (*traces, *ranks))
    if options.action == "clear":
        cache.clear()
    answer = {
        "folder": str(cache.root),
        "traces": len(traces),
        "summaries": len(ranks),
        "bytes": stored,
        "limit_bytes": cache.limit_bytes,
        "cleared": options.action == "clear",
    }
    contents = count_noun(len(traces), "traces")
    if ranks:
        contents += f" and {count_noun(len(ranks), 'summaries')} of ranks"
    if options.format == "json":
        print(json.dumps(sayable_values(answer), indent=2))
    elif answer["cleared"]:
        print(f"Removed {contents}, {brief_bytes(stored)}, from {cache.root}")
    else:
        print(
            f"{cache.root}: {contents}, {brief_bytes(stored)} of "
            f"{brief_bytes(cache.limit_bytes or 0)}"
        )
    return 0
