"""Which files are Nsight Compute's, and what is said of those without a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

import timesink
from ncu_files import CLOCKS_WARNING, Call, collected_line, details_csv, raw_csv, text_page
from timesink.errors import UnreadableError
from timesink.formats.ncu import reader as ncu

CALLS = [Call()]


@pytest.mark.parametrize(
    "text",
    [
        details_csv(CALLS),
        details_csv(CALLS, before=(), quote=""),
        "\ufeff" + details_csv(CALLS, before=()),
        details_csv(CALLS, before=["hello"]).replace("hello\n", "hello"),
        raw_csv(CALLS),
        text_page(CALLS),
        text_page(CALLS, before=["hello"]),
        f"{CLOCKS_WARNING}\nstep 1\n",
        collected_line(ncu="2025"),
    ],
)
def test_its_own(text: str) -> None:
    assert ncu.sniff(text.encode(), "calls.txt")


@pytest.mark.parametrize(
    "text",
    [
        "ID,name,value\n1,a,2\n",
        '"ID","Name"\n"1","a"\n',
        "timestamp_us,counter,device,value\n1,a,b,2\n",
        '{"traceEvents": [{"name": "==PROF== \\n==PROF== x"}]}',
        '{"traceEvents":\n[\n{"name": "a, Context 1, Stream 7"}]}',
        "cycle,pid,hostname,beta_pct\n1,2,a,3\n",
        "Kernel                                                 Latency Tensor   DRAM\n",
        "hello world\n",
        "NVR\0",
    ],
)
def test_others(text: str) -> None:
    assert not ncu.sniff(text.encode(), "calls.txt")


@pytest.mark.parametrize(
    ("log", "reason", "hint"),
    [
        ("==PROF== Connected\n==WARNING== No kernels were profiled.", "no kernels were", "reach"),
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not", "ERR_NVGPUCTRPERM", "permissions"),
        ("==PROF== Connected\n==PROF== Report: /a/b.ncu-rep", "only its log", "/a/b.ncu-rep"),
        (details_csv([], before=()).strip(), "only its log", "--kernel-name"),
    ],
)
def test_without_a_kernel(read, log: str, reason: str, hint: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(log + "\n")
    assert reason in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "before",
    [['{"epoch": 1, "loss": 0.5}'], ["step 1 loss 0.5"] * 20_000, ["[1, 2]", "<html>"]],
    ids=["JSON", "long", "other"],
)
def test_output_of_the_program_comes_first(before: list[str], tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text(details_csv(CALLS, before=before))
    assert timesink.open(path).kernel_calls.height == 1


def test_text_in_utf_16_is_declined_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text(details_csv(CALLS), encoding="utf-16")
    with pytest.raises(UnreadableError, match="UTF-16") as declined:
        timesink.open(path)
    assert "iconv" in declined.value.hint
