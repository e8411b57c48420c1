"""From recordings to a set of ranks: the cache first, an engine for the rest."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import timesink
from builders import training_trace, write
from rank_sets import HereEngine
from timesink.analyses.ranks import reading as job
from timesink.analyses.ranks.rank_set import RankSet, set_notes
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
