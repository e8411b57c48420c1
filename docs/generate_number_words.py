"""Write web/src/format/vectors.json: how timesink words numbers, for the tests of the pages.

Python words numbers in text, the browser in pages; both must say the same.  `--check` fails when
the file is out of date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from generated import write_or_check

from timesink.output.numbers import WORDS

FILE = Path(__file__).parents[1] / "web/src/format/vectors.json"

_LENGTHS = (
    0,
    1,
    2.5,
    3.5,
    83,
    999,
    999.5,
    1000,
    1125,
    1500,
    12_345,
    99_994,
    99_996,
    99_999,
    123_456,
)
_LONG = (999_949, 999_950, 1_137_573, 27_183_788.5, 480_029_179, 999_960_000, 83e9, 7_200e9, -1500)
_SIZES = (
    0,
    1,
    512,
    1023,
    1024,
    1536,
    1024**2 - 1,
    1024**2,
    344_813_568,
    34_084_028_416,
    3 * 1024**4,
)
_NUMBERS = (0, 0.0000123, 0.0004, 0.0005, 0.0625, 0.586996, 1, 12.5, 260.14362, 2_749_534.5, -3.25)

VALUES: Mapping[str, Sequence[float]] = {
    "time_ns": (*_LENGTHS, *_LONG),
    "moment_ns": (0, 500, 1500, 12_345_678, 863_468, 1_234_567_891_234),
    "bytes": (*_SIZES, -512, -3 * 1024**2),
    "bytes_per_s": (0, 576_030_646.0, 4.8e12),
    "count": (0, 7, 999, 1000, 1_137_573, -12_000),
    "number": _NUMBERS,
    "share": (0, 0.0004, 0.0005, 0.12345, 0.5, 0.9996, 1),
    "percent": (0, 0.25, 12.85, 44.2981, 99.95, 100),
    "p_value": (0, 1e-9, 0.00099, 0.001, 0.0421, 0.25, 1),
}
"""Values of each kind at which wording might go wrong."""


def content() -> str:
    """A line per number: its kind, its value, its words; blanks as the formatter of `web/` sets."""
    lines = [
        f'{{ "kind": "{kind}", "value": {_number(value)}, "text": "{words(value)}" }}'
        for kind, words in WORDS.items()
        for value in VALUES[kind]
    ]
    return "[\n  " + ",\n  ".join(lines) + "\n]\n"


def _number(value: float) -> str:
    """As the formatter of `web/` writes it."""
    return json.dumps(value).replace("e-0", "e-")


if __name__ == "__main__":
    sys.exit(write_or_check(FILE, content(), __doc__))
