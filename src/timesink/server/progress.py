"""How far a piece of work has come, for whoever waits for it."""

from __future__ import annotations

from dataclasses import dataclass

from timesink.readers.options import Progress


@dataclass(eq=False)
class Report:
    """What is being done, and which share of it is done where that is known."""

    _doing: str = ""
    _share: float | None = None
    _followed: Report | None = None

    @property
    def doing(self) -> str:
        return self._doing if self._followed is None else self._followed.doing

    @property
    def share(self) -> float | None:
        return self._share if self._followed is None else self._followed.share

    def start(self, doing: str, then: str = "") -> Progress:
        """From now on something else is done; the result is called with what is done of it.

        When all of it is done, what comes `then` is told.
        """
        self._doing, self._share, self._followed = doing, None, None

        def advance(done: int, total: int) -> None:
            if done < total:
                self._doing, self._share = doing, round(done / total, 3)
            else:
                self._doing, self._share = then or doing, None

        return advance

    def tell(self, doing: str, share: float) -> None:
        """What is being done, and which share of it is done."""
        self._doing, self._share, self._followed = doing, round(share, 3), None

    def follow(self, other: Report) -> None:
        """Tell what another one tells: somebody else is doing what this work needs."""
        self._followed = other
