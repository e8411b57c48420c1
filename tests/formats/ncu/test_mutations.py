"""Damaged files: read as far as they go, or declined in a sentence; never anything else."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ncu_files import CLOCKS_WARNING, Call, details_csv, kernel_table, raw_csv, text_page
from timesink.errors import TimesinkError
from timesink.formats.source_file import read_trace
from timesink.model.schema import KERNEL_CALLS, KERNEL_METRICS

CALLS = [
    Call("gemm<a, b>", 26_336, tensor_pct=72.37, metrics={"dram__bytes.sum": (1_234_567, "byte")}),
    Call('copy "x"', 5_984, dram_pct="n/a", pid="7", device=1),
    Call("reduce", 1_234_567, sm_pct=45.5, occupancy_pct=12.25),
]
PAGES = [
    write(CALLS).encode()
    for write in (details_csv, raw_csv, text_page)
] + [
    kernel_table([Call("a", 32, 33, 25), Call("b", 64, 1, 2)]).encode(),
    (details_csv(CALLS) + details_csv(CALLS, quote="")).encode(),
    text_page(CALLS, before=[CLOCKS_WARNING, "hello"]).encode(),
]  # fmt: skip
LETTERS = st.sampled_from([b'"', b",", b"\n", b"\r\n", b"\0", b"\xff", b"-", b" ", b"7", b"'"])


@st.composite
def damaged_page(draw: st.DrawFn) -> bytes:
    text = draw(st.sampled_from(PAGES))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text)))
        end = min(len(text), place + draw(st.sampled_from([0, 1, 5, 60, 400])))
        middle = draw(st.just(b"") | LETTERS | st.binary(max_size=6) | st.just(text[place:end] * 2))
        text = text[:place] + middle + text[end:]
    return text


@given(damaged_page())
def test_damage_is_survived(text: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, suppress(TimesinkError):
        path = Path(folder) / "calls.out"
        path.write_bytes(text)
        trace = read_trace(path)
        assert trace.kernel_calls.schema == KERNEL_CALLS.schema
        assert trace.kernel_metrics.schema == KERNEL_METRICS.schema
        if trace.metadata.format in {"ncu", "kernel-table"}:
            assert trace.metadata.events == trace.kernel_calls.height
            assert trace.kernel_calls["index"].to_list() == list(range(trace.kernel_calls.height))
            assert trace.kernel_metrics["index"].is_sorted()
