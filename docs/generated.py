"""What scripts that generate a page share: write it, or check that it is up to date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def write_or_check(page: Path, content: str, description: str | None) -> int:
    """Write the page; with `--check` on the command line only say whether it is up to date."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        page.write_text(content, encoding="utf-8")
        return 0
    if page.read_text(encoding="utf-8") != content:
        page_name = page.relative_to(Path(__file__).parents[1])
        sys.stderr.write(f"{page_name} is out of date: run `make docs`\n")
        return 1
    return 0
