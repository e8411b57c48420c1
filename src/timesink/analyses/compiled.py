"""Kernels that a compiler generated: the operators they fuse, and the modules and lines of these.

Names of such kernels list operators.  What the recorder or the compiler left beside the recording
says modules and lines, see :mod:`timesink.formats.compiled_code`.  Time of a kernel that does the
work of several operators or modules is not divided among them: all are stated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import polars as pl

from timesink.analyses.columns import (
    device_columns,
    device_names,
    host_columns,
    host_lanes,
    host_names,
    memoize_per_trace,
    start_and_end,
)
from timesink.analyses.forest import call_forest
from timesink.analyses.links import link_launches
from timesink.analyses.work.fused import fused_operators
from timesink.model.compiled_code import CompiledCode, CompiledKernel, KernelUse
from timesink.model.intervals import Ints
from timesink.model.trace import Trace
from timesink.patterns import regex

GENERATED = regex(r"^(?:triton_(?:poi|red|per|tem|for|spl|unk|mm|bmm)_|cpp_fused_|mps_fused_)")
"""Names that Inductor gives the kernels it generates."""
_GRAPH_CALL = regex(r"^## Call CompiledFxGraph (\S+) ##$")
_DIGITS = regex(r"(?<![A-Za-z_\d])\d+(?![A-Za-z_\d])")

SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("kernel", "operators", "module", "place", "line"), pl.String()),
    **dict.fromkeys(("calls", "device_ns"), pl.Int64()),
    **dict.fromkeys(("names_from", "file"), pl.String()),
}


class GeneratedKernel(msgspec.Struct, frozen=True, eq=False):
    """One generated kernel of a recording, and what is known of where its work comes from."""

    name: str
    file: str
    """Where the compiler kept it, as its launches state it."""
    rows: Ints
    """Its launches, as rows of `trace.device`."""
    operators: tuple[str, ...]
    uses: tuple[KernelUse, ...]
    """For each launch where it comes from; empty where no provenance is known."""
    kernel: CompiledKernel | None
    """What was generated; None where nothing beside the recording says it."""


@memoize_per_trace
def generated_kernels(trace: Trace) -> tuple[GeneratedKernel, ...]:
    """The kernels of a recording that a compiler generated, in the order of their first launch."""
    names = device_names(trace)
    rows = names.rows(lambda name: GENERATED.match(name) is not None)
    rows = rows[np.argsort(device_columns(trace)["ts_ns"].to_numpy()[rows], kind="stable")]
    if not len(rows):
        return ()
    launcher = _launchers(trace)[rows]
    files, runs = _files(trace), graph_runs(trace)
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, (row, host) in enumerate(zip(rows.tolist(), launcher.tolist(), strict=True)):
        groups[names.texts[names.codes[row]] or "", files.get(host, "")].append(place)
    by_name = _by_name(trace.metadata.compiled)
    return tuple(
        _kernel(
            (name, file),
            rows[places],
            by_name.get(name, []),
            runs.around(launcher[places]),
            runs.keys,
        )
        for (name, file), places in groups.items()
    )


def _kernel(
    called: tuple[str, str],
    rows: Ints,
    candidates: Sequence[CompiledKernel],
    run: Ints,
    graphs: Sequence[str],
) -> GeneratedKernel:
    """A kernel of a name and a file; `run` says in which run of a graph each launch is."""
    name, file = called
    candidates = _of_file(candidates, file) or list(candidates)
    keys = {graphs[number] for number in run.tolist() if number >= 0}
    candidates = [kernel for kernel in candidates if keys.intersection(kernel.graphs)] or candidates
    operators = dict.fromkeys(text for kernel in candidates for text in kernel.operators)
    uses = _uses(candidates, run, graphs) if candidates else ()
    return GeneratedKernel(
        name,
        file,
        rows,
        tuple(operators) or fused_operators(name),
        uses,
        candidates[0] if candidates else None,
    )


def _of_file(kernels: Sequence[CompiledKernel], file: str) -> list[CompiledKernel]:
    """Those that the compiler kept in a file of this name: the name is that of its content."""
    name = file.rpartition("/")[2]
    return [kernel for kernel in kernels if name and kernel.file.rpartition("/")[2] == name]


def _by_name(code: CompiledCode | None) -> dict[str, list[CompiledKernel]]:
    kernels: dict[str, list[CompiledKernel]] = defaultdict(list)
    for kernel in () if code is None else code.kernels:
        kernels[kernel.name].append(kernel)
    return kernels


def _uses(
    kernels: Sequence[CompiledKernel], run: Ints, graphs: Sequence[str]
) -> tuple[KernelUse, ...]:
    """Where each launch comes from: the n-th of a run of the graph is the n-th call in its code.

    Launches of a run that has others than its code makes, or that is of no known graph, come from
    any of the calls: then all of them are stated.
    """
    anywhere = _joined(use for kernel in kernels for use in kernel.uses)
    if not (anywhere.places or anywhere.modules or anywhere.operators):
        return ()
    uses = [anywhere] * len(run)
    members: dict[int, list[int]] = defaultdict(list)
    for place, number in enumerate(run.tolist()):
        members[number].append(place)
    for number, places in members.items():
        called = [kernel for kernel in kernels if number >= 0 and graphs[number] in kernel.graphs]
        calls = called[0].uses if called else kernels[0].uses
        is_sure = called or all(kernel.uses == calls for kernel in kernels)
        if is_sure and number >= 0 and len(places) == len(calls):
            for place, use in zip(places, calls, strict=True):
                uses[place] = use
        elif called:
            joined = _joined(calls)
            for place in places:
                uses[place] = joined
    return tuple(uses)


def _joined(uses: Iterable[KernelUse]) -> KernelUse:
    """Several calls as one that names what any of them does."""
    operators: dict[str, None] = {}
    modules: dict[str, str] = {}
    lines: dict[str, str] = {}
    for use in uses:
        operators.update(dict.fromkeys(use.operators))
        modules.update(zip(use.modules, use.module_kinds, strict=False))
        lines.update(zip(use.places, use.lines, strict=False))
    return KernelUse(
        tuple(operators),
        tuple(modules),
        tuple(modules.values()),
        tuple(lines),
        tuple(lines.values()),
    )


# -- launches --------------------------------------------------------------------------------------


def _launchers(trace: Trace) -> Ints:
    """For each row of `trace.device` the row in `trace.host` of the call it was launched in."""
    node, forest = link_launches(trace).node, call_forest(trace)
    return np.where(node >= 0, forest.row[node], -1) if len(forest) else node


def _files(trace: Trace) -> dict[int, str]:
    """The file of the kernel that a call launches, by the row of the call in `trace.host`."""
    arguments = (
        trace.lazy("event_args")
        .filter(pl.col("key").cast(pl.String) == "kernel_file")
        .select("index", "value")
        .collect()
    )
    if arguments.is_empty():
        return {}
    calls = trace.lazy("host").select("index").with_row_index("row").collect()
    files = arguments.join(calls, on="index").select("row", "value")
    # Texts are kept as JSON by some readers, and as they are by others.
    return {row: value.strip('"') for row, value in files.iter_rows()}


class GraphRuns(msgspec.Struct, frozen=True, eq=False):
    """Runs of compiled graphs: ranges that bear their keys, in the order of their starts."""

    start: Ints
    end: Ints
    lane: Ints
    """Place in `lanes`."""
    lanes: Sequence[tuple[str, str]]
    """Process and thread."""
    keys: Sequence[str]
    moment: Ints
    """For each row of `trace.host`: when it began."""
    lane_of_row: Ints

    def around(self, rows: Ints) -> Ints:
        """For each row of `trace.host` the run it is in, -1 for none."""
        around = np.full(len(rows), -1, dtype=np.int64)
        for lane in np.unique(self.lane):
            runs = np.flatnonzero(self.lane == lane)
            mine = np.flatnonzero((rows >= 0) & (self.lane_of_row[rows] == lane))
            moment = self.moment[rows[mine]]
            place = np.searchsorted(self.start[runs], moment, side="right") - 1
            run = runs[np.maximum(place, 0)]
            around[mine] = np.where((place >= 0) & (self.end[run] >= moment), run, -1)
        return around


@memoize_per_trace
def graph_runs(trace: Trace) -> GraphRuns:
    """The runs of compiled graphs that a recording marks.

    >>> import timesink
    >>> len(graph_runs(timesink.open(timesink.sample())).keys)
    0
    """
    named, host = host_names(trace), host_columns(trace)
    rows = named.rows(lambda name: _GRAPH_CALL.match(name) is not None)
    start, end = start_and_end(host)
    order = rows[np.argsort(start[rows], kind="stable")]
    lane, lanes = host_lanes(trace)
    texts = [named.texts[code] or "" for code in named.codes[order].tolist()]
    matches = [_GRAPH_CALL.match(text) for text in texts]
    return GraphRuns(
        start[order],
        end[order],
        lane[order],
        lanes,
        [match[1] if match else "" for match in matches],
        start,
        lane,
    )


# -- the table -------------------------------------------------------------------------------------


@memoize_per_trace
def compiled_table(trace: Trace) -> pl.DataFrame:
    """One row per generated kernel, the one that takes most first.

    >>> import timesink
    >>> compiled_table(timesink.open(timesink.sample())).height
    0
    """
    duration = device_columns(trace)["dur_ns"].to_numpy()
    code = trace.metadata.compiled
    rows = []
    for kernel in generated_kernels(trace):
        where = _joined(dict.fromkeys(kernel.uses))
        source = "its name" if kernel.kernel is None or code is None else code.source
        rows.append(
            {
                "kernel": kernel.name,
                "operators": ", ".join(map(_short, kernel.operators)) or None,
                "module": ", ".join(patterns(where.modules)) or None,
                "place": ", ".join(together(where.places)) or None,
                "line": "\n".join(where.lines) or None,
                "calls": len(kernel.rows),
                "device_ns": int(duration[kernel.rows].sum()),
                "names_from": source,
                "file": kernel.file or None,
            }
        )
    table = pl.DataFrame(rows, schema=SCHEMA)
    return table.sort("device_ns", "kernel", descending=[True, False])


def _short(operator: str) -> str:
    return operator.removeprefix("aten::")


def together(places: Iterable[str]) -> list[str]:
    """Lines of the program, those of a file side by side; the folders of files are left out.

    >>> together(["net/model.py:7", "net/train.py:3", "net/model.py:12"])
    ['model.py:7,12', 'train.py:3']
    """
    files: dict[str, list[str]] = defaultdict(list)
    for place in places:
        file, _, line = place.rpartition(":")
        files[file].append(line)
    return [f"{file.rpartition('/')[2]}:{','.join(lines)}" for file, lines in files.items()]


def patterns(modules: Iterable[str]) -> list[str]:
    """Modules, where those that differ in their numbers alone are one.

    >>> patterns(["layers.0.norm", "layers.1.norm", "head"])
    ['layers.*.norm', 'head']
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        groups[_DIGITS.sub("*", module)].append(module)
    return [pattern if len(members) > 1 else members[0] for pattern, members in groups.items()]


CODE_SCHEMA: dict[str, pl.DataType] = {
    "kernel": pl.String(),
    "file": pl.String(),
    "number": pl.Int64(),
    "code": pl.String(),
    "is_cut": pl.Boolean(),
}


@memoize_per_trace
def code_table(trace: Trace) -> pl.DataFrame:
    """The code of each generated kernel that is known, a row per line, in the order of the table.

    >>> import timesink
    >>> code_table(timesink.open(timesink.sample())).height
    0
    """
    generated = {
        (kernel.name, kernel.file): kernel.kernel
        for kernel in generated_kernels(trace)
        if kernel.kernel is not None
    }
    rows = [
        (row["kernel"], row["file"], number, line or None, kernel.is_cut)
        for row in compiled_table(trace).to_dicts()
        if (kernel := generated.get((row["kernel"], row["file"] or ""))) is not None
        for number, line in enumerate(kernel.code.splitlines(), 1)
    ]
    return pl.DataFrame(rows, schema=CODE_SCHEMA, orient="row")
