"""What is known of the code that a compiler generated for a recorded program."""

from __future__ import annotations

import msgspec

from timesink.model.graph_facts import CaptureFailure
from timesink.patterns import regex

RESUMED = "torch_dynamo_resume_in_"
"""How the compiler calls the rest of a function after a graph break."""
_RESUMED = regex(rf"^{RESUMED}(\w+?)_at_\d+$")


def plain_function(name: str) -> str:
    """A function without what the compiler makes of its rest after a graph break.

    >>> plain_function("torch_dynamo_resume_in_forward_at_22")
    'forward'
    """
    resumed = _RESUMED.match(name)
    return resumed[1] if resumed else name


class KernelUse(msgspec.Struct, frozen=True):
    """One call of a generated kernel in the code of its graph: where its work comes from."""

    operators: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    """Paths in the program, such as `layers.0.norm`."""
    module_kinds: tuple[str, ...] = ()
    """Classes of these modules, in their order."""
    places: tuple[str, ...] = ()
    """Lines of the program, as `model.py:22`."""
    lines: tuple[str, ...] = ()
    """What stands there, in the order of `places`."""
    is_cut: bool = False
    """Whether there are more of these than are listed."""


class CompiledKernel(msgspec.Struct, frozen=True):
    """A kernel that a compiler generated."""

    name: str
    file: str = ""
    """Where the compiler kept it, as launches state it; empty where that is not known."""
    graphs: tuple[str, ...] = ()
    """Keys of the graphs that call it, as `## Call CompiledFxGraph KEY ##` has them."""
    operators: tuple[str, ...] = ()
    uses: tuple[KernelUse, ...] = ()
    """Its calls in the code of the graph, in order; empty where no provenance was recorded."""
    code: str = ""
    is_cut: bool = False
    """Whether its code is longer than what is kept."""


class GraphCall(msgspec.Struct, frozen=True):
    """A call in the code of a graph, of a generated kernel or of an operator as it is."""

    name: str
    """As a recording has it: `triton_poi_fused_add_0`, `aten::addmm`."""
    use: KernelUse


class CompiledGraph(msgspec.Struct, frozen=True):
    """A graph that the compiler made, and what its code calls, in order."""

    keys: tuple[str, ...] = ()
    """As `## Call CompiledFxGraph KEY ##` has them."""
    calls: tuple[GraphCall, ...] = ()
    is_backward: bool = False


class GraphBreak(msgspec.Struct, frozen=True):
    """A place at which the compiler could not go on, and left the rest to the next graph."""

    reason: str
    place: str = ""
    line: str = ""
    """What stands there."""
    function: str = ""
    hint: str = ""
    """What the compiler itself suggests."""
    times: int = 1
    """Compilations that came upon it."""


class Compilation(msgspec.Struct, frozen=True):
    """A function, or the rest of one after a graph break, that was compiled."""

    number: str
    """As `Torch-Compiled Region: 1/0` has it."""
    function: str
    place: str = ""
    seconds: float = 0.0
    reason: str = ""
    """Why it was compiled once more; empty for the first time."""
    failure: str = ""
    """Why it was given up; empty where it was not."""

    @property
    def is_given_up(self) -> bool:
        """Whether it was compiled so often that the compiler does so no more."""
        return "limit" in self.failure.lower()


class CompiledCode(msgspec.Struct, frozen=True):
    """What lies beside a recording about its compiled code."""

    source: str
    """The file, or the first of several, that it was read from."""
    kernels: tuple[CompiledKernel, ...] = ()
    breaks: tuple[GraphBreak, ...] = ()
    compilations: tuple[Compilation, ...] = ()
    skips: tuple[CaptureFailure, ...] = ()
    """Why graphs of the device were not captured, and how often."""
    left_out: int = 0
    """Graphs, kernels, calls and files that were too many or too large to be kept."""
    graphs: tuple[CompiledGraph, ...] = ()
