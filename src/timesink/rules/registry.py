"""Every rule by the question it answers, in the order in which rules are asked, and its words.

A rule is a function that turns what was measured into findings, a line here, and rows of
``catalogue.toml`` with its title and its advice.  A rule without numbers says nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from timesink.model.findings import Finding
from timesink.model.vendors import in_words_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RULES: Mapping[str, tuple[str, ...]] = {
    # What costs time in a run: from a trace to findings.
    "run": (
        "idle:data_loading",
        "idle:between_steps",
        "idle:low_utilisation",
        "idle:dominant_operator",
        "communication:exposed_communication",
        "communication:data_parallel",
        "communication:gloo_on_devices",
        "device_work:tensor_cores_unused",
        "device_work:layout_conversions",
        "device_work:memory_limit",
        "device_work:tiny_kernels",
        "device_work:many_waits",
        "device_work:pageable_copies",
        "idle:work_not_recorded",
        "device_work:allocator_calls",
        "idle:large_gaps",
        "single_run:cut_steps",
    ),
    # How well kernels use a device: from its launches to advice.
    "kernels": (
        "kernel_use:tensor_cores_unused",
        "kernel_use:tiny_kernels",
        "kernel_use:memory_bound",
        "kernel_use:layout_conversions",
        "kernel_use:low_use",
        "kernel_use:attention_not_fused",
    ),
    # Counters against each other and against the trace, before one is believed.  Later ones see
    # what earlier ones refuted.
    "environment": (
        "environment_checks:used_devices",
        "environment_checks:device_use",
        "environment_checks:multiprocessors",
        "environment_checks:device_memory",
        "environment_checks:device_clock",
        "environment_checks:power_and_heat",
        "environment_checks:throttling",
        "environment_checks:power_limit",
        "environment_checks:processor",
        "environment_checks:processor_clock",
        "environment_checks:disk",
        "environment_checks:network",
    ),
    # What explains a change: from a case to claims.  Changes of the trace come first, as they are
    # certain; then what acts on the device, on the calls of the host, and on the host as a whole.
    # What one has explained is not there for the next.
    "change": (
        "causes_host:synchronisation",
        "causes_device:workload_change",
        "causes_host:more_operators",
        "causes_device:kernel_change",
        "environment:device_environment",
        "causes_device:longer_kernels",
        "causes_host:host_calls",
        "causes_host:host_code",
        "causes_host:data_loading",
        "environment:host_environment",
    ),
    # The same between cycles that do not hold the same work.
    "other work": ("causes_device:workload_change", "causes_host:more_operators"),
}


@lru_cache(maxsize=8)
def rules_for(question: str) -> tuple[Callable[..., Any], ...]:
    """The rules of a question, in order; only their modules are loaded."""
    named = (each.split(":") for each in RULES[question])
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
def catalogue() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Titles and advice by table (`run`, `kernels`, `causes`, `parts`) and id."""
    text = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


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
