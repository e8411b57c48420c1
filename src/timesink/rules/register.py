"""Every rule by the question it answers, in the order in which rules are asked, and its words.

A rule is a function that turns what was measured into findings, and rows of ``catalogue.toml``: its
turn among the others, its title and its advice.  A rule without numbers says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from timesink.model.data_files import toml_tables
from timesink.model.findings import Cause, Finding, KernelAdvice, RunFinding
from timesink.model.vendors import in_words_of
from timesink.patterns import regex

FindingT = TypeVar("FindingT", bound=Finding)


@lru_cache(maxsize=8)
def rules_for(question: str) -> tuple[Callable[..., Any], ...]:
    """The rules of a question, in order; only their modules are loaded."""
    named = (entry.split(":") for entry in catalogue()["rules"][question])
    return tuple(getattr(import_module(_module(home)), name) for home, name in named)


def _module(home: str) -> str:
    """Rules are in files of this folder, where the catalogue names no other."""
    return f"timesink.{home if '.' in home else f'rules.{home}'}"


_PYTORCH = regex(
    r"\b(?:at|c10)::|aten::|torch|elementwise_kernel|multi_tensor_apply|triton_(?:poi|red|per|tem)_"
)
"""Names of kernels and calls that tell that PyTorch made them."""
_OTHER_FRAMEWORKS = regex(
    r"tensorflow|Eigen|\bxla|\bjax|\bjit_|(?:loop|input|reduce|wrapped|gemm)_\w*fusion|^fusion\b"
)
"""Names that tell that TensorFlow or JAX did."""


def is_pytorch(framework: str | None, names: Iterable[str], *, otherwise: bool) -> bool:
    """Whether advice may speak of PyTorch: the recording says so, or its kernels do."""
    framework_name, name_list = (framework or "").lower(), list(names)
    if framework_name or any(map(_PYTORCH.search, name_list)):
        return not framework_name or "torch" in framework_name or "lightning" in framework_name
    return otherwise and not any(map(_OTHER_FRAMEWORKS.search, name_list))


def fit_finding(
    finding: FindingT,
    table: str,
    *,
    pytorch: bool,
    vendor: str = "",
    traits: Collection[str] = (),
) -> FindingT:
    """A finding whose advice fits the framework, the maker of the device, and the program."""
    row = catalogue()[table].get(finding.id, {})
    # What names a place in the program holds for any framework.
    is_general = "named" not in row or finding.advice == row["advice"]
    advice = row.get("plain", finding.advice) if is_general and not pytorch else finding.advice
    advice = advice_for(traits, advice)
    advice = in_words_of(vendor, advice) if vendor else advice
    return replace(finding, advice=advice.replace(" ()", ""))  # what its maker lacks was in there


_GATED = regex(r"<(if|unless) ([\w-]+)>((?:(?!<if |<unless |</>).)*)</>", re.DOTALL)
"""A part of advice for some programs, without another such part in it."""


def advice_for(traits: Collection[str], advice: str) -> str:
    """Advice without the parts that are absurd for a program of these traits.

    The traits are those of `rules.program_traits`.

    >>> advice_for({"graphs"}, "Try <unless graphs>CUDA graphs, </>larger batches.")
    'Try larger batches.'
    """

    def gated_text(part: re.Match[str]) -> str:
        wanted, trait, text = part.groups()
        return text if (trait in traits) == (wanted == "if") else ""

    count = 1
    while count:
        advice, count = _GATED.subn(gated_text, advice)
    return advice


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, Mapping[str, Any]]:
    """Titles and advice by table (`run`, `kernels`, `causes`, `parts`) and id; and `rules`."""
    return toml_tables(Path(__file__).with_name("catalogue.toml"))


def make_finding(
    rule: str,
    sentence: str,
    words: Mapping[str, str] | None = None,
    *,
    advice: str = "advice",
    **parts: Any,
) -> RunFinding:
    """A finding with the title and the advice of the catalogue, where `words` fill their gaps.

    `advice` names the row where a rule has several.  What an estimate assumes is said where there
    is one.
    """
    row, fillings = catalogue()["run"][rule], words or {}
    gains = parts.get("cost_ns") or parts.get("between_ns")
    return RunFinding(
        rule,
        sentence,
        row.get(advice, "").format(**fillings),
        title=row.get("title", "").format(**fillings),
        gain_basis=row.get("basis", "") if gains else "",
        is_warning=bool(row.get("warning")),
        is_timeless=bool(row.get("timeless")),
        unknown_saving="" if gains else row.get("unknown", ""),
        **parts,
    )


def make_advice(
    rule: str,
    sentence: str,
    words: Mapping[str, str] | None = None,
    *,
    advice: str = "advice",
    **parts: Any,
) -> KernelAdvice:
    """Advice on kernels with the texts of the catalogue; `advice` as in `make_finding`."""
    row, fillings = catalogue()["kernels"][rule], words or {}
    return KernelAdvice(
        rule,
        sentence,
        row[advice].format(**fillings),
        title=row["title"].format(**fillings),
        gain_basis=row.get("basis", "") if parts.get("cost_ns") else "",
        **parts,
    )


def make_cause(
    cause: str,
    sentence: str,
    words: Mapping[str, str] | None = None,
    *,
    advice: str = "advice",
    **parts: Any,
) -> Cause:
    """A cause with the advice of the catalogue; `advice` names the row where it has several."""
    text = catalogue()["causes"][cause].get(advice, "").format(**(words or {}))
    return Cause(cause, sentence, text, **parts)
