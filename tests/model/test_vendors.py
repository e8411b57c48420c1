"""The tables of vendors: the only place of a maker's words, and all that a new maker needs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import timesink
from timesink.model import vendors

PACKAGE = Path(timesink.__file__).parent

WORDS = re.compile(
    r"\b(?:cuda|cupti|hip[A-Z_]|rocm|roctracer|cnrt|cnnl|mlu|npu|ascend|hccl|hcom_|nccl|rccl|msccl|cncl"
    r"|xpu|oneccl|xccl|mtia|sycl|level_zero|aclrt|aclnn|cambricon|nvidia|amd)",
    re.IGNORECASE,
)

ALLOWED = {
    # The recorder runs in any image, on the standard library: what it asks for are the libraries
    # and programs of makers themselves.
    "recorder/": "libraries of makers",
    # Formats of one maker spell its tables and columns.
    "formats/nsys": "tables of Nsight Systems",
    "formats/rocprof.py": "sections of rocprofv3",
    "formats/collective_logs/": "keys of NCCL's logs, and what the formats are called",
    "answers/info_untimed.py": "what the formats are called",
    # A dialect whose lanes are called CAT_XPU whoever made the accelerator.
    "formats/counters.py": "lanes of a dialect",
    "sources/run_facts.py": "categories of a dialect",
    # What Kineto calls its categories, on any device.
    "formats/chrome/writer.py": "categories of Kineto",
    # The columns and routes of the former TensorBoard plugin are frozen.
    "server/former.py": "a route of the former plugin",
    "answers/plugin/": "words of the former plugin",
    # Variables that NCCL, RCCL and PyTorch read.
    "watcher/collective_logs.py": "variables of libraries",
    # Types of C++ in kernel names.
    "analyses/kernels/families.py": "types",
}
"""Where a maker's words stand in texts that are no sentences, and why."""


def _texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """Texts of a module that are neither docstrings nor sentences for people."""
    nodes = [*ast.walk(tree)]
    loose = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, (str, bytes)):
            continue
        text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        if id(node) not in loose and len(text.split()) < 4 and "`" not in text:
            yield node


def _modules() -> dict[str, Path]:
    return {file.relative_to(PACKAGE).as_posix(): file for file in sorted(PACKAGE.rglob("*.py"))}


def _uses(file: Path) -> list[str]:
    """The makers' words of a module."""
    text = file.read_text(encoding="utf-8")
    # Most modules have none at all, and need not be parsed.
    nodes = _texts(ast.parse(text)) if WORDS.search(text) else ()
    return [f"{node.lineno}: {node.value!r}" for node in nodes if WORDS.search(str(node.value))]


def test_no_other_module_spells_a_makers_words() -> None:
    allowed = ("model/vendors.py", *ALLOWED)
    other_modules = {
        name: file for name, file in _modules().items() if not name.startswith(allowed)
    }
    assert len(other_modules) > 200
    assert {name: words for name, file in other_modules.items() if (words := _uses(file))} == {}


def test_every_exception_is_needed() -> None:
    def is_needed(place: str) -> bool:
        return any(_uses(file) for name, file in _modules().items() if name.startswith(place))

    assert [place for place in ALLOWED if not is_needed(place)] == []


def test_names_are_distinct() -> None:
    names = [row.name for row in vendors.VENDORS]
    assert len(set(names)) == len(names)
    assert vendors.NO_ACCELERATOR not in names
    assert vendors.UNKNOWN not in names


@pytest.mark.parametrize("row", vendors.VENDORS, ids=lambda row: row.name)
def test_a_makers_own_categories_tell_it(row: vendors.Vendor) -> None:
    categories = [*row.host_categories, *row.device_categories, *row.flow_categories]
    categories = [category for category in categories if re.search(row.categories, category)]
    if categories:
        assert vendors.recognise_vendor(categories=categories) == row.name


@pytest.mark.parametrize("word", ["gpu", "mlu", "npu", "xpu", "mtia", "hpu", "cuda", "rocm"])
def test_every_list_of_device_words_has_every_maker(word: str) -> None:
    assert re.fullmatch(vendors.DEVICE_WORDS, word)


def test_what_is_in_names_of_kernels_is_told_by_its_library() -> None:
    assert vendors.library_in("hcom_allReduce__1") == "hccl"
    assert vendors.library_in("mscclKernel_Sum") == "msccl"
    assert vendors.library_in("__amd_rocclr_copyBuffer") is None
    assert vendors.is_collective_kernel("oneccl_allreduce_kernel")
    assert not vendors.is_collective_kernel("__amd_rocclr_copyBuffer")


ROW = """
[acme]
title = "ACME (TURBO)"
device_word = "TURBO"
device_names = "^acme"
categories = "^turbo_"
host_categories = { runtime = ["turbo_runtime"] }
device_categories = { memcpy = ["turbo_copy"] }
flow_categories = { launch = ["turbo_flow"] }
stream_arguments = ["turbo lane"]
version_keys = ["turbo"]
torch_types = [42]
call_prefixes = ["trb"]
waiting_calls = "trbHold"
collectives = ["tccl"]
matrix_kernels_2026 = ["turbomma"]
"""
"""What somebody adds to the table for a maker that did not exist when the rest was written."""

PROGRAM = """
import json, sys
from pathlib import Path
from timesink.model import data_files
own_tables = data_files.toml_tables
data_files.toml_tables = lambda path: own_tables(Path(sys.argv[2])) | own_tables(path)
from timesink.model import vendors

from timesink.analyses.behaviour.functions import host_class
from timesink.analyses.communication_calls import library_of
from timesink.analyses.kernels.families import normalised_name
from timesink.analyses.names import uses_tensor_cores
from timesink.analyses.links import launching_calls
from timesink.analyses.memory_curve import memory_device
from timesink.analyses.names import device_word
from timesink.analyses.steps import is_communication
from timesink.answers.info_report import Info
from timesink.sources.opening import open_trace

trace = open_trace(sys.argv[1], cache=False, jobs=1)
device, host = trace.device, trace.host
names = host["name"].cast(str).to_list()
print(json.dumps({
    "vendor": trace.metadata.vendor,
    "title": vendors.TITLES[trace.metadata.vendor],
    "word": device_word(trace),
    "versions": dict(trace.metadata.versions),
    "device": dict(zip(device["name"].cast(str), device["kind"].cast(str))),
    "streams": sorted(set(device["stream"].cast(str))),
    "flows": trace.flows["kind"].cast(str).unique().to_list(),
    "launched by": [names[row] if row >= 0 else None for row in launching_calls(trace)],
    "talks": device["name"].cast(str).filter(is_communication(trace)).to_list(),
    "library": library_of("tccl:all_reduce"),
    "classes": [host_class("runtime", name) for name in ("trbHold", "trbMemcpyAsync", "trbLaunch")],
    "normalised": normalised_name("trbLaunchKernel"),
    "kernel": normalised_name("tccl_AllReduce_ring"),
    "matrix": uses_tensor_cores("turbomma_128x128"),
    "memory": memory_device(42, 1, "GPU"),
}))
"""


def _event(name: str, category: str, ts: float, dur: float, **args: object) -> dict[str, object]:
    on_device = category in {"kernel", "turbo_copy"}
    lane = {"pid": 0, "tid": 7} if on_device else {"pid": 10, "tid": 10}
    return {"ph": "X", "name": name, "cat": category, "ts": ts, "dur": dur, **lane, "args": args}


def test_a_new_maker_is_one_row(tmp_path: Path) -> None:
    """Its events are read, recognised, linked, classed and named by every analysis."""
    flow = {"cat": "turbo_flow", "id": 1, "name": "turbo_flow"}
    events = [
        _event("aten::mm", "cpu_op", 0, 100),
        _event("trbLaunchKernel", "turbo_runtime", 10, 5, correlation=1),
        _event("trbMemcpyAsync", "turbo_runtime", 20, 5, correlation=2),
        _event("trbLaunchKernel", "turbo_runtime", 30, 5, correlation=3),
        _event("trbHold", "turbo_runtime", 50, 40),
        _event("turbomma_128x128", "kernel", 40, 10, correlation=1, device=0, **{"turbo lane": 7}),
        _event(
            "tccl_AllReduce_ring", "kernel", 60, 9, correlation=3, device=0, **{"turbo lane": 7}
        ),
        _event("Copy HtoD", "turbo_copy", 80, 5, correlation=2, device=0, **{"turbo lane": 8}),
        {"ph": "s", "pid": 10, "tid": 10, "ts": 10, **flow},
        {"ph": "f", "pid": 0, "tid": 7, "ts": 40, "bp": "e", **flow},
    ]
    trace = tmp_path / "acme.json"
    properties = [{"id": 0, "name": "ACME Turbo 9"}]
    trace.write_text(
        json.dumps({"deviceProperties": properties, "turbo_version": "3", "traceEvents": events})
    )
    row = tmp_path / "acme.toml"
    row.write_text(ROW)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(trace), str(row)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "vendor": "acme",
        "title": "ACME (TURBO)",
        "word": "TURBO",
        "versions": {"turbo_version": "3"},
        "device": {
            "turbomma_128x128": "kernel",
            "tccl_AllReduce_ring": "kernel",
            "Copy HtoD": "memcpy",
        },
        "streams": ["7", "8"],
        "flows": ["launch"],
        "launched by": ["trbLaunchKernel", "trbLaunchKernel", "trbMemcpyAsync"],
        "talks": ["tccl_AllReduce_ring"],
        "library": "tccl",
        "classes": ["cpu_sync", "cpu_copy", "cpu_launch"],
        "normalised": "LaunchKernel",
        "kernel": "tccl AllReduce",
        "matrix": True,
        "memory": "TURBO1",
    }
