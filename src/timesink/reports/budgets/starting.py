"""A file of budgets to begin with, from what a run takes now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

import polars as pl

from timesink.analyses.comparison.role import Role, cycle_lengths
from timesink.analyses.kernel_calls.families import OTHER, load_families
from timesink.analyses.statistics.regimes import warm_up
from timesink.model.units import counted
from timesink.reports.baselines.baseline import Baseline
from timesink.reports.budgets.measuring import device_work
from timesink.reports.comparison.members import RoleChoice, members_of

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
class _Entry:
    name: str
    ns: float
    inner_ns: float = 0.0
    """Tells apart which of those with equal times is called by the other."""


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
    run: Baseline, headroom_pct: float, cycle_ns: float, tables: dict[str, list[_Entry]]
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
            for one in entries:
                most = _amount(one.ns * factor)
                yield f'{_key(one.name)} = {{ max = "{most}", {increase} }}'


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def _amount(ns: float) -> str:
    """Three digits, upward so that it is kept, with the unit that needs no zeros.

    >>> _amount(64_612_345.0), _amount(1230.0), _amount(2.5e9), _amount(999_999_999.0)
    ('64.7 ms', '1.23 us', '2.5 s', '1 s')
    """
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


def _longest(roles: Sequence[Role], times: Callable[[Role], pl.DataFrame]) -> list[_Entry]:
    """Names by mean time per cycle, the longest of all roles; of equal ones the innermost."""
    longest: dict[str, _Entry] = {}
    for role in roles:
        for name, ns, inner_ns in _means(role, times(role)).iter_rows():
            if name not in longest or longest[name].ns < ns:
                longest[name] = _Entry(name, ns, inner_ns)
    ordered = sorted(longest.values(), key=lambda one: (-one.ns, one.inner_ns, one.name))
    chosen: list[_Entry] = []
    for one in ordered:
        if chosen and chosen[-1].ns == one.ns:
            continue
        if one.ns >= _LEAST_SHARE * ordered[0].ns:
            chosen.append(one)
    return chosen[:_MOST]


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
    on_device = bool((calls["device_ns"] > 0).any())
    own = calls.filter(pl.col("kind") == kind, ~pl.col("name").str.starts_with(_ENGINE))
    time = "device_ns" if on_device else "host_ns"
    return own.select("name", "cycle", ns=time, inner_ns="host_ns")


def _families(role: Role) -> pl.DataFrame:
    work, rules = device_work(role), load_families()
    names = {name: rules.of(name) for name in work["function"].unique()}
    family = pl.col("function").replace(names)
    return work.select(name=family, cycle="cycle", ns="dur_ns", inner_ns="dur_ns").filter(
        pl.col("name") != OTHER
    )
