from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from many_roles import FAULTS, many_roles, one_role
from roles_changed import change_role
from timesink.comparison.exploration.groups import explore
from timesink.comparison.results import Exploration, Process
from timesink.errors import UsageError


def clusters_of(roles) -> Exploration:
    """Their clusters, of which no two are compared in full."""
    return explore(roles, most_pairs=0)


def _partition(exploration) -> set[frozenset[str]]:
    """Clusters as sets of processes."""
    return {
        frozenset(exploration.roles[place].pid for place in cluster.members)
        for cluster in exploration.clusters
    }


# -- groups --------------------------------------------------------------------------------------


def test_healthy_roles_are_one_cluster():
    roles, _ = many_roles(10, groups=1)
    assert len(clusters_of(roles).clusters) == 1


@pytest.mark.parametrize("fault", FAULTS[1:])
def test_one_ill_role_among_two_is_told_apart(fault):
    assert len(clusters_of([one_role(0), one_role(1, fault)]).clusters) == 2


def test_clusters_come_largest_first_and_name_their_most_typical_role():
    roles, group = many_roles(12, groups=3)
    exploration = clusters_of(roles)
    sizes = [len(cluster.members) for cluster in exploration.clusters]
    assert sizes == sorted(sizes, reverse=True) == [6, 3, 3]
    for cluster in exploration.clusters:
        assert cluster.representative in cluster.members
        assert len({int(group[place]) for place in cluster.members}) == 1


def test_the_rank_that_waits_stays_with_its_peer():
    """Two ranks of one run: the wait for the all-reduce sits on one of them."""
    ranks = [_with_all_reduce(one_role(rank), share) for rank, share in ((0, 0.001), (1, 0.8))]
    busy = change_role(
        ranks[1], mu=pl.when(pl.col("metric") == "gpu_usage").then(100.0).otherwise("mu")
    )
    assert len(clusters_of([ranks[0], busy]).clusters) == 1


def _with_all_reduce(role, share) -> Process:
    first = role.behaviour.filter(pl.col("short_name") == "rms_norm_kernel")
    reduce = first.with_columns(
        function=pl.lit("cross_device_reduce_1stage"),
        dur_ns=(pl.col("cycle_dur_ns") * share).cast(pl.Int64),
        calls=pl.lit(128),
    )
    columns = role.behaviour.columns
    reduce = change_role(role, behaviour=reduce.select(columns)).behaviour
    return change_role(role, behaviour=pl.concat([role.behaviour, reduce]))


# -- units of work -------------------------------------------------------------------------------


def _single_layers(number, per_batch=64) -> Process:
    """A role whose cycles are the layers of a batch."""
    shrunk = {
        name: (pl.col(name) // per_batch).clip(1) for name in ("dur_ns", "calls", "cycle_dur_ns")
    }
    return change_role(one_role(number, cycles=60), anchor=pl.lit("DecoderLayer.forward"), **shrunk)


def test_another_unit_of_work_is_a_cluster_of_its_own_and_says_so():
    exploration = clusters_of([one_role(0), one_role(1), _single_layers(2), _single_layers(3)])
    assert _partition(exploration) == {frozenset({"1000", "1001"}), frozenset({"1002", "1003"})}
    text = exploration.clusters[1].apart
    assert text.startswith("different steps: 60 steps of 1")
    assert "DecoderLayer.forward" in text
    assert "Scheduler.run_batch" in text
    assert "time of" not in text


def test_prefill_is_another_unit_of_work():
    prefill = change_role(one_role(2), cycle_type=pl.lit("prefill"))
    exploration = clusters_of([one_role(0), one_role(1), prefill])
    assert exploration.clusters[1].apart.startswith("different steps: 12 prefill steps of")


def test_cycles_marked_otherwise_with_the_same_work_are_alike():
    other = change_role(one_role(1), anchor=pl.lit("ProfilerStep"))
    assert len(clusters_of([one_role(0), other]).clusters) == 1


# -- what sets clusters apart --------------------------------------------------------------------


def test_a_cluster_says_what_sets_it_apart():
    roles, _ = many_roles(8, groups=2)
    largest, ill = clusters_of(roles + many_roles(9, groups=1)[0][8:]).clusters
    assert largest.apart == ""
    assert largest.differences == ()
    assert ill.apart.startswith("gpu_sm_frequency on GPU ")
    assert "time of gemm on GPU" in ill.apart
    first = ill.differences[0]
    assert (first.what, first.unit) == ("gpu_sm_frequency", "MHz")
    assert first.own < first.base / 4
    assert first.distance > 2


def test_one_quantity_under_two_names_is_told_once():
    roles = []
    for number, fault in ((0, FAULTS[0]), (1, FAULTS[1])):
        role = one_role(number, fault)
        clock = pl.col("metric").cast(pl.String)
        twin = role.behaviour.filter(clock == "gpu_sm_frequency")
        twin = change_role(role, behaviour=twin, metric=pl.lit("gpu_frequency")).behaviour
        roles.append(change_role(role, behaviour=pl.concat([role.behaviour, twin])))
    text = clusters_of(roles).clusters[1].apart
    assert "gpu_sm_frequency" in text
    assert "gpu_frequency" not in text


def test_a_longer_cycle_does_not_change_the_time_of_what_took_as_long():
    differences = clusters_of([one_role(0), one_role(1, FAULTS[4])]).clusters[1].differences
    assert {"length of the cycle", "time of oncpu"} < {
        difference.what for difference in differences
    }
    assert "time of cpu_sync" not in {difference.what for difference in differences}


# -- symmetry ------------------------------------------------------------------------------------


@given(st.permutations(range(8)), st.permutations(range(8)))
@settings(max_examples=4)
def test_order_and_names_do_not_change_the_clusters(order, names):
    roles, _ = many_roles(8, groups=3)
    renamed = [change_role(roles[place], label=f"role {names[place]}") for place in order]
    assert _partition(clusters_of(renamed)) == _partition(clusters_of(roles))


def test_swapped_inputs_give_the_same_answer():
    roles = [one_role(0), one_role(1, FAULTS[1])]
    exploration, other = clusters_of(roles), clusters_of(roles[::-1])
    assert [role.label for role in exploration.roles] == [role.label for role in other.roles]
    assert (exploration.distances == other.distances).all()
    assert exploration.clusters[1].apart == other.clusters[1].apart


def test_names_that_swap_places_mirror_the_answer():
    healthy, ill = one_role(0), one_role(1, FAULTS[1])
    exploration = clusters_of([healthy, ill])
    other = clusters_of([change_role(healthy, label="z"), change_role(ill, label="a")])
    assert (exploration.distances == other.distances.T).all()
    there, back = exploration.clusters[1].differences, other.clusters[1].differences
    assert [(a.what, a.base, a.own, a.distance) for a in there] == [
        (b.what, b.own, b.base, b.distance) for b in back
    ]


def test_distances_are_symmetric_and_zero_to_oneself():
    distances = clusters_of(many_roles(6, groups=3)[0]).distances
    assert (distances == distances.T).all()
    assert (np.diag(distances) == 0).all()


# -- pairs ---------------------------------------------------------------------------------------


def test_representatives_are_compared_largest_distance_first():
    roles, _ = many_roles(8, groups=3)
    exploration = explore(roles)
    wanted = {
        tuple(sorted(exploration.roles[cluster.representative].label for cluster in pair))
        for pair in combinations(exploration.clusters, 2)
    }
    labels = [(pair.base.label, pair.new.label) for pair in exploration.pairs]
    assert {tuple(sorted(pair)) for pair in labels} == wanted
    assert {pair.kind for pair in exploration.pairs} == {"peers"}
    place = {role.label: number for number, role in enumerate(exploration.roles)}
    far = [exploration.distances[place[base], place[new]] for base, new in labels]
    assert far == sorted(far, reverse=True)
    assert exploration.pairs_left_out == 0


# -- what cannot be explored ---------------------------------------------------------------------


def test_one_role_alone_is_refused():
    with pytest.raises(UsageError, match="at least two"):
        clusters_of([one_role(0)])


def test_a_role_without_cycles_is_refused_by_name():
    empty = change_role(one_role(1), label="b.csv", behaviour=one_role(1).behaviour.head(0))
    with pytest.raises(UsageError, match=r"b\.csv: no step"):
        clusters_of([one_role(0), empty])


def test_one_cycle_each_is_enough_for_large_differences():
    roles = [one_role(0, cycles=1), one_role(1, FAULTS[1], cycles=1), one_role(2, cycles=1)]
    exploration = clusters_of(roles)
    assert _partition(exploration) == {frozenset({"1000", "1002"}), frozenset({"1001"})}
    assert "no process has enough steps" in exploration.threshold_reason


def test_roles_without_counters_are_told_apart_by_time_and_calls():
    bare = [_without_counters(one_role(number, FAULTS[number // 2])) for number in range(4)]
    exploration = clusters_of(bare)
    assert _partition(exploration) == {frozenset({"1000", "1001"}), frozenset({"1002", "1003"})}
    assert exploration.clusters[1].apart.startswith("time of gemm on GPU 2: ")


def _without_counters(role) -> Process:
    table = role.behaviour.unique(["cycle", "function"], maintain_order=True)
    return change_role(
        role, behaviour=table, metric=pl.lit(None), mu=pl.lit(None), unit=pl.lit(None)
    )


def test_prefill_and_decode_cycles_of_one_role_are_told_apart_each():
    def mixed(number, slower) -> Process:
        prefill = pl.col("cycle") <= 6
        longer = pl.when(prefill).then(pl.col("cycle_dur_ns") * slower).otherwise("cycle_dur_ns")
        kind = pl.when(prefill).then(pl.lit("prefill")).otherwise(pl.lit("decode"))
        return change_role(one_role(number), cycle_type=kind, cycle_dur_ns=longer.cast(pl.Int64))

    exploration = clusters_of([mixed(0, 4), mixed(1, 4), mixed(2, 12)])
    assert _partition(exploration) == {frozenset({"1000", "1001"}), frozenset({"1002"})}
    assert exploration.clusters[1].apart.startswith("length of the cycle (prefill): 2.")
