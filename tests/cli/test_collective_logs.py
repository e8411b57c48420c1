"""Every command on logs of collectives."""

from __future__ import annotations

from pathlib import Path

import pytest

from collective_logs import entry, inspected, write_dumps, write_inspected


def _logs(folder: Path, us: int = 1000, late: int | None = None) -> Path:
    """Forty collectives of four ranks, which one of them is late to; times scatter a little."""
    lines = {
        rank: [
            inspected(rank, n, us + n % 7 + (0 if rank == late else 10 + 500 * (late is not None)))
            for n in range(40)
        ]
        for rank in range(4)
    }
    return write_inspected(folder, lines)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _logs(tmp_path_factory.mktemp("logs") / "base")


def test_a_slower_operation_is_named(run, base: Path, tmp_path: Path):
    slower = _logs(tmp_path / "slower", us=1500)
    outcome = run("compare", base, slower)
    assert outcome.out.startswith("AllReduce of 1.0 MiB takes 49.4 % longer, 1.01 ms to 1.51 ms")
    answer = run("compare", base, slower, "--format", "json").json
    assert [row["is_change"] for row in answer["operations"]] == [True]
    assert 49 < answer["time_change_pct"] < 51
    assert not any(row["is_change"] for row in answer["ranks"])
    assert run("gate", base, slower, "--fail-on", "5%").code == 3
    assert run("gate", base, slower, "--fail-on", "60%").code == 0
    assert run("gate", slower, base).code == 0


def test_a_late_rank_is_named(run, base: Path, tmp_path: Path):
    late = _logs(tmp_path / "late", late=2)
    answer = run("compare", base, late, "--format", "json").json
    assert answer["headline"].startswith("Rank 2 of 0x7f8c49 comes 510")
    assert [row["rank"] for row in answer["ranks"] if row["is_change"]] == [2]
    assert run("gate", base, late, "--fail-on", "5%").code == 3


def test_a_rank_that_is_missing_fails_the_gate(run, tmp_path: Path):
    base = write_dumps(tmp_path / "base", {r: [entry(r, n) for n in range(60)] for r in range(4)})
    calls = {rank: [entry(rank, n) for n in range(50)] for rank in range(4)}
    for rank in range(3):
        calls[rank].append(entry(rank, 50, "started"))
    new = write_dumps(tmp_path / "new", calls)
    assert run("gate", base, new).code == 3
    answer = run("compare", base, new, "--format", "json").json
    assert answer["headline"].startswith("Rank 3 never entered all_reduce #50")


def test_a_baseline_holds_logs(run, base: Path, tmp_path: Path):
    store = ("--store", tmp_path / "store")
    slower = _logs(tmp_path / "slower", us=1500)
    assert "log of 40 collectives of 4 ranks" in run("baseline", "save", "l", base, *store).out
    answers = [
        run("compare", side, slower, "--format", "json", *store).json for side in (base, "@l")
    ]
    assert answers[0]["operations"] == answers[1]["operations"]


@pytest.mark.parametrize("form", ["md", "csv", "html", "junit"])
def test_comparisons_come_in_every_format(run, base: Path, form: str):
    assert run("compare", base, base, "--format", form).code == 0


def test_what_logs_cannot_answer_is_said(decline, base: Path):
    assert "no operators, kernels or steps" in decline("steps", base)[0]
    assert "logs of collectives" in decline("slow-steps", base)[0]
    assert "one other" in decline("compare", base, Path(__file__), code=2)[0]
    decline("compare", base, base, "--view", "program", code=2)
