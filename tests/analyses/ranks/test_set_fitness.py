"""What a set of recordings cannot tell is a reason of the set, and is left out of its figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from msgspec import structs

from cases import STEP, K, O, R, read
from rank_sets import as_set
from timesink.analyses.ranks.clocks import align_clocks, correct_times
from timesink.analyses.ranks.rank_set import (
    RankSet,
    set_fitness,
    set_notes,
    steps_in_detail,
)
from timesink.analyses.ranks.tables import rank_rows
from timesink.answers.analysis.report import analyze_opened
from timesink.answers.common_json import FitnessJson
from timesink.answers.fitness import fitness_sections
from timesink.model.fitness import COMMUNICATION, IDLE, RANKS
from timesink.model.trace import Trace

STEP_US, SECONDS_APART = 10_000, 5_000_000


def rank_trace(begin: int, first_wait: int, work_us: int = 1_000) -> Trace:
    """Four steps that meet in a collective each; the first one waits so many us for others."""
    events, start = [], begin
    for number in range(1, 5):
        wait = first_wait if number == 1 else 0
        length = STEP_US + wait + (work_us - 1_000 if number == 1 else 0)
        computed = work_us if number == 1 else 1_000
        at, x = start + 100, 10 * number
        meets = start + 200 + computed
        events += [
            STEP(number, start, length - 50),
            R(at, 10, c=x, x=x),
            K("compute_kernel", start + 200, computed, c=x),
            O("nccl:all_reduce", at + 20, 40, x=x + 1, **{"Input dims": [[2049000]]}),
            R(at + 25, 10, c=x + 1, x=x + 1),
            K("ncclDevKernel_AllReduce_Sum_f32_RING_LL", meets, 5_000 + wait, c=x + 1),
        ]
        start += length
    return read(*events)


def two_ranks(apart: int, *, work_us: int = 1_000) -> RankSet:
    """The second rank begins so much later, and takes `work_us` us before it meets the first."""
    first = rank_trace(0, apart + work_us - 1_000)
    return as_set({"rank0": first, "rank1": rank_trace(apart, 0, work_us)})


class TestProfilersThatStartApart:
    def test_the_first_collective_is_no_communication(self):
        ranks = two_ranks(SECONDS_APART)
        (reason,) = set_fitness(ranks).reasons
        assert reason.code == "profilers_apart"
        assert "rank 1 starts recording up to 5.00 s later" in reason.sentence
        assert not set_fitness(ranks).answers(COMMUNICATION)
        # The section of the verdict has it: a note would say it twice.
        assert reason.sentence.removesuffix(".") not in list(set_notes(ranks))
        for row in rank_rows(ranks).to_dicts():
            assert row["steps"] == (3 if row["rank"] == 0 else 4)
            assert row["step_ns"] < 2_000 * STEP_US
            assert row["communication_ns"] == pytest.approx(5e6)
            assert (row["wait_suffered_ns"], row["wait_caused_ns"]) == (0, 0)
        assert ranks.analysis.stragglers == ()
        waiting = ranks.communication.by_step["waiting_ns"]
        assert waiting.max() < 1_000_000  # type: ignore[operator]

    def test_a_rank_in_detail_is_seen_without_that_step(self):
        ranks = two_ranks(SECONDS_APART)
        assert steps_in_detail(ranks, "rank0", None) == "2,3,4"
        assert steps_in_detail(ranks, "rank1", None) is None
        trace = rank_trace(0, SECONDS_APART)
        named = replace(trace, metadata=replace(trace.metadata, worker="rank0"))
        analysis = analyze_opened(named, path="run", ranks=ranks)
        assert analysis.to_dict()["breakdown"]["step_us"] < 2 * STEP_US
        assert "1.26 s" not in analysis.headline

    def test_a_stall_that_is_recorded_is_a_wait(self):
        ranks = two_ranks(0, work_us=1_000 + SECONDS_APART)
        assert set_fitness(ranks).reasons == ()
        assert rank_rows(ranks).filter(rank=0)["wait_suffered_ns"].item() > 1e9

    def test_less_than_a_step_apart_is_a_wait(self):
        ranks = two_ranks(STEP_US // 2)
        assert set_fitness(ranks).reasons == ()
        assert ranks.analysis.collectives["wait_ns"].max() == 5_000_000


def collective_ends(
    drift_ppm: float, jitter_ns: float, *, times: int = 40, seed: int = 1
) -> pl.DataFrame:
    """Two ranks that meet for two seconds; the clock of the second one drifts."""
    rng = np.random.default_rng(seed)
    rows = []
    for match in range(times):
        at = 2e9 * match / times
        for rank in range(2):
            seen = at * (1 + 1e-6 * drift_ppm * rank) + rng.exponential(jitter_ns)
            rows.append((rank, match, int(seen), "all_reduce"))
    schema = {"rank": pl.Int64, "match": pl.Int64, "end_ns": pl.Int64, "collective": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


class TestDriftOfClocks:
    def test_what_clocks_can_do_is_corrected(self):
        clocks = align_clocks(collective_ends(80.0, 1_000.0), {0: None, 1: None})
        apart = clocks["drift_ppm"][1] - clocks["drift_ppm"][0]
        assert apart == pytest.approx(80.0, abs=3)

    @pytest.mark.parametrize("jitter_ns", [1_000.0, 20_000_000.0])
    def test_what_no_clock_does_is_not_corrected(self, jitter_ns: float):
        calls = collective_ends(23_875.0, jitter_ns)
        clocks = align_clocks(calls, {0: None, 1: None})
        assert clocks["offset_ns"].to_list() == [0.0, 0.0]
        assert clocks["uncertainty_ns"].is_nan().all()
        assert clocks["drift_ppm"].is_nan().all()
        seen = calls.with_columns(at=correct_times(pl.col("end_ns"), clocks))
        assert (seen["at"] == seen["end_ns"]).all()

    def test_it_is_a_reason_of_the_set(self):
        ranks = as_set({"rank0": rank_trace(0, 0), "rank1": rank_trace(0, 0)})
        clocks = align_clocks(collective_ends(23_875.0, 1_000.0), {0: None, 1: None})
        vars(ranks)["analysis"] = structs.replace(ranks.analysis, clocks=clocks)
        assert [reason.code for reason in set_fitness(ranks).reasons] == ["clocks_not_aligned"]
        assert not set_fitness(ranks).answers(RANKS)
        assert "cannot be aligned" in set_fitness(ranks).reasons[0].sentence


class TestOfSingleRanks:
    """Three ranks; the last two lose the work of their last launches."""

    def ranks(self) -> RankSet:
        def rank(lost: int) -> Trace:
            launches = [(100 * place, 1 + place) for place in range(20)]
            return read(
                STEP(1, 0, 3000),
                *(R(ts, 5, c=number) for ts, number in launches),
                *(K("gemm", ts + 10, 80, c=number) for ts, number in launches[: 20 - lost]),
            )

        return as_set({"a": rank(0), "b": rank(5), "c": rank(6)})

    def test_reasons_name_their_ranks(self):
        (reason,) = set_fitness(self.ranks(), "b").reasons
        assert (reason.code, reason.ranks) == ("work_not_recorded", (1, 2))
        assert reason.sentence.startswith("Ranks 1-2 (here rank 1): 5 of 20 launch calls")
        assert not set_fitness(self.ranks(), "b").answers(IDLE)

    def test_the_answers_of_a_whole_rank_stand(self):
        fitness = set_fitness(self.ranks(), "a")
        assert (fitness.fit, fitness.answers(IDLE)) == ("partly", True)
        (section,) = fitness_sections(fitness)
        assert section.title == "Limits of these recordings"
        assert "They cannot show how idle the device is" in str(section.blocks)

    def test_in_plain_data(self):
        (reason,) = FitnessJson.of(set_fitness(self.ranks(), "a")).reasons
        assert (reason.ranks, reason.evidence["lost_launches"]) == ((1, 2), 5)
