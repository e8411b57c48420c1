"""One call for one item, the same wherever it is made: bytes, or an error that names the item."""

from __future__ import annotations

import gc
import importlib
import pickle

from timesink.engines.engine import Call
from timesink.errors import TimesinkError, UnreadableError

Outcome = tuple[bytes | None, TimesinkError | None]
"""What came of a call: the one or the other."""
_RARELY = (200_000, 20, 100)
"""When garbage is collected: allocations, and rounds of the younger generations."""


def settle_down() -> None:
    """Once in a process that does nothing but make calls: they leave few cycles of objects."""
    gc.set_threshold(*_RARELY)


def make(call: Call, item: bytes) -> Outcome:
    """Call for a pickled item; whatever goes wrong is an error in words.

    Too little memory is none: what to do about it depends on where the call is made.
    """
    named = "an item"
    try:
        given = pickle.loads(item)  # noqa: S301 - from whoever asks for the call
        named = name_of(given)
        function = getattr(importlib.import_module(call.module), call.function)
        return bytes(function(given, **call.arguments)), None
    except MemoryError:
        raise
    except TimesinkError as error:
        return None, error
    except OSError as error:
        return None, UnreadableError.denied(named, error.strerror or str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - one item must not stop the others
        return None, internal(named, error)


def name_of(item: object) -> str:
    """How messages name an item: by where it comes from, if it says so."""
    return str(getattr(item, "source", item))


def internal(named: str, error: BaseException) -> TimesinkError:
    """An error nobody expected."""
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return TimesinkError(
        f"{named}: internal error ({what})",
        "this is a bug: report it with the output of --debug for this file alone",
    )


def killed(named: str, how: str, remedy: str) -> TimesinkError:
    """An item whose process did not live long enough, each time it was tried."""
    return TimesinkError(
        f"{named}: the process that read it died each time ({how})",
        f"it may need more memory: {remedy}",
    )
