"""Bytes of memory-bound operators against the tensors that PyTorch itself reads and makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from timesink.analyses.work.arguments import CallArguments, parse_inputs, parse_values
from timesink.analyses.work.formulas import Work, work_of

torch = pytest.importorskip("torch")

Case = tuple[str, Callable[..., Any], list[Any]]


def _float(*shape: int) -> Any:
    return torch.rand(*shape)


def _half(*shape: int) -> Any:
    return torch.rand(*shape).bfloat16()


def _integers(*shape: int) -> Any:
    return torch.randint(1, 5, shape)


def _cases() -> list[Case]:
    f = torch.nn.functional
    return [
        ("add", torch.add, [_float(4, 6), _float(6)]),
        ("mul", torch.mul, [_half(4, 6), _float(4, 6)]),
        ("mul", torch.mul, [_integers(4, 6), _float(4, 1)]),
        ("mul", lambda x: x * 0.5, [_half(4, 6)]),
        ("div", torch.div, [_integers(4, 6), _integers(4, 6)]),
        ("eq", torch.eq, [_float(4, 6), _float(4, 6)]),
        ("where", torch.where, [_float(4, 6) > 0, _half(4, 6), _half(4, 6)]),
        ("exp", torch.exp, [_half(4, 6)]),
        ("sqrt", torch.sqrt, [_integers(4, 6)]),
        ("pow", lambda x: x**2, [_float(4, 6)]),
        ("clamp", lambda x: x.clamp(0, 1), [_float(4, 6)]),
        ("gelu", f.gelu, [_float(4, 6)]),
        ("silu", f.silu, [_half(4, 6)]),
        ("glu", f.glu, [_float(4, 6)]),
        ("addcmul", torch.addcmul, [_float(4, 6), _float(4, 6), _float(4, 6)]),
        ("lerp", lambda a, b: torch.lerp(a, b, 0.5), [_float(4, 6), _float(4, 6)]),
        ("tril", torch.tril, [_float(4, 6)]),
        ("isnan", torch.isnan, [_float(4, 6)]),
        ("bitwise_and", torch.bitwise_and, [_integers(4, 6), _integers(4, 6)]),
        ("complex", torch.complex, [_float(4, 6), _float(4, 6)]),
        ("flip", lambda x: x.flip(0), [_float(4, 6)]),
        ("sum", torch.sum, [_float(4, 6)]),
        ("sum", lambda x: x.sum(-1), [_float(4, 6)]),
        ("sum", lambda x: x.sum((0, 2), keepdim=True), [_integers(4, 6, 3).int()]),
        ("sum", lambda x: x.sum(0, dtype=torch.float32), [_half(4, 6)]),
        ("mean", lambda x: x.mean((0, 1)), [_float(4, 6, 3)]),
        ("amax", lambda x: x.amax(1), [_float(4, 6)]),
        ("max", torch.max, [_float(4, 6)]),
        ("max", lambda x: x.max(1), [_float(4, 6)]),
        ("maximum", torch.maximum, [_float(4, 6), _float(4, 6)]),
        ("argmax", lambda x: x.argmax(1), [_float(4, 6)]),
        ("any", lambda x: (x > 0).any(1), []),
        ("std", lambda x: x.std(1), [_float(4, 6)]),
        ("median", torch.median, [_float(4, 6)]),
        ("logcumsumexp", lambda x: x.logcumsumexp(1), [_float(4, 6)]),
        ("multinomial", lambda x: x.multinomial(2), [_float(4, 6)]),
        ("var_mean", lambda x: torch.var_mean(x, 1), [_float(4, 6)]),
        ("linalg_vector_norm", lambda x: torch.linalg.vector_norm(x, dim=1), [_float(4, 6)]),
        ("cumsum", lambda x: x.cumsum(1), [_integers(4, 6).int()]),
        ("sort", lambda x: x.sort(1), [_float(4, 6)]),
        ("sort", lambda x: x.sort(dim=0, stable=True), [_float(4, 6)]),
        ("topk", lambda x: x.topk(2, 1), [_float(4, 6)]),
        ("bucketize", lambda x: torch.bucketize(x, torch.rand(8)), []),
    ]


def _recorded_call(run: Callable[[], Any], name: str, folder: Path) -> CallArguments:
    """The first call of a name that the profiler writes down."""
    with torch.profiler.profile(record_shapes=True) as profile:
        run()
    path = folder / "trace.json"
    profile.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    event_args = next(event["args"] for event in events if event.get("name") == f"aten::{name}")
    texts = [json.dumps(event_args.get(key, [])) for key in ("Input Dims", "Input type")]
    strides = json.dumps(event_args.get("Input Strides", []))
    values = parse_values(json.dumps(event_args.get("Concrete Inputs", [])))
    return CallArguments(f"aten::{name}", parse_inputs(*texts, strides), values)


def _work(run: Callable[[], Any], name: str, folder: Path) -> Work:
    call_work = work_of(_recorded_call(run, name, folder))
    assert call_work is not None
    return call_work


def _bytes(tensors: Any) -> int:
    return sum(tensor.nbytes for tensor in tensors)


@pytest.mark.parametrize("place", range(len(_cases())), ids=lambda place: _cases()[place][0])
def test_reads_its_inputs_and_writes_its_results(place: int, tmp_path: Path) -> None:
    name, call, arguments = _cases()[place]
    if not arguments:  # inputs of which the operator sees something else
        wide = {"any": 1, "bucketize": 4}[name] * 24
        more = {"any": 0, "bucketize": 32}[name]
        arguments, read = [_float(4, 6)], wide + more
    else:
        read = _bytes(arguments)
    result = call(*arguments)
    work = _work(lambda: call(*arguments), name, tmp_path)
    results = result if isinstance(result, tuple) else (result,)
    # A plain number is recorded as a tensor without dimensions.
    assert work.read_bytes - read in (0, 8)
    assert work.written_bytes == _bytes(results)
    assert work.assumed == ""


def test_in_place_reads_and_writes_itself(tmp_path: Path) -> None:
    x, y = _half(4, 6), _half(4, 6)
    work = _work(lambda: x.add_(y), "add_", tmp_path)
    assert (work.read_bytes, work.written_bytes) == (96, 48)
    assert (work.vector_flop, work.precision) == (24, "bf16")


def test_what_is_overwritten_is_not_read(tmp_path: Path) -> None:
    x, y = _float(4, 6), _half(1, 6).expand(4, 6)
    assert _work(x.zero_, "zero_", tmp_path).read_bytes == 0
    copied = _work(lambda: x.copy_(y), "copy_", tmp_path)
    # The source is expanded: six elements of two bytes.
    assert (copied.read_bytes, copied.written_bytes, copied.flop) == (12, 96, 0)
    assert _work(x.normal_, "normal_", tmp_path).written_bytes == 96


def test_results_given_by_the_caller_are_not_read(tmp_path: Path) -> None:
    x, out = _float(4, 6), torch.empty(4, 6, dtype=torch.float64)
    work = _work(lambda: torch.mul(x, x, out=out), "mul", tmp_path)
    assert (work.read_bytes, work.written_bytes) == (192, 192)


def test_only_rows_that_are_taken_count(tmp_path: Path) -> None:
    table, rows = _float(1000, 8), _integers(5)
    taken, index = 5 * 8 * 4, 5 * 8
    for name, call in {
        "index_select": lambda: table.index_select(0, rows),
        "embedding": lambda: torch.nn.functional.embedding(rows, table),
    }.items():
        work = _work(call, name, tmp_path)
        assert (work.read_bytes, work.written_bytes) == (taken + index, taken), name
    columns = _integers(5, 1).expand(5, 8)
    gathered = _work(lambda: table.gather(0, columns), "gather", tmp_path)
    assert (gathered.read_bytes, gathered.written_bytes) == (taken + index, taken)


def test_only_elements_that_are_set_count(tmp_path: Path) -> None:
    table, rows, source = _float(1000, 8), _integers(5), _float(5, 8)
    index, size = 5 * 8, 5 * 8 * 4
    added = _work(lambda: table.index_add_(0, rows, source), "index_add_", tmp_path)
    assert (added.read_bytes, added.written_bytes) == (index + 2 * size, size)
    assert added.vector_flop == 40
    filled = _work(lambda: table.index_fill_(0, rows, 1.0), "index_fill_", tmp_path)
    assert (filled.read_bytes, filled.written_bytes) == (index, size)
    where = rows[:, None].expand(5, 8)
    spread = _work(lambda: table.scatter_add_(0, where, source), "scatter_add_", tmp_path)
    assert (spread.read_bytes, spread.written_bytes) == (index + 2 * size, size)


def test_lists_are_concatenated(tmp_path: Path) -> None:
    parts = [_half(2, 6), _half(3, 6)]
    call = _recorded_call(lambda: torch.cat(parts), "cat", tmp_path)
    assert work_of(call) is None  # no type of a member is known
