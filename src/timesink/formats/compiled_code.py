"""Code that a compiler generated: the file of the recorder, and what the compiler leaves itself.

`<trace>.compiled.json`, packed or not, is what `timesink record --with compiled` writes; its fields
are said in docs/compiled.md.  PyTorch itself leaves `output_code.py` and JSON files of provenance,
with `TORCH_COMPILE_DEBUG=1` or in what `tlparse` writes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from timesink.formats.small_files import (
    DamagedError,
    decode_small_json,
    joined_blocks,
    small_content,
)
from timesink.formats.source_file import open_source
from timesink.model.compiled_code import (
    Compilation,
    CompiledCode,
    CompiledGraph,
    CompiledKernel,
    GraphBreak,
    GraphCall,
    KernelUse,
    plain_function,
)
from timesink.model.graph_facts import CaptureFailure
from timesink.patterns import regex

SCHEMA = "timesink/compiled-code/1"
ENDING = ".compiled.json"
MAX_BYTES = 256 << 20
"""The recorder keeps 64 MB of code; provenance is of the same size."""
MAX_KERNEL_CODE = 16_000
"""Characters of a kernel; those of Inductor have some thousand."""
MAX_CODE = 4_000_000
"""Characters of all kernels together that are shown; the rest have their names."""
MAX_KERNELS = 20_000
MAX_CALLS = 20_000
"""Of a graph: those of large networks make some thousand."""
MAX_LISTED = 64
"""Operators, modules and lines of a kernel each: fused updates of parameters list hundreds."""
MAX_TEXT = 300
_HINT = "record again, or leave the file out: the recording is read without it"

OUTPUT_CODE = "output_code.py"
STACKS = (
    "inductor_generated_kernel_to_stack_traces.json",
    "inductor_provenance_tracking_kernel_stack_traces.json",
)
INFORMATION = "kernel_information.json"
"""Stacks and nodes in one file, as newer versions write it."""


class _KernelRow(msgspec.Struct, frozen=True):
    nodes: list[str] = []
    operators: list[str] = []
    modules: list[str] = []
    stacks: list[str] = []


class _GraphRow(msgspec.Struct, frozen=True):
    code: str
    numbers: list[str] = []
    keys: list[str] = []
    file: str = ""
    is_cut: bool = False
    kernels: dict[str, _KernelRow] = {}


class _BreakRow(msgspec.Struct, frozen=True):
    text: str
    number: str = ""
    times: int = 1


class _CompilationRow(msgspec.Struct, frozen=True):
    number: str
    function: str = ""
    file: str = ""
    line: int = 0
    seconds: float = 0.0
    recompile_reason: str = ""
    fail_reason: str = ""
    skip_reason: str = ""


class _SkipRow(msgspec.Struct, frozen=True):
    text: str
    times: int = 1


class _CompiledFile(msgspec.Struct, frozen=True):
    schema: str
    graphs: list[_GraphRow]
    left_out: int = 0
    breaks: list[_BreakRow] = []
    compilations: list[_CompilationRow] = []
    skips: list[_SkipRow] = []


def read_compiled(path: Path) -> CompiledCode:
    r"""What a recorder wrote about compiled code.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.compiled.json"
    >>> text = 'Graph break in user code at a.py:7\nGraph Break Reason: print'
    >>> content = {"schema": SCHEMA, "graphs": [], "breaks": [{"text": text}]}
    >>> _ = path.write_bytes(msgspec.json.encode(content))
    >>> read_compiled(path).breaks[0].place
    'a.py:7'
    """
    content = joined_blocks(open_source(path).blocks(), path, most_bytes=MAX_BYTES)
    file: _CompiledFile = decode_small_json(content, path, _HINT, _CompiledFile)
    if file.schema != SCHEMA:
        raise DamagedError(path, f"schema {file.schema!r}, and {SCHEMA} is known here", _HINT)
    graphs = [(graph, _calls_of(graph)) for graph in file.graphs]
    kernels = [kernel for graph, calls in graphs for kernel in _kernels_of(graph, calls)]
    kept, left_out = bounded(kernels)
    left_out += file.left_out + sum(max(0, len(calls) - MAX_CALLS) for _, calls in graphs)
    skips = [_SkipRow(row.skip_reason) for row in file.compilations if row.skip_reason]
    return CompiledCode(
        path.name,
        kept,
        tuple(merged_breaks(_break_of(row.text, row.times) for row in file.breaks)),
        tuple(map(_compilation_of, file.compilations)),
        tuple(_skip_of(row.text, row.times) for row in file.skips or skips),
        left_out,
        tuple(
            CompiledGraph(
                tuple(graph.keys),
                tuple(calls[:MAX_CALLS]),
                is_backward=_BACKWARD.search(graph.code[:200]) is not None,
            )
            for graph, calls in graphs
        ),
    )


# -- generated code --------------------------------------------------------------------------------

_DEFINITION = regex(r"^(\w+) = async_compile\.\w+\([^\n]*?r?'''", re.MULTILINE)
_LONGEST_NUMBER = 10
_QUOTES = "'''"
_HANDLES = regex(r"\[Provenance debug handles\] ([^\n]+)")
_HANDLE = regex(r"[\w.]+:\d+")
_KERNEL_PATH = regex(r"^# kernel path: (\S+)", re.MULTILINE)
_BACKWARD = regex(r"AOT ID: \['\w*backward'\]")
_ORIGINAL = regex(r"Original ATen: \[([^\]\n]*)\]")


def generated_kernels(code: str) -> Iterator[CompiledKernel]:
    r"""The kernels that generated code defines, with what comments and names say of each.

    >>> code = '''# kernel path: /tmp/x/cab.py
    ... # Topologically Sorted Source Nodes: [a], Original ATen: [aten.add, aten.relu]
    ... triton_poi_fused_add_relu_0 = async_compile.triton('triton_', \'\'\'
    ... def triton_(x): pass
    ... \'\'\', device_str='cuda')'''
    >>> [(kernel.name, kernel.file, kernel.operators) for kernel in generated_kernels(code)]
    [('triton_poi_fused_add_relu_0', '/tmp/x/cab.py', ('aten::add', 'aten::relu'))]
    """
    for match in _DEFINITION.finditer(code):
        comments = _comments_before(code, match.start())
        path, original = _KERNEL_PATH.search(comments), _ORIGINAL.search(comments)
        end = code.find(_QUOTES, match.end())
        if end < 0:
            return  # the code was cut here
        text = code[match.end() : end].strip("\n")
        yield CompiledKernel(
            match[1],
            path[1] if path else "",
            operators=tuple(_operators(original[1])) if original else (),
            code=text[:MAX_KERNEL_CODE],
            is_cut=len(text) > MAX_KERNEL_CODE,
        )


def _comments_before(code: str, place: int) -> str:
    """The lines of comments right before a place."""
    start = place
    while start > 0:
        line = code.rfind("\n", 0, start - 1) + 1
        if not code.startswith("#", line):
            break
        start = line
    return code[start:place]


def _operators(listed: str) -> Iterator[str]:
    for name in listed.split(","):
        space, _, operator = name.strip().partition(".")
        if operator:
            yield f"{space}::{operator}"


def _calls_of(graph: _GraphRow) -> list[GraphCall]:
    """What the code of a graph calls, in its order: generated kernels, and operators as they are.

    Of kernels that the file names, those count that the code calls, where it says so: the compiler
    may still have known those of the graph before.
    """
    handles = {
        handle for listed in _HANDLES.findall(graph.code) for handle in _HANDLE.findall(listed)
    }
    calls: list[tuple[int, GraphCall]] = []
    for handle, row in graph.kernels.items():
        name, _, number = handle.rpartition(":")
        if not handles or handle in handles:
            is_number = number.isascii() and number.isdigit() and len(number) < _LONGEST_NUMBER
            place = int(number) if is_number else 0
            calls.append((place, GraphCall(_called(name or handle), _use_of(row))))
    return [call for _, call in sorted(calls, key=lambda entry: entry[0])]


def _called(name: str) -> str:
    """What a call of generated code is called in a recording.

    >>> _called("extern_kernels.addmm"), _called("torch.ops.aten.mm.default")
    ('aten::addmm', 'aten::mm')
    """
    steps = name.split(".")
    if steps[0] == "extern_kernels" and len(steps) == 2:
        return f"aten::{steps[1]}"
    if steps[:2] == ["torch", "ops"] and len(steps) > 3:
        return f"{steps[2]}::{steps[3]}"
    return name


def _kernels_of(graph: _GraphRow, calls: Sequence[GraphCall]) -> list[CompiledKernel]:
    """The kernels that a graph defines, with its calls of each."""
    keys = tuple(graph.keys)
    uses: dict[str, list[KernelUse]] = defaultdict(list)
    for call in calls:
        uses[call.name].append(call.use)
    return [
        with_uses(structs.replace(kernel, graphs=keys), uses.get(kernel.name, []))
        for kernel in generated_kernels(graph.code)
    ]


def with_uses(kernel: CompiledKernel, uses: Sequence[KernelUse]) -> CompiledKernel:
    """A kernel with its calls; its operators are those of all of them."""
    operators = dict.fromkeys(operator for use in uses for operator in use.operators)
    return structs.replace(kernel, uses=tuple(uses), operators=kernel.operators or tuple(operators))


def _use_of(row: _KernelRow) -> KernelUse:
    frames = [frame for frame in map(_frame_of, row.stacks) if frame is not None]
    lines = dict(frame[:2] for frame in frames)
    modules = dict(map(_module_of, row.modules))
    return KernelUse(
        tuple(row.operators[:MAX_LISTED]),
        tuple(modules)[:MAX_LISTED],
        tuple(modules.values())[:MAX_LISTED],
        tuple(lines)[:MAX_LISTED],
        tuple(lines.values())[:MAX_LISTED],
        is_cut=max(len(row.operators), len(modules), len(lines)) > MAX_LISTED,
    )


_FRAME = regex(r'File "([^"\n]+)", line (\d+), in ([^\n]+)(?:\n\s*([^\n]*))?')
_PACKAGES = regex(r"^.*/(?:site|dist)-packages/")
_MODULE_STEP = regex(r"\.?_modules\['([^']+)'\]|\['([^']+)'\]|\[(\d+)\]|\.([\w]+)")


def short_place(file: str, line: int | str) -> str:
    """A line of the program: packages by their path in them, other files by name and folder.

    >>> short_place("/usr/lib/python3/site-packages/lib/model.py", 7)
    'lib/model.py:7'
    >>> short_place("/home/me/project/train.py", 12), short_place("train.py", 12)
    ('project/train.py:12', 'train.py:12')
    """
    path = file.replace("\\", "/")
    in_package = _PACKAGES.sub("", path)
    if in_package == path and path.startswith("/"):
        in_package = "/".join(path.rsplit("/", 2)[-2:])
    return f"{in_package}:{line}"


def _frame_of(stack: str) -> tuple[str, str, str] | None:
    """The innermost function of a stack: its place, its text and its name."""
    frames = _FRAME.findall(stack)
    if not frames:
        return None
    file, line, function, text = frames[-1]
    return short_place(file, line), text.strip()[:MAX_TEXT], plain_function(function.strip())


def _module_of(text: str) -> tuple[str, str]:
    """Path and class of a module: `L['self'].layers.0:Block` is `layers.0`.

    What stands first is a variable of the function that was compiled.
    """
    path, _, kind = text.rpartition(":")
    steps = ["".join(step) for step in _MODULE_STEP.findall(path)]
    steps = [step for step in steps if step not in ("_modules", "_orig_mod")]
    inner = steps[1:] if re.match(r"[LG]\[", path) else steps
    return ".".join(inner)[:MAX_TEXT] or (steps[0] if steps else path), kind[:MAX_TEXT]


# -- breaks and compilations -----------------------------------------------------------------------

_BROKEN_AT = regex(r"in user code at (.+):(\d+)$", re.MULTILINE)
_REASON = "Graph Break Reason: "
_EXPLAINED = regex(r"^(.*)\n  Explanation: ", re.MULTILINE)
_BREAK_HINT = regex(r"^  Hint: (.*)$", re.MULTILINE)
_SKIPPED = "cannot properly resume"


def _break_of(text: str, times: int) -> GraphBreak:
    """What the compiler wrote about a graph break, in its parts."""
    place = _BROKEN_AT.search(text)
    explained, hint = _EXPLAINED.search(text), _BREAK_HINT.search(text)
    _, _, stated = text.partition(_REASON)
    reason = explained[1] if explained else stated or text
    if not stated and _SKIPPED in text:
        reason = "the compiler cannot go on after this call, and runs the function without it"
    frame = _frame_of(text)
    where = short_place(place[1], place[2]) if place else frame[0] if frame else ""
    is_there = frame is not None and frame[0] == where
    return GraphBreak(
        _first_line(reason),
        where,
        frame[1] if frame and is_there else "",
        frame[2] if frame and is_there else "",
        _first_line(hint[1]) if hint else "",
        times,
    )


def merged_breaks(breaks: Iterable[GraphBreak]) -> list[GraphBreak]:
    """Breaks at the same place for the same reason as one."""
    merged: dict[tuple[str, str], GraphBreak] = {}
    for graph_break in breaks:
        key = (graph_break.place, graph_break.reason)
        earlier = merged.get(key)
        merged[key] = (
            graph_break
            if earlier is None
            else structs.replace(earlier, times=earlier.times + graph_break.times)
        )
    return list(merged.values())


_NUMBER = regex(r"^\d+/\d+(?:_\d+)?: ")
_ASIDE = regex(r"\s{2,}#.*$")


def _compilation_of(row: _CompilationRow) -> Compilation:
    reason = _ASIDE.sub("", _NUMBER.sub("", _first_line(row.recompile_reason)))
    # It stands within a sentence.
    reason = reason.replace("___stack0", "a value of the graph before").replace(". ", ", ")
    return Compilation(
        row.number,
        row.function,
        short_place(row.file, row.line) if row.file else "",
        max(row.seconds, 0.0) if row.seconds < float("inf") else 0.0,
        reason,
        _first_line(row.fail_reason),
    )


_SKIP = regex(r"^skipping cudagraphs? (?:due to )?|\s*\(\d+ instances?\)\.?|\s*Found from\s*:?")


def _skip_of(text: str, times: int) -> CaptureFailure:
    """Why a compiled graph is not captured, and where, as the compiler says it."""
    frame = _frame_of(text)
    reason = _SKIP.sub("", _first_line(text)).rstrip(" :.")
    return CaptureFailure(reason, frame[0] if frame else "", times)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:MAX_TEXT]


def bounded(kernels: Sequence[CompiledKernel]) -> tuple[tuple[CompiledKernel, ...], int]:
    """Not more kernels, and not more of their code, than is shown; how many are left out.

    >>> bounded([CompiledKernel("a"), CompiledKernel("b")])[1]
    0
    """
    room = MAX_CODE
    result: list[CompiledKernel] = []
    for kernel in kernels[:MAX_KERNELS]:
        is_kept = len(kernel.code) <= room
        room -= len(kernel.code) * is_kept
        result.append(kernel if is_kept else structs.replace(kernel, code="", is_cut=True))
    return tuple(result), len(kernels) - len(result)


# -- files of the compiler -------------------------------------------------------------------------


def read_output(files: Sequence[Path], kernel_files: Iterable[Path] = ()) -> CompiledCode:
    """What files of the compiler say: generated code, stacks of kernels, files of kernels.

    A file that is not what its name says raises DamagedError.
    """
    kernels: list[CompiledKernel] = []
    for folder in dict.fromkeys(file.parent for file in files):
        names = {file.name: file for file in files if file.parent == folder}
        rows = dict(_rows_in(names))
        code = _text_of(names.get(OUTPUT_CODE))
        graph = _GraphRow(code, kernels=rows)
        defined = _kernels_of(graph, _calls_of(graph))
        kernels += defined or [
            with_uses(CompiledKernel(name), [_use_of(row)]) for name, row in _by_kernel(rows)
        ]
    present = {kernel.file.rpartition("/")[2] for kernel in kernels}
    for file in kernel_files:
        if file.name not in present:
            text = _text_of(file)
            name = re.search(r"^def (triton_\w+)\(", text, re.MULTILINE)
            cut = len(text) > MAX_KERNEL_CODE
            kernels.append(
                CompiledKernel(
                    name[1] if name else "", file.name, code=text[:MAX_KERNEL_CODE], is_cut=cut
                )
            )
    source = files[0].name if files else next((file.name for file in kernel_files), "")
    kept, left_out = bounded(kernels)
    return CompiledCode(source, kept, left_out=left_out)


def _by_kernel(rows: Mapping[str, _KernelRow]) -> Iterator[tuple[str, _KernelRow]]:
    for handle, row in rows.items():
        yield handle.rpartition(":")[0] or handle, row


def _rows_in(names: Mapping[str, Path]) -> Iterator[tuple[str, _KernelRow]]:
    """Kernels of the JSON files of provenance in one folder, by their names and handles."""
    for name in (*STACKS, INFORMATION):
        if name not in names:
            continue
        values: Any = decode_small_json(small_content(names[name], _HINT), names[name], _HINT)
        if not isinstance(values, dict):
            raise DamagedError(names[name], f"a {type(values).__name__}, and no object", _HINT)
        for kernel, about in values.items():
            stacks = about.get("stack_traces") if isinstance(about, dict) else about
            nodes = about.get("post_grad_nodes") if isinstance(about, dict) else ()
            if isinstance(stacks, list):
                yield (
                    kernel,
                    _KernelRow(
                        [node for node in nodes or () if isinstance(node, str)],
                        stacks=[stack for stack in stacks if isinstance(stack, str)],
                    ),
                )


def _text_of(file: Path | None) -> str:
    return "" if file is None else small_content(file, _HINT).decode(errors="replace")
