"""Write to the disk and wait for it, again and again over the same file."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from timesink.lab.loads.steady import keep_on

_MIB = 2**20
_PIECES = 8


def main() -> None:
    """Write to a file that is gone when this ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(), help="on which disk")
    parser.add_argument("--mib", metavar="N", type=int, default=32, help="at a time")
    options = parser.parse_args()
    piece = os.urandom(options.mib * _MIB)
    # A file without a name leaves nothing behind, however this ends.
    with tempfile.TemporaryFile(dir=options.folder, buffering=0) as file:

        def write() -> None:
            if file.tell() >= _PIECES * len(piece):
                file.seek(0)
            file.write(piece)
            os.fsync(file.fileno())

        keep_on(write)


if __name__ == "__main__":
    main()
