"""A file of budgets, refused at once where it is not one, and one to begin with."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from timesink.analyses.behaviour.summary import once_per_cycle, plain_texts
from timesink.analyses.kernels.families import OTHER
from timesink.analyses.statistics.change_points import warm_up
from timesink.comparison.causes.case import family_of
from timesink.comparison.gate.baseline_store import Baseline
from timesink.comparison.reading import processes_of
from timesink.comparison.results import Process, cycle_lengths
from timesink.comparison.steps.sides import anatomy_of_role
from timesink.errors import UnreadableError, UsageError
from timesink.formats.small_files import DamagedError, decode_small_toml, option_text
from timesink.model.units import brief_ns, count_noun, signed_ns, size_bytes
from timesink.patterns import regex
from timesink.sources.untimed import SNAPSHOT, WORDS

_NS_OF = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
_AMOUNT = regex(r"\+?\s*((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,2})?)\s*(\S+)", re.IGNORECASE)
_PLAIN = regex(r"\+?\s*(\d+\.?\d*|\.\d+)\s*([A-Za-z%]*)")
_TIME = 'a time is a number and its unit, as in "1.5 ms" (ns, us, ms, s)'
_INCREASE = 'an increase is a percentage or a time, as in "10%" or "0.2 ms"'
_FORM = 'an entry is  "aten::mm" = { max = "1.5 ms", max_increase = "10%" }  below [operators]'
_HELP = "see docs/budgets.md"
KINDS = ("cycle", "operators", "modules", "kernels")
"""Tables of a file of budgets."""
TIMES = ("device", "host")
"""What an operator or a module is measured by."""
SIGNAL = "signal"
"""Kind of a limit above all tables, on what single runs tell."""
_SAME = "same"
_COUNT = 'an increase is a number or a percentage, as in "+0" or "5%"'
_SIZE = 'an increase is a size or a percentage, as in "+0", "+4 KiB" or "2%"'
_BYTES_OF = {
    "": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
}  # fmt: skip


class Increase(msgspec.Struct, frozen=True):
    """How much more something may be: a part of what it was, a time, a number, or a size."""

    pct: float | None = None
    ns: float | None = None
    number: float | None = None
    size: float | None = None

    @property
    def text(self) -> str:
        """As people read it: `+10 %`, `+200.0 us`, `+3`, `+4.0 KiB`."""
        if self.pct is not None:
            return f"+{self.pct:g} %"
        if self.number is not None:
            return f"+{self.number:g}"
        if self.size is not None:
            return f"+{size_bytes(self.size)}" if self.size else "+0"
        return signed_ns(self.ns or 0) or "+0 ns"

    def most(self, base: float) -> float:
        """The most that is within it."""
        if self.pct is not None:
            return base + self.pct * base / 100
        return base + (self.ns or self.number or self.size or 0.0)

    def is_below(self, delta: float, base: float) -> bool:
        """Whether a change is more than this."""
        if self.pct is not None:
            return 100 * delta > self.pct * base
        return delta > (self.ns or self.number or self.size or 0.0)


class Budget(msgspec.Struct, frozen=True):
    """One entry of a file of budgets."""

    kind: str
    """One of `KINDS`, or `SIGNAL`."""
    name: str
    """A name, a pattern with * and ?, or a family of kernels; `cycle` for the cycle itself; the key
    of a signal."""
    max_ns: float | None = None
    """Mean time per cycle."""
    max_increase: Increase | None = None
    of: str | None = None
    """One of `TIMES`; None for that of the device, where anything ran on one."""
    ignore_below_ns: float = 0.0
    """Increases by less than this are none."""
    optional: bool = False
    """Whether it may match nothing."""

    @property
    def rules(self) -> list[str]:
        """Which limits it has: `max`, `max_increase`."""
        limits = {"max": self.max_ns, "max_increase": self.max_increase}
        return [rule for rule, limit in limits.items() if limit is not None]

    def limit(self, rule: str) -> str:
        """A limit as people read it; empty where there is none."""
        if rule == "max":
            return "" if self.max_ns is None else brief_ns(self.max_ns)
        return "" if self.max_increase is None else self.max_increase.text


# -- times and percentages as people write them ----------------------------------------------------


class AmountError(ValueError):
    """What was written is no amount; the message says what one is."""


def increase(value: object, form: str = _INCREASE) -> Increase:
    """A percentage or a time."""
    match = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match[2] not in (*_NS_OF, "%"):
        raise AmountError(form)
    # Exact: 1.13 us are 1130 ns, and no part of one less.
    number, unit = Decimal(match[1]), match[2]
    return Increase(float(number)) if unit == "%" else Increase(ns=float(number * _NS_OF[unit]))


def time_ns(value: object) -> float:
    """A time in ns."""
    ns = increase(value, _TIME).ns
    if ns is None:
        raise AmountError(_TIME)
    return ns


def _same_program(value: object) -> None:
    if value != _SAME:
        raise AmountError(f'write "{_SAME}"')


def _more(value: object, form: str, scales: Mapping[str, int], field: str) -> Increase:
    """A percentage, or an amount with one of these units."""
    match = _PLAIN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match[2] not in (*scales, "%"):
        raise AmountError(form)
    number = Decimal(match[1])
    if match[2] == "%":
        return Increase(float(number))
    return Increase(**{field: float(number * scales[match[2]])})


SIGNALS: Mapping[str, Callable[[object], Increase | None]] = {
    "program": _same_program,
    "device_time": increase,
    "launches": partial(_more, form=_COUNT, scales={"": 1}, field="number"),
    "syncs": partial(_more, form=_COUNT, scales={"": 1}, field="number"),
    "bytes_copied": partial(_more, form=_SIZE, scales=_BYTES_OF, field="size"),
    "peak_memory": partial(_more, form=_SIZE, scales=_BYTES_OF, field="size"),
}
"""Keys above all tables, and how each is read."""
_ABOVE = "write it above the first [table]"


# -- reading --------------------------------------------------------------------------------------


def load_budgets(path: str | Path) -> tuple[Budget, ...]:
    """The budgets of a TOML file, in its order."""
    hint = f"give a TOML file; {_FORM}"
    try:
        tables = decode_small_toml(option_text(Path(path), "--budget", hint), path)
    except DamagedError as error:
        raise UsageError(f"{path}: not TOML ({error.reason})", _FORM) from None
    except UnreadableError as error:
        # The option is wrong, whether it names no file or one that holds no budgets.
        raise UsageError(f"--budget: {error.message}", hint) from error
    entries: list[Budget] = []
    for kind, content in tables.items():
        if kind in SIGNALS or not (kind in KINDS or isinstance(content, dict)):
            entries.append(_signal(str(path), kind, content))
            continue
        if kind not in KINDS:
            table_names = ", ".join(f"[{name}]" for name in KINDS)
            raise UsageError(
                f"{path}: unknown table [{kind}]", _suggestion(kind, KINDS, table_names)
            )
        if not isinstance(content, dict):
            raise UsageError(f"{path}: [{kind}] is not a table", _FORM)
        if kind == "cycle":
            entries.append(_budget(f"{path}: [{kind}]", kind, kind, content))
            continue
        for name, entry in content.items():
            entries.append(_budget(f'{path}: [{kind}] "{name}"', kind, name, entry))
    if not entries:
        raise UsageError(f"{path}: contains no budget", _FORM)
    return tuple(entries)


def _signal(path: str, key: str, value: object) -> Budget:
    """A limit on what single runs tell."""
    if key not in SIGNALS:
        hint = _suggestion(key, (*SIGNALS, *KINDS), ", ".join(SIGNALS))
        raise UsageError(f"{path}: unknown key {key!r}", hint)
    try:
        return Budget(SIGNAL, key, max_increase=SIGNALS[key](value))
    except AmountError as error:
        text = f'"{value}"' if isinstance(value, str) else str(value)
        raise UsageError(f"{path}: {key} = {text}: {error}", _HELP) from None


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise AmountError("write true or false")
    return value


def _measured_by(value: object) -> str:
    if value not in TIMES:
        raise AmountError(f"write {' or '.join(TIMES)}")
    return str(value)


_READERS: dict[str, tuple[str, Callable[[object], Any]]] = {
    "max": ("max_ns", time_ns),
    "max_increase": ("max_increase", increase),
    "ignore_below": ("ignore_below_ns", time_ns),
    "of": ("of", _measured_by),
    "optional": ("optional", _flag),
}
_LIMITS = ("max", "max_increase")
_ENTRY_KEYS = {
    "cycle": _LIMITS,
    "operators": (*_LIMITS, "of", "ignore_below", "optional"),
    "modules": (*_LIMITS, "of", "ignore_below", "optional"),
    "kernels": (*_LIMITS, "ignore_below", "optional"),
}
"""Keys of an entry."""


def _budget(place: str, kind: str, name: str, entry: object) -> Budget:
    """One entry; `place` is where it stands, for words about what is wrong."""
    if not isinstance(entry, dict):
        raise UsageError(f"{place}: is not a table", _ABOVE if name in SIGNALS else _FORM)
    fields: dict[str, Any] = {}
    for key, value in entry.items():
        if key not in _ENTRY_KEYS[kind]:
            hint = (
                _ABOVE
                if key in SIGNALS
                else _suggestion(key, _ENTRY_KEYS[kind], ", ".join(_ENTRY_KEYS[kind]))
            )
            raise UsageError(f"{place}: unknown key {key!r}", hint)
        field, read = _READERS[key]
        text = f'"{value}"' if isinstance(value, str) else str(value)
        try:
            fields[field] = read(value)
        except AmountError as error:
            raise UsageError(f"{place}: {key} = {text}: {error}", _HELP) from None
    if not any(key in entry for key in _LIMITS):
        raise UsageError(f"{place}: has no limit", f"add {' or '.join(_LIMITS)}")
    if not name.strip():
        raise UsageError(f"{place}: has no name", _FORM)
    return Budget(kind, name, **fields)


def _suggestion(word: str, words: tuple[str, ...], listed: str) -> str:
    close = get_close_matches(word, words, 1)
    return f"did you mean {close[0]}? there are {listed}" if close else f"there are {listed}"


# -- time per cycle of what budgets name -----------------------------------------------------------

_WILD = {"*": ".*", "?": "."}
_CALL_KIND = {"operators": "operator", "modules": "module"}
_ON_DEVICE = "gpu_"
"""How classes of functions begin that run on a device."""
LACKED_TIME = "time on a device"
"""What recordings lack in which nothing tells of work on devices, or of who launched it."""
_DIGITS = 3
_UNITS = ((10**9, "s"), (10**6, "ms"), (1000, "us"))
_MAX_ENTRIES = 10
"""Entries of a table."""
_MIN_SHARE = 0.02
"""Part of the longest entry of its table from which on one is worth a budget."""
_TIMES = {"name": pl.String(), "cycle": pl.Int64(), "ns": pl.Int64(), "inner_ns": pl.Int64()}
_ENGINE = "autograd::engine::evaluate_function: "
"""Names of the engine around each operator of a backward pass: they say the same twice."""


def fits(pattern: str, name: str) -> bool:
    """Whether a name is a pattern, in which * stands for any text and ? for one letter.

    Names of kernels are full of brackets, stars of pointers among them: brackets are themselves,
    and what is the name itself fits, whatever is in it.
    """
    expression = "".join(_WILD.get(letter) or re.escape(letter) for letter in pattern)
    return name == pattern or re.fullmatch(expression, name, re.DOTALL) is not None


def matching_times(role: Process, budget: Budget, of: str) -> tuple[pl.DataFrame, pl.Series]:
    """What an entry matches in a role, as `name`, `cycle` and `ns`; `of` is the sort of time.

    Beside it is every cycle, in order: what has no row there took no time.
    """
    if budget.kind == "kernels":
        return _kernels(role, budget.name)
    anatomy = anatomy_of_role(role)
    calls = anatomy.calls.filter(kind=_CALL_KIND[budget.kind])
    # A module goes by its path, or by the last part of it.
    by_end = budget.kind == "modules"
    fitting = [
        name
        for name in calls["name"].unique()
        if fits(budget.name, name) or (by_end and fits(budget.name, name.rpartition(".")[2]))
    ]
    rows = calls.filter(pl.col("name").is_in(fitting)).select("name", "cycle", ns=f"{of}_ns")
    return rows, anatomy.cycles["cycle"].sort()


def has_device_work(role: Process) -> bool:
    """Whether any operator of a role launched work on a device."""
    return role.anatomy is not None and bool((role.anatomy.calls["device_ns"] > 0).any())


def missing_part(role: Process, kind: str, of: str) -> str | None:
    """What a role does not tell of: a kind at all, or its time on a device; None where it does."""
    if kind == "kernels":
        return kind if device_work(role).is_empty() else None
    if role.anatomy is None or role.anatomy.calls.filter(kind=_CALL_KIND[kind]).is_empty():
        return kind
    return LACKED_TIME if of == "device" and not has_device_work(role) else None


def _kernels(role: Process, pattern: str) -> tuple[pl.DataFrame, pl.Series]:
    """What kernels count for: their family where that is the entry, else their short names."""
    work = device_work(role)
    names = {}
    for function, short in work.select("function", "short_name").unique().iter_rows():
        if pattern == family_of(function):
            names[function] = pattern
        elif fits(pattern, function) or (short is not None and fits(pattern, short)):
            names[function] = short or function
    rows = work.filter(pl.col("function").is_in(list(names))).select(
        pl.col("function").replace(names).alias("name"), "cycle", ns="dur_ns"
    )
    timed_rows = role.behaviour.filter(pl.col("cycle_dur_ns") > 0)
    return rows, (timed_rows if timed_rows.height else role.behaviour)["cycle"].unique().sort()


def device_work(role: Process) -> pl.DataFrame:
    """What ran on devices: one row per cycle, function and device."""
    once = once_per_cycle(plain_texts(role.behaviour))
    return once.filter(pl.col("function_class").cast(pl.String).str.starts_with(_ON_DEVICE))


# -- a file to begin with -------------------------------------------------------------------------


def starting_budgets(run: Baseline, headroom_pct: float = 10.0) -> str:
    """TOML with the longest operators, modules and families of kernels of a run, to be edited.

    Of several ranks the longest mean counts; warm-up does not.
    """
    if run.untimed is not None:
        if run.untimed.kind == SNAPSHOT:
            head = f"# Peak memory, with {headroom_pct:g} % headroom."
            return f'{head}\n\npeak_memory = "{headroom_pct:g}%"'
        raise UsageError(
            f"there are no budgets for a {WORDS[run.untimed.kind]}",
            "give a limit instead:  timesink gate BASE NEW --fail-on 5%",
        )
    roles = processes_of(run.runs)
    warm = [warm_up(cycle_lengths(role.behaviour).cast(pl.Float64).to_numpy()) for role in roles]
    means = [
        cycle_lengths(role.behaviour)[skip:].mean() for role, skip in zip(roles, warm, strict=True)
    ]
    cycle_ns = max((mean for mean in means if isinstance(mean, float)), default=0.0)
    tables = {
        "operators": [_calls(role, "operator") for role in roles],
        "modules": [_calls(role, "module") for role in roles],
        "kernels": [_families(role) for role in roles],
    }
    factor, increase = 1 + headroom_pct / 100, f'max_increase = "{headroom_pct:g}%"'
    cycles = count_noun(max(run.behaviour["cycle"].n_unique() for run in run.runs), "steps")
    lines = [
        f"# Times per step ({cycles}), with {headroom_pct:g} % headroom.",
        "# Edit freely: docs/budgets.md says what each key means.",
        "",
        "[cycle]",
        *([f'max = "{_amount(cycle_ns * factor)}"'] if cycle_ns else []),
        increase,
    ]
    for table, times in tables.items():
        entries = _longest(roles, warm, times)
        lines += ["", f"[{table}]"] if entries else []
        for name, ns in entries.items():
            key = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
            lines.append(f'{key} = {{ max = "{_amount(ns * factor)}", {increase} }}')
    return "\n".join(lines)


def _amount(ns: float) -> str:
    """Three digits, upward so that it is kept, with the unit that needs no zeros."""
    exact = Decimal(ns)
    step = Decimal(10) ** (exact.adjusted() - _DIGITS + 1)
    rounded = (exact / step).to_integral_value(ROUND_CEILING) * step
    size, unit = next((scale for scale in _UNITS if rounded >= scale[0]), (1, "ns"))
    return f"{(rounded / size).normalize():f} {unit}"


def _longest(
    roles: Sequence[Process], warm: Sequence[int], times: Sequence[pl.DataFrame]
) -> dict[str, float]:
    """Names by mean time per cycle, the longest of all roles; of equal ones the innermost.

    The mean is over the cycles after warm-up; a cycle without the name has none of it.
    """
    longest: dict[str, tuple[float, float]] = {}
    for role, skip, table in zip(roles, warm, times, strict=True):
        cycles = role.behaviour["cycle"].unique().sort()[skip:]
        cycle_rows = table.filter(pl.col("cycle").is_in(cycles.implode()))
        sums = cycle_rows.group_by("name").agg(pl.col("ns", "inner_ns").sum() / max(len(cycles), 1))
        for name, ns, inner_ns in sums.filter(pl.col("ns") > 0).iter_rows():
            if name not in longest or longest[name][0] < ns:
                longest[name] = ns, inner_ns
    # Of those with equal times, the other one is called by it.
    ordered = sorted((-ns, inner_ns, name) for name, (ns, inner_ns) in longest.items())
    chosen: dict[float, str] = {}
    for less_ns, _, name in ordered:
        if less_ns <= _MIN_SHARE * ordered[0][0]:
            chosen.setdefault(-less_ns, name)
    return {name: ns for ns, name in list(chosen.items())[:_MAX_ENTRIES]}


def _calls(role: Process, kind: str) -> pl.DataFrame:
    if role.anatomy is None:
        return pl.DataFrame(schema=_TIMES)
    calls = role.anatomy.calls
    program_calls = calls.filter(pl.col("kind") == kind, ~pl.col("name").str.starts_with(_ENGINE))
    time = "device_ns" if has_device_work(role) else "host_ns"
    return program_calls.select("name", "cycle", ns=time, inner_ns="host_ns")


def _families(role: Process) -> pl.DataFrame:
    work = device_work(role)
    names = {name: family_of(name) for name in work["function"].unique()}
    family = pl.col("function").replace(names)
    return work.select(name=family, cycle="cycle", ns="dur_ns", inner_ns="dur_ns").filter(
        pl.col("name") != OTHER
    )
