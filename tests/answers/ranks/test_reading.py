"""From recordings to a set of ranks: the cache first, an engine for the rest."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import training_trace, write
from rank_sets import HereEngine
from timesink.analyses.ranks import reading as job
from timesink.analyses.ranks.rank_set import RankSet, set_health, set_notes
from timesink.analyses.ranks.reading import read_ranks
from timesink.errors import NotFoundError, TimesinkError
from timesink.sources.cache import Cache
from timesink.sources.recordings import Recording
from timesink_lab.ranks.generated import generate_ranks
from timesink_lab.ranks.plan import Plan, Straggler


@pytest.fixture(scope="module")
def generated_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five ranks, steps 3 to 5, of which rank 3 is slow."""
    folder = tmp_path_factory.mktemp("run")
    generate_ranks(
        Plan(ranks=5, steps=3, layers=1, stragglers=(Straggler("data_loading", 3),)), folder
    )
    return folder


@pytest.fixture(scope="module")
def summary_cache(generated_ranks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that knows these ranks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIMESINK_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        ranks_in(generated_ranks)
        return Cache.default().root


@pytest.fixture
def cached_summaries(summary_cache: Path) -> None:
    """The ranks have been read before."""
    shutil.copytree(summary_cache, Cache.default().root, dirs_exist_ok=True)


@pytest.fixture
def run(generated_ranks: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(generated_ranks, tmp_path / "run"))


@pytest.fixture
def two(run: Path) -> Path:
    """The run, of which only ranks 0 and 1 are there."""
    for rank in (2, 3, 4):
        rank_file(run, rank).unlink()
    return run


def ranks_in(folder: Path, engine: HereEngine | None = None, **options: Any) -> RankSet:
    return read_ranks(timesink.find_recordings(folder), engine=engine or HereEngine(), **options)


def rank_file(folder: Path, rank: int) -> Path:
    return folder / f"rank{rank}.pt.trace.json.gz"


# -- the cache -------------------------------------------------------------------------------------


def test_a_second_question_reads_no_trace(two: Path):
    first, second = HereEngine(), HereEngine()
    before, after = ranks_in(two, first), ranks_in(two, second)
    assert (len(first.items), len(second.items)) == (2, 0)
    assert before.names == after.names
    assert before.analysis.stragglers == after.analysis.stragglers


@pytest.mark.usefixtures("cached_summaries")
def test_only_what_changed_is_read_again(run: Path):
    shutil.copy(rank_file(run, 1), rank_file(run, 4))
    engine = HereEngine()
    ranks = ranks_in(run, engine)
    assert [item.worker for item in engine.items] == ["rank4"]
    assert "says that it is rank 1" in " ".join(ranks.notes)


def test_traces_of_a_set_are_not_kept_but_used(two: Path):
    ranks_in(two)
    assert Cache.default().entries() == []
    assert len(Cache.default().summary_entries()) == 2
    Cache.default().clear()
    timesink.open(rank_file(two, 1))
    rank_file(two, 1).touch()
    assert ranks_in(two).names == ["rank0", "rank1"]
    assert len(Cache.default().entries()) == 1


@pytest.mark.usefixtures("cached_summaries")
def test_other_steps_are_another_question(two: Path):
    engine = HereEngine()
    ranks = ranks_in(two, engine, steps="4-5")
    assert len(engine.items) == 2
    assert all(rank.steps["step"].to_list() == ["4", "5"] for rank in ranks.ranks.values())


def test_without_the_cache_nothing_is_kept(two: Path):
    ranks_in(two, cache=False)
    assert Cache.default().summary_entries() == []


@pytest.mark.usefixtures("cached_summaries")
def test_a_broken_summary_is_made_again(run: Path):
    summary_files = sorted(entry.folder for entry in Cache.default().summary_entries())
    summary_files[0].write_bytes(b"PAR1 and nothing")
    summary_files[1].write_bytes(summary_files[1].read_bytes()[:-40])
    engine = HereEngine()
    assert len(ranks_in(run, engine).ranks) == 5
    assert len(engine.items) == 2


@pytest.mark.usefixtures("cached_summaries")
def test_equal_files_are_told_apart_by_their_place(run: Path, tmp_path: Path):
    copied = Path(shutil.copytree(run, tmp_path / "copy"))
    engine = HereEngine()
    ranks = ranks_in(copied, engine)
    assert engine.items == []
    assert all(str(copied) in rank.about.source for rank in ranks.ranks.values())


# -- what is wrong with ranks ----------------------------------------------------------------------


@pytest.mark.usefixtures("cached_summaries")
def test_damaged_ranks_are_told_and_the_others_stand(run: Path):
    packed = rank_file(run, 1).read_bytes()
    rank_file(run, 1).write_bytes(b"\x1f\x8b" + bytes(20))
    rank_file(run, 2).write_bytes(gzip.compress(b"nothing that is JSON"))
    ranks = ranks_in(run)
    assert ranks.names == ["rank0", "rank3", "rank4"]
    assert [(damaged_rank.worker, damaged_rank.rank) for damaged_rank in ranks.damaged] == [
        ("rank1", 1),
        ("rank2", 2),
    ]
    assert ranks.missing == ()
    assert [straggler.rank for straggler in ranks.analysis.stragglers] == [3]
    entry, many = next(item for item in set_health(ranks) if item[0].code == "unreadable_file")
    assert (entry.count, many) == (2, 2)
    rank_file(run, 1).write_bytes(packed[: len(packed) // 2])
    cut = ranks_in(run)
    assert "rank1" in cut.names or "rank1" in {damaged_rank.worker for damaged_rank in cut.damaged}


def test_a_summary_that_is_made_broken_is_told(two: Path, monkeypatch: pytest.MonkeyPatch):
    make = job.summarise_recording

    def broken(recording: Recording, **options: Any) -> bytes:
        return make(recording, **options)[: -40 if recording.rank == 1 else None]

    monkeypatch.setattr(job, "summarise_recording", broken)
    ranks = ranks_in(two)
    assert ranks.names == ["rank0"]
    assert [
        (damaged_rank.rank, damaged_rank.reason.partition(": ")[2])
        for damaged_rank in ranks.damaged
    ] == [(1, "its summary is broken")]


@pytest.mark.usefixtures("cached_summaries")
def test_missing_ranks_are_named(run: Path):
    for rank in (1, 2, 4):
        rank_file(run, rank).unlink()
    ranks = ranks_in(run)
    assert ranks.missing == (1, 2, 4)
    assert "ranks 1-2, 4 of 5 are missing" in [*set_notes(ranks)]


def test_nothing_that_can_be_read_is_an_error(tmp_path: Path):
    for name in ("rank0.json", "rank1.json"):
        (tmp_path / name).write_text("nothing")
    with pytest.raises(TimesinkError):
        ranks_in(tmp_path)


def test_ranks_without_the_steps_are_left_out(tmp_path: Path):
    for number in (0, 1):
        document = training_trace(number + 2)
        document["distributedInfo"] = {"backend": "nccl", "rank": number, "world_size": 2}
        write(tmp_path / f"rank{number}.1.pt.trace.json", document)
    ranks = ranks_in(tmp_path, steps="2")
    assert (ranks.names, ranks.left_out, ranks.missing) == (["rank1"], (0,), ())
    assert ranks.notes == ("without these steps and left out: rank0",)
    with pytest.raises(NotFoundError):
        ranks_in(tmp_path, steps="9")


def test_progress_counts_ranks_and_damaged_ones(two: Path):
    rank_file(two, 1).write_bytes(b"nothing")
    reports: list[tuple[int, int]] = []
    ranks_in(two, progress=lambda *news: reports.append(news))
    assert reports == [(1, 2), (2, 2)]


def test_health_of_all_ranks_is_told_once(tmp_path: Path):
    for number in (0, 1, 2):
        document = training_trace(1)
        document["distributedInfo"] = {"backend": "nccl", "rank": number, "world_size": 3}
        if number:
            document["traceEvents"].append({"ph": "X", "name": "odd", "ts": 1, "dur": "NaN"})
        write(tmp_path / f"rank{number}.1.pt.trace.json", document)
    analysis = timesink.analyze(tmp_path, engine=HereEngine())
    odd = [row for row in analysis.to_dict()["health"] if row["ranks"] == 2]
    assert len(odd) >= 1
    assert all(row["count"] >= 2 for row in odd)
