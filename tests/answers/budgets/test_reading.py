"""Files of budgets: what they may say, and what is refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from timesink.comparison.gate.budget_file import Budget, Increase, load_budgets
from timesink.errors import UsageError

EVERY_BUDGET = """
[cycle]
max = "60 ms"
max_increase = "5%"

[operators]
"aten::mm" = { max = "1.5ms", of = "host" }   # a comment
'aten::conv*' = { max_increase = "200 us", ignore_below = "10 us", optional = true }

[modules."UNet_0.Conv2d_0"]
max = "2 s"

[kernels]
gemm = { max = "500 ns", max_increase = "0%" }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "budgets.toml"
    path.write_text(text)
    return path


def test_every_key(tmp_path):
    assert load_budgets(write(tmp_path, EVERY_BUDGET)) == (
        Budget("cycle", "cycle", 60e6, Increase(pct=5.0)),
        Budget("operators", "aten::mm", 1.5e6, of="host"),
        Budget(
            "operators", "aten::conv*", None, Increase(ns=200e3),
            ignore_below_ns=10e3, optional=True,
        ),
        Budget("modules", "UNet_0.Conv2d_0", 2e9),
        Budget("kernels", "gemm", 500.0, Increase(pct=0.0)),
    )  # fmt: skip


SIGNALS = """
program = "same"
device_time = "1%"
launches = "+3"
syncs = "5%"
bytes_copied = "+4 KiB"
peak_memory = "1.5 MB"
"""


def test_limits_on_single_runs(tmp_path):
    assert [
        (budget.name, budget.max_increase) for budget in load_budgets(write(tmp_path, SIGNALS))
    ] == [
        ("program", None),
        ("device_time", Increase(pct=1.0)),
        ("launches", Increase(number=3.0)),
        ("syncs", Increase(pct=5.0)),
        ("bytes_copied", Increase(size=4096.0)),
        ("peak_memory", Increase(size=1.5e6)),
    ]


@pytest.mark.parametrize(
    ("text", "part", "hint"),
    [
        ("", "contains no budget", "an entry is"),
        ("[operators]", "contains no budget", "an entry is"),
        ("[cycle]\nmax = ]", "not TOML", "line 2"),
        ("[operator]\n", "toml: unknown table [operator]", "did you mean operators?"),
        ("cycle = 5", "[cycle] is not a table", "an entry is"),
        ('[cycle]\nmaximum = "1 s"', "toml: [cycle]: unknown key 'maximum'", "max, max_increase"),
        ('[cycle]\nof = "host"', "unknown key 'of'", "there are max, max_increase"),
        ('[kernels]\ngemm = { of = "host", max = "1 s" }', "unknown key 'of'", "ignore_below"),
        ("[cycle]", "[cycle]: has no limit", "add max or max_increase"),
        ('[operators]\n"a" = "1 ms"', 'toml: [operators] "a": is not a table', "max ="),
        ('[operators]\n"a" = { max = 5 }', "max = 5: a time is a number and its unit", "docs"),
        ('[operators]\n"a" = { max = "5" }', 'max = "5": a time is', "docs"),
        ('[operators]\n"a" = { max = "5 h" }', 'max = "5 h": a time is', "docs"),
        ('[operators]\n"a" = { max = "10%" }', 'max = "10%": a time is', "docs"),
        ('[operators]\n"a" = { max = "-1 ms" }', 'max = "-1 ms": a time is', "docs"),
        ('[operators]\n"a" = { max = "nan ms" }', "a time is", "docs"),
        ('[cycle]\nmax_increase = "10 percent"', "an increase is a percentage or a time", "docs"),
        ('[operators]\n"a" = { max = "1 s", of = "gpu" }', 'of = "gpu": write device or host', ""),
        ('[operators]\n"a" = { max = "1 s", optional = 1 }', "write true or false", ""),
        ('[operators]\n" " = { max = "1 s" }', "has no name", "an entry is"),
        ('program = "equal"', 'toml: program = "equal": write "same"', "docs"),
        ('launches = "0.1 ms"', 'launches = "0.1 ms": an increase is a number', "docs"),
        ("syncs = 0", "syncs = 0: an increase is a number or a percentage", "docs"),
        ('peak_memory = "2 parsec"', "an increase is a size or a percentage", "docs"),
        ('device_time = "+0"', "an increase is a percentage or a time", "docs"),
        ('launch = "+0"', "toml: unknown key 'launch'", "did you mean launches?"),
        ('[cycle]\nmax = "1 s"\nsyncs = "+0"', "unknown key 'syncs'", "above the first [table]"),
        ('[kernels]\nlaunches = "+0"', "is not a table", "above the first [table]"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, text, part, hint):
    with pytest.raises(UsageError) as refused:
        load_budgets(write(tmp_path, text))
    message = f"{refused.value.message} {refused.value.hint}"
    assert part in message
    assert hint in message
    assert message.startswith(str(tmp_path / "budgets.toml"))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        load_budgets(tmp_path / "missing.toml")
    with pytest.raises(UsageError, match="is a folder"):
        load_budgets(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not text"):
        load_budgets(tmp_path / "binary.toml")
