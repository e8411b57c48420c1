"""What torch.compile generates, and where it gave up: kept while the program runs.

PyTorch tells whoever listens to its structured log what it compiles: generated code, the places
that each kernel comes from, breaks of a graph, reasons for compiling once more.  Modules stand in
the graphs that Dynamo and Inductor work on, which are looked at as they pass.  All of it differs
between versions of torch: what is not there is left out, and nothing in here may end the program.
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from timesink.recorder.folder import COMPILED_CODE, Notebook

SCHEMA = "timesink/compiled-code/1"
STRUCTURED_LOG = "torch.__trace"
GRAPHS_LOG = "torch._inductor.cudagraph_utils.__cudagraphs"
"""Says why a compiled graph is not captured."""

MAX_GRAPHS = 2000
MAX_CODE = 2 << 20
"""Characters of the code of a graph; a network of some hundred layers has one million."""
MAX_CODE_OF_ALL = 64 << 20
MAX_ENTRIES = 5000
"""Breaks, compilations and kernels of a graph each."""
MAX_TEXT = 4000
"""Characters of a reason: compilers add their own stack."""
NOTHING_COMPILED = "no compiled code: torch.compile compiled nothing before the recording ended"

_HANDLES = re.compile(r"\[Provenance debug handles\] ([^\n]+)")
_HANDLE = re.compile(r"[\w.]+:\d+")

_BASIC_PROVENANCE = 2
"""Inductor notes which nodes each kernel comes from, and no more than that."""


class CompilerWatch:
    """Listens to the compiler from the import of torch to the end of the recording."""

    def __init__(self, torch: Any, notebook: Notebook, *, is_wanted: bool) -> None:
        self._torch, self._notebook = torch, notebook
        self._is_on = False
        self._is_over = not is_wanted
        self._pid = os.getpid()
        self._listener = _Listener(self._note)
        self._lock = threading.Lock()
        self._graphs: list[dict[str, Any]] = []
        self._left_out = 0
        self._code_size = 0
        self._breaks: dict[tuple[str, str], int] = {}
        self._compilations: list[dict[str, Any]] = []
        self._skips: dict[str, int] = {}
        # What a compilation has told so far, by its number.
        self._modules: dict[str, dict[str, set[str]]] = {}
        self._generated: dict[int, dict[str, Any]] = {}
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        if is_wanted:
            with suppress(Exception):
                for name in (STRUCTURED_LOG, GRAPHS_LOG):
                    log = logging.getLogger(name)
                    log.addHandler(self._listener)
                    # In front: torch's own takes itself out at the first record, and the handler
                    # behind it does not get that one.
                    log.handlers.insert(0, log.handlers.pop())
                self._is_on = True

    # -- what the compiler says ------------------------------------------------------------------

    def _note(self, record: logging.LogRecord) -> None:
        if self._is_over or self._pid != os.getpid():
            return
        facts = getattr(record, "metadata", None)
        with self._lock:
            if not isinstance(facts, dict):
                message = record.getMessage()[:MAX_TEXT]
                _count(self._skips, message)
                return
            self._prepare()
            self._take_facts(facts, getattr(record, "payload", None))

    def _take_facts(self, facts: dict[str, Any], payload: object) -> None:
        number = _number_of(facts)
        artifact = facts.get("artifact")
        name = artifact.get("name") if isinstance(artifact, dict) else None
        text = payload if isinstance(payload, str) else ""
        if "inductor_output_code" in facts:
            self._add_graph(number, facts["inductor_output_code"], text)
        elif name == "inductor_provenance_tracking_kernel_stack_traces":
            self._add_stacks(number, _json(text))
        elif name in ("fx_graph_cache_miss", "fx_graph_cache_hit", "fx_graph_cache_bypass"):
            key = (_json(text) or {}).get("key")
            graph = self._last_graph(number)
            if graph is not None and isinstance(key, str) and key not in graph["keys"]:
                graph["keys"].append(key)
        elif name == "dynamo_graph_break_reason":
            # Behind the stack of the program stands that of the compiler.
            head, _, _ = text.partition("\nTraceback (most recent call last)")
            _count(self._breaks, (number, head[: 4 * MAX_TEXT]))
        elif "compilation_metrics" in facts and len(self._compilations) < MAX_ENTRIES:
            self._compilations.append(_compilation(number, facts["compilation_metrics"]))

    def _add_graph(self, number: str, about: object, code: str) -> None:
        kernels = self._generated.pop(threading.get_ident(), {})
        file = str((about.get("filename") if isinstance(about, dict) else None) or "")
        for graph in self._graphs:
            # Compiled once more for other guards, the code may be the same.
            if (graph["file"], graph["code"]) == (file, code):
                graph["numbers"].append(number)
                return
        text = code[: min(MAX_CODE, MAX_CODE_OF_ALL - self._code_size)]
        if not text or len(self._graphs) >= MAX_GRAPHS:
            self._left_out += 1
            return
        self._code_size += len(text)
        self._graphs.append(
            {
                "numbers": [number],
                "keys": [],
                "file": file,
                "code": text,
                "is_cut": len(text) < len(code),
                "kernels": _called(kernels, code),
            }
        )

    def _add_stacks(self, number: str, stacks: object) -> None:
        """Lines of each kernel; modules too, where its graph came from a cache."""
        graph = self._last_graph(number)
        if graph is None or not isinstance(stacks, dict):
            return
        modules = self._modules.get(number, {})
        for kernel, lines in _called(stacks, graph["code"]).items():
            if not isinstance(lines, list):
                continue
            texts = [text for text in lines if isinstance(text, str)]
            entry = graph["kernels"].setdefault(str(kernel), {"nodes": []})
            entry["stacks"] = list(dict.fromkeys(map(_innermost, texts)))
            if not entry.get("modules"):
                named = (module for text in texts for module in sorted(modules.get(text, ())))
                entry["modules"] = list(dict.fromkeys(named))

    def _last_graph(self, number: str) -> dict[str, Any] | None:
        """What the compilation generated last; further facts of it follow its code."""
        latest = self._graphs[::-1]
        return next((graph for graph in latest if graph["numbers"][-1] == number), None)

    # -- the graphs that it works on -------------------------------------------------------------

    def _prepare(self) -> None:
        """Ask the compiler for provenance, and look at its graphs; parts of it load late."""
        if not self._replaced:
            with suppress(Exception):
                trace = import_module("torch._inductor.config").trace
                if not trace.provenance_tracking_level:
                    trace.provenance_tracking_level = _BASIC_PROVENANCE
        done = {name for _, name, _, _ in self._replaced}
        for module, owner, name, watch in (
            ("torch._dynamo.output_graph", "OutputGraph", "call_user_compiler", self._traced),
            ("torch._inductor.graph", "GraphLowering", "codegen", self._lowered),
        ):
            kind = getattr(sys.modules.get(module), owner, None)
            if name not in done and hasattr(kind, name):
                self._watch(kind, name, watch)

    def _watch(self, kind: Any, name: str, watch: Callable[..., None]) -> None:
        original = getattr(kind, name)

        def compiler_stand_in(*args: Any, **kwargs: Any) -> Any:
            """Calls the compiler, and looks at what it was given."""
            result = original(*args, **kwargs)
            if not self._is_over:
                with suppress(Exception):
                    watch(*args)
            return result

        # Modules are needed by what the compiler says while it works on the graph.
        def compiler_stand_in_before(*args: Any, **kwargs: Any) -> Any:
            if not self._is_over:
                with suppress(Exception):
                    watch(*args)
            return original(*args, **kwargs)

        is_before = watch == self._traced
        mine = compiler_stand_in_before if is_before else compiler_stand_in
        setattr(kind, name, mine)
        self._replaced.append((kind, name, original, mine))

    def _traced(self, _graph: Any, traced: Any, *_rest: Any) -> None:
        """Dynamo has traced a graph: the stack of a call says which module made it."""
        context = self._torch._guards.CompileContext.current_compile_id()  # noqa: SLF001 - no other
        modules = self._modules.setdefault(str(context), {})
        for node in traced.graph.nodes:
            stack, module = node.meta.get("stack_trace"), _module_of(node)
            if node.op.startswith("call") and stack and module and len(modules) < MAX_ENTRIES:
                modules.setdefault(stack, set()).add(module)

    def _lowered(self, lowering: Any, *_rest: Any) -> None:
        """Inductor has generated the code of a graph: which nodes went into each kernel."""
        nodes = {node.name: node for node in lowering.graph.nodes}
        debug = sys.modules["torch._inductor.debug"]
        kernels: dict[str, Any] = {}
        sources = debug._inductor_triton_kernel_to_post_grad_node_info  # noqa: SLF001 - no other
        for kernel, names in list(sources.items())[:MAX_ENTRIES]:
            used = [nodes[name] for name in names if name in nodes]
            modules = filter(None, map(_module_of, used))
            kernels[kernel] = {
                "nodes": list(names),
                "operators": list(dict.fromkeys(filter(None, map(_operator_of, used)))),
                "modules": list(dict.fromkeys(modules)),
                "stacks": list(dict.fromkeys(_stacks(used))),
            }
        self._generated[threading.get_ident()] = kernels

    # -- the end ---------------------------------------------------------------------------------

    def end(self) -> None:
        """Leave what was compiled, and listen no more."""
        if self._is_over:
            return
        self._is_over = True
        with suppress(Exception):
            for name in (STRUCTURED_LOG, GRAPHS_LOG):
                logging.getLogger(name).removeHandler(self._listener)
            for kind, name, original, mine in self._replaced:
                if getattr(kind, name) is mine:
                    setattr(kind, name, original)
        if self._pid == os.getpid() and self._is_on:
            self._leave()

    def forget(self) -> None:
        """This process is a fork: what was compiled is that of the process it was made from."""
        self._is_over = True

    def _leave(self) -> None:
        """Write the file, which has its name only once it is whole."""
        if not (self._graphs or self._breaks or self._compilations or self._skips):
            self._notebook.add("remark", text=NOTHING_COMPILED)
            return
        content = {
            "schema": SCHEMA,
            "torch": str(getattr(self._torch, "__version__", "")),
            "graphs": self._graphs,
            "left_out": self._left_out,
            "breaks": _counted(self._breaks, lambda key: {"number": key[0], "text": key[1]}),
            "compilations": self._compilations,
            "skips": _counted(self._skips, lambda key: {"text": key}),
        }
        path = self._notebook.control / COMPILED_CODE.format(pid=self._pid)
        part = path.with_suffix(".unfinished")
        try:
            _write_packed(part, content)
            part.replace(path)
        except Exception as error:  # noqa: BLE001 - a full disk, or text that is none
            with suppress(OSError):
                part.unlink()
            why = str(error).partition("\n")[0]
            self._notebook.add("remark", text=f"the compiled code was not written: {why}")


class _Listener(logging.Handler):
    """Hands on what is logged; whatever fails in there is no matter of the program."""

    def __init__(self, note: Callable[[logging.LogRecord], None]) -> None:
        super().__init__(logging.DEBUG)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):
            self._note(record)


def _number_of(facts: dict[str, Any]) -> str:
    """The number of a compilation, as `Torch-Compiled Region: 0/0` has it."""
    frame, times = facts.get("frame_id"), facts.get("frame_compile_id")
    return f"{frame}/{times}" if frame is not None and times is not None else ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _compilation(number: str, metrics: Any) -> dict[str, Any]:
    """What the compiler says of one compilation, as far as it is of use."""
    facts = metrics if isinstance(metrics, dict) else {}
    seconds = facts.get("entire_frame_compile_time_s")
    if not isinstance(seconds, (int, float)):
        microseconds = facts.get("duration_us")
        seconds = microseconds / 1e6 if isinstance(microseconds, (int, float)) else 0.0
    texts = {
        name: str(facts[key])[:MAX_TEXT]
        for name, key in (
            ("number", "compile_id"),
            ("function", "co_name"),
            ("file", "co_filename"),
            ("recompile_reason", "recompile_reason"),
            ("fail_reason", "fail_reason"),
            ("skip_reason", "cudagraph_skip_reason"),
        )
        if facts.get(key)
    }
    line = facts.get("co_firstlineno")
    return {
        "number": number,
        **texts,
        "line": line if isinstance(line, int) else 0,
        "seconds": seconds,
    }


def _module_of(node: Any) -> str:
    """The path of the module that made a call: in the backward pass, of its forward call."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    last = list(stack.values())[-1] if stack else None
    path = last[0] if isinstance(last, tuple) and last else ""
    kind = last[1] if isinstance(last, tuple) and len(last) > 1 else None
    name = getattr(kind, "__name__", str(kind or "").rpartition(".")[2])
    return f"{path}:{name}" if isinstance(path, str) and path else ""


def _operator_of(node: Any) -> str:
    operator = node.meta.get("original_aten")
    name = getattr(operator, "_overloadpacket", operator)
    return "" if name is None else str(name).replace(".", "::", 1)


def _stacks(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        stack = node.meta.get("stack_trace")
        if isinstance(stack, str) and stack:
            yield _innermost(stack)


def _called(kernels: dict[str, Any], code: str) -> dict[str, Any]:
    """Of kernels those that code calls: the compiler may still know those of the graph before."""
    handles = {handle for listed in _HANDLES.findall(code) for handle in _HANDLE.findall(listed)}
    called = [kernel for kernel in kernels if not handles or kernel in handles]
    return {kernel: kernels[kernel] for kernel in called[:MAX_ENTRIES]}


def _innermost(stack: str) -> str:
    """The last function of a stack, with its line and its text."""
    place = stack.rfind('File "')
    return stack[max(place, 0) :][:MAX_TEXT].rstrip(" \n^~")


def _count(counts: dict[Any, int], key: Any) -> None:
    if key in counts or len(counts) < MAX_ENTRIES:
        counts[key] = counts.get(key, 0) + 1


def _counted(counts: dict[Any, int], fields: Callable[[Any], dict[str, Any]]) -> list[Any]:
    return [{**fields(key), "times": times} for key, times in counts.items()]


def _write_packed(path: Path, content: object) -> None:
    with gzip.open(path, "wt", 4, encoding="utf-8", errors="replace") as writing:
        json.dump(content, writing)
