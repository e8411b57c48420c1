"""What columns of comparisons, processes and recordings mean, by their keys."""

from __future__ import annotations

from collections.abc import Mapping

COMPARED: Mapping[str, str] = {
    "function": "Kernel or call of the host, by a name short enough to tell it from the others.",
    "device": "Where it ran, or what was counted.",
    "base_ns": "Mean time per cycle of the first side, over all cycles.",
    "new_ns": "Mean time per cycle of the second side, over all cycles.",
    "delta_ns": "Second side less first side.",
    "change_pct": "The change, of the first side.",
    "class": "What it mainly does, which says which counters matter to it.",
    "calls_base": "Calls per cycle of the first side.",
    "calls_new": "Calls per cycle of the second side.",
    "name": "Name as recorded.",
    "names_base": "Names of the first side that are put together.",
    "names_new": "Names of the second side that are put together.",
    "metric": "Counter that was sampled while the function ran.",
    "counter": "Mean while the function ran, first side → second side.",
    "value": "Mean while the function ran, first side → second side.",
    "change": "How much more or less the second side has.",
    "pair": "Process of both sides, or what was compared.",
    "verdict": "Whether cycle time changed beyond noise.",
    "most": "Function whose time changed most.",
}
ROLES: Mapping[str, str] = {
    "case": "What the process belongs to.",
    "side": "Which side of the comparison it is.",
    "role": "One process of one run.",
    "process": "One process of the run.",
    "group": "Roles of a group behave alike.",
    "roles": "Number of roles in the group.",
    "representative": "The role nearest to all others of its group; groups are compared by it.",
    "cycles": "Number of cycles: the repeating unit of a run, such as a step.",
    "mean_ns": "Mean length of a cycle.",
    "anchor": "What begins each cycle.",
    "method": "How cycles were found.",
    "confidence": "How sure it is that these are the cycles.",
    "source": "Where it was read from.",
}
CYCLES: Mapping[str, str] = {
    **ROLES,
    "cycle": "Number of the cycle.",
    "dur_ns": "Length of the cycle.",
    "side": "Typical, slow, unusually short, or of the warm-up, which counts for neither.",
    "typical_ns": "Mean length of the typical cycles.",
    "slow_ns": "Mean length of the slow cycles.",
    "change_pct": "Slow cycles against typical ones.",
    "which": "Numbers of the slow cycles.",
    "cause": "What explains most of the time more.",
}
