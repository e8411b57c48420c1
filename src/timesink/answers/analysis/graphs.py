"""What is said of graphs: how much they replay, and where the names of that come from."""

from __future__ import annotations

from collections.abc import Iterator

from timesink.analyses.graphs import ReplayedWork, replayed_work
from timesink.model import units
from timesink.model.trace import Trace

_MAX_SOURCES = 2
HOW_TO_NAME = (
    "timesink record notes captures; or name them with --capture, or an eager run of the program "
    "with --names-from"
)


def capture_note(trace: Trace) -> str:
    """How much of what graphs replay has names, beside every table with such names.

    Empty where nothing is replayed.

    >>> import timesink
    >>> capture_note(timesink.open(timesink.sample()))
    ''
    """
    work = replayed_work(trace)
    if work is None:
        return ""
    return _named(work) if work.named_ns else _unnamed(work)


def named_share(trace: Trace) -> Iterator[str]:
    """How much of what graphs replay has names, where any has.

    >>> import timesink
    >>> list(named_share(timesink.open(timesink.sample())))
    []
    """
    work = replayed_work(trace)
    if work is not None and work.named_ns:
        yield _named(work)


def has_capture(trace: Trace) -> bool:
    """Whether any replayed work has names from a capture, or nothing is replayed.

    >>> import timesink
    >>> has_capture(timesink.open(timesink.sample()))
    True
    """
    work = replayed_work(trace)
    return work is None or work.named_ns > 0


def _named(work: ReplayedWork) -> str:
    """The matched share, and its source."""
    share = units.share(work.named_ns, work.replayed_ns)
    sources = units.join_names(list(work.sources), most=_MAX_SOURCES)
    kind = "an eager recording" if work.is_eager else "capture"
    length = units.brief_ns(work.replayed_ns)
    return f"from {kind}: names of {share} of the {length} that graphs replayed ({sources})"


def _unnamed(work: ReplayedWork) -> str:
    """That nothing has names, and how to get them."""
    share = units.share(work.replayed_ns, work.device_ns)
    length = units.brief_ns(work.replayed_ns)
    many = units.count_noun(work.graphs, "graphs")
    replayed = f"{share} of device work ({length}) was replayed by {many}"
    return f"{replayed}, and no capture says what launched it: {HOW_TO_NAME}"
