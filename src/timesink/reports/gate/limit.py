"""How much longer cycles may get: `--fail-on regression` or `--fail-on 5%`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from timesink.errors import UsageError

REGRESSION = "regression"


@dataclass(frozen=True, slots=True)
class Limit:
    """What fails: any certain slow-down, or one by more than some percent in its best estimate.

    Certain is that cycles became longer at all, not that they did by more than that.
    """

    allowed_pct: float | None = None
    """None where nothing is allowed."""

    @classmethod
    def of(cls, text: str) -> Limit:
        """The limit of an option.

        >>> Limit.of("regression"), Limit.of("2.5 %")
        (Limit(allowed_pct=None), Limit(allowed_pct=2.5))
        """
        if text.strip().lower() == REGRESSION:
            return cls()
        number, is_pct = text.strip().removesuffix("%"), text.strip().endswith("%")
        try:
            allowed = float(number)
        except ValueError:
            allowed = math.nan
        # 0.05 may be meant as a share: what is in percent has to say so.
        if not is_pct or not 0 <= allowed < math.inf:
            raise UsageError(
                f"--fail-on {text!r}: neither a regression nor a percentage",
                "try --fail-on regression, or --fail-on 5%",
            )
        return cls(allowed)

    def is_exceeded(self, change_pct: float | None) -> bool:
        """Whether a certain slow-down is too much, by its best estimate.

        >>> Limit(5.0).is_exceeded(5.0), Limit(5.0).is_exceeded(5.1), Limit().is_exceeded(0.1)
        (False, True, True)
        """
        return self.allowed_pct is None or (change_pct or 0.0) > self.allowed_pct

    @property
    def text(self) -> str:
        """As it is written on the command line.

        >>> Limit().text, Limit(5.0).text
        ('regression', '5%')
        """
        return REGRESSION if self.allowed_pct is None else f"{self.allowed_pct:g}%"
