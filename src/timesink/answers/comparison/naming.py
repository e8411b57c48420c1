"""What pairs of processes are called in answers, and by which options one of them is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from timesink.comparison.pairing import step_types
from timesink.comparison.results import Comparison, Pair

EXPLORATORY_REPORT = "exploratory_comparison_report"

SORTS_OF_CYCLES = {"_prefill": "prefill steps", "_decode": "decode steps", "_layer": "layers"}
"""What steps are called that a suffix names."""


def step_type(pair: Pair) -> str:
    """Which steps, in words: `decode steps`; empty where there are no others."""
    return SORTS_OF_CYCLES.get(pair.suffix, "")


def pair_title(pair: Pair) -> str:
    """What was compared, and which steps of it, in words."""
    return ", ".join(filter(None, (pair.identifier, step_type(pair))))


def check_name(pair: Pair) -> str:
    """What its check of step time is called in test reports: a key, which does not change."""
    sort = step_type(pair).replace("steps", "cycles")
    return f"cycle time of {pair.identifier}{sort and f', {sort}'}"


def processes(pair: Pair) -> str:
    """Which processes a pair is of: `rank 3`, `pid 7`, `pid 7 → 9`."""
    base, new = pair.base, pair.new
    if base.rank is not None and base.rank == new.rank:
        return f"rank {base.rank}"
    return f"pid {base.pid}" if base.pid == new.pid else f"pid {base.pid} → {new.pid}"


def pair_names(pairs: Sequence[Pair]) -> list[str]:
    """What each pair is called among the others: by process, by what was compared, or by both."""
    names, titles = [processes(pair) for pair in pairs], [pair_title(pair) for pair in pairs]
    if len(set(titles)) == 1:
        return names
    if len(set(titles)) == len(pairs):
        return titles
    return [f"{text}, {name}" for text, name in zip(titles, names, strict=True)]


# -- options that choose one of several pairs ------------------------------------------------------


_Choices = dict[str, str]
"""What to ask for, by option."""


def choices_of(comparison: Comparison) -> _Choices:
    """Options of `timesink compare` that leave one of several pairs; empty where none do."""
    return {} if comparison.exploration is not None else one_of(comparison.pairs)


def one_of(pairs: Sequence[Pair]) -> _Choices:
    """The fewest options that tell every pair from the others, with the values of one pair.

    Empty where none do.
    """
    named = [_told_by(pair) for pair in pairs]
    order = sorted(named, key=lambda choices: "decode" not in choices.get("cycles", ()))
    for count in (1, 2):
        for options in combinations(("cycles", "rank", "pid"), count):
            fitting = [
                sum(
                    all(choices[key][0] in other.get(key, ()) for key in options) for other in named
                )
                for choices in order
                if all(option in choices for option in options)
            ]
            if order and fitting == [1] * len(order):
                return {option: order[0][option][0] for option in options}
    return {}


def _told_by(pair: Pair) -> dict[str, tuple[str, ...]]:
    """What a pair can be asked for by; the first value is the one to name."""
    base, new = pair.base, pair.new
    values = {
        "cycles": tuple(sorted(step_types([pair.suffix], [base, new]))),
        "pid": (base.pid if base.pid == new.pid else f"{base.pid},{new.pid}",),
    }
    if base.rank is not None and base.rank == new.rank:
        values["rank"] = (str(base.rank),)
    return values


def as_options(choices: _Choices) -> str:
    """Choices as one types them."""
    return " ".join(f"--{option} {value}" for option, value in choices.items())


def as_arguments(choices: _Choices) -> str:
    """Choices as `timesink.compare` takes them."""
    forms = {"cycles": 'cycle_type="{}"', "pid": 'pid="{}"', "rank": "rank={}"}
    return ", ".join(forms[option].format(value) for option, value in choices.items())
