"""File systems behind URLs, through fsspec: reached lazily, and what they raise said in words."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from timesink.errors import TimesinkError, UnreadableError, UsageError
from timesink.readers.places import password_in, without_password

ACCESS = "check the URL, your access to it, and the network"
"""What to try when a file system refuses."""


def connected(url: str, *, otherwise: str = "copy the files to this machine") -> tuple[Any, str]:
    """The file system of a URL, and the place in it; `otherwise` is what to do without fsspec."""
    said = without_password(url)
    try:
        fsspec = importlib.import_module("fsspec")
    except ModuleNotFoundError:
        raise UsageError(
            f"{said}: a URL needs fsspec, which is not installed",
            f"pip install 'timesink[remote]', or {otherwise}",
        ) from None
    if "/" in (password_in(url) or ""):
        # Whoever takes the URL apart would take half of it for a port, and say so.
        raise UsageError(f"{said}: a password holds a /", "write it as %2F")
    try:
        system, place = fsspec.core.url_to_fs(url)
    except ImportError as error:
        # Its message names what to install for this sort of URL.
        hint = "pip install what it names, beside fsspec"
        raise UsageError(f"{said}: {why(error)}", hint) from None
    except ValueError as error:
        hint = "name a path of this machine, or a URL fsspec knows"
        raise UsageError(f"{said}: {why(error)}", hint) from None
    except FileNotFoundError:
        # What holds it, such as an archive, is opened at once.
        raise UnreadableError.missing(said) from None
    except Exception as error:
        raise UnreadableError(f"{said}: cannot be reached ({why(error)})", ACCESS) from error
    return system, str(place).rstrip("/")


@contextmanager
def saying(url: str, what: str, kind: type[TimesinkError] = UnreadableError) -> Iterator[None]:
    """Whatever a file system raises, in words; each has errors of its own.

    That a file is not there is left to the caller, who may know better what that means.
    """
    try:
        yield
    except (FileNotFoundError, TimesinkError):
        raise
    except Exception as error:
        raise kind(f"{without_password(url)}: {what} ({why(error)})", ACCESS) from error


def why(error: BaseException) -> str:
    """What an error says, on one line and without passwords."""
    return without_password(" ".join(str(error).split())) or type(error).__name__
