"""Every rule by the question it answers, in the order in which rules are asked, and its words.

A rule is a function that turns what was measured into findings, and rows of ``catalogue.toml``: its
turn among the others, its title and its advice.  A rule without numbers says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from timesink.model.data_files import toml_tables
from timesink.model.findings import Finding
from timesink.model.vendors import in_words_of


@lru_cache(maxsize=8)
def rules_for(question: str) -> tuple[Callable[..., Any], ...]:
    """The rules of a question, in order; only their modules are loaded."""
    named = (each.split(":") for each in catalogue()["rules"][question])
    return tuple(getattr(import_module(f"timesink.rules.{home}"), name) for home, name in named)


_PYTORCH = re.compile(
    r"\b(?:at|c10)::|aten::|torch|elementwise_kernel|multi_tensor_apply|triton_(?:poi|red|per|tem)_"
)
"""Names of kernels and calls that tell that PyTorch made them."""
_OTHERS = re.compile(
    r"tensorflow|Eigen|\bxla|\bjax|\bjit_|(?:loop|input|reduce|wrapped|gemm)_\w*fusion|^fusion\b"
)
"""Names that tell that TensorFlow or JAX did."""


def is_pytorch(framework: str | None, names: Iterable[str], *, otherwise: bool) -> bool:
    """Whether advice may speak of PyTorch: the recording says so, or its kernels do."""
    said, known = (framework or "").lower(), list(names)
    if said or any(map(_PYTORCH.search, known)):
        return not said or "torch" in said or "lightning" in said
    return otherwise and not any(map(_OTHERS.search, known))


def fitted(one: Finding, table: str, *, pytorch: bool, vendor: str = "") -> Finding:
    """A finding whose advice fits the framework, and the maker of the device."""
    said = catalogue()[table].get(one.rule, {})
    # What names a place in the program holds for any framework.
    is_general = "named" not in said or one.advice == said["advice"]
    advice = said.get("plain", one.advice) if is_general and not pytorch else one.advice
    return replace(one, advice=in_words_of(vendor, advice) if vendor else advice)


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Mapping[str, Any]]:
    """Titles and advice by table (`run`, `kernels`, `causes`, `parts`) and id; and `rules`."""
    return toml_tables(Path(__file__).with_name("catalogue.toml"))


def finding(
    table: str,
    rule: str,
    sentence: str,
    words: Mapping[str, str] | None = None,
    *,
    advice: str = "advice",
    **parts: Any,
) -> Finding:
    """A finding with the title and the advice of the catalogue, where `words` fill their gaps.

    `advice` names the row where a rule has several.  What an estimate assumes is said where there
    is one.
    """
    said, given = catalogue()[table][rule], words or {}
    gains = parts.get("cost_ns") or parts.get("between_ns")
    return Finding(
        rule,
        sentence,
        said.get(advice, "").format(**given),
        said.get("title", "").format(**given),
        gain_basis=said.get("basis", "") if gains else "",
        **parts,
    )
