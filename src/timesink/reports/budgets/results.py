"""What became of a budget, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """One limit of one entry, for all that it matches in all pairs: the worst of them."""

    kind: str
    """The table it is in: `cycle`, `operators`, `modules` or `kernels`."""
    name: str
    """The entry as written; `cycle` for the cycle itself."""
    rule: str
    """`max` or `max_increase`."""
    limit: str
    """As people read it: `1.50 ms`, `+10 %`, `+200 us`."""
    value: str
    """The worst that was found, in the same way; empty where nothing was."""
    state: str
    """`within`, `exceeded`, or `unjudged`: matches nothing, not recorded, or unequal work."""
    sentence: str
    """All of it in words, with the file's entry, what matched and where."""
    matched: int = 0
    """How many names the entry matches."""
    over: tuple[str, ...] = ()
    """Those beyond the limit, worst first."""

    @property
    def case(self) -> str:
        """A short name, unlike that of any other limit of the file.

        >>> BudgetResult("operators", "aten::mm", "max", "1 ms", "", "unjudged", "").case
        'operators "aten::mm" max'
        """
        entry = self.kind if self.kind == "cycle" else f'{self.kind} "{self.name}"'
        return f"{entry} {self.rule}"
