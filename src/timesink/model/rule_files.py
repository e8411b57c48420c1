"""Files of rules that users write themselves and name with an option."""

from __future__ import annotations

from pathlib import Path

from timesink.errors import UnreadableError, UsageError


def own_text(path: Path, option: str, hint: str) -> str:
    """What the file says; `option` named it, and `hint` says what it should hold."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UnreadableError.missing(path) from None
    except IsADirectoryError:
        raise UsageError(f"{option}: {path} is a folder", hint) from None
    except UnicodeDecodeError:
        raise UsageError(f"{option}: {path} is no text", hint) from None
    except OSError as error:
        raise UnreadableError.denied(path, error.strerror or str(error)) from error
