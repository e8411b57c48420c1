"""The grammar of changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses.replay.changes import (
    ACTIONS,
    SORTS,
    AskedChange,
    change_of,
    name_filter,
    parse_change,
)
from timesink.errors import UsageError

TEXTS = {
    ("scale", "kernel:flash*=0.5"): AskedChange("scale", "kernel", "flash*", 0.5),
    ("scale", "op:a=b=2"): AskedChange("scale", "op", "a=b", 2.0),
    ("scale", "communication=0"): AskedChange("scale", "communication", "*", 0.0),
    ("remove", "sync:aten::item"): AskedChange("remove", "sync", "aten::item"),
    ("fuse", "Optimizer.step"): AskedChange("fuse", "op", "Optimizer.step"),
    ("fuse", "aten::mm"): AskedChange("fuse", "op", "aten::mm"),
    ("graph", "cycle"): AskedChange("graph"),
    ("overlap", "copy:HtoD"): AskedChange("overlap", "copy", "HtoD"),
    ("device", "H100:B200"): AskedChange("device", pattern="H100:B200"),
    ("loader-workers", "inf"): AskedChange("loader-workers", "loading", factor=float("inf")),
    ("batch", "2"): AskedChange("batch", factor=2.0),
}


def test_what_is_asked_for():
    assert {change_words: parse_change(*change_words) for change_words in TEXTS} == TEXTS


def test_the_option_of_a_change_asks_for_it():
    for change in TEXTS.values():
        assert change_of(change.text) == change
        assert change_of(change) is change


def test_a_graph_is_of_the_cycle():
    assert change_of("graph") == AskedChange("graph")


REFUSED = {
    ("scale", "kernel:x"): "no factor",
    ("scale", "kernel:x=fast"): "not a number",
    ("scale", "kernel:x=-1"): "not a number",
    ("scale", "kernel:x=nan"): "not a number",
    ("scale", "kernel:x=inf"): "not a number",
    ("scale", "=2"): "nothing that can be chosen",
    ("remove", "aten::item"): "nothing that can be chosen",
    ("remove", "sync:"): "nothing that can be chosen",
    ("remove", ""): "nothing that can be chosen",
    ("remove", "cycle"): "cannot be done to cycle",
    ("fuse", "kernel:x"): "cannot be done to kernel",
    ("graph", "kernel:x"): "cannot be done to kernel",
    ("overlap", "loading"): "cannot be done to loading",
    ("device", "H100"): "not two devices",
    ("loader-workers", "0"): "not a number from 1",
    ("batch", "0"): "not a number from 0.01",
    ("faster", "kernel:x"): "is no change",
}


def test_what_makes_no_sense_is_refused_with_a_hint():
    for change_words, why in REFUSED.items():
        with pytest.raises(UsageError, match=why) as refused:
            parse_change(*change_words)
        assert refused.value.hint, change_words


@given(st.sampled_from(ACTIONS), st.text(max_size=12) | st.sampled_from(SORTS).map("{}:x=1".format))
def test_any_text_is_a_change_or_refused(action, text):
    try:
        change = parse_change(action, text)
    except UsageError:
        return
    assert parse_change(action, change.value) == change


def test_a_name_comes_before_its_parts():
    names = ["aten::add", "aten::add_", "aten::addmm"]
    assert [name for name in names if name_filter("ATEN::ADD", names)(name)] == ["aten::add"]
    assert [name for name in names if name_filter("add*", names)(name)] == []
    assert [name for name in names if name_filter("*add?", names)(name)] == ["aten::add_"]


def test_short_names_fit_as_well():
    names = ["void at::native::gemm<float>(int)", "void gemm_other(int)"]
    short = {names[0]: "gemm", names[1]: "gemm_other"}
    assert [name for name in names if name_filter("gemm", names, short.get)(name)] == names[:1]
