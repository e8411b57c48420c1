"""Time per cycle of what budgets name, and a file of budgets from what a run takes now."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

import numpy as np
import polars as pl

from timesink.analyses.anatomy.of_role import anatomy_of_role
from timesink.analyses.behaviour.rows import once_per_cycle, plain_texts
from timesink.analyses.comparison.role import Role, cycle_lengths
from timesink.analyses.kernel_calls.families import OTHER
from timesink.analyses.statistics.moments import Floats
from timesink.analyses.statistics.regimes import warm_up
from timesink.answers.budget_file import Budget
from timesink.model.units import counted
from timesink.reports.baselines.baseline import Baseline
from timesink.reports.comparison.members import RoleChoice, members_of
from timesink.rules.case_functions import family_of

_WILD = {"*": ".*", "?": "."}
_CALL_KIND = {"operators": "operator", "modules": "module"}
_ON_DEVICE = "gpu_"
"""How classes of functions begin that run on a device."""
DEVICE_TIME = "time on a device"
"""What recordings lack in which nothing tells of work on devices, or of who launched it."""
_DIGITS = 3
_UNITS = ((10**9, "s"), (10**6, "ms"), (1000, "us"))
_MOST = 10
"""Entries of a table."""
_LEAST_SHARE = 0.02
"""Part of the longest entry of its table from which on one is worth a budget."""
_TIMES = {"name": pl.String(), "cycle": pl.Int64(), "ns": pl.Int64(), "inner_ns": pl.Int64()}
_ENGINE = "autograd::engine::evaluate_function: "
"""Names of the engine around each operator of a backward pass: they say the same twice."""


@dataclass(frozen=True, slots=True)
class BudgetPattern:
    """A name in which * stands for any text and ? for one letter; brackets are themselves.

    Names of kernels are full of brackets, stars of pointers among them: what is the name itself
    fits, whatever is in it.
    """

    text: str
    expression: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> BudgetPattern:
        """The pattern of an entry."""
        parts = [_WILD.get(letter) or re.escape(letter) for letter in text]
        return cls(text, re.compile("".join(parts), re.DOTALL))

    @property
    def is_glob(self) -> bool:
        return any(letter in self.text for letter in _WILD)

    def fits(self, name: str) -> bool:
        return name == self.text or self.expression.fullmatch(name) is not None


# -- what an entry matches ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTimes:
    """What an entry matches on one side, cycle by cycle."""

    rows: pl.DataFrame
    """Columns `name`, `cycle` and `ns`."""
    cycles: Sequence[int]
    """Every cycle, in order; what is not in `rows` took no time."""

    @property
    def names(self) -> set[str]:
        return set(self.rows["name"].unique())

    def matrix(self, names: Sequence[str], warm_up: int) -> Floats:
        """Time by cycle and name, cycles after warm-up in order."""
        row = pl.DataFrame({"cycle": pl.Series(self.cycles, dtype=pl.Int64)}).with_row_index("row")
        column = pl.DataFrame({"name": names}, {"name": pl.String}).with_row_index("column")
        placed = self.rows.join(row, "cycle").join(column, "name")
        values = np.zeros((row.height, column.height))
        where = placed["row"].to_numpy(), placed["column"].to_numpy()
        np.add.at(values, where, placed["ns"].to_numpy())
        return values[warm_up:]


def measured(role: Role, budget: Budget, of: str) -> MeasuredTimes:
    """What an entry matches in a role; `of` is the sort of time."""
    pattern = BudgetPattern.of(budget.name)
    if budget.kind == "kernels":
        return _kernels(role, pattern)
    anatomy = anatomy_of_role(role)
    calls = anatomy.calls.filter(kind=_CALL_KIND[budget.kind])
    # A module goes by its path, or by the last part of it.
    by_end = budget.kind == "modules"
    fitting = [
        name
        for name in calls["name"].unique()
        if pattern.fits(name) or (by_end and pattern.fits(name.rpartition(".")[2]))
    ]
    rows = calls.filter(pl.col("name").is_in(fitting)).select("name", "cycle", ns=f"{of}_ns")
    return MeasuredTimes(rows, anatomy.cycles["cycle"].sort().to_list())


def has_device_work(role: Role) -> bool:
    """Whether any operator of a role launched work on a device."""
    return role.anatomy is not None and bool((role.anatomy.calls["device_ns"] > 0).any())


def lacking(role: Role, kind: str, of: str) -> str | None:
    """What a role does not tell of: a kind at all, or its time on a device; None where it does."""
    if kind == "kernels":
        return kind if device_work(role).is_empty() else None
    if role.anatomy is None or role.anatomy.calls.filter(kind=_CALL_KIND[kind]).is_empty():
        return kind
    return DEVICE_TIME if of == "device" and not has_device_work(role) else None


def _kernels(role: Role, pattern: BudgetPattern) -> MeasuredTimes:
    work = device_work(role)
    names = {
        function: name
        for function, short in work.select("function", "short_name").unique().iter_rows()
        if (name := _kernel(pattern, function, short)) is not None
    }
    rows = work.filter(pl.col("function").is_in(list(names))).select(
        pl.col("function").replace(names).alias("name"), "cycle", ns="dur_ns"
    )
    known = role.behaviour.filter(pl.col("cycle_dur_ns") > 0)
    cycles = (known if known.height else role.behaviour)["cycle"].unique().sort()
    return MeasuredTimes(rows, cycles.to_list())


def device_work(role: Role) -> pl.DataFrame:
    """What ran on devices: one row per cycle, function and device."""
    once = once_per_cycle(plain_texts(role.behaviour))
    return once.filter(pl.col("function_class").cast(pl.String).str.starts_with(_ON_DEVICE))


def _kernel(pattern: BudgetPattern, function: str, short: str | None) -> str | None:
    """What a kernel counts for: its family where that is the entry, else its short name."""
    if not pattern.is_glob and pattern.text == family_of(function):
        return pattern.text
    fits = pattern.fits(function) or (short is not None and pattern.fits(short))
    return (short or function) if fits else None


# -- a file to begin with -------------------------------------------------------------------------


def starting_budgets(run: Baseline, headroom_pct: float = 10.0) -> str:
    """TOML with the longest operators, modules and families of kernels of a run, to be edited.

    Of several ranks the longest mean counts; warm-up does not.

    >>> import tempfile, timesink
    >>> from timesink.reports.baselines.keeping import save_baseline
    >>> kept = save_baseline("main", timesink.sample(), tempfile.mkdtemp())
    >>> starting_budgets(kept).splitlines()[3:5]
    ['[cycle]', 'max = "30 ms"']
    """
    roles = [one.role for one in members_of(run.runs, RoleChoice())]
    tables = {
        "operators": _longest(roles, lambda role: _calls(role, "operator")),
        "modules": _longest(roles, lambda role: _calls(role, "module")),
        "kernels": _longest(roles, _families),
    }
    return "\n".join(_lines(run, headroom_pct, _cycle_ns(roles), tables))


def _lines(
    run: Baseline, headroom_pct: float, cycle_ns: float, tables: dict[str, dict[str, float]]
) -> Iterator[str]:
    factor, increase = 1 + headroom_pct / 100, f'max_increase = "{headroom_pct:g}%"'
    cycles = max(one["cycle"].n_unique() for one in (each.behaviour for each in run.runs))
    yield f"# Times per cycle of {counted(cycles, 'cycles')}, with {headroom_pct:g} % headroom."
    yield "# Edit freely: docs/budgets.md says what each key means."
    yield ""
    yield "[cycle]"
    if cycle_ns:
        yield f'max = "{_amount(cycle_ns * factor)}"'
    yield increase
    for table, entries in tables.items():
        if entries:
            yield ""
            yield f"[{table}]"
            for name, ns in entries.items():
                key = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
                yield f'{key} = {{ max = "{_amount(ns * factor)}", {increase} }}'


def _amount(ns: float) -> str:
    """Three digits, upward so that it is kept, with the unit that needs no zeros."""
    exact = Decimal(ns)
    step = Decimal(10) ** (exact.adjusted() - _DIGITS + 1)
    rounded = (exact / step).to_integral_value(ROUND_CEILING) * step
    size, unit = next((one for one in _UNITS if rounded >= one[0]), (1, "ns"))
    return f"{(rounded / size).normalize():f} {unit}"


# -- what takes long -------------------------------------------------------------------------------


def _cycle_ns(roles: Sequence[Role]) -> float:
    """The longest mean cycle of all roles after warm-up; 0 where no length is known."""
    means = [cycle_lengths(role.behaviour)[_warm(role) :].mean() for role in roles]
    return max((one for one in means if isinstance(one, float)), default=0.0)


def _warm(role: Role) -> int:
    return warm_up(cycle_lengths(role.behaviour).cast(pl.Float64).to_numpy())


def _longest(roles: Sequence[Role], times: Callable[[Role], pl.DataFrame]) -> dict[str, float]:
    """Names by mean time per cycle, the longest of all roles; of equal ones the innermost."""
    longest: dict[str, tuple[float, float]] = {}
    for role in roles:
        for name, ns, inner_ns in _means(role, times(role)).iter_rows():
            if name not in longest or longest[name][0] < ns:
                longest[name] = ns, inner_ns
    # Of those with equal times, the other one is called by it.
    ordered = sorted((-ns, inner_ns, name) for name, (ns, inner_ns) in longest.items())
    chosen: dict[float, str] = {}
    for less_ns, _, name in ordered:
        if less_ns <= _LEAST_SHARE * ordered[0][0]:
            chosen.setdefault(-less_ns, name)
    return {name: ns for ns, name in list(chosen.items())[:_MOST]}


def _means(role: Role, times: pl.DataFrame) -> pl.DataFrame:
    """Mean over the cycles after warm-up; a cycle without the name has none of it."""
    cycles = role.behaviour["cycle"].unique().sort()[_warm(role) :]
    kept = times.filter(pl.col("cycle").is_in(cycles.implode()))
    sums = kept.group_by("name").agg(pl.col("ns", "inner_ns").sum() / max(len(cycles), 1))
    return sums.filter(pl.col("ns") > 0)


def _calls(role: Role, kind: str) -> pl.DataFrame:
    if role.anatomy is None:
        return pl.DataFrame(schema=_TIMES)
    calls = role.anatomy.calls
    own = calls.filter(pl.col("kind") == kind, ~pl.col("name").str.starts_with(_ENGINE))
    time = "device_ns" if has_device_work(role) else "host_ns"
    return own.select("name", "cycle", ns=time, inner_ns="host_ns")


def _families(role: Role) -> pl.DataFrame:
    work = device_work(role)
    names = {name: family_of(name) for name in work["function"].unique()}
    family = pl.col("function").replace(names)
    return work.select(name=family, cycle="cycle", ns="dur_ns", inner_ns="dur_ns").filter(
        pl.col("name") != OTHER
    )
