"""How long cycles, operators, modules and kernels may take, by a TOML file.

    load_budgets(path: str | Path) -> Budgets        # refuses at once what is not a budget
    evaluate(budgets: Budgets, comparison: Comparison) -> tuple[BudgetResult, ...]
    starting_budgets(run: Baseline, headroom_pct: float = 10.0) -> str

There is one result per limit of an entry, in the order of the file.
`state` is `within`, `exceeded`, or `unjudged` (matches nothing, not recorded, unequal work); a
gate fails with 3 where one is exceeded, and else with 1 where one is unjudged: what cannot be
judged does not pass.  `sentence` says it, `case` is a short name for a list or a test case.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timesink.reports.budgets.budgets import Budgets
    from timesink.reports.budgets.evaluating import evaluate
    from timesink.reports.budgets.reading import load_budgets
    from timesink.reports.budgets.results import BudgetResult
    from timesink.reports.budgets.starting import starting_budgets

__all__ = ["BudgetResult", "Budgets", "evaluate", "load_budgets", "starting_budgets"]

_PLACES = {
    "BudgetResult": "results",
    "Budgets": "budgets",
    "evaluate": "evaluating",
    "load_budgets": "reading",
    "starting_budgets": "starting",
}


def __getattr__(name: str) -> Any:
    # A wrong file is refused before anything heavy is loaded.
    if name not in _PLACES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
