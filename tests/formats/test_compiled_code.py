"""Compiled code beside a recording: what its files say, and files that say nonsense."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from timesink.errors import UnreadableError
from timesink.formats.compiled_code import MAX_KERNEL_CODE, SCHEMA, read_compiled, read_output
from timesink.model.compiled_code import CompiledCode, CompiledKernel

KERNEL = "triton_poi_fused_add_relu_0"
CODE = f"""# AOT ID: ['0_forward']
# kernel path: /tmp/inductor/ab/cab.py
# Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.add, aten.relu]
# Graph fragment:
#   %add : Tensor = call_function[target=torch.ops.aten.add.Tensor](args = (%a, %b))
{KERNEL} = async_compile.triton('triton_', '''
def triton_(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
''', device_str='cuda')
def call(args):
    {KERNEL}.run(buf0, buf1, 8, stream=stream0)
"""
STACK = 'File "/home/me/net/model.py", line {line}, in forward\n    x = torch.relu(x + y)\n   ^^'


def file_of(folder: Path, **fields: Any) -> Path:
    path = folder / "trace.compiled.json.gz"
    content = {"schema": SCHEMA, "graphs": [], **fields}
    path.write_bytes(gzip.compress(msgspec.json.encode(content)))
    return path


def graph(**kernels: dict[str, Any]) -> dict[str, Any]:
    return {"code": CODE, "numbers": ["0/0"], "keys": ["fkey"], "kernels": kernels}


def only_kernel(code: CompiledCode) -> CompiledKernel:
    (kernel,) = code.kernels
    return kernel


class TestKernels:
    def test_operators_modules_and_lines_of_each_call_in_its_order(self, tmp_path: Path):
        calls = {
            f"{KERNEL}:{number}": {
                "modules": [f"L['self']._modules['layers']._modules['{number}'].act:ReLU"],
                "stacks": [STACK.format(line=number)],
            }
            for number in (10, 2)
        }
        kernel = only_kernel(read_compiled(file_of(tmp_path, graphs=[graph(**calls)])))
        assert (kernel.name, kernel.graphs) == (KERNEL, ("fkey",))
        assert kernel.operators == ("aten::add", "aten::relu")
        assert [use.modules for use in kernel.uses] == [("layers.2.act",), ("layers.10.act",)]
        assert kernel.uses[0].places == ("net/model.py:2",)
        assert kernel.uses[0].lines == ("x = torch.relu(x + y)",)
        assert kernel.code.startswith("def triton_(")

    @pytest.mark.parametrize(
        ("written", "path"),
        [
            ("L['self'].model.layers.0:Block", "model.layers.0"),
            ("G['net'].blocks[3].norm:LayerNorm", "blocks.3.norm"),
            ("L['self']._orig_mod.head:Linear", "head"),
            ("L['self']:Net", "self"),
        ],
    )
    def test_paths_of_modules(self, tmp_path: Path, written: str, path: str):
        calls = {f"{KERNEL}:1": {"modules": [written]}}
        kernel = only_kernel(read_compiled(file_of(tmp_path, graphs=[graph(**calls)])))
        assert kernel.uses[0].modules == (path,)

    def test_only_calls_that_its_code_makes(self, tmp_path: Path):
        code = f"{CODE}    # [Provenance debug handles] {KERNEL}:3, extern_kernels.mm:4\n"
        calls = {handle: {} for handle in (f"{KERNEL}:1", "extern_kernels.mm:4", f"{KERNEL}:3")}
        read = read_compiled(file_of(tmp_path, graphs=[{**graph(**calls), "code": code}]))
        assert [call.name for call in read.graphs[0].calls] == [KERNEL, "aten::mm"]
        assert len(only_kernel(read).uses) == 1

    def test_long_code_is_cut_and_says_so(self, tmp_path: Path):
        long = {**graph(), "code": CODE.replace("    pass", "    pass\n" * MAX_KERNEL_CODE)}
        kernel = only_kernel(read_compiled(file_of(tmp_path, graphs=[long])))
        assert (len(kernel.code), kernel.is_cut) == (MAX_KERNEL_CODE, True)

    def test_code_that_breaks_off_has_the_kernels_before(self, tmp_path: Path):
        cut = {**graph(), "code": CODE + "other = async_compile.triton('triton_', '''\ndef tri"}
        assert only_kernel(read_compiled(file_of(tmp_path, graphs=[cut]))).name == KERNEL


class TestBreaks:
    TEXT = (
        "Graph break in user code at /home/me/net/model.py:22\n"
        "Graph Break Reason: Encountered graph break when tracing CALL:\n\n"
        "Unsupported Tensor.item() call\n  Explanation: it is not traced.\n"
        "  Hint: Set capture_scalar_outputs.\n\nUser code traceback:\n"
        '  File "/home/me/net/model.py", line 22, in forward\n    if x.item() > 1:\n'
    )

    def test_place_line_reason_and_hint(self, tmp_path: Path):
        rows = [{"text": self.TEXT, "number": number} for number in ("0/0", "0/1")]
        (found,) = read_compiled(file_of(tmp_path, breaks=rows)).breaks
        assert (found.place, found.line) == ("net/model.py:22", "if x.item() > 1:")
        assert found.reason == "Unsupported Tensor.item() call"
        assert found.hint == "Set capture_scalar_outputs."
        assert found.times == 2

    def test_a_function_that_is_run_without_the_compiler(self, tmp_path: Path):
        text = (
            "Graph break: torch.compile cannot properly resume from this graph break\n"
            '  File "train.py", line 7, in step\n    with lock:\n'
        )
        (found,) = read_compiled(file_of(tmp_path, breaks=[{"text": text}])).breaks
        assert (found.place, found.line) == ("train.py:7", "with lock:")

    def test_reasons_of_compiling_once_more_without_numbers_and_asides(self, tmp_path: Path):
        reason = "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 12   # a.py:3"
        row = {"number": "0/1", "function": "forward", "file": "a.py", "line": 3}
        rows = [{**row, "seconds": 2.5, "recompile_reason": reason}]
        (again,) = read_compiled(file_of(tmp_path, compilations=rows)).compilations
        assert again.reason == "tensor 'x' size mismatch at index 0, expected 8, actual 12"
        assert (again.place, again.seconds) == ("a.py:3", 2.5)


class TestFilesOfTheCompiler:
    def test_code_and_stacks_of_a_folder(self, tmp_path: Path):
        code, stacks = tmp_path / "output_code.py", tmp_path / "kernel_information.json"
        code.write_text(CODE)
        stacks.write_text(json.dumps({f"{KERNEL}:1": {"stack_traces": [STACK.format(line=5)]}}))
        kernel = only_kernel(read_output([code, stacks]))
        assert kernel.operators == ("aten::add", "aten::relu")
        assert kernel.uses[0].places == ("net/model.py:5",)

    def test_stacks_without_code(self, tmp_path: Path):
        stacks = tmp_path / "inductor_generated_kernel_to_stack_traces.json"
        stacks.write_text(json.dumps({KERNEL: [STACK.format(line=5)]}))
        kernel = only_kernel(read_output([stacks]))
        assert (kernel.name, kernel.uses[0].places) == (KERNEL, ("net/model.py:5",))

    def test_stacks_that_are_no_object_are_damaged(self, tmp_path: Path):
        stacks = tmp_path / "kernel_information.json"
        stacks.write_text("[]")
        with pytest.raises(UnreadableError):
            read_output([stacks])

    def test_a_file_of_a_kernel(self, tmp_path: Path):
        file = tmp_path / f"c{'a' * 51}.py"
        file.write_text(f"import triton\n@triton.jit\ndef {KERNEL}(x):\n    pass\n")
        kernel = only_kernel(read_output([], [file]))
        assert (kernel.name, kernel.file) == (KERNEL, file.name)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"schema": "timesink/compiled-code/9", "graphs": []}',
        b'{"schema": "timesink/compiled-code/1", "graphs": {}}',
        b'{"schema": "timesink/compiled-code/1", "graphs": [{"code": 7}]}',
        b'{"schema": "timesink/compiled-code/1", "graphs": [], "breaks": [null]}',
        b'{"schema": "timesink/compiled-code/1", "graphs": [], "left_out": 1e999}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_what_is_no_such_file_is_damaged(tmp_path: Path, content: bytes):
    path = tmp_path / "trace.compiled.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableError):
        read_compiled(path)


@pytest.mark.parametrize(
    "text",
    ["", "\0", "Graph break in user code at :\n", 'File "' * 5000, "a\n  Explanation: " * 5000],
)
def test_odd_texts_are_text(tmp_path: Path, text: str):
    calls = {f"{KERNEL}:x": {"modules": [text], "stacks": [text], "nodes": [text]}}
    code = read_compiled(file_of(tmp_path, graphs=[graph(**calls)], breaks=[{"text": text}]))
    assert only_kernel(code).name == KERNEL
