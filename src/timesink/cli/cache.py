"""Show or clear the cache of traces already read.

The cache is in TIMESINK_CACHE_DIR (default: ~/.cache/timesink) and keeps at most
TIMESINK_CACHE_MAX_GB gigabytes (default: 20); the least recently used traces go first.
"""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("info", "clear"), help="what to do")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(options: argparse.Namespace) -> int:
    from timesink.model.units import counted, size_bytes  # noqa: PLC0415
    from timesink.store.cache import Cache  # noqa: PLC0415

    cache = Cache.default()
    entries = cache.clear() if options.action == "clear" else cache.entries()
    stored = sum(entry.bytes for entry in entries)
    answer = {
        "folder": str(cache.root),
        "traces": len(entries),
        "bytes": stored,
        "limit_bytes": cache.limit_bytes,
        "cleared": options.action == "clear",
    }
    if options.format == "json":
        print(json.dumps(answer, indent=2))
    elif answer["cleared"]:
        traces = counted(len(entries), "traces")
        print(f"Removed {traces}, {size_bytes(stored)}, from {cache.root}")
    else:
        traces, limit = counted(len(entries), "traces"), size_bytes(cache.limit_bytes or 0)
        print(f"{cache.root}: {traces}, {size_bytes(stored)} of {limit}")
    return 0
