"""The tables a user can ask for, and what is said about their columns."""

from __future__ import annotations

import pytest

from builders import DIALECTS
from cases import ALLOC, MODULE, STEP, K, O, R, read, read_document
from timesink.answers.views import VIEWS, View, check_group, find_view
from timesink.errors import UsageError
from timesink.model.trace import Trace

CAMBRICON = {"kernel_type", "dim", "tasktopo", "tasktopo_node"}
GEOMETRY = {f"{shape}_{axis}" for shape in ("grid", "block") for axis in "xyz"}
GEOMETRY |= {"registers_per_thread", "shared_memory_bytes"}


@pytest.fixture(scope="module")
def trace() -> Trace:
    return read(
        STEP(1, 0, 100),
        MODULE("nn.Module: Linear_0", 0, 90, python_id=1, parent=None, module=0),
        O("aten::mm", 10, 50, **{"Input dims": [[2, 3]], "Call stack": "a.py(1)"}),
        ALLOC(20, 512, device=0, address=5, total=512),
        R(30, 5, c=1),
        K("gemm", 40, 20, c=1),
        O("nccl:all_reduce", 70, 10, x=3),
        R(72, 5, c=2, x=3),
        K("ncclDevKernel_AllReduce", 80, 10, c=2, x=3),
    )


every_table = pytest.mark.parametrize("view", [find_view(name) for name in VIEWS], ids=VIEWS)


@every_table
def test_columns_are_those_that_are_described(trace: Trace, view: View):
    columns = set(view.table(trace, "shape-stack").columns)
    # Times of the program by itself come from another timeline.
    assert (
        columns
        == {column for column in view.columns if not column.startswith("own_host_")} - CAMBRICON
    )


@every_table
def test_some_columns_are_for_people(view: View):
    headings = {name: column.title for name, column in view.columns.items() if column.title}
    assert headings
    assert set(view.share_of) <= set(headings)
    assert max(map(len, headings.values())) <= 15


@every_table
def test_meanings_fit_a_table(view: View):
    for column in view.columns.values():
        assert column.meaning
        assert not set("|\n") & set(column.meaning)


def test_kernels_of_cambricon_have_other_launch_properties():
    mlu = read_document(DIALECTS["cambricon"]())
    view = find_view("kernel-launches")
    assert set(view.table(mlu).columns) == set(view.columns) - GEOMETRY


def test_groups():
    check_group("")
    check_group("", "kernels")
    check_group("stack", "operators")
    with pytest.raises(UsageError, match="'steps' cannot be grouped") as error:
        check_group("stack", "steps")
    assert error.value.hint == "this can be: operators"


def test_an_unknown_table():
    with pytest.raises(UsageError, match="no table 'kernel'"):
        find_view("kernel")
