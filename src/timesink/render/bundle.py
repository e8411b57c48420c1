"""What was built from `web/` and shows reports."""

from __future__ import annotations

from pathlib import Path

from timesink.errors import TimesinkError

STATIC = Path(__file__).parent / "static"
"""Where the build puts it."""
_PROGRAM, _STYLE = "report.js", "report.css"


def bundle() -> tuple[str, str]:
    """The program and the style of a report; a checkout in which they were not built is told so.

    >>> program, style = bundle()
    >>> "timesink-document" in program
    True
    """
    return _built(_PROGRAM), _built(_STYLE)


def _built(name: str) -> str:
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TimesinkError(
            f"{name}, which shows reports, is not built", "run make web in the source tree"
        ) from None
